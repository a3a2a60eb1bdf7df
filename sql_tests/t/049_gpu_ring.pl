# Backends send batches of keys faster than the GPU worker serves them.  The worker serves several batches of
# a process together.  Results and errors are the same as for batches that are served one by one.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $module = "$ENV{TESTDIR}/gpu_send.so";
plan skip_all => 'no test module' unless -f $module;

my $node = gpu_node('ring', 'jit = off');
$node->safe_psql('postgres', "CREATE FUNCTION gpu_send(seed qsketch, keys bigint[], times int) RETURNS qsketch LANGUAGE c STRICT AS '$module'");
$node->safe_psql('postgres', q{
	CREATE TABLE keys AS SELECT array_agg((i * 7919::bigint) % 30011) AS k FROM generate_series(1, 100000) AS i;
	CREATE TABLE seeds AS SELECT s AS structure, qsketch_agg(i, qsketch_new(s, '64kB')) AS seed
		FROM unnest('{thread,warp,sub_warp,multilevel}'::text[]) AS s, generate_series(1::bigint, 10) AS i GROUP BY s;
	CREATE TABLE answers (structure text, sum text)});
my $sum = 'SELECT structure, md5(gpu_send(seed, k, 30)::text) FROM seeds, keys';
$node->safe_psql('postgres', "SET qsketch.device = cpu; INSERT INTO answers $sum");
my $wrong = "SELECT count(*) FROM answers JOIN ($sum) AS s (structure, now) USING (structure) WHERE now <> sum";

my $before = gpu_count($node, 'keys');
is($node->safe_psql('postgres', $wrong), '0', 'one session');
cmp_ok(gpu_count($node, 'keys') - $before, '>=', 4 * 29 * 100000, 'whose keys went to the GPU');
my @sessions = map { $node->background_psql('postgres') } 1 .. 4;
$_->query_until(qr/started/, "\\echo started\n$wrong;\n") foreach @sessions;
is($_->query_safe('SELECT 1'), "0\n1", 'several at a time') foreach @sessions;
$_->quit foreach @sessions;
settled($node, 'several at a time');

# keys with weights: half as many of them fill a slot
my $weighted = q{SELECT md5(qsketch_agg(k, w, qsketch_new('multilevel', '64kB'))::text) FROM rows};
$node->safe_psql('postgres', q{CREATE TABLE rows AS SELECT i % 5003::bigint AS k, 1 + i % 7 AS w FROM generate_series(1, 600000) AS i});
is($node->safe_psql('postgres', $weighted), $node->safe_psql('postgres', "SET qsketch.device = cpu; $weighted"), 'weights');

# the batch with which the total exceeds its limit receives the error
for my $device ('cpu', 'gpu')
{
	my ($rc, $out, $err) = $node->psql('postgres', qq{SET qsketch.device = $device;
		SELECT qsketch_total(qsketch_agg(k, 9223372036854775807 / 300000, qsketch_new('multilevel', '64kB'))) FROM rows});
	like($err, qr/ERROR:  .*(total|overflow|out of range)/, "$device: a total that is too large");
}

# a sketch has to move to main memory in the middle
set_worker($node, 'qsketch.gpu_memory_limit', '1');
is($node->safe_psql('postgres', $wrong), '0', 'little device memory');
set_fault($node, 'spill');
is($node->safe_psql('postgres', $wrong), '0', 'no memory to grow');
set_fault($node, 'none');
set_worker($node, 'qsketch.gpu_memory_limit', '0');

# cancelled between batches, and a worker that fails
my ($ended, $odd) = (0, 0);
for my $turn (1 .. 6)
{
	my ($rc, $out, $err) = $node->psql('postgres', 'SET statement_timeout = ' . 5 * $turn . "; $wrong");
	$ended++ if $err =~ /canceling statement/;
	$odd++ if $rc == 0 ? $out ne '0' : $err !~ /canceling statement/;
}
is($odd, 0, 'cancelled or right');
cmp_ok($ended, '>', 0, 'some were cancelled');
settled($node, 'cancelled');
set_fault($node, 'error');
my ($rc, $out, $err) = $node->psql('postgres', $wrong);
like($err, qr/GPU operation failed/, 'a failure of the device is told');
set_fault($node, 'none');
wait_for_worker($node);
is($node->safe_psql('postgres', $wrong), '0', 'with another worker');
settled($node, 'the end');
$node->stop;
done_testing();
