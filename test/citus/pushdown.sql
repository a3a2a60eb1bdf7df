-- Prints for each column of "spread" its type, and how many of eight aggregates the shards compute.
SET citus.explain_all_tasks = off;
SELECT attname || ' ' || atttypid::regtype || ' ' || count(*) FILTER (WHERE line LIKE 'Query: %partial_agg(%')
FROM pg_attribute, unnest(ARRAY['qsketch_agg(%s)', 'qsketch_agg(%s, w)', 'qsketch_agg(%s, qsketch_new())',
	'qsketch_agg(%s, w, qsketch_new())', 'qfilter_agg(%s, qfilter_new_bloom(9))', 'qfilter_row_agg(%s, id, qfilter_new(9, 3))',
	'qtop_agg(%s, 5)', 'qsets_agg(id, %s)']) AS call, shard_plan(format('SELECT ' || call || ' FROM spread', attname)) AS line
WHERE attrelid = 'spread'::regclass AND attnum > 1 AND attname NOT IN ('w', 'day', 'mo')
GROUP BY attnum, attname, atttypid ORDER BY attnum;
