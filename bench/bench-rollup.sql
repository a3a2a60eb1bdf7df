-- Measures a log of :rows rows and 30 days, its daily rollups, and queries of both, with
-- qsketch and in exact SQL.  Prints the table of README.md, and fails if an answer is
-- wrong.
CREATE EXTENSION qsketch;
\i ratios.sql

\i hits.sql

CREATE TABLE top_users AS SELECT day, qtop_agg(user_id, 20) AS top FROM hits GROUP BY day;
CREATE TABLE exact_users AS SELECT day, user_id, count(*) AS n FROM hits GROUP BY day, user_id;
ALTER TABLE exact_users ADD PRIMARY KEY (user_id, day);
CREATE TABLE exact_countries AS SELECT day, country, count(*) AS n FROM hits GROUP BY day, country;
CREATE TABLE top_countries AS SELECT day, qtop_agg(country, 20) AS top FROM hits GROUP BY day;
VACUUM ANALYZE top_users, exact_users, top_countries, exact_countries;

INSERT INTO benchmarks (what, query, rival, bound, target, holds) VALUES
('making the daily rollups of users', 'SELECT count(top) FROM (SELECT day, qtop_agg(user_id, 20) AS top FROM hits GROUP BY day) AS r',
    'SELECT count(n) FROM (SELECT day, user_id, count(*) AS n FROM hits GROUP BY day, user_id) AS r', '<=', 1, 'SELECT true'),
('the 20 top users, from the daily rollups',
    'SELECT sum(estimate) FROM qtop_list((SELECT qtop_merge_agg(top) FROM top_users), 20, NULL::bigint)',
    'SELECT sum(n) FROM (SELECT sum(n) AS n FROM exact_users GROUP BY user_id ORDER BY sum(n) DESC LIMIT 20) AS r', '<=', 1,
    'SELECT bool_and(lower <= n AND n <= estimate) FROM qtop_list((SELECT qtop_merge_agg(top) FROM top_users), 20, NULL::bigint) AS l,
        LATERAL (SELECT sum(n) AS n FROM exact_users WHERE user_id = l.key) AS e'),
('the 20 top users, from the rows', 'SELECT sum(estimate) FROM qtop_list((SELECT qtop_agg(user_id, 20) FROM hits), 20, NULL::bigint)',
    'SELECT sum(n) FROM (SELECT count(*) AS n FROM hits GROUP BY user_id ORDER BY count(*) DESC LIMIT 20) AS r', '<=', 1,
    'SELECT bool_and(lower <= n AND n <= estimate) FROM qtop_list((SELECT qtop_agg(user_id, 20) FROM hits), 20, NULL::bigint) AS l,
        LATERAL (SELECT sum(n) AS n FROM exact_users WHERE user_id = l.key) AS e'),
('the 20 top users, counted exactly (`qtop_exact`)', 'SELECT sum(count) FROM qtop_exact(''hits'', ''user_id'', 20)',
    'SELECT sum(n) FROM (SELECT count(*) AS n FROM hits GROUP BY user_id ORDER BY count(*) DESC LIMIT 20) AS r', '<=', 1,
    'SELECT (SELECT sum(count) FROM qtop_exact(''hits'', ''user_id'', 20)) =
        (SELECT sum(n) FROM (SELECT count(*) AS n FROM hits GROUP BY user_id ORDER BY count(*) DESC LIMIT 20) AS r)'),
('views of one user, from the daily rollups', 'SELECT sum(qtop_estimate(top, 777)) FROM top_users',
    'SELECT sum(n) FROM exact_users WHERE user_id = 777', '<=', 1,
    'SELECT (SELECT sum(qtop_estimate(top, 777)) FROM top_users) >= (SELECT sum(n) FROM exact_users WHERE user_id = 777)'),
('the top countries, from the daily rollups', 'SELECT sum(estimate) FROM qtop_text((SELECT qtop_merge_agg(top) FROM top_countries), 10)',
    'SELECT sum(n) FROM (SELECT sum(n) AS n FROM exact_countries GROUP BY country ORDER BY sum(n) DESC LIMIT 10) AS r', '<=', 1,
    'SELECT (SELECT sum(estimate) FROM qtop_text((SELECT qtop_merge_agg(top) FROM top_countries), 10)) = (SELECT sum(n) FROM exact_countries)');
SELECT run_benchmarks(:turns) \g /dev/null

CREATE FUNCTION readable_size(names regclass[]) RETURNS text LANGUAGE sql AS $$
    SELECT pg_size_pretty(sum(pg_total_relation_size(name))) FROM unnest(names) AS name
$$;
\qecho
SELECT format('%s rows of 30 days in 8 columns, %s; PostgreSQL''s own settings.', to_char(:rows, 'FM999,999,999'), readable_size('{hits}'));
\qecho
\qecho '| question | qsketch | exact SQL |'
\qecho '|---|---:|---:|'
SELECT format('| size of the daily rollups of users | %s | %s |', readable_size('{top_users}'), readable_size('{exact_users}'));
SELECT format('| largest error among the 20 top users of the rollups | %s | 0 |', max(estimate - n))
FROM qtop_list((SELECT qtop_merge_agg(top) FROM top_users), 20, NULL::bigint) AS l,
    LATERAL (SELECT sum(n) AS n FROM exact_users WHERE user_id = l.key) AS e;
SELECT format('| counts of 99 of 100 users are too large by at most | %s views | 0 |', qsketch_error(qtop_sketch(qtop_merge_agg(top)), 0.99)) FROM top_users;
SELECT format('| %s | %s | %s |', what, readable_ms(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric),
    readable_ms(percentile_cont(0.5) WITHIN GROUP (ORDER BY rival_ms)::numeric))
FROM timings JOIN benchmarks USING (id) GROUP BY id, what ORDER BY id;
SELECT format('| size of the daily rollups of ten countries | %s | %s |', readable_size('{top_countries}'), readable_size('{exact_countries}'));
DO $$ BEGIN
    ASSERT (SELECT bool_and(is_true(holds)) FROM benchmarks), 'an answer is wrong';
END $$;
