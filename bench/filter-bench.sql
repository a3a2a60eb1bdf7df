-- Measures filters inside PostgreSQL.  Run by filter-bench.sh with the number of
-- rows in :rows, of runs in :turns, of workers in :workers, of keys of the Bloom
-- filters in :keys, and the module of baselines (pg_filters.c) in :module.

SET client_min_messages = warning;
CREATE EXTENSION qsketch;
CREATE EXTENSION pg_prewarm;
\i ratios.sql
CREATE FUNCTION filter_bench_bloom(keys bigint, megabytes int, rounds int, OUT name text, OUT insertion float8,
    OUT present float8, OUT absent float8, OUT found_present bigint, OUT found_absent bigint) RETURNS SETOF record
    AS :'module' LANGUAGE C STRICT;
CREATE FUNCTION filter_bench_coins(internal, bigint, int, float8, bigint) RETURNS internal AS :'module' LANGUAGE C;
CREATE FUNCTION filter_bench_coins_final(internal) RETURNS bigint AS :'module' LANGUAGE C;
CREATE AGGREGATE coins(bigint, int, float8, bigint) (SFUNC = filter_bench_coins, STYPE = internal,
    FINALFUNC = filter_bench_coins_final);

-- Half of the rows have frequent keys, with 1,000 rows for each key.  The other
-- half has uniform keys.
SELECT setseed(0.42) \g /dev/null
CREATE UNLOGGED TABLE ints AS
    SELECT CASE WHEN i % 2 = 0 THEN i / 2 % (:rows / 2000) ELSE (random() * :rows)::bigint END AS k, i::bigint AS v
    FROM generate_series(1, :rows) AS i;
VACUUM ANALYZE ints;
SELECT pg_prewarm('ints') \g /dev/null

-- True if the average estimate of the frequent keys is their average count, within 1 %.
CREATE FUNCTION tells_thousand(f qfilter) RETURNS boolean LANGUAGE sql AS $$
    SELECT abs(avg(qfilter_estimate(f, k, 'unbiased')) / avg(n) - 1) < 0.01
    FROM (SELECT k, count(*) AS n FROM ints GROUP BY k HAVING count(*) > 500) AS g
$$;

--
-- Queries with targets, on filters of 1 MB
--
INSERT INTO benchmarks (what, query, rival, bound, target, settings, holds) VALUES
('column scan', 'SELECT qfilter_agg(k, qfilter_new(9500000, 1000)) FROM ints', 'SELECT count(*) FROM ints', '<=', 0.6, '{}',
 'SELECT tells_thousand(qfilter_agg(k, qfilter_new(9500000, 1000))) FROM ints'),
('ordinary plan', 'SELECT qfilter_agg(k, qfilter_new(9500000, 1000)) FROM ints', 'SELECT bit_xor(k) FROM ints', '<=', 1.5,
 '{qsketch.enable_columnscan, off}', 'SELECT tells_thousand(qfilter_agg(k, qfilter_new(9500000, 1000))) FROM ints WHERE v > 0'),
('rows with ids', 'SELECT qfilter_row_agg(k, v, qfilter_new(9500000, 1000)) FROM ints', 'SELECT bit_xor(k # v) FROM ints', '<=', 1.5, '{}',
 'SELECT tells_thousand(qfilter_row_agg(k, v, qfilter_new(9500000, 1000))) FROM ints'),
('Bloom filter, column scan', 'SELECT qfilter_agg(k, qfilter_new_bloom(800000)) FROM ints', 'SELECT count(*) FROM ints', '<=', 1.0, '{}',
 'SELECT qfilter_agg(k, qfilter_new_bloom(800000)) = (SELECT qfilter_agg(k, qfilter_new_bloom(800000)) FROM ints WHERE v > 0) FROM ints'),
('against a sketch, column scan', 'SELECT qfilter_agg(k, qfilter_new(9500000, 1000)) FROM ints', 'SELECT qsketch_agg(k) FROM ints', '<=', 2, '{}', DEFAULT),
('ordinary plan', 'SELECT qfilter_agg(k, qfilter_new(9500000, 1000)) FROM ints', 'SELECT qsketch_agg(k) FROM ints', '<=', 2,
 '{qsketch.enable_columnscan, off}', DEFAULT),
('in parallel', 'SELECT qfilter_agg(k, qfilter_new(9500000, 1000)) FROM ints', 'SELECT count(*) FROM ints', '<=', 1.0,
 ARRAY['max_parallel_workers_per_gather', :'workers'],
 'SELECT tells_thousand(f) AND (qfilter_info(f)).rows = (SELECT count(*) FROM ints) FROM (SELECT qfilter_agg(k, qfilter_new(9500000, 1000)) AS f FROM ints) AS s');
SELECT run_benchmarks(:turns) \g /dev/null
\i print-ratios.sql

--
-- Checks for several numbers of positions that coins(), which draws a random number for each
-- position, sets about as many bits as qfilter_agg().
--
CREATE TABLE hashes AS SELECT k, t, bits, probability
FROM unnest('{25,50,100,200,400,800}'::int[]) AS k, LATERAL (SELECT qfilter_new(1000000, 1000, k => k)) AS f(t), LATERAL qfilter_info(t);
DO $$ DECLARE h hashes; coin bigint; ours bigint; BEGIN
    FOR h IN SELECT * FROM hashes LOOP
        EXECUTE format('SELECT coins(k, %s, %s, %s) FROM (SELECT k FROM ints LIMIT 200000) AS s', h.k, h.probability, h.bits) INTO coin;
        EXECUTE format('SELECT (qfilter_info(qfilter_agg(k, %L::qfilter))).set_bits FROM (SELECT k FROM ints LIMIT 200000) AS s', h.t) INTO ours;
        ASSERT abs(coin - ours) < 0.05 * ours + 5 * sqrt(ours), format('k %s: %s and %s bits', h.k, coin, ours);
    END LOOP;
END $$;

--
-- Bloom filters compared with PostgreSQL's Bloom filter
--
SET filter_bench.keys = :'keys';
CREATE TABLE blooms AS SELECT * FROM filter_bench_bloom(:keys, 16, 3);
\qecho
\qecho 'Bloom filters of 16 MB with' :keys 'keys, ns per key in one server process:'
\qecho
\qecho '| | insertion | present keys | absent keys | times as fast: insertion | present | absent | false positives |'
\qecho '|---|---|---|---|---|---|---|---|'
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s %% |', b.name, coalesce(round(b.insertion::numeric, 1)::text, '-'), round(b.present::numeric, 1),
    round(b.absent::numeric, 1), coalesce(round((l.insertion / b.insertion)::numeric, 1)::text, '-'), round((l.present / b.present)::numeric, 1),
    round((l.absent / b.absent)::numeric, 1), round(100.0 * b.found_absent / :keys, 3))
FROM blooms AS b, blooms AS l WHERE l.name = 'lib/bloomfilter.c';
DO $$ BEGIN
    ASSERT (SELECT min(found_present) FROM blooms) = current_setting('filter_bench.keys')::bigint, 'a key was denied';
END $$;
SELECT format(E'\nThe blocked filter is %s times as fast as lib/bloomfilter.c for insertion, and %s times as fast for lookups (each target: at least 3): %s.',
    round((l.insertion / b.insertion)::numeric, 1), round(least(l.present / b.present, l.absent / b.absent)::numeric, 1),
    CASE WHEN least(l.insertion / b.insertion, l.present / b.present, l.absent / b.absent) >= 3 THEN 'PASS' ELSE 'FAIL' END)
FROM blooms AS b, blooms AS l WHERE b.name = 'blocked' AND l.name = 'lib/bloomfilter.c';
