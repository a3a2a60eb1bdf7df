-- Compares the sets family inside PostgreSQL with its rivals.  sets.sh runs this script.
-- $SESSIONS is the file of kosarak, :rows and :draws are the numbers of rows and
-- draws, and each query runs :turns times, except the queries of kosarak.
--
-- Prints a Markdown table, and checks every result.

SET client_min_messages = warning;
CREATE EXTENSION qsketch;
\i ratios.sql

-- Rows of two integer columns: 50,000 sets of elements up to a million; small elements are
-- more frequent.
SELECT setseed(0.42) \g /dev/null
CREATE UNLOGGED TABLE member AS
    SELECT (random() * 50000)::integer AS s, (random() * random() * 1e6)::integer AS e FROM generate_series(1, :rows);
CREATE TABLE made AS SELECT qsets_agg(s, e) AS c FROM member;
VACUUM ANALYZE member;

INSERT INTO benchmarks (what, query, rival, bound, target, settings, holds) VALUES
('building', 'SELECT qsets_count(qsets_agg(s, e)) FROM member', 'SELECT count(*) FROM member', '<=', 3, '{}',
 'SELECT c = (SELECT qsets_agg(s, e) FROM member WHERE s IS NOT NULL) FROM made'),
('', 'SELECT qsets_count(qsets_agg(s, e)) FROM member', 'SELECT count(a) FROM (SELECT s, array_agg(e) AS a FROM member GROUP BY s) AS g', '<=', 0.25, '{}',
 'SELECT qsets_count(c) = (SELECT count(DISTINCT s) FROM member) AND
     (qsets_info(c)).elements = (SELECT count(*) FROM (SELECT DISTINCT s, e FROM member) AS d) AND
     qsets_elements(c, 4711) = ARRAY(SELECT DISTINCT e::bigint FROM member WHERE s = 4711 ORDER BY 1) FROM made'),
('2 workers allowed', 'SELECT qsets_count(qsets_agg(s, e)) FROM member', 'SELECT count(*) FROM member', '<=', 5,
 '{max_parallel_workers_per_gather, 2}', 'SELECT c = (SELECT qsets_agg(s, e) FROM member) FROM made'),
('ordinary plan', 'SELECT qsets_count(qsets_agg(s, e)) FROM member', 'SELECT count(*) FROM member', '<=', 5,
 '{qsketch.enable_columnscan, off}', 'SELECT c = (SELECT qsets_agg(s, e) FROM member WHERE e IS NOT NULL) FROM made');

-- A search for the products similar to one product, among 5,000 products that 40,000 customers
-- bought.  The second run prepares the collection, but hardly changes the median of all runs.
CREATE UNLOGGED TABLE bought AS SELECT DISTINCT i % 5000 AS product, (random() ^ 2 * 40000)::integer AS customer FROM generate_series(1, 500000) AS i;
CREATE INDEX ON bought (product, customer);
CREATE INDEX ON bought (customer, product);
CREATE TABLE products AS SELECT qsets_agg(product, customer) AS c FROM bought;
CREATE FUNCTION bought_with(asked integer) RETURNS TABLE (id bigint, common bigint) LANGUAGE sql AS $$
    SELECT y.product, count(*) FROM bought AS x JOIN bought AS y USING (customer)
    WHERE x.product = asked AND y.product <> asked GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10
$$;
VACUUM ANALYZE bought;
INSERT INTO benchmarks (what, query, rival, bound, target, holds) VALUES
('one of 5,000 sets, prepared', 'SELECT sum(common) FROM products, qsets_similar(c, 17, order_by => ''common'')', 'SELECT sum(common) FROM bought_with(17)',
 '<=', 0.27, 'SELECT (SELECT sum(common) FROM products, qsets_similar(c, 17, order_by => ''common'')) = (SELECT sum(common) FROM bought_with(17))');

-- Two stored sorted arrays, each of the distinct numbers of :draws draws from
-- 10 * :draws numbers.
\if :intarray
CREATE EXTENSION intarray;
CREATE TABLE stored AS SELECT
    (SELECT array_agg(DISTINCT (random() * :draws * 10)::integer) FROM generate_series(1, :draws)) AS a,
    (SELECT array_agg(DISTINCT (random() * :draws * 10)::integer) FROM generate_series(1, :draws)) AS b;
CREATE TABLE external (LIKE stored);
ALTER TABLE external ALTER a SET STORAGE EXTERNAL, ALTER b SET STORAGE EXTERNAL;
INSERT INTO external SELECT a || '{}'::integer[], b || '{}'::integer[] FROM stored;
INSERT INTO benchmarks (what, query, rival, bound, target, holds) VALUES
('two stored arrays', 'SELECT qsets_intersect_count(a, b) FROM external', 'SELECT icount(a & b) FROM external', '<=', 0.25,
 'SELECT qsets_intersect_count(a, b) = icount(a & b) AND qsets_intersect(a, b) = a & b FROM external'),
('compressed, as by default', 'SELECT qsets_intersect_count(a, b) FROM stored', 'SELECT icount(a & b) FROM stored', '<=', 0.25,
 'SELECT qsets_intersect_count(a, b) = icount(a & b) AND qsets_intersect(a, b) = a & b FROM stored');
\endif

-- Compares the pairs of kosarak's first 6,000 sessions with a self-join, which runs once.
\if :kosarak
CREATE TABLE line (id integer GENERATED ALWAYS AS IDENTITY, items text);
\copy line (items) FROM PROGRAM 'cat "$SESSIONS"'
CREATE TABLE session AS SELECT id, item::integer FROM line, regexp_split_to_table(trim(items), ' +') AS item WHERE items ~ '[0-9]';
CREATE TABLE first_sessions AS SELECT * FROM session WHERE id <= 6000;
VACUUM ANALYZE session, first_sessions;
CREATE FUNCTION joined() RETURNS TABLE (a bigint, b bigint, common bigint) LANGUAGE sql AS $$
    SELECT x.id, y.id, count(*) FROM first_sessions AS x JOIN first_sessions AS y ON x.item = y.item AND x.id < y.id
    GROUP BY x.id, y.id HAVING count(*) >= 5
$$;
CREATE TABLE truth (a bigint, b bigint, common bigint);
\endif

SELECT run_benchmarks(:turns) \g /dev/null

\if :kosarak
DO $$
DECLARE
    joining float8 := run_ms('WITH i AS (INSERT INTO truth SELECT * FROM joined() RETURNING 1) SELECT count(*) FROM i');
    turn int;
    n int;
BEGIN
    INSERT INTO benchmarks (what, query, rival, bound, target, holds) VALUES
        ('kosarak, 6,000 sessions, at least 5 in common',
         'SELECT count(*) FROM (SELECT qsets_agg(id, item) AS c FROM first_sessions) AS s, qsets_pairs(c, min_count => 5)',
         'SELECT count(*) FROM joined()', '<=', 0.01,
         'SELECT count(*) = 0 FROM (TABLE truth EXCEPT SELECT a, b, common FROM (SELECT qsets_agg(id, item) AS c FROM first_sessions) AS s,
              qsets_pairs(c, min_count => 5)) AS d
          UNION ALL SELECT count(*) = 0 FROM (SELECT a, b, common FROM (SELECT qsets_agg(id, item) AS c FROM first_sessions) AS s,
              qsets_pairs(c, min_count => 5) EXCEPT TABLE truth) AS d ORDER BY 1 LIMIT 1')
        RETURNING id INTO n;
    FOR turn IN 1 .. 5 LOOP
        INSERT INTO timings SELECT n, run_ms(query), joining FROM benchmarks WHERE id = n;
    END LOOP;
END $$;
\endif

\i print-ratios.sql

-- Writes the number of pairs and two sums over the pairs, which sets.sh compares with DuckDB's,
-- and measures the times for sets.sh.
\if :kosarak
\o :folder/ours
SELECT 'first ' || count(*) || ' ' || sum(common) || ' ' || sum(a * common + b) FROM (SELECT qsets_agg(id, item) AS c FROM first_sessions) AS s, qsets_pairs(c, min_count => 5);
SELECT 'all ' || count(*) || ' ' || sum(common) || ' ' || sum(a * common + b) FROM (SELECT qsets_agg(id, item) AS c FROM session) AS s, qsets_pairs(c, min_count => 20);
\o :folder/first_ms
SELECT round(min(run_ms(query))::numeric, 1) FROM benchmarks, generate_series(1, 5) WHERE query LIKE '%qsets_pairs%';
\o :folder/all_ms
SELECT round(min(run_ms('SELECT count(*) FROM (SELECT qsets_agg(id, item) AS c FROM session) AS s, qsets_pairs(c, min_count => 20)'))::numeric, 1)
FROM generate_series(1, 3);
\o :folder/rows_ms
SELECT count, round(ms) FROM (SELECT run_ms('SELECT count(*) FROM (SELECT qsets_agg(id, item) AS c FROM session) AS s, qsets_pairs(c, min_count => 3)') AS ms,
    (SELECT count(*) FROM (SELECT qsets_agg(id, item) AS c FROM session) AS s, qsets_pairs(c, min_count => 3)) AS count) AS x;
\o
\copy (SELECT id, item FROM session) TO PROGRAM 'cat > "$FOLDER/session.csv"' CSV
\endif
