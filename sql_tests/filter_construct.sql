--
-- qfilter_new and qfilter_new_bloom: what they make, and what they refuse.
--
SELECT i.* FROM qfilter_info(qfilter_new(1000000, 1000)) AS i;
SELECT i.* FROM qfilter_info(qfilter_new_bloom(1000000)) AS i;
SELECT preset, bits, hashes, round(probability::numeric, 9) AS probability
FROM unnest('{balanced,compact,fast}'::text[]) AS preset, qfilter_info(qfilter_new(10000000, 1000, preset => preset)) AS i;
-- Table 1 of the paper
SELECT bits, hashes, round(probability::numeric, 6) AS probability
FROM (VALUES (1000, 50, 200), (100000, 1000, 500)) AS v(n, f, k), qfilter_info(qfilter_new(n, f, preset => 'paper', k => v.k)) AS i;
-- a given k; a seed
SELECT hashes, seed FROM qfilter_info(qfilter_new(1000, 10, k => 17, seed => -9223372036854775808)) AS i;
SELECT hashes, seed, fill, form FROM qfilter_info(qfilter_new_bloom(1000, 0.001, 7)) AS i;
SELECT qfilter_new(1000, 10) = qfilter_new(1000, 10, 0.1, 'balanced', NULL, 0) AS defaults,
	qfilter_new(1000, 10) = qfilter_new(1000, 10, seed => 1) AS other_seed;

-- NULL is no parameter, but for k
SELECT qfilter_new(NULL, 10) IS NULL, qfilter_new(10, NULL) IS NULL, qfilter_new(10, 10, NULL) IS NULL,
	qfilter_new(10, 10, 0.1, NULL) IS NULL, qfilter_new(10, 10, seed => NULL) IS NULL,
	qfilter_new_bloom(NULL) IS NULL, qfilter_new_bloom(10, NULL) IS NULL;

-- ranges
SELECT qfilter_new(0, 1);
SELECT qfilter_new(-5, 1);
SELECT qfilter_new(1125899906842625, 1);
SELECT qfilter_new(1000, 0);
SELECT qfilter_new(1000, 1001);
SELECT qfilter_new(1125899906842624, 1099511627777);
SELECT qfilter_new(1000, 10, 0.0099);
SELECT qfilter_new(1000, 10, 1.1);
SELECT qfilter_new(1000, 10, 'NaN');
SELECT qfilter_new(1000, 10, '-Infinity');
SELECT qfilter_new(1000, 10, preset => 'Balanced');
SELECT qfilter_new(1000, 10, preset => '');
SELECT qfilter_new(1000, 10, preset => 'paper');
SELECT qfilter_new(1000, 10, k => 0);
SELECT qfilter_new(1000, 10, k => 65537);
SELECT qfilter_new(1, 1, preset => 'paper', k => 200);
SELECT qfilter_new(1000000000000, 10);
SELECT qfilter_new_bloom(0);
SELECT qfilter_new_bloom(1125899906842625);
SELECT qfilter_new_bloom(10, 0);
SELECT qfilter_new_bloom(10, 0.51);
SELECT qfilter_new_bloom(10, 'NaN');
SELECT qfilter_new_bloom(1000000000000);
SELECT qfilter_new_bloom(440000000);
SELECT qfilter_new_bloom(450000000, layout => 'standard');
SELECT qfilter_new_bloom(10, layout => 'Blocked');
SELECT qfilter_new_bloom(10, layout => '');
SELECT qfilter_new_bloom(10, layout => NULL) IS NULL;
-- bits a key, and what layouts have in common
SELECT rate, round(b.bits / 1e6, 2) AS blocked, round(s.bits / 1e6, 2) AS standard, b.hashes = s.hashes AS same_hashes,
	b.layout, s.layout, b.bits % 512 AS rest
FROM unnest('{0.5,0.1,0.01,0.001,0.0001,0.00001}'::float8[]) AS rate, qfilter_info(qfilter_new_bloom(1000000, rate)) AS b,
	qfilter_info(qfilter_new_bloom(1000000, rate, 0, 'standard')) AS s;
-- of rows that ask differently in turn
SELECT count(DISTINCT qfilter_new_bloom(1000 + n % 3, 0.01 * (1 + n % 2), n % 5)) FROM generate_series(1, 300) AS n;
SELECT qfilter_new_bloom(1000) | qfilter_new_bloom(1000, layout => 'standard');
SELECT qfilter_agg(1, t) FROM (VALUES (qfilter_new_bloom(8000)), (qfilter_new_bloom(8000, 0.01, 0, 'standard'))) AS v(t);
-- the largest and the smallest
SELECT bits, hashes FROM qfilter_info(qfilter_new_bloom(430000000)) AS i;
SELECT bits, hashes FROM qfilter_info(qfilter_new_bloom(440000000, layout => 'standard')) AS i;
SELECT bits, hashes FROM qfilter_info(qfilter_new_bloom(1, 0.5)) AS i;
SELECT bits, hashes FROM qfilter_info(qfilter_new(1, 1, 1)) AS i;
