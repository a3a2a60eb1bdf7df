--
-- qsketch_distinct: exact while explicit, within the standard error while dense, NULL beyond
--
SELECT * FROM qsketch_distinct(qsketch_new());
SELECT * FROM qsketch_distinct(NULL);
SELECT (qsketch_distinct(qsketch_agg(k % 700, 3))).* FROM generate_series(1, 2000) AS k;
SELECT (qsketch_distinct(qsketch_remove(qsketch_agg(k), 2))).* FROM generate_series(1, 3) AS k;

-- all structures and sizes: is it within four standard errors, and are these of the expected size?
CREATE TABLE made AS SELECT structure, size, keys, qsketch_agg(k * 7919::bigint, 1 + k % 300, qsketch_new(structure, size, seed => 5)) AS sk
FROM unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS structure, unnest('{64kB,1MB}'::text[]) AS size,
	unnest(ARRAY[3000, 30000]) AS keys, generate_series(1, 30000) AS k WHERE k <= keys GROUP BY 1, 2, 3;
SELECT structure, size, keys, abs(estimate - keys) <= 4 * standard_error AS within, standard_error / keys < 0.05 AS small
FROM made, qsketch_distinct(sk) ORDER BY 1, 2, 3;
-- the same of stored bytes, of text, of a merge of parts that overlap, and of a plan with workers; weights do not matter
SELECT bool_and(a = b AND a = c AND a = d) AS same FROM made, LATERAL (SELECT qsketch_distinct(sk) AS a, qsketch_distinct(sk::text::qsketch) AS b,
	qsketch_distinct(sk || sk) AS c, qsketch_distinct(qsketch_fold(qsketch_agg(k * 7919::bigint, qsketch_new(structure, CASE size WHEN '64kB' THEN '128kB' ELSE '2MB' END, seed => 5)), size)) AS d
	FROM generate_series(1, keys) AS k) AS ways WHERE size = '64kB' OR keys = 30000;
-- parts of sf: the device part has one counter for each sub-bucket, the host part all cells
SELECT bool_and(abs((d).estimate - keys) <= 4 * (d).standard_error AND abs((h).estimate - keys) <= 4 * (h).standard_error) AS within,
	bool_and(h = f) AS host_as_full, bool_and((d).standard_error > (h).standard_error) AS device_wider
FROM made, LATERAL (SELECT qsketch_distinct(qsketch_sf_device(sk)) AS d, qsketch_distinct(qsketch_sf_host(sk)) AS h, qsketch_distinct(sk) AS f OFFSET 0) AS parts
WHERE structure = 'sf' AND size = '1MB';
-- too full to tell
SELECT structure, (qsketch_distinct(qsketch_agg(k, qsketch_new(structure, '1kB')))).*
FROM unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS structure, generate_series(1, 60000) AS k GROUP BY structure ORDER BY structure;
-- what was removed is gone
SELECT abs(estimate - 10000) <= 4 * standard_error AS within
FROM qsketch_distinct((SELECT qsketch_agg(k) FROM generate_series(1, 30000) AS k) - (SELECT qsketch_agg(k) FROM generate_series(1, 20000) AS k));
DROP TABLE made;
