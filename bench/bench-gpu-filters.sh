#!/usr/bin/env bash
#
# Compares filters on the GPU with filters on the CPU inside PostgreSQL: "make bench-gpu-filters",
# on a host with a GPU.  Prints Markdown tables.  bench-gpu-filters.sql says what is measured.
#
# ROWS (20000000) of one bigint are in shared buffers, and KEYS (2000000) are looked up.  WORKERS
# (cores - 1) is the number of parallel workers.  QSKETCH_GPU=emulate tries the script without a
# GPU (default: auto).
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

cores=$(nproc)

server_build bench >&2
server_stage
server_start "$(gpu_line auto)" \
	"shared_buffers = ${SHARED_BUFFERS:-4GB}" "work_mem = 1GB" "autovacuum = off" "jit = off" \
	"fsync = off" "max_wal_size = 4GB" \
	"max_worker_processes = 40" "max_parallel_workers = 32" "min_parallel_table_scan_size = 0"
hardware
cd "$SOURCE/bench"
psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-20000000}" -v keys="${KEYS:-2000000}" \
	-v workers="${WORKERS:-$((cores - 1))}" -f bench-gpu-filters.sql
