--
-- Keys that SQL tells apart are different keys where types have a hash function that does not:
-- signs of numbers, times 2^32 microseconds apart, shapes of arrays and of jsonb.  All types
-- and structures: t/064_keys_apart.pl.
--
-- signs of numbers
SELECT qsets_intersect(ARRAY[1.5, -2.5, 3]::numeric[], ARRAY[-1.5, 2.5, 3]::numeric[]);
SELECT qsketch_estimate(qsketch_agg(-5.0), 5.0);
SELECT qsketch_estimate(qsketch_agg('[-5]'::jsonb), '[5]'::jsonb) AS jsonb, qsketch_estimate(qsketch_agg('{"a": [-5]}'::jsonb), '{"a": [-5.00]}'::jsonb) AS scale,
	qsketch_estimate(qsketch_agg(ROW(1, -5.0)), ROW(1, 5.0)) AS row, qsketch_estimate(qsketch_agg(numrange(-5, 7)), numrange(5, 7)) AS range, qsketch_estimate_key(qsketch_agg(ARRAY[-5.0]), ARRAY[5.0]) AS array;

-- times
SELECT qsketch_estimate(qsketch_agg(timestamp '2000-01-01 00:00:00.000001'), timestamp '2000-01-01 01:11:34.967296');
SELECT qsets_intersect_count(ARRAY[time '00:00:00.000001'], ARRAY[time '01:11:34.967296']);
SELECT qsketch_estimate(qsketch_agg(interval '0'), interval '01:11:34.967297') AS interval, qsketch_estimate(qsketch_agg(interval '0'), interval '213503982 days 08:01:49.551616') AS long_interval,
	qsketch_estimate(qsketch_agg(interval '1 month'), interval '29 days 24:00') AS equal, qsketch_estimate(qsketch_agg(time with time zone '00:00+00'), time with time zone '01:11:34.967297+00') AS timetz,
	qsketch_estimate(qsketch_agg(pg_lsn '1/1'), pg_lsn '2/2') AS pg_lsn, qsketch_estimate(qsketch_agg(xid8 '0'), xid8 '4294967297') AS xid8;
-- 200,000 timestamps that all have a hash in common with many others, as accurate as other keys
CREATE TEMP TABLE moments AS SELECT timestamp '2000-01-01' + (i % 400 * 4294967296 + i / 400) * interval '1 microsecond' AS at FROM generate_series(0, 199999) AS i;
SELECT count(DISTINCT at) AS moments FROM moments;
SELECT count(*) FILTER (WHERE estimate > 1) < 20 AS nearly_all_once, max(estimate) <= 2 AS none_often
FROM (SELECT qsketch_estimate(s, at) AS estimate FROM moments, (SELECT qsketch_agg(at, qsketch_new(size => '64MB')) AS s FROM moments) AS s) AS e;
SELECT count(*) FILTER (WHERE NOT found) AS missing, count(*) FILTER (WHERE found_later) AS wrong
FROM (SELECT qfilter_contains(f, at) AS found, qfilter_contains(f, at + interval '2199023.256064 s') AS found_later FROM moments, (SELECT qfilter_agg(at, qfilter_new_bloom(200000, 1e-9)) AS f FROM moments) AS f) AS e;
SELECT qsets_cardinality(qsets_agg(1, ROW(at)), 1) AS elements FROM moments;
-- ids of rows
SELECT qfilter_row_agg('key'::text, at, qfilter_new(1000, 100)) = qfilter_row_agg('key'::text, other, qfilter_new(1000, 100)) AS same
FROM (VALUES (time '00:00', time '01:11:34.967297')) AS v(at, other) GROUP BY at, other;

-- arrays: dimensions, bounds, NULLs; jsonb: nesting
SELECT key, qsketch_estimate_key((SELECT qsketch_agg('{1,2,3,4}'::int[])), key::int[])
FROM unnest(ARRAY['{1,2,3,4}', '[1:4]={1,2,3,4}', '[0:3]={1,2,3,4}', '{{1,2,3,4}}', '{{1,2},{3,4}}', '{{1},{2},{3},{4}}']) AS key;
SELECT qsketch_estimate_key(qsketch_agg('{0}'::float8[]), '{NULL}'::float8[]) AS null, qsketch_estimate_key(qsketch_agg('{0}'::float8[]), '{-0}'::float8[]) AS zero;
SELECT key, qsketch_estimate((SELECT qsketch_agg('[[1], 2]'::jsonb)), key::jsonb)
FROM unnest(ARRAY['[[1], 2]', '[[1.0], 2.00]', '[[1, 2]]', '[1, 2]', '[1, [2]]', '[[1], [2]]', '[["1"], 2]', '{"a": [1], "b": 2}']) AS key;
SELECT key, qsketch_estimate((SELECT qsketch_agg('{"a": {}, "b": 1}'::jsonb)), key::jsonb)
FROM unnest(ARRAY['{"b": 1, "a": {}}', '{"a": 1, "a": {}, "b": 1.0}', '{"a": {"b": 1}}', '{"a": [], "b": 1}', '["a", {}, "b", 1]']) AS key;
-- all kinds of empty values
SELECT count(DISTINCT qsets_id(v)), count(DISTINCT v) FROM (VALUES ('[]'::jsonb), ('{}'), ('[[]]'), ('[{}]'), ('null'), ('[null]'), ('""'), ('[""]')) AS j(v);
-- Types of extensions and users have the hash function of their operator class.  This one looks
-- at half of what = looks at: keys that it cannot tell apart are one key.
CREATE FUNCTION place_hash(point) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT hashfloat8($1[0])';
CREATE FUNCTION place_hash(point, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS 'SELECT hashfloat8extended($1[0], $2)';
CREATE OPERATOR CLASS place_ops DEFAULT FOR TYPE point USING hash AS OPERATOR 1 ~=, FUNCTION 1 place_hash(point), FUNCTION 2 place_hash(point, bigint);
SELECT point '(1,2)' ~= point '(1,3)' AS same, qsketch_estimate(qsketch_agg(point '(1,2)'), point '(1,3)') AS one_key, qsketch_estimate(qsketch_agg(point '(1,2)'), point '(2,2)') AS another,
	qsketch_estimate(qsketch_agg(ROW(point '(1,2)', 5.0)), ROW(point '(1,3)', 5.0)) AS in_rows, qsketch_estimate(qsketch_agg(ROW(point '(1,2)', 5.0)), ROW(point '(1,3)', -5.0)) AS sign;
DROP OPERATOR FAMILY place_ops USING hash;
DROP FUNCTION place_hash(point), place_hash(point, bigint);
DROP TABLE moments;
