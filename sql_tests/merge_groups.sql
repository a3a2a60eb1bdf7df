--
-- Compact sketches of many groups, which wait before they are merged: whatever waits, and
-- whenever it is read, the result is the sketch of all keys.
--
SET work_mem = '4MB';
CREATE TEMP TABLE part (g int, p int, sk qsketch);
-- a sketch takes some 33 kB, so the first 16 wait together, and 20 do not
INSERT INTO part SELECT g, p, (SELECT qsketch_agg(g * 1000000 + (p * 3000 + i) % 50000) FROM generate_series(1, 4000) AS i)
FROM generate_series(1, 20) AS p, generate_series(1, 12) AS g ORDER BY p, g;
CREATE TEMP TABLE counted AS SELECT g, most, qsketch_agg(g * 1000000 + (p * 3000 + i) % 50000) AS sk
FROM generate_series(1, 12) AS g, (VALUES (1), (2), (16), (20)) AS m(most),
	LATERAL generate_series(1, most) AS p, generate_series(1, 4000) AS i
GROUP BY g, most;
ANALYZE part, counted;
SELECT (qsketch_info(sk)).form, count(*) FROM part GROUP BY 1;
SELECT most, count(*), bool_and(s = c.sk) AS same, bool_and(qsketch_total(s) = 4000 * most) AS total
FROM counted AS c JOIN LATERAL
	(SELECT p.g, qsketch_merge_agg(p.sk) AS s FROM part AS p WHERE p.p <= most GROUP BY p.g) AS m USING (g)
GROUP BY most ORDER BY most;

-- all groups at once, hashed, which writes nothing to disk, and sorted
CREATE FUNCTION pg_temp.plan(query text) RETURNS json LANGUAGE plpgsql AS
$$ DECLARE plan json; BEGIN EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan; RETURN plan->0->'Plan'; END $$;
SET enable_sort = off;
SELECT pg_temp.plan('SELECT g, qsketch_total(qsketch_merge_agg(sk)) FROM part GROUP BY g')->>'HashAgg Batches' AS batches;
SELECT count(*), bool_and(s = sk) AS same FROM counted JOIN
	(SELECT g, qsketch_merge_agg(sk) AS s FROM part WHERE p <= 16 GROUP BY g) AS m USING (g) WHERE most = 16;
RESET enable_sort;
SET enable_hashagg = off;
SELECT count(*), bool_and(s = sk) AS same FROM counted JOIN
	(SELECT g, qsketch_merge_agg(sk) AS s FROM part WHERE p <= 16 GROUP BY g) AS m USING (g) WHERE most = 16;
RESET enable_hashagg;

-- read by several functions, kept, changed, and merged again
SELECT bool_and(qsketch_estimate(s, g * 1000000 + 3001) = qsketch_estimate(sk, g * 1000000 + 3001)) AS estimate,
	bool_and(qsketch_error(s) = qsketch_error(sk)) AS error, bool_and(qsketch_add(s, 1) = qsketch_add(sk, 1)) AS added,
	bool_and(qsketch_total(s || sk) = 2 * qsketch_total(sk)) AS twice, bool_and(s - sk = sk - sk) AS nothing
FROM counted JOIN (SELECT g, qsketch_merge_agg(sk) AS s FROM part WHERE p <= 2 GROUP BY g OFFSET 0) AS m USING (g)
WHERE most = 2;
SELECT qsketch_merge_agg(s) = (SELECT qsketch_merge_agg(sk) FROM counted WHERE most = 2) AS same
FROM (SELECT qsketch_merge_agg(sk) AS s FROM part WHERE p <= 2 GROUP BY g) AS m;
SELECT table_name, (SELECT sum(bytes) > 0 FROM qsketch_location(s) AS l) AS located
FROM (SELECT 'part' AS table_name, qsketch_merge_agg(sk) AS s FROM part WHERE g = 1 AND p <= 2) AS m;

-- a window goes on with its state after each row
SELECT count(*), bool_and(s = (SELECT qsketch_merge_agg(sk) FROM part AS q WHERE q.g = 1 AND q.p <= w.p)) AS same
FROM (SELECT p, qsketch_merge_agg(sk) OVER (ORDER BY p) AS s FROM part WHERE g = 1) AS w;
SELECT count(*), bool_and(s = (SELECT qsketch_merge_agg(sk) FROM part AS q WHERE q.g = 1 AND q.p BETWEEN w.p - 2 AND w.p)) AS same
FROM (SELECT p, qsketch_merge_agg(sk) OVER (ORDER BY p ROWS 2 PRECEDING) AS s FROM part WHERE g = 1) AS w;

-- among sketches of other forms, empty ones and NULL; other sizes are an error, early and late
CREATE TEMP TABLE other AS SELECT o, sk FROM (VALUES
	(1, NULL), (2, qsketch_new()), (3, qsketch_add(qsketch_new(), 5, 70)),
	(4, (SELECT qsketch_agg(i) FROM generate_series(1, 100000) AS i))) AS v(o, sk);
SELECT o, bool_and(first = last) AS same, count(*)
FROM other, LATERAL (SELECT qsketch_merge_agg(s ORDER BY n) AS first, qsketch_merge_agg(s ORDER BY n DESC) AS last
	FROM (SELECT 0 AS n, other.sk AS s UNION ALL SELECT p, sk FROM part WHERE g = 3) AS u) AS m
GROUP BY o ORDER BY o;
SELECT qsketch_merge_agg(s ORDER BY n)
FROM (SELECT 0 AS n, qsketch_add(qsketch_new(size => '512kB'), 1) AS s UNION ALL SELECT p, sk FROM part WHERE g = 3) AS u;
SELECT qsketch_merge_agg(s ORDER BY n DESC)
FROM (SELECT 0 AS n, qsketch_add(qsketch_new(size => '512kB'), 1) AS s UNION ALL SELECT p, sk FROM part WHERE g = 3) AS u;
SELECT bool_and(folded = smaller) AS folded
FROM (SELECT qsketch_merge_agg(qsketch_fold(sk, '512kB')) AS folded, qsketch_fold(qsketch_merge_agg(sk), '512kB') AS smaller FROM part GROUP BY g) AS m;

-- every structure, with weights
SELECT structure, bool_and(merged = built) AS same
FROM unnest(ARRAY['thread', 'warp', 'half_warp', 'sub_warp', 'multilevel', 'sf']) AS structure,
	LATERAL (SELECT qsketch_merge_agg(s) AS merged FROM (SELECT qsketch_agg(k, (1 + k % 700)::bigint, qsketch_new(structure)) AS s
		FROM generate_series(1, 6000) AS k GROUP BY k % 3) AS m) AS m,
	LATERAL (SELECT qsketch_agg(k, (1 + k % 700)::bigint, qsketch_new(structure)) AS built FROM generate_series(1, 6000) AS k) AS b
GROUP BY structure ORDER BY structure;

-- errors come, even if they come late: keys of other types, totals that are too large
SELECT qsketch_merge_agg(sk) FROM (SELECT sk FROM part WHERE p = 1 AND g = 1
	UNION ALL SELECT qsketch_agg(i::text) FROM generate_series(1, 4000) AS i) AS u;
SELECT qsketch_total(qsketch_merge_agg(s))
FROM (SELECT qsketch_agg(i, 1000000000000000) AS s FROM generate_series(1, 4000) AS i, generate_series(1, 3) AS n GROUP BY n) AS m;
