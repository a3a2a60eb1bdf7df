--
-- Sketches stored out of line: a single estimate reads the key's bucket alone,
-- many estimates of one sketch keep a copy, and both say what the whole says.
--
\set ECHO queries
CREATE TABLE stored AS
	SELECT s AS structure, d AS depth, qsketch_agg(i / 7, qsketch_new(s, '16kB', d)) AS sk
	FROM unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS s,
		generate_series(1, 5, 2) AS d, generate_series(1, 70000) AS i
	GROUP BY s, d;
INSERT INTO stored
	SELECT 'device', depth, qsketch_sf_device(sk) FROM stored WHERE structure = 'sf'
	UNION ALL
	SELECT 'host', depth, qsketch_sf_host(sk) FROM stored WHERE structure = 'sf';
-- the values are out of line and not compressed
SELECT bool_and(pg_column_compression(sk) IS NULL) AS uncompressed,
	min(pg_column_size(sk)) > 16000 AS large FROM stored;

-- a new sketch in each row against one made from its bytes, which is read whole
SELECT structure, count(*) AS sketches,
	bool_and(qsketch_estimate(sk, k) = qsketch_estimate(sk::bytea::qsketch, k)) AS same,
	bool_and(qsketch_estimate(sk, k) >= CASE WHEN k < 10000 THEN 6 ELSE 0 END) AS upper_bound
FROM generate_series(0, 12000, 300) AS k, stored
GROUP BY structure ORDER BY structure;

-- the same sketch in row after row, then the next
SELECT bool_and(qsketch_estimate(sk, k) = qsketch_estimate(sk::bytea::qsketch, k)) AS same
FROM (SELECT sk, k FROM stored, generate_series(0, 12000, 300) AS k ORDER BY structure, depth, k) x;

-- totals and parameters come from the header
SELECT bool_and(qsketch_total(sk) = 70000) AS totals,
	bool_and((qsketch_info(sk)).total = 70000) AS info,
	bool_and(qsketch_info(sk) = qsketch_info(sk::bytea::qsketch)) AS same FROM stored;

-- keys of another family are refused from the header, too
SELECT qsketch_estimate(sk, date '2000-01-01') FROM stored LIMIT 1;

-- compressed, a value is read whole
CREATE TABLE compressed (sk qsketch);
ALTER TABLE compressed ALTER sk SET STORAGE main;
INSERT INTO compressed SELECT qsketch_agg(i, qsketch_new(size => '256kB'))
	FROM generate_series(1, 3000) AS i;
SELECT pg_column_compression(sk) IS NOT NULL AS compressed, qsketch_estimate(sk, 3000) >= 1 AS found,
	qsketch_total(sk) FROM compressed;
DROP TABLE stored, compressed;
