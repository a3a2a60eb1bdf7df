--
-- Keys of several columns, and other keys that contain keys.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
CREATE TYPE view AS (user_id int, page text);
CREATE TYPE wide_view AS (user_id bigint, page varchar(20));
CREATE TABLE views AS SELECT i % 40 AS user_id, 'p' || i % 7 AS page, NULLIF(i % 3, 0) AS n FROM generate_series(1, 2000) AS i;

-- every row of columns counts, in explicit and in dense form
CREATE TABLE sketches AS
	SELECT size, qsketch_agg(ROW(user_id, page), qsketch_new(size => size)) AS pairs,
		qsketch_agg(ROW(user_id, page, n), qsketch_new(size => size)) AS triples,
		qsketch_agg(ROW(user_id, page)::view, qsketch_new(size => size)) AS named
	FROM views, unnest('{1kB,1MB}'::text[]) AS size GROUP BY size;
SELECT size, (qsketch_info(pairs)).form, (qsketch_info(pairs)).key_family, pairs = named AS same FROM sketches ORDER BY size COLLATE "C";
SELECT size, bool_and(e >= count) AS never_below, bool_and(e = count) AS exact, bool_and(bounds.upper = e) AS bounds
FROM sketches, (SELECT user_id, page, count(*) FROM views GROUP BY 1, 2) AS v,
	qsketch_estimate(pairs, ROW(user_id, page)) AS e, qsketch_bounds(pairs, ROW(user_id, page)) AS bounds
GROUP BY size ORDER BY size COLLATE "C";
SELECT bool_and(qsketch_estimate(triples, ROW(user_id, page, n)) = count) AS exact
FROM sketches, (SELECT user_id, page, n, count(*) FROM views GROUP BY 1, 2, 3) AS v WHERE size = '1MB';

-- literals, NULLs, integers of other widths, named rows of the same content
SELECT qsketch_estimate(pairs, ROW(1, 'p1')) AS literal, qsketch_estimate(pairs, ROW(1::bigint, 'p1'::varchar)) AS other_types,
	qsketch_estimate(pairs, ROW(1, 'p1')::view) AS named, qsketch_estimate(named, ROW(1, 'p1')::wide_view) AS wide,
	qsketch_estimate(pairs, ROW(1, 'none')) AS absent, qsketch_estimate(pairs, ROW(1, NULL::text)) AS null_column,
	qsketch_estimate(triples, ROW(1, 'p1', NULL::int)) AS null_found, qsketch_estimate(pairs, NULL::view) AS null_row
FROM sketches WHERE size = '1MB';
SELECT qsketch_estimate(qsketch_remove(qsketch_add(pairs, ROW(99, 'x'), 5), ROW(99, 'x'), 2), ROW(99, 'x')) AS added,
	round(qsketch_estimate_unbiased(pairs, ROW(1, 'p1'))) AS unbiased FROM sketches WHERE size = '1MB';
SELECT qsketch_agg(ROW(user_id, page)) IS NULL AS empty FROM views WHERE false;
SELECT user_id, page, qsketch_estimate(qsketch_agg(ROW(user_id, page)) OVER (ORDER BY user_id, page ROWS 60 PRECEDING), ROW(0, 'p1')) FROM views
ORDER BY user_id, page OFFSET 48 LIMIT 1;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT qsketch_agg(ROW(user_id, page)) = (SELECT pairs FROM sketches WHERE size = '1MB') AS parallel FROM views;
SET max_parallel_workers_per_gather = 0;

-- filters, too
SELECT bool_and(qfilter_contains(f, ROW(user_id, page))) AS all_found, bool_or(qfilter_contains(f, ROW(user_id, 'none'))) AS others
FROM (SELECT qfilter_agg(ROW(user_id, page), qfilter_new_bloom(1000, 1e-9)) AS f FROM views) AS f, views;

-- arrays of rows
SELECT qsketch_estimate(pairs, ARRAY[ROW(1, 'p1'), NULL, ROW(1::bigint, 'none'::text)]) AS estimates, qsketch_estimate(pairs, ARRAY[NULL::record]) AS null_row,
	qsketch_estimate(pairs, ARRAY[]::record[]) AS none FROM sketches WHERE size = '1MB';
SELECT l.* FROM sketches, qsketch_lookup(pairs, ARRAY[ROW(1, 'p1')]) AS l WHERE size = '1MB';
SELECT qfilter_contains(qfilter_agg(ROW(user_id, page), qfilter_new_bloom(1000, 1e-9)), ARRAY[ROW(1, 'p1'), ROW(1, 'none'), NULL]) AS contains FROM views;
SELECT qsketch_estimate(pairs, ARRAY[ROW(1, 2)]) FROM sketches;
SELECT qsketch_estimate(pairs, ARRAY[ROW(1, 'p1'), ROW(1)]) FROM sketches;
SELECT qfilter_contains(qfilter_agg(ROW(user_id, page), qfilter_new_bloom(1000)), ARRAY[ROW('1', 'p1')]) FROM views;

-- lists of top keys, whose rows come back as a composite type with such columns
CREATE TABLE tops AS SELECT qtop_agg(ROW(user_id, page), 3) AS t FROM (SELECT * FROM views UNION ALL SELECT * FROM views WHERE user_id = 4 AND page = 'p4') AS v;
SELECT key FROM tops, qtop_text(t, 1);
SELECT key, (key).page, estimate, lower FROM tops, qtop_list(t, 1, NULL::wide_view);
SELECT qtop_has(t, ROW(4, 'p4')) AS literal, qtop_has(t, ROW(4::bigint, 'p4'::text)) AS typed, qtop_has(t, ROW(4, 'p9')) AS absent,
	qsketch_estimate(qtop_sketch(t), ROW(4, 'p4')) AS estimate FROM tops;
SELECT key, estimate FROM tops, qtop_text(qtop_add(qtop_merge(t, t), ROW(8, 'x'), 500), 1);
SET max_parallel_workers_per_gather = 2;
SELECT qtop_sketch(qtop_agg(ROW(user_id, page), 3)) = (SELECT pairs FROM sketches WHERE size = '1MB') AS parallel FROM views;
SET max_parallel_workers_per_gather = 0;
SELECT qtop_list(t, 1, NULL::record) FROM tops;
SELECT qtop_list(t, 1, NULL::text) FROM tops;
SELECT qtop_has(t, 4) FROM tops;
SELECT qtop_has(t, ROW('4', 'p4')) FROM tops;
SELECT qtop_agg(k, 3) FROM (VALUES (ROW(1, 'a')), (ROW('a', 1))) AS v(k);

-- one column, none, a row in a row
SELECT qsketch_estimate(qsketch_agg(ROW(user_id)), ROW(3)) AS one FROM views;
SELECT qsketch_estimate(qsketch_agg(ROW()), ROW()) AS none FROM views;
SELECT qsketch_estimate(qsketch_agg(ROW(1, ROW(user_id, page)::view)), ROW(1, ROW(3, 'p3')::view)) AS nested FROM views;

-- what cannot be
SELECT statement, pg_temp.error_of('SELECT ' || statement || ' FROM sketches WHERE size = ''1MB''') AS error
FROM unnest(ARRAY['qsketch_estimate(pairs, ROW(1))', 'qsketch_estimate(pairs, ROW(1, 2))', 'qsketch_estimate(pairs, 1)',
	'qsketch_estimate(pairs, ''(1,p1)'')', 'qsketch_add(pairs, ROW(''a'', 1))', 'qsketch_estimate(named, ROW(1, ''a'', 2))',
	'pairs || triples', 'qsketch_inner_product(pairs, triples)', 'qsketch_agg(ROW(1, point(1, 2)))', 'qsketch_agg(ROW(1, ROW(2)))',
	'qfilter_contains(qfilter_agg(ROW(1, 2), qfilter_new_bloom(9)), ROW(1, ''a''))']) WITH ORDINALITY AS s(statement, n)
ORDER BY n;
SELECT pg_temp.error_of('SELECT qsketch_agg(k) FROM (SELECT CASE WHEN i = 1 THEN ROW(i) ELSE ROW(i::text) END AS k FROM generate_series(1, 2) AS i) AS s') AS mixed;

-- anonymous rows in lists of top keys
SELECT * FROM qtop_text((SELECT qtop_agg(ROW(user_id % 3, page), 2) FROM views WHERE user_id < 8), 2) ORDER BY key;
CREATE TABLE lists AS SELECT qtop_agg(ROW(user_id, page), 3) AS t FROM views WHERE user_id = 1 AND page < 'p3';
SELECT t = qtop_agg(ROW(v.user_id, v.page)::view, 3) AS same FROM lists, views AS v WHERE v.user_id = 1 AND v.page < 'p3' GROUP BY t;
SELECT (key).page, estimate FROM lists, qtop_list(t, 3, NULL::view) ORDER BY page;
SELECT qtop_has(t, ROW(1, 'p1')) AS literal, qtop_has(t, ROW(1, 'p1')::view) AS named, qtop_has(t, ROW(1, 'p5')) AS absent,
	qtop_add(t, ROW(1, 'p1'), 5) = qtop_add(t, ROW(1, 'p1')::view, 5) AS added FROM lists;
SELECT pg_temp.error_of('SELECT ' || call || ' FROM lists') AS error FROM unnest('{"qtop_add(t, ROW(1, 2))","qtop_has(t, ROW(1))"}'::text[]) AS call;
DROP TABLE lists;

-- arrays and ranges of other types are other keys, those of the same family are not
CREATE TABLE contain AS SELECT qsketch_agg(ARRAY[1, 2]) AS ints, qsketch_agg(ARRAY['1', '2']) AS texts, qsketch_agg(int4range(1, 3)) AS ranges,
	qsketch_agg('{[1,3)}'::int4multirange) AS multiranges;
SELECT qsketch_estimate_key(ints, ARRAY[1, 2]) AS same, qsketch_estimate_key(ints, ARRAY[1, 2]::bigint[]) AS bigint,
	qsketch_estimate_key(texts, ARRAY['1', '2']::varchar[]) AS varchar, qsketch_estimate(ranges, int4range(1, 3)) AS range,
	qsketch_estimate(multiranges, '{[1,3)}'::int4multirange) AS multirange FROM contain;
SELECT statement, pg_temp.error_of('SELECT ' || statement || ' FROM contain') AS error
FROM unnest(ARRAY['qsketch_estimate_key(ints, ARRAY[''1''])', 'qsketch_estimate_key(texts, ARRAY[1])', 'qsketch_estimate_key(ints, ARRAY[1.0])',
	'ints || texts', 'qsketch_estimate(ranges, numrange(1, 3))', 'qsketch_estimate(multiranges, ''{[1,3)}''::nummultirange)',
	'qsketch_estimate(ranges, 1)']) WITH ORDINALITY AS s(statement, n)
ORDER BY n;

-- weights of one key that sum to less than zero
SELECT qsketch_agg(user_id, -1::bigint) FROM views;
DROP TABLE views, sketches, contain, tops;
DROP TYPE view, wide_view;
