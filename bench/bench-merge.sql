-- Compares merging of multilevel and sub_warp sketches inside PostgreSQL, in alternate runs.  Run
-- by bench-merge.sh with the number of :rows of a table, and of :stored sketches of 1 MB.

SET client_min_messages = warning;
CREATE EXTENSION qsketch;
CREATE EXTENSION pg_prewarm;
\i ratios.sql

SELECT setseed(0.42) \g /dev/null
CREATE UNLOGGED TABLE ints AS
    SELECT (random() * 1e12)::bigint AS k, 1 + (i % 30) AS day FROM generate_series(1, :rows) AS i;
VACUUM ANALYZE ints;

-- Makes sketches of all rows, of a thirtieth of the rows, and of skewed keys.
CREATE FUNCTION make_stored(structure text, stored int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE UNLOGGED TABLE %I AS
        WITH one AS MATERIALIZED (SELECT qsketch_agg(k, qsketch_new(%2$L, ''1MB'')) AS sk FROM ints)
        SELECT i, sk FROM one, generate_series(1, %3$s) AS i', 'all_' || structure, structure, stored);
    EXECUTE format('CREATE UNLOGGED TABLE %I AS
        WITH days AS MATERIALIZED (SELECT day, qsketch_agg(k, qsketch_new(%2$L, ''1MB'')) AS sk
                                   FROM ints GROUP BY day)
        SELECT i, sk FROM days, generate_series(1, %3$s / 30) AS i', 'days_' || structure, structure,
        stored);
    EXECUTE format('CREATE UNLOGGED TABLE %I AS
        WITH days AS MATERIALIZED (SELECT day, qsketch_agg((1e6 ^ (k / 1e12))::bigint,
                                                           qsketch_new(%2$L, ''1MB'')) AS sk
                                   FROM ints GROUP BY day)
        SELECT i, sk FROM days, generate_series(1, %3$s / 30) AS i', 'zipf_' || structure, structure,
        stored);
END $$;
SELECT make_stored('multilevel', :stored), make_stored('sub_warp', :stored) \g /dev/null
VACUUM ANALYZE;
SELECT pg_prewarm(coalesce(nullif(reltoastrelid, 0), oid)::regclass)
FROM pg_class WHERE relname ~ '_(multilevel|sub_warp)$' \g /dev/null

INSERT INTO benchmarks (what, query, rival, bound, target, holds, settings)
SELECT what || how, format(q, 'multilevel'), format(q, 'sub_warp'), '<=', 1.5,
       format('SELECT (%s) = (%s)', format(q, 'multilevel'), format(q, 'sub_warp')), settings
FROM (VALUES
    ('merged, all rows each', 'SELECT qsketch_total(qsketch_merge_agg(sk)) FROM all_%s'),
    ('merged, a day''s rows each', 'SELECT qsketch_total(qsketch_merge_agg(sk)) FROM days_%s'),
    ('merged, Zipf', 'SELECT qsketch_total(qsketch_merge_agg(sk)) FROM zipf_%s')) AS queries (what, q),
    (VALUES ('', ARRAY['max_parallel_workers_per_gather', '0']),
            (', in parallel', ARRAY['max_parallel_workers_per_gather', '1'])) AS plans (how, settings);
INSERT INTO benchmarks (what, query, rival, bound, target, settings) VALUES
('window of merges',
 'SELECT sum(qsketch_total(s)) FROM (SELECT qsketch_merge_agg(sk) OVER (ORDER BY i ROWS 6 PRECEDING) AS s FROM days_multilevel LIMIT 100) AS w',
 'SELECT sum(qsketch_total(s)) FROM (SELECT qsketch_merge_agg(sk) OVER (ORDER BY i ROWS 6 PRECEDING) AS s FROM days_sub_warp LIMIT 100) AS w',
 '<=', 1.5, '{}'),
('parallel scan',
 'SELECT qsketch_total(qsketch_agg(k, qsketch_new(''multilevel'', ''1MB''))) FROM ints',
 'SELECT qsketch_total(qsketch_agg(k, qsketch_new(''sub_warp'', ''1MB''))) FROM ints',
 '<=', 1.5, ARRAY['max_parallel_workers_per_gather', '1']),
('parallel scan of few rows',
 'SELECT qsketch_total(qsketch_agg(k, qsketch_new(''multilevel'', ''1MB''))) FROM ints WHERE k < 1e10',
 'SELECT qsketch_total(qsketch_agg(k, qsketch_new(''sub_warp'', ''1MB''))) FROM ints WHERE k < 1e10',
 '<=', 1.5, ARRAY['max_parallel_workers_per_gather', '1']);
SELECT run_benchmarks(:turns) \g /dev/null
\i print-ratios.sql
