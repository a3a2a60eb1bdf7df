-- Measures queries for which exact SQL or hll may be better than qsketch, on a log of :rows rows.
-- Prints the table of docs/choosing.md, and fails if an answer is wrong.
CREATE EXTENSION qsketch;
CREATE EXTENSION hll;
\i ratios.sql

\i hits.sql

-- Makes rollups: frequent pages of small groups, and distinct users of larger groups.
CREATE TABLE top_pages AS SELECT date_trunc('minute', at) AS minute, country, qtop_agg(url, 10) AS top FROM hits GROUP BY 1, 2;
CREATE TABLE exact_pages AS SELECT date_trunc('minute', at) AS minute, country, url, count(*) AS n FROM hits GROUP BY 1, 2, 3;
CREATE TABLE users AS SELECT date_trunc('hour', at) AS hour, country, qsketch_agg(user_id) AS sk FROM hits GROUP BY 1, 2;
CREATE TABLE hll_users AS SELECT date_trunc('hour', at) AS hour, country, hll_add_agg(hll_hash_bigint(user_id)) AS h FROM hits GROUP BY 1, 2;
CREATE INDEX ON hits (day);
VACUUM ANALYZE;

CREATE FUNCTION top_pages_of(source text) RETURNS text LANGUAGE sql AS $$
    SELECT 'SELECT sum(n) FROM (SELECT n, row_number() OVER (PARTITION BY minute, country ORDER BY n DESC) AS place FROM ' || source || ' AS s) AS p WHERE place <= 10'
$$;
INSERT INTO benchmarks (what, query, rival, bound, target) VALUES
('top 10 pages of each minute and country, from the rows',
    'SELECT sum(estimate) FROM (SELECT qtop_agg(url, 10) AS top FROM hits GROUP BY date_trunc(''minute'', at), country) AS g, qtop_text(top, 10)',
    top_pages_of('(SELECT date_trunc(''minute'', at) AS minute, country, url, count(*) AS n FROM hits GROUP BY 1, 2, 3)'), '<=', 1),
('top 10 pages of each minute and country, from rollups', 'SELECT sum(estimate) FROM top_pages, qtop_text(top, 10)', top_pages_of('exact_pages'), '<=', 1),
('10 users whose views grew most between two days, from the rows',
    'WITH lists AS (SELECT qtop_agg(user_id, 1000) FILTER (WHERE day = ''2026-01-10'') AS a, qtop_agg(user_id, 1000) FILTER (WHERE day = ''2026-01-11'') AS b
            FROM hits WHERE day BETWEEN ''2026-01-10'' AND ''2026-01-11'')
        SELECT sum(growth) FROM (SELECT estimate - qtop_estimate(a, key) AS growth FROM lists, qtop_list(b, 1000, NULL::bigint) ORDER BY 1 DESC LIMIT 10) AS g',
    'SELECT sum(growth) FROM (SELECT count(*) FILTER (WHERE day = ''2026-01-11'') - count(*) FILTER (WHERE day = ''2026-01-10'') AS growth
            FROM hits WHERE day BETWEEN ''2026-01-10'' AND ''2026-01-11'' GROUP BY user_id ORDER BY 1 DESC LIMIT 10) AS g', '<=', 1),
('number of distinct users, from the rows (hll)', 'SELECT estimate FROM qsketch_distinct((SELECT qsketch_agg(user_id) FROM hits))',
    'SELECT hll_cardinality(hll_add_agg(hll_hash_bigint(user_id))) FROM hits', '<=', 1),
('number of distinct users, from rollups by hour and country (hll)', 'SELECT estimate FROM qsketch_distinct((SELECT qsketch_merge_agg(sk) FROM users))',
    'SELECT hll_cardinality(hll_union_agg(h)) FROM hll_users', '<=', 1);
-- The lists are large enough to be exact, so answers from lists must equal the answers of exact
-- SQL.  The estimated number of distinct users must be within four standard errors.
UPDATE benchmarks SET holds = CASE WHEN query LIKE 'SELECT estimate FROM %'
    THEN replace(query, 'SELECT estimate', 'SELECT abs(estimate - (SELECT count(DISTINCT user_id) FROM hits)) <= 4 * standard_error')
    ELSE format('SELECT (%s) = (%s)', query, rival) END;
SELECT run_benchmarks(:turns) \g /dev/null

CREATE FUNCTION error_of(estimate float8) RETURNS text LANGUAGE sql AS $$
    SELECT round(100 * abs(estimate / (SELECT count(DISTINCT user_id) FROM hits) - 1)::numeric, 2) || ' %'
$$;
\qecho
SELECT format('%s rows of %s minutes, 30 days and ten countries.', to_char(:rows, 'FM999,999,999'), count(DISTINCT minute)) FROM top_pages;
\qecho
\qecho '| question | qsketch | exact SQL, or hll |'
\qecho '|---|---:|---:|'
SELECT format('| %s | %s | %s |', what, readable_ms(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric),
    readable_ms(percentile_cont(0.5) WITHIN GROUP (ORDER BY rival_ms)::numeric))
FROM timings JOIN benchmarks USING (id) GROUP BY id, what ORDER BY id;
SELECT format('| size of the %s | %s | %s |', what, pg_size_pretty(pg_total_relation_size(name)), pg_size_pretty(pg_total_relation_size(rival)))
FROM (VALUES ('rollups of pages by minute and country', 'top_pages'::regclass, 'exact_pages'::regclass),
    ('rollups of users by hour and country (hll)', 'users', 'hll_users')) AS v (what, name, rival);
SELECT format('| size of one value for all distinct users (hll) | %s | %s |', pg_size_pretty(pg_column_size(sk)::bigint), pg_size_pretty(pg_column_size(h)::bigint))
FROM (SELECT qsketch_agg(user_id) AS sk, hll_add_agg(hll_hash_bigint(user_id)) AS h FROM hits) AS v;
SELECT format('| error of the number of distinct users (hll) | %s | %s |', error_of((qsketch_distinct(sk)).estimate), error_of(hll_cardinality(h)))
FROM (SELECT qsketch_agg(user_id) AS sk, hll_add_agg(hll_hash_bigint(user_id)) AS h FROM hits) AS v;
DO $$ BEGIN
    ASSERT (SELECT bool_and(is_true(holds)) FROM benchmarks), 'an answer is wrong';
END $$;
