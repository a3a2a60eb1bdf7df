#!/usr/bin/env bash
#
# Measures sketches of weights: "make weights".  Makes its own data on a throw-away
# server, measures errors by structure, depth and unit, checks predicted errors,
# and writes the tables into docs/engineering/structures.md, between the lines that
# mark them.
#
#	TURNS (5)      runs of each build; the shortest counts
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

bench_server 1GB
tables=$(mktemp "$SERVER_ROOT/tables.XXXXXX")
{
	echo
	echo "\`make weights\` writes this section. Times are the shortest of ${TURNS:-5} runs, in one process."
	hardware
	echo
	psql -XAtq -v ON_ERROR_STOP=1 -v turns="${TURNS:-5}" -f weights.sql
	echo
} | tee "$tables"
put_into docs/engineering/structures.md weights "$tables"
