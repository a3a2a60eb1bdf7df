-- The data of docs/storage.svg: stored bytes by distinct keys, up to :most.
SET client_min_messages = warning;
DROP EXTENSION IF EXISTS qsketch CASCADE;
CREATE EXTENSION qsketch;

CREATE TEMP TABLE points AS
SELECT structure, size, n, octet_length(qsketch_agg(hashint8extended(i, 1), qsketch_new(structure, size))::bytea) AS bytes
FROM (VALUES (1, 'multilevel', '64kB'), (2, 'multilevel', '1MB'), (3, 'multilevel', '16MB'), (4, 'sub_warp', '1MB'), (5, 'warp', '1MB'),
    (6, 'half_warp', '1MB'), (7, 'thread', '1MB'), (8, 'sf', '1MB')) AS s(id, structure, size),
    LATERAL (SELECT DISTINCT floor(10 ^ (e / 2.0))::int AS n FROM generate_series(0, 14) AS e) AS n, generate_series(1, n) AS i
WHERE n <= :most GROUP BY structure, size, n;
-- A row of key and count takes 24 bytes of header and 4 of item pointer, an entry of its index 20.
INSERT INTO points SELECT 'bigint, count', 'and index', n, n * (24 + 4 + 16 + 20) FROM points WHERE structure = 'multilevel' AND size = '1MB';
SELECT CASE WHEN n = 1 THEN format(E'\n\n"%s %s"\n', structure, size) ELSE '' END || format('%s %s', n, bytes)
FROM points ORDER BY structure <> 'bigint, count', structure <> 'multilevel', structure, length(size), n;
