# Random queries with keys and weights that are expressions, GROUP BY, HAVING and aggregates of PostgreSQL's
# own: the column scan, serial or parallel, with all groups in memory or most of them in files, and the
# ordinary plan must return the same rows.  QSKETCH_GROUP_QUERIES is the number of queries, for long runs;
# QSKETCH_GROUP_SEED repeats one.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $queries = $ENV{QSKETCH_GROUP_QUERIES} // 300;
my $seed = $ENV{QSKETCH_GROUP_SEED} // time;

my $node = PostgreSQL::Test::Cluster->new('random_groups');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\nautovacuum = off\nfsync = off\n"
	. "session_preload_libraries = 'qsketch'\ncpu_operator_cost = 1\nparallel_setup_cost = 0\nparallel_tuple_cost = 0\nmin_parallel_table_scan_size = 0\n");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	CREATE TYPE kind AS ENUM ('page', 'image', 'api');
	CREATE TABLE log (note text, ts timestamp, tz timestamptz, d date, k bigint, w int, s smallint, country text, kind kind, bot boolean, x numeric);
	INSERT INTO log SELECT CASE WHEN r % 3 = 0 THEN repeat('n', r % 40) END, CASE WHEN r % 31 > 0 THEN timestamp '2026-03-20' + r * interval '397.3 s' END,
		CASE WHEN r % 37 > 0 THEN timestamptz '2018-10-20 UTC' + (r * 7919::bigint % 4001) * interval '611.7 s' END, date '2026-01-30' + r % 60,
		CASE WHEN r % 13 > 0 THEN (r * 7919::bigint) % 900 - 200 END, r % 20, CASE WHEN r % 17 > 0 THEN r % 300 - 150 END,
		CASE WHEN r % 19 > 0 THEN (ARRAY['de', 'fr', 'DE', '', 'a very long name of a country'])[1 + r % 5] END,
		(ARRAY['page', 'image', 'api', NULL])[1 + r % 4]::kind, CASE WHEN r % 23 > 0 THEN r % 3 = 0 END, round(r / 7.0, 2) FROM generate_series(1, 4000) AS r;
	CREATE TABLE parts (LIKE log) PARTITION BY LIST (w);
	CREATE TABLE parts_few PARTITION OF parts FOR VALUES IN (1, 2, 3);
	CREATE TABLE parts_other (gone int, x numeric, bot boolean, kind kind, country text, s smallint, w int, k bigint, d date, tz timestamptz, ts timestamp, note text);
	ALTER TABLE parts_other DROP gone;
	ALTER TABLE parts ATTACH PARTITION parts_other DEFAULT;
	INSERT INTO parts SELECT * FROM log;
	CREATE TABLE kin (LIKE log);
	ALTER TABLE kin DROP d;
	INSERT INTO kin SELECT note, ts, tz, k, w, s, country, kind, bot, x FROM log WHERE w < 7;
	CREATE TABLE kin_other (more text, x numeric, gone int, bot boolean, kind kind, country text, s smallint, w int, k bigint, tz timestamptz, ts timestamp, note text);
	ALTER TABLE kin_other DROP gone;
	INSERT INTO kin_other SELECT repeat('m', w), x, bot, kind, country, s, w, k, tz, ts, note FROM log WHERE w > 5;
	ALTER TABLE kin_other INHERIT kin;
	ALTER TABLE kin ADD d date DEFAULT '2026-02-02';
	INSERT INTO kin SELECT note, ts, tz, k, w, s, country, kind, bot, x, d FROM log WHERE w = 6;
	VACUUM ANALYZE log, parts, kin, kin_other;

	CREATE FUNCTION one_of(choices text[]) RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT choices[1 + floor(random() * cardinality(choices))::int] $$;
	-- up to so many different ones of the choices
	CREATE FUNCTION some_of(choices text[], most int) RETURNS text LANGUAGE sql VOLATILE AS
		$$ SELECT string_agg(c, ', ') FROM (SELECT c FROM unnest(choices) AS c ORDER BY random() LIMIT 1 + floor(random() * most)::int) AS s $$;
	CREATE FUNCTION random_query() RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		grouped boolean := random() < 0.8;
		by_row boolean := random() < 0.15; -- once for each row of another table
		p text := CASE WHEN by_row THEN 'p' ELSE '2' END;
		keys text := some_of(ARRAY['ts::date', 'tz::date', 'date_trunc(''hour'', ts)', 'date_trunc(''day'', tz)', 'date_trunc(''hour'', tz)', 'date_trunc(''month'', d)',
			'date_bin(''90 min'', ts, ''2026-03-20 00:07'')', 'k % 10', 'k / 100', 'abs(s) / 10', 'w', 'd', 'k', 's % 3 = 1', 'bot', 'kind', 'country', 'lower(country)', 'left(country, 1)',
			'coalesce(k, w)', 'to_char(ts, ''YYYY-MM'')', 'extract(hour FROM tz)::int', 'CASE WHEN w > 5 THEN k % 3 END', 'extract(hour FROM tz)', 'x', 'round(x / 50, w % 3)', 'date_part(''hour'', ts)', 's / 4.0::float8', '(s / 100)::float4 * -1',
			'CASE WHEN bot THEN x ELSE w / 10.0 END', 'floor(x / 100) * 100', 'ARRAY[w % 3, s % 2]', 'interval ''1 day'' * (w % 3)', 'to_jsonb(w % 4)', 'country::char(8)', '(''10.0.0.'' || w)::inet', 'log.w::text', 'width_bucket(x, 0, 600, 5)',
			'(tz AT TIME ZONE ''America/Sao_Paulo'')::date', 'date_trunc(''week'', tz, ''Asia/Beirut'')', 'date_trunc(''hour'', ts AT TIME ZONE ''Europe/Berlin'')', 'coalesce(ts::date, d)', 'CASE WHEN bot THEN ts::date END', 'tableoid::regclass::text', 'int4range(w % 3, 9)', 'k::numeric', 'x::int', 'left(note, w)',
			'(w + ' || p || ') % 7', 'country || ' || p, 'date_bin(interval ''1 h'' * ' || p || ', tz, ''2018-10-20'')', 'x * ' || p], 3);
		key text := one_of(ARRAY['k', 'k', 'w', 'country', 'coalesce(k, 0)', 'k::text', 'w::bigint', 'lower(country)', 'ts::date', 'x', 'x * 2', 's / 4.0::float8', 'CASE WHEN bot THEN k ELSE w END', 'ROW(k, country)', 'ROW(w % 5, lower(note))', 'tz', 'left(note, 3) || country',
			'k % 7', 'split_part(country, '' '', 2)', 'kind', 'extract(hour FROM tz)', 'nullif(s, 3)', 'log', 'tableoid', 'd + w', '7', 'k * ' || p, 'ROW(w, x * ' || p || ')']);
		weight text := one_of(ARRAY['w', 'w', '1', 'w * 2', 'CASE WHEN bot THEN w END', 'length(note)', 'abs(s)::bigint', 'nullif(w, 3)', 'w + ' || p]);
		filter text := CASE WHEN random() < 0.3 THEN ' FILTER (WHERE ' || one_of(ARRAY['w > 7', 'bot', 's IS NULL', 'length(country) = 2', 'false', 'w % 3 < ' || p, 'ts::date < ''2026-04-02''', 'date_trunc(''hour'', tz) <> ''2026-03-29 02:00''', 'k > 100 / nullif(w - ' || p || ', 0)']) || ')' ELSE '' END;
		ours text := one_of(ARRAY['qsketch_agg({key})', 'qsketch_agg({key})', 'qsketch_agg({key}, {weight})', 'qtop_agg(w, 3)', 'qtop_agg(w % 3, 3)', 'qtop_agg(ROW(bot, w % 2), 9)', 'qtop_agg(left(country, 1), {weight}, 9)', 'qsets_agg({weight}, {key})',
			'qsketch_agg({key}, qsketch_new(''warp'', ''4kB''))', 'qfilter_agg({key}, qfilter_new_bloom(100))']);
		others text := some_of(ARRAY['count(*)', 'count(s)', 'sum(w)', 'sum(k)', 'sum(x)', 'avg(s)', 'avg(x)', 'min(country)', 'max(country)', 'max(ts)', 'min(x)', 'max(note)', 'qsketch_agg(s)', 'count(1)', 'count(s + k)', 'sum(w * 2)', 'sum(CASE WHEN bot THEN k END)', 'sum(1)', 'avg(x * 2)', 'avg(k + 0.5)', 'stddev(k)', 'variance(x)', 'bool_or(bot)', 'bool_and(w > 3)', 'every(bot)',
			'bit_or(w)', 'regr_count(w, s)', 'min(lower(country))', 'max(note || country)', 'max(ts - ''2026-01-01'')', 'sum(tz - ts)', 'max(ARRAY[w, s])', 'min(round(x, 1))', 'sum(x) FILTER (WHERE lower(country) = ''de'')', 'count(nullif(kind, ''api''))',
			'max(log::text)', 'min(''10.0.0.1''::inet + w)', 'string_agg(country, '','' ORDER BY k, w, country)', 'json_agg(w)', 'jsonb_object_agg(k % 9, note) FILTER (WHERE k > 0)',
			'sum(w * ' || p || ')', 'max(x / ' || p || ')', 'max(country || ' || p || ')', 'bit_and(k)', 'max(kind)', 'avg(ts - ''2026-01-01'')', 'min(tz::date)', 'sum(k::numeric)', 'count(log)', 'max(array_append(ARRAY[w], s))'], 4);
	BEGIN
		IF key = 'log' AND ours LIKE 'qsets%' THEN key := 'k'; END IF;
		ours := replace(replace(ours, '{key}', key), '{weight}', weight);
		RETURN concat(CASE WHEN by_row THEN 'SELECT p, r.* FROM generate_series(1, 3) AS p, LATERAL (' END, 'SELECT ', CASE WHEN grouped THEN keys || ', ' END, ours, filter, CASE WHEN random() < 0.7 THEN ', ' || others END, ' FROM ', one_of(ARRAY['log', 'log', 'parts', 'kin']), ' AS log',
			CASE WHEN random() < 0.5 THEN ' WHERE ' || one_of(ARRAY['w > 3', 'lower(country) = ''de''', 'x * 2 > 300', 'k % 2 = 0', 'country <> ''de''', 'ts > ''2026-03-25''', 'tz::date - date ''2026-03-20'' BETWEEN ' || p || ' AND 12', 'extract(dow FROM ts::date) < ' || p, 'w IN (1, 2)', 'k IS NULL', 'w > 30', 'w % 5 < ' || p, 'k > 50 * ' || p]) END,
			CASE WHEN grouped THEN ' GROUP BY ' || keys END,
			CASE WHEN random() < 0.3 THEN ' HAVING ' || one_of(ARRAY['count(*) > 3', 'sum(w) > 50', 'max(x) < 300', 'qsketch_total(qsketch_agg(k)) > 2', 'min(country) IS NULL', 'max(w) > ' || p]) END,
			CASE WHEN by_row THEN ') AS r' END);
	END $$;

	-- zeros at the end of a number may be those of any row of its group
	CREATE FUNCTION shown(whole text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT regexp_replace(whole, '(\.\d*[1-9])0+(?=[,)"])|(?<=\d)\.0+(?=[,)"])', '\1', 'g') $$;
	CREATE FUNCTION rows_of(query text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE rows text; BEGIN
		EXECUTE format('SELECT md5(string_agg(shown(s::text), chr(10) ORDER BY shown(s::text))) FROM (%s) AS s', query) INTO rows;
		RETURN rows;
	END $$;
	CREATE FUNCTION plan_has(query text, node text) RETURNS boolean LANGUAGE plpgsql AS $$
	DECLARE line text; BEGIN
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
			IF line LIKE '%' || node || '%' THEN RETURN true; END IF;
		END LOOP;
		RETURN false;
	END $$;

	CREATE TABLE differing (query text);
	CREATE FUNCTION compare_some(times int, OUT compared int, OUT scanned int, OUT parallel int, OUT differing int) LANGUAGE plpgsql AS $$
	DECLARE query text; by_scan text; others text; BEGIN
		compared := 0; scanned := 0; parallel := 0; differing := 0;
		FOR i IN 1 .. times LOOP
			query := random_query();
			others := one_of(ARRAY['on', 'off']); -- other plans are as cheap as they are, or cost more
			PERFORM set_config('enable_hashagg', others, true), set_config('enable_sort', others, true);
			PERFORM set_config('work_mem', one_of(ARRAY['64kB', '64kB', '1MB', '64MB']), true), set_config('hash_mem_multiplier', one_of(ARRAY['1', '2']), true), set_config('timezone', one_of(ARRAY['Europe/Berlin', 'America/Sao_Paulo', 'Asia/Beirut', 'UTC']), true),
				set_config('qsketch.enable_columnscan', 'on', true), set_config('max_parallel_workers_per_gather', one_of(ARRAY['0', '2', '2', '2']), true),
				set_config('parallel_leader_participation', one_of(ARRAY['on', 'on', 'off']), true);
			scanned := scanned + plan_has(query, '(QSketchScan)')::int;
			parallel := parallel + plan_has(query, 'Parallel Custom Scan (QSketchScan)')::int;
			by_scan := rows_of(query);
			PERFORM set_config('qsketch.enable_columnscan', 'off', true), set_config('max_parallel_workers_per_gather', '0', true);
			compared := compared + 1;
			IF by_scan IS DISTINCT FROM rows_of(query) THEN
				differing := differing + 1;
				INSERT INTO differing VALUES (query);
			END IF;
		END LOOP;
	END $$;
});

my ($compared, $scanned, $parallel) = (0, 0, 0);
for (my $left = $queries, my $turn = 0; $left > 0; $left -= 100, $turn++)
{
	my $times = $left < 100 ? $left : 100;
	my $found = $node->safe_psql('postgres', sprintf('SELECT setseed(%.6f); SELECT * FROM compare_some(%d)', (($seed + $turn * 7) % 100000) / 100000, $times));
	my ($now, $by_scan, $by_workers) = $found =~ /(\d+)\|(\d+)\|(\d+)\|\d+\z/;
	$compared += $now;
	$scanned += $by_scan;
	$parallel += $by_workers;
}
is($compared, $queries, "queries from seed $seed");
cmp_ok($scanned, '>', $queries / 2, "$scanned of them by a column scan");
cmp_ok($parallel, '>', $queries / 10, "$parallel of them by parallel workers");
is($node->safe_psql('postgres', 'SELECT query FROM differing'), '', 'the same rows as by the ordinary plan');

$node->stop;
done_testing();
