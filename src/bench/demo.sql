-- The demonstration's queries, run by demo.sh with tables packages and edges.

\pset footer off
SET client_min_messages = warning;
CREATE EXTENSION qsketch;
\i timing.sql
CREATE PROCEDURE assert_same() LANGUAGE plpgsql AS $$ BEGIN
    ASSERT (SELECT direct.sk = rollup.sk FROM direct, rollup), 'rollup and direct sketch differ';
END $$;
VACUUM ANALYZE edges;

\echo
\echo '== 1. Debian packages: which are needed most? =='
\echo
SELECT (SELECT count(*) FROM packages) AS packages,
       count(*) AS dependencies,
       count(DISTINCT section) AS sections,
       count(DISTINCT needs) AS "packages needed"
FROM edges;

\echo 'One sketch for each section, stored, and one of all dependencies:'
\echo
\echo '    CREATE TABLE by_section AS'
\echo '        SELECT section, qsketch_agg(needs) AS sk FROM edges GROUP BY section;'
\echo '    CREATE TABLE direct AS SELECT qsketch_agg(needs) AS sk FROM edges;'
\echo
CREATE TABLE by_section AS
    SELECT section, qsketch_agg(needs) AS sk FROM edges GROUP BY section;
CREATE TABLE direct AS SELECT qsketch_agg(needs) AS sk FROM edges;
CREATE TABLE exact AS SELECT needs, count(*) AS n FROM edges GROUP BY needs;

CREATE TABLE small AS
    SELECT qsketch_agg(needs, qsketch_new('sub_warp', '64kB')) AS sk FROM edges;

\echo 'The twenty most needed packages by counting, from the sketch of the default'
\echo 'size, and from one of 64 kB (error = estimate - exact; it is never negative):'
\echo
CREATE TABLE top AS SELECT needs, n FROM exact ORDER BY n DESC, needs LIMIT 20;
SELECT needs AS package, n AS exact, estimate, estimate - n AS error,
       in_64kb AS "in 64 kB", in_64kb - n AS error
FROM (SELECT needs, n, qsketch_estimate(direct.sk, needs) AS estimate,
             qsketch_estimate(small.sk, needs) AS in_64kb
      FROM top, direct, small) AS e
ORDER BY n DESC, needs;

\echo 'The same from a rollup, the merge of the stored sketches of all sections:'
\echo
\echo '    SELECT qsketch_merge_agg(sk) FROM by_section;'
\echo
CREATE TABLE rollup AS SELECT qsketch_merge_agg(sk) AS sk FROM by_section;
SELECT needs AS package, n AS exact, estimate, estimate - n AS error
FROM (SELECT needs, n, qsketch_estimate(sk, needs) AS estimate FROM top, rollup) AS e
ORDER BY n DESC, needs;

SELECT direct.sk = rollup.sk AS "the rollup equals the direct sketch, byte for byte"
FROM direct, rollup;
CALL assert_same();

\echo 'Size, and time to make it (shortest of three):'
\echo
SELECT 'sketch' AS what, pg_size_pretty(pg_column_size(sk)::bigint) AS size,
       best_ms('SELECT qsketch_agg(needs) FROM edges') AS ms
FROM direct
UNION ALL
SELECT 'sketch of 64 kB', pg_size_pretty(pg_column_size(sk)::bigint),
       best_ms($$SELECT qsketch_agg(needs, qsketch_new('sub_warp', '64kB')) FROM edges$$)
FROM small
UNION ALL
SELECT 'exact counts', pg_size_pretty(pg_table_size('exact')),
       best_ms('SELECT max(n) FROM (SELECT needs, count(*) AS n FROM edges GROUP BY needs) AS g');

\echo '== 2. Ten million events of up to a million users, Zipf-distributed =='
\echo
\echo 'Generating them ...'
\echo
-- The inverse of the continuous distribution with exponent 1.1; the constant
-- is 1 - 1e6 ^ (1 - 1.1).
SELECT setseed(0.42) \g /dev/null
CREATE UNLOGGED TABLE events AS
    SELECT 1 + i / 1500000 AS day,
           floor((1 - random() * 0.748811356849042) ^ -10)::bigint AS user_id
    FROM generate_series(1, 10000000) AS i;
VACUUM ANALYZE events;
DROP TABLE exact, top, direct, rollup;
CREATE TABLE exact AS SELECT user_id, count(*) AS n FROM events GROUP BY user_id;
CREATE TABLE direct AS SELECT qsketch_agg(user_id) AS sk FROM events;

\echo '    SELECT qsketch_agg(user_id) FROM events;'
\echo
SELECT user_id, n AS exact, estimate, estimate - n AS error
FROM (SELECT user_id, n, qsketch_estimate(sk, user_id) AS estimate
      FROM (SELECT * FROM exact ORDER BY n DESC, user_id LIMIT 20) AS top, direct) AS e
ORDER BY n DESC, user_id;

\echo 'Over all users, including those who occur once:'
\echo
SELECT count(*) AS users, round(avg(estimate - n), 1) AS "mean error",
       percentile_disc(0.99) WITHIN GROUP (ORDER BY estimate - n) AS "99 % of errors up to",
       min(estimate - n) AS "smallest error"
FROM (SELECT n, qsketch_estimate(sk, user_id) AS estimate FROM exact, direct) AS e;

CREATE TABLE daily AS SELECT day, qsketch_agg(user_id) AS sk FROM events GROUP BY day;
CREATE TABLE rollup AS SELECT qsketch_merge_agg(sk) AS sk FROM daily;
SELECT (SELECT count(*) FROM daily) AS days,
       direct.sk = rollup.sk AS "the rollup of the days equals the direct sketch, byte for byte"
FROM direct, rollup;
CALL assert_same();

\echo 'Size, and time to make it (shortest of three):'
\echo
SELECT 'sketch' AS what, pg_size_pretty(pg_column_size(sk)::bigint) AS size,
       best_ms('SELECT qsketch_agg(user_id) FROM events') AS ms
FROM direct
UNION ALL
SELECT 'exact counts', pg_size_pretty(pg_table_size('exact')),
       best_ms('SELECT max(n) FROM (SELECT user_id, count(*) AS n FROM events GROUP BY user_id) AS g');
