-- Any user may call Citus' combining aggregates with any text or bytes as a state.  The types' input and receive
-- functions validate states, and valid states are combined.  Citus before 14 has only states as text.
CREATE TEMP TABLE good AS SELECT qsketch_agg(k) AS sk, qtop_agg(k, 10) AS top, qfilter_row_agg(k, id, qfilter_new(20000, 100)) AS f,
	qsets_agg(w, k) AS sets FROM plain;
CREATE FUNCTION combined(aggregate regprocedure, type text, bytes bytea) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	form text;
	answer text;
BEGIN
	FOREACH form IN ARRAY ARRAY['coord_combine_agg(%L::regprocedure, (%L || replace(encode(%L, ''base64''), E''\n'', ''''))::cstring, NULL::%s)',
			'coord_binary_combine_agg(%1$L::regprocedure, %3$L::bytea, NULL::%4$s)'] LOOP
		CONTINUE WHEN form ~ 'binary' AND to_regproc('pg_catalog.coord_binary_combine_agg') IS NULL;
		BEGIN
			EXECUTE 'SELECT (' || format(form, aggregate, type || ':', bytes, type) || ')::bytea = $1' INTO answer USING bytes;
			RETURN NEXT answer;
		EXCEPTION WHEN OTHERS THEN
			RETURN NEXT sqlstate;
		END;
	END LOOP;
END $$;
CREATE TEMP TABLE given AS SELECT aggregate::regprocedure, type, bytes, what, bad FROM good,
	LATERAL (VALUES ('qsketch_merge_agg(qsketch)', 'qsketch', sk::bytea), ('qtop_merge_agg(qtop)', 'qtop', top::bytea),
		('qfilter_merge_agg(qfilter)', 'qfilter', f::bytea), ('qsets_merge_agg(qsets)', 'qsets', sets::bytea))
		AS v(aggregate, type, bytes),
	LATERAL (VALUES ('whole', bytes), ('nothing', ''), ('a byte', '\x00'), ('cut', substr(bytes, 1, length(bytes) - 1)),
		('longer', bytes || '\x00'::bytea), ('only a header', substr(bytes, 1, 64)),
		('a changed bit', set_bit(bytes, 4 * length(bytes), 1 - get_bit(bytes, 4 * length(bytes)))),
		('of another type', CASE type WHEN 'qsets' THEN sk::bytea ELSE sets::bytea END)) AS b(what, bad);
SELECT type, what, string_agg(DISTINCT CASE WHEN answer IN ('22P02', '22P03') THEN 'refused' ELSE answer END, ' ')
FROM given, combined(aggregate, type, bad) AS answer GROUP BY type, what ORDER BY type, what;
SELECT count(*) = 1 + (to_regproc('pg_catalog.coord_binary_combine_agg') IS NOT NULL)::int
FROM combined('qsketch_merge_agg(qsketch)', 'qsketch', '');
