--
-- Bytes and text from outside that are no filter, or nearly one: a clean error
-- each, and what is accepted can be used.
--
CREATE TEMP TABLE sample AS
SELECT 'empty' AS form, qfilter_new(1000, 100) AS f
UNION ALL SELECT 'compact', qfilter_row_agg(k, k, qfilter_new(1000, 100)) FROM generate_series(1, 20) AS k
UNION ALL SELECT 'tiny', qfilter_row_agg(k, k, qfilter_new(1000, 900, 0.5)) FROM generate_series(1, 900) AS k
UNION ALL SELECT 'bloom', qfilter_agg(k, qfilter_new_bloom(100)) FROM generate_series(1, 100) AS k
UNION ALL SELECT 'odd', qfilter_agg(k, qfilter_new_bloom(100, 0.01, 0, 'standard')) FROM generate_series(1, 100) AS k;
SELECT form, length(f::bytea) AS bytes, (qfilter_info(f)).form FROM sample ORDER BY 1;

CREATE FUNCTION pg_temp.state_of_bytes(b bytea) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN PERFORM b::qfilter; RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN RETURN sqlstate; END $$;
CREATE FUNCTION pg_temp.state_of_text(t text) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN PERFORM t::qfilter; RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN RETURN sqlstate; END $$;
CREATE FUNCTION pg_temp.error_of_bytes(b bytea) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN PERFORM b::qfilter; RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN RETURN sqlstate || ' ' || sqlerrm; END $$;

-- the checksum put right again, so that what stands behind it is tested
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
CREATE FUNCTION pg_temp.sealed(b bytea) RETURNS bytea LANGUAGE plpgsql AS
$$ DECLARE crc bigint; BEGIN
	IF length(b) < 16 THEN RETURN b; END IF;
	b := overlay(b PLACING '\x00000000' FROM 13);
	crc := pg_temp.crc32c(b);
	FOR i IN 0 .. 3 LOOP b := set_byte(b, 12 + i, (crc >> i * 8)::bit(64)::bigint::int & 255); END LOOP;
	RETURN b;
EXCEPTION WHEN numeric_value_out_of_range THEN
	FOR i IN 0 .. 3 LOOP b := set_byte(b, 12 + i, ((crc >> i * 8) & 255)::int); END LOOP;
	RETURN b;
END $$;
SELECT form, pg_temp.sealed(f::bytea) = f::bytea AS same FROM sample WHERE length(f::bytea) < 2000 ORDER BY 1;

CREATE FUNCTION pg_temp.damaged(b bytea) RETURNS TABLE (damage text, bytes bytea) LANGUAGE sql AS $$
	SELECT 'truncated', substr(b, 1, n) FROM generate_series(0, length(b) - 1) AS n
	UNION ALL SELECT 'extended', b || decode(repeat(fill, n), 'hex')
		FROM unnest(ARRAY[1, 4, 8, 64, 100000]) AS n, unnest(ARRAY['00', 'ff']) AS fill
	UNION ALL SELECT 'bit flipped', set_bit(b, i, 1 - get_bit(b, i)) FROM generate_series(0, length(b) * 8 - 1) AS i
	UNION ALL SELECT 'shifted', '\x00'::bytea || b
	UNION ALL SELECT 'twice', b || b
	UNION ALL SELECT 'version', set_byte(b, 3, v) FROM unnest(ARRAY[0, 2, 255]) AS v
	UNION ALL SELECT 'giant', overlay(b PLACING decode(v, 'hex') FROM at + 1)
		FROM unnest(ARRAY[8, 16, 40, 48, 52]) AS at, unnest(ARRAY['ffffffffffffffff', 'ffffffffffffff7f',
			'0000000000000080', 'ffffffff00000000', '0000000001000000', '0000000000000010']) AS v
$$;
SELECT damage, pg_temp.state_of_bytes(bytes) AS state, count(DISTINCT form) AS filters
FROM sample, pg_temp.damaged(f::bytea) WHERE length(f::bytea) < 2000 GROUP BY 1, 2 ORDER BY 1, 2;

-- Each bit of small filters with a right checksum: what is accepted can be used,
-- and says something else.
CREATE TEMP TABLE mutant AS
SELECT form, i, pg_temp.sealed(set_bit(b, i, 1 - get_bit(b, i))) AS bytes
FROM (SELECT form, f::bytea AS b FROM sample WHERE form IN ('empty', 'compact')) AS s, generate_series(0, length(b) * 8 - 1) AS i
WHERE i NOT BETWEEN 96 AND 127;
INSERT INTO mutant SELECT 'bloom', i, pg_temp.sealed(set_bit(b, i, 1 - get_bit(b, i)))
FROM (SELECT f::bytea AS b FROM sample WHERE form = 'bloom') AS s, generate_series(0, length(b) * 8 - 1) AS i
WHERE i < 96 OR (i > 127 AND (i < 480 OR i % 17 = 0));
SELECT form, pg_temp.error_of_bytes(bytes) AS error, count(*) FROM mutant GROUP BY 1, 2 ORDER BY 1, 2;
CREATE FUNCTION pg_temp.use(f qfilter) RETURNS text LANGUAGE plpgsql AS
$$ BEGIN PERFORM qfilter_contains(f, ARRAY[1, 2, 3]), (qfilter_info(f)).rows, qfilter_fill(f), f | f, qfilter_fold(f, 0), qfilter_add(f, 1, 2);
	RETURN 'used';
EXCEPTION WHEN datatype_mismatch OR collation_mismatch OR numeric_value_out_of_range THEN RETURN sqlstate; END $$;
SELECT form, pg_temp.use(bytes::qfilter), count(*) FROM mutant WHERE pg_temp.state_of_bytes(bytes) = 'accepted' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) FROM mutant JOIN sample USING (form) WHERE pg_temp.state_of_bytes(bytes) = 'accepted' AND bytes::qfilter = f;

-- text
SELECT t, pg_temp.state_of_text(t) AS state FROM unnest(ARRAY['', 'qfilter', 'qfilter:', 'qfilter:!', 'qsketch:', 'QFL:AAAA', 'qfilter:AAAA', 'qfilter:UUZMAQ==']) AS t;
SELECT 'nonsense'::qfilter;
SELECT '1000'::qfilter;
SELECT 'qfilter:*'::qfilter;
SELECT 'qfilter:UUZMAQ=='::qfilter;
SELECT '\x51464cff'::bytea::qfilter;
SELECT qsketch_new()::bytea::qfilter;
SELECT qfilter_new(10, 1)::bytea::qsketch;
-- 60 bytes of a version to come
SELECT set_byte(f::bytea, 3, 2)::qfilter FROM sample WHERE form = 'empty';
SELECT f::text::qfilter = f AND f::bytea::qfilter = f AS round_trip, f::text LIKE 'qfilter:UUZM%' AS prefix FROM sample;
