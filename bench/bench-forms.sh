#!/usr/bin/env bash
#
# Measures usual queries with the column scan and with the ordinary plan, groups in parallel plans,
# and moving windows: "make bench-forms".  Writes its tables into docs/engineering/performance.md.
#
#	ROWS (600000)   rows of the log
#	TURNS (5)       runs of each query, alternating with the query to which it is compared
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

bench_server 2GB
{
	psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-600000}" -v turns="${TURNS:-5}" -f bench-forms.sql
	echo
	echo "\`make bench-forms\` on $(hardware)."
	echo
} | tee "$SERVER_ROOT/tables"
put_into docs/engineering/performance.md bench-forms "$SERVER_ROOT/tables"
