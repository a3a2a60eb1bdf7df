--
-- QSketchScan: where it may stand, and where not.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/columnscan.psql'
\i :file
\set ECHO all
SET max_parallel_workers_per_gather = 0;
CREATE TABLE events (id integer PRIMARY KEY, k bigint, t text, owner name, weight bigint, spot point)
	WITH (autovacuum_enabled = off, parallel_workers = 2);
INSERT INTO events SELECT i, i % 100, i, CASE WHEN i % 2 = 0 THEN 'columnscan_user' ELSE 'other' END, i, point(i, i)
FROM generate_series(1, 5000) AS i;
ANALYZE events;
CREATE TABLE one AS SELECT qsketch_new('thread', '1kB') AS sk, 1::bigint AS k;

-- what it looks like
EXPLAIN (COSTS OFF) SELECT qsketch_agg(k) FROM events;
SELECT pg_temp.plan($$SELECT qsketch_total(qsketch_agg(k)) + 1, qsketch_agg(t) FROM events AS e$$);
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF)
	SELECT qsketch_agg(k, qsketch_new('sf', '1kB')), qsketch_agg(id) FROM events \g (format=unaligned tuples_only=on) | grep -vE 'Instructions|Device' | sed 's/ (actual.*//; s/Batches: [1-9][0-9]*/Batches: some/; s/Visible Pages: [0-9]*/Visible Pages: some/'
SET max_parallel_workers_per_gather = 2;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF)
	SELECT qsketch_agg(k, qsketch_new('sf', '1kB')) FROM events \g (format=unaligned tuples_only=on) | grep -vE 'Instructions|Device' | sed 's/ (actual.*//; s/Batches: [1-9][0-9]*/Batches: some/; s/Visible Pages: [0-9]*/Visible Pages: some/'
SET max_parallel_workers_per_gather = 0;

-- yes and no
CREATE VIEW plain_view AS SELECT k, t FROM events;
CREATE VIEW barrier_view WITH (security_barrier) AS SELECT k, t FROM events;
CREATE VIEW filtered_barrier WITH (security_barrier) AS SELECT k, t FROM events WHERE owner = 'other';
CREATE FUNCTION sketch_of_arg(qsketch) RETURNS qsketch LANGUAGE sql STABLE
	AS 'SELECT qsketch_agg(k, $1) FROM events';
CREATE TABLE queries (id serial, query text);
INSERT INTO queries (query) VALUES
	('SELECT qsketch_agg(k) FROM events'),
	('SELECT qsketch_agg(k) FROM ONLY events'),
	('SELECT qsketch_agg(k) FROM plain_view'),
	('SELECT qsketch_agg(k) FROM (SELECT k FROM events) AS s'),
	('WITH c AS (SELECT k FROM events) SELECT qsketch_agg(k) FROM c'),
	('SELECT * FROM (SELECT qsketch_agg(k) AS sk FROM events) AS s, generate_series(1, 2)'),
	('SELECT (SELECT qsketch_agg(k) FROM events), (SELECT qsketch_agg(t) FROM events)'),
	('SELECT qsketch_agg(k) FROM events UNION ALL SELECT qsketch_agg(t) FROM events'),
	('SELECT x, (SELECT qsketch_estimate(qsketch_agg(k), x) FROM events) FROM generate_series(1, 3) AS x'),
	('SELECT qsketch_agg(k), (SELECT max(k) FROM one) FROM events'),
	('SELECT qsketch_agg(k), count(*) OVER () FROM events'),
	('SELECT qsketch_agg(k), generate_series(1, 2) FROM events'),
	('SELECT qsketch_agg(k) FROM events LIMIT 1'),
	('SELECT qsketch_agg(k, qsketch_new(''warp'', ''2kB'')) FROM events'),
	('SELECT qsketch_agg(e.k) FROM events AS e LEFT JOIN (SELECT DISTINCT id FROM events) AS d ON d.id = e.id'),
	('SELECT qsketch_agg(k), count(*) FROM events'),
	('SELECT qsketch_agg(k + 1) FROM events'),
	('SELECT qsketch_agg(k, weight) FROM events'),
	('SELECT qsketch_agg(k, id), qsketch_agg(k, weight, qsketch_new(''warp'', ''2kB'')) FROM events'),
	('SELECT qsketch_agg(k, weight + 1) FROM events'),
	('SELECT qsketch_agg(e.k, one.k) FROM events AS e, one'),
	('SELECT qsketch_agg(DISTINCT k) FROM events'),
	('SELECT qsketch_agg(k ORDER BY id) FROM events'),
	('SELECT qsketch_agg(k) FILTER (WHERE id > 5) FROM events'),
	('SELECT qsketch_agg(k) FROM events WHERE id > 5'),
	('SELECT qsketch_agg(k) FROM events WHERE current_setting(''application_name'') = ''x'''),
	('SELECT qsketch_agg(k) FROM events WHERE false'),
	('SELECT qsketch_agg(k) FROM events GROUP BY id % 2 ORDER BY id % 2'),
	('SELECT qsketch_agg(k) FROM events GROUP BY ()'),
	('SELECT qsketch_agg(k), grouping(owner) FROM events GROUP BY ROLLUP (owner)'),
	('SELECT qsketch_agg(k) FROM events HAVING count(*) > 5'),
	('SELECT qsketch_agg(k) FROM events HAVING qsketch_total(qsketch_agg(k)) > 5'),
	('SELECT qsketch_agg(k) OVER () FROM events'),
	('SELECT qsketch_agg(k) FROM events TABLESAMPLE BERNOULLI (100)'),
	('SELECT qsketch_agg(e.k) FROM events AS e, one'),
	('SELECT qsketch_agg(e.k, one.sk) FROM events AS e, one'),
	('SELECT qsketch_agg(tableoid) FROM events'),
	('SELECT qsketch_agg(ctid) FROM events'),
	('SELECT qsketch_agg(k, NULL::qsketch) FROM events'),
	('SELECT qsketch_agg(k) FROM barrier_view'),
	('SELECT qsketch_agg(k) FROM filtered_barrier'),
	('SELECT qsketch_merge_agg(sk) FROM one'),
	('SELECT max(k), bool_and(sk = sk) FROM one');
SELECT pg_temp.scans(query), query FROM queries ORDER BY id;

-- all of these give what they would without
SELECT id, query FROM queries WHERE query !~ 'NULL::|, one' AND NOT (SELECT same FROM pg_temp.same(query)) ORDER BY id;
SET max_parallel_workers_per_gather = 0;

-- the ordinary plan's errors, when it would raise them, and only then
SELECT call, pg_temp.error_of(format('SELECT %s FROM events', call)) AS of_rows,
	pg_temp.error_of(format('SELECT %s FROM events WHERE false', call)) AS of_none,
	pg_temp.error_of(format('EXPLAIN SELECT %s FROM events', call)) AS of_explain
FROM unnest(ARRAY['qsketch_agg(spot)', 'qsketch_agg(k, NULL::qsketch)',
	'qsketch_agg(k, qsketch_sf_device(qsketch_new(''sf'')))']) AS call;
DELETE FROM one;
SELECT pg_temp.error_of('SELECT qsketch_agg(k, qsketch_sf_device(qsketch_new(''sf''))) FROM one');

-- commands that take their rows from it
CREATE TABLE made AS SELECT qsketch_agg(k) AS sk FROM events;
INSERT INTO made SELECT qsketch_agg(k) FROM events;
UPDATE made SET sk = (SELECT qsketch_agg(k) FROM events);
MERGE INTO made USING (SELECT qsketch_agg(k) AS sk FROM events) AS s ON made.sk = s.sk WHEN MATCHED THEN DO NOTHING;
SELECT count(*), count(DISTINCT sk::bytea) FROM made;

-- rescans: of a subquery for each row, of a join's inner side, of a cursor
SELECT x, (SELECT qsketch_estimate(qsketch_agg(k), x) FROM events) FROM generate_series(1, 3) AS x;
SELECT x, sk = (SELECT sk FROM made LIMIT 1) FROM generate_series(1, 3) AS x
LEFT JOIN LATERAL (SELECT qsketch_agg(k) AS sk FROM events OFFSET x - x) AS s ON true;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT qsketch_total(qsketch_agg(k)) FROM events;
INSERT INTO events SELECT i, i FROM generate_series(6001, 6010) AS i;
FETCH c; FETCH c; FETCH BACKWARD c; FETCH FIRST c; MOVE c; FETCH c;
ROLLBACK;
SET max_parallel_workers_per_gather = 2;
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT count(*), bool_and(total = 5000) FROM generate_series(1, 5) AS x
LEFT JOIN (SELECT qsketch_total(qsketch_agg(k, qsketch_new('thread', '1kB'))) AS total FROM events) AS s ON total > x;
SELECT x, (SELECT qsketch_estimate(qsketch_agg(k, qsketch_new('thread', '1kB')), x) FROM events LIMIT 1) AS estimate
FROM generate_series(1, 3) AS x;
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;
SET max_parallel_workers_per_gather = 0;

-- prepared statements: the template as a parameter, and a plan that must go
PREPARE sketch(qsketch) AS SELECT qsketch_agg(k, $1) = pg_temp.sketch('SELECT qsketch_agg(k, qsketch_new(''warp'', ''1kB'')) FROM events WHERE true') AS same FROM events;
EXECUTE sketch(qsketch_new('warp', '1kB'));
SET plan_cache_mode = force_generic_plan;
EXECUTE sketch(qsketch_new('warp', '1kB'));
PREPARE total AS SELECT qsketch_total(qsketch_agg(k)) FROM events;
EXECUTE total;
INSERT INTO events (id, k) VALUES (7000, 1);
EXECUTE total;
DROP VIEW plain_view, barrier_view, filtered_barrier;
ALTER TABLE events ALTER k TYPE integer;
EXECUTE total;
ALTER TABLE events DROP k;
EXECUTE total;
ALTER TABLE events ADD k text DEFAULT 'x';
EXECUTE total;
CREATE TABLE heir () INHERITS (events);
INSERT INTO heir (id, k) VALUES (1, 'y');
EXECUTE total;
DROP TABLE heir;
EXPLAIN (COSTS OFF) EXECUTE total;
-- until a parent is analyzed, it counts as one
ANALYZE events;
EXPLAIN (COSTS OFF) EXECUTE total;
RESET plan_cache_mode;
SELECT sketch_of_arg(qsketch_new('warp', '1kB')) = (SELECT qsketch_agg(k, qsketch_new('warp', '1kB')) FROM events) AS same;

-- privileges of the column and of the aggregate
CREATE ROLE columnscan_user;
GRANT SELECT (t) ON events TO columnscan_user;
SET ROLE columnscan_user;
SELECT pg_temp.scans('SELECT qsketch_agg(t) FROM events');
SELECT pg_temp.error_of('SELECT qsketch_agg(t) FROM events'), pg_temp.error_of('SELECT qsketch_agg(k) FROM events');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION qsketch_agg(anycompatible) FROM public;
SET ROLE columnscan_user;
SELECT pg_temp.error_of('SELECT qsketch_agg(t) FROM events');
RESET ROLE;
GRANT EXECUTE ON FUNCTION qsketch_agg(anycompatible) TO public;
-- and of the cast that makes a weight bigint
GRANT SELECT (id) ON events TO columnscan_user;
SET ROLE columnscan_user;
SELECT pg_temp.scans('SELECT qsketch_agg(t, id) FROM events');
SELECT pg_temp.error_of('SELECT qsketch_agg(t, id) FROM events');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION int8(integer) FROM public;
SET ROLE columnscan_user;
SELECT pg_temp.error_of('SELECT qsketch_agg(t, id) FROM events');
SET qsketch.enable_columnscan = off;
SELECT pg_temp.error_of('SELECT qsketch_agg(t, id) FROM events');
RESET qsketch.enable_columnscan;
RESET ROLE;
GRANT EXECUTE ON FUNCTION int8(integer) TO public;

-- row security: for those whom it concerns no more rows
GRANT SELECT ON events TO columnscan_user;
CREATE POLICY own ON events USING (owner = current_user);
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
PREPARE secured AS SELECT qsketch_total(qsketch_agg(t)), (SELECT count(*) FROM events) FROM events;
EXECUTE secured;
SET ROLE columnscan_user;
SELECT pg_temp.scans('SELECT qsketch_agg(t) FROM events');
EXECUTE secured;
RESET ROLE;
EXECUTE secured;
ALTER TABLE events DISABLE ROW LEVEL SECURITY;
-- a policy that lets all rows through is none
SET ROLE columnscan_user;
SELECT pg_temp.scans('SELECT qsketch_agg(t) FROM events');
RESET ROLE;

-- views' owners, not their users, read the table
CREATE VIEW filtered_barrier WITH (security_barrier) AS SELECT t FROM events WHERE owner = 'other';
CREATE VIEW owned AS SELECT t, owner FROM events;
GRANT SELECT ON owned, filtered_barrier TO columnscan_user;
SET ROLE columnscan_user;
SELECT qsketch_total(qsketch_agg(t)) FROM owned;
SELECT qsketch_total(qsketch_agg(t)) FROM filtered_barrier;
RESET ROLE;

-- switched off, and in another schema
SET qsketch.enable_columnscan = off;
SELECT pg_temp.scans('SELECT qsketch_agg(t) FROM events');
RESET qsketch.enable_columnscan;
CREATE SCHEMA elsewhere;
CREATE FUNCTION elsewhere.count_text(bigint, text) RETURNS bigint LANGUAGE sql AS 'SELECT $1 + 1';
CREATE AGGREGATE elsewhere.qsketch_agg(text) (STYPE = bigint, SFUNC = elsewhere.count_text, INITCOND = '0');
SELECT pg_temp.scans('SELECT elsewhere.qsketch_agg(t) FROM events');
SELECT elsewhere.qsketch_agg(t) FROM events;

-- rows read are counted
SELECT pg_stat_force_next_flush() \g /dev/null
SELECT seq_scan AS scans_before, seq_tup_read AS rows_before FROM pg_stat_user_tables WHERE relname = 'events' \gset
SELECT qsketch_total(qsketch_agg(t)) FROM events;
SELECT pg_stat_force_next_flush() \g /dev/null
SELECT seq_scan - :scans_before AS scans, seq_tup_read - :rows_before AS rows FROM pg_stat_user_tables WHERE relname = 'events';

DROP TABLE queries, made, one, events CASCADE;
DROP SCHEMA elsewhere CASCADE;
DROP OWNED BY columnscan_user;
DROP ROLE columnscan_user;
