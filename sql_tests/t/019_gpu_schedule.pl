# Requests to the GPU worker do not delay requests of other sessions.  The worker serves the longest possible
# requests in pieces, and other requests between the pieces.  A request ends with its query.  No role can use
# all slots or handles.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;
use Time::HiRes qw(time);

my $node = gpu_node('turns', 'max_connections = 40', 'qsketch.gpu_buffer_size = 16MB', 'max_parallel_workers_per_gather = 0');
$node->safe_psql('postgres', q{
	CREATE ROLE greedy LOGIN;
	CREATE ROLE modest LOGIN;
	SET qsketch.device = cpu;
	CREATE TABLE dear AS SELECT qfilter_agg(i, qfilter_new(1000000, 1000, 0.9, k => 65536)) AS f
		FROM generate_series(1, 1000) AS i;
	CREATE TABLE crowd AS SELECT qsets_agg(s, (s * 7919 + e * 104729) % 100000) AS c
		FROM generate_series(1, 6000) AS s, generate_series(1, 500) AS e;
	GRANT SELECT ON ALL TABLES IN SCHEMA public TO greedy, modest;});

# A GPU finishes quickly what takes an emulated GPU long, so a GPU repeats the work.
my $times = ($ENV{QSKETCH_GPU} // 'emulate') eq 'emulate' ? 1 : 1000;

# Long work of each family, with the counter of its progress and the counter's final value.
my %long = (
	'lookup in a filter' => [ 'lookup_keys', 131072 * $times, qq{SELECT sum(e) FROM dear,
		generate_series(1, $times) AS again,
		unnest(qfilter_estimate(f, ARRAY(SELECT generate_series(again, again + 131071)))) AS e} ],
	'copies into a filter' => [ 'keys', 1_000_000, q{SELECT qfilter_fill(qfilter_count_agg(i, 1000::bigint,
		qfilter_new(1000000, 1000, 0.9, k => 65536))) FROM (SELECT generate_series(1, 1000000) AS i) AS s} ],
	'keys into a sketch' => [ 'keys', 100_000_000, q{SELECT qsketch_total(qsketch_agg(i,
		qsketch_new('thread', '64MB', 32))) FROM (SELECT generate_series(1, 100000000) AS i) AS s} ],
	'pairs of sets' => [ undef, undef, qq{SELECT count(*) FROM crowd, generate_series(1, $times) AS again,
		qsets_pairs(c, min_count => 490 + 0 * again, method => 'merge')} ]);
my $small = q{SELECT qsketch_total(qsketch_agg(i, qsketch_new('multilevel', '64kB')))
	FROM generate_series(1, 100000) AS i};

sub start_long
{
	my ($name) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0,
		extra_params => [ '-U', 'greedy' ]);
	my $before = gpu_count($node, 'batches + lookups + set_searches');

	$session->query_until(qr/started/, "\\echo started\n$long{$name}[2];\n");
	ok($node->poll_query_until('postgres',
		"SELECT batches + lookups + set_searches > $before FROM qsketch_stat_gpu"), "$name: has begun");
	return $session;
}

sub is_running
{
	return $node->safe_psql('postgres',
		q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'greedy' AND state = 'active'});
}

sub end_greedy
{
	$node->safe_psql('postgres', q{
		SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'greedy'});
}

# The time of the slowest of some small sketches, each made on the device, in seconds.
sub slowest_small
{
	my ($name) = @_;
	my $created = gpu_count($node, 'values_made');
	my $worst = 0;
	for (1 .. 8)
	{
		my $start = time;
		my ($rc, $out, $err) =
			$node->psql('postgres', $small, extra_params => [ '-U', 'modest' ]);
		my $took = time - $start;

		is($out, '100000', "$name: a small sketch has all keys") or diag($err);
		$worst = $took if $took > $worst;
	}
	cmp_ok(gpu_count($node, 'values_made'), '>=', $created + 8, "$name: they were made on the device");
	return $worst;
}

# Check that the requests of a long query that was ended early have ended, too.
sub has_ended
{
	my ($name, $before) = @_;
	my ($counter, $all) = @{ $long{$name} };
	my $start = time;

	settled($node, $name);
	note(sprintf('%s: settled after %.2f s', $name, time - $start));
	cmp_ok(gpu_count($node, $counter) - $before, '<', $all, "$name: it ended in the middle")
	  if $counter;
	is(is_running(), 0, "$name: its query ended");
}

note(sprintf('alone: %.2f s', slowest_small('alone')));
foreach my $name (sort keys %long)
{
	my $before = gpu_count($node, $long{$name}[0] // 'keys');
	my $session = start_long($name);
	my $worst = slowest_small($name);

	is(is_running(), 1, "$name: and that goes on meanwhile");
	note(sprintf('beside %s: %.2f s', $name, $worst));
	cmp_ok($worst, '<', 10, "$name: nobody waits for all of it");
	end_greedy();
	$session->{run}->finish;
	has_ended($name, $before);

	$before = gpu_count($node, $long{$name}[0] // 'keys');
	my ($rc, $out, $err) = $node->psql('postgres', "SET statement_timeout = 1000; $long{$name}[2]",
		extra_params => [ '-U', 'greedy' ]);
	like($err, qr/statement timeout/, "$name: statement_timeout");
	has_ended($name, $before);
}

# long queries of all families, each in several sessions, run at the same time
{
	my @session = map { start_long($_) } (sort keys %long) x 2;
	my $worst = slowest_small('all at once');

	note(sprintf('beside all at once: %.2f s', $worst));
	is(is_running(), scalar @session, 'all at once: and they go on meanwhile');
	cmp_ok($worst, '<', 30, 'all at once: nobody waits for all of it');
	end_greedy();
	$_->{run}->finish foreach @session;
	settled($node, 'all at once');
}

# a role has more states than handles exist, and other roles still receive
# handles
{
	my $greedy = $node->background_psql('postgres', extra_params => [ '-U', 'greedy' ]);
	my $fallbacks = gpu_count($node, 'fallbacks');

	$greedy->query_safe(q{
		BEGIN;
		SET LOCAL work_mem = '1GB';
		DECLARE c CURSOR FOR SELECT g, qsketch_total(qsketch_agg(i, qsketch_new('sub_warp', '1kB')))
			FROM generate_series(1, 3000) AS g, generate_series(1, 100) AS i GROUP BY g;});
	is($greedy->query_safe('FETCH 1 FROM c') =~ /\|100$/ ? 1 : 0, 1, 'a cursor has a group');
	my $held = gpu_count($node, 'values_now');
	cmp_ok($held, '>', 500, 'entries: one role holds many');
	cmp_ok($held, '<=', 1536, 'but not those that are for others');
	cmp_ok(gpu_count($node, 'fallbacks') - $fallbacks, '>', 1000, 'the rest stayed on the CPU');

	# another session of the role receives few handles, another role receives
	# all that it needs
	my $created = gpu_count($node, 'values_made');
	my ($rc, $out) = $node->psql('postgres', $small, extra_params => [ '-U', 'greedy' ]);
	is($out, '100000', 'entries: another session of the role has a right sketch');
	slowest_small('entries');
	$out = $greedy->query_safe('FETCH ALL FROM c');
	is(scalar(() = $out =~ /\|100$/mg), 2999, 'and all groups of the cursor are right');
	$greedy->query_safe('COMMIT');
	$greedy->quit;
	settled($node, 'entries');
}

# cached sketches, of which there may be more than handles; small ones are kept from
# the second lookup on
$node->safe_psql('postgres', q{
	SET qsketch.device = cpu;
	CREATE TABLE many AS SELECT g, qsketch_agg(i + g, qsketch_new('sub_warp', '1kB')) AS sk
		FROM generate_series(1, 1500) AS g, generate_series(1, 100) AS i GROUP BY g;});
is($node->safe_psql('postgres', q{
	SELECT bool_and((SELECT min(e) FROM unnest(qsketch_estimate(sk, ARRAY[g + 1, g + 100])) AS e) >= 1)
	FROM many, generate_series(1, 2 + 0 * g)}), 't', 'lookups in many stored sketches are right');
cmp_ok(gpu_count($node, 'values_pushed_out'), '>', 400, 'their copies made room for one another');
ok($node->poll_query_until('postgres', 'SELECT cached_now <= 1024 FROM qsketch_stat_gpu'),
	'cached sketches leave handles to others');
slowest_small('beside copies');
settled($node, 'copies');

$node->stop;
done_testing();
