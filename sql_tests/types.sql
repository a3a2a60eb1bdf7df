--
-- The type: text, binary, casts, storage.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
SELECT typlen, typbyval, typalign, typstorage, typcategory FROM pg_type WHERE typname = 'qsketch';
SELECT left(qsketch_new()::text, 8) AS prefix, length(qsketch_new()::text) AS text,
	octet_length(qsketch_new()::bytea) AS bytes, pg_column_size(qsketch_new()) AS value;

-- text and bytea name the same value, whatever its form
CREATE TEMP TABLE forms (form text, query text);
INSERT INTO forms VALUES ('empty', '%1$s'),
	('explicit', '(SELECT qsketch_agg(k, %1$s) FROM generate_series(1, 20) AS k)'),
	('dense', '(SELECT qsketch_agg(k, k, %1$s) FROM generate_series(1, 2100) AS k)'),
	('wide', '(SELECT qsketch_agg(k, 1::bigint << 33, %1$s) FROM generate_series(1, 2100) AS k)');
CREATE TEMP TABLE value AS
SELECT t.structure, f.form, pg_temp.sketch('SELECT ' || format(f.query, t.expr)) AS sk
FROM forms AS f, template AS t;
SELECT structure, form, count(*), bool_and(sk::text::qsketch = sk) AS text,
	bool_and(sk::bytea::qsketch = sk) AS bytea, bool_and(_qsketch_send(sk) = sk::bytea) AS send,
	string_agg(DISTINCT (qsketch_info(sk)).form || coalesce((qsketch_info(sk)).counter_bytes, 0), ' ')
		AS forms
FROM value GROUP BY structure, form ORDER BY 1, 2;

-- an error shows the start of bad text, cut between characters
SELECT pg_temp.error_of(format('SELECT %L::qsketch', v)) FROM (VALUES (1, ''), (2, 'nothing'),
	(3, 'QSKETCH:AAAA'), (4, 'qsketch'), (5, 'qsketch:'), (6, 'qsketch:A'), (7, 'qsketch:AA=A'),
	(8, 'qsketch: UVNL'), (9, 'qsketch:UVNL$QQB'), (10, 'qsketch:UVNL'),
	(11, repeat('x', 40)), (12, repeat('x', 41)), (13, repeat(U&'\00e9', 30)),
	(14, 'x' || repeat(U&'\00e9', 30)), (15, 'qsketch:' || repeat(U&'\20ac', 30))) AS v(n, v)
ORDER BY n;

-- casts are explicit
CREATE TEMP TABLE column_of (sk qsketch, b bytea);
INSERT INTO column_of (sk) VALUES ('\x00'::bytea);
INSERT INTO column_of (b) VALUES (qsketch_new());
INSERT INTO column_of (sk, b) VALUES (qsketch_new()::text::qsketch, qsketch_new()::bytea);
SELECT sk = qsketch_new() AS same, b::qsketch = sk AS bytes FROM column_of;
\set VERBOSITY terse
SELECT qsketch_new() = b FROM column_of;
\set VERBOSITY default

-- strict: nothing from nothing
SELECT NULL::qsketch::text IS NULL AS text, NULL::qsketch::bytea IS NULL AS bytea,
	NULL::bytea::qsketch IS NULL AS sketch;

-- arrays, rows and domains of sketches
SELECT (ARRAY[qsketch_new(), qsketch_new('sf')])[2] = qsketch_new('sf') AS element,
	ROW(qsketch_new())::text LIKE '(qsketch:%)' AS row_text;
CREATE DOMAIN pg_temp.small_sketch AS qsketch CHECK (pg_column_size(value) < 100);
SELECT qsketch_total(qsketch_add(qsketch_new()::pg_temp.small_sketch, 1)) AS total;
-- the text of a value is base64 of its bytes, however long, and however many are left over
CREATE TEMP TABLE texts AS
	SELECT 1 AS n, qsketch_agg(i)::bytea AS bytes, qsketch_agg(i)::text AS text FROM generate_series(1, 5000) AS i
	UNION ALL SELECT 2, qfilter_agg(i, qfilter_new_bloom(100000))::bytea, qfilter_agg(i, qfilter_new_bloom(100000))::text FROM generate_series(1, 2000) AS i
	UNION ALL SELECT 3, qsketch_agg(i, qsketch_new('multilevel', '8MB'))::bytea,
		qsketch_agg(i, qsketch_new('multilevel', '8MB'))::text FROM generate_series(1, 2000000) AS i
	UNION ALL SELECT 3 + last, qsketch_agg(i)::bytea, qsketch_agg(i)::text FROM generate_series(1, 3) AS last, generate_series(1, 500 + last) AS i GROUP BY last;
SELECT n, text = split_part(text, ':', 1) || ':' || translate(encode(bytes, 'base64'), E'\n', '') AS base64,
	CASE n WHEN 2 THEN text::qfilter::bytea ELSE text::qsketch::bytea END = bytes AS same,
	length(text) > 4000000 AS pieces, length(bytes) % 3 AS left_over
FROM texts ORDER BY n;
CREATE FUNCTION pg_temp.reads(input text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM input::qsketch;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ' ' || left(sqlerrm, 100);
END $$;
-- what was packed text once, padding before the end, and what is no digit
SELECT pg_temp.reads('qsketch:' || code) FROM (VALUES (1, '~AAAA'), (2, ''), (3, 'A'), (4, 'AAAAA'), (5, 'AAA='), (6, 'AA=='), (7, 'A==='), (8, '===='),
	(9, 'AA=A'), (10, 'AA==AAAA'), (11, 'AAA=AAAA'), (12, 'AA==AA=='), (13, 'AAAA===='), (14, 'AA A'), (15, 'AAA-'), (16, 'AAA' || chr(127))) AS v (n, code) ORDER BY n;
SELECT pg_temp.reads(overlay(text PLACING '=' FROM place FOR 1)) LIKE '22P02 invalid input syntax for type qsketch: %' AS refused, count(*)
FROM texts, unnest(ARRAY[9, 4194304, 4194312, 4194313, length(text) - 2]) AS place WHERE n = 3 GROUP BY 1;
SELECT 'qsketch:~AAAA'::qsketch;
SELECT pg_temp.reads(overlay(text PLACING CASE substr(text, place, 1) WHEN 'A' THEN 'B' ELSE 'A' END FROM place FOR 1))
	LIKE '22P02 %' AS refused, count(*) FROM texts, generate_series(10, 3000, 97) AS place WHERE n = 1 GROUP BY 1;
