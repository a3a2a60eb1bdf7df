#!/usr/bin/env bash
#
# Compares the GPU with the CPU inside PostgreSQL, and checks the choice of "auto": "make
# bench-gpu", on a host with a GPU.  Prints Markdown tables.  bench-gpu.sql says what is measured.
# Ends with FAIL if auto was too slow; the view "choices" in bench-gpu.sql has the limits.
#
# ROWS (50000000) of one bigint are in shared buffers, and KEYS (5000000) are looked up.  WORKERS
# (cores - 1) is the number of parallel workers.  QSKETCH_GPU=emulate tries the script without a GPU
# (default: auto).  HUGE_PAGES=yes first reserves huge pages for shared buffers, and releases them
# at the end; this needs root.
set -eu -o pipefail
. "$(dirname "$0")/../test/server.sh"

cores=$(nproc)
rows=${ROWS:-50000000}
workers=${WORKERS:-$((cores - 1))}

# Makes keys in several sessions at the same time, because this step takes
# longest.
fill_table() {
	local part
	psql -Xqc 'CREATE UNLOGGED TABLE ints (k bigint)'
	for ((part = 0; part < cores; part++)); do
		psql -Xqc "SELECT setseed(0.$((part + 1)))" \
			-c "INSERT INTO ints SELECT (random() * 1e12)::bigint FROM generate_series(1, $((rows / cores)))" \
			>/dev/null &
	done
	wait
}

# Reserves huge pages for shared buffers and all other shared memory of the server.
reserve_huge_pages() {
	local setting=/proc/sys/vm/nr_hugepages
	before=$(cat $setting)
	trap 'server_remove || :; echo "$before" >'$setting EXIT
	huge_pages=on
	echo $((before + $(numfmt --from=iec "${SHARED_BUFFERS%B}") / 2097152 + 300)) >$setting
}

SHARED_BUFFERS=${SHARED_BUFFERS:-8GB}
server_build bench >&2
server_stage
huge_pages=off
[ -z "${HUGE_PAGES:-}" ] || reserve_huge_pages
server_start "$(gpu_line auto)" \
	"shared_buffers = $SHARED_BUFFERS" "huge_pages = $huge_pages" "work_mem = 1GB" \
	"autovacuum = off" "jit = off" \
	"max_worker_processes = 40" "max_parallel_workers = 32" "min_parallel_table_scan_size = 0"
fill_table
lscpu | sed -n 's/^Model name: *//p' | head -n 1
echo "$cores cores, $workers workers, $rows rows, huge pages $huge_pages; $(psql -XAtc 'SHOW server_version'); $(date +%F)"
echo
cd "$SOURCE/bench"
psql -XAtq -v ON_ERROR_STOP=1 -v workers="$workers" -v keys="${KEYS:-5000000}" -f bench-gpu.sql
failed=$(psql -XAtc 'SELECT count(*) FROM choices WHERE slower')
echo
if [ "$failed" != 0 ]; then
	echo "FAIL: auto chose the slower one in $failed rows"
	exit 1
fi
echo "auto chose the faster one, or one as fast within a tenth, in all rows"
