--
-- Settings.
--
SELECT qsketch_total(qsketch_new()) AS loaded;
SELECT name AS without_description FROM pg_settings WHERE name LIKE 'qsketch.%' AND short_desc = '';
SELECT count(*) >= 2 AS settings FROM pg_settings WHERE name LIKE 'qsketch.%';
SET qsketch.simd = 'sse2';
SET qsketch.simd = scalar;
SELECT qsketch_total(qsketch_agg(i)) AS total FROM generate_series(1, 5000) AS i;
RESET qsketch.simd;
SET qsketch.enable_columnscan = maybe;
SET qsketch.no_such_setting = 1;
-- From PostgreSQL 18 on the library says its version: that of the extension.
CREATE FUNCTION pg_temp.loaded_version() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	version text;
BEGIN
	EXECUTE 'SELECT version FROM pg_get_loaded_modules() WHERE module_name = $1' INTO version USING 'qsketch';
	RETURN version;
EXCEPTION WHEN undefined_function THEN
	RETURN (SELECT default_version FROM pg_available_extensions WHERE name = 'qsketch');
END $$;
SELECT pg_temp.loaded_version() = default_version AS same_version FROM pg_available_extensions WHERE name = 'qsketch';
