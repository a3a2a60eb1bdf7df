--
-- Limits: parameters, total weight, sizes of values.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
-- parameters out of range: errors with the value and the range
SELECT call, pg_temp.error_of('SELECT qsketch_new(' || call || ')')
FROM (VALUES (1, $$'tread'$$), (2, $$''$$), (3, $$'Thread'$$), (4, $$repeat('x', 100)$$),
	(10, $$size => '1023'$$), (11, $$size => '0'$$), (12, $$size => '-1MB'$$),
	(13, $$size => '513MB'$$), (14, $$size => '536870913'$$), (15, $$size => '1TB'$$),
	(16, $$size => ''$$), (17, $$size => 'large'$$), (18, $$size => '1XB'$$),
	(20, $$depth => 0$$), (21, $$depth => -1$$), (22, $$'sub_warp', depth => 9$$),
	(23, $$'thread', depth => 33$$), (24, $$'warp', depth => 33$$),
	(25, $$'half_warp', depth => 17$$), (26, $$'multilevel', depth => 29$$),
	(27, $$'sf', depth => 9$$), (28, $$depth => 2147483647$$), (29, $$depth => 259$$),
	(30, $$masks => 0$$), (31, $$masks => -1024$$), (32, $$masks => 1000$$),
	(33, $$masks => 131072$$), (34, $$masks => -2147483648$$), (35, $$'thread', masks => 3$$),
	(40, $$'sf', z => 1$$), (41, $$'sf', z => 65$$), (42, $$z => 0$$), (43, $$'sf', z => 258$$))
	AS v(n, call)
ORDER BY n;
SELECT qsketch_new('16MB');

-- the ends of the ranges
SELECT count(*) AS sketches
FROM (VALUES ('thread', 32), ('warp', 32), ('half_warp', 16), ('sub_warp', 8), ('multilevel', 28),
	('sf', 8)) AS s(structure, depth_max), unnest(ARRAY[1, depth_max]) AS depth,
	unnest('{1kB,512MB}'::text[]) AS size, unnest('{1,65536}'::int[]) AS masks,
	unnest('{2,64}'::int[]) AS z,
	unnest('{-9223372036854775808,9223372036854775807}'::bigint[]) AS seed
WHERE NOT (structure = 'sf' AND size = '512MB')
	AND qsketch_total(qsketch_new(structure, size, depth, z, masks, seed)) = 0;

-- more than PostgreSQL can store in one value
SELECT call, pg_temp.error_of('SELECT qsketch_new(' || call || ')')
FROM (VALUES (1, $$'sf', '512MB'$$), (2, $$'sf', '512MB', z => 2$$),
	(3, $$'sf', '16MB', z => 64$$), (4, $$'sf', '113MB'$$), (5, $$'sf', '15MB', z => 64$$))
	AS v(n, call)
ORDER BY n;

-- total weight: no more than a bigint holds
SELECT qsketch_total(qsketch_agg(k, 9223372036854775807)) AS total FROM generate_series(1, 1) AS k;
SELECT structure, count(*), min(e) AS error, max(e) = min(e) AS same
FROM (SELECT structure, pg_temp.error_of(format(statement, expr)) AS e
	FROM template, (VALUES
		('SELECT qsketch_agg(k, 9223372036854775807, %s) FROM generate_series(1, 2) AS k'),
		('SELECT qsketch_agg(k, 92233720368547758, %s) FROM generate_series(1, 101) AS k'),
		('SELECT qsketch_agg(k, 9223372036854, %s) FROM generate_series(1, 1000001) AS k'),
		('SELECT qsketch_add(qsketch_add(%s, 1, 9223372036854775807), 2)'),
		('SELECT qsketch_merge(a, a) FROM qsketch_add(%s, 1, 4611686018427387904) AS a'),
		('SELECT qsketch_merge_agg(a) FROM qsketch_add(%s, 1, 4611686018427387904) AS a,
			generate_series(1, 2)')) AS s(statement)
	WHERE id % 4 <> 3) AS e
GROUP BY structure ORDER BY structure;
SELECT structure, count(*), bool_and(qsketch_total(sk) = 9223372036854775807
	AND qsketch_estimate(sk, 1) >= 4611686018427387904) AS most
FROM template, LATERAL (SELECT pg_temp.sketch(format('
	SELECT qsketch_agg(k, w, %s) FROM (VALUES (1, 4611686018427387904), (2, 4611686018427387903))
		AS v(k, w)', expr)) AS sk) AS s
GROUP BY structure ORDER BY structure;

-- counters take 8 bytes from a total of 2^32 on, and 4 again below it, in
-- whatever way the sketch came to its total
CREATE TEMP TABLE weights AS
SELECT k, 1 AS weight FROM generate_series(1, 3000) AS k;
SELECT structure, count(*), bool_and((qsketch_info(narrow)).counter_bytes = 4
		AND (qsketch_info(wide)).counter_bytes = 8) AS widths,
	bool_and(qsketch_total(narrow) = 4294967295 AND qsketch_total(wide) = 4294967296) AS totals,
	bool_and(qsketch_add(narrow, 7) = wide) AS added, bool_and(narrow || one = wide) AS merged,
	bool_and(one || narrow = wide) AS merged_into,
	bool_and(qsketch_remove(wide, 7) = narrow) AS removed, bool_and(wide - one = narrow) AS subtracted
FROM template, LATERAL (SELECT
	pg_temp.sketch(format('SELECT qsketch_agg(k, CASE k WHEN 2 THEN 4294964296 ELSE 1 END, %s)
		FROM weights', expr)) AS narrow,
	pg_temp.sketch(format('SELECT qsketch_agg(k, CASE k WHEN 2 THEN 4294964296 WHEN 7 THEN 2
		ELSE 1 END, %s) FROM weights', expr)) AS wide,
	pg_temp.sketch(format('SELECT qsketch_add(%s, 7)', expr)) AS one) AS s
GROUP BY structure ORDER BY structure;

-- bytes that no input function has seen, which only a superuser can make a sketch: what their few
-- entries say of its size is not believed, neither in the row nor out of it
CREATE FUNCTION as_sketch(bytea, bytea DEFAULT '') RETURNS qsketch LANGUAGE internal IMMUTABLE AS 'byteacat';
CREATE TABLE damaged (name text, sk qsketch);
INSERT INTO damaged SELECT 'of 35 GB, ' || rows || ' keys', as_sketch(set_byte(overlay(sk::bytea PLACING '\x0000000100000000' FROM 17), 9, 64))
FROM unnest('{1,2000}'::int[]) AS rows,
	LATERAL (SELECT qsketch_agg(k, qsketch_new('sf', '64kB', z => 8)) AS sk FROM generate_series(1, rows) AS k) AS s;
SELECT name, use, pg_temp.error_of(format('SELECT %s FROM damaged WHERE name = %L', use, name))
FROM damaged, unnest('{qsketch_total(sk),"qsketch_estimate(sk, 1)","qsketch_add(sk, 2)","qsketch_merge(sk, sk)","qsketch_agg(1, sk)",qsketch_merge_agg(sk)}'::text[]) AS use
ORDER BY name COLLATE "C", use COLLATE "C";
SELECT name, pg_column_size(sk) FROM damaged ORDER BY name COLLATE "C";
DROP TABLE damaged;
DROP FUNCTION as_sketch(bytea, bytea);
