--
-- Concrete aggregates, which are there so that they can be pushed down: a call
-- finds the one of its type, and gives what the polymorphic one gives; no call
-- that worked without them fails or means something else.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set file :dir '/sql/include/resolution.psql'
\i :file
\set ECHO all
SET client_min_messages = warning;
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TYPE pair AS (a int, b text);
CREATE TYPE floatrange AS RANGE (subtype = float8);
CREATE DOMAIN span AS interval;
CREATE DOMAIN spans AS span CHECK (value > '0');
CREATE DOMAIN clock AS time;
CREATE DOMAIN large_object AS oid;
CREATE DOMAIN small AS smallint;
CREATE DOMAIN label AS varchar(20);
CREATE DOMAIN moods AS mood;

-- Every built-in type, and its arrays: which key all aggregates take it for.
CREATE TEMP TABLE type AS
SELECT oid::regtype::text AS name, pg_temp.key_types_of(format('(SELECT NULL::%s AS k, 1 AS w) AS t', oid::regtype)) AS now
FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm');
SELECT count(*) > 150 AS many FROM type;
-- those that are taken for others
SELECT now, string_agg(DISTINCT regexp_replace(name, '^reg[a-z]+$', 'reg...'), ' ') AS types
FROM type WHERE now NOT IN (name, 'anyelement') AND now NOT LIKE '...%' GROUP BY now ORDER BY now;

-- Calls: expressions in all forms, and odd arguments.
CREATE TEMP TABLE of_types (i2 smallint, i int, i8 bigint, w int, t text, v varchar, c char(5), n name, ci cidr,
	iv interval, sp span, sps spans, ti time, cl clock, tt timetz, o oid, lo large_object, rc regclass, sm small, l label,
	j jsonb, js json, m mood, ms moods, p pair, fr floatrange, ir int4range, im int4multirange, x xid8, mo money,
	d date, ts timestamp, tz timestamptz, ma macaddr, m8 macaddr8);
CREATE TEMP TABLE calls (n serial, key text, call text, now text);
INSERT INTO calls (key, call) SELECT key, format(form.call, key)
FROM unnest(ARRAY['''a''', '''12:00''', 'NULL', '''{1,2}''', '1', '-1', '1::smallint', '10000000000', '1.5', '1e5::real',
	'true', 'i2', 'sm', 'sm + i2', 'v', 'c', 'l', 'n', 'v || c', 'ci', 'sp', 'sps', 'ti', 'cl', 'ti + iv', 'ts - ts', 'd - d',
	'd + ti', 'CURRENT_TIME', 'o', 'lo', 'rc', 'i::oid', 'm', 'ms', 'ARRAY[i2]', 'ARRAY[iv]', 'ARRAY[o]', 'ARRAY[v]', 'p',
	'ROW(iv, o)', 'fr', 'ir', 'im', 'lower(ir)', 'x', 'mo', 'js', 'j -> ''a''', 'j ->> ''a''', 'ma', 'm8', 'NULLIF(iv, ''0'')',
	'coalesce(o, 0)', 'least(ti, ''10:00'')', '(SELECT iv)', 'CASE WHEN true THEN ''a'' END']) WITH ORDINALITY AS k(key, n), form
ORDER BY k.n, form.n;
INSERT INTO calls (call) SELECT unnest(ARRAY['qsketch_agg(iv, ''1'')', 'qsketch_agg(iv, NULL)', 'qsketch_agg(i2, i2)',
	'qsketch_agg(o, i2)', 'qsketch_agg(o, o)', 'qsketch_agg(iv, iv)', 'qsketch_agg(iv, 1.5)', 'qsketch_agg(iv, NULL, NULL)',
	'qsketch_agg(NULL, NULL)', 'qsketch_agg(NULL, NULL, NULL)', 'qsketch_agg(''a'', ''1'')',
	'qsketch_agg(''a'', ''1'', qsketch_new())', 'qtop_agg(NULL, NULL)', 'qtop_agg(o, i2)', 'qtop_agg(ti, ''5'')', 'qtop_agg(ti, 5, NULL)',
	'pbf_agg(NULL, NULL)', 'pbf_agg(ti, NULL)', 'pbf_row_agg(NULL, NULL, NULL)',
	'pbf_row_agg(iv, ''1'', NULL)', 'qsets_agg(NULL, NULL)', 'qsets_agg(i2, NULL)', 'qsets_agg(''1'', ''{1}'')', 'qsets_agg(o, o)']);
UPDATE calls SET now = pg_temp.key_types('SELECT ' || call || ' AS c FROM of_types');
SELECT key, string_agg(DISTINCT now, ', ') AS taken_for FROM calls WHERE key IS NOT NULL GROUP BY key ORDER BY min(n);
SELECT call, now AS taken_for FROM calls WHERE key IS NULL ORDER BY n;

-- Values: many, some of them equal, and none; of domains, and of what is cast to one of the types. That of
-- integer to oid changes nothing, and nothing but the expression tells that it is there.
CREATE TABLE keys AS
SELECT i AS w, 1000 - x AS i, x * interval '7 min' AS iv, (x * interval '7 min')::span AS sp, time '00:00' + x * interval '7 min' AS ti,
	(time '00:00' + x * interval '7 min')::clock AS cl, (time '00:00' + x * interval '7 min')::timetz AS tt,
	jsonb_build_object('x', x) AS j, x::oid AS o, x::oid::large_object AS lo, x::oid::regclass AS rc,
	('08:00:2b:01:' || to_char(x % 100, 'FM00') || ':' || to_char(x / 100, 'FM00'))::macaddr AS ma,
	('08:00:2b:01:02:03:' || to_char(x % 100, 'FM00') || ':' || to_char(x / 100, 'FM00'))::macaddr8 AS m8,
	'0/0'::pg_lsn + x::numeric AS ls, int4range(x, x + 5) AS ir, int8range(x, x + 5) AS br, numrange(x / 8.0, x) AS nr,
	tsrange('2026-01-01', timestamp '2026-01-02' + x * interval '1 h') AS tr,
	tstzrange('2026-01-01 00:00+0', timestamptz '2026-01-02 00:00+0' + x * interval '1 h') AS zr,
	daterange(date '2026-01-01', date '2026-01-02' + x) AS dr
FROM (SELECT i, CASE WHEN i % 10 > 0 THEN i * i % 2003 END AS x FROM generate_series(1, 4000) AS i) AS s;
ANALYZE keys;
CREATE TEMP TABLE result AS
SELECT key, format('SELECT ' || call || ' FROM keys', key) AS query,
	NULL::text AS now, NULL::boolean AS scan, NULL::text AS ordinary, NULL::text AS moving
FROM (SELECT attname FROM pg_attribute WHERE attrelid = 'keys'::regclass AND attnum > 1
	UNION ALL VALUES ('i::oid'), ('i::large_object'), ('i::regclass')) AS k(key), form;
CREATE FUNCTION pg_temp.value(query text) RETURNS text LANGUAGE plpgsql AS
$$ DECLARE value text; BEGIN EXECUTE query INTO value; RETURN md5(value); END $$;
CREATE FUNCTION pg_temp.moving(query text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.value(replace(regexp_replace(query, '^SELECT (.*) FROM keys$',
		'SELECT string_agg(md5(v::text), '''') FROM (SELECT \1 OVER (ORDER BY w ROWS 3 PRECEDING) AS v FROM keys WHERE w < 50) AS s'),
		'64kB', '1kB')) $$;
SET max_parallel_workers_per_gather = 0;
UPDATE result SET now = pg_temp.value(query), scan = pg_temp.plan_has(query, 'QSketchScan'), moving = pg_temp.moving(query);
SET qsketch.enable_columnscan = off;
UPDATE result SET ordinary = pg_temp.value(query);
RESET qsketch.enable_columnscan;
SELECT count(*), count(DISTINCT now) > 100 AS differ, bool_and(now = ordinary) AS same_on_ordinary_plan, count(moving) AS moving FROM result;
SELECT DISTINCT split_part(query, '(', 1) AS without_column_scan FROM result WHERE NOT scan;

-- All of that with the concrete ones hidden: what worked then works now, and gives the same.
BEGIN;
SELECT pg_temp.hide() AS hidden;
CREATE TEMP TABLE type_hidden AS
SELECT name, now, pg_temp.key_types_of(format('(SELECT NULL::%s AS k, 1 AS w) AS t', name)) AS hidden FROM type;
CREATE TEMP TABLE calls_hidden AS
SELECT call, now, pg_temp.key_types('SELECT ' || call || ' AS c FROM of_types') AS hidden FROM calls;
SELECT hidden, now, string_agg(DISTINCT regexp_replace(name, '^reg[a-z]+$', 'reg...'), ' ') AS types
FROM type_hidden WHERE now <> hidden GROUP BY hidden, now ORDER BY now;
SELECT hidden, now, count(*) AS calls FROM calls_hidden WHERE now <> hidden GROUP BY hidden, now ORDER BY now;
SELECT count(*) FILTER (WHERE hidden LIKE '...%') AS failed, count(*) FILTER (WHERE now LIKE '...%') AS fail,
	count(*) FILTER (WHERE now LIKE '...%' AND hidden NOT LIKE '...%') AS fail_now
FROM calls_hidden;
SELECT name, hidden, now FROM type_hidden WHERE now LIKE '...%' AND hidden NOT LIKE '...%';
SELECT bool_and(pg_temp.value(query) = now) AS same, bool_and(pg_temp.plan_has(query, 'QSketchScan') = scan) AS same_plan,
	bool_and(pg_temp.moving(query) = moving) AS same_in_windows FROM result;
SET LOCAL qsketch.enable_columnscan = off;
SELECT bool_and(pg_temp.value(query) = now) AS same_on_ordinary_plan FROM result;
ROLLBACK;

DROP TABLE keys, of_types;
DROP DOMAIN spans, span, clock, large_object, small, label, moods;
DROP TYPE mood, pair, floatrange;
