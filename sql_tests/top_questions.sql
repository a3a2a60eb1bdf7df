--
-- What a list of top keys knows: qtop_estimate, qtop_bounds, qtop_total, qtop_distinct,
-- and its keys without a number
--
CREATE FUNCTION pg_temp.error_of(statement text) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN EXECUTE statement; RETURN 'no error';
EXCEPTION WHEN OTHERS THEN RETURN sqlstate || ' ' || sqlerrm; END $$;
CREATE TABLE rows AS SELECT floor(40000 ^ ((i * 0.61803398874989484820::numeric % 1)::float8))::int AS k, 1 + i % 90 AS w FROM generate_series(1, 80000) AS i;
CREATE TABLE sums AS SELECT k, count(*) AS n, sum(w) AS w FROM rows GROUP BY k;
CREATE TABLE lists AS SELECT 'small' AS name, qtop_agg(k, 10, qsketch_new(size => '16kB')) AS plain, qtop_agg(k, w, 10, qsketch_new(size => '16kB')) AS weighted FROM rows
UNION ALL SELECT 'exact', qtop_agg(k, 10), qtop_agg(k, w, 10) FROM rows WHERE k < 1000
UNION ALL SELECT 'empty', qtop_new(10), qtop_new(10);
CREATE INDEX ON sums (k);

-- bounds of every key hold, and are never wider than the sketch's; for frequent keys they are closer
SELECT name, bool_and(n BETWEEN (p).lower AND (p).upper) AS counts, bool_and(s.w BETWEEN (b).lower AND (b).upper) AS weights,
	bool_and((p).upper = qtop_estimate(plain, k) AND (p).upper <= qsketch_estimate(qtop_sketch(plain), k)) AS within_sketch,
	sum((p).upper) < sum(qsketch_estimate(qtop_sketch(plain), k)) AS closer,
	bool_and(qtop_has(plain, k) OR (p).lower = 0) AS others
FROM lists, LATERAL (SELECT k, n, sums.w, qtop_bounds(plain, k) AS p, qtop_bounds(weighted, k) AS b FROM sums WHERE name = 'small' OR k < 1000 OFFSET 0) AS s
WHERE name <> 'empty' GROUP BY name ORDER BY name;
SELECT bool_and((b).lower = n AND (b).upper = n) AS exact, bool_and(qtop_estimate(plain, k + 1000000) = 0) AS absent FROM lists, sums, qtop_bounds(plain, k) AS b WHERE name = 'exact' AND k < 1000;
SELECT qtop_estimate(plain, 5), (qtop_bounds(plain, 5)).*, qtop_total(plain), (qtop_distinct(plain)).* FROM lists WHERE name = 'empty';
-- of a value that is not stored, of one that changes, of keys as literals, of NULLs
SELECT qtop_estimate(qtop_agg(k, 5), 'b'), (qtop_bounds(qtop_agg(k, 5), 'a')).*, qtop_estimate(qtop_agg(k, w, 5), 'a') AS weight FROM (VALUES ('a', 5), ('b', 3), ('b', -1)) AS v(k, w);
SELECT qtop_estimate(qtop_add(t, k, 3), k) AS added, qtop_estimate(t, k) AS before FROM (SELECT qtop_agg(i % 3, 5) AS t FROM generate_series(1, 9) AS i) AS l, generate_series(2, 4) AS k;
SELECT qtop_estimate(t, '10.0.0.1'), qtop_estimate(t, '::1'::inet) FROM (SELECT qtop_agg('10.0.0.1'::inet, 3) AS t FROM generate_series(1, 3)) AS s;
SELECT qtop_estimate(plain, NULL::int) IS NULL, qtop_bounds(NULL, 5) IS NULL, qtop_total(NULL) IS NULL FROM lists LIMIT 1;
DO $$ DECLARE t qtop := qtop_new(3); sum bigint := 0; BEGIN
	FOR i IN 1 .. 100 LOOP t := qtop_add(t, i % 4); sum := sum + qtop_estimate(t, i % 4); END LOOP;
	RAISE NOTICE '% %', sum, qtop_total(t);
END $$;

SELECT name, qtop_total(plain) = qsketch_total(qtop_sketch(plain)) AS total, qtop_distinct(weighted) = qsketch_distinct(qtop_sketch(weighted)) AS same_distinct,
	abs((qtop_distinct(plain)).estimate - (SELECT count(*) FROM sums WHERE name <> 'empty' AND (name = 'small' OR k < 1000))) <= 4 * (qtop_distinct(plain)).standard_error AS distinct
FROM lists ORDER BY name;

-- all keys that the list was made for
SELECT name, (SELECT array_agg(l) FROM qtop_list(plain, NULL::int) AS l) IS NOT DISTINCT FROM (SELECT array_agg(l) FROM qtop_list(plain, 10, NULL::int) AS l) AS list,
	(SELECT array_agg(l) FROM qtop_text(plain) AS l) IS NOT DISTINCT FROM (SELECT array_agg(l) FROM qtop_text(plain, 10) AS l) AS text,
	(SELECT count(*) FROM qtop_list(plain, NULL::bigint)) AS keys FROM lists ORDER BY name;
SELECT key, estimate, lower FROM qtop_list((SELECT qtop_agg(k, 2) FROM unnest('{10.0.0.1,::1,::1}'::inet[]) AS k), NULL::inet);
SELECT count(*) FROM qtop_list(NULL, NULL::inet);
SELECT count(*) FROM qtop_text(NULL);
SELECT s, pg_temp.error_of(s) FROM unnest(ARRAY['SELECT qtop_list(plain, 10) FROM lists', 'SELECT qtop_list(plain, NULL) FROM lists', 'SELECT qtop_list(plain, NULL::text) FROM lists',
	'SELECT qtop_list(plain, 11, NULL::int) FROM lists', 'SELECT qtop_estimate(plain, 1.5) FROM lists', 'SELECT qtop_bounds(plain, ''x''::text) FROM lists',
	'SELECT qtop_estimate(plain, ''x'') FROM lists']) AS s;
DROP TABLE rows, sums, lists;
