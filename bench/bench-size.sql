-- Measures the size of values on disk, the WAL of keeping values current, and the time of
-- reading them.  The log has :rows rows.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE EXTENSION qsketch;
CREATE EXTENSION pg_prewarm;
\i ratios.sql

-- ---- bytes ----

CREATE TABLE sizes (id int GENERATED ALWAYS AS IDENTITY, what text, bytes numeric, most numeric, beside text);

INSERT INTO sizes (what, bytes, most)
SELECT format('sketch of 1 MB, %s distinct keys', n), octet_length(qsketch_agg(hashint8extended(i, 1))::bytea), most
FROM (VALUES (4000, 36000), (20000, 140000)) AS v(n, most), generate_series(1, n) AS i GROUP BY n, most ORDER BY n;
INSERT INTO sizes (what, bytes, most)
SELECT '60,000 keys with weights of 100 to 10^6, total beyond 2^32', octet_length(qsketch_agg(hashint8extended(i, 1), (100 * 10 ^ (4 * random()))::bigint)::bytea), 1500000
FROM generate_series(1, 60000) AS i;
INSERT INTO sizes (what, bytes, most)
SELECT '100,000 groups of 100 keys, bytes a key', round(sum(octet_length(sk::bytea)) / 1e7, 1), 16.6
FROM (SELECT qsketch_agg(hashint8extended(i, g)) AS sk FROM generate_series(1, 100000) AS g, generate_series(1, 100) AS i GROUP BY g) AS s;

-- A web log: the 20 most frequent pages of each day and country, compared with
-- the exact rollup.
SELECT setseed(0.5) \g /dev/null
CREATE UNLOGGED TABLE log AS
SELECT date '2026-01-01' + (i % 43)::int AS day, (ARRAY['us', 'in', 'br', 'de', 'gb', 'jp', 'fr'])[1 + floor(7 * random())::int] AS country,
    '/shop/product/' || floor(exp(random() * ln(433000)))::int || '.html' AS url
FROM generate_series(1, :rows) AS i;
CREATE TABLE rollup AS SELECT day, country, qtop_agg(url, 20) AS top FROM log GROUP BY day, country;
CREATE TABLE exact AS SELECT day, country, url, count(*) AS n FROM log GROUP BY day, country, url;
INSERT INTO sizes (what, bytes, most, beside)
SELECT format('day x country x top 20: %s groups, %s rows', (SELECT count(*) FROM rollup), :rows), pg_total_relation_size('rollup'), 28e6 * :rows / 5e6,
    format('exact rollup of %s rows: %s', (SELECT count(*) FROM exact), pg_size_pretty(pg_total_relation_size('exact')));

-- Values of the other families.  Some values are made for many keys, and have few keys.
INSERT INTO sizes (what, bytes, beside)
SELECT 'list of 20 top keys, 4000 distinct ones', octet_length(qtop_agg('key ' || i, 20)::bytea), 'the sketch in it is compact' FROM generate_series(1, 4000) AS i;
INSERT INTO sizes (what, bytes, beside)
SELECT format('Bloom filter for 1,000,000 keys, %s in it', n), octet_length(qfilter_agg(i, qfilter_new_bloom(1000000))::bytea),
    format('%s bytes of bits', (SELECT (qfilter_info(qfilter_new_bloom(1000000))).bits / 8))
FROM unnest('{4000,20000,1000000}'::int[]) AS n, generate_series(1, n) AS i GROUP BY n ORDER BY n;
INSERT INTO sizes (what, bytes, beside)
SELECT 'collection of 10,000 sets of 20 of 100,000 elements', octet_length(qsets_agg(s, (hashint8extended(i, s) & 65535))::bytea),
    '200,000 pairs, 16 bytes each as two bigints'
FROM generate_series(1, 10000) AS s, generate_series(1, 20) AS i;

\qecho '| what | bytes | at most | | beside it |'
\qecho '|---|---:|---:|---|---|'
SELECT format('| %s | %s | %s | %s | %s |', what, rtrim(to_char(bytes, 'FM999,999,999,990.9'), '.'), coalesce(rtrim(to_char(most, 'FM999,999,999,990.9'), '.'), ''),
    CASE WHEN bytes <= most THEN 'ok' WHEN bytes > most THEN 'FAIL' ELSE '' END, beside)
FROM sizes ORDER BY id;
\qecho

-- ---- WAL that is written to keep sketches up to date ----

CREATE TABLE batch (sketch int, key bigint);
CREATE TABLE parts (sketch int, sk qsketch);
CREATE TABLE upserted (sketch int PRIMARY KEY, sk qsketch);
CREATE TABLE counted (sketch int, key bigint, n bigint, PRIMARY KEY (sketch, key));
INSERT INTO parts SELECT g, qsketch_agg(hashint8extended(i, g)) FROM generate_series(1, 10) AS g, generate_series(1, 400000) AS i GROUP BY g;
INSERT INTO upserted SELECT * FROM parts;
INSERT INTO counted SELECT g, hashint8extended(i, g), 1 FROM generate_series(1, 10) AS g, generate_series(1, 400000) AS i;
CREATE FUNCTION next_batch(number int) RETURNS void LANGUAGE sql AS $$
    TRUNCATE batch;
    INSERT INTO batch SELECT 1 + i % 10, hashint8extended(i, number) FROM generate_series(1, 100) AS i $$;
CREATE TABLE written (id int GENERATED ALWAYS AS IDENTITY, what text, wal numeric DEFAULT 0, most numeric);
INSERT INTO written (what, most) VALUES ('append', 1e6), ('append, and fold the small rows', 2e6),
    ('append, and fold all rows into ten', NULL), ('upsert', NULL), ('exact counts, upserted', NULL);
-- Executes the statement, and adds the bytes of its WAL to the rows of "written" that "ways" names.
CREATE PROCEDURE write_wal(ways text[], statement text) LANGUAGE plpgsql AS $$
DECLARE
    start pg_lsn := pg_current_wal_insert_lsn();
BEGIN
    EXECUTE statement;
    UPDATE written SET wal = wal + (pg_current_wal_insert_lsn() - start) WHERE what = ANY (ways);
END $$;
CREATE PROCEDURE sixty_batches() LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. 60 LOOP
        PERFORM next_batch(i);
        CALL write_wal('{append,"append, and fold the small rows","append, and fold all rows into ten"}',
            'INSERT INTO parts SELECT sketch, qsketch_agg(key) FROM batch GROUP BY sketch');
        CALL write_wal('{upsert}', 'INSERT INTO upserted SELECT sketch, qsketch_agg(key) FROM batch GROUP BY sketch
            ON CONFLICT (sketch) DO UPDATE SET sk = upserted.sk || EXCLUDED.sk');
        CALL write_wal('{"exact counts, upserted"}', 'INSERT INTO counted SELECT sketch, key, count(*) FROM batch GROUP BY sketch, key
            ON CONFLICT (sketch, key) DO UPDATE SET n = counted.n + EXCLUDED.n');
        COMMIT;
    END LOOP;
    CALL write_wal('{"append, and fold the small rows","append, and fold all rows into ten"}',
        'WITH old AS (DELETE FROM parts WHERE pg_column_size(sk) < 65536 RETURNING sketch, sk)
        INSERT INTO parts SELECT sketch, qsketch_merge_agg(sk) FROM old GROUP BY sketch');
    COMMIT;
    CALL write_wal('{"append, and fold all rows into ten"}', 'WITH old AS (DELETE FROM parts RETURNING sketch, sk)
        INSERT INTO parts SELECT sketch, qsketch_merge_agg(sk) FROM old GROUP BY sketch');
END $$;
CHECKPOINT;
CALL sixty_batches();
DO $$ BEGIN
    ASSERT (SELECT bool_and(p.sk = u.sk) FROM parts AS p JOIN upserted AS u USING (sketch)), 'appended and upserted sketches differ';
END $$;
\qecho '| sixty batches of 100 rows into ten sketches of 400,000 keys | WAL, bytes | at most | |'
\qecho '|---|---:|---:|---|'
SELECT format('| %s | %s | %s | %s |', what, to_char(wal, 'FM999,999,999,990'), coalesce(to_char(most, 'FM999,999,999,990'), ''),
    CASE WHEN wal <= most THEN 'ok' WHEN wal > most THEN 'FAIL' ELSE '' END)
FROM written ORDER BY id;
\qecho

-- ---- reading and merging ----

CREATE TABLE few AS
SELECT g, qsketch_agg(hashint8extended(i, g)) AS sk FROM generate_series(1, 1000) AS g, generate_series(1, 10000) AS i GROUP BY g;
CREATE TABLE many AS
SELECT g, sk FROM generate_series(1, 1000) AS g, (SELECT qsketch_agg(hashint8extended(i, 1)) AS sk FROM generate_series(1, 1000000) AS i) AS s;
VACUUM ANALYZE few, many;
SELECT pg_prewarm(reltoastrelid::regclass) FROM pg_class WHERE relname IN ('few', 'many') \g /dev/null
INSERT INTO benchmarks (what, query, rival, bound, target, holds) VALUES
('merging 1000 sketches of 10,000 keys, against dense ones', 'SELECT qsketch_total(qsketch_merge_agg(sk)) FROM few', 'SELECT qsketch_total(qsketch_merge_agg(sk)) FROM many', '<=', 0.5,
 'SELECT (SELECT qsketch_total(qsketch_merge_agg(sk)) FROM few) = 10000000'),
('one key of 1000 compact sketches, against dense ones', 'SELECT sum(qsketch_estimate(sk, 7)) FROM few', 'SELECT sum(qsketch_estimate(sk, 7)) FROM many', '<=', 1.25,
 'SELECT (SELECT sum(qsketch_estimate(sk, 7)) FROM few) = (SELECT sum(qsketch_estimate(sk::text::qsketch, 7)) FROM few)'),
('100 keys of each of 31 sketches', 'SELECT count(qsketch_estimate(sk, keys)) FROM few, (SELECT array_agg(i) AS keys FROM generate_series(1, 100) AS i) AS k WHERE g <= 31',
 'SELECT count(qsketch_estimate(sk, keys)) FROM many, (SELECT array_agg(i) AS keys FROM generate_series(1, 100) AS i) AS k WHERE g <= 31', '<=', 1, DEFAULT),
('the error of 31 sketches', 'SELECT sum(qsketch_error(sk)) FROM few WHERE g <= 31', 'SELECT sum(qsketch_error(sk)) FROM many WHERE g <= 31', '<=', 1.25, DEFAULT);
SELECT run_benchmarks(:turns) \g /dev/null
\i print-ratios.sql
