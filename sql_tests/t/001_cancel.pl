# A statement_timeout ends a statement in the middle of its work.  The statement ends soon, and leaves no
# memory, workers or files behind, however often it is repeated.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchCpu;
use Test::More;

my $timeout_ms = 50;
my $times = 20;

my $node = PostgreSQL::Test::Cluster->new('cancel');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\nautovacuum = off\nmax_parallel_workers_per_gather = 0\nmax_worker_processes = 8");
$node->start;
$node->safe_psql('postgres', cpu_function());
$node->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	CREATE TABLE key AS SELECT i AS k, i % 50000 AS g FROM generate_series(1, 200000) AS i;
	CREATE TABLE stored AS
	SELECT 1 AS id, qsketch_agg(k, qsketch_new(size => '64MB')) AS sk FROM key;
	CREATE TABLE small AS SELECT k % 500 AS id, qsketch_agg(k, qsketch_new(size => '16kB')) AS sk
	FROM key GROUP BY k % 500;
	CREATE TABLE wide (k bigint);
	INSERT INTO wide SELECT k * n FROM key, generate_series(1, 20) AS n;
	CREATE TABLE members AS SELECT g, k * n AS k FROM key, generate_series(1, 20) AS n;
	CREATE TABLE filter AS SELECT qfilter_agg(k, qfilter_new_bloom(50000000)) AS f FROM key;
	CREATE TABLE filters AS SELECT k % 500 AS id, qfilter_agg(k, qfilter_new_bloom(20000)) AS f FROM key GROUP BY k % 500;
	-- arrays with one hash
	CREATE TABLE arrays AS SELECT array_append(zeros, n << 32 | n) AS a, n AS k
		FROM (SELECT array_agg(0::bigint) AS zeros FROM generate_series(1, 60000)) AS z, generate_series(1::bigint, 400) AS n;
	-- columns are added from the outermost type inwards, since CREATE TYPE looks at all that a column contains
	DO $$ BEGIN
		FOR i IN 0 .. 40 LOOP EXECUTE format('CREATE TYPE row_%s AS ()', i); END LOOP;
		FOR i IN REVERSE 40 .. 1 LOOP
			EXECUTE format('ALTER TYPE row_%s ADD ATTRIBUTE a row_%s, ADD ATTRIBUTE b row_%2$s', i, i - 1);
		END LOOP;
	END $$;
	VACUUM ANALYZE;
});

# Endless statements of every type.  "many" repeats the 200,000 rows.
my $many = 'key, generate_series(1, 100000) AS n';
my @work = (
	[ 'a sketch of 64 MB', "SELECT qsketch_agg(k + n, qsketch_new(size => '64MB')) FROM $many" ],
	[ 'multilevel of 64 MB', "SELECT qsketch_agg(k + n, k, qsketch_new('multilevel', '64MB')) FROM $many" ],
	[ 'text keys', "SELECT qsketch_agg(k::text) FROM $many" ],
	[ 'many groups, hashed', "SELECT count(*) FROM (SELECT qsketch_agg(k) FROM $many GROUP BY k) AS g",
		"SET work_mem = '1GB'; SET enable_sort = off" ],
	[ 'many groups, spilled', "SELECT count(*) FROM (SELECT qsketch_agg(k) FROM $many GROUP BY k) AS g",
		"SET work_mem = '1MB'; SET enable_sort = off" ],
	[ 'many groups, sorted', "SELECT count(*) FROM (SELECT qsketch_agg(k) FROM $many GROUP BY k) AS g",
		'SET enable_hashagg = off' ],
	[ 'merging small sketches', 'SELECT qsketch_merge_agg(sk) FROM small, generate_series(1, 100000)' ],
	[ 'merging sketches of 64 MB', 'SELECT qsketch_merge_agg(sk) FROM stored, generate_series(1, 100000)' ],
	[ 'a window', "SELECT sum(t) FROM (SELECT qsketch_total(qsketch_agg(k, qsketch_new(size => '1MB'))
		OVER (ROWS 5000 PRECEDING)) AS t FROM $many) AS w" ],
	[ 'estimates', "SELECT sum(qsketch_estimate(sk, k)) FROM stored, $many" ],
	[ 'batches of estimates', "SELECT count(qsketch_estimate(sk, a)) FROM stored,
		(SELECT array_agg(k) AS a FROM key) AS a, generate_series(1, 100000)" ],
	[ 'adding in a loop', "DO \$\$ DECLARE sk qsketch := qsketch_new('warp', '1MB'); BEGIN
		FOR i IN 1 .. 100000000 LOOP sk := qsketch_add(sk, i); END LOOP; END \$\$" ],
	[ 'two workers', "SELECT qsketch_agg(k + n, qsketch_new(size => '64MB')) FROM $many",
		"SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
		SET min_parallel_table_scan_size = 0" ],
	[ 'building sets in two workers', 'SELECT qsets_agg(g, k) FROM members',
		"SET max_parallel_workers_per_gather = 2; SET cpu_operator_cost = 1; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
		SET min_parallel_table_scan_size = 0" ],
	[ 'groups in two workers', "SELECT count(sk) FROM (SELECT qsketch_agg(k, qsketch_new(size => '16kB')) AS sk FROM members GROUP BY g % 2000) AS g",
		"SET max_parallel_workers_per_gather = 2; SET cpu_operator_cost = 1; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
		SET min_parallel_table_scan_size = 0; SET work_mem = '1GB'" ],
	[ 'a filter of 60 MB', "SELECT qfilter_agg(k + n, qfilter_new_bloom(50000000)) FROM $many" ],
	[ 'merging filters of 60 MB', 'SELECT qfilter_merge_agg(f) FROM filter, generate_series(1, 100000)' ],
	[ 'merging small filters', 'SELECT qfilter_merge_agg(f) FROM filters, generate_series(1, 100000)' ],
	[ 'lookups in a filter', "SELECT count(*) FROM filter, $many WHERE qfilter_contains(f, k)" ],
	[ 'batches of lookups in a filter', "SELECT count(qfilter_contains(f, a)) FROM filter,
		(SELECT array_agg(k) AS a FROM key) AS a, generate_series(1, 100000)" ],
	[ 'a product of sketches of 64 MB', 'SELECT qsketch_inner_product(sk, sk) FROM stored' ],
	[ 'the content of rows of rows', "SELECT qsketch_agg('(,)'::row_40)" ],
	[ 'groups by arrays with one hash', 'SELECT count(s) FROM (SELECT qsketch_agg(k) AS s FROM arrays GROUP BY a OFFSET 0) AS g',
		"SET cpu_operator_cost = 1; SET work_mem = '1GB'" ],
	[ 'keys of many groups that wait', 'SELECT count(f) FROM (SELECT qfilter_agg(k, qfilter_new(100, 2, k => 8000)) AS f FROM key WHERE k <= 20000 GROUP BY k OFFSET 0) AS g',
		"SET cpu_operator_cost = 1; SET work_mem = '1GB'", 150 ],
	[ 'scanning a column', "SELECT qsketch_agg(k, qsketch_new(size => '64MB')) FROM wide" ]);

foreach my $work (@work)
{
	my ($name, $statement, $settings, $later_ms) = @$work;
	# the catalog cache doubles its blocks when it needs memory for another row
	my $memory = "SELECT 'memory', sum(total_bytes) FROM pg_backend_memory_contexts
		WHERE name <> 'CacheMemoryContext';\n";
	my $run = cancel_often($node, name => $name, statement => $statement, settings => $settings,
		timeout_ms => $later_ms // $timeout_ms, times => $times, processes => $name =~ /two workers/ ? 3 : 1,
		after => sub { $_[0] == 5 || $_[0] == $times ? $memory : '' },
		finally => "SELECT 'alive', qsketch_total(qsketch_agg(i)) FROM generate_series(1, 1000) AS i;
			SELECT 'workers', count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker';
			SELECT 'files', count(*) FROM pg_ls_tmpdir();");
	my $out = $run->{out};
	my @memory = $out =~ /^memory\|(\d+)/mg;

	note sprintf '%s: memory grew by %d kB', $name, ($memory[1] - $memory[0]) / 1024;
	cmp_ok($memory[1] - $memory[0], '<', 100 * 1024, "$name: no memory leaked");
	like($out, qr/^alive\|1000$/m, "$name: the session works on");
	like($out, qr/^workers\|0$/m, "$name: no workers are left");
	like($out, qr/^files\|0$/m, "$name: no temporary files are left");
}

$node->stop;
done_testing();
