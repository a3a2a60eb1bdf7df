-- Measures sketches over postgres_fdw.  Run by fdw-bench.sh with the number of rows
-- in :rows, of runs in :turns, and the server's address in :host.

SET client_min_messages = warning;
CREATE EXTENSION qsketch;
CREATE EXTENSION postgres_fdw;
\i ratios.sql

-- 500,009 users in four regions, 32 days.
CREATE TABLE events AS
    SELECT i % 4 AS region, date '2026-01-01' + i % 4 * 8 + i / 4 % 8 AS day, i * 7919::bigint % 500009 AS user_id
    FROM generate_series(0, :rows - 1) AS i;
CREATE TABLE small AS SELECT qsketch_new('multilevel', '64kB') AS template;
CREATE TABLE local AS
    SELECT count(*) AS n, qsketch_agg(user_id) AS sk, qsketch_agg(user_id, (SELECT template FROM small)) AS small_sk FROM events;

--
-- Database "far": four tables, each of one region and of eight days
--
CREATE DATABASE far TEMPLATE postgres;
\c far
CREATE FUNCTION create_parts() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    FOR i IN 0 .. 3 LOOP
        EXECUTE format('CREATE TABLE part%s AS SELECT * FROM events WHERE region = %1$s', i);
        EXECUTE format('CREATE VIEW sketched%s AS SELECT qsketch_agg(user_id) AS sk FROM part%1$s', i);
    END LOOP;
END $$;
SELECT create_parts() \g /dev/null
DROP TABLE events;
VACUUM ANALYZE;
\c postgres
SET client_min_messages = warning;

--
-- Database "postgres": the tables as partitions by region, and by day; and the views
--
CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw
    OPTIONS (host :'host', dbname 'far', extensions 'qsketch', async_capable 'true', fetch_size '10000');
CREATE USER MAPPING FOR CURRENT_USER SERVER far;
CREATE TABLE by_region (region int, day date, user_id bigint) PARTITION BY LIST (region);
CREATE TABLE by_day (LIKE by_region) PARTITION BY RANGE (day);
CREATE FUNCTION create_partitions() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    FOR i IN 0 .. 3 LOOP
        EXECUTE format('CREATE FOREIGN TABLE region%s PARTITION OF by_region FOR VALUES IN (%1$s) '
            'SERVER far OPTIONS (table_name ''part%1$s'')', i);
        EXECUTE format('CREATE FOREIGN TABLE days%s PARTITION OF by_day FOR VALUES FROM (%L) TO (%L) '
            'SERVER far OPTIONS (table_name ''part%1$s'')', i, date '2026-01-01' + i * 8, date '2026-01-09' + i * 8);
        EXECUTE format('CREATE FOREIGN TABLE sketched%s (sk qsketch) SERVER far', i);
    END LOOP;
END $$;
SELECT create_partitions() \g /dev/null
CREATE VIEW sketched AS SELECT * FROM sketched0 UNION ALL SELECT * FROM sketched1
    UNION ALL SELECT * FROM sketched2 UNION ALL SELECT * FROM sketched3;

--
-- Checks that each query returns the sketch of the local table, and then measures the query.
--
CREATE FUNCTION same(query text, as_column text) RETURNS text LANGUAGE sql AS $$
    SELECT format('SELECT (%s) = %I FROM local', query, as_column)
$$;
INSERT INTO benchmarks (what, query, rival, bound, target, settings) VALUES
('all rows are pulled', 'SELECT qsketch_agg(user_id) FROM by_day', 'SELECT count(*) FROM by_day', '<=', 1.5, '{}'),
('a group for each partition',
 'SELECT qsketch_merge_agg(sk) FROM (SELECT region, qsketch_agg(user_id) AS sk FROM by_region GROUP BY region) AS r',
 'SELECT count(*) FROM by_region', '<=', 0.35, '{enable_partitionwise_aggregate, on}'),
('eight for each',
 'SELECT qsketch_merge_agg(sk) FROM (SELECT day, qsketch_agg(user_id) AS sk FROM by_day GROUP BY day) AS d',
 'SELECT count(*) FROM by_day', '<=', 0.35, '{enable_partitionwise_aggregate, on}'),
('eight of 64 kB',
 $q$SELECT qsketch_merge_agg(sk) FROM (SELECT day, qsketch_agg(user_id, qsketch_new('multilevel', '64kB')) AS sk FROM by_day GROUP BY day) AS d$q$,
 'SELECT count(*) FROM by_day', '<=', 0.35, '{enable_partitionwise_aggregate, on}'),
('a view for each', 'SELECT qsketch_merge_agg(sk) FROM sketched', 'SELECT count(*) FROM by_day', '<=', 0.35, '{}');
UPDATE benchmarks SET holds = same(query, CASE WHEN query LIKE '%64kB%' THEN 'small_sk' ELSE 'sk' END);

SET enable_partitionwise_aggregate = on;
DO $$ DECLARE b benchmarks; BEGIN
    FOR b IN SELECT * FROM benchmarks LOOP
        ASSERT is_true(b.holds), 'not the sketch of the local table: ' || b.what;
        ASSERT is_true(format('SELECT (%s) = n FROM local', b.rival)), 'not all rows';
    END LOOP;
END $$;
RESET enable_partitionwise_aggregate;
SELECT run_benchmarks(:turns) \g /dev/null
SET enable_partitionwise_aggregate = on;
\i print-ratios.sql
