# Servers with and without the worker: settings, messages, restarts, standby.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

# the module is not preloaded
my $plain = PostgreSQL::Test::Cluster->new('plain');
$plain->init;
$plain->start;
$plain->safe_psql('postgres', 'CREATE EXTENSION qsketch');
is($plain->safe_psql('postgres', "SELECT state, reason ~ 'shared_preload_libraries' FROM qsketch_gpu()"),
	'off|t', 'without preload qsketch_gpu() says what to do');
is($plain->safe_psql('postgres', 'SELECT slots IS NULL FROM qsketch_stat_gpu'), 't',
	'without preload the view is empty');
my ($rc, $out, $err) = $plain->psql('postgres',
	'SET qsketch.device = gpu; SELECT qsketch_agg(i) FROM generate_series(1, 9) AS i');
like($err, qr/qsketch.device is gpu, but there is no GPU/, 'without preload device = gpu is an error');
like($err, qr/HINT:.*shared_preload_libraries/, 'which says what to do');
is($plain->safe_psql('postgres',
	'SELECT qsketch_total(qsketch_agg(i)) FROM generate_series(1, 9) AS i'), '9',
	'without preload device = auto uses the CPU');

($rc, $out, $err) = $plain->psql('postgres', "LOAD '$ENV{TESTDIR}/qsketch_emulate.so'");
like($err, qr/ERROR: +devices for qsketch can only be given at server start\nHINT: .*shared_preload_libraries/,
	'another module can give no devices to a server that runs');

# preloaded, but off
$plain->append_conf('postgresql.conf', "shared_preload_libraries = 'qsketch'\nqsketch.gpu_worker = off");
$plain->restart;
is($plain->safe_psql('postgres', 'SELECT state FROM qsketch_gpu()'), 'off', 'gpu_worker = off');

# the module is preloaded, and this machine has no GPU with the configured number
$plain->append_conf('postgresql.conf', "qsketch.gpu_worker = auto\nqsketch.gpu_devices = '99'");
$plain->restart;
$plain->poll_query_until('postgres', "SELECT count(*) > 0 FROM qsketch_gpu() WHERE state = 'none'");
($rc, $out, $err) = $plain->psql('postgres',
	'SET qsketch.device = gpu; SELECT qsketch_agg(i) FROM generate_series(1, 9) AS i');
like($err, qr/there is no GPU: .+/, 'without a GPU device = gpu is an error that says why');
unlike($err, qr/there is no GPU: cudaError/, 'in words');
is($plain->safe_psql('postgres',
	'SELECT qsketch_total(qsketch_agg(i)) FROM generate_series(1, 99999) AS i'), '99999',
	'without a GPU device = auto uses the CPU');
like(slurp_file($plain->logfile), qr/LOG: .*qsketch has no usable GPU/, 'one line of the log says why');
$plain->append_conf('postgresql.conf', "shared_preload_libraries = '$ENV{TESTDIR}/qsketch_emulate.so, qsketch'\nqsketch.gpu_devices = '2, 0'");
$plain->restart;
ok($plain->poll_query_until('postgres', q{SELECT string_agg(device || ' ' || name, ',') = '2 emulated,0 emulated' FROM qsketch_gpu()}),
	'the order in which modules are loaded does not matter');
$plain->append_conf('postgresql.conf', "qsketch.gpu_devices = 'one'");
$plain->restart(fail_ok => 1);
like(slurp_file($plain->logfile), qr/invalid value for parameter "qsketch.gpu_devices": "one"/,
	'a list of devices that is none is refused');
$plain->stop('immediate', fail_ok => 1);

# queries wait for a worker that has not started yet
my $node = gpu_node('server', 'max_parallel_workers_per_gather = 2');
fill($node, 100_000);
is_right($node, 'start');
like(slurp_file($node->logfile), qr/LOG: .*qsketch uses GPU 0/, 'the log names the GPU');
for my $turn (1 .. 3)
{
	$node->restart;
	is($node->safe_psql('postgres', q{
		SELECT qsketch_agg(k, qsketch_new('sub_warp', '256kB')) =
			(SELECT sk FROM correct WHERE structure = 'sub_warp') FROM t}), 't',
		"restart $turn: the first query uses the GPU");
}
cmp_ok(gpu_count($node, 'batches'), '>', 0, 'indeed');

# auto: sketches of enough keys are made on the GPU, and small ones never (068_gpu_choice.pl tests the rule)
$node->safe_psql('postgres', q{
	CREATE TABLE many AS SELECT i, (i * 7919::bigint) % 50000 AS k FROM generate_series(1, 400000) AS i;
	ANALYZE many});
for my $case ([ '1MB', 200_000, 0, 0 ], [ '1MB', 400_000, 0, 1 ], [ '4MB', 100_000, 0, 0 ],
	[ '4MB', 400_000, 2, 1 ], [ '128kB', 400_000, 0, 0 ])
{
	my ($size, $rows, $workers, $moves) = @$case;
	my $set = "SET max_parallel_workers_per_gather = $workers; SET qsketch.device";
	my $query = "SELECT md5(qsketch_agg(k, qsketch_new('sub_warp', '$size'))::text) FROM many WHERE i <= $rows";
	my $before = gpu_count($node, 'batches');

	is($node->safe_psql('postgres', "$set = auto; $query"), $node->safe_psql('postgres', "$set = cpu; $query"),
		"auto, $size, $rows rows, $workers workers: the same sketch");
	is(gpu_count($node, "batches > $before"), $moves ? 't' : 'f',
		"auto, $size, $rows rows, $workers workers: where it pays");
}

# crash recovery while sketches are on the device
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_until(qr/started/, q{\echo started
	BEGIN; DECLARE c CURSOR FOR SELECT k % 2, qsketch_agg(k) FROM t GROUP BY 1; FETCH 1 FROM c;
	} . "\n");
$node->poll_query_until('postgres', 'SELECT values_now > cached_now FROM qsketch_stat_gpu')
	or die 'no sketch appeared';
$node->stop('immediate');
eval { $session->quit };
$node->start;
wait_for_worker($node);
settled($node, 'crash recovery');
is_right($node, 'crash recovery');

# a hot standby has its own worker and its own cached sketches
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
wait_for_worker($standby);
$node->wait_for_catchup($standby);
is_right($standby, 'standby');
cmp_ok(gpu_count($standby, 'batches'), '>', 0, 'the standby used its worker');
settled($standby, 'standby');
$standby->promote;
is_right($standby, 'promoted standby');

$standby->stop;
$node->stop;
done_testing();
