--
-- Sketches as stored values: tables, views, rules, rewriting.
--
\set ECHO none
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/templates.psql'
\i :file
\set ECHO all
CREATE TABLE built AS
SELECT t.id, t.structure, n, pg_temp.sketch(format('SELECT qsketch_agg(k, k, %s)
	FROM generate_series(1, %s) AS k', expr, n)) AS sk
FROM template AS t, unnest(ARRAY[1, 20, 3000]) AS n;
INSERT INTO built SELECT 100, 'large', 100000, qsketch_agg(k, k, qsketch_new('sf', '512kB', z => 8))
FROM generate_series(1, 100000) AS k;
SELECT n, count(*), bool_and(pg_column_size(sk) < 100) AS tiny FROM built GROUP BY n ORDER BY n;

-- out of line, uncompressed
SELECT count(*) > 15 AS uncompressed FROM built
WHERE pg_column_size(sk) > 2000 AND pg_column_compression(sk) IS NULL;
SELECT pg_relation_size(reltoastrelid) > 1000000 AS out_of_line FROM pg_class WHERE oid = 'built'::regclass;
SELECT bool_and(pg_column_size(sk) >= octet_length(sk::bytea)) AS whole FROM built WHERE n > 100;

-- rewritten, moved, compressed, with columns added: the same bytes
CREATE TABLE copied (LIKE built);
INSERT INTO copied SELECT * FROM built;
ALTER TABLE copied ADD COLUMN again qsketch;
UPDATE copied SET again = sk;
VACUUM FULL copied;
ALTER TABLE copied ALTER sk SET STORAGE EXTENDED, ALTER again SET STORAGE PLAIN;
DELETE FROM copied WHERE octet_length(again::bytea) > 2000;
UPDATE copied SET sk = sk::text::qsketch, again = again::text::qsketch;
ALTER TABLE copied ADD COLUMN defaulted qsketch DEFAULT qsketch_add(qsketch_new(), 1);
ALTER TABLE copied ALTER id TYPE bigint;
SELECT count(*), bool_and(c.sk = b.sk AND c.again = b.sk) AS same,
	bool_and(qsketch_estimate(defaulted, 1) = 1) AS defaulted
FROM copied AS c JOIN built AS b USING (id, n);

-- generated columns, checks, views, materialized views
CREATE TABLE ruled (
	sk qsketch CHECK ((qsketch_total(sk)) < 100),
	total bigint GENERATED ALWAYS AS (qsketch_total(sk)) STORED,
	one bigint GENERATED ALWAYS AS (qsketch_estimate(sk, 1)) STORED);
INSERT INTO ruled VALUES (qsketch_add(qsketch_new(), 1, 5));
SELECT pg_temp.error_of('INSERT INTO ruled VALUES (qsketch_add(qsketch_new(), 1, 100))');
UPDATE ruled SET sk = qsketch_add(sk, 2, 7);
SELECT total, one FROM ruled;
CREATE INDEX ON ruled (qsketch_estimate(sk, 1));
CREATE VIEW totals AS SELECT structure, qsketch_merge_agg(sk) AS sk FROM built GROUP BY id, structure;
SELECT structure, count(*), bool_and(qsketch_total(sk) = 1 + 210 + 4501500) AS totals
FROM totals WHERE structure <> 'large' GROUP BY structure ORDER BY structure;
CREATE MATERIALIZED VIEW kept AS SELECT * FROM totals;
REFRESH MATERIALIZED VIEW kept;
SELECT count(*) AS not_the_same FROM (SELECT * FROM kept EXCEPT SELECT * FROM totals) AS e;
SELECT count(*) FROM (SELECT DISTINCT sk FROM kept) AS k;

-- updates in place, upserts, RETURNING, triggers
CREATE TABLE daily (day int PRIMARY KEY, sk qsketch NOT NULL);
INSERT INTO daily SELECT i % 7, qsketch_agg(i) FROM generate_series(1, 700) AS i GROUP BY 1;
INSERT INTO daily SELECT i % 9, qsketch_agg(i) FROM generate_series(701, 1600) AS i GROUP BY 1
	ON CONFLICT (day) DO UPDATE SET sk = daily.sk || excluded.sk;
WITH updated AS (UPDATE daily SET sk = sk || qsketch_add(qsketch_new(), day)
	RETURNING day, qsketch_total(sk) AS total)
SELECT * FROM updated ORDER BY day;
SELECT qsketch_merge_agg(sk) = (SELECT qsketch_agg(k)
	FROM (SELECT generate_series(1, 1600) UNION ALL SELECT generate_series(0, 8)) AS u(k)) AS same
FROM daily;
CREATE FUNCTION count_key() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN new.sk := qsketch_add(new.sk, new.day, 1000); RETURN new; END $$;
CREATE TRIGGER count_key BEFORE UPDATE ON daily FOR EACH ROW EXECUTE FUNCTION count_key();
WITH updated AS (UPDATE daily SET sk = sk WHERE day < 3 RETURNING day, qsketch_total(sk) AS total)
SELECT * FROM updated ORDER BY day;

-- a rolled back change leaves the value
BEGIN;
UPDATE daily SET sk = qsketch_add(sk, 1, 5) WHERE day = 8;
SAVEPOINT s;
UPDATE daily SET sk = qsketch_add(sk, 1, 5) WHERE day = 8;
ROLLBACK TO s;
SELECT qsketch_total(sk) AS total FROM daily WHERE day = 8;
ROLLBACK;
SELECT qsketch_total(sk) AS total FROM daily WHERE day = 8;

-- functions in SQL and PL/pgSQL, arrays and rows of sketches
CREATE FUNCTION pg_temp.twice(qsketch) RETURNS qsketch LANGUAGE sql IMMUTABLE AS 'SELECT $1 || $1';
CREATE FUNCTION pg_temp.heavy(sk qsketch, OUT more qsketch, OUT total bigint) LANGUAGE plpgsql AS
$$ DECLARE pair qsketch[]; BEGIN
	more := qsketch_add(sk, 0, 10);
	pair := ARRAY[sk, more];
	pair[1] := qsketch_add(pair[1], 0, 1);
	total := qsketch_total(pair[1]) + qsketch_total(pair[2]) + qsketch_total(sk);
END $$;
SELECT qsketch_total(pg_temp.twice(qsketch_add(qsketch_new(), 1))) AS twice,
	qsketch_total(h.more) AS more, h.total
FROM pg_temp.heavy(qsketch_add(qsketch_new(), 1)) AS h;

DROP MATERIALIZED VIEW kept;
DROP VIEW totals;
DROP TABLE built, copied, ruled, daily;
DROP FUNCTION count_key;
