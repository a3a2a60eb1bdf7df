--
-- qsets_pairs in FROM of what a scalar subquery returns: the value is taken as it
-- is from a plain aggregate, and as PostgreSQL copies it from all else.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all

CREATE TABLE item (s integer, e integer) WITH (parallel_workers = 3, autovacuum_enabled = off);
INSERT INTO item SELECT i % 50, (i * 7 + i % 50 * 3) % 211 FROM generate_series(1, 3000) AS i;
CREATE TABLE other (g integer, s integer, e text) WITH (parallel_workers = 0, autovacuum_enabled = off);
INSERT INTO other SELECT i % 3, i % 20, (i * 5) % 101 FROM generate_series(1, 1500) AS i;
ANALYZE item, other;

-- Pairs of a query by QSketchPairs and by Function Scan, whether they are the same, and whether it was used.
CREATE FUNCTION pg_temp.compare(query text, OUT pairs bigint, OUT same boolean, OUT used boolean) LANGUAGE plpgsql AS $$
DECLARE
	answer text[];
	line text;
	setting text;
BEGIN
	used := false;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		used := used OR line LIKE '%QSketchPairs%';
	END LOOP;
	FOREACH setting IN ARRAY '{on,off}'::text[] LOOP
		PERFORM set_config('qsketch.enable_pairscan', setting, true);
		EXECUTE 'SELECT array_append($1, concat_ws('' '', count(*), string_agg(x::text, '','' ORDER BY x::text))), count(*) FROM (' || query || ') AS x'
			INTO answer, pairs USING answer;
	END LOOP;
	PERFORM set_config('qsketch.enable_pairscan', 'on', true);
	same := answer[1] = answer[2];
END $$;

-- one process, several, and the ordinary plan
SELECT workers, scan, c.* FROM unnest(ARRAY[0, 3]) AS workers, unnest(ARRAY['on', 'off']) AS scan,
	LATERAL (SELECT set_config('max_parallel_workers_per_gather', workers::text, true), set_config('qsketch.enable_columnscan', scan, true)) AS x,
	LATERAL pg_temp.compare('SELECT p.* FROM qsets_pairs((SELECT qsets_agg(s, e) FROM item), min_count => 30) AS p') AS c;

-- what it is not, and what there is nothing of
SELECT what, c.* FROM (VALUES
	('between', '(SELECT qsets_agg(s, e::text) FROM item), (SELECT qsets_agg(s, e) FROM other)'),
	('another number', '(SELECT qsets_agg(s, e) FROM item), min_count => (SELECT 20 + max(g) FROM other)'),
	('merged', '(SELECT qsets_merge_agg(x) FROM (SELECT qsets_agg(s, e) AS x FROM other GROUP BY g) AS y), 10'),
	('of a group', '(SELECT qsets_agg(s, e) FROM other GROUP BY g ORDER BY g LIMIT 1), 10'),
	('not made here', '(SELECT qsets_subset(qsets_agg(s, e), ARRAY[1, 2, 3]) FROM item), 1'),
	('of no rows', '(SELECT qsets_agg(s, e) FROM item WHERE s < 0)'),
	('left out', '(SELECT qsets_agg(s, e) FROM item HAVING count(*) < 0)'),
	('no row', '(SELECT qsets_agg(s, e) FROM other GROUP BY g LIMIT 0)'),
	('NULL', '(SELECT NULL::qsets)'),
	('of one group', '(SELECT qsets_agg(s, e) FROM other WHERE g = 1 GROUP BY g), 10'),
	('top', '(SELECT qsets_agg(s, e) FROM item), top => 2')) AS f (what, arguments),
	LATERAL pg_temp.compare(format('SELECT p.* FROM qsets_pairs(%s) AS p', arguments)) AS c;
SELECT * FROM qsets_pairs((SELECT qsets_agg(s, e) FROM other GROUP BY g), 10);

-- anew for each outer row: of a subquery that depends on it, and of one that does not
SELECT * FROM pg_temp.compare('SELECT g, p.* FROM generate_series(0, 3) AS g,
	LATERAL qsets_pairs((SELECT qsets_agg(s, e) FROM other WHERE other.g = g.g), min_count => 20) AS p');
SELECT * FROM pg_temp.compare('SELECT g, p.* FROM generate_series(0, 3) AS g,
	LATERAL qsets_pairs((SELECT qsets_agg(s, e) FROM item), min_count => 25 + g) AS p');
SELECT * FROM pg_temp.compare('SELECT g, (SELECT count(*) FROM qsets_pairs((SELECT qsets_agg(s, e) FROM other WHERE other.g <> o.g), min_count => 10))
	FROM generate_series(0, 3) AS o (g)');

-- the same value twice, also where the other place copies it
SELECT * FROM pg_temp.compare('WITH made AS MATERIALIZED (SELECT qsets_agg(s, e) AS c FROM item)
	SELECT p.*, (SELECT qsets_count(c) FROM made) FROM qsets_pairs((SELECT c FROM made), min_count => 30) AS p');
SELECT * FROM pg_temp.compare('SELECT x.*, y.common FROM qsets_pairs((SELECT qsets_agg(s, e) FROM item), 30) AS x
	JOIN qsets_pairs((SELECT qsets_agg(s, e) FROM item), 30) AS y USING (a, b)');

-- in plans that are kept, and cursors that go back
SET plan_cache_mode = force_generic_plan;
PREPARE pairs_of(integer) AS SELECT count(*), sum(common) FROM qsets_pairs((SELECT qsets_agg(s, e) FROM other WHERE g < $1), min_count => 10);
EXECUTE pairs_of(1);
EXECUTE pairs_of(3);
EXECUTE pairs_of(0);
EXECUTE pairs_of(1);
RESET plan_cache_mode;
BEGIN;
DECLARE pair SCROLL CURSOR FOR SELECT * FROM qsets_pairs((SELECT qsets_agg(s, e) FROM other WHERE g = 0), 17);
FETCH 2 FROM pair;
FETCH BACKWARD 1 FROM pair;
FETCH 1 FROM pair;
COMMIT;
