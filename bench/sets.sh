#!/usr/bin/env bash
#
# Compares the sets family inside PostgreSQL with intarray, a self-join in SQL and DuckDB:
# "make sets-bench-sql".  Writes its table into docs/engineering/sets-performance.md.  Rivals that
# are not installed are left out of the table, and are named below it.
#
#	ROWS (10000000)     rows of which a collection is built
#	DRAWS (10000000)    draws for each of the two stored arrays
#	TURNS (5)           runs of each query, except the queries of kosarak
#	DUCKDB              a folder with node_modules/@duckdb/node-api (default: installed by npm)
#	QSKETCH_DATA (../shared/data)  folder of the file of kosarak
#	DUCKDB_ALL (no)     yes: DuckDB also finds the pairs of all sessions, which takes minutes
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

has_intarray() {
	[ "$(psql -XAtc "SELECT count(*) FROM pg_available_extensions WHERE name = 'intarray'")" = 1 ]
}

# row WHAT MS THEIRS TARGET SAME: prints one line of the table, with qsketch's and DuckDB's
# milliseconds.
row() {
	awk -v what="$1" -v ours="$2" -v theirs="$3" -v target="$4" -v same="$5" 'BEGIN {
		ratio = ours / theirs
		printf "| %s | `qsets_pairs` | %.0f | DuckDB, 2 threads | %.0f | %.4f | <= %s | %s |\n",
			what, ours, theirs, ratio, target, (same != "yes" ? "WRONG" : ratio <= target ? "PASS" : "FAIL")
	}'
}

# compare WHAT KEY MOST_ID MIN_COUNT MS TARGET: prints the line of the table, and compares the
# number of DuckDB's pairs, and two sums over them, with line KEY of the file "ours" (sets.sql).
compare() {
	local answer same=no
	answer=$(duckdb sets-duckdb.js "$folder/session.csv" 2 "$3" "$4") # pairs, sums, milliseconds
	[ "$2 ${answer% *}" != "$(grep "^$2 " "$folder/ours")" ] || same=yes
	row "$1" "$5" "${answer##* }" "$6" "$same"
	[ $same = yes ] || wrong=1
}

duckdb_rows() {
	compare "kosarak, 6,000 sessions, at least 5 in common" first 6000 5 "$(cat "$folder/first_ms")" 0.1
	if [ "${DUCKDB_ALL:-no}" = yes ]; then
		compare "kosarak, all sessions, at least 20 in common" all 1000000 20 "$(cat "$folder/all_ms")" 0.1
	fi
}

alone_rows() {
	awk '{ printf "| kosarak, all sessions, at least 20 in common, from the table | `qsets_pairs` | %.0f | | | | <= 1000 ms | %s |\n",
		$1, ($1 <= 1000 ? "PASS" : "FAIL") }' "$folder/all_ms"
	awk -F'|' '{ printf "| kosarak, at least 3: %d pairs counted in SQL | `qsets_pairs` | %.0f | | | %.1f M rows/s | >= 5 M rows/s | %s |\n",
		$1, $2, $1 / $2 / 1000, ($1 / $2 >= 5000 ? "PASS" : "FAIL") }' "$folder/rows_ms"
}

export SESSIONS
SESSIONS=$(mktemp)
bench_server "${BUFFERS:-2GB}"
export FOLDER
folder=$(mktemp -d "$SERVER_ROOT/sets.XXXXXX")
FOLDER=$folder
wrong=0
intarray=0
kosarak=0
if has_intarray; then intarray=1; else leave_out "intarray, which is not installed"; fi
if zcat "${QSKETCH_DATA:-$SOURCE/../shared/data}/kosarak-36682-transactions.dat.gz" >"$SESSIONS" 2>/dev/null; then
	kosarak=1
else
	leave_out "kosarak, as its file is not in ../shared/data"
fi
chmod a+r "$SESSIONS"
{
	echo "$(hardware). Each time is the median of ${TURNS:-5} runs in one process, alternating with the query of the"
	echo "column *against*. The self-join ran once. \`WRONG\` marks results that differ."
	echo
	psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-10000000}" -v draws="${DRAWS:-10000000}" \
		-v turns="${TURNS:-5}" -v intarray=$intarray -v kosarak=$kosarak -v folder="$folder" -f sets.sql
	[ $kosarak = 0 ] || alone_rows
	if [ $kosarak = 1 ]; then
		if duckdb_ready; then duckdb_rows; else leave_out "DuckDB, which was not found, and which npm could not install"; fi
	fi
	print_left_out
} | tee "$folder/table"
rm -f "$SESSIONS"
grep -q "| WRONG |" "$folder/table" && { echo "a result is wrong" >&2; exit 1; }
put_into docs/engineering/sets-performance.md sets-bench-sql "$folder/table"
