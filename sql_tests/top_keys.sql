--
-- The most frequent keys: qtop_agg and its kin, against exact counts
--
CREATE FUNCTION pg_temp.error_of(statement text) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN EXECUTE statement; RETURN 'no error';
EXCEPTION WHEN OTHERS THEN RETURN sqlstate || ' ' || sqlerrm; END $$;

-- exact while there are few keys
SELECT * FROM qtop_list((SELECT qtop_agg(k, 3) FROM unnest(ARRAY[7, 7, 7, 8, 8, 9, NULL, -1]) AS k), 3, NULL::int);
SELECT * FROM qtop_text((SELECT qtop_agg(k, 3) FROM unnest(ARRAY['b', 'a', 'b', NULL, 'c', 'b', 'a']) AS k), 3);
SELECT (qtop_info(qtop_agg(k, 3))).* FROM unnest(ARRAY['b', 'a', 'b', NULL, 'c']) AS k;
SELECT qtop_agg(k, 3) IS NULL AS without_keys FROM unnest(ARRAY[NULL::int, NULL]) AS k;
SELECT qtop_agg(1, 3) IS NULL AS without_rows WHERE false;
SELECT (qtop_info(qtop_new(10))).*, qtop_sketch(qtop_new(10)) = qsketch_new() AS sketch;
SELECT * FROM qtop_list(qtop_new(10), 10, NULL::uuid);
SELECT * FROM qtop_list(NULL, 10, NULL::uuid);
SELECT * FROM qtop_list(qtop_new(10), NULL, NULL::uuid);

-- Zipf: a million rows with exponents 0.8, 1 and 1.5, by inversion of the distribution of continuous ranks
CREATE TABLE zipf AS
SELECT s, i % 30 AS part, CASE WHEN s = 1 THEN floor(500000 ^ u)
	ELSE floor((1 + u * (500000 ^ (1 - s)::float8 - 1)) ^ (1 / (1 - s)::float8)) END::bigint * 7919 AS k
FROM unnest(ARRAY[0.8, 1, 1.5]) AS s, (SELECT i, (i * 0.61803398874989484820::numeric % 1)::float8 AS u FROM generate_series(1, 300000) AS i) AS r;
ANALYZE zipf;
CREATE TABLE exact AS SELECT s, k, count(*), rank() OVER (PARTITION BY s ORDER BY count(*) DESC) FROM zipf GROUP BY s, k;
CREATE INDEX ON exact (s, k);
CREATE TABLE top AS SELECT s, n, qtop_agg(k, n) AS t FROM zipf, unnest(ARRAY[10, 100]) AS n GROUP BY s, n;

-- recall: all keys listed are among those that occur as often as the n-th; and the bounds hold
CREATE FUNCTION pg_temp.quality(s numeric, n int, t qtop)
	RETURNS TABLE (recall numeric, bounds boolean, within_sketch boolean, sorted boolean) LANGUAGE sql AS $$
	SELECT (count(*) FILTER (WHERE e.rank <= n)::numeric / n)::numeric(4, 3), bool_and(e.count BETWEEN l.lower AND l.estimate),
		bool_and(l.estimate <= qsketch_estimate(qtop_sketch(t), l.key)),
		bool_and(l.estimate <= l.previous OR l.previous IS NULL)
	FROM (SELECT *, lag(estimate) OVER (ORDER BY ordinality) AS previous FROM qtop_list(t, n, NULL::bigint) WITH ORDINALITY) AS l
	JOIN exact AS e ON e.s = $1 AND e.k = l.key
$$;
SELECT s, n, q.* FROM top, pg_temp.quality(s, n, t) AS q ORDER BY s, n;
-- no other key occurred more often than the bound
SELECT s, n, (SELECT max(count) FROM exact AS e WHERE e.s = top.s AND e.rank > 4 * n + 100) <= (qtop_info(t)).bound AS bound,
	(qtop_info(t)).candidates
FROM top ORDER BY s, n;

-- merged from 30 parts, and in parallel plans
CREATE TABLE part WITH (parallel_workers = 3) AS SELECT s, n, part, qtop_agg(k, n) AS t FROM zipf, unnest(ARRAY[10, 100]) AS n GROUP BY s, n, part;
SELECT s, n, q.* FROM (SELECT s, n, qtop_merge_agg(t) AS t FROM part GROUP BY s, n) AS m, pg_temp.quality(s, n, t) AS q ORDER BY s, n;

-- lists of few keys keep all of them: merged ones find keys that are not among the first of any part
CREATE TABLE few AS SELECT part, 'common key ' || k AS k, 10 AS count FROM generate_series(1, 60) AS part, generate_series(1, 5) AS k
	UNION ALL SELECT part, 'key ' || k || ' of ' || part, 30 FROM generate_series(1, 60) AS part, generate_series(1, 20) AS k
	UNION ALL SELECT part, 'rare key ' || k || ' of ' || part, 1 FROM generate_series(1, 60) AS part, generate_series(1, 500) AS k;
CREATE TABLE few_tops AS SELECT part, qtop_agg(k, count, 5) AS t FROM few GROUP BY part;
SELECT (qtop_info(t)).*, (qsketch_info(qtop_sketch(t))).form FROM few_tops WHERE part = 1;
SELECT l.*, (qtop_info(m.t)).bound <= 30 AS bound FROM (SELECT qtop_merge_agg(t) AS t FROM few_tops) AS m, qtop_text(m.t) AS l ORDER BY key;
-- and store nothing twice: a header, an entry of the sketch for each key, its text and a byte
SELECT pg_column_size(qtop_agg(i, 10)) - 128 AS integers FROM generate_series(1, 2000) AS i;
SELECT pg_column_size(qtop_agg(lpad(i::text, 16, 'x'), 10)) - 128 AS texts FROM generate_series(1, 1300) AS i;
SELECT pg_column_size(qtop_agg(i, 5000000, 10)) - 128 AS large_weights FROM generate_series(1, 2000) AS i;
SELECT (SELECT qtop_agg(i, 10) FROM generate_series(1, 2000) AS i)::text::qtop = qtop_agg(i, 10) AS same FROM generate_series(2000, 1, -1) AS i;
SELECT bool_and(length(t::bytea) = 124 + keys.bytes) AS sizes
FROM few_tops JOIN (SELECT part, sum(12 + length(k) + 1) AS bytes FROM few GROUP BY part) AS keys USING (part);
DROP TABLE few, few_tops;

SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET qsketch.enable_columnscan = off;
EXPLAIN (COSTS OFF) SELECT qtop_agg(k, 10) FROM zipf;
CREATE TABLE parallel AS SELECT s, n, qtop_agg(k, n) AS t FROM zipf, unnest(ARRAY[10, 100]) AS n GROUP BY s, n;
SELECT s, n, q.* FROM parallel, pg_temp.quality(s, n, t) AS q ORDER BY s, n;
SELECT n, q.* FROM (SELECT 10 AS n, qtop_agg(k, 10) AS t FROM zipf WHERE s = 1) AS p, pg_temp.quality(1, n, t) AS q;
RESET qsketch.enable_columnscan;
EXPLAIN (COSTS OFF) SELECT qtop_merge_agg(t) FROM part;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- the sketch is that of qsketch_agg, whatever the way
SELECT s, bool_and(qtop_sketch(t) = sk) AS same
FROM (SELECT s, t FROM top UNION ALL SELECT s, t FROM parallel UNION ALL SELECT s, qtop_merge_agg(t) FROM part GROUP BY s, n) AS ways
JOIN (SELECT s, qsketch_agg(k) AS sk FROM zipf GROUP BY s) AS sketches USING (s) GROUP BY s ORDER BY s;
SELECT name, qtop_sketch(qtop_agg(k, 10, qsketch_new(name, '16kB', seed => 3))) = qsketch_agg(k, qsketch_new(name, '16kB', seed => 3)) AS same
FROM zipf, unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS name WHERE s = 1 AND part = 0 GROUP BY name ORDER BY name;

-- keys of text count as numbers do, with their values
SELECT count(*) FROM (SELECT (qtop_list(qtop_agg('user ' || k, 10), 10, NULL::text)).* FROM zipf WHERE s = 1) AS a
JOIN (SELECT (qtop_list(t, 10, NULL::bigint)).* FROM top WHERE s = 1 AND n = 10) AS b ON a.key = 'user ' || b.key AND a.lower = b.lower;

-- few keys: any order and any merge give the same bytes
SELECT count(DISTINCT t) FROM (
	SELECT qtop_agg(k::text, 5) AS t FROM generate_series(1, 1500) AS k
	UNION ALL SELECT qtop_agg(k::text, 5 ORDER BY k DESC) FROM generate_series(1, 1500) AS k
	UNION ALL SELECT qtop_merge_agg(t) FROM (SELECT qtop_agg(k::text, 5) AS t FROM generate_series(1, 1500) AS k GROUP BY k % 7) AS p
	UNION ALL SELECT a.t || b.t FROM (SELECT qtop_agg(k::text, 5) AS t FROM generate_series(1, 700) AS k) AS a,
		(SELECT qtop_agg(k::text, 5) AS t FROM generate_series(701, 1500) AS k) AS b) AS ways;

-- FILTER, DISTINCT, GROUP BY of many groups, window frames
SELECT qtop_text(qtop_agg(k, 2) FILTER (WHERE k > 1), 2) FROM unnest(ARRAY[1, 1, 1, 2, 2, 3]) AS k;
SELECT qtop_text(qtop_agg(DISTINCT k, 2), 2) FROM unnest(ARRAY[1, 1, 1]) AS k;
SET work_mem = '1MB';
SELECT count(*) AS groups, sum((qtop_info(t)).total) AS total,
	bool_and((SELECT string_agg(key || ':' || estimate || ':' || lower, ' ') FROM qtop_text(t, 2)) = format('%s:2:2 x:1:1', g)) AS exact
FROM (SELECT g, qtop_agg(CASE WHEN r < 2 THEN g::text ELSE 'x' END, 2) AS t FROM generate_series(1, 20000) AS g, generate_series(0, 2) AS r GROUP BY g) AS groups;
RESET work_mem;
SELECT i, (SELECT string_agg(key || ':' || estimate, ' ') FROM qtop_text(t, 2)) AS top
FROM (SELECT i, qtop_agg(i % 2, 2) OVER (ORDER BY i ROWS 2 PRECEDING) AS t FROM generate_series(1, 5) AS i) AS w ORDER BY i;

-- adding, in place or not; literals are read as the other keys
SELECT * FROM qtop_text(qtop_add(qtop_add(qtop_add(qtop_new(3), 'a'), 'b', 5), 'a'), 3);
SELECT (qtop_list(qtop_add(t, '10.0.0.1', 2), 3, NULL::inet)).*
FROM (SELECT qtop_agg(k, 3) AS t FROM unnest(ARRAY['10.0.0.1', '::1']::inet[]) AS k) AS s;
SELECT * FROM qtop_text(qtop_add(qtop_add(qtop_new(3), 'a', 0), NULL::text), 3);
SELECT qtop_add(NULL::qtop, 1) IS NULL AS "null";
DO $$ DECLARE t qtop := qtop_new(5); BEGIN
	FOR i IN 1 .. 5000 LOOP t := qtop_add(t, i % 7 * (i % 3)); END LOOP;
	RAISE NOTICE '%', (SELECT string_agg(key || ':' || estimate || ':' || lower, ' ') FROM qtop_list(t, 5, NULL::int));
END $$;

-- lists of different n or size are refused, also empty ones; folded as the error says, they merge
CREATE TEMP TABLE lists AS SELECT n, size, qtop_agg(k % 700, n, qsketch_new(size => size)) AS t
FROM unnest('{10,20}'::int[]) AS n, unnest('{64kB,16kB}'::text[]) AS size, generate_series(1, 3000) AS k GROUP BY n, size;
SELECT pg_temp.error_of(format('SELECT %s FROM lists AS a, lists AS b, LATERAL (VALUES (a.t), (b.t)) AS u(t)
		WHERE (a.n, a.size, b.n, b.size) = (%L, %L, %L, %L)', call, a.n, a.size, b.n, b.size)) AS error, count(*)
FROM lists AS a, lists AS b, unnest('{a.t || b.t,"qtop_merge(a.t, b.t)",qtop_merge_agg(u.t)}'::text[]) AS call GROUP BY 1 ORDER BY 1;
SELECT a.t || b.t FROM lists AS a, lists AS b WHERE (a.n, a.size, b.n, b.size) = (10, '64kB', 20, '64kB');
SELECT a.t || b.t FROM lists AS a, lists AS b WHERE (a.n, a.size, b.n, b.size) = (20, '64kB', 20, '16kB');
SELECT t || qtop_new(10, qsketch_new(size => '16kB')) FROM lists WHERE n = 20 AND size = '64kB';
SELECT qtop_new(5) || qtop_new(5, qsketch_new(size => '65kB'));
SELECT bool_and((qtop_info(folded)).n = 10 AND (qtop_info(folded)).total = 6000) AS fits, bool_and(folded = back) AS commutes,
	bool_and(qtop_sketch(folded) = qsketch_fold(qtop_sketch(a.t), '16kB') || qsketch_fold(qtop_sketch(b.t), '16kB')) AS same_sketch,
	sum(wrong) AS wrong
FROM lists AS a, lists AS b, LATERAL (SELECT qtop_fold(a.t, 10, '16kB') || qtop_fold(b.t, 10, '16kB') AS folded,
		qtop_fold(b.t, 10, '16kB') || qtop_fold(a.t, 10, '16kB') AS back) AS f,
	LATERAL (SELECT count(*) AS wrong FROM generate_series(0, 799) AS k, qtop_bounds(folded, k) AS q
		WHERE (SELECT 2 * count(*) FROM generate_series(1, 3000) AS i WHERE i % 700 = k) NOT BETWEEN lower AND upper) AS w;
SELECT bool_and(qtop_fold(t, n) = t AND qtop_fold(t, n, size) = t AND qtop_fold(t, n, NULL) = t) AS unchanged,
	bool_and(qtop_fold(t, NULL) IS NULL AND qtop_fold(NULL, n) IS NULL) AS "null",
	bool_and(qtop_total(qtop_fold(t, 1, '1kB')) = 3000 AND (qtop_info(qtop_fold(t, 1, '1kB'))).candidates = 101) AS least FROM lists;
-- few keys stay exact as long as the sketch is explicit
SELECT (qtop_info(folded)).* FROM (SELECT qtop_fold(qtop_agg(k, 50), 3) AS folded FROM generate_series(1, 400) AS k) AS s;
SELECT statement, pg_temp.error_of(statement) FROM unnest(ARRAY['SELECT qtop_fold(qtop_new(5), 6)', 'SELECT qtop_fold(qtop_new(5), 0)',
	'SELECT qtop_fold(qtop_new(5), 5, ''2MB'')', 'SELECT qtop_fold(qtop_new(5), 5, ''300kB'')', 'SELECT qtop_fold(qtop_new(5), 5, ''x'')']) AS statement;

-- errors
SELECT qtop_agg(5, k) FROM generate_series(1, 3) AS k;
SELECT qtop_agg(k) FROM generate_series(1, 3) AS k;
SELECT statement, pg_temp.error_of(statement) FROM unnest(ARRAY[
	'SELECT qtop_agg(k, 0) FROM generate_series(1, 3) AS k', 'SELECT qtop_agg(k, 100001) FROM generate_series(1, 3) AS k',
	'SELECT qtop_agg(k, NULL) FROM generate_series(1, 3) AS k', 'SELECT qtop_agg(k, k) FROM generate_series(1, 3) AS k',
	'SELECT qtop_agg(k, 3, NULL) FROM generate_series(1, 3) AS k',
	'SELECT qtop_agg(k, 3, qsketch_new(seed => k)) FROM generate_series(1, 3) AS k',
	'SELECT qtop_agg(k, 3, qsketch_sf_device(qsketch_new(''sf''))) FROM generate_series(1, 3) AS k',
	'SELECT qtop_agg(k, 3) FROM (VALUES (point(1, 2))) AS v(k)',
	'SELECT qtop_new(0)', 'SELECT qtop_new(5, qsketch_sf_device(qsketch_new(''sf'')))',
	'SELECT qtop_list(qtop_new(5), 6, NULL::int)', 'SELECT qtop_text(qtop_new(5), 0)', 'SELECT qtop_text(qtop_new(5), -1)',
	'SELECT qtop_list(qtop_add(qtop_new(5), 1), 5, NULL::text)', 'SELECT qtop_list(qtop_add(qtop_new(5), 1), 5, NULL)',
	'SELECT qtop_list(qtop_add(qtop_new(5), 70000), 5, NULL::smallint)', 'SELECT qtop_list(qtop_add(qtop_new(5), 3000000000), 5, NULL::int)',
	'SELECT qtop_list(qtop_add(qtop_new(5), 0.1::float8), 5, NULL::real)',
	'SELECT qtop_list(qtop_new(5), 5, NULL::point)',
	'SELECT qtop_add(qtop_add(qtop_new(5), 1), 1.5)', 'SELECT qtop_add(qtop_new(5), 1, -1)', 'SELECT qtop_add(qtop_add(qtop_new(5), 1), ''x'')',
	'SELECT qtop_add(qtop_new(5), 1) || qtop_add(qtop_new(5), 1.5)', 'SELECT qtop_new(5) || qtop_new(5, qsketch_new(''warp''))',
	'SELECT qtop_add(qtop_add(qtop_new(5), 1, 9223372036854775807), 1)',
	'SELECT qtop_add(qtop_new(5), 1, 9223372036854775807) || qtop_add(qtop_new(5), 2)',
	'SELECT _qtop_agg_trans(NULL, 1, 5)', 'SELECT _qtop_agg_final(qtop_new(5))', 'SELECT _qtop_merge_trans(qtop_new(5), qtop_new(5))']) AS statement;
CREATE FUNCTION keep(qtop, int, bigint) RETURNS qtop LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE AGGREGATE moving_top(int, bigint) (STYPE = qtop, SFUNC = _qtop_agg_trans,
	MSTYPE = qtop, MSFUNC = _qtop_agg_trans, MINVFUNC = keep);
SELECT moving_top(i, 3) OVER (ORDER BY i ROWS 2 PRECEDING) FROM generate_series(1, 5) AS i;
DROP AGGREGATE moving_top(int, bigint);
DROP FUNCTION keep;

-- text and binary, order and equality
SELECT t::text LIKE 'qtop:%' AS text, t::text::qtop = t AND t::bytea::qtop = t AS same,
	t < t AS less, t <= t AS not_greater FROM top ORDER BY s, n LIMIT 2;
SELECT count(DISTINCT t) FROM (SELECT t FROM top UNION ALL SELECT t FROM top) AS twice;
DROP TABLE zipf, exact, top, part, parallel CASCADE;
