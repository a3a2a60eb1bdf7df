#!/usr/bin/env bash
#
# Compares cached columns on a GPU with reading the table: "make bench-gpu-columns", on a host with
# a GPU.  Prints Markdown tables.  bench-gpu-columns.sql says what is measured.
#
# ROWS (100000000) of a bigint, an int and another 40 bytes are in shared buffers of SHARED_BUFFERS
# (13GB).  WORKERS (cores - 1) is the number of parallel workers.  CPU=false leaves out the CPU's
# times.  QSKETCH_GPU=emulate tries the script without a GPU (default: auto).  SETS (10000) sets
# follow the paper's description of ENRON.  Their threshold keeps at most 100,000 pairs.
set -eu -o pipefail
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/enron.sh"

cores=$(nproc)
rows=${ROWS:-100000000}
workers=${WORKERS:-$((cores - 1))}

# Makes rows in several sessions at the same time, because this step takes
# longest.
fill_table() {
	local part
	psql -Xqc 'CREATE TABLE events (user_id bigint, day int, pad text)'
	for ((part = 0; part < cores; part++)); do
		psql -Xqc "SELECT setseed(0.$((part + 101)))" \
			-c "INSERT INTO events SELECT (random() ^ 3 * 20e6)::bigint, i % 30, repeat('x', 39)
				FROM generate_series(1, $((rows / cores))) AS i" >/dev/null &
	done
	wait
}

server_build bench >&2
[ -n "${QSKETCH_BUNDLE:-}" ] || make -s -C "$SOURCE" test-modules
server_stage
cp "$SOURCE/build/test/gpu_fetch.so" "$SERVER_ROOT/"
chmod 755 "$SERVER_ROOT/gpu_fetch.so"
server_start "$(gpu_line auto)" \
	"shared_buffers = ${SHARED_BUFFERS:-13GB}" "work_mem = 1GB" "autovacuum = off" "jit = off" \
	"fsync = off" "max_wal_size = 4GB" "qsketch.gpu_cache_size = 64GB" \
	"max_worker_processes = 40" "max_parallel_workers = 32" "min_parallel_table_scan_size = 0"
fill_table
psql -Xqc 'CREATE TABLE item (s int, e int)'
fill_sets item "${SETS:-10000}"
hardware
cd "$SOURCE/bench"
psql -XAtq -v ON_ERROR_STOP=1 -v module="$SERVER_ROOT/gpu_fetch.so" -v workers="$workers" -v cpu="${CPU:-true}" -f bench-gpu-columns.sql
