#!/usr/bin/env bash
#
# Compares qtop_exact with GROUP BY on columns of a web log, with PostgreSQL's default memory and
# planner settings: "make bench-top".  Checks the ten largest counts of each column, and writes its
# table into docs/engineering/top-keys.md.
#
#	ROWS (5000000)  rows of the log
#	TURNS (5)       runs of each query
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

server_build bench >&2
server_stage
server_start
cd "$SOURCE/bench"
{
	echo
	echo "$(hardware)."
	echo
	psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-5000000}" -v turns="${TURNS:-5}" -f bench-top.sql
	echo
} | tee "$SERVER_ROOT/tables"
put_into docs/engineering/top-keys.md bench-top "$SERVER_ROOT/tables"
