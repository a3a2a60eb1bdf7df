--
-- Estimates: never below the truth, exact in explicit form; batches; stored
-- sketches; error, bounds and unbiased estimates.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
-- keys of very different frequency, and keys that are not there
CREATE TEMP TABLE truth AS
SELECT k, CASE WHEN k > 4000 THEN 0 ELSE 1 + 100000 / (k * k) + k % 3 END::bigint AS n
FROM generate_series(1, 5000) AS k;
CREATE TEMP TABLE built AS
SELECT t.*, s.name, pg_temp.sketch(format('SELECT qsketch_agg(k, n, %s) FROM truth WHERE k <= %s',
	expr, s.most)) AS sk
FROM template AS t, (VALUES ('few', 30), ('many', 4000)) AS s(name, most);

SELECT structure, (qsketch_info(sk)).form, count(*), bool_and(qsketch_total(sk) = total) AS total,
	bool_and(below = 0) AS never_below, sum(wrong) = 0 AS exact
FROM built, LATERAL (SELECT sum(n) AS total, count(*) FILTER (WHERE e < n) AS below,
		count(*) FILTER (WHERE e <> n) AS wrong
	FROM (SELECT k, CASE WHEN name = 'few' AND k > 30 THEN 0 ELSE n END AS n,
		qsketch_estimate(sk, k) AS e FROM truth) AS t) AS t
GROUP BY structure, 2 ORDER BY 1, 2 DESC;

-- a batch says what single estimates say, in the shape of the array
SELECT bool_and(qsketch_estimate(sk, keys) = singles) AS batch
FROM built, LATERAL (SELECT array_agg(k ORDER BY k) AS keys,
	array_agg(qsketch_estimate(sk, k) ORDER BY k) AS singles FROM truth) AS t;
CREATE TEMP TABLE one AS SELECT qsketch_agg(k, k) AS sk FROM generate_series(1, 9) AS k;
SELECT qsketch_estimate(sk, ARRAY[3, NULL, 1, 100]) AS nulls, qsketch_estimate(sk, ARRAY[]::int[]) AS none,
	qsketch_estimate(sk, ARRAY[[1, 2], [NULL, 4]]) AS matrix,
	qsketch_estimate(sk, '[0:2]={5,6,7}'::int[]) AS bounds,
	qsketch_estimate(sk, ARRAY[NULL, NULL]::int[]) AS all_null,
	qsketch_estimate(sk, ARRAY[3]::smallint[]) AS small, qsketch_estimate(sk, NULL::int[]) AS null
FROM one;
SELECT array_length(qsketch_estimate(sk, array_agg(k)), 1) AS large FROM one, generate_series(1, 10000) AS k
GROUP BY sk;
SELECT qsketch_estimate(sk, ARRAY['[1,2)', NULL, '[0,9)']::int4range[]) AS ranges,
	qsketch_estimate_key(sk, int4range(1, 2)) AS range
FROM (SELECT qsketch_agg(int4range(i % 2, 2)) AS sk FROM generate_series(1, 5) AS i) AS s;

-- an array is a batch, or with qsketch_estimate_key a key
CREATE TEMP TABLE arrays AS SELECT qsketch_agg(ARRAY[i, 2]) AS sk FROM generate_series(1, 2) AS i;
SELECT qsketch_estimate_key(sk, ARRAY[1, 2]) AS found, qsketch_estimate_key(sk, ARRAY[2, 1]) AS not_found
FROM arrays;
SELECT qsketch_estimate(sk, ARRAY[1, 2]) FROM arrays;
SELECT qsketch_estimate_key(sk, '{1,2}') FROM arrays;
SELECT qsketch_estimate_key(sk, '{1,2}'::integer[]) FROM arrays;

-- 0.1 is another key as real and as double precision, so the hint takes neither for meant
CREATE TEMP TABLE reals AS SELECT qsketch_agg(0.1::real) AS sk;
SELECT qsketch_estimate(sk, 0.1::real) AS real, qsketch_estimate(sk, 0.1::double precision) AS double FROM reals;
SELECT qsketch_estimate(sk, 0.1) FROM reals;

-- NULL gives NULL
SELECT qsketch_estimate(NULL, 1) AS sketch, qsketch_estimate(sk, NULL::int) AS key,
	qsketch_estimate_key(sk, NULL::int) AS any, qsketch_estimate(sk, NULL::int[]) AS batch,
	qsketch_error(NULL) AS error, qsketch_bounds(sk, NULL::int) AS bounds,
	qsketch_estimate_unbiased(sk, NULL::int) AS unbiased
FROM one;

-- stored sketches, out of line and inline, alone and in joins: what a stored
-- sketch says is what the same sketch says in memory
CREATE TABLE stored AS SELECT id, name, structure, sk FROM built;
SELECT count(*) > 0 AS out_of_line FROM stored
WHERE pg_column_size(sk) > 2000;
SELECT structure, count(*), bool_and(qsketch_estimate(s.sk, k) = qsketch_estimate(b.sk::text::qsketch, k))
	AS same
FROM stored AS s JOIN built AS b USING (id, name, structure), generate_series(1, 100) AS k
GROUP BY structure ORDER BY structure;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT bool_and(e = qsketch_estimate(b.sk, k)) AS same, count(*)
FROM (SELECT id, name, k, qsketch_estimate(sk, k) AS e FROM (SELECT * FROM stored ORDER BY id) AS s,
		generate_series(1, 3) AS k) AS e JOIN built AS b USING (id, name);
SELECT bool_and(e = qsketch_estimate(b.sk, k)) AS same, count(*)
FROM (SELECT id, name, k, qsketch_estimate(sk, k) AS e
	FROM generate_series(1, 40) AS k, stored OFFSET 0) AS e JOIN built AS b USING (id, name);
SELECT bool_and(e = qsketch_estimate(b.sk, keys)) AS same, count(*)
FROM (SELECT id, name, keys, qsketch_estimate(sk, keys) AS e
	FROM (SELECT array_agg(i) AS keys FROM generate_series(1, 200) AS i GROUP BY i % 5) AS k,
		stored OFFSET 0) AS e JOIN built AS b USING (id, name);
ALTER TABLE stored ALTER sk SET STORAGE EXTENDED;
UPDATE stored SET sk = sk::text::qsketch;
SELECT bool_and(qsketch_estimate(s.sk, k) = qsketch_estimate(b.sk, k)) AS compressed, count(*)
FROM stored AS s JOIN built AS b USING (id, name), generate_series(1, 20) AS k;
ALTER TABLE stored ALTER sk SET STORAGE MAIN;
UPDATE stored SET sk = sk::text::qsketch;
SELECT bool_and(qsketch_estimate(s.sk, k) = qsketch_estimate(b.sk, k)) AS main, count(*)
FROM stored AS s JOIN built AS b USING (id, name), generate_series(1, 20) AS k;

-- a stored sketch that changes in a loop, and one that is deleted, is not
-- mistaken for what it was
CREATE FUNCTION pg_temp.changing() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE same boolean := true; e bigint;
BEGIN
	FOR i IN 1 .. 20 LOOP
		UPDATE stored SET sk = qsketch_add(sk, -i, i) WHERE id = 24 AND name = 'many';
		SELECT qsketch_estimate(sk, -i) INTO e FROM stored WHERE id = 24 AND name = 'many';
		same := same AND e >= i;
		SELECT qsketch_estimate(sk, -i) INTO e FROM stored WHERE id = 24 AND name = 'few';
		same := same AND e = 0;
		SELECT qsketch_estimate(sk, 1) INTO e FROM stored WHERE id = 24 AND name = 'many';
		same := same AND e >= 100001;
	END LOOP;
	DELETE FROM stored;
	INSERT INTO stored SELECT id, name, structure, qsketch_add(sk, 1) FROM built;
	SELECT qsketch_estimate(sk, 1) INTO e FROM stored WHERE id = 24 AND name = 'few';
	RETURN same AND e = 100002 + 1;
END $$;
SELECT pg_temp.changing();
RESET enable_hashjoin;
RESET enable_mergejoin;

-- the error: none in explicit form, growing with the confidence, never beyond
-- the largest, and right about absent keys
SELECT structure, name, bool_and(qsketch_error(sk) BETWEEN qsketch_error(sk, 0.5)
		AND qsketch_error(sk, confidence => 0.999)) AS grows,
	bool_and(qsketch_error(sk, 1) <= qsketch_total(sk)) AS bounded,
	CASE name WHEN 'few' THEN bool_and(qsketch_error(sk, 1) = 0) ELSE bool_and(qsketch_error(sk, 1) > 0) END
		AS expected,
	bool_and(absent_within >= 0.85) AS about_right
FROM built, LATERAL (SELECT avg((qsketch_estimate(sk, -k) <= qsketch_error(sk, 0.95))::int)
	AS absent_within FROM generate_series(1, 1000) AS k) AS a
GROUP BY structure, name ORDER BY 1, 2;
SELECT pg_temp.error_of(format('SELECT qsketch_error(qsketch_new(), %s)', c)),
	pg_temp.error_of(format('SELECT qsketch_bounds(qsketch_new(), 1, %s)', c))
FROM unnest('{-0.1,1.1,''NaN''::float8,''Infinity''::float8}'::text[]) AS c;

-- for many keys at once: never smaller than for one, growing with their number,
-- never beyond the largest
SELECT structure, name, bool_and(qsketch_error(sk, 0.9, 1) = qsketch_error(sk, 0.9)) AS one,
	bool_and(qsketch_error(sk, 0.9, 1) <= qsketch_error(sk, 0.9, 2)
		AND qsketch_error(sk, 0.9, 2) <= qsketch_error(sk, 0.9, 1000)
		AND qsketch_error(sk, 0.9, 1000) <= qsketch_error(sk, keys => 9223372036854775807)) AS grows,
	bool_and(qsketch_error(sk, keys => 9223372036854775807) <= qsketch_error(sk, 1)) AS bounded,
	bool_and(qsketch_error(sk, keys => NULL) IS NULL) AS null
FROM built GROUP BY structure, name ORDER BY 1, 2;
SELECT pg_temp.error_of(format('SELECT qsketch_error(qsketch_new(), keys => %s)', n)),
	pg_temp.error_of(format('SELECT qsketch_bounds(qsketch_new(), 1, keys => %s)', n))
FROM unnest('{0,-1,-9223372036854775808}'::bigint[]) AS n;

-- what is kept from row to row is what was asked for
SELECT bool_and(qsketch_error(sk, c, n) = CASE
		WHEN c = 0.5 AND n = 1 THEN qsketch_error(sk, 0.5) WHEN c = 0.5 THEN qsketch_error(sk, 0.5, 100)
		WHEN n = 1 THEN qsketch_error(sk, 0.99) ELSE qsketch_error(sk, 0.99, 100) END) AS same,
	count(DISTINCT qsketch_error(sk, c, n)) > 4 AS different
FROM generate_series(1, 3), (SELECT * FROM built WHERE name = 'many') AS b,
	(VALUES (0.5, 1), (0.5, 100), (0.99, 100), (0.99, 1)) AS v (c, n);

-- a sketch that is not stored is measured anew when it has changed, though its
-- total is the same, and only then: every time would take many minutes
CREATE FUNCTION pg_temp.measured_anew() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	sk qsketch := qsketch_agg(k, k % 50 * 20, qsketch_new('sub_warp', '1kB')) FROM generate_series(0, 500) AS k;
	error bigint;
	same boolean := true;
	errors bigint[];
BEGIN
	FOR i IN 1..60 LOOP
		sk := qsketch_add(sk, i, 9000);
		IF i > 1 THEN
			sk := qsketch_remove(sk, i - 1, 9000);
		END IF;
		error := qsketch_error(sk, 1);
		same := same AND error = qsketch_error(sk::bytea::qsketch, 1);
		errors := errors || error;
	END LOOP;
	RETURN same AND (SELECT count(DISTINCT e) > 10 FROM unnest(errors) AS e);
END $$;
SELECT pg_temp.measured_anew();
SET statement_timeout = '600s';
SELECT count(*) AS probes, count(DISTINCT error) AS errors
FROM (SELECT qsketch_error(sk, keys => 9) AS error
	FROM (SELECT qsketch_agg(k, n, qsketch_new('multilevel', '64MB')) AS sk FROM truth) AS s,
		generate_series(1, 2000) OFFSET 0) AS e;
RESET statement_timeout;

-- bounds: the upper one always holds, and is the estimate; the lower one is
-- what is left without the error
SELECT structure, name, bool_and(upper) AS upper, bool_and(estimate) AS estimate,
	bool_and(ordered) AS ordered, bool_and(lower) AS lower, bool_and(exact) AS exact
FROM built, LATERAL (SELECT bool_and(b.upper >= t.n) AS upper, bool_and(b.estimate = b.upper) AS estimate,
		bool_and(b.lower BETWEEN 0 AND b.estimate) AS ordered,
		avg((b.lower <= t.n)::int) >= 0.9 AS lower, bool_and(b.lower = t.n) AS exact
	FROM (SELECT k, CASE WHEN name = 'few' AND k > 30 THEN 0 ELSE n END AS n FROM truth
			WHERE k % 7 = 0) AS t, qsketch_bounds(sk, k) AS b OFFSET 0) AS b
GROUP BY structure, name ORDER BY 1, 2;

-- the lower one for all keys at once; the error is subtracted, and no more
SELECT structure, name, bool_and(held) AS held, bool_and(subtracted) AS subtracted, bool_and(looser) AS looser
FROM built, LATERAL (SELECT bool_and(b.lower <= t.n) AS held, bool_and(b.lower <= one.lower) AS looser,
		bool_and(b.lower = greatest(b.estimate - qsketch_error(sk, keys => 5000), 0)) AS subtracted
	FROM (SELECT k, CASE WHEN name = 'few' AND k > 30 THEN 0 ELSE n END AS n FROM truth) AS t,
		qsketch_bounds(sk, k, keys => 5000) AS b, qsketch_bounds(sk, k) AS one OFFSET 0) AS b
GROUP BY structure, name ORDER BY 1, 2;

-- unbiased: exact in explicit form, clipped to 0 and the estimate if asked
SELECT structure, name, bool_and(clipped) AS clipped, bool_and(same) AS same, bool_and(exact) AS exact,
	CASE name WHEN 'many' THEN bool_and(pays) END AS pays
FROM built, LATERAL (SELECT bool_and(clipped BETWEEN 0 AND estimate) AS clipped,
		bool_and(clipped = least(greatest(unbiased, 0), estimate)) AS same, bool_and(unbiased = n) AS exact,
		avg(abs(unbiased - n)) <= avg(estimate - n) AS pays
	FROM (SELECT n, qsketch_estimate(sk, k) AS estimate, qsketch_estimate_unbiased(sk, k) AS unbiased,
			qsketch_estimate_unbiased(sk, k, clip => true) AS clipped
		FROM (SELECT k, CASE WHEN name = 'few' AND k > 30 THEN 0 ELSE n END AS n FROM truth
			WHERE k % 7 = 0) AS t) AS e OFFSET 0) AS e
WHERE size = '1kB' GROUP BY structure, name ORDER BY 1, 2;

DROP TABLE stored;
