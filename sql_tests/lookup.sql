-- qsketch_lookup, batches of keys, and where sketches are.  The same with and
-- without a GPU.

CREATE TABLE numbers AS
    SELECT (i * 7919::bigint) % 5000 AS k FROM generate_series(1, 20000) AS i;
CREATE TABLE sketches AS
    SELECT s AS structure, qsketch_agg(k, qsketch_new(s, '64kB')) AS sk
    FROM numbers, unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS s
    GROUP BY s;

-- rows in the order of the array, NULL for NULL, duplicates as often as given
SELECT key, estimate >= 4 AS at_least_4
FROM sketches, qsketch_lookup(sk, ARRAY[1, NULL, 4999, 1]::bigint[])
WHERE structure = 'sub_warp';
SELECT * FROM qsketch_lookup(qsketch_new(), '{}'::bigint[]);
SELECT * FROM qsketch_lookup(qsketch_new(), ARRAY[7, NULL]);
SELECT * FROM qsketch_lookup(NULL, ARRAY[7]);

-- as qsketch_estimate, for each structure, stored or not
SELECT structure,
       bool_and(l.estimate = qsketch_estimate(sk, l.key)) AS same,
       count(*)
FROM sketches, qsketch_lookup(sk, ARRAY(SELECT DISTINCT k FROM numbers)) AS l
GROUP BY structure ORDER BY structure;
SELECT structure,
       bool_and(qsketch_estimate(sk, keys) = qsketch_estimate(sk || qsketch_new(structure, '64kB'), keys)) AS same
FROM sketches, (SELECT array_agg(k) AS keys FROM numbers) AS n
GROUP BY structure ORDER BY structure;
SELECT bool_and(l.estimate >= 4) AS of_the_aggregate
FROM qsketch_lookup((SELECT qsketch_agg(k) FROM numbers), ARRAY(SELECT k FROM numbers)) AS l;

-- the parts of sf
SELECT bool_and(h.estimate <= d.estimate) AS host_below_device
FROM sketches,
     qsketch_lookup(qsketch_sf_host(sk), ARRAY(SELECT DISTINCT k FROM numbers)) AS h
     JOIN qsketch_lookup(qsketch_sf_device((SELECT sk FROM sketches WHERE structure = 'sf')),
                         ARRAY(SELECT DISTINCT k FROM numbers)) AS d USING (key)
WHERE structure = 'sf';

-- types of keys
SELECT * FROM qsketch_lookup((SELECT qsketch_agg(t) FROM unnest('{a,b,b}'::text[]) AS t), '{b,c}'::text[]);
SELECT * FROM qsketch_lookup((SELECT qsketch_agg(t) FROM unnest('{1.0,2,2.00}'::numeric[]) AS t), ARRAY[1.00, 2]);
SELECT * FROM qsketch_lookup((SELECT qsketch_agg(t) FROM unnest('{1,2,2}'::int[]) AS t), ARRAY[2::smallint, 3::smallint]);
SELECT * FROM qsketch_lookup((SELECT qsketch_agg(t) FROM unnest('{10:00,11:00}'::time[]) AS t), '{11:00}'::time[]);
SELECT * FROM qsketch_lookup((SELECT qsketch_agg(t) FROM unnest('{a,b,b}'::text[]) AS t), ARRAY[1]);

-- parts, and their bytes
SELECT structure, part, bytes FROM sketches, qsketch_location(sk) ORDER BY structure, part;
SELECT * FROM qsketch_location(qsketch_new());

-- there is always an answer
SELECT count(*) > 0 AS rows, bool_and(state IS NOT NULL) AS states FROM qsketch_gpu();
SELECT count(*) FROM qsketch_stat_gpu;
SET qsketch.device = gpgpu;
SET qsketch.gpu_min_keys = 0;
RESET qsketch.device;

DROP TABLE numbers, sketches;
