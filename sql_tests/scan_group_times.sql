--
-- QSketchScan with GROUP BY of times that are cut into steps, in all time zones: the groups
-- and bytes of the ordinary plan.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/scan_groups.psql'
\i :file
\set ECHO all
SET enable_sort = off;
-- changes of time zones: at midnight, by half an hour, by a day, of old; the same times without a zone; times that nothing is asked about
CREATE TABLE gt_zones AS SELECT tz, tz AT TIME ZONE 'UTC' AS ts, row_number() OVER () AS k FROM (
	SELECT timestamptz '2011-12-29 UTC' + r * interval '7 min' AS tz FROM generate_series(1, 1500) AS r
	UNION ALL SELECT timestamptz '2018-10-20 UTC' + r * interval '7 min 1 s' FROM generate_series(1, 9000) AS r
	UNION ALL SELECT timestamptz '2018-10-27 UTC' + r * interval '97 s' FROM generate_series(1, 1800) AS r
	UNION ALL SELECT timestamptz '1985-12-31 UTC' + r * interval '3 min' FROM generate_series(1, 900) AS r
	UNION ALL SELECT timestamptz '2010-11-06 UTC' + r * interval '30 s' FROM generate_series(1, 6000) AS r
	UNION ALL SELECT timestamptz '1950-01-01 UTC' + r * interval '13 days 1 h 17 min' FROM generate_series(1, 1000) AS r) AS t;
INSERT INTO gt_zones VALUES ('infinity', '-infinity', 1), ('-infinity', 'infinity', 2), (NULL, NULL, 3);
INSERT INTO gt_zones SELECT t AT TIME ZONE 'UTC', t, r FROM (VALUES (timestamp '4712-01-01 BC'), ('0044-03-15 01:00 BC'), ('1883-11-18 12:00'), ('290000-12-31')) AS v (t), generate_series(1, 20) AS r;
VACUUM ANALYZE gt_zones;
CREATE FUNCTION pg_temp.in_zone(zone text, by text, OUT same boolean, OUT groups int) LANGUAGE plpgsql AS
$$ BEGIN
	PERFORM set_config('timezone', zone, true);
	SELECT s.* INTO same, groups FROM pg_temp.same(format('SELECT %s AS g, qsketch_agg(k) FROM gt_zones GROUP BY 1', by)) AS s;
END $$;
SELECT zone, by, s.* FROM unnest(ARRAY['Asia/Beirut', 'Australia/Lord_Howe', 'Pacific/Apia', 'America/Sao_Paulo', 'Europe/London', 'UTC']) AS zone,
	unnest(ARRAY['tz::date', 'date_trunc(''hour'', tz)', 'date_trunc(''week'', tz)', 'date_bin(''20 min'', tz, ''2000-01-01'')', 'tz::timestamp::date', 'ts::timestamptz::date']) AS by, LATERAL pg_temp.in_zone(zone, by) AS s;
-- weeks that begin on Sunday, and other shifts by up to a day; longer ones are evaluated for each row
SELECT by, bool_and(same) AS same, sum(groups) AS groups FROM unnest(ARRAY['Asia/Beirut', 'Australia/Lord_Howe', 'Pacific/Apia', 'America/Sao_Paulo', 'Europe/London', 'UTC']) AS zone,
	unnest(ARRAY['date_trunc(''week'', tz + interval ''1 day'') - interval ''1 day''', 'date_trunc(''hour'', tz + interval ''1 day'')', '(tz - interval ''1 day'')::date', '(tz - interval ''24 h'')::date', 'date_bin(''20 min'', tz + interval ''1 day'', ''2000-01-01'')', 'date_trunc(''day'', (ts + interval ''30 min'')::timestamptz)',
	'((tz + interval ''1 day'') AT TIME ZONE ''Asia/Kathmandu'')::date', '((tz AT TIME ZONE ''Pacific/Apia'') - interval ''1 day'')::date', 'date_trunc(''day'', tz + interval ''1 day'', ''Europe/London'')', '(tz + interval ''1 day'' - interval ''1 day'')::date', '(tz + interval ''9 days'')::date', 'timestamptz_pl_interval(tz, interval ''5 days'')::date', '(tz + interval ''1 month'')::date']) AS by,
	LATERAL pg_temp.in_zone(zone, by) AS s GROUP BY by ORDER BY by COLLATE "C";
-- a zone that is named: by an abbreviation, also one whose meaning changed, and by rules; the session's zone is another one
SELECT by, count(*), bool_and(same) AS same, sum(groups) AS groups
FROM unnest(ARRAY['Asia/Beirut', 'Australia/Lord_Howe', 'Pacific/Apia', 'America/Sao_Paulo', 'Asia/Kathmandu', 'Africa/Monrovia', 'America/St_Johns', 'Europe/Berlin', 'CET', 'MSK', 'KGT', 'EST5EDT,M3.2.0,M11.1.0', '<X>3<Y>,60/0,61/0', 'AAA-20:30']) AS zone,
	unnest(ARRAY['(tz AT TIME ZONE %1$L)::date', 'date_trunc(''day'', tz, %1$L)', 'date_trunc(''hour'', tz, %1$L)', 'date_trunc(''month'', tz, %1$L)', 'date_trunc(''hour'', tz AT TIME ZONE %1$L)', 'date_trunc(''day'', tz AT TIME ZONE %1$L) AT TIME ZONE %1$L',
	'date_bin(''1 h'', tz AT TIME ZONE %1$L, ''2012-01-01 00:07'')', 'date_bin(''1 h'', ts AT TIME ZONE ''America/Sao_Paulo'' AT TIME ZONE %1$L, ''2012-01-01 00:07'')', '(ts AT TIME ZONE ''UTC'' AT TIME ZONE %1$L)::date', 'date_trunc(''hour'', ts AT TIME ZONE %1$L, ''Europe/Berlin'')', 'date_bin(''45 min'', ts AT TIME ZONE %1$L, ''2012-01-01 00:07'')']) AS by, LATERAL pg_temp.in_zone('America/Sao_Paulo', format(by, zone)) AS s
GROUP BY by ORDER BY by COLLATE "C";
-- what is made of a step; several steps, and other uses of the time
SELECT by, s.* FROM unnest(ARRAY['date_trunc(''day'', tz)::date', 'extract(dow FROM date_trunc(''day'', tz))::int', 'NULLIF(ts::date, ''2018-11-03'')', 'to_char(tz::date, ''YYYY-MM'') = ''2018-11''', 'CASE WHEN ts::date > ''2018-11-03'' THEN ts::date END',
	'date_trunc(''day'', ts) > date_trunc(''month'', ts)', 'ts::date + (extract(hour FROM ts)::int / 12)', 'date_trunc(''hour'', date_trunc(''day'', tz))', 'date_trunc(''day'', ts::date)', 'coalesce(date_trunc(''day'', tz, (SELECT min(NULL::text))), tz)']) AS by,
	LATERAL pg_temp.in_zone('America/Sao_Paulo', by) AS s;
-- a call that the expression does not evaluate, where it would raise an error
SET gt.unit = 'all';
SELECT by, s.* FROM unnest(ARRAY['CASE current_setting(''gt.unit'') WHEN ''all'' THEN NULL ELSE date_trunc(current_setting(''gt.unit''), ts) END', 'CASE WHEN current_setting(''gt.unit'') <> ''all'' THEN date_trunc(current_setting(''gt.unit''), tz) END',
	'current_setting(''gt.unit'') = ''all'' OR date_trunc(current_setting(''gt.unit''), ts) > ''2018-11-03''', 'coalesce(length(current_setting(''gt.unit'')), extract(day FROM date_trunc(current_setting(''gt.unit''), ts)))',
	'(length(current_setting(''gt.unit'')), date_trunc(current_setting(''gt.unit''), ts)) < (9, timestamp ''2018-11-03'')', '(string_to_array(nullif(current_setting(''gt.unit''), ''all''), '',''))[extract(day FROM date_trunc(current_setting(''gt.unit''), ts))::int]']) AS by,
	LATERAL pg_temp.in_zone('UTC', by) AS s;
-- keys that are steps or remainders have the same cache: of all families, with weights, in groups
CREATE FUNCTION pg_temp.keys_in_zone(zone text, key text, OUT all_same boolean, OUT scanned boolean) LANGUAGE plpgsql AS
$$ DECLARE q text := format('SELECT qsketch_agg(%1$s), qsketch_agg(%1$s, k), qsets_agg(k %% 9, %1$s), qfilter_agg(%1$s, qfilter_new_bloom(5000)), qsketch_agg(%1$s) FILTER (WHERE k %% 3 = 0), qtop_sketch(qtop_agg(%1$s, 9)) FROM gt_zones', key); BEGIN
	PERFORM set_config('timezone', zone, true);
	SELECT same INTO all_same FROM pg_temp.same(q);
	SELECT same AND all_same INTO all_same FROM pg_temp.same(format('SELECT k %% 5, qsketch_agg(%s) FROM gt_zones GROUP BY 1', key));
	scanned := pg_temp.plan_has(q, 'QSketchScan');
END $$;
SELECT key, bool_and(all_same) AS same, bool_and(scanned) AS scanned FROM unnest(ARRAY['Asia/Beirut', 'Australia/Lord_Howe', 'Pacific/Apia', 'America/Sao_Paulo', 'UTC']) AS zone,
	unnest(ARRAY['tz::date', 'date_trunc(''hour'', tz)', 'date_trunc(''second'', tz)', 'date_trunc(''day'', tz, ''Europe/Berlin'')', '(tz AT TIME ZONE ''Asia/Kathmandu'')::date', 'date_bin(''20 min'', tz, ''2000-01-01'')', 'tz::timestamp::date', 'ts::timestamptz::date',
	'extract(dow FROM date_trunc(''day'', tz))::int', 'extract(epoch FROM date_trunc(''day'', tz))::float8 * -0.0', 'NULLIF(ts::date, ''2018-11-03'')', 'k % 100', 'k / -7']) AS key, LATERAL pg_temp.keys_in_zone(zone, key) AS s GROUP BY key ORDER BY key COLLATE "C";
-- a zone that is a parameter, and another one in each run
SET timezone = 'Europe/Berlin';
SELECT z, qsketch_total(s) AS total, pg_temp.plan_has(format('SELECT qsketch_agg((tz AT TIME ZONE %L)::date) FROM gt_zones', z), 'QSketchScan') AS scanned, s = (SELECT qsketch_agg(d) FROM (SELECT (tz AT TIME ZONE z)::date AS d FROM gt_zones OFFSET 0) AS o) AS same
FROM unnest(ARRAY['UTC', NULL, 'Asia/Kathmandu', 'Pacific/Apia', 'UTC']) AS z, LATERAL (SELECT qsketch_agg((tz AT TIME ZONE z)::date) AS s FROM gt_zones) AS k;
PREPARE by_zone(text, text) AS SELECT date_trunc($1, tz, $2) AS g, qsketch_total(qsketch_agg(k)) FROM gt_zones WHERE tz >= '2018-11-03' AND tz < '2018-11-06' GROUP BY 1 ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
SET enable_sort = on;
EXPLAIN (COSTS OFF) EXECUTE by_zone('day', 'UTC');
SET enable_sort = off;
EXECUTE by_zone('day', 'UTC');
EXECUTE by_zone('day', 'America/Sao_Paulo');
EXECUTE by_zone('week', NULL);
RESET plan_cache_mode;
SELECT q, s.* FROM unnest(ARRAY['SELECT z, s.* FROM unnest(ARRAY[''UTC'', NULL, ''Asia/Kathmandu'', ''Pacific/Apia'', ''UTC'']) AS z, LATERAL (SELECT (tz AT TIME ZONE z)::date, qsketch_agg(k) FROM gt_zones GROUP BY 1) AS s',
	'SELECT date_trunc(''day'', tz, current_setting(''timezone'')), qsketch_agg(k) FROM gt_zones GROUP BY 1', 'SELECT date_trunc(''day'', tz, (SELECT max(name) FROM pg_timezone_names WHERE name = ''Asia/Tokyo'')), qsketch_agg(k) FROM gt_zones GROUP BY 1']) AS q, LATERAL pg_temp.same(q) AS s;
-- few times are asked about; none that no row has, where the expression has no value
CREATE SEQUENCE gt_calls;
CREATE FUNCTION gt_zone() RETURNS text STABLE LANGUAGE sql AS $$ SELECT CASE WHEN nextval('gt_calls') > 0 THEN 'Asia/Tokyo' END $$;
CREATE FUNCTION pg_temp.calls(by text) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE before bigint := nextval('gt_calls'); BEGIN
	EXECUTE format('SELECT sum(qsketch_total(s)) FROM (SELECT qsketch_agg(k) AS s FROM gt_zones WHERE tz >= ''2018-10-20'' AND tz < ''2018-12-20'' GROUP BY %s) AS t', by);
	RETURN nextval('gt_calls') - before;
END $$;
SELECT by, pg_temp.calls(by) < 1600 AS few FROM unnest(ARRAY['date_trunc(''day'', tz, gt_zone())', '(tz AT TIME ZONE gt_zone())::date', 'date_trunc(''month'', tz, gt_zone())', 'date_trunc(''week'', tz AT TIME ZONE gt_zone())::date',
	'date_trunc(''week'', tz AT TIME ZONE gt_zone() + interval ''1 day'') - interval ''1 day''', 'date_trunc(''week'', tz AT TIME ZONE gt_zone() + interval ''2 days'')']) AS by;
SELECT count(*) FROM (SELECT 100 / (ts::date - date '2018-11-03') AS g, qsketch_agg(k) FROM gt_zones WHERE ts >= '2018-10-20' AND ts < '2018-12-20' AND ts::date <> '2018-11-03' GROUP BY 1) AS s;
\set VERBOSITY sqlstate
SELECT count(s) FROM (SELECT 100 / (ts::date - date '2018-11-03') AS g, qsketch_agg(k) AS s FROM gt_zones WHERE ts >= '2018-10-20' AND ts < '2018-12-20' GROUP BY 1) AS s;
SELECT count(s) FROM (SELECT date_trunc('day', tz, 'Europe/Atlantis') AS g, qsketch_agg(k) AS s FROM gt_zones WHERE ts > '2018-11-03' GROUP BY 1) AS s;
SELECT count(s) FROM (SELECT date_trunc('day', tz, 'Europe/Atlantis') AS g, qsketch_agg(k) AS s FROM gt_zones WHERE k < 0 GROUP BY 1) AS s;
-- the zone of infinite times matters from PostgreSQL 19 on
CREATE FUNCTION pg_temp.outcome(query text, scan boolean) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text; BEGIN
	PERFORM set_config('qsketch.enable_columnscan', scan::text, true);
	EXECUTE query INTO r;
	RETURN r;
EXCEPTION WHEN invalid_parameter_value THEN RETURN SQLERRM; END $$;
SELECT pg_temp.plan_has(q, 'QSketchScan') AS scanned, pg_temp.outcome(q, true) = pg_temp.outcome(q, false) AS same FROM CAST('SELECT count(s) FROM (SELECT date_trunc(''day'', tz, ''Europe/Atlantis'') AS g, qsketch_agg(k) AS s FROM gt_zones WHERE ts < ''4713-01-01 BC'' GROUP BY 1) AS s' AS text) AS q;
\set VERBOSITY default
-- in any order, and in steps of all lengths
CREATE TABLE gt_steps AS SELECT timestamp '2026-03-20' + (r * 7919::bigint % 20011) * interval '13 s' AS ts, timestamp '2026-03-20' + r * interval '13 ms' AS fast, timestamp '2026-03-20' + r * interval '13 s' AS slow, r AS k
FROM generate_series(1, 20000) AS r;
VACUUM ANALYZE gt_steps;
SELECT unit, c, s.* FROM unnest(ARRAY['milliseconds', 'second', 'minute', 'hour', 'day', 'month', 'century']) AS unit, unnest(ARRAY['ts', 'fast']) AS c,
	LATERAL pg_temp.same(format('SELECT date_trunc(%L, %I) AS g, count(*), qsketch_agg(k) FROM gt_steps GROUP BY 1', unit, c)) AS s;
-- the planner: groups of many times are written often, unless rows come in their order; a zone does not make more groups
RESET enable_sort;
SET work_mem = '64kB';
SELECT c, pg_temp.plan_has(format('SELECT date_trunc(''minute'', %I), qsketch_agg(k) FROM gt_steps GROUP BY 1', c), 'QSketchScan') AS scanned FROM unnest(ARRAY['ts', 'slow']) AS c;
SET work_mem = '64MB';
CREATE FUNCTION pg_temp.expected(query text) RETURNS int LANGUAGE plpgsql AS $$ DECLARE plan json; BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
SELECT by, pg_temp.expected(format('SELECT %s, qsketch_agg(k) FROM gt_steps GROUP BY 1', by)) BETWEEN 4 AND 7 AS few
FROM unnest(ARRAY['ts::date', '(ts AT TIME ZONE ''UTC'' AT TIME ZONE ''Asia/Tokyo'')::date', 'ts::timestamptz::date', 'date_trunc(''day'', ts AT TIME ZONE ''UTC'', ''Asia/Tokyo'')',
	'floor(extract(epoch FROM ts) / 86400) * 86400', 'floor(date_part(''epoch'', ts) / 86400)', 'date_trunc(''day'', ts + interval ''1 day'') - interval ''1 day''',
	'floor(extract(epoch FROM ts) / 0)', 'floor(extract(hour FROM ts) / 86400)', 'floor(k::numeric / 86400)']) AS by;
-- a mask of so many bits tells nothing
SELECT pg_temp.expected('SELECT k::bigint & 9223372036854775807, qsketch_agg(k) FROM gt_steps GROUP BY 1') > 7 AS many;
DROP TABLE gt_zones, gt_steps;
DROP FUNCTION gt_zone;
DROP SEQUENCE gt_calls;
