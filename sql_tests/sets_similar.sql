--
-- The sets most similar to one of a collection, or to given elements: as SQL finds them,
-- in each order, whether the collection is prepared or not, and after it has changed.
--
CREATE TABLE member AS SELECT DISTINCT (i % 300)::bigint AS s, floor(400 * (i * 7919 % 10007 / 10007.0) ^ 2)::bigint AS e FROM generate_series(1, 6000) AS i;
INSERT INTO member SELECT 1000 + i % 3, i FROM generate_series(1, 30) AS i; -- without a common element with one another
INSERT INTO member VALUES (-5, 7), (-6, 7), (-9223372036854775808, 399);
CREATE TABLE kept AS SELECT qsets_agg(s, e) AS number, qsets_agg(s, 'e' || e) AS text, qsets_agg(s, md5(e::text)::uuid) AS uuid,
	qsets_agg(s, date '2026-01-01' + e::int) AS day FROM member;
SELECT pg_column_size(number) > 3000 AS stored_outside FROM kept;

-- what SQL finds: sets that have something in common with the asked one, and how they compare
CREATE TABLE asked (name text, e bigint);
INSERT INTO asked SELECT 'set ' || s, e FROM member WHERE s IN (0, 17, 1000, -5, -9223372036854775808);
INSERT INTO asked SELECT 'some', unnest('{1,2,3,4,5,60,399}'::bigint[]) UNION ALL SELECT 'strangers', unnest('{-1,100000}'::bigint[])
	UNION ALL SELECT 'both', unnest('{-1,7,7,0,100000}'::bigint[]);
CREATE TABLE wanted AS
SELECT name, id, common, common::float8 / (mine + size - common) AS jaccard, common::float8 / least(mine, size) AS overlap, common::float8 * universe / mine / size AS lift
FROM (SELECT name, s AS id, count(DISTINCT e) AS common FROM asked JOIN member USING (e) GROUP BY 1, 2) AS c
	JOIN (SELECT s AS id, count(*) AS size FROM member GROUP BY 1) AS other USING (id)
	JOIN (SELECT name, count(DISTINCT e) AS mine FROM asked GROUP BY 1) AS one USING (name), (SELECT count(DISTINCT e) AS universe FROM member) AS u
WHERE name <> 'set ' || id;
CREATE FUNCTION pg_temp.wanted(name text, min_count bigint, min_jaccard float8, top int, order_by text) RETURNS text LANGUAGE sql AS $$
	SELECT jsonb_agg(to_jsonb(r) ORDER BY place)::text FROM (SELECT id, common, jaccard, overlap, lift,
			row_number() OVER (ORDER BY CASE order_by WHEN 'common' THEN common WHEN 'overlap' THEN overlap WHEN 'lift' THEN lift END DESC, jaccard DESC, id) AS place
		FROM wanted WHERE wanted.name = $1 AND common >= $2 AND jaccard >= $3) AS r WHERE place <= coalesce($4, 1000000)
$$;
CREATE FUNCTION pg_temp.given(kind text, name text, min_count bigint, min_jaccard float8, top int, order_by text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	elements text := CASE kind WHEN 'number' THEN 'e' WHEN 'text' THEN $q$'e' || e$q$ WHEN 'uuid' THEN 'md5(e::text)::uuid' ELSE $q$date '2026-01-01' + e::int$q$ END;
	one text := CASE WHEN name ~ '^set' THEN format('%s::bigint', quote_literal(substr(name, 5))) ELSE format('(SELECT array_agg(%s) FROM asked WHERE name = %L)', elements, name) END;
	rows text;
BEGIN
	EXECUTE format('SELECT jsonb_agg(to_jsonb(p) ORDER BY place) FROM kept, qsets_similar(%I, %s, $1, $2, $3, $4) WITH ORDINALITY
		AS p (id, common, jaccard, overlap, lift, place)', kind, one) INTO rows USING min_count, min_jaccard, top, order_by;
	RETURN rows;
END $$;

-- three calls: the collection is read, prepared, and there already
CREATE VIEW prepared AS SELECT count(*) AS prepared FROM pg_backend_memory_contexts WHERE name = 'qsketch prepared sets';
SELECT prepared FROM prepared;
SELECT call, kind, order_by, count(*) AS questions, count(*) FILTER (WHERE pg_temp.given(kind, name, min_count, min_jaccard, top, order_by)
	IS DISTINCT FROM pg_temp.wanted(name, min_count, min_jaccard, top, order_by)) AS wrong
FROM generate_series(1, 3) AS call, unnest('{number,text,uuid,day}'::text[]) AS kind, unnest('{jaccard,common,overlap,lift}'::text[]) AS order_by,
	(SELECT DISTINCT name FROM asked WHERE name <> 'set -9223372036854775808') AS n, (VALUES (1, 0, 10), (2, 0.02, 3), (1, 0, NULL), (3, 0.1, 1)) AS o (min_count, min_jaccard, top)
GROUP BY call, kind, order_by ORDER BY call, kind, order_by;
SELECT prepared FROM prepared;
SELECT pg_temp.given('number', 'set -9223372036854775808', 1, 0, 10, 'jaccard') IS NOT DISTINCT FROM pg_temp.wanted('set -9223372036854775808', 1, 0, 10, 'jaccard') AS least_id;

-- an updated row has another collection; so has one whose change was rolled back
SELECT p.id, p.common FROM kept, qsets_similar(number, ARRAY[7], top => 2) AS p;
BEGIN;
UPDATE kept SET number = number || (SELECT qsets_agg(5000, 7) FROM generate_series(1, 1));
SELECT i, p.id, p.common FROM generate_series(1, 3) AS i, kept, qsets_similar(number, ARRAY[7], top => 1, min_jaccard => 1, min_count => i - i + 1) AS p;
SELECT count(*) FILTER (WHERE p.id = 5000) AS added FROM generate_series(1, 3) AS i, kept, qsets_similar(number, ARRAY[7], top => NULL, min_jaccard => 1) AS p;
ROLLBACK;
SELECT count(*) FILTER (WHERE p.id = 5000) AS added, count(*) FROM generate_series(1, 3) AS i, kept, qsets_similar(number, ARRAY[7], top => NULL, min_jaccard => 1) AS p;
UPDATE kept SET number = number || (SELECT qsets_agg(5000, 7) FROM generate_series(1, 1));
SELECT count(*) FILTER (WHERE p.id = 5000) AS added, count(*) FROM generate_series(1, 3) AS i, kept, qsets_similar(number, ARRAY[7], top => NULL, min_jaccard => 1) AS p;

-- the table is written anew, emptied and filled again, with the same collection and with others
CREATE TABLE again AS SELECT number, number || (SELECT qsets_agg(5001, 7) FROM generate_series(1, 1)) AS other FROM kept;
CREATE FUNCTION pg_temp.sevens() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(ids, ' then ') FROM (SELECT i, string_agg(p.id::text, ' ' ORDER BY p.id) AS ids FROM generate_series(1, 3) AS i, kept, qsets_similar(number, ARRAY[7], top => NULL, min_jaccard => 1) AS p
		GROUP BY i) AS x
$$;
SELECT pg_temp.sevens();
VACUUM FULL kept;
SELECT pg_temp.sevens();
TRUNCATE kept;
SELECT pg_temp.sevens();
INSERT INTO kept (number) SELECT other FROM again;
SELECT pg_temp.sevens();
TRUNCATE kept;
INSERT INTO kept (number) SELECT number FROM again;
SELECT pg_temp.sevens();
DROP TABLE kept;
CREATE TABLE kept AS SELECT number, qsets_agg(s, 'e' || e) AS text, qsets_agg(s, md5(e::text)::uuid) AS uuid, qsets_agg(s, date '2026-01-01' + e::int) AS day FROM again, member GROUP BY number;
SELECT pg_temp.sevens();

-- what is kept has a limit: the last used collections, or none; the answers are the same
SET qsketch.sets_cache = 0;
SELECT count(*) FROM kept, qsets_similar(number, 17);
SELECT prepared FROM prepared;
SET qsketch.sets_cache = '150kB';
SELECT call, kind, pg_temp.given(kind, 'set 17', 1, 0, 10, 'lift') = pg_temp.wanted('set 17', 1, 0, 10, 'lift') AS same
FROM generate_series(1, 3) AS call, unnest('{text,uuid,day}'::text[]) AS kind ORDER BY kind, call;
SELECT prepared BETWEEN 1 AND 2 AS some FROM prepared;
-- it is said once that one is too large, and again at another limit; and that two do not fit
SET qsketch.sets_cache = '30kB';
SELECT call, count(*) FROM generate_series(1, 4) AS call, kept, qsets_similar(text, call + 16) GROUP BY call ORDER BY call;
SELECT count(*) FROM kept, qsets_similar(text, 17);
SET qsketch.sets_cache = '40kB';
SELECT count(*) FROM kept, qsets_similar(text, 17);
SELECT prepared FROM prepared;
SET qsketch.sets_cache = '100kB';
\set VERBOSITY terse
SELECT count(*) FROM generate_series(1, 3), kept, qsets_similar(text, 17) AS p, qsets_similar(uuid, 18) AS q;
\set VERBOSITY default
SELECT prepared FROM prepared;
SET qsketch.sets_cache = 0;
SELECT count(*) FROM kept, qsets_similar(text, 17);
RESET qsketch.sets_cache;
SELECT count(*) FROM kept, generate_series(1, 3), qsets_similar(number, 17);

-- not stored, in the same call again and again: expanded, inline, and changing with each row
SELECT count(*) FILTER (WHERE p.id <> w.id OR p.common <> w.common) AS wrong, count(*) FROM (SELECT qsets_merge(number, number) AS q FROM kept OFFSET 0) AS x,
	generate_series(1, 4) AS again, LATERAL qsets_similar(q, 17 + 0 * again) WITH ORDINALITY AS p (id, common, jaccard, overlap, lift, place)
	JOIN (SELECT *, row_number() OVER () AS place FROM kept, qsets_similar(number, 17)) AS w USING (place);
SELECT i, p.* FROM generate_series(1, 4) AS i, LATERAL (SELECT qsets_agg(s, e) AS q FROM (VALUES (1, 1), (1, 2), (2, 2), (3, i)) AS v (s, e)) AS x, qsets_similar(q, ARRAY[1, 2], top => 2) AS p;

-- nothing in common is wanted, too
SELECT count(*), sum(common) FROM kept, qsets_similar(number, 1000, 0, top => NULL);
SELECT id, common, jaccard, overlap, lift FROM kept, qsets_similar(number, '{}'::int[], 0, top => 2);
SELECT count(*) AS none FROM kept, qsets_similar(number, '{}'::int[]);
SELECT count(*) AS none FROM kept, qsets_similar(number, ARRAY[NULL]::int[]);
SELECT count(*) AS none FROM kept, qsets_similar(number, NULL::int[]);
SELECT count(*) AS none FROM kept, qsets_similar(qsets_subset(number, '{}'), ARRAY[1]);

-- elements in any form: any dimensions, NULLs, types of one kind, domains
CREATE DOMAIN small AS int CHECK (VALUE < 500);
SELECT count(*) = 4 AND count(DISTINCT r) = 1 AS same FROM (SELECT 1 AS which, array_agg(p)::text AS r FROM kept, qsets_similar(number, ARRAY[[1, 2], [3, 4]]) AS p
	UNION ALL SELECT 2, array_agg(p)::text FROM kept, qsets_similar(number, ARRAY[1, NULL, 2, 3, 4, 4]::int2[]) AS p
	UNION ALL SELECT 3, array_agg(p)::text FROM kept, qsets_similar(number, '[5:8]={4,3,2,1}'::bigint[]) AS p
	UNION ALL SELECT 4, array_agg(p)::text FROM kept, qsets_similar(number, '{4,3,2,1}'::small[]) AS p) AS x;
SELECT count(*) > 0 AS varchar FROM kept, qsets_similar(text, ARRAY['e1', 'e2']::varchar[]);
SELECT p.id, p.common FROM (SELECT qsets_agg(s, ROW(s, e)) AS q FROM (VALUES (1, 'a'), (1, 'b'), (2, 'c')) AS v (s, e)) AS x, qsets_similar(q, ARRAY[ROW(1, 'a'::text), ROW(2, 'c'::text)]) AS p;

-- refused: elements of another kind, other names and numbers
SELECT * FROM kept, qsets_similar(number, ARRAY['a', 'b']);
SELECT * FROM kept, qsets_similar(text, ARRAY[1, 2]);
SELECT * FROM kept, qsets_similar(day, ARRAY[timestamp '2026-01-01']);
SELECT * FROM kept, qsets_similar(number, ARRAY[point '(1,2)']);
SELECT * FROM kept, qsets_similar(number, 17, order_by => 'best');
SELECT * FROM kept, qsets_similar(number, 17, top => 0);
SELECT * FROM kept, qsets_similar(number, 17, -1);
SELECT * FROM kept, qsets_similar(number, 17, min_jaccard => 2);

-- by functions that take what is asked for as parameters, and in parallel workers
PREPARE similar_to(bigint[]) AS SELECT p.id FROM kept, qsets_similar(number, $1, top => 1) AS p;
EXECUTE similar_to('{1,2,3}');
EXECUTE similar_to('{390,391}');
SET plan_cache_mode = force_generic_plan;
EXECUTE similar_to('{1,2,3}');
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE kept SET (parallel_workers = 2);
SELECT count(*), sum(p.common) FROM kept, generate_series(1, 3), qsets_similar(number, 17) AS p;
DEALLOCATE similar_to;
DROP TABLE member, kept, asked, wanted, again;
DROP VIEW prepared;
DROP DOMAIN small;
