#!/usr/bin/env bash
#
# Compares all structures on the same rows: "make structures".  Makes its own data on a throw-away
# server, measures how fast and how accurate each structure is, checks that the default sketch finds
# enough of the most frequent keys, and writes the tables into docs/engineering/structures.md,
# between the lines that mark them.
#
#	TURNS (5)      runs of each query; the shortest counts
#	CLICKS (yes)   no: without the 20 million clicks
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

bench_server 2GB
tables=$(mktemp "$SERVER_ROOT/tables.XXXXXX")
{
	echo
	echo "\`make structures\` writes this section. The times of build, estimate and merge are the shortest of ${TURNS:-5} runs, in one process."
	hardware
	echo
	psql -XAtq -v ON_ERROR_STOP=1 -v turns="${TURNS:-5}" -v clicks="${CLICKS:-yes}" -f structures.sql
	echo
} | tee "$tables"
put_into docs/engineering/structures.md structures "$tables"
