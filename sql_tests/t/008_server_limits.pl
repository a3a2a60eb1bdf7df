# Limits that the server sets: temporary files, old snapshots, and as many
# clients as there may be, with parallel plans and the GPU worker.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('limits');
$node->init;
$node->append_conf('postgresql.conf', join("\n", "shared_preload_libraries = 'qsketch'",
	'qsketch.gpu_worker = emulate', 'qsketch.backend = cpu', 'jit = off', 'autovacuum = off',
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
	'materialized sketches' => "WITH c AS MATERIALIZED ($groups) SELECT sum(qsketch_total(a.s)) FROM c AS a, c AS b WHERE a.g = b.g;",
);
for my $what (sort keys %spilled)
{
	my $leak = 'SELECT count(*) FROM pg_ls_tmpdir();';

	is(query("$limit \\set VERBOSITY sqlstate\n$spilled{$what} RESET ALL; $leak"), "0ERROR:  53400", "$what: too large");
	is(query("$limit RESET temp_file_limit; $spilled{$what} $leak"), "200000\n0", "$what: without a limit");
}

# All clients that may come, each with parallel plans.
for my $backend ('cpu', 'gpu')
{
	my $expected = $node->safe_psql('postgres', 'SET max_parallel_workers_per_gather = 0; SELECT md5(qsketch_agg(k)::text) FROM t');
	my $script = "SET qsketch.backend = $backend; SET max_parallel_workers_per_gather = 3;\n"
	  . "SELECT md5(qsketch_agg(k)::text) FROM t;\n" x 2
	  . "SET qsketch.enable_columnscan = off;\nSELECT md5(qsketch_agg(k)::text) FROM t;\n";
	my @client = map { { in => $script, out => '', err => '' } } 1 .. 40;

	$_->{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \$_->{in}, '>', \$_->{out}, '2>', \$_->{err}) for @client;
	$_->{run}->finish for @client;
	is(scalar(grep { $_->{out} ne "$expected\n" x 3 || $_->{err} ne '' } @client), 0, "$backend: 40 clients are all right")
	  or diag($client[0]{out}, $client[0]{err});
}
is(query(q{SELECT sketches_now = cached_now AND slots_free = slots FROM qsketch_stat_gpu;}), 't', 'gpu: nothing is left');
$node->stop;

# A snapshot too old: pages changed since then are refused, as by other scans.
SKIP: {
	my ($major) = $node->config_data('--version') =~ /(\d+)/;

	skip 'no old_snapshot_threshold', 4 if $major >= 17;
	my $old = PostgreSQL::Test::Cluster->new('old');
	$old->init;
	$old->append_conf('postgresql.conf', "old_snapshot_threshold = 0\nautovacuum = off\njit = off\nmax_parallel_workers_per_gather = 0");
	$old->start;
	$old->safe_psql('postgres', q{CREATE EXTENSION qsketch; CREATE TABLE t (k int) WITH (fillfactor = 50);
		INSERT INTO t SELECT i FROM generate_series(1, 20000) AS i; ANALYZE t});
	for my $scan ('on', 'off')
	{
		my $sketch = "SET qsketch.enable_columnscan = $scan; SELECT qsketch_total(qsketch_agg(k)) FROM t;";
		my $update = 'UPDATE t SET k = k + 1 WHERE k % 10 = 0';

		like($old->safe_psql('postgres', "SET qsketch.enable_columnscan = $scan; EXPLAIN SELECT qsketch_agg(k) FROM t"),
			$scan eq 'on' ? qr/QSketchScan/ : qr/Seq Scan/, "column scan $scan: plan");
		my $reader = $old->background_psql('postgres', on_error_stop => 0);
		$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
		# a threshold of 0 means five seconds; pages are pruned by who changes them next
		sleep 6;
		$old->safe_psql('postgres', $update) for 1 .. 4;
		my ($out) = $reader->query($sketch);
		like($reader->{stderr} . ($out // ''), qr/snapshot too old/, "column scan $scan: snapshot too old");
		eval { $reader->quit };
	}
	$old->stop;
}

done_testing();
