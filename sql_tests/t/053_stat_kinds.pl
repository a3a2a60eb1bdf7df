# The counters of qsketch_stat and qsketch_stat_gpu in PostgreSQL's cumulative statistics:
# over restarts and crashes, by database, reset, saved or not, on a standby, what becomes of
# the statistics file of a server that does not load the library any more, and an id that
# another library has.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('stat_kinds', "qsketch.device = auto\nqsketch.gpu_min_size = 0");
if ($node->safe_psql('postgres', 'SHOW server_version_num') < 180000)
{
	$node->stop;
	plan skip_all => 'PostgreSQL 18 and later keep statistics of extensions';
}

my $keys = 50_000;
my $count = "SELECT qsketch_total(qsketch_agg(i)) FROM generate_series(1, $keys) AS i";

# After a statement: what it counted is told at once.
my $flush = 'DO $$ BEGIN PERFORM pg_stat_force_next_flush(); END $$;';

# Counts the keys on the CPU or on the GPU, where the first few stay on the CPU.
sub count_keys
{
	my ($database, $device, $server) = @_;

	is(($server // $node)->safe_psql($database, "SET qsketch.device = $device; $count; $flush"), $keys, "keys were counted: $database, $device");
}

sub stat_of
{
	my ($database, $columns, $server) = @_;

	return ($server // $node)->safe_psql($database, "SELECT $columns FROM qsketch_stat");
}

sub start_with
{
	my ($what) = @_;

	$node->append_conf('postgresql.conf', $what);
	$node->restart;
}

# ---- by database ----

$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION qsketch');
is(stat_of('other', 'keys_cpu, stats_reset IS NULL'), '0|t', 'nothing was counted yet');
count_keys('postgres', 'cpu');
count_keys('postgres', 'cpu');
count_keys('other', 'cpu');
is(stat_of('postgres', 'keys_cpu, keys_gpu, stats_reset < now()'), 2 * $keys . '|0|t', 'a database has its own counters');
is(stat_of('other', 'keys_cpu, keys_gpu, stats_reset < now()'), "$keys|0|t", 'the other one, too');
is($node->safe_psql('postgres', q{SELECT pg_stat_have_stats('qsketch_stat', oid, 0) FROM pg_database WHERE datname IN ('postgres', 'template1') ORDER BY datname}),
	"t\nf", 'they are kept by PostgreSQL');

# ---- what a process has not told yet ----

my $session = $node->background_psql('postgres');
is($session->query("$count; $flush"), $keys, 'a session counts');
is($session->query($count), $keys, 'and again, at once');
is($session->query('SELECT qsketch_stat_reset()'), '', 'a reset');
is($session->query("SELECT 1; $flush"), '1', 'which tells all that is there');
is(stat_of('postgres', 'keys_cpu'), '0', 'does not leave what was not told yet');
is($session->query("BEGIN; SELECT keys_cpu FROM qsketch_stat"), '0', 'in a transaction');
count_keys('postgres', 'cpu');
is($session->query("SELECT keys_cpu FROM qsketch_stat"), '0', 'what was read stays so');
is($session->query("SELECT pg_stat_clear_snapshot(); SELECT keys_cpu FROM qsketch_stat; COMMIT"), "\n$keys", 'until it is to be read anew');
is($session->query("BEGIN; SAVEPOINT a; $count; ROLLBACK TO a; ROLLBACK; $flush SELECT keys_cpu FROM qsketch_stat"),
	"$keys\n" . 2 * $keys, 'a transaction that was rolled back has counted as well');
$session->quit;

# parallel workers
$node->safe_psql('postgres', "CREATE TABLE t AS SELECT i AS k FROM generate_series(1, 4 * $keys) AS i; ANALYZE t; SELECT qsketch_stat_reset()");
is($node->safe_psql('postgres', "SET qsketch.device = cpu; SET max_parallel_workers_per_gather = 2; SELECT qsketch_total(qsketch_agg(k)) FROM t; $flush"),
	4 * $keys, 'a parallel plan');
is(stat_of('postgres', 'keys_cpu, column_scans'), 4 * $keys . '|1', 'what its workers did is counted');

# ---- the GPU ----

count_keys('postgres', 'gpu');
count_keys('other', 'gpu');
my $gpu = gpu_count($node, 'keys');
is($gpu, 2 * $keys, 'the GPU counts for the server');
my $on_gpu = stat_of('postgres', 'keys_gpu');
my $cpu = 5 * $keys - $on_gpu;
cmp_ok($on_gpu, '>', 0.9 * $keys, 'and a database for itself');
is(stat_of('postgres', 'keys_cpu'), $cpu, 'all keys were counted once');
my $since = gpu_count($node, 'stats_reset');

# ---- restarts ----

my $other_since = stat_of('other', 'stats_reset');
$node->restart;
is(stat_of('postgres', 'keys_cpu, keys_gpu, column_scans'), "$cpu|$on_gpu|1", 'counters survive a restart');
is(stat_of('other', 'keys_cpu, keys_gpu, stats_reset'), 2 * $keys - $on_gpu . "|$on_gpu|$other_since", 'of all databases');
is(gpu_count($node, 'keys'), $gpu, 'those of the GPU, too');
is(gpu_count($node, 'stats_reset'), $since, 'with their time');
count_keys('postgres', 'gpu');
count_keys('postgres', 'cpu');
is(gpu_count($node, 'keys'), 3 * $keys, 'counting goes on');
is(stat_of('postgres', 'keys_cpu, keys_gpu'), 7 * $keys - 2 * $on_gpu . '|' . 2 * $on_gpu, 'of a database, too');
$node->restart;
is(gpu_count($node, 'keys'), 3 * $keys, 'no count is added twice');
start_with("qsketch.gpu_worker = off\n");
is(gpu_count($node, 'keys IS NULL AND stats_reset IS NULL'), 't', 'without a worker there are no counters of the GPU');
start_with("qsketch.gpu_worker = auto\n");
is(gpu_count($node, 'keys'), 3 * $keys, 'but they were kept');

# ---- resets ----

$since = gpu_count($node, 'stats_reset');
my $had = stat_of('other', 'keys_cpu, stats_reset');
$node->safe_psql('postgres', 'SELECT qsketch_stat_reset()');
is(stat_of('postgres', 'keys_cpu, keys_gpu, column_scans, stats_reset > now() - interval $$1 h$$'), '0|0|0|t', 'a reset');
is(stat_of('other', 'keys_cpu, stats_reset'), $had, 'is of one database');
is(gpu_count($node, 'keys'), 3 * $keys, 'and not of the GPU');
is($node->safe_psql('postgres', q{SELECT stats_reset IS NULL FROM pg_stat_database WHERE datname = 'postgres'}), 't', 'nor of the tables');
$node->safe_psql('postgres', 'SELECT qsketch_stat_gpu_reset()');
is(gpu_count($node, "keys, bytes_in, values_made, stats_reset > '$since'"), '0|0|0|t', 'the reset of the GPU');
$node->safe_psql('other', 'SELECT pg_stat_reset()');
is(stat_of('other', 'keys_cpu, keys_gpu, stats_reset > now() - interval $$1 h$$'), '0|0|t', 'pg_stat_reset() resets the counters of its database');
$node->safe_psql('postgres', 'CREATE ROLE bob LOGIN');
for my $function ('qsketch_stat_reset', 'qsketch_stat_gpu_reset')
{
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT $function()", extra_params => [ '-U', 'bob' ]);
	like($err, qr/permission denied for function $function/, "others may not call $function");
}
is($node->safe_psql('postgres', 'SELECT keys_cpu FROM qsketch_stat', extra_params => [ '-U', 'bob' ]), '0', 'but read the counters');

# ---- a database that is gone ----

count_keys('other', 'cpu');
my $oid = $node->safe_psql('other', 'SELECT oid FROM pg_database WHERE datname = current_database()');
is($node->safe_psql('postgres', "SELECT pg_stat_have_stats('qsketch_stat', $oid, 0)"), 't', 'a database has counters');
$node->safe_psql('postgres', 'DROP DATABASE other');
is($node->safe_psql('postgres', "SELECT pg_stat_have_stats('qsketch_stat', $oid, 0)"), 'f', 'until it is dropped');

# ---- a standby has its own ----

$node->backup('base');
count_keys('postgres', 'cpu');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
is(stat_of('postgres', 'keys_cpu', $standby), '0', 'a standby does not have the counters of its primary');
count_keys('postgres', 'cpu', $standby);
count_keys('postgres', 'gpu', $standby);
$standby->restart;
is(stat_of('postgres', 'keys_cpu, keys_gpu', $standby), 2 * $keys - $on_gpu . "|$on_gpu", 'and keeps its own over a restart');
is(gpu_count($standby, 'keys'), $keys, 'those of the GPU, too');
$standby->stop;

# ---- a crash ----

count_keys('postgres', 'gpu');
$node->stop('immediate');
$node->start;
is(stat_of('postgres', 'keys_cpu, keys_gpu, stats_reset IS NULL'), '0|0|t', 'a crash discards the counters');
is(gpu_count($node, 'keys, stats_reset > now() - interval $$1 h$$'), '0|t', 'those of the GPU, too');
count_keys('postgres', 'cpu');
count_keys('postgres', 'gpu');
my $victim = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $victim->query('SELECT pg_backend_pid()');
kill 'KILL', $pid;
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"), 'a killed backend');
is(stat_of('postgres', 'keys_cpu'), '0', 'discards them as well');
is(gpu_count($node, 'keys'), '0', 'with those of the GPU');
eval { $victim->quit };

# ---- not saved, and no library to read what is saved ----

count_keys('postgres', 'cpu');
$node->safe_psql('postgres', 'CREATE TABLE kept AS SELECT 1 AS one');
$node->safe_psql('postgres', "SELECT count(*) FROM kept; $flush");
my $tables = q{SELECT pg_stat_get_numscans('kept'::regclass) > 0};
$node->safe_psql('postgres', 'ALTER SYSTEM SET qsketch.save_stats = off');
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT current_setting('qsketch.save_stats') = 'off'}), 'counters are not to be saved');
start_with("shared_preload_libraries = ''\n");
is($node->safe_psql('postgres', $tables), 't', 'a server that does not load the library reads the statistics of others');
is(stat_of('postgres', 'keys_cpu'), '0', 'and counts anew, in memory of its own');
$node->safe_psql('postgres', "$count");
is(stat_of('postgres', 'keys_cpu'), $keys, 'at the end of each transaction');
start_with(emulated_line() . "\n");
is($node->safe_psql('postgres', $tables), 't', 'the library may come back');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET qsketch.save_stats');
$node->restart;
count_keys('postgres', 'cpu');
my $from = -s $node->logfile;
start_with("shared_preload_libraries = ''\n");
is($node->safe_psql('postgres', $tables), 'f', 'if they were saved, such a server discards all statistics');
like(slurp_file($node->logfile, $from), qr/could not find information of kind \d+ for entry|corrupted statistics file/, 'and its log says so');

# ---- another library has the id ----

$from = -s $node->logfile;
start_with("shared_preload_libraries = '$ENV{TESTDIR}/kind_taken.so, qsketch, $ENV{TESTDIR}/qsketch_emulate.so'\n");
like(slurp_file($node->logfile, $from), qr/WARNING: .*qsketch does not keep statistics over restarts of the server\n.*DETAIL: .*"taken" of another library have the ID \d+/,
	'an id that is taken is no reason not to start');
count_keys('postgres', 'cpu');
is(stat_of('postgres', 'keys_cpu, stats_reset IS NOT NULL'), "$keys|t", 'counters are in memory of their own then');
$node->safe_psql('postgres', 'SELECT qsketch_stat_reset()');
is(stat_of('postgres', 'keys_cpu'), '0', 'which is reset');
count_keys('postgres', 'gpu');
$node->restart;
is(gpu_count($node, 'keys'), $keys, 'a kind whose id is free is kept');

$node->stop;
done_testing();
