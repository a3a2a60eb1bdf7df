-- Compares qtop_exact with GROUP BY on the columns of a web log of :rows rows.
CREATE EXTENSION qsketch;
\i ratios.sql

SELECT setseed(0.5) \g /dev/null
CREATE TABLE log AS
SELECT i AS id, (ARRAY['us', 'in', 'br', 'de', 'gb', 'jp', 'fr', 'mx', 'it', 'es'])[1 + floor(10 * random() ^ 2)::int] AS country,
    inet '10.0.0.0' + floor(exp(random() * ln(3e5)))::bigint AS ip,
    '/shop/product/' || floor(exp(random() * ln(2e5)))::int || '.html' AS url,
    floor(exp(random() * ln(1e6)))::int AS user_id,
    '/search?q=' || CASE WHEN random() < 0.4 THEN floor(exp(random() * ln(1e3))) ELSE floor(1e6 * random()) END AS search,
    (:rows * random())::bigint AS token
FROM generate_series(1, :rows) AS i;
VACUUM ANALYZE log;

INSERT INTO benchmarks (what, query, rival, bound, target, holds)
SELECT what, format('SELECT max(count) FROM qtop_exact(''log'', %L, 1)', name),
    format('SELECT %I, count(*) FROM log GROUP BY 1 ORDER BY 2 DESC LIMIT 1', name), '<=', 1.1,
    format('SELECT (SELECT array_agg(count ORDER BY count DESC) FROM qtop_exact(''log'', %1$L, 10)) =
        (SELECT array_agg(n) FROM (SELECT count(*) AS n FROM log GROUP BY %1$I ORDER BY 1 DESC LIMIT 10) AS g)', name)
FROM (VALUES ('unique', 'id'), ('ten countries', 'country'), ('addresses', 'ip'), ('pages', 'url'), ('users', 'user_id'),
    ('searches, most of them rare', 'search'), ('numbers at random', 'token')) AS c(what, name);
SELECT run_benchmarks(:turns) \g /dev/null
\i print-ratios.sql
