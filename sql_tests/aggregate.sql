--
-- qsketch_agg and qsketch_merge_agg: NULLs, weights, templates, groups, plans.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
-- NULL keys and NULL weights are skipped; nothing gives NULL
SELECT qsketch_agg(k) IS NULL AS no_rows, qsketch_agg(k, 1) IS NULL AS weighted,
	qsketch_agg(k, qsketch_new()) IS NULL AS templated,
	qsketch_agg(k, 1, qsketch_new()) IS NULL AS both, qsketch_merge_agg(NULL) IS NULL AS merged
FROM generate_series(1, 0) AS k;
SELECT qsketch_agg(NULL::int) IS NULL AS keys, qsketch_agg(k, NULL) IS NULL AS weights,
	qsketch_agg(NULL) IS NULL AS text, qsketch_merge_agg(NULL) IS NULL AS merged
FROM generate_series(1, 5) AS k;
SELECT qsketch_total(qsketch_agg(k)) AS keys, qsketch_total(qsketch_agg(k, w)) AS weights,
	qsketch_estimate(qsketch_agg(k, w), ARRAY[1, 2, 3]) AS estimates,
	qsketch_total(qsketch_merge_agg(qsketch_add(CASE WHEN w IS NOT NULL THEN qsketch_new() END, k)))
		AS merged
FROM (VALUES (1, 5), (NULL, 7), (1, NULL), (NULL, NULL), (2, 10), (3, 0)) AS v(k, w);

-- weight 0 is a row, though it counts nothing
SELECT qsketch_total(qsketch_agg(k, 0)) AS total, qsketch_estimate(qsketch_agg(k, 0), 1) AS estimate
FROM generate_series(1, 3) AS k;

-- negative weights take back what the group has, before or after
SELECT g, qsketch_agg(k, w) = qsketch_agg(k) FILTER (WHERE k > 2) AS same,
	qsketch_total(qsketch_agg(k, w)) AS total
FROM (VALUES (1, 1, -1), (1, 1, 1), (1, 3, 1), (2, 1, 5), (2, 1, -3), (2, 1, -2), (2, 4, 1))
	AS v(g, k, w)
GROUP BY g ORDER BY g;
SELECT structure, count(*), bool_and(pg_temp.sketch(format('SELECT qsketch_agg(k, w, %s)
		FROM generate_series(1, 5000) AS k, unnest(ARRAY[-2, 3]) AS w', expr)) =
	pg_temp.sketch(format('SELECT qsketch_agg(k, %s) FROM generate_series(1, 5000) AS k', expr)))
	AS same
FROM template GROUP BY structure ORDER BY structure;
SELECT statement, pg_temp.error_of('SELECT ' || statement || ' AS v(k, w)') AS error
FROM unnest(ARRAY['qsketch_agg(k, w) FROM (VALUES (1, 2), (1, -3))',
	'qsketch_agg(k, w) FROM (VALUES (1, -1))', 'qsketch_agg(k, w) FROM (VALUES (1, 2), (2, -1))',
	'qsketch_agg(k, w) FROM (VALUES (1, -9223372036854775808))',
	'qsketch_agg(k, w) FROM (VALUES (1, 9223372036854775807), (1, 1), (1, -1))',
	'qsketch_agg(k, w) FROM (VALUES (1, -9223372036854775807), (1, 9223372036854775807))']) AS statement;

-- templates: only their parameters count
SELECT qsketch_agg(k, qsketch_add(qsketch_new('warp', '4kB'), 'key', 7)) =
	qsketch_agg(k, qsketch_new('warp', '4kB')) AS counts_ignored,
	(qsketch_info(qsketch_agg(k, (SELECT qsketch_agg(i, qsketch_new('thread', '1kB'))
		FROM generate_series(1, 99) AS i)))).structure
FROM generate_series(1, 10) AS k;
CREATE TEMP TABLE choice (g int, template qsketch);
INSERT INTO choice VALUES (1, qsketch_new('warp', '4kB')), (2, qsketch_new('sf', '4kB')), (3, NULL);
SELECT g, (qsketch_info(qsketch_agg(k, template))).structure
FROM choice, generate_series(1, 10) AS k WHERE g < 3 GROUP BY g ORDER BY g;
SELECT qsketch_total(qsketch_agg(k, t)) AS equal_but_not_identical
FROM (SELECT k, qsketch_add(qsketch_new(), k) AS t FROM generate_series(1, 10) AS k) AS s;
SELECT qsketch_total(qsketch_agg(k, template)) AS null_template_of_null_keys
FROM (VALUES (1, qsketch_new()), (NULL, NULL)) AS v(k, template);
SELECT statement, pg_temp.error_of('SELECT ' || statement) AS error
FROM unnest(ARRAY['qsketch_agg(k, template) FROM choice, generate_series(1, 10) AS k WHERE g < 3',
	'qsketch_agg(k, template) FROM choice, generate_series(1, 10) AS k WHERE g = 3',
	'qsketch_agg(k, 1, NULL) FROM generate_series(1, 10) AS k',
	'qsketch_agg(k, CASE WHEN k < 10 THEN qsketch_new() END) FROM generate_series(1, 10) AS k',
	'qsketch_agg(k, qsketch_new(seed => k)) FROM generate_series(1, 2) AS k',
	'qsketch_agg(k, qsketch_new(size => (1 << (9 + k)) || '' kB'')) FROM generate_series(1, 2) AS k',
	'qsketch_agg(k, qsketch_sf_device(qsketch_new(''sf''))) FROM generate_series(1, 2) AS k']) AS statement;
SELECT (qsketch_info(qsketch_agg(k, qsketch_sf_host(qsketch_new('sf', '1kB'))))).part
FROM generate_series(1, 3) AS k;

-- FILTER, DISTINCT and ORDER BY
SELECT qsketch_total(qsketch_agg(k) FILTER (WHERE k > 7)) AS some,
	qsketch_agg(k) FILTER (WHERE k > 100) IS NULL AS none,
	qsketch_total(qsketch_agg(DISTINCT k % 4)) AS distinct,
	qsketch_total(qsketch_agg(DISTINCT k % 4, 10)) AS distinct_weight,
	qsketch_agg(k ORDER BY k DESC) = qsketch_agg(k ORDER BY k % 3, k) AS ordered,
	qsketch_total(qsketch_agg(DISTINCT k % 4 ORDER BY k % 4 DESC)) AS both
FROM generate_series(1, 10) AS k;
SELECT g, qsketch_total(qsketch_agg(k) FILTER (WHERE k % 2 = 0)) AS even
FROM (VALUES (1, 1), (1, 3), (2, 2), (2, 5), (3, NULL)) AS v(g, k) GROUP BY g ORDER BY g;

-- a state that several results share
SELECT qsketch_total(qsketch_add(qsketch_agg(k), 1, 100)) AS changed, qsketch_total(qsketch_agg(k)) AS total,
	qsketch_total(qsketch_agg(k) || qsketch_agg(k)) AS twice
FROM generate_series(1, 10) AS k;

-- GROUPING SETS, ROLLUP, CUBE
CREATE TABLE sale AS
SELECT i, i % 3 AS a, i % 5 AS b, i * i % 101 AS k FROM generate_series(1, 3000) AS i;
ANALYZE sale;
CREATE FUNCTION pg_temp.sets(clause text, OUT groups bigint, OUT same boolean) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*), bool_and(s = t)
		FROM (SELECT a, b, qsketch_agg(k) AS s FROM sale GROUP BY %s) AS r,
			LATERAL (SELECT qsketch_agg(k) AS t FROM sale
				WHERE (r.a = a OR r.a IS NULL) AND (r.b = b OR r.b IS NULL)) AS t', clause)
		INTO groups, same;
END $$;
CREATE TEMP TABLE clauses (n serial, clause text);
INSERT INTO clauses (clause) VALUES ('ROLLUP (a, b)'), ('CUBE (a, b)'), ('GROUPING SETS ((a), (b), ())'),
	('GROUPING SETS (ROLLUP (a, b), CUBE (a, b))');
SELECT clause, s.* FROM clauses, pg_temp.sets(clause) AS s ORDER BY n;
SET enable_hashagg = off;
SELECT clause, s.* FROM clauses, pg_temp.sets(clause) AS s ORDER BY n;
RESET enable_hashagg;

-- a parallel plan with groups, and with one group that the filter leaves empty
SET qsketch.enable_columnscan = off;
SET cpu_tuple_cost = 0.0001;
SET cpu_operator_cost = 0.01;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
ALTER TABLE sale SET (parallel_workers = 2);
SELECT pg_temp.plan_has('SELECT a, qsketch_agg(k) FILTER (WHERE a > 0) FROM sale GROUP BY a',
	'Partial .*Aggregate') AS partial;
CREATE TEMP TABLE in_parallel AS
SELECT a, qsketch_agg(k) FILTER (WHERE a > 0) AS s, qsketch_agg(k) FILTER (WHERE i = 3) AS one,
	qsketch_agg(k) FILTER (WHERE false) AS none, count(*)
FROM sale GROUP BY a;
SET max_parallel_workers_per_gather = 0;
SELECT a, p.s IS NULL AS empty, p.s = q.s AS same, qsketch_total(p.one) AS one, p.none IS NULL AS none,
	p.count = q.count AS count
FROM in_parallel AS p JOIN (SELECT a, qsketch_agg(k) FILTER (WHERE a > 0) AS s, count(*)
	FROM sale GROUP BY a) AS q USING (a) ORDER BY a;
RESET qsketch.enable_columnscan;
RESET cpu_tuple_cost;
RESET cpu_operator_cost;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- a partitioned table, whole and partition by partition
CREATE TABLE part (LIKE sale) PARTITION BY LIST (a);
CREATE TABLE part_0 PARTITION OF part FOR VALUES IN (0);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
CREATE TABLE part_2 PARTITION OF part DEFAULT;
INSERT INTO part SELECT * FROM sale;
ANALYZE part;
SET enable_partitionwise_aggregate = on;
SET qsketch.enable_columnscan = off;
SELECT pg_temp.plan_has('SELECT a, qsketch_agg(k) FROM part GROUP BY a', '^Append') AS partitionwise;
SELECT bool_and(p.s = q.s) AS same, count(*) FROM (SELECT a, qsketch_agg(k) AS s FROM part GROUP BY a) AS p
	JOIN (SELECT a, qsketch_agg(k) AS s FROM sale GROUP BY a) AS q USING (a);
RESET qsketch.enable_columnscan;
SELECT (SELECT qsketch_agg(k) FROM part) = (SELECT qsketch_agg(k) FROM sale) AS same;

-- the template is the same for all rows of a group, whatever the plan
CREATE TABLE chosen (a int, k int, template qsketch) PARTITION BY LIST (a);
CREATE TABLE chosen_1 PARTITION OF chosen FOR VALUES IN (1);
CREATE TABLE chosen_2 PARTITION OF chosen FOR VALUES IN (2);
INSERT INTO chosen SELECT a, i, qsketch_new(size => a || 'kB')
FROM generate_series(1, 2) AS a, generate_series(1, 100) AS i;
ANALYZE chosen;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT pg_temp.plan_has('SELECT qsketch_agg(k, template) FROM chosen', 'Partial Aggregate') AS partial;
-- a worker that gets the rows of both tables is the one to say it
\set SHOW_CONTEXT never
SELECT qsketch_agg(k, template) FROM chosen;
\set SHOW_CONTEXT errors
SET max_parallel_workers_per_gather = 0;
SELECT qsketch_agg(k, template) FROM chosen;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- stored sketches as templates: their parameters count, however often they come
CREATE TABLE stored_template AS SELECT structure, qsketch_agg(k, qsketch_new(structure, '64kB')) AS sk
FROM generate_series(1, 5000) AS k, unnest('{sub_warp,warp}'::text[]) AS structure GROUP BY structure;
SELECT structure, bool_and(pg_column_size(sk) > 8192) AS out_of_line,
	bool_and(qsketch_agg = (SELECT qsketch_agg(k, qsketch_new(structure, '64kB')) FROM generate_series(1, 20000) AS k)) AS same
FROM stored_template, LATERAL (SELECT qsketch_agg(k, sk) FROM generate_series(1, 20000) AS k) AS a
GROUP BY structure ORDER BY structure;
SELECT qsketch_agg(k, sk) FROM stored_template, generate_series(1, 3) AS k;
DROP TABLE stored_template;

-- partial states of large sketches that one process makes and combines, also a parallel worker
CREATE TABLE halves (k int, a int) PARTITION BY LIST (a);
CREATE TABLE halves_1 PARTITION OF halves FOR VALUES IN (1) WITH (parallel_workers = 0);
CREATE TABLE halves_2 PARTITION OF halves FOR VALUES IN (2) WITH (parallel_workers = 0);
INSERT INTO halves SELECT i, 1 + i % 2 FROM generate_series(1, 20000) AS i;
ANALYZE halves;
SET enable_parallel_append = off;
SET qsketch.enable_columnscan = off;
CREATE TEMP TABLE whole AS SELECT qsketch_agg(k) AS sk FROM halves WHERE a > 0;
-- Its name until 15, and from 16 on.
SELECT set_config(name, 'on', false) FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT pg_temp.plan_has('SELECT qsketch_agg(k) FROM halves WHERE a > 0', 'Partial Aggregate') AS partial,
	pg_temp.plan_has('SELECT qsketch_agg(k) FROM halves WHERE a > 0', 'Single Copy: true') AS in_a_worker;
SELECT sk = (SELECT qsketch_agg(k) FROM halves WHERE a > 0) AS same FROM whole;
SELECT qsketch_total(qsketch_agg(k)) FROM halves WHERE a > 0;
SELECT set_config(name, 'off', false) FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
RESET enable_parallel_append;
RESET qsketch.enable_columnscan;
RESET enable_partitionwise_aggregate;
DROP TABLE halves, whole;

-- 100,000 groups of 10 rows: small values, hashed in memory, spilled, sorted
CREATE TEMP TABLE row_of AS
SELECT g, g + 13 * i AS k FROM generate_series(1, 100000) AS g, generate_series(1, 10) AS i;
ANALYZE row_of;
SET max_parallel_workers_per_gather = 0;
SET statement_timeout = '600s';
SET work_mem = '1GB';
SET qsketch.enable_columnscan = off;
CREATE TEMP TABLE hashed AS SELECT g, qsketch_agg(k) AS s FROM row_of GROUP BY g;
SELECT count(*), max(octet_length(s::bytea)) < 250 AS small, sum(qsketch_total(s)) AS total,
	bool_and(qsketch_estimate(s, g + 13) = 1 AND qsketch_estimate(s, g) = 0) AS right
FROM hashed;
SET work_mem = '1MB';
SET hash_mem_multiplier = 1;
SET enable_sort = off;
CREATE TEMP TABLE spilled AS SELECT g, qsketch_agg(k) AS s FROM row_of GROUP BY g;
CREATE FUNCTION pg_temp.spills(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Disk Usage' THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END $$;
SELECT pg_temp.spills('SELECT g, qsketch_agg(k) AS s FROM row_of GROUP BY g') AS spills;
RESET qsketch.enable_columnscan;
RESET enable_sort;
SET enable_hashagg = off;
CREATE TEMP TABLE sorted AS SELECT g, qsketch_agg(k) AS s FROM row_of GROUP BY g;
SELECT bool_and(h.s = p.s AND h.s = o.s) AS same, count(*)
FROM hashed AS h JOIN spilled AS p USING (g) JOIN sorted AS o USING (g);
RESET work_mem;
RESET hash_mem_multiplier;
RESET enable_hashagg;
RESET statement_timeout;
RESET max_parallel_workers_per_gather;

-- groups of sketches
SELECT qsketch_merge_agg(s) = (SELECT qsketch_agg(k) FROM row_of) AS same,
	qsketch_total(qsketch_merge_agg(s)) AS total
FROM hashed;
SELECT count(*) AS groups, bool_and(n = 10) AS right
FROM (SELECT qsketch_total(qsketch_merge_agg(s)) / 100 AS n FROM hashed GROUP BY g / 100
	HAVING count(*) = 100) AS s;

-- prepared statements with generic plans, cursors, correlated subqueries
SET plan_cache_mode = force_generic_plan;
PREPARE totals(int, qsketch) AS
SELECT qsketch_total(qsketch_agg(k, $2)) AS total, qsketch_estimate(qsketch_agg(k, $2), $1) > 0 AS found
FROM sale WHERE k >= $1;
EXECUTE totals(100, qsketch_new());
EXECUTE totals(1, qsketch_new('warp', '1kB'));
EXECUTE totals(1, NULL);
EXECUTE totals(1000, NULL);
DEALLOCATE totals;
RESET plan_cache_mode;
BEGIN;
DECLARE groups SCROLL CURSOR FOR SELECT a, qsketch_agg(k) AS s FROM sale GROUP BY a ORDER BY a;
FETCH FORWARD 1 FROM groups \gset first_
FETCH LAST FROM groups \gset last_
FETCH FIRST FROM groups \gset again_
SELECT :first_a AS first, :last_a AS last, :'first_s' = :'again_s' AS same, :'first_s' = :'last_s' AS equal;
COMMIT;
SELECT a, qsketch_total((SELECT qsketch_agg(k) FROM sale AS s WHERE s.a = v.a)) AS total
FROM (VALUES (0), (1), (7)) AS v(a);

DROP TABLE sale, part, chosen;

-- a function that catches an error of counting gets no part of the keys afterwards
CREATE FUNCTION twice(s qsketch, OUT first text, OUT second text) LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		first := qsketch_total(s);
	EXCEPTION WHEN OTHERS THEN
		first := SQLERRM;
	END;
	BEGIN
		second := qsketch_total(s);
	EXCEPTION WHEN OTHERS THEN
		second := SQLSTATE || ': ' || SQLERRM;
	END;
END $$;
SELECT t.* FROM (SELECT qsketch_agg(i, 10) AS s FROM generate_series(1, 5) AS i) AS q, twice(s) AS t;
SELECT t.* FROM (SELECT qsketch_agg(i, 9223372036854775000) AS s FROM generate_series(1, 5) AS i) AS q, twice(s) AS t;
SELECT t.* FROM (SELECT qsketch_agg(i % 2, i - 3) AS s FROM generate_series(1, 3) AS i) AS q, twice(s) AS t;
DROP FUNCTION twice(qsketch);

-- a state that a sort copies has keys that are not counted yet
CREATE TABLE spans AS SELECT g, make_interval(hours => g * k) AS k, to_jsonb(g * k) AS j
	FROM generate_series(1, 3) AS g, generate_series(1, 50) AS k;
SET qsketch.enable_columnscan = off;
SELECT g, qsketch_estimate(s, interval '6 hours') AS counts, qtop_estimate(t, '6'::jsonb) AS listed,
	qfilter_contains(f, interval '6 hours') AS contained, qsets_intersect_count(c, g, g) AS elements
FROM (SELECT g, qsketch_agg(k) AS s, qtop_agg(j, 5) AS t, qfilter_agg(k, qfilter_new_bloom(100)) AS f,
		qsets_agg(g, k) AS c
	FROM spans GROUP BY g ORDER BY -g OFFSET 0) AS sorted;
RESET qsketch.enable_columnscan;
DROP TABLE spans;
