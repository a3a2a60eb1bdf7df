--
-- Keys of several columns straight off the pages: the same bytes as the ordinary
-- plan's, serial and parallel, and what is left to that.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/columnscan.psql'
\i :file
\set ECHO all
CREATE COLLATION row_nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN row_int AS int;
CREATE TYPE row_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE row_pair AS (a int, b text);
CREATE TABLE row_scan (gone text, i2 int2, i4 int, i8 bigint, t text, v varchar(20), nc text COLLATE row_nocase, c char(6), d date, ts timestamptz,
	n numeric, f float8, b boolean, m row_mood, u uuid, ar int[], p row_pair, dom row_int, bt bytea, long text, w int, j json);
INSERT INTO row_scan SELECT 'gone', i % 300 - 150, i * 7919 % 1000 - 500, (i % 500 - 250) * 10000000000, NULLIF('key ' || i % 700, 'key 5'), 'v' || i % 40,
	CASE i % 3 WHEN 0 THEN 'A' WHEN 1 THEN 'a' ELSE 'b' || i % 9 END, 'c' || i % 30, date '2026-01-01' + i % 400, timestamptz '2026-01-01' + i % 90 * interval '1 hour',
	CASE i % 8 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' ELSE (i % 77) / 7.0 END, CASE WHEN i % 5 = 0 THEN -0.0 ELSE i % 5 / 3.0 END, NULLIF(i % 3, 0) = 1,
	(enum_range(NULL::row_mood))[i % 4], md5((i % 100)::text)::uuid, ARRAY[i % 4, i % 3], ROW(i % 5, 'p' || i % 2)::row_pair, i % 12, decode(md5((i % 60)::text), 'hex'),
	CASE WHEN i % 500 = 0 THEN repeat(md5(i::text), 300) ELSE repeat('x', i % 300) END, i % 7
FROM generate_series(1, 20000) AS i;
ALTER TABLE row_scan DROP COLUMN gone;
ALTER TABLE row_scan SET (parallel_workers = 7);
-- rows before and after a column was added, with and without NULLs
ALTER TABLE row_scan ADD COLUMN added int DEFAULT 42, ADD COLUMN added_text text, ADD COLUMN added_after text DEFAULT 'later';
INSERT INTO row_scan (i4, t, added, added_text) SELECT i % 100, 'key ' || i, NULLIF(i % 5, 0), 'new' FROM generate_series(1, 3000) AS i;
INSERT INTO row_scan DEFAULT VALUES;
DELETE FROM row_scan WHERE i4 = 77;
VACUUM ANALYZE row_scan;

SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT qsketch_agg(ROW(i4, t)) FROM row_scan;
CREATE TEMP TABLE row_columns (columns text);
INSERT INTO row_columns VALUES ('i4, i2'), ('i8, i4'), ('i4, t'), ('t, i4'), ('t, v'), ('i2, i4, i8, t, v'), ('nc, i4'), ('t, nc'), ('c, v'), ('d, ts'), ('n, f'), ('b, m'),
	('u, ar'), ('p, i4'), ('dom, bt'), ('long, i4'), ('long, t'), ('i4, added'), ('added, added_text, added_after'), ('i4'), ('i4, i4'), ('nc COLLATE "C", t COLLATE row_nocase'),
	('v::text, dom::int'), ('i2, i4, i8, t, v, nc, c, d, ts, n, f, b, m, u, ar, p, dom, bt, long, w, added');
SELECT columns, s.* FROM row_columns, pg_temp.same(format('SELECT qsketch_agg(ROW(%s), qsketch_new(size => ''16kB'')) FROM row_scan', columns)) AS s;
-- with weights, which may be NULL; other families; several at once; explicit forms
SELECT columns, s.* FROM row_columns, pg_temp.same(format('SELECT qsketch_agg(ROW(%s), w, qsketch_new(size => ''16kB'')) FROM row_scan', columns)) AS s
WHERE columns IN ('i4, i2', 't, v', 'nc, i4');
SELECT columns, s.* FROM row_columns, pg_temp.same(format('SELECT qfilter_agg(ROW(%s), qfilter_new_bloom(30000)) FROM row_scan', columns)) AS s
WHERE columns IN ('i4, i2', 't, v', 'nc, i4', 'added, added_text, added_after');
SELECT columns, s.* FROM row_columns, pg_temp.same(format('SELECT qsets_agg(w, ROW(%s)) FROM row_scan', columns)) AS s
WHERE columns IN ('i4, i2', 't, v', 'nc, i4', 'added, added_text, added_after');
SELECT * FROM pg_temp.same($$SELECT qsketch_agg(ROW(i4, t)), qsketch_agg(i4), qsketch_agg(ROW(t, i4)), qfilter_agg(ROW(i2, d), qfilter_new_bloom(1000)) FROM row_scan$$);
SELECT * FROM pg_temp.same('SELECT qsketch_agg(ROW(w, dom, b)) FROM row_scan');
-- some rows only, and counts beside them
SELECT * FROM pg_temp.same($$SELECT qsketch_agg(ROW(i4, t)) FILTER (WHERE w < 3), qfilter_agg(ROW(t, v), qfilter_new_bloom(9000)), count(*) FROM row_scan WHERE i2 > 0$$);

-- they are keys like all others
SET max_parallel_workers_per_gather = 0;
SELECT qsketch_estimate(s, ROW(23, 'key 37')) = (SELECT count(*) FROM row_scan WHERE i4 = 23 AND t = 'key 37') AS one,
	qsketch_estimate(s, ROW(NULL::int, NULL::text)) AS nulls, (qsketch_info(s)).key_family
FROM (SELECT qsketch_agg(ROW(i4, t)) AS s FROM row_scan) AS q;
SELECT qsketch_merge(a, b) = qsketch_merge(b, a) AS merges FROM (SELECT qsketch_agg(ROW(i4, t)) AS a FROM row_scan) AS x, (SELECT qsketch_agg(ROW(dom, v)) AS b FROM row_scan) AS y;
SELECT qsketch_merge(a, b) FROM (SELECT qsketch_agg(ROW(i4, t)) AS a FROM row_scan) AS x, (SELECT qsketch_agg(ROW(i4, bt)) AS b FROM row_scan) AS y;

-- an empty table, partitions whose columns lie elsewhere
CREATE TABLE row_empty (a int, b text);
SELECT * FROM pg_temp.same('SELECT qsketch_agg(ROW(a, b)) FROM row_empty');
CREATE TABLE row_parted (a int, b text, c bigint) PARTITION BY LIST (a);
CREATE TABLE row_part_1 PARTITION OF row_parted FOR VALUES IN (1);
CREATE TABLE row_part_2 (gone int, c bigint, b text, a int);
ALTER TABLE row_part_2 DROP COLUMN gone;
ALTER TABLE row_parted ATTACH PARTITION row_part_2 FOR VALUES IN (2);
INSERT INTO row_parted SELECT i % 2 + 1, 'b' || i % 90, i % 50 FROM generate_series(1, 8000) AS i;
ANALYZE row_parted;
SELECT same, scanned FROM pg_temp.same('SELECT qsketch_agg(ROW(a, b, c)) FROM row_parted');
SELECT same, scanned FROM pg_temp.same('SELECT qsketch_agg(ROW(c, b), a) FROM row_parted');

-- rows in rows, whole rows, named rows, expressions, lists of top keys; left to the ordinary plan: no columns, what has no hash, system columns
SELECT call, pg_temp.scans(format('SELECT %s FROM row_scan', call)) FROM unnest(ARRAY['qsketch_agg(ROW(i4, ROW(t, i2)))', 'qsketch_agg(row_scan)', 'qsketch_agg(ROW(i4, t)::row_pair)',
	'qsketch_agg(ROW(i4, lower(t)))', 'qsketch_agg(ROW(i4, 1))', 'qtop_agg(ROW(i4, t), 3)', 'qsketch_agg(ROW())', 'qsketch_agg(ROW(i4, ctid))', 'qsketch_agg(ROW(i4, j))']) AS call;
\set SHOW_CONTEXT never
SELECT qsketch_agg(ROW(i4, j)) FROM row_scan;
DROP TABLE row_scan, row_empty, row_parted;
