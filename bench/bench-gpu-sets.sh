#!/usr/bin/env bash
#
# Compares the GPU with the CPU for all pairs of sets inside PostgreSQL: "make bench-gpu-sets", on a
# host with a GPU.  Prints Markdown tables.  bench-gpu-sets.sql says what is measured.
#
# SETS (10000) sets follow the paper's description of ENRON.  WORKERS (15) is the number of parallel
# workers, and PAIRS (100000) the largest number of pairs that a threshold may keep.
# QSKETCH_GPU=emulate tries the script without a GPU (default: auto).
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
