-- Checks that QSketchScan reads shards, also in groups.  From Citus 14 on, states travel in binary.  Older
-- versions use text.  Plans with binary states and plans with text states are printed alike.
SET citus.explain_all_tasks = off;
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query;
END $$;
CREATE FUNCTION shard_plan(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT regexp_replace(regexp_replace(regexp_replace(trim(line), '_\d+', '_N', 'g'),
		'worker_(binary_)?partial_agg', 'partial_agg'), '_qsketch_(out|send)', 'form')
	FROM explained(query) AS line WHERE line ~ 'partial_agg|QSketchScan|_qsketch_(out|send)'
$$;
SELECT shard_plan('SELECT qsketch_agg(k) FROM spread');
SELECT shard_plan('SELECT qsketch_agg(t, w) FROM spread');
SELECT shard_plan('SELECT day, qsketch_agg(k) FROM spread GROUP BY day');
-- States have the form that Citus asks for, which is binary where possible.
SELECT bool_or(line ~ 'worker_binary_partial_agg') = bool_or(line ~ '_qsketch_send')
		AND bool_or(line ~ '_qsketch_(out|send)')
		AND bool_or(line ~ '_qsketch_send') = (to_regproc('pg_catalog.worker_binary_partial_agg') IS NOT NULL)
FROM explained('SELECT qsketch_agg(k) FROM spread') AS line;
