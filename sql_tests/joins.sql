-- Aggregates above joins.  From PostgreSQL 19 on the planner may aggregate below a join first
-- ("eager aggregation"), and then joins the partial states.  The results are the same, byte by byte.
CREATE TABLE users (id integer PRIMARY KEY, country integer);
INSERT INTO users SELECT i, CASE WHEN i % 9 > 0 THEN i % 7 END FROM generate_series(1, 500) AS i;
CREATE TABLE orders (id bigint, buyer integer, item bigint, name text);
INSERT INTO orders SELECT i, CASE WHEN i % 11 > 0 THEN i % 550 END, CASE WHEN i % 13 > 0 THEN i % 4001 END, 'name ' || i % 97
	FROM generate_series(1, 40000) AS i;
ANALYZE users, orders;
SET max_parallel_workers_per_gather = 0;

CREATE FUNCTION pg_temp.value(query text, eager boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	value text;
BEGIN
	PERFORM set_config(name, eager::text, true) FROM pg_settings WHERE name = 'enable_eager_aggregate';
	EXECUTE 'SELECT md5(string_agg(x::text, '','' ORDER BY g)) FROM (' || query || ') AS x (g)' INTO value;
	RETURN value;
END $$;
CREATE FUNCTION pg_temp.plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan;
END $$;
CREATE FUNCTION pg_temp.is_eager(plan text) RETURNS boolean LANGUAGE sql AS $$ SELECT plan ~ '"Partial Mode": "Partial"' $$;
CREATE FUNCTION pg_temp.can_be_eager() RETURNS boolean LANGUAGE sql AS
$$ SELECT EXISTS (SELECT FROM pg_settings WHERE name = 'enable_eager_aggregate') $$;

-- of all families, with and without templates, weights and FILTER
CREATE TEMP TABLE joined AS SELECT format(form, call) AS query
FROM unnest(ARRAY['SELECT country, %s FROM orders JOIN users ON buyer = users.id GROUP BY country',
	'SELECT country, %s FROM users LEFT JOIN orders ON buyer = users.id GROUP BY country',
	'SELECT country, %s FROM orders JOIN users ON buyer = users.id WHERE name <> ''name 5'' GROUP BY country',
	'SELECT a.country, %s FROM orders JOIN users AS a ON buyer = a.id JOIN users AS b ON b.id = a.id + 1 GROUP BY a.country']) AS form,
	unnest(ARRAY['qsketch_agg(item)', 'qsketch_agg(name)', 'qsketch_agg(item, 3)', 'qsketch_agg(item, qsketch_new(''sub_warp'', ''1kB''))',
		'qsketch_agg(item) FILTER (WHERE orders.id % 3 = 0)', 'qtop_sketch(qtop_agg(item, 5))',
		'qfilter_agg(name, qfilter_new_bloom(100))', 'qfilter_row_agg(item, orders.id, qfilter_new(9000, 9))',
		'qsets_agg(buyer, item)', 'count(item), qsketch_agg(item)']) AS call;
SELECT count(*), count(DISTINCT pg_temp.value(query, true)) AS differ, bool_and(pg_temp.value(query, true) = pg_temp.value(query, false)) AS same FROM joined;
SELECT bool_or(pg_temp.is_eager(pg_temp.plan(query))) = pg_temp.can_be_eager() AS eager_where_it_can_be FROM joined;

-- States of large groups are large, below a join as well: the planner knows, and expects not to have all of them in memory at a time.
CREATE TABLE bulk AS SELECT i % 100 AS buyer, i AS item FROM generate_series(1, 300000) AS i;
ANALYZE bulk;
SELECT plan ~ '"Partial Mode": "Partial".*"Planned Partitions": [1-9]' = pg_temp.can_be_eager() AS eager_and_large_where_it_can_be
FROM pg_temp.plan($$SELECT country, qsketch_agg(item) FROM bulk JOIN users ON buyer = users.id GROUP BY country$$) AS plan;

RESET max_parallel_workers_per_gather;
DROP TABLE users, orders, bulk;
