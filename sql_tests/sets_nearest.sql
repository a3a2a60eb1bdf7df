--
-- For each set the nearest others, with their ranks: as SQL ranks them, by every method,
-- in each order, by workers, in FROM and in the select list.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/plan.psql'
\i :file
\set ECHO all
CREATE TABLE member AS SELECT DISTINCT n, (i % 60)::bigint * 3 - 50 AS s, floor(300 * (i * 7919 % 10007 / 10007.0) ^ 2)::bigint AS e
FROM generate_series(1, 3) AS n, LATERAL generate_series(n, 900, n) AS i;
INSERT INTO member VALUES (1, 1000, 299), (1, 1001, 299), (1, 1002, -1), (3, 9223372036854775807, 0), (3, -9223372036854775808, 0);
CREATE TABLE kept AS SELECT n, qsets_agg(s, e) AS number, qsets_agg(s, 'e' || e) AS text FROM member GROUP BY n;
CREATE TABLE ordered AS
SELECT way, order_by, a, b, common, jaccard, row_number() OVER (PARTITION BY way, order_by, a
	ORDER BY CASE order_by WHEN 'common' THEN common WHEN 'overlap' THEN overlap WHEN 'lift' THEN lift END DESC, jaccard DESC, b) AS rank
FROM (SELECT way, a, b, common, common::float8 / (x.size + y.size - common) AS jaccard, common::float8 / least(x.size, y.size) AS overlap, common::float8 / y.size AS lift
	FROM (SELECT x.n || '-' || y.n AS way, x.n AS xn, y.n AS yn, x.s AS a, y.s AS b, count(*) AS common FROM member AS x JOIN member AS y USING (e)
		WHERE x.n = y.n AND x.s <> y.s OR x.n = 1 AND y.n = 2 GROUP BY x.n, y.n, x.s, y.s) AS c
	JOIN (SELECT n AS xn, s AS a, count(*) AS size FROM member GROUP BY 1, 2) AS x USING (xn, a)
	JOIN (SELECT n AS yn, s AS b, count(*) AS size FROM member GROUP BY 1, 2) AS y USING (yn, b)) AS p, unnest('{jaccard,common,overlap,lift}'::text[]) AS order_by;

-- how many rows are not those of SQL, in their order
CREATE FUNCTION wrong(call text, way text, order_by text, min_count bigint, min_jaccard float8, top int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	wrong bigint;
BEGIN
	EXECUTE format('WITH wanted AS (SELECT row_number() OVER (ORDER BY a, rank) AS place, a, b, common, jaccard, rank FROM (SELECT a, b, common, jaccard,
				row_number() OVER (PARTITION BY a ORDER BY rank) AS rank FROM ordered WHERE way = $1 AND order_by = $2 AND common >= $3 AND jaccard >= $4) AS r WHERE rank <= $5),
			given AS (SELECT row_number() OVER () AS place, p.* FROM (%s) AS p)
		SELECT count(*) FROM given FULL JOIN wanted USING (place, a, b, rank, common, jaccard) WHERE given IS NULL OR wanted IS NULL', call) INTO wrong
		USING way, order_by, min_count, min_jaccard, top;
	RETURN wrong;
END $$;
CREATE FUNCTION call_of(way text, kind text, order_by text, min_count bigint, min_jaccard float8, top int, method text) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT p.* FROM kept AS x, kept AS y, qsets_nearest(x.%I%s, %s, %s, %s, %L, %L) AS p WHERE x.n = %s AND y.n = %s', kind,
		CASE WHEN split_part(way, '-', 1) <> split_part(way, '-', 2) THEN format(', y.%I', kind) ELSE '' END, min_count, min_jaccard, coalesce(top::text, 'NULL'), method, order_by,
		split_part(way, '-', 1), split_part(way, '-', 2))
$$;
CREATE VIEW tried AS SELECT way, order_by, method, kind, min_count, min_jaccard, top,
	wrong(call_of(way, kind, order_by, min_count, min_jaccard, top, method), way, order_by, min_count, min_jaccard, coalesce(top, 1000000)) AS wrong
FROM unnest('{1-1,2-2,3-3,1-2}'::text[]) AS way, unnest('{jaccard,common,overlap,lift}'::text[]) AS order_by,
	unnest('{auto,merge,search,merge_search,hash,merge_hash,bitmap,index,hybrid}'::text[]) AS method, unnest('{number,text}'::text[]) AS kind,
	(VALUES (1, 0, 10), (2, 0.02, 3), (1, 0, NULL), (1, 0.1, 1)) AS o (min_count, min_jaccard, top);
SELECT method, order_by, count(*) AS calls, sum(wrong) AS wrong FROM tried GROUP BY method, order_by ORDER BY method, order_by;

-- the same by workers, without the node, in the select list, and with a limit
SET parallel_setup_cost = 0;
SET max_parallel_workers_per_gather = 2;
SELECT 'workers' AS way, sum(wrong) AS wrong, count(*) AS calls FROM tried WHERE method IN ('auto', 'merge') AND kind = 'number';
SET qsketch.enable_pairscan = off;
SELECT 'function' AS way, sum(wrong) AS wrong, count(*) AS calls FROM tried WHERE method IN ('auto', 'merge') AND kind = 'number';
RESET qsketch.enable_pairscan;
RESET parallel_setup_cost;
SELECT order_by, wrong(format('SELECT (p).* FROM (SELECT qsets_nearest(number, 1, 0, 4, order_by => %L) AS p FROM kept WHERE n = 1 OFFSET 0) AS x', order_by), '1-1', order_by, 1, 0, 4) AS select_list
FROM unnest('{jaccard,common,overlap,lift}'::text[]) AS order_by;
SELECT trim(line) AS line FROM pg_temp.plan('SELECT * FROM qsets_nearest((SELECT number FROM kept WHERE n = 1), top => 3) AS p WHERE rank < 3 AND jaccard > 0') AS line
WHERE line ~ 'QSketchPairs|Filter: .*rank';
SELECT a, b, rank, common FROM qsets_nearest((SELECT number FROM kept WHERE n = 3), top => 2) LIMIT 5;
SELECT rank, count(*) FROM kept, qsets_nearest(number, top => 2) WHERE n = 1 GROUP BY rank ORDER BY rank;

-- sets with nothing in common, equal collections, and what is refused
SELECT count(*) AS rows, count(*) FILTER (WHERE common = 0) > 0 AS strangers FROM kept, qsets_nearest(number, 0, top => NULL) WHERE n = 2;
SELECT count(*) = (SELECT qsets_count(number) FROM kept WHERE n = 2) AS itself_first FROM kept, qsets_nearest(number, number, top => 1) WHERE n = 2 AND a = b AND jaccard = 1;
SELECT count(*) AS none FROM qsets_nearest(NULL);
SELECT count(*) AS none FROM kept, qsets_nearest(qsets_subset(number, '{}'));
SELECT count(*) > 0 AS defaults FROM kept, qsets_nearest(number, NULL::bigint, NULL, NULL, NULL, NULL);
SELECT * FROM kept, qsets_nearest(number, order_by => 'best');
SELECT * FROM kept, qsets_nearest(number, top => 0);
SELECT * FROM kept, qsets_nearest(number, text);
DROP VIEW tried;
DROP TABLE member, kept, ordered;
DROP FUNCTION wrong, call_of;
