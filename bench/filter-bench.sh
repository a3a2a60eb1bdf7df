#!/usr/bin/env bash
#
# The second half of "make filter-bench": compares filters inside PostgreSQL, on a throw-away
# server, with PostgreSQL's aggregates and Bloom filter, and with sketches.  Checks all results, and
# writes its tables into docs/engineering/filter-measurements.md.
#
#	ROWS (5000000)        rows of the table
#	TURNS (5)             runs of each query that has a target
#	WORKERS (1)           parallel workers in addition to the leader
#	BLOOM_KEYS (10000000) keys in a Bloom filter of 16 MB
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

bench_server 2GB
cp "$SOURCE/build/bench/pg_filters.so" "$SERVER_HOME"
{
	echo
	echo "$(hardware)."
	echo
	psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-5000000}" -v turns="${TURNS:-5}" \
		-v workers="${WORKERS:-1}" -v keys="${BLOOM_KEYS:-10000000}" \
		-v module="$SERVER_HOME/pg_filters" -f filter-bench.sql
	echo
} | tee "$SERVER_ROOT/tables"
put_into docs/engineering/filter-measurements.md filter-bench "$SERVER_ROOT/tables"
