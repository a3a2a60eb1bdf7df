--
-- qfilter_row_agg: the same rows give the same bytes, serial, parallel, shuffled, in
-- overlapping shards and merged in any way.  So do the same keys in a Bloom filter, without ids.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
CREATE TABLE event AS
SELECT i::bigint AS id, i * i % 3001 AS k FROM generate_series(1, 20000) AS i;
ALTER TABLE event SET (parallel_workers = 3);
ANALYZE event;
CREATE TEMP TABLE kind (name text, call text);
INSERT INTO kind VALUES ('frequency', 'qfilter_row_agg(k, id, qfilter_new(20000, 20))'),
	('explicit', 'qfilter_row_agg(k, id, qfilter_new(200000000, 10000000))'),
	('seed', 'qfilter_row_agg(k, id, qfilter_new(20000, 200, 0.3, ''fast'', seed => 5))'),
	('bloom', 'qfilter_agg(k, qfilter_new_bloom(3000))'), ('standard bloom', 'qfilter_agg(k, qfilter_new_bloom(3000, 0.02, 3, ''standard''))'),
	('few of blocks', 'qfilter_agg(k % 10, qfilter_new_bloom(300000))'), ('bloom with ids', 'qfilter_row_agg(k, id, qfilter_new_bloom(3000))');
CREATE TEMP TABLE way (name text, query text);
INSERT INTO way VALUES
('serial', 'SELECT %s FROM event'),
('shuffled', 'SELECT %s FROM (SELECT * FROM event ORDER BY md5(id::text)) AS s'),
('twice', 'SELECT %s FROM event, generate_series(1, 2) AS n'),
('merge of 7', 'SELECT qfilter_merge_agg(f) FROM (SELECT %s AS f FROM event GROUP BY id %% 7) AS s'),
('overlapping', 'SELECT qfilter_merge_agg(f) FROM (SELECT %1$s AS f FROM event WHERE id < 15000
	UNION ALL SELECT %1$s FROM event WHERE id > 5000 UNION ALL SELECT %1$s FROM event WHERE id %% 3 = 0) AS s'),
('with itself', 'SELECT f | f | f FROM (SELECT %s AS f FROM event) AS s'),
('ordered', 'SELECT qfilter_merge_agg(f ORDER BY f DESC) FROM (SELECT %s AS f FROM event GROUP BY id / 999) AS s'),
('distinct', 'SELECT qfilter_merge_agg(DISTINCT f) FROM (SELECT %s AS f FROM event, generate_series(1, 2) AS n GROUP BY id / 999, n) AS s'),
('window', 'SELECT f FROM (SELECT id, %s OVER (ORDER BY id) AS f FROM event WHERE id > 0) AS w ORDER BY id DESC LIMIT 1'),
('through text', 'SELECT %s::text::qfilter FROM event'),
('parallel', 'SELECT %s FROM event');

CREATE FUNCTION pg_temp.bytes(way text, query text) RETURNS text LANGUAGE plpgsql AS
$$ DECLARE f qfilter; BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', CASE way WHEN 'parallel' THEN '3' ELSE '0' END, true);
	IF way = 'parallel' AND NOT pg_temp.plan_has(query, 'Gather') THEN RAISE 'not parallel'; END IF;
	EXECUTE query INTO f;
	RETURN md5(f::text);
END $$;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TEMP TABLE made AS
SELECT kind.name AS kind, way.name AS way, pg_temp.bytes(way.name, format(query, call)) AS bytes FROM kind, way;
SELECT kind, count(*) AS ways, count(DISTINCT bytes) AS filters FROM made GROUP BY kind ORDER BY kind;
-- with other instructions
SET qsketch.simd = 'scalar';
SELECT kind.name, pg_temp.bytes('serial', format(query, call)) = bytes AS same
FROM kind JOIN made ON kind = kind.name AND made.way = 'serial' JOIN way ON way.name = 'serial' ORDER BY 1;
RESET qsketch.simd;

-- Fold then merge is merge then fold.  Filters of different sizes are refused, also empty ones.
CREATE TEMP TABLE half AS SELECT id % 2 AS n, qfilter_row_agg(k, id, qfilter_new(20000, 20)) AS f FROM event GROUP BY 1;
SELECT qfilter_fold(a.f | b.f) = qfilter_fold(a.f) | qfilter_fold(b.f) AS folded, qfilter_fold(a.f | b.f, 2) = qfilter_fold(qfilter_fold(a.f), 1) | qfilter_fold(b.f, 2) AS in_steps,
	a.f | b.f = b.f | a.f AS commutes, a.f || b.f = a.f | b.f AS same, qfilter_fold(a.f, 0) = a.f AS unchanged
FROM half AS a, half AS b WHERE a.n = 0 AND b.n = 1;
SELECT qfilter_fold(a.f, 2) | b.f FROM half AS a, half AS b WHERE a.n = 0 AND b.n = 1;
SELECT qfilter_merge(a.f, qfilter_fold(b.f)) FROM half AS a, half AS b WHERE a.n = 0 AND b.n = 1;
SELECT qfilter_merge_agg(f) FROM (SELECT qfilter_fold(f, n::int) AS f FROM half ORDER BY n) AS s;
SELECT f | (SELECT qfilter_fold(qfilter_new(20000, 20))) FROM half;
SELECT qfilter_new(20000, 20) | qfilter_new(30000, 20);
SELECT qfilter_fold(f, -1) FROM half;
SELECT qfilter_fold(f, 12) FROM half;
SELECT bits, fill FROM half, qfilter_info(qfilter_fold(f, 11)) WHERE n = 0;

CREATE TEMP TABLE half_bloom AS
SELECT layout, id % 2 AS n, qfilter_agg(k, qfilter_new_bloom(3000, 0.001, 0, layout)) AS f
FROM event, unnest('{blocked,standard}'::text[]) AS layout GROUP BY layout, id % 2;
SELECT layout, count(*), bool_and(qfilter_fold(a.f | b.f) = qfilter_fold(a.f) | qfilter_fold(b.f)) AS folded, bool_and(qfilter_fold(a.f | b.f, 2) = qfilter_fold(a.f, 2) | qfilter_fold(qfilter_fold(b.f))) AS in_steps
FROM half_bloom AS a JOIN half_bloom AS b USING (layout) WHERE a.n = 0 AND b.n = 1 GROUP BY layout ORDER BY layout;

-- Without ids, in parallel: all rows are counted, and estimates are as good.
SET max_parallel_workers_per_gather = 3;
SELECT rows, abs(qfilter_estimate(f, 1) - (SELECT count(*) FROM event WHERE k = 1)) < 20 AS close
FROM (SELECT qfilter_agg(k, qfilter_new(20000, 20, 0.05)) AS f FROM event) AS s, qfilter_info(f);
SELECT rows FROM (SELECT qfilter_count_agg(k, id, qfilter_new(200010000, 200000)) AS f FROM event) AS s, qfilter_info(f);

-- No false negative, from any plan; about as many false positives as asked for.
SELECT count(*) FILTER (WHERE NOT qfilter_contains(f, k)) AS false_negatives, bool_and(qfilter_estimate_ok) AS distinct_ok
FROM (SELECT qfilter_agg(k, qfilter_new_bloom(1500, 0.05)) AS f FROM event) AS s,
	LATERAL (SELECT abs(qfilter_distinct(f) / (SELECT count(DISTINCT k) FROM event) - 1) < 0.1 AS qfilter_estimate_ok) AS d, event;
SELECT count(*) FILTER (WHERE qfilter_contains(f, -k)) BETWEEN 300 AND 700 AS as_asked
FROM (SELECT qfilter_agg(k, qfilter_new_bloom(10000, 0.05)) AS f FROM generate_series(1, 10000) AS k) AS s, generate_series(1, 10000) AS k;
DROP TABLE event;
