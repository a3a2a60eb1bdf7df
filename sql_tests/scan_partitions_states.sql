--
-- Parallel column scans of partitions: a process that has no more pages of one leaves its states of
-- all families to another process, be it the leader or a worker.
--
CREATE SCHEMA scan_partitions_states;
SET search_path = scan_partitions_states, public;
CREATE TABLE parts (k bigint, part int) PARTITION BY LIST (part);
SELECT format('CREATE TABLE parts_%1$s PARTITION OF parts FOR VALUES IN (%1$s)', i) FROM generate_series(0, 11) AS i
\gexec
INSERT INTO parts SELECT i * 7919::bigint % 100003, i % 12 FROM generate_series(1, 240000) AS i;
VACUUM ANALYZE parts;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET cpu_operator_cost = 1;

CREATE FUNCTION states(workers int, calls text, OUT parallel boolean, OUT states text[]) LANGUAGE plpgsql AS $$
DECLARE line text; plan text := ''; BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', workers::text, true);
	FOR line IN EXECUTE 'EXPLAIN SELECT ' || calls || ' FROM parts' LOOP plan := plan || line; END LOOP;
	parallel := plan LIKE '%Parallel Custom Scan (QSketchScan)%';
	EXECUTE format('SELECT ARRAY[%s] FROM parts', calls) INTO states;
END $$;
CREATE TABLE asked (calls text);
INSERT INTO asked VALUES
	('md5(qfilter_agg(k, qfilter_new_bloom(10000000))::bytea)'),
	('md5(qsketch_agg(k, qsketch_new(''multilevel'', ''1MB''))::bytea), md5(qfilter_agg(k, qfilter_new_bloom(10000000))::bytea)'),
	('md5(qsketch_agg(k, qsketch_new(''warp'', ''256kB''))::bytea), qtop_total(qtop_agg(k, 50))::text, md5(qfilter_agg(k, qfilter_new_bloom(1000))::bytea)'),
	('md5(qtop_sketch(qtop_agg(k, 1000, qsketch_new(''multilevel'', ''1MB'')))::bytea), md5(qsketch_agg(k, qsketch_new(''thread'', ''1MB''))::bytea)');

-- each of them several times, since who leaves is a matter of time
SET enable_parallel_append = off;
SELECT calls, bool_and(p.parallel), bool_and(p.states = s.states)
FROM asked, LATERAL states(0, calls) AS s, generate_series(1, 6) AS i, LATERAL states(2 + 0 * i, calls) AS p GROUP BY calls ORDER BY calls;
SET enable_parallel_append = on;
SELECT calls, bool_and(p.parallel), bool_and(p.states = s.states)
FROM asked, LATERAL states(0, calls) AS s, generate_series(1, 6) AS i, LATERAL states(2 + 0 * i, calls) AS p GROUP BY calls ORDER BY calls;

-- A serial scan of partitions fills the same groups, so the planner looks at the memory of all of them together:
-- 100 filters of a megabyte each do not fit, though those of one partition are expected to be small.
RESET cpu_operator_cost;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE days (k bigint, g int, part int) PARTITION BY LIST (part);
SELECT format('CREATE TABLE days_%1$s PARTITION OF days FOR VALUES IN (%1$s)', i) FROM generate_series(0, 11) AS i
\gexec
INSERT INTO days SELECT i, i % 100, i % 12 FROM generate_series(1, 120000) AS i;
ANALYZE days;
SET work_mem = '4MB';
SET hash_mem_multiplier = 1;
CREATE FUNCTION takes_scan(call text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text; found boolean := false; BEGIN
	FOR line IN EXECUTE 'EXPLAIN SELECT g, ' || call || ' FROM days GROUP BY g' LOOP found := found OR line LIKE '%QSketchScan%'; END LOOP;
	RETURN found;
END $$;
SELECT takes_scan('qfilter_agg(k, qfilter_new_bloom(1000000))') AS large, takes_scan('qfilter_agg(k, qfilter_new_bloom(1000))') AS small,
	takes_scan('count(k), qsketch_agg(k)') AS waiting;

\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA scan_partitions_states CASCADE;
