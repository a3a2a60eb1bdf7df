--
-- Equality of sketches: operators, hashing, DISTINCT, GROUP BY, joins.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
SELECT a = b AS equal, a <> b AS differ, a = a || qsketch_new() AS same, NULL = a AS null
FROM qsketch_add(qsketch_new(), 1) AS a, qsketch_add(qsketch_new(), 2) AS b;
SELECT qsketch_new() = qsketch_new('warp') AS structure, qsketch_new() = qsketch_new(seed => 1) AS seed,
	qsketch_add(qsketch_new(), 1) = qsketch_add(qsketch_new(), '1') AS family;

SELECT (a < b) <> (a > b) AS order, (a <= b) = (a < b) AS le, (a >= b) = (a > b) AS ge, a <= a AND a >= a AS same,
	_qsketch_cmp(a, b) = -_qsketch_cmp(b, a) AND _qsketch_cmp(a, a) = 0 AS cmp
FROM qsketch_add(qsketch_new(), 1) AS a, qsketch_add(qsketch_add(qsketch_new(), 1), 2) AS b;

-- every template three times, made in different ways, and one more that differs
CREATE TEMP TABLE built AS
SELECT t.id, s.n, pg_temp.sketch(format(s.query, t.expr)) AS sk
FROM template AS t, (VALUES (1, 'SELECT qsketch_agg(k, %s) FROM generate_series(1, 99) AS k'),
	(2, 'SELECT qsketch_agg(k, %s ORDER BY -k) FROM generate_series(1, 99) AS k'),
	(3, 'SELECT qsketch_add(qsketch_agg(k, %s), 99) FROM generate_series(1, 98) AS k'),
	(4, 'SELECT qsketch_agg(k, %s) FROM generate_series(1, 98) AS k')) AS s(n, query);
SELECT count(DISTINCT id) AS templates, count(*) AS sketches FROM built;
SET enable_sort = off;
SELECT count(*) AS distinct FROM (SELECT DISTINCT sk FROM built) AS d;
SELECT n, count(*) FROM (SELECT count(*) AS n FROM built GROUP BY sk) AS g GROUP BY n ORDER BY n;
SELECT count(*) AS union_ FROM (SELECT sk FROM built UNION SELECT sk FROM built) AS u;
SELECT count(*) AS intersect_ FROM (SELECT sk FROM built WHERE n < 3 INTERSECT SELECT sk FROM built WHERE n > 2) AS u;
SELECT count(*) AS except_ FROM (SELECT sk FROM built EXCEPT SELECT sk FROM built WHERE n = 4) AS u;
RESET enable_sort;
SET enable_hashagg = off;
SELECT count(*) AS distinct FROM (SELECT DISTINCT sk FROM built) AS d;
SELECT n, count(*) FROM (SELECT count(*) AS n FROM built GROUP BY sk) AS g GROUP BY n ORDER BY n;
SELECT count(*) AS rollup FROM (SELECT sk FROM built GROUP BY ROLLUP (sk)) AS r;
RESET enable_hashagg;
SELECT count(DISTINCT sk) AS distinct FROM built;
SELECT qsketch_total(qsketch_agg(DISTINCT k % 4, qsketch_new('warp', '4kB'))) AS distinct_keys,
	qsketch_total(qsketch_agg(DISTINCT k % 4, 2, qsketch_new('warp', '4kB'))) AS weighted
FROM generate_series(1, 100) AS k;
SELECT bool_and(sk >= before) AS in_order FROM (SELECT sk, lag(sk) OVER (ORDER BY sk) AS before FROM built) AS s;
SET enable_nestloop = off;
SET enable_hashjoin = off;
SELECT pg_temp.plan_has('SELECT FROM built AS a JOIN built AS b USING (sk)', 'Merge Join') AS merge_join;
SELECT count(*) AS pairs, bool_and(a.id = b.id AND (a.n = 4) = (b.n = 4)) AS right
FROM built AS a JOIN built AS b USING (sk);
RESET enable_hashjoin;
SET enable_mergejoin = off;
SELECT pg_temp.plan_has('SELECT FROM built AS a JOIN built AS b USING (sk)', 'Hash Join') AS hash_join;
SELECT count(*) AS pairs, bool_and(a.id = b.id AND (a.n = 4) = (b.n = 4)) AS right
FROM built AS a JOIN built AS b USING (sk);
RESET enable_nestloop;
RESET enable_mergejoin;
SELECT count(*) AS found FROM built WHERE sk IN (SELECT sk FROM built WHERE n = 4);
SELECT bool_and(sk = ANY (ARRAY[qsketch_new(), sk])) AS any, array_position(array_agg(sk), (SELECT sk FROM built
	LIMIT 1)) IS NOT NULL AS position FROM built;
SELECT count(DISTINCT _qsketch_hash(sk)) = count(DISTINCT sk::text) AS hashes FROM built;

-- a hash index, and a column that must be distinct
CREATE TABLE indexed (id int, sk qsketch);
CREATE INDEX ON indexed USING hash (sk);
INSERT INTO indexed SELECT id, sk FROM built WHERE n IN (1, 4);
SET enable_seqscan = off;
SELECT pg_temp.plan_has('SELECT FROM indexed WHERE sk = qsketch_new()', 'Index Scan|Bitmap') AS index_scan;
SELECT bool_and((SELECT count(*) FROM indexed AS i WHERE i.sk = b.sk) = 1) AS found
FROM built AS b WHERE n IN (2, 3);
RESET enable_seqscan;
DROP TABLE indexed;
