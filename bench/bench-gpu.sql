-- Compares the GPU with the CPU inside PostgreSQL, and checks which device auto chooses.  Run by
-- bench-gpu.sh with the number of :workers and of :keys.  bench-gpu.sh reads the result from
-- "choices".

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS qsketch;
\i timing.sql

CREATE UNLOGGED TABLE IF NOT EXISTS ints (k bigint);
CREATE UNLOGGED TABLE part AS SELECT k FROM ints LIMIT 4000000;
CREATE UNLOGGED TABLE million AS SELECT k FROM part LIMIT 1000000;
CREATE UNLOGGED TABLE tiny AS SELECT k FROM part LIMIT 50000;
-- Without these statistics the planner does not know the number of groups.
CREATE STATISTICS part_10 ON (k % 10) FROM part;
CREATE STATISTICS part_100 ON (k % 100) FROM part;
CREATE STATISTICS part_400 ON (k % 400) FROM part;
VACUUM ANALYZE ints, part, million, tiny;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT count(k) FROM ints \g /dev/null

-- ---- what is measured ----

-- "relation" is the table, and "workers" the number of parallel workers.  A query has
-- "%s" in place of the table.
CREATE TABLE cases (number serial PRIMARY KEY, what text, structure text, size text, relation text, workers int, turns int, query text);

INSERT INTO cases (what, structure, size, relation, workers, turns, query)
SELECT 'sketch', structure, size, relation, w, turns,
    format('SELECT qsketch_total(qsketch_agg(k, qsketch_new(%L, %L))) FROM %%s', structure, size)
FROM (VALUES
        (1, 'multilevel', '{256kB,512kB,1MB,2MB,4MB,16MB,64MB}'::text[], 'ints', ARRAY[:workers], 5),
        (2, 'multilevel', '{256MB}', 'ints', ARRAY[:workers], 2),
        (3, 'sub_warp', '{1MB,16MB}', 'ints', ARRAY[:workers], 5),
        (4, 'sub_warp', '{256MB}', 'ints', ARRAY[:workers], 2),
        (5, 'multilevel', '{256kB,1MB}', 'ints', ARRAY(SELECT w FROM unnest(ARRAY[7, 3, 1, 0]) AS w WHERE w < :workers), 3),
        -- few rows
        (6, 'multilevel', '{1MB,16MB}', 'tiny', ARRAY[0], 15),
        (7, 'multilevel', '{1MB,4MB,16MB,64MB}', 'million', ARRAY[0], 9),
        (8, 'multilevel', '{1MB,16MB}', 'million', ARRAY[:workers], 9)) AS v (n, structure, sizes, relation, workers, turns),
    unnest(v.workers) WITH ORDINALITY AS a (w, o), unnest(sizes) WITH ORDINALITY AS b (size, m)
ORDER BY n, o, m;
-- further cases: rows from the executor, groups, and filters
INSERT INTO cases (what, structure, size, relation, workers, turns, query)
SELECT 'rows of the executor', 'multilevel', size, 'ints', :workers, 3,
    format('SELECT qsketch_total(qsketch_agg(k, qsketch_new(''multilevel'', %L))) FROM %%s', size)
FROM unnest('{1MB,16MB}'::text[]) AS size;
INSERT INTO cases (what, structure, size, relation, workers, turns, query)
SELECT format('%s groups', groups), 'multilevel', '1MB', 'part', 0, 2,
    format('SELECT sum(qsketch_total(sk)) FROM (SELECT qsketch_agg(k) AS sk FROM %%s GROUP BY k %% %s) AS g', groups)
FROM unnest(ARRAY[10, 100, 400]) AS groups;
INSERT INTO cases (what, structure, size, relation, workers, turns, query)
SELECT 'filter', 'blocked', pg_size_pretty(keys * 1.21), relation, w, 5, format('SELECT qfilter_fill(qfilter_agg(k, qfilter_new_bloom(%s))) FROM %%s', keys)
FROM unnest(ARRAY[200000, 3200000, 12800000, 51200000]) AS keys,
    (VALUES ('part', 0), ('part', :workers), ('ints', :workers)) AS t (relation, w);

-- ---- measuring ----

CREATE TABLE timings (number int, device text, ms float8, waited float8, keys bigint);

-- Runs a query on one device.  "waited" is the fraction of the processes' time in which they waited
-- for a slot.
CREATE PROCEDURE measure_once(c cases, device text, keep boolean) LANGUAGE plpgsql AS $$
DECLARE
    before record;
    ms float8;
BEGIN
    PERFORM set_config('qsketch.device', device, false);
    SELECT * INTO before FROM qsketch_stat_gpu;
    ms := run_ms(format(replace(c.query, 'k % ', 'k %% '), c.relation));
    COMMIT;
    IF keep THEN
        INSERT INTO timings SELECT c.number, device, ms, (a.slot_wait_us - before.slot_wait_us) / 1000.0 / ms / (c.workers + 1), a.keys - before.keys
            FROM qsketch_stat_gpu AS a;
    END IF;
END $$;

-- Measures a case on all devices in turn, after one run that warms up.
CREATE PROCEDURE measure(c cases) LANGUAGE plpgsql AS $$
DECLARE
    turn int;
    device text;
BEGIN
    EXECUTE format('ALTER TABLE %s SET (parallel_workers = %s)', c.relation, c.workers);
    PERFORM set_config('max_parallel_workers_per_gather', c.workers::text, false);
    PERFORM set_config('qsketch.enable_columnscan', (c.what <> 'rows of the executor')::text, false);
    FOR turn IN 0 .. c.turns LOOP
        FOREACH device IN ARRAY '{cpu,gpu,auto}'::text[] LOOP
            CALL measure_once(c, device, turn > 0);
        END LOOP;
    END LOOP;
END $$;

-- The device that auto chose, and whether it is slower than the other device by more than a tenth
-- and a millisecond.  auto runs the code of the chosen device, so the smaller median of auto and
-- the chosen device counts.  But auto itself, which may change the device during a query, may not
-- be slower than the faster device by more than a quarter and a millisecond.
CREATE VIEW choices AS
SELECT *, least(auto, CASE chosen WHEN 'gpu' THEN gpu ELSE cpu END) > 1.1 * least(cpu, gpu) + 1 OR auto > 1.25 * least(cpu, gpu) + 1 AS slower
FROM (SELECT number,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE device = 'cpu') AS cpu,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE device = 'gpu') AS gpu,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE device = 'auto') AS auto,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY waited) FILTER (WHERE device = 'gpu') AS waited,
        CASE WHEN bool_or(keys > 0) FILTER (WHERE device = 'auto') THEN 'gpu' ELSE 'cpu' END AS chosen
    FROM timings GROUP BY number) AS m;

-- Measures all cases.  Then repeats the cases in which auto seems to be slower, to exclude noise.
CREATE PROCEDURE measure_all() LANGUAGE plpgsql AS $$
DECLARE
    c cases;
BEGIN
    FOR c IN SELECT * FROM cases ORDER BY number LOOP
        CALL measure(c);
    END LOOP;
    FOR c IN SELECT cases.* FROM cases JOIN choices USING (number) WHERE slower ORDER BY number LOOP
        CALL measure(c);
    END LOOP;
END $$;
CALL measure_all();
RESET qsketch.device;
RESET qsketch.enable_columnscan;

\qecho '| what | structure | size | rows | workers | CPU ms | GPU ms | auto ms | auto chose | CPU / GPU | waited for a slot | |'
\qecho '|---|---|---:|---:|---:|---:|---:|---:|---|---:|---:|---|'
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s %% | %s |', what, structure, size, reltuples::bigint, workers,
    round(cpu::numeric, 1), round(gpu::numeric, 1), round(auto::numeric, 1), chosen, round((cpu / gpu)::numeric, 2), round(100 * waited::numeric, 1),
    CASE WHEN slower THEN 'FAIL' ELSE '' END)
FROM cases JOIN choices USING (number) JOIN pg_class ON oid = relation::regclass
ORDER BY number;
\qecho
SET max_parallel_workers_per_gather = :workers;
SELECT format('ALTER TABLE ints SET (parallel_workers = %s)', :workers) \gexec
\qecho count(*), ms:
SELECT round(run_ms('SELECT count(*) FROM ints')::numeric) FROM generate_series(1, 3) ORDER BY 1 LIMIT 1 OFFSET 1;
\qecho

-- Checks that both devices return the same bytes.
SET qsketch.device = cpu;
CREATE TABLE stored AS SELECT qsketch_agg(k, qsketch_new('multilevel', '256MB')) AS sk FROM ints;
SET qsketch.device = gpu;
SELECT (SELECT qsketch_agg(k, qsketch_new('multilevel', '256MB')) FROM ints) = sk AS same_bytes
FROM stored \gset
\if :same_bytes
\else
\warn 'WRONG: the GPU gives other bytes'
\endif

-- Lookups of an array in memory.  "the array alone" is the call on a sketch with one key, so it has
-- only the time for the arrays.
CREATE TABLE lookups (what text, backend text, ms float8);
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
    FOR turn IN 0 .. 3 LOOP
        FOREACH b IN ARRAY '{cpu,gpu}'::text[] LOOP
            PERFORM set_config('qsketch.device', b, false);
            start := clock_timestamp();
            SELECT qsketch_estimate(sk, ks) INTO found FROM stored;
            INSERT INTO lookups VALUES (CASE WHEN turn > 0 THEN 'lookup' ELSE 'lookup, the first time' END, b,
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
            INSERT INTO lookups VALUES ('the array alone', 'cpu',
                1000 * extract(epoch FROM clock_timestamp() - start));
        END IF;
    END LOOP;
END $$;
CALL measure_lookups(:keys);

\qecho '| keys in a sketch of 256 MB | CPU ms | GPU ms |'
\qecho '|---|---:|---:|'
SELECT format('| %s | %s | %s |', what,
    round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE backend = 'cpu')::numeric),
    round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE backend = 'gpu')::numeric))
FROM lookups GROUP BY what ORDER BY what;
\qecho
SELECT * FROM qsketch_gpu() \gx
SELECT * FROM qsketch_stat_gpu \gx
