--
-- The same multiset of keys and the same parameters give the same bytes, in
-- whatever way a sketch is made: order, batches, plans, merges, weights.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
SET qsketch.enable_columnscan = off;

-- few distinct keys (explicit in every template) and many (dense), in a plain
-- and a partitioned table
CREATE TABLE few AS
SELECT i, i * i % 29 AS k FROM generate_series(1, 5000) AS i;
CREATE TABLE many AS
SELECT i, i * (i % 5 + 1) % 3001 AS k FROM generate_series(1, 10000) AS i;
CREATE TABLE few_parts (LIKE few) PARTITION BY HASH (i);
CREATE TABLE many_parts (LIKE many) PARTITION BY HASH (i);
SELECT format('CREATE TABLE %1$s_%2$s PARTITION OF %1$s_parts FOR VALUES WITH (modulus 3, remainder %2$s)',
	t, r) FROM unnest('{few,many}'::text[]) AS t, generate_series(0, 2) AS r
\gexec
INSERT INTO few_parts SELECT * FROM few;
INSERT INTO many_parts SELECT * FROM many;
ANALYZE few, many, few_parts, many_parts;
SELECT count(*), count(DISTINCT k) AS keys FROM few;
SELECT count(*), count(DISTINCT k) AS keys FROM many;

-- Ways to make one sketch: %1$s is the table, %2$s the template.
CREATE TEMP TABLE way (name text, query text);
INSERT INTO way VALUES
('serial', 'SELECT qsketch_agg(k, %2$s) FROM %1$s'),
('shuffled', 'SELECT qsketch_agg(k, %2$s) FROM (SELECT k FROM %1$s ORDER BY md5(i::text)) AS s'),
('descending', 'SELECT qsketch_agg(k, %2$s ORDER BY k DESC) FROM %1$s'),
('ascending', 'SELECT qsketch_agg(k, %2$s ORDER BY k) FROM %1$s'),
('merge of 7', 'SELECT qsketch_merge_agg(s)
	FROM (SELECT qsketch_agg(k, %2$s) AS s FROM %1$s GROUP BY i %% 7) AS parts'),
('merge of 7 ranges, last first', 'SELECT qsketch_merge_agg(s ORDER BY n DESC)
	FROM (SELECT ntile AS n, qsketch_agg(k, %2$s) AS s
		FROM (SELECT k, ntile(7) OVER (ORDER BY k) FROM %1$s) AS n GROUP BY ntile) AS parts'),
('merge of batches', 'SELECT qsketch_merge_agg(s)
	FROM (SELECT qsketch_agg(k, %2$s) AS s FROM %1$s
		GROUP BY width_bucket(i, ARRAY[2, 4097, 8192, 8193])) AS parts'),
('merge of merges', 'SELECT (a || b) || (c || d)
	FROM (SELECT qsketch_agg(k, %2$s) FILTER (WHERE i %% 4 = 0) AS a,
		qsketch_agg(k, %2$s) FILTER (WHERE i %% 4 = 1) AS b,
		qsketch_agg(k, %2$s) FILTER (WHERE i %% 4 = 2) AS c,
		qsketch_agg(k, %2$s) FILTER (WHERE i %% 4 = 3) AS d FROM %1$s) AS parts'),
('merge with empty', 'SELECT %2$s || qsketch_agg(k, %2$s) || %2$s FROM %1$s'),
('weights', 'SELECT qsketch_agg(k, n, %2$s) FROM (SELECT k, count(*) AS n FROM %1$s GROUP BY k) AS c'),
('weights of 1 and 0', 'SELECT qsketch_agg(k, w, %2$s) FROM %1$s, unnest(ARRAY[0, 1]) AS w'),
('split weights', 'SELECT qsketch_agg(k, w, %2$s)
	FROM (SELECT k, count(*) AS n FROM %1$s GROUP BY k) AS c, unnest(ARRAY[n / 2, n - n / 2]) AS w'),
('window', 'SELECT s FROM (SELECT i, qsketch_agg(k, %2$s) OVER (ORDER BY i / 1000) AS s FROM %1$s) AS w
	ORDER BY i DESC LIMIT 1'),
('through text', 'SELECT qsketch_agg(k, %2$s)::text::qsketch FROM %1$s'),
('smallint', 'SELECT qsketch_agg(k::smallint, %2$s) FROM %1$s'),
('bigint', 'SELECT qsketch_agg(k::bigint, %2$s) FROM %1$s'),
('more, removed', 'SELECT qsketch_agg(k, 2, %2$s) - qsketch_agg(k, %2$s) FROM %1$s'),
('grouping set', 'SELECT s FROM (SELECT grouping(k) AS g, qsketch_agg(k, %2$s) AS s FROM %1$s
	GROUP BY ROLLUP (k)) AS r WHERE g = 1');

CREATE FUNCTION pg_temp.compare(VARIADIC sizes text[], OUT way text, OUT sketches bigint, OUT same boolean,
	OUT others_differ boolean) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT w.name, count(*), bool_and(pg_temp.sketch(format(w.query, t.name, f.expr)) = s.sk),
		bool_and(s.sk <> s.other)
	FROM template AS f, (VALUES ('few'), ('many')) AS t(name),
		LATERAL (SELECT
			pg_temp.sketch(format('SELECT qsketch_agg(k, %2$s) FROM %1$s', t.name, f.expr)) AS sk,
			pg_temp.sketch(format('SELECT qsketch_agg(k, %2$s) FROM %1$s WHERE i > 1', t.name,
				f.expr)) AS other OFFSET 0) AS s,
		way AS w
	WHERE f.size = ANY (sizes)
	GROUP BY w.name ORDER BY w.name COLLATE "C"
$$;
SELECT * FROM pg_temp.compare('1kB', '3kB', '16kB', '64kB');
SELECT t.name, (qsketch_info(sk)).form, count(*)
FROM template, (VALUES ('few'), ('many')) AS t(name),
	pg_temp.sketch(format('SELECT qsketch_agg(k, %2$s) FROM %1$s', t.name, expr)) AS sk
GROUP BY 1, 2 ORDER BY 1, 2;

-- one key at a time
CREATE FUNCTION pg_temp.one_by_one(source text, template qsketch) RETURNS qsketch
LANGUAGE plpgsql AS $$
DECLARE key int; sk qsketch := template;
BEGIN
	FOR key IN EXECUTE format('SELECT k FROM %s WHERE i <= 500', source) LOOP
		sk := qsketch_add(sk, key);
	END LOOP;
	RETURN sk;
END $$;
SELECT t.name, count(*), bool_and(pg_temp.one_by_one(t.name, pg_temp.sketch('SELECT ' || expr)) =
		pg_temp.sketch(format('SELECT qsketch_agg(k, %2$s) FROM %1$s WHERE i <= 500', t.name, expr)))
	AS same
FROM template, (VALUES ('few'), ('many')) AS t(name)
WHERE size <> '64kB'
GROUP BY t.name ORDER BY t.name;

-- weight 5 once, or weight 1 five times
SELECT t.name, count(*), bool_and(
		pg_temp.sketch(format('SELECT qsketch_agg(k, 5, %2$s) FROM %1$s', t.name, expr)) =
		pg_temp.sketch(format('SELECT qsketch_agg(k, %2$s) FROM %1$s, generate_series(1, 5)', t.name,
			expr))) AS same
FROM template, (VALUES ('few'), ('many')) AS t(name)
GROUP BY t.name ORDER BY t.name;

-- groups by hashing and by sorting
CREATE FUNCTION pg_temp.groups(source text, template text, hashed boolean)
RETURNS TABLE (g int, sk qsketch) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_hashagg', hashed::text, true),
		set_config('enable_sort', (NOT hashed)::text, true);
	RETURN QUERY EXECUTE format('SELECT i %% 50, qsketch_agg(k, %2$s) FROM %1$s GROUP BY i %% 50',
		source, template);
	PERFORM set_config('enable_hashagg', 'on', true), set_config('enable_sort', 'on', true);
END $$;
SELECT t.name, count(*) AS groups, bool_and(h.sk = s.sk) AS same
FROM template, (VALUES ('few'), ('many')) AS t(name),
	pg_temp.groups(t.name, expr, true) AS h,
	LATERAL (SELECT * FROM pg_temp.groups(t.name, expr, false) AS s WHERE s.g = h.g) AS s
WHERE structure IN ('thread', 'multilevel', 'sf') AND size = '1kB'
GROUP BY t.name ORDER BY t.name;

-- in parallel, with two and four workers
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_partitionwise_aggregate = on;
ALTER TABLE few SET (parallel_workers = 4);
ALTER TABLE many SET (parallel_workers = 4);
TRUNCATE way;
INSERT INTO way VALUES
('agg', 'SELECT qsketch_agg(k, %2$s) FROM %1$s'),
('weights', 'SELECT qsketch_agg(k, 1, %2$s) FROM %1$s'),
('partitions', 'SELECT qsketch_agg(k, %2$s) FROM %1$s_parts'),
('merge of rows', 'SELECT qsketch_merge_agg(qsketch_add(%2$s, k)) FROM %1$s');
SET max_parallel_workers_per_gather = 2;
SELECT name, pg_temp.plan_has(format(query, 'many', 'qsketch_new()'), 'Partial .*Aggregate') AS partial,
	pg_temp.plan_has(format(query, 'many', 'qsketch_new()'), 'Workers Planned: 2') AS workers
FROM way ORDER BY name;
SELECT * FROM pg_temp.compare('1kB', '64kB');
SET max_parallel_workers_per_gather = 4;
SELECT name, pg_temp.plan_has(format(query, 'many', 'qsketch_new()'), 'Partial .*Aggregate') AS partial,
	pg_temp.plan_has(format(query, 'many', 'qsketch_new()'), 'Workers Planned: 4') AS workers
FROM way WHERE name <> 'partitions' ORDER BY name;
SELECT * FROM pg_temp.compare('3kB', '16kB');
SET max_parallel_workers_per_gather = 0;
SELECT bool_or(pg_temp.plan_has(format(query, 'many', 'qsketch_new()'), 'Workers Planned')) AS workers
FROM way;
SELECT * FROM pg_temp.compare('16kB');

-- by scanning the column, alone and in parallel
SET qsketch.enable_columnscan = on;
DELETE FROM way WHERE name IN ('merge of rows', 'weights');
SELECT pg_temp.plan_has('SELECT qsketch_agg(k) FROM many', 'QSketchScan') AS column_scan;
SELECT * FROM pg_temp.compare('1kB', '64kB');
SET max_parallel_workers_per_gather = 4;
SET cpu_operator_cost = 1;
SELECT pg_temp.plan_has('SELECT qsketch_agg(k) FROM many', 'Workers Planned: 4') AS workers,
	pg_temp.plan_has('SELECT qsketch_agg(k) FROM many', 'QSketchScan') AS column_scan;
SELECT * FROM pg_temp.compare('3kB', '16kB');
RESET cpu_operator_cost;

-- with every set of instructions that the processor has
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION pg_temp.same_with(instructions text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('qsketch.simd', instructions, false);
	RETURN bool_and(c.same AND c.others_differ) FROM pg_temp.compare('3kB', '16kB') AS c;
EXCEPTION WHEN invalid_parameter_value THEN RETURN true;
END $$;
CREATE TEMP TABLE reference AS
SELECT t.name, id, pg_temp.sketch(format('SELECT qsketch_agg(k, i, %2$s) FROM %1$s', t.name, expr)) AS sk
FROM template, (VALUES ('few'), ('many')) AS t(name);
SELECT simd, pg_temp.same_with(simd) AS same,
	(SELECT bool_and(r.sk = pg_temp.sketch(format('SELECT qsketch_agg(k, i, %2$s) FROM %1$s', r.name,
			expr)))
		FROM reference AS r JOIN template USING (id)) AS same_as_before
FROM unnest('{scalar,neon,avx2,avx512,auto}'::text[]) AS simd;

DROP TABLE few, many, few_parts, many_parts;
