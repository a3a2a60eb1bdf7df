# Soak test: many clients mix aggregates, merges, lookups, searches for pairs of sets, cached columns of a
# table that others write, and cancels, of all families, on three emulated GPUs or on all real ones.  They
# compare every answer with exact counts and with the CPU's answer.
# QSKETCH_SOAK_SECONDS (15) and QSKETCH_SOAK_CLIENTS (32) set the time and the number of clients.  "make soak"
# runs it for ten minutes.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $seconds = $ENV{QSKETCH_SOAK_SECONDS} // 15;
my $clients = $ENV{QSKETCH_SOAK_CLIENTS} // 32;
my $emulated = ($ENV{QSKETCH_GPU} // 'emulate') eq 'emulate';
my $node = gpu_node('soak', $emulated ? "qsketch.gpu_devices = '0,1,2'" : (), 'max_connections = 200', 'max_parallel_workers_per_gather = 2',
	'max_parallel_workers = 8');

$node->safe_psql('postgres', q{
	CREATE TABLE events AS
		SELECT i AS id, i % 8 AS day, (i * 7919::bigint) % (4000 + i % 2000) AS k
		FROM generate_series(1, 160000) AS i;
	ANALYZE events;
	CREATE TABLE exact AS SELECT k, count(*) AS n FROM events GROUP BY k;
	SET qsketch.device = cpu;
	CREATE TABLE days AS
		SELECT s AS structure, day, qsketch_agg(k, qsketch_new(s, '64kB')) AS sk
		FROM events, unnest('{sub_warp,half_warp,multilevel,thread,sf}'::text[]) AS s
		GROUP BY s, day;
	CREATE TABLE weeks AS
		SELECT structure, qsketch_merge_agg(sk) AS sk FROM days GROUP BY structure;
	CREATE TABLE filters AS
		SELECT qfilter_row_agg(k, id, qfilter_new(160000, 100)) AS rows, qfilter_agg(k, qfilter_new_bloom(6000)) AS bloom
		FROM events;
	CREATE TABLE baskets AS SELECT qsets_agg(k % 500, id % 3000) AS c FROM events;
	CREATE TABLE alike AS SELECT p.* FROM baskets, qsets_pairs(c, min_count => 40) AS p;
	CREATE TABLE cancelled (at timestamptz);

	CREATE FUNCTION pick() RETURNS text LANGUAGE sql AS
		$$ SELECT (ARRAY['sub_warp', 'half_warp', 'multilevel', 'thread', 'sf'])[1 + floor(random() * 5)::int] $$;

	CREATE FUNCTION soak_aggregate() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		s text := pick();
	BEGIN
		IF (SELECT qsketch_agg(k, qsketch_new(s, '64kB')) <>
				(SELECT sk FROM weeks WHERE structure = s) FROM events) THEN
			RAISE 'WRONG: aggregate of %', s;
		END IF;
	END $$;

	CREATE FUNCTION soak_groups() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		s text := pick();
	BEGIN
		IF (SELECT count(*) FROM days JOIN
				(SELECT day, qsketch_agg(k, qsketch_new(s, '64kB')) AS sk FROM events GROUP BY day) AS g
				USING (day) WHERE structure = s AND days.sk = g.sk) <> 8 THEN
			RAISE 'WRONG: groups of %', s;
		END IF;
	END $$;

	CREATE FUNCTION soak_merge() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		s text := pick();
	BEGIN
		IF (SELECT qsketch_merge_agg(sk) <> (SELECT sk FROM weeks WHERE structure = s)
			FROM days WHERE structure = s) THEN
			RAISE 'WRONG: merge of %', s;
		END IF;
	END $$;

	CREATE FUNCTION soak_lookup() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		s text := pick();
	BEGIN
		IF (SELECT bool_or(l.estimate < e.n OR l.estimate <> qsketch_estimate(w.sk, e.k))
			FROM weeks AS w, qsketch_lookup(w.sk, ARRAY(SELECT k FROM exact)) AS l
				JOIN exact AS e ON e.k = l.key
			WHERE structure = s) THEN
			RAISE 'WRONG: lookup in %', s;
		END IF;
	END $$;

	CREATE FUNCTION soak_filter() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF (SELECT (qfilter_row_agg(k, id, qfilter_new(160000, 100)), qfilter_agg(k, qfilter_new_bloom(6000)))::text <>
				(SELECT filters::text FROM filters) FROM events) THEN
			RAISE 'WRONG: filters';
		END IF;
		IF (SELECT false = ANY (qfilter_contains(bloom, keys)) OR qfilter_estimate(rows, keys) <>
				(SELECT array_agg(qfilter_estimate(rows, k) ORDER BY at) FROM unnest(keys) WITH ORDINALITY AS u (k, at))
			FROM filters, (SELECT array_agg(k) AS keys FROM exact) AS e) THEN
			RAISE 'WRONG: lookups in filters';
		END IF;
	END $$;

	CREATE FUNCTION soak_sets() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF (SELECT count(*) FROM baskets, qsets_pairs(c, min_count => 40) AS p NATURAL JOIN alike) <>
				(SELECT count(*) FROM alike) OR
			EXISTS (SELECT p.* FROM (SELECT qsets_agg(k % 500, id % 3000) AS c FROM events) AS b,
					qsets_pairs(b.c, min_count => 40) AS p
				EXCEPT SELECT * FROM alike) THEN
			RAISE 'WRONG: pairs of sets';
		END IF;
	END $$;

	CREATE TABLE written (id int, k bigint) PARTITION BY RANGE (id);
	CREATE TABLE w1 PARTITION OF written FOR VALUES FROM (0) TO (20000);
	CREATE TABLE w2 PARTITION OF written FOR VALUES FROM (20000) TO (40000);
	CREATE TABLE w3 PARTITION OF written FOR VALUES FROM (40000) TO (60000);
	INSERT INTO written SELECT i, i % 3000 FROM generate_series(0, 59999) AS i;
	CREATE INDEX ON written (id);

	CREATE FUNCTION soak_load() RETURNS void LANGUAGE sql AS
		$$ SELECT qsketch_gpu_load(p, '{k}') FROM unnest('{w1,w2,w3}'::regclass[]) AS p $$;

	CREATE FUNCTION soak_columns() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		s text := pick();
		cached qsketch;
	BEGIN
		PERFORM set_config('qsketch.enable_gpu_columns', 'on', true);
		SELECT qsketch_agg(k, qsketch_new(s, '64kB')) INTO cached FROM written;
		PERFORM set_config('qsketch.enable_gpu_columns', 'off', true);
		IF (SELECT qsketch_agg(k, qsketch_new(s, '64kB')) <> cached FROM written) THEN
			RAISE 'WRONG: cached columns, %', s;
		END IF;
	END $$;

	CREATE FUNCTION soak_try() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM soak_aggregate();
		PERFORM soak_groups();
		PERFORM soak_filter();
		PERFORM soak_sets();
	EXCEPTION WHEN query_canceled THEN
		INSERT INTO cancelled VALUES (now());
	END $$});

sub script
{
	my ($name, $sql) = @_;
	my $file = $node->basedir . "/$name.sql";
	append_to_file($file, $sql);
	return $file;
}

# Resident memory of the worker in kB, without shared memory.
sub worker_memory
{
	my $status = slurp_file('/proc/' . gpu_count($node, 'worker_pid') . '/status');
	return $status =~ /RssAnon:\s+(\d+)/ ? $1 : 0;
}

my @scripts = (
	script('aggregate', "SELECT soak_aggregate();\n"),
	script('groups', "SELECT soak_groups();\n"),
	script('merge', "SELECT soak_merge();\n"),
	script('lookup', "SELECT soak_lookup();\n"),
	script('filter', "SELECT soak_filter();\n"),
	script('sets', "SELECT soak_sets();\n"),
	script('columns', "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT soak_columns();\nCOMMIT;\n") . '@4',
	script('writes', "\\set id random(0, 59999)\nUPDATE written SET k = k + 7 WHERE id = :id;\n") . '@4',
	script('load', "VACUUM written;\nSELECT soak_load();\n"),
	script('cancel', "\\set ms random(1, 2000)\nSET LOCAL statement_timeout = :ms\\; SELECT soak_try();\n"));

cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM alike'), '>', 1000, 'pairs of sets to be found');

# run everything once, after which the worker has the memory that it needs
$node->safe_psql('postgres', 'VACUUM written');
$node->safe_psql('postgres', "SELECT soak_$_() FROM generate_series(1, 20)")
	for qw(load columns aggregate groups merge lookup filter sets);
my $memory = worker_memory();
my ($out, $err) = run_command([ 'pgbench', '-n', '-c', $clients, '-j', '4', '-T', $seconds,
	(map { ('-f', $_) } @scripts), $node->connstr('postgres') ]);
like($out, qr/number of transactions actually processed: [1-9]/, "$clients clients for $seconds s");
# A statement that times out just before or after it could catch that ends its client.
my ($timeout, $aborted) = (qr/canceling statement due to statement timeout/, qr/Run was aborted/);
my $ended = () = $err =~ /$timeout/g;
my @errors = grep { /ERROR|error/ && !/$timeout|$aborted/ } split /\n/, $err;
is(join("\n", @errors), '', 'no wrong answer and no error');
unlike(slurp_file($node->logfile), qr/ERROR:  WRONG|PANIC:|TRAP:|terminated by signal/, 'nor in the log');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM cancelled'), '>', 0, 'some were cancelled');
settled($node, 'soak');
my $grown = worker_memory() - $memory;
cmp_ok($grown, '<', 64 * 1024, "the worker grew by $grown kB");
is(gpu_count($node, 'failures'), 0, 'the worker did not fail');
cmp_ok($node->safe_psql('postgres', 'SELECT pair_searches_gpu FROM qsketch_stat'), '>', 0, 'it searched for pairs');
cmp_ok(gpu_count($node, 'column_keys'), '>', 60000 * 20, 'it used cached columns');
diag($node->safe_psql('postgres', q{
	SELECT format('%s values, %s keys in %s batches, %s lookups, %s merges, %s cancels, %s waits for a slot',
				  values_made, keys, batches, lookups, merges, (SELECT count(*) FROM cancelled), slot_waits)
	FROM qsketch_stat_gpu}) . "; $ended clients ended by a timeout");

$node->stop;
done_testing();
