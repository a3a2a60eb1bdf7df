--
-- Top keys of all types: their values come back as they were, whatever the
-- settings; and what is no such value is an error
--
CREATE FUNCTION pg_temp.error_of(statement text) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN EXECUTE statement; RETURN 'no error';
EXCEPTION WHEN OTHERS THEN RETURN sqlstate || ' ' || sqlerrm; END $$;
CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN even AS int CHECK (value % 2 = 0);
CREATE DOMAIN word AS text CHECK (value ~ '^\w+$');

-- the first value twice, the second once; read back as its own type, and as text
CREATE FUNCTION pg_temp.round_trip(type text, a text, b text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t qtop; same boolean; shown text; BEGIN
	EXECUTE format('SELECT qtop_agg(k, 2) FROM (VALUES (%1$L::%3$s), (%2$L), (%1$L)) AS v(k)', a, b, type) INTO t;
	SET datestyle = 'SQL, DMY'; SET timezone = 'Asia/Tokyo'; SET intervalstyle = 'sql_standard'; SET extra_float_digits = -5; SET bytea_output = escape;
	EXECUTE format('SELECT bool_and(key = CASE estimate WHEN 2 THEN %1$L::%3$s ELSE %2$L END) AND sum(lower) = 3 FROM qtop_list($1, 2, NULL::%3$s)',
		a, b, type) INTO same USING t;
	SELECT string_agg(key, ' | ' ORDER BY estimate DESC) INTO shown FROM qtop_text(t, 2);
	RESET datestyle; RESET timezone; RESET intervalstyle; RESET extra_float_digits; RESET bytea_output;
	RETURN CASE WHEN same THEN shown ELSE 'differs: ' || shown END;
END $$;
SET datestyle = 'ISO, YMD';
SELECT type, pg_temp.round_trip(type, a, b) FROM (VALUES
	('smallint', '-5', '32767'), ('integer', '-5', '2147483647'), ('bigint', '-9223372036854775808', '7'), ('even', '4', '-6'),
	('text', 'déjà vu', ''), ('varchar(20)', 'a b', E'\ttab'), ('char(5)', 'ab', 'c'), ('"char"', 'x', ''), ('name', 'n', 'm'), ('word', 'w', 'v'),
	('bytea', '\x00ff', '\x'), ('uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '00000000-0000-0000-0000-000000000000'),
	('numeric', '1.50', '-12345678901234567890.5'), ('real', '0.1', '1e-30'), ('float8', '0.1', '-1.7976931348623157e308'),
	('date', '2026-02-01', '0044-03-15 BC'), ('time', '12:34:56.789', '00:00'), ('timetz', '12:00+05:30', '12:00-08'),
	('timestamp', '2026-02-01 12:00', 'infinity'), ('timestamptz', '2026-02-01 12:00+00', '-infinity'), ('interval', '1 mon 2 days -03:00', '1 year'),
	('inet', '10.0.0.1', '::1/64'), ('macaddr', '08:00:2b:01:02:03', '00:00:00:00:00:00'), ('boolean', 't', 'f'), ('oid', '42', '0'),
	('mood', 'it''s ok', 'sad'), ('pair', '(1,"a, b")', '(,)'), ('int[]', '{1,NULL,3}', '{}'), ('text[]', '{"a,b",NULL}', '{"\""}'), ('mood[]', '{sad}', '{}'),
	('float8[]', '{0.1,0.30000000000000004}', '{}'), ('timestamptz[]', '{"2026-02-01 12:00+00"}', '{}'),
	('int4range', '[1,5)', 'empty'), ('jsonb', '{"a": [1, null]}', '"x"'), ('pg_lsn', '0/916B3748', '2A/FFFFFFFF')) AS v(type, a, b);
RESET datestyle;

-- under any setting that input and output functions look at: the same bytes, and the keys are read back
CREATE TYPE moment AS (at timestamptz, span interval, names text[]);
CREATE TYPE moments AS RANGE (subtype = timestamptz);
CREATE TEMP TABLE setting (name text, value text);
INSERT INTO setting VALUES ('array_nulls', 'off'), ('datestyle', 'SQL, DMY'), ('datestyle', 'German'), ('datestyle', 'Postgres, MDY'),
	('intervalstyle', 'sql_standard'), ('intervalstyle', 'iso_8601'), ('timezone', 'Asia/Tokyo'), ('timezone', 'BC+7'), ('timezone_abbreviations', 'India'),
	('extra_float_digits', '-15'), ('extra_float_digits', '3'), ('bytea_output', 'escape'), ('lc_monetary', 'de_DE.utf8'), ('lc_numeric', 'de_DE.utf8'),
	('lc_time', 'de_DE.utf8'), ('xmlbinary', 'hex'), ('xmloption', 'document'), ('quote_all_identifiers', 'on'), ('search_path', 'pg_temp, public, pg_catalog'),
	('search_path', 'public'), ('backslash_quote', 'off'), ('standard_conforming_strings', 'off'), ('client_encoding', 'latin1'),
	('default_text_search_config', 'french'), ('row_security', 'off'), ('transform_null_equals', 'on'), ('a temporary table', 'pg_opclass');
-- the first key twice, the second once
CREATE FUNCTION pg_temp.under(setting text, value text, a anyelement, b anyelement) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t qtop; same boolean; BEGIN
	SELECT qtop_agg(k, 2) INTO t FROM (VALUES (a), (a), (b)) AS v(k);
	IF setting = 'a temporary table' THEN
		EXECUTE format('CREATE TEMP TABLE %I ()', value);
	ELSE
		PERFORM set_config(setting, value, true);
	END IF;
	SELECT qtop_agg(k, 2)::bytea = t::bytea INTO same FROM (VALUES (a), (a), (b)) AS v(k);
	SELECT same AND sum(lower) = 3 AND bool_and(key = CASE estimate WHEN 2 THEN a ELSE b END) INTO same FROM qtop_list(t, 2, a);
	RAISE triggered_action_exception;   -- takes the setting back
EXCEPTION
	WHEN triggered_action_exception THEN RETURN CASE WHEN same THEN 'same' ELSE 'differs' END;
	WHEN invalid_parameter_value OR feature_not_supported THEN RETURN 'same';   -- no such value here, or in this version
	WHEN OTHERS THEN RETURN sqlerrm;
END $$;
CREATE FUNCTION pg_temp.under_all(type text, a text, b text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT name || '' '' || value || '': '' || found FROM setting, pg_temp.under(name, value, %L::%s, %L) AS found WHERE found <> ''same''',
		a, type, b);
END $$;
CREATE TEMP TABLE sample_key (type text, a text, b text);
INSERT INTO sample_key VALUES ('text[]', '{"a,b",NULL}', '{"NULL"}'), ('int[]', '{1,NULL,3}', '{}'), ('date', '2026-02-01', '0044-03-15 BC'),
	('timestamp', '2026-02-01 12:00', '0044-03-15 01:02:03 BC'), ('timestamptz', '2026-02-01 12:00+00', '0044-03-15 01:02:03+00 BC'),
	('timetz', '12:00+05:30', '12:00-08'), ('interval', '1 mon -2 days -03:00', '-1 year 2 mons 3 days'), ('float8', '0.1', '0.30000000000000004'),
	('real', '0.1', '1e-30'), ('bytea', '\x00ff', '\x5c'), ('numeric', '1234567.5', '-0.5'),
	('regclass', 'pg_opclass', 'setting'), ('regtype', 'timestamptz', 'moment'), ('regproc', 'pg_catalog.array_in', 'qtop_info'),
	('regprocedure', 'pg_catalog.lower(text)', 'qtop_info(qtop)'), ('regoper', 'pg_catalog.|/', 'pg_catalog.||/'), ('regoperator', '+(integer,integer)', '||(qtop,qtop)'),
	('regnamespace', 'pg_catalog', 'public'), ('regconfig', 'french', 'english'), ('regdictionary', 'simple', 'french_stem'), ('regcollation', '"C"', '"POSIX"'),
	('jsonb', '{"a": [1, null], "t": "\u00e9"}', '"2026-02-01"'), ('tsrange', '["2026-02-01 12:00",)', '["0044-03-15 BC","2026-02-01 12:00")'),
	('tstzmultirange', '{["2026-02-01 12:00+00",)}', '{}'), ('moments', '["2026-02-01 12:00+00",)', 'empty'), ('date[]', '{2026-02-01,NULL,"0044-03-15 BC"}', '{infinity}'),
	('interval[]', '{"1 mon -2 days -03:00",NULL}', '{"-1 year 2 mons"}'), ('bytea[]', '{"\\x00ff",NULL}', '{"\\x5c"}'),
	('float8[]', '{0.1,NULL}', '{0.30000000000000004}'), ('regclass[]', '{pg_opclass,NULL}', '{setting}'), ('moment', '("2026-02-01 12:00+00","-1 mon","{NULL,x}")', '(,,)'),
	('moment[]', '{"(\"2026-02-01 12:00+00\",\"-1 mon\",\"{NULL,x}\")",NULL}', '{"(,,)"}');
SELECT type, pg_temp.under_all(type, a, b) FROM sample_key;
-- no key is XML, so how XML is read does not matter
SELECT left(pg_temp.error_of('SELECT qtop_agg(xmlparse(content ''a''), 2)'), 5), left(pg_temp.error_of('SELECT qtop_agg(ARRAY[xmlparse(content ''a'')], 2)'), 5);
DROP TYPE moment, moments;

-- equal keys are one, with the value of one of them; types of one family read one another
SELECT * FROM qtop_text((SELECT qtop_agg(k, 3) FROM unnest(ARRAY[1.0, 1.00, 2]) AS k), 3);
SELECT * FROM qtop_list((SELECT qtop_agg(k, 3) FROM unnest('{a,a,b}'::char(3)[]) AS k), 3, NULL::text);
SELECT * FROM qtop_list((SELECT qtop_agg(k, 3) FROM unnest('{1,1,2}'::smallint[]) AS k), 3, NULL::bigint);
SELECT * FROM qtop_list((SELECT qtop_agg(k, 3) FROM unnest('{0.5,0.5}'::real[]) AS k), 3, NULL::float8);
-- rows
SELECT * FROM qtop_text((SELECT qtop_agg(k, 3) FROM (VALUES (ROW(1, 'x')::pair), (ROW(1, 'x')::pair)) AS v(k)), 3);
-- long values, also compressed and out of line
CREATE TABLE long (k text);
ALTER TABLE long ALTER k SET STORAGE EXTERNAL;
INSERT INTO long SELECT repeat(chr(65 + i % 3), 5000 + i % 3) FROM generate_series(0, 40) AS i;
INSERT INTO long VALUES (repeat('z', 3000000)), (repeat('z', 3000000));
SELECT left(key, 3) AS key, length(key), estimate, lower FROM qtop_text((SELECT qtop_agg(k, 4) FROM long), 4);
SELECT left(key, 3) AS key, length(key), estimate FROM qtop_list((SELECT qtop_merge_agg(t) FROM (SELECT qtop_agg(k, 4) AS t FROM long GROUP BY ctid) AS s), 4, NULL::text);
DROP TABLE long;

-- types that do not fit, and values that their type refuses by now
CREATE TABLE kept AS SELECT 'even' AS type, qtop_agg(k, 3) AS t FROM unnest('{4,5}'::int[]) AS k
UNION ALL SELECT 'mood', qtop_agg(m, 3) FROM unnest('{sad,happy}'::mood[]) AS m
UNION ALL SELECT 'word', qtop_agg(k, 3) FROM unnest('{a b,c}'::text[]) AS k;
SELECT type, pg_temp.error_of(format('SELECT * FROM kept, qtop_list(t, 3, NULL::%s) WHERE type = %L', type, type)) FROM kept ORDER BY type COLLATE "C";
ALTER TYPE mood RENAME VALUE 'sad' TO 'sorry';
SELECT pg_temp.error_of('SELECT qtop_list(t, 3, NULL::mood) FROM kept WHERE type = ''mood''');
SELECT key FROM kept, qtop_text(t, 3) WHERE type = 'mood' ORDER BY key;
SELECT pg_temp.error_of('SELECT qtop_list(t, 3, NULL::uuid) FROM kept WHERE type = ''word''');

--
-- Bytes that somebody made up
--
CREATE FUNCTION pg_temp.crc32c(b bytea) RETURNS bigint LANGUAGE plpgsql AS
$$ DECLARE crc bigint := 4294967295; BEGIN
	FOR i IN 0 .. length(b) - 1 LOOP
		crc := crc # get_byte(b, i);
		FOR j IN 1 .. 8 LOOP
			crc := CASE WHEN crc & 1 = 1 THEN (crc >> 1) # 2197175160 ELSE crc >> 1 END;
		END LOOP;
	END LOOP;
	RETURN crc # 4294967295;
END $$;
CREATE FUNCTION pg_temp.sealed(b bytea, at int) RETURNS bytea LANGUAGE plpgsql AS
$$ DECLARE crc bigint; BEGIN
	b := overlay(b PLACING '\x00000000' FROM at + 1);
	crc := pg_temp.crc32c(b);
	FOR i IN 0 .. 3 LOOP b := set_byte(b, at + i, ((crc >> i * 8) & 255)::int); END LOOP;
	RETURN b;
END $$;
-- both checksums right: the sketch's own, whose length is at 24, and that of all
CREATE FUNCTION pg_temp.repaired(b bytea) RETURNS bytea LANGUAGE sql AS $$
	SELECT pg_temp.sealed(overlay(b PLACING pg_temp.sealed(substr(b, 65, sketch), 12) FROM 65), 8)
	FROM (SELECT get_byte(b, 24) + 256 * get_byte(b, 25) AS sketch) AS s
$$;
CREATE FUNCTION pg_temp.error_of_bytes(b bytea) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN PERFORM b::qtop; RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN RETURN sqlstate || ' ' || sqlerrm; END $$;
CREATE TEMP TABLE sample AS SELECT qtop_agg(k, 3)::bytea AS b FROM unnest('{hello,world,world}'::text[]) AS k;
CREATE TEMP TABLE numbers AS SELECT qtop_agg(k, 3)::bytea AS b FROM unnest('{1,2,2}'::bigint[]) AS k;
SELECT pg_temp.repaired(b) = b AS same FROM sample;
-- header 64, sketch 60 + 2 * 12, which has the counts, texts 2 * (5 + 1)
SELECT length(b), encode(substr(b, 149), 'escape') IN ('hello\000world\000', 'world\000hello\000') AS texts FROM sample;
SELECT what, pg_temp.error_of_bytes(pg_temp.repaired(damaged)) FROM sample, LATERAL (VALUES
	(1, 'another text', set_byte(b, 148, 106)), (2, 'no UTF-8', set_byte(b, 148, 255)), (3, 'a zero', set_byte(b, 148, 0)),
	(4, 'a cut character', set_byte(b, 158, 195)), (5, 'another encoding', set_byte(b, 13, 8)),
	(6, 'a high byte of no encoding', set_byte(set_byte(set_byte(b, 13, 0), 75, 2), 148, 228)),
	(7, 'keys of uuid', overlay(b PLACING '\x990b0000' FROM 65 + 32)), (8, 'without texts', set_byte(b, 12, 0)),
	(9, 'a giant text', overlay(b PLACING '\xffffff7f' FROM 1 + 40)), (10, 'a text less', set_byte(b, 159, 65)),
	(11, 'n', overlay(b PLACING '\xffffff7f' FROM 5))) AS v(i, what, damaged) ORDER BY i;
-- what is accepted says what it is when it is read as a key
SELECT pg_temp.error_of(format('SELECT qtop_list(%L::bytea::qtop, 3, NULL::%s)', pg_temp.repaired(bytes), type))
FROM sample, LATERAL (VALUES (set_byte(b, 148, 106), 'text'), (set_byte(b, 148, 106), 'varchar'), (overlay(b PLACING '\x990b0000' FROM 65 + 32), 'uuid'),
	(overlay(b PLACING '\x990b0000' FROM 65 + 32), 'text')) AS v(bytes, type);
SELECT pg_temp.error_of_bytes(pg_temp.repaired(set_byte(b, 65 + 31, 9))) AS other_family, pg_temp.error_of_bytes(pg_temp.repaired(set_byte(set_byte(b, 12, 1), 13, 6))) AS texts
FROM numbers;
-- each bit behind right checksums: an error, or a list that can be used
CREATE FUNCTION pg_temp.use(t qtop) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN PERFORM qtop_text(t, 1), qtop_info(t), qtop_sketch(t), t || t, qtop_add(t, 'x'::text), t - t, qtop_growth(t, qtop_new(1), 1); RETURN 'used';
EXCEPTION WHEN datatype_mismatch OR collation_mismatch OR numeric_value_out_of_range THEN RETURN sqlstate; END $$;
CREATE TEMP TABLE mutant AS SELECT i, pg_temp.repaired(set_bit(b, i, 1 - get_bit(b, i))) AS bytes
FROM sample, generate_series(0, length(b) * 8 - 1) AS i WHERE i NOT BETWEEN 24 * 8 AND 32 * 8 - 1 AND i % 3 = 0;
SELECT regexp_replace(error COLLATE "C", '\d{9,}', 'N') AS error, count(*) > 0 AS some FROM (SELECT pg_temp.error_of_bytes(bytes) AS error FROM mutant) AS e GROUP BY 1 ORDER BY 1;
SELECT pg_temp.use(bytes::qtop) COLLATE "C", count(*) > 0 AS some FROM mutant WHERE pg_temp.error_of_bytes(bytes) = 'accepted' GROUP BY 1 ORDER BY 1;
-- a text with a zero byte, which no input function makes: it ends there, as where it is shown
BEGIN;
CREATE CAST (bytea AS text) WITHOUT FUNCTION;
SELECT t::bytea::qtop = t AS same, l.* FROM (SELECT qtop_add(qtop_agg(k::text, 3), '\x7a0078'::bytea::text) AS t FROM unnest('{"\\x610062","\\x78"}'::bytea[]) AS k) AS s, qtop_text(t) AS l ORDER BY key;
ROLLBACK;
-- text
SELECT t, pg_temp.error_of(format('SELECT %L::qtop', t)) FROM unnest(ARRAY['', '10', 'qtop:', 'qtop:!', 'qsketch:UVNL', 'qtop:UVRQAQ==', 'qtop:UVRQAg==']) AS t;
SELECT '10'::qtop;
SELECT qsketch_new()::bytea::qtop;
SELECT qtop_new(5)::bytea::qsketch;
DROP TABLE kept;
DROP TYPE mood, pair;
DROP DOMAIN even, word;
