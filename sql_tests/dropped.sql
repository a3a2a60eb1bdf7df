--
-- A query that drops the extension and creates it again while it runs: what it calls has other
-- OIDs then.  It goes on with what it found when it began, or says that a function is missing.
--
CREATE TABLE t AS SELECT i AS id, i % 100 AS k, i % 7 AS g, ('word ' || i % 100)::varchar AS w FROM generate_series(1, 2000) AS i;
CREATE FUNCTION pg_temp.remake(row_id bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN
	IF row_id = 1 THEN DROP EXTENSION qsketch CASCADE; CREATE EXTENSION qsketch; END IF;
	RETURN true;
END $$;
-- the result, or the error, by a plan of ours and by an ordinary one; and then the extension is as it was
CREATE FUNCTION pg_temp.result_of(query text, ours text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text; BEGIN
	PERFORM set_config('qsketch.enable_columnscan', ours, true), set_config('client_min_messages', 'warning', true);
	EXECUTE replace(query, 'remake', 'pg_temp.remake') INTO result;
	RAISE triggered_action_exception;
EXCEPTION
	WHEN triggered_action_exception THEN RETURN result;
	WHEN OTHERS THEN RETURN sqlstate || ' ' || regexp_replace(sqlerrm, '\d+', 'N');
END $$;
SELECT query, pg_temp.result_of(query, 'on') AS result, pg_temp.result_of(query, 'off') AS ordinary FROM (VALUES
	(1, $$SELECT qsketch_total(qsketch_agg(k)) FROM t WHERE remake(id)$$),
	(2, $$SELECT qsketch_total(qsketch_agg(w)) FROM t WHERE remake(id)$$),
	(3, $$SELECT qsketch_total(qsketch_agg(w::text, g)) FROM t WHERE remake(id)$$),
	(4, $$SELECT qsketch_total(qsketch_agg(k) FILTER (WHERE remake(id))) FROM t$$),
	(5, $$SELECT qsketch_total(qsketch_agg(DISTINCT k)) FROM t WHERE remake(id)$$),
	(6, $$SELECT count(*) FROM (SELECT g, qsketch_total(qsketch_agg(k)) AS n FROM t WHERE remake(id) GROUP BY g) AS s WHERE n > 285$$),
	(7, $$SELECT qsketch_total(qsketch_merge_agg(s)) FROM (SELECT qsketch_agg(k) AS s FROM t WHERE remake(id) GROUP BY g) AS x$$),
	(8, $$SELECT max(qsketch_total(s)) FROM (SELECT qsketch_agg(k) OVER (ORDER BY id ROWS 10 PRECEDING) AS s FROM t WHERE remake(id)) AS x$$),
	(9, $$SELECT sum(qsketch_estimate(s, k)) FROM t, (SELECT qsketch_agg(k) AS s FROM t OFFSET 0) AS x WHERE remake(id)$$),
	(10, $$SELECT sum((qsketch_bounds(s, k)).upper) FROM t, (SELECT qsketch_agg(k) AS s FROM t OFFSET 0) AS x WHERE remake(id)$$),
	(11, $$SELECT count((qsketch_info(s)).structure) FROM t, (SELECT qsketch_agg(k) AS s FROM t OFFSET 0) AS x WHERE remake(id)$$),
	(12, $$SELECT sum(qsketch_total(qsketch_add(s, k))) FROM t, (SELECT qsketch_new() AS s OFFSET 0) AS x WHERE remake(id)$$),
	(13, $$SELECT count(*) FROM t, LATERAL qsketch_lookup((SELECT qsketch_agg(k) FROM t), ARRAY[k]) AS l WHERE remake(t.id)$$),
	(14, $$SELECT length(qtop_agg(k, 5)::text) > 0 FROM t WHERE remake(id)$$),
	(15, $$SELECT length(qtop_agg(w, 5)::text) > 0 FROM t WHERE remake(id)$$),
	(16, $$SELECT sum(key) FROM qtop_list((SELECT qtop_agg(k, 200) FROM t WHERE remake(id)), 200, NULL::int)$$),
	(17, $$SELECT count(qtop_has(s, k)) FROM t, (SELECT qtop_agg(k, 10) AS s FROM t OFFSET 0) AS x WHERE remake(id)$$),
	(18, $$SELECT count(*) FROM qtop_exact('t', 'k', 3) AS l WHERE remake(l.count - 19)$$),
	(19, $$SELECT qfilter_contains(qfilter_agg(k, qfilter_new_bloom(1000)), 5) FROM t WHERE remake(id)$$),
	(20, $$SELECT (qsets_info(qsets_agg(g, k))).elements FROM t WHERE remake(id)$$),
	(21, $$SELECT count(*) FROM qsets_pairs((SELECT qsets_agg(g, w) FROM t WHERE remake(id)))$$),
	(22, $$SELECT array_length(qsets_intersect(ARRAY[w], ARRAY[w]), 1) FROM t WHERE remake(id) LIMIT 1$$),
	(23, $$SELECT qsketch_total((SELECT qsketch_agg((SELECT qsketch_agg(5))) FROM t)) WHERE remake(1)$$),
	(24, $$SELECT qtop_total((SELECT qtop_agg(ROW((SELECT qsketch_agg(5)), k), 3) FROM t)) WHERE remake(1)$$),
	(25, $$SELECT qsets_count((SELECT qsets_agg(g, ARRAY[(SELECT qsketch_agg(5))]) FROM t)) WHERE remake(1)$$),
	(26, $$SELECT qfilter_contains((SELECT qfilter_agg(k, (SELECT qfilter_new_bloom(100))) FROM t), (SELECT qsketch_agg(5))) WHERE remake(1)$$)) AS v(i, query) ORDER BY i;
DROP TABLE t;
