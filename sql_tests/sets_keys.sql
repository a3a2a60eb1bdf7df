--
-- Set operations on arrays of keys of any type that has a hash, and ids of sets of any
-- such type.
--
SELECT qsets_intersect(ARRAY['b', 'a', 'b', 'c'], ARRAY['c', 'b', 'x']) AS both, qsets_intersect('{}'::text[], ARRAY['a']) AS none,
	pg_typeof(qsets_intersect(ARRAY['a'::varchar], ARRAY['a'::text])) AS type, qsets_intersect(ARRAY['a', 'b'], '{b}') AS literal;
SELECT qsets_intersect_count(a, b) AS common, qsets_union_count(a, b) AS either, qsets_difference_count(a, b) AS only_a,
	qsets_jaccard(a, b) AS jaccard, qsets_overlap(a, b) AS overlap, qsets_contains_all(a, b) AS a_has_b
FROM (VALUES ('{a,b,c,d}'::text[], '{b,d,e,b}'::text[]), ('{a,a}', '{a}'), ('{}', '{}'), ('{a}', '{}'), ('{}', '{a}')) AS v (a, b);
SELECT qsets_jaccard(NULL, ARRAY['a']) IS NULL AS null_set, qsets_intersect(ARRAY['a'], NULL) IS NULL AS null_other;

-- what integers give, other types of the same values give
CREATE FUNCTION pg_temp.all_of(a anyarray, b anyarray) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', qsets_intersect_count(a, b), qsets_union_count(a, b), qsets_difference_count(a, b), qsets_jaccard(a, b), qsets_overlap(a, b),
		qsets_contains_all(a, b), cardinality(qsets_intersect(a, b)))
$$;
CREATE TABLE pairs AS SELECT i, array(SELECT (random() * most)::int FROM generate_series(1, n)) AS a, array(SELECT (random() * most)::int FROM generate_series(1, m)) AS b
FROM generate_series(1, 300) AS i, LATERAL (SELECT (random() * 20 + 0 * i)::int AS n, (random() * 40)::int AS m, (random() * 60)::int + 0 * i AS most) AS sizes;
INSERT INTO pairs SELECT 1000, array(SELECT i * 7 % 20011 FROM generate_series(1, 20000) AS i), array(SELECT i * 3 FROM generate_series(1, 9000) AS i);
CREATE DOMAIN word AS text;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
SELECT type, count(*) AS pairs, count(*) FILTER (WHERE wanted <> got) AS wrong FROM pairs, LATERAL (SELECT pg_temp.all_of(a, b) AS wanted) AS w, LATERAL (VALUES
	('text', pg_temp.all_of(a::text[], b::text[])), ('domain', pg_temp.all_of(a::text[]::word[], b::text[]::word[])),
	('uuid', pg_temp.all_of(array(SELECT md5(x::text)::uuid FROM unnest(a) AS x), array(SELECT md5(x::text)::uuid FROM unnest(b) AS x))),
	('numeric', pg_temp.all_of(array(SELECT x * 1.10 FROM unnest(a) AS x), array(SELECT x * 1.1 FROM unnest(b) AS x))),
	('float8', pg_temp.all_of(a::float8[], b::float8[])), ('oid', pg_temp.all_of(a::oid[], b::oid[])),
	('date', pg_temp.all_of(array(SELECT date '2026-01-01' + x FROM unnest(a) AS x), array(SELECT date '2026-01-01' + x FROM unnest(b) AS x))),
	('inet', pg_temp.all_of(array(SELECT inet '10.0.0.0' + x FROM unnest(a) AS x), array(SELECT inet '10.0.0.0' + x FROM unnest(b) AS x))),
	('row', pg_temp.all_of(array(SELECT ROW(x, 'y') FROM unnest(a) AS x), array(SELECT ROW(x, 'y') FROM unnest(b) AS x)))) AS t (type, got)
GROUP BY type ORDER BY type COLLATE "C";
SELECT count(*) FILTER (WHERE qsets_intersect(a::text[], b::text[]) IS DISTINCT FROM coalesce((SELECT array_agg(x::text ORDER BY place) FROM (
	SELECT x, min(place) AS place FROM unnest(a) WITH ORDINALITY AS u (x, place) WHERE x = ANY (b) GROUP BY x) AS k), '{}')) AS wrong FROM pairs WHERE i < 1000;

-- equal by the type's own equality
SELECT qsets_intersect(ARRAY[1.10, 2.0], ARRAY[1.1, 3]) AS numeric, qsets_intersect(ARRAY['-0'::float8, 'NaN'], ARRAY['0'::float8, 'NaN']) AS float8,
	qsets_intersect(ARRAY['ab '::char(4), 'c'], ARRAY['ab'::char(4)]) AS padded, qsets_intersect(ARRAY['sad', 'ok']::mood[], ARRAY['ok', 'happy']::mood[]) AS enum,
	qsets_intersect(ARRAY[true, false], ARRAY[true]) AS boolean, qsets_intersect('{"{\"b\":1, \"a\":2}"}'::jsonb[], '{"{\"a\":2, \"b\":1}"}') AS jsonb,
	qsets_jaccard(ARRAY[1::int2], ARRAY[1.0]) AS mixed;

-- refused, as for integers; and types without a hash
SELECT qsets_jaccard(ARRAY['a', NULL], ARRAY['a']);
SELECT qsets_jaccard(ARRAY['a'], ARRAY[['a', 'b']]);
SELECT qsets_jaccard(ARRAY[point '(1,2)'], ARRAY[point '(1,2)']);
\set VERBOSITY terse
SELECT qsets_jaccard(ARRAY['a'], ARRAY[1]);
\set VERBOSITY default
SELECT qsets_jaccard(ARRAY[ROW(1)], ARRAY[ROW('a'::text)]);

-- ids: numbers are themselves, others are hashes; equal keys have equal ones
SELECT qsets_id(7) AS int4, qsets_id(-7::int2) AS int2, qsets_id(9223372036854775807) AS int8, qsets_id(date '2000-01-11') AS date, qsets_id(true) AS boolean,
	qsets_id(timestamp '2000-01-01 00:00:01') AS timestamp, qsets_id(NULL::text) IS NULL AS nothing;
SELECT qsets_id('ann'::text) = qsets_id('ann'::varchar) AS texts, qsets_id(1.10) = qsets_id(1.1) AS numerics, qsets_id('ab '::char(4)) = qsets_id('ab'::char(3)) AS padded,
	qsets_id('{ann,bob}'::text[]) = qsets_id(ARRAY['ann', 'bob']) AS arrays, qsets_id(ROW(1, 'a')) = qsets_id(ROW(1, 'a')) AS rows, qsets_id(ROW(1, 'a')) = qsets_id(ROW(2, 'a')) AS others;
SELECT count(DISTINCT qsets_id(i::text)) AS texts, count(DISTINCT qsets_id(md5(i::text)::uuid)) AS uuids FROM generate_series(1, 100000) AS i;
SELECT qsets_id(point '(1,2)');

-- sets with ids of type uuid, joined back
CREATE TABLE visitor AS SELECT md5(i::text)::uuid AS id, 'visitor ' || i AS name FROM generate_series(1, 200) AS i;
CREATE INDEX ON visitor (qsets_id(id));
CREATE TABLE visit AS SELECT md5((1 + i % 200)::text)::uuid AS id, i * i % 83 AS page FROM generate_series(1, 3000) AS i;
CREATE TABLE sets AS SELECT qsets_agg(qsets_id(id), page) AS s FROM visit;
SELECT v.name, p.common FROM sets, qsets_similar(s, qsets_id((SELECT id FROM visitor WHERE name = 'visitor 17')), top => 3) AS p JOIN visitor AS v ON qsets_id(v.id) = p.id
ORDER BY p.jaccard DESC, v.name COLLATE "C";
SELECT count(*) AS pairs, bool_and(common = qsets_intersect_count(x.pages, y.pages)) AS right FROM sets, qsets_pairs(s, 3) AS p
	JOIN (SELECT id, array_agg(page) AS pages FROM visit GROUP BY id) AS x ON qsets_id(x.id) = p.a JOIN (SELECT id, array_agg(page) AS pages FROM visit GROUP BY id) AS y ON qsets_id(y.id) = p.b;
SELECT count(*) = (SELECT count(*) FROM sets, qsets_pairs(s, 3)) AS all FROM (SELECT id, array_agg(page) AS pages FROM visit GROUP BY id) AS x
	JOIN (SELECT id, array_agg(page) AS pages FROM visit GROUP BY id) AS y ON x.id < y.id AND qsets_intersect_count(x.pages, y.pages) >= 3;

-- ids that are no numbers: an error that says what makes them some
SELECT qsets_agg(id, page) FROM visit;
SELECT qsets_agg(name, 1) FROM visitor;
SELECT p.* FROM sets, qsets_similar(s, 'visitor 17'::text) AS p;
SELECT p.* FROM sets, qsets_similar(s, 'visitor 17', top => 3) AS p;
SELECT (SELECT count(*) FROM qsets_similar(s, '5', top => 3)) = (SELECT count(*) FROM qsets_similar(s, 5, top => 3)) AS number, (SELECT count(*) FROM qsets_similar(s, NULL)) AS none FROM sets;
SELECT p.* FROM sets, qsets_similar(s, '99999999999999999999') AS p;
SELECT p.* FROM sets, qsets_similar(s, (SELECT id FROM visitor WHERE name = 'visitor 17'), 2) AS p;
DROP TABLE pairs, visitor, visit, sets;
DROP DOMAIN word;
DROP TYPE mood;
