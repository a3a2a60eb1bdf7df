--
-- Window frames: sketches slide along, adding rows that enter and removing
-- rows that leave.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
CREATE TEMP TABLE w AS
SELECT i, CASE WHEN i % 7 IN (0, 3) OR i BETWEEN 50 AND 65 THEN NULL ELSE i * i % 11 END AS k,
	CASE WHEN i % 13 = 0 THEN NULL ELSE i % 4 END AS weight
FROM generate_series(1, 120) AS i;

-- a first row without a key, and frames in which no key is left
SELECT i, k, qsketch_total(qsketch_agg(k) OVER frame) AS total, count(k) OVER frame AS keys
FROM (VALUES (1, NULL), (2, 5), (3, NULL), (4, NULL), (5, 7), (6, 7)) AS v(i, k)
WINDOW frame AS (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) ORDER BY i;
SELECT i, qsketch_total(qsketch_agg(k) OVER (ORDER BY i)) AS total
FROM (VALUES (1, NULL), (2, 5), (3, NULL)) AS v(i, k) ORDER BY i;

-- Compare each frame with a query of the same rows.  The bytes are the same,
-- except where a frame had so many keys that its sketch turned dense, and now
-- has few: a sketch does not turn explicit again.
CREATE FUNCTION pg_temp.compare(call text, frame text, rows_of_frame text)
RETURNS TABLE (same_null boolean, same_bytes boolean, stayed_dense bigint, never_below boolean)
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('
		SELECT bool_and((sk IS NULL) = (truth IS NULL)),
			bool_and(sk = truth) FILTER (WHERE (qsketch_info(sk)).form = (qsketch_info(truth)).form),
			count(*) FILTER (WHERE (qsketch_info(sk)).form <> (qsketch_info(truth)).form),
			bool_and(qsketch_total(sk) = qsketch_total(truth) AND NOT EXISTS (
				SELECT FROM unnest(qsketch_estimate(sk, keys), qsketch_estimate(truth, keys))
					AS u(estimate, exact)
				WHERE estimate < CASE (qsketch_info(truth)).form WHEN $x$explicit$x$ THEN exact
					ELSE 0 END))
		FROM (SELECT %1$s OVER (ORDER BY i %2$s) AS sk,
				(SELECT %1$s FROM w WHERE w.i %3$s) AS truth
			FROM w AS o) AS frames,
			(SELECT array_agg(DISTINCT k) AS keys FROM w) AS keys',
		call, frame, rows_of_frame);
END $$;

CREATE TEMP TABLE frames (n int, frame text, rows_of_frame text);
INSERT INTO frames VALUES
	(1, 'ROWS BETWEEN 5 PRECEDING AND CURRENT ROW', 'BETWEEN o.i - 5 AND o.i'),
	(2, 'ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING', 'BETWEEN o.i - 2 AND o.i + 3'),
	(3, 'ROWS BETWEEN 4 FOLLOWING AND 9 FOLLOWING', 'BETWEEN o.i + 4 AND o.i + 9'),
	(4, 'ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING', '>= o.i'),
	(5, 'ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW', '<= o.i'),
	(6, 'RANGE BETWEEN 30 PRECEDING AND 20 PRECEDING', 'BETWEEN o.i - 30 AND o.i - 20'),
	(7, 'GROUPS BETWEEN 3 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW',
		'BETWEEN o.i - 3 AND o.i + 1 AND w.i <> o.i');

-- every frame, plain and weighted keys
SELECT n, call, c.*
FROM frames, (VALUES ('qsketch_agg(k)'), ('qsketch_agg(k, weight)'),
	('qsketch_agg(k) FILTER (WHERE k > 4)')) AS calls(call),
	pg_temp.compare(call, frame, rows_of_frame) AS c
ORDER BY n, call COLLATE "C";

-- every template: eleven keys are explicit
SELECT t.structure, count(*), bool_and(same_null) AS same_null, bool_and(same_bytes) AS same_bytes,
	sum(stayed_dense) AS stayed_dense, bool_and(never_below) AS never_below
FROM template AS t, frames, pg_temp.compare(format('qsketch_agg(k, weight, %s)', t.expr),
	frame, rows_of_frame) AS c
WHERE n IN (1, 2, 5)
GROUP BY t.structure ORDER BY 1;

-- merging sketches in frames
CREATE TEMP TABLE days AS SELECT i, qsketch_agg(k) AS sk FROM w GROUP BY i;
SELECT count(*) AS days, count(sk) AS sketches FROM days;
SELECT n, bool_and((merged IS NULL) = (truth IS NULL)) AS same_null,
	bool_and(merged = truth) AS same_bytes, count(merged) AS merged
FROM (SELECT i, qsketch_merge_agg(sk) OVER (ORDER BY i ROWS BETWEEN 5 PRECEDING AND CURRENT ROW)
			AS m1, qsketch_merge_agg(sk) OVER (ORDER BY i ROWS BETWEEN 2 FOLLOWING AND 9 FOLLOWING)
			AS m2, qsketch_merge_agg(sk) OVER (ORDER BY i) AS m3
	FROM days) AS o,
	LATERAL (VALUES
		(1, m1, (SELECT qsketch_agg(k) FROM w WHERE i BETWEEN o.i - 5 AND o.i)),
		(2, m2, (SELECT qsketch_agg(k) FROM w WHERE i BETWEEN o.i + 2 AND o.i + 9)),
		(3, m3, (SELECT qsketch_agg(k) FROM w WHERE i <= o.i))) AS v(n, merged, truth)
GROUP BY n ORDER BY n;

-- more keys: frames turn dense, and have few keys again
TRUNCATE w;
INSERT INTO w SELECT i, CASE WHEN i BETWEEN 90 AND 170 THEN i % 3 ELSE i END, 1 + i % 4
FROM generate_series(1, 260) AS i;
SELECT t.structure, count(*), bool_and(same_null) AS same_null, bool_and(same_bytes) AS same_bytes,
	sum(stayed_dense) > 0 AS some_stayed_dense, bool_and(never_below) AS never_below
FROM template AS t, pg_temp.compare(format('qsketch_agg(k, weight, %s)', t.expr),
	'ROWS BETWEEN 70 PRECEDING AND CURRENT ROW', 'BETWEEN o.i - 70 AND o.i') AS c
GROUP BY t.structure ORDER BY 1;

-- dense sketches, written for each row: keys that come and go, weights that are taken back
-- later, and whole sketches that are merged and subtracted
CREATE TEMP TABLE d AS SELECT i, i * 7919 % 4001 AS k, CASE i % 3 WHEN 0 THEN -1 ELSE 300 END AS weight
FROM generate_series(1, 240) AS i;
UPDATE d SET k = (SELECT k FROM d AS before WHERE before.i = d.i - 1) WHERE weight < 0;
CREATE FUNCTION pg_temp.dense(template text)
RETURNS TABLE (frames bigint, dense boolean, moving boolean, taken_back boolean, merged boolean)
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('
		WITH t AS MATERIALIZED (SELECT %1$s AS t),
			days AS MATERIALIZED (SELECT i / 8 AS day, qsketch_agg(k, t) AS sk FROM d, t GROUP BY 1),
			m AS (SELECT i, qsketch_agg(k, t) OVER (ORDER BY i ROWS 150 PRECEDING) AS moving,
					qsketch_agg(k, weight, t) OVER (ORDER BY i) AS taken_back
				FROM d, t),
			n AS (SELECT day, qsketch_merge_agg(sk) OVER (ORDER BY day ROWS 19 PRECEDING) AS merged
				FROM days)
		SELECT count(*), bool_and((qsketch_info(moving)).form <> $x$explicit$x$) FILTER (WHERE m.i > 150),
			bool_and(m.moving = (SELECT qsketch_agg(k, t) FROM d, t WHERE d.i BETWEEN m.i - 150 AND m.i)),
			bool_and(m.taken_back = (SELECT qsketch_agg(k, weight, t) FROM d, t WHERE d.i <= m.i)),
			(SELECT bool_and(n.merged = (SELECT qsketch_merge_agg(sk) FROM days
				WHERE days.day BETWEEN n.day - 19 AND n.day)) FROM n)
		FROM m WHERE mod(m.i, 8) = 0', template);
END $$;
SELECT structure, sum(frames) AS frames, bool_and(dense) AS dense, bool_and(moving) AS moving,
	bool_and(taken_back) AS taken_back, bool_and(merged) AS merged
FROM template, pg_temp.dense(expr) WHERE size IN ('1kB', '3kB') GROUP BY 1 ORDER BY 1;

-- one row makes all counters wide, and leaves the frame again; by any instructions
CREATE FUNCTION pg_temp.widened(template text, simd text, OUT frames bigint, OUT widened bigint, OUT same boolean)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('qsketch.simd', simd, true);
	EXECUTE format('
		WITH t AS MATERIALIZED (SELECT %1$s AS t),
			x AS MATERIALIZED (SELECT i, i * 7919 %% 4001 AS k, CASE i WHEN 160 THEN 5000000000 ELSE i %% 300 END AS weight
				FROM generate_series(1, 330) AS i),
			m AS (SELECT i, qsketch_agg(k, weight, t) OVER (ORDER BY i ROWS 150 PRECEDING) AS moving FROM x, t)
		SELECT count(*), count(*) FILTER (WHERE (qsketch_info(moving)).counter_bytes = 8),
			bool_and(moving = (SELECT qsketch_agg(k, weight, t) FROM x, t WHERE x.i BETWEEN m.i - 150 AND m.i))
		FROM m WHERE i > 150', template) INTO frames, widened, same;
END $$;
SELECT structure, sum(frames) AS frames, sum(widened) AS widened, bool_and(same) AS same
FROM template, unnest(ARRAY['scalar', 'auto']) AS simd, pg_temp.widened(expr, simd)
WHERE size IN ('1kB', '3kB') GROUP BY 1 ORDER BY 1;

-- sketches of different sizes are an error in a frame; a partition has its own size
CREATE TEMP TABLE sizes AS SELECT i, size, qsketch_agg(i, qsketch_new(size => size)) AS sk
FROM (VALUES (1, '4kB'), (2, '1kB'), (3, '4kB'), (4, '4kB'), (5, '1kB')) AS v(i, size)
GROUP BY i, size;
SELECT i, qsketch_merge_agg(sk) OVER (ORDER BY i ROWS 1 PRECEDING) AS merged FROM sizes;
SELECT i, (qsketch_info(qsketch_merge_agg(sk) OVER (ORDER BY i ROWS CURRENT ROW))).size FROM sizes;
SELECT i, (qsketch_info(merged)).size, qsketch_total(merged) AS total FROM (SELECT i,
	qsketch_merge_agg(sk) OVER (PARTITION BY size ORDER BY i ROWS 1 PRECEDING) AS merged FROM sizes) AS m ORDER BY i;

-- device parts cannot be subtracted: frames are computed anew
SELECT bool_and(qsketch_total(merged) = least(i, 3)) AS total, bool_and(
	qsketch_estimate(merged, i) >= 1) AS estimate
FROM (SELECT i, qsketch_merge_agg(sk) OVER (ORDER BY i ROWS 2 PRECEDING) AS merged
	FROM (SELECT i, qsketch_sf_device(qsketch_agg(i, qsketch_new('sf', '1kB'))) AS sk
		FROM generate_series(1, 20) AS i GROUP BY i) AS s) AS m;

-- a result is a value of its own: changing it does not change the frame
SELECT i, qsketch_total(qsketch_add(qsketch_agg(i) OVER frame, 1, 100)) AS changed,
	qsketch_total(qsketch_agg(i) OVER frame) AS total
FROM generate_series(1, 4) AS i
WINDOW frame AS (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) ORDER BY i;

-- the functions behind the aggregates, misused
-- until 2026-11 PostgreSQL found a function of type internal and refused NULL; now it finds none
DO $$BEGIN PERFORM _qsketch_moving_final(NULL); EXCEPTION WHEN undefined_function OR feature_not_supported THEN RAISE NOTICE 'refused'; END$$;
\set VERBOSITY terse
SELECT _qsketch_agg_inverse(qsketch_new(), 1);
\set VERBOSITY default
SELECT _qsketch_agg_trans(qsketch_new(), 1);
CREATE AGGREGATE pg_temp.only_inverse(qsketch) (STYPE = internal, SFUNC = _qsketch_merge_inverse, FINALFUNC = _qsketch_moving_final);
SELECT pg_temp.only_inverse(qsketch_new()) IS NULL AS nothing FROM generate_series(1, 3);
