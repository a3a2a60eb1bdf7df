# Sourced by the benchmarks: functions that start a throw-away server with all data in memory,
# describe the machine, write pages and run DuckDB.

. "$(dirname "${BASH_SOURCE[0]}")/../test/server.sh"

hardware() {
	local model memory
	# lscpu needs /sys, which the file system of test/chroot.sh lacks
	model=$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1)
	model=${model:-$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)}
	memory=$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)
	echo "$model, $(nproc) cores, $memory of memory; PostgreSQL $(psql -XAtc 'SHOW server_version'); $(date +%F)"
}

# put_into PAGE TARGET FILE: writes the lines of FILE into PAGE.  These lines replace all lines
# between "make TARGET writes what follows" and "end of what make TARGET writes".
put_into() {
	local written
	written=$(mktemp "$SERVER_ROOT/page.XXXXXX")
	grep -q "^<!-- make $2 writes what follows -->" "$SOURCE/$1" &&
		grep -q "^<!-- end of what make $2 writes -->" "$SOURCE/$1" ||
		{ echo "$1 has no place for what make $2 writes" >&2; return 1; }
	awk -v lines="$3" -v begin="<!-- make $2 writes what follows -->" \
		-v end="<!-- end of what make $2 writes -->" '
		$0 == end { inside = 0 }
		!inside { print }
		$0 == begin {
			inside = 1
			while ((getline line <lines) > 0)
				print line
		}' "$SOURCE/$1" >"$written"
	cat "$written" >"$SOURCE/$1"
	echo "written: $1" >&2
}

# bench_server BUFFERS: builds, starts a server with BUFFERS of shared buffers, and
# changes to the folder of the SQL files.
bench_server() {
	server_build bench >&2
	server_stage
	server_start "shared_buffers = $1" "work_mem = 1GB" "autovacuum = off" "jit = off" \
		"max_parallel_workers_per_gather = 0" "max_wal_size = 16GB" "min_parallel_table_scan_size = 0"
	cd "$SOURCE/bench"
}

# Descriptions of the measurements that were not possible, for the page.
left_out=()
leave_out() {
	left_out+=("$1")
	echo "left out: $1" >&2
}

print_left_out() {
	local what
	for what in ${left_out[@]+"${left_out[@]}"}; do
		printf '\nNot measured: %s.\n' "$what"
	done
}

# duckdb_ready: true if DuckDB can be used.  DUCKDB names a folder with
# node_modules/@duckdb/node-api.  Without DUCKDB, npm installs DuckDB for this run, if npm and a
# network exist.
duckdb_ready() {
	command -v node >/dev/null || return 1
	if [ -z "${DUCKDB:-}" ]; then
		DUCKDB=$SERVER_ROOT/duckdb
		mkdir -p "$DUCKDB"
		timeout 120 npm install --silent --fetch-retries=1 --no-audit --no-fund --prefix "$DUCKDB" \
			@duckdb/node-api >&2 || return 1
	fi
	[ -d "$DUCKDB/node_modules/@duckdb/node-api" ]
}

# duckdb SCRIPT [ARGUMENT...]: runs a script of this folder that uses DuckDB.
duckdb() {
	NODE_PATH=$DUCKDB/node_modules node "$SOURCE/bench/$1" "${@:2}"
}
