--
-- QSketchScan with templates that are no constants: results of subqueries, parameters.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/columnscan.psql'
\i :file
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE hits (k bigint, b integer, day integer, page text) WITH (parallel_workers = 2, autovacuum_enabled = off);
INSERT INTO hits SELECT i * 7919 % 5000, i % 10, i % 3, 'page ' || i % 400 FROM generate_series(1, 20000) AS i;
CREATE TABLE parts (k bigint, day integer) PARTITION BY LIST (day);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1, 2);
INSERT INTO parts SELECT k, day FROM hits;
CREATE TABLE templates (name text, sketch qsketch, filter qfilter);
INSERT INTO templates SELECT 'warp', qsketch_new('warp', '64kB'), qfilter_new(20000, 10);
INSERT INTO templates SELECT 'thread', qsketch_new('thread', '16kB'), qfilter_new_bloom(100);
INSERT INTO templates SELECT 'device', qsketch_sf_device(qsketch_new('sf', '16kB')), NULL;
INSERT INTO templates SELECT 'full', qsketch_agg(k, qsketch_new('sub_warp', '64kB')), NULL FROM hits;
ANALYZE hits, parts, templates;

-- results of subqueries, in all kinds of plans
SELECT query, same, scanned, workers FROM unnest(ARRAY[
	'SELECT qsketch_agg(k, (SELECT sketch FROM templates WHERE name = ''warp'')) FROM hits',
	'SELECT qsketch_agg(page, (SELECT sketch FROM templates WHERE name = ''full'')) FILTER (WHERE day = 1), count(*) FROM hits',
	'SELECT qsketch_agg(k, b, (SELECT sketch FROM templates WHERE name = ''thread'')), qsketch_agg(b, (SELECT sketch FROM templates WHERE name = ''warp'')) FROM hits WHERE day > 0',
	'SELECT qsketch_agg(k, (SELECT sketch FROM templates WHERE name = ''thread'')) FROM parts',
	'SELECT qsketch_agg(k, (SELECT qsketch_new(''sub_warp'', ''16kB''))) FROM hits HAVING count(*) > 1',
	'SELECT qsketch_agg(k, (SELECT sketch FROM templates WHERE name = ''none'')) FROM hits WHERE k < 0']) AS query, LATERAL pg_temp.same(query);
SET max_parallel_workers_per_gather = 0;
SELECT qtop_agg(k, b, 5, (SELECT sketch FROM templates WHERE name = 'warp')) = (SELECT qtop_agg(k, b, 5, qsketch_new('warp', '64kB')) FROM hits) AS same FROM hits;
EXPLAIN (VERBOSE, COSTS OFF) SELECT qfilter_agg(k, (SELECT filter FROM templates WHERE name = 'warp')) FROM hits
	\g (format=unaligned tuples_only=on) | sed 's/(InitPlan [a-z0-9_]*)\.col1\|\$0/subquery/; s/InitPlan [a-z0-9].*/InitPlan/'
SELECT (qfilter_info(qfilter_agg(k, (SELECT filter FROM templates WHERE name = 'warp')))).bits = (qfilter_info(qfilter_new(20000, 10))).bits AS same_size FROM hits;
SELECT qfilter_agg(k, (SELECT filter FROM templates WHERE name = 'thread')) = qfilter_agg(k, qfilter_new_bloom(100)) AS same FROM hits;

-- the planner must know the memory of a group
EXPLAIN (COSTS OFF) SELECT day, qsketch_agg(k, (SELECT sketch FROM templates WHERE name = 'warp')) FROM hits GROUP BY day
	\g (format=unaligned tuples_only=on) | grep -c QSketchScan

-- templates that take no keys: an error, but only if there are keys
SELECT qsketch_agg(k, (SELECT sketch FROM templates WHERE name = 'none')) FROM hits;
SELECT qsketch_agg(k, (SELECT sketch FROM templates WHERE name = 'device')) FROM hits;
SELECT qsketch_agg(k, (SELECT sketch FROM templates WHERE name = 'device')) FROM parts;
SELECT qtop_agg(k, 3, (SELECT sketch FROM templates WHERE name = 'none')) FROM hits;
SELECT qfilter_agg(k, (SELECT filter FROM templates WHERE name = 'device')) FROM hits;
SELECT qsketch_agg(k, (SELECT sketch FROM templates)) FROM hits;
SELECT qsketch_agg(k, (SELECT sketch FROM templates WHERE name = 'device')) IS NULL AS none, qfilter_agg(page, (SELECT filter FROM templates WHERE name = 'none')) IS NULL AS none, qtop_agg(k, 3, (SELECT sketch FROM templates WHERE name = 'none')) IS NULL AS none FROM hits WHERE k < 0;
SELECT qsketch_agg(NULLIF(k, k), (SELECT sketch FROM templates WHERE name = 'none')) IS NULL AS none FROM hits;
SET max_parallel_workers_per_gather = 2;
\set SHOW_CONTEXT never
SELECT qsketch_agg(k, (SELECT sketch FROM templates WHERE name = 'none')) FROM hits;
SET max_parallel_workers_per_gather = 0;

-- parameters of prepared statements, and templates that are new in each run
PREPARE of(qsketch) AS SELECT qsketch_total(s), (qsketch_info(s)).structure FROM (SELECT qsketch_agg(k, $1) AS s FROM hits OFFSET 0) AS s;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE of(qsketch_new('warp'));
EXECUTE of(qsketch_new('warp'));
EXECUTE of(qsketch_new('thread'));
EXECUTE of(NULL);
RESET plan_cache_mode;
EXPLAIN (COSTS OFF) SELECT name, (SELECT (qsketch_info(qsketch_agg(k, sketch))).structure FROM hits) FROM templates
	\g (format=unaligned tuples_only=on) | sed 's/SubPlan .*/SubPlan/'
SELECT name, (SELECT (qsketch_info(qsketch_agg(k, sketch))).structure FROM hits) FROM templates WHERE name <> 'device' ORDER BY 1;
SELECT name, (SELECT (qsketch_info(qsketch_agg(k, sketch))).structure FROM parts) FROM templates WHERE name <> 'device' ORDER BY 1;
DROP TABLE hits, parts, templates;
