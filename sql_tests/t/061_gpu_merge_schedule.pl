# Large sketches are merged in pieces, on whatever devices they are.  Other requests
# are served between pieces, and the result equals that of one merge.  The test counts
# pieces, and measures no time.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;
use Time::HiRes qw(time);

my $node = gpu_node('merge_turns', "qsketch.gpu_devices = '0,1,2'", 'qsketch.device = auto', 'max_parallel_workers_per_gather = 0',
	'jit = off', 'fsync = off');
my $devices = $node->safe_psql('postgres', 'SELECT count(*) FROM qsketch_gpu()');
my $emulated = ($ENV{QSKETCH_GPU} // 'emulate') eq 'emulate';
# bytes of tables that are merged in a piece
my $piece = ($emulated ? 4 : 32) << 20;

$node->safe_psql('postgres', "CREATE FUNCTION gpu_schedule() RETURNS bigint LANGUAGE c AS '$ENV{TESTDIR}/gpu_schedule.so'");
make_partitions($node);
load_spread($node, $_, '{k}') foreach qw(p1 p2 p3);

# Returns how many pieces of the worker a query takes if the worker has nothing else to do.
sub turns_of
{
	my ($query) = @_;

	return $node->safe_psql('postgres', "SELECT gpu_schedule() AS before \\gset\n$query \\gset\nSELECT gpu_schedule() - :before");
}

sub of_parts
{
	my ($expression, $structure, $megabytes) = @_;

	return "SELECT $expression AS answer FROM (SELECT qsketch_agg(k, qsketch_new('$structure', '${megabytes}MB')) AS q FROM parts OFFSET 0) AS s";
}

# Replicas of sketches of two sizes, on several devices: the larger ones take pieces by their size.
SKIP:
{
	skip 'one GPU', 5 if $devices < 2;
	my $parts = $node->safe_psql('postgres', 'SELECT count(*) - 1 FROM qsketch_gpu() WHERE memory_used > 0');

	cmp_ok($parts, '>', 0, 'the partitions are on several devices');
	for my $structure ('sub_warp', 'multilevel', 'warp', 'thread')
	{
		my ($small, $large) = (1, 64 * $piece >> 22);
		my $query = of_parts('qsketch_total(q)', $structure, $large);
		my $turns = turns_of($query) - turns_of(of_parts('qsketch_total(q)', $structure, $small));

		cmp_ok($turns, '>=', 15 * $parts, "$structure: parts of $large MB are merged in pieces");
	}
}

# The same bytes, of all structures, where a sketch has several pieces.
sub same
{
	my ($name, $settings, @queries) = @_;
	my $wanted = answers($node, ORDINARY, @queries);

	is(scalar(@$wanted), scalar(@queries), "$name: there are answers");
	is_deeply(answers($node, "$settings;", @queries), $wanted, "$name: the same");
}

my $megabytes = $emulated ? 11 : 80;
my @parts = map { of_parts("md5(q::bytea)", $_, $megabytes) } qw(thread warp half_warp sub_warp multilevel);
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET cpu_operator_cost = 1';
same('parts', '', @parts);
same('filters', '', map { "SELECT md5(qfilter_agg(k, qfilter_new_bloom($_))::bytea) FROM parts" } 10_000, $emulated ? 10_000_000 : 70_000_000);
same('parts, with keys of other pages', '', map { s/FROM parts/FROM (SELECT k FROM parts UNION ALL SELECT generate_series(1, 5000)) AS p/r } @parts);
same('parallel', "$parallel; SET qsketch.device = gpu", @parts);

# sketches of one statement, and of different sizes, which are refused in both orders
my $several = sub {
	my ($structure, @sizes) = @_;

	return 'SELECT md5(qsketch_merge_agg(q)::bytea) FROM (' . join(' UNION ALL ', map { "SELECT qsketch_agg(k * $_, qsketch_new('$structure', '${_}MB')) AS q FROM parts" } @sizes) . ') AS s';
};
for my $structure ('sub_warp', 'multilevel', 'thread')
{
	for my $sizes ([ 8, 16 ], [ 16, 8, 32 ])
	{
		my ($status, undef, $error) = $node->psql('postgres', 'SET qsketch.device = gpu; ' . $several->($structure, @$sizes));

		is($status, 3, "$structure of @$sizes MB");
		like($error, qr/sketches differ: size \d+[kM]B and \d+[kM]B/, 'the error names both sizes');
	}
	same("$structure, several", 'SET qsketch.device = gpu', $several->($structure, 8, 8, 8));
}

# wide counters, and counters that become wide by merging
same('wide', 'SET qsketch.device = gpu', map { "SELECT md5(qsketch_merge_agg(q)::bytea) FROM (SELECT qsketch_agg(k, 100000 * n::bigint, qsketch_new('$_', '8MB')) AS q FROM parts GROUP BY n / 10000) AS s" }
	'sub_warp', 'multilevel', 'thread');
settled($node, 'merged');

# devices with free memory for the sketch, and with little or none for pieces of other
# sketches
for my $limit (12, 14, 20, 9)
{
	set_worker($node, 'qsketch.gpu_memory_limit', $limit);
	same("a limit of $limit MB", 'SET qsketch.device = gpu', @parts, $several->('multilevel', 8, 8), $several->('sub_warp', 8, 8));
	settled($node, "a limit of $limit MB");
}
set_worker($node, 'qsketch.gpu_memory_limit', '0');
load_spread($node, $_, '{k}') foreach qw(p1 p2 p3);

# Two sessions of a role merge large sketches again and again.  Making a small sketch at the same time must
# not take long.
{
	my $small = q{SET qsketch.device = gpu; SELECT qsketch_total(qsketch_agg(i, qsketch_new('multilevel', '64kB'))) FROM generate_series(1, 20000) AS i};
	my $running = q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'greedy' AND state = 'active'};
	my $slowest = sub {
		my $worst = 0;
		for (1 .. 8)
		{
			my $start = time;

			is($node->safe_psql('postgres', $small), '20000', 'a small sketch');
			$worst = time - $start if time - $start > $worst;
		}
		return sprintf('%.2f s', $worst);
	};

	$node->safe_psql('postgres', 'CREATE ROLE greedy LOGIN; GRANT SELECT ON parts TO greedy');
	note('the slowest of 8 small sketches, alone: ' . $slowest->());
	my $merges = gpu_count($node, 'values_made');
	my @greedy = map { $node->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'greedy' ]) } 1, 2;

	$_->query_until(qr/started/, "\\echo started\n" . (of_parts('qsketch_total(q)', 'sub_warp', 256) . ";\n") x 200) foreach @greedy;
	ok($node->poll_query_until('postgres', "SELECT values_made >= $merges + 4 FROM qsketch_stat_gpu"), 'large sketches are merged');
	note('beside large sketches: ' . $slowest->());
	ok($node->poll_query_until('postgres', $running, '2'), 'and go on meanwhile');
	$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'greedy'});
	$_->{run}->finish foreach @greedy;
	settled($node, 'large sketches');
}

# Queries that end while their sketches are merged leave nothing.
set_fault($node, 'slow');
my $query = of_parts('qsketch_total(q)', 'multilevel', $megabytes);
cancelled_or_right($node, $query, '30000');
set_fault($node, 'none');
settled($node, 'cancelled');
is($node->safe_psql('postgres', $query), '30000', 'a later one is right');

$node->stop;
done_testing();
