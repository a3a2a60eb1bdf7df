#!/usr/bin/env bash
#
# Measures a log, its daily rollups, and queries of both, with qsketch and in exact SQL, with
# PostgreSQL's default memory and planner settings: "make bench-rollup".  Checks all answers, and
# writes its table into README.md.  Then measures rollups whose groups do not fit into memory, and
# writes their table into docs/engineering/performance.md.
#
#	ROWS (4000000)  rows of the log
#	TURNS (5)       runs of each query, alternating with the query to which it is compared
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

server_build bench >&2
server_stage
server_start
cd "$SOURCE/bench"
{
	psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-4000000}" -v turns="${TURNS:-5}" -f bench-rollup.sql
	echo
	echo "\`make bench-rollup\` on $(hardware)."
	echo
} | tee "$SERVER_ROOT/tables"
put_into README.md bench-rollup "$SERVER_ROOT/tables"
{
	echo
	psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-4000000}" -v turns="${TURNS:-5}" -f bench-rollup-memory.sql
	echo
	echo "\`make bench-rollup\` on $(hardware)."
	echo
} | tee "$SERVER_ROOT/tables"
put_into docs/engineering/performance.md bench-rollup "$SERVER_ROOT/tables"
