#!/usr/bin/env bash
#
# The short benchmark of the extension inside PostgreSQL: "make bench-sql".  Prints a Markdown
# table.  bench-sql.sql has the queries, and the queries that they are compared with.  A ratio is
# the median of at most five turns.  "make bench" measures much more.
#
# ROWS (10000000) is the number of rows from which a sketch is made.
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

bench_server 2GB
hardware
echo
psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-10000000}" -f bench-sql.sql
