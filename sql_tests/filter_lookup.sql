--
-- Lookups: qfilter_estimate, qfilter_bounds, qfilter_contains, of keys and arrays of keys of
-- all types; what a filter says of itself; adding to one.
--
CREATE TABLE stored (n int, f qfilter);
INSERT INTO stored SELECT n, qfilter_row_agg(i % 100, i, qfilter_new(10000, 100, seed => n))
FROM generate_series(1, 3) AS n, generate_series(1, 10000) AS i GROUP BY n;
SELECT n, round(qfilter_estimate(f, 5)::numeric, 2) AS estimate, round(qfilter_estimate(f, 5, 'unbiased')::numeric, 2) AS unbiased,
	qfilter_contains(f, 5) AS contains, qfilter_contains(f, 500) AS absent FROM stored ORDER BY n;
SELECT count(*) FILTER (WHERE qfilter_estimate(f, k) = 0) AS clamped, min(qfilter_estimate(f, k, 'unbiased')) < 0 AS signed
FROM stored, generate_series(1000, 1099) AS k;
-- one filter for many keys, many filters for one key, and an array
SELECT bool_and(qfilter_estimate(f, k) = (qfilter_estimate(f, ARRAY[NULL, k, 3]))[2]) AS same,
	bool_and(qfilter_contains(f, k) = (qfilter_contains(f, ARRAY[NULL, k, 3]))[2]) AS contains
FROM stored, generate_series(0, 120) AS k;
SELECT qfilter_estimate(f, ARRAY[[1, NULL], [NULL, NULL::int]])::numeric(10,2)[], qfilter_contains(f, '{}'::int[]) FROM stored WHERE n = 1;
SELECT (b).lower < 100 AND 100 < (b).upper AS held, (b).lower <= (b).estimate AND (b).estimate <= (b).upper AS ordered
FROM stored, qfilter_bounds(f, 7, 0.999) AS b;
SELECT lower, estimate, round(upper::numeric, 6) AS upper FROM qfilter_bounds(qfilter_new(1000, 10), 7);
SELECT lower > 0 AS lower, estimate > 30 AS estimate, upper FROM qfilter_bounds((SELECT qfilter_row_agg(1, i, qfilter_new(1000, 10)) FROM generate_series(1, 1000) AS i), 1);
-- All positions set: Infinity by all methods, in every form, so that nobody ranks by it; at the design frequency a number.
CREATE TABLE saturated AS SELECT qfilter_count_agg(k, n, qfilter_new(1000000, 100)) AS f
FROM (VALUES (1, 100), (2, 163827), (3, 212097), (4, 513418)) AS v(k, n);
SELECT k, method, qfilter_estimate(f, k, method) = 'Infinity' AS infinite, (qfilter_estimate(f, ARRAY[k, NULL], method))[1] = 'Infinity' AS batch,
	qfilter_estimate_key(f, k, method) = 'Infinity' AS any_type, qfilter_contains(f, k) AS contains
FROM saturated, generate_series(1, 4) AS k, unnest('{corrected,unbiased,paper}'::text[]) AS method ORDER BY k, method;
SELECT k, lower BETWEEN 50 AND 1000 AS lower, estimate, upper FROM saturated, generate_series(2, 4) AS k, qfilter_bounds(f, k);
DROP TABLE saturated;
-- nothing is 0
SELECT qfilter_distinct(qfilter_new_bloom(10)) AS distinct, qfilter_estimate(qfilter_new(1000, 10), 7, 'paper') AS paper;
-- NULL
SELECT qfilter_estimate(f, NULL::int) IS NULL, qfilter_contains(NULL, 1) IS NULL, qfilter_estimate(f, 1, NULL) IS NULL FROM stored WHERE n = 1;
-- errors
SELECT qfilter_estimate(f, 5, 'best') FROM stored;
SELECT qfilter_estimate(f, 5, 'paper') FROM stored;
SELECT qfilter_bounds(f, 5, 1.5) FROM stored;
SELECT qfilter_bounds(f, 5, 'NaN') FROM stored;
SELECT qfilter_distinct(f) FROM stored;
SELECT qfilter_estimate(qfilter_new_bloom(10), 1);
SELECT qfilter_bounds(qfilter_new_bloom(10), 1);
SELECT qfilter_estimate(qfilter_new_bloom(10), ARRAY[1]);
SELECT qfilter_contains(f, 'a'::text) FROM stored;
SELECT qfilter_contains(f, ARRAY['2026-01-31'::date]) FROM stored;
SELECT qfilter_contains(f, 'abc') FROM stored;
SELECT qfilter_add(f, 1.5) FROM stored;
SELECT qfilter_add(f, point(1, 1)) FROM stored;
-- literals are read as the keys are
SELECT qfilter_contains(f, '5') AS five, qfilter_contains(f, ARRAY['5', '500']) AS both FROM stored WHERE n = 1;
-- the paper's way needs rows
SELECT abs(qfilter_estimate(f, 5, 'paper') - 100) < 40 AS close
FROM (SELECT qfilter_agg(i % 100, qfilter_new(10000, 100, 0.05)) AS f FROM generate_series(1, 10000) AS i) AS s;

-- all types of keys, and others
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE keys (name text, one text, two text);
INSERT INTO keys VALUES ('smallint', '1', '2'), ('integer', '1', '2'), ('bigint', '1', '2'), ('text', 'a', 'b'),
	('varchar', 'a', 'b'), ('char(3)', 'a', 'b'), ('"char"', 'a', 'b'), ('bytea', '\x00', '\x01'),
	('uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12'), ('numeric', '1.0', '2'),
	('real', '1', '2'), ('float8', '-0', '1'), ('date', '2020-01-01', '2020-01-02'), ('timestamp', '2020-01-01', '2020-01-02'),
	('timestamptz', '2020-01-01', '2020-01-02'), ('inet', '10.0.0.1', '10.0.0.2'), ('boolean', 't', 'f'), ('mood', 'sad', 'happy'),
	('interval', '1 day', '2 days'), ('jsonb', '{"a": 1}', '{"a": 2}'), ('int[]', '{1}', '{2}'), ('int4range', '[1,2)', '[2,3)'), ('name', 'a', 'b');
CREATE FUNCTION pg_temp.try(query text) RETURNS text LANGUAGE plpgsql AS
$$ DECLARE r text; BEGIN EXECUTE query INTO r; RETURN r; EXCEPTION WHEN OTHERS THEN RETURN sqlstate || ' ' || sqlerrm; END $$;
SELECT name, pg_temp.try(format('SELECT concat_ws('' '', qfilter_contains_key(f, %2$L::%1$s), qfilter_contains_key(f, %3$L::%1$s),
	qfilter_contains(f, ARRAY[%2$L::%1$s, %3$L::%1$s]), (qfilter_info(f)).key_family)
	FROM (SELECT qfilter_agg(k, qfilter_new_bloom(100, 1e-9)) AS f FROM (VALUES (%2$L::%1$s), (NULL)) AS v(k)) AS s', name, one, two)) AS found
FROM keys ORDER BY name COLLATE "C";
SELECT name, pg_temp.try(format('SELECT qfilter_contains(qfilter_add(qfilter_add(qfilter_new_bloom(10, 1e-9), %2$L::%1$s), %2$L::%1$s, 5), %2$L::%1$s)', name, one)) AS added
FROM keys WHERE name <> 'int[]' ORDER BY name COLLATE "C";

-- adding: a NULL changes nothing; with an id twice is once; PL/pgSQL adds in place
SELECT qfilter_add(NULL::qfilter, 1) IS NULL, qfilter_add(f, NULL::int) = f, qfilter_add(f, 1, NULL) = f, qfilter_add(f, 5, 105) = f AS again FROM stored;
SELECT rows FROM qfilter_info(qfilter_add(qfilter_add(qfilter_new(10, 1), 1), 2));
SELECT rows IS NULL AS unknown FROM qfilter_info(qfilter_add(qfilter_new(10, 1), 1, 2));
CREATE FUNCTION pg_temp.added(n int) RETURNS qfilter LANGUAGE plpgsql AS
$$ DECLARE f qfilter := qfilter_new(10000, 100); BEGIN
	FOR i IN 1 .. n LOOP f := qfilter_add(f, i % 100, i); END LOOP;
	RETURN f;
END $$;
SELECT pg_temp.added(10000) = (SELECT qfilter_row_agg(i % 100, i, qfilter_new(10000, 100)) FROM generate_series(1, 10000) AS i) AS same;

-- stored out of line, in line, compressed, expanded: the same
SELECT n, pg_column_size(f) > 2000 AS large FROM stored ORDER BY n;
CREATE TABLE compressed (LIKE stored);
ALTER TABLE compressed ALTER f SET STORAGE extended;
INSERT INTO compressed SELECT n, qfilter_row_agg(i % 10, i, qfilter_new(100000, 100, seed => n)) FROM generate_series(1, 3) AS n, generate_series(1, 600) AS i GROUP BY n;
CREATE TABLE plain (LIKE stored);
INSERT INTO plain SELECT * FROM compressed;
SELECT bool_and(c.f = p.f), bool_and(qfilter_fill(c.f) = qfilter_fill(p.f)), bool_and(qfilter_info(c.f) = qfilter_info(p.f)),
	bool_and(qfilter_estimate(c.f, k) = qfilter_estimate(p.f, k)), bool_and((c.f | p.f) = c.f)
FROM compressed AS c JOIN plain AS p USING (n), generate_series(1, 10) AS k;
-- Of a large stored filter only the key's bits are read, the first time; all, the second time.
CREATE TABLE large (n int, f qfilter);
INSERT INTO large SELECT n, qfilter_agg(i + n, qfilter_new_bloom(2000000 + n, 0.01, 0, CASE WHEN n % 2 = 0 THEN 'blocked' ELSE 'standard' END))
FROM generate_series(0, 1) AS n, generate_series(1, 20000) AS i GROUP BY n;
INSERT INTO large SELECT 2, qfilter_count_agg(i, 10000, qfilter_new(1000000000, 10000, 0.5, k => 4)) FROM generate_series(1, 5000) AS i;
INSERT INTO large SELECT 3, qfilter_row_agg(i % 500, i, qfilter_new(1000000, 1000)) FROM generate_series(1, 50000) AS i;
INSERT INTO large SELECT n, qfilter_agg(i + n, qfilter_new_bloom(400000 + n, 0.01, 0, CASE WHEN n % 2 = 0 THEN 'blocked' ELSE 'standard' END))
FROM generate_series(4, 5) AS n, generate_series(1, 100000) AS i GROUP BY n;
SELECT n, layout, form, pg_column_size(f) > 15000 AS large FROM large, qfilter_info(f) ORDER BY n;
SELECT n, bool_and(qfilter_contains(f, k) = (qfilter_contains(f, ARRAY[k]))[1]) AS same, count(*) FILTER (WHERE qfilter_contains(f, k)) AS found
FROM generate_series(19990, 20010) AS k, large GROUP BY n ORDER BY n;
SELECT n, bool_and(qfilter_estimate(f, k, 'unbiased') = (qfilter_estimate(f, ARRAY[k], 'unbiased'))[1]) AS same,
	bool_and((qfilter_bounds(f, k)).estimate = qfilter_estimate(f, k)) AS bounds
FROM generate_series(490, 510) AS k, large WHERE n IN (2, 3) GROUP BY n ORDER BY n;
SELECT n, qfilter_contains(f, '20000') FROM large WHERE n < 2 OR n > 3 ORDER BY n;
SELECT qfilter_contains(f, 'a'::text) FROM large WHERE n = 0;
SELECT qfilter_estimate(f, 1) FROM large WHERE n = 0;
CREATE FUNCTION pg_temp.pages_read(query text) RETURNS int LANGUAGE plpgsql AS $$ DECLARE plan json; BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
END $$;
SET qsketch.device = cpu; -- which has no copy of what was looked up before
SELECT pg_temp.pages_read('SELECT qfilter_contains(f, 5) FROM large WHERE n = 0') < 15 AS blocked,
	pg_temp.pages_read('SELECT qfilter_contains(f, 5) FROM large WHERE n = 1') < 60 AS standard,
	pg_temp.pages_read('SELECT qfilter_estimate(f, 5) FROM large WHERE n = 2') < 30 AS estimate,
	pg_temp.pages_read('SELECT qfilter_contains(f, 5), qfilter_contains(f, 5) FROM large WHERE n = 0') < 30 AS two,
	pg_temp.pages_read('SELECT qfilter_contains(f, ARRAY[5]) FROM large WHERE n = 4') > 50 AS whole,
	pg_temp.pages_read('SELECT qfilter_contains(f, i) FROM large, generate_series(1, 100) AS i WHERE n = 0') < 600 AS once;
SELECT pg_temp.pages_read('SELECT qfilter_contains(f, 5) FROM large WHERE n = 4') < 15 AS dense_blocked,
	pg_temp.pages_read('SELECT qfilter_contains(f, 5) FROM large WHERE n = 5') < 60 AS dense_standard;
RESET qsketch.device;
-- comparison, grouping, indexes
CREATE INDEX ON stored USING hash (f);
SELECT count(*), count(DISTINCT f) FROM (SELECT f FROM stored UNION ALL SELECT f FROM stored) AS s;
SELECT count(*) FROM stored AS a JOIN stored AS b ON a.f = b.f;
SELECT bool_and((a.f < b.f) = (b.f > a.f) AND (a.f <= b.f) = NOT (a.f > b.f) AND (a.f <> b.f) = (a.n <> b.n)) FROM stored AS a, stored AS b;
DROP TABLE stored, keys, compressed, plain, large;
DROP TYPE mood;
