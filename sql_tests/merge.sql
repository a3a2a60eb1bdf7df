--
-- Merging and subtracting: qsketch_merge, qsketch_subtract, operators || and -,
-- qsketch_merge_agg, and the parts of sf sketches.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
-- three sketches of each template, in every combination of forms
CREATE TEMP TABLE forms (form text, fill text);
INSERT INTO forms VALUES ('few', 'generate_series(1, 20) AS k, LATERAL (SELECT 1) AS w(w)'),
	('many', 'generate_series(11, 3000) AS k, LATERAL (SELECT k % 300) AS w(w)'),
	('heavy', 'generate_series(11, 3000) AS k, LATERAL (SELECT 2000000 + k % 300) AS w(w)');
CREATE TEMP TABLE built AS
SELECT t.id, t.structure, t.expr, f.form,
	pg_temp.sketch(format('SELECT qsketch_agg(k, w, %s) FROM %s', t.expr, f.fill)) AS sk
FROM template AS t, forms AS f;
SELECT form, string_agg(DISTINCT (qsketch_info(sk)).form || coalesce((qsketch_info(sk)).counter_bytes, 0), ' ')
FROM built GROUP BY form ORDER BY form;

SELECT structure, count(*) AS pairs, bool_and(a.sk || b.sk = b.sk || a.sk) AS commutes,
	bool_and(qsketch_merge(a.sk, b.sk) = a.sk || b.sk) AS operator,
	bool_and(qsketch_total(a.sk || b.sk) = qsketch_total(a.sk) + qsketch_total(b.sk)) AS total,
	bool_and((a.sk || b.sk) - b.sk = a.sk
		OR (qsketch_info(a.sk)).form = 'explicit' AND (qsketch_info(a.sk || b.sk)).form <> 'explicit') AS undone,
	bool_and(qsketch_subtract(a.sk || b.sk, b.sk) = (a.sk || b.sk) - b.sk) AS minus,
	bool_and(qsketch_total((a.sk || b.sk) - b.sk) = qsketch_total(a.sk)) AS total_after,
	bool_and(qsketch_estimate((a.sk || b.sk) - b.sk, keys) >= qsketch_estimate(a.sk, keys)) AS estimates
FROM built AS a JOIN built AS b USING (id, structure),
	(SELECT array_agg(k) AS keys FROM generate_series(1, 50) AS k) AS k
GROUP BY structure ORDER BY structure;
SELECT structure, count(*) AS triples, bool_and((a.sk || b.sk) || c.sk = a.sk || (b.sk || c.sk)) AS associates
FROM built AS a JOIN built AS b USING (id, structure) JOIN built AS c USING (id, structure)
GROUP BY structure ORDER BY structure;
SELECT bool_and(merged = pg_temp.sketch(format('SELECT qsketch_agg(k, w, %s) FROM (SELECT k, w FROM %s
		UNION ALL SELECT k, w FROM %s UNION ALL SELECT k, w FROM %s) AS u', expr, few, many, heavy))) AS same_as_built
FROM (SELECT expr, qsketch_merge_agg(sk) AS merged FROM built GROUP BY expr) AS m,
	(SELECT min(fill) FILTER (WHERE form = 'few') AS few, min(fill) FILTER (WHERE form = 'many') AS many,
		min(fill) FILTER (WHERE form = 'heavy') AS heavy FROM forms) AS f;

-- with itself, and with nothing
SELECT bool_and(sk || sk = pg_temp.sketch(format('SELECT qsketch_agg(k, 2 * w, %s) FROM %s', expr, fill)))
		AS twice,
	bool_and(sk || pg_temp.sketch('SELECT ' || expr) = sk) AS with_nothing,
	bool_and(pg_temp.sketch('SELECT ' || expr) || sk = sk) AS into_nothing,
	bool_and(sk - pg_temp.sketch('SELECT ' || expr) = sk) AS without_nothing,
	bool_and(qsketch_total(sk - sk) = 0) AS nothing_left
FROM built JOIN forms USING (form);
SELECT qsketch_merge_agg(s) IS NULL AS agg FROM (VALUES (NULL::qsketch)) AS v(s);

-- NULL stands for no keys, for values of all types: by operators and functions
CREATE FUNCTION pg_temp.of_null(type text, value text, OUT kept boolean, OUT of_nulls boolean, OUT minus boolean, OUT of_minus boolean)
LANGUAGE plpgsql AS $$ BEGIN
	EXECUTE format('SELECT bool_and(v = v || NULL AND v = NULL || v AND v = %1$s_merge(NULL, v) AND v = %1$s_merge(v, NULL)), bool_and(NULL::%1$s || NULL IS NULL)
		FROM (SELECT (SELECT %2$s) AS v) AS v', type, value) INTO kept, of_nulls;
	IF type IN ('qsketch', 'qtop') THEN
		EXECUTE format('SELECT bool_and(v = v - NULL AND v = %1$s_subtract(v, NULL)), bool_and(NULL - v IS NULL AND %1$s_subtract(NULL, v) IS NULL)
			FROM (SELECT (SELECT %2$s) AS v) AS v', type, value) INTO minus, of_minus;
	END IF;
END $$;
SELECT v.type, n.* FROM (VALUES ('qsketch', 'qsketch_agg(i) FROM generate_series(1, 5000) AS i'), ('qtop', 'qtop_agg(i % 7, 3) FROM generate_series(1, 100) AS i'),
	('qfilter', 'qfilter_agg(i, qfilter_new_bloom(100)) FROM generate_series(1, 100) AS i'), ('qsets', 'qsets_agg(i % 3, i) FROM generate_series(1, 100) AS i')) AS v(type, value),
	LATERAL pg_temp.of_null(type, value) AS n ORDER BY 1;
SELECT f = f | NULL AND f = NULL | f AS kept FROM qfilter_new_bloom(10) AS f;

-- so a day keeps what it has when nothing came late, and when a user had no rows in it
CREATE TEMP TABLE daily (day int, top qtop);
INSERT INTO daily SELECT d, qtop_agg(i % 10, 5) FROM generate_series(1, 2) AS d, generate_series(1, 100) AS i GROUP BY d;
UPDATE daily SET top = top - (SELECT qtop_agg(k, 5) FROM (VALUES (1, 3)) AS gone(day, k) WHERE gone.day = daily.day);
UPDATE daily SET top = top || (SELECT qtop_agg(k, 5) FROM (VALUES (2, 77)) AS late(day, k) WHERE late.day = daily.day);
SELECT day, qtop_total(top) FROM daily ORDER BY day;

-- in a variable of PL/pgSQL, that is changed in place
DO $$ DECLARE s qsketch; one qsketch := qsketch_add(qsketch_new(), 1); BEGIN
	s := s || one; s := s || one; s := s || NULL; s := s - NULL; one := one || s;
	RAISE NOTICE '% %', qsketch_total(s), qsketch_total(one);
END $$;
SELECT qsketch_total(qsketch_merge_agg(s)) AS total, qsketch_merge_agg(s) FILTER (WHERE false) IS NULL AS none
FROM (VALUES (NULL::qsketch), (qsketch_add(qsketch_new(), 1)), (NULL), (qsketch_new())) AS v(s);

-- so often that what merges leave for later comes to more than they can leave, alone and
-- between other sketches; a window reads after each merge
CREATE TEMP TABLE often AS
SELECT structure, t, qsketch_agg(k, 1 + k % 40, t) AS one, qsketch_agg(k, 300 * (1 + k % 40), t) AS all_300,
	qsketch_agg(k, 5000 + k, t) AS heavy
FROM unnest(ARRAY['multilevel', 'sub_warp']) AS structure, qsketch_new(structure, '1kB') AS t,
	generate_series(1, 300) AS k GROUP BY structure, t;
SELECT structure, (SELECT qsketch_merge_agg(CASE WHEN i > 0 THEN one END) FROM generate_series(1, 300) AS i) = all_300 AS alone,
	(SELECT qsketch_merge_agg(CASE WHEN i % 100 = 2 THEN heavy ELSE one END) FROM generate_series(0, 303) AS i)
		= qsketch_merge(all_300, heavy || heavy || heavy || heavy) AS with_heavy
FROM often ORDER BY structure;
CREATE TEMP TABLE steps AS
SELECT structure, i, CASE i % 5 WHEN 3 THEN heavy WHEN 4 THEN all_300 ELSE one END AS s FROM often, generate_series(1, 30) AS i;
SELECT structure, bool_and(running = (SELECT qsketch_merge_agg(s) FROM steps AS r WHERE r.structure = w.structure AND r.i <= w.i)) AS running,
	bool_and(moving = (SELECT qsketch_merge_agg(s) FROM steps AS r WHERE r.structure = w.structure AND r.i BETWEEN w.i - 3 AND w.i))
		AS moving
FROM (SELECT structure, i, qsketch_merge_agg(s) OVER (PARTITION BY structure ORDER BY i) AS running,
		qsketch_merge_agg(s) OVER (PARTITION BY structure ORDER BY i ROWS 3 PRECEDING) AS moving FROM steps) AS w
GROUP BY structure ORDER BY structure;

-- different sizes: an error from either side, whatever the forms, also of empty sketches, and
-- the error says what makes them fit
CREATE TEMP TABLE sizes AS SELECT size, rows, qsketch_agg(k, qsketch_new(size => size)) FILTER (WHERE k > 0) AS sk
FROM unnest('{64kB,2kB}'::text[]) AS size, unnest('{1,20,300,30000}'::int[]) AS rows, generate_series(1, rows) AS k
GROUP BY size, rows UNION ALL SELECT size, 0, qsketch_new(size => size) FROM unnest('{64kB,2kB}'::text[]) AS size;
SELECT statement, error, count(*) FROM sizes AS a JOIN sizes AS b ON a.size <> b.size,
	unnest('{a.sk || b.sk,a.sk - b.sk,"qsketch_merge(a.sk, b.sk)","qsketch_subtract(a.sk, b.sk)",
		qsketch_merge_agg(u.sk),"qsketch_merge_agg(u.sk ORDER BY u.rows)","qsketch_merge_agg(u.sk) OVER (ORDER BY u.rows ROWS 1 PRECEDING)"}'::text[]) AS statement,
	pg_temp.error_of(format('SELECT %s FROM sizes AS a, sizes AS b%s WHERE (a.size, a.rows, b.size, b.rows) = (%L, %s, %L, %s)',
		statement, CASE WHEN statement LIKE '%u.%' THEN ', LATERAL (VALUES (a.sk, 1), (b.sk, 2)) AS u(sk, rows)' END,
		a.size, a.rows, b.size, b.rows)) AS error
GROUP BY 1, 2 ORDER BY statement COLLATE "C", error COLLATE "C";
SELECT a.sk || b.sk FROM sizes AS a, sizes AS b WHERE a.size = '64kB' AND b.size = '2kB' AND a.rows = 20 AND b.rows = 0;
SELECT qsketch_total(qsketch_fold(a.sk, '2kB') || b.sk) AS as_hinted
FROM sizes AS a, sizes AS b WHERE a.size = '64kB' AND b.size = '2kB' AND a.rows = 20 AND b.rows = 0;
-- and of all types in a parallel plan, whichever process finds it
CREATE TABLE of_two_sizes WITH (parallel_workers = 3) AS SELECT i % 7 AS g, qsketch_agg(i, qsketch_new(size => size)) AS sk,
	qtop_agg(i, n, qsketch_new(size => size)) AS top, qfilter_agg(i, qfilter_new_bloom(1000 * n)) AS f
FROM generate_series(1, 400) AS i, (VALUES ('64kB', 3), ('2kB', 4)) AS v (size, n) WHERE n = 3 OR i > 390 GROUP BY i, size, n;
ANALYZE of_two_sizes;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT qsketch_merge_agg(sk) FROM of_two_sizes;
\set VERBOSITY sqlstate
SELECT qsketch_merge_agg(sk) FROM of_two_sizes;
SELECT qtop_merge_agg(top) FROM of_two_sizes;
SELECT qfilter_merge_agg(f) FROM of_two_sizes;
SELECT g, qsketch_merge_agg(sk), qtop_merge_agg(top), qfilter_merge_agg(f) FROM of_two_sizes GROUP BY g;
\set VERBOSITY default
DROP TABLE of_two_sizes;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
-- a table keeps to one template by a check or a domain
CREATE DOMAIN pg_temp.of_64kb AS qsketch CHECK ((qsketch_info(VALUE)).structure = 'multilevel' AND (qsketch_info(VALUE)).size = 64 * 1024);
CREATE TEMP TABLE kept (d int PRIMARY KEY, sk qsketch CHECK ((qsketch_info(sk)).size = 64 * 1024), of_domain pg_temp.of_64kb);
SELECT size, pg_temp.error_of(format('INSERT INTO kept SELECT 1, sk, NULL FROM sizes WHERE size = %L AND rows = 300
		ON CONFLICT (d) DO UPDATE SET sk = kept.sk || EXCLUDED.sk', size)) AS checked,
	pg_temp.error_of(format('INSERT INTO kept SELECT 2, NULL, sk FROM sizes WHERE size = %L AND rows = 300
		ON CONFLICT (d) DO UPDATE SET of_domain = kept.of_domain || EXCLUDED.of_domain', size)) AS of_domain
FROM unnest('{64kB,2kB,64kB}'::text[]) AS size;
SELECT d, qsketch_total(sk) AS checked, qsketch_total(of_domain) AS of_domain, qsketch_estimate(of_domain, 7) AS estimate FROM kept ORDER BY d;
SELECT structure, count(*), bool_and(qsketch_fold(a, '2kB') || b = c) AS large_small, bool_and(b || qsketch_fold(a, '2kB') = c) AS small_large,
	bool_and(c - qsketch_fold(a, '2kB') = b OR (qsketch_info(c - qsketch_fold(a, '2kB'))).form <> (qsketch_info(b)).form) AS subtracted,
	bool_and(qsketch_total(c - b) = qsketch_total(a)) AS subtracted_large
FROM unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS structure,
	(VALUES (20, 20), (20, 3000), (3000, 20), (3000, 3000)) AS n(m, n),
	LATERAL (SELECT pg_temp.sketch(format('SELECT qsketch_agg(k, qsketch_new(%L, ''64kB'', z => 3))
			FROM generate_series(1, %s) AS k', structure, m)) AS a,
		pg_temp.sketch(format('SELECT qsketch_agg(-k, k, qsketch_new(%L, ''2kB'', z => 3))
			FROM generate_series(1, %s) AS k', structure, n)) AS b,
		pg_temp.sketch(format('SELECT qsketch_agg(k, w, qsketch_new(%L, ''2kB'', z => 3))
			FROM (SELECT k, 1 FROM generate_series(1, %s) AS k
				UNION ALL SELECT -k, k FROM generate_series(1, %s) AS k) AS u(k, w)', structure, m, n)) AS c) AS s
GROUP BY structure ORDER BY structure;

-- what does not fit together
SELECT a, b, pg_temp.error_of(format('SELECT qsketch_new(%s) || qsketch_new(%s)', a, b)) AS merge,
	pg_temp.error_of(format('SELECT qsketch_new(%s) - qsketch_new(%s)', a, b)) =
		pg_temp.error_of(format('SELECT qsketch_new(%s) || qsketch_new(%s)', a, b)) AS subtract,
	pg_temp.error_of(format('SELECT qsketch_merge_agg(s) FROM (VALUES (qsketch_new(%s)), (qsketch_new(%s))) AS v(s)',
		a, b)) = pg_temp.error_of(format('SELECT qsketch_new(%s) || qsketch_new(%s)', a, b)) AS agg
FROM (VALUES (1, $$'warp'$$, $$'thread'$$), (2, 'seed => 1', 'seed => 2'), (3, 'depth => 2', 'depth => 3'),
	(4, 'masks => 2', 'masks => 4'), (5, $$'sf', z => 2, size => '1kB'$$, $$'sf', z => 3, size => '1kB'$$),
	(6, $$size => '3kB'$$, $$size => '2kB'$$), (7, $$size => '1MB'$$, $$size => '65kB'$$),
	(8, $$'multilevel'$$, $$'sub_warp'$$)) AS v(n, a, b)
ORDER BY n;

-- sketches stored while another structure was the default: the error says how
-- to go on with them, and that is a way
CREATE TEMP TABLE days AS SELECT 1 AS day, qsketch_agg(k, qsketch_new('sub_warp', '64kB')) AS sk
FROM generate_series(1, 5000) AS k;
INSERT INTO days SELECT 2, qsketch_agg(k) FROM generate_series(1, 5000) AS k;
SELECT qsketch_merge_agg(sk ORDER BY day) FROM days;
SELECT qsketch_merge_agg(sk ORDER BY day DESC) FROM days;
SELECT qsketch_new('thread') - qsketch_new('sf', '1500');
UPDATE days SET sk = (SELECT qsketch_agg(k, qsketch_new('sub_warp', '64kB')) FROM generate_series(1, 5000) AS k)
WHERE day = 2;
SELECT qsketch_total(qsketch_merge_agg(sk)) AS total FROM days;

-- subtracting what was never there is an error, and changes nothing
CREATE FUNCTION pg_temp.subtract(a qsketch, b qsketch) RETURNS text LANGUAGE plpgsql AS $$
DECLARE before qsketch := a::text::qsketch;
BEGIN
	a := a - b;
	RETURN 'no error';
EXCEPTION WHEN data_exception THEN
	RETURN CASE WHEN a = before THEN sqlstate || ' unchanged ' || sqlerrm ELSE 'changed' END;
END $$;
SELECT form, e AS error, count(*)
FROM built, LATERAL (SELECT pg_temp.subtract(sk, sk || sk) AS e) AS e
GROUP BY form, e ORDER BY form, e;
SELECT form, e AS error, count(*)
FROM built, LATERAL (SELECT pg_temp.subtract(qsketch_add(sk, -1, 1000),
	qsketch_add(pg_temp.sketch('SELECT ' || expr), -2, qsketch_total(sk) + 1)) AS e) AS e
GROUP BY form, e ORDER BY form, e;

-- parts of sf: slim alone, fat alone, full again
CREATE TEMP TABLE sf AS
SELECT form, id, sk AS full, qsketch_sf_device(sk) AS device, qsketch_sf_host(sk) AS host
FROM built WHERE structure = 'sf';
SELECT form, count(*), bool_and(qsketch_sf_full(host) = "full") AS full_again,
	string_agg(DISTINCT (qsketch_info(device)).part || ' ' || (qsketch_info(device)).form, ',') AS device,
	string_agg(DISTINCT (qsketch_info(host)).part || ' ' || (qsketch_info(host)).form, ',') AS host,
	bool_and(qsketch_total(device) = qsketch_total("full") AND qsketch_total(host) = qsketch_total("full")) AS total,
	bool_and(device::text::qsketch = device AND host::text::qsketch = host
		AND device::bytea::qsketch = device AND host::bytea::qsketch = host) AS text
FROM sf GROUP BY form ORDER BY form;
SELECT form, bool_and(qsketch_estimate(host, k) BETWEEN n AND qsketch_estimate(device, k)) AS between,
	bool_and(qsketch_estimate("full", k) = CASE (qsketch_info("full")).form WHEN 'explicit'
		THEN n ELSE qsketch_estimate(device, k) END) AS "full"
FROM sf, generate_series(1, 400) AS k, LATERAL (SELECT CASE form WHEN 'few' THEN (k <= 20)::int
	ELSE (k > 10)::int * (k % 300 + CASE form WHEN 'heavy' THEN 2000000 ELSE 0 END) END AS n) AS n
GROUP BY form ORDER BY form;
SELECT bool_and(a.host || b.host = qsketch_sf_host(a.full || b.full)) AS hosts_merge,
	bool_and(qsketch_sf_full(a.host || b.host) = a.full || b.full) AS full_merge,
	bool_and(qsketch_sf_host(a.full || b.full) - a.host = b.host
		OR (qsketch_info(b.host)).form = 'explicit') AS hosts_subtract,
	bool_and(qsketch_total(a.device || b.device) = qsketch_total(a.full) + qsketch_total(b.full)) AS devices_merge,
	bool_and(qsketch_estimate(a.device || b.device, keys) >= qsketch_estimate(a.full || b.full, keys)) AS upper_bound
FROM sf AS a JOIN sf AS b USING (id), (SELECT array_agg(k) AS keys FROM generate_series(1, 50) AS k) AS k;
SELECT count(*), bool_and(qsketch_add(host, 7, 3) = qsketch_sf_host(qsketch_add("full", 7, 3))) AS add,
	bool_and(qsketch_remove(qsketch_add(host, 7, 3), 7, 3) = host) AS remove
FROM sf;
SELECT qsketch_estimate(qsketch_sf_host(a || b), ARRAY[1, 2]) AS host
FROM qsketch_add(qsketch_new('sf'), 1) AS a, qsketch_add(qsketch_new('sf'), 2) AS b;
SELECT n, pg_temp.error_of('SELECT ' || replace(replace(replace(call, 'FULL', 'qsketch_new(''sf'', ''1kB'')'),
	'DEVICE', 'qsketch_sf_device(qsketch_new(''sf'', ''1kB''))'),
	'HOST', 'qsketch_sf_host(qsketch_new(''sf'', ''1kB''))')) AS error, call
FROM unnest(ARRAY['qsketch_add(DEVICE, 1)', 'qsketch_remove(DEVICE, 1)', 'DEVICE - DEVICE', 'DEVICE || FULL',
	'FULL || DEVICE', 'HOST || FULL', 'HOST - DEVICE', 'DEVICE || HOST', 'qsketch_sf_device(DEVICE)',
	'qsketch_sf_device(HOST)', 'qsketch_sf_host(HOST)', 'qsketch_sf_host(DEVICE)', 'qsketch_sf_full(FULL)',
	'qsketch_sf_full(DEVICE)', 'qsketch_sf_device(qsketch_new(''sub_warp''))', 'qsketch_sf_host(qsketch_new(''thread''))',
	'qsketch_sf_full(qsketch_new(''multilevel''))', 'qsketch_merge_agg(s) FROM (VALUES (FULL), (DEVICE)) AS v(s)'])
	WITH ORDINALITY AS v(call, n)
ORDER BY n;
SELECT qsketch_sf_device(NULL) IS NULL AS device, qsketch_sf_host(NULL) IS NULL AS host,
	qsketch_sf_full(NULL) IS NULL AS "full";
