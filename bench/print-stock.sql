-- Checks all answers of bench-stock.sh except DuckDB's estimates, and prints the table and the
-- estimates.

-- True if PostgreSQL plans two workers by itself.
CREATE FUNCTION uses_two_workers(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    SET LOCAL max_parallel_workers_per_gather = 2;
    FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
        IF line ~ 'Workers Planned: 2' THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;
CREATE FUNCTION answer(name text, of_system text DEFAULT 'PostgreSQL') RETURNS text LANGUAGE sql AS $$
    SELECT answer FROM answers JOIN queries USING (id) WHERE what = name AND system = of_system AND workers = 0
$$;

CREATE TABLE exact_top AS SELECT user_id, count(*) AS n FROM hits GROUP BY user_id ORDER BY n DESC, user_id LIMIT 20;
CREATE TABLE tops AS SELECT workers, answer::qtop AS top FROM answers JOIN queries USING (id) WHERE what ~ '^`qtop_agg';
CREATE TABLE listed AS SELECT workers, l.* FROM tops, qtop_list(top, 20, NULL::bigint) AS l;
DO $$ BEGIN
    -- A list's candidates depend on the plan, but its sketch does not.  So the sketches are
    -- compared.
    UPDATE answers SET answer = qtop_sketch(answer::qtop)::text FROM queries WHERE queries.id = answers.id AND what ~ '^`qtop_agg';
    ASSERT NOT EXISTS (SELECT FROM answers JOIN queries USING (id) WHERE what !~ 'approx_'
        GROUP BY id HAVING count(*) <> 2 OR count(DISTINCT answer) <> 1), 'workers changed an answer';
    ASSERT pg_relation_size('hits') < pg_size_bytes('250MB') OR (SELECT bool_and(uses_two_workers(query) AND uses_two_workers(as_text(query)))
        FROM queries WHERE what ~ '^`(count\(\*\)`$|qsketch_|qtop_agg)' AND system = 'PostgreSQL'), 'a query used no workers';
    ASSERT (SELECT bool_and(qsketch_total(answer::qsketch) = (SELECT count(*) FROM hits)) AND count(*) = 4
        FROM answers JOIN queries USING (id) WHERE what ~ '^`qsketch_agg'), 'a sketch lacks rows';
    ASSERT (SELECT bool_and(answer = (SELECT string_agg(user_id || ':' || n, ' ' ORDER BY n DESC, user_id) FROM exact_top))
        FROM answers JOIN queries USING (id) WHERE question = 'the 20 top users, exactly'), 'the top users are wrong';
    ASSERT (SELECT count(*) = 40 AND bool_and(lower <= n AND n <= estimate)
        FROM listed JOIN exact_top ON key = user_id), 'the list of top users is wrong';
    ASSERT (SELECT count(DISTINCT answer) = 1 FROM answers JOIN queries USING (id)
        WHERE question = 'number of users, exactly'), 'the number of users is wrong';
    ASSERT (SELECT abs(estimate - answer('`count(DISTINCT user_id)`')::float8) <= 5 * standard_error
        FROM qsketch_distinct(answer('`qsketch_agg(user_id)`')::qsketch)), 'the estimated number of users is wrong';
    ASSERT (SELECT count(DISTINCT answer) = 1 FROM answers JOIN queries USING (id)
        WHERE question = 'number of rows'), 'the number of rows is wrong';
END $$;

\qecho
SELECT format('%s rows of 30 days in 8 columns, %s; PostgreSQL''s own settings.',
    to_char(count(*), 'FM999,999,999'), pg_size_pretty(pg_total_relation_size('hits'))) FROM hits;
\qecho
\qecho '| question | asked by | cold, 2 workers | cold, none | warm, 2 workers | warm, none |'
\qecho '|---|---|---:|---:|---:|---:|'
WITH medians AS (
    SELECT id, cold, workers, readable_ms(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric) AS ms
    FROM timings GROUP BY id, cold, workers
)
SELECT format('| %s | %s | %s |', CASE WHEN question IS DISTINCT FROM lag(question) OVER (ORDER BY id) THEN question END,
    CASE WHEN system = 'DuckDB' THEN 'DuckDB: ' ELSE '' END || what, cells)
FROM queries JOIN (SELECT id, string_agg(coalesce(ms, '-'), ' | ' ORDER BY cold DESC, workers DESC) AS cells
    FROM (SELECT DISTINCT id FROM timings) AS measured CROSS JOIN unnest('{true,false}'::boolean[]) AS cold
        CROSS JOIN unnest('{2,0}'::int[]) AS workers LEFT JOIN medians USING (id, cold, workers)
    GROUP BY id) AS rows USING (id)
ORDER BY id;

CREATE FUNCTION relative_error(estimate text, exact text) RETURNS text LANGUAGE sql AS $$
    SELECT to_char(100 * (estimate::numeric / exact::numeric - 1), 'FMS990.00') || ' %'
$$;
\qecho
SELECT format('%s users: `qsketch_distinct` was wrong by %s', to_char(exact::int, 'FM999,999,999'),
        relative_error(answer('`qsketch_distinct(qsketch_agg(user_id))`'), exact))
    || coalesce(', `approx_count_distinct` by ' || relative_error(answer('`approx_count_distinct(user_id)`', 'DuckDB'), exact), '') || '.'
FROM answer('`count(DISTINCT user_id)`') AS exact;
SELECT format('`qtop_agg` named the 20 top users, with counts too large by at most %s', max(estimate - n))
    || coalesce('; `approx_top_k` named ' || (SELECT count(*) FILTER (WHERE user_id::text = ANY (string_to_array(answer, ' ')))
        FROM exact_top, answer('`approx_top_k(user_id, 20)`', 'DuckDB') AS answer HAVING max(answer) <> '') || ' of them', '') || '.'
FROM listed JOIN exact_top ON key = user_id;
