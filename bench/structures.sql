-- Compares all structures on the same rows.  Run by structures.sh, with the number of runs
-- of each query in :turns.  :clicks says whether clicks are counted, too.
--
-- Prints the tables of docs/engineering/structures.md.  Fails if the default sketch finds too few
-- frequent keys, or reports too many, or if a merge or a parallel plan gives another sketch.

SET client_min_messages = warning;
CREATE EXTENSION qsketch;
\i timing.sql

-- Zipf with exponent 1 over a million values.
SELECT setseed(0.42) \g /dev/null
CREATE UNLOGGED TABLE zipf AS
    SELECT i, floor(exp(random() * ln(1e6)))::bigint AS k FROM generate_series(1, 2000000) AS i;
CREATE UNLOGGED TABLE zipf_exact AS SELECT k, count(*) AS n FROM zipf GROUP BY k;
VACUUM ANALYZE zipf, zipf_exact;

-- Probes every key, and compares the first keys by estimate with the first keys by
-- count.  A key among the first by estimate is right if its count is among the
-- largest counts.
CREATE FUNCTION probe(sk qsketch, exact regclass, OUT mean numeric, OUT most_99 bigint, OUT worst bigint,
    OUT top_20 bigint, OUT top_100 bigint, OUT top_500 bigint, OUT above bigint, OUT said_above bigint)
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format($q$
        WITH e AS (SELECT k, n, qsketch_estimate($1, k) AS e FROM %s),
        ranked AS (SELECT *, rank() OVER (ORDER BY n DESC) AS by_n, row_number() OVER (ORDER BY e DESC, k) AS by_e FROM e)
        SELECT round(avg(e - n), 2), percentile_disc(0.99) WITHIN GROUP (ORDER BY e - n), max(e - n),
            count(*) FILTER (WHERE by_n <= 20 AND by_e <= 20), count(*) FILTER (WHERE by_n <= 100 AND by_e <= 100),
            count(*) FILTER (WHERE by_n <= 500 AND by_e <= 500),
            count(*) FILTER (WHERE n > 1000), count(*) FILTER (WHERE e > 1000) FROM ranked $q$, exact)
    INTO mean, most_99, worst, top_20, top_100, top_500, above, said_above USING sk;
END $$;

--
-- Every structure with 256 kB and with the default size, and the default structure with
-- other sizes
--
CREATE TABLE sketches (id int GENERATED ALWAYS AS IDENTITY, structure text, size text, is_default boolean, sk qsketch);
INSERT INTO sketches (structure, size, is_default, sk)
SELECT structure, size, template = qsketch_new(), (SELECT qsketch_agg(k, template) FROM zipf)
FROM (SELECT 1, structure, size
    FROM unnest('{256kB,1MB}'::text[]) WITH ORDINALITY AS b(size, m),
        unnest('{multilevel,sub_warp,half_warp,warp,thread,sf}'::text[]) WITH ORDINALITY AS s(structure, n)
    UNION ALL SELECT 2, 'multilevel', size FROM unnest('{512kB,2MB,4MB}'::text[]) AS size) AS s(part, structure, size),
    qsketch_new(structure, size) AS template
ORDER BY part, pg_size_bytes(size);
CREATE TABLE parts AS
    SELECT id, part, (SELECT qsketch_agg(k, qsketch_new(structure, size)) FROM zipf WHERE i % 30 = part) AS sk
    FROM sketches, generate_series(0, 29) AS part;
VACUUM ANALYZE sketches, parts;

-- Runs all queries in turn, so that other work on the machine disturbs all
-- queries equally.  The shortest run of each query counts.
CREATE TABLE timings (id int, what text, ms float8);
CREATE PROCEDURE measure(turns int) LANGUAGE plpgsql AS $$
DECLARE
    s record;
    build text;
BEGIN
    FOR turn IN 1 .. turns LOOP
        FOR s IN SELECT id, structure, size FROM sketches ORDER BY id LOOP
            build := format('SELECT qsketch_total(qsketch_agg(k, qsketch_new(%L, %L))) FROM zipf', s.structure, s.size);
            INSERT INTO timings VALUES
                (s.id, 'scan', run_ms(build)),
                (s.id, 'estimate', run_ms('SELECT sum(qsketch_estimate(sk, k)) FROM zipf_exact, sketches WHERE id = ' || s.id)),
                (s.id, 'merge', run_ms('SELECT qsketch_total(qsketch_merge_agg(sk)) FROM parts WHERE id = ' || s.id));
            SET LOCAL qsketch.enable_columnscan = off;
            INSERT INTO timings VALUES (s.id, 'plan', run_ms(build));
            RESET qsketch.enable_columnscan;
        END LOOP;
    END LOOP;
END $$;
CALL measure(:turns);

CREATE TABLE results AS
SELECT s.*, p.*, t.*, octet_length(sk::bytea) AS stored,
    sk = (SELECT qsketch_merge_agg(parts.sk) FROM parts WHERE parts.id = s.id) AS same_merged
FROM sketches AS s, probe(sk, 'zipf_exact') AS p,
    LATERAL (SELECT min(ms) FILTER (WHERE what = 'scan')::numeric AS scan, min(ms) FILTER (WHERE what = 'plan')::numeric AS plan,
        min(ms) FILTER (WHERE what = 'estimate')::numeric AS estimate, min(ms) FILTER (WHERE what = 'merge')::numeric AS merge
        FROM timings WHERE timings.id = s.id) AS t;
SELECT format(E'The table shows estimates of all %s keys of 2 million rows (Zipf with exponent 1 over a million values). An error is\nthe estimate less the count.\n',
    count(*)) FROM zipf_exact;
\qecho '| structure | size | build, ms | ordinary plan, ms | one estimate | one merge | mean error | 99 % | worst | of the top 100 | of the top 500 | stored bytes |'
\qecho '|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|'
SELECT format('| %s | %s | %s | %s | %s ns | %s µs | %s | %s | %s | %s | %s | %s |',
    CASE WHEN is_default THEN structure || ' (default)' ELSE structure END, size, round(scan), round(plan),
    round(estimate * 1e6 / (SELECT count(*) FROM zipf_exact)), round(merge * 1000 / 30),
    mean, most_99, worst, top_100, top_500, to_char(stored, 'FM999,999,999'))
FROM results ORDER BY pg_size_bytes(size), id;

-- a parallel plan, and the merge of 30 partial sketches, must return the same
-- sketch
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
CREATE TABLE parallel AS SELECT qsketch_agg(k) AS sk FROM zipf;
RESET max_parallel_workers_per_gather;
DO $$ BEGIN
    ASSERT (SELECT bool_and(same_merged) FROM results), 'a merge of 30 parts is not the sketch of all rows';
    ASSERT (SELECT bool_and(p.sk = r.sk) FROM parallel AS p, results AS r WHERE is_default), 'a parallel plan gives another sketch';
    ASSERT (SELECT bool_and(top_500 >= 495) FROM results WHERE is_default), 'the default sketch finds too few of the top 500';
END $$;

--
-- 20 million clicks of a million users: nine of ten clicks are spread evenly over all
-- users, and one of ten clicks has the Zipf distribution above
--
\if :clicks
CREATE UNLOGGED TABLE clicks AS
    SELECT CASE WHEN i % 10 = 0 THEN floor(exp(random() * ln(1e6))) ELSE 1 + floor(random() * 1e6) END::bigint AS k
    FROM generate_series(1, 20000000) AS i;
VACUUM ANALYZE clicks;
CREATE UNLOGGED TABLE clicks_exact AS SELECT k, count(*) AS n FROM clicks GROUP BY k;
VACUUM ANALYZE clicks_exact;
CREATE TABLE click_results AS
SELECT structure, size, template = qsketch_new() AS is_default, octet_length(sk::bytea) AS stored, p.*
FROM (VALUES ('multilevel', '256kB'), ('multilevel', '512kB'), ('multilevel', '1MB'), ('multilevel', '2MB'),
        ('multilevel', '4MB'), ('sub_warp', '1MB'), ('sub_warp', '4MB')) AS s(structure, size),
    qsketch_new(structure, size) AS template,
    LATERAL (SELECT qsketch_agg(k, template) AS sk FROM clicks OFFSET 0) AS built, probe(sk, 'clicks_exact') AS p;
\qecho
\qecho 'The next table is of a million users with 20 million clicks. Nine tenths of the clicks are spread evenly over all users. The last tenth'
\qecho 'has the distribution of the first table. All sketches are far from empty.'
\qecho
\qecho '| structure | size | mean error | 99 % | worst | of the top 20 | of the top 100 | users above 1000 clicks | estimates above 1000 | stored bytes |'
\qecho '|---|---|---:|---:|---:|---:|---:|---:|---:|---:|'
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |',
    CASE WHEN is_default THEN structure || ' (default)' ELSE structure END, size, mean, most_99, worst,
    top_20, top_100, above, said_above, to_char(stored, 'FM999,999,999')) FROM click_results;
-- Measures the default structure with twenty other seeds.  The sketches are made from the counts,
-- and equal the sketches of the rows.
SELECT min(n) AS top_20, (SELECT count(*) FROM clicks_exact WHERE n > 1000) AS above
FROM (SELECT n FROM clicks_exact ORDER BY n DESC LIMIT 20) AS top \gset
CREATE TABLE seeds AS
SELECT size, seed, found.*
FROM unnest('{1MB,1536kB,2MB}'::text[]) AS size, generate_series(1, 20) AS seed,
    LATERAL (SELECT qsketch_agg(k, n, qsketch_new(size => size, seed => seed)) AS sk FROM clicks_exact OFFSET 0) AS built,
    LATERAL (
        SELECT count(*) FILTER (WHERE n >= :top_20 AND by_e <= 20) AS top_20, count(*) FILTER (WHERE n <= 1000) AS too_many,
            count(*) FILTER (WHERE n <= 900) AS far, 100.0 * count(*) FILTER (WHERE n <= 1000) / :above AS percent
        FROM (SELECT n, row_number() OVER (ORDER BY e DESC, k) AS by_e
            FROM (SELECT k, n, qsketch_estimate(sk, k) AS e FROM clicks_exact OFFSET 0) AS e WHERE e > 1000) AS ranked) AS found;
\qecho
\qecho 'The table shows the default structure with twenty other seeds. "Too many" counts users with at most 1000 clicks and an estimate above 1000.'
\qecho 'Most of these users have more than 900 clicks. The remaining users share all their counters with a frequent user.'
\qecho
\qecho '| size | seeds that found all of the top 20 | least number of the top 20 found | too many, mean | too many with at most 900 clicks, mean | too many, least | too many, most | seeds with more than 5 % |'
\qecho '|---|---:|---:|---:|---:|---:|---:|---:|'
SELECT format('| %s | %s | %s | %s | %s | %s %% | %s %% | %s |', size, count(*) FILTER (WHERE top_20 = 20), min(top_20),
    round(avg(too_many), 1), round(avg(far), 1), round(min(percent), 1), round(max(percent), 1), count(*) FILTER (WHERE percent > 5))
FROM seeds GROUP BY size ORDER BY pg_size_bytes(size);
DO $$ BEGIN
    ASSERT (SELECT bool_and(top_20 = 20 AND said_above <= 1.05 * above) FROM click_results WHERE is_default),
        'the default sketch does not find the users with most clicks';
END $$;
\endif
