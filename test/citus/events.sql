-- Rows for measurements: 500,009 users in 16 shards, 30 days, 1000 pages.
CREATE TABLE events (user_id bigint NOT NULL, day date, page text);
SELECT create_distributed_table('events', 'user_id', shard_count := 16);
INSERT INTO events SELECT (i * 7919) % 500009, date '2026-01-01' + (i % 30)::int, 'page ' || i % 1000
	FROM generate_series(1, :rows::bigint) AS i;
VACUUM ANALYZE events;
