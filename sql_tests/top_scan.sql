--
-- qtop_agg of a column straight off the pages: the sketch of the ordinary plan and
-- the same list, in which plans, and what is left to the ordinary one.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
CREATE DOMAIN count AS int;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN word AS text;
CREATE TABLE t_scan (s smallint, i int, b bigint, d count, t text, n int, x date, u uuid, a inet, v word, m mood, y numeric, z int[], c char(8), l text);
INSERT INTO t_scan SELECT k % 300, k, k::bigint * 1000000007, k % 5000, k, CASE WHEN r % 3 = 0 THEN NULL ELSE k END, date '2026-01-01' + k,
	md5(k::text)::uuid, inet '10.0.0.0' + k, CASE WHEN r % 5 > 0 THEN 'word ' || k END, (ARRAY['sad', 'ok', 'happy'])[1 + k % 3]::mood, k / 7.0, ARRAY[k, 1], 'c' || k,
	CASE k % 50 WHEN 0 THEN repeat('long ' || k, 700) ELSE k::text END
FROM (SELECT r, floor(30000 ^ ((r * 0.61803398874989484820::numeric % 1)::float8))::int AS k FROM generate_series(1, 60000) AS r) AS z;
ALTER TABLE t_scan SET (parallel_workers = 3);
VACUUM ANALYZE t_scan;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT qtop_agg(b, 10) FROM t_scan;
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET cpu_operator_cost = 1;
EXPLAIN (COSTS OFF) SELECT qtop_agg(b, 10) FROM t_scan;

-- a call by scan or not, in one process or more
CREATE FUNCTION pg_temp.made(call text, scan boolean, workers int) RETURNS qtop LANGUAGE plpgsql AS
$$ DECLARE q text := format('SELECT %s FROM t_scan', call); r qtop; BEGIN
	PERFORM set_config('qsketch.enable_columnscan', scan::text, true),
		set_config('max_parallel_workers_per_gather', workers::text, true);
	IF pg_temp.plan_has(q, 'QSketchScan') <> scan THEN RETURN NULL; END IF;
	EXECUTE q INTO r;
	RETURN r;
END $$;
CREATE FUNCTION pg_temp.keys(t qtop) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(key, ' ' ORDER BY key) FROM qtop_text(t, 10)
$$;
CREATE FUNCTION pg_temp.groups(by text, scan boolean) RETURNS TABLE (g text, t qtop, scanned boolean) LANGUAGE plpgsql AS $$
DECLARE q text := format('SELECT %s AS g, qtop_agg(v, 10) AS t FROM t_scan GROUP BY 1', by); BEGIN
	PERFORM set_config('qsketch.enable_columnscan', scan::text, true), set_config('max_parallel_workers_per_gather', '0', true), set_config('work_mem', '256MB', true);
	RETURN QUERY EXECUTE format('SELECT g::text, t, %L::boolean FROM (%s) AS q WHERE t IS NOT NULL', pg_temp.plan_has(q, 'QSketchScan'), q);
END $$;
SELECT call, qtop_sketch(scanned) = qtop_sketch(ordinary) AND qtop_sketch(parallel) = qtop_sketch(ordinary) AS sketch,
	pg_temp.keys(scanned) = pg_temp.keys(ordinary) AND pg_temp.keys(parallel) = pg_temp.keys(ordinary) AS keys
FROM (SELECT call, pg_temp.made(call, false, 0) AS ordinary, pg_temp.made(call, true, 0) AS scanned, pg_temp.made(call, true, 3) AS parallel
	FROM unnest(ARRAY['qtop_agg(s, 10)', 'qtop_agg(i, 10)', 'qtop_agg(b, 10)', 'qtop_agg(d, 10)', 'qtop_agg(n, 10)',
		'qtop_agg(b, 10, qsketch_new(''warp'', ''64kB''))', 'qtop_agg(t, 10)', 'qtop_agg(x, 10)', 'qtop_agg(u, 10)', 'qtop_agg(a, 10)', 'qtop_agg(v, 10)', 'qtop_agg(m, 10)',
		'qtop_agg(y, 10)', 'qtop_agg(z, 10)', 'qtop_agg(c, 10)', 'qtop_agg(l, 10)', 'qtop_agg(t, n, 10)', 'qtop_agg(v, i, 10)',
		'qtop_agg(t, 10, qsketch_new(''warp'', ''64kB'')) FILTER (WHERE i % 7 = 0)', 'qtop_agg(a, 10) FILTER (WHERE i < 9)']) AS call) AS c ORDER BY call COLLATE "C";
-- of groups, whose pages have few of each or many, and of a table with columns added later
SELECT by, bool_and(qtop_sketch(a.t) = qtop_sketch(b.t) AND pg_temp.keys(a.t) = pg_temp.keys(b.t)) AS same, count(*) AS groups, bool_and(a.scanned) AS scanned
FROM unnest(ARRAY['s', 'x', 'd']) AS by, LATERAL pg_temp.groups(by, true) AS a JOIN LATERAL pg_temp.groups(by, false) AS b ON a.g = b.g GROUP BY by ORDER BY by;
ALTER TABLE t_scan ADD COLUMN late text DEFAULT 'late';
INSERT INTO t_scan (i, late) SELECT k, 'later ' || k % 3 FROM generate_series(1, 100) AS k;
SELECT pg_temp.keys(pg_temp.made('qtop_agg(late, 10)', true, 0)), qtop_sketch(pg_temp.made('qtop_agg(late, 10)', true, 3)) = qtop_sketch(pg_temp.made('qtop_agg(late, 10)', false, 0)) AS sketch;
-- keys of several columns, expressions; left to the ordinary plan: what is not constant, and errors
SELECT call, pg_temp.plan_has(format('SELECT %s FROM t_scan', call), 'QSketchScan') AS scanned
FROM unnest(ARRAY['qtop_agg(ROW(t, i), 10)', 'qtop_agg(t || t, 10)', 'qtop_agg(i + 1, 10)', 'qtop_agg(i, i)', 'qtop_agg(i, 0)', 'qtop_agg(i, NULL)',
	'qtop_agg(i, 10, NULL)', 'qtop_agg(i, 10) FILTER (WHERE i > 3)', 'qtop_agg(DISTINCT i, 10)', 'qtop_agg(i, 10), qsketch_agg(t)']) AS call ORDER BY call COLLATE "C";
SET max_parallel_workers_per_gather = 0; -- else a worker may be the first to say it, with a CONTEXT
SELECT qtop_agg(i, 0) FROM t_scan;
RESET max_parallel_workers_per_gather;
SELECT qtop_agg(i, 10) IS NULL AS "null" FROM t_scan WHERE false;
TRUNCATE t_scan;
SELECT qtop_agg(i, 10) IS NULL AS "null" FROM t_scan;
DROP TABLE t_scan;
DROP DOMAIN count, word;
DROP TYPE mood;
