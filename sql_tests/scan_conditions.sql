--
-- QSketchScan with conditions: the same as the ordinary plan, whatever is compared with what.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/scan_conditions.psql'
\i :file
\set ECHO all
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';

-- columns at fixed offsets, and the same behind one of variable width; NULLs in front of both; values at the ends
CREATE TABLE v (n integer, b boolean, s smallint, i integer, k bigint, f real, g double precision, d date, h time,
	p timestamp, z timestamptz, t text, y bytea, dropped integer, c varchar(9),
	b2 boolean, s2 smallint, i2 integer, k2 bigint, f2 real, g2 double precision, d2 date, h2 time, p2 timestamp, z2 timestamptz)
	WITH (parallel_workers = 2, autovacuum_enabled = off);
ALTER TABLE v ALTER y SET STORAGE EXTERNAL;
CREATE TABLE ends (s smallint, i integer, k bigint, f real, g double precision, d date, h time, p timestamp, t text);
INSERT INTO ends VALUES
	(-32768, -2147483648, -9223372036854775808, '-inf', '-inf', '-infinity', '00:00', '-infinity', ''),
	(32767, 2147483647, 9223372036854775807, 'inf', 'inf', 'infinity', '24:00', 'infinity', 'a'),
	(0, 0, 0, '-0', '-0', '2000-01-01', '12:00', '2000-01-01', 'b'),
	(1, 1, 1, 0, 0, '2000-01-02', '12:00:00.000001', '2000-01-01 00:00:00.000001', 'ä'),
	(-1, -1, -1, 'nan', 'nan', '1999-12-31', '11:59', '1999-12-31', repeat('long', 700)),
	(7, 70000, 5000000000, 1.5, 1e300, '2024-02-29', '23:59', '2024-02-29 12:34:56', repeat('long', 700) || 'er'),
	(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO v SELECT CASE WHEN r % 3 > 0 THEN r END, e1.i > 0, e1.s, e2.i, e1.k, e2.f, e1.g, e2.d, e1.h, e2.p, e1.p AT TIME ZONE 'UTC',
	e2.t, convert_to(e1.t, 'UTF8'), r, left(e2.t, 9),
	e2.i > 0, e2.s, e1.i, e2.k, e1.f, e2.g, e1.d, e2.h, e1.p, e2.p AT TIME ZONE 'UTC'
FROM ends AS e1, ends AS e2, generate_series(1, 9) AS r;
UPDATE v SET n = n + 100 WHERE n % 3 = 1;
DELETE FROM v WHERE n % 7 = 2;
ALTER TABLE v DROP dropped;
ALTER TABLE v ADD late integer DEFAULT 70000, ADD word text DEFAULT 'a', ADD nothing date;
INSERT INTO v (k, late, word) SELECT r, r * 14000, r FROM generate_series(1, 9) AS r;
ANALYZE v;

-- every comparison of every type, on both sides, with each of the values
CREATE TABLE literals AS
SELECT kind, array_agg(DISTINCT literal) AS literals FROM ends,
	LATERAL (VALUES ('smallint', s::text), ('integer', i::text), ('bigint', k::text), ('real', f::text), ('double precision', g::text),
		('date', d::text), ('time', h::text), ('timestamp', p::text), ('timestamptz', p::text || '+00'), ('text', t),
		('bytea', convert_to(t, 'UTF8')::text), ('boolean', (i > 0)::text)) AS v(kind, value),
	LATERAL (SELECT quote_literal(replace(value, 'infinity+00', 'infinity')) AS literal) AS l
WHERE value IS NOT NULL GROUP BY kind;
CREATE TABLE compared AS
SELECT c, kind FROM (VALUES ('b', '{boolean}'::text[]), ('s', '{smallint,integer,bigint}'), ('i', '{smallint,integer,bigint}'),
	('k', '{smallint,integer,bigint}'), ('f', '{real,double precision}'), ('g', '{real,double precision}'), ('d', '{date}'), ('h', '{time}'),
	('p', '{timestamp}'), ('z', '{timestamptz}'), ('late', '{integer,bigint}'), ('nothing', '{date}')) AS v(name, kinds),
	unnest(kinds) AS kind, unnest(CASE WHEN length(name) > 1 THEN ARRAY[name] ELSE ARRAY[name, name || 2] END) AS c
UNION ALL VALUES ('t', 'text'), ('c', 'text'), ('word', 'text'), ('y', 'bytea');
SELECT count(*), bool_and(same) AS same, bool_and(scanned) AS scanned, min(on_page), max(on_page) FROM compared
JOIN literals USING (kind), unnest(literals) AS literal, unnest(ARRAY['<', '<=', '=', '<>', '>=', '>']) AS op,
	LATERAL (VALUES (format('%s %s %s::%s', c, op, literal, kind)), (format('%3$s::%4$s %2$s %1$s', c, op, literal, kind))) AS w(clause),
	LATERAL pg_temp.compare(clause)
WHERE (kind NOT IN ('text', 'bytea') OR op IN ('=', '<>')) AND NOT (kind = 'boolean' AND c = 'b2');
-- a constant that does not fit into the column's type, NULL, and no operator that is tested on the page
SELECT clause, same, scanned, on_page FROM unnest(ARRAY['s < 40000', 's <> 40000', 's > -40000', 'i >= 5000000000', 'f = 0.1', 'f2 < 1e300',
	'd < now()', 'd >= timestamp ''2000-01-01 12:00''', 'z < date ''2000-01-02''', 't < ''b''', 't COLLATE "C" = ''a''', 'c = ''a''', 't LIKE ''a%''', 'i::bigint + 1 = 2',
	'i = s', 'i2 < i', 'abs(i::bigint) > 5', 'i % 2 = 0 OR t = ''a''', 'NOT (i = 1 OR t = ''b'')', 'i BETWEEN 0 AND 70000', 'i2 BETWEEN 1 AND 0',
	'i NOT BETWEEN 0 AND 1', 'v.tableoid = ''v''::regclass', 'v IS NOT NULL', 'v::text > ''(1''', 'coalesce(t, ''a'') = ''a''', 'i IS DISTINCT FROM 1', 'i IS NOT DISTINCT FROM NULL',
	'p < z', 'h > p::time', 'i = ANY (ARRAY[s, 1])', 'CASE WHEN b THEN i > 0 ELSE s > 0 END', 't ~ ''^lo''', 'length(t) > 1000', 'y > ''a''',
	'z > now() - interval ''1 day''', 'd = current_date', 'i < NULL', 'NOT b', 'b', 'b2 IS TRUE', 'b IS FALSE', 'b IS NOT TRUE', 'b2 IS UNKNOWN',
	't IS NULL', 'i2 IS NOT NULL', 'nothing IS NULL', 'late IS NOT NULL', 'n IS NULL AND y IS NOT NULL', 'n = 4 AND b AND t = ''a''']) AS clause, LATERAL pg_temp.compare(clause);
-- refused: what changes from row to row, what a tuple on a page does not tell, and subqueries for each row
SELECT clause, same, scanned FROM unnest(ARRAY['ctid >= ''(0,1)''', 'xmin IS NOT NULL', 'i IN (SELECT i2 FROM v)', 'i NOT IN (SELECT 5)', 'EXISTS (SELECT FROM ends WHERE ends.i = v.i)',
	'(SELECT v.i) = 1', 'false', 'now() IS NULL']) AS clause, LATERAL pg_temp.compare(clause);
SELECT pg_temp.scans('SELECT qsketch_agg(k) FROM v WHERE random() < 2'), pg_temp.scans('SELECT qsketch_agg(k) FILTER (WHERE random() < 2) FROM v');

-- lists
SELECT clause, same, scanned, on_page FROM unnest(ARRAY['i IN (1, 70000)', 'i NOT IN (1, 70000)', 'i IN (1, NULL)', 'i NOT IN (1, NULL)', 's IN (1, 5000000000)',
	'k2 IN (1, 0, 1, 5, -1, 5000000000, 9223372036854775807)', 'i = ANY (NULL::int[])', 'i = ANY (''{}''::int[])', 'i <> ALL (''{}''::int[])', 'i <> ANY (''{1,0}''::int[])',
	'i = ALL (''{1}''::int[])', 'i < ANY (''{1,0}''::int[])', 'i = ANY (''{{1,0},{7,NULL}}''::int[])', 'f IN (0, ''nan'')', 'g NOT IN (0, ''-inf'')', 'd IN (''2000-01-01'', ''infinity'')',
	'z IN (''2000-01-01 00:00+00'', ''-infinity'')', 't IN (''a'', '''', repeat(''long'', 700))', 't NOT IN (''a'', ''ä'', NULL)', 't <> ALL (''{}'')', 'c IN (''a'', ''longlongl'')', 'y IN (''a'', ''\x'')', 'b IN (true)',
	't IN (''1'', ''2'', ''3'', ''4'', ''5'', ''6'', ''7'', ''8'', ''9'', ''a'')', 'nothing IN (''2000-01-01'')', 'late IN (14000, 70000)', 'word IN (''a'', ''3'')',
	'i = ANY (ARRAY(SELECT generate_series(-1000, 1000)))', 'i <> ALL (ARRAY(SELECT g FROM generate_series(-1000, 1000) AS g WHERE g <> 1))']) AS clause, LATERAL pg_temp.compare(clause);

-- several at once; whichever drops the row
SELECT count(*), bool_and(same) AS same, string_agg(clause, '; ') FILTER (WHERE NOT scanned) AS not_scanned
FROM unnest(ARRAY['i > 0', 't IN (''a'', ''b'')', 'k2 IS NOT NULL', 'length(t) < 9', 'late = 70000']) AS a,
	unnest(ARRAY['b2', 'd < ''2010-01-01''', 'y <> ''a''', 'i <> 1 OR s = 0', 'n > 5']) AS b, unnest(ARRAY['g > 0', 'z IS NULL', 'lower(t) = t']) AS c,
	format('%s AND (%s) AND %s', a, b, c) AS clause, LATERAL pg_temp.compare(clause);

-- what would be an error is one, and only if a row gets there
SELECT clause, pg_temp.error_of(format('SELECT qsketch_agg(k) FROM v WHERE %s', clause)) AS scan,
	pg_temp.error_of(format('SELECT bit_xor(k) FROM v WHERE %s', clause)) AS ordinary
FROM unnest(ARRAY['i / (i - i) = 1', 'i = 12345 AND s / (s - s) = 1', 's / (s - s) = 1 AND i = 12345', 'i = (SELECT 1 / (i - i) FROM ends LIMIT 1)',
	'i = 12345 AND s = (SELECT 1 / (i - i) FROM ends LIMIT 1)', 'n > 1 AND t::integer > 0']) AS clause;

-- FILTERs, several, with counts, in one pass; shared where they are the same
SELECT count(*), bool_and(same) AS same, bool_and(scanned) AS scanned, max(workers)
FROM unnest(ARRAY['true', 'i > 0', 't LIKE ''%a%'' AND d IS NOT NULL', 'false AND i > 0 OR n > 5']) AS a, unnest(ARRAY['k2 <> 1', 'c = ''a'' OR b', 'NULL', 'false']) AS b, unnest(ARRAY['', 'WHERE n > 3']) AS w,
	LATERAL pg_temp.same(format('SELECT qsketch_agg(k) FILTER (WHERE %1$s), qsketch_agg(t), count(*) FILTER (WHERE %1$s), count(*) FILTER (WHERE %2$s),
		qsketch_agg(i2) FILTER (WHERE %2$s), count(*), count(late), count(nothing), count(n) FILTER (WHERE %1$s), qsketch_agg(k2, s) FILTER (WHERE %1$s AND s > 0) FROM v %3$s', a, b, w));
SET max_parallel_workers_per_gather = 0;
SELECT pg_temp.scans(format('SELECT %s FROM v', list)), list FROM unnest(ARRAY['count(*)', 'count(*), count(k)', 'qsketch_agg(k), count(DISTINCT k)', 'qsketch_agg(k), count(k + 1)', 'qsketch_agg(k), max(k)',
	'qsketch_agg(k), count(*) + count(i)']) AS list;
SELECT qsketch_agg(k) IS NULL, count(*), count(k) FROM v WHERE i = 12345;
SELECT pg_temp.plan($$SELECT qsketch_agg(k) FILTER (WHERE i > 0 AND length(t) > 1), count(*) FROM v WHERE n BETWEEN 5 AND 9 AND t <> 'b'$$);
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF)
	SELECT qsketch_agg(k), count(*), count(*) FILTER (WHERE b) FROM v WHERE i > 0 AND t LIKE 'l%' \g (format=unaligned tuples_only=on) | grep -vE 'Instructions|Device' | sed 's/ (actual.*//; s/Batches: [1-9][0-9]*/Batches: some/'

-- every family
CREATE TABLE member (id integer, k bigint, day date) WITH (parallel_workers = 2);
INSERT INTO member SELECT i % 20, i * 7 % 500, date '2026-01-01' + i % 30 FROM generate_series(1, 4000) AS i;
SET qsketch.filter_nonce = 5;
SELECT list, w, same, scanned FROM unnest(ARRAY['qtop_agg(k, 5)', 'qsets_agg(id, k)', 'qsketch_agg(k, id)']) AS list, unnest(ARRAY['day < ''2026-01-21''', 'day = ''2030-01-01''', 'id IN (1, 5) AND k % 2 = 1']) AS w,
	LATERAL pg_temp.same(format('SELECT %1$s, %1$s FILTER (WHERE k < 100), count(*) FROM member WHERE %2$s', list, w));
SELECT list, pg_temp.scans(format('SELECT %s FROM member WHERE k < 100', list)) FROM unnest(ARRAY['qfilter_agg(k, qfilter_new(5000, 20))', 'qfilter_agg(k, qfilter_new_bloom(500))']) AS list;
SELECT same, scanned FROM pg_temp.same('SELECT qfilter_agg(k, qfilter_new_bloom(500)), count(day) FROM member WHERE day < ''2026-01-21'' AND id > 3');

-- an index for few rows, the scan for many
SET max_parallel_workers_per_gather = 0;
CREATE TABLE indexed (id integer PRIMARY KEY, k bigint);
INSERT INTO indexed SELECT i, i % 1000 FROM generate_series(1, 50000) AS i;
VACUUM ANALYZE indexed;
RESET cpu_operator_cost;
SELECT w, pg_temp.scans('SELECT qsketch_agg(k) FROM indexed WHERE ' || w) FROM unnest(ARRAY['id = 7', 'id < 100', 'id < 25000', 'id > 7', 'k = 7']) AS w;

DROP TABLE v, ends, literals, compared, member, indexed;

-- times that are cut into steps, for which a condition is evaluated a few times only; around changes of offsets, with NULLs
SET cpu_operator_cost = 1;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE v (p timestamp, z timestamptz, k bigint, t text) WITH (autovacuum_enabled = off);
INSERT INTO v SELECT CASE WHEN i % 1000 = 7 THEN NULL WHEN i % 1000 = 8 THEN 'infinity' ELSE z::timestamp END,
	CASE WHEN i % 1000 = 9 THEN NULL WHEN i % 1000 = 10 THEN '-infinity' ELSE z END, i % 500, i % 20
FROM generate_series(1, 20000) AS i, LATERAL (VALUES (timestamptz '2026-03-20' + i * interval '97 s')) AS v(z);
ANALYZE v;
SELECT zone, clause, same, scanned, on_page FROM unnest(ARRAY['UTC', 'Europe/Berlin']) AS zone,
	unnest(ARRAY['z::date = ''2026-03-29''', 'p::date <> ''2026-03-29''', 'z::date IN (''2026-03-29'', ''2026-04-01'', NULL)', 'p::date = ''infinity''', 'z::date BETWEEN ''2026-03-28'' AND ''2026-03-30''',
	'date_trunc(''hour'', z) = ''2026-03-29 03:00''', 'date_trunc(''week'', p) > ''2026-03-25''', 'date_trunc(''minute'', z) < ''2026-03-29 03:01''', 'date_bin(''2 hours'', p, ''2000-01-01'') = ''2026-03-29 02:00''',
	'(z AT TIME ZONE ''Europe/Berlin'')::date = ''2026-03-29''', 'date_trunc(''day'', z, ''America/New_York'') >= ''2026-03-30''', 'extract(dow FROM z::date) IN (0, 6)', 'z::date IS NULL', 'NOT z::date = current_date',
	'z::date = NULL', 'CASE WHEN z::date > ''2026-03-29'' THEN true END', 'z::date > ''2026-03-29'' OR z::date < ''2026-03-22''', 'z::date = ''2026-03-29'' AND t = ''3'' AND length(t) = 1', 'z::date = p::date',
	'z::date = ''2026-03-29'' OR t = ''3''', 'z::date = (SELECT date ''2026-03-29'')']) AS clause, LATERAL pg_temp.compare_in(zone, clause);
SELECT clause, pg_temp.error_of(format('SELECT qsketch_agg(k) FROM v WHERE %s', clause)) AS scan, pg_temp.error_of(format('SELECT bit_xor(k) FROM v WHERE %s', clause)) AS ordinary
FROM unnest(ARRAY['isfinite(p) AND 1 / (p::date - ''2026-03-25'') >= 0', 'k < 0 AND 1 / (p::date - ''2026-03-29'') > 0']) AS clause;
SELECT same, scanned FROM pg_temp.same($$SELECT qsketch_agg(k) FILTER (WHERE z::date = '2026-03-28'), qsketch_agg(t) FILTER (WHERE z::date = '2026-03-29' AND k > 7),
	count(*) FILTER (WHERE z::date >= '2026-03-29' AND p::date < '2026-04-02') FROM v$$);
SELECT same, scanned FROM pg_temp.same($$SELECT md5(string_agg(s::text, ',' ORDER BY d)) FROM generate_series(-2, 15) AS d, LATERAL (SELECT qsketch_agg(k) AS s FROM v WHERE z::date = date '2026-03-20' + d) AS l$$);
-- partitions are scanned one after another, and only one of them has caches
DO $$ BEGIN
	CREATE TABLE parted (LIKE v) PARTITION BY HASH (k);
	FOR i IN 0 .. 99 LOOP EXECUTE format('CREATE TABLE parted_%s PARTITION OF parted FOR VALUES WITH (MODULUS 100, REMAINDER %s)', i, i); END LOOP;
	INSERT INTO parted SELECT * FROM v;
	ANALYZE parted;
END $$;
SELECT q, pg_temp.scans(q) AS scanned, m < 8000000 AS little FROM unnest(ARRAY['SELECT qsketch_agg(k) AS s FROM parted WHERE z::date = ''2026-03-28''',
	'SELECT qsketch_agg(z::date) AS s FROM parted', 'SELECT max(s::text) AS s FROM (SELECT z::date, qsketch_agg(k) AS s FROM parted GROUP BY 1) AS g']) AS q,
	LATERAL (SELECT (xpath('//m/text()', query_to_xml(format('SELECT m FROM (%s OFFSET 0) AS s, LATERAL (SELECT sum(total_bytes) AS m FROM pg_backend_memory_contexts WHERE name = ''ExecutorState'' AND s IS NOT NULL OFFSET 0) AS l', q), true, false, '')))[1]::text::bigint AS m) AS l;
-- expressions within many others are searched once for each table
SET statement_timeout = '600s';
SELECT pg_temp.scans('SELECT qsketch_agg(k) FROM parted WHERE ' || repeat('coalesce(', 2000) || 'p::date' || repeat(', date(p))', 2000) || ' = ''2026-03-28''') AS scanned;
RESET statement_timeout;
DROP TABLE parted;
SET timezone = 'UTC';
DROP TABLE v;

-- what is tested on the page before conditions of a lower security level can leak nothing
SELECT o.oid::regoperator FROM pg_operator AS o JOIN pg_proc AS p ON p.oid = o.oprcode
WHERE o.oid < 10000 AND NOT proleakproof AND (oprleft = oprright OR
		(oprleft IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype) AND oprright IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)) OR
		(oprleft IN ('float4'::regtype, 'float8'::regtype) AND oprright IN ('float4'::regtype, 'float8'::regtype))) AND
	oprname = ANY (CASE WHEN oprleft IN ('text'::regtype, 'bytea'::regtype) THEN '{=,<>}' ELSE '{<,<=,=,<>,>=,>}' END::text[]) AND
	oprleft = ANY ('{bool,int2,int4,int8,float4,float8,date,time,timestamp,timestamptz,text,bytea}'::regtype[]);
