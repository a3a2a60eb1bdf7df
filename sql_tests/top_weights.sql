--
-- Top keys by weight: qtop_agg(key, weight, n) in all plans, and qtop_exact
-- with a column of weights, against exact sums
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all

-- exact while there are few keys; NULL keys and weights are skipped, weights of 0 give no key
SELECT * FROM qtop_list((SELECT qtop_agg(k, w, 3) FROM (VALUES (7, 5), (7, 6), (8, 100), (9, NULL), (NULL, 9), (-1, 1), (4, 0)) AS v(k, w)), 3, NULL::int);
SELECT * FROM qtop_text((SELECT qtop_agg(k, w, 3) FROM (VALUES ('b', 1), ('a', 7), ('b', 2), (NULL, 5), ('c', NULL)) AS v(k, w)), 3);
SELECT qtop_agg(k, NULL, 3) IS NULL AS without_weights FROM generate_series(1, 3) AS k;
SELECT (qtop_info(qtop_agg(k, 0, 3))).* FROM generate_series(1, 3) AS k;
SELECT qtop_agg(k, 1, 3) = qtop_agg(k, 3) AS weight_1, qtop_agg(k, 2, 3) = qtop_merge(qtop_agg(k, 3), qtop_agg(k, 3)) AS weight_2,
	qtop_agg(k::text, 1, 3, t) = qtop_agg(k::text, 3, t) AS template
FROM generate_series(1, 1000) AS k, (SELECT qsketch_new('warp', '256kB') OFFSET 0) AS template(t) GROUP BY t;

-- negative weights are taken back once all others are counted, whatever the order of the rows
SELECT * FROM qtop_list((SELECT qtop_agg(k, w, 3 ORDER BY w) FROM (VALUES (1, 10), (2, 7), (1, -8), (3, 4), (3, -4)) AS v(k, w)), 3, NULL::int);
SELECT qtop_agg(k, w, 3 ORDER BY w) = qtop_agg(k, w, 3 ORDER BY w DESC) AS same,
	qtop_sketch(qtop_agg(k, w, 3)) = qsketch_agg(k, w) AS sketch, (qtop_info(qtop_agg(k, w, 3))).total = sum(w) AS total
FROM (SELECT k::text, k % 9 AS w FROM generate_series(1, 700) AS k UNION ALL SELECT k::text, -(k % 9) / 2 FROM generate_series(1, 700) AS k) AS r;
SELECT pg_temp.error_of(s) FROM unnest(ARRAY[
	'SELECT qtop_agg(k, w, 3) FROM (VALUES (1, 10), (2, -1)) AS v(k, w)',
	'SELECT qtop_agg(1, -9223372036854775808, 3)',
	'SELECT qtop_agg(k, 9223372036854775807, 3) FROM generate_series(1, 2) AS k',
	'SELECT qtop_agg(k, 4611686018427387904, 3, qsketch_new(''warp'', ''1kB'')) FROM generate_series(1, 2) AS k',
	'SELECT qtop_merge_agg(t) FROM (SELECT qtop_agg(k, 4611686018427387904, 3) AS t FROM generate_series(1, 2) AS k GROUP BY k) AS s',
	'SELECT qtop_agg(k, 1.5, 3) FROM generate_series(1, 2) AS k', 'SELECT qtop_agg(k, 1, k) FROM generate_series(1, 2) AS k',
	'SELECT qtop_agg(k, 1, 0) FROM generate_series(1, 2) AS k', 'SELECT qtop_agg(k, 1, NULL::int) FROM generate_series(1, 2) AS k',
	'SELECT qtop_agg(k, 1, 3, NULL) FROM generate_series(1, 2) AS k', 'SELECT _qtop_agg_trans(NULL, 1, 2::bigint, 5)']) AS s;
SELECT key, lower FROM qtop_list((SELECT qtop_agg(k, 4611686018427387903, 3) FROM generate_series(1, 2) AS k), 3, NULL::int) ORDER BY key;

-- a log: keys whose weight has little to do with how often they come, and one response that outweighs all
CREATE TABLE log (ip int, name text, kb int, small smallint, bytes bigint, part int) WITH (parallel_workers = 3);
INSERT INTO log SELECT ip, 'host ' || ip, CASE WHEN r % 11 > 0 THEN (ip * 7919::bigint % 101) ^ 2 END, r % 7,
	CASE r WHEN 31415 THEN 1000000000000 ELSE 200 + (r * 0.7548776662466927::numeric % 1) ^ 9 * 3000000 END, r % 20
FROM (SELECT r, floor(30000 ^ ((r * 0.61803398874989484820::numeric % 1)::float8))::int AS ip FROM generate_series(1, 60000) AS r) AS z;
VACUUM ANALYZE log;
CREATE FUNCTION pg_temp.made(call text, scan boolean, workers int) RETURNS qtop LANGUAGE plpgsql AS
$$ DECLARE q text := format('SELECT %s FROM log', call); r qtop; BEGIN
	PERFORM set_config('qsketch.enable_columnscan', scan::text, true), set_config('parallel_setup_cost', '0', true),
		set_config('min_parallel_table_scan_size', '0', true), set_config('max_parallel_workers_per_gather', workers::text, true);
	IF pg_temp.plan_has(q, 'QSketchScan') <> scan THEN RETURN NULL; END IF;
	EXECUTE q INTO r;
	RETURN r;
END $$;
-- how many of the n keys are among those with the largest sums, and whether all bounds hold
CREATE FUNCTION pg_temp.quality(t qtop, key text, weight text, n int, OUT recall bigint, OUT bounds boolean, OUT others boolean) LANGUAGE plpgsql AS $$ BEGIN
	EXECUTE format('WITH sums AS (SELECT %s::text AS key, sum(%s)::bigint AS s, rank() OVER (ORDER BY sum(%2$s) DESC) FROM log GROUP BY 1 HAVING sum(%2$s) > 0)
		SELECT count(*) FILTER (WHERE rank <= $2), bool_and(s BETWEEN lower AND estimate),
			(SELECT max(s) FROM sums WHERE NOT qtop_has($1, %s)) <= (qtop_info($1)).bound
		FROM qtop_text($1, $2) JOIN sums USING (key)', key, weight, CASE key WHEN 'ip' THEN 'sums.key::int' ELSE 'sums.key' END) USING t, n INTO recall, bounds, others;
END $$;
SELECT c.*, how, q.*, qtop_sketch(t) = pg_temp.sketch(format('SELECT qsketch_agg(%s, %s) FROM log', key, weight)) AS sketch
FROM (VALUES ('ip', 'bytes'), ('ip', 'kb'), ('ip', 'small'), ('name', 'bytes'), ('name', 'kb')) AS c(key, weight),
	LATERAL (SELECT 'ordinary' AS how, pg_temp.made(format('qtop_agg(%s, %s, 100)', key, weight), false, 0) AS t
		UNION ALL SELECT 'parallel', pg_temp.made(format('qtop_agg(%s, %s, 100)', key, weight), false, 3)
		UNION ALL SELECT 'scan', pg_temp.made(format('qtop_agg(%s, %s, 100)', key, weight), true, 0)
		UNION ALL SELECT 'parallel scan', pg_temp.made(format('qtop_agg(%s, %s, 100)', key, weight), true, 3)
		UNION ALL SELECT 'merged', pg_temp.made(format('(SELECT qtop_merge_agg(t) FROM (SELECT qtop_agg(%s, %s, 100) AS t FROM log GROUP BY part) AS p)',
			key, weight) || ' AS t FROM (SELECT 1 LIMIT 1) AS one --', true, 0)) AS w,
	pg_temp.quality(t, key, weight, 100) AS q;
SELECT sum BETWEEN lower AND estimate AS heaviest, lower > 1000000000000 AS seen
FROM qtop_list((SELECT qtop_agg(ip, bytes, 1) FROM log), 1, NULL::int) JOIN (SELECT ip AS key, sum(bytes) FROM log GROUP BY ip ORDER BY 2 DESC LIMIT 1) AS s USING (key);
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT qtop_agg(ip, kb, 10) FROM log WHERE part < 7;
EXPLAIN (COSTS OFF) SELECT part, qtop_agg(ip, bytes, 10, qsketch_new('warp')) FILTER (WHERE kb > 3) FROM log GROUP BY part;
EXPLAIN (COSTS OFF) SELECT qtop_agg(ip, 2, 10) FROM log;
SELECT bool_and(a.t = b.t) AS groups FROM (SELECT part, qtop_agg(ip, bytes, 10) AS t FROM log GROUP BY part) AS a
JOIN (SELECT part, qtop_agg(ip, bytes, 10) AS t FROM (SELECT * FROM log OFFSET 0) AS ordinary GROUP BY part) AS b USING (part);
SELECT bool_and(qtop_sketch(t) = qtop_sketch(again)) AS frames FROM (SELECT part, ip,
	qtop_agg(ip, kb, 3) OVER (PARTITION BY part ORDER BY ip ROWS 2 PRECEDING) AS t,
	qtop_agg(ip, kb, 3) OVER (PARTITION BY part ORDER BY ip ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS again FROM log WHERE ip < 20) AS w;
-- a negative weight in the scan
INSERT INTO log (ip, kb, bytes) SELECT ip, 0, -bytes + 1 FROM log WHERE bytes = 1000000000000;
INSERT INTO log (name, bytes) SELECT name, -bytes FROM log WHERE bytes > 2000000;
SELECT qtop_sketch(pg_temp.made('qtop_agg(name, bytes, 10)', true, 0)) = qsketch_agg(name, bytes) AS removed FROM log;
SELECT qtop_sketch(pg_temp.made('qtop_agg(ip, bytes, 10)', true, 0)) = qsketch_agg(ip, bytes) AS removed, (qtop_info(qtop_agg(ip, bytes, 10))).total = sum(bytes) FILTER (WHERE ip IS NOT NULL) AS total FROM log;
DELETE FROM log WHERE bytes < 0;

-- exactly
CREATE TABLE ways AS SELECT r % 4 AS few, r AS "unique", ip AS skewed, CASE WHEN r % 2 = 0 THEN 'n' || floor(sqrt(r % 20)) ELSE md5(r::text) END AS rare,
	bytes AS "By ""tes", kb, (r % 3)::smallint AS small, CASE WHEN r % 999 = 0 THEN -1 ELSE 3 END AS negative, 1.5 AS numeric, 3::smallint AS three, NULL::int AS nothing
FROM (SELECT *, row_number() OVER () AS r FROM log, generate_series(1, 2)) AS l;
CREATE FUNCTION pg_temp.compare(col name, w name, n int, OUT as_text boolean, OUT typed boolean, OUT rows bigint) LANGUAGE plpgsql AS $$
DECLARE type text := format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'ways'::regclass AND attname = col;
	expected text := format('SELECT %I, sum(%I) FROM ways WHERE %1$I IS NOT NULL GROUP BY 1 HAVING sum(%2$I) > 0 ORDER BY 2 DESC, 1 LIMIT %3$s', col, w, n);
	a text; b text; c text; BEGIN
	EXECUTE format('SELECT string_agg(k::text || '':'' || n, '' ''), count(*) FROM (%s) AS e(k, n)', expected) INTO a, rows;
	EXECUTE 'SELECT string_agg(key || '':'' || total, '' '') FROM qtop_exact(''ways'', $1, $3, weight => $2::cstring)' INTO b USING col, w, n;
	EXECUTE format('SELECT string_agg(key::text || '':'' || total, '' '') FROM qtop_exact(''ways'', $1, $3, NULL::%s, $2)', type) INTO c USING col, w, n;
	as_text := b IS NOT DISTINCT FROM a;
	typed := c IS NOT DISTINCT FROM a;
END $$;
SELECT col, w, n, c.* FROM unnest('{few,unique,skewed,rare,nothing}'::name[]) AS col, unnest('{"By \"tes",kb,small,negative,nothing}'::name[]) AS w,
	unnest(ARRAY[1, 20]) AS n, pg_temp.compare(col, w, n) AS c ORDER BY 1, 2, 3;
SET client_min_messages = debug1;
SELECT * FROM pg_temp.compare('few', 'kb', 2);
SELECT * FROM pg_temp.compare('unique', 'kb', 2);
SELECT * FROM pg_temp.compare('skewed', 'kb', 10);
SELECT * FROM pg_temp.compare('skewed', 'negative', 10);
SELECT * FROM pg_temp.compare('rare', 'small', 3);
SELECT * FROM pg_temp.compare('rare', 'three', 3);
RESET client_min_messages;
SELECT pg_temp.error_of(s) FROM unnest(ARRAY[
	'SELECT qtop_exact(''ways'', ''few'', 3, weight => ''numeric'')', 'SELECT qtop_exact(''ways'', ''few'', 3, weight => ''none'')',
	'SELECT qtop_exact(''ways'', ''few'', 3, weight => NULL)', 'SELECT qtop_exact(''ways'', ''few'', 3, NULL::uuid, ''kb'')',
	'SELECT qtop_exact(''ways'', ''few'', 0, weight => ''kb'')']) AS s;
-- of the rows that meet a condition: a view
CREATE VIEW portion AS SELECT skewed, kb FROM ways WHERE few = 1;
SELECT array_agg((key, total)) = (SELECT array_agg((skewed, s)) FROM (SELECT skewed, sum(kb) AS s FROM portion GROUP BY 1 HAVING sum(kb) > 0 ORDER BY 2 DESC, 1 LIMIT 5) AS e) AS view
FROM qtop_exact('portion', 'skewed', 5, NULL::int, 'kb');
DROP TABLE log, ways CASCADE;
