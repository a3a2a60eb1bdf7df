-- Values that contradict themselves: they keep their keys as keys of their family are not kept, or
-- have a collation that such keys do not have.  Checksums fit.  Such a value does not come in, and
-- nothing reads one that is stored.

\set VERBOSITY terse

-- gives bytes another type without looking at them
CREATE FUNCTION pg_temp.stored(bytea, qsets) RETURNS qsets IMMUTABLE LANGUAGE internal AS 'byteasend';
CREATE FUNCTION pg_temp.stored(bytea, qsketch) RETURNS qsketch IMMUTABLE LANGUAGE internal AS 'byteasend';
CREATE FUNCTION pg_temp.stored(bytea, qfilter) RETURNS qfilter IMMUTABLE LANGUAGE internal AS 'byteasend';
CREATE FUNCTION pg_temp.stored(bytea, qtop) RETURNS qtop IMMUTABLE LANGUAGE internal AS 'byteasend';
CREATE FUNCTION pg_temp.said(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text; BEGIN EXECUTE query INTO result; RETURN result;
EXCEPTION WHEN OTHERS THEN RETURN sqlstate || ': ' || sqlerrm; END $$;

CREATE TEMP TABLE wrong (no serial, type text, what text, value text);
INSERT INTO wrong (type, what, value) VALUES
	('qsets', 'fingerprints of integers', 'qsets:UVNTAQIAAAAAAAAAEVtAc7kHAAAAAAAAAQAAAAAAAAABAAAAAAAAAAEAAAAAAAAAGgAAAAAAAAAAAAAAAAAAAEM8CLXipCUusXATQGZM2TEBAAAAAAAAAAAA'),
	('qsets', 'fingerprints of dates', 'qsets:UVNTAQIAAAAAAAAACdIhnrMBAQAAAAAAAQAAAAAAAAABAAAAAAAAAAEAAAAAAAAAGgAAAAAAAAAAAAAAAAAAAMHDTaMuNQD5iVgSQNYCafkBAAAAAAAAAAAA'),
	('qsets', 'texts as numbers', 'qsets:UVNTAQEAAAAAAAAAcvsPBMsHAAAAAAAAAQAAAAAAAAABAAAAAAAAAAEAAAAAAAAAEgAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAAAAAAAAAA=='),
	('qsets', 'arrays as numbers', 'qsets:UVNTAQEAAAAAAAAAYrQBH3MCAQABAABAAQAAAAAAAAABAAAAAAAAAAEAAAAAAAAAEgAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAAAAAAAAAA=='),
	('qsets', 'named family as numbers', 'qsets:UVNTAQEAAAAAAAAACTRwmjQSAIAAAAAAAQAAAAAAAAABAAAAAAAAAAEAAAAAAAAAEgAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAAAAAAAAAA=='),
	('qsets', 'integers with a collation', 'qsets:UVNTAQEAAAAAAAAAPzT8y7kHAAABAACAAQAAAAAAAAABAAAAAAAAAAEAAAAAAAAAEgAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAAAAAAAAAA=='),
	('qsets', 'texts with contents', 'qsets:UVNTAQIAAAAAAAAA15oFVcsHAAABAABAAQAAAAAAAAABAAAAAAAAAAEAAAAAAAAAGgAAAAAAAAAAAAAAAAAAAMHDTaMuNQD5iVgSQNYCafkBAAAAAAAAAAAA'),
	('qtop', 'texts without texts', 'qtop:UVRQAQIAAACutZEzAAAAAAAAAAAAAAAASAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFFTSwEFAQAEAwAKAOMm3fggAAAAAAAAAAAAAAAAAAAAywcAAAAAAAABAAAAAAAAAAEAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAA=='),
	('qtop', 'integers with texts', 'qtop:UVRQAQIAAAAJhl74AQYAAAAAAAAAAAAASAAAAAAAAAABAAAAAAAAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFFTSwEFAQAEAwAKAMwJEx0gAAAAAAAAAAAAAAAAAAAAuQcAAAAAAAABAAAAAAAAAAEAAAAAAAAAAAAAAIlYEkDWAmn5AQAAAHgA'),
	('qtop', 'dates with texts', 'qtop:UVRQAQIAAACtfp6oAQYAAAAAAAAAAAAASAAAAAAAAAABAAAAAAAAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFFTSwEFAQAEAwAKADFtndAgAAAAAAAAAAAAAAAAAAAAswEBAAAAAAABAAAAAAAAAAEAAAAAAAAAAAAAAIlYEkDWAmn5AQAAAHgA'),
	('qtop', 'numerics without texts', 'qtop:UVRQAQIAAAD0otbSAAAAAAAAAAAAAAAASAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFFTSwEFAQAEAwAKAFdcph8gAAAAAAAAAAAAAAAAAAAAzgcBAAAAAAABAAAAAAAAAAEAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAA=='),
	('qsketch', 'integers with a collation', 'qsketch:UVNLAQUBAAADAAoAurpmbyAAAAAAAAAAAAAAAAAAAAC5BwAAAQAAgAEAAAAAAAAAAQAAAAAAAAAAAAAAiVgSQNYCafkBAAAAAAAAAA=='),
	('qsketch', 'texts with contents', 'qsketch:UVNLAQUBAAADAAoA18ix9CAAAAAAAAAAAAAAAAAAAADLBwAAAQAAQAEAAAAAAAAAAQAAAAAAAAAAAAAAiVgSQNYCafkBAAAAAAAAAA=='),
	('qsketch', 'rows with a collation', 'qsketch:UVNLAQUBAAADAAoA8fLEgCAAAAAAAAAAAAAAAAAAAAAyGAEAAQAAgAEAAAAAAAAAAQAAAAAAAAAAAAAAiVgSQNYCafkBAAAAAAAAAA=='),
	('qfilter', 'dates with contents', 'qfilter:UUZMAQMBAAAHAAAAMD5IbwACAAAAAAAAAAAAAAAAAACzAQEAAQAAQP//////////AAAAAAAAAAAHAAAAWi0BCEc7YQ=='),
	('qfilter', 'arrays with a collation', 'qfilter:UUZMAQMBAAAHAAAAYw6PNwACAAAAAAAAAAAAAAAAAABzAgEAAQAAgP//////////AAAAAAAAAAAHAAAAWi0BCEc7YQ==');

SELECT type, what, pg_temp.said(format('SELECT %L::%s', value, type)) FROM wrong ORDER BY no;
SELECT count(*) FROM wrong WHERE pg_temp.said(format('SELECT %L::bytea::%s', decode(split_part(value, ':', 2), 'base64'), type)) NOT LIKE '22P03: invalid%keys with%';

-- stored: by themselves, beside a sound value of each kind, and with keys
CREATE TEMP TABLE ask (type text, query text);
INSERT INTO ask VALUES
	('qsets', 'SELECT count(*) FROM qsets_similar(v, ARRAY[1])'), ('qsets', 'SELECT count(*) FROM qsets_similar(v, ARRAY[''x''])'),
	('qsets', 'SELECT count(*) FROM qsets_pairs(v, v)'), ('qsets', 'SELECT count(*) FROM qsets_nearest(v)'),
	('qsets', 'SELECT (qsets_merge(v, v))::text'), ('qsets', 'SELECT qsets_merge_agg(x) FROM (VALUES (v), (v)) AS x(x)'),
	('qsets', 'SELECT count(*) FROM (SELECT qsets_agg(1, 1) AS s) AS x, qsets_pairs(v, s)'), ('qsets', 'SELECT count(*) FROM (SELECT qsets_agg(1, 1) AS s) AS x, qsets_pairs(s, v)'),
	('qsets', 'SELECT count(*) FROM (SELECT qsets_agg(1, ''x''::text) AS s) AS x, qsets_pairs(v, s)'), ('qsets', 'SELECT count(*) FROM (SELECT qsets_agg(1, ''x''::text) AS s) AS x, qsets_nearest(s, v)'),
	('qtop', 'SELECT count(*) FROM qtop_text(v)'), ('qtop', 'SELECT qtop_estimate(v, 1)'), ('qtop', 'SELECT qtop_add(v, ''x''::text)'),
	('qtop', 'SELECT qtop_merge(v, v)'), ('qtop', 'SELECT count(*) FROM qtop_growth(v, v, 2)'), ('qtop', 'SELECT qtop_merge_agg(x) FROM (VALUES (v), (v)) AS x(x)'),
	('qsketch', 'SELECT qsketch_estimate(v, 1)'), ('qsketch', 'SELECT qsketch_merge(v, v)'), ('qsketch', 'SELECT (qsketch_inner_product(v, v)).*'), ('qsketch', 'SELECT qsketch_merge_agg(x) FROM (VALUES (v), (v)) AS x(x)'),
	('qfilter', 'SELECT qfilter_contains(v, 1)'), ('qfilter', 'SELECT qfilter_merge(v, v)'), ('qfilter', 'SELECT qfilter_merge_agg(x) FROM (VALUES (v), (v)) AS x(x)');
SELECT count(*) FROM wrong JOIN ask USING (type);
SELECT query, said FROM (SELECT query, pg_temp.said(replace(regexp_replace(query, '\mv\M', '@', 'g'), '@', format('pg_temp.stored(%L::bytea, NULL::%s)', decode(split_part(value, ':', 2), 'base64'), type)))
	FROM wrong JOIN ask USING (type)) AS x WHERE said NOT LIKE 'XX001: invalid%keys with%';

-- Keys of families that are not known here come in, can be passed on, and match no others.
CREATE TEMP TABLE strange (no serial, type text, what text, value text);
INSERT INTO strange (type, what, value) VALUES
	('qsets', 'an extension not installed', 'qsets:UVNTAQIAAAAAAAAABk7bMDQSAIAAAAAAAQAAAAAAAAABAAAAAAAAAAEAAAAAAAAAGgAAAAAAAAAAAAAAAAAAAMHDTaMuNQD5iVgSQNYCafkBAAAAAAAAAAAA'),
	('qsets', 'another version, wide', 'qsets:UVNTAQIAAAAAAAAA5AArPrkHAQAAAAAAAQAAAAAAAAABAAAAAAAAAAEAAAAAAAAAGgAAAAAAAAAAAAAAAAAAAMHDTaMuNQD5iVgSQNYCafkBAAAAAAAAAAAA'),
	('qsets', 'another version, numbers', 'qsets:UVNTAQEAAAAAAAAA4T+46bkHAQAAAAAAAQAAAAAAAAABAAAAAAAAAAEAAAAAAAAAEgAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAAAAAAAAAA=='),
	('qtop', 'another version, numbers', 'qtop:UVRQAQIAAACARNtIAAAAAAAAAAAAAAAASAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFFTSwEFAQAEAwAKAKXPWqkgAAAAAAAAAAAAAAAAAAAAuQcBAAAAAAABAAAAAAAAAAEAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAA==');

SELECT what, pg_temp.said(format('SELECT %L::%s::text = %1$L', value, type)) FROM strange ORDER BY no;
SELECT what, pg_temp.said(format('SELECT count(*) FROM qsets_similar(%L, ARRAY[1])', value)), pg_temp.said(format('SELECT count(*) FROM qsets_similar(%L, ARRAY[''x''])', value)) FROM strange WHERE type = 'qsets' ORDER BY no;
SELECT a.what, b.what, pg_temp.said(format('SELECT count(*) FROM qsets_pairs(%L, %L::qsets, 1)', a.value, b.value)), pg_temp.said(format('SELECT qsets_count(qsets_merge(%L, %L))', a.value, b.value))
FROM strange AS a, strange AS b WHERE a.type = 'qsets' AND b.type = 'qsets' ORDER BY a.no, b.no;
SELECT what, pg_temp.said(format('SELECT count(*) FROM qtop_text(%L)', value)) FROM strange WHERE type = 'qtop';
