-- Computes the data of docs/storage.svg: stored bytes by number of distinct
-- keys, up to :most keys.
SET client_min_messages = warning;
DROP EXTENSION IF EXISTS qsketch CASCADE;
CREATE EXTENSION qsketch;

-- Returns the bytes of a sketch of n keys.  format() makes the template a constant
-- of the query.
CREATE FUNCTION pg_temp.bytes(structure text, size text, n int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    bytes bigint;
BEGIN
    EXECUTE format('SELECT octet_length(qsketch_agg(i * 7919::bigint, qsketch_new(%L, %L))::bytea) FROM generate_series(1, %s) AS i',
        structure, size, n) INTO bytes;
    RETURN bytes;
END $$;
CREATE TEMP TABLE points AS
SELECT structure, size, n, pg_temp.bytes(structure, size, n) AS bytes
FROM (VALUES ('multilevel', '64kB'), ('multilevel', '1MB'), ('multilevel', '16MB'), ('sub_warp', '1MB'), ('warp', '1MB'),
    ('half_warp', '1MB'), ('thread', '1MB'), ('sf', '1MB')) AS s(structure, size),
    (SELECT DISTINCT floor(10 ^ (e / 2.0))::int AS n FROM generate_series(0, 14) AS e) AS n
WHERE n <= :most;
-- A row of key and count takes 24 bytes of header, 4 of item pointer and 16 of values.  An entry
-- of the index takes 20 bytes.
INSERT INTO points SELECT 'key and count,', 'with index', n, n * (24 + 4 + 16 + 20) FROM points WHERE structure = 'multilevel' AND size = '1MB';
SELECT CASE WHEN n = 1 THEN format(E'\n\n"%s %s"\n', structure, size) ELSE '' END || format('%s %s', n, bytes)
FROM points ORDER BY structure <> 'key and count,', structure <> 'multilevel', structure, length(size), n;
