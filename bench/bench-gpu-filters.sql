-- Compares filters on the GPU and on the CPU.  Run by bench-gpu-filters.sh with :rows,
-- :keys and the number of :workers.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS qsketch;
\i timing.sql

CREATE UNLOGGED TABLE ints AS SELECT (random() * 1e12)::bigint AS k FROM generate_series(1, :rows);
VACUUM ANALYZE ints;
ALTER TABLE ints SET (parallel_workers = :workers);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT count(k) FROM ints \g /dev/null

-- Blocked Bloom filters of several sizes; one filter of the standard layout; and filters of
-- frequencies in which a row sets less than one bit, or more than one bit, on average.  The
-- template of a query is an expression that the planner evaluates, because the column scan
-- accepts only constants.
CREATE TABLE kinds (number serial, kind text, template text);
INSERT INTO kinds (kind, template)
SELECT 'blocked', format('qfilter_new_bloom(%s)', keys)
FROM unnest(ARRAY[200000, 400000, 800000, 1600000, 3200000, 12800000, 51200000, 200000000]) AS keys;
INSERT INTO kinds (kind, template) VALUES
    ('standard', $$qfilter_new_bloom(12800000, layout => 'standard')$$),
    ('frequencies, f = 1000', 'qfilter_new(140000000, 1000)'),
    ('frequencies, f = 100', 'qfilter_new(14000000, 100)'),
    ('frequencies, f = 10', 'qfilter_new(1400000, 10)');

-- Returns the query with the template of a kind in place of "%s".
CREATE FUNCTION query_of(query text, kind int) RETURNS text LANGUAGE sql AS $$
    SELECT format(query, template) FROM kinds WHERE number = query_of.kind
$$;
CREATE FUNCTION filter_of(kind int) RETURNS qfilter LANGUAGE plpgsql AS $$
DECLARE
    f qfilter;
BEGIN
    EXECUTE query_of('SELECT qfilter_agg(k, %s) FROM ints', kind) INTO f;
    RETURN f;
END $$;
CREATE FUNCTION template_of(kind int) RETURNS qfilter LANGUAGE plpgsql AS $$
DECLARE
    f qfilter;
BEGIN
    EXECUTE query_of('SELECT %s', kind) INTO f;
    RETURN f;
END $$;

CREATE TABLE names AS
    SELECT number AS kind, kind AS name, i.bits / 8 AS bytes, i.hashes * i.probability AS set_by_a_row
    FROM kinds, LATERAL qfilter_info(template_of(number)) AS i;

CREATE TABLE timings (kind int, workers int, what text, device text, ms float8);

-- Measures filters of at most "most_bytes" bytes on all devices in turn, after one run that warms
-- up.
CREATE PROCEDURE measure_aggregates(workers int, most_bytes bigint) LANGUAGE plpgsql AS $$
DECLARE
    wanted int;
    device text;
    turn int;
    ms float8;
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', workers::text, false);
    FOR turn IN 0 .. 2 LOOP
        FOR wanted IN SELECT kind FROM names WHERE bytes <= most_bytes ORDER BY kind LOOP
            FOREACH device IN ARRAY '{cpu,gpu,auto}'::text[] LOOP
                PERFORM set_config('qsketch.device', device, false);
                ms := run_ms(query_of('SELECT qfilter_fill(qfilter_agg(k, %s)) FROM ints', wanted));
                IF turn > 0 THEN
                    INSERT INTO timings VALUES (wanted, workers, 'aggregate', device, ms);
                END IF;
                COMMIT;
            END LOOP;
        END LOOP;
    END LOOP;
END $$;
CALL measure_aggregates(0, 1 << 30);
CALL measure_aggregates(:workers, 1 << 26); -- each process has a filter of its own

CREATE VIEW medians AS
    SELECT kind, workers, what, device, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric AS ms
    FROM timings GROUP BY 1, 2, 3, 4;

\qecho '| filter | bytes | bits a row | workers | CPU ms | GPU ms | auto ms | CPU / GPU | CPU / auto |'
\qecho '|---|---:|---:|---:|---:|---:|---:|---:|---:|'
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s |', name, pg_size_pretty(bytes),
              round(set_by_a_row::numeric, 2), workers, round(c.ms), round(g.ms),
              round(a.ms), round(c.ms / g.ms, 2), round(c.ms / a.ms, 2))
FROM names
    JOIN medians AS c USING (kind) JOIN medians AS g USING (kind, workers, what) JOIN medians AS a USING (kind, workers, what)
WHERE what = 'aggregate' AND c.device = 'cpu' AND g.device = 'gpu' AND a.device = 'auto'
ORDER BY kind, workers;
\qecho


-- Bloom filters use no random numbers, so both devices must return the same
-- bytes.
CREATE TABLE stored (kind int, device text, f qfilter);
SET qsketch.device = cpu;
INSERT INTO stored
SELECT number, 'cpu', filter_of(number) FROM kinds WHERE kind IN ('blocked', 'standard');
SET qsketch.device = gpu;
INSERT INTO stored
SELECT number, 'gpu', filter_of(number) FROM kinds WHERE kind IN ('blocked', 'standard');
SELECT count(*) AS wrong FROM stored AS c JOIN stored AS g USING (kind)
WHERE c.device = 'cpu' AND g.device = 'gpu' AND c.f <> g.f \gset
\if :wrong
\warn WRONG: the GPU gives other bytes
\endif

-- Lookups of arrays.  "array" is the call on an empty filter, so it has only the time
-- for the array.  "first" includes the transfer of the filter, unless the GPU has kept it.
CREATE PROCEDURE measure_lookups(most int) LANGUAGE plpgsql AS $$
DECLARE
    s stored;
    device text;
    turn int;
    keys int;
    ks bigint[];
    start timestamptz;
    answers boolean[];
    right_ones boolean[];
    empty qfilter := qfilter_new_bloom(1000);
BEGIN
    FOREACH keys IN ARRAY ARRAY[most / 100, most] LOOP
        SELECT array_agg(k) INTO ks
        FROM (SELECT k + (row_number() OVER () % 2) * 1000000000000 AS k FROM ints LIMIT keys) AS i;
        FOR s IN SELECT * FROM stored WHERE stored.device = 'cpu' ORDER BY kind LOOP
            FOR turn IN 0 .. 3 LOOP
                FOREACH device IN ARRAY '{cpu,gpu}'::text[] LOOP
                    PERFORM set_config('qsketch.device', device, false);
                    start := clock_timestamp();
                    SELECT qfilter_contains(f, ks) INTO answers
                    FROM stored WHERE stored.device = 'cpu' AND stored.kind = s.kind;
                    INSERT INTO timings VALUES (s.kind, keys, CASE WHEN turn > 0 THEN 'lookup' ELSE 'first' END, device,
                        1000 * extract(epoch FROM clock_timestamp() - start));
                    IF device = 'cpu' THEN
                        right_ones := answers;
                    ELSIF answers <> right_ones THEN
                        RAISE 'WRONG: the GPU gives other answers';
                    END IF;
                    COMMIT;
                END LOOP;
                start := clock_timestamp();
                PERFORM qfilter_contains(empty, ks);
                INSERT INTO timings VALUES (s.kind, keys, 'array', 'cpu', 1000 * extract(epoch FROM clock_timestamp() - start));
            END LOOP;
        END LOOP;
    END LOOP;
END $$;
CALL measure_lookups(:keys);

\qecho '| filter | bytes | keys | array alone ms | CPU ms | GPU ms | GPU, first time ms | CPU / GPU |'
\qecho '|---|---:|---:|---:|---:|---:|---:|---:|'
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s |', name, pg_size_pretty(bytes), c.workers, round(e.ms, 1), round(c.ms, 1),
              round(g.ms, 1), round(f.ms, 1), round(c.ms / g.ms, 2))
FROM names
    JOIN medians AS c USING (kind) JOIN medians AS g USING (kind, workers) JOIN medians AS e USING (kind, workers)
    JOIN medians AS f USING (kind, workers)
WHERE c.what = 'lookup' AND c.device = 'cpu' AND g.what = 'lookup' AND g.device = 'gpu' AND e.what = 'array'
    AND f.what = 'first' AND f.device = 'gpu'
ORDER BY kind, c.workers;
