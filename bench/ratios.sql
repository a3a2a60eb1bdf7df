-- Compares queries with their rivals: the ratio of their times, and whether the result is right.

\i timing.sql

-- For a target "at most", the ratio is time / rival's time.  For a target "at least", it is
-- rival's time / time.  In each turn, the query runs right before its rival,
-- because the speed of a shared machine changes.  The median of all turns'
-- ratios counts.
CREATE TABLE benchmarks (
    id       int GENERATED ALWAYS AS IDENTITY,
    what     text,
    query    text,
    rival    text,
    bound    text,                      -- <= or >=
    target   numeric,
    holds    text DEFAULT 'SELECT true', -- a query that is true if the result is right
    settings text[] DEFAULT '{}',       -- name, value, ... for query and rival
    rival_settings text[] DEFAULT '{}'  -- further settings for the rival
);
CREATE TABLE timings (id int, ms float8, rival_ms float8);

-- Runs each query and its rival once per turn, after one turn that only warms up.
-- From turn 3 on, skips a query if it and its rival took more than 12 s so far,
-- because other load on the machine hardly changes such long times.
CREATE FUNCTION run_benchmarks(turns int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    b benchmarks;
    turn int;
BEGIN
    FOR turn IN 0 .. turns LOOP
        FOR b IN SELECT * FROM benchmarks ORDER BY id LOOP
            CONTINUE WHEN turn > 2 AND (SELECT sum(ms + rival_ms) > 12000 FROM timings WHERE id = b.id);
            INSERT INTO timings
            VALUES (b.id, run_ms_with(b.query, b.settings), run_ms_with(b.rival, b.settings || b.rival_settings));
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

CREATE FUNCTION benchmark_results() RETURNS TABLE (id int, line text, correct boolean, ratio numeric)
LANGUAGE sql AS $$
    WITH medians AS (
        SELECT id, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric AS ms,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY rival_ms)::numeric AS rival_ms,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY CASE bound WHEN '<=' THEN ms / rival_ms
                                                           ELSE rival_ms / ms END)::numeric AS ratio
        FROM timings JOIN benchmarks USING (id) GROUP BY id
    ), ratios AS (
        SELECT *, is_true(holds) AS correct
        FROM benchmarks JOIN medians USING (id)
    )
    SELECT id, format('| %s | `%s` | %s | `%s` | %s | %s | %s %s | %s |',
               what, query, round(ms), rival, round(rival_ms), round(ratio, 2), bound, target,
               CASE WHEN NOT correct THEN 'WRONG'
                    WHEN CASE bound WHEN '<=' THEN ratio <= target ELSE ratio >= target END
                    THEN 'PASS' ELSE 'FAIL' END), correct, ratio
    FROM ratios
$$;
