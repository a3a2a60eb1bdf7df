--
-- QSketchScan with PostgreSQL's own aggregates of any expressions beside ours: the same as the
-- ordinary plan, alone, by group, written to files and merged, and in parallel.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/columnscan.psql'
\i :file
\set ECHO all
CREATE TABLE a_log (k int, s smallint, bytes bigint, f float8, price numeric, bot boolean, ts timestamptz, t text, n text, ip inet, b bytea, r int4range);
INSERT INTO a_log SELECT i * 7919 % 500, NULLIF(i % 70 - 30, 3), i % 900 * 1000000::bigint, i % 50 / 4.0, round(i % 90 / 7.0, i % 3), NULLIF(i % 3, 2) = 0, timestamptz '2026-01-01' + i % 500 * interval '1 hour',
	'T' || i % 200, NULLIF('n' || i % 5, 'n1'), ('10.0.' || i % 9 || '.' || i % 99)::inet, decode(md5((i % 60)::text), 'hex'), int4range(i % 5, 9) FROM generate_series(1, 8000) AS i;
INSERT INTO a_log DEFAULT VALUES;
ALTER TABLE a_log SET (parallel_workers = 7);
VACUUM ANALYZE a_log;

-- Sums of squares in float8 depend on the order of rows in their last digits.  From PostgreSQL 17 on sum and
-- avg of intervals have one state in the ordinary plan, which is cheaper than two in the scan.
SET max_parallel_workers_per_gather = 0;
CREATE TEMP TABLE a_calls AS SELECT * FROM unnest(ARRAY['sum(bytes * 2)', 'sum(CASE WHEN bot THEN 1 ELSE 0 END)', 'sum(1)', 'sum(NULL::int)', 'sum(s) FILTER (WHERE bot), sum(s + 1) FILTER (WHERE k % 3 = 0)', 'avg(s + 0.5)', 'avg(f / 2), avg(bytes)', 'stddev(s)', 'stddev_pop(bytes), variance(price)',
	'round(var_samp(f)::numeric, 9)', 'bool_or(bot), bool_and(s > -99), every(bot IS NULL)', 'bit_and(s), bit_or(bytes), bit_xor(k)', 'round(corr(f, s)::numeric, 9)', 'round(regr_slope(f, s)::numeric, 9), regr_count(f, s), regr_avgx(s, f)', 'round(covar_pop(s, s)::numeric, 9)', 'min(lower(t)), max(t || n), max(n)', 'min(price * 2), max(-price)', 'max(ip), min(host(ip))',
	'max(ts - ''2026-01-01''), sum(ts - ''2026-01-01'')', 'avg(ts - ''2026-01-01'')', 'max(ARRAY[s, k])', 'range_intersect_agg(r)', 'sum(bytes::money)', 'max(a_log::text)', 'count(a_log), count(s + bytes), min(bot::text)', 'sum(s) + sum(s) * 2 + avg(s)']) AS call;
SELECT call, s.* FROM a_calls, pg_temp.same(format('SELECT qsketch_agg(k), %s FROM a_log WHERE k IS NOT NULL', call)) AS s;
SET max_parallel_workers_per_gather = 0;
-- groups, all in memory, and with most of them in files
SELECT call, a.same, a.scans, b.same FROM a_calls, pg_temp.compared(format('SELECT s, bot, qsketch_agg(k, qsketch_new(size => ''4kB'')), %s FROM a_log GROUP BY s, bot', call)) AS a,
	set_config('work_mem', '64kB', true), pg_temp.compared(format('SELECT k, qsketch_agg(s, qsketch_new(size => ''4kB'')), %s FROM a_log GROUP BY k', call)) AS b;
-- states that cannot be combined: one for all rows, in no parallel plan
SELECT call, s.*, pg_temp.scans(format('SELECT qsketch_agg(k), %s FROM a_log GROUP BY s', call)) AS by_group FROM unnest(ARRAY['json_agg(s)', 'jsonb_agg(a_log)', 'json_object_agg(coalesce(n, ''none''), s)', 'jsonb_object_agg(coalesce(t, ''none''), s)']) AS call,
	pg_temp.same(format('SELECT qsketch_agg(k), md5((%s)::text) FROM a_log', call)) AS s;
SET max_parallel_workers_per_gather = 0;
SELECT call, s.* FROM unnest(ARRAY['array_agg(s)', 'array_agg(t)', 'array_agg(ARRAY[s, k])', 'string_agg(n, '','')', 'string_agg(n, t) FILTER (WHERE s > 3)', 'string_agg(b, ''x'')', 'string_agg(upper(t), NULL)', 'range_agg(r)', 'array_agg(a_log)']) AS call,
	pg_temp.compared(format('SELECT qsketch_agg(k), %s FROM a_log', call)) AS s;
-- no rows, only NULLs
SELECT s.* FROM pg_temp.compared('SELECT qsketch_agg(k), sum(s + 1), array_agg(s), string_agg(t, t), bool_or(bot), stddev(f), count(s + 1) FROM a_log WHERE k < 0') AS s;
SELECT s.* FROM pg_temp.compared('SELECT qsketch_agg(k), sum(s + 1), array_agg(s), string_agg(t, t), bool_or(bot), stddev(f), count(s + 1) FROM a_log WHERE k IS NULL') AS s;
-- partitions
CREATE TABLE a_parts (k int, d int, x numeric) PARTITION BY LIST (d);
CREATE TABLE a_part1 PARTITION OF a_parts FOR VALUES IN (1);
CREATE TABLE a_part2 PARTITION OF a_parts FOR VALUES IN (2);
INSERT INTO a_parts SELECT i % 50, 1 + i % 2, i / 8.0 FROM generate_series(1, 5000) AS i;
ANALYZE a_parts;
SELECT q, same, scanned FROM unnest(ARRAY['SELECT qsketch_agg(k), sum(x * 2), stddev(k + d), bool_or(d = 1) FROM a_parts', 'SELECT qsketch_agg(k), json_agg(k) FROM a_parts WHERE k = 3']) AS q, pg_temp.same(q);
-- left to the ordinary plan: DISTINCT, ordered ones, those of other owners
SET max_parallel_workers_per_gather = 0;
CREATE AGGREGATE a_sum(int) (sfunc = int4pl, stype = int);
SELECT call, pg_temp.scans(format('SELECT qsketch_agg(k), %s FROM a_log', call)) FROM unnest(ARRAY['sum(DISTINCT s)', 'array_agg(s ORDER BY k)', 'percentile_disc(0.5) WITHIN GROUP (ORDER BY s)', 'a_sum(k)', 'sum(random())', 'sum((SELECT count(*) FROM a_parts AS p WHERE p.k = a_log.k))', 'sum(sum(s)) OVER ()']) AS call;
-- errors, and who may call what
SELECT qsketch_agg(k), sum(1 / s) FROM a_log;
SELECT qsketch_total(qsketch_agg(k)), sum(1 / s) FROM a_log WHERE s = 5;
SELECT qsketch_agg(k), sum(9223372036854775807 - bytes) FILTER (WHERE s = 1) > 0, sum(bytes * 9223372036854775807) FILTER (WHERE s = 1) FROM a_log;
CREATE ROLE a_user;
GRANT SELECT ON a_log TO a_user;
CREATE FUNCTION a_twice(int) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT SECURITY DEFINER AS 'SELECT 2 * $1';
REVOKE ALL ON FUNCTION a_twice(int) FROM public;
SET ROLE a_user;
SELECT qsketch_agg(k), sum(a_twice(k)) FROM a_log;
RESET ROLE;
DROP TABLE a_log, a_parts;
DROP AGGREGATE a_sum(int);
DROP FUNCTION a_twice;
DROP ROLE a_user;
