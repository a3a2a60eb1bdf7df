--
-- All pairs of sets are those of the SQL self-join: for every method and
-- instruction set, within a collection and between two, with every filter.
--
CREATE TABLE collected AS
SELECT n, s::bigint, e::bigint FROM (VALUES (1, 40, 60, 500), (2, 25, 8, 150), (3, 60, 2000, 900), (4, 1, 30, 20)) AS v(n, sets, universe, rows),
	LATERAL (SELECT (random() * sets)::int - sets / 2 AS s, (universe * random() ^ 2)::int - 5 AS e FROM generate_series(1, rows), LATERAL (SELECT n) AS each) AS r;
-- equal sets, a subset, a singleton, one element in all sets, the ends of 64 bits
INSERT INTO collected SELECT 1, s, e FROM generate_series(100, 104) AS s, generate_series(1, 20) AS e;
INSERT INTO collected SELECT 1, 105, e FROM generate_series(1, 10) AS e;
INSERT INTO collected VALUES (1, 106, 1), (5, -9223372036854775808, 9223372036854775807), (5, 9223372036854775807, 9223372036854775807), (5, 0, -9223372036854775808);
INSERT INTO collected SELECT DISTINCT n, s, 7 FROM collected WHERE n = 2;
CREATE TABLE collection AS
SELECT n, qsets_agg(s, e) AS number, qsets_agg(s, e::text) AS text, qsets_agg(s, md5(e::text)::uuid) AS uuid FROM collected GROUP BY n;
CREATE TABLE joined AS
WITH d AS (SELECT DISTINCT n, s, e FROM collected), size AS (SELECT n, s, count(*) FROM d GROUP BY n, s)
SELECT x.n, x.s AS a, y.s AS b, count(dx.e) AS common, x.count + y.count - count(dx.e) AS either
FROM size AS x JOIN size AS y ON x.n = y.n AND x.s < y.s
	LEFT JOIN (d AS dx JOIN d AS dy ON dx.n = dy.n AND dx.e = dy.e AND dx.s < dy.s) ON dx.n = x.n AND dx.s = x.s AND dy.s = y.s
GROUP BY x.n, x.s, y.s, x.count, y.count;
CREATE TABLE filter AS SELECT * FROM (VALUES (1, 0.0), (2, 0.0), (5, 0.0), (0, 0.0), (1, 0.5), (1, 0.1), (3, 0.3333333333333333), (1, 1.0), (20, 0.0), (1000, 0.0)) AS f(min_count, min_jaccard);

-- pairs that only one side has
CREATE FUNCTION wrong_pairs(simd text, how text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		PERFORM set_config('qsketch.simd', simd, true);
	EXCEPTION WHEN invalid_parameter_value THEN
		RETURN 0; -- not on this processor
	END;
	RETURN (SELECT count(*) FROM (
			SELECT n, min_count, min_jaccard, kind, p.* FROM collection, filter,
				LATERAL (VALUES ('number', number), ('text', text), ('uuid', uuid)) AS k(kind, sets),
				qsets_pairs(sets, min_count, min_jaccard, method => how) AS p) AS given
		FULL JOIN (
			SELECT n, f.min_count, f.min_jaccard, kind, a, b, common, common::float8 / either AS jaccard FROM joined, filter AS f, unnest('{number,text,uuid}'::text[]) AS kind
			WHERE common >= min_count AND common::numeric / either >= min_jaccard) AS wanted
		USING (n, min_count, min_jaccard, kind, a, b, common, jaccard)
		WHERE given IS NULL OR wanted IS NULL);
END $$;
SELECT count(*) > 1000 AS enough FROM joined WHERE common > 0;
SELECT how, wrong_pairs('scalar', how) AS scalar, wrong_pairs('neon', how) AS neon, wrong_pairs('avx2', how) AS avx2, wrong_pairs('avx512', how) AS avx512
FROM unnest('{auto,merge,search,merge_search,hash,merge_hash,bitmap,index,hybrid}'::text[]) AS how;

-- between two collections, the same one in another order of ids among them
SELECT how, count(*) AS wrong FROM unnest('{auto,merge,search,merge_search,hash,merge_hash,bitmap,index,hybrid}'::text[]) AS how,
	LATERAL (SELECT * FROM (SELECT p.* FROM collection AS x, collection AS y, qsets_pairs(x.number, y.number, 2, 0.05, method => how) AS p WHERE x.n = 1 AND y.n = 2) AS given
		FULL JOIN (WITH d AS (SELECT DISTINCT n, s, e FROM collected), size AS (SELECT n, s, count(*) FROM d GROUP BY n, s)
			SELECT x.s AS a, y.s AS b, count(*) AS common, count(*)::float8 / (sx.count + sy.count - count(*)) AS jaccard
			FROM d AS x JOIN d AS y USING (e) JOIN size AS sx ON sx.n = 1 AND sx.s = x.s JOIN size AS sy ON sy.n = 2 AND sy.s = y.s
			WHERE x.n = 1 AND y.n = 2 GROUP BY x.s, y.s, sx.count, sy.count
			HAVING count(*) >= 2 AND count(*) * 20 >= sx.count + sy.count - count(*)) AS wanted
		USING (a, b, common, jaccard) WHERE given IS NULL OR wanted IS NULL) AS differ
GROUP BY how;
SELECT how, count(wrong) AS wrong FROM unnest('{auto,index,merge}'::text[]) AS how
	LEFT JOIN LATERAL (SELECT 1 AS wrong FROM (SELECT p.* FROM collection, qsets_pairs(number, number, 1, method => how) AS p WHERE n = 2) AS given
	FULL JOIN (SELECT a, b, common FROM joined WHERE n = 2 AND common > 0 UNION ALL SELECT b, a, common FROM joined WHERE n = 2 AND common > 0
		UNION ALL SELECT s, s, count(DISTINCT e) FROM collected WHERE n = 2 GROUP BY s) AS wanted USING (a, b, common)
	WHERE given IS NULL OR wanted IS NULL) AS differ ON true GROUP BY how ORDER BY how;

-- the best of each set; ties by id
CREATE VIEW ranked AS
SELECT n, a, b, common, either, row_number() OVER (PARTITION BY n, a ORDER BY common::numeric / either DESC, b) AS rank
FROM (SELECT n, a, b, common, either FROM joined UNION ALL SELECT n, b, a, common, either FROM joined) AS both_ways WHERE common > 0;
CREATE FUNCTION wrong_top(how text, t int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT count(*) FROM (SELECT n, p.* FROM collection, qsets_pairs(number, 1, top => t, method => how) AS p) AS given
		FULL JOIN (SELECT DISTINCT n, least(a, b) AS a, greatest(a, b) AS b, common FROM ranked WHERE rank <= t) AS wanted USING (n, a, b, common)
		WHERE given IS NULL OR wanted IS NULL);
END $$;
SELECT how, wrong_top(how, 1) AS one, wrong_top(how, 3) AS three, wrong_top(how, 1000) AS all
FROM unnest('{auto,merge,search,merge_search,hash,merge_hash,bitmap,index,hybrid}'::text[]) AS how;
SELECT t, count(*) = (SELECT count(DISTINCT (n, least(a, b), greatest(a, b))) FROM ranked WHERE rank <= t) AS right
FROM unnest('{1,3,1000}'::int[]) AS t, collection, qsets_pairs(number, top => t) GROUP BY t ORDER BY t;
SELECT count(*) AS wrong FROM (SELECT n, s, p.id, p.common, p.rank FROM (SELECT DISTINCT n, s FROM collected) AS x JOIN collection USING (n),
		qsets_similar(number, s, top => 3) WITH ORDINALITY AS p(id, common, jaccard, overlap, lift, rank)) AS given
	FULL JOIN (SELECT n, a AS s, b AS id, common, rank FROM ranked WHERE rank <= 3) AS wanted USING (n, s, id, common, rank)
WHERE given IS NULL OR wanted IS NULL;

-- what qsets_similar keeps from row to row changes nothing: collections stored out of line, inline, expanded, by turns; other options
CREATE TABLE asked AS SELECT n, s FROM (SELECT DISTINCT n, s FROM collected WHERE n < 4 UNION ALL SELECT n, 999 FROM generate_series(1, 3) AS n) AS x ORDER BY md5(s::text || n);
CREATE TABLE outside (LIKE collection);
ALTER TABLE outside ALTER COLUMN number SET STORAGE EXTERNAL;
INSERT INTO outside SELECT n, qsets_agg(s * 7 - 3000, e + 100000 * more), NULL, NULL FROM collected, generate_series(0, 19) AS more WHERE n < 4 GROUP BY n;
INSERT INTO asked SELECT n, s * 7 - 3000 FROM asked;
SELECT bool_or(pg_column_size(number) > 3000) AS stored_outside FROM outside;
SELECT kind, count(*) > 50 AS enough, count(*) FILTER (WHERE kept.* IS DISTINCT FROM single.*) AS wrong
FROM (SELECT 'stored' AS kind, n, number AS q FROM outside UNION ALL SELECT 'inline', n, number FROM collection WHERE n < 4
		UNION ALL SELECT 'expanded', n, qsets_merge(number, number) FROM collection WHERE n < 4) AS c JOIN asked USING (n),
	LATERAL (SELECT array_agg(ROW(id, common, jaccard)) AS pairs FROM qsets_similar(q, s, 1, 0.01 * abs(s % 3), top => 4)) AS kept,
	LATERAL (SELECT array_agg(ROW(id, common, jaccard) ORDER BY jaccard DESC, id) AS pairs FROM (
		SELECT CASE WHEN a = s THEN b ELSE a END AS id, common, jaccard FROM qsets_pairs(q, 1, 0.01 * abs(s % 3)) WHERE a = s OR b = s ORDER BY jaccard DESC, 1 LIMIT 4) AS p) AS single
GROUP BY kind ORDER BY kind;
DROP TABLE asked, outside;

-- in order of a, then b, from FROM and from the select list
SELECT count(*) AS unordered FROM collection, LATERAL (SELECT array_agg((a, b)) AS given, array_agg((a, b) ORDER BY a, b) AS ordered
	FROM qsets_pairs(number, 1)) AS p WHERE given <> ordered;
SELECT count(*) AS differ FROM (SELECT n, (qsets_pairs(number, 2)).* FROM collection) AS x
	FULL JOIN (SELECT n, p.* FROM collection, qsets_pairs(number, 2) AS p) AS y USING (n, a, b, common, jaccard) WHERE x IS NULL OR y IS NULL;
SELECT (qsets_pairs(number, 20)).* FROM collection WHERE n = 1 LIMIT 2;
SELECT p.* FROM collection, qsets_pairs(number, 1) AS p WHERE n = 5;
SELECT qsets_intersect_count(number, 100, 105) AS ten, qsets_intersect_count(text, 100, 100) AS all, qsets_intersect_count(number, 100, 999) AS none FROM collection WHERE n = 1;

-- NULLs, nothing, and what is refused
SELECT count(*) AS none FROM qsets_pairs(NULL);
SELECT count(*) AS none FROM collection, qsets_similar(number, 999);
SELECT count(*) AS none FROM collection, qsets_similar(number, NULL::bigint);
SELECT count(*) > 0 AS defaults FROM collection, qsets_pairs(number, NULL::bigint, NULL, NULL, NULL);
-- without any limit two common elements are asked for; with another limit one
SELECT n, count(*) = (SELECT count(*) FROM qsets_pairs(number, 2)) AS two, (SELECT count(*) FROM qsets_pairs(number, min_jaccard => 0.000001)) = (SELECT count(*) FROM qsets_pairs(number, 1)) AS one,
	(SELECT count(*) FROM qsets_pairs(number, top => 1000000)) = (SELECT count(*) FROM qsets_pairs(number, 1)) AS with_top FROM collection, qsets_pairs(number) WHERE n < 3 GROUP BY n, number ORDER BY n;
SELECT count(*) AS none FROM collection, qsets_pairs(qsets_subset(number, '{}'));
SELECT * FROM qsets_pairs((SELECT number FROM collection WHERE n = 1), -1);
SELECT * FROM qsets_pairs((SELECT number FROM collection WHERE n = 1), min_jaccard => 1.5);
SELECT * FROM qsets_pairs((SELECT number FROM collection WHERE n = 1), min_jaccard => 'NaN');
SELECT * FROM qsets_pairs((SELECT number FROM collection WHERE n = 1), top => 0);
SELECT * FROM qsets_pairs((SELECT number FROM collection WHERE n = 1), method => 'magic');
SELECT * FROM collection, qsets_pairs(number, text) WHERE n = 1;

-- the plan
SELECT method_name, milliseconds IS NOT NULL AS estimated, memory > 0 AS memory FROM collection, qsets_pairs_plan(number) WHERE n = 1;
SELECT method_name FROM collection, qsets_pairs_plan(number, method => 'hash') WHERE n = 1 AND chosen;

-- limits of memory and time: with little work_mem the pairs are the same, by every method and of every form
CREATE TABLE large AS SELECT qsets_agg(i % 5000, (i * 7919::bigint) % 60013) AS sets FROM generate_series(1, 500000) AS i;
SET qsketch.device = cpu; -- its memory
SET work_mem = '64kB';
CREATE TABLE little AS SELECT n, (SELECT jsonb_agg(p ORDER BY a, b) FROM qsets_pairs(sets, 20, method => n) AS p) AS pairs FROM large, unnest('{auto,index,hybrid,merge}'::text[]) AS n;
INSERT INTO little SELECT 'two', jsonb_agg(p ORDER BY a, b) FROM qsets_pairs((SELECT sets FROM large), (SELECT sets FROM large), 20) AS p WHERE a < b;
INSERT INTO little SELECT 'one new', jsonb_agg(p ORDER BY b) FROM qsets_pairs((SELECT qsets_agg(-1, (i * 7919::bigint) % 60013) FROM generate_series(1, 500000, 5000) AS i), (SELECT sets FROM large), 20) AS p;
INSERT INTO little SELECT 'similar', jsonb_agg(p ORDER BY i, p.id) FROM generate_series(1, 3) AS i, large, qsets_similar(sets, i, 20) AS p;
RESET work_mem;
SELECT n, jsonb_array_length(pairs) > 0 AS some, pairs = CASE n
	WHEN 'one new' THEN (SELECT jsonb_agg(p ORDER BY b) FROM qsets_pairs((SELECT qsets_agg(-1, (i * 7919::bigint) % 60013) FROM generate_series(1, 500000, 5000) AS i), (SELECT sets FROM large), 20) AS p)
	WHEN 'similar' THEN (SELECT jsonb_agg(p ORDER BY i, p.id) FROM generate_series(1, 3) AS i, large, qsets_similar(sets, i, 20) AS p)
	ELSE (SELECT jsonb_agg(p ORDER BY a, b) FROM large, qsets_pairs(sets, 20) AS p) END AS same FROM little ORDER BY n COLLATE "C";
DROP TABLE little;
RESET qsketch.device;
-- to the end this would take an hour
SET LOCAL statement_timeout = 100\; DO $$
BEGIN
	PERFORM count(*) FROM large, generate_series(1, 1000) AS again, qsets_pairs(sets, 0 * again, method => 'merge');
EXCEPTION WHEN query_canceled THEN
	RAISE INFO 'canceled';
END $$;
DROP TABLE collected, collection, filter, large;
DROP VIEW ranked;
DROP TABLE joined;
DROP FUNCTION wrong_pairs, wrong_top;

-- "top" keeps pairs in memory, but not any number of them
SELECT count(*) FROM (SELECT qsets_agg(i, 1) AS s FROM generate_series(1, 6000) AS i) AS x, qsets_pairs(s, top => 2147483647);
