--
-- QSketchScan and the buffers that pages are in: consecutive ones, others, those of temporary tables.
--
SET max_parallel_workers_per_gather = 0;
CREATE TABLE one (k bigint) WITH (autovacuum_enabled = off);
CREATE TABLE two (k bigint) WITH (autovacuum_enabled = off);
CREATE TEMPORARY TABLE own (k bigint);
-- runs of pages of two tables take turns in the buffers
DO $$ BEGIN
	FOR run IN 1 .. 12 LOOP
		INSERT INTO one SELECT run * 10000 + i FROM generate_series(1, 300 * run) AS i;
		INSERT INTO two SELECT -i FROM generate_series(1, 1000) AS i;
	END LOOP;
END $$;
INSERT INTO own SELECT k FROM one;
ANALYZE one, two, own;

-- the line of EXPLAIN that begins like this
CREATE FUNCTION pg_temp.told(query text, what text) RETURNS text LANGUAGE plpgsql AS
$$ DECLARE line text; BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) ' || query LOOP
		IF line ~ ('^ *' || what) THEN
			RETURN substring(line FROM what || '(\d+)');
		END IF;
	END LOOP;
END $$;

-- the first to read a page may mark it all-visible, from PostgreSQL 19 on, for which it takes one more buffer
SELECT (SELECT count(k) FROM one) AS one, (SELECT count(k) FROM two) AS two, (SELECT count(k) FROM own) AS own;
-- read often enough, all pages are found in use, and each is counted as one hit
SELECT of_table, pg_temp.told(query, 'Buffers: ' || kind || ' hit=') = pg_temp.told(query, 'Pages: ') AS counted
	FROM (VALUES ('one', 'shared'), ('two', 'shared'), ('own', 'local')) AS v(of_table, kind),
	LATERAL (SELECT 'SELECT qsketch_agg(k) FROM ' || of_table) AS q(query), generate_series(1, 8) AS again GROUP BY 1, 2 ORDER BY 1;
SELECT md5(qsketch_agg(k)::text) AS one FROM one \gset
SELECT md5(qsketch_agg(k)::text) AS two FROM two \gset
SELECT md5(qsketch_agg(k)::text) AS own FROM own \gset
SET qsketch.enable_columnscan = off;
SELECT md5(qsketch_agg(k)::text) = :'one' AS same FROM one;
SELECT md5(qsketch_agg(k)::text) = :'two' AS same FROM two;
SELECT md5(qsketch_agg(k)::text) = :'own' AS same FROM own;
RESET qsketch.enable_columnscan;

-- buffers that now have pages of another table
TRUNCATE one;
INSERT INTO one SELECT i FROM generate_series(1, 500) AS i;
SELECT qsketch_agg(k) = (SELECT qsketch_agg(i) FROM generate_series(1, 500) AS i) AS same FROM one;
SELECT md5(qsketch_agg(k)::text) = :'two' AS same FROM two;
DROP TABLE one, two;
