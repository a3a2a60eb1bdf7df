-- Runs the demonstration's queries.  Run by demo.sh with tables packages and
-- edges.

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
    SELECT qsketch_agg(needs, qsketch_new(size => '64kB')) AS sk FROM edges;

-- Returns the twenty keys with the largest estimates among all keys.  "place" is the rank
-- by exact counts; ties share the better rank.
CREATE FUNCTION top_by_estimate(sk qsketch, counts regclass, key_column name)
    RETURNS TABLE (key text, estimate bigint, exact bigint, error bigint, place bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT %1$I::text, e, n, e - n, rank FROM
        (SELECT %1$I, n, qsketch_estimate($1, %1$I) AS e, rank() OVER (ORDER BY n DESC) FROM %2$s) AS probed
        ORDER BY e DESC, %1$I LIMIT 20', key_column, counts) USING sk;
END $$;
-- Returns the twenty keys with the largest estimates beside the twenty keys with the largest
-- counts.
CREATE FUNCTION top_20(sk qsketch, counts regclass, key_column name)
    RETURNS TABLE ("place" bigint, "by estimate" text, estimate bigint, exact bigint, error bigint,
        "by counting" text, count bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT e.row, e.key, e.estimate, e.exact, e.error, c.key, c.n FROM
        (SELECT *, row_number() OVER () AS row FROM top_by_estimate($1, %2$L, %1$L)) AS e
        JOIN (SELECT %1$I::text AS key, n, row_number() OVER (ORDER BY n DESC, %1$I) AS row FROM %2$s) AS c USING (row)
        ORDER BY row', key_column, counts) USING sk;
END $$;

\echo 'Every package is looked up in the sketch: the twenty with the largest estimates,'
\echo 'what they really have (error = estimate - exact; it is never negative), and'
\echo 'beside them the twenty that counting finds:'
\echo
\echo '    SELECT needs, qsketch_estimate(sk, needs) FROM (SELECT DISTINCT needs FROM edges) AS e, direct'
\echo '    ORDER BY 2 DESC LIMIT 20;'
\echo
SELECT t.* FROM direct, top_20(sk, 'exact', 'needs') AS t;
\echo 'The same from a sketch of 64 kB, and from a rollup, the merge of the stored'
\echo 'sketches of all sections (place = by counting):'
\echo
\echo '    SELECT qsketch_merge_agg(sk) FROM by_section;'
\echo
CREATE TABLE rollup AS SELECT qsketch_merge_agg(sk) AS sk FROM by_section;
SELECT s.key AS "from 64 kB", s.estimate, s.error, s.place, r.key AS "from the rollup", r.estimate, r.error, r.place
FROM (SELECT t.*, row_number() OVER () FROM small, top_by_estimate(sk, 'exact', 'needs') AS t) AS s
    JOIN (SELECT t.*, row_number() OVER () FROM rollup, top_by_estimate(sk, 'exact', 'needs') AS t) AS r USING (row_number)
ORDER BY row_number;

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
       best_ms($$SELECT qsketch_agg(needs, qsketch_new(size => '64kB')) FROM edges$$)
FROM small
UNION ALL
SELECT 'exact counts', pg_size_pretty(pg_table_size('exact')),
       best_ms('SELECT max(n) FROM (SELECT needs, count(*) AS n FROM edges GROUP BY needs) AS g');

\echo '== 2. Ten million events of up to a million users, Zipf-distributed =='
\echo
\echo 'Generating them ...'
\echo
-- Keys are drawn by the inverse of the continuous power law with exponent 1.1
-- up to 1e6.  The constant is 1 - 1e6 ^ (1 - 1.1).
SELECT setseed(0.42) \g /dev/null
CREATE UNLOGGED TABLE events AS
    SELECT 1 + i / 1500000 AS day,
           floor((1 - random() * 0.748811356849042) ^ -10)::bigint AS user_id
    FROM generate_series(1, 10000000) AS i;
VACUUM ANALYZE events;
DROP TABLE exact, direct, rollup;
CREATE TABLE exact AS SELECT user_id, count(*) AS n FROM events GROUP BY user_id;
CREATE TABLE direct AS SELECT qsketch_agg(user_id) AS sk FROM events;

\echo '    SELECT qsketch_agg(user_id) FROM events;'
\echo
\echo 'Every user is looked up: the twenty with the largest estimates, and the twenty'
\echo 'that counting finds:'
\echo
SELECT t.* FROM direct, top_20(sk, 'exact', 'user_id') AS t;

\echo 'A list of top keys finds them without asking for any user: each has occurred'
\echo 'at least "lower" and at most "estimate" times. qtop_exact counts them:'
\echo
\echo '    SELECT * FROM qtop_list((SELECT qtop_agg(user_id, 5) FROM events), 5, NULL::bigint);'
\echo '    SELECT * FROM qtop_exact(''events'', ''user_id'', 5, NULL::bigint);'
\echo
SELECT key AS user_id, lower, estimate, count
FROM qtop_list((SELECT qtop_agg(user_id, 5) FROM events), 5, NULL::bigint)
FULL JOIN qtop_exact('events', 'user_id', 5, NULL::bigint) USING (key) ORDER BY count DESC;

\echo 'Over all users, including those who occur once:'
\echo
SELECT count(*) AS users, round(avg(estimate - n), 1) AS "mean error",
       percentile_disc(0.99) WITHIN GROUP (ORDER BY estimate - n) AS "99 % of errors up to",
       max(estimate - n) AS "largest", min(estimate - n) AS "smallest"
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
       best_ms('SELECT max(n) FROM (SELECT user_id, count(*) AS n FROM events GROUP BY user_id) AS g')
UNION ALL
SELECT 'top 5, counted', NULL, best_ms('SELECT qtop_exact(''events'', ''user_id'', 5)');

\echo '== 3. Packages that depend on nearly the same things =='
\echo
SET work_mem = '256MB';
CREATE TABLE needs AS
    SELECT dense_rank() OVER (ORDER BY package) AS id, package, needs FROM (SELECT DISTINCT package, needs FROM edges) AS e;
CREATE TABLE numbered AS SELECT DISTINCT id, package FROM needs;
VACUUM ANALYZE needs, numbered;

\echo '    SELECT * FROM (SELECT qsets_agg(id, needs) AS s FROM needs) AS c, qsets_pairs(c.s, min_count => 20, min_jaccard => 0.8);'
\echo
\echo 'The fifteen pairs with most in common of these:'
\echo
SELECT x.package AS a, y.package AS b, common, round(jaccard::numeric, 3) AS jaccard
FROM (SELECT qsets_agg(id, needs) AS s FROM needs) AS c, qsets_pairs(c.s, min_count => 20, min_jaccard => 0.8) AS p
    JOIN numbered AS x ON x.id = p.a JOIN numbered AS y ON y.id = p.b
ORDER BY common DESC, p.a, p.b LIMIT 15;

\echo 'Time to find the pairs with at least 10 needs in common (shortest of three), and'
\echo 'the same by joining the table with itself, for the first 2,000 packages only:'
\echo
CREATE TABLE few AS SELECT * FROM needs WHERE id <= 2000;
VACUUM ANALYZE few;
CREATE VIEW by_sets AS SELECT a, b, common FROM (SELECT qsets_agg(id, needs) AS s FROM few) AS c, qsets_pairs(c.s, 10);
CREATE VIEW by_join AS
    SELECT x.id AS a, y.id AS b, count(*) AS common FROM few AS x JOIN few AS y USING (needs) WHERE x.id < y.id
    GROUP BY x.id, y.id HAVING count(*) >= 10;
SELECT 'qsets_pairs, all packages' AS how, count(DISTINCT id) AS packages,
       best_ms('SELECT count(*) FROM (SELECT qsets_agg(id, needs) AS s FROM needs) AS c, qsets_pairs(c.s, 10)') AS ms FROM needs
UNION ALL
SELECT 'qsets_pairs', 2000, best_ms('SELECT count(*) FROM by_sets')
UNION ALL
SELECT 'self-join', 2000, best_ms('SELECT count(*) FROM by_join');
SELECT (SELECT count(*) FROM by_sets) AS pairs, NOT EXISTS (TABLE by_sets EXCEPT TABLE by_join) AND NOT EXISTS (TABLE by_join EXCEPT TABLE by_sets)
       AS "both find the same";
