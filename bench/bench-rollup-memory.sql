-- Measures rollups of a log whose groups do not fit into memory: :rows rows of 60 days, in the
-- order of time and in random order, with work_mem of 4 MB and of 256 MB, against the ordinary
-- plan with 4 MB.  Runs after bench-rollup.sql, in the same database.
SET timezone = 'Europe/Berlin';
TRUNCATE benchmarks, timings;
SELECT setseed(0.5) \g /dev/null
CREATE TABLE ordered AS
SELECT id, at, at AT TIME ZONE 'UTC' AS ts, user_id, country, url, bytes
FROM (SELECT id, timestamptz '2026-02-15 UTC' + id * (interval '60 days' / :rows) AS at, user_id, country, url, bytes FROM hits) AS h
ORDER BY id;
CREATE TABLE shuffled AS SELECT * FROM ordered ORDER BY random();
VACUUM ANALYZE ordered, shuffled;

-- Queries read values as bytes, as storing the values does.
INSERT INTO benchmarks (what, query, rival, bound, target, holds, settings, rival_settings)
SELECT format('| `%s` | `%s` | %s |', step, aggregate, log), query, query, '<=', target,
    format('SELECT bool_and(total IS NOT DISTINCT FROM n) FROM (SELECT %s AS g, %s(%s) AS total FROM %I GROUP BY 1) AS s
        FULL JOIN (SELECT %1$s AS g, count(*) AS n FROM %4$I GROUP BY 1) AS e USING (g)', step, total, aggregate, log),
    '{work_mem, 4MB, max_parallel_workers_per_gather, 0}', rival_settings
FROM (VALUES (1, 'qsketch_agg(user_id)', 'qsketch_total'), (2, 'qtop_agg(user_id, 20)', 'qtop_total')) AS aggregates (k, aggregate, total),
    (VALUES (1, 'ts::date'), (2, 'date_trunc(''day'', ts)'), (3, 'at::date'), (4, '(at AT TIME ZONE ''Asia/Kathmandu'')::date'),
        (5, 'date_trunc(''day'', at, ''America/Sao_Paulo'')'), (6, 'date_trunc(''hour'', at)')) AS steps (j, step),
    unnest(ARRAY['ordered', 'shuffled']) AS log,
    format('SELECT sum(length(s::bytea)) FROM (SELECT %s AS g, %s AS s FROM %I GROUP BY 1) AS r', step, aggregate, log) AS query,
    (VALUES (1, 1.3, '{work_mem, 256MB}'::text[]), (2, 1, '{qsketch.enable_columnscan, off}')) AS rivals (i, target, rival_settings)
WHERE k = 1 OR j IN (1, 6)
ORDER BY k, j, log, i;
SELECT run_benchmarks(:turns) \g /dev/null

SELECT format('Rollups of %s rows of 60 days in one process; `shuffled` has the rows of `ordered` in random order.', to_char(:rows, 'FM999,999,999'));
\qecho
\qecho '| grouped by | aggregate | log | 4 MB | 256 MB | ratio | ordinary plan, 4 MB | ratio |'
\qecho '|---|---|---|---:|---:|---:|---:|---:|'
CREATE TABLE lines AS
SELECT min(id) AS id, max(ratio) AS ratio, what || format(' %s |', readable_ms(min(ms) FILTER (WHERE first))) || string_agg(format(' %s | %s of at most %s: %s |', readable_ms(rival_ms),
    round(ratio, 2), target, CASE WHEN ratio <= target THEN 'PASS' ELSE 'FAIL' END), '' ORDER BY id) AS line
FROM (SELECT id, what, target, target > 1 AS first, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric AS ms,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY rival_ms)::numeric AS rival_ms,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY ms / rival_ms)::numeric AS ratio
    FROM timings JOIN benchmarks USING (id) GROUP BY id, what, target) AS medians
GROUP BY what;
SELECT line FROM lines WHERE ratio > 1.15 ORDER BY id;
SELECT format(E'\nThe other %s rollups took at most 1.15 of the time with 256 MB.', count(*)) FROM lines WHERE ratio <= 1.15;
DO $$ BEGIN
    ASSERT (SELECT bool_and(is_true(holds)) FROM benchmarks), 'an answer is wrong';
END $$;
