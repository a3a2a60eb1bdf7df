--
-- qsets_agg of two columns straight off the pages: the same bytes as the
-- ordinary plan's, whatever the table is like, in one process and in several;
-- in which plans, and what is left to the ordinary one.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/columnscan.psql'
\i :file
\set ECHO all

-- rows that were updated, deleted, locked and never committed
CREATE TABLE member (s smallint, i integer, k bigint) WITH (parallel_workers = 7, autovacuum_enabled = off);
INSERT INTO member SELECT i % 1000, i * 17, (i::bigint << 20) % 99991 FROM generate_series(1, 20000) AS i;
UPDATE member SET k = k + 1 WHERE s % 7 = 0;
DELETE FROM member WHERE s % 11 = 0;
BEGIN; INSERT INTO member SELECT 1, 1, 1 FROM generate_series(1, 100); ROLLBACK;
SELECT count(*) FROM (SELECT FROM member WHERE s = 5 FOR UPDATE) AS locked;
SELECT * FROM pg_temp.same('SELECT qsets_agg(s, k) FROM member');
SELECT * FROM pg_temp.same('SELECT qsets_agg(k, s), qsets_agg(i, k), qsets_agg(s, i), qsets_agg(s, k), qsketch_agg(k) FROM member');
VACUUM (FREEZE) member;
SELECT * FROM pg_temp.same('SELECT qsets_agg(k, s), qsets_agg(i, k) FROM member');
UPDATE member SET k = -k WHERE i < 50000;
SELECT * FROM pg_temp.same('SELECT qsets_agg(k, s), qsets_agg(i, k) FROM member');
BEGIN;
INSERT INTO member SELECT 1, 2, i FROM generate_series(1, 500) AS i;
SAVEPOINT a; DELETE FROM member WHERE k < 100; ROLLBACK TO a;
SELECT same, scanned FROM pg_temp.same('SELECT qsets_agg(s, k) FROM member');
ROLLBACK;

-- so much that processes pass it on in shared memory: duplicates, sparse and dense ids, ids few and many; without the leader
CREATE TABLE large (few bigint, dense integer, sparse bigint, nothing bigint, t text) WITH (parallel_workers = 7, autovacuum_enabled = off);
INSERT INTO large SELECT i % 5, i % 1000 - 500, (i % 3000) * 1234567890123, NULL, 'key ' || i % 7919 FROM generate_series(1, 150000) AS i;
SELECT leader, count(*), bool_and(same) AS same, bool_and(scanned) AS scanned, min(workers), max(workers)
FROM unnest(ARRAY['on', 'off']) AS leader,
	LATERAL (SELECT set_config('parallel_leader_participation', leader, false)) AS x,
	LATERAL pg_temp.same('SELECT qsets_agg(few, dense), qsets_agg(dense, sparse), qsets_agg(sparse, few), qsets_agg(sparse, t),
		qsets_agg(few, nothing), qsets_agg(nothing, few) FROM large')
GROUP BY leader ORDER BY leader;
RESET parallel_leader_participation;
SELECT same, scanned FROM pg_temp.same('SELECT qsets_agg(few, nothing) FROM large');

-- in parallel; in the ordinary plan the leader would take in all rows again
SET max_parallel_workers_per_gather = 7;
EXPLAIN (COSTS OFF) SELECT qsets_agg(few, dense) FROM large;
SET qsketch.enable_columnscan = off;
EXPLAIN (COSTS OFF) SELECT qsets_agg(few, dense) FROM large;
RESET qsketch.enable_columnscan;

-- elements of all types, and domains; ids as columns alone or cast to bigint
CREATE DOMAIN positive AS integer CHECK (value > 0);
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE types (id integer, flag boolean, t text, small smallint, v varchar(30), c char(8), by bytea, u uuid, n numeric,
	r real, d double precision, day date, ts timestamp, tz timestamptz, ip inet, m mood, p positive, at time, arr integer[], j jsonb)
	WITH (parallel_workers = 2);
INSERT INTO types SELECT i % 20, i % 3 = 0, 'key ' || i % 100, i, 'v' || i, 'c' || i, ('\x' || lpad(to_hex(i), 8, '0'))::bytea,
	md5(i::text)::uuid, CASE i % 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 ELSE i / 7.0 END,
	CASE WHEN i % 2 = 0 THEN 0 ELSE -0.0 END, CASE WHEN i % 5 = 0 THEN 'nan' ELSE i / 3.0 END,
	date '2020-01-01' + i, timestamp '2020-01-01' + i * interval '1 hour', timestamptz '2020-01-01 UTC' + i * interval '1 min',
	('10.0.' || i % 256 || '.1')::inet, (ARRAY['sad', 'ok', 'happy'])[1 + i % 3]::mood, 1 + i, time '00:00' + i * interval '1 s',
	ARRAY[i, i % 7], jsonb_build_object('a', i % 9)
FROM generate_series(1, 1000) AS i;
SELECT attname, same, scanned FROM pg_attribute, LATERAL pg_temp.same(format('SELECT qsets_agg(id, %I) FROM types', attname))
WHERE attrelid = 'types'::regclass AND attnum > 0 ORDER BY attnum;
SELECT id, same, scanned FROM unnest(ARRAY['small', 'p', 'id::bigint', 'small::bigint', 'p::integer']) AS id,
	LATERAL pg_temp.same(format('SELECT qsets_agg(%s, t) FROM types', id));
SELECT * FROM pg_temp.same('SELECT qsets_agg(id, v::text), qsets_agg(id, t COLLATE "C"), qsets_agg(id, p::integer) FROM types');

-- NULLs: of either, in front of it, behind it, of all; and none left
CREATE TABLE nulls (a integer, s bigint, t text, e integer) WITH (parallel_workers = 2);
INSERT INTO nulls SELECT nullif(i % 3, 0), nullif(i % 5, 0), CASE WHEN i % 7 > 0 THEN i::text END, nullif(i % 11, 0)
FROM generate_series(1, 3000) AS i;
SELECT * FROM pg_temp.same('SELECT qsets_agg(s, e), qsets_agg(a, t), qsets_agg(e, a), qsets_agg(s, s) FROM nulls');
UPDATE nulls SET e = NULL;
SELECT * FROM pg_temp.same('SELECT qsets_agg(s, e), qsets_agg(e, s), qsets_agg(s, a) FROM nulls');
DELETE FROM nulls;
SELECT * FROM pg_temp.same('SELECT qsets_agg(s, e) FROM nulls');
SELECT qsets_agg(s, e) IS NULL AS empty FROM nulls;

-- toasted neighbours and elements
CREATE TABLE toasted (t text, s integer, b bytea, e integer) WITH (parallel_workers = 2);
ALTER TABLE toasted ALTER b SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT repeat(md5((i % 20)::text), CASE WHEN i % 2 = 0 THEN 3 ELSE 400 END), i % 9,
	convert_to((SELECT string_agg(md5((i % 20 + j)::text), '') FROM generate_series(1, 200) AS j), 'UTF8'), i
FROM generate_series(1, 300) AS i;
SELECT * FROM pg_temp.same('SELECT qsets_agg(s, e), qsets_agg(s, b), qsets_agg(e, t) FROM toasted');

-- columns dropped, added with and without default, generated
CREATE TABLE altered (gone text, s integer, gone2 integer, e bigint) WITH (parallel_workers = 2);
INSERT INTO altered SELECT 'x', i % 30, i, i FROM generate_series(1, 1000) AS i;
ALTER TABLE altered DROP gone, DROP gone2;
ALTER TABLE altered ADD added integer DEFAULT 42, ADD word text DEFAULT 'word', ADD nothing bigint,
	ADD twice bigint GENERATED ALWAYS AS (e * 2) STORED;
ALTER TABLE altered ADD later bigint DEFAULT 7;
INSERT INTO altered (s, e, added) SELECT i, i, i FROM generate_series(1, 1000) AS i;
SELECT * FROM pg_temp.same('SELECT qsets_agg(s, e), qsets_agg(added, e), qsets_agg(later, added), qsets_agg(s, word),
	qsets_agg(nothing, s), qsets_agg(s, nothing), qsets_agg(s, twice) FROM altered');

-- unlogged, temporary and materialized; partitions in other orders of columns; inheritance
CREATE UNLOGGED TABLE unlogged WITH (parallel_workers = 2) AS SELECT s, k FROM member;
CREATE TEMP TABLE temporary AS SELECT s, k FROM member;
CREATE MATERIALIZED VIEW materialized AS SELECT s, k FROM member;
SELECT t, same, scanned FROM unnest(ARRAY['unlogged', 'temporary', 'materialized']) AS t,
	LATERAL pg_temp.same(format('SELECT qsets_agg(s, k) FROM %I', t));
CREATE TABLE parts (s integer, k bigint, t text) PARTITION BY RANGE (s);
CREATE TABLE parts_a PARTITION OF parts FOR VALUES FROM (0) TO (1000) WITH (parallel_workers = 2);
CREATE TABLE parts_b (t text, gone integer, k bigint, s integer) WITH (parallel_workers = 2);
ALTER TABLE parts_b DROP gone;
ALTER TABLE parts ATTACH PARTITION parts_b FOR VALUES FROM (1000) TO (5000);
CREATE TABLE parts_c PARTITION OF parts FOR VALUES FROM (5000) TO (6000);
INSERT INTO parts SELECT i, j, i % 50 FROM generate_series(0, 4999) AS i, generate_series(1, 10) AS j;
ANALYZE parts;
SELECT * FROM pg_temp.same('SELECT qsets_agg(s, k), qsets_agg(k, t) FROM parts');
CREATE TABLE parent (s bigint, e text) WITH (parallel_workers = 2);
CREATE TABLE child (extra integer) INHERITS (parent) WITH (parallel_workers = 2);
INSERT INTO parent SELECT i % 40, i FROM generate_series(1, 700) AS i;
INSERT INTO child SELECT i % 40, i, i FROM generate_series(500, 900) AS i;
SELECT * FROM pg_temp.same('SELECT qsets_agg(s, e) FROM parent');
SELECT * FROM pg_temp.same('SELECT qsets_agg(s, e) FROM ONLY parent');

-- views, prepared statements, subqueries run again, LIMIT
CREATE VIEW plain_view AS SELECT s AS set_id, k AS element FROM member;
CREATE VIEW collected AS SELECT qsets_agg(s, k) AS c FROM member;
SELECT pg_temp.scans('SELECT qsets_agg(set_id, element) FROM plain_view') AS of_view, pg_temp.scans('SELECT c FROM collected') AS in_view,
	(SELECT qsets_agg(set_id, element) FROM plain_view) = (SELECT c FROM collected) AS same;
SET max_parallel_workers_per_gather = 0;
PREPARE collect AS SELECT qsets_count(qsets_agg(s, k)) FROM member;
EXECUTE collect;
INSERT INTO member VALUES (1001, 1, 1);
EXECUTE collect;
DELETE FROM member WHERE s = 1001;
SELECT x, (SELECT qsets_cardinality(qsets_agg(s, k), x) FROM member) AS size FROM generate_series(1, 3) AS x;
EXPLAIN (COSTS OFF) SELECT qsets_agg(s, k) FROM member LIMIT 1;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT qsets_agg(s, k) FROM member;
SET enable_material = off;
SELECT count(*), bool_and(sets = 909) FROM generate_series(1, 3) AS x LEFT JOIN (SELECT qsets_count(qsets_agg(s, k)) AS sets FROM member) AS m ON sets > x;
RESET enable_material;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION pg_temp.explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS
$$ DECLARE line text; BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		IF line !~ 'Instructions|Pages' THEN RETURN NEXT regexp_replace(line, ' \(actual.*', ''); END IF;
	END LOOP;
END $$;
SELECT * FROM pg_temp.explained('SELECT qsets_agg(s, k) FROM member') AS line;

-- what another family does beside it; what is left to the ordinary plan, and its errors
SELECT call, pg_temp.scans('SELECT ' || call) AS scanned FROM unnest(ARRAY[
	'qsets_agg(s, k), qfilter_agg(k, qfilter_new_bloom(3000)), qsketch_agg(s, i) FROM member', 'qsets_agg(s, k) FROM member WHERE i > 3',
	'qsets_agg(s, k) FROM member GROUP BY i', 'qsets_agg(DISTINCT s, k) FROM member', 'qsets_agg(s, k ORDER BY k) FROM member',
	'qsets_agg(s, k) FILTER (WHERE i > 3) FROM member', 'qsets_agg(s + 1, k) FROM member', 'qsets_agg(s, k + 1) FROM member',
	'qsets_agg(1, k) FROM member', 'qsets_agg(s, 1) FROM member', 'qsets_agg(s, k), count(*) FROM member',
	'qsets_agg(id, arr) FROM types', 'qsets_agg(id, ARRAY[small]) FROM types', 'qsets_merge_agg(c) FROM collected',
	'qsets_agg(s, k) OVER () FROM member', 'qsets_agg(s, k) FROM member HAVING count(*) > 5']) AS call;
CREATE TABLE spots (s integer, p point);
SELECT pg_temp.scans('SELECT qsets_agg(s, p) FROM spots'), qsets_agg(s, p) IS NULL AS empty FROM spots;
INSERT INTO spots VALUES (1, '(1,1)');
SELECT qsets_agg(s, p) FROM spots;
CREATE ROLE sets_scan_user;
GRANT SELECT (s) ON member TO sets_scan_user;
SET ROLE sets_scan_user;
SELECT pg_temp.error_of('SELECT qsets_agg(s, k) FROM member') AS column_s, pg_temp.error_of('SELECT qsets_count(qsets_agg(s, s)) FROM member') AS own;
RESET ROLE;
DROP OWNED BY sets_scan_user;
DROP ROLE sets_scan_user;
DROP TABLE member, large, types, nulls, toasted, altered, unlogged, parts, parent, spots CASCADE;
DROP TYPE mood, positive;
