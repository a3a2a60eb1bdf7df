#!/usr/bin/env bash
#
# Compares sketches of rows in another database, over postgres_fdw, with count(*) of the same rows:
# "make fdw-bench".  Checks all results, and writes its table into
# docs/engineering/several-machines.md.
#
#	ROWS (2000000)  rows, in four partitions
#	TURNS (9)       runs of each query
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

bench_server 1GB
{
	echo
	echo "$(hardware)."
	echo
	psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-2000000}" -v turns="${TURNS:-9}" -v host="$PGHOST" \
		-f fdw-bench.sql
	echo
} | tee "$SERVER_ROOT/tables"
put_into docs/engineering/several-machines.md fdw-bench "$SERVER_ROOT/tables"
