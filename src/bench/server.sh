# Sourced by the benchmarks: a throw-away server that keeps all data in memory,
# and the machine it runs on.

. "$(dirname "${BASH_SOURCE[0]}")/../test/server.sh"

hardware() {
	local model memory
	model=$(lscpu | sed -n 's/^Model name: *//p' | head -n 1)
	memory=$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)
	echo "$model, $(nproc) cores, $memory of memory; PostgreSQL $(psql -XAtc 'SHOW server_version'); $(date +%F)"
}

# bench_server BUFFERS: builds, starts a server with so much shared memory, and
# goes where the SQL files are.
bench_server() {
	server_build bench >&2
	server_stage
	server_start "shared_buffers = $1" "work_mem = 1GB" "autovacuum = off" "jit = off" \
		"max_parallel_workers_per_gather = 0" "max_wal_size = 16GB" "min_parallel_table_scan_size = 0"
	cd "$SOURCE/src/bench"
}
