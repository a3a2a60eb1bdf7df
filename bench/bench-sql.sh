#!/usr/bin/env bash
#
# The short benchmark of the extension inside PostgreSQL: "make bench-sql".  Prints a Markdown
# table.  bench-sql.sql has the queries, and the queries that they are compared with.  All ratios
# are from one run.  "make bench" measures everything.
#
# ROWS (10000000) is the number of rows of each table.
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

bench_server 2GB
hardware
echo
psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-10000000}" -f bench-sql.sql
