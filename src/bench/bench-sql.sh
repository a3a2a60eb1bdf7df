#!/usr/bin/env bash
#
# The speed of the extension inside PostgreSQL: "make bench-sql".  Prints a
# Markdown table.  What is measured against what is in bench-sql.sql; every
# ratio comes from this one run, on a throw-away server with all data in memory.
#
# ROWS (10000000) is the size of the tables.
set -eu -o pipefail
. "$(dirname "$0")/../test/server.sh"

hardware() {
	local model memory
	model=$(lscpu | sed -n 's/^Model name: *//p' | head -n 1)
	memory=$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)
	echo "$model, $(nproc) cores, $memory of memory"
}

server_build bench >&2
server_stage
server_start "shared_buffers = 2GB" "work_mem = 1GB" "autovacuum = off" \
	"max_parallel_workers_per_gather = 0" "jit = off"
echo "$(hardware); $(psql -XAtc 'SHOW server_version'); $(date +%F)"
echo
cd "$SOURCE/src/bench"
psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-10000000}" -f bench-sql.sql
