-- Measures cached columns on a GPU.  Run by bench-gpu-columns.sh with the path of a :module, the
-- number of :workers, and :cpu, which says whether to measure the CPU, too.  Prints each median as
-- INFO, and then in tables.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS qsketch;
\i timing.sql

VACUUM ANALYZE events;
ALTER TABLE events SET (parallel_workers = :workers);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT count(*) FROM events \g /dev/null
SELECT set_config('bench.cpu', :'cpu', false) \g /dev/null

CREATE TABLE timings (what text, number int, ms float8);

-- Runs a query "turns" times with the workers and device, after one run that
-- warms up.
CREATE PROCEDURE measure(name text, query text, copies boolean, device text, workers int, turns int DEFAULT 5)
LANGUAGE plpgsql AS $$
DECLARE
    turn int;
    ms float8;
BEGIN
    IF device = 'cpu' AND NOT current_setting('bench.cpu')::boolean THEN
        RETURN;
    END IF;
    PERFORM set_config('qsketch.enable_gpu_columns', copies::text, false), set_config('qsketch.device', device, false),
        set_config('max_parallel_workers_per_gather', workers::text, false);
    FOR turn IN 0 .. turns LOOP
        ms := run_ms(query);
        IF turn > 0 THEN
            INSERT INTO timings VALUES (name, turn, ms);
        END IF;
        COMMIT;
    END LOOP;
    RAISE INFO '%: % ms', name, (SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY t.ms)::numeric, 2) FROM timings AS t WHERE what = name);
END $$;

CREATE VIEW medians AS
    SELECT what, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms, min(ms) AS least FROM timings GROUP BY what;

SELECT format('%s rows, %s pages, %s workers', (SELECT count(*) FROM events), pg_relation_size('events') / 8192, :workers);
\qecho

-- times of loading two columns, one column, and a column that is already loaded
INSERT INTO timings VALUES ('load user_id, day', 1, run_ms($$SELECT qsketch_gpu_load('events', '{user_id,day}')$$));
SELECT qsketch_gpu_unload('events') \g /dev/null
INSERT INTO timings VALUES ('load user_id', 1, run_ms($$SELECT qsketch_gpu_load('events', '{user_id}')$$));
INSERT INTO timings VALUES ('load what is there', 1, run_ms($$SELECT qsketch_gpu_load('events', '{user_id}')$$));
SELECT qsketch_gpu_load('events', '{user_id,day}') \g /dev/null

-- Fetches a sketch, as returning or storing it does.  Returns 1.
CREATE FUNCTION gpu_fetch(qsketch) RETURNS bigint LANGUAGE c STRICT PARALLEL SAFE AS :'module';
\set fetch 'SELECT gpu_fetch(qsketch_agg(user_id)) '
\set agg :fetch 'FROM events'
\set large 'qsketch_agg(user_id, qsketch_new(''multilevel'', ''256MB''))'
\set fetch_large 'SELECT gpu_fetch(' :large ') FROM events'
\set bytes_of_large 'SELECT octet_length((' :large ')::bytea) FROM events'
CALL measure('count(*), 0 workers', 'SELECT count(*) FROM events', true, 'cpu', 0, 2);
CALL measure('count(*), workers', 'SELECT count(*) FROM events', true, 'cpu', :workers);
CALL measure('cpu, 1 MB, 0 workers', :'agg', true, 'cpu', 0, 2);
CALL measure('cpu, 1 MB, workers', :'agg', true, 'cpu', :workers);
CALL measure('gpu without copy, 0 workers', :'agg', false, 'gpu', 0, 2);
CALL measure('copy, 1 MB', :'agg', true, 'auto', 0, 20);
CALL measure('copy, 1 MB, planned with workers', :'agg', true, 'auto', :workers, 20);
CALL measure('copy, 256 kB', 'SELECT gpu_fetch(qsketch_agg(user_id, qsketch_new(''multilevel'', ''256kB''))) FROM events', true, 'auto', 0, 20);
CALL measure('copy, 256 MB', :'fetch_large', true, 'auto', 0, 10);
CALL measure('copy, 256 MB, bytes', :'bytes_of_large', true, 'auto', 0, 5);
CALL measure('cpu, 256 MB, workers', :'fetch_large', true, 'cpu', :workers, 2);
CALL measure('cpu, 256 MB, bytes, workers', :'bytes_of_large', true, 'cpu', :workers, 2);
CALL measure('copy, sub_warp 1 MB', 'SELECT gpu_fetch(qsketch_agg(user_id, qsketch_new(''sub_warp'', ''1MB''))) FROM events', true, 'auto', 0, 20);
CALL measure('copy, user_id and day', 'SELECT gpu_fetch(qsketch_agg(user_id)), gpu_fetch(qsketch_agg(day)) FROM events', true, 'auto', 0, 3);
CALL measure('copy, count(*) and user_id', 'SELECT count(*), gpu_fetch(qsketch_agg(user_id)) FROM events', true, 'auto', 0, 10);
\set two_thirds 'FROM events WHERE day BETWEEN 5 AND 24'
\set tenth 'FROM events WHERE day BETWEEN 10 AND 12'
CALL measure('copy, WHERE keeps two thirds', :'fetch' || :'two_thirds', true, 'auto', 0, 20);
CALL measure('copy, WHERE keeps a tenth', :'fetch' || :'tenth', true, 'auto', 0, 20);
CALL measure('copy, FILTER keeps a tenth', 'SELECT gpu_fetch(qsketch_agg(user_id) FILTER (WHERE day BETWEEN 10 AND 12)) FROM events', true, 'auto', 0, 20);
\set groups 'SELECT sum(gpu_fetch(q)) FROM (SELECT day, qsketch_agg(user_id) AS q FROM events GROUP BY day) AS g'
SET work_mem = '1GB';
CALL measure('copy, GROUP BY day, values fetched', :'groups', true, 'auto', 0, 10);
CALL measure('cpu, GROUP BY day, values, 0 workers', :'groups', true, 'cpu', 0, 2);
CALL measure('cpu, GROUP BY day, values, workers', :'groups', true, 'cpu', :workers, 2);
CALL measure('cpu, WHERE keeps two thirds, 0 workers', :'fetch' || :'two_thirds', true, 'cpu', 0, 2);
CALL measure('cpu, WHERE keeps two thirds, workers', :'fetch' || :'two_thirds', true, 'cpu', :workers);
CALL measure('cpu, WHERE keeps a tenth, workers', :'fetch' || :'tenth', true, 'cpu', :workers);
CALL measure('view (the check alone, two columns)', 'SELECT sum(pages_true) FROM qsketch_gpu_columns', true, 'auto', 0, 20);
CALL measure('copy, qtop_exact 20', 'SELECT count(*) FROM qtop_exact(''events'', ''user_id'', 20)', true, 'auto', 0, 20);
\set top 'SELECT (qtop_info(qtop_agg(user_id, 100))).bound FROM events'
\set top_groups 'SELECT sum((qtop_info(q)).bound) FROM (SELECT day, qtop_agg(user_id, 100) AS q FROM events GROUP BY day) AS g'
CALL measure('copy, qtop_agg 100', :'top', true, 'auto', 0, 20);
CALL measure('copy, qtop_agg 100, GROUP BY day', :'top_groups', true, 'auto', 0, 10);
CALL measure('cpu, qtop_agg 100, workers', :'top', true, 'cpu', :workers, 2);
CALL measure('cpu, qtop_agg 100, GROUP BY day, workers', :'top_groups', true, 'cpu', :workers, 2);
\set bloom 'qfilter_agg(user_id, qfilter_new_bloom(20000000))'
CALL measure('copy, Bloom filter of 20 M keys', 'SELECT qfilter_fill(' || :'bloom' || ') FROM events', true, 'auto', 0, 10);
CALL measure('cpu, Bloom filter of 20 M keys, workers', 'SELECT qfilter_fill(' || :'bloom' || ') FROM events', true, 'cpu', :workers, 2);

-- pairs of sets, with the least threshold that leaves at most 100,000 pairs
VACUUM ANALYZE item;
ALTER TABLE item SET (parallel_workers = :workers);
SELECT count(*) FROM item \g /dev/null
SELECT qsketch_gpu_load('item', '{s,e}') \g /dev/null
SELECT least FROM (SELECT common AS least, sum(count(*)) OVER (ORDER BY common DESC) AS pairs
    FROM qsets_pairs((SELECT qsets_agg(s, e) FROM item), min_count => 20) GROUP BY common) AS x WHERE pairs <= 100000 ORDER BY least LIMIT 1 \gset
\set pairs 'SELECT count(*), sum(common), sum(hashint8extended(a * 100003 + b, common)) FROM qsets_pairs((SELECT qsets_agg(s, e) FROM item), min_count => ' :least ')'
CALL measure('gpu without copy, pairs of sets, workers', :'pairs', false, 'gpu', :workers, 5);
CALL measure('cpu, pairs of sets, workers', :'pairs', false, 'cpu', :workers, 2);
CALL measure('copy, pairs of sets', :'pairs', true, 'auto', 0, 20);
CALL measure('copy, building the collection', 'SELECT qsets_count(qsets_agg(s, e)) FROM item', true, 'auto', 0, 5);
\qecho '| what | median ms | least ms |'
\qecho '|---|---:|---:|'
SELECT format('| %s | %s | %s |', what, round(ms::numeric, 2), round(least::numeric, 2)) FROM medians ORDER BY what;
\qecho
SET qsketch.device = auto;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT qsketch_agg(user_id) FROM events;
SELECT format('same bytes: %s', (SELECT qsketch_agg(user_id) FROM events) = (SELECT qsketch_agg(user_id) FROM (SELECT * FROM events OFFSET 0) AS e));
-- Checks only the counts of the 20 most frequent keys, because GROUP BY of all keys takes minutes.
CREATE PROCEDURE compare_exact() LANGUAGE plpgsql AS $$
DECLARE
    before bigint := column_keys FROM qsketch_stat_gpu;
    keys bigint[];
    answer text;
    copied bigint;
BEGIN
    SELECT array_agg(key), string_agg(key || ' ' || count, ', ' ORDER BY count DESC, key::bigint) INTO keys, answer
        FROM qtop_exact('events', 'user_id', 20);
    copied := column_keys - before FROM qsketch_stat_gpu;
    IF copied <> (SELECT count(user_id) FROM events) THEN
        RAISE EXCEPTION 'qtop_exact had % keys from copies', copied;
    ELSIF answer IS DISTINCT FROM (SELECT string_agg(user_id || ' ' || count, ', ' ORDER BY count DESC, user_id)
            FROM (SELECT user_id, count(*) FROM events WHERE user_id = ANY (keys) GROUP BY user_id) AS e) THEN
        RAISE EXCEPTION 'qtop_exact differs: %', answer;
    END IF;
END $$;
CALL compare_exact();
\qecho same exact counts
-- Checks the sketch of a list of top keys, and the counts of the 100 listed keys.
CREATE PROCEDURE compare_top(kept_rows text) LANGUAGE plpgsql AS $$
DECLARE
    top qtop;
    keys bigint[];
    wrong bigint;
BEGIN
    EXECUTE 'SELECT qtop_agg(user_id, 100) FROM events ' || kept_rows INTO top;
    SELECT array_agg(key) INTO keys FROM qtop_list(top, 100, NULL::bigint);
    EXECUTE format('SELECT count(*) FROM qtop_list($1, 100, NULL::bigint) AS l LEFT JOIN
        (SELECT user_id, count(*) AS c FROM (SELECT * FROM events %s OFFSET 0) AS e WHERE user_id = ANY ($2) GROUP BY user_id) AS e ON user_id = key
        WHERE c IS DISTINCT FROM lower OR c IS DISTINCT FROM estimate', kept_rows) INTO wrong USING top, keys;
    IF wrong > 0 OR cardinality(keys) < 100 OR qtop_sketch(top) <> (SELECT qsketch_agg(user_id) FROM events WHERE kept_rows = '' OR day = 7) THEN
        RAISE EXCEPTION 'qtop_agg differs: % of % counts', wrong, cardinality(keys);
    END IF;
    RAISE INFO 'qtop_agg %: the same sketch, 100 exact counts, bound %', kept_rows, (qtop_info(top)).bound;
END $$;
CALL compare_top('');
CALL compare_top('WHERE day = 7');
EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT qtop_agg(user_id, 100) FROM events;
SELECT format('same bytes of a Bloom filter: %s', (SELECT :bloom FROM events) = (SELECT :bloom FROM (SELECT * FROM events OFFSET 0) AS e));
-- Compares the pairs found with cached columns with the pairs found without them, by sums
-- that depend on each pair.
CREATE PROCEDURE compare_pairs(query text) LANGUAGE plpgsql AS $$
DECLARE
    before bigint := column_keys FROM qsketch_stat_gpu;
    copied bigint;
    there record;
    here record;
BEGIN
    EXECUTE query INTO there;
    copied := column_keys - before FROM qsketch_stat_gpu;
    PERFORM set_config('qsketch.device', 'cpu', false);
    EXECUTE query INTO here;
    PERFORM set_config('qsketch.device', 'auto', false);
    IF copied <> (SELECT count(*) FROM item) THEN
        RAISE EXCEPTION 'pairs of % rows were from copies', copied;
    ELSIF here IS DISTINCT FROM there THEN
        RAISE EXCEPTION 'pairs differ: % and %', there, here;
    END IF;
END $$;
CALL compare_pairs(:'pairs');
SELECT format('same pairs: %s, of %s sets, %s rows', (SELECT count(*) FROM qsets_pairs((SELECT qsets_agg(s, e) FROM item), min_count => :least)), count(DISTINCT s), count(*)) FROM item;
SET client_min_messages = debug1;
:pairs \g /dev/null
SET client_min_messages = warning;
EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT * FROM qsets_pairs((SELECT qsets_agg(s, e) FROM item), min_count => :least);
EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT qsketch_agg(user_id) :two_thirds;
EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT day, qsketch_agg(user_id) FROM events GROUP BY day;
SELECT format('same bytes in %s groups: %s', count(*), bool_and(a.q = b.q))
    FROM (SELECT day, qsketch_agg(user_id) AS q FROM events GROUP BY day) AS a
    JOIN (SELECT day, qsketch_agg(user_id) AS q FROM (SELECT * FROM events OFFSET 0) AS e GROUP BY day) AS b USING (day);
SELECT format('same bytes with a condition: %s, %s',
    (SELECT qsketch_agg(user_id) :two_thirds) = (SELECT qsketch_agg(user_id) FROM (SELECT * :two_thirds OFFSET 0) AS e),
    (SELECT qsketch_agg(user_id) :tenth) = (SELECT qsketch_agg(user_id) FROM (SELECT * :tenth OFFSET 0) AS e));
\qecho

-- Measures queries after a fraction of the pages changed and after VACUUM, and measures loading
-- again.
TRUNCATE timings;
CREATE PROCEDURE change(percent int) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE events SET day = day WHERE ctid = ANY (ARRAY(SELECT format('(%s,2)', p)::tid
        FROM generate_series(0, pg_relation_size('events') / 8192 - 1) AS p WHERE p % 100 < percent));
    COMMIT;
END $$;
CREATE PROCEDURE measure_changed(percent int, query text, workers int) LANGUAGE plpgsql AS $$
BEGIN
    CALL change(percent);
    CALL measure(format('%s %% changed, 0 workers', percent), query, true, 'auto', 0, 5);
    CALL measure(format('%s %% changed, planned with workers', percent), query, true, 'auto', workers, 5);
END $$;
CALL measure_changed(0, :'agg', :workers);
CALL measure_changed(1, :'agg', :workers);
VACUUM events;
INSERT INTO timings VALUES ('1 %, first query after vacuum', 1, run_ms(:'agg'));
CALL measure('1 %, later queries after vacuum', :'agg', true, 'auto', 0, 5);
INSERT INTO timings VALUES ('load again after 1 %', 1, run_ms($$SELECT qsketch_gpu_load('events', '{user_id,day}')$$));
CALL measure_changed(5, :'agg', :workers);
CALL measure('5 % changed, qtop_agg 100, 0 workers', :'top', true, 'auto', 0, 5);
CALL measure('5 % changed, qtop_agg 100, planned with workers', :'top', true, 'auto', :workers, 5);
CALL measure_changed(20, :'agg', :workers);
SET max_parallel_workers_per_gather = :workers;
EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT qsketch_agg(user_id) FROM events;
SELECT format('same bytes with 20 %% changed: %s', (SELECT qsketch_agg(user_id) FROM events) = (SELECT qsketch_agg(user_id) FROM (SELECT * FROM events OFFSET 0) AS e));
\qecho '| what | median ms | least ms |'
\qecho '|---|---:|---:|'
SELECT format('| %s | %s | %s |', what, round(ms::numeric, 2), round(least::numeric, 2)) FROM medians ORDER BY what;
SELECT format('GPU: %s, %s MB in use', name, memory_used >> 20) FROM qsketch_gpu();
