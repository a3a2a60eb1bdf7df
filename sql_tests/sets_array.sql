--
-- Set operations on arrays: the shapes that arrays come in, and agreement with
-- SQL on random ones, for every width and instruction set.
--
SELECT qsets_intersect(ARRAY[5, 1, 3, 3], ARRAY[3, 9, 5]) AS both, qsets_intersect('{}'::int[], ARRAY[1]) AS none,
	pg_typeof(qsets_intersect(ARRAY[1::int2], ARRAY[1::int2])) AS small, qsets_intersect(ARRAY[1::bigint], ARRAY[1]) AS mixed;
SELECT qsets_intersect(ARRAY[-32768, 7, 32767]::int2[], ARRAY[32767, -32768]::int2[]) AS small,
	qsets_intersect(ARRAY[-9223372036854775808, 9223372036854775807, 0], ARRAY[9223372036854775807, -9223372036854775808]) AS big,
	qsets_intersect('[5:7]={1,2,3}'::int[], '{2,3}') AS bounds;
SELECT qsets_intersect_count(a, b) AS common, qsets_union_count(a, b) AS either, qsets_difference_count(a, b) AS only_a,
	qsets_jaccard(a, b) AS jaccard, qsets_overlap(a, b) AS overlap, qsets_contains_all(a, b) AS a_has_b
FROM (VALUES ('{1,2,3,4}'::int[], '{4,3}'::int[]), ('{4,4,4}', '{4}'), ('{}', '{}'), ('{}', '{1}'), ('{1}', '{}'), ('{2,1}', '{3}')) AS v(a, b);
SELECT qsets_intersect(NULL, ARRAY[1]) IS NULL AS null_set, qsets_jaccard(ARRAY[1], NULL) IS NULL AS null_jaccard;

-- no sets
\set SHOW_CONTEXT never
DO $$
DECLARE
	bad text;
	state text;
	message text;
BEGIN
	FOREACH bad IN ARRAY ARRAY['{1,NULL}', '{NULL}', '{{1,2},{3,4}}'] LOOP
		BEGIN
			PERFORM qsets_intersect_count(bad::int[], '{1}'::int[]);
			RAISE 'accepted';
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
			RAISE INFO '% % %', bad, state, message;
		END;
	END LOOP;
END $$;

-- against SQL, on random arrays with duplicates, of equal and of very different sizes
CREATE TABLE random_sets AS
SELECT n, ARRAY(SELECT (random() * spread - spread / 2)::int FROM generate_series(1, x), LATERAL (SELECT n) AS each) AS a,
	ARRAY(SELECT (random() * spread - spread / 2)::int FROM generate_series(1, y), LATERAL (SELECT n) AS each) AS b
FROM generate_series(1, 400) AS n,
	LATERAL (SELECT (random() * 200)::int AS x, (random() * CASE WHEN n % 4 = 0 THEN 5000 ELSE 200 END)::int AS y,
		(ARRAY[10, 300, 30000])[n % 3 + 1] AS spread) AS size;
UPDATE random_sets SET a = ARRAY(SELECT DISTINCT e FROM unnest(a) AS e ORDER BY e) WHERE n % 2 = 0;
CREATE TABLE expected AS
SELECT n, coalesce(ARRAY(SELECT unnest(a) INTERSECT SELECT unnest(b) ORDER BY 1), '{}') AS common,
	(SELECT count(*) FROM (SELECT unnest(a) UNION SELECT unnest(b)) AS u) AS either,
	(SELECT count(*) FROM (SELECT unnest(a) EXCEPT SELECT unnest(b)) AS d) AS only_a,
	least((SELECT count(DISTINCT e) FROM unnest(a) AS e), (SELECT count(DISTINCT e) FROM unnest(b) AS e)) AS smaller, a @> b AS a_has_b
FROM random_sets;
CREATE FUNCTION wrong_arrays(simd text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		PERFORM set_config('qsketch.simd', simd, true);
	EXCEPTION WHEN invalid_parameter_value THEN
		RETURN 0; -- not on this processor
	END;
	RETURN (SELECT count(*) FROM random_sets JOIN expected AS e USING (n)
		WHERE qsets_intersect(a, b) <> e.common OR qsets_intersect(a::int8[], b::int8[]) <> e.common::int8[]
			OR qsets_intersect(a::int2[], b::int2[]) <> e.common::int2[]
			OR qsets_intersect(b, a) <> e.common OR qsets_intersect_count(a, b) <> cardinality(e.common)
			OR qsets_intersect_count(a::int8[], b) <> cardinality(e.common) OR qsets_union_count(a, b) <> e.either
			OR qsets_difference_count(a, b) <> e.only_a OR qsets_contains_all(a, b) <> e.a_has_b
			OR qsets_jaccard(a, b) <> CASE e.either WHEN 0 THEN 0 ELSE cardinality(e.common)::float8 / e.either END
			OR qsets_overlap(a, b) <> CASE smaller WHEN 0 THEN 0 ELSE cardinality(e.common)::float8 / smaller END);
END $$;
SELECT simd, wrong_arrays(simd) AS wrong FROM unnest(ARRAY['scalar', 'neon', 'avx2', 'avx512', 'auto']) AS simd;

-- large ones, out of line and compressed; sorted and not
CREATE TABLE large_sets AS
SELECT array_agg(i * 2) AS even, array_agg(i * 3 ORDER BY i DESC) AS by_three, array_agg(i % 7) AS few FROM generate_series(1, 300000) AS i;
SELECT qsets_intersect_count(even, by_three) AS sixes, qsets_union_count(even, by_three) AS either,
	cardinality(qsets_intersect(by_three, even)) AS same, qsets_intersect(few, even) AS small, qsets_contains_all(even, '{600000,2}') AS ends
FROM large_sets;
DROP TABLE random_sets, expected, large_sets;
DROP FUNCTION wrong_arrays;

-- Large stored arrays are read in slices: of any number of them, of either width, ending
-- where a slice ends or beside it, with small ones and those in memory.
CREATE TABLE sliced (n int, step int, a int[], b bigint[]);
ALTER TABLE sliced ALTER a SET STORAGE EXTERNAL, ALTER b SET STORAGE EXTERNAL;
INSERT INTO sliced SELECT n, step, array_agg(i * step), array_agg(i * step - 5000000000)
FROM (VALUES (10, 7), (262140, 2), (300000, 3), (393215, 1), (393216, 2), (393217, 5), (3, 1000000)) AS s (n, step), generate_series(1, n) AS i
GROUP BY n, step;
SELECT count(*) AS pairs, bool_and(qsets_intersect_count(x.a, y.a) = common) AS ints, bool_and(qsets_intersect_count(x.b, y.b) = common) AS bigints,
	bool_and(qsets_union_count(x.a, y.a) = x.n + y.n - common AND qsets_difference_count(x.b, y.b) = x.n - common) AS counts,
	bool_and(qsets_contains_all(x.a, y.a) = (common = y.n) AND qsets_jaccard(x.b, y.b) = common::float8 / (x.n + y.n - common)
		AND qsets_overlap(x.a, y.a) = common::float8 / least(x.n, y.n)) AS ratios
FROM sliced AS x, sliced AS y,
	LATERAL (SELECT least(x.n * x.step, y.n * y.step) / (x.step / gcd(x.step, y.step) * y.step) AS common) AS z;
SELECT bool_and(qsets_intersect_count(x.a, y.a || '{}') = qsets_intersect_count(x.a || '{}', y.a || '{}')) AS in_memory FROM sliced AS x, sliced AS y;
-- What is no set yet is found out wherever it is: at the end of the first, in the second, where slices meet.
CREATE TABLE unsorted (what text, a int[]);
ALTER TABLE unsorted ALTER a SET STORAGE EXTERNAL;
INSERT INTO unsorted SELECT what, array_agg(i ORDER BY f) FROM generate_series(1, 300000) AS i,
	LATERAL (VALUES ('last', i), ('doubled', i), ('swapped', CASE i WHEN 65536 THEN 65537 WHEN 65537 THEN 65536 ELSE i END),
		('descending', -i)) AS v (what, f) GROUP BY what;
UPDATE unsorted SET a = a || 4 WHERE what = 'last';
UPDATE unsorted SET a = a[:131072] || a[131072:] WHERE what = 'doubled';
SELECT what, qsets_intersect_count(a, ARRAY[4, 65536, 65537, 131072, 300001]) AS with_small, qsets_union_count(a, s.large) AS with_large,
	qsets_difference_count(s.large, a) AS after_large FROM unsorted, (SELECT a AS large FROM sliced WHERE n = 393215) AS s ORDER BY what;
-- And what is none at all.
CREATE TABLE no_set (a int[]);
ALTER TABLE no_set ALTER a SET STORAGE EXTERNAL;
INSERT INTO no_set SELECT array_agg(nullif(i, 299999)) FROM generate_series(1, 300000) AS i;
SELECT qsets_intersect_count(a, a) FROM no_set;
UPDATE no_set SET a = (SELECT array_agg(ARRAY[i, i + 1]) FROM generate_series(1, 150000) AS i);
SELECT qsets_intersect_count('{1}', a) FROM no_set;
DROP TABLE sliced, unsorted, no_set;
