# More clients than slots: 64 sessions share a ring of 4.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('clients', 'qsketch.gpu_buffer_size = 1MB', 'max_connections = 80',
	'max_parallel_workers_per_gather = 0');
fill($node, 20_000);
is(gpu_count($node, 'slots'), 4, 'the ring has 4 slots');

# lookups hold several slots at a time; no lookup may block another lookup
# forever
my $right = q{
	DO $$ BEGIN
		ASSERT (SELECT qsketch_agg(k, qsketch_new('sub_warp', '256kB')) =
				(SELECT sk FROM correct WHERE structure = 'sub_warp') FROM t);
		ASSERT 4 <= ALL (SELECT unnest(qsketch_estimate(sk, ARRAY(SELECT k FROM t, generate_series(1, 10))))
						FROM correct WHERE structure = 'thread');
	END $$;
};
my $script = $node->basedir . '/clients.sql';
append_to_file($script, $right);
$node->command_ok(
	[ 'pgbench', '-n', '-c', '64', '-j', '4', '-t', '4', '-f', $script, 'postgres' ],
	'64 clients at a time have right results');
cmp_ok(gpu_count($node, 'slot_waits'), '>', 0, 'they waited for slots');
settled($node, '64 clients');

# lookups of clients that time out
my $timeout = $node->basedir . '/timeout.sql';
append_to_file($timeout, q{
	\set ms random(1, 60)
	SET statement_timeout = :ms;
	SELECT qsketch_agg(k, qsketch_new('sub_warp', '256kB')) FROM t;
});
$node->run_log([ 'pgbench', '-n', '-c', '64', '-j', '4', '-t', '4', '-f', $timeout, 'postgres' ]);
settled($node, '64 clients that give up');
is_right($node, '64 clients');

$node->stop;
done_testing();
