-- The GPU against the CPU inside PostgreSQL, run by bench-gpu.sh with :rows,
-- :keys and the number of :workers.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS qsketch;
\i timing.sql

CREATE UNLOGGED TABLE IF NOT EXISTS ints (k bigint);
VACUUM ANALYZE ints;
ALTER TABLE ints SET (parallel_workers = :workers);
SET max_parallel_workers_per_gather = :workers;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT count(k) FROM ints \g /dev/null

CREATE TABLE timings (what text, structure text, size text, backend text, ms float8, waited float8);
CREATE TABLE sizes (structure text, size text);
-- the default structure in all sizes, and sub_warp in some
INSERT INTO sizes VALUES ('multilevel', '256kB'), ('multilevel', '512kB'), ('multilevel', '1MB'), ('multilevel', '2MB'),
    ('multilevel', '4MB'), ('multilevel', '16MB'), ('multilevel', '64MB'), ('multilevel', '256MB'),
    ('sub_warp', '1MB'), ('sub_warp', '16MB'), ('sub_warp', '256MB');

-- Runs all sizes on both devices in turn, several times; the first time warms up.
-- "waited" is the share of the processes' time in which they waited for a slot.
CREATE PROCEDURE measure_aggregates(workers int) LANGUAGE plpgsql AS $$
DECLARE
    s sizes;
    b text;
    turn int;
    before bigint;
    ms float8;
BEGIN
    FOR turn IN 0 .. 5 LOOP
        FOR s IN SELECT * FROM sizes LOOP
            FOREACH b IN ARRAY '{cpu,gpu,auto}'::text[] LOOP
                PERFORM set_config('qsketch.device', b, false);
                before := coalesce((SELECT slot_wait_us FROM qsketch_stat_gpu), 0);
                ms := run_ms(format($q$SELECT qsketch_total(qsketch_agg(k, qsketch_new(%L, %L)))
                                    FROM ints$q$, s.structure, s.size));
                IF turn > 0 THEN
                    INSERT INTO timings SELECT 'aggregate', s.structure, s.size, b, ms,
                        (coalesce((SELECT slot_wait_us FROM qsketch_stat_gpu), 0) - before)
                        / 1000.0 / ms / (workers + 1);
                END IF;
                COMMIT;
            END LOOP;
        END LOOP;
    END LOOP;
END $$;
CALL measure_aggregates(:workers);

-- The column scan with the default sketch against counting, by number of workers.
CREATE TABLE scaling (workers int, what text, ms float8);
CREATE PROCEDURE measure_scaling(most int) LANGUAGE plpgsql AS $$
DECLARE
    w int;
    turn int;
BEGIN
    FOR turn IN 0 .. 5 LOOP
        FOR w IN SELECT DISTINCT least(n, most) FROM unnest(ARRAY[0, 1, 3, 7, most]) AS n ORDER BY 1 LOOP
            PERFORM set_config('max_parallel_workers_per_gather', w::text, false);
            PERFORM set_config('qsketch.device', 'cpu', false);
            INSERT INTO scaling VALUES (w, 'cpu', run_ms('SELECT qsketch_total(qsketch_agg(k)) FROM ints'));
            PERFORM set_config('qsketch.device', 'gpu', false);
            INSERT INTO scaling VALUES (w, 'gpu', run_ms('SELECT qsketch_total(qsketch_agg(k)) FROM ints'));
            IF turn <= 2 THEN
                INSERT INTO scaling VALUES (w, 'count', run_ms('SELECT count(*) FROM ints'));
            END IF;
        END LOOP;
        IF turn = 0 THEN
            DELETE FROM scaling;
        END IF;
    END LOOP;
END $$;
CALL measure_scaling(:workers);
\qecho '| workers | count(*) ms | CPU ms | GPU ms | CPU, 10^9 rows/s | GPU | CPU / count(*) |'
\qecho '|---:|---:|---:|---:|---:|---:|---:|'
SELECT format('| %s | %s | %s | %s | %s | %s | %s |', workers, round(count), round(cpu), round(gpu),
              round(n / cpu / 1e6, 2), round(n / gpu / 1e6, 2), round(cpu / count, 2))
FROM (SELECT workers,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE what = 'count')::numeric AS count,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE what = 'cpu')::numeric AS cpu,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE what = 'gpu')::numeric AS gpu
      FROM scaling GROUP BY workers) AS s, (SELECT count(*) AS n FROM ints) AS t
ORDER BY workers;
\qecho
SET max_parallel_workers_per_gather = :workers;

-- Groups, each with a sketch of its own; and tables so small that starting takes longest.
CREATE UNLOGGED TABLE part AS SELECT k FROM ints LIMIT 10000000;
CREATE UNLOGGED TABLE tiny AS SELECT k FROM ints LIMIT 50000;
VACUUM ANALYZE part, tiny;
CREATE TABLE grouped (number int, what text, backend text, ms float8);
CREATE PROCEDURE measure_groups() LANGUAGE plpgsql AS $$
DECLARE
    groups int;
    b text;
    turn int;
BEGIN
    FOR turn IN 0 .. 3 LOOP
        FOREACH b IN ARRAY '{cpu,gpu,auto}'::text[] LOOP
            PERFORM set_config('qsketch.device', b, false);
            FOREACH groups IN ARRAY ARRAY[1, 10, 100, 1000] LOOP
                INSERT INTO grouped VALUES (groups, 'groups', b, run_ms(format(
                    'SELECT sum(qsketch_total(sk)) FROM (SELECT qsketch_agg(k) AS sk FROM part GROUP BY k %% %s) AS g', groups)));
            END LOOP;
            INSERT INTO grouped VALUES (50000, 'rows, one sketch', b, run_ms('SELECT qsketch_total(qsketch_agg(k)) FROM tiny'));
        END LOOP;
        IF turn = 0 THEN
            DELETE FROM grouped;
        END IF;
    END LOOP;
END $$;
SET max_parallel_workers_per_gather = 0;
CALL measure_groups();
SET max_parallel_workers_per_gather = :workers;
SELECT format('| one backend, %s rows, 1 MB each | CPU ms | GPU ms | auto ms |', count(*)) FROM part;
\qecho '|---|---:|---:|---:|'
SELECT format('| %s %s | %s | %s | %s |', number, what,
    round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE backend = 'cpu')::numeric, 1),
    round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE backend = 'gpu')::numeric, 1),
    round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE backend = 'auto')::numeric, 1))
FROM grouped GROUP BY what, number ORDER BY what, number;
\qecho

-- Both give the same bytes.
SET qsketch.device = cpu;
CREATE TABLE stored AS SELECT qsketch_agg(k, qsketch_new('multilevel', '256MB')) AS sk FROM ints;
SET qsketch.device = gpu;
SELECT (SELECT qsketch_agg(k, qsketch_new('multilevel', '256MB')) FROM ints) = sk AS same_bytes
FROM stored \gset
\if :same_bytes
\else
\warn 'WRONG: the GPU gives other bytes'
\endif

-- Lookups of an array in memory.  "array" is the same call on a sketch with one
-- key: the handling of the arrays alone.  "upload" is the first lookup.
CREATE PROCEDURE measure_lookups(keys int) LANGUAGE plpgsql AS $$
DECLARE
    ks bigint[];
    tiny qsketch := (SELECT qsketch_agg(1::bigint));
    found bigint[];
    right_ones bigint[];
    b text;
    turn int;
    start timestamptz;
BEGIN
    SELECT array_agg(k) INTO ks FROM (SELECT k FROM ints LIMIT keys) AS i;
    FOR turn IN 0 .. 5 LOOP
        FOREACH b IN ARRAY '{cpu,gpu}'::text[] LOOP
            PERFORM set_config('qsketch.device', b, false);
            start := clock_timestamp();
            SELECT qsketch_estimate(sk, ks) INTO found FROM stored;
            INSERT INTO timings VALUES (CASE WHEN turn > 0 THEN 'lookup' ELSE 'upload' END, 'multilevel', '256MB', b,
                1000 * extract(epoch FROM clock_timestamp() - start));
            IF b = 'cpu' THEN
                right_ones := found;
            ELSIF found <> right_ones THEN
                RAISE 'WRONG: the GPU gives other estimates';
            END IF;
        END LOOP;
        SET LOCAL qsketch.device = cpu;
        start := clock_timestamp();
        found := qsketch_estimate(tiny, ks);
        IF turn > 0 THEN
            INSERT INTO timings VALUES ('array', 'multilevel', '256MB', 'cpu',
                1000 * extract(epoch FROM clock_timestamp() - start));
        END IF;
    END LOOP;
END $$;
CALL measure_lookups(:keys);

\qecho '| what | structure | size | CPU ms | GPU ms | auto ms | CPU / GPU | waited for a slot |'
\qecho '|---|---|---:|---:|---:|---:|---:|---:|'
WITH medians AS (
    SELECT what, structure, size, backend, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric AS ms,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY waited)::numeric AS waited
    FROM timings GROUP BY 1, 2, 3, 4
)
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s %% |', what, structure, size, round(c.ms), round(g.ms), round(a.ms),
              round(c.ms / g.ms, 2), round(100 * g.waited, 1))
FROM (SELECT * FROM medians WHERE backend = 'cpu') AS c
    LEFT JOIN (SELECT * FROM medians WHERE backend = 'gpu') AS g USING (what, structure, size)
    LEFT JOIN (SELECT * FROM medians WHERE backend = 'auto') AS a USING (what, structure, size)
ORDER BY what, structure, pg_size_bytes(size);
\qecho
SELECT * FROM qsketch_gpu() \gx
SELECT * FROM qsketch_stat_gpu \gx
