--
-- QSketchScan with keys, weights and counts that are expressions of the row: the same as the
-- ordinary plan, with its rights, errors and parameters.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/columnscan.psql'
\i :file
\set ECHO all
CREATE DOMAIN x_small AS int CHECK (VALUE < 900);
CREATE TYPE x_pair AS (a int, b text);
CREATE TABLE x_hits (gone text, user_id int, s smallint, bytes bigint, f real, price numeric, bot boolean, ts timestamptz, at timestamp, d date, url text, ip inet, long text, tags int[], pair x_pair);
INSERT INTO x_hits SELECT 'gone', NULLIF(i * 7919 % 1000, 5), NULLIF(i % 70 - 30, 3), i % 900 * 1000000000::bigint, i % 50 / 4.0, round(i % 90 / 7.0, i % 3), NULLIF(i % 3, 2) = 0,
	timestamptz '2026-01-01' + i % 500 * interval '1 hour', timestamp '2026-01-01' + i % 700 * interval '1 hour', date '2026-01-01' + i % 80,
	NULLIF('/Path/' || i % 300 || repeat('?ref=' || i % 7, i % 3), '/Path/9'), ('10.0.' || i % 9 || '.' || i % 99)::inet, CASE WHEN i % 300 = 0 THEN repeat(md5(i::text), 300) ELSE 'l' || i % 200 END,
	ARRAY[i % 5, i % 4], ROW(i % 7, 'b' || i % 2)::x_pair FROM generate_series(1, 10000) AS i;
ALTER TABLE x_hits DROP gone;
ALTER TABLE x_hits SET (parallel_workers = 7);
-- columns that older rows do not have
ALTER TABLE x_hits ADD added int DEFAULT 42, ADD note text;
INSERT INTO x_hits (user_id, added, note) SELECT i, NULLIF(i % 4, 0), 'note' || i % 9 FROM generate_series(1, 500) AS i;
INSERT INTO x_hits DEFAULT VALUES;
DELETE FROM x_hits WHERE user_id = 77;
VACUUM ANALYZE x_hits;

SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT qsketch_agg(lower(url)), count(1) FROM x_hits;
SELECT key, s.* FROM unnest(ARRAY['coalesce(user_id, 0)', 'user_id::bigint', 'user_id::text', 's::int8', 's::int', 'user_id + s', 'user_id % 10', 'nullif(user_id, 7)', '-user_id', 'f + 1', 'f::float8', 'price * 2',
	'price::int', 'NOT bot', 'bot IS NULL', 'ts::date', 'date_trunc(''hour'', at)', 'extract(hour FROM ts)', 'd + 1', 'at - d', 'lower(url)', 'split_part(url, ''?'', 1)', 'url || user_id', 'url || note || user_id',
	'host(ip)', 'set_masklen(ip, 24)', 'CASE WHEN bot THEN 0 WHEN user_id > 500 THEN s END', 'md5(long)', 'coalesce(long, url)', 'length(long)', 'tags[1]', 'tags || 3', '(pair).b', 'pair', 'x_hits', 'ROW(user_id, pair)::text',
	'coalesce(added, -1)', 'added + user_id', 'upper(note)', 'coalesce(note, ''none'')', 'user_id::x_small', 'tableoid::regclass::text', '42', '''x''', 'NULL::int', 'ROW(user_id, lower(url))', 'ROW(lower(url), 1, NULL::date)',
	'ROW(user_id, ROW(s, url))', 'ROW(user_id, pair)', 'CASE WHEN bot THEN ROW(1, 2)::text END']) AS key,
	pg_temp.same(format('SELECT qsketch_agg(%s, qsketch_new(size => ''16kB'')) FROM x_hits WHERE user_id < 900', key)) AS s;
-- weights; both NULL; one more family
SELECT weight, s.* FROM unnest(ARRAY['1', 's + 100', 'bytes', 'bytes * 2', 'CASE WHEN bot THEN 1 END', 'length(url)', 'NULL::bigint', 'price::bigint', 'abs(s)::int', 'added']) AS weight,
	pg_temp.same(format('SELECT qsketch_agg(user_id, %s), qsketch_agg(lower(url), %s) FROM x_hits WHERE s > -20', weight, weight)) AS s;
SELECT call, s.* FROM unnest(ARRAY['qfilter_agg(lower(url), qfilter_new_bloom(30000))', 'qfilter_agg(user_id % 100, qfilter_new_bloom(3000))', 'qsets_agg(s + 100, user_id / 3)', 'qsets_agg(1, user_id)', 'qsets_agg(s::bigint, lower(url))',
	'qsets_agg(user_id, ROW(s, lower(url)))', 'qsketch_agg(url), count(1), count(lower(url)), count(user_id + s), count(NULL), count(x_hits)',
	'qsketch_agg(user_id + 1) FILTER (WHERE lower(url) > ''/path/2''), count(1) FILTER (WHERE bot), qsketch_agg(coalesce(s, 1))']) AS call,
	pg_temp.same(format('SELECT %s FROM x_hits', call)) AS s;
-- top keys, whose candidates may differ in their order
CREATE FUNCTION pg_temp.top(call text, scan boolean, workers int) RETURNS text LANGUAGE plpgsql AS
$$ DECLARE q text := format('SELECT %s FROM x_hits', call); r text; BEGIN
	PERFORM set_config('qsketch.enable_columnscan', scan::text, true), set_config('max_parallel_workers_per_gather', workers::text, true);
	IF pg_temp.scans(q) <> scan::int THEN RETURN NULL; END IF;
	EXECUTE format('SELECT md5(qtop_sketch(t)::text) || (SELECT string_agg(key || '' '' || estimate, '', '' ORDER BY key) FROM qtop_text(t, 20)) FROM (%s) AS s(t)', q) INTO r;
	RETURN r;
END $$;
SELECT call, pg_temp.top(call, true, 0) = pg_temp.top(call, false, 0) AS serial, pg_temp.top(call, true, 3) = pg_temp.top(call, false, 0) AS parallel
FROM unnest(ARRAY['qtop_agg(user_id % 10, 20)', 'qtop_agg(user_id % 10, bytes, 20)', 'qtop_agg(s::bigint / 10, 20)', 'qtop_agg(split_part(lower(url), ''?'', 2), 20)', 'qtop_agg(split_part(url, ''?'', 2), s + 40, 20)', 'qtop_agg(d::text || bot, 20) FILTER (WHERE s = 3 OR d < ''2026-01-08'')',
	'qtop_agg(ROW(bot, s % 3), 20)', 'qtop_agg(ROW(bot, left(url, 7)), s + 50, 20)', 'qtop_agg(host(ip), 20) FILTER (WHERE ip < ''10.0.0.20'')', 'qtop_agg(price % 5, 20) FILTER (WHERE price < 1)', 'qtop_agg((pair).b, 20)', 'qtop_agg(pair, 20)', 'qtop_agg(1, 20)']) AS call;
-- groups
SELECT same, scanned FROM pg_temp.same($$SELECT string_agg(s::text, ',' ORDER BY s::text) FROM (SELECT lower(left(url, 7)), qsketch_agg(coalesce(user_id, s), bytes + 1, qsketch_new(size => '4kB')), count(1), count(bot OR s > 3) FROM x_hits GROUP BY 1) AS s$$);

-- an error of a row that a condition leaves out is not raised; that of a row whose weight is NULL is
SET max_parallel_workers_per_gather = 0;
SELECT pg_temp.scans('SELECT qsketch_agg(1 / s) FROM x_hits WHERE s <> 0'), (SELECT qsketch_total(qsketch_agg(1 / s)) FROM x_hits WHERE s <> 0) = n AS "where",
	(SELECT qsketch_total(qsketch_agg(1 / s) FILTER (WHERE s <> 0)) FROM x_hits) = n AS filter FROM (SELECT count(*) AS n FROM x_hits WHERE s <> 0) AS c;
SELECT qsketch_agg(1 / s) FROM x_hits;
SELECT qsketch_agg(1 / s, NULL) FROM x_hits;
SELECT qsets_agg(NULL::bigint, 1 / s) FROM x_hits;
SELECT qtop_agg((1 / s)::text, NULL, 3) FROM x_hits;
SELECT qsketch_agg(user_id::x_small) FROM x_hits;
SELECT qsketch_agg(user_id, s - 30) FROM x_hits WHERE s = 0;
SELECT qsketch_agg(ROW(user_id, '1'::json)) FROM x_hits;
-- who may call the functions
CREATE ROLE x_user;
CREATE FUNCTION x_twice(int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS 'BEGIN RETURN 2 * $1; END';
CREATE FUNCTION x_any(int) RETURNS int LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS 'BEGIN RETURN 2 * $1; END';
REVOKE ALL ON FUNCTION x_twice(int) FROM public;
GRANT SELECT ON x_hits TO x_user;
SELECT call, pg_temp.scans(format('SELECT %s FROM x_hits', call)) FROM unnest(ARRAY['qsketch_agg(x_twice(user_id))', 'qsketch_agg(user_id, x_twice(s))', 'qsketch_agg(ROW(s, x_twice(s)))', 'qsketch_agg(s), count(x_twice(s))',
	'qsketch_agg(x_any(user_id))', 'qsketch_agg(user_id, random()::bigint)', 'qsketch_agg(s), count(x_any(s))', 'qsketch_agg((SELECT max(r) FROM generate_series(1, user_id) AS r))', 'qsketch_agg(ctid)', 'qsketch_agg(CASE WHEN bot THEN ROW(1, 2) END)']) AS call;
SET ROLE x_user;
SELECT qsketch_agg(x_twice(user_id)) FROM x_hits;
SELECT qsketch_agg(user_id, x_twice(s)) FROM x_hits;
SELECT qsketch_agg(ROW(s, x_twice(s))) FROM x_hits;
SELECT qsketch_agg(s), count(x_twice(s)) FROM x_hits;
RESET ROLE;
-- row security comes before keys: a function that tells what it sees is not called for others' rows
CREATE FUNCTION x_tell(int) RETURNS int LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS 'BEGIN IF $1 > 3 THEN RAISE ''saw %'', $1; END IF; RETURN $1; END';
ALTER TABLE x_hits ENABLE ROW LEVEL SECURITY;
CREATE POLICY x_few ON x_hits TO x_user USING (user_id <= 3);
SET ROLE x_user;
SELECT pg_temp.scans('SELECT qsketch_agg(x_tell(user_id)), count(x_tell(user_id)) FROM x_hits'), qsketch_total(qsketch_agg(x_tell(user_id))), count(x_tell(user_id)) FROM x_hits;
RESET ROLE;
ALTER TABLE x_hits DISABLE ROW LEVEL SECURITY;
-- parameters: of prepared statements, and of outer rows, for which the scan runs again
SET plan_cache_mode = force_generic_plan;
PREPARE x_modulo(int, bigint) AS SELECT qsketch_total(s), qsketch_estimate(s, 1) FROM (SELECT qsketch_agg(user_id % $1, $2) AS s FROM x_hits) AS q;
EXPLAIN (COSTS OFF) EXECUTE x_modulo(2, 1);
EXECUTE x_modulo(2, 1);
EXECUTE x_modulo(500, 3);
RESET plan_cache_mode;
SELECT o, pg_temp.scans('SELECT * FROM generate_series(1, 4) AS o, LATERAL (SELECT qsketch_agg(user_id % o) AS a FROM x_hits) AS q'), qsketch_estimate(a, 0) = (SELECT count(*) FROM x_hits WHERE user_id % o = 0) AS same, n, groups FROM generate_series(1, 4) AS o,
	LATERAL (SELECT qsketch_agg(user_id % o) AS a, count(nullif(o, user_id)) AS n FROM x_hits) AS q, LATERAL (SELECT count(*) AS groups FROM (SELECT qsketch_agg(s) FROM x_hits WHERE user_id > 0 GROUP BY user_id % o) AS g) AS r;
-- partitions whose columns lie elsewhere, and UNION ALL of expressions
CREATE TABLE x_parts (d int, k int, t text) PARTITION BY LIST (d);
CREATE TABLE x_part1 PARTITION OF x_parts FOR VALUES IN (1);
CREATE TABLE x_part2 (t text, gone int, k int, d int);
ALTER TABLE x_part2 DROP gone;
ALTER TABLE x_parts ATTACH PARTITION x_part2 FOR VALUES IN (2);
INSERT INTO x_parts SELECT 1 + i % 2, i % 100, 'T' || i % 40 FROM generate_series(1, 6000) AS i;
ANALYZE x_parts;
SELECT q, same, scanned FROM unnest(ARRAY['SELECT qsketch_agg(lower(t), k + d), count(1), count(x_parts) FROM x_parts', 'SELECT qsketch_agg(ROW(k % 10, lower(t))) FROM x_parts', 'SELECT qsketch_agg(x_parts) FROM x_parts',
	'SELECT qsketch_agg(k), count(x) FROM (SELECT k, t AS x FROM x_part1 UNION ALL SELECT k + 1, lower(t) FROM x_part2 UNION ALL SELECT 5, ''x'' FROM x_part1) AS u']) AS q, pg_temp.same(q);
-- integers that are cast to text, of every length, sign and width
CREATE TABLE x_digits AS SELECT n, n::int AS i, n::smallint AS s, s.n::text AS t FROM (SELECT NULL::bigint AS n UNION ALL VALUES (0), (7), (-1), (-32768), (32767)) AS s;
INSERT INTO x_digits SELECT n, CASE WHEN n BETWEEN -2147483648 AND 2147483647 THEN n END, NULL, n::text FROM (SELECT (sign * 10::numeric ^ e + d)::bigint AS n FROM generate_series(1, 50) AS i, generate_series(0, 18) AS e, unnest('{1,-1}'::int[]) AS sign, unnest('{-1,0,1}'::int[]) AS d
	UNION ALL VALUES (9223372036854775807), (-9223372036854775808), (2147483647), (-2147483648)) AS s;
ALTER TABLE x_digits SET (parallel_workers = 7);
ANALYZE x_digits;
SELECT call, s.* FROM unnest(ARRAY['qsketch_agg(n::text)', 'qsketch_agg(i::text)', 'qsketch_agg(s::text)', 'qsketch_agg(n::varchar)', 'qsketch_agg(n::varchar(3))', 'qsketch_agg(i::char(4))', 'qsketch_agg(i::oid::text)', 'qsketch_agg(ROW(n::text, i::text))', 'qsets_agg(n, i::text)',
	'count(s::text), min(n::text), max(i::text), qsketch_agg(1)']) AS call, pg_temp.same(format('SELECT %s FROM x_digits', call)) AS s;
-- in the order of the rows; from PostgreSQL 16 on parallel plans have these aggregates, too
SET max_parallel_workers_per_gather = 0;
SELECT * FROM pg_temp.compared('SELECT array_agg(n::text), string_agg(s::text, i::text), qsketch_agg(1) FROM x_digits');
SELECT * FROM pg_temp.same('SELECT array_agg(q ORDER BY a) FROM (SELECT i::text AS a, qsketch_agg(t), count(s::text) FROM x_digits WHERE n > -9 GROUP BY i::text) AS q');
SELECT qsketch_agg(n::text) = qsketch_agg(t) AS same, (SELECT array_agg(key ORDER BY key) FROM qtop_text(qtop_agg(n::text, 200), 200)) = array_agg(DISTINCT t ORDER BY t) FILTER (WHERE t IS NOT NULL) AS top FROM x_digits;
DROP TABLE x_hits, x_digits, x_parts;
DROP FUNCTION x_twice, x_any, x_tell;
DROP ROLE x_user;
DROP DOMAIN x_small;
DROP TYPE x_pair;
