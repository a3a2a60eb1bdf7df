-- Makes the data and the queries of bench-stock.sh, for :rows rows.  Each query
-- returns one value, so that answers can be compared.
CREATE EXTENSION qsketch;
\i timing.sql
\i hits.sql

CREATE TABLE queries (
    id       int GENERATED ALWAYS AS IDENTITY,
    question text,
    system   text,                      -- PostgreSQL or DuckDB
    what     text,                      -- the query's name on the page
    query    text
);
-- "workers" is the number of PostgreSQL's parallel workers.  DuckDB has 2 threads for 2 workers,
-- and 1 thread for 0 workers.
CREATE TABLE timings (id int, workers int, cold boolean, ms float8);
CREATE TABLE answers (id int, workers int, answer text);

-- Returns a query for users and their counts as one value, most frequent users first.
CREATE FUNCTION as_list(query text) RETURNS text LANGUAGE sql AS $$
    SELECT format('SELECT string_agg(user_id || '':'' || n, '' '' ORDER BY n DESC, user_id) FROM (%s) AS t', query)
$$;
CREATE FUNCTION top_users() RETURNS text LANGUAGE sql AS $$
    SELECT as_list('SELECT user_id, count(*) AS n FROM hits GROUP BY user_id ORDER BY n DESC, user_id LIMIT 20')
$$;

INSERT INTO queries (question, system, what, query) VALUES
('number of rows', 'PostgreSQL', '`count(*)`', 'SELECT count(*) FROM hits'),
('number of rows', 'DuckDB', '`count(*)`', 'SELECT count(*) FROM hits'),
('views of each user', 'PostgreSQL', '`qsketch_agg(user_id)`', 'SELECT qsketch_agg(user_id) FROM hits'),
('views of each page', 'PostgreSQL', '`qsketch_agg(url)`', 'SELECT qsketch_agg(url) FROM hits'),
('the 20 top users', 'PostgreSQL', '`qtop_agg(user_id, 20)`', 'SELECT qtop_agg(user_id, 20) FROM hits'),
('the 20 top users', 'DuckDB', '`approx_top_k(user_id, 20)`', 'SELECT array_to_string(approx_top_k(user_id, 20), '' '') FROM hits'),
('the 20 top users, exactly', 'PostgreSQL', '`qtop_exact(''hits'', ''user_id'', 20)`',
    as_list('SELECT key AS user_id, count AS n FROM qtop_exact(''hits'', ''user_id'', 20, NULL::bigint)')),
('the 20 top users, exactly', 'PostgreSQL', '`GROUP BY user_id ORDER BY count(*) DESC LIMIT 20`', top_users()),
('the 20 top users, exactly', 'DuckDB', '`GROUP BY user_id ORDER BY count(*) DESC LIMIT 20`', top_users()),
('number of users', 'PostgreSQL', '`qsketch_distinct(qsketch_agg(user_id))`',
    'SELECT (qsketch_distinct(qsketch_agg(user_id))).estimate FROM hits'),
('number of users', 'DuckDB', '`approx_count_distinct(user_id)`', 'SELECT approx_count_distinct(user_id) FROM hits'),
('number of users, exactly', 'PostgreSQL', '`count(DISTINCT user_id)`', 'SELECT count(DISTINCT user_id) FROM hits'),
('number of users, exactly', 'DuckDB', '`count(DISTINCT user_id)`', 'SELECT count(DISTINCT user_id) FROM hits');

-- Measures one run of a query: the first run if cold, or the second run.  First calls qtop_agg(),
-- which loads the extension.
CREATE FUNCTION measure(query_id int, workers int, cold boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    asked text := (SELECT query FROM queries WHERE id = query_id);
    settings text[] := ARRAY['max_parallel_workers_per_gather', workers::text];
BEGIN
    PERFORM qtop_agg(1, 1);
    IF NOT cold THEN
        PERFORM run_ms_with(asked, settings);
    END IF;
    INSERT INTO timings VALUES (query_id, workers, cold, run_ms_with(asked, settings));
END $$;

CREATE FUNCTION as_text(query text) RETURNS text LANGUAGE sql AS $$
    SELECT format('SELECT v::text FROM (%s) AS t(v)', query)
$$;

-- Stores PostgreSQL's answers of all queries in "answers".
CREATE FUNCTION fill_answers() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    run record;
    found text;
BEGIN
    FOR run IN SELECT * FROM queries, unnest('{2,0}'::int[]) AS workers WHERE system = 'PostgreSQL' LOOP
        PERFORM set_config('max_parallel_workers_per_gather', run.workers::text, false);
        EXECUTE as_text(run.query) INTO found;
        INSERT INTO answers VALUES (run.id, run.workers, found);
    END LOOP;
END $$;
