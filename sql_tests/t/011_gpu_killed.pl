# Backends and the worker die in the middle of an aggregate.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('killed');
fill($node, 200_000);
my $find = q{FROM pg_stat_activity
	WHERE query LIKE '%victim%' AND pid <> pg_backend_pid() AND backend_type = 'client backend'};

# Starts a session whose aggregate has keys on the device and goes on.
sub start_victim
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_until(qr/started/, q{\echo started
		SELECT /* victim */ qsketch_agg(k) FROM t
		WHERE k >= 0 OR pg_sleep(1) IS NULL
		HAVING pg_sleep(3600) IS NOT NULL AND qsketch_total(qsketch_agg(k)) > 0;
		} . "\n");
	$node->poll_query_until('postgres', q{SELECT values_now > cached_now FROM qsketch_stat_gpu})
		or die 'no sketch of the victim appeared';
	return $session;
}

# pg_terminate_backend
my $session = start_victim();
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $find");
settled($node, 'terminated backend');
eval { $session->quit };
is_right($node, 'terminated backend');

# kill -9 of the backend: the server restarts, and so does the worker
$session = start_victim();
my $pid = $node->safe_psql('postgres', "SELECT pid $find");
my $worker = gpu_count($node, 'worker_pid');
kill 'KILL', $pid;
$node->poll_query_until('postgres',
	"SELECT worker_pid <> $worker FROM qsketch_stat_gpu") or die 'no new worker';
wait_for_worker($node);
eval { $session->quit };
settled($node, 'killed backend');
is(gpu_count($node, 'batches'), 0, 'killed backend: shared memory was made anew');
is_right($node, 'killed backend');

# kill -9 of the worker
$session = start_victim();
$worker = gpu_count($node, 'worker_pid');
kill 'KILL', $worker;
$node->poll_query_until('postgres',
	"SELECT worker_pid <> $worker FROM qsketch_stat_gpu") or die 'no new worker';
wait_for_worker($node);
eval { $session->quit };
settled($node, 'killed worker');
is_right($node, 'killed worker');

# A terminated worker is started again, and the server goes on.  The worker is no backend, so
# pg_terminate_backend may refuse to terminate it.  Then the worker goes on.
my $other = $node->background_psql('postgres');
$other->query_safe("SET qsketch.device = cpu; BEGIN; CREATE TEMP TABLE mine (i int)");
for my $how ('TERM', 'pg_terminate_backend')
{
	$session = start_victim();
	$worker = gpu_count($node, 'worker_pid');
	my $ends = $how eq 'TERM' ? kill('TERM', $worker) :
	  $node->safe_psql('postgres', "SELECT pg_terminate_backend($worker)") eq 't';
	note("$how " . ($ends ? 'ends the worker' : 'is refused'));
	$node->poll_query_until('postgres', "SELECT worker_pid <> $worker FROM qsketch_stat_gpu") or die 'no new worker' if $ends;
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $find");
	wait_for_worker($node);
	eval { $session->quit };
	settled($node, $how);
	is_right($node, $how);
}
is(gpu_count($node, 'failures'), 0, 'terminating the worker is no failure of a GPU');

# an error of the device: only queries with a sketch on it fail, and the server goes on
set_fault($node, 'error');
my ($rc, $out, $err) = $node->psql('postgres', q{
	\set VERBOSITY verbose
	SELECT qsketch_agg(k) FROM t});
like($err, qr/38000: GPU operation failed: (GPU \d+: )?simulated failure/, 'an error of the device has an SQLSTATE');
set_fault($node, 'none');
wait_for_worker($node);
is($other->query_safe('INSERT INTO mine VALUES (1) RETURNING i'), '1',
	'other sessions go on after an error of the device');
$other->quit;
is(gpu_count($node, 'failures'), 1, 'the error is counted, and shared memory was kept');
settled($node, 'error of the device');
is_right($node, 'error of the device');

# a copy of a stored sketch does not outlive the device's memory either
set_fault($node, 'error');
($rc, $out, $err) = $node->psql('postgres',
	"SELECT qsketch_estimate(sk, ARRAY[1::bigint, 2]) FROM correct WHERE structure = 'thread'");
like($err, qr/GPU operation failed/, 'a lookup fails with the device');
set_fault($node, 'none');
wait_for_worker($node);
is(gpu_count($node, 'cached_now'), 0, 'copies go with the worker');
is_right($node, 'lookup');

my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP/, 'no assertion failed');
is(() = $log =~ /terminated by signal/g, 2, 'only the two processes that were killed died');

# at shutdown the worker ends without a message, and is not restarted
for my $mode ('smart', 'fast')
{
	my $end = -s $node->logfile;

	$node->stop($mode);
	unlike(slurp_file($node->logfile, $end), qr/GPU worker/, "$mode shutdown: nothing is said of the worker");
	$node->start;
	wait_for_worker($node);
}
$node->stop;
done_testing();
