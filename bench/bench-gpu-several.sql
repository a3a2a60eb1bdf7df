-- Measures queries of cached columns: the median of seven times, and a hash of the answer.  Run by
-- bench-gpu-several.sh with the number of GPUs in :name.

SET client_min_messages = warning;

CREATE OR REPLACE PROCEDURE measure(name text, what text, query text, answer text) LANGUAGE plpgsql AS $$
DECLARE
    found text;
    ms float8[];
BEGIN
    EXECUTE answer INTO found;
    FOR turn IN 1 .. 7 LOOP
        ms := ms || run_ms(query);
    END LOOP;
    INSERT INTO timings VALUES (name, what, (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) FROM unnest(ms) AS t), found);
    COMMIT;
END $$;

-- Measures gpu_fetch() of sketches; the answer is a hash of each sketch.  A plan node above the
-- sketches would copy the first row, and this copy would write the row's sketch in stored form.
CREATE OR REPLACE PROCEDURE measure_sketch(name text, what text, sketch text, rows text) LANGUAGE plpgsql AS $$
BEGIN
    CALL measure(name, what, format('SELECT sum(fetched) FROM (SELECT gpu_fetch(%s) AS fetched FROM %s) AS x', sketch, rows),
        format('SELECT string_agg(md5(q::bytea), '','' ORDER BY md5(q::bytea)) FROM (SELECT %s AS q FROM %s) AS x', sketch, rows));
END $$;

INSERT INTO timings VALUES (:'name', 'load two columns', run_ms($$SELECT sum(qsketch_gpu_load(inhrelid, '{user_id,day}')) FROM pg_inherits WHERE inhparent = 'events'::regclass$$), '');
SELECT qsketch_gpu_load(t::regclass, '{user_id}') FROM unnest('{u0,u1,u2,u3}'::text[]) AS t \g /dev/null
CALL measure_sketch(:'name', '1 MB', 'qsketch_agg(user_id)', 'events');
CALL measure_sketch(:'name', 'sub_warp 1 MB', 'qsketch_agg(user_id, qsketch_new(''sub_warp'', ''1MB''))', 'events');
CALL measure_sketch(:'name', 'WHERE keeps two thirds', 'qsketch_agg(user_id)', 'events WHERE day BETWEEN 5 AND 24');
CALL measure_sketch(:'name', 'FILTER keeps a tenth', 'qsketch_agg(user_id) FILTER (WHERE day BETWEEN 10 AND 12)', 'events');
CALL measure_sketch(:'name', 'GROUP BY, 30 sketches of 1 MB', 'qsketch_agg(user_id)', 'events GROUP BY day');
CALL measure_sketch(:'name', '256 MB, fetched', 'qsketch_agg(user_id, qsketch_new(''multilevel'', ''256MB''))', 'events');
\set bloom 'qfilter_agg(user_id, qfilter_new_bloom(20000000))'
CALL measure(:'name', 'Bloom filter of 20 M keys', 'SELECT qfilter_fill(' || :'bloom' || ') FROM events', 'SELECT md5(' || :'bloom' || '::bytea) FROM events');
\set counted 'SELECT md5(string_agg(l::text, '','' ORDER BY day, l.key)) FROM (SELECT '
CALL measure(:'name', 'qtop_agg 100', 'SELECT (qtop_info(qtop_agg(user_id, 100))).total FROM events',
    :'counted' || '0 AS day, qtop_agg(user_id, 100) AS q FROM events) AS x, LATERAL qtop_list(q, 100, NULL::bigint) AS l');
CALL measure(:'name', 'GROUP BY, 30 lists of qtop_agg 100', 'SELECT sum((qtop_info(q)).total) FROM (SELECT qtop_agg(user_id, 100) AS q FROM events GROUP BY day) AS x',
    :'counted' || 'day, qtop_agg(user_id, 100) AS q FROM events GROUP BY day) AS x, LATERAL qtop_list(q, 100, NULL::bigint) AS l');
CALL measure(:'name', 'qtop_exact 20', 'SELECT count(*) FROM qtop_exact(''events'', ''user_id'', 20)', 'SELECT md5(string_agg(x::text, '','')) FROM qtop_exact(''events'', ''user_id'', 20) AS x');

-- pairs of sets, with the least threshold that leaves at most 100,000 pairs
SELECT qsketch_gpu_load('item', '{s,e}') \g /dev/null
SELECT least FROM (SELECT common AS least, sum(count(*)) OVER (ORDER BY common DESC) AS pairs
    FROM qsets_pairs((SELECT qsets_agg(s, e) FROM item), min_count => 20) GROUP BY common) AS x WHERE pairs <= 100000 ORDER BY least LIMIT 1 \gset
\set pairs 'FROM qsets_pairs((SELECT qsets_agg(s, e) FROM item), min_count => ' :least ')'
CALL measure(:'name', 'pairs of sets', 'SELECT count(*) ' || :'pairs', 'SELECT md5(string_agg((a, b, common)::text, '','' ORDER BY a, b)) ' || :'pairs');
