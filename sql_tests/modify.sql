--
-- qsketch_add, qsketch_remove and qsketch_fold.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
-- a value is never changed, a function's result is a new one
SELECT qsketch_total(sk) AS before, qsketch_total(qsketch_add(sk, 1)) AS one,
	qsketch_total(qsketch_add(qsketch_add(sk, 1), 2, 5)) AS six, qsketch_total(sk) AS after
FROM (SELECT qsketch_new() AS sk OFFSET 0) AS s;
DO $$
DECLARE a qsketch := qsketch_new(); b qsketch;
BEGIN
	a := qsketch_add(a, 1);
	b := a;
	b := qsketch_add(b, 1);
	b := qsketch_add(b, 2, 3);
	a := qsketch_add(a, 7);
	RAISE NOTICE 'a: % %, b: % %', qsketch_total(a), qsketch_estimate(a, ARRAY[1, 2, 7]),
		qsketch_total(b), qsketch_estimate(b, ARRAY[1, 2, 7]);
	BEGIN
		b := qsketch_remove(b, 1, 3);
	EXCEPTION WHEN data_exception THEN
		RAISE NOTICE '%, b: %', sqlerrm, qsketch_estimate(b, ARRAY[1, 2, 7]);
	END;
END $$;

-- NULLs: no sketch gives none, no key or weight changes nothing
SELECT qsketch_add(NULL, 1) IS NULL AS no_sketch, qsketch_remove(NULL, 1, 1) IS NULL AS none_removed,
	qsketch_add(qsketch_new(), NULL::int) = qsketch_new() AS no_key,
	qsketch_add(qsketch_new(), 1, NULL) = qsketch_new() AS no_weight,
	qsketch_remove(qsketch_new(), NULL::int, 5) = qsketch_new() AS nothing_removed,
	qsketch_fold(NULL, '1kB') IS NULL AS fold, qsketch_fold(qsketch_new(), NULL) IS NULL AS fold_size;

-- weights: zero, negative, extreme
SELECT qsketch_total(qsketch_add(sk, 1, 0)) AS zero, qsketch_total(qsketch_add(sk, 1, -2)) AS negative,
	qsketch_total(qsketch_remove(sk, 1, 2)) AS removed, qsketch_total(qsketch_remove(sk, 1, -2)) AS added,
	qsketch_total(qsketch_remove(qsketch_add(sk, 2, 9223372036854775804), 2, 9223372036854775804)) AS most
FROM qsketch_add(qsketch_new(), 1, 3) AS sk;
SELECT call, pg_temp.error_of('SELECT ' || call) AS error
FROM unnest(ARRAY['qsketch_remove(qsketch_new(), 1)', 'qsketch_add(qsketch_new(), 1, -1)',
	'qsketch_remove(qsketch_add(qsketch_new(), 1, 3), 1, 4)',
	'qsketch_remove(qsketch_add(qsketch_new(), 1, 3), 2, 1)',
	'qsketch_add(qsketch_new(), 1, -9223372036854775808)',
	'qsketch_remove(qsketch_new(), 1, -9223372036854775808)',
	'qsketch_add(qsketch_add(qsketch_new(), 1), 2, 9223372036854775807)',
	'qsketch_remove(qsketch_add(qsketch_new(), 1), 2, -9223372036854775807)']) AS call;

-- removing undoes adding to the last byte, in every structure and form, also
-- of keys that were not there; what was never there cannot be removed
CREATE TEMP TABLE built AS
SELECT t.*, s.most, pg_temp.sketch(format('SELECT qsketch_agg(k, k, %s)
	FROM generate_series(1, %s) AS k', expr, s.most)) AS sk
FROM template AS t, unnest(ARRAY[20, 3000]) AS s(most);
SELECT structure, (qsketch_info(sk)).form, count(*),
	bool_and(qsketch_remove(qsketch_add(sk, k, w), k, w) = sk) AS undone,
	bool_and(qsketch_add(qsketch_remove(sk, 7, 7), 7, 7) = sk) AS redone,
	bool_and(qsketch_estimate(qsketch_remove(sk, 7, 3), 7) BETWEEN qsketch_estimate(sk, 7) - 3
		AND qsketch_estimate(sk, 7) - CASE WHEN structure = 'sf' THEN 0 ELSE 3 END) AS estimates
FROM built, (VALUES (7, 1), (7, 300), (-1, 70000), (-2, 1), (0, 5000000000)) AS v(k, w)
GROUP BY structure, 2 ORDER BY 1, 2;
CREATE FUNCTION pg_temp.never_there(sk qsketch, key int, weight bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE before qsketch := sk::text::qsketch;
BEGIN
	sk := qsketch_remove(sk, key, weight);
	RETURN 'no error';
EXCEPTION WHEN data_exception THEN
	RETURN CASE WHEN sk = before THEN sqlstate || ' unchanged' ELSE 'changed' END;
END $$;
SELECT structure, min(e) AS error, max(e) = min(e) AS same
FROM built, LATERAL (SELECT pg_temp.never_there(sk, -1, qsketch_total(sk)) AS e) AS e
GROUP BY structure ORDER BY structure;

-- all keys in, all keys out: nothing is left
CREATE FUNCTION pg_temp.in_and_out(sk qsketch) RETURNS qsketch LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 300 LOOP
		sk := qsketch_add(sk, i, i * 5);
	END LOOP;
	FOR i IN REVERSE 300 .. 1 LOOP
		sk := qsketch_remove(sk, i, i * 5);
	END LOOP;
	RETURN sk;
END $$;
SELECT structure, count(*), bool_and(qsketch_total(sk) = 0) AS empty,
	bool_and(qsketch_estimate(sk, ARRAY[1, 2, 300, 301]) = '{0,0,0,0}') AS estimates
FROM template, LATERAL (SELECT pg_temp.in_and_out(pg_temp.sketch('SELECT ' || expr)) AS sk) AS s
WHERE size <> '64kB' GROUP BY structure ORDER BY structure;

-- folding gives what building at that size would have given
CREATE TEMP TABLE fold AS
SELECT s.structure, d.depth, k.most,
	pg_temp.sketch(format('SELECT qsketch_agg(k, k, qsketch_new(%L, ''256kB'', %s, z => 3, seed => 5))
		FROM generate_series(1, %s) AS k', s.structure, d.depth, k.most)) AS sk
FROM unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS s(structure),
	unnest(ARRAY[1, 3, 8]) AS d(depth), unnest(ARRAY[20, 100, 3000]) AS k(most);
SELECT structure, count(*), bool_and(qsketch_fold(sk, size) =
		pg_temp.sketch(format('SELECT qsketch_agg(k, k, qsketch_new(%L, %L, %s, z => 3, seed => 5))
			FROM generate_series(1, %s) AS k', structure, size, depth, most))) AS same,
	bool_and(qsketch_fold(qsketch_fold(sk, '64kB'), size) = qsketch_fold(sk, size)) AS in_steps,
	bool_and(qsketch_fold(sk, '256kB') = sk) AS to_itself,
	bool_and(qsketch_total(qsketch_fold(sk, size)) = qsketch_total(sk)) AS total
FROM fold, unnest('{64kB,8kB,1kB}'::text[]) AS size
GROUP BY structure ORDER BY structure;
SELECT structure, bool_and(part_of_fold = fold_of_part) AS parts
FROM (SELECT structure, qsketch_sf_host(qsketch_fold(sk, '4kB')) AS part_of_fold,
		qsketch_fold(qsketch_sf_host(sk), '4kB') AS fold_of_part
	FROM fold WHERE structure = 'sf' OFFSET 0) AS f
GROUP BY structure;
SELECT structure, bool_and(never_below) AS device_never_below
FROM fold, LATERAL (SELECT bool_and(qsketch_estimate(qsketch_fold(qsketch_sf_device(sk), '4kB'), k) >= k)
	AS never_below FROM generate_series(1, 20) AS k) AS e
WHERE structure = 'sf' GROUP BY structure;
SELECT size, pg_temp.error_of(format('SELECT qsketch_fold(qsketch_new(size => ''48kB''), %L)', size)) AS error
FROM unnest('{48kB,24kB,3kB,96kB,16kB,47kB,1kB,512 bytes,1GB,x}'::text[]) AS size;
SELECT pg_temp.error_of('SELECT qsketch_fold(qsketch_new(''thread'', ''64kB''), ''48kB'')') AS thread;
