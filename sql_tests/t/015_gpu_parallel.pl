# Parallel plans: workers leave their sketches on the device for the leader,
# with one device and with several.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

for my $devices ($ENV{QSKETCH_GPU} ? ('0') : ('0', '0,1,2'))
{
	my $name = $devices eq '0' ? 'one' : 'three';
	my $node = gpu_node($name, "qsketch.gpu_devices = '$devices'", 'max_parallel_workers = 8',
		'max_parallel_workers_per_gather = 3');
	fill($node, 200_000);
	for my $leader ('on', 'off')
	{
		for my $scan ('on', 'off')
		{
			my $set = "SET parallel_leader_participation = $leader; "
				. "SET qsketch.enable_columnscan = $scan;";
			my $plan = $node->safe_psql('postgres', "$set EXPLAIN (COSTS OFF) SELECT qsketch_agg(k) FROM t");
			like($plan, qr/Gather/, "$name, leader $leader, column scan $scan: the plan is parallel");
			my ($batches, $fetches) = split /\|/, gpu_count($node, "batches || '|' || fetches");
			for my $structure ('sub_warp', 'multilevel', 'thread')
			{
				is($node->safe_psql('postgres', qq{$set
					SELECT qsketch_agg(k, qsketch_new('$structure', '256kB')) =
						(SELECT sk FROM correct WHERE structure = '$structure') FROM t}),
					't', "$name, leader $leader, column scan $scan: $structure is right");
			}
			is(gpu_count($node, "fetches - $fetches"), 3,
				"$name, leader $leader, column scan $scan: each result is fetched once");
			is($node->safe_psql('postgres', qq{$set
				SELECT sum(total) FROM (
					SELECT qsketch_total(qsketch_agg(k, qsketch_new('warp', '64kB'))) AS total
					FROM t GROUP BY k % 10) AS g}), '200000',
				"$name, leader $leader, column scan $scan: groups are right");
		}
	}
	# each process has few enough keys for the explicit form, but all processes
	# together do not
	$node->safe_psql('postgres', q{
		CREATE TABLE few WITH (parallel_workers = 7) AS
			SELECT i::bigint AS k, repeat('x', 500) AS filler FROM generate_series(1, 12000) AS i;
		ANALYZE few});
	my $few = 'SELECT md5(qsketch_agg(k)::text) FROM few';
	my $right = $node->safe_psql('postgres', "SET qsketch.device = cpu; SET max_parallel_workers_per_gather = 0; $few");
	my $answers = $node->safe_psql('postgres',
		join(' ', 'SET max_parallel_workers_per_gather = 7;', map { "$few;" } 1 .. 40));
	is($answers, join("\n", ($right) x 40), "$name: sketches that become dense when they are merged");

	cmp_ok($node->safe_psql('postgres', 'SELECT max(merges) FROM qsketch_stat_gpu'), '>', 10,
		"$name: they were merged there");
	settled($node, $name);

	# the leader is cancelled after workers have passed their sketches to it
	for my $turn (1 .. 20)
	{
		my $timeout = 5 * $turn;
		$node->psql('postgres', "SET statement_timeout = $timeout; SELECT qsketch_agg(k) FROM t");
	}
	settled($node, "$name, statement_timeout");
	$node->stop;
}
done_testing();
