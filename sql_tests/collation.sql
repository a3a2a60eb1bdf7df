--
-- Keys under nondeterministic collations, which decide what strings are equal.
-- (The second expected output is that of servers without ICU.)
--
SELECT count(*) > 0 AND getdatabaseencoding() = 'UTF8' AS icu FROM pg_collation WHERE collprovider = 'i'
\gset
\if :icu
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION noaccent (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
CREATE TEMP TABLE word (w text COLLATE nocase, c char(9) COLLATE nocase, v varchar COLLATE nocase);
INSERT INTO word SELECT w, w, w FROM unnest('{Hello,hello,HELLO,world,World,x}'::text[]) AS w;

-- counted and asked for as SQL compares
SELECT qsketch_estimate(sk, 'hELLO' COLLATE nocase) AS hello, qsketch_estimate(sk, w) AS world,
	qsketch_estimate(sk, ARRAY['X', 'y'] COLLATE nocase) AS batch, (qsketch_info(sk)).key_family
FROM (SELECT qsketch_agg(w) AS sk FROM word) AS s, word WHERE w = 'WORLD';
SELECT qsketch_estimate(qsketch_agg(c), 'HeLLo'::char(7) COLLATE nocase) AS char,
	qsketch_estimate(qsketch_agg(v), 'HeLLo'::varchar COLLATE nocase) AS varchar,
	qsketch_estimate(qsketch_agg(w COLLATE "C"), 'hello') AS deterministic
FROM word;
SELECT qsketch_total(qsketch_agg(DISTINCT w)) AS keys, count(DISTINCT w) AS distinct FROM word;
SELECT qsketch_agg(lower(w) COLLATE nocase) = qsketch_agg(upper(w) COLLATE nocase) AS same_bytes
FROM word;

-- with the wrong collation they would not be found, so that is an error
CREATE TEMP TABLE sketch AS
SELECT qsketch_agg(w) AS nocase, qsketch_agg(w COLLATE noaccent) AS noaccent,
	qsketch_agg(w COLLATE "C") AS c, qsketch_agg(w COLLATE "POSIX") AS posix FROM word;
SELECT qsketch_estimate(nocase, 'hello') FROM sketch;
SELECT qsketch_estimate(nocase, 'hello' COLLATE noaccent) FROM sketch;
SELECT qsketch_estimate(c, 'hello' COLLATE nocase) FROM sketch;
SELECT qsketch_add(nocase, 'hello') FROM sketch;
SELECT nocase || noaccent FROM sketch;
SELECT nocase || c FROM sketch;

-- all deterministic collations agree with one another
SELECT c = posix AS same_bytes, qsketch_estimate(c, 'hello' COLLATE "POSIX") AS one FROM sketch;

-- two collations in one expression
SELECT qsketch_agg(w || 'x' COLLATE noaccent) IS NOT NULL AS explicit FROM word;
SELECT qsketch_agg(w || c) IS NOT NULL AS same FROM word;
CREATE TEMP TABLE mixed (a text COLLATE nocase, b text COLLATE noaccent);
INSERT INTO mixed VALUES ('a', 'b');
SELECT qsketch_agg(a || b) FROM mixed;
SELECT qsketch_estimate(qsketch_new(), a || b) FROM mixed;
-- filters as well
SELECT qfilter_contains(f, 'ABC' COLLATE nocase) AS equal, qfilter_contains(f, 'abd' COLLATE nocase) AS other
FROM (SELECT qfilter_agg('Abc' COLLATE nocase, qfilter_new_bloom(10, 1e-9)) AS f) AS s;
SELECT qfilter_contains(qfilter_agg('Abc' COLLATE nocase, qfilter_new_bloom(10)), 'ABC' COLLATE "C");
SELECT qfilter_agg('Abc' COLLATE nocase, qfilter_new_bloom(10)) | qfilter_agg('Abc' COLLATE noaccent, qfilter_new_bloom(10));
-- top keys as well
SELECT * FROM qtop_list((SELECT qtop_agg(w, 3) FROM word), 3, NULL::text COLLATE nocase);
SELECT * FROM qtop_list((SELECT qtop_agg(w, 3) FROM word), 3, NULL::text);
-- char(n) counts as text, within arrays and rows, too
SELECT qsketch_estimate_key(qsketch_agg(ARRAY['a'::char(3)]), ARRAY['a']) AS array,
	qsketch_estimate_key(qsketch_agg(ROW('a'::char(3))), ROW('a'::text)) AS row,
	qsketch_estimate_key(qsketch_agg(ARRAY['a'::char(3) COLLATE nocase]), ARRAY['A'::char(3) COLLATE nocase]) AS padded;
SELECT qsketch_estimate_key(qsketch_agg(ARRAY['a'::char(3) COLLATE nocase]), ARRAY['a' COLLATE nocase]);
SELECT qsketch_estimate_key(qsketch_agg(ROW('a'::char(3) COLLATE nocase)), ROW('a'::text COLLATE nocase));
SELECT qsketch_total(qsketch_agg(ARRAY['a'::char(3) COLLATE nocase]) || qsketch_agg(ARRAY['a' COLLATE nocase]));
DROP TABLE word, mixed;
DROP COLLATION nocase, noaccent;
\else
\echo no ICU, not tested
\endif
