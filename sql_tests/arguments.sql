--
-- Which keys calls take: every kind of argument, in every function of keys.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set file :dir '/sql/include/arguments.psql'
\i :file
\set ECHO all
SET client_min_messages = warning;
SET DateStyle = 'ISO, YMD';
SET TimeZone = 'UTC';
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TYPE pair AS (a int, b text);
CREATE TYPE floatrange AS RANGE (subtype = float8);
CREATE DOMAIN number AS integer;
CREATE DOMAIN label AS varchar(20);
CREATE DOMAIN numbers AS integer[];
CREATE DOMAIN moods AS mood;

-- One row of columns of all kinds.
CREATE TABLE one AS
SELECT 1 AS w, 7::smallint AS i2, 7 AS i4, 7::bigint AS i8, 7::number AS dom, 7.5 AS num, 7.25::real AS f4, 7.25::float8 AS f8,
	'Key'::text AS t, 'Key'::varchar AS v, 'Key'::varchar(9) AS vn, 'Key'::char(5) AS c, 'Key'::name AS n, 'Key'::label AS l,
	'K'::"char" AS ch, 'good'::mood AS m, 'good'::moods AS dm, true AS b,
	date '2026-01-02' AS d, timestamp '2026-01-02 03:04' AS ts, timestamptz '2026-01-02 03:04+0' AS tz, time '03:04' AS ti,
	timetz '03:04+0' AS tt, interval '7 min' AS iv, '12345678-1234-1234-1234-123456789012'::uuid AS u, '\x0700'::bytea AS "by",
	inet '10.0.0.1' AS ip, cidr '10.0.0.0/8' AS net, macaddr '08:00:2b:01:02:03' AS ma, macaddr8 '08:00:2b:01:02:03:04:05' AS m8,
	'{"a": 1}'::jsonb AS j, '{"a": 1}'::json AS js, 7::oid AS o, 'pg_class'::regclass AS rc, '7'::xid8 AS x8, '0/7'::pg_lsn AS ls,
	'(1,2)'::point AS pt, '101'::varbit AS vb, 7::money AS mo, ARRAY[7, 8] AS ia, ARRAY[7, 8]::numbers AS da,
	ARRAY[7, 8]::smallint[] AS sa, ARRAY['Key', NULL] AS ta, ARRAY['Key']::varchar[] AS va, ARRAY['Key']::char(5)[] AS ca,
	ARRAY['Key']::name[] AS na, ARRAY['good']::mood[] AS em, ARRAY[interval '7 min'] AS iva, '{}'::uuid[] AS ua, '7 8'::int2vector AS vec,
	ROW(7, 'Key')::pair AS p, int4range(7, 9) AS ir, floatrange(7, 9) AS fr, '{[7,9)}'::int4multirange AS im,
	NULL::text AS nt, NULL::int AS ni, NULL::uuid AS nu;
CREATE TEMP TABLE argument (n serial, key text, parameter text, made text, found text);
INSERT INTO argument (key) SELECT attname FROM pg_attribute WHERE attrelid = 'one'::regclass AND attnum > 1 ORDER BY attnum;
UPDATE argument SET key = '"by"' WHERE key = 'by';
INSERT INTO argument (key) SELECT unnest(ARRAY['7', '-7', '10000000000', '7.5', '1e3', 'true', '''Key''', '''7''', '''10.0.0.1''', 'NULL',
	'''{7,8}''', '7::smallint', '7::bigint', '''Key''::varchar', '''Key''::char(5)', '''Key''::name', '''K''::"char"',
	'''good''::mood', '7::oid', 'i4::oid', 'i4::regclass', 't::varchar', 'v::text', 'c::text', 'v || c', 't || ''''', 'i2 + i4', 'f4 * 2',
	'd + ti', 'ts - ts', 'ARRAY[7, 8]', 'ARRAY[i2]', 'ARRAY[''Key'', ''b'']', 'ARRAY[v]', 'ARRAY[m]', 'ROW(7, ''Key'')', 'ROW(i2, v)',
	'ROW(7, NULL)', 'coalesce(v, ''x'')', 'coalesce(o, 0)', '(SELECT v)', 'CASE WHEN true THEN ''Key'' END', 'j -> ''a''', 'j ->> ''a''']);
INSERT INTO argument (key, parameter) VALUES ('$1', '''Key'''), ('$1', '''7'''), ('$1', 'NULL'), ('$1::int', '7'), ('$1::varchar', '''Key''');

-- What is made of it, and what lookups find in that; but not in which bytes of arrays of enums, which hash by their OIDs, and of pg_lsn,
-- whose text is longer from PostgreSQL 19 on.
UPDATE argument SET made = pg_temp.aggregates(key, parameter), found = pg_temp.lookups(key, parameter);
UPDATE argument SET made = regexp_replace(made, '(ops) [0-9a-f]+', '\1', 'g') WHERE key IN ('em', 'ARRAY[m]', 'ls');
\pset format unaligned
\pset tuples_only
SELECT format(E'%s\n\t%s', string_agg(key || coalesce(' = ' || parameter, ''), ', ' ORDER BY n), made) FROM argument GROUP BY made ORDER BY min(n);
SELECT format(E'%s\n\t%s', string_agg(key || coalesce(' = ' || parameter, ''), ', ' ORDER BY n), found) FROM argument GROUP BY found ORDER BY min(n);

-- Arguments beside the key, and calls that tell no type at all.
CREATE TEMP TABLE odd (n serial, call text);
INSERT INTO odd (call) SELECT unnest(ARRAY['qsketch_agg(iv, ''1'')', 'qsketch_agg(iv, NULL)', 'qsketch_agg(i2, i2)', 'qsketch_agg(i4, ''2'')',
	'qsketch_agg(o, i2)', 'qsketch_agg(o, o)', 'qsketch_agg(iv, iv)', 'qsketch_agg(iv, 1.5)', 'qsketch_agg(iv, NULL, NULL)',
	'qsketch_agg(NULL, NULL)', 'qsketch_agg(NULL, NULL, NULL)', 'qsketch_agg(''a'', ''1'')', 'qsketch_agg(''a'', 1)',
	'qsketch_agg(''a'', ''1'', qsketch_new())', 'qsketch_agg(DISTINCT i4)', 'qsketch_agg(t ORDER BY t)', 'qtop_agg(NULL, NULL)', 'qtop_agg(o, i2)',
	'qtop_agg(ti, ''5'')', 'qtop_agg(ti, 5, NULL)', 'qfilter_agg(NULL, NULL)', 'qfilter_agg(ti, NULL)', 'qfilter_row_agg(NULL, NULL, NULL)',
	'qfilter_row_agg(iv, ''1'', NULL)', 'qsets_agg(NULL, NULL)', 'qsets_agg(i2, NULL)', 'qsets_agg(''1'', ''{1}'')', 'qsets_agg(o, o)',
	'qsketch_estimate(NULL, ''a'')', 'qsketch_estimate(NULL, NULL)', 'qsketch_bounds(NULL, ''a'')', 'qtop_has(NULL, ''a'')',
	'qsketch_estimate(qsketch_new(), key => ''a'')', 'qsketch_estimate(qsketch_new(), keys => ARRAY[''a''])',
	'qsketch_lookup(qsketch_new(), ''{a}'')', 'qsketch_lookup(NULL, ARRAY[1])', 'qsketch_add(NULL, ''a'')', 'qsketch_add(qsketch_new(), ''a'', ''2'')',
	'qsketch_add(qsketch_new(), NULL, 2)', 'qfilter_estimate(NULL, ''a'', ''unbiased'')', 'qfilter_estimate(qfilter_new(9, 9), i4, method => ''unbiased'')',
	'qfilter_estimate(qfilter_new(9, 9), ''a'', method => ''unbiased'')', 'qfilter_estimate(qfilter_new(9, 9), ''a'', t)', 'qfilter_estimate(qfilter_new(9, 9), ia, ''unbiased'')',
	'qfilter_estimate(qfilter_new(9, 9), ia, t)', 'qfilter_contains(NULL, ''a'')', 'qfilter_contains(qfilter_new(9, 9), keys => ia)']);
SELECT call || ': ' || coalesce(pg_temp.outcome(call, NULL), 'NULL') FROM odd ORDER BY n;
\pset tuples_only
\pset format aligned
DROP TABLE one;
DROP DOMAIN number, label, numbers, moods;
DROP TYPE mood, pair, floatrange;

-- Many values, some of them equal, and none; of domains, and of what is cast without a change: the same by all plans.
CREATE DOMAIN clock AS time;
CREATE DOMAIN large_object AS oid;
CREATE TABLE keys AS
SELECT i AS w, 1000 - x AS i, x * interval '7 min' AS iv, time '00:00' + x * interval '7 min' AS ti,
	(time '00:00' + x * interval '7 min')::clock AS cl, (time '00:00' + x * interval '7 min')::timetz AS tt,
	jsonb_build_object('x', x) AS j, x::oid AS o, x::oid::large_object AS lo, x::oid::regclass AS rc,
	('08:00:2b:01:' || to_char(x % 100, 'FM00') || ':' || to_char(x / 100, 'FM00'))::macaddr AS ma,
	('08:00:2b:01:02:03:' || to_char(x % 100, 'FM00') || ':' || to_char(x / 100, 'FM00'))::macaddr8 AS m8,
	'0/0'::pg_lsn + x::numeric AS ls, int4range(x, x + 5) AS ir, int8range(x, x + 5) AS br, numrange(x / 8.0, x) AS nr,
	tsrange('2026-01-01', timestamp '2026-01-02' + x * interval '1 h') AS tr,
	tstzrange('2026-01-01 00:00+0', timestamptz '2026-01-02 00:00+0' + x * interval '1 h') AS zr,
	daterange(date '2026-01-01', date '2026-01-02' + x) AS dr, ('key' || x)::varchar AS v, ('key' || x)::char(9) AS c, ('key' || x)::name AS n
FROM (SELECT i, CASE WHEN i % 10 > 0 THEN i * i % 2003 END AS x FROM generate_series(1, 4000) AS i) AS s;
ANALYZE keys;
CREATE FUNCTION pg_temp.value(query text) RETURNS text LANGUAGE plpgsql AS
$$ DECLARE value text; BEGIN EXECUTE query INTO value; RETURN md5(value); END $$;
CREATE TEMP TABLE result AS
SELECT key, format('SELECT ' || call || ' FROM keys', key) AS query, NULL::text AS now, NULL::boolean AS scan, NULL::text AS ordinary
FROM (SELECT attname FROM pg_attribute WHERE attrelid = 'keys'::regclass AND attnum > 1
	UNION ALL VALUES ('i::oid'), ('i::large_object'), ('i::regclass'), ('v::text'), ('c::text'), ('n::text'), ('c::varchar')) AS k(key), making;
SET max_parallel_workers_per_gather = 0;
UPDATE result SET now = pg_temp.value(query), scan = pg_temp.plan_has(query, 'QSketchScan');
SET qsketch.enable_columnscan = off;
UPDATE result SET ordinary = pg_temp.value(query);
SELECT count(*), count(DISTINCT now) > 100 AS differ, bool_and(now = ordinary) AS same_on_ordinary_plan,
	count(DISTINCT now) FILTER (WHERE key IN ('v', 'c', 'n', 'v::text', 'c::text', 'n::text', 'c::varchar')) AS of_strings,
	(SELECT count(*) FROM making) AS forms FROM result;
SELECT string_agg(DISTINCT split_part(query, '(', 1), ' ') AS without_column_scan FROM result WHERE NOT scan AND key !~ '::';
-- and in windows: each frame is the aggregate of its rows
SELECT count(*) AS frames, bool_and(moved IS NOT DISTINCT FROM (SELECT qsketch_agg(a.v, qsketch_new(size => '1kB')) FROM keys AS a WHERE a.w BETWEEN f.w - 3 AND f.w)) AS v,
	bool_and(moved_c IS NOT DISTINCT FROM (SELECT qsketch_agg(a.c, a.w, qsketch_new(size => '1kB')) FROM keys AS a WHERE a.w BETWEEN f.w - 3 AND f.w)) AS c,
	bool_and(moved_i IS NOT DISTINCT FROM (SELECT qsketch_agg(a.i, a.w) FROM keys AS a WHERE a.w BETWEEN f.w - 3 AND f.w)) AS i,
	bool_and(moved_rc IS NOT DISTINCT FROM (SELECT qsketch_agg(a.rc) FROM keys AS a WHERE a.w BETWEEN f.w - 3 AND f.w)) AS rc,
	bool_and(filter IS NOT DISTINCT FROM (SELECT qfilter_agg(a.c, qfilter_new_bloom(10)) FROM keys AS a WHERE a.w BETWEEN f.w - 3 AND f.w)) AS filter,
	bool_and(list IS NOT DISTINCT FROM (SELECT qtop_agg(a.c, 5) FROM keys AS a WHERE a.w BETWEEN f.w - 3 AND f.w)) AS list
FROM (SELECT w, qsketch_agg(v, qsketch_new(size => '1kB')) OVER frame AS moved, qsketch_agg(c, w, qsketch_new(size => '1kB')) OVER frame AS moved_c,
		qsketch_agg(i, w) OVER frame AS moved_i, qsketch_agg(rc) OVER frame AS moved_rc,
		qfilter_agg(c, qfilter_new_bloom(10)) OVER frame AS filter, qtop_agg(c, 5) OVER frame AS list
	FROM keys WHERE w < 50 WINDOW frame AS (ORDER BY w ROWS 3 PRECEDING)) AS f;
RESET qsketch.enable_columnscan;
DROP TABLE keys;
DROP DOMAIN clock, large_object;

-- forms that people write first: they are answered, or the error says what to write
SELECT qtop_total(qtop_agg(k, 10::bigint)) AS bigint, qtop_total(qtop_agg(k, (SELECT count(*) FROM generate_series(1, 5)))) AS subquery,
	qtop_total(qtop_agg(k, 3::smallint)) AS smallint FROM generate_series(1, 3) AS k;
SELECT qtop_agg(k, 4294967299) FROM generate_series(1, 3) AS k;
SELECT qfilter_new_bloom(1e6) = qfilter_new_bloom(1000000) AS same, qfilter_new_bloom(999999.5) = qfilter_new_bloom(1000000) AS rounded_up;
SELECT qfilter_new_bloom(1e30);
SELECT qfilter_new_bloom('NaN');
SELECT qfilter_agg(k) FROM generate_series(1, 3) AS k;
SELECT * FROM qtop_list(qtop_new(3));
SELECT qsketch_estimate(list, 2) AS estimate, qsketch_total(list) AS total, qsketch_merge_agg(list) OVER () = qtop_sketch(list) AS merged
FROM (SELECT qtop_agg(k, 2) AS list FROM generate_series(1, 3) AS k) AS l;
SELECT qfilter_new_bloom(0, 0, 0, 'standard');
SELECT qfilter_new_bloom(0.9);

-- the scan reads the number of keys as the aggregate does, whatever type it was declared with
CREATE DOMAIN number AS bigint;
CREATE AGGREGATE own_top(anycompatible, number) (SFUNC = _qtop_agg_trans, STYPE = qtop, COMBINEFUNC = _qtop_agg_combine, FINALFUNC = _qtop_agg_final);
CREATE TABLE numbers AS SELECT i AS k FROM generate_series(1, 1000) AS i;
ANALYZE numbers;
SELECT own_top(k, 4294967396::number) FROM numbers;
SELECT qtop_total(own_top(k, 10::number)) FROM numbers;
SELECT qtop_agg(k, 4294967396) FROM numbers;
DROP TABLE numbers;
DROP AGGREGATE own_top(anycompatible, number);
DROP DOMAIN number;
