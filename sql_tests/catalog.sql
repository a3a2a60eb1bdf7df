--
-- The extension's objects: described, parallel safe, of the right volatility,
-- free of privileges; in a schema of one's choice.
--
CREATE TEMP TABLE object AS
SELECT d.classid, d.objid, pg_describe_object(d.classid, d.objid, 0) AS name
FROM pg_depend AS d JOIN pg_extension AS e ON d.refobjid = e.oid
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'qsketch';
SELECT classid::regclass AS kind, count(*) > 0 AS some FROM object GROUP BY 1 ORDER BY 1::text;

-- descriptions, but for casts, and for the types that PostgreSQL makes by itself
SELECT name AS without_description FROM object
WHERE classid <> 'pg_cast'::regclass AND obj_description(objid, classid::regclass::name) IS NULL
	AND NOT (classid = 'pg_type'::regclass AND objid NOT IN ('qsketch'::regtype, 'qfilter'::regtype, 'qsets'::regtype, 'qtop'::regtype))
ORDER BY name COLLATE "C";

SELECT attrelid::regclass AS view, attname AS column_without_description
FROM pg_attribute JOIN object ON classid = 'pg_class'::regclass AND objid = attrelid
WHERE attnum > 0 AND NOT attisdropped AND col_description(attrelid, attnum) IS NULL ORDER BY 1, attnum;

CREATE TEMP TABLE function AS
SELECT p.*, p.oid::regprocedure::text AS name FROM pg_proc AS p JOIN object ON p.oid = objid
WHERE classid = 'pg_proc'::regclass;
SELECT name AS not_parallel_safe FROM function WHERE proparallel <> 's';
SELECT name AS security_definer FROM function WHERE prosecdef;
SELECT name AS leakproof FROM function WHERE proleakproof;
SELECT name AS with_settings FROM function WHERE proconfig IS NOT NULL;
SELECT DISTINCT proname, provolatile FROM function WHERE provolatile <> 'i' ORDER BY proname;
SELECT proname AS not_strict FROM function WHERE NOT proisstrict AND prokind = 'f'
GROUP BY proname ORDER BY proname COLLATE "C";
SELECT name AS arguments_without_names FROM function
WHERE proname !~ '^_' AND pronargs > 0 AND (proargnames IS NULL OR '' = ANY (proargnames)) ORDER BY name COLLATE "C";
SELECT name AS without_declared_library FROM function WHERE prokind = 'f' AND probin <> '$libdir/qsketch';

-- the library serves its own SQL, is of the version that is installed, and serves no other
SELECT qsketch_version() = extversion AS own FROM pg_extension WHERE extname = 'qsketch';
SELECT qsketch_version('0.2.0');

-- what there is to be called, and how much that only the extension itself calls
SELECT prokind AS kind, proname AS name, count(*) AS forms FROM function WHERE proname !~ '^_' GROUP BY 1, 2 ORDER BY prokind, proname COLLATE "C";
SELECT count(*) FILTER (WHERE proname ~ '^_') AS internal, count(*) < 260 AS few FROM function;
-- keys are of any type, and what else takes arrays as batches
SELECT t, string_agg(DISTINCT proname, ' ' ORDER BY proname) AS functions
FROM (SELECT proname::text COLLATE "C" AS proname, unnest(proargtypes::oid[])::regtype::text AS t FROM function WHERE proname !~ '^_') AS f
WHERE t ~ '^any' GROUP BY t ORDER BY t;

-- all aggregates have what parallel aggregation needs, those of sketches what moving aggregation needs
SELECT f.name AS incomplete FROM function AS f JOIN pg_aggregate ON aggfnoid = f.oid
WHERE aggcombinefn = 0 OR aggtransspace = 0 OR aggtranstype NOT IN ('qsketch'::regtype, 'qfilter'::regtype, 'qsets'::regtype, 'qtop'::regtype)
	OR (aggtranstype = 'qsketch'::regtype AND (aggminvtransfn = 0 OR aggmtransfn = 0 OR aggmtransspace = 0
		OR aggmtranstype <> 'internal'::regtype));
SELECT amname, opcname, amvalidate(c.oid) AS valid FROM pg_opclass AS c JOIN pg_am AS a ON opcmethod = a.oid
WHERE opcintype IN ('qsketch'::regtype, 'qfilter'::regtype, 'qsets'::regtype, 'qtop'::regtype) ORDER BY opcname, amname;

-- a schema of one's choice, also later; nothing depends on the search path
DROP EXTENSION qsketch;
CREATE SCHEMA "Sketches";
CREATE EXTENSION qsketch SCHEMA "Sketches";
SELECT "Sketches".qsketch_total("Sketches".qsketch_agg(i) OPERATOR("Sketches".||) "Sketches".qsketch_new()) AS total
FROM generate_series(1, 10) AS i;
SELECT i, "Sketches".qsketch_total("Sketches".qsketch_agg(i) OVER (ORDER BY i ROWS 1 PRECEDING)) AS total
FROM generate_series(1, 3) AS i ORDER BY i;
SELECT "Sketches".qsketch_estimate("Sketches".qsketch_new(), 'a') AS estimate;
SELECT "Sketches".qfilter_contains("Sketches".qfilter_agg(i, "Sketches".qfilter_new_bloom(10)) OPERATOR("Sketches".|)
	"Sketches".qfilter_new_bloom(10), 7) AS contains
FROM generate_series(1, 10) AS i;
CREATE SCHEMA other;
CREATE TABLE kept AS SELECT "Sketches".qsketch_agg(i) AS sk FROM generate_series(1, 10) AS i;
ALTER EXTENSION qsketch SET SCHEMA other;
SELECT other.qsketch_estimate(sk, 7) AS seven, (other.qsketch_info(sk)).key_family FROM kept;
DROP SCHEMA "Sketches";

-- dropped with what uses it, and only then
DROP EXTENSION qsketch;
DROP EXTENSION qsketch CASCADE;
SELECT count(*) AS columns FROM pg_attribute WHERE attrelid = 'kept'::regclass AND attnum > 0 AND NOT attisdropped;
CREATE EXTENSION qsketch;
DROP TABLE kept;
DROP SCHEMA other;

-- no superuser is needed: the extension is trusted
CREATE ROLE qsketch_user;
CREATE SCHEMA AUTHORIZATION qsketch_user;
DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO qsketch_user', current_database()); END $$;
DROP EXTENSION qsketch;
SET ROLE qsketch_user;
CREATE EXTENSION qsketch SCHEMA qsketch_user;
SELECT extowner = 'qsketch_user'::regrole AS owner FROM pg_extension WHERE extname = 'qsketch';
SET search_path = qsketch_user;
SELECT qsketch_total(qsketch_agg(i)) AS total FROM generate_series(1, 10) AS i;
RESET ROLE;
RESET search_path;
DROP EXTENSION qsketch;
DROP OWNED BY qsketch_user;
DROP ROLE qsketch_user;
CREATE EXTENSION qsketch;
