--
-- Collections of sets: made in any order and by any plan they are the same
-- bytes; kinds of elements; parts; merging; text, binary and hostile bytes.
--
SELECT qsets_ids(c) AS ids, qsets_count(c) AS count, qsets_elements(c, 2) AS two, qsets_cardinality(c, 1) AS one,
	qsets_elements(c, 9) AS none, qsets_cardinality(c, 9) AS zero
FROM (SELECT qsets_agg(s, e) AS c FROM (VALUES (1, 5), (2, -7), (1, 5), (2, 9), (NULL, 1), (3, NULL), (2, 0)) AS v(s, e)) AS x;
SELECT qsets_agg(1, NULL::int) IS NULL AS nothing, qsets_agg(s, e) IS NULL AS no_rows FROM (SELECT 1 AS s, 2 AS e WHERE false) AS x;
SELECT (qsets_info(qsets_agg(i % 3, i))).* FROM generate_series(1, 30) AS i;
-- integers, dates, timestamps and booleans are kept; all others as fingerprints
SELECT qsets_elements(qsets_agg(1, d), 1) AS days, qsets_elements(qsets_agg(1, d::timestamp), 1) AS microseconds,
	qsets_elements(qsets_agg(1, d > '2000-01-01'), 1) AS booleans, qsets_elements(qsets_agg(1, i::smallint), 1) AS small
FROM (VALUES (date '2000-01-01', -1), ('2000-01-03', 2)) AS v(d, i);
SELECT qsets_elements(qsets_agg(1, 'a'::text), 1);
SELECT qsets_elements(qsets_agg(1, 1.5::float8), 1);
SELECT qsets_elements(qsets_agg(1, time '12:00'), 1);
SELECT (i).exact, (i).key_family, (i).distinct_elements FROM (SELECT qsets_info(qsets_agg(1, t)) AS i FROM unnest('{a,b,a}'::text[]) AS t) AS x;
SELECT (i).key_family, (i).distinct_elements FROM (SELECT qsets_info(qsets_agg(1, n)) AS i FROM unnest('{1,1.0,2}'::numeric[]) AS n) AS x;
SELECT qsets_agg(1, '{"a": 1}'::jsonb) = qsets_agg(1, '{"a":1}'::jsonb) AS polymorphic;
SELECT qsets_agg(1, point(1, 1));
-- arrays of elements, of any shape, with NULLs
SELECT qsets_agg(s, a) = qsets_agg(s, e) AS same FROM (VALUES (1, '{1,2,NULL,2}'::int[]), (2, '{{3,4},{5,5}}'), (3, '{}'), (4, NULL)) AS v(s, a)
	LEFT JOIN LATERAL unnest(a) AS e ON true;
SELECT qsets_agg(1, '{a,b}'::text[]) = qsets_agg(1, '{b,a,b}'::text[]) AS same;
SELECT qsets_agg(1, '{a,b}'::varchar[]::text[]) = qsets_agg(1, '{a,b}'::text[]) AS same;
-- arrays of any type bring their elements, those of domains, too
CREATE TYPE fruit AS ENUM ('apple', 'fig', 'plum');
CREATE DOMAIN fruits AS fruit[];
CREATE DOMAIN kind AS fruit;
SELECT qsets_agg(s, a) = qsets_agg(s, e) AS enums, qsets_agg(s, a::fruits) = qsets_agg(s, e) AS domain, qsets_agg(s, a::kind[]) = qsets_agg(s, e) AS of_domain,
	qsets_agg(s, a::varchar[]) = qsets_agg(s, e::varchar) AS varchar, qsets_agg(s, a::bpchar[]) = qsets_agg(s, e::bpchar) AS bpchar,
	qsets_agg(s, a::name[]) = qsets_agg(s, e::name) AS name
FROM (VALUES (1, '{apple,fig,NULL,fig}'::fruit[]), (2, '{{plum,apple},{fig,fig}}'), (3, '{}'), (4, NULL)) AS v (s, a) LEFT JOIN LATERAL unnest(a) AS e ON true;
SELECT qsets_cardinality(qsets_agg(1, ARRAY[interval '1 h', '60 min', '2 h']), 1) AS intervals, qsets_cardinality(qsets_agg(1, '{1,2,2}'::oid[]), 1) AS oids,
	qsets_elements(qsets_agg(1, '{2020-01-02,2000-01-01}'::date[]), 1) AS dates, qsets_cardinality(qsets_agg(1, ARRAY[ROW(1, 'a'), ROW(1, 'b'), ROW(1, 'a')]), 1) AS rows;
SELECT qsets_cardinality(qsets_agg(i, a), 3) AS late FROM (VALUES (1, '{}'::record[]), (2, ARRAY[NULL::record]), (3, ARRAY[NULL, ROW(1, 'a'), ROW(2, 'b')])) AS v (i, a);
SELECT qsets_agg(1, a) FROM (VALUES (ARRAY[ROW(1, 'a')]), (ARRAY[ROW('a', 1)])) AS v (a);
SELECT qsets_agg(1, ARRAY['(1,2)'::point]);
CREATE TABLE arrays AS SELECT i AS s, ARRAY[i, i + 1] AS a FROM generate_series(1, 9) AS i;
EXPLAIN (COSTS OFF) SELECT qsets_agg(s, a) FROM arrays;
SELECT qsets_count(c), qsets_elements(c, 4) FROM (SELECT qsets_agg(s, a) AS c FROM arrays) AS x;
DROP TABLE arrays;
DROP DOMAIN fruits, kind;
DROP TYPE fruit;

-- any order, any grouping, any plan
CREATE TABLE member AS SELECT (i * 31) % 97 AS s, (i * 7919) % 1009 AS e FROM generate_series(1, 20000) AS i;
CREATE TABLE whole AS SELECT qsets_agg(s, e) AS c, qsets_agg(s, e::text) AS t FROM member;
SELECT c = (SELECT qsets_agg(s, e ORDER BY e DESC, s) FROM member) AS ordered, c = (SELECT qsets_agg(DISTINCT s, e) FROM member) AS unique,
	c = (SELECT qsets_merge_agg(part) FROM (SELECT qsets_agg(s, e) AS part FROM member GROUP BY e % 10) AS p) AS rolled_up,
	t = (SELECT qsets_merge_agg(part) FROM (SELECT qsets_agg(s, e::text) AS part FROM member GROUP BY s % 10) AS p) AS text,
	c = (SELECT qsets_agg(s, e::bigint) FROM member) AS width, c = (SELECT qsets_agg(s, a) FROM (SELECT s, array_agg(e) AS a FROM member GROUP BY s) AS x) AS arrays
FROM whole;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 1;
SET cpu_operator_cost = 0; -- or no parallel plan is worth it, since the leader takes in all rows again
SET min_parallel_table_scan_size = 0;
SET qsketch.enable_columnscan = off;
EXPLAIN (COSTS off) SELECT qsets_agg(s, e) FROM member;
SELECT c = (SELECT qsets_agg(s, e) FROM member) AS parallel, t = (SELECT qsets_agg(s, e::text) FROM member) AS text,
	c = (SELECT qsets_merge_agg(c) FROM whole) AS merged FROM whole;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET cpu_operator_cost;
RESET min_parallel_table_scan_size;
RESET qsketch.enable_columnscan;
SELECT count(*) AS sets, bool_and(qsets_elements(c, s) = (SELECT array_agg(DISTINCT e::bigint ORDER BY e::bigint) FROM member AS m WHERE m.s = x.s)) AS equal
FROM (SELECT DISTINCT s FROM member) AS x, whole;
SELECT i, qsets_elements(qsets_agg(1, i) OVER (ORDER BY i), 1) FROM generate_series(1, 4) AS i;

-- merging, parts
SELECT a || b = b || a AS commutes, a || a = a AS idempotent, qsets_elements(a || b, 1) AS one, qsets_ids(a || b) AS ids
FROM (SELECT qsets_agg(1, i) AS a FROM generate_series(1, 3) AS i) AS x, (SELECT qsets_agg(i % 2, i) AS b FROM generate_series(3, 6) AS i) AS y;
SELECT qsets_agg(1, 1) || qsets_agg(1, 'a'::text);
SELECT qsets_merge_agg(c) FROM (SELECT qsets_agg(1, 1) AS c UNION ALL SELECT qsets_agg(1, date '2020-01-01')) AS x;
SELECT qsets_ids(part) AS ids, part = (SELECT qsets_agg(s, e) FROM member WHERE s IN (5, 17, 96)) AS same
FROM whole, LATERAL qsets_subset(c, '{96,17,5,17,1000,NULL}') AS part;
SELECT qsets_count(qsets_subset(c, '{}')) AS none, qsets_subset(c, '{}') || c = c AS neutral, qsets_agg(1, 'a'::text) || qsets_subset(c, '{}') = qsets_agg(1, 'a'::text) AS of_no_kind
FROM whole GROUP BY c;

-- text, bytea, comparison
SELECT c::text::qsets = c AS text, c::bytea::qsets = c AS bytea, t::text::qsets = t AS wide, c < t OR c > t AS unequal FROM whole;
SELECT count(DISTINCT c) AS distinct FROM (SELECT c FROM whole UNION ALL SELECT c FROM whole UNION ALL SELECT qsets_subset(c, '{1}') FROM whole) AS x;
SELECT 'nonsense'::qsets;
SELECT 'qsets:####'::qsets;
SELECT ''::bytea::qsets;
SELECT '\x515353'::bytea::qsets;
-- every byte damaged in turn is refused, as is every length
CREATE FUNCTION accepted(b bytea) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM b::qsets;
	RETURN true;
EXCEPTION WHEN invalid_binary_representation THEN
	RETURN false;
END $$;
SELECT count(*) > 100 AS bytes, count(*) FILTER (WHERE accepted(set_byte(b, i, get_byte(b, i) # (1 << i % 8)))) AS damaged,
	count(*) FILTER (WHERE accepted(substr(b, 1, i))) AS short, accepted(b || '\x00') AS long, accepted(b) AS whole
FROM (SELECT qsets_agg(i % 5, i * i)::bytea AS b FROM generate_series(1, 60) AS i) AS x, generate_series(0, length(b) - 1) AS i GROUP BY b;

-- only aggregates call their functions
SELECT _qsets_agg_trans(NULL, 1, 1);
SELECT _qsets_merge_trans(c, c) FROM whole;
SELECT _qsets_agg_final(c) FROM whole;
DROP TABLE member, whole;
DROP FUNCTION accepted;

-- a moving aggregate gets no state of ours
CREATE FUNCTION sets_leave(a qsets, s bigint, e bigint) RETURNS qsets LANGUAGE plpgsql AS $$ BEGIN RETURN a; END $$;
SELECT qsets_subset(qsets_agg(1, 1::bigint), '{}')::text AS empty FROM generate_series(1, 1) \gset
CREATE AGGREGATE sets_moving(bigint, bigint) (SFUNC = _qsets_agg_trans, STYPE = qsets, MSFUNC = _qsets_agg_trans,
	MINVFUNC = sets_leave, MSTYPE = qsets, MINITCOND = :'empty');
SELECT qsets_count(sets_moving(k, k) OVER (ORDER BY k ROWS BETWEEN 3 PRECEDING AND CURRENT ROW))
FROM generate_series(1, 100::bigint) AS k;
DROP AGGREGATE sets_moving(bigint, bigint);
DROP FUNCTION sets_leave;
