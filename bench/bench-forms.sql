-- Compares the column scan with the ordinary plan for usual queries of people and dashboards:
-- keys, weights, groups and aggregates that are expressions.  Then measures groups in parallel
-- plans, and moving windows.  Fails if answers differ.
CREATE EXTENSION qsketch;
\i ratios.sql

SELECT setseed(0.5) \g /dev/null
CREATE TABLE hits AS
SELECT i AS id, timestamp '2026-09-01' + i * (interval '30 days' / :rows) AS ts, nullif(floor(exp(random() * ln(5e4)))::int - 1, 0) AS user_id,
    (ARRAY[200, 200, 200, 200, 304, 404, 500])[1 + floor(7 * random())::int] AS status, (300 * exp(5 * random()))::int AS bytes,
    (1000 * random() ^ 3)::real AS ms, (i % 9 * 0.25)::numeric(8, 2) AS price, random() < 0.1 AS bot,
    '/Shop/Product/' || floor(exp(random() * ln(2e4)))::int || '?from=' || i % 7 AS url,
    (ARRAY['us', 'in', 'br', 'de', 'gb', 'jp', 'fr', 'mx'])[1 + floor(8 * random() ^ 2)::int] AS country,
    inet '10.0.0.0' + floor(exp(random() * ln(1e5)))::bigint AS ip, 'session ' || i / 12 AS session
FROM generate_series(1, :rows) AS i;
VACUUM ANALYZE hits;

-- Returns a hash of all rows of a query, under settings (name, value, ...).
CREATE FUNCTION answer_of(query text, settings text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    PERFORM use_settings(settings);
    EXECUTE format('SELECT md5(string_agg(x::text, '','' ORDER BY x::text)) FROM (%s) AS x', query) INTO answer;
    PERFORM reset_settings(settings);
    RETURN answer;
END $$;

-- Returns a query's plan as JSON text, under settings.
CREATE FUNCTION plan_of(query text, settings text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    PERFORM use_settings(settings);
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    PERFORM reset_settings(settings);
    RETURN plan::text;
END $$;
CREATE TABLE forms (id int GENERATED ALWAYS AS IDENTITY, target numeric, form text);
INSERT INTO forms (target, form) VALUES
(0.5, 'SELECT qsketch_agg(user_id), count(1) FROM hits'),
(0.5, 'SELECT qsketch_agg(user_id), count(url) FROM hits'),
(0.5, 'SELECT qsketch_agg(coalesce(user_id, 0)) FROM hits'),
(0.5, 'SELECT qsketch_agg(user_id::bigint) FROM hits'),
(0.5, 'SELECT qsketch_agg(user_id::text) FROM hits'),
(0.8, 'SELECT qsketch_agg(lower(url)) FROM hits'),
(0.8, 'SELECT qtop_agg(split_part(url, ''?'', 1), 10) FROM hits'),
(0.5, 'SELECT qsketch_agg(ts::date) FROM hits'),
(1, 'SELECT qsketch_agg(host(ip)) FROM hits'),
(1, 'SELECT qsketch_agg(CASE WHEN bot THEN 0 ELSE user_id END) FROM hits'),
(1, 'SELECT qsketch_agg(user_id, 1) FROM hits'),
(1, 'SELECT qsketch_agg(user_id, bytes * 2) FROM hits'),
(1, 'SELECT qsketch_agg(user_id, CASE WHEN status = 200 THEN 1 ELSE 0 END) FROM hits'),
(1, 'SELECT qsketch_agg(user_id), sum(bytes * 2) FROM hits'),
(1, 'SELECT qsketch_agg(user_id), sum(CASE WHEN status >= 400 THEN 1 ELSE 0 END) FROM hits'),
(1, 'SELECT qsketch_agg(user_id), stddev(bytes), bool_or(bot) FROM hits'),
(1, 'SELECT qsketch_agg(user_id), array_agg(status) FROM hits'),
(1, 'SELECT qsketch_agg(user_id), string_agg(country, '','') FROM hits'),
(1, 'SELECT qsketch_agg(user_id), count(*) FILTER (WHERE ts::date = ''2026-09-15'') FROM hits'),
(1, 'SELECT extract(hour FROM ts), qsketch_agg(user_id) FROM hits GROUP BY 1'),
(1, 'SELECT price, qsketch_agg(user_id), count(*) FROM hits GROUP BY 1'),
(1, 'SELECT qtop_agg(ROW(country, status), 10) FROM hits'),
(1, 'SELECT qsketch_agg(ROW(user_id, lower(country))) FROM hits'),
(1, 'SELECT date_trunc(''hour'', ts), country, qsketch_agg(user_id), count(1) FROM hits GROUP BY 1, 2'),
(1, 'SELECT CASE WHEN status >= 500 THEN ''error'' WHEN status >= 400 THEN ''client'' ELSE ''ok'' END, qsketch_agg(user_id), sum(1) FROM hits GROUP BY 1'),
(1, 'SELECT date_trunc(''month'', ts)::date, sum(bytes::float8), qsketch_agg(user_id) FROM hits GROUP BY 1'),
(1, 'SELECT floor(extract(epoch FROM ts) / 3600) * 3600, qsketch_agg(user_id), avg(ms) FROM hits WHERE ts BETWEEN ''2026-09-02'' AND ''2026-10-02'' GROUP BY 1'),
(1, 'SELECT date_bin(''5 min'', ts, ''2000-01-01''), qsketch_agg(coalesce(user_id, -1)), max(bytes / 1024.0) FROM hits GROUP BY 1'),
(1, 'SELECT floor((bytes - 0.0) / 10000.0) * 10000.0, qsketch_agg(user_id), count(*) FROM hits GROUP BY 1'),
(1, 'SELECT width_bucket(bytes, 0, 100000, 10), qtop_agg(lower(country), 3), avg(bytes::numeric) FROM hits GROUP BY 1'),
(1, 'SELECT to_char(ts, ''YYYY-MM''), qsketch_agg(user_id), sum(bytes) FILTER (WHERE NOT bot), min(lower(country)) FROM hits GROUP BY 1'),
(1, 'SELECT qsketch_agg(user_id), qfilter_agg(md5(session), qfilter_new_bloom(100000)), variance(ms), corr(ms, bytes) FROM hits WHERE lower(country) = ''us'''),
(1, 'SELECT qsets_agg(status::bigint, lower(url)) FROM hits'),
(1, 'SELECT round(ms / 100), qsketch_agg(user_id) FROM hits GROUP BY 1'),
(1, 'SELECT date_part(''hour'', ts), qsketch_agg(user_id) FROM hits GROUP BY 1');
INSERT INTO benchmarks (what, query, rival, bound, target, holds, settings, rival_settings)
SELECT form, count_all, count_all, '<=', target,
    format('SELECT answer_of(%L, ''{work_mem, 256MB}'') = answer_of(%1$L, ''{work_mem, 256MB, qsketch.enable_columnscan, off}'')', form),
    '{work_mem, 256MB}', '{qsketch.enable_columnscan, off}'
FROM forms, format('SELECT count(x) FROM (%s) AS x', form) AS count_all ORDER BY id;
SELECT run_benchmarks(:turns) \g /dev/null

SELECT format('Each query read %s rows of 12 columns in one process, with `work_mem = 256MB`. The table has the forms that took more than 0.7 of the',
    to_char(:rows, 'FM999,999,999'));
\qecho 'ordinary plan''s time.'
\qecho
\qecho '| query | ordinary plan | column scan | ratio | target | |'
\qecho '|---|---:|---:|---:|---:|---|'
CREATE VIEW medians AS
SELECT id, what, target, holds, plan_of(query, settings) AS plan, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric AS ms,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY rival_ms)::numeric AS rival_ms,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY ms / rival_ms)::numeric AS ratio
FROM timings JOIN benchmarks USING (id) GROUP BY id, what, target, holds, query, settings;
CREATE TABLE found AS SELECT *, is_true(holds) AS correct FROM medians;
SELECT format('| `%s` | %s | %s | %s | %s | %s |', what, readable_ms(rival_ms),
    CASE WHEN plan ~ 'QSketchScan' THEN readable_ms(ms) ELSE 'the same plan' END, round(ratio, 2), target,
    CASE WHEN NOT correct THEN 'WRONG' WHEN ratio <= target OR plan !~ 'QSketchScan' THEN 'PASS' ELSE 'FAIL' END)
FROM found WHERE ratio > 0.7 OR ratio > target OR NOT correct ORDER BY id;
\qecho
SELECT format('The other %s forms took at most 0.70 of the ordinary plan''s time.', count(*)) FROM found WHERE ratio <= least(0.7, target) AND correct;

-- Measures all forms, and queries with large lists, filters or many groups, on one table and on 61
-- partitions, with several sizes of work_mem, if the planner chooses the column scan.  Prints the
-- queries for which the scan takes more than 1.1 times as long as the ordinary plan.
CREATE TABLE days (LIKE hits) PARTITION BY RANGE (ts);
SELECT format('CREATE TABLE days%s PARTITION OF days FOR VALUES FROM (%L) TO (%L)', i, timestamp '2026-09-01' + i * interval '12 h',
    timestamp '2026-09-01 12:00' + i * interval '12 h') FROM generate_series(0, 60) AS i \gexec
INSERT INTO days SELECT * FROM hits;
VACUUM ANALYZE days;
INSERT INTO forms (form) VALUES ('SELECT qtop_agg(url, 30000) FROM hits'), ('SELECT qtop_agg(ip, 100000) FROM hits'),
('SELECT country, qtop_agg(url, 30000) FROM hits GROUP BY 1'), ('SELECT country, qfilter_agg(ip, qfilter_new_bloom(1000000)) FROM hits GROUP BY 1'),
('SELECT ip, qtop_agg(url, 5) FROM hits GROUP BY 1'), ('SELECT session, qtop_agg(url, 3) FROM hits GROUP BY 1'),
('SELECT session, qsketch_agg(url) FROM hits GROUP BY 1'), ('SELECT ip, qfilter_agg(url, qfilter_new_bloom(1000)) FROM hits GROUP BY 1'),
('SELECT user_id, qsketch_agg(ip), count(*) FROM hits GROUP BY 1'), ('SELECT qsketch_agg(user_id, qsketch_new(size => ''16MB'')) FROM hits'),
('SELECT qfilter_agg(user_id, qfilter_new_bloom(10000000)) FROM hits');
TRUNCATE benchmarks, timings;
INSERT INTO benchmarks (what, query, rival, bound, target, holds, settings, rival_settings)
SELECT format('| `%s` | %s |', asked, memory), count_all, count_all, '<=', 1.1,
    format('SELECT answer_of(%1$L, %2$L) = answer_of(%1$L, %3$L)', CASE WHEN form ~ 'qtop' THEN count_all ELSE asked END, memory_is, memory_is || '{qsketch.enable_columnscan, off}'),
    memory_is, '{qsketch.enable_columnscan, off}'
FROM forms, unnest('{hits,days}'::text[]) AS source, unnest('{4MB,64MB,256MB}'::text[]) AS memory, replace(form, 'FROM hits', 'FROM ' || source) AS asked,
    format('SELECT count(x) FROM (%s) AS x', asked) AS count_all, LATERAL (SELECT ARRAY['work_mem', memory]) AS m (memory_is)
WHERE plan_of(count_all, memory_is) ~ 'QSketchScan' ORDER BY id, source, memory;
SELECT run_benchmarks(2) \g /dev/null
\qecho
\qecho 'Further queries have these forms, with large lists, filters and many groups, on one table and on 61 partitions (`days`). The table lists the queries for which the planner chose the scan, and the scan took more than 1.1 times the ordinary plan''s time.'
\qecho
\qecho '| query | `work_mem` | ordinary plan | column scan | ratio |'
\qecho '|---|---:|---:|---:|---:|'
INSERT INTO found SELECT *, is_true(holds) FROM medians;
SELECT format('%s %s | %s | %s |', what, readable_ms(rival_ms), readable_ms(ms), round(ratio, 2)) FROM medians WHERE ratio > 1.1 ORDER BY id;
\qecho
SELECT format('%s of %s queries took at most 1.1 times the ordinary plan''s time.', count(*) FILTER (WHERE ratio <= 1.1), count(*)) FROM medians;

-- If the column scan cannot run a query, qsketch says why and recommends another form.  Compares
-- the time of the recommended form with the time of the original query.
CREATE TABLE places AS SELECT country, ascii(country) AS region FROM hits WHERE country IS NOT NULL GROUP BY country;
VACUUM ANALYZE places;
TRUNCATE benchmarks, timings;
INSERT INTO benchmarks (what, query, rival, bound, target, holds, settings)
SELECT written, format('SELECT count(x) FROM (%s) AS x', better), format('SELECT count(x) FROM (%s) AS x', written), '<=', 1, format('SELECT answer_of(%L, ''{work_mem, 64MB}'') = answer_of(%L, ''{work_mem, 64MB}'')', better, written),
    '{work_mem, 64MB}'
FROM (VALUES
('SELECT country, status, qsketch_agg(user_id) FROM hits GROUP BY ROLLUP (country, status)',
 'SELECT country, status, qsketch_merge_agg(s) FROM (SELECT country, status, qsketch_agg(user_id) AS s FROM hits GROUP BY 1, 2) AS g GROUP BY ROLLUP (country, status)'),
('SELECT region, qsketch_agg(user_id) FROM hits JOIN places USING (country) GROUP BY 1',
 'SELECT region, qsketch_merge_agg(s) FROM (SELECT country, qsketch_agg(user_id) AS s FROM hits GROUP BY 1) AS g JOIN places USING (country) GROUP BY 1'),
('SELECT qsketch_agg(user_id ORDER BY ts) FROM hits', 'SELECT qsketch_agg(user_id) FROM hits')) AS v(written, better);
SELECT run_benchmarks(:turns) \g /dev/null
\qecho
\qecho 'If the column scan cannot run a query, qsketch says why and recommends another form. The ratio is the time of the recommended form, divided by the time of the query as written.'
\qecho
\qecho '| query | as written | as recommended | ratio | |'
\qecho '|---|---:|---:|---:|---|'
INSERT INTO found SELECT *, is_true(holds) FROM medians;
SELECT format('| `%s` | %s | %s | %s | %s |', what, readable_ms(rival_ms), readable_ms(ms), round(ratio, 2), CASE WHEN ratio <= target THEN 'PASS' ELSE 'FAIL' END) FROM medians ORDER BY id;

-- Groups: the time with 2 workers against the time without workers.
CREATE TABLE big AS SELECT i % 30 AS a, i::bigint * 7919 % 1000 AS b, floor(exp(random() * ln(1e6)))::bigint AS k FROM generate_series(1, 5 * :rows) AS i;
VACUUM ANALYZE big;
TRUNCATE benchmarks, timings;
INSERT INTO benchmarks (what, query, rival, bound, target, holds, settings, rival_settings)
SELECT form, count_all, count_all, '<=', 1,
    format('SELECT answer_of(%L, ''{work_mem, 256MB}'') = answer_of(%1$L, ''{work_mem, 256MB, max_parallel_workers_per_gather, 2}'')', form),
    '{work_mem, 256MB, max_parallel_workers_per_gather, 2}', '{max_parallel_workers_per_gather, 0}'
FROM (VALUES ('SELECT a, qsketch_agg(k) FROM big GROUP BY a'), ('SELECT a, qsketch_agg(k, qsketch_new(size => ''64kB'')) FROM big GROUP BY a'),
        ('SELECT b, qsketch_agg(k, qsketch_new(size => ''16kB'')) FROM big GROUP BY b'), ('SELECT a, count(*) FROM big GROUP BY a'),
        ('SELECT b, count(*) FROM big GROUP BY b')) AS queries (form), format('SELECT count(x) FROM (%s) AS x', form) AS count_all;
SELECT run_benchmarks(:turns) \g /dev/null
\qecho
INSERT INTO found SELECT *, is_true(holds) FROM medians;
SELECT format('If 2 workers are allowed, grouping %s rows took at most %s of the time without workers for `count(*)`, and at most %s for sketches.',
    to_char(5 * :rows, 'FM999,999,999'), max(round(ratio, 2)) FILTER (WHERE what ~ 'count'), max(round(ratio, 2)) FILTER (WHERE what ~ 'qsketch'))
FROM medians;

-- Moving windows: a sketch is written for each row.
CREATE TABLE uniform AS SELECT i AS id, floor(1e9 * random())::bigint AS k FROM generate_series(1, 200000) AS i;
VACUUM ANALYZE uniform;
TRUNCATE benchmarks, timings;
INSERT INTO benchmarks (what, query, rival, bound, target, holds, settings)
SELECT format('| %s | `%s` | %s |', frame, structure, size), windows, first_frame, '<=', queries.count,
    format('SELECT w::text = (SELECT qsketch_agg(k, qsketch_new(%L, %L))::text FROM uniform WHERE id BETWEEN 101 AND 101 + %s) FROM (%s LIMIT 1 OFFSET 100) AS x',
        structure, size, frame, w), '{work_mem, 256MB}'
FROM (VALUES (1000, 'multilevel', '1MB', 4000), (5000, 'multilevel', '64kB', 4000), (5000, 'multilevel', '1MB', 2000),
        (5000, 'sub_warp', '1MB', 2000), (5000, 'warp', '1MB', 2000), (5000, 'half_warp', '1MB', 2000), (5000, 'thread', '1MB', 2000),
        (5000, 'sf', '1MB', 500), (100000, 'multilevel', '1MB', 500), (100000, 'thread', '1MB', 500)) AS queries (frame, structure, size, count),
    format('SELECT qsketch_agg(k, qsketch_new(%L, %L)) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND %s FOLLOWING) AS w FROM uniform', structure, size, frame) AS w,
    format('SELECT sum(length(w::bytea)) FROM (%s LIMIT %s) AS x', w, queries.count) AS windows,
    format('SELECT sum(length(w::bytea)) FROM (%s LIMIT 1) AS x', w) AS first_frame;
SELECT run_benchmarks(:turns) \g /dev/null
INSERT INTO found SELECT *, is_true(holds) FROM medians;
\qecho
\qecho 'Moving windows over uniform keys, `ROWS BETWEEN CURRENT ROW AND n FOLLOWING`: time per row after the first row.'
\qecho
\qecho '| n | structure | size | us a row |'
\qecho '|---:|---|---:|---:|'
SELECT format('%s %s |', what, round(1000 * (ms - rival_ms) / (target - 1), CASE WHEN ms - rival_ms < 20 THEN 1 ELSE 0 END)) FROM medians ORDER BY id;
DO $$ BEGIN
    ASSERT (SELECT bool_and(correct) FROM found), 'an answer is wrong';
END $$;
