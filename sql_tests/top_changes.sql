--
-- Corrections of lists of top keys, and what grew from one to another: qtop_subtract, qtop_remove,
-- qtop_growth, against exact counts
--
CREATE FUNCTION pg_temp.error_of(statement text) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN EXECUTE statement; RETURN 'no error';
EXCEPTION WHEN OTHERS THEN RETURN sqlstate || ' ' || sqlerrm; END $$;
CREATE FUNCTION pg_temp.list(counts jsonb, n int DEFAULT 3) RETURNS qtop LANGUAGE sql AS
$$ SELECT qtop_agg(key, value::bigint, n) FROM jsonb_each_text(counts) $$;

-- exact while there are few keys
SELECT * FROM qtop_text(pg_temp.list('{"a": 5, "b": 9, "c": 2}') - pg_temp.list('{"b": 8, "c": 2}'));
SELECT pg_temp.list('{"a": 5, "b": 9, "c": 2}') - pg_temp.list('{"b": 8, "c": 2}') = pg_temp.list('{"a": 5, "b": 1}') AS same;
SELECT * FROM qtop_text(qtop_remove(qtop_remove(pg_temp.list('{"a": 5, "b": 9, "c": 2}'), 'b', 8), 'c', 2));
SELECT * FROM qtop_text(qtop_remove(pg_temp.list('{"a": 5, "b": 9}'), 'a'));
SELECT * FROM qtop_list(qtop_remove((SELECT qtop_agg(k, 3) FROM unnest(ARRAY[1, 1, -2]) AS k), -2), NULL::int);
SELECT pg_temp.list('{"a": 5}') - pg_temp.list('{"a": 5}') = pg_temp.list('{"a": 0}') AS nothing, pg_temp.list('{"a": 5}') - qtop_new(3) = pg_temp.list('{"a": 5}') AS all,
	qtop_remove(pg_temp.list('{"a": 5}'), 'a', 0) = pg_temp.list('{"a": 5}') AS zero, qtop_subtract(NULL, qtop_new(3)) IS NULL AS nulls,
	qtop_remove(NULL::qtop, 'a') IS NULL AS no_list, qtop_remove(pg_temp.list('{"a": 5}'), NULL::text) = pg_temp.list('{"a": 5}') AS no_key,
	qtop_remove(pg_temp.list('{"a": 5}'), 'a', NULL) = pg_temp.list('{"a": 5}') AS no_weight;
SELECT t - t = u - u AS itself FROM (SELECT pg_temp.list('{"a": 5}') AS t, pg_temp.list('{"a": 6}') AS u OFFSET 0) AS l;

-- what was not there, and lists that do not fit
SELECT pg_temp.error_of(format('SELECT pg_temp.list(''{"a": 5, "b": 9}'') - %s', l)) FROM unnest(ARRAY['pg_temp.list(''{"a": 6}'')', 'pg_temp.list(''{"d": 1}'')',
	'pg_temp.list(''{"a": 5}'', 4)', '(SELECT qtop_agg(''a''::text, 3, qsketch_new(size => ''64kB'')))', '(SELECT qtop_agg(''a''::text, 3, qsketch_new(''warp'')))',
	'(SELECT qtop_agg(1, 3))']) AS l;
SELECT pg_temp.error_of(format('SELECT qtop_remove(pg_temp.list(''{"a": 5, "b": 9}''), %s)', l)) FROM unnest(ARRAY['''a'', 6', '''d''', '1', '''a'', -1', '''a'', 9223372036854775807']) AS l;
SELECT pg_temp.error_of('SELECT qsketch_agg(1) - qsketch_agg(2)') = pg_temp.error_of('SELECT qtop_agg(1, 3) - qtop_agg(2, 3)') AS as_sketches;

-- two days of 300,000 rows, of which a tenth have seven keys that no other day has
CREATE TABLE days AS SELECT day, CASE WHEN i % 10 = 0 THEN 1000000 + day * 10 + i / 10 % 7 ELSE floor(50000 ^ ((i * 0.61803398874989484820::numeric + day * 0.3) % 1)::float8)::bigint END * 7919 AS k
FROM generate_series(1, 2) AS day, generate_series(1, 300000) AS i;
CREATE TABLE lists AS SELECT size, n, day, qtop_agg(k, n, qsketch_new(size => size)) AS t FROM days, unnest('{1MB,64kB,16kB}'::text[]) AS size, unnest('{10,300}'::int[]) AS n GROUP BY size, n, day;
CREATE FUNCTION pg_temp.keeps(t qtop, d int) RETURNS TABLE (bounds boolean, others boolean, total boolean, stored boolean) LANGUAGE sql AS $$
	WITH counts AS (SELECT k, count(*) FILTER (WHERE day = d) AS count FROM days GROUP BY k)
	SELECT bool_and(count BETWEEN b.lower AND b.upper), bool_and(count <= (qtop_info(t)).bound OR qtop_has(t, k)), sum(count) = qtop_total(t), t::text::qtop = t
	FROM counts, qtop_bounds(t, k) AS b $$;
SELECT size, n, k.*, (qtop_info(m.t)).bound <= (qtop_info(whole.t)).bound AS bound
FROM lists AS l JOIN (SELECT size, n, qtop_merge_agg(t) AS t FROM lists GROUP BY size, n) AS whole USING (size, n),
	LATERAL (SELECT whole.t - l.t AS t OFFSET 0) AS m, pg_temp.keeps(m.t, 2) AS k WHERE l.day = 1 ORDER BY size, n;
SELECT bool_and(qtop_sketch(whole.t - l.t) = qtop_sketch(whole.t) - qtop_sketch(l.t)) AS sketches
FROM lists AS l JOIN (SELECT size, n, qtop_merge_agg(t) AS t FROM lists GROUP BY size, n) AS whole USING (size, n);
-- a candidate of the minuend is one as long as it may be there
SELECT size, n, bool_and(qtop_has(whole.t - l.t, b.key) OR qtop_estimate(whole.t - l.t, b.key) = 0) AS stay
FROM lists AS l JOIN (SELECT size, n, qtop_merge_agg(t) AS t FROM lists GROUP BY size, n) AS whole USING (size, n), qtop_list(whole.t, NULL::bigint) AS b
WHERE l.day = 1 AND n = 10 GROUP BY size, n ORDER BY size;
-- a bot's rows out of stored lists
CREATE TABLE cleaned AS SELECT size, n, day, t - (SELECT qtop_agg(k, n, qsketch_new(size => size)) FROM days WHERE days.day = lists.day AND k > 7919000000) AS t FROM lists;
SELECT size, n, day, bool_or(key > 7919000000 AND estimate > 0) AS bots, (qtop_info(t)).total FROM cleaned, qtop_list(t, NULL::bigint) GROUP BY size, n, day, t ORDER BY size, n, day;
SELECT size, n, day, e.count - upper AS estimate, e.count - lower AS lower FROM lists, LATERAL (SELECT k, count(*) FROM days WHERE days.day = lists.day GROUP BY k ORDER BY count(*) DESC LIMIT 1) AS e,
	qtop_bounds(qtop_remove(t, k, 5), k) WHERE size = '1MB' ORDER BY n, day;

-- an error leaves a variable as it was
DO $$ DECLARE t qtop := pg_temp.list('{"a": 5, "b": 9}'); before text := t::text; BEGIN
	t := qtop_add(qtop_remove(t, 'a', 2), 'a', 2);
	BEGIN t := qtop_remove(t, 'a', 6); EXCEPTION WHEN data_exception THEN RAISE NOTICE '%', sqlerrm; END;
	BEGIN t := t - pg_temp.list('{"b": 10}'); EXCEPTION WHEN data_exception THEN RAISE NOTICE '%', sqlerrm; END;
	RAISE NOTICE '%', t::text = before;
END $$;

-- what grew most
SELECT * FROM qtop_growth(pg_temp.list('{"a": 5, "b": 9, "c": 2, "e": 7}'), pg_temp.list('{"a": 1, "b": 8, "c": 4, "d": 2, "e": 7}'), 3);
SELECT * FROM qtop_growth(pg_temp.list('{"a": 5, "b": 9, "c": 2}'), qtop_new(3), 2);
SELECT * FROM qtop_growth(qtop_new(3), pg_temp.list('{"a": 5, "b": 9, "c": 2}'), 2);
SELECT * FROM qtop_growth((SELECT qtop_agg(k, 3) FROM unnest('{1,1,2}'::int[]) AS k), (SELECT qtop_agg(k, 5, qsketch_new('warp', '16kB')) FROM unnest('{1,3}'::bigint[]) AS k), 3, NULL::int);
SELECT count(*) FROM qtop_growth(NULL, qtop_new(3), 3);
SELECT count(*) FROM qtop_growth(qtop_new(3), NULL, 3, NULL::int);
SELECT pg_temp.error_of('SELECT qtop_growth(pg_temp.list(''{"a": 5}''), ' || l) FROM unnest(ARRAY['pg_temp.list(''{"a": 5}''), 4)', 'pg_temp.list(''{"a": 5}''), 0)',
	'(SELECT qtop_agg(1, 3)), 3)', 'pg_temp.list(''{"a": 5}''), 3, NULL::int)', 'pg_temp.list(''{"a": 5}''), 3, NULL)']) AS l;
-- the bounds hold, and no key has grown more than the rows and the bounds say
CREATE FUNCTION pg_temp.growth(a qtop, b qtop, wanted int) RETURNS TABLE (rows bigint, bounds boolean, estimates boolean, sorted boolean, first_seven boolean, others boolean) LANGUAGE sql AS $$
	WITH counts AS (SELECT k, count(*) FILTER (WHERE day = 2) AS late, count(*) FILTER (WHERE day = 1) AS early FROM days GROUP BY k),
		g AS (SELECT * FROM qtop_growth(a, b, wanted, NULL::bigint) WITH ORDINALITY)
	SELECT count(*), bool_and(late - early BETWEEN lower AND upper AND growth BETWEEN lower AND upper), bool_and(later = qtop_estimate(a, key) AND earlier = qtop_estimate(b, key) AND growth = later - earlier),
		array_agg(growth ORDER BY ordinality) = array_agg(growth ORDER BY growth DESC), bool_and((ordinality <= 7) = (key > 7919000000)),
		(SELECT max(late - early) FROM counts WHERE NOT qtop_has(a, k)) <= (qtop_info(a)).bound
	FROM g JOIN counts ON k = key $$;
SELECT size, n, g.* FROM lists AS a JOIN lists AS b USING (size, n), pg_temp.growth(a.t, b.t, n) AS g WHERE a.day = 2 AND b.day = 1 ORDER BY size, n;
SELECT a.size AS later, b.size AS earlier, g.bounds FROM lists AS a, lists AS b, pg_temp.growth(a.t, b.t, 10) AS g WHERE a.day = 2 AND b.day = 1 AND a.n = 300 AND b.n = 10 ORDER BY 1, 2;
SELECT array_agg(g.*::text) = (SELECT array_agg(ROW(h.key, h.later, h.earlier, h.growth, h.lower, h.upper)::text) FROM lists AS a, lists AS b, qtop_growth(a.t, b.t, 10, NULL::bigint) AS h
	WHERE a.day = 2 AND b.day = 1 AND a.size = '1MB' AND b.size = '1MB' AND a.n = 10 AND b.n = 10) AS as_text
FROM lists AS a JOIN lists AS b USING (size, n), qtop_growth(a.t, b.t, 10) AS g WHERE a.day = 2 AND b.day = 1 AND size = '1MB' AND n = 10;
DROP TABLE days, lists, cleaned;
