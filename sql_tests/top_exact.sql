--
-- qtop_exact: what GROUP BY ... ORDER BY count(*) DESC LIMIT gives, in every case
--
CREATE FUNCTION pg_temp.error_of(statement text) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN EXECUTE statement; RETURN 'no error';
EXCEPTION WHEN OTHERS THEN RETURN sqlstate || ' ' || sqlerrm; END $$;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN small AS int CHECK (value < 1000000);
CREATE SCHEMA "Odd ""schema";
-- skewed, even, distinct and few keys of several types; NULLs
CREATE TABLE "Odd ""schema"."a ""table" AS
SELECT z AS skewed, (r * 7919::bigint) % 3001 AS even, r AS "dis ""tinct", r % 3 AS few, 'key ' || z AS "text",
	(r % 100)::small AS domain, (ARRAY['sad', 'ok', 'happy'])[1 + r % 3]::mood AS mood, NULL::int AS nothing,
	CASE WHEN r % 5 > 0 THEN z END AS some, ARRAY[z, 1] AS "array", (z / 4.0)::real AS real
FROM (SELECT r::int, floor(20000 ^ ((r * 0.61803398874989484820::numeric % 1)::float8))::int AS z FROM generate_series(1, 40000) AS r) AS s;

CREATE FUNCTION pg_temp.compare(tab regclass, col name, n int, OUT as_text boolean, OUT typed boolean, OUT rows bigint) LANGUAGE plpgsql AS $$
DECLARE type text := format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = tab AND attname = col;
	expected text := format('SELECT %I, count(*) FROM %s WHERE %1$I IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %3$s', col, tab, n);
	a text; b text; c text; BEGIN
	EXECUTE format('SELECT string_agg(k::text || '':'' || n, '' ''), count(*) FROM (%s) AS e(k, n)', expected) INTO a, rows;
	EXECUTE 'SELECT string_agg(key || '':'' || count, '' '') FROM qtop_exact($1, $2, $3)' INTO b USING tab, col, n;
	EXECUTE format('SELECT string_agg(key::text || '':'' || count, '' '') FROM qtop_exact($1, $2, $3, NULL::%s)', type) INTO c USING tab, col, n;
	as_text := b IS NOT DISTINCT FROM a;
	typed := c IS NOT DISTINCT FROM a;
END $$;
SELECT col, n, c.* FROM unnest('{skewed,even,"dis \"tinct",few,text,domain,mood,nothing,some,array,real}'::name[]) WITH ORDINALITY AS u(col, i),
	unnest(ARRAY[1, 10, 1500]) AS n, pg_temp.compare('"Odd ""schema"."a ""table"', col, n) AS c ORDER BY i, n;
SELECT * FROM qtop_exact('"Odd ""schema"."a ""table"', 'skewed', 3);
SELECT key + 1 AS next, count FROM qtop_exact('"Odd ""schema"."a ""table"', 'skewed', 2, NULL::int);
SELECT pg_typeof(key) FROM qtop_exact('"Odd ""schema"."a ""table"', 'domain', 1, NULL::small);
SELECT count(*) FROM qtop_exact('"Odd ""schema"."a ""table"', 'skewed', NULL);

-- which passes that takes: GROUP BY alone, a list alone, a list and then its candidates or what may be as frequent
CREATE TABLE ways AS SELECT i AS "unique", i % 10 AS few, floor(100000 ^ (i * 0.61803398874989484820::numeric % 1)::float8)::int AS skewed,
	i * 7919::bigint % 50000 AS pairs, CASE WHEN i % 10 < 3 THEN (i / 20 * 10 + i % 10) * 7919::bigint ELSE -i END AS mixed,
	CASE WHEN i % 2 = 0 THEN floor(sqrt(i % 20))::text ELSE md5(i::text) END AS rare FROM generate_series(1, 100000) AS i;
SET client_min_messages = debug1;
SELECT * FROM pg_temp.compare('ways', 'unique', 2);
SELECT * FROM pg_temp.compare('ways', 'few', 2);
SELECT * FROM pg_temp.compare('ways', 'skewed', 1);
SELECT * FROM pg_temp.compare('ways', 'skewed', 100);
SELECT * FROM pg_temp.compare('ways', 'pairs', 2);
SELECT * FROM pg_temp.compare('ways', 'mixed', 2);
SELECT * FROM pg_temp.compare('ways', 'rare', 2);
SELECT * FROM pg_temp.compare('ways', 'rare', 20);
RESET client_min_messages;
DROP TABLE ways;

-- text is what the type's output function writes, as in qtop_text; a row of NULLs is a key
CREATE TYPE two AS (a int, b int);
CREATE TABLE shown AS SELECT inet '10.0.0.1' AS address, true AS yes, 'a'::char(3) AS padded, timestamptz '2026-01-05 12:00+02' AS at, ROW(NULL, NULL)::two AS two;
SELECT c AS column, e.key AS exact, e.key = t.key AS same FROM unnest(ARRAY['address', 'yes', 'padded', 'at', 'two']) AS c,
	qtop_exact('shown', c::name, 1) AS e, LATERAL (SELECT CASE c WHEN 'address' THEN qtop_agg(address, 1) WHEN 'yes' THEN qtop_agg(yes, 1)
		WHEN 'padded' THEN qtop_agg(padded, 1) WHEN 'at' THEN qtop_agg(at, 1) ELSE qtop_agg(two, 1) END AS list FROM shown) AS l, qtop_text(list, 1) AS t;
DROP TABLE shown;
DROP TYPE two;

-- keys of type char(n), which without n are one character in some contexts, are shown whole
CREATE TABLE padded AS SELECT k::char(5) FROM unnest('{abcd,abcd,axyz}'::text[]) AS k;
SELECT * FROM qtop_exact('padded', 'k', 2, NULL::char(5));
SELECT * FROM qtop_exact('padded', 'k', 2, NULL::bpchar);
DROP TABLE padded;

-- an overloaded sketch: more keys than the first pass can tell apart
CREATE TABLE loaded AS SELECT (i * 40503::bigint) % 400009 AS k FROM generate_series(1, 800000) AS i;
INSERT INTO loaded SELECT 17 FROM generate_series(1, 3);
INSERT INTO loaded SELECT -5 FROM generate_series(1, 5);
UPDATE pg_class SET reltuples = 1 WHERE oid = 'loaded'::regclass;
SELECT (qtop_info(qtop_agg(k, 1000))).bound >= 5 AS alike FROM loaded;
SELECT * FROM pg_temp.compare('loaded', 'k', 2);
SELECT * FROM qtop_exact('loaded', 'k', 2);

-- views, partitions, parallel plans
CREATE VIEW seen AS SELECT skewed, "text" FROM "Odd ""schema"."a ""table" WHERE few > 0;
SELECT * FROM pg_temp.compare('seen', 'text', 20);
CREATE TABLE parted (k int, p int) PARTITION BY LIST (p);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES IN (0);
CREATE TABLE parted_1 PARTITION OF parted DEFAULT;
INSERT INTO parted SELECT skewed, few FROM "Odd ""schema"."a ""table";
SELECT * FROM pg_temp.compare('parted', 'k', 20);
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT * FROM pg_temp.compare('parted', 'k', 20);
SELECT * FROM pg_temp.compare('loaded', 'k', 2);
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
-- rows that the query's own transaction has made, and only those that its snapshot sees
BEGIN;
INSERT INTO parted SELECT 99999999, 1 FROM generate_series(1, 90000);
SELECT * FROM qtop_exact('parted', 'k', 1);
ROLLBACK;
SELECT key <> '99999999' AS rolled_back FROM qtop_exact('parted', 'k', 1);

-- privileges and row security are those of the caller
CREATE ROLE qtop_reader;
GRANT USAGE ON SCHEMA "Odd ""schema" TO qtop_reader;
GRANT SELECT (k) ON parted TO qtop_reader;
CREATE TABLE secret (owner name, k int);
INSERT INTO secret SELECT 'qtop_reader', 1 FROM generate_series(1, 3) UNION ALL SELECT 'other', 2 FROM generate_series(1, 5);
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON secret USING (owner = current_user);
GRANT SELECT ON secret TO qtop_reader;
SET ROLE qtop_reader;
SELECT count(*) FROM qtop_exact('parted', 'k', 5);
SELECT * FROM qtop_exact('secret', 'k', 5);
SELECT pg_temp.error_of(statement) FROM unnest(ARRAY['SELECT * FROM qtop_exact(''parted'', ''p'', 5)', 'SELECT * FROM qtop_exact(''loaded'', ''k'', 5)',
	'SELECT * FROM qtop_exact(''"Odd ""schema"."a ""table"'', ''few'', 5)']) AS statement;
RESET ROLE;
SELECT * FROM qtop_exact('secret', 'k', 5);

-- nothing of the search path is called
CREATE SCHEMA trap;
CREATE FUNCTION trap.count() RETURNS int LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''trapped''; END';
CREATE FUNCTION trap.ge(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''trapped''; END';
CREATE OPERATOR trap.>= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = trap.ge);
SET search_path = trap, pg_catalog, public;
SELECT key FROM qtop_exact('public.loaded', 'k', 2);
RESET search_path;

-- a policy that gives the table's name to another one, whose column has another type
CREATE TABLE given (k text);
ALTER TABLE given ALTER k SET STORAGE PLAIN;
INSERT INTO given SELECT repeat('x', 7000) || i % 2 FROM generate_series(1, 300) AS i;
CREATE TABLE taken AS SELECT 1::bigint AS k;
CREATE SEQUENCE asked;
CREATE FUNCTION give() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF nextval('asked') = 1 THEN
		ALTER TABLE given RENAME TO gave;
		ALTER TABLE taken RENAME TO given;
	END IF;
	RETURN true;
END $$;
ALTER TABLE given ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON given USING (give());
GRANT CREATE, USAGE ON SCHEMA public TO qtop_reader;
ALTER TABLE given OWNER TO qtop_reader;
ALTER TABLE taken OWNER TO qtop_reader;
ALTER SEQUENCE asked OWNER TO qtop_reader;
ALTER TABLE given FORCE ROW LEVEL SECURITY;
SET ROLE qtop_reader;
SELECT * FROM qtop_exact('given', 'k', 2);
RESET ROLE;
DROP TABLE given, taken;
DROP SEQUENCE asked;
DROP FUNCTION give();
REVOKE CREATE, USAGE ON SCHEMA public FROM qtop_reader;

-- errors
SELECT statement, pg_temp.error_of(statement) FROM unnest(ARRAY['SELECT * FROM qtop_exact(''loaded'', ''x'', 2)',
	'SELECT * FROM qtop_exact(''loaded'', ''k'', 0)', 'SELECT * FROM qtop_exact(''loaded'', ''k'', 2, NULL::text)',
	'SELECT * FROM qtop_exact(''loaded'', ''k'', 2, NULL::int)', 'SELECT * FROM qtop_exact(0, ''k'', 2)',
	'SELECT * FROM qtop_exact(''nowhere'', ''k'', 2)',
	'SELECT * FROM qtop_exact(''pg_class'', ''relacl'', 2)', 'SELECT * FROM qtop_exact(''pg_statistic'', ''stavalues1'', 2)']) AS statement;
-- what else the schema has does not matter (t/036_planted.pl), but a function of ours can be away
CREATE TABLE heavy AS SELECT CASE WHEN i % 2 = 0 THEN floor(sqrt(i % 20))::text ELSE md5(i::text) END AS k FROM generate_series(1, 100000) AS i;
BEGIN;
ALTER EXTENSION qsketch DROP FUNCTION qtop_has(qtop, anycompatible);
ALTER FUNCTION qtop_has(qtop, anycompatible) RENAME TO away;
SELECT * FROM qtop_exact('heavy', 'k', 2);
ROLLBACK;
BEGIN;
ALTER EXTENSION qsketch DROP FUNCTION qtop_has(qtop, anycompatible);
ALTER FUNCTION qtop_has(qtop, anycompatible) RENAME TO away;
CREATE FUNCTION qtop_has(qtop, anycompatible) RETURNS boolean LANGUAGE sql AS 'SELECT false';
SELECT * FROM qtop_exact('heavy', 'k', 2);
ROLLBACK;
SELECT * FROM qtop_exact('heavy', 'k', 2);
DROP TABLE heavy;

-- is a key among the candidates?
CREATE TABLE lists AS SELECT qtop_agg(k, 5) AS t FROM generate_series(1, 5) AS k;
SELECT k, qtop_has(t, k) FROM lists, unnest(ARRAY[1, 5, 6, NULL]) AS k;
SELECT k, qtop_has(t, k) FROM (SELECT qtop_agg(k, 5) AS t FROM unnest('{10.0.0.1,::1}'::inet[]) AS k) AS s, unnest('{10.0.0.1,10.0.0.2}'::inet[]) AS k;
SELECT qtop_has(t, '10.0.0.1') AS literal FROM (SELECT qtop_agg(k, 5) AS t FROM unnest('{10.0.0.1,::1}'::inet[]) AS k) AS s;
SELECT qtop_has(t, 'x'::text) FROM lists;
-- lists that change from row to row, flat and stored out of line
CREATE TABLE several AS SELECT p, qtop_agg(p * 1000 + k % 200, 5, qsketch_new(size => '4kB')) AS t FROM generate_series(1, 4) AS p, generate_series(1, 2000) AS k GROUP BY p;
SELECT p, count(*) FILTER (WHERE qtop_has(t, q * 1000 + k)) = CASE p WHEN q THEN (qtop_info(t)).candidates ELSE 0 END AS own
FROM several, generate_series(1, 4) AS q, generate_series(0, 199) AS k GROUP BY p, q, t ORDER BY p, q;
SELECT count(*) FILTER (WHERE qtop_has(t, k)) = sum((qtop_info(t)).candidates) / 4000 AS alternating
FROM (SELECT k, t FROM generate_series(1000, 4999) AS k, several ORDER BY k, p) AS s;
DROP TABLE "Odd ""schema"."a ""table", loaded, parted, secret, lists, several CASCADE;
DROP SCHEMA trap CASCADE;
DROP SCHEMA "Odd ""schema";
DROP TYPE mood;
DROP DOMAIN small;
DROP ROLE qtop_reader;
