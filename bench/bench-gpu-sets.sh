#!/usr/bin/env bash
#
# All pairs of sets inside PostgreSQL, by the GPU and by the CPU: "make
# bench-gpu-sets", on a host with a GPU.  Prints Markdown tables; what is measured
# is in bench-gpu-sets.sql.
#
# SETS (10000) made after the paper's description of ENRON's, WORKERS (15) of a
# parallel plan, PAIRS (100000) that a threshold keeps at most, QSKETCH_GPU (auto;
# emulate to try it).
set -eu -o pipefail
. "$(dirname "$0")/../test/server.sh"
. "$(dirname "$0")/enron.sh"

cores=$(nproc)
sets=${SETS:-10000}
workers=${WORKERS:-15}

server_build bench >&2
server_stage
server_start "$(gpu_line auto)" \
	"shared_buffers = ${SHARED_BUFFERS:-4GB}" "work_mem = 2GB" "autovacuum = off" "jit = off" \
	"max_worker_processes = 40" "max_parallel_workers = 32" "min_parallel_table_scan_size = 0" \
	"dynamic_shared_memory_type = ${SHARED_MEMORY:-posix}"
psql -Xqc 'CREATE EXTENSION qsketch'
psql -Xqc 'CREATE UNLOGGED TABLE item (s int, e int)'
fill_sets item "$sets"
lscpu | sed -n 's/^Model name: *//p' | head -n 1
echo "$cores cores, $workers workers; $(psql -XAtc 'SHOW server_version'); $(psql -XAtc \
	"SELECT string_agg(coalesce(name, state), ', ') FROM qsketch_gpu()"); $(date +%F)."
echo
cd "$SOURCE/bench"
psql -XAtq -v ON_ERROR_STOP=1 -v workers="$workers" -v pairs="${PAIRS:-100000}" -f bench-gpu-sets.sql
