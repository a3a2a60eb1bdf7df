#!/usr/bin/env bash
#
# Measures cached columns on one GPU of a host, on two GPUs, and so on: "make bench-gpu-several", on
# a host with several GPUs.  Prints a Markdown table.  bench-gpu-several.sql says what is measured.
#
# ROWS (400000000) of a bigint and two ints are divided among as many partitions as cores.  A row
# takes 44 bytes.  All rows and their WAL should fit into the host's memory.  For
# LASTS (8) seconds, 8 sessions query sketches of four tables, two sessions for each table.  A table
# has a sixteenth of the rows, but at most 25 million.  All pages of the partitions must be in
# cached columns.  Pairs are found among SETS (10000) sets, which follow the paper's description of
# ENRON.  For comparison, PostgreSQL's count(*) runs with a process for each core, but at most 32.
# The line above the table has the time of the second count(*), and the number of planned workers.
# COUNTS (1 2 4) are the numbers of GPUs; numbers above the host's number of GPUs are skipped.
# QSKETCH_GPU=emulate tries the script without a GPU (default: auto).
set -eu -o pipefail
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/fill.sh"
. "$(dirname "$0")/enron.sh"

cores=$(nproc)
rows=${ROWS:-400000000}
small=$((rows / 16 < 25000000 ? rows / 16 : 25000000))
workers=$((cores < 32 ? cores - 1 : 31))

# fill TABLE PART ROWS: makes a table of ROWS rows whose column "part" is PART.
fill() {
	fill_new "$1" "user_id bigint, day int, part int NOT NULL CHECK (part = $2)" \
		"srand($2); print int(rand() ** 3 * 20e6), qq(\\t), \$_ % 30, qq(\\t$2\\n) for 1 .. $3"
}

# Fills partitions and tables in several sessions at the same time.
fill_all() {
	local i filling=()
	for ((i = 0; i < cores; i++)); do
		fill "part_$i" "$i" "$((rows / cores))" &
		filling+=($!)
	done
	for ((i = 0; i < 4; i++)); do
		fill "u$i" "$i" "$small" &
		filling+=($!)
	done
	for i in "${filling[@]}"; do
		wait "$i"
	done
	psql -Xqc 'CREATE TABLE events (user_id bigint, day int, part int) PARTITION BY LIST (part)'
	for ((i = 0; i < cores; i++)); do
		psql -Xqc "ALTER TABLE events ATTACH PARTITION part_$i FOR VALUES IN ($i)" \
			-c "ALTER TABLE part_$i SET (parallel_workers = $workers)"
	done
}

# measure COUNT: measures the queries with COUNT GPUs, and how many sketches 8 sessions
# receive.
measure() {
	local each
	server_restart "qsketch.gpu_devices = '$(seq -s, 0 $(($1 - 1)))'"
	until [ "$(psql -XAtqc 'SELECT min(state) FROM qsketch_gpu()')" = ready ]; do sleep 0.1; done
	psql -XAtq -v ON_ERROR_STOP=1 -v name="$1" -f bench-gpu-several.sql
	each=$(pgbench -n -c 8 -j 8 -T "${LASTS:-8}" -f bench-gpu-several.pgbench 2>/dev/null |
		sed -n 's/^tps = \([0-9.]*\).*/\1/p')
	psql -Xqc "INSERT INTO timings VALUES ('$1', 'sketches a second, 8 sessions, 4 tables', $each, '')"
	[ "$(psql -XAtqc "SELECT sum(pages_true) = (SELECT 2 * sum(pg_relation_size(inhrelid) / 8192)
		FROM pg_inherits) FROM qsketch_gpu_columns WHERE \"table\"::text LIKE 'part%'")" = t ]
}

server_build bench >&2
[ -n "${QSKETCH_BUNDLE:-}" ] || make -s -C "$SOURCE" test-modules
server_stage
cp "$SOURCE/build/test/gpu_fetch.so" "$SERVER_ROOT/"
chmod 755 "$SERVER_ROOT/gpu_fetch.so"
server_start "$(gpu_line auto)" "shared_buffers = 4GB" "work_mem = 1GB" "autovacuum = off" \
	"jit = off" "fsync = off" "max_wal_size = 200GB" "wal_buffers = 1GB" "wal_init_zero = off" \
	"qsketch.gpu_cache_size = 64GB" \
	"max_parallel_workers_per_gather = 0" "max_worker_processes = 40"
fill_all
psql -Xq -c 'CREATE EXTENSION qsketch' \
	-c 'CREATE TABLE timings (name text, what text, ms float8, answer text)' \
	-c "CREATE FUNCTION gpu_fetch(qsketch) RETURNS bigint LANGUAGE c STRICT PARALLEL SAFE
		AS '$SERVER_ROOT/gpu_fetch.so'"
psql -Xqc 'CREATE TABLE item (s int, e int)'
fill_sets item "${SETS:-10000}"
psql -Xqc 'VACUUM (FREEZE, ANALYZE) item'
hardware
cd "$SOURCE/bench"
psql -Xq -f timing.sql
until [ "$(psql -XAtqc 'SELECT min(state) FROM qsketch_gpu()')" = ready ]; do sleep 0.1; done
there=$(psql -XAtqc 'SELECT count(*) FROM qsketch_gpu()')
counted=$(psql -XAtq -v ON_ERROR_STOP=1 <<SQL | sed -n 's/.*Workers Planned: \(.*\)/\1 workers/p; $p'
SET max_parallel_workers = $workers;
SET max_parallel_workers_per_gather = $workers;
EXPLAIN SELECT count(*) FROM events;
SELECT round(run_ms('SELECT count(*) FROM events')) || ' ms' FROM generate_series(1, 2);
SQL
)
measured=0
for count in ${COUNTS:-1 2 4}; do
	[ "$count" -le "$there" ] || continue
	measure "$count"
	measured=$((measured + 1))
done
psql -XAtq -v rows="$rows" -v counted="${counted//$'\n'/: }" <<'SQL'
SELECT format('%s GPUs, each with %s peers; %s rows; count(*) on the CPU, %s', count(*), max(peers), :rows, :'counted') FROM qsketch_gpu();
\qecho
SELECT format('| what | %s | the last / the first | same bytes |', string_agg(name || ' GPUs, ms', ' | ' ORDER BY name)) || E'\n|---|' || repeat('---:|', 1 + count(*)::int) || '---|'
FROM (SELECT DISTINCT name::int FROM timings) AS x;
SELECT format('| %s | %s | %s | %s |', what, string_agg(round(ms::numeric, 2)::text, ' | ' ORDER BY name::int),
	round(((array_agg(ms ORDER BY name::int DESC))[1] / (array_agg(ms ORDER BY name::int))[1])::numeric, 2), CASE WHEN max(answer) <> '' THEN (count(DISTINCT answer) = 1)::text END)
FROM timings GROUP BY what ORDER BY what;
SQL
[ "$(psql -XAtqc "SELECT bool_and(n = 1 AND runs = $measured) FROM
	(SELECT count(DISTINCT answer) AS n, count(answer) AS runs FROM timings GROUP BY what) AS x")" = t ]
