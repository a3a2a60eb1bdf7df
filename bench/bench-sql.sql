-- The short benchmark's queries, run by bench-sql.sh with the number of rows in :rows.

SET client_min_messages = warning;
CREATE EXTENSION qsketch;
CREATE EXTENSION pg_prewarm;
SELECT count(*) > 0 AS have_hll FROM pg_available_extensions WHERE name = 'hll' \gset
\if :have_hll
CREATE EXTENSION hll;
\endif
\i ratios.sql

-- Keys are mostly distinct, so caches speed up neither the queries nor their rivals.
SELECT setseed(0.42) \g /dev/null
CREATE UNLOGGED TABLE ints AS
    SELECT (random() * 1e12)::bigint AS k FROM generate_series(1, :rows);
CREATE UNLOGGED TABLE texts AS
    SELECT lpad(k::text, 12, '0') AS t FROM ints;
CREATE UNLOGGED TABLE keys AS SELECT k FROM ints LIMIT 1000000;
CREATE TABLE stored AS SELECT qsketch_agg(k) AS sk FROM ints;
VACUUM ANALYZE ints, texts, keys, stored;
SELECT pg_prewarm(t) FROM unnest(ARRAY['ints', 'texts', 'keys']) AS t \g /dev/null

SET qsketch.enable_columnscan = off;
INSERT INTO benchmarks (what, query, rival, bound, target, holds) VALUES
('sketch of integers', 'SELECT qsketch_agg(k) FROM ints', 'SELECT bit_xor(k) FROM ints', '<=', 1.3,
 'SELECT qsketch_total(qsketch_agg(k)) = count(*) FROM ints'),
('of strings', 'SELECT qsketch_agg(t) FROM texts', 'SELECT max(t COLLATE "C") FROM texts', '<=', 2,
 'SELECT qsketch_total(qsketch_agg(t)) = count(*) FROM texts'),
('exact counts', 'SELECT qsketch_agg(k) FROM ints',
 'SELECT max(n) FROM (SELECT k, count(*) AS n FROM ints GROUP BY k) AS g', '>=', 8,
 'SELECT bool_and(qsketch_estimate(sk, k) >= n)
  FROM (SELECT k, count(*) AS n FROM ints WHERE k % 100 = 0 GROUP BY k) AS g, stored'),
('estimates', 'SELECT sum(qsketch_estimate(sk, k)) FROM keys, stored',
 'SELECT sum(k # 1) FROM keys, stored', '<=', 3,
 'SELECT bool_and(qsketch_estimate(sk, k) > 0) FROM keys, stored');
\if :have_hll
INSERT INTO benchmarks (what, query, rival, bound, target, holds) VALUES
('HyperLogLog', 'SELECT qsketch_agg(k) FROM ints',
 'SELECT hll_add_agg(hll_hash_bigint(k)) FROM ints', '<=', 1,
 'SELECT qsketch_agg(k) = (SELECT sk FROM stored) FROM ints');
\endif
SELECT run_benchmarks(5) \g /dev/null
\i print-ratios.sql
