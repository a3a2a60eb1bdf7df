--
-- Collections of sets that all processes of a parallel column scan build together:
-- the same bytes with any number of workers, with and without the leader, whatever
-- the rows are like; which plan is chosen; what a rescan does.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/columnscan.psql'
\i :file
\set ECHO all

-- The same as the ordinary plan with 0 to 4 workers?  How many were planned.
CREATE FUNCTION pg_temp.built(query text, OUT same boolean, OUT workers text) LANGUAGE plpgsql AS
$$ DECLARE ordinary text; allowed int; BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', '0', false);
	PERFORM set_config('qsketch.enable_columnscan', 'off', false);
	ordinary := pg_temp.result(query);
	PERFORM set_config('qsketch.enable_columnscan', 'on', false);
	same := true;
	FOR allowed IN 0 .. 4 LOOP
		PERFORM set_config('max_parallel_workers_per_gather', allowed::text, false);
		same := same AND pg_temp.scans(query) = 1 AND pg_temp.result(query) = ordinary;
		workers := concat_ws(' ', workers, pg_temp.workers(query));
	END LOOP;
END $$;

CREATE TABLE built (one int, skewed int, sparse bigint, e int, far bigint, t text, u uuid, gaps int, nothing int)
	WITH (parallel_workers = 4, autovacuum_enabled = off);
INSERT INTO built SELECT 7, CASE WHEN i % 10 < 8 THEN -1 ELSE i % 4000 END, (i % 3001) * 1234567890123, i * 7919 % 20011,
	(i * 7919 % 20011) * -987654321987, 'key ' || i % 7919, md5((i % 5003)::text)::uuid, nullif(i % 7, 0), NULL
FROM generate_series(1, 120000) AS i;
SELECT leader, call, same, workers
FROM unnest(ARRAY['on', 'off']) AS leader, LATERAL (SELECT set_config('parallel_leader_participation', leader, false)) AS x,
	unnest(ARRAY['one, e', 'one, one', 'one, t', 'skewed, e', 'skewed, far', 'skewed, t', 'skewed, u', 'sparse, e', 'sparse, far',
		'sparse, one', 'sparse, u', 'gaps, t', 'e, gaps', 'nothing, e', 'e, nothing', 'far, u']) AS call,
	LATERAL pg_temp.built(format('SELECT qsets_agg(%s) FROM built', call));
RESET parallel_leader_participation;

-- several at once, beside counts and other families; with conditions that keep few rows or none
SELECT query, (pg_temp.built('SELECT ' || query)).same FROM unnest(ARRAY[
	'qsets_agg(one, e), qsets_agg(skewed, t), qsets_agg(nothing, e), qsets_agg(e, far) FROM built',
	'qsets_agg(skewed, e), count(*), count(gaps), qsketch_agg(e) FROM built',
	'qsets_agg(skewed, e) FILTER (WHERE gaps = 3), qsets_agg(e, skewed), count(nothing) FROM built',
	'qsets_agg(skewed, e) FROM built WHERE e = 3', 'qsets_agg(skewed, e) FROM built WHERE e < 0',
	'qsets_count(qsets_agg(skewed, e)), qsets_agg(skewed, e) FROM built LIMIT 1']) AS query;

-- so many duplicates that they are most of the rows; none of the rows visible; no pages
CREATE TABLE repeated WITH (parallel_workers = 4) AS SELECT i % 7 AS s, i % 5 AS e FROM generate_series(1, 100000) AS i;
SELECT * FROM pg_temp.built('SELECT qsets_agg(s, e) FROM repeated');
DELETE FROM repeated;
SELECT * FROM pg_temp.built('SELECT qsets_agg(s, e) FROM repeated');
TRUNCATE repeated;
SELECT * FROM pg_temp.built('SELECT qsets_agg(s, e) FROM repeated');
INSERT INTO repeated VALUES (1, 1);
SELECT * FROM pg_temp.built('SELECT qsets_agg(s, e) FROM repeated');

-- the workers are not there
SET max_parallel_workers = 0;
SELECT * FROM pg_temp.built('SELECT qsets_agg(skewed, e) FROM built');
SET max_parallel_workers = 1;
SELECT * FROM pg_temp.built('SELECT qsets_agg(skewed, e) FROM built');
RESET max_parallel_workers;

-- again and again, and what is done with the result
SET max_parallel_workers_per_gather = 3;
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT count(*), bool_and(c = ordinary) FROM generate_series(1, 4) AS x
	LEFT JOIN (SELECT qsets_agg(skewed, e) AS c FROM built) AS b ON qsets_count(c) > x,
	(SELECT qsets_agg(skewed, e ORDER BY e) AS ordinary FROM built) AS o;
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;
SELECT count(*) = (SELECT count(DISTINCT (skewed, e)) FROM built) AS same
FROM (SELECT qsets_agg(skewed, e) AS c FROM built) AS b, unnest(qsets_ids(c)) AS id, unnest(qsets_elements(c, id)) AS x;
CREATE TABLE kept AS SELECT qsets_agg(skewed, e) AS c FROM built;
SELECT (SELECT qsets_agg(skewed, e) FROM built WHERE e >= 0) = c AS same FROM kept;
SELECT count(*) > 0 AS pairs FROM qsets_pairs((SELECT qsets_agg(skewed, e) FROM built), min_count => 1);

-- by its costs: not with one worker, however many processors there are; with several, if there are processors for them
EXPLAIN (COSTS OFF) SELECT qsets_agg(skewed, e) FROM built;
SET cpu_operator_cost = 0.0025;
SET max_parallel_workers_per_gather = 1;
EXPLAIN (COSTS OFF) SELECT qsets_agg(skewed, e) FROM built;
DROP TABLE built, repeated, kept;
