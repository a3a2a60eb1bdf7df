# The counters of qsketch_stat and qsketch_stat_gpu: when others see them, of parallel
# workers, resets, restarts, a standby and a crash.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('stats', "qsketch.device = auto\nqsketch.gpu_min_size = 0");
my $keys = 50_000;
my $count = "SELECT qsketch_total(qsketch_agg(i)) FROM generate_series(1, $keys) AS i";

# Counts the keys on the CPU or on the GPU, where the first few stay on the CPU.
sub count_keys
{
	my ($database, $device, $server) = @_;

	is(($server // $node)->safe_psql($database, "SET qsketch.device = $device; $count"), $keys, "keys were counted: $database, $device");
}

sub stat_of
{
	my ($database, $columns, $server) = @_;

	return ($server // $node)->safe_psql($database, "SELECT $columns FROM qsketch_stat");
}

# ---- of all databases ----

$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION qsketch');
is(stat_of('other', 'keys_cpu, stats_reset < now()'), '0|t', 'nothing was counted yet');
count_keys('postgres', 'cpu');
count_keys('other', 'cpu');
is(stat_of('postgres', 'keys_cpu, keys_gpu'), 2 * $keys . '|0', 'all databases are counted together');
is(stat_of('other', 'keys_cpu, keys_gpu'), 2 * $keys . '|0', 'and seen from each');

# ---- counts that a process has not reported yet ----

my $session = $node->background_psql('postgres');
is($session->query("SET qsketch.device = cpu; BEGIN; $count"), $keys, 'a session counts in a transaction');
is(stat_of('postgres', 'keys_cpu'), 2 * $keys, 'others see nothing of it yet');
is($session->query('SELECT qsketch_stat_reset()'), '', 'a reset');
is($session->query('COMMIT; SELECT keys_cpu FROM qsketch_stat'), '0', 'does not leave what was not told yet');
is($session->query("BEGIN; $count; COMMIT"), $keys, 'it counts again');
is(stat_of('postgres', 'keys_cpu'), $keys, 'and tells others when the transaction ends');
is($session->query("BEGIN; SAVEPOINT a; $count; ROLLBACK TO a; ROLLBACK; SELECT keys_cpu FROM qsketch_stat"),
	"$keys\n" . 2 * $keys, 'a transaction that was rolled back has counted as well');
$session->quit;

# parallel workers
$node->safe_psql('postgres', "CREATE TABLE t AS SELECT i AS k FROM generate_series(1, 4 * $keys) AS i; ANALYZE t; SELECT qsketch_stat_reset()");
is($node->safe_psql('postgres', "SET qsketch.device = cpu; SET max_parallel_workers_per_gather = 2; SELECT qsketch_total(qsketch_agg(k)) FROM t"),
	4 * $keys, 'a parallel plan');
is(stat_of('postgres', 'keys_cpu, column_scans'), 4 * $keys . '|1', 'what its workers did is counted');

# ---- the GPU ----

count_keys('postgres', 'gpu');
count_keys('other', 'gpu');
is(gpu_count($node, 'keys'), 2 * $keys, 'the GPU counts for the server');
my $on_gpu = stat_of('postgres', 'keys_gpu');
cmp_ok($on_gpu, '>', 0.9 * 2 * $keys, 'and backends for themselves');
is(stat_of('postgres', 'keys_cpu + keys_gpu'), 6 * $keys, 'all keys were counted once');

# ---- resets ----

my $since = gpu_count($node, 'stats_reset');
$node->safe_psql('postgres', 'SELECT qsketch_stat_reset()');
is(stat_of('postgres', 'keys_cpu, keys_gpu, column_scans, stats_reset > now() - interval $$1 h$$'), '0|0|0|t', 'a reset');
is(gpu_count($node, 'keys, stats_reset'), 2 * $keys . "|$since", 'is not of the GPU');
is($node->safe_psql('postgres', q{SELECT stats_reset IS NULL FROM pg_stat_database WHERE datname = 'postgres'}), 't', 'nor of the tables');
count_keys('postgres', 'cpu');
$node->safe_psql('postgres', 'SELECT qsketch_stat_gpu_reset()');
is(gpu_count($node, "keys, bytes_in, values_made, stats_reset > '$since'"), '0|0|0|t', 'the reset of the GPU');
is(stat_of('postgres', 'keys_cpu'), $keys, 'is of the GPU alone');
$node->safe_psql('postgres', q{SELECT pg_stat_reset(), pg_stat_reset_shared('bgwriter')});
is(stat_of('postgres', 'keys_cpu'), $keys, "PostgreSQL's resets are of its own statistics");
$node->safe_psql('postgres', 'CREATE ROLE bob LOGIN');
for my $function ('qsketch_stat_reset', 'qsketch_stat_gpu_reset')
{
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT $function()", extra_params => [ '-U', 'bob' ]);
	like($err, qr/permission denied for function $function/, "others may not call $function");
}
is($node->safe_psql('postgres', 'SELECT keys_cpu FROM qsketch_stat', extra_params => [ '-U', 'bob' ]), $keys, 'but read the counters');

# ---- a standby has its own ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
is(stat_of('postgres', 'keys_cpu', $standby), '0', 'a standby does not have the counters of its primary');
count_keys('postgres', 'cpu', $standby);
is(stat_of('postgres', 'keys_cpu', $standby), $keys, 'but its own');
$standby->stop;

# ---- restarts, a crash ----

count_keys('postgres', 'gpu');
$node->restart;
is(stat_of('postgres', 'keys_cpu, keys_gpu, column_scans'), '0|0|0', 'a restart begins anew');
is(gpu_count($node, 'keys, stats_reset > now() - interval $$1 h$$'), '0|t', 'with those of the GPU, too');
$node->append_conf('postgresql.conf', "qsketch.gpu_worker = off\n");
$node->restart;
is(gpu_count($node, 'keys IS NULL AND stats_reset IS NULL'), 't', 'without a worker there are no counters of the GPU');
my ($rc, $out, $err) = $node->psql('postgres', 'SELECT qsketch_stat_gpu_reset()');
like($err, qr/the GPU worker is not configured/, 'and none to reset');
$node->append_conf('postgresql.conf', 'qsketch.gpu_worker = ' . ($ENV{QSKETCH_GPU} // 'emulate') . "\n");
$node->restart;
count_keys('postgres', 'cpu');
count_keys('postgres', 'gpu');
my $victim = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $victim->query('SELECT pg_backend_pid()');
kill 'KILL', $pid;
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"), 'a killed backend');
is(stat_of('postgres', 'keys_cpu'), '0', 'discards the counters');
is(gpu_count($node, 'keys'), '0', 'with those of the GPU');
eval { $victim->quit };

$node->stop;
done_testing();
