--
-- Sketches stored out of line: a single estimate reads the key's bucket alone,
-- many estimates of one sketch keep a copy, and both say what the whole says.
--
\set ECHO queries
CREATE TABLE stored AS
	SELECT s AS structure, d AS depth, qsketch_agg(i / 7, qsketch_new(s, '16kB', d)) AS sk
	FROM unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS s,
		generate_series(1, 5, 2) AS d, generate_series(1, 70000) AS i
	GROUP BY s, d;
INSERT INTO stored
	SELECT 'device', depth, qsketch_sf_device(sk) FROM stored WHERE structure = 'sf'
	UNION ALL
	SELECT 'host', depth, qsketch_sf_host(sk) FROM stored WHERE structure = 'sf';
-- the values are out of line and not compressed
SELECT bool_and(pg_column_compression(sk) IS NULL) AS uncompressed,
	min(pg_column_size(sk)) > 4000 AS large FROM stored;

-- a new sketch in each row against one made from its bytes, which is read whole
SELECT structure, count(*) AS sketches,
	bool_and(qsketch_estimate(sk, k) = qsketch_estimate(sk::bytea::qsketch, k)) AS same,
	bool_and(qsketch_estimate(sk, k) >= CASE WHEN k < 10000 THEN 6 ELSE 0 END) AS upper_bound
FROM generate_series(0, 12000, 300) AS k, stored
GROUP BY structure ORDER BY structure;

-- the same sketch in row after row, then the next
SELECT bool_and(qsketch_estimate(sk, k) = qsketch_estimate(sk::bytea::qsketch, k)) AS same
FROM (SELECT sk, k FROM stored, generate_series(0, 12000, 300) AS k ORDER BY structure, depth, k) x;

-- totals and parameters come from the header
SELECT bool_and(qsketch_total(sk) = 70000) AS totals,
	bool_and((qsketch_info(sk)).total = 70000) AS info,
	bool_and(qsketch_info(sk) = qsketch_info(sk::bytea::qsketch)) AS same FROM stored;

-- keys of another family are refused from the header, too
SELECT qsketch_estimate(sk, date '2000-01-01') FROM stored LIMIT 1;

-- compressed, a value is read whole
CREATE TABLE compressed (sk qsketch);
ALTER TABLE compressed ALTER sk SET STORAGE main;
INSERT INTO compressed SELECT qsketch_agg(i, qsketch_new(size => '256kB'))
	FROM generate_series(1, 3000) AS i;
SELECT pg_column_compression(sk) IS NOT NULL AS compressed, qsketch_estimate(sk, 3000) >= 1 AS found,
	qsketch_total(sk) FROM compressed;

-- many sketches in turns, in runs and in no order, with room for all copies or for
-- some: all say what a sketch that is read whole says
CREATE VIEW all_stored AS
	SELECT * FROM stored UNION ALL SELECT 'compressed', 3, sk FROM compressed;
CREATE TABLE expected AS
	SELECT structure, depth, k, qsketch_estimate(whole, k) AS estimate,
		qsketch_estimate_unbiased(whole, k) AS unbiased, qsketch_bounds(whole, k)::text AS bounds,
		qsketch_bounds(whole, k, keys => 100)::text AS bounds_of_100,
		qsketch_error(whole, 0.9) AS error, row_number() OVER () AS i
	FROM (SELECT structure, depth, sk::bytea::qsketch AS whole FROM all_stored) AS s,
		generate_series(0, 12000, 1100) AS k;
CREATE FUNCTION pg_temp.same(way text, OUT rows bigint, OUT estimates boolean, OUT unbiased boolean,
	OUT bounds boolean, OUT errors boolean) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*), bool_and(qsketch_estimate(sk, k) = estimate),
		bool_and(qsketch_estimate_unbiased(sk, k) = unbiased),
		bool_and(qsketch_bounds(sk, k)::text = bounds AND
			qsketch_bounds(sk, k, keys => 100)::text = bounds_of_100),
		bool_and(qsketch_error(sk, 0.9) = error) FROM (SELECT * FROM expected JOIN all_stored USING (structure, depth) ORDER BY %s) AS e', way)
	INTO rows, estimates, unbiased, bounds, errors;
END $$;
SELECT way, s.* FROM unnest('{"k, structure, depth","structure, depth, k","hashint8(i)"}'::text[]) AS way,
	pg_temp.same(way) AS s;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT way, s.* FROM unnest('{"k, structure, depth","structure, depth, k","hashint8(i)"}'::text[]) AS way,
	pg_temp.same(way) AS s;

-- filters in rows that come in two orders
CREATE TABLE filters AS SELECT g, qfilter_agg(i, qfilter_new_bloom(30000)) AS f
	FROM generate_series(1, 6) AS g, generate_series(1, 5000) AS i WHERE i % g = 0 GROUP BY g;
SELECT way, count(*), min(pg_column_size(f)) > 4000 AS large, bool_and(qfilter_contains(f, k) = qfilter_contains(f::bytea::qfilter, k)) AS same
FROM unnest('{k,g}'::text[]) AS way, LATERAL (SELECT f, k FROM filters, generate_series(1, 6000, 97) AS k
	ORDER BY CASE way WHEN 'k' THEN k END, g) AS x
GROUP BY way;
RESET work_mem;
RESET hash_mem_multiplier;

-- a value may change between statements, and within one transaction
BEGIN;
CREATE TABLE changing AS SELECT 1 AS id, sk FROM stored WHERE structure = 'multilevel' AND depth = 3;
DO $$
DECLARE
	s qsketch;
	before bigint;
	i int;
BEGIN
	FOR i IN 1..5 LOOP
		SELECT sk, qsketch_estimate(sk, 5) INTO s, before FROM changing;
		UPDATE changing SET sk = qsketch_add(sk, 5, 10);
		IF (SELECT qsketch_estimate(sk, 5) FROM changing) <> before + 10 THEN
			RAISE EXCEPTION 'estimate of a value that is gone';
		END IF;
	END LOOP;
END $$;
ROLLBACK;
DROP VIEW all_stored;
DROP TABLE stored, compressed, expected, filters;
