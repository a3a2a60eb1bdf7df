-- The same rows in a local table and in a distributed table, whose shards are on all workers.  The distribution
-- column has no NULLs, and most other columns have some NULLs.
CREATE TYPE mood AS ENUM ('good', 'bad', 'so-so');
CREATE TABLE plain (
	id bigint NOT NULL, s smallint, i integer, k bigint, t text, v varchar, c "char", b bytea, u uuid,
	n numeric, r real, f double precision, d date, ts timestamp, tz timestamptz, ip inet, o boolean,
	iv interval, ti time, tt timetz, j jsonb, oi oid, mo money, ma macaddr, m8 macaddr8,
	ir int4range, br int8range, dr daterange, nr numrange, tr tsrange,
	zr tstzrange, ls pg_lsn, e mood, a integer[], w integer, day date);
INSERT INTO plain SELECT id, x, x, x * 1000003, 'key ' || x, 'key ' || x, chr(65 + x % 26)::"char",
	('key ' || x)::bytea, md5(x::text)::uuid, x / 8.0, x / 4.0, x / 4.0, date '2000-01-01' + x,
	timestamp '2000-01-01' + x * interval '1 hour', timestamptz '2000-01-01 00:00+0' + x * interval '1 hour',
	inet '10.0.0.0' + x, x % 2 = 0, x * interval '1 hour', time '00:00' + x * interval '1 minute',
	timetz '00:00+1' + x * interval '1 minute', jsonb_build_object('x', x), x, x::money,
	('08:00:2b:01:02:' || lpad(to_hex(x % 256), 2, '0'))::macaddr,
	('08:00:2b:01:02:03:04:' || lpad(to_hex(x % 256), 2, '0'))::macaddr8, int4range(x, x + 5), int8range(x, x + 5),
	daterange(date '2000-01-01', date '2000-01-02' + x), numrange(x / 8.0, x + 1),
	tsrange(timestamp '2000-01-01', timestamp '2000-01-02' + x * interval '1 hour'),
	tstzrange(timestamptz '2000-01-01 00:00+0', timestamptz '2000-01-02 00:00+0' + x * interval '1 hour'),
	'0/0'::pg_lsn + x::numeric, (enum_range(NULL::mood))[x % 3 + 1], ARRAY[x, x + 1],
	id % 7, date '2026-01-01' + (id % 30)::int
FROM (SELECT id, CASE WHEN id % 50 <> 0 THEN (id * id % 997)::int END AS x FROM generate_series(1, 20000) AS id) AS rows;

CREATE TABLE spread (LIKE plain);
SELECT create_distributed_table('spread', 'id', shard_count := 16);
INSERT INTO spread SELECT * FROM plain;

-- Stored sketches, to be merged.
CREATE TABLE plain_stored AS SELECT day, qsketch_agg(k) AS sk, qtop_agg(k, 10) AS top,
	qfilter_row_agg(k, id, qfilter_new(20000, 100)) AS f, qsets_agg(w, k) AS sets FROM plain GROUP BY day;
CREATE TABLE spread_stored (LIKE plain_stored);
SELECT create_distributed_table('spread_stored', 'day', shard_count := 4);
INSERT INTO spread_stored SELECT * FROM plain_stored;
