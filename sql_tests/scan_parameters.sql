--
-- QSketchScan with conditions that change: parameters, rescans, row security, partitions.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/columnscan.psql'
\i :file
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE visits (k bigint, day integer, page text, owner name) WITH (parallel_workers = 2, autovacuum_enabled = off);
INSERT INTO visits SELECT i % 700, i % 30, 'page ' || i % 9, CASE WHEN i % 2 = 0 THEN 'scan_user' ELSE 'other' END FROM generate_series(1, 20000) AS i;
INSERT INTO visits VALUES (1, NULL, NULL, NULL);
ANALYZE visits;

-- parameters of prepared statements, in plans for any of them
PREPARE of(integer, text, integer[]) AS SELECT qsketch_total(qsketch_agg(k)), count(*), count(*) FILTER (WHERE page = $2) FROM visits WHERE day < $1 AND (day = ANY ($3) OR $3 IS NULL) AND page <> 'page 1';
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE of(5, 'page 2', NULL);
EXECUTE of(5, 'page 2', NULL);
EXECUTE of(10, 'page 3', '{3,4,NULL}');
EXECUTE of(NULL, NULL, NULL);
PREPARE list(integer[]) AS SELECT count(k), qsketch_total(qsketch_agg(k)) FROM visits WHERE day = ANY ($1);
EXECUTE list('{1,2,3}');
EXECUTE list('{}');
EXECUTE list(NULL);
SET max_parallel_workers_per_gather = 2;
EXECUTE list('{1,2,3}');
EXECUTE of(10, 'page 3', '{3,4,NULL}');
DEALLOCATE ALL;
PREPARE of(integer, text) AS SELECT qsketch_total(qsketch_agg(k)), count(*), count(*) FILTER (WHERE page = $2) FROM visits WHERE day < $1;
EXECUTE of(5, 'page 2');
EXPLAIN (COSTS OFF) EXECUTE of(5, 'page 2');
RESET plan_cache_mode;
DEALLOCATE ALL;
CREATE FUNCTION pg_temp.total_of(of_day integer) RETURNS bigint LANGUAGE plpgsql STABLE AS
$$ BEGIN RETURN (SELECT qsketch_total(qsketch_agg(k)) FROM visits WHERE day = of_day); END $$;
SELECT d, pg_temp.total_of(d) FROM generate_series(28, 31) AS d;

-- values of other subqueries, also in workers
SELECT same, scanned, workers FROM unnest(ARRAY[
	'SELECT qsketch_agg(k) FROM visits WHERE day < (SELECT max(day) / 2 FROM visits)',
	'SELECT qsketch_agg(k) FILTER (WHERE day < (SELECT max(day) / 2 FROM visits)), count(*) FROM visits',
	'SELECT qsketch_agg(k), count(*) FILTER (WHERE page = (SELECT min(page) FROM visits)) FROM visits WHERE day = ANY (ARRAY(SELECT generate_series(3, 9)))',
	'SELECT qsketch_agg(k) FROM visits WHERE day = (SELECT 100 FROM visits WHERE day = 1000)']) AS query, LATERAL pg_temp.same(query);
SET max_parallel_workers_per_gather = 0;

-- rescans with another value each time, with the same, and with one that only the output depends on
SELECT d, total, count FROM unnest(ARRAY[3, 3, 40, NULL, 29]) AS d,
	LATERAL (SELECT qsketch_total(qsketch_agg(k)) AS total, count(*) FROM visits WHERE day = d) AS s;
SELECT d, (SELECT qsketch_total(qsketch_agg(k) FILTER (WHERE day = d)) FROM visits) FROM unnest(ARRAY[3, 40, 29]) AS d;
SELECT d, (SELECT qsketch_estimate(qsketch_agg(k), d) FROM visits WHERE page = 'page 3') FROM generate_series(1, 3) AS d;
SELECT d, e, (SELECT qsketch_estimate(qsketch_agg(k), e) FROM visits WHERE day < d AND length(page) = 6) FROM generate_series(1, 2) AS d, generate_series(1, 2) AS e ORDER BY 1, 2;
SET qsketch.enable_columnscan = off;
SELECT d, e, (SELECT qsketch_estimate(qsketch_agg(k), e) FROM visits WHERE day < d AND length(page) = 6) FROM generate_series(1, 2) AS d, generate_series(1, 2) AS e ORDER BY 1, 2;
RESET qsketch.enable_columnscan;
EXPLAIN (COSTS OFF) SELECT d, (SELECT qsketch_agg(k) FROM visits WHERE day = d) FROM generate_series(1, 3) AS d
	\g (format=unaligned tuples_only=on) | sed 's/SubPlan .*/SubPlan/'
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT qsketch_total(qsketch_agg(k)), count(*) FROM visits WHERE day = 7;
DELETE FROM visits WHERE day = 7;
FETCH c; FETCH c; FETCH BACKWARD c; FETCH FIRST c;
SELECT qsketch_total(qsketch_agg(k)), count(*) FROM visits WHERE day = 7;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT qsketch_total(qsketch_agg(k)), count(*) FROM visits WHERE day = 7;
COMMIT;
-- cancelled in a condition
CREATE FUNCTION pg_temp.slow(integer) RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN PERFORM pg_sleep(0.01); RETURN true; END $$;
\set VERBOSITY terse
SET LOCAL statement_timeout = '200ms'\; SELECT qsketch_agg(k) FROM visits WHERE pg_temp.slow(day);
\set VERBOSITY default

-- row security: the policy first, then what its user writes, but for what tells nothing of other rows
CREATE ROLE scan_user;
GRANT SELECT ON visits TO scan_user;
CREATE POLICY own ON visits USING (owner = current_user);
ALTER TABLE visits ENABLE ROW LEVEL SECURITY;
CREATE FUNCTION leak(name) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS
$$ BEGIN IF $1 <> 'scan_user' THEN RAISE EXCEPTION 'leaked %', $1; END IF; RETURN true; END $$;
ALTER FUNCTION leak STABLE;
SELECT pg_temp.error_of('SELECT qsketch_agg(k) FROM visits WHERE leak(owner)');
SET ROLE scan_user;
SELECT query, pg_temp.scans(query), same FROM unnest(ARRAY['SELECT count(*), qsketch_agg(k) FROM visits',
	'SELECT count(*), qsketch_agg(k) FROM visits WHERE leak(owner)', 'SELECT count(*), qsketch_agg(k) FROM visits WHERE day < 10 AND leak(owner)',
	'SELECT count(*) FILTER (WHERE leak(owner)), qsketch_agg(k) FROM visits']) AS query, LATERAL pg_temp.same(query);
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT count(*), qsketch_agg(k) FROM visits WHERE leak(owner) AND day < 10;
SELECT count(*), qsketch_total(qsketch_agg(k)) FROM visits WHERE leak(owner) AND day < 10;
RESET ROLE;
CREATE VIEW barrier WITH (security_barrier) AS SELECT k, day, owner FROM visits WHERE owner = 'scan_user';
SELECT count(*), qsketch_total(qsketch_agg(k)) FROM barrier WHERE leak(owner) AND day < 10;
-- what users may not call they may not call here
REVOKE EXECUTE ON FUNCTION leak(name) FROM public;
SET ROLE scan_user;
SELECT pg_temp.error_of('SELECT qsketch_agg(k) FROM visits WHERE leak(owner)'), pg_temp.error_of('SELECT qsketch_agg(k) FILTER (WHERE leak(owner)) FROM visits');
RESET ROLE;
ALTER TABLE visits DISABLE ROW LEVEL SECURITY;

-- operators of others, whatever they claim to be
CREATE OPERATOR public.< (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4gt);
SELECT pg_temp.scans(query), same FROM unnest(ARRAY['SELECT count(*), qsketch_agg(k) FROM visits WHERE day OPERATOR(public.<) 5',
	'SELECT count(*), qsketch_agg(k) FROM visits WHERE 5 OPERATOR(public.<) day']) AS query, LATERAL pg_temp.same(query);
DROP OPERATOR public.< (integer, integer);

-- partitions: pruned when planned and when executed, conditions on the others, in other orders of columns
CREATE TABLE parts (k bigint, day integer, page text) PARTITION BY RANGE (day);
SELECT format('CREATE TABLE parts_%s PARTITION OF parts FOR VALUES FROM (%s) TO (%s) WITH (parallel_workers = 2)', i, i * 10, i * 10 + 10) FROM generate_series(0, 1) AS i
\gexec
CREATE TABLE parts_2 (page text, gone integer, day integer, k bigint) WITH (parallel_workers = 2);
ALTER TABLE parts_2 DROP gone;
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (20) TO (100);
INSERT INTO parts SELECT k, day, page FROM visits WHERE day IS NOT NULL;
ANALYZE parts;
SELECT pg_temp.scans(query), same, scanned, workers, query FROM unnest(ARRAY[
	'SELECT qsketch_agg(k), count(*) FROM parts WHERE day < 20',
	'SELECT qsketch_agg(k), count(*) FROM parts WHERE day = 25 AND page LIKE ''page%''',
	'SELECT qsketch_agg(k) FILTER (WHERE page = ''page 3''), count(*), count(page) FILTER (WHERE day < 15) FROM parts WHERE page IN (''page 3'', ''page 4'')',
	'SELECT qsketch_agg(k), count(*) FROM parts WHERE tableoid = ''parts_2''::regclass',
	'SELECT qsketch_agg(k), count(*) FROM parts WHERE parts IS NOT NULL AND k % 2 = 0',
	'SELECT qsketch_agg(k), count(*) FROM parts WHERE day < (SELECT 15)',
	'SELECT qsketch_agg(k), count(*) FROM parts WHERE day > 1000',
	'SELECT qsketch_agg(k), count(*) FROM (SELECT k, day FROM visits UNION ALL SELECT k + 0, day + 30 FROM parts_1) AS u WHERE day > 27',
	'SELECT qsketch_agg(k), count(*) FROM (SELECT k, day FROM visits UNION ALL SELECT k, day FROM parts_1) AS u WHERE day > 17']) AS query, LATERAL pg_temp.same(query);
-- one partition hands its sketches on to the next: of every family, once and again, and where there are none
SELECT same, scanned, list FROM unnest(ARRAY['qsketch_agg(k), qsketch_agg(page), count(*), count(page)', 'qsketch_agg(k, day), qsketch_agg(ROW(k, page))',
	'qtop_agg(k, 9)', 'qsets_agg(day, k), qsets_agg(k, page)', 'qfilter_agg(k, qfilter_new_bloom(900))', 'qsketch_agg(k, qsketch_new(''sf'', ''64kB'')) FILTER (WHERE day < 7), count(*) FILTER (WHERE day > 25)']) AS list,
	LATERAL pg_temp.same(format('SELECT %s FROM parts WHERE k <> 3', list));
SET max_parallel_workers_per_gather = 0;
SELECT d, s.* FROM unnest(ARRAY[0, 9, 19, 99, 5, 20]) AS d, LATERAL (SELECT qsketch_total(qsketch_agg(k)), count(*), count(page) FILTER (WHERE k % 2 = 0) FROM parts WHERE day > d OR d = 9 AND k < 0) AS s;
SET qsketch.enable_columnscan = off;
SELECT d, s.* FROM unnest(ARRAY[0, 9, 19, 99, 5, 20]) AS d, LATERAL (SELECT qsketch_total(qsketch_agg(k)), count(*), count(page) FILTER (WHERE k % 2 = 0) FROM parts WHERE day > d OR d = 9 AND k < 0) AS s;
RESET qsketch.enable_columnscan;
SELECT pg_temp.plan($$SELECT qsketch_agg(page), count(*) FROM parts WHERE day > 12$$);
PREPARE of(integer) AS SELECT qsketch_total(qsketch_agg(k)), count(*) FROM parts WHERE day >= $1 AND page = 'page 3';
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE of(12);
EXECUTE of(12);
EXECUTE of(99);
EXECUTE of(1000);
SET max_parallel_workers_per_gather = 2;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) EXECUTE of(20) \g (format=unaligned tuples_only=on) | grep -E 'Scan|Filter|Subplans|Append' | sed 's/ (actual.*//; s/Rows Removed by Filter: .*/Rows Removed by Filter/; s/ parts_1$//'
EXECUTE of(12);
SET max_parallel_workers_per_gather = 0;
RESET plan_cache_mode;
SELECT d, (SELECT qsketch_total(qsketch_agg(k)) FROM parts WHERE day = d), (SELECT count(*) FROM parts WHERE day = d) FROM unnest(ARRAY[5, 15, 1000, 25, NULL]) AS d;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) SELECT d, (SELECT qsketch_agg(k) FROM parts WHERE day = d) FROM unnest(ARRAY[5, 15]) AS d
	\g (format=unaligned tuples_only=on) | grep -oE '\(QSketchScan.*' | sed -E 's/ on (parts_.)( parts_.)? \(/ on \1 (/; s/\(actual.*loops=/(loops=/'

DROP VIEW barrier;
DROP TABLE visits, parts;
DROP FUNCTION leak;
DROP ROLE scan_user;
