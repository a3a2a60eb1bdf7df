--
-- Keys of all types: what SQL calls equal counts as one key, and what it does
-- not as two.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE DOMAIN label AS text;
CREATE DOMAIN state AS mood;

-- a, b: two keys; both are estimated from one sketch of them, and from sketches
-- of each alone
CREATE TEMP TABLE keys (n serial, a text, b text);
INSERT INTO keys (a, b) VALUES
	('7::smallint', '8::smallint'), ('7::int', '-7::int'), ('7::bigint', '7::bigint'),
	('7::smallint', '7::int'), ('7::int', '7::bigint'), ('-7::smallint', '-7::bigint'),
	('2147483648', '-2147483648::bigint'), ('7::positive', '7::int'), ('7::positive', '7::positive'),
	('1.0::numeric', '1.00::numeric'), ('1::numeric', '1.01::numeric'),
	('0::numeric', '-0.00::numeric'), ('''NaN''::numeric', '''NaN''::numeric'),
	('1e100::numeric', '1e100::numeric'), ('''Infinity''::numeric', '''Infinity''::numeric'),
	('''Infinity''::numeric', '''-Infinity''::numeric'), ('''NaN''::numeric', '''Infinity''::numeric'),
	('''-Infinity''::numeric', '''NaN''::numeric'),
	('0::float8', '''-0''::float8'), ('''NaN''::float8', '''NaN''::float8'),
	('''Infinity''::float8', '''Infinity''::float8'), ('0.1::float8', '0.1::float8'),
	('0::real', '''-0''::real'), ('''NaN''::real', '''NaN''::real'), ('0.5::real', '0.5::float8'),
	('0.1::real', '0.1::float8'), ('''NaN''::real', '''NaN''::float8'),
	('''a''::text', '''a ''::text'), ('''a''::text', '''A''::text'), ('''''::text', '''''::text'),
	('''a''::char(5)', '''a    ''::char(5)'), ('''a''::char(5)', '''a''::char(9)'),
	('''a''::char(5)', '''a''::text'), ('''a ''::varchar', '''a''::varchar'),
	('''a''::varchar(3)', '''a''::text'), ('''a''::name', '''a''::text'),
	('''a''::name', '''a''::name'), ('''a''::label', '''a''::text'),
	('''\x00''::bytea', '''\x0000''::bytea'), ('''\x''::bytea', '''\x''::bytea'),
	('true', 'false'), ('true', 'true'),
	('''00000000-0000-0000-0000-00000000000a''::uuid', '''{00000000-0000-0000-0000-00000000000A}''::uuid'),
	('date ''2024-02-29''', 'date ''Feb 29 2024'''), ('date ''infinity''', 'date ''-infinity'''),
	('timestamp ''2024-02-29 00:00''', 'timestamp ''2024-02-29 00:00:00.000001'''),
	('timestamptz ''2024-02-29 12:00+00''', 'timestamptz ''2024-02-29 14:00+02'''),
	('time ''24:00''', 'time ''00:00'''), ('timetz ''12:00+00''', 'timetz ''12:00+00'''),
	('interval ''1 day''', 'interval ''24 hours'''), ('interval ''1 month''', 'interval ''30 days'''),
	('interval ''1 month''', 'interval ''31 days'''),
	('inet ''10.0.0.1''', 'inet ''10.0.0.1/32'''), ('inet ''10.0.0.1/24''', 'inet ''10.0.0.1/25'''),
	('inet ''10.0.0.1''', 'cidr ''10.0.0.1'''), ('macaddr ''08:00:2b:01:02:03''', 'macaddr ''08002b:010203'''),
	('''a''::"char"', '''a''::"char"'), ('''a''::"char"', '''b''::"char"'),
	('1::oid', '1::oid'), ('1::oid', '2::oid'), ('''pg_class''::regclass', '''pg_class''::regclass'),
	('pg_lsn ''0/1''', 'pg_lsn ''0/1'''), ('''(0,1)''::tid', '''(0,2)''::tid'),
	('''ok''::mood', '''ok''::mood'), ('''ok''::mood', '''sad''::mood'),
	('ARRAY[1, 2]', 'ARRAY[1, 2]'), ('ARRAY[1, 2]', 'ARRAY[2, 1]'), ('ARRAY[1, NULL]', 'ARRAY[1, NULL]'),
	('ARRAY[1.0]', 'ARRAY[1.00]'), ('ARRAY[]::int[]', 'ARRAY[]::int[]'), ('ARRAY[''a'']', 'ARRAY[''a'']'),
	('ROW(1, ''a'')::pair', 'ROW(1, ''a'')::pair'), ('ROW(1, NULL)::pair', 'ROW(1, '''')::pair'),
	('int4range(1, 3)', 'int4range(1, 2, ''[]'')'), ('numrange(1.0, 2)', 'numrange(1.00, 2)'),
	('''{"a": 1, "b": 2}''::jsonb', '''{"b": 2, "a": 1}''::jsonb'), ('''1.0''::jsonb', '''1.00''::jsonb');

CREATE FUNCTION pg_temp.estimates(a text, b text, OUT equal boolean, OUT type text,
	OUT family text, OUT estimates bigint[]) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT a = b, pg_typeof(a) || CASE WHEN pg_typeof(a) <> pg_typeof(b)
			THEN '' and '' || pg_typeof(b) ELSE '''' END, (qsketch_info(sa)).key_family,
			ARRAY[%3$s(sa || sb, a), %3$s(sa || sb, b), %3$s(sa, a), %3$s(sa, b), %3$s(sb, a),
				%3$s(sb, b)]
		FROM (SELECT a, b, qsketch_agg(a) AS sa, qsketch_agg(b) AS sb
			FROM (SELECT %1$s AS a, %2$s AS b) AS k GROUP BY a, b) AS s', a, b,
		CASE WHEN a LIKE 'ARRAY%' THEN 'qsketch_estimate_key' ELSE 'qsketch_estimate' END)
		INTO equal, type, family, estimates;
END $$;
SELECT n, e.type, e.family, e.equal, e.estimates = CASE WHEN e.equal THEN '{2,2,1,1,1,1}'
	ELSE '{1,1,1,0,0,1}'::bigint[] END AS right
FROM keys, pg_temp.estimates(a, b) AS e ORDER BY n;

-- the same, of keys in the columns of a table: they are added by the same
-- functions when they become dense
CREATE TEMP TABLE many AS
SELECT i, i::smallint AS i2, i::bigint AS i8, i::text AS t, ('t' || i)::varchar(9) AS v,
	i::text::char(8) AS c, i::text::name AS na, decode(md5(i::text), 'hex') AS b,
	md5(i::text)::uuid AS u, i / 7.0 AS n, (i / 7.0)::real AS r, i / 7.0::float8 AS d,
	date '2000-01-01' + i AS da, timestamp '2000-01-01' + i * interval '1 s' AS ts,
	timestamptz '2000-01-01' + i * interval '1 s' AS tz, '10.0.0.0'::inet + i AS ip, i % 2 = 0 AS bo,
	i * interval '1 s' AS iv, i::oid AS o, ARRAY[i, NULL] AS a, ROW(i, i::text)::pair AS p,
	enum_range(NULL::mood) AS e, jsonb_build_object('i', i) AS j, i::positive AS po
FROM generate_series(1, 3000) AS i;
ALTER TABLE many ALTER e TYPE mood USING e[1 + i % 3];
INSERT INTO many SELECT * FROM many WHERE i % 3 = 0;
CREATE FUNCTION pg_temp.of_column(name text, OUT form text, OUT never_below boolean,
	OUT same_as_weights boolean, OUT same_as_added boolean) LANGUAGE plpgsql AS $$
DECLARE sk qsketch; weighted qsketch; added qsketch;
BEGIN
	EXECUTE format('SELECT qsketch_agg(%1$I, qsketch_new(size => ''16kB'')) FROM many', name) INTO sk;
	EXECUTE format('SELECT qsketch_agg(k, n, qsketch_new(size => ''16kB''))
		FROM (SELECT %1$I AS k, count(*) AS n FROM many GROUP BY 1) AS c', name) INTO weighted;
	EXECUTE format('SELECT qsketch_merge_agg(qsketch_add(qsketch_new(size => ''16kB''), %1$I))
		FROM many', name) INTO added;
	EXECUTE format('SELECT bool_and(%2$s($1, k) >= n)
		FROM (SELECT %1$I AS k, count(*) AS n FROM many GROUP BY 1) AS c', name,
		CASE WHEN name = 'a' THEN 'qsketch_estimate_key' ELSE 'qsketch_estimate' END)
		INTO never_below USING sk;
	form := (qsketch_info(sk)).form;
	same_as_weights := sk = weighted;
	same_as_added := sk = added;
END $$;
SELECT attname, format_type(atttypid, atttypmod) AS type, c.form, c.never_below, c.same_as_weights,
	c.same_as_added
FROM pg_attribute, pg_temp.of_column(attname) AS c
WHERE attrelid = 'many'::regclass AND attnum > 0 ORDER BY attnum;

-- an enum's label is the key: its OID does not survive dump and restore
CREATE TYPE answer AS ENUM ('no', 'yes');
CREATE TEMP TABLE answers AS
SELECT qsketch_agg(a) AS sk FROM unnest('{yes,yes,no}'::answer[]) AS a;
DROP TYPE answer;
CREATE TYPE answer AS ENUM ('yes', 'no', 'perhaps');
SELECT a, qsketch_estimate(sk, a) FROM answers, unnest(enum_range(NULL::answer)) AS a;

-- a label that was renamed is another key; a type that has the old one can ask for it
ALTER TYPE answer RENAME VALUE 'yes' TO 'yea';
CREATE TYPE old_answer AS ENUM ('yes');
SELECT qsketch_estimate(sk, 'yea'::answer) AS renamed, qsketch_estimate(sk, 'yes'::old_answer) AS old FROM answers;
DROP TYPE answer, old_answer;

-- batches of every type
SELECT qsketch_estimate(sk, '{a,b,NULL}'::text[]) AS text,
	qsketch_estimate(sk, '{a,b,NULL}'::varchar[]) AS varchar,
	qsketch_estimate(sk, '{a,b,NULL}'::char(5)[]) AS char,
	qsketch_estimate(sk, '{a,b,NULL}'::name[]) AS name,
	qsketch_estimate_key(sk, 'a'::char(5)) AS char_key,
	qsketch_estimate_key(sk, 'a'::name) AS name_key
FROM (SELECT qsketch_agg(t::char(3)) AS sk FROM unnest('{a,a}'::text[]) AS t) AS s;

-- unknown literals are text
SELECT qsketch_estimate(qsketch_agg('a'), 'a') AS a, qsketch_estimate(qsketch_agg('a'), NULL) AS null
FROM generate_series(1, 3);

-- types that cannot be keys
SELECT t, pg_temp.error_of(format('SELECT qsketch_agg(%L::%s)', v, t)) AS error
FROM (VALUES (1, 'point', '(1,2)'), (2, 'json', '1'), (3, 'bit(3)', '101'), (4, 'money', '1'),
	(5, 'tsvector', 'a'), (6, 'json[]', '{1}'), (7, 'qsketch', qsketch_new()::text)) AS v(n, t, v)
ORDER BY n;
SELECT qsketch_agg('{}'::json);
SELECT qsketch_agg(qsketch_new());

-- a sketch of one kind of keys and a key, or a sketch, of another
CREATE TEMP TABLE kind AS
SELECT qsketch_agg(i) AS i, qsketch_agg(t) AS t, qsketch_agg(n) AS n, qsketch_agg(d) AS d,
	qsketch_agg(da) AS da, qsketch_agg(ts) AS ts, qsketch_agg(tz) AS tz, qsketch_agg(u) AS u,
	qsketch_agg(e) AS e FROM many WHERE many.i < 5;
SELECT statement, pg_temp.error_of('SELECT ' || statement || ' FROM kind') AS error
FROM unnest(ARRAY['qsketch_estimate(i, concat(''1''))', 'qsketch_estimate(i, 1.0)',
	'qsketch_estimate(i, 1::float8)', 'qsketch_estimate(i, ARRAY[1.0])',
	'qsketch_estimate_key(i, ARRAY[1])',
	'qsketch_estimate(i, ''{sad}''::mood[])', 'qsketch_estimate(t, 1)',
	'qsketch_estimate(t, ''a''::bytea)', 'qsketch_estimate(n, 1)', 'qsketch_estimate(n, 1::float8)',
	'qsketch_estimate(d, 1)', 'qsketch_estimate(da, timestamp ''2000-01-01'')',
	'qsketch_estimate(ts, timestamptz ''2000-01-01'')', 'qsketch_estimate(e, ''sad'')',
	'qsketch_estimate(u, concat(''x''))', 'qsketch_add(i, concat(''1''))', 'qsketch_remove(i, concat(''1''))',
	'i || t', 't - i',
	'qsketch_merge(n, d)',
	'qsketch_bounds(i, 1.0)', 'qsketch_estimate_unbiased(i, concat(''1''))'])
	WITH ORDINALITY AS s(statement, n)
ORDER BY n;
SELECT qsketch_merge_agg(s) FROM (SELECT i AS s FROM kind UNION ALL SELECT t FROM kind) AS s;
SELECT qsketch_estimate(i || qsketch_new(), 3) AS left, qsketch_estimate(qsketch_new() || i, 3) AS right,
	qsketch_estimate(t, 'x'::label) AS label, qsketch_estimate(i, 3::positive) AS positive
FROM kind;

-- a literal, or a parameter, is read as the type of the sketch's keys
CREATE TEMP TABLE literal (n serial, type text, key text, absent text, bad text);
INSERT INTO literal (type, key, absent, bad) VALUES
	('smallint', '7', '-7', '7.5'), ('int', ' 7', '8', 'x'), ('bigint', '7', '77', '9223372036854775808'),
	('numeric', '1.00', '2', '1..'), ('real', '0.5', '0.25', '0.1'), ('float8', '-0', '1', '0.1'), ('float8', '1e300', 'NaN', ''), ('float8', '1e-300', 'infinity', 'x'),
	('text', 'a', 'A', NULL), ('varchar', 'a', 'a ', NULL), ('name', 'a', 'b', NULL),
	('char(3)', 'a', 'b', NULL), ('"char"', 'a', 'b', NULL), ('bytea', '\x00', '\x', '\xg'),
	('boolean', 'yes', 'f', 'maybe'), ('uuid', '{0000000000000000000000000000000A}', '0000000000000000000000000000000b', ''),
	('inet', '10.0.0.1', '10.0.0.2', '10.0.0.256'), ('cidr', '10.0.0.0/8', '10.0.0.0/9', '10'),
	('macaddr', '08:00:2b:01:02:03', '08:00:2b:01:02:04', 'x'), ('oid', '7', '8', 'x'), ('jsonb', '{"a": 1}', '{"a":2}', '{'),
	('date', '2024-02-29', '2024-03-01', '2024-02-30'), ('date', 'infinity', '-infinity', 'never'),
	('timestamp', '2024-02-29 12:00', '2024-02-29T12:01:00.5', '2024-02-29 25:00'),
	('timestamptz', '2024-02-29 12:00+00', '2024-02-29T12:00:01Z', '2024-02-29 12:00+99'),
	('time', '12:00', '12:00:01', '25:00'), ('timetz', '12:00+02', '12:00-02', '25:00+00');
CREATE FUNCTION pg_temp.read_literal(type text, key text, absent text, bad text, OUT bulk bigint[],
	OUT others text, OUT added bigint, OUT error text) LANGUAGE plpgsql AS $$
DECLARE sk qsketch;
BEGIN
	EXECUTE format('SELECT qsketch_agg(k) FROM (SELECT %L::%s AS k FROM generate_series(1, 3)) AS k', key, type) INTO sk;
	EXECUTE format('SELECT qsketch_estimate($1, ARRAY[%L, %L, NULL]::text[])', key, absent) INTO bulk USING sk;
	EXECUTE format('SELECT concat_ws('' '', qsketch_estimate($1, %1$L), qsketch_estimate($1, %2$L),
		qsketch_estimate_unbiased($1, %1$L), qsketch_bounds($1, %1$L))', key, absent) INTO others USING sk;
	added := qsketch_estimate(qsketch_remove(qsketch_add(qsketch_add(sk, key), key, 5), key, 2), key);
	IF bad IS NOT NULL THEN
		error := pg_temp.error_of(format('SELECT qsketch_estimate(%L::qsketch, %L)', sk, bad));
	END IF;
END $$;
SELECT type, r.* FROM literal, pg_temp.read_literal(type, key, absent, bad) AS r ORDER BY n;
PREPARE with_parameter(text) AS SELECT qsketch_estimate(i, $1), qsketch_estimate(u, $1) FROM kind;
EXECUTE with_parameter('3');
SET plan_cache_mode = force_generic_plan;
PREPARE generic(text) AS SELECT qsketch_estimate(i, $1) AS i, qsketch_estimate(t, $1) AS t FROM kind;
EXECUTE generic('3');
RESET plan_cache_mode;
DEALLOCATE ALL;
-- sketches of many kinds in one column: each as it needs
SELECT qsketch_estimate(s, '3') FROM (SELECT unnest(ARRAY[i, t, n, qsketch_new(), d, i]) AS s FROM kind) AS s;
-- but a column of text is text
SELECT qsketch_estimate(i, k) FROM kind, (VALUES ('3'), ('4')) AS k(k);
-- dates and times in a form that means the same under all settings
SELECT t, v, pg_temp.error_of(format('SELECT qsketch_estimate(qsketch_agg(%1$L::%2$s), %1$L)', v, t)) AS error
FROM (VALUES (1, 'date', '29.02.2024'), (2, 'date', 'today'), (3, 'date', '2024-02-29 BC'),
	(4, 'date', '24-2-9'), (5, 'date', '2024-2-9'), (6, 'timestamp', 'now'), (7, 'timestamp', '2024-02-29'), (13, 'timestamp', '2024-02-29 noon'),
	(8, 'timestamptz', '2024-02-29 12:00'), (9, 'timestamptz', '2024-02-29 12:00 CET'),
	(10, 'timestamptz', '2024-02-29 12:00-03:30'), (11, 'timetz', '12:00 UTC'), (12, 'interval', '1 day'))
	AS v(n, t, v)
ORDER BY n;
SELECT qsketch_estimate(qsketch_agg(date '2024-02-29'), '1/2/2024');
SELECT qsketch_estimate(qsketch_agg(interval '1 day'), '1 day');

-- a size or a structure in place of a template
SELECT qsketch_agg(i, 1, '1MB') FROM many;
SELECT qsketch_agg(i, 1, 'multilevel') FROM many;
SELECT '16 kb'::qsketch;
SELECT 'gigantic'::qsketch;

-- transition functions are for aggregates, also with what other functions made
SELECT _qsketch_agg_trans(qsketch_add(sk, t), k)
FROM (SELECT qsketch_new() AS sk, t, i AS k FROM many ORDER BY i LIMIT 1) AS s;

-- keys of an extension or a user: the family is known by its name
CREATE FUNCTION point_hash(point, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS
	'SELECT hashfloat8extended($1[0], $2)';
CREATE FUNCTION point_hash(point) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS
	'SELECT hashfloat8($1[0])';
CREATE FUNCTION point_equal(point, point) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS
	'SELECT $1[0] = $2[0]';
CREATE OPERATOR === (LEFTARG = point, RIGHTARG = point, FUNCTION = point_equal, COMMUTATOR = ===,
	HASHES);
CREATE OPERATOR CLASS test_ops DEFAULT FOR TYPE point USING hash AS OPERATOR 1 ===,
	FUNCTION 1 point_hash(point), FUNCTION 2 point_hash(point, bigint);
CREATE TEMP TABLE points AS
SELECT qsketch_agg(p) AS sk FROM unnest(ARRAY[point '(1,2)', '(1,3)']) AS p;
SELECT (qsketch_info(sk)).key_family, qsketch_estimate(sk, point '(1,9)') AS one,
	qsketch_estimate(sk, point '(2,2)') AS two,
	pg_temp.error_of(format('SELECT qsketch_estimate(%L, 1)', sk)) AS error
FROM points;
DROP OPERATOR FAMILY test_ops USING hash;
SELECT (qsketch_info(sk)).key_family ~ '^unrecognized family [0-9]+$' AS unrecognized,
	pg_temp.error_of(format('SELECT qsketch_estimate(%L, point ''(1,9)'')', sk)) AS error
FROM points;

DROP TABLE many;
DROP OPERATOR === (point, point);
DROP FUNCTION point_hash(point), point_hash(point, bigint), point_equal(point, point);
DROP DOMAIN state, label, positive;
DROP TYPE pair, mood;
