--
-- QSketchScan with GROUP BY of integers at fixed offsets, whose groups are remembered by their bits.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/scan_groups.psql'
\i :file
\set ECHO all
CREATE TABLE n_scan (s smallint, i int, b bigint, d date, ts timestamp, few int, k bigint, w int, t text);
INSERT INTO n_scan
SELECT CASE WHEN r % 7 > 0 THEN r % 600 - 300 END, CASE WHEN r % 11 > 0 THEN (r * 7919::bigint) % 3000 - 1500 END, (r % 64 - 32) * 288230376151711743,
	date '2026-01-01' + r % 30, timestamp '2026-01-01' + r % 400 * interval '1 h', r / 5000, (r * 31::bigint) % 3000, r % 20, 'key ' || r % 700
FROM generate_series(1, 20000) AS r;
ALTER TABLE n_scan ADD late int DEFAULT 42;
INSERT INTO n_scan (s, i, b, few, k, w, late) SELECT r, r, r, r % 2, r, 1, r FROM generate_series(-200, 200) AS r;
INSERT INTO n_scan (s, i, b, k, w) VALUES (32767, 2147483647, 9223372036854775807, 1, 1), (-32768, -2147483648, -9223372036854775808, 2, 1), (0, 0, 0, 3, 1);
VACUUM ANALYZE n_scan;

SELECT by, s.* FROM unnest(ARRAY['s', 'i', 'b', 'd', 'ts', 'few', 'w', 'late']) AS by,
	LATERAL pg_temp.same(format('SELECT %s AS g, qsketch_agg(k) AS a FROM n_scan GROUP BY %1$s', by)) AS s;
SELECT by, call, s.* FROM unnest(ARRAY['s', 'i', 'few']) AS by,
	unnest(ARRAY['qsketch_agg(k) FILTER (WHERE w > 10), count(*)', 'qtop_sketch(qtop_agg(k, w, 5)), qsketch_agg(t)', 'qsets_agg(w, k)', 'qsketch_agg(k), sum(w)']) AS call,
	LATERAL pg_temp.same(format('SELECT %s AS g, %s FROM n_scan WHERE w < 19 GROUP BY %1$s', by, call)) AS s ORDER BY by, call;
-- the same groups in a second run, and in a run with other rows
SELECT s.* FROM pg_temp.same('SELECT x, s.* FROM generate_series(1, 3) AS x, LATERAL (SELECT i, qsketch_agg(k) FROM n_scan WHERE w > x GROUP BY i) AS s') AS s;
-- groups that do not fit into memory: they are written, and remembered groups are gone then
SET work_mem = '64kB';
SET enable_hashagg = off;
SET enable_sort = off;
SET hash_mem_multiplier = 1;
SELECT by, s.* FROM unnest(ARRAY['s', 'i', 'few']) AS by,
	LATERAL pg_temp.same(format('SELECT %s AS g, qsketch_agg(k) AS a, count(*) FROM n_scan GROUP BY %1$s', by)) AS s;
SELECT pg_temp.explained('SELECT i, qsketch_agg(k) FROM n_scan GROUP BY i') LIKE '%"Spilled Groups"%' AS spilled;
DROP TABLE n_scan;
