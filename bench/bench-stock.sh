#!/usr/bin/env bash
#
# Compares sketches, exact SQL and DuckDB on one table of 8 columns, with PostgreSQL's default
# memory and planner settings, with 2 workers and with none, cold and warm: "make bench-stock".
# Checks all answers except DuckDB's estimates, and writes its table into
# docs/engineering/performance.md.
#
# Before a cold run, the table's files are dropped from the file cache.  A cold run of PostgreSQL
# begins with a restart of the server.  A warm run is the second of two runs.  On memory file
# systems, files cannot be dropped, so there are no cold runs.
#
#	ROWS (4000000)  rows of the table
#	TURNS (5)       runs of each query, all queries in turn
#	DUCKDB          a folder with node_modules/@duckdb/node-api (default: installed by npm)
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

in_sql() {
	psql -XAtq -v ON_ERROR_STOP=1 "$@"
}

# Drops files from the file cache; fails if 1 MB or more of the files is still cached.
drop_cache() {
	local file cached
	for file; do
		sync -d "$file" && dd if="$file" iflag=nocache count=0 status=none || return 1
	done
	cached=$(fincore --bytes --noheadings --output RES "$@" | awk '{ sum += $1 } END { print sum + 0 }') || return 1
	[ "$cached" -lt 1000000 ]
}

# read_ms FILE...: prints the milliseconds that it takes to read these files.
read_ms() {
	local start
	start=$(date +%s%N)
	cat "$@" >/dev/null
	echo $((($(date +%s%N) - start) / 1000000))
}

load_average() {
	cut -d' ' -f1 /proc/loadavg
}

measure_PostgreSQL() {
	if [ "$3" = true ]; then
		server_restart
		drop_cache "${files[@]}"
	fi
	in_sql -c "SELECT measure($1, $2, $3)" >/dev/null
}

# ask_duckdb ID WORKERS RUNS: prints the milliseconds and the answer of the last run.
ask_duckdb() {
	duckdb stock-duckdb.js "$folder/hits.duckdb" $(($2 > 0 ? $2 : 1)) "$3" \
		"$(in_sql -c "SELECT query FROM queries WHERE id = $1")"
}

measure_DuckDB() {
	local answer
	if [ "$3" = true ]; then
		drop_cache "$folder/hits.duckdb"
		answer=$(ask_duckdb "$1" "$2" 1)
	else
		answer=$(ask_duckdb "$1" "$2" 2)
	fi
	in_sql -c "INSERT INTO timings VALUES ($1, $2, $3, ${answer%% *})"
}

load_duckdb() {
	in_sql -c "COPY hits TO STDOUT (FORMAT csv)" >"$folder/hits.csv"
	duckdb stock-duckdb.js "$folder/hits.duckdb" 2 1 "CREATE TABLE hits AS SELECT * FROM read_csv('$folder/hits.csv',
		header = false, columns = {'id': 'BIGINT', 'day': 'DATE', 'at': 'TIMESTAMP', 'user_id': 'BIGINT',
		'country': 'VARCHAR', 'url': 'VARCHAR', 'agent': 'VARCHAR', 'bytes': 'BIGINT'})" >/dev/null
	rm "$folder/hits.csv"
}

# answer_duckdb ID WORKERS: stores DuckDB's answer beside PostgreSQL's.
answer_duckdb() {
	local answer
	answer=$(ask_duckdb "$1" "$2" 1)
	in_sql -v answer="${answer#* }" <<<"INSERT INTO answers VALUES ($1, $2, :'answer')"
}

# each_run SYSTEM COMMAND...: calls the command with the id and the workers of each query of the
# system.
each_run() {
	local run runs
	mapfile -t runs < <(in_sql -F' ' -c "SELECT id, workers FROM queries, unnest('{2,0}'::int[]) AS workers
		WHERE system = '$1' ORDER BY id, workers DESC")
	for run in "${runs[@]}"; do
		"${@:2}" "${run% *}" "${run#* }"
	done
}

# measure SYSTEM ID WORKERS: measures one query.
measure() {
	[ $cold = no ] || "measure_$1" "$2" "$3" true
	"measure_$1" "$2" "$3" false
}

page() {
	in_sql -f print-stock.sql
	[ $cold = no ] ||
		echo "The first reading of the table's files, by \`cat\`, took $cold_ms ms; the second, from the file cache, $warm_ms ms."
	[ $with_duckdb = no ] || echo "DuckDB $duckdb_version, its own settings; its file takes $duckdb_size."
	printf '\n`make bench-stock` on %s. Medians of %d runs. The load average was %s at the start, and %s at the end.\n' \
		"$(hardware)" "$turns" "$load" "$(load_average)"
	print_left_out
	echo
}

turns=${TURNS:-5}
cold=yes
with_duckdb=yes
load=$(load_average)
server_build bench >&2
server_stage
server_start
folder=$(mktemp -d "$SERVER_ROOT/stock.XXXXXX")
cd "$SOURCE/bench"
in_sql -v rows="${ROWS:-4000000}" -f bench-stock.sql
path=$SERVER_HOME/data/$(in_sql -c "SELECT pg_relation_filepath('hits')")
mapfile -t files < <(find "${path%/*}" -regex "$path\([._].*\)?")
in_sql -c CHECKPOINT
if drop_cache "${files[@]}"; then
	cold_ms=$(read_ms "${files[@]}")
	warm_ms=$(read_ms "${files[@]}")
else
	cold=no
	leave_out "cold runs, as the table's files do not leave the file cache"
fi
if duckdb_ready; then
	load_duckdb
	duckdb_version=$(duckdb stock-duckdb.js :memory: 1 1 "SELECT ltrim(version(), 'v')")
	duckdb_version=${duckdb_version#* }
	duckdb_size=$(in_sql -c "SELECT pg_size_pretty($(stat -c %s "$folder/hits.duckdb")::bigint)")
else
	with_duckdb=no
	leave_out "DuckDB, which was not found, and which npm could not install"
fi
for turn in $(seq "$turns"); do
	echo "turn $turn of $turns" >&2
	each_run PostgreSQL measure PostgreSQL
	[ $with_duckdb = no ] || each_run DuckDB measure DuckDB
done
in_sql -c "SELECT fill_answers()" >/dev/null
[ $with_duckdb = no ] || each_run DuckDB answer_duckdb
page | tee "$folder/page"
put_into docs/engineering/performance.md bench-stock "$folder/page"
