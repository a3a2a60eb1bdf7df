#!/usr/bin/env bash
#
# Cached columns on all GPUs of a host against one of them: "make bench-gpu-several", on a host
# with several GPUs.  Prints a Markdown table; what is measured is in bench-gpu-several.sql.
#
# ROWS (400000000) of a bigint and an int, 40 bytes each, which should fit into the host's
# memory; four tables of a sixteenth of them, which 8 sessions ask for LASTS (8) seconds.
# GPU_DEVICES (all there are): which GPUs are all.  QSKETCH_GPU (auto; emulate to try it).
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

cores=$(nproc)
rows=${ROWS:-400000000}

# fill TABLE ROWS: several sessions make the rows at a time, because that takes longest.
fill() {
	local part filling=()
	psql -Xqc "CREATE TABLE $1 (user_id bigint, day int)"
	for ((part = 0; part < cores; part++)); do
		psql -Xqc "SELECT setseed(0.$((part + 101)))" \
			-c "INSERT INTO $1 SELECT (random() ^ 3 * 20e6)::bigint, i % 30
				FROM generate_series(1, $(($2 / cores))) AS i" >/dev/null &
		filling+=($!)
	done
	for part in "${filling[@]}"; do
		wait "$part"
	done
	psql -Xqc "VACUUM ANALYZE $1"
}

# measure NAME DEVICES: the same queries with these GPUs, and how many sketches 8 sessions get.
measure() {
	local each
	server_restart "qsketch.gpu_devices = '$2'"
	until [ "$(psql -XAtqc 'SELECT min(state) FROM qsketch_gpu()')" = ready ]; do sleep 0.1; done
	psql -XAtq -v ON_ERROR_STOP=1 -v name="$1" -f bench-gpu-several.sql
	each=$(pgbench -n -c 8 -j 8 -T "${LASTS:-8}" -f bench-gpu-several.pgbench 2>/dev/null |
		sed -n 's/^tps = \([0-9.]*\).*/\1/p')
	psql -Xqc "INSERT INTO timings VALUES ('$1', 'sketches a second, 8 sessions, 4 tables', $each, '')"
}

server_build bench >&2
[ -n "${QSKETCH_BUNDLE:-}" ] || make -s -C "$SOURCE" test-modules
server_stage
cp "$SOURCE/build/test/gpu_fetch.so" "$SERVER_ROOT/"
chmod 755 "$SERVER_ROOT/gpu_fetch.so"
server_start "$(gpu_line auto)" "shared_buffers = 4GB" "work_mem = 1GB" "autovacuum = off" \
	"jit = off" "max_wal_size = 4GB" "full_page_writes = off" "qsketch.gpu_cache_size = 64GB" \
	"max_parallel_workers_per_gather = 0" "max_worker_processes = 40"
fill events "$rows"
for table in u0 u1 u2 u3; do
	fill $table $((rows / 16))
done
psql -Xq -c 'CREATE EXTENSION qsketch' \
	-c 'CREATE TABLE timings (name text, what text, ms float8, answer text)' \
	-c "CREATE FUNCTION gpu_fetch(qsketch) RETURNS bigint LANGUAGE c STRICT PARALLEL SAFE
		AS '$SERVER_ROOT/gpu_fetch.so'"
hardware
cd "$SOURCE/bench"
psql -Xq -f timing.sql
measure one 0
measure all "${GPU_DEVICES:-}"
psql -XAtq <<'SQL'
SELECT format('%s GPUs, each with %s peers; %s rows', count(*), max(peers), (SELECT reltuples::bigint FROM pg_class WHERE relname = 'events'))
FROM qsketch_gpu();
\qecho
\qecho '| what | one GPU, ms | all, ms | all / one | same bytes |'
\qecho '|---|---:|---:|---:|---|'
SELECT format('| %s | %s | %s | %s | %s |', what, round(one.ms::numeric, 2), round(a.ms::numeric, 2), round((a.ms / one.ms)::numeric, 2), one.answer = a.answer)
FROM timings AS one JOIN timings AS a USING (what) WHERE one.name = 'one' AND a.name = 'all' ORDER BY what;
SQL
[ "$(psql -XAtqc "SELECT count(DISTINCT answer) = count(DISTINCT what) FROM timings WHERE answer <> ''")" = t ]
