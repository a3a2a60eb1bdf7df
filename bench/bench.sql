-- Makes the benchmark's data and runs its queries.  Run by bench.sh with the number of rows in
-- :rows, of rows of the largest table in :most_rows, of stored sketches in :stored, of runs of each
-- query in :turns, and of parallel workers in :workers.
--
-- Prints the first part of docs/engineering/performance.md.  Writes the data of the figures, and
-- the table of docs/recipes.md, into files in :folder.

SET client_min_messages = warning;
CREATE EXTENSION qsketch;
CREATE EXTENSION pg_prewarm;
CREATE EXTENSION hll;
CREATE EXTENSION tdigest;
\i ratios.sql

-- Uniform keys from as many values as there are rows (63% of the values occur),
-- Zipf-distributed keys with exponent 1 over a million values, and strings with
-- the uniform keys.
SELECT setseed(0.42) \g /dev/null
CREATE UNLOGGED TABLE ints AS
    SELECT (random() * :rows)::bigint AS k, i AS v FROM generate_series(1, :rows) AS i;
CREATE UNLOGGED TABLE fresh AS SELECT * FROM ints;
CREATE UNLOGGED TABLE zipf AS
    SELECT floor(exp(random() * ln(1e6)))::bigint AS k, v FROM ints;
CREATE UNLOGGED TABLE texts AS SELECT 'user ' || lpad(k::text, 12, '0') AS t FROM ints;
CREATE UNLOGGED TABLE dated AS
    SELECT k, (random() * 30)::int % 30 AS day, (random() * 100)::int % 100 AS percent FROM ints;
-- A log of 30 days and 20 places, in the order of time.
CREATE UNLOGGED TABLE logs AS
    SELECT k, timestamp '2026-01-01' + (v - 1) * (interval '30 days' / :rows) AS ts, (random() * 20)::int % 20 AS place FROM ints;
-- "partitioned" is loaded day by day.  "strewn" is loaded in the order of the rows, so that the
-- pages of a partition are scattered over shared memory.
CREATE UNLOGGED TABLE partitioned (LIKE dated) PARTITION BY LIST (day);
CREATE UNLOGGED TABLE strewn (LIKE dated) PARTITION BY LIST (day);
SELECT format('CREATE UNLOGGED TABLE %s_%s PARTITION OF %1$s FOR VALUES IN (%2$s)', t, i)
FROM generate_series(0, 29) AS i, unnest(ARRAY['partitioned', 'strewn']) AS t
\gexec
INSERT INTO partitioned SELECT * FROM dated ORDER BY day;
INSERT INTO strewn SELECT * FROM dated;
CREATE UNLOGGED TABLE keys AS SELECT k FROM ints LIMIT 1000000;
CREATE TABLE stored AS SELECT qsketch_agg(k) AS sk FROM ints;
CREATE UNLOGGED TABLE many AS SELECT i AS day, sk FROM stored, generate_series(1, :stored) AS i;
CREATE UNLOGGED TABLE days AS SELECT * FROM many LIMIT 30;
CREATE UNLOGGED TABLE probes AS SELECT k FROM keys LIMIT 20000;
CREATE UNLOGGED TABLE batch AS SELECT array_agg(k) AS a FROM keys;
CREATE UNLOGGED TABLE written (sk qsketch);
VACUUM ANALYZE ints, zipf, texts, dated, logs, partitioned, strewn, keys, stored, many, days, probes;
ANALYZE fresh;
SELECT pg_prewarm(t) FROM unnest(ARRAY['ints', 'zipf', 'texts', 'dated', 'logs', 'keys', 'fresh', 'many']) AS t \g /dev/null

--
-- Targets
--
INSERT INTO benchmarks (what, query, rival, bound, target, settings, holds) VALUES
('column scan', 'SELECT qsketch_agg(k) FROM ints', 'SELECT count(*) FROM ints', '<=', 0.40, '{}',
 'SELECT sk = (SELECT qsketch_agg(k) FROM ints WHERE v > 0) FROM stored'),
('of a table just loaded', 'SELECT qsketch_agg(k) FROM fresh', 'SELECT count(*) FROM fresh', '<=', 0.60, '{}',
 'SELECT qsketch_agg(k) = (SELECT sk FROM stored) FROM fresh'),
('with 2 workers', 'SELECT qsketch_agg(k) FROM ints', 'SELECT count(*) FROM ints', '<=', 0.45,
 '{max_parallel_workers_per_gather, 2}', DEFAULT),
('of strings', 'SELECT qsketch_agg(t) FROM texts', 'SELECT count(t) FROM texts', '<=', 0.8, '{}',
 'SELECT qsketch_total(qsketch_agg(t)) = count(*) FROM texts'),
('of two thirds of the rows', 'SELECT qsketch_agg(k) FROM dated WHERE day < 20', 'SELECT count(*) FROM dated WHERE day < 20', '<=', 0.55, '{}',
 'SELECT qsketch_agg(k) = (SELECT qsketch_agg(k) FROM (SELECT k FROM dated WHERE day < 20 OFFSET 0) AS o) FROM dated WHERE day < 20'),
('of 1 % of the rows', 'SELECT qsketch_agg(k) FROM dated WHERE percent = 7', 'SELECT count(*) FROM dated WHERE percent = 7', '<=', 0.6, '{}',
 'SELECT qsketch_agg(k) = (SELECT qsketch_agg(k) FROM (SELECT k FROM dated WHERE percent = 7 OFFSET 0) AS o) FROM dated WHERE percent = 7'),
('of 30 groups', 'SELECT count(sk) FROM (SELECT day, qsketch_agg(k) AS sk FROM dated GROUP BY day) AS g',
 'SELECT count(n) FROM (SELECT day, count(*) AS n FROM dated GROUP BY day) AS g', '<=', 0.7, '{work_mem, 64MB}',
 'SELECT count(*) = 30 AND bool_and(g.sk = qsketch_agg) FROM (SELECT day, qsketch_agg(k) AS sk FROM dated GROUP BY day) AS g
  JOIN (SELECT day, qsketch_agg(k) FROM (SELECT * FROM dated OFFSET 0) AS d GROUP BY day) AS o USING (day)'),
('of 30 days of a log', 'SELECT count(sk) FROM (SELECT ts::date, qsketch_agg(k) AS sk FROM logs GROUP BY ts::date) AS g',
 'SELECT count(n) FROM (SELECT ts::date, count(*) AS n FROM logs GROUP BY ts::date) AS g', '<=', 0.45, '{work_mem, 64MB}',
 'SELECT count(*) = 30 AND bool_and(g.sk = o.sk) FROM (SELECT ts::date AS day, qsketch_agg(k) AS sk FROM logs GROUP BY ts::date) AS g
  JOIN (SELECT ts::date AS day, qsketch_agg(k) AS sk FROM (SELECT * FROM logs OFFSET 0) AS l GROUP BY ts::date) AS o USING (day)'),
('of 30 days x 20 places', 'SELECT count(sk) FROM (SELECT ts::date, place, qsketch_agg(k) AS sk FROM logs GROUP BY ts::date, place) AS g',
 'SELECT count(n) FROM (SELECT ts::date, place, count(*) AS n FROM logs GROUP BY ts::date, place) AS g', '<=', 0.6, '{}',
 'SELECT count(*) = 600 AND bool_and(g.sk = o.sk) FROM (SELECT ts::date AS day, place, qsketch_agg(k) AS sk FROM logs GROUP BY ts::date, place) AS g
  JOIN (SELECT ts::date AS day, place, qsketch_agg(k) AS sk FROM (SELECT * FROM logs OFFSET 0) AS l GROUP BY ts::date, place) AS o USING (day, place)'),
('of 30 partitions', 'SELECT qsketch_agg(k) FROM partitioned', 'SELECT qsketch_agg(k) FROM dated', '<=', 1.2, '{}',
 'SELECT qsketch_agg(k) = (SELECT qsketch_agg(k) FROM dated) FROM partitioned'),
('loaded as rows came', 'SELECT qsketch_agg(k) FROM strewn', 'SELECT count(*) FROM strewn', '<=', 0.6, '{}',
 'SELECT qsketch_agg(k) = (SELECT qsketch_agg(k) FROM dated) FROM strewn'),
('ordinary plan', 'SELECT qsketch_agg(k) FROM ints', 'SELECT bit_xor(k) FROM ints', '<=', 1.25,
 '{qsketch.enable_columnscan, off}', DEFAULT),
('', 'SELECT qsketch_agg(k) FROM ints', 'SELECT hll_add_agg(hll_hash_bigint(k)) FROM ints', '<=', 0.95,
 '{qsketch.enable_columnscan, off}', DEFAULT),
('64 MB', $$SELECT qsketch_total(qsketch_agg(k, qsketch_new(size => '64MB'))) FROM ints$$,
 'SELECT bit_xor(k) FROM ints', '<=', 2.1, '{qsketch.enable_columnscan, off}', DEFAULT),
('exact counts', 'SELECT qsketch_agg(k) FROM ints',
 'SELECT max(n) FROM (SELECT count(*) AS n FROM ints GROUP BY k) AS g', '>=', 25, '{}',
 'SELECT bool_and(qsketch_estimate(sk, k) >= n)
  FROM (SELECT k, count(*) AS n FROM ints WHERE k % 100 = 0 GROUP BY k) AS g, stored'),
('top keys', 'SELECT qtop_agg(k, 20) FROM ints', 'SELECT count(*) FROM ints', '<=', 0.70, '{}',
 'SELECT qtop_sketch(qtop_agg(k, 20)) = (SELECT sk FROM stored) FROM ints'),
('top keys, ordinary plan', 'SELECT qtop_agg(k, 20) FROM ints', 'SELECT qsketch_agg(k) FROM ints', '<=', 1.5,
 '{qsketch.enable_columnscan, off}', DEFAULT),
('top keys by weight', 'SELECT qtop_agg(k, v, 20) FROM ints', 'SELECT sum(v) FROM ints', '<=', 0.9, '{}',
 'SELECT qtop_sketch(qtop_agg(k, v, 20)) = (SELECT qsketch_agg(k, v) FROM ints) FROM ints'),
('by weight, ordinary plan', 'SELECT qtop_agg(k, v, 20) FROM ints', 'SELECT qtop_agg(k, 20) FROM ints', '<=', 1.7,
 '{qsketch.enable_columnscan, off}', DEFAULT),
('of strings', 'SELECT qtop_agg(t, 20) FROM texts', 'SELECT qsketch_agg(t) FROM texts', '<=', 1.5, '{}',
 'SELECT qtop_sketch(qtop_agg(t, 20)) = (SELECT qsketch_agg(t) FROM texts) FROM texts'),
('of strings, ordinary plan', 'SELECT qtop_agg(t, 20) FROM texts', 'SELECT qsketch_agg(t) FROM texts', '<=', 1.5,
 '{qsketch.enable_columnscan, off}', DEFAULT),
('top keys', 'SELECT qtop_agg(k, 20) FROM ints',
 'SELECT max(n) FROM (SELECT k, count(*) AS n FROM ints GROUP BY k ORDER BY count(*) DESC LIMIT 20) AS g', '>=', 5, '{}', DEFAULT),
('top keys, exactly', $$SELECT max(count) FROM qtop_exact('ints', 'k', 20)$$,
 'SELECT max(n) FROM (SELECT k, count(*) AS n FROM ints GROUP BY k ORDER BY count(*) DESC LIMIT 20) AS g', '>=', 5, '{}',
 $$SELECT (SELECT array_agg((key, count) ORDER BY count DESC, key) FROM qtop_exact('ints', 'k', 20, NULL::bigint)) =
  (SELECT array_agg((k, n) ORDER BY n DESC, k) FROM (SELECT k, count(*) AS n FROM ints GROUP BY k ORDER BY 2 DESC, 1 LIMIT 20) AS g)$$),
('of Zipf-distributed keys', $$SELECT max(count) FROM qtop_exact('zipf', 'k', 20)$$,
 'SELECT max(n) FROM (SELECT k, count(*) AS n FROM zipf GROUP BY k ORDER BY count(*) DESC LIMIT 20) AS g', '>=', 2, '{}', DEFAULT),
('estimates', 'SELECT sum(qsketch_estimate(sk, k)) FROM keys, stored',
 'SELECT sum(hashint8extended(k, 0)) FROM keys, stored', '<=', 1.8, '{}',
 'SELECT bool_and(qsketch_estimate(sk, k) > 0) FROM keys, stored'),
-- In an outer join without a condition, the query determines the outer table.
('30 sketches for each key', 'SELECT sum(qsketch_estimate(sk, k)) FROM probes LEFT JOIN days ON true',
 'SELECT sum(qsketch_estimate(sk, k)) FROM days LEFT JOIN probes ON true', '<=', 1.6, '{work_mem, 64MB}',
 'SELECT (SELECT sum(qsketch_estimate(sk, k)) FROM probes LEFT JOIN days ON true) =
    (SELECT sum(qsketch_estimate(sk, k)) FROM days LEFT JOIN probes ON true)'),
('merging', 'SELECT qsketch_total(qsketch_merge_agg(sk)) FROM many',
 'SELECT sum(length(sk::bytea)) FROM many', '<=', 2, '{}',
 'SELECT qsketch_total(qsketch_merge_agg(many.sk)) = sum(qsketch_total(many.sk)) FROM many');
SELECT run_benchmarks(:turns) \g /dev/null
\qecho '## Against its targets'
\qecho
\i print-ratios.sql

--
-- The default structure against sub_warp: the same queries with sketches of the
-- same size
--
CREATE TABLE stored_sub_warp AS SELECT qsketch_agg(k, qsketch_new('sub_warp')) AS sk FROM ints;
CREATE UNLOGGED TABLE many_sub_warp AS SELECT i AS day, sk FROM stored_sub_warp, generate_series(1, :stored) AS i;
VACUUM ANALYZE stored_sub_warp, many_sub_warp;
SELECT pg_prewarm('many_sub_warp') \g /dev/null
TRUNCATE benchmarks, timings;
DROP TABLE results;

-- Returns the rival of a query: the same query with the tables and the template of
-- sub_warp.
CREATE FUNCTION with_sub_warp(query text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(regexp_replace(regexp_replace(query,
        '\m(stored|many)\M', '\1_sub_warp', 'g'),
        'qsketch_agg\((\w+)\)', 'qsketch_agg(\1, qsketch_new(''sub_warp''))', 'g'),
        'qsketch_new\(size => ', 'qsketch_new(''sub_warp'', ', 'g')
$$;
INSERT INTO benchmarks (what, query, rival, bound, target, settings)
SELECT what, query, with_sub_warp(query), '<=', CASE what WHEN 'loading' THEN 3 WHEN 'merging' THEN 1.5 WHEN '64 MB' THEN 2.1 WHEN 'of Zipf-distributed keys' THEN 1.2 ELSE 1.1 END, settings FROM (VALUES
    ('column scan', 'SELECT qsketch_agg(k) FROM ints', '{}'::text[]),
    ('of a table just loaded', 'SELECT qsketch_agg(k) FROM fresh', '{}'),
    ('with 2 workers', 'SELECT qsketch_agg(k) FROM ints', '{max_parallel_workers_per_gather, 2}'),
    ('of Zipf-distributed keys', 'SELECT qsketch_agg(k) FROM zipf', '{}'),
    ('of strings', 'SELECT qsketch_agg(t) FROM texts', '{}'),
    ('64 MB', $$SELECT qsketch_total(qsketch_agg(k, qsketch_new(size => '64MB'))) FROM ints$$, '{}'),
    ('ordinary plan', 'SELECT qsketch_agg(k) FROM ints', '{qsketch.enable_columnscan, off}'),
    ('of strings', 'SELECT qsketch_agg(t) FROM texts', '{qsketch.enable_columnscan, off}'),
    ('groups', $$SELECT count(sk) FROM (SELECT qsketch_agg(k, qsketch_new(size => '64kB')) AS sk FROM keys GROUP BY k % 1000) AS g$$, '{}'),
    ('moving window', $$SELECT sum(n) FROM (SELECT qsketch_total(qsketch_agg(k, qsketch_new(size => '64kB')) OVER (ROWS 5000 PRECEDING)) AS n FROM (SELECT k FROM keys LIMIT 20000) AS k) AS w$$, '{}'),
    ('estimates', 'SELECT sum(qsketch_estimate(sk, k)) FROM keys, stored', '{}'),
    ('of an array', 'SELECT cardinality(qsketch_estimate(sk, a)) FROM stored, batch', '{}'),
    ('of many stored sketches', 'SELECT sum(qsketch_estimate(sk, 42::bigint)) FROM many', '{}'),
    ('merging', 'SELECT qsketch_total(qsketch_merge_agg(sk)) FROM many', '{}'),
    ('loading', 'SELECT sum(length(sk::bytea)) FROM many', '{}')) AS v(what, query, settings);
SELECT run_benchmarks(:turns) \g /dev/null
-- Prints the comparison to standard error, not on the page.
\o | cat >&2
\qecho
\qecho '## The default structure against sub_warp'
\qecho
\set above 1.1
\i print-ratios.sql
\unset above
\o
DROP TABLE many_sub_warp;

--
-- Measurements for figures and tables
--
CREATE TABLE points (figure text, curve text, x float8, ms float8, rows float8);

-- Measures a query with the given settings, "times" times or until its runs took
-- more than 2 seconds together.  Short queries run more often, because other work on the
-- machine disturbs short runs most.
CREATE FUNCTION measure(figure text, curve text, x float8, rows float8, query text,
    settings text[] DEFAULT '{}', times int DEFAULT 3) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    ms float8[] := '{}';
BEGIN
    FOR run IN 1 .. times LOOP
        ms := ms || run_ms_with(query, settings);
        EXIT WHEN (SELECT sum(m) > 2000 FROM unnest(ms) AS m);
    END LOOP;
    INSERT INTO points
    SELECT figure, curve, x, percentile_cont(0.5) WITHIN GROUP (ORDER BY m), rows FROM unnest(ms) AS m;
END $$;

-- time per row by size of the sketch, structure and instructions
CREATE UNLOGGED TABLE part AS SELECT k, v FROM ints LIMIT :rows / 5;
VACUUM ANALYZE part;
CREATE TABLE simd (name text, usable boolean);
DO $$
DECLARE
    simd text;
BEGIN
    FOREACH simd IN ARRAY ARRAY['scalar', 'avx2', 'avx512'] LOOP
        BEGIN
            PERFORM set_config('qsketch.simd', simd, false);
            INSERT INTO simd VALUES (simd, true);
        EXCEPTION WHEN invalid_parameter_value THEN
        END;
    END LOOP;
    RESET qsketch.simd;
END $$;
-- sf is not measured at 512 MB, because its fat counters would take 4 GB
SELECT measure('size', s || ' ' || simd.name, 2 ^ mb, :rows / 5,
    format('SELECT qsketch_total(qsketch_agg(k, qsketch_new(%L, %L))) FROM part', s, 2 ^ mb * 1024 || 'kB'),
    ARRAY['qsketch.simd', simd.name])
FROM unnest(ARRAY['thread', 'warp', 'half_warp', 'sub_warp', 'multilevel', 'sf']) AS s,
    unnest(ARRAY[-4, -2, 0, 2, 4, 6, 9]) AS mb, simd
WHERE (s <> 'sf' OR mb <= 6) AND (s NOT IN ('thread', 'sf') OR simd.name = 'scalar') \g /dev/null

-- workers
SELECT measure('workers', curve, workers, :rows, query, ARRAY['max_parallel_workers_per_gather', workers::text] || settings)
FROM generate_series(0, :workers) AS workers, (VALUES
    ('column scan', 'SELECT qsketch_agg(k) FROM ints', '{}'::text[]),
    ('ordinary plan', 'SELECT qsketch_agg(k) FROM ints', '{qsketch.enable_columnscan, off}'),
    ('count(*)', 'SELECT count(*) FROM ints', '{}'),
    ('bit_xor', 'SELECT bit_xor(k) FROM ints', '{}')) AS c(curve, query, settings) \g /dev/null

-- time per row by the number of rows; rows_table() makes the tables
CREATE FUNCTION rows_table(n bigint, rows bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF n = rows THEN
        RETURN 'ints';
    END IF;
    EXECUTE format('CREATE UNLOGGED TABLE rows_%s (k bigint, v integer)', n);
    EXECUTE format(CASE WHEN n < rows THEN 'INSERT INTO rows_%s SELECT * FROM ints LIMIT %1$s'
        ELSE 'INSERT INTO rows_%s SELECT random() * %1$s, i FROM generate_series(1, %1$s) AS i' END, n);
    EXECUTE format('ANALYZE rows_%s', n);
    RETURN 'rows_' || n;
END $$;
CREATE TABLE heights AS
SELECT n::bigint AS n, rows_table(n::bigint, :rows) AS name
FROM (SELECT unnest(ARRAY[1e5, 3e5, 1e6, 3e6, 1e7, 3e7, 1e8]) AS n UNION SELECT :rows) AS n
WHERE n <= greatest(:most_rows, :rows);
VACUUM;
SELECT measure('rows', curve, n, n, format(query, name), settings) FROM heights, (VALUES
    ('qsketch_agg, column scan', 'SELECT qsketch_agg(k) FROM %I', '{}'::text[]),
    ('qsketch_agg, ordinary plan', 'SELECT qsketch_agg(k) FROM %I', '{qsketch.enable_columnscan, off}'),
    ('count(*)', 'SELECT count(*) FROM %I', '{}'),
    ('bit_xor', 'SELECT bit_xor(k) FROM %I', '{}'),
    ('hll_add_agg', 'SELECT hll_add_agg(hll_hash_bigint(k)) FROM %I', '{}'),
    ('tdigest', 'SELECT tdigest(k, 100) FROM %I', '{}'),
    ('count(DISTINCT)', 'SELECT count(DISTINCT k) FROM %I', '{}'),
    ('exact GROUP BY', 'SELECT max(n) FROM (SELECT count(*) AS n FROM %I GROUP BY k) AS g', '{}'))
    AS c(curve, query, settings) \g /dev/null

-- time per row by the number of groups
SELECT measure('groups', curve, groups, :rows / 5, format(query, groups)) FROM
    unnest(ARRAY[1, 10, 100, 1e3, 1e4, 1e5, 1e6]::int[]) AS groups, (VALUES
    ('qsketch_agg', $$SELECT count(sk) FROM (SELECT qsketch_agg(k, qsketch_new(size => '64kB')) AS sk FROM part GROUP BY v %% %s) AS g$$),
    ('hll_add_agg', 'SELECT count(h) FROM (SELECT hll_add_agg(hll_hash_bigint(k)) AS h FROM part GROUP BY v %% %s) AS g'),
    ('count(*)', 'SELECT count(n) FROM (SELECT count(*) AS n FROM part GROUP BY v %% %s) AS g')) AS c(curve, query) \g /dev/null

-- operations on sketches of 1 MB
SELECT measure('life', what, position, count, query, settings) FROM (VALUES
    (1, 'build, from uniform integers', :rows, 'SELECT qsketch_agg(k) FROM ints', '{}'::text[]),
    (2, 'build, from Zipf-distributed integers', :rows, 'SELECT qsketch_agg(k) FROM zipf', '{}'),
    (3, 'build, from strings', :rows, 'SELECT qsketch_agg(t) FROM texts', '{}'),
    (4, 'build, ordinary plan', :rows, 'SELECT qsketch_agg(k) FROM ints', '{qsketch.enable_columnscan, off}'),
    (5, 'build, ordinary plan, from strings', :rows, 'SELECT qsketch_agg(t) FROM texts', '{qsketch.enable_columnscan, off}'),
    (6, 'estimate, of a stored sketch', least(1000000, :rows), 'SELECT sum(qsketch_estimate(sk, k)) FROM keys, stored', '{}'),
    (7, 'estimate, of an array', least(1000000, :rows), 'SELECT cardinality(qsketch_estimate(sk, a)) FROM stored, batch', '{}'),
    (8, 'estimate, of each of many stored sketches', :stored, 'SELECT sum(qsketch_estimate(sk, 42::bigint)) FROM many', '{}'),
    (9, 'merge', :stored, 'SELECT qsketch_total(qsketch_merge_agg(sk)) FROM many', '{}'),
    (10, 'load', :stored, 'SELECT sum(length(sk::bytea)) FROM many', '{}'),
    (11, 'store', 100, 'WITH w AS (INSERT INTO written SELECT sk || sk FROM many LIMIT 100 RETURNING 1) SELECT count(*) FROM w', '{}'))
    AS v(position, what, count, query, settings) \g /dev/null

\qecho
\qecho '## What is done with sketches of 1 MB'
\qecho
\qecho '| what | how often | ms | each |'
\qecho '|---|---:|---:|---:|'
SELECT format('| %s | %s | %s | %s |', curve, rows, round(ms), CASE WHEN ms * 1e6 / rows < 10000
    THEN round((ms * 1e6 / rows)::numeric, 1) || ' ns' ELSE round((ms * 1e3 / rows)::numeric) || ' µs' END)
FROM points WHERE figure = 'life' ORDER BY x;

\qecho
\qecho '## Against other aggregates'
\qecho
\qecho 'The table is narrow, with uniform keys.'
SELECT format(E'\n| over all rows of %s and %s | ms | ns a row | times the column scan | ms | ns a row | times the column scan |',
    :rows, max(n)) FROM heights;
\qecho '|---|---:|---:|---:|---:|---:|---:|'
WITH measured AS (
    SELECT curve, ms, x, round(ms) || ' | ' || round((ms * 1e6 / rows)::numeric, 1) || ' | ' ||
        round((ms / first_value(ms) OVER (PARTITION BY x ORDER BY curve <> 'qsketch_agg, column scan'))::numeric, 1) AS cells
    FROM points WHERE figure = 'rows'
)
SELECT format('| %s | %s | %s |', curve, small.cells, large.cells)
FROM measured AS small JOIN measured AS large USING (curve)
WHERE small.x = :rows AND large.x = (SELECT max(n) FROM heights) ORDER BY large.ms;

-- One week: keys looked up in seven stored sketches, one by one, as an array in
-- each sketch, and in the merged sketch
SELECT measure('week', way, n, n, format(query, n), '{}', :turns) FROM unnest(ARRAY[1, 100, 10000]) AS n, (VALUES
    ('each', 'SELECT sum(e) FROM (SELECT k, sum(qsketch_estimate(sk, k)) AS e
        FROM (SELECT sk FROM many LIMIT 7) AS m, (SELECT k FROM keys LIMIT %s) AS k GROUP BY k) AS s'),
    ('arrays', 'SELECT sum(e) FROM (SELECT l.key, sum(l.estimate) AS e
        FROM (SELECT sk FROM many LIMIT 7) AS m, qsketch_lookup(sk, ARRAY(SELECT k FROM keys LIMIT %s)) AS l GROUP BY l.key) AS s'),
    ('merge', 'SELECT sum(qsketch_estimate(week, k)) FROM (SELECT qsketch_merge_agg(sk) AS week
        FROM (SELECT sk FROM many LIMIT 7) AS m) AS w, (SELECT k FROM keys LIMIT %s) AS k')) AS v(way, query) \g /dev/null

-- Returns data for gnuplot: a block of lines for each curve, two empty lines
-- between blocks.
CREATE FUNCTION blocks(which text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(format(E'"%s"\n%s', curve, lines), E'\n\n\n' ORDER BY first)
    FROM (
        SELECT curve, min(n) AS first, string_agg(format('%s %s', x, y), E'\n' ORDER BY x) AS lines
        FROM (
            SELECT *, row_number() OVER () AS n, CASE which WHEN 'workers'
                THEN first_value(ms) OVER (PARTITION BY curve ORDER BY x) / ms ELSE ms * 1e6 / rows END AS y
            FROM points WHERE figure = which
        ) AS p GROUP BY curve
    ) AS c
$$;
-- Returns a time of the figure "week", rounded, for docs/recipes.md.
CREATE FUNCTION ms_of(keys float8, way text) RETURNS numeric LANGUAGE sql AS $$
    SELECT round(ms::numeric, CASE WHEN ms < 10 THEN 1 ELSE 0 END) FROM points WHERE figure = 'week' AND x = keys AND curve = way
$$;
\cd :folder
\o size.dat
SELECT blocks('size');
\o workers.dat
SELECT blocks('workers');
\o rows.dat
SELECT blocks('rows');
\o groups.dat
SELECT blocks('groups');
\o week
SELECT E'\n| keys | sum of estimates, ms | of arrays, ms | estimates of the merge, ms |\n|---:|---:|---:|---:|';
SELECT format('| %s | %s | %s | %s |', x, ms_of(x, 'each'), ms_of(x, 'arrays'), ms_of(x, 'merge'))
FROM points WHERE figure = 'week' AND curve = 'each' ORDER BY x;
SELECT '';
\o
