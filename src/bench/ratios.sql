-- Queries against rivals: who is faster, by how much, and is the result right?

\i timing.sql

-- The ratio is time / rival's time where the target is "at most", and rival's
-- time / time where it is "at least": the median of the ratios of all turns, in
-- which one ran right after the other, since a machine's speed changes with what
-- its neighbours do.
CREATE TABLE benchmarks (
    id       int GENERATED ALWAYS AS IDENTITY,
    what     text,
    query    text,
    rival    text,
    bound    text,                      -- <= or >=
    target   numeric,
    holds    text DEFAULT 'SELECT true', -- a query that is true if the result is right
    settings text[] DEFAULT '{}'        -- name, value, ... for both
);
CREATE TABLE timings (id int, ms float8, rival_ms float8);

-- Runs a query with these settings, and resets them.
CREATE FUNCTION run_ms_with(query text, settings text[]) RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
    i int;
    ms float8;
BEGIN
    FOR i IN 1 .. coalesce(array_length(settings, 1), 0) BY 2 LOOP
        PERFORM set_config(settings[i], settings[i + 1], false);
    END LOOP;
    ms := run_ms(query);
    FOR i IN 1 .. coalesce(array_length(settings, 1), 0) BY 2 LOOP
        EXECUTE format('RESET %s', settings[i]);
    END LOOP;
    RETURN ms;
END $$;

-- All queries in turn, and once before, which only warms up.  Two turns are enough
-- for those that take so long that nothing disturbs them.
CREATE FUNCTION run_benchmarks(turns int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    b benchmarks;
    turn int;
BEGIN
    FOR turn IN 0 .. turns LOOP
        FOR b IN SELECT * FROM benchmarks ORDER BY id LOOP
            CONTINUE WHEN turn > 2 AND (SELECT sum(ms + rival_ms) > 12000 FROM timings WHERE id = b.id);
            INSERT INTO timings
            VALUES (b.id, run_ms_with(b.query, b.settings), run_ms_with(b.rival, b.settings));
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

CREATE FUNCTION benchmark_results() RETURNS TABLE (id int, line text, correct boolean)
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
                    THEN 'PASS' ELSE 'FAIL' END), correct
    FROM ratios
$$;
