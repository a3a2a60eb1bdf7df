--
-- Inner products, and those of a sketch with itself, against exact results.
--
SELECT setseed(0.3);
CREATE TABLE visits AS
	SELECT i % 2 AS day, floor(20000 * random() ^ 3)::bigint AS k FROM generate_series(1, 200000) AS i;
CREATE TABLE exact AS
	SELECT sum(a.n * b.n) AS product, sum(a.n * a.n) AS moment
	FROM (SELECT k, count(*) AS n FROM visits WHERE day = 0 GROUP BY k) AS a
	LEFT JOIN (SELECT k, count(*) AS n FROM visits WHERE day = 1 GROUP BY k) AS b USING (k);
CREATE TABLE days AS
	SELECT s AS structure, d AS depth, day, qsketch_agg(k, qsketch_new(s, '64kB', d)) AS sk
	FROM unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS s, unnest('{1,3,8}'::int[]) AS d, visits
	GROUP BY s, d, day;
SELECT structure, depth, abs(p.estimate - product) < 4 * p.standard_error AS product,
	p.standard_error < 0.1 * product AS product_close, abs(m.estimate - moment) < 4 * m.standard_error AS moment,
	m.standard_error < 0.1 * moment AS moment_close
FROM days AS a JOIN days AS b USING (structure, depth), qsketch_inner_product(a.sk, b.sk) AS p,
	qsketch_inner_product(a.sk, a.sk) AS m, exact
WHERE a.day = 0 AND b.day = 1 ORDER BY structure, depth;

-- parts of sf, sketches of several sizes, in any order
SELECT qsketch_inner_product(a.sk, b.sk) = qsketch_inner_product(qsketch_sf_host(a.sk), qsketch_sf_host(b.sk)) AS host
FROM days AS a, days AS b WHERE a.structure = 'sf' AND b.structure = 'sf' AND a.depth = 3 AND b.depth = 3 AND a.day < b.day;
SELECT qsketch_inner_product(a.sk, qsketch_fold(b.sk, '8kB')) = qsketch_inner_product(qsketch_fold(a.sk, '8kB'), qsketch_fold(b.sk, '8kB')) AS folded,
	qsketch_inner_product(a.sk, b.sk) = qsketch_inner_product(b.sk, a.sk) AS swapped
FROM days AS a, days AS b WHERE a.structure = 'multilevel' AND b.structure = a.structure AND a.depth = 3 AND b.depth = 3 AND a.day < b.day;

-- few keys: exact
SELECT * FROM qsketch_inner_product((SELECT qsketch_agg(k) FROM unnest('{1,1,2,3}'::int[]) AS k), (SELECT qsketch_agg(k, 10) FROM unnest('{1,3,4}'::int[]) AS k));
SELECT p.* FROM (SELECT qsketch_agg(k) AS sk FROM unnest('{1,1,2,3}'::int[]) AS k) AS s, qsketch_inner_product(sk, sk) AS p;
-- none at all, and NULL
SELECT * FROM qsketch_inner_product(qsketch_new(), (SELECT sk FROM days WHERE structure = 'multilevel' AND depth = 3 AND day = 0));
SELECT * FROM qsketch_inner_product(qsketch_new(), qsketch_new());
SELECT qsketch_inner_product(qsketch_new(), NULL) IS NULL AS null_product;

-- errors
SELECT qsketch_inner_product(qsketch_new('warp'), qsketch_new('sub_warp'));
SELECT qsketch_inner_product(qsketch_new(seed => 1), qsketch_new(seed => 2));
SELECT qsketch_inner_product(qsketch_agg(1), qsketch_agg('a'::text));
SELECT qsketch_inner_product(qsketch_sf_device(sk), qsketch_sf_device(sk)) FROM days WHERE structure = 'sf' AND depth = 3 AND day = 0;
DROP TABLE visits, exact, days;
