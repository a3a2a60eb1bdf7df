--
-- pbf_new and pbf_new_bloom: what they make, and what they refuse.
--
SELECT i.* FROM pbf_info(pbf_new(1000000, 1000)) AS i;
SELECT i.* FROM pbf_info(pbf_new_bloom(1000000)) AS i;
SELECT preset, bits, hashes, round(probability::numeric, 9) AS probability
FROM unnest('{balanced,compact,fast}'::text[]) AS preset, pbf_info(pbf_new(10000000, 1000, preset => preset)) AS i;
-- Table 1 of the paper
SELECT bits, hashes, round(probability::numeric, 6) AS probability
FROM (VALUES (1000, 50, 200), (100000, 1000, 500)) AS v(n, f, k), pbf_info(pbf_new(n, f, preset => 'paper', k => v.k)) AS i;
-- a given k; a seed
SELECT hashes, seed FROM pbf_info(pbf_new(1000, 10, k => 17, seed => -9223372036854775808)) AS i;
SELECT hashes, seed, fill, form FROM pbf_info(pbf_new_bloom(1000, 0.001, 7)) AS i;
SELECT pbf_new(1000, 10) = pbf_new(1000, 10, 0.1, 'balanced', NULL, 0) AS defaults,
	pbf_new(1000, 10) = pbf_new(1000, 10, seed => 1) AS other_seed;

-- NULL is no parameter, but for k
SELECT pbf_new(NULL, 10) IS NULL, pbf_new(10, NULL) IS NULL, pbf_new(10, 10, NULL) IS NULL,
	pbf_new(10, 10, 0.1, NULL) IS NULL, pbf_new(10, 10, seed => NULL) IS NULL,
	pbf_new_bloom(NULL) IS NULL, pbf_new_bloom(10, NULL) IS NULL;

-- ranges
SELECT pbf_new(0, 1);
SELECT pbf_new(-5, 1);
SELECT pbf_new(1125899906842625, 1);
SELECT pbf_new(1000, 0);
SELECT pbf_new(1000, 1001);
SELECT pbf_new(1125899906842624, 1099511627777);
SELECT pbf_new(1000, 10, 0.0099);
SELECT pbf_new(1000, 10, 1.1);
SELECT pbf_new(1000, 10, 'NaN');
SELECT pbf_new(1000, 10, '-Infinity');
SELECT pbf_new(1000, 10, preset => 'Balanced');
SELECT pbf_new(1000, 10, preset => '');
SELECT pbf_new(1000, 10, preset => 'paper');
SELECT pbf_new(1000, 10, k => 0);
SELECT pbf_new(1000, 10, k => 65537);
SELECT pbf_new(1, 1, preset => 'paper', k => 200);
SELECT pbf_new(1000000000000, 10);
SELECT pbf_new_bloom(0);
SELECT pbf_new_bloom(1125899906842625);
SELECT pbf_new_bloom(10, 0);
SELECT pbf_new_bloom(10, 0.51);
SELECT pbf_new_bloom(10, 'NaN');
SELECT pbf_new_bloom(1000000000000);
-- the largest and the smallest
SELECT bits, hashes FROM pbf_info(pbf_new_bloom(440000000)) AS i;
SELECT bits, hashes FROM pbf_info(pbf_new_bloom(1, 0.5)) AS i;
SELECT bits, hashes FROM pbf_info(pbf_new(1, 1, 1)) AS i;
