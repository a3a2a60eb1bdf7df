--
-- qfilter_agg of a column straight off the pages: the same bytes as the ordinary
-- plan's under one nonce, in which plans, and what is left to the ordinary one.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
CREATE TABLE f_scan (i int, b bigint, t text, d numeric, n int);
INSERT INTO f_scan SELECT i, i % 100, 'key ' || i % 1000, i % 10, CASE WHEN i % 3 = 0 THEN NULL ELSE i % 50 END FROM generate_series(1, 30000) AS i;
ALTER TABLE f_scan SET (parallel_workers = 3);
VACUUM ANALYZE f_scan;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT qfilter_agg(b, qfilter_new(30000, 300)) FROM f_scan;
-- what was done, as for sketches; a temporary table's pages are all-visible whatever others may see
CREATE TEMP TABLE f_own AS SELECT * FROM f_scan;
VACUUM f_own;
EXPLAIN (ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT qfilter_agg(b, qfilter_new(30000, 300)), qfilter_agg(i, qfilter_new_bloom(30000)) FROM f_own \g (format=unaligned tuples_only=on) | grep -vE 'Instructions|Device' | sed 's/ (actual.*//; s/Batches: [1-9][0-9]*/Batches: some/'

CREATE TEMP TABLE query AS
SELECT format('qfilter_agg(%s, qfilter_new_bloom(3000))', k) AS call FROM unnest('{i,b,t,d,n}'::text[]) AS k;
-- md5 of a query's result, by scan or not, in one process or more
CREATE FUNCTION pg_temp.made(call text, scan boolean, workers int) RETURNS text LANGUAGE plpgsql AS
$$ DECLARE q text := format('SELECT %s FROM f_scan', call); r text; BEGIN
	PERFORM set_config('qsketch.enable_columnscan', scan::text, true),
		set_config('max_parallel_workers_per_gather', workers::text, true);
	IF pg_temp.plan_has(q, 'QSketchScan') <> scan THEN RETURN 'another plan'; END IF;
	EXECUTE q INTO r;
	RETURN md5(r);
END $$;
-- Bloom filters are the same in all plans; frequency filters in serial ones, if each is its
-- statement's first.
SELECT call, pg_temp.made(call, false, 0) = pg_temp.made(call, true, 0) AS serial,
	pg_temp.made(call, false, 0) = pg_temp.made(call, true, 3) AS parallel
FROM query ORDER BY call;
SET qsketch.filter_nonce = 5;
SELECT pg_temp.made('qfilter_agg(i, qfilter_new(30000, 300))', false, 0) AS one \gset
SELECT pg_temp.made('qfilter_agg(i, qfilter_new(30000, 300))', true, 0) = :'one' AS same;
SELECT pg_temp.made('qfilter_agg(b, qfilter_new(30000, 300))', false, 0) AS one \gset
SELECT pg_temp.made('qfilter_agg(b, qfilter_new(30000, 300))', true, 0) = :'one' AS same;
SELECT pg_temp.made('qfilter_agg(t, qfilter_new(30000, 300))', false, 0) AS one \gset
SELECT pg_temp.made('qfilter_agg(t, qfilter_new(30000, 300))', true, 0) = :'one' AS same;
SELECT pg_temp.made('qfilter_agg(d, qfilter_new(30000, 300))', false, 0) AS one \gset
SELECT pg_temp.made('qfilter_agg(d, qfilter_new(30000, 300))', true, 0) = :'one' AS same;
SELECT pg_temp.made('qfilter_agg(n, qfilter_new(30000, 300))', false, 0) AS one \gset
SELECT pg_temp.made('qfilter_agg(n, qfilter_new(30000, 300))', true, 0) = :'one' AS same;
SELECT pg_temp.made('qfilter_agg(t, qfilter_new(3000000000, 100000000))', false, 0) AS one \gset
SELECT pg_temp.made('qfilter_agg(t, qfilter_new(3000000000, 100000000))', true, 0) = :'one' AS same;
SELECT pg_temp.made('qfilter_agg(b, qfilter_new(30000, 300)) | qfilter_agg(i, qfilter_new(30000, 300))', false, 0) AS one \gset
SELECT pg_temp.made('qfilter_agg(b, qfilter_new(30000, 300)) | qfilter_agg(i, qfilter_new(30000, 300))', true, 0) = :'one' AS same;
SELECT pg_temp.made('qfilter_agg(b, qfilter_new(30000, 300))::text || qsketch_agg(b)::text', false, 0) AS one \gset
SELECT pg_temp.made('qfilter_agg(b, qfilter_new(30000, 300))::text || qsketch_agg(b)::text', true, 0) = :'one' AS same;
RESET qsketch.filter_nonce;

-- in parallel: as many rows, merged in shared memory and through the queue
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET cpu_operator_cost = 1;
SET max_parallel_workers_per_gather = 3;
EXPLAIN (COSTS OFF) SELECT qfilter_agg(b, qfilter_new(30000, 300)) FROM f_scan;
SELECT rows, abs(qfilter_estimate(f, 7) / 300 - 1) < 0.5 AS close
FROM (SELECT qfilter_agg(b, qfilter_new(30000, 300)) AS f FROM f_scan) AS s, qfilter_info(f);
SELECT rows, abs(qfilter_estimate(f, 7) / 300 - 1) < 0.5 AS close
FROM (SELECT qfilter_agg(b, qfilter_new(3000000, 300)) AS f FROM f_scan) AS s, qfilter_info(f);
SELECT (qfilter_info(qfilter_agg(n, qfilter_new(30000, 300)))).rows FROM f_scan;

-- partitions, also aggregated one by one: the same bits
CREATE TABLE f_parted (i int, b bigint) PARTITION BY RANGE (i);
CREATE TABLE f_parted_1 PARTITION OF f_parted FOR VALUES FROM (MINVALUE) TO (10000);
CREATE TABLE f_parted_2 PARTITION OF f_parted FOR VALUES FROM (10000) TO (MAXVALUE);
INSERT INTO f_parted SELECT i, b FROM f_scan;
ANALYZE f_parted;
SET enable_partitionwise_aggregate = on;
SELECT bool_and(bloom = (SELECT qfilter_agg(b, qfilter_new_bloom(3000)) FROM f_scan)) AS bloom,
	bool_and(ids = (SELECT qfilter_row_agg(b, i, qfilter_new(30000, 300)) FROM f_scan)) AS ids, sum(rows) AS rows
FROM (SELECT qfilter_agg(b, qfilter_new_bloom(3000)) AS bloom, qfilter_row_agg(b, i, qfilter_new(30000, 300)) AS ids,
	(qfilter_info(qfilter_agg(b, qfilter_new(30000, 300)))).rows FROM f_parted) AS s;
RESET enable_partitionwise_aggregate;
DROP TABLE f_parted;

-- left to the ordinary plan: ids, counts, DISTINCT, templates of rows, NULL
SET max_parallel_workers_per_gather = 0;
SELECT call, pg_temp.plan_has('SELECT ' || call, 'QSketchScan') AS scanned FROM unnest(ARRAY[
	'qfilter_agg(b, qfilter_new(30000, 300)) FROM f_scan', 'qfilter_agg(b, qfilter_new(30000, 300)) FROM f_scan WHERE i > 3',
	'qfilter_agg(b, qfilter_new(30000, 300)) FROM f_scan GROUP BY i', 'qfilter_row_agg(b, i, qfilter_new(30000, 300)) FROM f_scan',
	'qfilter_count_agg(b, i, qfilter_new(30000, 300)) FROM f_scan', 'qfilter_agg(DISTINCT b, qfilter_new(30000, 300)) FROM f_scan',
	'qfilter_agg(b, qfilter_new(30000, i)) FROM f_scan', 'qfilter_agg(b, NULL) FROM f_scan', 'qfilter_agg(b + 1, qfilter_new(30000, 300)) FROM f_scan',
	'qfilter_agg(b, qfilter_new(30000, 300)), count(*) FROM f_scan', 'qfilter_agg(b, qfilter_new(30000, 300)), qsketch_agg(t) FROM f_scan']) AS call;
SELECT qfilter_agg(b, NULL) FROM f_scan;
SELECT qfilter_agg(b, qfilter_new(30000, 300)) IS NULL AS empty FROM (SELECT * FROM f_scan LIMIT 0) AS s;
TRUNCATE f_scan;
SELECT qfilter_agg(b, qfilter_new(30000, 300)) IS NULL AS empty FROM f_scan;
DROP TABLE f_scan;
