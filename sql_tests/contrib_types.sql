--
-- Types that are text (or another type with functions of its own) to the
-- machine but have another equality: citext, and others of contrib.  What SQL
-- calls equal must count as one.  (The second expected output is that of
-- servers without contrib.)
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set file :dir '/sql/include/arguments.psql'
\i :file
\set ECHO all
SELECT count(*) = 7 AS contrib FROM pg_available_extensions
WHERE name IN ('citext', 'ltree', 'hstore', 'isn', 'seg', 'cube', 'lo') \gset
\if :contrib
SET client_min_messages = warning;
CREATE EXTENSION citext;
CREATE EXTENSION ltree;
CREATE EXTENSION hstore;
CREATE EXTENSION isn;
CREATE EXTENSION seg;
CREATE EXTENSION cube;
RESET client_min_messages;

-- citext in all forms of arguments, in every function of keys
CREATE DOMAIN caseless AS citext;
CREATE TABLE one AS SELECT 1 AS w, 'Key'::citext AS ci, 'Key'::caseless AS dc, 'Key'::text AS t, 'Key'::varchar AS v, ARRAY['Key']::citext[] AS cia;
CREATE TEMP TABLE argument (n serial, key text, parameter text);
INSERT INTO argument (key) SELECT unnest(ARRAY['ci', 'dc', '''Key''::citext', 'NULL::citext', 'ci::text', 'ci::varchar', 't::citext', 't::citext::text',
	'v::citext', 'ci || ci', 'coalesce(ci, ''x'')', '(SELECT ci)', 'cia', 'ARRAY[ci]', 'ROW(ci, 1)']);
INSERT INTO argument (key, parameter) VALUES ('$1::citext', '''Key''');
\pset format unaligned
\pset tuples_only
SELECT format(E'%s\n\t%s\n\t%s', string_agg(key || coalesce(' = ' || parameter, ''), ', ' ORDER BY n), made, found)
FROM argument, LATERAL (SELECT pg_temp.aggregates(key, parameter) AS made, pg_temp.lookups(key, parameter) AS found) AS c
GROUP BY made, found ORDER BY min(n);
\pset tuples_only
\pset format aligned
DROP TABLE one;
DROP DOMAIN caseless;

-- a and b are equal, c is another key
CREATE TEMP TABLE sample (n serial, type text, a text, b text, c text);
INSERT INTO sample (type, a, b, c) VALUES
	('citext', 'Abc', 'aBC', 'abd'), ('ltree', 'Top.a', 'Top.a', 'top.a'),
	('hstore', 'a=>1, b=>2', 'b=>2, a=>1', 'a=>1'), ('ean13', '978-0-393-04002-9', '9780393040029', '978-0-11-000533-1'),
	('isbn13', '978-0-393-04002-9', '9780393040029', '978-0-11-000533-1'),
	('isbn', '0-393-04002-X', '039304002X', '0-11-000533-3'),
	('issn', '1436-4522', '14364522', '0317-8471'), ('ismn', '979-0-2600-0043-8', 'M-2600-0043-8', 'M-0601-1561-5'),
	('upc', '220356483481', '2203 56483481', '036000291452'), ('cube', '(1,2)', '1, 2', '(1,3)'),
	('seg', '1.0', '1.0', '2'), ('citext[]', '{A,b}', '{a,B}', '{a,c}');
CREATE FUNCTION pg_temp.of_type(type text, a text, b text, c text, OUT equal boolean, OUT different boolean,
	OUT estimates bigint[], OUT family text, OUT error text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT %2$L::%1$s = %3$L::%1$s, %2$L::%1$s <> %4$L::%1$s', type, a, b, c) INTO equal, different;
	EXECUTE format('CREATE TEMP TABLE t (k %s)', type);
	EXECUTE format('INSERT INTO t VALUES (%L), (%L), (%L), (NULL)', a, b, c);
	EXECUTE format('SELECT ARRAY[max(e) FILTER (WHERE k = %1$L::%4$s), max(e) FILTER (WHERE k = %2$L::%4$s),
		max(e) FILTER (WHERE k = %3$L::%4$s)], max((qsketch_info(sk)).key_family)
		FROM (SELECT k, sk, %5$s(sk, k) AS e FROM t, (SELECT qsketch_agg(k) AS sk FROM t) AS s) AS s', a, b, c, type,
		CASE WHEN type LIKE '%[]' THEN 'qsketch_estimate_key' ELSE 'qsketch_estimate' END) INTO estimates, family;
EXCEPTION WHEN OTHERS THEN
	error := sqlstate || ' ' || sqlerrm;
END $$;
CREATE FUNCTION pg_temp.all_of(OUT n int, OUT type text, OUT equal boolean, OUT different boolean,
	OUT estimates bigint[], OUT family text, OUT error text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
	FOR r IN SELECT * FROM sample AS s ORDER BY s.n LOOP
		SELECT r.n, r.type, o.* INTO n, type, equal, different, estimates, family, error
		FROM pg_temp.of_type(r.type, r.a, r.b, r.c) AS o;
		DROP TABLE IF EXISTS t;
		RETURN NEXT;
	END LOOP;
END $$;
-- counted right, or refused: which have hash functions depends on the version
SET client_min_messages = warning;
SELECT n, type, equal, different, coalesce(estimates = '{2,2,1}', error LIKE '42883 could not identify%') AS right
FROM pg_temp.all_of();
SELECT type, family, error FROM pg_temp.all_of() WHERE type IN ('citext', 'hstore', 'cube', 'citext[]');
SET qsketch.enable_columnscan = off;
SELECT bool_and(coalesce(estimates = '{2,2,1}', error LIKE '42883 could not identify%')) AS right
FROM pg_temp.all_of();
RESET qsketch.enable_columnscan;
RESET client_min_messages;

-- What SQL calls different their hash functions tell apart: citext, hstore and lo, and ltree where it has one.
CREATE TEMP TABLE apart (type text, v text);
INSERT INTO apart SELECT 'citext', unnest(ARRAY['', ' ', 'a', 'A', 'a ', ' a', 'b', 'ab', 'AB', 'Ba', 'ß', 'ss', 'é', 'è', '{a}', 'a,b', repeat('a', 3000), repeat('A', 2999) || 'b']);
INSERT INTO apart SELECT 'hstore', unnest(ARRAY['', 'a=>1', 'A=>1', 'a=>"1"', 'a=>-1', 'a=>1.0', 'a=>01', 'a=>NULL', 'a=>"NULL"', 'a=>""', '""=>a', '""=>""', '""=>NULL', '1=>a', 'a=>1, b=>2', 'b=>2, a=>1',
	'a=>2, b=>1', 'a=>1, a=>2', 'a=>2, a=>1', 'ab=>12', 'a=>b12', 'a=>1, b=>NULL', 'a=>NULL, b=>1', 'ab=>1, c=>2', 'a=>1, bc=>2', 'a=>"1, b=>2"']);
INSERT INTO apart SELECT 'lo', unnest('{0,1,2,65536,65537,2147483647,2147483648,4294967295}'::text[]);
INSERT INTO apart SELECT 'ltree', unnest('{"",a,A,b,a.b,b.a,ab,a.b.c,ab.c,a.bc,a.a,a.a.a,aa,aa.a,a_b,1,1.1,11}'::text[]);
CREATE FUNCTION pg_temp.told_apart(type text, key text, OUT pairs bigint, OUT different bigint, OUT wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*), count(*) FILTER (WHERE x.v <> y.v), count(*) FILTER (WHERE (x.v = y.v) <> (qsketch_estimate_key(x.s, y.k) = 1) OR (x.v = y.v) <> (qsets_id(x.k) = qsets_id(y.k))
			OR (x.v = y.v) <> (qsets_intersect_count(ARRAY[ROW(x.v)], ARRAY[ROW(y.v)]) = 1))
		FROM (SELECT v, k, qsketch_add(qsketch_new(), k) AS s FROM (SELECT v, %1$s AS k FROM (SELECT v::%2$s FROM apart WHERE type = %2$L) AS v) AS x) AS x,
			(SELECT v, %1$s AS k FROM (SELECT v::%2$s FROM apart WHERE type = %2$L) AS v) AS y', key, type) INTO pairs, different, wrong;
END $$;
CREATE EXTENSION lo;
SELECT type, key, r.* FROM unnest('{citext,hstore,lo}'::text[]) AS type, unnest('{v,ARRAY[v],"ROW(v, 1)","ARRAY[v, NULL, v]"}'::text[]) AS key, pg_temp.told_apart(type, key) AS r ORDER BY type, key COLLATE "C";
SELECT key, CASE WHEN current_setting('server_version_num')::int < 170000 THEN 0 ELSE (pg_temp.told_apart('ltree', key)).wrong END AS wrong FROM unnest('{v,ARRAY[v],"ROW(v, 1)"}'::text[]) AS key;
DROP EXTENSION lo;
-- others have no hash, or one without a seed, and are keys as another type
SELECT type, pg_temp.error_of(format('SELECT qsketch_agg(%L::%s)', v, type)) AS error
FROM (VALUES ('cube', '(1,2)'), ('ean13', '9780393040029'), ('isbn', '039304002X'), ('seg', '1')) AS v(type, v) ORDER BY 1;
SELECT qsketch_estimate(qsketch_agg(isbn '039304002X'::text), '0-393-04002-X') AS isbn, qsketch_estimate(qsketch_agg(cube '(1,2)'::text), '(1, 2)') AS cube;

-- citext, in every way to build and to ask
CREATE DOMAIN nick AS citext;
CREATE TABLE people (c citext, d nick, t text, v varchar, w int);
INSERT INTO people SELECT x, x, x, x, 2
FROM (SELECT CASE i % 3 WHEN 0 THEN upper(k) WHEN 1 THEN initcap(k) ELSE k END AS x
	FROM (SELECT i, 'user' || i % 1000 AS k FROM generate_series(1, 6000) AS i) AS s) AS s;
CREATE FUNCTION pg_temp.truth(name text, call text, OUT scan boolean, OUT family text, OUT never_below boolean,
	OUT exact boolean) LANGUAGE plpgsql AS $$
DECLARE query text := format('SELECT %s FROM people', call); sk qsketch;
BEGIN
	scan := pg_temp.plan_has(query, 'QSketchScan');
	EXECUTE query INTO sk;
	family := (qsketch_info(sk)).key_family;
	EXECUTE format('SELECT bool_and(qsketch_estimate($1, k) >= n), bool_and(qsketch_estimate($1, k) = n)
		FROM (SELECT %1$I AS k, count(*) AS n FROM people GROUP BY 1) AS s', name)
		INTO never_below, exact USING sk;
END $$;
CREATE TEMP TABLE calls (n serial, name text, call text);
INSERT INTO calls (name, call) VALUES ('c', 'qsketch_agg(c)'), ('d', 'qsketch_agg(d)'),
	('t', 'qsketch_agg(t)'), ('v', 'qsketch_agg(v)'), ('t', 'qsketch_agg(c::text)'), ('c', 'qsketch_agg(c, w / 2)'),
	('c', 'qsketch_agg(c, qsketch_new(''multilevel'', ''64kB''))'),
	('c', 'qsketch_agg(c, w / 2, qsketch_new(''warp'', ''64kB''))'), ('c', 'qsketch_agg(c, 1, qsketch_new())');
SELECT call, r.* FROM calls, pg_temp.truth(name, call) AS r ORDER BY n;
SET qsketch.enable_columnscan = off;
SELECT call, r.* FROM calls, pg_temp.truth(name, call) AS r ORDER BY n;
CREATE TEMP TABLE ordinary AS SELECT n, pg_temp.sketch('SELECT ' || call || ' FROM people') AS sk FROM calls;
RESET qsketch.enable_columnscan;
SELECT bool_and(pg_temp.sketch('SELECT ' || call || ' FROM people') = sk) AS same_bytes
FROM calls JOIN ordinary USING (n);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT bool_and(pg_temp.sketch('SELECT ' || call || ' FROM people') = sk) AS same_bytes,
	bool_and(pg_temp.plan_has('SELECT ' || call || ' FROM people', 'Gather')) AS parallel
FROM calls JOIN ordinary USING (n);
SET qsketch.enable_columnscan = off;
SELECT bool_and(pg_temp.sketch('SELECT ' || call || ' FROM people') = sk) AS same_bytes,
	bool_and(pg_temp.plan_has('SELECT ' || call || ' FROM people', 'Partial Aggregate')) AS parallel
FROM calls JOIN ordinary USING (n);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET qsketch.enable_columnscan;
SELECT (SELECT bool_and(qsketch_estimate(sk, c) = 6) FROM people, (SELECT qsketch_agg(c) AS sk FROM people) AS s) AS joined,
	(SELECT sum(qsketch_estimate(sk, c)) FROM (SELECT lower(c::text), min(c) AS c, qsketch_agg(c) AS sk FROM people GROUP BY 1) AS s) AS grouped,
	(SELECT qsketch_estimate(qsketch_agg(c) FILTER (WHERE w = 2), 'USER1') FROM people) AS filtered,
	(SELECT qsketch_estimate(qsketch_merge_agg(sk), 'USER1')
		FROM (SELECT qsketch_agg(c) AS sk FROM people GROUP BY t) AS s) AS merged;

-- sets of them, single and in arrays
SELECT qsets_agg(1, c) = qsets_agg(1, a) AS arrays, qsets_agg(1, c) = qsets_agg(1, d) AS domain, qsets_agg(1, c) = qsets_agg(1, n) AS of_domain,
	qsets_cardinality(qsets_agg(1, a), 1) AS keys, (qsets_info(qsets_agg(1, a))).key_family,
	qsets_cardinality(qsets_agg(1, a::text[]), 1) AS texts
FROM people, LATERAL (SELECT ARRAY[c, lower(c::text)::citext] AS a, ARRAY[d] AS n) AS x;

-- asking: citext, literals, arrays; text is of another kind
CREATE TEMP TABLE built AS
SELECT qsketch_agg(c) AS c, qsketch_agg(d) AS d, qsketch_agg(t) AS t FROM people;
SELECT qsketch_estimate(c, 'USER1') AS literal, qsketch_estimate(c, 'user1'::citext) AS citext,
	qsketch_estimate(c, 'user1'::nick) AS domain, qsketch_estimate(d, 'USER1'::citext) AS of_domain,
	qsketch_estimate(c, ARRAY['User1', 'x']) AS texts, qsketch_estimate(c, ARRAY['User1', 'x']::citext[]) AS batch,
	qsketch_estimate_unbiased(c, 'uSER1') AS unbiased, qsketch_bounds(c, 'uSER1') AS bounds,
	qsketch_estimate(qsketch_add(c, 'USer1'), 'USER1') AS added,
	qsketch_estimate(qsketch_remove(c, 'USer1', 2), 'USER1') AS removed FROM built;
SELECT qsketch_estimate(built.c, people.t) FROM built, people LIMIT 1;
SELECT qsketch_estimate(built.t, people.c) FROM built, people LIMIT 1;
SELECT qsketch_add(built.t, people.c) FROM built, people LIMIT 1;
SELECT c || t FROM built;
SELECT bool_and(qsketch_estimate_key(built.c, people.t::citext) = 6) AS cast, bool_and(built.c = built.d) AS domain_bytes
FROM built, people;
DO $$
DECLARE k citext := 'uSeR1'; s qsketch := qsketch_new();
BEGIN
	s := qsketch_add(s, k);
	k := 'user1';
	s := qsketch_add(s, k);
	RAISE NOTICE 'in PL/pgSQL: %, %', qsketch_estimate(s, k), qsketch_estimate((SELECT c FROM built), k);
END $$;

-- filters
SELECT qfilter_contains(f, 'USER1') AS literal, qfilter_contains(f, 'uSer1'::citext) AS citext
FROM (SELECT qfilter_agg(c, qfilter_new_bloom(100)) AS f FROM people) AS s;
SELECT bool_and(qfilter_contains(f, t::citext)) AS found, bool_and(qfilter_contains_key(f, t::citext)) AS key
FROM people, (SELECT qfilter_agg(c, qfilter_new_bloom(100)) AS f FROM people) AS s;
SELECT qfilter_contains(f, t) FROM people, (SELECT qfilter_agg(c, qfilter_new_bloom(100)) AS f FROM people) AS s;
SELECT qfilter_estimate(f, t) FROM people, (SELECT qfilter_agg(c, qfilter_new(100, 10)) AS f FROM people) AS s;

-- casts of constants and parameters, folded or not, ask alike
SET plan_cache_mode = force_generic_plan;
PREPARE ask(citext) AS SELECT qsketch_estimate(c, $1) AS c, qsketch_estimate(t, $1) AS t FROM built;
EXECUTE ask('USER1');
SET plan_cache_mode = force_custom_plan;
EXECUTE ask('USER1');
RESET plan_cache_mode;
DEALLOCATE ask;
-- casts that change nothing but the type are meant
SELECT (qsketch_info(qsketch_agg(t::citext))).key_family AS to_citext,
	(qsketch_info(qsketch_agg(c::varchar))).key_family AS to_varchar FROM people;

-- windows: moving, and of several columns
SELECT w, qsketch_estimate(qsketch_agg(c) OVER (ORDER BY w ROWS 1 PRECEDING), c) AS citext,
	qsketch_estimate(qsketch_agg(t) OVER (ORDER BY w ROWS 1 PRECEDING), t) AS text,
	qsketch_estimate(qsketch_agg(c) OVER (), c) AS citext_all, qsketch_estimate(qsketch_agg(t) OVER (), t) AS text_all
FROM (VALUES (1, 'A'::citext, 'A'), (2, 'a', 'a'), (3, 'a', 'a'), (4, 'b', 'b')) AS v(w, c, t) ORDER BY w;

-- beside one another
SELECT (qsketch_info(qsketch_agg(c))).key_family AS citext, (qsketch_info(qsketch_agg(c::text))).key_family AS text FROM people;
SELECT 1 AS one FROM people HAVING qsketch_estimate(qsketch_agg(c), 'USER1') <> qsketch_estimate(qsketch_agg(c::text), 'USER1');
SELECT DISTINCT (qsketch_info(qsketch_agg(c) OVER ())).key_family AS citext, (qsketch_info(qsketch_agg(c::text) OVER ())).key_family AS text FROM people;
SELECT qsketch_estimate(qsketch_agg(c), 'USER1') AS citext, qsketch_estimate(qsketch_agg(c::text), 'USER1') AS text,
	qsketch_estimate(qsketch_agg(t), 'USER1') AS t FROM people;
SELECT qsketch_total(qsketch_agg(DISTINCT c)) AS citext, qsketch_total(qsketch_agg(DISTINCT c::text)) AS text FROM people;

-- filters as well: in rows and windows, by ids and counts
SELECT qfilter_contains(qfilter_agg(c, qfilter_new_bloom(100, 1e-9)), 'USER1') AS agg,
	qfilter_contains(qfilter_row_agg(c, 1, qfilter_new_bloom(100, 1e-9)), 'uSER1') AS row_agg,
	qfilter_contains(qfilter_count_agg(c, 1, qfilter_new_bloom(100, 1e-9)), 'UsER1') AS count_agg,
	qfilter_contains(qfilter_agg(t, qfilter_new_bloom(100, 1e-9)), 'uSeR1') AS text FROM people;
SELECT DISTINCT qfilter_contains(qfilter_agg(c, qfilter_new_bloom(100, 1e-9)) OVER (), 'USER1') AS window FROM people;
SELECT (qfilter_info(qfilter_agg(c, qfilter_new_bloom(100)))).key_family, (qfilter_info(qfilter_agg(c::text || '', qfilter_new_bloom(100)))).key_family AS text FROM people;
SELECT qfilter_contains(qfilter_agg(c, qfilter_new_bloom(100)), t) FROM people GROUP BY t;
SELECT qfilter_agg(c, qfilter_new_bloom(100)) <> qfilter_agg(c::text, qfilter_new_bloom(100)) AS differ,
	qfilter_row_agg(c, 1, qfilter_new_bloom(100)) <> qfilter_row_agg(c::text, 1, qfilter_new_bloom(100)) AS rows_differ FROM people;

-- sets as well
SELECT (qsets_info(qsets_agg(w, c))).distinct_elements AS citext, (qsets_info(qsets_agg(w, t))).distinct_elements AS text,
	(qsets_info(qsets_agg(w, c))).key_family AS family, pg_temp.plan_has('SELECT qsets_agg(w, c) FROM people', 'QSketchScan') AS scan FROM people;
SET qsketch.enable_columnscan = off;
SELECT (qsets_info(qsets_agg(w, c))).distinct_elements AS citext, (qsets_info(qsets_agg(w, t))).distinct_elements AS text FROM people;
RESET qsketch.enable_columnscan;
SELECT qsets_agg(w, c) <> qsets_agg(w, c::text) AS differ FROM people;
SELECT qsets_agg(w, t) IS NOT NULL AND qsets_agg(w, t COLLATE "C") IS NOT NULL AND qsets_agg(w, v) = qsets_agg(w, v::text) FROM people;
-- equality, but no hash: no keys
SET client_min_messages = warning;
CREATE TYPE parity;
CREATE FUNCTION parity_in(cstring) RETURNS parity LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION parity_out(parity) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE parity (INPUT = parity_in, OUTPUT = parity_out, LIKE = text, CATEGORY = 'S');
RESET client_min_messages;
CREATE CAST (parity AS text) WITHOUT FUNCTION AS IMPLICIT;
SELECT qsketch_agg(p) FROM unnest('{a,a,A}'::parity[]) AS p;
SELECT qsketch_estimate(qsketch_agg(p::text), 'a') AS as_text FROM unnest('{a,a,A}'::parity[]) AS p;
CREATE FUNCTION parity_cmp(parity, parity) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS
	'SELECT length($1::text) % 2 - length($2::text) % 2';
CREATE FUNCTION parity_eq(parity, parity) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS
	'SELECT parity_cmp($1, $2) = 0';
CREATE OPERATOR = (LEFTARG = parity, RIGHTARG = parity, FUNCTION = parity_eq);
CREATE OPERATOR CLASS parity_ops DEFAULT FOR TYPE parity USING btree AS OPERATOR 3 =, FUNCTION 1 parity_cmp(parity, parity);
SELECT qsketch_agg(p) FROM unnest('{a,a,A}'::parity[]) AS p;
-- top keys as well: one of the equal ones is shown
SELECT * FROM qtop_list((SELECT qtop_agg(k, 3) FROM unnest('{Abc,aBC,abd}'::citext[]) AS k), 3, NULL::citext);
SELECT * FROM qtop_list((SELECT qtop_agg(k, 3) FROM unnest('{Abc,aBC,abd}'::citext[]) AS k), 3, NULL::text);
SELECT count(*) FROM qtop_list((SELECT qtop_agg(k::text, 3) FROM unnest('{Abc,aBC,abd}'::citext[]) AS k), 3, NULL::text);
DROP TABLE people, built;
SET client_min_messages = warning;
DROP TYPE parity CASCADE;
RESET client_min_messages;
DROP DOMAIN nick;
DROP EXTENSION citext, ltree, hstore, isn, seg, cube;
\else
\echo no contrib, not tested
\endif
