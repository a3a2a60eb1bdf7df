-- Shards are read by QSketchScan, by groups, too.
SET citus.explain_all_tasks = off;
CREATE FUNCTION shard_plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		IF line ~ 'worker_partial_agg|QSketchScan|qsketch_out' THEN
			RETURN NEXT regexp_replace(trim(line), '_\d+', '_N', 'g');
		END IF;
	END LOOP;
END $$;
SELECT shard_plan('SELECT qsketch_agg(k) FROM spread');
SELECT shard_plan('SELECT qsketch_agg(t, w) FROM spread');
SELECT shard_plan('SELECT day, qsketch_agg(k) FROM spread GROUP BY day');
