-- Makes tables of 30 days and :rows rows for bench-huge.sh.  "strewn" is loaded in the order of
-- the rows, so the pages of a partition are scattered over shared memory.  "partitioned" is loaded
-- day by day.
CREATE EXTENSION qsketch;
CREATE EXTENSION pg_prewarm;
\i timing.sql
SELECT setseed(0.5) \g /dev/null
CREATE TABLE dated AS SELECT floor(30 * random())::int AS day, floor(:rows * random())::bigint AS k FROM generate_series(1, :rows) AS i;
CREATE TABLE partitioned (LIKE dated) PARTITION BY LIST (day);
CREATE TABLE strewn (LIKE dated) PARTITION BY LIST (day);
SELECT format('CREATE TABLE %s_%s PARTITION OF %1$s FOR VALUES IN (%2$s)', t, i)
FROM generate_series(0, 29) AS i, unnest(ARRAY['partitioned', 'strewn']) AS t
\gexec
INSERT INTO partitioned SELECT * FROM dated ORDER BY day;
INSERT INTO strewn SELECT * FROM dated;
VACUUM ANALYZE dated, partitioned, strewn;
DO $$ BEGIN
    ASSERT (SELECT qsketch_agg(k) FROM dated) = (SELECT qsketch_agg(k) FROM partitioned) AND
        (SELECT qsketch_agg(k) FROM dated) = (SELECT qsketch_agg(k) FROM strewn), 'an answer is wrong';
END $$;
CREATE TABLE times (id int GENERATED ALWAYS AS IDENTITY, pages text, query text, ms float8);

-- Reads the tables into shared buffers.  Reads the partitions of "strewn" page
-- by page in turn, so that their pages alternate in shared memory.
CREATE FUNCTION prewarm() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_prewarm(oid) FROM pg_class WHERE relname ~ '^(dated|partitioned_\d+)$';
    FOR page IN 0 .. (SELECT max(relpages) - 1 FROM pg_class WHERE relname ~ '^strewn_\d+$') LOOP
        PERFORM pg_prewarm(oid, 'buffer', 'main', page, page) FROM pg_class WHERE relname ~ '^strewn_\d+$' AND relpages > page;
    END LOOP;
END $$;
