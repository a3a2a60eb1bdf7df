# Pairs of sets through the GPU worker, beyond one search on one device: several devices, collections that are
# kept on a device, limits of memory, a worker that fails, long searches at the same time as other requests,
# and the output of EXPLAIN and views.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('devices', "qsketch.gpu_devices = '0,1,2'", 'jit = off', 'max_parallel_workers_per_gather = 0');
my $devices = $node->safe_psql('postgres', 'SELECT count(*) FROM qsketch_gpu()');
my $split = 'SET qsketch.gpu_split_time = 0';

$node->safe_psql('postgres', q{
	SET qsketch.device = cpu;
	CREATE TABLE item AS
		SELECT s, (hashint8(s * 1000 + i) & 2147483647) % (10 + s % 500) AS e
		FROM generate_series(1::bigint, 600) AS s, generate_series(1, 40) AS i;
	CREATE TABLE kept AS SELECT qsets_agg(s, e) AS c, qsets_agg(s, e) FILTER (WHERE s > 400) AS d FROM item;
	CREATE TABLE few AS SELECT qsets_agg(s, e) AS c FROM item WHERE s < 3;
	CREATE TABLE large AS SELECT qsets_agg(s, e) AS c
		FROM generate_series(1, 2000) AS s, LATERAL (SELECT (s * 7 + i * i) % 3000 AS e FROM generate_series(1, 250) AS i) AS x;
	CREATE TABLE unlike AS SELECT qsets_agg(s, hashint8(s * 1000 + i)) AS c
		FROM generate_series(1::bigint, 2000) AS s, generate_series(1, 200) AS i;});

sub on_cpu { return $node->safe_psql('postgres', "SET qsketch.device = cpu; $_[0]"); }

# ---- what EXPLAIN and views show ----

is($node->safe_psql('postgres', 'SELECT DISTINCT device, reason, workers FROM kept, qsets_pairs_plan(c)'),
	'gpu|qsketch.device is gpu|0', 'the plan: a GPU is asked for');
like(on_cpu('SELECT DISTINCT device, reason FROM kept, qsets_pairs_plan(c)'),
	qr/^cpu\|qsketch.device is cpu$/, 'the plan: it is not');
like($node->safe_psql('postgres', 'SET qsketch.device = auto; SELECT DISTINCT device, reason FROM few, qsets_pairs_plan(c)'),
	qr/^cpu\|\d+ elements, qsketch.gpu_min_elements is 20000$/, 'the plan: too few elements');
like($node->safe_psql('postgres', 'SET qsketch.device = auto; SET qsketch.gpu_min_elements = 5; SELECT DISTINCT device, reason FROM few, qsets_pairs_plan(c)'),
	qr/^gpu\|\d+ elements, qsketch.gpu_min_elements is 5$/, 'the plan: enough');
like($node->safe_psql('postgres', 'SET qsketch.device = auto; EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT p.* FROM few, qsets_pairs(c) AS p'),
	qr/Device: cpu\s+Device Reason: \d+ elements, qsketch.gpu_min_elements is 20000/, 'EXPLAIN says why');
like($node->safe_psql('postgres', 'EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT p.* FROM qsets_pairs((SELECT qsets_merge(c, c) FROM few)) AS p'),
	qr/Device: gpu\s+Device Reason: qsketch.device is gpu/, 'also of what was sent there');
like($node->safe_psql('postgres', q{EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT p.* FROM few, qsets_nearest(c, 1, 0, 4, order_by => 'overlap') AS p}),
	qr/Device: cpu\s+Device Reason: a GPU orders pairs only by the Jaccard index/, 'and of another order');

# ---- several devices ----

SKIP:
{
	skip 'there is one GPU', 1 if $devices < 2;
	foreach my $query (
		'qsets_pairs(c)', 'qsets_pairs(c, min_count => 0)', 'qsets_pairs(c, min_count => 20)', 'qsets_pairs(c, min_jaccard => 0.5)',
		'qsets_pairs(c, top => 3)', 'qsets_pairs(c, d, min_count => 10)', 'qsets_pairs(d, c, top => 2)',
		map { "qsets_pairs(c, 20, method => '$_')" } qw(merge hash bitmap index hybrid))
	{
		my $all = "SELECT p.* FROM kept, $query AS p";

		ok($node->safe_psql('postgres', "$split; $all") eq on_cpu($all), "$devices devices: $query");
	}
	like($node->safe_psql('postgres', "$split; EXPLAIN (ANALYZE, COSTS off) SELECT p.* FROM few, qsets_pairs(c) AS p"),
		qr/Device: gpu\s+GPUs: $devices/, 'EXPLAIN says how many, and there may be fewer rows than devices');
	is($node->safe_psql('postgres', "SET qsketch.gpu_split_time = '1h'; EXPLAIN (ANALYZE, COSTS off) SELECT p.* FROM kept, qsets_pairs(c) AS p") =~ /GPUs/,
		'', 'a search that is expected to be short stays on one');
	is($node->safe_psql('postgres', 'SELECT min(values_now) FROM qsketch_gpu()') > 0, 1, 'each keeps a copy');
	settled($node, 'devices');
}

# ---- collections that are kept on a device ----

my $pairs = 'SELECT p.* FROM kept, qsets_pairs(c, min_count => 20) AS p';
my $correct = on_cpu($pairs);

$node->safe_psql('postgres', $pairs);
my ($bytes, $hits) = (gpu_count($node, 'bytes_in'), gpu_count($node, 'cache_hits'));
ok($node->safe_psql('postgres', $pairs) eq $correct, 'kept: the same pairs');
is(gpu_count($node, 'bytes_in'), $bytes, 'kept: nothing was sent');
is(gpu_count($node, 'cache_hits'), $hits + 1, 'kept: it was found');
ok($node->safe_psql('postgres', 'SELECT p.* FROM kept, qsets_pairs(c, top => 2) AS p') eq
	on_cpu('SELECT p.* FROM kept, qsets_pairs(c, top => 2) AS p'), 'kept: another question');

# two searches run at the same time in a kept collection, which must be freed meanwhile
my $both = q{BEGIN;
	DECLARE x CURSOR FOR SELECT qsets_pairs(c) FROM kept; DECLARE y CURSOR FOR SELECT qsets_pairs(c, min_count => 2) FROM kept;
	FETCH 20000 FROM x; FETCH 20000 FROM y; FETCH 20000 FROM x;};
my $rest = 'FETCH ALL FROM x; FETCH ALL FROM y; COMMIT;';
is($node->safe_psql('postgres', $both . $rest), on_cpu($both . $rest), 'kept: two searches at the same time');
set_worker($node, 'qsketch.gpu_cache_size', 0);
is($node->safe_psql('postgres', "$both SELECT pg_sleep(0.3); $rest"), on_cpu("$both SELECT pg_sleep(0.3); $rest"),
	'kept: gone while it is searched');
ok($node->poll_query_until('postgres', 'SELECT cached_now = 0 AND cached_bytes = 0 FROM qsketch_stat_gpu'), 'kept: none now');
settled($node, 'kept: gone');
set_worker($node, 'qsketch.gpu_cache_size', 'DEFAULT');

# another value at its toast pointer is not mistaken for the kept collection
$node->safe_psql('postgres', $pairs);
$node->safe_psql('postgres', 'SET qsketch.device = cpu; UPDATE kept SET c = (SELECT qsets_agg(s + 1, e) FROM item)');
ok($node->safe_psql('postgres', $pairs) eq on_cpu($pairs), 'kept: another value');
ok(on_cpu($pairs) ne $correct, 'which is another one');

# ---- limits of memory ----

my $count = 'SELECT count(*), sum(common) FROM large, qsets_pairs(c, min_count => 30)';
my $right = on_cpu($count);
foreach my $limit (1, 3)
{
	my $fallbacks = gpu_count($node, 'fallbacks');

	set_worker($node, 'qsketch.gpu_memory_limit', "'${limit}MB'");
	is($node->safe_psql('postgres', $count), $right, "$limit MB: the CPU finds them");
	is(gpu_count($node, 'fallbacks'), $fallbacks + 1, "$limit MB: which is counted");
	like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, VERBOSE, COSTS off) $count"),
		qr/Device: cpu\s+Device Reason: no room for it on the GPU within qsketch.gpu_memory_limit/,
		"$limit MB: EXPLAIN says so");
}
settled($node, 'limits');
set_worker($node, 'qsketch.gpu_memory_limit', 'DEFAULT');
is($node->safe_psql('postgres', $count), $right, 'no limit');

# ---- long searches ----

# a cancelled search that finds no pairs ends soon, and other requests are served meanwhile
my $long = "SELECT count(*) FROM unlike, generate_series(1, 1000) AS again, LATERAL qsets_pairs(c, 150 + 0 * again, method => 'merge')";
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_until(qr/started/, "\\echo started\nSELECT /* long */ count(*) FROM ($long) AS x;\n");
ok($node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity
	WHERE query LIKE '%/* long%' AND wait_event_type = 'Extension' AND pid <> pg_backend_pid()}), 'a long search');
is($node->safe_psql('postgres', $pairs), on_cpu($pairs), 'others are served meanwhile');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%/* long%' AND state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()}),
	1, 'while it goes on');
$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%/* long%' AND pid <> pg_backend_pid()});
ok($node->poll_query_until('postgres', q{
	SELECT count(*) = 0 FROM pg_stat_activity WHERE query LIKE '%/* long%' AND state = 'active' AND pid <> pg_backend_pid()}), 'it is cancelled');
$session->quit;
settled($node, 'long searches');

# ---- a worker that is lost ----

# no pair was returned yet
set_fault($node, 'error');
my ($status, $out, $err) = $node->psql('postgres', "SET qsketch.device = auto; SET qsketch.gpu_min_elements = 0; $count");
is($out, $right, 'lost, auto: the CPU finds them');
like($err, qr/WARNING:  GPU operation failed.*No pair of sets had been returned: the CPU finds them instead/s, 'lost, auto: with a warning');
set_fault($node, 'none');
wait_for_worker($node);

# some pairs were returned
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_until(qr/20000 there/, q{
	BEGIN; SET qsketch.device = auto; SET qsketch.gpu_min_elements = 0;
	DECLARE x CURSOR FOR SELECT qsets_pairs(c) FROM kept;
	MOVE 20000 FROM x;
	\echo 20000 there
});
set_fault($node, 'error');
$session->{stderr} = '';
$session->query_until(qr/tried/, "MOVE ALL FROM x;\n\\echo tried\n");
$session->quit;
set_fault($node, 'none');
like(slurp_file($node->logfile), qr/ERROR:  GPU operation failed.*STATEMENT:  MOVE ALL FROM x/s, 'lost after some were returned: an error');
wait_for_worker($node);
ok($node->safe_psql('postgres', $pairs) eq on_cpu($pairs), 'after that, all is well');
is(gpu_count($node, 'cached_now') >= 1, 1, 'and a copy is kept');
settled($node, 'lost');

$node->stop;
done_testing();
