--
-- QSketchScan with GROUP BY of several columns, and of expressions: the groups and
-- bytes of the ordinary plan.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/scan_groups.psql'
\i :file
\set ECHO all
SET timezone = 'Europe/Berlin';
CREATE TYPE gk_kind AS ENUM ('page', 'image', 'api');
CREATE TABLE gk_log (gone int, ts timestamp, tz timestamptz, d date, k bigint, w int, s smallint, country text, kind gk_kind, bot boolean, o oid, c "char", x numeric);
INSERT INTO gk_log
SELECT r, CASE WHEN r % 31 > 0 THEN timestamp '2026-03-20' + r * interval '97.3 s' END, CASE WHEN r % 37 > 0 THEN timestamptz '2026-03-27 12:00 UTC' + r * interval '61.7 s' END,
	date '2026-01-30' + r % 60, CASE WHEN r % 13 > 0 THEN (r * 7919::bigint) % 3000 - 500 END, r % 20, CASE WHEN r % 17 > 0 THEN r % 300 - 150 END,
	CASE WHEN r % 19 > 0 THEN (ARRAY['de', 'fr', 'DE', '', 'a very long name of a country'])[1 + r % 5] END,
	(ARRAY['page', 'image', 'api', NULL])[1 + r % 4]::gk_kind, CASE WHEN r % 23 > 0 THEN r % 3 = 0 END, 4294967290 + r % 6, chr(65 + r % 7)::"char", r % 4
FROM generate_series(1, 12000) AS r;
ALTER TABLE gk_log DROP gone;
ALTER TABLE gk_log ADD late int DEFAULT 42;
INSERT INTO gk_log (ts, tz, late, k, w) VALUES ('infinity', '-infinity', 7, 1, 1), ('4000-02-03', '4713-01-01 BC', NULL, 2, 2), ('0044-03-15 01:00 BC', '1890-01-01', 7, 3, 3), (NULL, NULL, NULL, 4, 4);
VACUUM ANALYZE gk_log;

EXPLAIN (COSTS OFF) SELECT ts::date, country, qsketch_agg(k), count(*) FROM gk_log WHERE w > 3 GROUP BY ts::date, country;
SELECT pg_temp.plan($$SELECT k % 100 + 1, qsketch_agg(k) FROM gk_log WHERE k % 100 > 7 GROUP BY k % 100 ORDER BY k % 100$$);

-- expressions of one column
SELECT by, s.* FROM unnest(ARRAY['ts::date', 'tz::date', 'date_trunc(''hour'', ts)', 'date_trunc(''hour'', tz)', 'date_trunc(''day'', tz)', 'date_trunc(''month'', d)',
	'date_trunc(''day'', tz, ''America/New_York'')', '(tz AT TIME ZONE ''UTC'')::date', 'date_bin(''15 min'', ts, ''2026-03-20 00:07'')', 'date_bin(''10 h'', tz, ''2026-04-01'')',
	'extract(hour FROM ts)::int', 'to_char(ts, ''YYYY-MM'')', 'd - date ''2026-01-01''', 'k % 100', 'k / 100', 'k / -7', 'k % -7', 'k / -1', 'k % -1', 's % 10::smallint', 's / 10', 'w % 3::bigint', '100 % (w + 1)', 'abs(s)', 's + 1', 'k % 7 = 3', 'k IS NULL', 'bot', 'kind', 'o', 'c',
	'lower(country)', 'country COLLATE "C"', 'coalesce(country, kind::text)', 'left(country, 1)', 'late / 5', 'tableoid', 'ts::time', 'CASE WHEN w > 5 THEN k % 3 END', 'o', 'coalesce(o, 4294967292)', 'o::regclass', 'o::int', 'c', 'coalesce(c, ''x'')', 'kind', 'coalesce(kind, ''api'')']) AS by,
	LATERAL pg_temp.same(format('SELECT %s AS g, qsketch_agg(k), count(*) FILTER (WHERE w > 7), qtop_agg(w, 3) FROM gk_log GROUP BY 1', by)) AS s;
-- several columns and expressions
SELECT by, s.* FROM unnest(ARRAY['ts::date, country', 'country, ts::date', 'bot, kind', 'k % 10, k % 7', 's, w', 'w, w + 1', 'k, s, country, kind, bot', 'country, lower(country)',
	'date_trunc(''hour'', tz), tz::date, late', 'd, NULLIF(w, 3)', 'ts, tz', 'k % 5, kind::text, left(country, 2)']) AS by,
	LATERAL pg_temp.same(format('SELECT %s, qsketch_agg(k), qsets_agg(w, k) FILTER (WHERE w > 7) FROM gk_log WHERE w < 19 GROUP BY %1$s', by)) AS s;
-- where they stand in the query
SELECT q, s.* FROM unnest(ARRAY['SELECT qsketch_agg(k) FROM gk_log GROUP BY w % 3, country', 'SELECT w % 3 + 1, (w % 3) * (w % 3), qsketch_agg(k) FROM gk_log GROUP BY w % 3',
	'SELECT upper(country) || bot::text, qsketch_agg(k) FROM gk_log GROUP BY country, bot', 'SELECT ts::date + 1, qsketch_agg(k) FROM gk_log WHERE ts::date > ''2026-03-25'' GROUP BY ts::date',
	'SELECT date_trunc(''day'', d), d, qsketch_agg(k) FROM gk_log GROUP BY d', 'SELECT qsketch_agg(k) FROM gk_log GROUP BY w % 3, country ORDER BY w % 3, country LIMIT 4',
	'SELECT y, s.* FROM generate_series(1, 3) AS y, LATERAL (SELECT k % (y + 2) AS e, qsketch_agg(k) FROM gk_log GROUP BY k % (y + 2)) AS s',
	'SELECT y, s.* FROM generate_series(0, 2) AS y, LATERAL (SELECT d + y AS e, qsketch_agg(k) FROM gk_log WHERE w > y GROUP BY d + y) AS s',
	'SELECT w % (SELECT max(w) FROM gk_log), qsketch_agg(k) FROM gk_log GROUP BY 1']) AS q, LATERAL pg_temp.same(q) AS s ORDER BY q COLLATE "C";
PREPARE by_hours(interval) AS SELECT date_bin($1, ts, '2026-01-01') AS bin, qsketch_total(qsketch_agg(k)) FROM gk_log WHERE ts < '2026-03-21' GROUP BY 1 ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE by_hours('6 h');
EXECUTE by_hours('6 h');
EXECUTE by_hours('12 h');
RESET plan_cache_mode;

-- more groups than memory
SET enable_hashagg = off;
SET enable_sort = off;
SET work_mem = '64kB';
SELECT by, s.* FROM unnest(ARRAY['k % 1000', 'ts::date, country', 'k, bot', 'lower(country), s']) AS by,
	LATERAL pg_temp.same(format('SELECT %s, qsketch_agg(k), count(*) FILTER (WHERE w > 7) FROM gk_log WHERE w > 1 GROUP BY %1$s', by)) AS s;
RESET enable_hashagg;
RESET enable_sort;
SET work_mem = '64MB';

-- HAVING: of our aggregates and others, of groups, with parameters and subqueries, without GROUP BY
EXPLAIN (COSTS OFF) SELECT country, qsketch_agg(k) FROM gk_log WHERE w > 3 GROUP BY country HAVING count(*) > 100 AND country > 'a';
SELECT q, s.* FROM unnest(ARRAY['SELECT country, qsketch_agg(k) FROM gk_log GROUP BY country HAVING count(*) > 2000',
	'SELECT k % 100, count(*) FROM gk_log GROUP BY k % 100 HAVING qsketch_total(qsketch_agg(w)) > 60 AND k % 100 > 3',
	'SELECT country, bot, qsketch_agg(k) FROM gk_log GROUP BY country, bot HAVING count(*) FILTER (WHERE w > 7) > 300 OR country IS NULL ORDER BY 1, 2 LIMIT 5',
	'SELECT w, qsketch_agg(k) FROM gk_log GROUP BY w HAVING count(*) > (SELECT min(s) + 700 FROM gk_log)',
	'SELECT w, qsketch_agg(k) FROM gk_log GROUP BY w HAVING count(k) > (SELECT count(*) FROM gk_log AS o WHERE o.s = gk_log.w) * 13',
	'SELECT y, s.* FROM generate_series(40, 42) AS y, LATERAL (SELECT s, qsketch_agg(k) FROM gk_log GROUP BY s HAVING count(*) < y) AS s',
	'SELECT qsketch_agg(k) FROM gk_log HAVING count(*) > 5', 'SELECT qsketch_agg(k) FROM gk_log WHERE w = 2 HAVING count(*) > 5000',
	'SELECT w, qsketch_agg(k) FROM gk_log GROUP BY w HAVING false OR count(*) < 0', 'SELECT y, s.* FROM generate_series(0, 2) AS y, LATERAL (SELECT qsketch_agg(k) FROM gk_log HAVING count(*) > y * 9000) AS s']) AS q,
	LATERAL pg_temp.same(q) AS s ORDER BY q COLLATE "C";
SELECT substring(plan FROM '"Groups": \d+') AS groups, substring(plan FROM '"Groups Removed by Having": \d+') AS removed
FROM pg_temp.explained('SELECT w, qsketch_agg(k) FROM gk_log GROUP BY w HAVING w % 4 = 1 AND count(*) > 0 OR count(*) > 1000000') AS plan;
SET enable_hashagg = off;
SET enable_sort = off;
SET work_mem = '64kB';
SELECT s.* FROM pg_temp.same('SELECT k, qsketch_agg(w) FROM gk_log GROUP BY k HAVING count(*) > 3') AS s;
RESET enable_hashagg;
RESET enable_sort;
SET work_mem = '64MB';
-- with all workers that are allowed, above Finalize Aggregate
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT qsketch_agg(k, qsketch_new(size => '64kB')) FROM gk_log HAVING count(*) > 5;
SELECT q, s.* FROM unnest(ARRAY['count(*) > 5', 'count(*) > 50000', 'qsketch_total(qsketch_agg(w)) > 5']) AS q, LATERAL pg_temp.same('SELECT qsketch_agg(k) FROM gk_log HAVING ' || q) AS s;
SET cpu_operator_cost = 1; -- against that, it is cheap to look for columns behind others of variable width
SELECT q, s.* FROM unnest(ARRAY['sum(w), avg(x), max(country), min(tz)', 'sum(x), sum(k), qsets_agg(w, k)', 'max(s), qtop_agg(w, 3), avg(k) FILTER (WHERE w > 3)', 'sum(w) FILTER (WHERE w > 100)']) AS q,
	LATERAL pg_temp.same(format('SELECT qsketch_agg(k), %s FROM gk_log', q)) AS s;
RESET cpu_operator_cost;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;

-- PostgreSQL's own aggregates beside ours
ALTER TABLE gk_log ADD f4 real, ADD f8 float8, ADD m money, ADD i interval, ADD z timetz, ADD long text;
UPDATE gk_log SET x = k / 7.0, f4 = s, f8 = w * 0.25, m = w::money, i = s * interval '1 min', z = ts::time AT TIME ZONE 'UTC', long = repeat(country, 900) WHERE k % 5 > 0;
VACUUM FULL ANALYZE gk_log;
SET enable_hashagg = off;
SET enable_sort = off;
SELECT by, call, s.* FROM unnest(ARRAY['country', 'k % 50, bot']) AS by, unnest(ARRAY['sum(w), sum(s), sum(k), sum(x), sum(f4), sum(f8), sum(m), sum(i)', 'avg(w), avg(s), avg(k), avg(x), avg(f4), avg(f8), avg(i)',
	'min(w), min(s), min(k), min(x), min(f4), min(f8), min(m), min(i), min(ts), min(tz), min(d), min(z), min(country), min(o), min(long), min(ts)',
	'max(w), max(s), max(k), max(x), max(f4), max(f8), max(m), max(i), max(ts), max(tz), max(d), max(z), max(country), max(o), max(long)',
	'count(*), count(s), sum(w) FILTER (WHERE bot), max(long) FILTER (WHERE w > 100), avg(x) FILTER (WHERE s < 0)']) AS call,
	LATERAL pg_temp.same(format('SELECT %s, qsketch_agg(k), %s FROM gk_log GROUP BY %1$s', by, call)) AS s ORDER BY by, call;
SELECT q, s.* FROM unnest(ARRAY['SELECT qsketch_agg(k), sum(w), max(country), avg(x), min(long) FROM gk_log', 'SELECT qsketch_agg(k), sum(w), max(country), avg(x) FROM gk_log WHERE w > 100',
	'SELECT country, qsketch_agg(k) FROM gk_log GROUP BY country HAVING sum(w) > 10000 AND max(x) > 3', 'SELECT country, sum(w) * 2 + count(*), qsketch_agg(k) FROM gk_log GROUP BY country ORDER BY sum(x)',
	'SELECT y, s.* FROM generate_series(1, 3) AS y, LATERAL (SELECT avg(x), max(long), qsketch_agg(k) FROM gk_log WHERE w > y) AS s']) AS q,
	LATERAL pg_temp.same(q) AS s ORDER BY q COLLATE "C";
SET work_mem = '64kB';
SELECT s.* FROM pg_temp.same('SELECT k, qsketch_agg(w), sum(x), min(long), avg(w) FROM gk_log GROUP BY k') AS s;
RESET enable_hashagg;
RESET enable_sort;
SET work_mem = '64MB';
-- alone they stay with the ordinary plan, and so do those with DISTINCT, and by group those whose states cannot be combined
SELECT q, pg_temp.plan_has(q, 'QSketchScan') AS scanned FROM unnest(ARRAY['SELECT sum(w) FROM gk_log GROUP BY country', 'SELECT qsketch_agg(k), sum(w + 1) FROM gk_log GROUP BY country',
	'SELECT qsketch_agg(k), sum(DISTINCT w) FROM gk_log GROUP BY country', 'SELECT qsketch_agg(k), json_agg(w) FROM gk_log GROUP BY country', 'SELECT qsketch_agg(k), max(c::text) FROM gk_log']) AS q;

-- partitions, whose columns may lie elsewhere; other children; UNION ALL
SET cpu_operator_cost = 1; -- keys are dear
CREATE TABLE gk_parts (ts timestamp, k bigint, w int, country text, x numeric) PARTITION BY RANGE (ts);
CREATE TABLE gk_part1 PARTITION OF gk_parts FOR VALUES FROM ('2026-03-01') TO ('2026-03-25');
CREATE TABLE gk_part2 (gone int, x numeric, country text, w int, k bigint, ts timestamp);
ALTER TABLE gk_part2 DROP gone;
ALTER TABLE gk_parts ATTACH PARTITION gk_part2 FOR VALUES FROM ('2026-03-25') TO ('2026-03-29');
CREATE TABLE gk_part3 PARTITION OF gk_parts FOR VALUES FROM ('2026-03-29') TO ('2026-05-01') PARTITION BY LIST (country);
CREATE TABLE gk_part3_de PARTITION OF gk_part3 FOR VALUES IN ('de', 'DE');
CREATE TABLE gk_part3_rest PARTITION OF gk_part3 DEFAULT;
CREATE TABLE gk_part4 PARTITION OF gk_parts DEFAULT;
INSERT INTO gk_parts SELECT ts, k, w, country, x FROM gk_log;
CREATE TABLE gk_base AS SELECT ts, k, w, country, x FROM gk_log WHERE w > 5;
CREATE TABLE gk_more (extra int) INHERITS (gk_base);
INSERT INTO gk_more (ts, k, w, country, extra) SELECT ts, k + 1, w, country, 1 FROM gk_log WHERE k < 100;
CREATE VIEW gk_both AS SELECT ts, k, w, country, x FROM gk_log UNION ALL SELECT ts, k, w, country, x FROM gk_part2;
VACUUM ANALYZE gk_parts, gk_base, gk_more;
EXPLAIN (COSTS OFF) SELECT ts::date, qsketch_agg(k), sum(w) FROM gk_parts GROUP BY ts::date HAVING count(*) > 10;
SELECT t, by, s.* FROM unnest(ARRAY['gk_parts', 'gk_base', 'gk_both', 'gk_parts WHERE ts < ''2026-03-28'' AND w > 3', 'gk_part2']) AS t, unnest(ARRAY['ts::date', 'country', 'ts::date, country', 'w % 7, w', 'k % 100', 'lower(country)']) AS by,
	LATERAL pg_temp.same(format('SELECT %s, qsketch_agg(k), count(*) FILTER (WHERE w > 7), qtop_agg(w, 3), sum(w), avg(x), max(ts), qsets_agg(w, k) FROM %s GROUP BY %1$s', by, t)) AS s ORDER BY t, by;
SELECT q, s.* FROM unnest(ARRAY['SELECT ts::date, qsketch_agg(k) FROM gk_parts GROUP BY ts::date HAVING count(*) > 500 AND max(x) > 3', 'SELECT country, qsketch_agg(k) FROM gk_parts GROUP BY country ORDER BY sum(w) LIMIT 3',
	'SELECT y, s.* FROM generate_series(1, 3) AS y, LATERAL (SELECT country, qsketch_agg(k), min(country) FROM gk_parts WHERE w > y GROUP BY country) AS s',
	'SELECT y, s.* FROM generate_series(1, 3) AS y, LATERAL (SELECT w % y, qsketch_agg(k) FROM gk_parts GROUP BY w % y) AS s',
	'SELECT country, qsketch_agg(k) FROM gk_parts WHERE ts > (SELECT max(ts) FROM gk_part2) GROUP BY country']) AS q, LATERAL pg_temp.same(q) AS s ORDER BY q COLLATE "C";
-- all partitions fill the same groups: a run ends before all are returned, or reads no partition; HAVING with a parameter; groups that are written
SELECT q, s.* FROM unnest(ARRAY['SELECT y, (SELECT qsketch_agg(k) FROM gk_parts WHERE country = ''de'' AND w > y GROUP BY country LIMIT 1) FROM generate_series(1, 3) AS y',
	'SELECT y, (SELECT count(*) FROM (SELECT FROM gk_parts WHERE ts >= timestamp ''2026-03-20'' + y * interval ''5 days'' GROUP BY w HAVING qsketch_total(qsketch_agg(k)) > y LIMIT 4) AS x) FROM generate_series(1, 12) AS y',
	'SELECT w + 1, w % 2 = 0 AND qsketch_total(qsketch_agg(k)) > 3, count(*) FROM gk_parts GROUP BY w HAVING w <> 5 AND count(*) < 2000']) AS q, LATERAL pg_temp.same(q) AS s ORDER BY q COLLATE "C";
SET work_mem = '64kB';
SELECT by, s.* FROM unnest(ARRAY['ts::date', 'country, w', 'k % 1000', 'lower(country)']) AS by,
	LATERAL pg_temp.same(format('SELECT %s, qsketch_agg(k), count(*) FILTER (WHERE w > 7), qtop_agg(w, 3), sum(w), avg(x), max(ts), qsets_agg(w, k) FROM gk_parts GROUP BY %1$s', by)) AS s ORDER BY by;
RESET work_mem;
SET enable_partitionwise_aggregate = on;
SELECT s.* FROM pg_temp.same('SELECT ts::date, qsketch_agg(k) FROM gk_parts GROUP BY ts::date') AS s;
RESET enable_partitionwise_aggregate;
SET work_mem = '64kB';
SELECT by, s.* FROM unnest(ARRAY['w % 7, country', 'ts::date, country']) AS by, LATERAL pg_temp.same(format('SELECT %s, qsketch_agg(w), max(country) FROM gk_parts GROUP BY %1$s', by)) AS s;
SET work_mem = '64MB';
DROP VIEW gk_both;
DROP TABLE gk_parts, gk_base, gk_more;
RESET cpu_operator_cost;

-- errors: only of rows that WHERE keeps, and those of the executor
\set VERBOSITY sqlstate
SELECT count(sk) FROM (SELECT 10 / w, qsketch_agg(k) AS sk FROM gk_log WHERE w > 0 GROUP BY 10 / w) AS s;
SELECT count(sk) FROM (SELECT 10 / w, qsketch_agg(k) AS sk FROM gk_log GROUP BY 10 / w) AS s;
SELECT count(sk) FROM (SELECT date_trunc('eon', ts), qsketch_agg(k) AS sk FROM gk_log GROUP BY 1) AS s;
SELECT count(sk) FROM (SELECT date_bin('1 month', ts, '2026-01-01'), qsketch_agg(k) AS sk FROM gk_log GROUP BY 1) AS s;

\set VERBOSITY default
-- privileges: of columns and functions that only GROUP BY has; and row security
CREATE FUNCTION gk_half(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 / 2; END';
CREATE FUNCTION gk_shout(int) RETURNS int IMMUTABLE COST 1 LANGUAGE plpgsql AS 'BEGIN RAISE NOTICE ''seen: %'', $1; RETURN $1; END';
REVOKE EXECUTE ON FUNCTION gk_half(int) FROM PUBLIC;
CREATE ROLE gk_user;
GRANT SELECT (k, w) ON gk_log TO gk_user;
SET ROLE gk_user;
SELECT count(sk) FROM (SELECT qsketch_agg(k) AS sk FROM gk_log GROUP BY gk_half(w)) AS s;
SELECT count(sk) FROM (SELECT qsketch_agg(k) AS sk FROM gk_log GROUP BY ts::date) AS s;
SELECT count(sk) FROM (SELECT qsketch_agg(k) AS sk FROM gk_log GROUP BY w % 3) AS s;
RESET ROLE;
ALTER TABLE gk_log ENABLE ROW LEVEL SECURITY;
CREATE POLICY gk_seen ON gk_log USING (w = 2);
SET ROLE gk_user;
SELECT pg_temp.plan_has('SELECT gk_shout(w), qsketch_agg(k) FROM gk_log WHERE k > 2480 GROUP BY gk_shout(w)', 'QSketchScan');
SELECT g, qsketch_total(sk) > 1 AS some FROM (SELECT gk_shout(w) AS g, qsketch_agg(k) AS sk FROM gk_log WHERE k > 2480 GROUP BY gk_shout(w)) AS s;
RESET ROLE;
ALTER TABLE gk_log DISABLE ROW LEVEL SECURITY;

-- values that are equal though their bytes are not, and other types that have functions: a group has the value of its first row
CREATE TABLE gk_equal AS SELECT i AS k, CASE i % 4 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 WHEN 2 THEN 'NaN' ELSE i % 3 END::numeric AS n, CASE i % 5 WHEN 0 THEN -0.0 WHEN 1 THEN 0 WHEN 2 THEN 'NaN' WHEN 3 THEN '-Infinity' END::float8 AS f,
	(CASE i % 5 WHEN 0 THEN -0.0 ELSE i % 3 END)::float4 AS g, (ARRAY['de', 'DE', 'fr', NULL])[1 + i % 4] AS t, (ARRAY['de', 'de ', 'fr'])[1 + i % 3]::char(4) AS c, repeat('long ' || i % 2, 3000) AS long, ('10.0.0.' || i % 6)::inet AS ip, timestamptz '2026-01-01' + i * interval '7 min' AS ts
FROM generate_series(1, 3000) AS i;
ANALYZE gk_equal;
CREATE FUNCTION gk_rows(query text, scan boolean, memory text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text; BEGIN
	PERFORM set_config('qsketch.enable_columnscan', scan::text, true), set_config('work_mem', memory, true);
	EXECUTE format('SELECT string_agg(s::text, '' '' ORDER BY s::text) FROM (%s) AS s', query) INTO r;
	PERFORM set_config('qsketch.enable_columnscan', 'on', true);
	RETURN r;
END $$;
SELECT by, pg_temp.plan_has(q, 'QSketchScan') AS scanned, gk_rows(q, true, '64MB') = gk_rows(q, false, '64MB') AS same, gk_rows(m, true, '64kB') = gk_rows(m, false, '64kB') AS in_files
FROM unnest(ARRAY['n', 'n * 1.0', 'f', '-f', 'g', '-g', 'f, g, n', 'extract(hour FROM ts)', 'date_part(''hour'', ts)', 'floor(k / 300.0) * 300', 'round(g)', 'c', 'c, n', 'ip', 'set_masklen(ip, 31)', 't COLLATE "und-x-icu"', 'lower(t) COLLATE "und-x-icu", n', 'long::char(20000)', 'long COLLATE "und-x-icu"',
	'ARRAY[k % 3, NULL]', 'to_jsonb(k % 3)', 'int4range(0, k % 3)', 'k % 2 * -0.0::float8']) AS by,
	LATERAL format('SELECT %1$s, qsketch_agg(k, qsketch_new(size => ''4kB'')), count(1) FROM gk_equal GROUP BY %1$s', by) AS q, LATERAL format('SELECT k %% 200, %1$s, qsketch_agg(k), count(1) FROM gk_equal GROUP BY k %% 200, %1$s', by) AS m;
DROP TABLE gk_equal;
DROP FUNCTION gk_rows;

-- left to the ordinary plan, and what is not
SELECT by, pg_temp.plan_has(format('SELECT qsketch_agg(k) FROM gk_log GROUP BY %s', by), 'QSketchScan') AS scanned
FROM unnest(ARRAY['random()', 'w + random()', 'md5(country)::uuid', 'interval ''1 day'' * w', 'x', 'x + 1', 'gk_log', 'gk_log::text', 'ctid', 'generate_series(1, w % 2)', '(SELECT max(s.w) FROM gk_log AS s WHERE s.k = gk_log.k)',
	'w, x', 'country COLLATE "und-x-icu"', 'ROLLUP (w, country)', 'GROUPING SETS ((w % 2), ())']) AS by;
DROP TABLE gk_log;
DROP TYPE gk_kind;
DROP FUNCTION gk_half, gk_shout;
DROP ROLE gk_user;
