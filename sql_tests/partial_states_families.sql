--
-- Partial states of plans without groups, of top keys and filters: see
-- partial_states.sql.  Each query is asked of one process, of several processes, and
-- of one process for several tables.
--
CREATE SCHEMA partial_states_families;
SET search_path = partial_states_families, public;
SET qsketch.enable_columnscan = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET cpu_operator_cost = 1;
SET enable_partitionwise_aggregate = on;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE t WITH (parallel_workers = 2) AS
SELECT i, 7001 / (1 + i % 7001) AS k, i % 7 AS w, i % 3 AS part FROM generate_series(1, 30000) AS i;
CREATE TABLE parts (i int, k int, w int, part int) PARTITION BY LIST (part);
SELECT format('CREATE TABLE parts_%1$s PARTITION OF parts FOR VALUES IN (%1$s)', i) FROM generate_series(0, 2) AS i
\gexec
INSERT INTO parts SELECT * FROM t;
ANALYZE t, parts;

-- queries whose result does not depend on the order of rows
CREATE TABLE query (number int, text text);
INSERT INTO query VALUES
	(1, 'SELECT qfilter_agg(k, qfilter_new_bloom(100))::bytea FROM %s'),
	(2, 'SELECT qfilter_agg(i, qfilter_new_bloom(100000))::bytea FROM %s'),
	(3, 'SELECT qfilter_agg(i, qfilter_new_bloom(10000000))::bytea FROM %s'),
	(4, 'SELECT qfilter_agg(md5(i::text), qfilter_new_bloom(100000, layout => ''standard''))::bytea FROM %s'),
	(5, 'SELECT qfilter_row_agg(k, i, qfilter_new(30000, 20))::bytea FROM %s'),
	(6, 'SELECT qfilter_agg(k, qfilter_new_bloom(100)) FILTER (WHERE i < 0) IS NULL FROM %s'),
	(7, 'SELECT qfilter_agg(k, qfilter_new_bloom(100)) FILTER (WHERE i = 7)::bytea FROM %s'),
	(8, 'SELECT qfilter_count_agg(k, w, qfilter_new_bloom(100))::bytea FROM %s'),
	(10, 'SELECT qtop_agg(i, 7)::bytea FROM %s WHERE i <= 200'),
	(11, 'SELECT qtop_agg(i::text, w, 7)::bytea FROM %s WHERE i <= 200'),
	(12, 'SELECT qtop_sketch(qtop_agg(i, 7))::bytea FROM %s'),
	(13, 'SELECT qtop_sketch(qtop_agg(i, w - 3, 7) FILTER (WHERE w > 3))::bytea FROM %s'),
	(14, 'SELECT array_agg(l ORDER BY l) FROM (SELECT qtop_list(qtop_agg(k, 7), 7, NULL::int) AS l FROM %s) AS s'),
	(15, 'SELECT array_agg(l ORDER BY l) FROM (SELECT qtop_list(qtop_agg(''key '' || k, w, 7), 7, NULL::text) AS l FROM %s) AS s'),
	(17, 'SELECT qtop_sketch(qtop_agg(i, 7, qsketch_new(''multilevel'', ''8MB'')))::bytea FROM %s');

CREATE FUNCTION answers(source text) RETURNS TABLE (number int, answer text) LANGUAGE plpgsql AS $$
BEGIN
	FOR number, answer IN SELECT q.number, q.text FROM query AS q ORDER BY 1 LOOP
		EXECUTE format(answer, source) INTO answer;
		RETURN NEXT;
	END LOOP;
END $$;
CREATE TABLE right_one AS SELECT * FROM answers('t');
SELECT count(*), count(answer), count(DISTINCT answer) FROM right_one;
SELECT a.number FROM answers('parts') AS a JOIN right_one AS r USING (number) WHERE a.answer IS DISTINCT FROM r.answer;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT qfilter_agg(k, qfilter_new_bloom(100)), qtop_agg(k, 7) FROM t;
SELECT a.number FROM answers('t') AS a JOIN right_one AS r USING (number) WHERE a.answer IS DISTINCT FROM r.answer;
SELECT a.number FROM answers('parts') AS a JOIN right_one AS r USING (number) WHERE a.answer IS DISTINCT FROM r.answer;
SET parallel_leader_participation = off;
SELECT a.number FROM answers('t') AS a JOIN right_one AS r USING (number) WHERE a.answer IS DISTINCT FROM r.answer;
RESET parallel_leader_participation;
SET qsketch.enable_columnscan = on;
SELECT a.number FROM answers('t') AS a JOIN right_one AS r USING (number) WHERE a.answer IS DISTINCT FROM r.answer;
SELECT a.number FROM answers('parts') AS a JOIN right_one AS r USING (number) WHERE a.answer IS DISTINCT FROM r.answer;
SET qsketch.enable_columnscan = off;

-- rows of a probabilistic filter are numbered by each process
SELECT (qfilter_info(f)).rows, qfilter_estimate(f, 1) > 900 AS often, qfilter_estimate(f, 5000) < 500 AS never
FROM (SELECT qfilter_agg(k, qfilter_new(30000, 1000)) AS f FROM t) AS s;
-- keys that are taken back, in the partial state that has them and in another one
SET max_parallel_workers_per_gather = 0;
SELECT qtop_total(qtop_agg(i % 50, CASE WHEN i / 50 % 2 = 0 THEN 3 ELSE -1 END, 5)) FROM parts;
SELECT qtop_total(qtop_agg(i % 50, CASE WHEN part = 0 THEN 3 ELSE -1 END, 5)) FROM parts;
SET max_parallel_workers_per_gather = 2;
-- merging, in parallel; groups
CREATE TABLE stored WITH (parallel_workers = 2) AS SELECT part, k % 50 AS n, qfilter_agg(i, qfilter_new_bloom(100000)) AS f,
	qtop_agg(i, 7) AS top FROM t GROUP BY 1, 2;
ANALYZE stored;
SELECT qfilter_merge_agg(f)::bytea::text = (SELECT answer FROM right_one WHERE number = 2),
	qtop_sketch(qtop_merge_agg(top))::bytea::text = (SELECT answer FROM right_one WHERE number = 12) FROM stored;
SELECT count(f), sum(qtop_total(top)) FROM (SELECT qfilter_agg(k, qfilter_new_bloom(100)) AS f, qtop_agg(k, 7) AS top FROM t GROUP BY part) AS g;

-- the same plan is executed again and again
SET enable_material = off;
SELECT n, total, rows FROM generate_series(1, 3) AS n
	LEFT JOIN (SELECT qtop_total(qtop_agg(k, 7)) AS total, (qfilter_info(qfilter_agg(k, qfilter_new(30000, 1000)))).rows FROM t) AS s
	ON total > n * 10000;
RESET enable_material;
SELECT n, total, rows FROM generate_series(0, 3) AS n,
	LATERAL (SELECT qtop_total(qtop_agg(k, 7)) AS total, (qfilter_info(qfilter_agg(k, qfilter_new(30000, 1000)))).rows
	FROM parts WHERE part <> n HAVING count(*) > 0) AS s;

-- what the leader leaves of a partition to a slower worker are values, too
CREATE FUNCTION slowly(i int) RETURNS bool LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
	IF i % 100 = 0 THEN
		PERFORM pg_sleep(CASE WHEN pg_backend_pid() = current_setting('families.leader')::int THEN 0.003 ELSE 0.15 END);
	END IF;
	RETURN true;
END $$;
SELECT set_config('families.leader', pg_backend_pid()::text, false) <> '' AS known;
SET max_parallel_workers_per_gather = 1;
SET qsketch.enable_columnscan = on;
EXPLAIN (COSTS OFF) SELECT qsketch_agg(i), qfilter_agg(i, qfilter_new_bloom(100000)), qtop_agg(i, 7) FROM parts WHERE slowly(i);
SELECT qsketch_total(s) AS total, f::bytea::text = (SELECT answer FROM right_one WHERE number = 2) AS filters,
	qtop_sketch(top)::bytea::text = (SELECT answer FROM right_one WHERE number = 12) AS tops
FROM (SELECT qsketch_agg(i) AS s, qfilter_agg(i, qfilter_new_bloom(100000)) AS f, qtop_agg(i, 7) AS top FROM parts WHERE slowly(i)) AS a;
SET qsketch.enable_columnscan = off;
SET max_parallel_workers_per_gather = 2;

-- errors while states are combined
CREATE FUNCTION pg_temp.error(query text, OUT message text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
EXCEPTION WHEN invalid_parameter_value THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	-- any process can be the first, so the lesser number is printed first
	message := regexp_replace(message, '(8|10240) and (7|1024)$', '\2 and \1');
END $$;
SELECT * FROM pg_temp.error('SELECT qtop_agg(k, CASE WHEN part = 0 THEN 7 ELSE 8 END) FROM parts');
SELECT * FROM pg_temp.error('SELECT qfilter_agg(k, CASE WHEN part = 0 THEN qfilter_new_bloom(100) ELSE qfilter_new_bloom(1000) END) FROM parts');
SELECT qtop_total(qtop_agg(k, 7)), (qfilter_info(qfilter_agg(k, qfilter_new(30000, 1000)))).rows FROM parts;

-- who combines by himself sees values
CREATE FUNCTION keep(a qfilter, b qfilter) RETURNS qfilter LANGUAGE plpgsql PARALLEL SAFE AS $$
BEGIN
	IF a IS NULL OR b IS NULL THEN RETURN coalesce(a, b); END IF;
	RETURN a::text::qfilter | b::bytea::qfilter;
END $$;
CREATE AGGREGATE kept(int, qfilter) (SFUNC = _qfilter_agg_trans, STYPE = qfilter, COMBINEFUNC = keep,
	FINALFUNC = _qfilter_agg_final, PARALLEL = SAFE);
CREATE FUNCTION keep(a qtop, b qtop) RETURNS qtop LANGUAGE plpgsql PARALLEL SAFE AS $$
BEGIN
	IF a IS NULL OR b IS NULL THEN RETURN coalesce(a, b); END IF;
	RETURN a::text::qtop || b::bytea::qtop;
END $$;
CREATE AGGREGATE kept(int, bigint) (SFUNC = _qtop_agg_trans, STYPE = qtop, COMBINEFUNC = keep,
	FINALFUNC = _qtop_agg_final, PARALLEL = SAFE);
SELECT kept(k, qfilter_new_bloom(100)) = qfilter_agg(k, qfilter_new_bloom(100)) AS filters,
	qtop_sketch(kept(k, 7)) = qtop_sketch(qtop_agg(k, 7)) AS tops FROM t;
SELECT qfilter_agg(k, qfilter_new_bloom(100)) = kept(k, qfilter_new_bloom(100)) AS filters,
	qtop_sketch(qtop_agg(k, 7)) = qtop_sketch(kept(k, 7)) AS tops FROM parts;

-- also if the owner of the aggregate makes our function the combine function while a query runs that calls his
CREATE ROLE regress_partial_states_families;
ALTER AGGREGATE kept(int, qfilter) OWNER TO regress_partial_states_families;
ALTER AGGREGATE kept(int, bigint) OWNER TO regress_partial_states_families;
GRANT CREATE, USAGE ON SCHEMA partial_states_families TO regress_partial_states_families;
GRANT SELECT ON ALL TABLES IN SCHEMA partial_states_families TO regress_partial_states_families;
SET ROLE regress_partial_states_families;
RESET cpu_operator_cost;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT kept(k, qfilter_new_bloom(100)), kept(i, 7) FROM parts;
BEGIN;
DECLARE c CURSOR FOR SELECT kept(k, qfilter_new_bloom(100))::bytea::text = (SELECT answer FROM right_one WHERE number = 1) AS filters,
	qtop_sketch(kept(i, 7))::bytea::text = (SELECT answer FROM right_one WHERE number = 12) AS tops FROM parts;
CREATE OR REPLACE AGGREGATE kept(int, qfilter) (SFUNC = _qfilter_agg_trans, STYPE = qfilter, COMBINEFUNC = _qfilter_agg_combine,
	FINALFUNC = _qfilter_agg_final, PARALLEL = SAFE);
FETCH c;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT qtop_sketch(kept(i, 7))::bytea::text = (SELECT answer FROM right_one WHERE number = 12) AS tops FROM parts;
CREATE OR REPLACE AGGREGATE kept(int, bigint) (SFUNC = _qtop_agg_trans, STYPE = qtop, COMBINEFUNC = _qtop_agg_combine,
	FINALFUNC = _qtop_agg_final, PARALLEL = SAFE);
FETCH c;
COMMIT;
SET cpu_operator_cost = 1;
SET max_parallel_workers_per_gather = 2;
RESET ROLE;

-- a token that a superuser forges stands for nothing, and is no value
CREATE TABLE forged WITH (parallel_workers = 2) AS SELECT 'QSL1'::bytea || decode(repeat('00', 16), 'hex') AS bytes
FROM generate_series(1, 30) AS n;
ANALYZE forged;
SELECT format('CREATE FUNCTION as_%1$s(bytea, bytea DEFAULT '''') RETURNS %1$s LANGUAGE internal IMMUTABLE PARALLEL SAFE AS ''byteacat''', type),
	format('CREATE FUNCTION last(a %1$s, b bytea) RETURNS %1$s LANGUAGE sql PARALLEL SAFE COST 100000 AS ''SELECT as_%1$s($2)''', type),
	format('CREATE AGGREGATE forge_%s(bytea) (SFUNC = last, STYPE = %1$s, COMBINEFUNC = %s, PARALLEL = SAFE)', type, combine)
FROM (VALUES ('qfilter', '_qfilter_agg_combine'), ('qtop', '_qtop_agg_combine')) AS v (type, combine)
\gexec
-- whichever process finds them
\set SHOW_CONTEXT never
SELECT qfilter_fill(forge_qfilter(bytes)) FROM forged;
SELECT qtop_total(forge_qtop(bytes)) FROM forged;
SELECT qfilter_fill(as_qfilter(bytes)) FROM forged;
SELECT qtop_total(as_qtop(bytes)) FROM forged;
SELECT qfilter_merge_agg(as_qfilter(bytes)) FROM forged;
SELECT qtop_merge_agg(as_qtop(bytes)) FROM forged;

SET client_min_messages = warning;
DROP SCHEMA partial_states_families CASCADE;
DROP ROLE regress_partial_states_families;
