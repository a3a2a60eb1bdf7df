--
-- qfilter_agg, qfilter_row_agg, qfilter_count_agg and qfilter_merge_agg.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
SET qsketch.filter_nonce = 1;
CREATE TABLE stream AS
SELECT i, CASE WHEN i % 10 = 0 THEN i % 7 ELSE 1000 + i END AS k FROM generate_series(1, 20000) AS i;
ANALYZE stream;
\set template 'qfilter_new(20000, 300)'

-- each about as often as it came; an absent key; rows; no row, no key and NULL
SELECT key, count(*) AS came, round(qfilter_estimate(f, key)::numeric, 1) AS estimate,
	count(*) BETWEEN (qfilter_bounds(f, key, 0.999)).lower AND (qfilter_bounds(f, key, 0.999)).upper AS held
FROM (SELECT qfilter_agg(k, :template) AS f FROM stream) AS s, generate_series(0, 6) AS key
	JOIN stream ON k = key GROUP BY key, f ORDER BY key;
SELECT rows, form, key_family FROM (SELECT qfilter_agg(k, :template) AS f FROM stream) AS s, qfilter_info(f);
SELECT rows, form, key_family FROM (SELECT qfilter_row_agg(k, i, :template) AS f FROM stream) AS s, qfilter_info(f);
SELECT qfilter_agg(k, :template) IS NULL, qfilter_row_agg(k, i, :template) IS NULL,
	qfilter_count_agg(k, i, :template) IS NULL FROM stream WHERE false;
SELECT qfilter_agg(NULL::int, :template) IS NULL, qfilter_row_agg(k, NULL::uuid, :template) IS NULL,
	qfilter_count_agg(k, NULL, :template) IS NULL, qfilter_merge_agg(NULL) IS NULL FROM stream;
SELECT qfilter_agg(NULL::int, NULL) IS NULL FROM stream;
SELECT rows FROM (SELECT qfilter_agg(nullif(k, 3), :template) AS f FROM stream) AS s, qfilter_info(f);
SELECT rows FROM (SELECT qfilter_agg(k, :template) FILTER (WHERE i <= 77) AS f FROM stream) AS s, qfilter_info(f);
SELECT rows FROM (SELECT qfilter_agg(DISTINCT k % 50, :template) AS f FROM stream) AS s, qfilter_info(f);
SELECT count(DISTINCT f), count(*) FROM (SELECT qfilter_row_agg(i, i, :template) AS f FROM stream GROUP BY i / 2) AS s;

-- ids of any type: integers of all widths are the same ids, and equal ids of other types are; a replay changes nothing
SELECT qfilter_row_agg(k, i::smallint, :template) = qfilter_row_agg(k, i::bigint, :template) AS widths,
	qfilter_row_agg(k, md5(i::text)::uuid, :template) <> qfilter_row_agg(k, i, :template) AS differ,
	qfilter_row_agg(k, i / 10.0, :template) = qfilter_row_agg(k, i * 0.100, :template) AS numerics FROM stream;
SELECT type, qfilter_merge(late, early) = whole AND qfilter_merge(whole, late) = whole AS replayed, qfilter_estimate(whole, 3) BETWEEN 150 AND 450 AS estimate
FROM unnest('{text,uuid,timestamptz,numeric,int[],stream}'::text[]) AS type,
	LATERAL (SELECT CASE type WHEN 'text' THEN qfilter_row_agg(k, i::text, :template) WHEN 'uuid' THEN qfilter_row_agg(k, md5(i::text)::uuid, :template)
		WHEN 'timestamptz' THEN qfilter_row_agg(k, timestamptz '2026-01-01' + i * interval '1 s', :template) WHEN 'numeric' THEN qfilter_row_agg(k, i / 7.0, :template)
		WHEN 'int[]' THEN qfilter_row_agg(k, ARRAY[i, 1], :template) ELSE qfilter_row_agg(k, stream, :template) END AS whole FROM stream) AS f,
	LATERAL (SELECT CASE type WHEN 'text' THEN qfilter_row_agg(k, i::text, :template) WHEN 'uuid' THEN qfilter_row_agg(k, md5(i::text)::uuid, :template)
		WHEN 'timestamptz' THEN qfilter_row_agg(k, timestamptz '2026-01-01' + i * interval '1 s', :template) WHEN 'numeric' THEN qfilter_row_agg(k, i / 7.0, :template)
		WHEN 'int[]' THEN qfilter_row_agg(k, ARRAY[i, 1], :template) ELSE qfilter_row_agg(k, stream, :template) END AS early FROM stream WHERE i < 12000) AS e,
	LATERAL (SELECT CASE type WHEN 'text' THEN qfilter_row_agg(k, i::text, :template) WHEN 'uuid' THEN qfilter_row_agg(k, md5(i::text)::uuid, :template)
		WHEN 'timestamptz' THEN qfilter_row_agg(k, timestamptz '2026-01-01' + i * interval '1 s', :template) WHEN 'numeric' THEN qfilter_row_agg(k, i / 7.0, :template)
		WHEN 'int[]' THEN qfilter_row_agg(k, ARRAY[i, 1], :template) ELSE qfilter_row_agg(k, stream, :template) END AS late FROM stream WHERE i > 8000) AS l;

-- errors
SELECT qfilter_row_agg(k, point(i, i), :template) FROM stream;
SELECT qfilter_agg(k, NULL) FROM stream;
SELECT qfilter_agg(k, qfilter_new(1000, k - 999)) FROM stream WHERE k BETWEEN 1000 AND 1005;
SELECT qfilter_count_agg(k, -3, :template) FROM stream;
SELECT qfilter_count_agg(k, 9223372036854775807, :template) FROM stream;
SELECT qfilter_agg(ROW(point(1, 1)), :template);
SELECT _qfilter_agg_trans(NULL, 1, :template);
SELECT _qfilter_agg_combine(:template, :template);
SELECT _qfilter_merge_trans(:template, :template);
SELECT _qfilter_agg_final(:template);
SELECT qfilter_merge_agg(f) FROM (SELECT qfilter_agg(1, qfilter_new(1000, 10)) AS f UNION ALL SELECT qfilter_agg('a'::text, qfilter_new(1000, 10))) AS s;
SELECT qfilter_merge_agg(f) FROM (VALUES (qfilter_new(1000, 10)), (qfilter_new(1000, 10, seed => 3)), (qfilter_new(1000, 12))) AS v(f);

-- counts: as often as rows would be, zero is none, and of nothing but zeros it is an empty filter
SELECT key, round(qfilter_estimate(f, key)::numeric, 1) AS estimate
FROM (SELECT qfilter_count_agg(k, n, :template) AS f FROM (SELECT k, count(*) AS n FROM stream GROUP BY k ORDER BY k) AS c) AS s,
	generate_series(0, 6) AS key ORDER BY key;
SELECT rows FROM (SELECT qfilter_count_agg(k, i % 3, :template) AS f FROM stream) AS s, qfilter_info(f);
SELECT qfilter_count_agg(k, 0, :template) = :template AS empty FROM stream;
SELECT md5(qfilter_agg(k, :template)::text) AS rows FROM stream \gset
SELECT md5(qfilter_count_agg(k, 1, :template)::text) = :'rows' AS same FROM stream;
SELECT qfilter_contains(qfilter_count_agg(1, 9223372036854775807, :template), 1);

-- The draws are those of the setting, whatever the instructions; without it they differ.
SELECT md5(qfilter_agg(k, :template)::text) AS one FROM stream \gset
SET qsketch.simd = 'scalar';
SELECT md5(qfilter_agg(k, :template)::text) = :'one' AS same FROM stream;
RESET qsketch.simd;
SELECT md5(qfilter_agg(k, :template)::text) = :'one' AS same FROM stream;
SET qsketch.filter_nonce = 2;
SELECT md5(qfilter_agg(k, :template)::text) = :'one' AS same FROM stream;
SET qsketch.filter_nonce = 0;
SELECT count(DISTINCT f) FROM (SELECT (SELECT qfilter_agg(k, :template) FROM stream WHERE n > 0) AS f FROM generate_series(1, 3) AS n) AS s;
-- two states of one statement draw differently
SET qsketch.filter_nonce = 1;
SELECT count(DISTINCT f) FROM (SELECT qfilter_agg(k, :template) AS f FROM stream, generate_series(1, 3) AS n GROUP BY n) AS s;
SET qsketch.filter_nonce = -1;

-- processes draw differently: what two workers count the same way is the sum, not the greater
CREATE TABLE twin (k int) WITH (parallel_workers = 3);
INSERT INTO twin SELECT 1 FROM generate_series(1, 100000);
ANALYZE twin;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 3;
SELECT abs(qfilter_estimate(qfilter_agg(k, qfilter_new(10000000, 100000, 0.02)), 1) / 100000 - 1) < 0.1 AS sum FROM twin;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
DROP TABLE twin;

-- Window frames, growing and sliding: nothing can be taken away, so they are computed anew.
SELECT bool_and(f = truth) AS same FROM (
	SELECT qfilter_row_agg(k, i, :template) OVER (ORDER BY i) AS f,
		(SELECT qfilter_row_agg(k, i, :template) FROM stream WHERE i <= s.i) AS truth
	FROM stream AS s WHERE i <= 100) AS w;
SELECT count(*), bool_and(f = truth) AS same FROM (
	SELECT qfilter_row_agg(k, i, :template) OVER (ORDER BY i ROWS BETWEEN 20 PRECEDING AND 3 FOLLOWING) AS f,
		(SELECT qfilter_row_agg(k, i, :template) FROM stream AS t WHERE t.i BETWEEN s.i - 20 AND s.i + 3 AND t.i <= 100) AS truth
	FROM stream AS s WHERE i <= 100) AS w;
SELECT i, (qfilter_info(qfilter_agg(k, :template) OVER (ORDER BY i ROWS 1 PRECEDING))).rows
FROM (VALUES (1, NULL), (2, 5), (3, NULL), (4, NULL), (5, 7), (6, 7)) AS v(i, k) ORDER BY i;

-- 10,000 groups, hashed and sorted, with little memory
SET work_mem = '1MB';
CREATE TEMP TABLE grouped AS SELECT i % 10000 AS g, i FROM generate_series(1, 100000) AS i;
ANALYZE grouped;
SET enable_sort = off;
CREATE TEMP TABLE hashed AS SELECT g, qfilter_row_agg(i, i, qfilter_new(1000, 10)) AS f FROM grouped GROUP BY g;
RESET enable_sort;
SET enable_hashagg = off;
CREATE TEMP TABLE sorted AS SELECT g, qfilter_row_agg(i, i, qfilter_new(1000, 10)) AS f FROM grouped GROUP BY g;
RESET enable_hashagg;
RESET work_mem;
SELECT count(*), bool_and(h.f = s.f) AS same FROM hashed AS h JOIN sorted AS s USING (g);
SELECT qfilter_merge_agg(h.f) = (SELECT qfilter_row_agg(i, i, qfilter_new(1000, 10)) FROM grouped) AS same FROM hashed AS h;

-- Aggregates of users around these functions: partial states are whole values.
CREATE AGGREGATE pg_temp.raw(int, bigint, qfilter) (SFUNC = _qfilter_row_agg_trans, STYPE = qfilter);
CREATE AGGREGATE pg_temp.started(int, qfilter) (SFUNC = _qfilter_agg_trans, STYPE = qfilter, COMBINEFUNC = qfilter_merge,
	INITCOND = 'qfilter:UUZMAQMBAAAHAAAAi7PzGAACAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', PARALLEL = SAFE);
SELECT pg_temp.raw(k, i, :template) = qfilter_row_agg(k, i, :template) AS same FROM stream;
SELECT pg_temp.started(k % 5, qfilter_new_bloom(10)) = qfilter_agg(k % 5, qfilter_new_bloom(10)) AS same FROM stream;
SELECT pg_temp.started(k % 5, qfilter_new_bloom(11, 0.2)) FROM stream;
SELECT pg_temp.started(k, qfilter_new_bloom(10)) = qfilter_new_bloom(10) AS same FROM stream WHERE false;
DROP TABLE stream;

-- a moving aggregate gets no state of ours
CREATE FUNCTION filter_leave(a qfilter, k bigint, t qfilter) RETURNS qfilter LANGUAGE plpgsql AS $$ BEGIN RETURN a; END $$;
SELECT qfilter_new_bloom(1000)::text AS empty \gset
SELECT format('CREATE AGGREGATE filter_moving(bigint, qfilter) (SFUNC = _qfilter_agg_trans, STYPE = qfilter, MSFUNC = _qfilter_agg_trans,
	MINVFUNC = filter_leave, MSTYPE = qfilter, MINITCOND = %L)', :'empty') \gexec
SELECT qfilter_fill(filter_moving(k, qfilter_new_bloom(1000)) OVER (ORDER BY k ROWS BETWEEN 3 PRECEDING AND CURRENT ROW))
FROM generate_series(1, 100) AS k;
DROP AGGREGATE filter_moving(bigint, qfilter);
DROP FUNCTION filter_leave;
