#!/usr/bin/env bash
#
# Compares scans of shared buffers in huge pages and in small pages: "make bench-huge".  Prints a
# table.  The server runs alternately with and without huge pages.  After each start, the tables
# are read into shared buffers, and then measured.
#
#	ROWS (10000000)  rows of each table
#	TURNS (5)        starts with huge pages, and as many starts without huge pages
#
# Needs root, because the script asks the system for huge pages, and releases them at the
# end.
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

[ -w /proc/sys/vm/nr_hugepages ] || { echo "make bench-huge: run as root" >&2; exit 1; }
queries=('SELECT qsketch_agg(k) FROM dated' 'SELECT qsketch_agg(k) FROM strewn' 'SELECT qsketch_agg(k) FROM partitioned'
	'SELECT qtop_agg(k, 20) FROM dated' 'SELECT count(*) FROM dated')
server_build bench >&2
server_stage
rows=${ROWS:-10000000}
megabytes=$((128 + rows * 3 / 20000))
before=$(cat /proc/sys/vm/nr_hugepages)
trap 'server_remove || :; echo "$before" >/proc/sys/vm/nr_hugepages' EXIT
wanted=$((before + megabytes / 2 + 100))
echo $wanted >/proc/sys/vm/nr_hugepages
[ "$(cat /proc/sys/vm/nr_hugepages)" -ge $wanted ] || { echo "the system has not so many huge pages" >&2; exit 1; }
server_start "shared_buffers = ${megabytes}MB" "jit = off" "max_parallel_workers_per_gather = 0" "max_wal_size = 8GB" "autovacuum = off"
cd "$SOURCE/bench"
psql -Xq -v ON_ERROR_STOP=1 -v rows="$rows" -f bench-huge.sql >&2
for ((turn = 0; turn < ${TURNS:-5}; turn++)); do
	for pages in on off; do
		server_restart "huge_pages = $pages"
		psql -Xq -v ON_ERROR_STOP=1 -c "SELECT prewarm()" >/dev/null
		for query in "${queries[@]}"; do
			psql -Xq -c "INSERT INTO times (pages, query, ms)
				SELECT '$pages', '$query', min(run_ms('$query')) FROM generate_series(1, 3)"
		done
	done
done
printf '\n| query | small pages | huge pages | ratio |\n|---|---:|---:|---:|\n'
psql -XAtq -c "SELECT format('| \`%s\` | %s | %s | %s |', query, readable_ms(off), readable_ms(huge), round(huge / off, 2))
	FROM (SELECT query, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE pages = 'off')::numeric AS off,
		percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE pages = 'on')::numeric AS huge, min(id) AS id
		FROM times GROUP BY query) AS t ORDER BY id"
printf '\n`make bench-huge` on %s.\n' "$(hardware)"
