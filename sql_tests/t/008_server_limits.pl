# Limits of the server: temporary files, old snapshots, and the largest number of clients, with parallel plans
# and the GPU worker.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('limits');
$node->init;
$node->append_conf('postgresql.conf', join("\n", emulated_line(),
	'qsketch.gpu_timeout = 600s', 'qsketch.device = cpu', 'jit = off', 'autovacuum = off',
	'max_connections = 40', 'superuser_reserved_connections = 0', 'max_worker_processes = 16',
	'max_parallel_workers = 8', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', ''));
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	CREATE TABLE t AS SELECT i % 700 AS g, i % 9000 AS k FROM generate_series(1, 200000) AS i;
	ANALYZE t;
});

sub query
{
	my ($sql) = @_;
	my ($out, $err) = ('', '');

	$node->psql('postgres', $sql, stdout => \$out, stderr => \$err, on_error_stop => 0);
	return $out . ($err =~ /^psql\S+ (ERROR: .*)/m ? $1 : $err);
}

# Temporary files: hash aggregates that spill, sorts of rows and of sketches.
my $limit = q{SET temp_file_limit = '512kB'; SET work_mem = '64kB'; SET max_parallel_workers_per_gather = 0;};
my $groups = 'SELECT g, qsketch_agg(k) AS s FROM t GROUP BY g';
my %spilled = (
	'hashed groups' => "SET enable_sort = off; SELECT sum(qsketch_total(s)) FROM ($groups) AS x;",
	'sorted groups' => "SET enable_hashagg = off; SELECT sum(qsketch_total(s)) FROM ($groups) AS x;",
	'sorted sketches' => "SELECT sum(qsketch_total(s)) FROM (SELECT * FROM ($groups) AS x ORDER BY g % 7, s::text DESC OFFSET 0) AS y;",
	'hashed filters' => "SET enable_sort = off; SELECT sum((qfilter_info(f)).rows) FROM (SELECT g, qfilter_agg(k, qfilter_new(300, 1)) AS f FROM t GROUP BY g) AS x;",
	'sorted collections' => "SET enable_hashagg = off; SELECT sum((qsets_info(s)).elements) FROM (SELECT g, qsets_agg(k, g) AS s FROM t GROUP BY g) AS x;",
	'pairs of sets' => "SET work_mem = '4MB'; SET qsketch.enable_pairscan = off; SELECT count(*) FROM (SELECT qsets_agg(g, k % 9) AS s FROM t) AS x, LATERAL qsets_pairs(s);",
	'materialized sketches' => "WITH c AS MATERIALIZED ($groups) SELECT sum(qsketch_total(a.s)) FROM c AS a, c AS b WHERE a.g = b.g;",
);
my %result = ('sorted collections' => 63000, 'pairs of sets' => 700 * 699 / 2);
for my $what (sort keys %spilled)
{
	my $leak = 'SELECT count(*) FROM pg_ls_tmpdir();';

	is(query("$limit \\set VERBOSITY sqlstate\n$spilled{$what} RESET ALL; $leak"), "0ERROR:  53400", "$what: too large");
	is(query("$limit RESET temp_file_limit; $spilled{$what} $leak"), ($result{$what} // 200000) . "\n0", "$what: without a limit");
}

# The largest possible number of clients run at the same time, each with parallel plans.  All clients wait
# for a lock that the first client holds.
sub wait_for
{
	my ($session, $condition, $what) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if $session->query_safe("SELECT $condition") eq 't';
		select undef, undef, undef, 0.1;
	}
	die "waited in vain: $what";
}

# Waits until no other client is left, because finished clients may still be
# connected.
sub wait_for_others
{
	wait_for($_[0], q{count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'}, 'other clients');
}

for my $backend ('cpu', 'gpu')
{
	my $expected = $node->safe_psql('postgres', 'SET max_parallel_workers_per_gather = 0; SELECT md5(qsketch_agg(k)::text) FROM t');
	my $script = "SELECT pg_advisory_lock_shared(1);
		SET qsketch.device = $backend; SET max_parallel_workers_per_gather = 3;\n"
	  . "SELECT md5(qsketch_agg(k)::text) FROM t;\n" x 2
	  . "SET qsketch.enable_columnscan = off;\nSELECT md5(qsketch_agg(k)::text) FROM t;\n";
	my $first = $node->background_psql('postgres');
	my $clients = $first->query_safe(q{SELECT current_setting('max_connections')::int - 1});
	my $before = $first->query_safe('SELECT keys FROM qsketch_stat_gpu');
	my @client = map { { out => '', err => '' } } 1 .. $clients;
	my $file = PostgreSQL::Test::Utils::tempdir_short() . '/script';
	append_to_file($file, $script);

	$first->query_safe('SELECT pg_advisory_lock(1)');
	wait_for_others($first);
	$_->{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-f', $file, '-d', $node->connstr('postgres') ], '>', \$_->{out}, '2>', \$_->{err}) for @client;
	wait_for($first, "count(*) = $clients FROM pg_locks WHERE locktype = 'advisory' AND NOT granted", "$backend: all clients");
	my ($status, $out, $err) = $node->psql('postgres', 'SELECT 1');
	like($err, qr/too many clients/, "$backend: there is no room for another client");
	$first->query_safe('SELECT pg_advisory_unlock(1)');
	$_->{run}->finish for @client;
	wait_for_others($first);
	is(scalar(grep { $_->{out} ne "\n" . "$expected\n" x 3 || $_->{err} ne '' } @client), 0,
		"$backend: all of $clients clients are right")
	  or diag($client[0]{out}, $client[0]{err});
	my $keys = $first->query_safe('SELECT keys FROM qsketch_stat_gpu') - $before;
	cmp_ok($keys, $backend eq 'gpu' ? '>' : '==', 0, "$backend: where keys were counted");
	$first->quit;
}
ok($node->poll_query_until('postgres', 'SELECT values_now = cached_now AND slots_free = slots FROM qsketch_stat_gpu'), 'gpu: nothing is left');
$node->stop;

# A snapshot is too old: the scan refuses pages that changed after the snapshot, as other scans do, and reads
# other pages.
SKIP: {
	my ($major) = $node->config_data('--version') =~ /(\d+)/;

	skip 'no old_snapshot_threshold', 16 if $major >= 17;
	my $old = PostgreSQL::Test::Cluster->new('old');
	$old->init;
	$old->append_conf('postgresql.conf', join("\n", 'old_snapshot_threshold = 0', 'autovacuum = off', 'jit = off',
		'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0', 'cpu_operator_cost = 1', ''));
	$old->start;
	$old->safe_psql('postgres', q{CREATE EXTENSION qsketch;
		CREATE TABLE t (k int) WITH (fillfactor = 50, parallel_workers = 2);
		CREATE TABLE calm (k int) WITH (parallel_workers = 2);
		INSERT INTO t SELECT i FROM generate_series(1, 20000) AS i; INSERT INTO calm SELECT k FROM t; ANALYZE});
	my @way = map { { scan => $_->[0], workers => $_->[1], what => "column scan $_->[0], $_->[1] workers",
		set => "SET qsketch.enable_columnscan = $_->[0]; SET max_parallel_workers_per_gather = $_->[1];" } }
		([ 'on', 0 ], [ 'on', 2 ], [ 'off', 0 ], [ 'off', 2 ]);
	for my $way (@way)
	{
		like($old->safe_psql('postgres', "$way->{set} EXPLAIN SELECT qsketch_agg(k) FROM t"),
			$way->{scan} eq 'on' ? qr/QSketchScan/ : qr/Seq Scan/, "$way->{what}: plan");
		$way->{reader} = $old->background_psql('postgres', on_error_stop => 0);
		$way->{reader}->query("$way->{set} BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;");
	}
	# a threshold of 0 means five seconds; the next change of a page prunes it
	sleep 6;
	$old->safe_psql('postgres', 'UPDATE t SET k = k + 1 WHERE k % 10 = 0') for 1 .. 4;
	for my $way (@way)
	{
		my $total = 'SELECT qsketch_total(qsketch_agg(k)) FROM';

		is(scalar($way->{reader}->query("$total calm;")), 20000, "$way->{what}: a table that did not change");
		my ($out) = $way->{reader}->query("$total t;");
		like($way->{reader}->{stderr}, qr/snapshot too old/, "$way->{what}: snapshot too old");
		unlike($out // '', qr/\d/, "$way->{what}: no result");
		eval { $way->{reader}->quit };
	}
	$old->stop;
}

done_testing();
