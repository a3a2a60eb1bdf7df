# Values of all types, structures, forms and parts, for tests that move them
# about; and what is asked of them before and after.

package QsketchValues;

use strict;
use warnings;

# Keys are also of types that are known by OID, and by name.  With a nonce of its
# own a filter of counts is the same whenever it is made.
our $fill = q{
	CREATE EXTENSION qsketch;
	SET qsketch.filter_nonce = 5;
	CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
	CREATE TYPE pair AS (a int, b text);
	CREATE DOMAIN small AS qsketch CHECK (qsketch_total(value) < 10);
	CREATE TABLE sketch (name text, sk qsketch);
	INSERT INTO sketch
	SELECT concat_ws(' ', s, n, w), qsketch_agg(k, w, qsketch_new(s, '2kB', z => 3, seed => -5))
	FROM unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS s,
		(VALUES (10, 1), (3000, 1), (3000, 10000000)) AS v(n, w),
		generate_series(1, n) AS k GROUP BY s, n, w;
	INSERT INTO sketch SELECT s, qsketch_new(s, '1kB') FROM unnest('{thread,multilevel,sf}'::text[]) AS s;
	INSERT INTO sketch SELECT 'device ' || name, qsketch_sf_device(sk) FROM sketch WHERE name LIKE 'sf%';
	INSERT INTO sketch SELECT 'host ' || name, qsketch_sf_host(sk) FROM sketch WHERE name LIKE 'sf%';
	INSERT INTO sketch SELECT 'large', qsketch_agg(k, qsketch_new('warp', '2MB')) FROM generate_series(1, 100000) AS k;
	INSERT INTO sketch VALUES ('null', NULL);
	CREATE TABLE keyed (kind text, sk qsketch);
	INSERT INTO keyed SELECT 'mood', qsketch_agg(m) FROM unnest('{ok,ok,happy}'::mood[]) AS m;
	INSERT INTO keyed SELECT 'pair', qsketch_agg(ROW(1, 'a')::pair) FROM generate_series(1, 3);
	INSERT INTO keyed SELECT 'text', qsketch_agg(t) FROM unnest('{a,b,a}'::text[]) AS t;
	CREATE TABLE strict (sk small DEFAULT qsketch_add(qsketch_new(), 1, 7),
		total bigint GENERATED ALWAYS AS (qsketch_total(sk)) STORED);
	INSERT INTO strict DEFAULT VALUES;
	CREATE INDEX ON sketch USING hash (sk);
	CREATE TABLE filter (name text, f qfilter);
	INSERT INTO filter SELECT 'dense', qfilter_row_agg(k % 100, k, qfilter_new(10000, 100, seed => -5)) FROM generate_series(1, 10000) AS k;
	INSERT INTO filter SELECT 'explicit', qfilter_count_agg(k, 3, qfilter_new(1000000, 100)) FROM generate_series(1, 20) AS k;
	INSERT INTO filter SELECT 'bloom', qfilter_agg(k::text, qfilter_new_bloom(1000)) FROM generate_series(1, 1000) AS k;
	INSERT INTO filter SELECT 'mood', qfilter_agg(m, qfilter_new_bloom(10, 1e-9)) FROM unnest('{ok,ok}'::mood[]) AS m;
	INSERT INTO filter VALUES ('empty', qfilter_new(10, 1)), ('null', NULL);
	CREATE INDEX ON filter USING btree (md5(f::text));
	CREATE VIEW merged_filters AS SELECT qfilter_merge_agg(f) AS f FROM filter WHERE name = 'bloom';
	CREATE VIEW totals AS SELECT name, qsketch_total(sk) FROM sketch;
	CREATE TABLE sets (name text PRIMARY KEY, s qsets);
	CREATE INDEX ON sets USING hash (s);
	INSERT INTO sets SELECT 'numbers', qsets_agg(i % 100, i) FROM generate_series(1, 10000) AS i;
	INSERT INTO sets SELECT 'texts', qsets_agg(i % 7, i::text) FROM generate_series(1, 100) AS i;
	INSERT INTO sets SELECT 'moods', qsets_agg(1, m) FROM unnest('{ok,happy}'::mood[]) AS m;
	INSERT INTO sets SELECT 'none', qsets_subset(s, '{}') FROM sets LIMIT 1;
	CREATE TABLE top (name text, t qtop);
	INSERT INTO top SELECT 'numbers', qtop_agg(i % 5000 * (i % 7), 20) FROM generate_series(1, 50000) AS i;
	INSERT INTO top SELECT 'texts', qtop_agg('käse ' || i % 3000, 5, qsketch_new('warp', '4kB')) FROM generate_series(1, 10000) AS i;
	INSERT INTO top SELECT 'moods', qtop_agg(m, 2) FROM unnest('{ok,ok,happy}'::mood[]) AS m;
	INSERT INTO top SELECT 'pairs', qtop_agg(ROW(1, 'a')::pair, 2) FROM generate_series(1, 3);
	INSERT INTO top SELECT 'arrays', qtop_agg(ARRAY['sad', 'ok']::mood[], 2) FROM generate_series(1, 3);
	INSERT INTO top VALUES ('empty', qtop_new(3)), ('null', NULL);
	CREATE MATERIALIZED VIEW merged AS SELECT qsketch_merge_agg(sk) AS sk FROM keyed WHERE kind = 'text';
};

our $sketches = q{SELECT name, md5(sk::text), octet_length(sk::bytea) FROM sketch ORDER BY name, 2};
our $filters = q{SELECT name, md5(f::text), octet_length(f::bytea) FROM filter ORDER BY name};
our $sets = q{SELECT name, md5(s::text), octet_length(s::bytea), qsets_count(s) FROM sets ORDER BY name};
our $tops = q{SELECT name, md5(t::text), octet_length(t::bytea), (SELECT string_agg(concat_ws(',', key, estimate, lower), ' ')
	FROM qtop_text(t, (qtop_info(t)).n)) FROM top ORDER BY name};
our $top_keys = q{SELECT (SELECT string_agg(key || ' ' || lower, ', ') FROM top, qtop_list(t, 2, NULL::mood) WHERE name = 'moods'),
	(SELECT (key).b FROM top, qtop_list(t, 2, NULL::pair) WHERE name = 'pairs'),
	(SELECT key = '{sad,ok}' FROM top, qtop_text(t, 1) WHERE name = 'arrays'),
	(SELECT max(key) LIKE 'käse %' FROM top, qtop_list(t, 5, NULL::text) WHERE name = 'texts')};

1;
