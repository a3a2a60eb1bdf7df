--
-- QSketchScan with GROUP BY: the groups and bytes of the ordinary plan.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/scan_groups.psql'
\i :file
\set ECHO all
CREATE DOMAIN small_day AS int;
CREATE TABLE g_scan (note text, dropped int, s smallint, i int, b bigint, d date, z timestamptz, m small_day, one int, eight int, thousand int,
	many int, k bigint, w int, t text);
INSERT INTO g_scan
SELECT CASE WHEN r % 5 = 0 THEN repeat('n', r % 50) END, r, CASE WHEN r % 7 > 0 THEN r % 40 - 20 END, CASE WHEN r % 11 > 0 THEN r % 100 - 50 END,
	(r % 64 - 32) * 288230376151711743, date '2026-01-01' + r % 30, timestamptz '2026-01-01 UTC' + r % 24 * interval '1 h', r % 9, 1, r % 8,
	(r * 7919::bigint) % 1000, (r * 7919::bigint) % 5000, CASE WHEN r % 13 > 0 THEN (r * 31::bigint) % 3000 END, r % 20 + 1, 'key ' || r % 700
FROM generate_series(1, 20000) AS r;
ALTER TABLE g_scan DROP dropped;
ALTER TABLE g_scan ADD late int DEFAULT 42, ADD nothing date;
INSERT INTO g_scan (late, nothing, one, k, w) SELECT r % 3, date '2026-02-01' + r % 4, 1, r, 1 FROM generate_series(1, 50) AS r;
DELETE FROM g_scan WHERE k % 17 = 3;
UPDATE g_scan SET w = w + 1 WHERE many % 10 = 4;
VACUUM ANALYZE g_scan;
CREATE TABLE g_empty (LIKE g_scan);

EXPLAIN (COSTS OFF) SELECT d, qsketch_agg(k) FROM g_scan GROUP BY d;
SELECT pg_temp.plan($$SELECT d + 1, qsketch_agg(k), count(*) FROM g_scan WHERE w > 3 AND d > '2026-01-05' GROUP BY d ORDER BY d$$);

-- all families, each column
SELECT by, s.* FROM unnest(ARRAY['s', 'i', 'b', 'd', 'z', 'm', 'one', 'eight', 'thousand', 'many', 'late', 'nothing']) AS by,
	LATERAL pg_temp.same(format('SELECT %s AS g, qsketch_agg(k) AS a FROM g_scan GROUP BY %1$s', by)) AS s;
SELECT by, call, s.* FROM unnest(ARRAY['i', 'eight', 'many']) AS by, unnest(ARRAY['qsketch_agg(t)', 'qsketch_agg(k, w)', 'qsketch_agg(ROW(k, t))',
	'qsketch_agg(k, qsketch_new(''warp'', ''1kB''))', 'qsketch_agg(k), count(*), count(t)', 'qfilter_agg(k, qfilter_new_bloom(1000))',
	'qfilter_agg(t, qfilter_new_bloom(100))', 'qsets_agg(w, k)', 'qsets_agg(w, t)', 'qtop_agg(k, 5)', 'qtop_agg(w, 3), qsketch_agg(t), qsets_agg(k, w)']) AS call,
	LATERAL pg_temp.same(format('SELECT %s AS g, %s FROM g_scan GROUP BY %1$s', by, call)) AS s ORDER BY by COLLATE "C", call COLLATE "C";

-- conditions, and FILTERs, which may leave a group nothing
SELECT q, s.* FROM unnest(ARRAY['qsketch_agg(k) FROM g_scan WHERE w > 10', 'qsketch_agg(k) FROM g_scan WHERE length(t) = 5 AND w < 18',
	'qsketch_agg(k) FILTER (WHERE w = 3) FROM g_scan', 'qsketch_agg(k) FILTER (WHERE eight = 3), count(*) FROM g_scan WHERE w > 10',
	'qsketch_agg(k) FILTER (WHERE w > 3), qsketch_agg(t) FILTER (WHERE w > 3), count(*) FILTER (WHERE late = 42), count(*) FROM g_scan WHERE i > 0',
	'qsketch_agg(k) FILTER (WHERE i > 1000) FROM g_scan', 'qsketch_agg(k) FROM g_scan WHERE i IS NULL', 'qsketch_agg(k) FROM g_scan WHERE w > 1000',
	'qsketch_agg(k) FROM g_empty']) AS q,
	LATERAL pg_temp.same(format('SELECT i, %s GROUP BY i', q)) AS s ORDER BY q COLLATE "C";

-- the group in expressions, more than once, not at all; above it ORDER BY, LIMIT, a join, window functions
SELECT q, s.* FROM unnest(ARRAY['SELECT qsketch_agg(k) FROM g_scan GROUP BY eight', 'SELECT eight * 2, -eight, eight, qsketch_total(qsketch_agg(k)) + eight FROM g_scan GROUP BY eight',
	'SELECT eight, qsketch_agg(k) FROM g_scan GROUP BY eight ORDER BY eight DESC LIMIT 3',
	'SELECT many, qsketch_agg(k) FROM g_scan GROUP BY many ORDER BY qsketch_total(qsketch_agg(k)), many LIMIT 10',
	'SELECT a.eight, sk, n FROM (SELECT eight, qsketch_agg(k) AS sk FROM g_scan GROUP BY eight) AS a JOIN (SELECT eight, count(*) AS n FROM g_scan GROUP BY eight) AS b USING (eight)',
	'SELECT eight, qsketch_agg(k), sum(count(*)) OVER (ORDER BY eight) FROM g_scan GROUP BY eight',
	'SELECT x, s.* FROM generate_series(1, 3) AS x, LATERAL (SELECT eight + x AS e, qsketch_agg(k) FROM g_scan GROUP BY eight) AS s',
	'SELECT x, s.* FROM generate_series(1, 3) AS x, LATERAL (SELECT eight, qsketch_agg(k) FROM g_scan WHERE w > x GROUP BY eight) AS s',
	'SELECT eight, qsketch_agg(k) FROM g_scan WHERE eight = 3 GROUP BY eight']) AS q, LATERAL pg_temp.same(q) AS s ORDER BY q COLLATE "C";
SELECT count(*) FROM (SELECT eight, qsketch_agg(k) AS sk FROM g_scan GROUP BY eight LIMIT 5) AS s WHERE sk IS NOT NULL;

-- prepared statements, with a generic plan, too
PREPARE grouped(int) AS SELECT eight, qsketch_total(qsketch_agg(k)), count(*) FROM g_scan WHERE w > $1 GROUP BY eight ORDER BY eight;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE grouped(20);
EXECUTE grouped(18);
EXECUTE grouped(100);
RESET plan_cache_mode;

-- cursors: rows between which others are read, and once more from the first one on
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT eight, qsketch_total(qsketch_agg(k)) AS total FROM g_scan WHERE eight < 3 GROUP BY eight;
DECLARE h CURSOR WITH HOLD FOR SELECT thousand, qsketch_agg(k) FROM g_scan WHERE thousand < 3 GROUP BY thousand;
FETCH 2 FROM c;
MOVE BACKWARD ALL FROM c;
FETCH ALL FROM c;
COMMIT;
MOVE ALL FROM h;
CLOSE h;

-- more groups than memory: they are written, perhaps many times, and merged
-- which groups are written is asked of states in memory; those on a device take none
CREATE FUNCTION pg_temp.plan_on_cpu(query text) RETURNS text LANGUAGE plpgsql SET qsketch.device = 'cpu' AS $$ DECLARE plan text; BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
	RETURN plan;
END $$;
CREATE FUNCTION pg_temp.spilled(memory text, by text, OUT same boolean, OUT groups int, OUT analyzed bigint, OUT keys bigint, OUT spilled boolean)
LANGUAGE plpgsql AS $$ DECLARE plan text; BEGIN
	PERFORM set_config('work_mem', memory, true), set_config('enable_hashagg', 'off', true), set_config('enable_sort', 'off', true);
	SELECT s.* INTO same, groups FROM pg_temp.same(format('SELECT %s, qsketch_agg(k), count(*) FILTER (WHERE w > 7), qsets_agg(w, t) FROM g_scan WHERE k > 2 GROUP BY %1$s', by)) AS s;
	plan := pg_temp.plan_on_cpu(format('SELECT %s, qsketch_agg(k) FROM g_scan GROUP BY %1$s', by));
	analyzed := substring(plan FROM '"Groups": (\d+)');
	keys := substring(plan FROM '"Keys": (\d+)');
	spilled := coalesce(substring(plan FROM '"Spilled Groups": (\d+)')::int, 0) > 0;
END $$;
SELECT memory, by, s.* FROM unnest(ARRAY['64kB', '1MB', '64MB']) AS memory, unnest(ARRAY['one', 'thousand', 'many', 'b']) AS by, LATERAL pg_temp.spilled(memory, by) AS s
ORDER BY memory COLLATE "C", by COLLATE "C";
SET enable_hashagg = off;
SET enable_sort = off;
SET work_mem = '64kB';
SELECT s.* FROM pg_temp.same('SELECT x, s.* FROM generate_series(1, 2) AS x, LATERAL (SELECT many + x AS e, qsketch_agg(t) FROM g_scan GROUP BY many) AS s') AS s;
SELECT count(*) FROM (SELECT many, qsketch_agg(k) AS sk FROM g_scan GROUP BY many LIMIT 7) AS s WHERE sk IS NOT NULL;
SET temp_file_limit = 0;
\set VERBOSITY sqlstate
SELECT count(sk) FROM (SELECT many, qsketch_agg(k) AS sk FROM g_scan GROUP BY many) AS s;
\set VERBOSITY default
RESET temp_file_limit;
-- groups of a few rows in random order: new ones are written, with keys that wait
CREATE TABLE g_few AS SELECT ARRAY[r * 7919::bigint % 2003, r % 2] AS g, 'word ' || r % 37 AS word, r % 5 AS w, r AS k FROM generate_series(1, 8000) AS r;
VACUUM ANALYZE g_few;
SELECT s.* FROM pg_temp.same('SELECT g, qtop_agg(word, 3), qtop_agg(word, w, 3), qtop_agg(w, 3), qsketch_agg(word), qsketch_agg(k, w), count(*) FROM g_few GROUP BY g') AS s;
DROP TABLE g_few;
RESET enable_hashagg;
RESET enable_sort;
SET work_mem = '64MB';

-- groups of which the planner knew nothing
CREATE TABLE g_new AS SELECT r AS g, r AS k FROM generate_series(1, 3000) AS r;
SELECT s.* FROM pg_temp.same('SELECT g, qsketch_agg(k) FROM g_new GROUP BY g') AS s;

-- groups of many keys, which wait: there is no memory for all tables, but for one after the other
CREATE TABLE g_dense AS SELECT r % 12 AS g, r * 7919::bigint AS k, r % 100 AS few, r % 5 + 1 AS w FROM generate_series(1, 120000) AS r;
VACUUM ANALYZE g_dense;
CREATE FUNCTION pg_temp.spills(query text) RETURNS boolean LANGUAGE sql AS $$ SELECT pg_temp.plan_on_cpu(query) ~ 'Spilled Groups' $$;
SET enable_hashagg = off;
SET enable_sort = off;
SET work_mem = '2MB';
SELECT call, s.*, pg_temp.spills(query) FROM unnest(ARRAY['qsketch_agg(k)', 'qsketch_agg(k, w), count(*)', 'qsketch_agg(few)',
	'qsketch_agg(k) FILTER (WHERE w > 2), qsketch_agg(few)', 'qsketch_agg(k, qsketch_new(''multilevel'', ''64kB''))',
	'qsketch_agg(k, qsketch_new(''sub_warp'', ''1MB''))', 'qsketch_agg(k), qsets_agg(w, few)']) AS call,
	LATERAL format('SELECT g, %s FROM g_dense GROUP BY g', call) AS query, LATERAL pg_temp.same(query) AS s;
-- keys of lists wait, too, and are written as they are: many keys or few, with weights, some negative
SET work_mem = '512kB';
CREATE FUNCTION pg_temp.lists(key text, weight text, template text, OUT spills boolean, OUT groups int, OUT sketches boolean, OUT bounds boolean, OUT first boolean) LANGUAGE plpgsql AS $$
DECLARE q text := format('SELECT g, qtop_agg(%s, %s, 3%s) AS t FROM g_dense GROUP BY g', key, weight, ', ' || template); BEGIN
	spills := pg_temp.spills(q);
	EXECUTE format('SELECT count(*), bool_and(qtop_sketch(t) = s), bool_and(lower <= n AND n <= estimate AND qtop_total(t) = total), bool_and(l.key = m.key) FROM (%s) AS q
		JOIN (SELECT g, qsketch_agg(%2$s, %3$s%4$s) AS s, sum(%3$s) AS total FROM g_dense GROUP BY g) AS s USING (g) CROSS JOIN LATERAL qtop_list(t, 1, NULL::bigint) AS l
		JOIN (SELECT DISTINCT ON (g) g, %2$s AS key, sum(%3$s) AS n FROM g_dense GROUP BY 1, 2 ORDER BY g, n DESC) AS m USING (g)', q, key, weight, ', ' || template) INTO groups, sketches, bounds, first;
END $$;
SELECT key, weight, template, s.* FROM (VALUES ('CASE WHEN w = 5 THEN -g ELSE k END', '1', NULL), ('CASE WHEN w = 5 THEN -g ELSE k END', 'w', NULL), ('CASE WHEN w = 5 THEN -g ELSE k END', 'w', 'qsketch_new(size => ''16kB'')'),
	('CASE WHEN w = 5 THEN -g ELSE few END', 'CASE WHEN k % 7 = 0 THEN -1 ELSE w END', NULL), ('CASE WHEN w > 2 THEN -g ELSE few / 50 END', 'CASE WHEN k % 7 = 0 THEN -1 ELSE w END', NULL)) AS v(key, weight, template), LATERAL pg_temp.lists(key, weight, template) AS s;
SET work_mem = '2MB';
SELECT s.* FROM pg_temp.same('SELECT x, s.* FROM generate_series(1, 2) AS x, LATERAL (SELECT g + x AS e, qsketch_agg(k) FROM g_dense GROUP BY g) AS s') AS s;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT g, qsketch_estimate(qsketch_agg(k), 7919) AS first FROM g_dense WHERE g < 2 GROUP BY g;
FETCH ALL FROM c;
MOVE BACKWARD ALL FROM c;
FETCH ALL FROM c;
COMMIT;
-- the first group once more, the others never: it was given back, and so it is not there any more
SELECT count(DISTINCT sk) AS same, count(sk), min(qsketch_total(sk)) AS total FROM generate_series(1, 3) AS x,
	LATERAL (SELECT sk FROM (SELECT qsketch_agg(k) AS sk FROM g_dense GROUP BY g) AS a WHERE x > 0 LIMIT 1) AS s;
RESET enable_hashagg;
RESET enable_sort;
SET work_mem = '64MB';

-- written without having been counted, then read, then written again; with weights
SELECT s.* FROM pg_temp.same('SELECT g, qsketch_agg(k)::bytea AS written, qsketch_total(qsketch_agg(k)), qsketch_agg(k)::text AS again, qsketch_agg(k, w) AS weighted FROM g_dense WHERE g < 6 GROUP BY g') AS s;

-- by a parallel worker, to which the plan goes as text
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT g, qsketch_total(qsketch_agg(k)) FROM g_dense GROUP BY g UNION ALL SELECT w, qsketch_total(qsketch_agg(few)) FROM g_dense GROUP BY w;
SELECT s.* FROM pg_temp.same('SELECT g, qsketch_total(qsketch_agg(k)) FROM g_dense GROUP BY g UNION ALL SELECT w, qsketch_total(qsketch_agg(few)) FROM g_dense GROUP BY w') AS s;
SELECT count(*), sum(total) FROM (SELECT g, qsketch_total(qsketch_agg(k)) AS total FROM g_dense GROUP BY g UNION ALL SELECT w, qsketch_total(qsketch_agg(few)) FROM g_dense GROUP BY w) AS s;
-- it cannot tell what it counted, so nothing is said of that
CREATE FUNCTION pg_temp.told(query text, OUT keys text, OUT groups text) LANGUAGE plpgsql AS $$ DECLARE plan text; BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
	keys := substring(plan FROM '"Keys": (\d+)');
	groups := substring(plan FROM '"Groups": (\d+)');
END $$;
SELECT * FROM pg_temp.told('SELECT g, qsketch_total(qsketch_agg(k)) FROM g_dense GROUP BY g');
SELECT coalesce(keys, '120000') AS keys, coalesce(groups, '12') AS groups
FROM pg_temp.told('SELECT g, qsketch_total(qsketch_agg(k)) FROM g_dense GROUP BY g UNION ALL SELECT w, qsketch_total(qsketch_agg(few)) FROM g_dense GROUP BY w');
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET parallel_leader_participation;
SET max_parallel_workers_per_gather = 0;

-- left to the ordinary plan
SELECT q, pg_temp.plan_has('SELECT ' || q, 'QSketchScan') AS scanned FROM unnest(ARRAY['qsketch_agg(k) FROM g_scan GROUP BY ROLLUP (eight)',
	'qsketch_agg(k) FROM g_scan GROUP BY GROUPING SETS ((eight), (eight))', 'qsketch_agg(DISTINCT k) FROM g_scan GROUP BY eight', 'qsketch_agg(k ORDER BY w) FROM g_scan GROUP BY eight',
	'count(*) FROM g_scan GROUP BY eight', 'qsketch_agg(a.k) FROM g_scan AS a JOIN g_empty AS b USING (k) GROUP BY a.eight']) AS q ORDER BY q COLLATE "C";

-- strings: short, long, compressed, out of line, empty, NULL, behind others; of domains and a column that came late
CREATE DOMAIN country AS varchar(10) CHECK (value <> 'xx');
CREATE COLLATION g_blind (provider = icu, locale = 'und', deterministic = false);
CREATE TABLE g_text (t text, v varchar, c country, y bytea, d text COLLATE "C", far text, k int, w int, blind text COLLATE g_blind, fixed char(4));
ALTER TABLE g_text ALTER far SET STORAGE EXTERNAL;
INSERT INTO g_text
SELECT CASE WHEN r % 9 > 0 THEN 'key ' || r % 100 END, repeat('v', r % 300), 'c' || r % 7, decode(lpad(to_hex(r % 256 * 257), 4, '0'), 'hex'),
	CASE r % 3 WHEN 0 THEN '' WHEN 1 THEN repeat('compressed ', 1000) || r % 4 ELSE 'd' || r % 5 END,
	CASE WHEN r % 4 > 0 THEN repeat(md5((r % 3)::text), 100) END, r * 31 % 900, r % 20, CASE WHEN r % 2 > 0 THEN 'A' ELSE 'a' END, 'f' || r % 3
FROM generate_series(1, 3000) AS r;
ALTER TABLE g_text ADD late text DEFAULT 'late';
INSERT INTO g_text (k, w, late) SELECT r, 1, nullif('late' || r % 3, 'late2') FROM generate_series(1, 50) AS r;
VACUUM ANALYZE g_text;
SELECT by, s.* FROM unnest(ARRAY['t', 'v', 'c', 'y', 'd', 'far', 'late', 'blind', 'fixed']) AS by,
	LATERAL pg_temp.same(format('SELECT %s AS g, qsketch_agg(k), count(*) FILTER (WHERE w > 7), qtop_agg(w, 3) FROM g_text WHERE w < 19 GROUP BY %1$s', by)) AS s;
EXPLAIN (COSTS OFF) SELECT t, qsketch_agg(k) FROM g_text GROUP BY t ORDER BY t;
SELECT t, qsketch_total(qsketch_agg(k)), count(*) FROM g_text WHERE w > 17 GROUP BY t ORDER BY count(*) DESC, t LIMIT 3;
SET enable_hashagg = off;
SET enable_sort = off;
SET work_mem = '64kB';
SELECT by, s.* FROM unnest(ARRAY['t', 'v', 'd', 'far']) AS by, LATERAL pg_temp.same(format('SELECT %s AS g, qsketch_agg(k), qsets_agg(w, t) FROM g_text GROUP BY %1$s', by)) AS s;
RESET enable_hashagg;
RESET enable_sort;
SET work_mem = '64MB';
SELECT by, pg_temp.plan_has(format('SELECT qsketch_agg(k) FROM g_text GROUP BY %s', by), 'QSketchScan') AS scanned
FROM unnest(ARRAY['t', 'blind', 'fixed', 'blind COLLATE "C"', 't || v']) AS by;
DROP TABLE g_scan, g_empty, g_new, g_dense, g_text;
DROP COLLATION g_blind;
DROP DOMAIN small_day, country;

-- groups are evaluated once, whatever is set while their rows are fetched
CREATE TABLE g_set AS SELECT timestamptz '2024-01-01 UTC' + r * interval '5 h' AS at, r AS k FROM generate_series(1, 3001) AS r;
VACUUM ANALYZE g_set;
CREATE FUNCTION pg_temp.fetched(query text, setting text, value text, OUT rows int, OUT groups int, OUT total int) LANGUAGE plpgsql AS $$
DECLARE c refcursor; d text; n int; seen text[] = '{}'; BEGIN
	PERFORM set_config('work_mem', '64kB', true), set_config('hash_mem_multiplier', '1', true), set_config('enable_hashagg', 'off', true), set_config('enable_sort', 'off', true);
	OPEN c FOR EXECUTE query;
	total := 0;
	LOOP
		FETCH c INTO d, n;
		EXIT WHEN NOT FOUND;
		seen := seen || d;
		total := total + n;
		PERFORM set_config(setting, value, true);
	END LOOP;
	rows := cardinality(seen);
	groups := count(DISTINCT x) FROM unnest(seen) AS x;
END $$;
SET timezone = 'UTC';
SELECT by, s.* FROM (VALUES ('at::date', 'timezone', 'Asia/Tokyo'), ('(at::date)::text', 'datestyle', 'German'), ('to_char(at, ''YYYY-MM-DD'')', 'timezone', 'America/New_York')) AS v(by, setting, value),
	LATERAL pg_temp.fetched(format('SELECT (%s)::text, qsketch_total(qsketch_agg(k)) FROM g_set GROUP BY %1$s', by), setting, value) AS s;
RESET timezone;

-- groups that were written: aggregates of all kinds are combined, and keys taken back wherever their rows came
CREATE TABLE g_written AS SELECT (r * 7919) % 300 AS g, r % 1009 AS k, r % 300 % 7 AS few, CASE WHEN r < 6000 THEN -2 ELSE 3 END AS w, 'key ' || r % 1009 AS s, CASE WHEN r % 3 > 0 THEN r END AS n,
	r / 8.0 AS f, (r / 7)::numeric AS x, r * interval '1 s' AS i FROM generate_series(0, 12107) AS r;
VACUUM ANALYZE g_written;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SET enable_hashagg = off;
SET enable_sort = off;
SELECT call, s.*, pg_temp.spills(query) FROM unnest(ARRAY['qsketch_agg(few, w)', 'qtop_agg(few, w, 3)', 'qsketch_agg(s)', 'qtop_agg(s, 50)', 'qtop_agg(k, 50)', 'qsets_agg(few, s), qsets_agg(few, k)',
	'qfilter_agg(s, qfilter_new_bloom(1000))', 'qsketch_agg(k), count(*), count(n), sum(n), sum(k), sum(x), avg(n), avg(k), avg(x), avg(i), sum(i), min(s), max(s), min(x), max(i), max(f), sum(f), avg(f), min(n) FILTER (WHERE k > 1000)',
	'qsketch_agg(k) FILTER (WHERE k % 2 = 0), qsketch_agg(k) FILTER (WHERE k < 0), qsketch_agg(ROW(k, s))']) AS call,
	LATERAL format('SELECT g, %s FROM g_written GROUP BY g', call) AS query, LATERAL pg_temp.same(query) AS s;
SELECT count(*), sum(total) FROM (SELECT g, qsketch_total(qsketch_agg(k)) AS total FROM g_written GROUP BY g HAVING count(n) > 26) AS s;
-- counts of rows that draw their bits: each row has drawn, and the draws can be repeated
SET qsketch.filter_nonce = 3;
CREATE TABLE g_drawn AS SELECT g, qfilter_agg(k, qfilter_new(300, 10)) AS f FROM g_written GROUP BY g;
SELECT sum((qfilter_info(f)).rows) AS rows, count(*) FROM g_drawn;
SELECT count(*) AS differ FROM (SELECT g, qfilter_agg(k, qfilter_new(300, 10)) AS f FROM g_written GROUP BY g) AS again JOIN g_drawn USING (g) WHERE again.f::text <> g_drawn.f::text;
RESET qsketch.filter_nonce;
RESET enable_hashagg;
RESET enable_sort;
RESET work_mem;
RESET hash_mem_multiplier;
DROP TABLE g_set, g_written, g_drawn;

-- lists that find no memory beside each other: their candidates are in the estimate
CREATE TABLE g_lists AS SELECT r % 8 AS g, 'key ' || r * 7919 % 30000 AS s FROM generate_series(0, 99999) AS r;
VACUUM ANALYZE g_lists;
CREATE FUNCTION pg_temp.chosen(query text) RETURNS boolean LANGUAGE plpgsql AS $$ DECLARE plan json; BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan::text ~ 'QSketchScan';
END $$;
SET hash_mem_multiplier = 1;
SET work_mem = '4MB';
SELECT n, pg_temp.chosen(format($$SELECT g, qtop_agg(s, %s, qsketch_new(size => '64kB')) FROM g_lists GROUP BY g$$, n)) AS scan FROM unnest('{30,10000}'::int[]) AS n;
SET work_mem = '64MB';
SELECT n, pg_temp.chosen(format($$SELECT g, qtop_agg(s, %s, qsketch_new(size => '64kB')) FROM g_lists GROUP BY g$$, n)) AS scan FROM unnest('{30,10000}'::int[]) AS n;
RESET work_mem;
RESET hash_mem_multiplier;
DROP TABLE g_lists;
