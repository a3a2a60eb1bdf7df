--
-- The least size for an error.
--
-- sizes grow with the rows, and with the accuracy that is wanted
SELECT s AS structure, rows, error, i.size, i.structure AS taken
FROM unnest('{auto,thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS s,
	(VALUES (100000, 10), (1000000, 10), (1000000, 100), (1000000, 1000)) AS v(rows, error),
	qsketch_info(qsketch_new_for(rows, error, 0.95, s)) AS i
ORDER BY s, rows, error;

-- as measured: the sketch that is proposed has the error, the next smaller one has not (uniform keys)
CREATE TABLE uniform AS SELECT hashint8(i)::bigint AS k FROM generate_series(1, 200000) AS i;
CREATE TABLE proposed AS
	SELECT s AS structure, error, confidence, qsketch_new_for(200000, error, confidence, s) AS template
	FROM unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS s,
		(VALUES (3.0, 0.95), (40, 0.95), (40, 0.5), (300, 0.99)) AS v(error, confidence);
SELECT structure, error, confidence, (qsketch_info(sk)).size, qsketch_error(sk, confidence) <= error AS fits,
	qsketch_error(qsketch_fold(sk, (qsketch_info(sk)).size / 2 || ' bytes'), confidence) > error AS least
FROM proposed, LATERAL (SELECT qsketch_agg(k, template) AS sk FROM uniform) AS a
ORDER BY structure, error, confidence;

-- by weight: from a thousand of 60,000 addresses, whose bytes differ by five orders of magnitude, the sketch of all
CREATE TABLE bytes AS SELECT i AS ip, (100 * exp(5 * ln(10) * (hashint8(i) + 2147483648) / 4294967296))::bigint AS sum FROM generate_series(1, 60000) AS i;
CREATE TABLE by_weight AS
	SELECT s AS structure, error, qsketch_new_for(60000, error, 0.9, s, weights => ARRAY(SELECT sum FROM bytes WHERE ip <= 1000)) AS template
	FROM unnest('{auto,thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS s, (VALUES (20000), (2000000)) AS v(error);
SELECT b.structure, error, i.structure AS taken, i.size, counter_bytes, qsketch_error(sk, 0.9) <= error * 1.2 AS fits,
	qsketch_error(qsketch_fold(sk, i.size / 2 || ' bytes'), 0.9) > error / 1.2 AS least, octet_length(sk::bytea) AS stored
FROM by_weight AS b, LATERAL (SELECT qsketch_agg(ip, sum, template) AS sk FROM bytes) AS a, qsketch_info(sk) AS i ORDER BY b.structure, error;
-- without the weights it would be the sketch of so many rows
SELECT (qsketch_info(qsketch_new_for(60000, 2000000, 0.9))).size AS rows, (qsketch_info(qsketch_new_for(60000, 2000000, 0.9, weights => NULL))).size AS same;
SELECT qsketch_new_for(100, 1, weights => '{}');
SELECT qsketch_new_for(100, 1, weights => '{1,NULL}');
SELECT qsketch_new_for(100, 1, weights => '{1,-1}');
SELECT qsketch_new_for(100, 1, weights => '{9223372036854775807}');
SELECT (qsketch_info(qsketch_new_for(100000, 1, weights => '{0}'))).size AS nothing, (qsketch_info(qsketch_new_for(1000000, 1e13, weights => '{8796093022208}'))).size AS much;
DROP TABLE bytes, by_weight;
-- few distinct keys are exact; so is what is asked to be
SELECT (qsketch_info(qsketch_new_for(1000000, 0, distinct_keys => 1000))).size AS explicit,
	(qsketch_info(qsketch_new_for(1000000, 0, distinct_keys => 10000))).size AS dense,
	(qsketch_info(qsketch_new_for(1000000, 0, distinct_keys => 1000000))).size AS all_distinct,
	(qsketch_info(qsketch_new_for(1, 0))).size AS one;
-- many rows
SELECT (qsketch_info(qsketch_new_for(100000000000, 1000))).size, (qsketch_info(qsketch_new_for(9223372036854775807, 1e19))).size AS any;
SELECT qsketch_new_for(NULL, 1) IS NULL AS null_rows, qsketch_new_for(1, NULL) IS NULL AS null_error,
	qsketch_new_for(100, 1, distinct_keys => NULL) = qsketch_new_for(100, 1) AS default_keys;

SELECT qsketch_new_for(0, 1);
SELECT qsketch_new_for(100, -1);
SELECT qsketch_new_for(100, 'NaN');
-- most mean a share of the rows
SELECT (qsketch_info(qsketch_new_for(100, 0.01))).size;
SELECT qsketch_new_for(100, 1, 1);
SELECT qsketch_new_for(100, 1, structure => 'best');
SELECT qsketch_new_for(100, 1, distinct_keys => 101);
SELECT qsketch_new_for(100, 1, distinct_keys => 0);
SELECT qsketch_new_for(1000000000000, 1, structure => 'warp');

DROP TABLE uniform, proposed;
