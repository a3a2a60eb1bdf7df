#!/usr/bin/env bash
#
# Measures cached columns of a billion rows: "make bench-gpu-columns-large", on a host with a GPU.
# Prints a Markdown table.  bench-gpu-columns-large.sql says what is measured.
#
# ROWS (1000000000) of a bigint and an int are divided among as many partitions as cores.  A row
# takes 44 bytes, and all rows should fit into the host's memory.  WORKERS (cores - 1) is the number
# of parallel workers.  QSKETCH_GPU=emulate tries the script without a GPU (default: auto).
set -eu -o pipefail
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/fill.sh"

days=$(nproc)
rows=${ROWS:-1000000000}

# fill_day DAY: fills the table of a day, in a session of its own.
fill_day() {
	fill_new "day_$1" "user_id bigint, day int NOT NULL CHECK (day = $1)" \
		"srand($1); print int(rand() ** 3 * 20e6), qq(\\t$1\\n) for 1 .. $((rows / days))"
}

# Fills the partitions in several sessions at the same time.
fill_table() {
	local day filling=()
	for ((day = 0; day < days; day++)); do
		fill_day "$day" &
		filling+=($!)
	done
	for day in "${filling[@]}"; do
		wait "$day"
	done
	psql -Xqc 'CREATE TABLE events (user_id bigint, day int) PARTITION BY LIST (day)'
	for ((day = 0; day < days; day++)); do
		psql -Xqc "ALTER TABLE events ATTACH PARTITION day_$day FOR VALUES IN ($day)"
	done
}

server_build bench >&2
server_stage
server_start "$(gpu_line auto)" \
	"shared_buffers = 4GB" "work_mem = 1GB" "autovacuum = off" "jit = off" "max_wal_size = 4GB" \
	"full_page_writes = off" "qsketch.gpu_cache_size = 64GB" "max_worker_processes = 40" \
	"max_parallel_workers = 32" "min_parallel_table_scan_size = 0"
fill_table
hardware
cd "$SOURCE/bench"
psql -XAtq -v ON_ERROR_STOP=1 -v workers="${WORKERS:-$((days - 1))}" -f bench-gpu-columns-large.sql
