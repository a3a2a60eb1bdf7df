--
-- Bytes and text from outside that are no sketch, or nearly one: a clean error
-- each, and what is accepted can be used.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
-- one sketch of each structure, form and part
CREATE TEMP TABLE form (form text, query text);
INSERT INTO form VALUES ('empty', 'SELECT %s'),
	('explicit', 'SELECT qsketch_agg(k, k, %s) FROM generate_series(1, 5) AS k'),
	('dense', 'SELECT qsketch_agg(k, k, %s) FROM generate_series(1, 100) AS k'),
	('wide', 'SELECT qsketch_agg(k, 1::bigint << 33, %s) FROM generate_series(1, 100) AS k');
CREATE TEMP TABLE sample AS
SELECT structure, form, pg_temp.sketch(format(query, expr)) AS sk
FROM form, template WHERE size = '1kB';
INSERT INTO sample SELECT 'sf device', form, qsketch_sf_device(sk) FROM sample WHERE structure = 'sf';
INSERT INTO sample SELECT 'sf host', form, qsketch_sf_host(sk) FROM sample WHERE structure = 'sf';

CREATE FUNCTION pg_temp.state_of_bytes(b bytea) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN PERFORM b::qsketch; RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN RETURN sqlstate; END $$;
CREATE FUNCTION pg_temp.state_of_text(t text) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN PERFORM t::qsketch; RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN RETURN sqlstate; END $$;

-- Damage of every kind, in every place.  The same as text has another state.
CREATE FUNCTION pg_temp.damaged(b bytea) RETURNS TABLE (damage text, bytes bytea) LANGUAGE sql AS $$
	SELECT 'truncated', substr(b, 1, n) FROM generate_series(0, length(b) - 1) AS n
	UNION ALL SELECT 'extended', b || decode(repeat(fill, n), 'hex')
		FROM unnest(ARRAY[1, 4, 16, 32, 128, 100000]) AS n, unnest(ARRAY['00', 'ff']) AS fill
	UNION ALL SELECT 'bit flipped', set_bit(b, i * 8 + (i * 5 + length(b)) % 8,
			1 - get_bit(b, i * 8 + (i * 5 + length(b)) % 8))
		FROM generate_series(0, length(b) - 1) AS i
	UNION ALL SELECT 'bit of header flipped', set_bit(b, i, 1 - get_bit(b, i)) FROM generate_series(0, 479) AS i
	UNION ALL SELECT 'byte doubled', substr(b, 1, n) || substr(b, n) FROM generate_series(1, least(length(b), 70)) AS n
	UNION ALL SELECT 'shifted', '\x00'::bytea || b
	UNION ALL SELECT 'twice', b || b
	UNION ALL SELECT 'version', set_byte(b, 3, v) FROM unnest(ARRAY[0, 2, 255]) AS v
	UNION ALL SELECT 'giant', overlay(b PLACING decode(v, 'hex') FROM at + 1)
		FROM unnest(ARRAY[16, 40, 48]) AS at, unnest(ARRAY['ffffffffffffffff', 'ffffffffffffff7f',
			'0000000000000080', 'ffffffff00000000', '0000000001000000', '0000000000000010']) AS v
$$;
SELECT damage, pg_temp.state_of_bytes(bytes) AS state, count(DISTINCT (structure, form)) AS sketches
FROM sample, pg_temp.damaged(sk::bytea) GROUP BY damage, state ORDER BY damage, state;
SELECT damage, pg_temp.state_of_text('qsketch:' || translate(encode(bytes, 'base64'), E'\n', '')) AS state,
	count(DISTINCT (structure, form)) AS sketches
FROM sample, pg_temp.damaged(sk::bytea)
WHERE damage IN ('extended', 'bit of header flipped', 'version', 'giant')
GROUP BY damage, state ORDER BY damage, state;
SELECT damage, count(DISTINCT pg_temp.error_of(format('SELECT %L::bytea::qsketch', bytes))) AS errors,
	min(pg_temp.error_of(format('SELECT %L::bytea::qsketch', bytes))) AS first
FROM (SELECT sk::bytea AS b FROM sample WHERE structure = 'warp' AND form = 'explicit') AS s, pg_temp.damaged(b)
WHERE damage IN ('truncated', 'extended', 'version')
GROUP BY damage ORDER BY damage;

-- text that is no base64, or of something else
SELECT t, pg_temp.state_of_text(t) AS state
FROM unnest(ARRAY['', 'qsketch', 'qsketch:', 'qsketch:!', 'qsketch:====', 'qsketch:A', 'QSKETCH:UVNL',
	'qsketch:UVNL UVNL', E'qsketch:UVNL\n', '\x51534b', 'qsketch:UVNLAQ==', 'qsketch:w6nDqcOp',
	repeat('qsketch:', 10)]) AS t;
SELECT pg_temp.state_of_text('qsketch:' || repeat('A', 1000000)) AS zeros,
	pg_temp.state_of_text(repeat('q', 1000000)) AS long,
	pg_temp.state_of_bytes(''::bytea) AS empty,
	pg_temp.state_of_bytes(decode(repeat('00', 1000000), 'hex')) AS zero_bytes;

-- Bytes whose checksum is right tell what the other checks are worth.
CREATE FUNCTION pg_temp.crc32c(b bytea) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE crc bigint := 4294967295;
BEGIN
	FOR i IN 0 .. length(b) - 1 LOOP
		crc := crc # CASE WHEN i BETWEEN 12 AND 15 THEN 0 ELSE get_byte(b, i) END;
		FOR j IN 1 .. 8 LOOP
			crc := (crc >> 1) # (CASE crc & 1 WHEN 1 THEN 2197175160 ELSE 0 END);
		END LOOP;
	END LOOP;
	RETURN crc # 4294967295;
END $$;
CREATE FUNCTION pg_temp.with_crc(b bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT overlay(b PLACING substr(int8send(c), 8, 1) || substr(int8send(c), 7, 1) || substr(int8send(c), 6, 1)
		|| substr(int8send(c), 5, 1) FROM 13) FROM pg_temp.crc32c(b) AS c
$$;
SELECT bool_and(pg_temp.with_crc(sk::bytea) = sk::bytea) AS right_checksum
FROM sample WHERE form IN ('empty', 'explicit');

-- whatever is accepted: no function may do worse than a clean error
CREATE FUNCTION pg_temp.use(b bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE sk qsketch := b::qsketch; call text; states text := '';
BEGIN
	FOREACH call IN ARRAY ARRAY['qsketch_info($1)', 'qsketch_estimate($1, 1)', 'qsketch_estimate($1, ''a'')',
		'qsketch_estimate($1, ARRAY[1, 2, NULL])', 'qsketch_total($1)', '$1 || $1', '$1 - $1',
		'qsketch_add($1, 1)', 'qsketch_remove($1, 1)', 'qsketch_fold($1, ''1kB'')', 'qsketch_sf_host($1)',
		'qsketch_sf_full($1)',
		'CASE WHEN (qsketch_info($1)).size < 100000 THEN qsketch_sf_device($1) END', '$1::text::qsketch', 'qsketch_bounds($1, 1)',
		'qsketch_error($1)', '(SELECT qsketch_agg(k, $1) FROM generate_series(1, 3) AS k)',
		'(SELECT qsketch_merge_agg(s) FROM (VALUES ($1), ($1)) AS v(s))'] LOOP
		BEGIN
			EXECUTE 'SELECT ' || call USING sk;
		EXCEPTION WHEN OTHERS THEN
			IF sqlstate NOT IN ('22000', '22003', '22023', '22P02', '42804', '42809', '55000', '42P21') THEN
				states := states || call || ' ' || sqlstate || ' ' || sqlerrm;
			END IF;
		END;
	END LOOP;
	RETURN states;
END $$;
CREATE FUNCTION pg_temp.state_of_use(b bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN RETURN coalesce(nullif(pg_temp.use(b), ''), 'accepted');
EXCEPTION WHEN OTHERS THEN RETURN sqlstate; END $$;
CREATE TEMP TABLE changed AS
SELECT structure, form, at, pg_temp.state_of_use(pg_temp.with_crc(set_byte(sk::bytea, at, v))) AS state
FROM sample, generate_series(0, 59) AS at, unnest(ARRAY[0, 1, 5, 64, 255]) AS v
WHERE form IN ('empty', 'explicit') AND structure IN ('thread', 'multilevel', 'sf')
	AND at NOT BETWEEN 12 AND 15 AND get_byte(sk::bytea, at) <> v;
SELECT state, count(*) > 0 AS some, min(at) AS first, max(at) AS last FROM changed GROUP BY state ORDER BY state;

-- which bytes of the header may change: structure (some have equal ranges),
-- part, depth, z, masks, n, seed, family; these keys have no collation
SELECT form, string_agg(DISTINCT to_char(at, 'FM00'), ' ') AS accepted FROM changed WHERE state = 'accepted'
GROUP BY form ORDER BY form;

-- entries out of order, doubled, zero, negative; a wrong sum
CREATE FUNCTION pg_temp.entry(key bigint, n bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg(substr(int8send(v), 9 - i, 1), ''::bytea ORDER BY p, i)
	FROM (VALUES (1, key), (2, n)) AS e(p, v), generate_series(1, 8) AS i $$;
SELECT what, pg_temp.error_of(format('SELECT qsketch_total(%L::bytea::qsketch)', pg_temp.with_crc(
	substr(sk::bytea, 1, 40) || substr(pg_temp.entry(total, used), 1, 16) || '\x00000000' || entries))) AS error
FROM (SELECT qsketch_agg(k, k) AS sk FROM generate_series(1, 2) AS k) AS s,
	(VALUES (1, 'right', 3, 2, pg_temp.entry(1, 1) || pg_temp.entry(2, 2)),
		(2, 'out of order', 3, 2, pg_temp.entry(2, 2) || pg_temp.entry(1, 1)),
		(3, 'doubled', 3, 2, pg_temp.entry(1, 1) || pg_temp.entry(1, 2)),
		(4, 'zero count', 3, 2, pg_temp.entry(1, 0) || pg_temp.entry(2, 3)),
		(5, 'negative count', 3, 2, pg_temp.entry(1, -1) || pg_temp.entry(2, 4)),
		(6, 'sum too small', 4, 2, pg_temp.entry(1, 1) || pg_temp.entry(2, 2)),
		(7, 'sum too large', 2, 2, pg_temp.entry(1, 1) || pg_temp.entry(2, 2)),
		(8, 'sum overflows', 1, 2, pg_temp.entry(1, 9223372036854775807) || pg_temp.entry(2, 9223372036854775807)),
		(9, 'negative total', -3, 2, pg_temp.entry(1, 1) || pg_temp.entry(2, 2)),
		(10, 'more entries than bytes', 3, 3, pg_temp.entry(1, 1) || pg_temp.entry(2, 2)),
		(11, 'fewer entries than bytes', 1, 1, pg_temp.entry(1, 1) || pg_temp.entry(2, 2)),
		(12, 'entries overflow', 3, 1152921504606846978, pg_temp.entry(1, 1) || pg_temp.entry(2, 2)))
		AS v(n, what, total, used, entries)
ORDER BY n;

-- dense: a counter too large, one moved to another bucket, all zero
SELECT structure, form, what, pg_temp.error_of(format('SELECT qsketch_total(%L::bytea::qsketch)',
	pg_temp.with_crc(bytes))) AS error
FROM sample, LATERAL (VALUES ('counter', set_byte(sk::bytea, 61, 255)),
	('zeroed', substr(sk::bytea, 1, 60) || decode(repeat('00', length(sk::bytea) - 60), 'hex')),
	('rotated', substr(sk::bytea, 1, 60) || substr(sk::bytea, 62) || substr(sk::bytea, 61, 1))) AS v(what, bytes)
WHERE form = 'dense' ORDER BY structure, what;

-- parameters that qsketch_new() refuses because the sketch could not be stored
SELECT pg_temp.error_of(format('SELECT qsketch_total(%L::bytea::qsketch)', pg_temp.with_crc(
	overlay(set_byte(sk::bytea, 9, 64) PLACING decode('0000000100000000', 'hex') FROM 17)))) AS error
FROM sample WHERE structure = 'sf' AND form = 'empty';
-- fingerprints of numeric as no version of today makes them: refused wherever keys are compared, and named
CREATE TEMP TABLE making AS SELECT pg_temp.with_crc(set_byte(qsketch_agg(1.5)::bytea, 34, 0))::qsketch AS other, qsketch_agg(1.5) AS own FROM generate_series(1, 3);
SELECT (qsketch_info(other)).key_family, qsketch_total(other), (qsketch_info(own)).key_family AS own_family FROM making;
SELECT use, pg_temp.error_of(format('SELECT %s FROM making', use))
FROM unnest(ARRAY['qsketch_estimate(other, 1.5)', 'qsketch_estimate(other, ''1.5'')', 'qsketch_estimate(other, ARRAY[1.5])', 'qsketch_add(other, 1.5)', 'other || own',
	'own || other', 'other || other', '(SELECT qsketch_merge_agg(x) FROM (VALUES (other), (own)) AS v(x))']) AS use;
