--
-- Partial states of plans without groups.  The process that combines its own state takes
-- it over by a token, and the states of workers travel as values.  The result is the
-- same, and nobody sees a token.
--
CREATE SCHEMA partial_states;
SET search_path = partial_states, public;
SET qsketch.enable_columnscan = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET cpu_operator_cost = 1;
SET enable_partitionwise_aggregate = on;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE t WITH (parallel_workers = 2) AS
SELECT i % 7001 AS k, i % 3 AS part FROM generate_series(1, 30000) AS i;
CREATE TABLE parts (k bigint, part int) PARTITION BY LIST (part);
SELECT format('CREATE TABLE parts_%1$s PARTITION OF parts FOR VALUES IN (%1$s)', i) FROM generate_series(0, 2) AS i
\gexec
INSERT INTO parts SELECT k, part FROM t;
ANALYZE t, parts;
CREATE TABLE template AS
SELECT structure || ' ' || size AS name, qsketch_new(structure, size) AS template
FROM unnest('{thread,warp,sub_warp,multilevel,sf}'::text[]) AS structure, unnest('{16kB,1MB}'::text[]) AS size;
INSERT INTO template VALUES ('explicit', qsketch_new('multilevel', '64MB'));
CREATE TABLE right_one AS
SELECT name, (SELECT qsketch_agg(k, template) FROM t) AS s,
	(SELECT qsketch_merge_agg(m) FROM (SELECT qsketch_agg(k, template) AS m FROM t GROUP BY part) AS g) AS merged
FROM template;
SELECT bool_and(s = merged) FROM right_one;

-- in parallel, and by one process for several tables
CREATE FUNCTION all_right(query text) RETURNS TABLE (name text, is_right bool) LANGUAGE plpgsql AS $$
DECLARE r record; s qsketch;
BEGIN
	FOR r IN SELECT o.name, t.template, o.s FROM right_one AS o JOIN template AS t USING (name) ORDER BY 1 LOOP
		EXECUTE format(query, quote_literal(r.template) || '::qsketch') INTO s;
		name := r.name;
		is_right := s = r.s AND s::bytea = r.s::bytea;
		RETURN NEXT;
	END LOOP;
END $$;
EXPLAIN (COSTS OFF) SELECT qsketch_agg(k) FROM parts;
SELECT bool_and(is_right) FROM all_right('SELECT qsketch_agg(k, %s) FROM parts');
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT qsketch_agg(k) FROM t;
SELECT * FROM all_right('SELECT qsketch_agg(k, %s) FROM t');
SELECT bool_and(is_right) FROM all_right('SELECT qsketch_agg(k, %s) FROM parts');
SELECT bool_and(is_right) FROM all_right('SELECT qsketch_agg(k, 1, %s) FROM t');
SET parallel_leader_participation = off;
SELECT bool_and(is_right) FROM all_right('SELECT qsketch_agg(k, %s) FROM t');
RESET parallel_leader_participation;
SET qsketch.enable_columnscan = on;
SELECT bool_and(is_right) FROM all_right('SELECT qsketch_agg(k, %s) FROM t');
SELECT bool_and(is_right) FROM all_right('SELECT qsketch_agg(k, %s) FROM parts');
SET qsketch.enable_columnscan = off;

-- merging; several aggregates; states that are NULL; groups
CREATE TABLE stored WITH (parallel_workers = 2) AS SELECT part, k % 50 AS n, qsketch_agg(k, qsketch_new(size => '64kB')) AS s
FROM t GROUP BY 1, 2;
ANALYZE stored;
SELECT qsketch_merge_agg(s) = (SELECT o.s FROM (SELECT qsketch_agg(k, qsketch_new(size => '64kB')) AS s FROM t) AS o) FROM stored;
SELECT a = b AS same, a = r.s AS right, c IS NULL AS none, qsketch_total(d) AS some
FROM right_one AS r, (SELECT qsketch_agg(k, qsketch_new('multilevel', '1MB')) AS a, qsketch_agg(k::int, qsketch_new('multilevel', '1MB')) AS b,
	qsketch_agg(k) FILTER (WHERE k < 0) AS c, qsketch_agg(k) FILTER (WHERE k = 42) AS d FROM t) AS s
WHERE r.name = 'multilevel 1MB';
SELECT sum(qsketch_total(s)) FROM (SELECT qsketch_agg(k, qsketch_new(size => '64kB')) AS s FROM t GROUP BY part) AS g;

-- the same plan is executed again and again
SET enable_material = off;
EXPLAIN (COSTS OFF) SELECT i, total FROM generate_series(1, 3) AS i
	LEFT JOIN (SELECT qsketch_total(qsketch_agg(k)) AS total FROM t) AS s ON total > i * 10000;
SELECT i, total FROM generate_series(1, 3) AS i
	LEFT JOIN (SELECT qsketch_total(qsketch_agg(k)) AS total FROM t) AS s ON total > i * 10000;
SELECT i, total FROM generate_series(1, 3) AS i
	LEFT JOIN (SELECT qsketch_total(qsketch_agg(k)) AS total FROM parts) AS s ON total > i * 10000;
RESET enable_material;
SELECT i, total FROM generate_series(1, 4) AS i,
	LATERAL (SELECT qsketch_total(qsketch_agg(k)) AS total FROM parts WHERE part <> i HAVING count(*) > 0) AS s;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT qsketch_total(qsketch_agg(k)) FROM t;
FETCH c;
FETCH BACKWARD c;
FETCH BACKWARD c;
FETCH c;
COMMIT;

-- an error while states are combined
SELECT qsketch_agg(k, CASE WHEN part = 0 THEN qsketch_new('warp') ELSE qsketch_new('thread') END) FROM parts;
SELECT qsketch_total(qsketch_agg(k)) FROM parts;

-- who combines by himself sees values
CREATE FUNCTION keep(a qsketch, b qsketch) RETURNS qsketch LANGUAGE plpgsql PARALLEL SAFE AS $$
BEGIN
	IF a IS NULL OR b IS NULL THEN RETURN coalesce(a, b); END IF;
	RETURN a::text::qsketch || b::bytea::qsketch;
END $$;
CREATE AGGREGATE kept(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = keep,
	FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
CREATE AGGREGATE same(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch,
	COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
SELECT kept(k) = (SELECT qsketch_agg(k) FROM (SELECT k FROM t OFFSET 0) AS ordinary), same(k) = (SELECT qsketch_agg(k) FROM (SELECT k FROM t OFFSET 0) AS ordinary) FROM t;
SELECT kept(k) = qsketch_agg(k) AS shared, qsketch_agg(k) = kept(k) AS shared_too FROM t;
SELECT kept(k) = qsketch_agg(k) AS shared, qsketch_agg(k) = kept(k) AS shared_too FROM parts;

-- also if the owner of the aggregate makes our function the combine function while a query runs that calls his
CREATE ROLE regress_partial_states;
GRANT CREATE, USAGE ON SCHEMA partial_states TO regress_partial_states;
GRANT SELECT ON ALL TABLES IN SCHEMA partial_states TO regress_partial_states;
SET ROLE regress_partial_states;
CREATE FUNCTION replace(combine regproc) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE AGGREGATE replaced(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = %s,
		FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE)', combine);
END $$;
CREATE FUNCTION replacing(k bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	IF k = 3 THEN PERFORM replace('_qsketch_agg_combine'); END IF;
	RETURN k;
END $$;
SELECT replace('keep');
RESET cpu_operator_cost;
EXPLAIN (COSTS OFF) SELECT replaced(replacing(k)) FROM parts;
BEGIN;
DECLARE c CURSOR FOR SELECT replaced(k) = (SELECT s FROM right_one WHERE name = 'multilevel 1MB') FROM parts;
SELECT replace('_qsketch_agg_combine');
FETCH c;
ROLLBACK;
SELECT k FROM parts_0 LIMIT 1;
SELECT replaced(replacing(k)) = (SELECT s FROM right_one WHERE name = 'multilevel 1MB') FROM parts;
SELECT aggcombinefn FROM pg_aggregate WHERE aggfnoid = 'replaced'::regproc;
SET cpu_operator_cost = 1;
RESET ROLE;

-- a token that a superuser forges stands for nothing, and is no sketch
CREATE FUNCTION as_sketch(bytea, bytea DEFAULT '') RETURNS qsketch LANGUAGE internal IMMUTABLE PARALLEL SAFE AS 'byteacat';
CREATE FUNCTION last(a qsketch, b bytea) RETURNS qsketch LANGUAGE sql PARALLEL SAFE COST 100000 AS 'SELECT as_sketch($2)';
CREATE AGGREGATE forge(bytea) (SFUNC = last, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, PARALLEL = SAFE);
CREATE TABLE forged WITH (parallel_workers = 2) AS SELECT 'QSL1'::bytea || decode(repeat(lpad(to_hex(i), 2, '0'), 16), 'hex') AS bytes
FROM generate_series(1, 30) AS n, generate_series(0, 0) AS i;
ANALYZE forged;
-- whichever process finds the error first
\set SHOW_CONTEXT never
SELECT qsketch_total(forge(bytes)) FROM forged;
SELECT qsketch_total(as_sketch(bytes)) FROM forged;
SELECT qsketch_merge_agg(as_sketch(bytes)) FROM forged;
SELECT qsketch_agg(k, (SELECT as_sketch(bytes) FROM forged LIMIT 1)) FROM t;
\set SHOW_CONTEXT errors

SET client_min_messages = warning;
DROP SCHEMA partial_states CASCADE;
DROP ROLE regress_partial_states;
