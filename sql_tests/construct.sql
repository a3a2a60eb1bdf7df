--
-- Making sketches, and what they say of themselves.
--
SELECT * FROM qsketch_info(qsketch_new());
SELECT qsketch_new() = qsketch_new('multilevel', '1MB', 3, 8, 1024, 0) AS defaults,
	qsketch_new(size => '1024kB', masks => 1024) = qsketch_new(depth => 3, seed => 0) AS named,
	qsketch_new(seed => 1) = qsketch_new() AS other_seed;

-- every structure: the size is that of the counters that a query touches
SELECT i.structure, i.size, i.depth, width, buckets, i.masks, z, seed, counter_bytes, total, form,
	part, key_family
FROM unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) WITH ORDINALITY AS s(s, n),
	unnest('{1kB,1000kB,512MB}'::text[]) WITH ORDINALITY AS b(size, m),
	qsketch_info(qsketch_new(s, b.size, 5, 2, 32, -1)) AS i
WHERE NOT (s = 'sf' AND b.size = '512MB')
ORDER BY n, m;

-- what a structure does not have does not matter
SELECT qsketch_new('thread', z => 3, masks => 2) = qsketch_new('thread') AS thread,
	qsketch_new('warp', z => 3) = qsketch_new('warp') AS warp,
	qsketch_new('warp', masks => 2) = qsketch_new('warp') AS masks,
	qsketch_new('sf', z => 3) = qsketch_new('sf') AS sf;

-- sizes in every spelling
SELECT size, (qsketch_info(qsketch_new(size => size))).size AS bytes
FROM unnest('{1024,1kB,"1 kB",1024 bytes,1.5MB,0.5 GB,2049}'::text[]) AS size;

-- with keys
SELECT form, counter_bytes, total, key_family
FROM qsketch_info((SELECT qsketch_agg(k) FROM generate_series(1, 10) AS k));
SELECT form, counter_bytes, total, key_family
FROM qsketch_info((SELECT qsketch_agg(k::text) FROM generate_series(1, 3000) AS k));
SELECT form, counter_bytes, total, key_family
FROM qsketch_info((SELECT qsketch_agg(k::float8, 4000000) FROM generate_series(1, 3000) AS k));

-- NULL gives NULL
SELECT qsketch_new(NULL) IS NULL AS sketch, qsketch_total(NULL) IS NULL AS total,
	(SELECT i IS NULL FROM qsketch_info(NULL) AS i) AS info;

-- an empty sketch knows of no key, of any type
SELECT qsketch_total(qsketch_new()) AS total, qsketch_estimate(qsketch_new(), 1) AS one,
	qsketch_estimate(qsketch_new(), 'a') AS a, qsketch_estimate(qsketch_new(), ARRAY[1, 2]) AS many;
