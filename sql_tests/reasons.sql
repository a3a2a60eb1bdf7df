--
-- EXPLAIN (VERBOSE) and the log at DEBUG1 say why neither the column scan nor the
-- GPU was taken.
--
LOAD 'qsketch';
SET max_parallel_workers_per_gather = 0;
SET qsketch.device = cpu;
CREATE TABLE why (k int, w int, t text, j numeric);
INSERT INTO why SELECT i % 10, 1, 'a', 1 FROM generate_series(1, 1000) AS i;
CREATE TABLE why_small (k int);
CREATE TABLE why_more (k bigint, a int[], j json);
CREATE VIEW why_view AS SELECT k FROM why UNION ALL SELECT k FROM why_small;
VACUUM ANALYZE why;
-- the reasons of a query
CREATE FUNCTION pg_temp.reasons(query text) RETURNS SETOF text LANGUAGE plpgsql AS
$$ DECLARE line text; BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		IF line LIKE '% Not Used%' THEN RETURN NEXT line; END IF;
	END LOOP;
END $$;
EXPLAIN (VERBOSE, COSTS OFF) SELECT w, qsketch_agg(k) FROM why GROUP BY w, t;
EXPLAIN (COSTS OFF) SELECT w, qsketch_agg(k) FROM why GROUP BY w, t;
EXPLAIN (VERBOSE, COSTS OFF) SELECT qsketch_agg(k) FROM why;
SELECT query, r FROM unnest(ARRAY['SELECT qsketch_agg(k) FROM why HAVING count(*) > 1', 'SELECT qsketch_agg(a.k) FROM why AS a JOIN why AS b ON a.k = b.w',
	'SELECT qsketch_agg(k + 1) FROM why', 'SELECT qsketch_agg(ROW(k, k + 1)) FROM why', 'SELECT qsketch_agg(DISTINCT k) FROM why', 'SELECT qsketch_agg(k), sum(w) FROM why',
	'SELECT qsketch_agg(k, w + 1) FROM why', 'SELECT qsketch_agg(k) FROM why TABLESAMPLE BERNOULLI (50)', 'SELECT qsketch_agg(i) FROM generate_series(1, 10) AS i',
	'SELECT qsketch_agg(k) FROM why WHERE random() < 0.5', 'SELECT qsketch_agg(k) FROM why WHERE EXISTS (SELECT FROM why_small AS s WHERE s.k > why.k OR random() < 2)',
	'SELECT qsketch_agg(k) FROM why WHERE ctid <> ''(0,1)''', 'SELECT qsketch_agg(k) FROM why WHERE false', 'SELECT qsketch_agg(k, sk) FROM why, (SELECT qsketch_new() AS sk OFFSET 0) AS s',
	'SELECT qtop_agg(t, 3) FROM why', 'SELECT qtop_agg(k, 0) FROM why', 'SELECT qsets_agg(k, a) FROM why_more', 'SELECT qsketch_agg(j) FROM why_more',
	'SELECT pbf_agg(k, NULL) FROM why', 'SELECT qsketch_agg(k, qsketch_sf_device(qsketch_new(''sf''))) FROM why', 'SELECT qsketch_agg(k) FROM pg_class, LATERAL (SELECT oid::int AS k) AS o', 'SELECT (SELECT qsketch_agg(k) FROM why_view)',
	'SELECT qsketch_total(qsketch_agg(k)) FROM why WHERE k IN (SELECT k FROM why_small)', 'SELECT count(*) FROM why', 'SELECT pbf_agg(t, pbf_new_bloom(1000)) FROM why', 'SELECT qsketch_agg(k, qsketch_new(''sf'')) FROM why'])
	WITH ORDINALITY AS q (query, n) LEFT JOIN LATERAL pg_temp.reasons(query) AS r ON true ORDER BY n, r;
SET qsketch.enable_columnscan = off;
SELECT pg_temp.reasons('SELECT qsketch_agg(k) FROM why');
RESET qsketch.enable_columnscan;
-- several parts, each reason once
SELECT pg_temp.reasons('SELECT (SELECT qsketch_agg(k + 1) FROM why) || (SELECT qsketch_agg(k + 2) FROM why) || (SELECT qsketch_agg(k) FROM why GROUP BY w, t)');
-- dearer than the ordinary plan
SET seq_page_cost = 0;
SET cpu_tuple_cost = 0;
SET cpu_operator_cost = 0;
CREATE TABLE why_dear AS SELECT 1 AS k;
SELECT count(*) <= 1 AS reason_or_scan FROM pg_temp.reasons('SELECT qsketch_agg(k) FROM why_dear') AS r WHERE r LIKE '%Scan%';
RESET seq_page_cost;
RESET cpu_tuple_cost;
RESET cpu_operator_cost;

-- every format is what it was, and has one value more
CREATE FUNCTION pg_temp.explained(query text, format text, options text DEFAULT '') RETURNS text LANGUAGE plpgsql AS
$$ DECLARE line text; lines text; BEGIN
	FOR line IN EXECUTE format('EXPLAIN (VERBOSE, COSTS OFF, FORMAT %s %s) %s', format, options, query) LOOP lines := concat_ws(E'\n', lines, line); END LOOP;
	RETURN lines;
END $$;
CREATE TEMP TABLE why_query AS SELECT 'SELECT w, qsketch_agg(k) FROM why GROUP BY w, t'::text AS q;
SELECT json_array_length(e), ARRAY(SELECT json_object_keys(e->0)) AS keys, e->0->'Column Scan Not Used' AS scan, e->0->'GPU Not Used' AS gpu
FROM why_query, CAST(pg_temp.explained(q, 'json') AS json) AS e;
SELECT e->0->'Column Scan Not Used' AS scan, e->0->>'Execution Time' IS NOT NULL AS times FROM why_query, CAST(pg_temp.explained(q, 'json', ', ANALYZE, TIMING OFF') AS json) AS e;
SELECT substring(pg_temp.explained(q, 'xml') FROM '\n    </Plan>.*') FROM why_query;
SELECT substring(pg_temp.explained(q, 'yaml') FROM '\n  Column Scan.*') FROM why_query;
SELECT pg_temp.explained('CREATE TABLE why_made AS ' || q, 'json')::json->0->'Column Scan Not Used' AS created FROM why_query;
-- an error in between does not leave anything behind
EXPLAIN (VERBOSE, ANALYZE) SELECT qsketch_agg(k / 0) FROM why;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM why;

-- the log
SET client_min_messages = debug1;
SELECT qsketch_total(qsketch_agg(k)) FROM why GROUP BY w, t;
SET qsketch.device = auto;
SELECT qsketch_total(qsketch_agg(k, qsketch_new('sf', '64kB'))) FROM why;
SELECT count(*) FROM why;
RESET client_min_messages;
DROP TABLE why, why_small, why_more, why_dear CASCADE;
