# A device without memory: nothing fails, and no keys are lost.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

# one device, also on hosts with several, because the test fills its memory
my $node = gpu_node('memory', 'max_parallel_workers_per_gather = 0', "qsketch.gpu_devices = '0'");
fill($node, 200_000);

# no memory for new sketches
set_fault($node, 'memory');
is_right($node, 'no memory for sketches');
cmp_ok(gpu_count($node, 'fallbacks'), '>=', 3, 'fallbacks are counted');
is(gpu_count($node, 'batches'), 0, 'and all was counted on the CPU');

# no memory for sketches to grow: sketches move to main memory, with their keys
set_fault($node, 'spill');
my $before = gpu_count($node, 'fallbacks');
is_right($node, 'no memory to grow');
cmp_ok(gpu_count($node, 'batches'), '>', 0, 'sketches were on the device');
cmp_ok(gpu_count($node, 'fallbacks'), '>', $before, 'and came back');
settled($node, 'no memory to grow');
set_fault($node, 'none');

# sketches of parallel workers that moved to main memory are merged, too
set_fault($node, 'spill');
is($node->safe_psql('postgres', q{
	SET max_parallel_workers_per_gather = 3;
	SELECT qsketch_agg(k, qsketch_new('sub_warp', '256kB')) =
		(SELECT sk FROM correct WHERE structure = 'sub_warp') FROM t}), 't',
	'no memory to grow: parallel workers');
settled($node, 'no memory to grow: parallel workers');
set_fault($node, 'none');

# more sketches than memory: some are on the device, and some on the host
set_worker($node, 'qsketch.gpu_memory_limit', "'4MB'");
$before = gpu_count($node, 'fallbacks');
is($node->safe_psql('postgres', q{
	SET work_mem = '1GB';
	SELECT count(*), sum(qsketch_total(sk))
	FROM (SELECT k % 20, qsketch_agg(k, qsketch_new('sub_warp', '256kB')) AS sk
		  FROM t GROUP BY 1) AS g}), '20|200000', 'more sketches than memory: totals are right');
cmp_ok(gpu_count($node, 'fallbacks'), '>', $before, 'more sketches than memory: some stayed here');
settled($node, 'more sketches than memory');

# cached sketches are freed for other cached sketches and for new sketches
$node->safe_psql('postgres', q{
	SET qsketch.device = cpu;
	CREATE TABLE many AS
		SELECT g, qsketch_agg(k + g, qsketch_new('sub_warp', '256kB')) AS sk
		FROM t, generate_series(1, 30) AS g GROUP BY g});
for my $turn (1, 2)
{
	is($node->safe_psql('postgres', q{
		SELECT bool_and(qsketch_estimate(sk, ARRAY[5::bigint + g]) = ARRAY[qsketch_estimate(sk, 5::bigint + g)])
		FROM many}), 't', "copies beyond the memory, turn $turn: estimates are right");
}
cmp_ok(gpu_count($node, 'cached_now'), '<=', 16, 'copies stay within the memory');
cmp_ok(gpu_count($node, 'cached_now'), '>=', 8, 'and use it');
is_right($node, 'memory full of copies');

# cached sketches stay within the size of the cache, too
set_worker($node, 'qsketch.gpu_cache_size', "'1MB'");
$node->safe_psql('postgres', 'SELECT qsketch_estimate(sk, ARRAY[5::bigint]) FROM many');
ok($node->poll_query_until('postgres',
	'SELECT cached_bytes <= 1024 * 1024 AND cached_now > 0 FROM qsketch_stat_gpu'),
	'copies stay within qsketch.gpu_cache_size');

# a cached sketch is used again, without another upload
$node->safe_psql('postgres', 'SELECT qsketch_estimate(sk, ARRAY[5::bigint]) FROM many WHERE g = 7');
my $bytes = gpu_count($node, 'bytes_in');
my $hits = gpu_count($node, 'cache_hits');
$node->safe_psql('postgres', 'SELECT qsketch_estimate(sk, ARRAY[5::bigint]) FROM many WHERE g = 7');
is(gpu_count($node, 'cache_hits'), $hits + 1, 'a repeated lookup finds the copy');
is(gpu_count($node, 'bytes_in'), $bytes + 8, 'and sends nothing but the key');

# another value at the same toast pointer is not mistaken for the cached sketch
$node->safe_psql('postgres', q{
	UPDATE many SET sk = (SELECT sk FROM many WHERE g = 8) WHERE g = 7});
is($node->safe_psql('postgres', q{
	SELECT qsketch_estimate(a.sk, ARRAY[5::bigint, 8]) = qsketch_estimate(b.sk, ARRAY[5::bigint, 8])
	FROM many AS a, many AS b WHERE a.g = 7 AND b.g = 8}), 't', 'an updated value is loaded anew');

$node->stop;
done_testing();
