--
-- The log at DEBUG1 says why neither the column scan nor the GPU was taken; what
-- EXPLAIN says from PostgreSQL 18 on is in t/038_reasons.pl.
--
LOAD 'qsketch';
SET max_parallel_workers_per_gather = 0;
SET qsketch.device = cpu;
CREATE TABLE why (k int, w int, t text, j numeric);
INSERT INTO why SELECT i % 10, 1, 'a', 1 FROM generate_series(1, 1000) AS i;
CREATE TABLE why_small (k int);
CREATE AGGREGATE why_sum(int) (sfunc = int4pl, stype = int);
CREATE TABLE why_more (k bigint, a int[], j json);
CREATE VIEW why_view AS SELECT k FROM why UNION ALL SELECT k FROM why_small;
VACUUM ANALYZE why;
-- the reasons of queries; planned once before, since growing caches are logged at DEBUG1, too
CREATE FUNCTION pg_temp.reasons(VARIADIC queries text[]) RETURNS void LANGUAGE plpgsql SET client_min_messages = notice AS
$$ DECLARE query text; BEGIN
	FOREACH query IN ARRAY queries LOOP EXECUTE 'EXPLAIN ' || query; END LOOP;
	PERFORM set_config('client_min_messages', 'debug1', true);
	FOREACH query IN ARRAY queries LOOP
		RAISE INFO '%', query;
		EXECUTE 'EXPLAIN ' || query;
	END LOOP;
END $$;
SELECT pg_temp.reasons('SELECT w, qsketch_agg(k) FROM why GROUP BY ROLLUP (w, t)', 'SELECT qsketch_agg(k) FROM why');
SELECT pg_temp.reasons(VARIADIC ARRAY['SELECT qsketch_agg(a.k) FROM why AS a JOIN why AS b ON a.k = b.w',
	'SELECT qsketch_agg(k + 1) FROM why', 'SELECT qsketch_agg(CASE WHEN k > 1 THEN ROW(k, w) END) FROM why', 'SELECT qsketch_agg(DISTINCT k) FROM why', 'SELECT qsketch_agg(k), sum(w + 1) FROM why', 'SELECT qsketch_agg(k), percentile_disc(0.5) WITHIN GROUP (ORDER BY w) FROM why', 'SELECT qsketch_agg(k), why_sum(w) FROM why', 'SELECT qsketch_agg(k), json_agg(w) FROM why GROUP BY w',
	'SELECT qsketch_agg(k, random()::bigint) FROM why', 'SELECT qsketch_agg(k) FROM why TABLESAMPLE BERNOULLI (50)', 'SELECT qsketch_agg(i) FROM generate_series(1, 10) AS i',
	'SELECT qsketch_agg(k) FROM why WHERE random() < 0.5', 'SELECT qsketch_agg(k) FROM why WHERE EXISTS (SELECT FROM why_small AS s WHERE s.k > why.k OR random() < 2)',
	'SELECT qsketch_agg(k) FROM why WHERE ctid <> ''(0,1)''', 'SELECT qsketch_agg(k) FROM why WHERE false', 'SELECT qsketch_agg(k, sk) FROM why, (SELECT qsketch_new() AS sk OFFSET 0) AS s',
	'SELECT qtop_agg(t, 3) FROM why', 'SELECT qtop_agg(k, 0) FROM why', 'SELECT qsets_agg(k, a) FROM why_more', 'SELECT qsketch_agg(j) FROM why_more',
	'SELECT qfilter_agg(k, NULL) FROM why', 'SELECT qsketch_agg(k, qsketch_sf_device(qsketch_new(''sf''))) FROM why', 'SELECT qsketch_agg(k) FROM pg_class, LATERAL (SELECT reltype::int AS k) AS o', 'SELECT (SELECT qsketch_agg(k) FROM why_view)',
	'SELECT qsketch_agg(k) FROM (SELECT k FROM why ORDER BY w) AS s', 'SELECT qsketch_agg(k) FROM (SELECT k FROM why ORDER BY w LIMIT 9) AS s', 'SELECT qsketch_agg(k) FROM (SELECT DISTINCT k FROM why) AS s', 'SELECT qsketch_agg(k) FROM (SELECT k FROM why GROUP BY k) AS s',
	'SELECT qsketch_agg(k) FROM (SELECT k FROM why UNION SELECT k FROM why_small) AS s', 'SELECT qsketch_agg(k) FROM (SELECT lag(k) OVER () AS k FROM why) AS s', 'SELECT qsketch_agg(k) FROM (SELECT random()::text AS k FROM why) AS s',
	'WITH m AS MATERIALIZED (SELECT k FROM why) SELECT qsketch_agg(k) FROM m', 'WITH m AS (SELECT k FROM why) SELECT qsketch_agg(k) FROM m', 'WITH m AS (SELECT k FROM why) SELECT qsketch_agg(k), (SELECT qsketch_agg(k) FROM m) FROM m',
	'SELECT qsketch_total(qsketch_agg(k)) FROM why WHERE k IN (SELECT k FROM why_small)', 'SELECT count(*) FROM why', 'SELECT qfilter_agg(t, qfilter_new_bloom(1000)) FROM why', 'SELECT qsketch_agg(k, qsketch_new(''sf'')) FROM why']);
SET qsketch.enable_columnscan = off;
SELECT pg_temp.reasons('SELECT qsketch_agg(k) FROM why');
RESET qsketch.enable_columnscan;
-- GROUP BY
SELECT pg_temp.reasons(VARIADIC ARRAY['SELECT qsketch_agg(k) FROM why GROUP BY w, j', 'SELECT qsketch_agg(k) FROM why GROUP BY w % 2, random()', 'SELECT qsketch_agg(k) FROM why GROUP BY generate_series(1, w)',
	'SELECT qsketch_agg(k) FROM why GROUP BY ctid', 'SELECT qsketch_agg(k) FROM why GROUP BY why::text', 'SELECT qsketch_agg(k) FROM why GROUP BY w, (t || w)']);
-- several parts
SELECT pg_temp.reasons('SELECT (SELECT qsketch_agg(DISTINCT k) FROM why) || (SELECT qsketch_agg(DISTINCT w) FROM why) || (SELECT qsketch_agg(k) FROM why GROUP BY ROLLUP (w, t))');
-- a function that plans a query of its own while this one is planned, and one whose query fails
CREATE FUNCTION why_planned() RETURNS int STABLE LANGUAGE plpgsql SET client_min_messages = notice AS $$ BEGIN EXECUTE 'SELECT qsketch_agg(DISTINCT k) FROM why'; RETURN 1; END $$;
CREATE FUNCTION why_failed() RETURNS int STABLE LANGUAGE plpgsql SET client_min_messages = notice AS $$ BEGIN
	EXECUTE 'SELECT qsketch_agg(k) FROM why_long WHERE k = 1 HAVING max(k) > 1 / (why_planned() - 1)'; RETURN 1; EXCEPTION WHEN division_by_zero THEN RETURN 1; END $$;
CREATE TABLE why_long AS SELECT k FROM generate_series(1, 10000) AS k;
CREATE INDEX ON why_long (k);
ANALYZE why_long;
SELECT pg_temp.reasons('SELECT qsketch_agg(k) FROM why_long WHERE k = 1 HAVING max(k) > why_planned()', 'SELECT qsketch_agg(k) FROM why_long WHERE k = 1 HAVING max(k) > why_failed()');
DROP TABLE why_long;
-- partitions, which are also planned one by one
CREATE TABLE why_parts (d int, k int) PARTITION BY LIST (d);
CREATE TABLE why_part1 PARTITION OF why_parts FOR VALUES IN (1);
CREATE TABLE why_part2 PARTITION OF why_parts FOR VALUES IN (2);
INSERT INTO why_parts SELECT 1 + i % 2, i FROM generate_series(1, 10000) AS i;
VACUUM ANALYZE why_parts;
SET enable_partitionwise_aggregate = on;
SELECT pg_temp.reasons('SELECT d, qsketch_agg(k) FROM why_parts GROUP BY d');
SELECT pg_temp.reasons('SELECT d, qsketch_agg(k) FROM why_parts WHERE d = 1 GROUP BY d');
SELECT pg_temp.reasons('SELECT d, qsketch_agg(k) FROM why_parts WHERE d = 3 GROUP BY d');
SELECT pg_temp.reasons('SELECT qsketch_agg(k) FROM why_parts');
SELECT pg_temp.reasons('SELECT qsketch_agg(DISTINCT k) FROM why_parts');
-- many groups, of which far fewer may come
SELECT pg_temp.reasons('SELECT qsketch_agg(d) FROM (SELECT * FROM why_part1 UNION ALL SELECT * FROM why_part2) AS both_parts GROUP BY k::text || d');
RESET enable_partitionwise_aggregate;
DROP TABLE why_parts;

-- of queries that run
SET client_min_messages = debug1;
SELECT qsketch_total(qsketch_agg(k)) FROM why GROUP BY ROLLUP (w, t);
SET qsketch.device = auto;
SELECT qsketch_total(qsketch_agg(k, qsketch_new('sf', '64kB'))) FROM why;
SELECT count(*) FROM why;
RESET client_min_messages;
DROP AGGREGATE why_sum(int);
DROP TABLE why, why_small, why_more CASCADE;
