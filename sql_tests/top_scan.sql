--
-- qtop_agg of a column of integers straight off the pages: the sketch of the
-- ordinary plan and the same list, in which plans, and what is left to the
-- ordinary one.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
CREATE DOMAIN count AS int;
CREATE TABLE t_scan (s smallint, i int, b bigint, d count, t text, n int, x date);
INSERT INTO t_scan SELECT k % 300, k, k::bigint * 1000000007, k % 5000, k, CASE WHEN r % 3 = 0 THEN NULL ELSE k END, date '2026-01-01' + k
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
SELECT call, qtop_sketch(scanned) = qtop_sketch(ordinary) AND qtop_sketch(parallel) = qtop_sketch(ordinary) AS sketch,
	pg_temp.keys(scanned) = pg_temp.keys(ordinary) AND pg_temp.keys(parallel) = pg_temp.keys(ordinary) AS keys
FROM (SELECT call, pg_temp.made(call, false, 0) AS ordinary, pg_temp.made(call, true, 0) AS scanned, pg_temp.made(call, true, 3) AS parallel
	FROM unnest(ARRAY['qtop_agg(s, 10)', 'qtop_agg(i, 10)', 'qtop_agg(b, 10)', 'qtop_agg(d, 10)', 'qtop_agg(n, 10)',
		'qtop_agg(b, 10, qsketch_new(''warp'', ''64kB''))']) AS call) AS c ORDER BY call;
-- left to the ordinary plan: other types, what is not constant, and errors
SELECT call, pg_temp.plan_has(format('SELECT %s FROM t_scan', call), 'QSketchScan') AS scanned
FROM unnest(ARRAY['qtop_agg(t, 10)', 'qtop_agg(x, 10)', 'qtop_agg(i + 1, 10)', 'qtop_agg(i, i)', 'qtop_agg(i, 0)', 'qtop_agg(i, NULL)',
	'qtop_agg(i, 10, NULL)', 'qtop_agg(i, 10) FILTER (WHERE i > 3)', 'qtop_agg(DISTINCT i, 10)', 'qtop_agg(i, 10), qsketch_agg(t)']) AS call ORDER BY call;
SET max_parallel_workers_per_gather = 0; -- else a worker may be the first to say it, with a CONTEXT
SELECT qtop_agg(i, 0) FROM t_scan;
RESET max_parallel_workers_per_gather;
SELECT qtop_agg(i, 10) IS NULL AS "null" FROM t_scan WHERE false;
TRUNCATE t_scan;
SELECT qtop_agg(i, 10) IS NULL AS "null" FROM t_scan;
DROP TABLE t_scan;
DROP DOMAIN count;
