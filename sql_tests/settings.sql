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
