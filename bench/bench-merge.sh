#!/usr/bin/env bash
#
# Compares merging multilevel and sub_warp sketches: "make bench-merge".  Prints Markdown tables:
# first of the functions alone (merge.c), then of queries on a throw-away server (bench-merge.sql).
# All ratios compare alternate runs.
#
#	ROWS (10000000)  rows of the table
#	STORED (300)     stored sketches of 1 MB of each kind; at least 30
#	TURNS (5)        runs of each query
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

"$SOURCE/build/bench/merge"
bench_server 2GB
hardware
echo
psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-10000000}" -v stored="${STORED:-300}" \
	-v turns="${TURNS:-5}" -f bench-merge.sql
