-- Measures a billion rows whose keys are on a GPU.  Run by bench-gpu-columns-large.sh with
-- the number of :workers.

SET client_min_messages = warning;
CREATE EXTENSION qsketch;
\i timing.sql
ANALYZE events;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT format('ALTER TABLE %s SET (parallel_workers = %s)', inhrelid::regclass, :workers) FROM pg_inherits WHERE inhparent = 'events'::regclass \gexec

CREATE TABLE timings (what text, ms float8);
INSERT INTO timings SELECT 'load', sum(run_ms(format('SELECT qsketch_gpu_load(%L, ''{user_id}'')', inhrelid::regclass)))
    FROM pg_inherits WHERE inhparent = 'events'::regclass;

SET max_parallel_workers_per_gather = :workers;
INSERT INTO timings SELECT 'count(*), workers', run_ms('SELECT count(*) FROM events') FROM generate_series(1, 2);
SET qsketch.device = cpu;
INSERT INTO timings SELECT 'cpu, 1 MB, workers', run_ms('SELECT qsketch_total(qsketch_agg(user_id)) FROM events') FROM generate_series(1, 2);
SELECT qsketch_agg(user_id) AS of_cpu, count(*) AS rows FROM events \gset
SET max_parallel_workers_per_gather = 0;
SET qsketch.device = auto;
SELECT column_keys AS before FROM qsketch_stat_gpu \gset
SELECT format('same bytes: %s', (SELECT qsketch_agg(user_id) FROM events) = :'of_cpu'::qsketch);
SELECT format('keys from copies: %s of %s', column_keys - :before, :rows) FROM qsketch_stat_gpu;
INSERT INTO timings SELECT 'copy, 1 MB, asked for its total', run_ms('SELECT qsketch_total(qsketch_agg(user_id)) FROM events') FROM generate_series(1, 20);
INSERT INTO timings SELECT 'copy, sub_warp 1 MB, asked for its total', run_ms('SELECT qsketch_total(qsketch_agg(user_id, qsketch_new(''sub_warp''))) FROM events')
    FROM generate_series(1, 20);
\qecho
\qecho '| what | median ms | least ms |'
\qecho '|---|---:|---:|'
SELECT format('| %s | %s | %s |', what, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 2), round(min(ms)::numeric, 2))
    FROM timings GROUP BY what ORDER BY what;
\qecho
EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT qsketch_agg(user_id) FROM events;
