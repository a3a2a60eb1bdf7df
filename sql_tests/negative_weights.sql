--
-- Negative weights take back what other rows of a group add, in whichever partition,
-- process or partial state these are: every plan gives the value of one process.
--
CREATE SCHEMA negative_weights;
SET search_path = negative_weights, public;
\set SHOW_CONTEXT never
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 0;
SET enable_partitionwise_aggregate = on;

-- part 0 has what is added, part 1 takes some of it back, part 2 has both; keys from 5000 on vanish
CREATE TABLE parts (k int, w bigint, g int, part int) PARTITION BY LIST (part);
SELECT format('CREATE TABLE parts_%1$s PARTITION OF parts FOR VALUES IN (%1$s)', i) FROM generate_series(0, 2) AS i
\gexec
INSERT INTO parts SELECT i % 6000, 3 + i % 2, i % 4, 0 FROM generate_series(0, 23999) AS i;
INSERT INTO parts SELECT k, CASE WHEN k >= 5000 THEN -w ELSE -1 END, g, 1 FROM parts WHERE part = 0 AND (k >= 5000 OR k % 3 = 0);
INSERT INTO parts SELECT i % 500, CASE WHEN i / 500 % 2 = 1 THEN 4 ELSE -4 END, i % 4, 2 FROM generate_series(0, 3999) AS i;
CREATE TABLE t WITH (parallel_workers = 2) AS SELECT * FROM parts ORDER BY part DESC;
CREATE TABLE template AS SELECT structure || ' ' || size AS name, qsketch_new(structure, size) AS template
FROM unnest('{thread,warp,sub_warp,multilevel,sf}'::text[]) AS structure, unnest('{16kB,1MB}'::text[]) AS size;
INSERT INTO template VALUES ('explicit', qsketch_new('multilevel', '64MB'));
ANALYZE parts, t;

CREATE TABLE query (number int, text text);
INSERT INTO query VALUES
	(1, 'SELECT md5(qsketch_agg(k, w)::text) FROM %s'),
	(2, 'SELECT md5(qtop_sketch(qtop_agg(k, w, 10))::text) FROM %s'),
	(3, 'SELECT string_agg(md5(s::text), '','' ORDER BY g) FROM (SELECT g, qsketch_agg(k, w, qsketch_new(size => ''64kB'')) AS s FROM %s GROUP BY g) AS q'),
	(4, 'SELECT string_agg(md5(qtop_sketch(s)::text), '','' ORDER BY g) FROM (SELECT g, qtop_agg(''key '' || k, w, 10, qsketch_new(size => ''64kB'')) AS s FROM %s GROUP BY g) AS q'),
	(5, 'SELECT md5(string_agg(md5(s::text), '','' ORDER BY g)) FROM (SELECT k %% 300 AS g, qsketch_agg(k::text, w) AS s FROM %s GROUP BY 1) AS q'),
	(6, 'SELECT md5(qsketch_agg(k, w) FILTER (WHERE k < 5)::text), md5(qsketch_agg(k, w) FILTER (WHERE k = 5500)::text) FROM %s'),
	(7, 'SELECT md5(qsketch_merge_agg(s)::text) FROM (SELECT qsketch_agg(k, w) AS s FROM %s GROUP BY g) AS q'),
	(8, 'SELECT md5(array_agg(l ORDER BY l)::text) FROM (SELECT qtop_list(qtop_agg(k, w, 10), 10, NULL::int) AS l FROM %s WHERE k < 100) AS q');
CREATE FUNCTION answers(source text) RETURNS TABLE (number int, answer text) LANGUAGE plpgsql AS $$
DECLARE t qsketch; name text; -- of a template
BEGIN
	FOR number, answer IN SELECT q.number, q.text FROM query AS q ORDER BY 1 LOOP
		EXECUTE format('SELECT q::text FROM (%s) AS q', format(answer, source)) INTO answer;
		RETURN NEXT;
	END LOOP;
	FOR name, t IN SELECT x.name, x.template FROM template AS x ORDER BY 1 LOOP
		EXECUTE format('SELECT md5(qsketch_agg(k, w, %L::qsketch)::text) FROM %s', t, source) INTO answer;
		number := number + 1;
		RETURN NEXT;
	END LOOP;
END $$;

SET enable_partitionwise_aggregate = off;
SET qsketch.enable_columnscan = off;
CREATE TABLE right_one AS SELECT * FROM answers('t');
SELECT count(*), count(answer), count(DISTINCT answer) FROM right_one;
CREATE FUNCTION differ(source text) RETURNS TABLE (number int, answer text) LANGUAGE sql AS $$
	SELECT a.number, a.answer FROM answers(source) AS a JOIN right_one AS r USING (number) WHERE a.answer IS DISTINCT FROM r.answer
$$;
SELECT * FROM differ('parts');
SELECT bool_and(qsketch_estimate(s, k) >= w) AS never_too_small, sum(qsketch_estimate(s, k)) FILTER (WHERE w = 0) AS gone,
	qsketch_total(s) = sum(w) AS is_total
FROM (SELECT qsketch_agg(k, w, qsketch_new(size => '64MB')) AS s FROM t) AS s, (SELECT k, sum(w) AS w FROM t GROUP BY k) AS c GROUP BY s;

SET enable_partitionwise_aggregate = on;
EXPLAIN (COSTS OFF) SELECT qsketch_agg(k, w) FROM parts;
SELECT * FROM differ('parts');
SET enable_hashagg = off;
SELECT * FROM differ('parts');
RESET enable_hashagg;
SET work_mem = '64kB';
SELECT * FROM differ('parts');
RESET work_mem;

-- several processes, with and without a leader that takes part
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT qsketch_agg(k, w) FROM t;
SELECT * FROM differ('t');
SELECT * FROM differ('parts');
SET enable_hashagg = off;
SELECT * FROM differ('t');
RESET enable_hashagg;
SET parallel_leader_participation = off;
SELECT * FROM differ('t');
SELECT * FROM differ('parts');
RESET parallel_leader_participation;

-- the column scan
SET qsketch.enable_columnscan = on;
SELECT * FROM differ('t');
SELECT * FROM differ('parts');
SET work_mem = '64kB';
SELECT * FROM differ('t');
SELECT * FROM differ('parts');
RESET work_mem;
SET max_parallel_workers_per_gather = 0;
SELECT * FROM differ('t');
SELECT * FROM differ('parts');
SET enable_partitionwise_aggregate = off;
SELECT * FROM differ('parts');
SET enable_partitionwise_aggregate = on;

-- what stays too small in the end is an error in every plan
INSERT INTO parts VALUES (7000, 1, 0, 0), (7000, -2, 0, 1);
INSERT INTO t VALUES (7000, 1, 0, 0), (7000, -2, 0, 1);
CREATE FUNCTION refusals(source text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE q text; s text;
BEGIN
	FOREACH q IN ARRAY '{"SELECT qsketch_agg(k, w)::text FROM %s","SELECT qtop_agg(k, w, 3)::text FROM %s",
		"SELECT min(s::text) FROM (SELECT qsketch_agg(k, w) AS s FROM %s GROUP BY g) AS x",
		"SELECT qsketch_total(qsketch_agg(k, w))::text FROM %s"}'::text[] LOOP
		BEGIN
			EXECUTE format(q, source) INTO s;
			RETURN NEXT 'none';
		EXCEPTION WHEN OTHERS THEN RETURN NEXT SQLSTATE || ' ' || SQLERRM;
		END;
	END LOOP;
END $$;
SELECT DISTINCT refusals('parts') UNION SELECT refusals('t');
SET max_parallel_workers_per_gather = 2;
SELECT DISTINCT refusals('parts') UNION SELECT refusals('t');
SET qsketch.enable_columnscan = off;
SELECT DISTINCT refusals('parts') UNION SELECT refusals('t');

-- who combines partial states in a way of his own gets values, never removals
CREATE FUNCTION keep(a qsketch, b qsketch) RETURNS qsketch LANGUAGE plpgsql PARALLEL SAFE AS $$
BEGIN
	IF a IS NULL OR b IS NULL THEN RETURN coalesce(a, b); END IF;
	RETURN a::text::qsketch || b::bytea::qsketch;
END $$;
CREATE AGGREGATE kept(int, bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = keep,
	FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
SET max_parallel_workers_per_gather = 0;
SELECT qsketch_total(kept(k, w)) = sum(w) FROM parts WHERE part = 0;
SELECT kept(k, w) FROM parts WHERE k < 5000;

-- removals that a superuser forges are no sketch, and are read with care
CREATE FUNCTION as_sketch(bytea, bytea DEFAULT '') RETURNS qsketch LANGUAGE internal IMMUTABLE PARALLEL SAFE AS 'byteacat';
CREATE FUNCTION last(a qsketch, b bytea) RETURNS qsketch LANGUAGE sql PARALLEL SAFE COST 100000 AS 'SELECT as_sketch($2)';
CREATE AGGREGATE forge(bytea) (SFUNC = last, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, PARALLEL = SAFE);
CREATE FUNCTION varlena(b bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT substr(int4send(swapped), 4, 1) || substr(int4send(swapped), 3, 1) || substr(int4send(swapped), 2, 1) || substr(int4send(swapped), 1, 1) || b
	FROM (SELECT (length(b) + 4) * 4 AS swapped) AS s
$$;
CREATE FUNCTION pad(b bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$ SELECT b || decode(repeat('00', (8 - length(b) % 8) % 8), 'hex') $$;
CREATE FUNCTION state_of(removals bytea, state bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT 'QSR1'::bytea || pad(varlena(removals)) || varlena(state)
$$;
CREATE TABLE value AS SELECT qsketch_agg(i, 5)::bytea AS added, qsketch_agg(i, 2)::bytea AS taken, qsketch_agg(i::text, 2)::bytea AS texts,
	qsketch_agg(i, 2, qsketch_new('warp'))::bytea AS warp, qsketch_agg(i, 6)::bytea AS more FROM generate_series(1, 40) AS i;
CREATE TABLE forged (bytes bytea, part int) PARTITION BY LIST (part);
CREATE TABLE forged_0 PARTITION OF forged FOR VALUES IN (0);
CREATE TABLE forged_1 PARTITION OF forged FOR VALUES IN (1);
CREATE TABLE made AS SELECT f.name, f.bytes FROM value, LATERAL (VALUES
	('good', state_of(taken, added)),
	('more than was added', state_of(more, added)),
	('texts', state_of(texts, added)),
	('another structure', state_of(warp, added)),
	('within removals', state_of(state_of(taken, added), added)),
	('within state', state_of(taken, state_of(taken, added))),
	('no state', 'QSR1'::bytea || pad(varlena(taken))),
	('header alone', 'QSR1'),
	('cut', substr(state_of(taken, added), 1, 200)),
	('too long', 'QSR1'::bytea || decode('fcffff7f', 'hex') || added),
	('none', 'QSR1'::bytea || decode('00000000', 'hex') || added),
	('token', state_of(taken, 'QSL1' || decode(repeat('00', 16), 'hex'))),
	('damaged', state_of(taken, 'QSKT' || substr(added, 9)))) AS f (name, bytes);
INSERT INTO forged SELECT '', i % 2 FROM generate_series(1, 30) AS i;
ANALYZE forged;
CREATE FUNCTION tried(query text) RETURNS TABLE (name text, result text) LANGUAGE plpgsql AS $$
BEGIN
	FOR name IN SELECT m.name FROM made AS m ORDER BY m.name COLLATE "C" LOOP
		UPDATE forged SET bytes = m.bytes FROM made AS m WHERE m.name = tried.name;
		BEGIN
			EXECUTE query INTO result;
		EXCEPTION WHEN OTHERS THEN result := SQLSTATE || ' ' || SQLERRM;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
EXPLAIN (COSTS OFF) SELECT qsketch_total(forge(bytes)) FROM forged;
SELECT * FROM tried('SELECT qsketch_total(forge(bytes)) FROM forged');
SELECT DISTINCT result FROM tried('SELECT qsketch_total(as_sketch(bytes)) FROM forged') WHERE result NOT LIKE 'XX001%';
SELECT DISTINCT result FROM tried('SELECT qsketch_merge_agg(as_sketch(bytes)) FROM forged') WHERE result NOT LIKE 'XX001%';
SELECT DISTINCT result FROM tried('SELECT bytes::qsketch FROM forged') WHERE result NOT LIKE '22%';

SET client_min_messages = warning;
DROP SCHEMA negative_weights CASCADE;

-- A row may leave a window frame before the row comes that makes up for one that stays.
SELECT i, qsketch_total(qsketch_agg(k, w) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)) AS total,
	sum(w) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS exact
FROM (VALUES (1, 1, 2), (2, 1, -1), (3, 1, 1), (4, 1, 3), (5, 1, -2)) AS v(i, k, w);
