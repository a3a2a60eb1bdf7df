--
-- Set operations on arrays: the shapes that arrays come in, and agreement with
-- SQL on random ones, for every width and instruction set.
--
SELECT set_intersect(ARRAY[5, 1, 3, 3], ARRAY[3, 9, 5]) AS both, set_intersect('{}'::int[], ARRAY[1]) AS none,
	pg_typeof(set_intersect(ARRAY[1::int2], ARRAY[1::int2])) AS small, set_intersect(ARRAY[1::bigint], ARRAY[1]) AS mixed;
SELECT set_intersect(ARRAY[-32768, 7, 32767]::int2[], ARRAY[32767, -32768]::int2[]) AS small,
	set_intersect(ARRAY[-9223372036854775808, 9223372036854775807, 0], ARRAY[9223372036854775807, -9223372036854775808]) AS big,
	set_intersect('[5:7]={1,2,3}'::int[], '{2,3}') AS bounds;
SELECT set_intersect_count(a, b) AS common, set_union_count(a, b) AS either, set_difference_count(a, b) AS only_a,
	set_jaccard(a, b) AS jaccard, set_overlap(a, b) AS overlap, set_contains_all(a, b) AS a_has_b
FROM (VALUES ('{1,2,3,4}'::int[], '{4,3}'::int[]), ('{4,4,4}', '{4}'), ('{}', '{}'), ('{}', '{1}'), ('{1}', '{}'), ('{2,1}', '{3}')) AS v(a, b);
SELECT set_intersect(NULL, ARRAY[1]) IS NULL AS null_set, set_jaccard(ARRAY[1], NULL) IS NULL AS null_jaccard;

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
			PERFORM set_intersect_count(bad::int[], '{1}'::int[]);
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
		WHERE set_intersect(a, b) <> e.common OR set_intersect(a::int8[], b::int8[]) <> e.common::int8[]
			OR set_intersect(a::int2[], b::int2[]) <> e.common::int2[]
			OR set_intersect(b, a) <> e.common OR set_intersect_count(a, b) <> cardinality(e.common)
			OR set_intersect_count(a::int8[], b) <> cardinality(e.common) OR set_union_count(a, b) <> e.either
			OR set_difference_count(a, b) <> e.only_a OR set_contains_all(a, b) <> e.a_has_b
			OR set_jaccard(a, b) <> CASE e.either WHEN 0 THEN 0 ELSE cardinality(e.common)::float8 / e.either END
			OR set_overlap(a, b) <> CASE smaller WHEN 0 THEN 0 ELSE cardinality(e.common)::float8 / smaller END);
END $$;
SELECT simd, wrong_arrays(simd) AS wrong FROM unnest(ARRAY['scalar', 'avx2', 'avx512', 'auto']) AS simd;

-- large ones, out of line and compressed; sorted and not
CREATE TABLE large_sets AS
SELECT array_agg(i * 2) AS even, array_agg(i * 3 ORDER BY i DESC) AS by_three, array_agg(i % 7) AS few FROM generate_series(1, 300000) AS i;
SELECT set_intersect_count(even, by_three) AS sixes, set_union_count(even, by_three) AS either,
	cardinality(set_intersect(by_three, even)) AS same, set_intersect(few, even) AS small, set_contains_all(even, '{600000,2}') AS ends
FROM large_sets;
DROP TABLE random_sets, expected, large_sets;
DROP FUNCTION wrong_arrays;
