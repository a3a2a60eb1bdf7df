-- A log of page views: :rows rows of 30 days in 8 columns, with skewed users and pages.
SELECT setseed(0.5) \g /dev/null
CREATE TABLE hits AS
SELECT i AS id, date '2026-01-01' + (i * 30 / :rows)::int AS day, timestamptz '2026-01-01' + i * interval '0.5 s' AS at,
    floor(exp(random() * ln(1e6)))::bigint AS user_id,
    (ARRAY['us', 'in', 'br', 'de', 'gb', 'jp', 'fr', 'mx', 'it', 'es'])[1 + floor(10 * random() ^ 2)::int] AS country,
    '/shop/product/' || floor(exp(random() * ln(2e5)))::int || '.html' AS url,
    'Mozilla/5.0 (X11; Linux x86_64; rv:' || 100 + i % 40 || '.0) Firefox' AS agent,
    (300 * exp(3 * random()))::bigint AS bytes
FROM generate_series(0::bigint, :rows - 1) AS i;
VACUUM ANALYZE hits;
