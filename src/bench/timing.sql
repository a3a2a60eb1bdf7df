-- How long does a query take?  For the demonstration and the benchmarks.

-- Runs a query that returns one row; returns the milliseconds it took.
CREATE FUNCTION run_ms(query text) RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
    start timestamptz := clock_timestamp();
    ignored record;
BEGIN
    EXECUTE query INTO ignored;
    RETURN 1000 * extract(epoch FROM clock_timestamp() - start);
END $$;

-- The shortest of three runs.
CREATE FUNCTION best_ms(query text) RETURNS int
LANGUAGE sql AS $$
    SELECT round(min(run_ms(query))) FROM generate_series(1, 3)
$$;
