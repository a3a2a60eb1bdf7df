--
-- Probing every key with the default sketch finds the most frequent ones: 2
-- million rows, Zipf with exponent 1 over a million values; in serial, in
-- parallel, and merged from 30 parts.
--
SELECT setseed(0.42);
CREATE TABLE zipf AS
SELECT i, floor(exp(random() * ln(1e6)))::bigint AS k FROM generate_series(1, 2000000) AS i;
CREATE TABLE counts AS SELECT k, count(*) AS n FROM zipf GROUP BY k;
ANALYZE zipf, counts;

CREATE TABLE found (plan text, sk qsketch);
SET max_parallel_workers_per_gather = 0;
INSERT INTO found SELECT 'serial', qsketch_agg(k) FROM zipf;
INSERT INTO found SELECT 'merged', qsketch_merge_agg(sk) FROM (SELECT qsketch_agg(k) AS sk FROM zipf GROUP BY i % 30) AS parts;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT qsketch_agg(k) FROM zipf;
CREATE TEMP TABLE parallel AS SELECT qsketch_agg(k) AS sk FROM zipf;
INSERT INTO found SELECT 'parallel', sk FROM parallel;
RESET max_parallel_workers_per_gather;

-- of the 500 keys with the largest estimates, how many are as frequent as the
-- 500th by counting; the structure that was the default before finds fewer
CREATE FUNCTION pg_temp.top_found(sk qsketch) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FILTER (WHERE n >= (SELECT n FROM counts ORDER BY n DESC OFFSET 499 LIMIT 1))
	FROM (SELECT n FROM counts ORDER BY qsketch_estimate($1, k) DESC, k LIMIT 500) AS top
$$;
SELECT plan, sk = (SELECT sk FROM found WHERE plan = 'serial') AS same_bytes,
	pg_temp.top_found(sk) >= 495 AS top_500
FROM found ORDER BY plan;
SELECT pg_temp.top_found(qsketch_agg(k, qsketch_new('sub_warp', '1MB'))) < 450 AS before FROM zipf;

-- and no estimate is too small
SELECT min(qsketch_estimate(sk, k) - n) = 0 AS never_below, avg(qsketch_estimate(sk, k) - n) < 1 AS mean_error
FROM found, counts WHERE plan = 'serial';
DROP TABLE zipf, counts, found;
