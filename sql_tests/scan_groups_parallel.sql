--
-- QSketchScan with GROUP BY in parallel plans: the groups and bytes of serial plans.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set file :dir '/sql/include/plan.psql'
\i :file
\set ECHO all
SET work_mem = '64MB';
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET cpu_tuple_cost = 0.0001;
SET cpu_operator_cost = 0.01;
CREATE TABLE p_scan (note text, day int, hour timestamp, country text, many int, k bigint, w int, x numeric);
INSERT INTO p_scan
SELECT CASE WHEN r % 5 = 0 THEN repeat('n', r % 50) END, CASE WHEN r % 41 > 0 THEN r * 7919::bigint % 30 END, timestamp '2026-01-01' + r * interval '97.3 s',
	CASE WHEN r % 19 > 0 THEN 'country ' || r % 7 END, r * 31::bigint % 2000, CASE WHEN r % 13 > 0 THEN (r * 7919::bigint) % 3000 END, r % 20 + 1, round(r / 7.0, 2)
FROM generate_series(1, 20000) AS r;
DELETE FROM p_scan WHERE k % 17 = 3;
CREATE TABLE p_parts (LIKE p_scan) PARTITION BY RANGE (day);
CREATE TABLE p_low PARTITION OF p_parts FOR VALUES FROM (0) TO (10);
CREATE TABLE p_high (x numeric, gone int, w int, k bigint, many int, country text, hour timestamp, day int, note text);
ALTER TABLE p_high DROP gone;
ALTER TABLE p_parts ATTACH PARTITION p_high DEFAULT;
INSERT INTO p_parts SELECT * FROM p_scan;
VACUUM ANALYZE p_scan, p_parts;

-- all rows by a parallel scan, by a serial scan, and by the ordinary plan
CREATE FUNCTION pg_temp.rows_by(query text, way text) RETURNS text[] LANGUAGE plpgsql AS $$ DECLARE r text[]; BEGIN
	PERFORM set_config('qsketch.enable_columnscan', (way <> 'ordinary')::text, true);
	PERFORM set_config('max_parallel_workers_per_gather', CASE way WHEN 'parallel' THEN '2' ELSE '0' END, true);
	IF way = 'parallel' AND NOT pg_temp.plan_has(query, 'Parallel Custom Scan \(QSketchScan\)') THEN RETURN ARRAY['not parallel']; END IF;
	EXECUTE format('SELECT array_agg(s::text ORDER BY s::text) FROM (%s) AS s', query) INTO r;
	PERFORM set_config('qsketch.enable_columnscan', 'on', true);
	RETURN r;
END $$;
CREATE FUNCTION pg_temp.same(query text, OUT same boolean, OUT groups int) LANGUAGE plpgsql AS $$
DECLARE a text[] := pg_temp.rows_by(query, 'parallel'); BEGIN
	same := a IS NOT DISTINCT FROM pg_temp.rows_by(query, 'serial') AND a IS NOT DISTINCT FROM pg_temp.rows_by(query, 'ordinary');
	groups := cardinality(a);
END $$;

SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT day, qsketch_agg(k) FROM p_scan GROUP BY day ORDER BY day;
SELECT pg_temp.plan($$SELECT hour::date, country, count(*), sum(x), qsketch_agg(k) FILTER (WHERE w > 3) FROM p_scan WHERE w < 18 GROUP BY hour::date, country HAVING count(*) > 5$$);
EXPLAIN (COSTS OFF) SELECT day, qsketch_agg(k) FROM p_parts GROUP BY day;

-- each aggregate, each kind of group
SELECT call, s.* FROM unnest(ARRAY['qsketch_agg(k)', 'qsketch_agg(country)', 'qsketch_agg(k, w)', 'qsketch_agg(ROW(k, country))', 'qtop_agg(k, 5)', 'qtop_agg(k, w, 3)',
	'qsketch_agg(k, qsketch_new(''warp'', ''1kB''))', 'qsketch_agg(k, qsketch_new(''multilevel'', ''4kB''))', 'qfilter_agg(k, qfilter_new_bloom(1000))', 'qsets_agg(w, k)', 'qsets_agg(w, country)',
	'qsketch_agg(k), count(*), count(country), sum(w), sum(k), sum(x)', 'qsketch_agg(k), avg(w), avg(x), min(country), max(hour), max(note)']) AS call,
	unnest(ARRAY['p_scan', 'p_parts']) AS source, LATERAL pg_temp.same(format('SELECT day, %s FROM %s GROUP BY day', call, source)) AS s ORDER BY call COLLATE "C", source COLLATE "C";
SELECT by, s.* FROM unnest(ARRAY['many', 'country', 'hour::date', 'date_trunc(''hour'', hour)', 'date_bin(''90 min'', hour, ''2026-01-01'')', 'k % 100', 'w, country', 'left(country, 3), w > 5, day / 10']) AS by,
	LATERAL pg_temp.same(format('SELECT %s, qsketch_agg(k), count(*) FILTER (WHERE w > 7), qtop_agg(w, 3) FROM p_scan WHERE w < 19 GROUP BY %1$s', by)) AS s ORDER BY by;

-- HAVING, FILTER, no rows; the group not at all or more than once; what stands above
SELECT q, s.* FROM unnest(ARRAY['SELECT day, qsketch_agg(k) FROM p_scan GROUP BY day HAVING count(*) > 600', 'SELECT qsketch_agg(k) FROM p_scan GROUP BY day',
	'SELECT day * 2, -day, qsketch_total(qsketch_agg(k)) + day FROM p_scan GROUP BY day', 'SELECT day, qsketch_agg(k) FROM p_scan WHERE w > 1000 GROUP BY day',
	'SELECT day, qsketch_agg(k) FILTER (WHERE day = 3), count(*) FROM p_scan GROUP BY day', 'SELECT many, qsketch_agg(k) FROM p_scan GROUP BY many ORDER BY qsketch_total(qsketch_agg(k)), many LIMIT 10',
	'SELECT day, qsketch_agg(k), sum(count(*)) OVER (ORDER BY day) FROM p_scan GROUP BY day',
	'SELECT a.day, sk, n FROM (SELECT day, qsketch_agg(k) AS sk FROM p_scan GROUP BY day) AS a JOIN (SELECT day, count(*) AS n FROM p_parts GROUP BY day) AS b USING (day)',
	'WITH s AS MATERIALIZED (SELECT day, qsketch_agg(k) AS sk FROM p_parts GROUP BY day) SELECT qsketch_merge_agg(sk) FROM s']) AS q, LATERAL pg_temp.same(q) AS s ORDER BY q;

-- without the leader; without workers
SET parallel_leader_participation = off;
SELECT s.* FROM pg_temp.same('SELECT many, qsketch_agg(k), count(*) FROM p_scan GROUP BY many') AS s;
RESET parallel_leader_participation;
SET max_parallel_workers = 0;
SELECT s.* FROM pg_temp.same('SELECT many, qsketch_agg(k), count(*) FROM p_scan GROUP BY many') AS s;
RESET max_parallel_workers;

-- prepared statements with a generic plan
PREPARE grouped(int) AS SELECT day, qsketch_total(qsketch_agg(k)), count(*) FROM p_scan WHERE w > $1 AND day < 3 GROUP BY day ORDER BY day;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE grouped(20);
EXECUTE grouped(18);
EXECUTE grouped(100);
RESET plan_cache_mode;

-- what EXPLAIN ANALYZE tells: each key once; each process may have each group
CREATE FUNCTION pg_temp.told(query text, OUT workers int, OUT keys int, OUT every_group boolean, OUT spilled boolean) LANGUAGE plpgsql AS $$ DECLARE plan text; BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
	workers := substring(plan FROM '"Workers Planned": (\d+)');
	keys := substring(plan FROM '"Keys": (\d+)');
	every_group := substring(plan FROM '"Groups": (\d+)')::int BETWEEN 31 AND 93;
	spilled := plan ~ 'Spilled Groups';
END $$;
SELECT count(k) FROM p_scan;
SELECT * FROM pg_temp.told('SELECT day, qsketch_agg(k) FROM p_scan GROUP BY day');

-- more groups in a process than it has memory for: the planner expects 10
CREATE TABLE p_guess AS SELECT r % 3000 AS g, r * 7919::bigint AS k FROM generate_series(1, 12000) AS r;
ALTER TABLE p_guess ALTER g SET (n_distinct = 10);
VACUUM ANALYZE p_guess;
SET work_mem = '512kB';
SET hash_mem_multiplier = 1;
SELECT s.* FROM pg_temp.same('SELECT g, qsketch_agg(k), count(*) FROM p_guess GROUP BY g') AS s;
SELECT workers, keys, spilled FROM pg_temp.told('SELECT g, qsketch_agg(k), qsketch_agg(g) FROM p_guess GROUP BY g');
-- rescans: a hash aggregate that has no memory either gets all rows once more, from workers that start anew
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
CREATE FUNCTION pg_temp.scans(query text) RETURNS int LANGUAGE plpgsql AS $$ DECLARE plan text; BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
	RETURN substring(plan FROM '"Node Type": "Gather".*?"Actual Loops": (\d+)');
END $$;
CREATE TABLE p_rescan AS SELECT * FROM (VALUES (1, 'SELECT n, s.* FROM generate_series(1, 3) AS n LEFT JOIN (SELECT g, qsketch_agg(k), count(*) FROM p_guess GROUP BY g OFFSET 0) AS s ON n <> s.g'),
	(2, 'SELECT n, (SELECT count(sk) FROM (SELECT qsketch_agg(k) AS sk FROM p_guess GROUP BY g LIMIT 5) AS a WHERE n > 0) FROM generate_series(1, 3) AS n')) AS q(id, q);
SELECT id, s.* FROM p_rescan, LATERAL pg_temp.same(q) AS s ORDER BY id;
SELECT id, pg_temp.scans(q) FROM p_rescan ORDER BY id;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET enable_memoize;


-- in one process: groups for which there is no memory all at a time, where that is cheaper, and on demand
SELECT q, s.* FROM unnest(ARRAY['SELECT day, qsketch_agg(k) FROM p_scan GROUP BY day', 'SELECT k % 500, qsketch_agg(many) FROM p_scan GROUP BY k % 500',
	'SELECT many, qsketch_agg(k) FROM p_scan GROUP BY many']) AS q, LATERAL (SELECT pg_temp.plan_has(q, 'QSketchScan') AS scanned, pg_temp.plan_has(q, 'Gather') AS parallel) AS s;
-- or the ordinary plan, which is parallel, is cheaper; planned once before, since growing caches are logged, too
SET cpu_operator_cost = 1;
SET qsketch.device = cpu;
DO $$ BEGIN
	EXECUTE 'EXPLAIN SELECT many, qsketch_agg(k) FROM p_scan GROUP BY many';
	SET LOCAL client_min_messages = debug1;
	EXECUTE 'EXPLAIN SELECT many, qsketch_agg(k) FROM p_scan GROUP BY many';
END $$;
SET cpu_operator_cost = 0.01;
RESET qsketch.device;
SET work_mem = '64MB';
RESET hash_mem_multiplier;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET cpu_tuple_cost;
RESET cpu_operator_cost;
SELECT pg_temp.plan_has('SELECT day, qsketch_agg(k) FROM p_scan GROUP BY day', 'Gather') AS parallel;
SET parallel_setup_cost = 0;
-- the ordinary plan also counts what it takes to pass the states of workers, of 20 keys and of hundreds; not from PostgreSQL 19 on
SET qsketch.enable_columnscan = off;
SELECT call, large, pg_temp.plan_has(format('SELECT day, %s FROM p_scan GROUP BY day', call), 'Partial')
	= (NOT large OR current_setting('server_version_num')::int >= 190000) AS counted
FROM (VALUES ('count(*)', false), ('qsketch_agg(w)', false), ('qsketch_agg(k)', true), ('qtop_agg(k, 5)', true), ('qfilter_agg(k, qfilter_new_bloom(100000))', true)) AS v(call, large);
RESET qsketch.enable_columnscan;
SET parallel_tuple_cost = 0;
SET cpu_tuple_cost = 0.0001;
SET cpu_operator_cost = 0.01;
ALTER TABLE p_scan SET (parallel_workers = 0);
SELECT pg_temp.plan_has('SELECT day, qsketch_agg(k) FROM p_scan GROUP BY day', 'Gather') AS parallel;
ALTER TABLE p_scan RESET (parallel_workers);

-- an error, in whichever process it comes first
\set SHOW_CONTEXT never
SELECT day, qsketch_agg(k) FROM p_scan WHERE 1 / (w - w) > 0 GROUP BY day;
SELECT k / (w - w), qsketch_agg(k) FROM p_scan GROUP BY k / (w - w);
\set SHOW_CONTEXT errors
DROP TABLE p_scan, p_parts, p_guess, p_rescan;
