-- The benchmark's queries, run by bench-sql.sh with the number of rows in :rows.

SET client_min_messages = warning;
CREATE EXTENSION qsketch;
CREATE EXTENSION pg_prewarm;
SELECT count(*) > 0 AS have_hll FROM pg_available_extensions WHERE name = 'hll' \gset
\if :have_hll
CREATE EXTENSION hll;
\endif
\i timing.sql

-- Mostly distinct keys: nothing is gained by caching, neither here nor there.
SELECT setseed(0.42) \g /dev/null
CREATE UNLOGGED TABLE ints AS
    SELECT (random() * 1e12)::bigint AS k FROM generate_series(1, :rows);
CREATE UNLOGGED TABLE texts AS
    SELECT lpad(k::text, 12, '0') AS t FROM ints;
CREATE UNLOGGED TABLE keys AS SELECT k FROM ints LIMIT 1000000;
CREATE TABLE stored AS SELECT qsketch_agg(k) AS sk FROM ints;
VACUUM ANALYZE ints, texts, keys, stored;
SELECT pg_prewarm(t) FROM unnest(ARRAY['ints', 'texts', 'keys']) AS t \g /dev/null

-- The ratio is time / rival's time where the target is "at most", and rival's
-- time / time where it is "at least".
CREATE TABLE benchmarks (
    id       int GENERATED ALWAYS AS IDENTITY,
    query    text,
    rival    text,
    bound    text,      -- <= or >=
    target   numeric,
    holds    text       -- a query that is true if the result is right
);
CREATE TABLE timings (id int, ms float8, rival_ms float8);

INSERT INTO benchmarks (query, rival, bound, target, holds) VALUES
('SELECT qsketch_agg(k) FROM ints', 'SELECT bit_xor(k) FROM ints', '<=', 1.3,
 'SELECT qsketch_total(qsketch_agg(k)) = count(*) FROM ints'),
('SELECT qsketch_agg(t) FROM texts', 'SELECT max(t COLLATE "C") FROM texts', '<=', 2,
 'SELECT qsketch_total(qsketch_agg(t)) = count(*) FROM texts'),
('SELECT qsketch_agg(k) FROM ints',
 'SELECT max(n) FROM (SELECT k, count(*) AS n FROM ints GROUP BY k) AS g', '>=', 8,
 'SELECT bool_and(qsketch_estimate(sk, k) >= n)
  FROM (SELECT k, count(*) AS n FROM ints WHERE k % 100 = 0 GROUP BY k) AS g, stored'),
('SELECT sum(qsketch_estimate(sk, k)) FROM keys, stored', 'SELECT sum(k # 1) FROM keys, stored',
 '<=', 3, 'SELECT bool_and(qsketch_estimate(sk, k) > 0) FROM keys, stored');
\if :have_hll
INSERT INTO benchmarks (query, rival, bound, target, holds) VALUES
('SELECT qsketch_agg(k) FROM ints', 'SELECT hll_add_agg(hll_hash_bigint(k)) FROM ints', '<=', 1,
 'SELECT qsketch_agg(k) = (SELECT sk FROM stored) FROM ints');
\endif

-- All queries in turn, six times; the first time only warms up.
DO $$
DECLARE
    b benchmarks;
    turn int;
BEGIN
    FOR turn IN 0 .. 5 LOOP
        FOR b IN SELECT * FROM benchmarks ORDER BY id LOOP
            INSERT INTO timings VALUES (b.id, run_ms(b.query), run_ms(b.rival));
        END LOOP;
        IF turn = 0 THEN
            DELETE FROM timings;
        END IF;
    END LOOP;
END $$;

CREATE FUNCTION is_true(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    answer boolean;
BEGIN
    EXECUTE query INTO answer;
    RETURN coalesce(answer, false);
END $$;

CREATE TABLE results AS
WITH medians AS (
    SELECT id, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric AS ms,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY rival_ms)::numeric AS rival_ms
    FROM timings GROUP BY id
)
SELECT *, CASE bound WHEN '<=' THEN ms / rival_ms ELSE rival_ms / ms END AS ratio,
       is_true(holds) AS correct
FROM benchmarks JOIN medians USING (id);

\qecho '| query | ms | against | ms | ratio | target | |'
\qecho '|---|---:|---|---:|---:|---:|---|'
SELECT format('| `%s` | %s | `%s` | %s | %s | %s %s | %s |',
              query, round(ms), rival, round(rival_ms), round(ratio, 2), bound, target,
              CASE WHEN NOT correct THEN 'WRONG'
                   WHEN CASE bound WHEN '<=' THEN ratio <= target ELSE ratio >= target END
                   THEN 'PASS' ELSE 'FAIL' END)
FROM results ORDER BY id;

DO $$ BEGIN
    ASSERT (SELECT bool_and(correct) FROM results), 'a result is wrong';
END $$;
