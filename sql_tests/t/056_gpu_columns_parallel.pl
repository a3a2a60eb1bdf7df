# Cached columns in parallel plans: one process takes the cached keys, and all processes read the other pages.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

# The settings make keys so expensive that a parallel plan is chosen as soon as
# pages have to be read.
my $node = gpu_node('parallel_columns', 'qsketch.device = auto', 'max_parallel_workers_per_gather = 3', 'cpu_operator_cost = 1',
	'max_parallel_workers = 8', 'jit = off', 'qsketch.gpu_min_elements = 100');
my $small = q{qsketch_new('sub_warp', '64kB')};

sub same
{
	my ($name, $query, $settings) = @_;
	my $wanted = $node->safe_psql('postgres', ORDINARY . $query);

	isnt($wanted, '', "$name: there is something");
	is($node->safe_psql('postgres', ($settings // '') . ';' . $query), $wanted, "$name: the same");
}

# Check that the plan is parallel, and that each page is read or taken from cached columns, once.
sub shared_out
{
	my ($name, $query, $table, $settings) = @_;
	my $plan = $node->safe_psql('postgres', ($settings // '') . "; EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off, SUMMARY off) $query");
	my ($copied) = $plan =~ /Pages from Cached Columns: (\d+)/;
	my ($read) = $plan =~ /^ *Pages: (\d+)/m;
	my $all = $node->safe_psql('postgres', "SELECT pg_relation_size('$table') / current_setting('block_size')::int");

	like($plan, qr/Gather.*Parallel Custom Scan \(QSketchScan\)/s, "$name: a parallel plan");
	cmp_ok($copied // 0, '>', 0, "$name: pages from cached columns");
	cmp_ok($read, '>', 0, "$name: pages read");
	is($copied + $read, $all, "$name: each page once");
	unlike($plan, qr/Cached Columns Not Used/, "$name: nothing refused");
	return ($copied, $read);
}

sub is_serial
{
	my ($name, $query) = @_;

	unlike($node->safe_psql('postgres', "EXPLAIN (COSTS off) $query"), qr/Gather/, "$name: a serial plan");
}

$node->safe_psql('postgres', q{
	CREATE TABLE t (k bigint, n int, w text, b int, id int);
	INSERT INTO t SELECT i * 7919 % 50000, CASE WHEN i % 5 > 0 THEN i % 30 END, 'w' || i % 3000, i % 40, i FROM generate_series(1, 60000) AS i;
	VACUUM ANALYZE t;
	SELECT qsketch_gpu_load('t', '{k,n,w,b,id}')});
my $change = 'UPDATE t SET k = k + 1 WHERE id % 2000 BETWEEN 0 AND 60';

# ---- which plan ----

is_serial('all pages are true', 'SELECT qsketch_agg(k) FROM t');
$node->safe_psql('postgres', $change);
my ($copied) = shared_out('some pages have changed', 'SELECT qsketch_agg(k) FROM t', 't');
$node->safe_psql('postgres', 'VACUUM t');
is((copied_pages($node, 'SELECT qsketch_agg(k) FROM t'))[0], $copied, 'vacuumed: the LSNs of pages tell');
my @known = shared_out('then the planner knows', 'SELECT qsketch_agg(k) FROM t', 't');
is($known[0], $copied, 'then the planner knows: as many pages');
$node->safe_psql('postgres', "SELECT qsketch_gpu_load('t', '{k,n,w,b,id}')");
is_serial('loaded again', 'SELECT qsketch_agg(k) FROM t');
$node->safe_psql('postgres', $change);
is_serial('GROUP BY', 'SELECT b, qsketch_agg(k) FROM t GROUP BY b');

# ---- what is counted ----

my %query = (
	sketch => 'qsketch_agg(k)',
	small => "qsketch_agg(k, $small)",
	text => 'qsketch_agg(w)',
	'few keys' => 'qsketch_agg(n)',
	several => "qsketch_agg(k), qsketch_agg(n, $small), qsketch_agg(w), qsketch_agg(b)",
	FILTER => "qsketch_agg(k) FILTER (WHERE b < 7), qsketch_agg(w) FILTER (WHERE n IS NULL), qsketch_agg(k)",
	counts => 'count(*), qsketch_agg(k), count(n), count(n) FILTER (WHERE b < 7)',
	filter => 'qfilter_agg(k, qfilter_new_bloom(60000)), qfilter_agg(w, qfilter_new_bloom(100))',
	both => 'qfilter_agg(k, qfilter_new_bloom(60000)) FILTER (WHERE b > 3), qsketch_agg(k)',
	map { $_ => "qsketch_agg(k, qsketch_new('$_', '32kB'))" } qw(thread warp half_warp sub_warp multilevel));
for my $where ('', ' WHERE b BETWEEN 5 AND 20', ' WHERE n IS NULL', ' WHERE id > 70000')
{
	for my $name (sort keys %query)
	{
		same("$name$where", "SELECT md5(x::text) FROM (SELECT $query{$name} FROM t$where) AS x");
	}
}
shared_out("$_", "SELECT $query{$_} FROM t", 't') foreach 'several', 'FILTER', 'filter', 'counts';
shared_out('WHERE', 'SELECT qsketch_agg(k) FROM t WHERE b BETWEEN 5 AND 20', 't');

# ---- who takes part ----

my $query = 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(w)::text) FROM t WHERE b > 2';
my %settings = (
	'no worker can be started' => 'SET max_parallel_workers = 0',
	'one worker can be started' => 'SET max_parallel_workers = 1',
	'the leader does not take part' => 'SET parallel_leader_participation = off',
	'no worker, and the leader does not take part' => 'SET parallel_leader_participation = off; SET max_parallel_workers = 0');
for my $name (sort keys %settings)
{
	same($name, $query, $settings{$name});
	shared_out($name, 'SELECT qsketch_agg(k) FROM t', 't', $settings{$name});
}
same('sketches on the GPU in all processes', $query, "SET qsketch.device = gpu");
shared_out('sketches on the GPU in all processes', 'SELECT qsketch_agg(k) FROM t', 't', 'SET qsketch.device = gpu');
same('rescans', 'SELECT x, (SELECT md5(qsketch_agg(k)::text) FROM t WHERE b > x) FROM generate_series(1, 4) AS x');
same('rescans of a join', 'SELECT x, md5(s::text) FROM generate_series(1, 4) AS x LEFT JOIN LATERAL (SELECT qsketch_agg(k) FROM t WHERE b > x OFFSET 0) AS s ON true');
same('as a cursor', 'BEGIN; DECLARE c CURSOR FOR SELECT md5(qsketch_agg(k)::text) FROM t; FETCH ALL c; COMMIT');
same('LIMIT', 'SELECT md5(qsketch_agg(k)::text) FROM t LIMIT 1');
same('LIMIT 0 in a join', 'SELECT 1, count(*) FROM (SELECT qsketch_agg(k) FROM t LIMIT 0) AS x');

# ---- what stays as it was ----

my $plan = $node->safe_psql('postgres', 'SET qsketch.enable_gpu_columns = off; EXPLAIN (ANALYZE, COSTS off) SELECT qsketch_agg(k) FROM t');
like($plan, qr/Gather/, 'without cached columns the plan is parallel, too');
unlike($plan, qr/Cached Columns/, 'and nothing is said of them');
$plan = $node->safe_psql('postgres', 'EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT qsets_agg(b, id), qsketch_agg(k) FROM t');
like($plan, $plan =~ /Gather/ ? qr/Cached Columns Not Used: a parallel plan/ : qr/Pages from Cached Columns: [1-9]/, 'sets are not taken from cached columns in a parallel plan');
same('sets', 'SELECT md5(qsets_agg(b, id)::text), md5(qsketch_agg(k)::text) FROM t', 'SET seq_page_cost = 0');
$plan = $node->safe_psql('postgres', q{EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT qsketch_agg(k) FROM t WHERE w = 'w7'});
like($plan, qr/Cached Columns Not Used: a condition that is no comparison/, 'reasons are those of serial plans');

# ---- partitions ----

make_partitions($node);
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load(p, '{k,n}') FROM unnest('{p1,p2}'::regclass[]) AS p; UPDATE parts SET k = k + 1 WHERE n % 1000 < 40});
for my $append ('on', 'off')
{
	same("partitions, parallel append $append", 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n)::text) FROM parts WHERE n <> 7', "SET enable_parallel_append = $append");
	$plan = $node->safe_psql('postgres', "SET enable_parallel_append = $append; EXPLAIN (ANALYZE, COSTS off) SELECT qsketch_agg(k) FROM parts");
	like($plan, qr/Gather.*Append.*Pages from Cached Columns: [1-9].*Pages from Cached Columns: [1-9]/s, "partitions, parallel append $append: cached columns of both");
	my ($read, $taken) = (0, 0);
	$read += $_ foreach $plan =~ /^ *Pages: (\d+)/mg;
	$taken += $_ foreach $plan =~ /Pages from Cached Columns: (\d+)/g;
	is($read + $taken, $node->safe_psql('postgres', q{SELECT sum(pg_relation_size(p) / current_setting('block_size')::int) FROM unnest('{p1,p2,p3}'::regclass[]) AS p}),
		"partitions, parallel append $append: each page once");
}

# ---- two chunks of a table: each chunk has its own page of the visibility map
# ----

$node->safe_psql('postgres', q{
	CREATE TABLE two (k int, pad text) WITH (fillfactor = 10);
	INSERT INTO two SELECT i, repeat('x', 800) FROM generate_series(1, 33000) AS i;
	VACUUM two;
	SELECT qsketch_gpu_load('two', '{k}');
	UPDATE two SET k = -k WHERE k IN (32671, 32672, 32673, 1, 33000) OR k BETWEEN 500 AND 900 OR k BETWEEN 32700 AND 32800});
same('two chunks', 'SELECT md5(qsketch_agg(k)::text) FROM two');
shared_out('two chunks', 'SELECT qsketch_agg(k) FROM two', 'two');
$node->safe_psql('postgres', q{INSERT INTO two SELECT i, repeat('x', 800) FROM generate_series(1, 40000) AS i});
same('three chunks, of which one is not cached', 'SELECT md5(qsketch_agg(k)::text) FROM two');
shared_out('three chunks, of which one is not cached', 'SELECT qsketch_agg(k) FROM two', 'two');
$node->safe_psql('postgres', 'DROP TABLE two');

# ---- transactions ----

$node->safe_psql('postgres', q{
	CREATE TABLE x (k bigint, n int);
	INSERT INTO x SELECT i % 4000, i FROM generate_series(1, 30000) AS i;
	VACUUM x;
	SELECT qsketch_gpu_load('x', '{k,n}')});
my $both = 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n)::text), count(*), count(n) FROM x';
my $plain = 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n)::text), count(*), count(n) FROM (SELECT * FROM x OFFSET 0) AS y';
snapshots_agree($node, q{SELECT qsketch_gpu_load('x', '{k,n}')}, $both, $plain);
$node->safe_psql('postgres', 'VACUUM x');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('x', '{k,n}')});
$node->safe_psql('postgres', 'UPDATE x SET k = k + 7 WHERE n BETWEEN 5000 AND 5100');
shared_out('before a conflict', 'SELECT qsketch_agg(k) FROM x', 'x');
writers_conflict($node, 'SELECT md5(qsketch_agg(k)::text) FROM x');

# ---- races: changes between the check, the announcement and the counting ----

SKIP:
{
	skip 'no test module', 1 unless can_pause($node);
	for my $place (0, 1, 2)
	{
		for my $race ('cleared', 'set', 'loaded anew', 'unloaded', 'one column loaded anew')
		{
			$node->safe_psql('postgres', 'VACUUM x');
			$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('x', '{k,n}')});
			$node->safe_psql('postgres', 'UPDATE x SET k = k + 9 WHERE n BETWEEN 9000 AND 9100');
			# at place 0 the visibility map has changed, so that LSNs are compared
			# after the pause
			$node->safe_psql('postgres', 'VACUUM x') if $place == 0;
			$node->safe_psql('postgres', 'UPDATE x SET k = k + 7 WHERE n BETWEEN 5000 AND 5100');
			my @changes = {
				cleared => [ 'UPDATE x SET k = k + 1000000 WHERE n BETWEEN 12000 AND 14000; DELETE FROM x WHERE n BETWEEN 15000 AND 15100' ],
				set => [ 'VACUUM x' ],
				'loaded anew' => [ 'VACUUM x', q{SELECT qsketch_gpu_load('x', '{k,n}')} ],
				unloaded => [ q{SELECT qsketch_gpu_unload('x')} ],
				'one column loaded anew' => [ 'VACUUM x', q{SELECT qsketch_gpu_load('x', '{n}')} ] }->{$race}->@*;
			# without workers the leader checks the pages, as the pause needs
			during_scan($node, "$race, place $place", $place, "SET max_parallel_workers = 0; $both", $node->safe_psql('postgres', $plain), @changes);
		}
	}

	# workers wait while the leader checks the pages, and end if the leader ends.  If the leader is late, a
	# worker checks the pages, and the leader ends.
	my $holder = $node->background_psql('postgres');
	$node->safe_psql('postgres', 'VACUUM x');
	$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('x', '{k,n}')});
	$node->safe_psql('postgres', 'UPDATE x SET k = k + 7 WHERE n BETWEEN 5000 AND 5100');
	for my $end ('released', 'pg_cancel_backend', 'pg_terminate_backend')
	{
		my $reader = $node->background_psql('postgres', on_error_stop => 0);
		my $pid = $reader->query_safe('SELECT pg_backend_pid()');

		$holder->query_safe('SELECT pg_advisory_lock(1)');
		$reader->query_safe('SELECT pause_copies(1, 1)');
		$reader->query_until(qr/started/, "\\echo started\n$both;\n");
		ok($node->poll_query_until('postgres', qq{SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)
			OR (SELECT state = 'idle' AND query LIKE '%FROM x%' FROM pg_stat_activity WHERE pid = $pid)}), "$end: the leader looks, or is done");
		$node->safe_psql('postgres', "SELECT $end($pid)") if $end ne 'released';
		$holder->query_safe('SELECT pg_advisory_unlock(1)');
		ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'}), "$end: no worker is left");
		is($reader->query_safe('SELECT 1'), $node->safe_psql('postgres', $plain) . "\n1", "$end: right") if $end eq 'released';
		$end eq 'pg_terminate_backend' ? $reader->{run}->finish : $reader->quit;
	}
	$holder->quit;
}
same('after that', $both);

# ---- cancel, memory, and a worker that fails ----

set_fault($node, 'slow');
my $right = $node->safe_psql('postgres', ORDINARY . 'SELECT md5(qsketch_agg(k)::text) FROM t');
cmp_ok(cancelled_or_right($node, 'SELECT md5(qsketch_agg(k)::text) FROM t', $right), '>', 0, 'some were cancelled');
set_fault($node, 'memory');
same('no memory for a sketch', 'SELECT md5(qsketch_agg(k)::text) FROM t');
same('no memory for a filter', 'SELECT md5(qfilter_agg(k, qfilter_new_bloom(60000))::text), md5(qsketch_agg(k)::text) FROM t');
set_fault($node, 'spill');
same('no memory for a sketch to grow', 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n)::text) FROM t');
set_fault($node, 'none');
settled($node, 'parallel plans');
set_fault($node, 'error');
my ($rc, $out, $err) = $node->psql('postgres', 'SELECT qsketch_agg(k) FROM t');
like($err, qr/GPU operation failed/, 'a query that uses a cached column fails with the device');
set_fault($node, 'none');
wait_for_worker($node);
same('after that', 'SELECT md5(qsketch_agg(k)::text) FROM t');
settled($node, 'the end');
$node->stop;
done_testing();
