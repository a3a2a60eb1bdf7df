-- Makes the procedures that bench-gpu-ring.sh calls.  Run by bench-gpu-ring.sh with the path of the
-- test module in :module.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS qsketch;
CREATE FUNCTION gpu_send(seed qsketch, keys bigint[], times int) RETURNS qsketch LANGUAGE c STRICT AS :'module';

CREATE TABLE sent (sender int, began timestamptz, ended timestamptz, keys bigint);

-- Returns 2^20 keys, of which small keys are frequent.
CREATE FUNCTION some_keys(sender int) RETURNS bigint[] LANGUAGE sql AS $$
    SELECT array_agg((2e6::float8 ^ (1 - (x - floor(x))))::bigint)
    FROM (SELECT i * 0.61803398874989484820::float8 + sender * 0.01::float8 AS x FROM generate_series(1, 1048576) AS i) AS s
$$;

-- Waits until "number" sessions are ready.
CREATE PROCEDURE await_senders(number int) LANGUAGE plpgsql AS $$
BEGIN
    WHILE (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted) < number LOOP
        PERFORM pg_sleep(0.05);
    END LOOP;
END $$;

-- Sends about "wanted" keys, at the same time as the other sessions.  The measured time is from the
-- first key until the tables of the sketch have been received.
CREATE PROCEDURE send(number int, size text, wanted bigint) LANGUAGE plpgsql AS $$
DECLARE
    keys bigint[] := some_keys(number);
    turns int := greatest(1, wanted / 1048576);
    seed qsketch := qsketch_agg(k, qsketch_new('multilevel', size)) FROM unnest(keys[1:2000]) AS k;
    began timestamptz;
    total bigint;
BEGIN
    -- a first batch, which is not measured, allocates the memory
    PERFORM qsketch_total(gpu_send(seed, keys, 1));
    PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1);
    began := clock_timestamp();
    total := qsketch_total(gpu_send(seed, keys, turns));
    INSERT INTO sent VALUES (number, began, clock_timestamp(), turns * 1048576::bigint);
    IF total <> turns * 1048576::bigint + 2000 THEN
        RAISE EXCEPTION 'the sketch has % keys', total;
    END IF;
END $$;

-- Checks that GPU and CPU return the same bytes.
CREATE FUNCTION check_bytes() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    keys bigint[] := some_keys(0);
    seed qsketch := qsketch_agg(k, qsketch_new('multilevel', '1MB')) FROM unnest(keys[1:2000]) AS k;
    gpu text := md5(gpu_send(seed, keys, 8)::text);
BEGIN
    PERFORM set_config('qsketch.device', 'cpu', true);
    IF gpu <> md5(gpu_send(seed, keys, 8)::text) THEN
        RAISE EXCEPTION 'the sketch of the GPU differs';
    END IF;
    RETURN 'same bytes';
END $$;
SELECT check_bytes();
