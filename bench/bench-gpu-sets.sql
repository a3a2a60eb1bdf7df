-- Measures all pairs of sets inside PostgreSQL, by the GPU and by the CPU.  Run by
-- bench-gpu-sets.sh with the number of :workers, and :pairs, the largest number of pairs
-- that a threshold may keep.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS qsketch;
\i timing.sql

VACUUM ANALYZE item;
ALTER TABLE item SET (parallel_workers = :workers);
SET max_parallel_workers_per_gather = :workers;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET qsketch.gpu_min_elements = 0;
SELECT count(*) FROM item \g /dev/null

-- the least min_count that keeps at most :pairs pairs
CREATE TABLE stored AS SELECT qsets_agg(s, e) AS c FROM item;
CREATE TABLE threshold AS
    SELECT least FROM (
        SELECT common AS least, sum(count(*)) OVER (ORDER BY common DESC) AS pairs
        FROM stored, qsets_pairs(c, min_count => 20) GROUP BY common) AS x
    WHERE pairs <= :pairs ORDER BY least LIMIT 1;
SELECT least FROM threshold \gset
SELECT format('%s rows, %s sets; %s pairs have at least %s elements in common, by the CPU.', (SELECT count(*) FROM item),
    (SELECT count(DISTINCT s) FROM item), pairs, :least)
FROM (SELECT count(*) AS pairs, set_config('qsketch.device', 'cpu', false) FROM stored, qsets_pairs(c, min_count => :least)) AS x;

-- Checks that GPU and CPU find the same pairs, by sums that depend on each
-- pair.
CREATE TABLE answers (backend text, answer text);
CREATE PROCEDURE compare(threshold bigint) LANGUAGE plpgsql AS $$
DECLARE
    b text;
BEGIN
    FOREACH b IN ARRAY '{cpu,gpu}'::text[] LOOP
        PERFORM set_config('qsketch.device', b, false);
        EXECUTE format('INSERT INTO answers SELECT %L, concat_ws('' '', count(*), sum(common), sum(hashint8extended(a * 100003 + b, common)))
            FROM qsets_pairs((SELECT qsets_agg(s, e) FROM item), min_count => %s)', b, threshold);
    END LOOP;
END $$;
CALL compare(:least);
SELECT CASE WHEN count(DISTINCT answer) = 1 AND count(*) = 2 THEN 'The GPU finds the same.'
    ELSE 'WRONG: ' || string_agg(backend || ' ' || answer, ', ') END FROM answers;

CREATE TABLE timings (what text, backend text, ms float8);
CREATE PROCEDURE measure(what text, backend text, query text) LANGUAGE plpgsql AS $$
DECLARE
    turn int;
BEGIN
    PERFORM set_config('qsketch.device', backend, false);
    FOR turn IN 0 .. 5 LOOP
        IF turn = 0 THEN
            PERFORM run_ms(query);
        ELSE
            INSERT INTO timings VALUES (what, backend, run_ms(query));
        END IF;
        COMMIT;
    END LOOP;
END $$;

\set pairs_of 'SELECT count(*), sum(common) FROM qsets_pairs((SELECT qsets_agg(s, e) FROM item), min_count => ' :least ')'
\set pairs_kept 'SELECT count(*), sum(common) FROM stored, qsets_pairs(c, min_count => ' :least ')'
CALL measure('count(*) ... GROUP BY s', 'cpu', 'SELECT count(*) FROM (SELECT s, count(*) FROM item GROUP BY s) AS x');
CALL measure('reading: max(s), max(e)', 'cpu', 'SELECT max(s), max(e) FROM item');
CALL measure('reading and building', 'cpu', 'SELECT qsets_count(qsets_agg(s, e)) FROM item');
CALL measure('pairs, from the table', 'cpu', :'pairs_of');
CALL measure('pairs, from the table', 'gpu', :'pairs_of');
CALL measure('pairs, of the stored collection', 'cpu', :'pairs_kept');
CALL measure('pairs, of the stored collection', 'gpu', :'pairs_kept');

\qecho
\qecho '| | CPU ms | GPU ms | against GROUP BY: CPU | GPU |'
\qecho '|---|---:|---:|---:|---:|'
SELECT format('| %s | %s | %s | %s | %s |', what, round(cpu), round(gpu), round(cpu / base, 2), round(gpu / base, 2))
FROM (SELECT what, min(ms) FILTER (WHERE backend = 'cpu')::numeric AS cpu, min(ms) FILTER (WHERE backend = 'gpu')::numeric AS gpu
      FROM timings GROUP BY what) AS t,
    (SELECT min(ms)::numeric AS base FROM timings WHERE what LIKE 'count%') AS b
ORDER BY what LIKE 'count%' DESC, what LIKE 'reading:%' DESC, what LIKE 'reading%' DESC, what;

-- Prints the times of each search's phases, as debug messages.
\qecho
\qecho 'Within the GPU''s, from the table, twice, then of the stored collection, which is kept there, twice:'
\qecho
SET qsketch.device = gpu;
SET client_min_messages = debug1;
\o /dev/null
SELECT count(*), sum(common) FROM qsets_pairs((SELECT qsets_agg(s, e) FROM item), min_count => :least);
SELECT count(*), sum(common) FROM qsets_pairs((SELECT qsets_agg(s, e) FROM item), min_count => :least);
SELECT count(*), sum(common) FROM stored, qsets_pairs(c, min_count => :least);
SELECT count(*), sum(common) FROM stored, qsets_pairs(c, min_count => :least);
\o
SET client_min_messages = warning;

-- Measures collections of 12 to 6400 sets, to find the least number of elements for which a GPU is
-- faster than the CPU.  A collection is sent with each query, or kept on the GPU.
CREATE TABLE parts AS
    SELECT n, qsets_subset(c, ARRAY(SELECT generate_series(1, n))) AS c, (SELECT count(*) FROM item WHERE s <= n) AS elements
    FROM stored, unnest(ARRAY[12, 25, 50, 100, 200, 400, 800, 1600, 3200, 6400]) AS n;
CREATE TABLE sizes (n int, what text, backend text, ms float8);
CREATE PROCEDURE measure_sizes() LANGUAGE plpgsql AS $$
DECLARE
    part int;
    b text;
    turn int;
BEGIN
    FOR turn IN 0 .. 5 LOOP
        FOR part IN SELECT n FROM parts ORDER BY n LOOP
            FOREACH b IN ARRAY '{cpu,gpu}'::text[] LOOP
                PERFORM set_config('qsketch.device', b, false);
                INSERT INTO sizes VALUES (part, 'kept', b, run_ms(format('SELECT count(*) FROM parts, qsets_pairs(c, min_count => 100) WHERE n = %s', part)));
                -- the worker caches only collections that are stored in a table, so each
                -- query sends this collection again
                INSERT INTO sizes VALUES (part, 'sent', b,
                    run_ms(format('SELECT count(*) FROM parts, qsets_pairs(qsets_subset(c, ARRAY(SELECT generate_series(1, n))), min_count => 100) WHERE n = %s', part)));
                INSERT INTO sizes VALUES (part, 'made', b,
                    run_ms(format('SELECT qsets_count(qsets_subset(c, ARRAY(SELECT generate_series(1, n)))) FROM parts WHERE n = %s', part)));
            END LOOP;
        END LOOP;
        IF turn = 0 THEN
            DELETE FROM sizes;
        END IF;
        COMMIT;
    END LOOP;
END $$;
CALL measure_sizes();
\qecho
\qecho '| elements | sets | CPU, in memory, ms | GPU, sent there | CPU, stored | GPU, kept there |'
\qecho '|---:|---:|---:|---:|---:|---:|'
SELECT format('| %s | %s | %s | %s | %s | %s |', elements, n, round(cs - made, 1), round(gs - made, 1), round(ck, 1), round(gk, 1))
FROM (SELECT n, min(ms) FILTER (WHERE what = 'made')::numeric AS made,
        min(ms) FILTER (WHERE what = 'sent' AND backend = 'cpu')::numeric AS cs,
        min(ms) FILTER (WHERE what = 'sent' AND backend = 'gpu')::numeric AS gs,
        min(ms) FILTER (WHERE what = 'kept' AND backend = 'cpu')::numeric AS ck,
        min(ms) FILTER (WHERE what = 'kept' AND backend = 'gpu')::numeric AS gk
      FROM sizes GROUP BY n) AS t JOIN parts USING (n)
ORDER BY n;
