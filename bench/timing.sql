-- Measures how long a query takes, for the demonstration and the benchmarks.

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

-- use_settings sets settings (name, value, ...), and reset_settings resets
-- them.
CREATE FUNCTION use_settings(settings text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. coalesce(array_length(settings, 1), 0) BY 2 LOOP
        PERFORM set_config(settings[i], settings[i + 1], false);
    END LOOP;
END $$;
CREATE FUNCTION reset_settings(settings text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. coalesce(array_length(settings, 1), 0) BY 2 LOOP
        EXECUTE format('RESET %s', settings[i]);
    END LOOP;
END $$;

-- Runs a query with these settings.
CREATE FUNCTION run_ms_with(query text, settings text[]) RETURNS float8
LANGUAGE plpgsql AS $$
DECLARE
    ms float8;
BEGIN
    PERFORM use_settings(settings);
    ms := run_ms(query);
    PERFORM reset_settings(settings);
    RETURN ms;
END $$;

-- Returns the time of the shortest of three runs.
CREATE FUNCTION best_ms(query text) RETURNS int
LANGUAGE sql AS $$
    SELECT round(min(run_ms(query))) FROM generate_series(1, 3)
$$;

-- Returns a time in ms with two decimals below 1 ms, one below 10 ms, else
-- none.
CREATE FUNCTION readable_ms(ms numeric) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN ms < 1 THEN round(ms, 2) WHEN ms < 10 THEN round(ms, 1) ELSE round(ms) END || ' ms'
$$;
