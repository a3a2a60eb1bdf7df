# Cached columns on several devices: the parts of one table are spread over them, and all results are the same as
# with one device.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('column_devices', "qsketch.gpu_devices = '0,1,2'", 'qsketch.device = auto', 'qsketch.gpu_min_elements = 100',
	'max_parallel_workers_per_gather = 0', 'jit = off', 'fsync = off');
my $devices = $node->safe_psql('postgres', 'SELECT count(*) FROM qsketch_gpu()');

sub pairs_of
{
	my ($sets) = @_;
	return "SELECT count(*) || coalesce(md5(string_agg(x::text, ',')), '') FROM (SELECT * FROM qsets_pairs(($sets), 2)) AS x";
}

# Check that cached columns and the ordinary plan give the same answers.
sub same
{
	my ($name, $settings, @queries) = @_;
	my $wanted = answers($node, ORDINARY, @queries);

	is(scalar(@$wanted), scalar(@queries), "$name: there are answers");
	is_deeply(answers($node, "$settings;", @queries), $wanted, "$name: the same");
}

# Two chunks of the table, with three rows on a page: each chunk has its own page of the
# visibility map.
$node->safe_psql('postgres', q{
	CREATE TABLE t (k bigint, n int, w text, b int, id int, pad text);
	ALTER TABLE t ALTER pad SET STORAGE PLAIN;
	INSERT INTO t SELECT i * 7919 % 50000, CASE WHEN i % 5 > 0 THEN i % 30 END, 'w' || i % 3000, i / 12000, i, repeat('x', 2500) FROM generate_series(1, 100000) AS i;
	VACUUM ANALYZE t});
my $pages = $node->safe_psql('postgres', q{SELECT relpages FROM pg_class WHERE relname = 't'});
cmp_ok($pages, '>', 32672, 'the table has two parts');

# a small table is on one device, with all columns, and the next one on another
my $with_memory = 'SELECT count(*) FROM qsketch_gpu() WHERE memory_used > 0';
$node->safe_psql('postgres', 'CREATE TABLE next AS SELECT i AS k FROM generate_series(1, 1000) AS i; VACUUM next');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('t', '{k}'); SELECT qsketch_gpu_load('t', '{n}')});
is($node->safe_psql('postgres', $with_memory), 1, 'a table is on one device');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('next', '{k}')});
is($node->safe_psql('postgres', $with_memory), $devices < 2 ? 1 : 2, 'another table goes to another device');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_unload('t'); SELECT qsketch_gpu_unload('next'); DROP TABLE next});
$node->poll_query_until('postgres', "SELECT ($with_memory) = 0") or die 'memory was not freed';
$node->safe_psql('postgres', q{
	CREATE TABLE days (k int, d int) PARTITION BY LIST (d);
	CREATE TABLE day_1 PARTITION OF days FOR VALUES IN (1);
	CREATE TABLE day_2 PARTITION OF days FOR VALUES IN (2) PARTITION BY LIST (k);
	CREATE TABLE day_2_0 PARTITION OF day_2 DEFAULT;
	INSERT INTO days SELECT i, 1 + i % 2 FROM generate_series(1, 1000) AS i;
	VACUUM days});
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('day_1', '{k}'); SELECT qsketch_gpu_load('day_2_0', '{k,d}')});
is($node->safe_psql('postgres', $with_memory), 1, 'partitions of a small table are on one device');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_unload('day_1'); SELECT qsketch_gpu_unload('day_2_0'); DROP TABLE days});
$node->poll_query_until('postgres', "SELECT ($with_memory) = 0") or die 'memory was not freed';
is(load_spread($node, 't', '{k,n,w,b,id}'), $pages, 'all pages are loaded');
SKIP:
{
	skip 'one GPU', 1 if $devices < 2;
	is($node->safe_psql('postgres', $with_memory), 2, 'the parts are on two devices');
}

# small tables are on different devices, whatever the parts of a large one take there, also when they were loaded again
my $memory = q{SELECT string_agg(memory_used::text, ' ' ORDER BY device) FROM qsketch_gpu()};
my @before = split ' ', $node->safe_psql('postgres', $memory);
for my $small (map { "small_$_" } 1 .. $devices)
{
	$node->safe_psql('postgres', "CREATE TABLE $small AS SELECT i AS k, i AS n FROM generate_series(1, 1000) AS i");
	$node->safe_psql('postgres', "VACUUM $small; SELECT qsketch_gpu_load('$small', '{k,n}'); UPDATE $small SET k = k + 1") foreach 1 .. 2;
}
my @after = split ' ', $node->safe_psql('postgres', $memory);
is(scalar(@after), $devices, 'memory of each device');
is(scalar(grep { $after[$_] == $before[$_] } 0 .. $#after), 0, 'each device has got a small table');
$node->safe_psql('postgres', "SELECT qsketch_gpu_unload('small_$_'); DROP TABLE small_$_") foreach 1 .. $devices;
$node->poll_query_until('postgres', "SELECT ($memory) = '@before'") or die 'memory was not freed';

my @sketches = ((map { "SELECT md5(qsketch_agg(k, qsketch_new('$_', '32kB'))::text) FROM t" } qw(thread warp half_warp sub_warp multilevel)),
	'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(w)::text), md5(qsketch_agg(n)::text) FROM t',
	'SELECT md5(qsketch_agg(k) FILTER (WHERE b < 3)::text), md5(qsketch_agg(w)::text) FROM t WHERE n < 20',
	'SELECT md5(qsketch_agg(k)::text) FROM t WHERE id > 98500', 'SELECT count(*), count(n), count(*) FILTER (WHERE b < 3), md5(qsketch_agg(k)::text) FROM t WHERE id > 7',
	'SELECT md5(qsketch_agg(k) FILTER (WHERE b < 2)::text), md5(qsketch_agg(k) FILTER (WHERE b >= 8)::text) FROM t');
my $groups = q{SELECT string_agg(b || md5(q::text) || md5(r::text), ',' ORDER BY b) FROM (SELECT b, qsketch_agg(k), qsketch_agg(id, qsketch_new('sub_warp', '64kB')) FROM t GROUP BY b) AS x (b, q, r)};
my @filters = ('SELECT md5(qfilter_agg(k, qfilter_new_bloom(60000))::text), md5(qfilter_agg(w, qfilter_new_bloom(300))::text) FROM t',
	'SELECT md5(qfilter_agg(k, qfilter_new_bloom(60000)) FILTER (WHERE n IS NULL)::text), md5(qsketch_agg(k)::text) FROM t WHERE b <> 4');
my @sets = ('SELECT md5(qsets_agg(b, n)::text), md5(qsets_agg(n, k)::text) FROM t', pairs_of('SELECT qsets_agg(n, k) FROM t'),
	pairs_of('SELECT qsets_agg(b, k) FILTER (WHERE id > 500) FROM t WHERE n < 25'));
my $exact = q{SELECT string_agg(key || ':' || count, ',') FROM qtop_exact('t', 'k', 50)};
my $exactly = q{SELECT string_agg(k || ':' || c, ',') FROM (SELECT k, count(*) AS c FROM t GROUP BY k ORDER BY 2 DESC, 1 LIMIT 50) AS x};

sub all_the_same
{
	my ($name, $settings) = @_;

	same("$name: sketches", $settings, @sketches);
	same("$name: groups", $settings, $groups);
	same("$name: filters", $settings, @filters);
	same("$name: sets", $settings, @sets);
	is($node->safe_psql('postgres', "$settings; $exact"), $node->safe_psql('postgres', $exactly), "$name: exact counts");
}

sub reads
{
	my ($name, $read) = @_;

	is((copied_pages($node, $_))[1], $read, "$name: pages read") foreach 'SELECT qsketch_agg(k) FROM t', 'SELECT qsketch_agg(k) FROM t WHERE n < 9', 'SELECT b, qsketch_agg(k) FROM t GROUP BY b',
		'SELECT qfilter_agg(k, qfilter_new_bloom(60000)) FROM t', 'SELECT qsets_agg(n, k) FROM t';
	like(($node->psql('postgres', "SET client_min_messages = debug1; $exact"))[2], qr/from cached columns, and read $read/, "$name: exact counts");
}

all_the_same('all pages are true', '');
reads('all pages are true', 0);
$node->safe_psql('postgres', 'UPDATE t SET k = k + 1 WHERE id IN (1, 5000, 50000, 98010, 98020, 99990) OR id BETWEEN 20000 AND 20300');
my (undef, $read) = copied_pages($node, 'SELECT qsketch_agg(k) FROM t');
cmp_ok($read, '>', 100, 'some pages have changed');
all_the_same('changed', '');
reads('changed', $read);
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET cpu_operator_cost = 1';
like($node->safe_psql('postgres', "$parallel; EXPLAIN (COSTS off) SELECT qsketch_agg(k) FROM t"), qr/Gather/, 'a parallel plan');
all_the_same('parallel', $parallel);
all_the_same('on the GPU', 'SET qsketch.device = gpu');

# ---- partitions on all devices, and sketches that are merged, looked up and kept ----

make_partitions($node);
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load(p, '{k,n}') FROM unnest('{p1,p2,p3}'::regclass[]) AS p});
same('partitions', '', 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n)::text) FROM parts', 'SELECT md5(qfilter_agg(k, qfilter_new_bloom(9000))::text) FROM parts');
same('partitions, parallel', $parallel, 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n)::text) FROM parts', 'SELECT md5(qfilter_agg(k, qfilter_new_bloom(9000))::text) FROM parts');
same('merged', '', 'SELECT md5((a.q || b.q)::text) FROM (SELECT qsketch_agg(k) AS q FROM t) AS a, (SELECT qsketch_agg(k) AS q FROM parts) AS b',
	q{SELECT md5(qsketch_merge_agg(qsketch_fold(q, '256kB'))::text) FROM (SELECT qsketch_agg(k) AS q FROM t UNION ALL SELECT qsketch_agg(k, qsketch_new('multilevel', '256kB')) FROM t) AS x});
same('looked up', '', 'SELECT md5(string_agg(e::text, \',\')) FROM (SELECT unnest(qsketch_estimate(q, ARRAY(SELECT generate_series(1, 2000)))) AS e FROM (SELECT qsketch_agg(k) AS q FROM t) AS x) AS y');
settled($node, 'merged');

# ---- exact counts: each device has a range of the keys of all ----

# a and b have the same keys on three devices; c has all keys of a device in one range, ties, the ends of
# the type, and a device with one key; d has one device with no key, and one with few
$node->safe_psql('postgres', q{
	CREATE TABLE shares (a bigint, b int, c bigint, d bigint, p int) PARTITION BY LIST (p);
	CREATE TABLE share_1 PARTITION OF shares FOR VALUES IN (1);
	CREATE TABLE share_2 PARTITION OF shares FOR VALUES IN (2);
	CREATE TABLE share_3 PARTITION OF shares FOR VALUES IN (3);
	INSERT INTO shares SELECT (i - 30000) * 1000003::bigint, i % 7, CASE p WHEN 1 THEN -i WHEN 2 THEN i / 2 ELSE 5 END,
			CASE p WHEN 1 THEN i % 11 WHEN 3 THEN i * i::bigint END, p
		FROM generate_series(1, 60000) AS i, generate_series(1, 3) AS p;
	INSERT INTO shares (c, p) VALUES (-9223372036854775808, 2), (9223372036854775807, 2), (9223372036854775807, 1), (9223372036854775807, 3);
	VACUUM shares});
$node->safe_psql('postgres', q{SELECT qsketch_gpu_unload(p) FROM unnest('{t,p1,p2,p3}'::regclass[]) AS p});
$node->poll_query_until('postgres', "SELECT ($with_memory) = 0") or die 'memory was not freed';
load_spread($node, "share_$_", '{a,b,c,d}') foreach 1 .. 3;
is($node->safe_psql('postgres', $with_memory), min($devices, 3), 'each partition is on a device of its own');

sub order_the_same
{
	my ($name, $table, @columns) = @_;

	for my $column (@columns)
	{
		for my $most (1, 3, 20000, 100000)
		{
			my $order = "SELECT count(*) || coalesce(md5(string_agg(key || ':' || count, ',')), '')";

			is($node->safe_psql('postgres', "$order FROM qtop_exact('$table', '$column', $most)"),
				$node->safe_psql('postgres', "$order FROM (SELECT $column AS key, count(*) FROM $table WHERE $column IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT $most) AS x"),
				"$name: $most of column $column");
		}
		like(($node->psql('postgres', "SET client_min_messages = debug1; SELECT count(*) FROM qtop_exact('$table', '$column', 100)"))[2],
			qr/pages from cached columns/, "$name: column $column is counted by GPUs");
	}
}

order_the_same('shares', 'shares', qw(a b c d));
$node->safe_psql('postgres', 'UPDATE shares SET c = 7, d = -d WHERE a % 1000 = 0');
order_the_same('shares, some pages read', 'shares', qw(a b c d));
$node->safe_psql('postgres', 'VACUUM shares');
load_spread($node, "share_$_", '{a}') foreach 1 .. 3;
SKIP:
{
	skip 'fewer than three GPUs', 1 if $devices < 3;
	# a third of the keys is 20000: no device has more than are asked for, so all keys are read
	my $before = gpu_count($node, 'bytes_out');

	$node->safe_psql('postgres', q{SELECT count(*) FROM qtop_exact('shares', 'a', 24000)});
	is(gpu_count($node, 'bytes_out') - $before, 16 * 60000, 'ranges have about as many keys');
}
$node->safe_psql('postgres', 'DROP TABLE shares');
# nearly all keys on one device, and none of them twice: a list and a range of half as many fit beside each other
$node->safe_psql('postgres', q{
	CREATE TABLE lopsided (k int, p int) PARTITION BY LIST (p);
	CREATE TABLE lopsided_1 PARTITION OF lopsided FOR VALUES IN (1);
	CREATE TABLE lopsided_2 PARTITION OF lopsided FOR VALUES IN (2);
	INSERT INTO lopsided SELECT i, CASE WHEN i % 100 = 0 THEN 2 ELSE 1 END FROM generate_series(1, 60000) AS i;
	VACUUM lopsided});
load_spread($node, "lopsided_$_", '{k}') foreach 1, 2;
order_the_same('lopsided', 'lopsided', 'k');
$node->safe_psql('postgres', 'DROP TABLE lopsided');
load_spread($node, 't', '{k,n,w,b,id}');
settled($node, 'shares');

# ---- memory, cancel, and a worker that fails ----

for my $limit (1, 3)
{
	set_worker($node, 'qsketch.gpu_memory_limit', $limit);
	all_the_same("a limit of $limit MB", '');
	set_worker($node, 'qsketch.gpu_memory_limit', '0');
	load_spread($node, 't', '{k,n,w,b,id}');
}
# what a GPU has made, which has no room beside the sketch on another one
set_worker($node, 'qsketch.gpu_memory_limit', 10);
$node->safe_psql('postgres', q{SELECT qsketch_gpu_unload('t')});
cmp_ok(load_spread($node, 't', '{k}'), '>', 32672, 'one column is loaded');
same('no room to merge', '', q{SELECT md5(qsketch_agg(k, qsketch_new('sub_warp', '6MB'))::text) FROM t}, q{SELECT md5(qsketch_agg(k, qsketch_new('multilevel', '6MB'))::text) FROM t});

# sketches of other sessions, which leave no room on two GPUs, but on that of the larger part
SKIP:
{
	skip 'fewer than three GPUs', 5 if $devices < 3;
	my $holder = $node->background_psql('postgres');
	my @occupants = map { $node->background_psql('postgres') } 1, 2;
	my $waiting = q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted};

	$node->safe_psql('postgres', q{SELECT qsketch_gpu_unload('t')});
	load_spread($node, 't', '{k}');
	$holder->query_safe('SELECT pg_advisory_lock(1)');
	for my $count (1, 2)
	{
		$occupants[$count - 1]->query_until(qr/started/, q{\echo started
			SET qsketch.device = gpu; SELECT qsketch_total(qsketch_agg(CASE WHEN i <= 100000 THEN i WHEN pg_advisory_lock_shared(1)::text = '' THEN i END, qsketch_new('sub_warp', '8MB')))
				FROM generate_series(1, 100001) AS i;
			});
		ok($node->poll_query_until('postgres', "SELECT ($waiting) = $count"), "$count sketches of other sessions");
	}
	same('no room on some GPUs', '', q{SELECT md5(qsketch_agg(k, qsketch_new('sub_warp', '4MB'))::text) FROM t});
	load_spread($node, 't', '{k}');
	same('no room for a filter on some GPUs', '', 'SELECT md5(qfilter_agg(k, qfilter_new_bloom(3000000))::text) FROM t');
	$holder->query_safe('SELECT pg_advisory_unlock(1)');
	is(join(',', map { $_->query_safe('SELECT 1') } @occupants), "100001\n1,100001\n1", 'the other sketches are right');
	$_->quit foreach $holder, @occupants;
}
set_worker($node, 'qsketch.gpu_memory_limit', '0');
load_spread($node, 't', '{k,n,w,b,id}');
for my $fault ('memory', 'spill')
{
	set_fault($node, $fault);
	all_the_same("fault $fault", '');
}
set_fault($node, 'none');
# Since the pages changed, t has been loaded again.  From PostgreSQL 19 on a query that reads a changed
# page may mark it as all-visible, and such a page is loaded.
my $all_visible = $node->safe_psql('postgres', 'SHOW server_version_num') >= 190000;
my (undef, $later) = copied_pages($node, 'SELECT qsketch_agg(k) FROM t');
cmp_ok($later, $all_visible ? '<=' : '==', $read, 'loaded again: pages read');
reads('after that', $later);
settled($node, 'memory');
my $right = $node->safe_psql('postgres', ORDINARY . $sketches[5]);
set_fault($node, 'slow');
cancelled_or_right($node, $sketches[5], $right);
set_fault($node, 'none');
settled($node, 'cancelled');
set_fault($node, 'error');
my ($rc, $out, $err) = $node->psql('postgres', $sketches[5]);
like($err, qr/GPU operation failed/, 'a query that uses a cached column fails with the device');
set_fault($node, 'none');
wait_for_worker($node);
$node->safe_psql('postgres', 'VACUUM t');
load_spread($node, 't', '{k,n,w,b,id}');
all_the_same('loaded anew', '');
reads('loaded anew', 0);
settled($node, 'the end');
$node->stop;
done_testing();
