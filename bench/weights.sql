-- Measures sketches of weights that differ by orders of magnitude.  Run by
-- weights.sh with the number of runs of each build in :turns.
--
-- Prints the tables of weights in docs/engineering/structures.md, and fails if a prediction is off
-- by more than a factor of two.

SET client_min_messages = warning;
CREATE EXTENSION qsketch;
\i timing.sql

-- Two million requests of 200,000 addresses; few addresses have many requests.  A request has 40
-- bytes to 400 kB, roughly evenly distributed over the orders of magnitude.  The requests of an
-- address mostly have the same order of magnitude.
SELECT setseed(0.42) \g /dev/null
CREATE UNLOGGED TABLE log AS
    SELECT ip, (40 * exp((0.75 * (hashint8(ip) + 2147483648) / 4294967296 + 0.25 * random()) * ln(1e4)))::bigint AS bytes
    FROM (SELECT floor(exp(random() * ln(200000)))::bigint AS ip FROM generate_series(1, 1800000)
        UNION ALL SELECT generate_series(1, 200000)) AS r;
CREATE UNLOGGED TABLE log_exact AS SELECT ip AS k, sum(bytes)::bigint AS n FROM log GROUP BY ip;
VACUUM ANALYZE log, log_exact;

-- Returns the errors of the estimates of all keys, in bytes.  The sketch counts units of "unit"
-- bytes.
CREATE FUNCTION errors(sk qsketch, exact regclass, unit bigint, OUT mean float8, OUT most_99 bigint, OUT worst bigint)
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format($q$SELECT avg(e), percentile_disc(0.99) WITHIN GROUP (ORDER BY e), max(e)
        FROM (SELECT qsketch_estimate($1, k) * $2 - n AS e FROM %s) AS s$q$, exact)
    INTO mean, most_99, worst USING sk, unit;
END $$;

CREATE TABLE built AS
SELECT id, name, seed, octet_length(sk::bytea) AS stored, e.*
FROM (VALUES (1, 'multilevel, 1 MB, depth 3 (default)', 'multilevel', '1MB', 3, 1), (2, 'multilevel, 1 MB, depth 4', 'multilevel', '1MB', 4, 1),
        (3, 'multilevel, 1 MB, depth 5', 'multilevel', '1MB', 5, 1), (4, 'multilevel, 1 MB, in kilobytes', 'multilevel', '1MB', 3, 1024),
        (5, 'thread, 1 MB', 'thread', '1MB', 3, 1), (6, 'thread, 4 MB', 'thread', '4MB', 3, 1),
        (7, 'thread, 1 MB, in kilobytes', 'thread', '1MB', 3, 1024), (8, 'warp, 4 MB', 'warp', '4MB', 3, 1))
        AS s(id, name, structure, size, depth, unit), generate_series(1, 3) AS seed,
    LATERAL (SELECT qsketch_agg(ip, (bytes + unit - 1) / unit, qsketch_new(structure, size, depth, seed => seed)) AS sk FROM log OFFSET 0) AS b,
    errors(sk, 'log_exact', unit) AS e;

-- Runs all builds in turn, so that other work on the machine disturbs all
-- builds equally.
CREATE TABLE timings AS
SELECT depth, min(run_ms(format('SELECT qsketch_total(qsketch_agg(ip, bytes, qsketch_new(depth => %s))) FROM log', depth))) AS ms
FROM generate_series(1, :turns) AS turn, generate_series(3, 5) AS depth GROUP BY depth;

SELECT format(E'There are %s addresses with %s requests and %s in all. The requests of one address have %s to %s in all. The table shows the errors of the\nestimates of all addresses, in bytes: means of three seeds, and the worst error of all three seeds.\n',
    (SELECT to_char(count(*), 'FM999,999') FROM log_exact), (SELECT to_char(count(*), 'FM9,999,999') FROM log), (SELECT pg_size_pretty(sum(n)) FROM log_exact),
    (SELECT pg_size_pretty(min(n)) FROM log_exact), (SELECT pg_size_pretty(max(n)) FROM log_exact));
\qecho '| sketch | mean error | 99 % | worst | stored bytes |'
\qecho '|---|---:|---:|---:|---:|'
SELECT format('| %s | %s | %s | %s | %s |', name, to_char(avg(mean), 'FM999,999,999'), to_char(avg(most_99), 'FM999,999,999'),
    to_char(max(worst), 'FM999,999,999,999'), to_char(avg(stored), 'FM999,999,999'))
FROM built GROUP BY id, name ORDER BY id;
\qecho
SELECT format('Building the first three sketches took %s ms.', string_agg(round(ms)::text, ', ' ORDER BY depth)) FROM timings;

-- The size that the weights of a thousand addresses predict for an error, and the errors of
-- sketches of all addresses in this size and in half of it.
CREATE TABLE predicted AS
SELECT wanted AS structure, error, i.size, qsketch_error(sk, 0.99) AS had, qsketch_error(qsketch_fold(sk, i.size / 2 || ' bytes'), 0.99) AS half, octet_length(sk::bytea) AS stored
FROM unnest('{multilevel,thread,warp}'::text[]) AS wanted, unnest('{10000,100000,1000000}'::int[]) AS error,
    qsketch_new_for(200000, error, 0.99, wanted, weights => ARRAY(SELECT n FROM log_exact WHERE k % 200 = 7)) AS template, qsketch_info(template) AS i,
    LATERAL (SELECT qsketch_agg(k, n, template) AS sk FROM log_exact OFFSET 0) AS b;
\qecho
\qecho 'The `weights` of `qsketch_new_for(200000, error, 0.99, structure, weights => ...)` are the numbers of bytes of a thousand of the addresses. The table shows'
\qecho 'the returned size, the error of a sketch of all addresses, and the error of a sketch of half the size.'
\qecho
\qecho '| structure | requested error at 99 % | size | error at 99 % | error in half the size | stored bytes |'
\qecho '|---|---:|---:|---:|---:|---:|'
SELECT format('| %s | %s | %s | %s | %s | %s |', structure, to_char(error, 'FM999,999,999'), pg_size_pretty(size), to_char(had, 'FM999,999,999,999'),
    to_char(half, 'FM999,999,999,999'), to_char(stored, 'FM999,999,999')) FROM predicted ORDER BY structure, error;
DO $$ BEGIN
    ASSERT (SELECT bool_and(had <= 2 * error AND half > error / 2.0) FROM predicted), 'a prediction is off by more than a factor of two';
END $$;
