--
-- QSketchScan: the same bytes as the ordinary plan, whatever the table is like.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/columnscan.psql'
\i :file
\set ECHO all

-- rows that were updated, deleted, locked and never committed
CREATE TABLE ints (s smallint, i integer, k bigint) WITH (parallel_workers = 7, autovacuum_enabled = off);
INSERT INTO ints SELECT i % 1000, i * 17, (i::bigint << 20) % 99991 FROM generate_series(1, 20000) AS i;
UPDATE ints SET k = k + 1 WHERE s % 7 = 0;
DELETE FROM ints WHERE s % 11 = 0;
BEGIN; INSERT INTO ints SELECT 1, 1, 1 FROM generate_series(1, 100); ROLLBACK;
SELECT count(*) FROM (SELECT FROM ints WHERE s = 5 FOR UPDATE) AS locked;

-- every structure, with 0, 1, 2 and 7 workers
SELECT count(*), bool_and(same) AS same, bool_and(scanned) AS scanned, min(workers), max(workers)
FROM template, LATERAL pg_temp.same(format(
	'SELECT qsketch_agg(s, %1$s), qsketch_agg(i, %1$s), qsketch_agg(k, %1$s) FROM ints', expr));
SELECT * FROM pg_temp.same('SELECT qsketch_agg(k), qsketch_agg(s), qsketch_agg(k) FROM ints');

-- large sketches that many processes merge, of keys that only some of them meet; again without the leader
CREATE TABLE large (k bigint, few bigint, nothing bigint, t text) WITH (parallel_workers = 7, autovacuum_enabled = off);
INSERT INTO large SELECT i * 31, CASE WHEN i < 50 THEN i END, NULL, i % 3000 FROM generate_series(1, 150000) AS i;
SELECT leader, count(*), bool_and(same) AS same, bool_and(scanned) AS scanned, min(workers), max(workers)
FROM unnest(ARRAY['on', 'off']) AS leader, generate_series(1, 3),
	LATERAL (SELECT set_config('parallel_leader_participation', leader, false)) AS x,
	LATERAL pg_temp.same('SELECT qsketch_agg(k), qsketch_agg(few), qsketch_agg(nothing), qsketch_agg(t),
		qsketch_agg(k, qsketch_new(''multilevel'', ''256kB'')), qsketch_agg(t, qsketch_new(''sf'', ''64kB'')) FROM large')
GROUP BY leader ORDER BY leader;
RESET parallel_leader_participation;
SELECT same, scanned FROM pg_temp.same('SELECT qsketch_agg(nothing) FROM large');

-- every kind of instructions that this processor has
SELECT bool_and(same) FROM unnest(ARRAY['scalar', 'neon', 'avx2', 'avx512']) AS simd,
	LATERAL (SELECT set_config('qsketch.simd', simd, false)
		WHERE pg_temp.error_of(format('SET qsketch.simd = %L', simd)) = 'no error') AS x,
	LATERAL pg_temp.same('SELECT qsketch_agg(k), qsketch_agg(i) FROM ints');
RESET qsketch.simd;

-- pages all-visible, frozen, without the visibility map, and partly so
VACUUM ints;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(k) FROM ints');
VACUUM (FREEZE) ints;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(k) FROM ints');
UPDATE ints SET k = -k WHERE i < 50000;
DELETE FROM ints WHERE i BETWEEN 60000 AND 70000;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(k) FROM ints');

-- the transaction's own rows, of this and of finished subtransactions
BEGIN;
INSERT INTO ints SELECT 1, 2, i FROM generate_series(1, 500) AS i;
SAVEPOINT a; DELETE FROM ints WHERE k < 100; ROLLBACK TO a;
SAVEPOINT b; UPDATE ints SET k = 5 WHERE k = 7; RELEASE b;
SELECT same, scanned FROM pg_temp.same('SELECT qsketch_agg(k) FROM ints');
-- a command does not see its own rows
INSERT INTO ints (s, k) SELECT 0, qsketch_total(qsketch_agg(k)) FROM ints;
WITH more AS (INSERT INTO ints SELECT 1, 1, i FROM generate_series(1, 100) AS i RETURNING k)
SELECT qsketch_total(qsketch_agg(k)) = (SELECT count(k) FROM ints) FROM ints;
ROLLBACK;

-- all types of keys, in front of, behind and among columns that vary
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN positive AS integer CHECK (value > 0);
CREATE DOMAIN code AS text;
CREATE TYPE pair AS (a integer, b text);
CREATE TABLE types (flag boolean, t text, small smallint, v varchar(30), c char(8), by bytea, u uuid, n numeric,
	r real, d double precision, day date, ts timestamp, tz timestamptz, ip inet, net cidr, m mood, p positive,
	co code, at time, arr integer[], comp pair, nm name, o oid, j jsonb) WITH (parallel_workers = 2);
INSERT INTO types SELECT i % 3 = 0, 'key ' || i % 100, i, 'v' || i, 'c' || i, ('\x' || lpad(to_hex(i), 8, '0'))::bytea,
	md5(i::text)::uuid, CASE i % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 ELSE i / 7.0 END,
	CASE WHEN i % 2 = 0 THEN 0 ELSE -0.0 END, CASE WHEN i % 5 = 0 THEN 'nan' ELSE i / 3.0 END,
	date '2020-01-01' + i, timestamp '2020-01-01' + i * interval '1 hour', timestamptz '2020-01-01 UTC' + i * interval '1 min',
	('10.0.' || i % 256 || '.1')::inet, ('10.' || i % 256 || '.0.0/16')::cidr, (ARRAY['sad', 'ok', 'happy'])[1 + i % 3]::mood,
	1 + i, 'code' || i, time '00:00' + i * interval '1 s', ARRAY[i, i % 7], ROW(i % 10, 'x')::pair, 'name' || i, i,
	jsonb_build_object('a', i % 9)
FROM generate_series(1, 1000) AS i;
SELECT attname, same, scanned FROM pg_attribute,
	LATERAL pg_temp.same(format('SELECT qsketch_agg(%I) FROM types', attname))
WHERE attrelid = 'types'::regclass AND attnum > 0 ORDER BY attnum;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(o::integer), qsketch_agg(v::text), qsketch_agg(net::inet),
	qsketch_agg(t COLLATE "C"), qsketch_agg(p::integer) FROM types');
SELECT same, scanned FROM pg_temp.same('SELECT qsketch_agg(pronargs), qsketch_agg(prosrc) FROM pg_proc');

-- NULLs: of the key, in front of it, behind it, of all
CREATE TABLE nulls (a integer, k bigint, t text, b text) WITH (parallel_workers = 2);
INSERT INTO nulls SELECT nullif(i % 3, 0), nullif(i % 5, 0), CASE WHEN i % 7 > 0 THEN i::text END,
	CASE WHEN i % 2 > 0 THEN 'x' END FROM generate_series(1, 3000) AS i;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(a), qsketch_agg(k), qsketch_agg(t), qsketch_agg(b) FROM nulls');
UPDATE nulls SET k = NULL;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(k), qsketch_agg(t) FROM nulls');
DELETE FROM nulls;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(k), qsketch_agg(t) FROM nulls');
SELECT qsketch_agg(k) IS NULL AS empty FROM nulls;

-- a padded and an unpadded string at the same offset, and in front of it
CREATE TABLE padded (c boolean, t text, u text) WITH (parallel_workers = 2);
INSERT INTO padded SELECT true, repeat('s', i % 200), repeat('u', i % 130) FROM generate_series(1, 600) AS i;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(t), qsketch_agg(u), qsketch_agg(c) FROM padded');

-- weights: of each width, NULL, zero and negative, of columns in front and behind, added later, generated
CREATE DOMAIN amount AS integer;
CREATE TABLE weighted (w2 smallint, k bigint, w8 bigint, t text, w4 integer, wd amount, k2 smallint, kd positive)
	WITH (parallel_workers = 2);
INSERT INTO weighted SELECT i % 5, nullif(i % 70, 3), CASE WHEN i % 11 > 0 THEN i::bigint << 12 END, 'key ' || nullif(i % 40, 7),
	nullif(i % 9, 4), i % 3, i % 30, i % 20 + 1 FROM generate_series(1, 4000) AS i;
ALTER TABLE weighted ADD late bigint DEFAULT 3, ADD nothing integer, ADD made integer GENERATED ALWAYS AS (w4 * 2) STORED;
INSERT INTO weighted (k, w2, late) SELECT i, i, i FROM generate_series(1, 100) AS i;
SELECT w, same, scanned, workers FROM unnest(ARRAY['w2', 'w8', 'w4', 'wd', 'late', 'nothing', 'made', 'w4::bigint']) AS w,
	LATERAL pg_temp.same(format('SELECT qsketch_agg(k, %1$s), qsketch_agg(t, %1$s), qsketch_agg(k2, %1$s), qsketch_agg(kd, %1$s),
		qsketch_agg(late, %1$s), qsketch_agg(k, %1$s, qsketch_new(''multilevel'', ''1kB'')), qsketch_agg(t) FROM weighted', w));
SELECT w, same, scanned FROM unnest(ARRAY['w4 + 1', '5', 'abs(w4)', 'k2::numeric::bigint']) AS w,
	LATERAL pg_temp.same(format('SELECT qsketch_agg(k, %1$s) FROM weighted', w));
INSERT INTO weighted (w8, k) VALUES (-9223372036854775808, NULL);
SELECT same, scanned FROM pg_temp.same('SELECT qsketch_agg(k, w8) FROM weighted');
SET max_parallel_workers_per_gather = 0;
INSERT INTO weighted (w4, k) SELECT -w4, k FROM weighted WHERE k % 2 = 0;
SELECT qsketch_agg(k, w4) = (SELECT qsketch_agg(k, w4) FROM weighted WHERE k % 2 = 1) AS taken_back FROM weighted;
INSERT INTO weighted (w4, k) VALUES (-1, 1000000);
SELECT pg_temp.error_of('SELECT qsketch_agg(k, w4) FROM weighted');
INSERT INTO weighted (w8, k) VALUES (-9223372036854775808, 5);
SELECT pg_temp.error_of('SELECT qsketch_agg(k, w8) FROM weighted');

-- compressed and stored out of line
CREATE TABLE toasted (id integer, t text, b bytea) WITH (parallel_workers = 2);
ALTER TABLE toasted ALTER b SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT i, repeat(md5((i % 20)::text), CASE WHEN i % 2 = 0 THEN 3 ELSE 400 END),
	convert_to((SELECT string_agg(md5((i % 20 + j)::text), '') FROM generate_series(1, 200) AS j), 'UTF8')
FROM generate_series(1, 300) AS i;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(t), qsketch_agg(b) FROM toasted');

-- columns dropped, added with and without default, generated
CREATE TABLE altered (gone text, a integer, gone2 integer, k bigint) WITH (parallel_workers = 2);
INSERT INTO altered SELECT 'x', i, i, i FROM generate_series(1, 1000) AS i;
ALTER TABLE altered DROP gone, DROP gone2;
ALTER TABLE altered ADD added integer DEFAULT 42, ADD word text DEFAULT 'word', ADD nothing bigint,
	ADD twice bigint GENERATED ALWAYS AS (k * 2) STORED;
ALTER TABLE altered ADD later bigint DEFAULT 7;
INSERT INTO altered (a, k, added) SELECT i, i, i FROM generate_series(1, 1000) AS i;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(a), qsketch_agg(k), qsketch_agg(added), qsketch_agg(word),
	qsketch_agg(nothing), qsketch_agg(twice), qsketch_agg(later) FROM altered');
ALTER TABLE altered ALTER a TYPE bigint;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(a) FROM altered');
CREATE TABLE grown (a integer) WITH (parallel_workers = 2);
INSERT INTO grown SELECT i FROM generate_series(1, 500) AS i;
ALTER TABLE grown ADD b bigint DEFAULT 7, ADD s smallint, ADD t text DEFAULT 'long ago';
INSERT INTO grown SELECT i, i, i, i FROM generate_series(1, 500) AS i;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(a), qsketch_agg(b), qsketch_agg(s), qsketch_agg(t) FROM grown');

-- many columns
SELECT format('CREATE TABLE wide (%s) WITH (parallel_workers = 2)',
	string_agg(format('c%s %s', i, (ARRAY['integer', 'bigint', 'text', 'boolean'])[1 + i % 4]), ', ')) FROM generate_series(1, 300) AS i
\gexec
SELECT format('INSERT INTO wide SELECT %s FROM generate_series(1, 500) AS g', string_agg(
	CASE WHEN i % 13 = 0 THEN 'NULL' WHEN i % 4 = 2 THEN 'repeat(''t'', g % 3)' WHEN i % 4 = 3 THEN 'g % 2 = 0'
		WHEN i % 17 = 0 THEN 'nullif(g % 3, 0)' ELSE 'g % ' || i END, ', ')) FROM generate_series(1, 300) AS i
\gexec
SELECT * FROM pg_temp.same('SELECT qsketch_agg(c1), qsketch_agg(c4), qsketch_agg(c9), qsketch_agg(c150), qsketch_agg(c297),
	qsketch_agg(c298), qsketch_agg(c17), qsketch_agg(c300) FROM wide');

-- unlogged and temporary tables, materialized views
CREATE UNLOGGED TABLE unlogged WITH (parallel_workers = 2) AS SELECT k FROM ints;
CREATE TEMP TABLE temporary AS SELECT k FROM ints;
CREATE MATERIALIZED VIEW materialized AS SELECT k, s FROM ints;
CREATE MATERIALIZED VIEW unpopulated AS SELECT k FROM ints WITH NO DATA;
SELECT t, same, scanned FROM unnest(ARRAY['unlogged', 'temporary', 'materialized']) AS t,
	LATERAL pg_temp.same(format('SELECT qsketch_agg(k) FROM %I', t));
SELECT pg_temp.error_of('SELECT qsketch_agg(k) FROM unpopulated');

-- partitions: of two levels, in other orders of columns, and one empty
CREATE TABLE parts (id integer, k bigint, t text) PARTITION BY RANGE (id);
CREATE TABLE parts_a PARTITION OF parts FOR VALUES FROM (0) TO (1000) WITH (parallel_workers = 2);
CREATE TABLE parts_b (t text, gone integer, k bigint, id integer) WITH (parallel_workers = 2);
ALTER TABLE parts_b DROP gone;
ALTER TABLE parts ATTACH PARTITION parts_b FOR VALUES FROM (1000) TO (2000);
CREATE TABLE parts_c PARTITION OF parts FOR VALUES FROM (2000) TO (5000) PARTITION BY HASH (k);
CREATE TABLE parts_c0 PARTITION OF parts_c FOR VALUES WITH (MODULUS 2, REMAINDER 0) WITH (parallel_workers = 2);
CREATE TABLE parts_c1 PARTITION OF parts_c FOR VALUES WITH (MODULUS 2, REMAINDER 1) WITH (parallel_workers = 2);
CREATE TABLE parts_d PARTITION OF parts FOR VALUES FROM (5000) TO (6000);
INSERT INTO parts SELECT i, i * 3, i % 50 FROM generate_series(0, 4999) AS i;
ANALYZE parts;
SELECT count(*), bool_and(same) AS same, bool_and(scanned) AS scanned
FROM template, LATERAL pg_temp.same(format('SELECT qsketch_agg(k, %1$s), qsketch_agg(t, %1$s) FROM parts', expr));
SET max_parallel_workers_per_gather = 0;
SELECT pg_temp.scans('SELECT qsketch_agg(k) FROM parts'), pg_temp.scans('SELECT qsketch_agg(k) FROM parts_c'),
	pg_temp.scans('SELECT qsketch_agg(k) FROM ONLY parts');
SELECT qsketch_agg(k) IS NULL AS nothing FROM ONLY parts;
-- without Parallel Append each process goes through all partitions
SET enable_parallel_append = off;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(k), qsketch_agg(t) FROM parts');
RESET enable_parallel_append;
SET enable_partitionwise_aggregate = on;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(k), qsketch_agg(t) FROM parts');
RESET enable_partitionwise_aggregate;

-- inheritance: a parent with rows, children of children, and none left
CREATE TABLE parent (k bigint, t text) WITH (parallel_workers = 2);
CREATE TABLE child (extra integer) INHERITS (parent) WITH (parallel_workers = 2);
CREATE TABLE grandchild () INHERITS (child) WITH (parallel_workers = 2);
CREATE TABLE other (t text, more integer, k bigint) WITH (parallel_workers = 2);
ALTER TABLE other INHERIT parent;
INSERT INTO parent SELECT i, i FROM generate_series(1, 700) AS i;
INSERT INTO child SELECT i, i, i FROM generate_series(500, 900) AS i;
INSERT INTO grandchild SELECT i, i, i FROM generate_series(1, 900) AS i;
INSERT INTO other SELECT i, i, i FROM generate_series(1, 400) AS i;
SELECT * FROM pg_temp.same('SELECT qsketch_agg(k), qsketch_agg(t) FROM parent');
SELECT * FROM pg_temp.same('SELECT qsketch_agg(k), qsketch_agg(t) FROM ONLY parent');
SELECT qsketch_total(qsketch_agg(k)) FROM parent;
SELECT qsketch_total(qsketch_agg(k)) FROM ONLY parent;
DROP TABLE child, grandchild, other;
SELECT same, scanned FROM pg_temp.same('SELECT qsketch_agg(k), qsketch_agg(t) FROM parent');

-- UNION ALL of plain tables is an Append, too
SELECT same, scanned FROM pg_temp.same('SELECT qsketch_agg(k) FROM (SELECT k FROM ints UNION ALL SELECT k FROM unlogged) AS u');
SELECT same FROM pg_temp.same('SELECT qsketch_agg(k) FROM (SELECT k FROM ints UNION ALL SELECT k + 1 FROM unlogged) AS u');
SELECT same FROM pg_temp.same('SELECT qsketch_agg(k) FROM (SELECT k FROM ints UNION ALL SELECT 1 UNION ALL SELECT k FROM unlogged WHERE k < 9) AS u');

DROP TABLE ints, large, types, nulls, weighted, padded, toasted, altered, grown, wide, unlogged, parts, parent CASCADE;
DROP TYPE mood, positive, code, pair, amount;
