#!/usr/bin/env bash
#
# Measures questions for which exact SQL or hll may be better than qsketch, with PostgreSQL's
# default memory and planner settings: "make bench-exact".  Writes its table into docs/choosing.md.
#
#	ROWS (1000000)  rows of the log
#	TURNS (5)       runs of each query, alternating with the query to which it is compared
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

server_build bench >&2
server_stage
server_start
cd "$SOURCE/bench"
{
	psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-1000000}" -v turns="${TURNS:-5}" -f bench-exact.sql
	echo
	echo "\`make bench-exact\` on $(hardware)."
	echo
} | tee "$SERVER_ROOT/tables"
put_into docs/choosing.md bench-exact "$SERVER_ROOT/tables"
