# Collections of sets, and all their pairs, from cached columns of the GPU worker are
# the same as from the rows, in every case.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('sets', 'qsketch.device = auto', 'qsketch.gpu_min_elements = 100', 'max_parallel_workers_per_gather = 0', 'jit = off', 'timezone = UTC');

$node->safe_psql('postgres', q{
	CREATE TABLE t (id int, id2 smallint, id8 bigint, e int, e2 smallint, e8 bigint, b boolean, d date, ts timestamp, tz timestamptz, w text, m numeric,
		nothing int, day int NOT NULL, n int);
	INSERT INTO t SELECT CASE WHEN i % 11 > 0 THEN i * 7919 % 400 - 200 END, i % 50 - 25,
			CASE i % 1000 WHEN 3 THEN -9223372036854775808 WHEN 4 THEN 9223372036854775807 ELSE i % 77 * 1000000007::bigint END,
			CASE WHEN i % 7 > 0 THEN (i % 317) * (i % 13) END, i % 100 - 50,
			CASE i % 1000 WHEN 5 THEN -9223372036854775808 WHEN 6 THEN 9223372036854775807 ELSE (i % 900 - 450) * 4294967296 END,
			i % 3 = 0, CASE WHEN i % 900 = 3 THEN 'infinity' ELSE date '1999-01-01' + i % 700 END,
			CASE WHEN i % 900 = 4 THEN '-infinity' ELSE timestamp '1999-12-31' + i % 300 * interval '7 hours' END, timestamptz '2026-01-01' + i % 60 * interval '1 day',
			'w' || i % 100, i % 40 / 4.0, NULL, i % 30, i
		FROM generate_series(1, 30000) AS i;
	VACUUM ANALYZE t});
my $pages = $node->safe_psql('postgres', q{SELECT relpages FROM pg_class WHERE relname = 't'});
my $all = '{id,id2,id8,e,e2,e8,b,d,ts,tz,w,m,nothing,day,n}';
is($node->safe_psql('postgres', "SELECT qsketch_gpu_load('t', '$all')"), $pages, 'loaded');

sub sets_of
{
	my ($id, $element, $filter) = @_;
	return "coalesce(md5(qsets_agg($id, $element)" . ($filter ? " FILTER (WHERE $filter)" : '') . "::text), 'none')";
}

# All pairs, in their order.
sub pairs_of
{
	my ($sets, $options) = @_;
	return "SELECT count(*) || coalesce(md5(string_agg(x::text, ',')), '') FROM (SELECT * FROM qsets_pairs(($sets)" . ($options ? ", $options" : '') . ')) AS x';
}

# Check that cached columns and the ordinary plan give the same answers.
sub same
{
	my ($name, @queries) = @_;
	is_deeply(answers($node, '', @queries), answers($node, ORDINARY, @queries), "$name: the same");
}

# Checks in addition that this number of pages was read.
sub reads
{
	my ($name, $read, @queries) = @_;

	same($name, @queries);
	is_deeply([ map { (copied_pages($node, $_))[1] } @queries ], [ map { $read } @queries ], "$name: pages read");
}

# ---- every type of elements and of ids ----

for my $id (qw(id id2 id8))
{
	reads($id, 0, map { 'SELECT ' . sets_of($id, $_) . ' FROM t' } qw(e e2 e8 b d ts tz nothing day));
}
is($node->safe_psql('postgres', 'SELECT qsets_agg(id, e) = (SELECT qsets_agg(id, e) FROM (SELECT * FROM t OFFSET 0) AS x) FROM t'), 't', 'equal as values');
reads('no rows', 0, 'SELECT ' . sets_of('id', 'e') . ' FROM t WHERE n = -5', 'SELECT ' . sets_of('nothing', 'e') . ' FROM t');
reads('one row', 0, 'SELECT ' . sets_of('id', 'e8') . ' FROM t WHERE n = 16');
reads('the same column', 0, 'SELECT ' . sets_of('id8', 'id8') . ' FROM t');

# ---- conditions, FILTERs, several aggregates in one pass ----

reads('WHERE', 0, map { 'SELECT ' . sets_of('id', 'e') . " FROM t WHERE $_" } 'day < 20', 'e2 IN (1, 7, -3)', 'id > 0 AND e < 1000', 'id IS NULL', 'e IS NOT NULL AND d > \'2000-06-01\'');
my $several = join(', ', sets_of('id', 'e'), sets_of('id8', 'ts', 'day < 7'), sets_of('id2', 'e', 'id IS NULL'), 'md5(qsketch_agg(e)::text)',
	'md5(qfilter_agg(w, qfilter_new_bloom(1000))::text)', sets_of('id', 'e', 'day = 77'));
reads('several aggregates', 0, "SELECT $several FROM t", "SELECT $several FROM t WHERE e2 < 5");

# ---- pairs that are found on the device that has the rows ----

my $sets = 'SELECT qsets_agg(id, e) FROM t';
for my $options ('', '3', '1, 0.2', '1, 0, 2', q{1, 0, NULL, 'bitmap'}, '0')
{
	same("pairs ($options)", pairs_of($sets, $options));
}
same('nearest', map { "SELECT string_agg(x::text, ',') FROM qsets_nearest(($sets), $_) AS x" } '1, 0, 3', '2, 0.1, 2', q{1, 0, 3, 'auto', 'lift'});
same('pairs in the select list', "SELECT count(*), sum((p).common) FROM (SELECT qsets_pairs(($sets), 3) AS p) AS x");
same('pairs with a collection of its own', "SELECT count(*), sum(common) FROM qsets_pairs(($sets WHERE day < 9), ($sets WHERE day > 20))");
same('used twice', "SELECT (SELECT count(*) FROM qsets_pairs(q, 2)), md5(q::text), (SELECT sum(common) FROM qsets_pairs(q)), qsets_count(q) FROM (SELECT qsets_agg(id, e) AS q FROM t) AS x");
for my $id (qw(id2 id8))
{
	same("pairs, $id", map { pairs_of("SELECT qsets_agg($id, $_) FROM t") } qw(e e8 b d ts));
}
my $plan = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, VERBOSE, COSTS off, BUFFERS off, TIMING off, SUMMARY off) SELECT * FROM qsets_pairs(($sets))");
like($plan, qr/QSketchPairs.*Device: gpu\n.*QSketchScan.*Device: gpu\n.* Pages: 0\n.*Pages from Cached Columns: $pages$/s, 'a GPU finds pairs of rows that it has');
my @before = split /\|/, $node->safe_psql('postgres', 'SELECT bytes_in, bytes_out, column_keys FROM qsketch_stat_gpu');
$node->safe_psql('postgres', "SELECT count(*) FROM qsets_pairs(($sets), 100000)");
my @after = split /\|/, $node->safe_psql('postgres', 'SELECT bytes_in, bytes_out, column_keys FROM qsketch_stat_gpu');
cmp_ok($after[0] - $before[0], '<', 1000, 'no rows are sent');
cmp_ok($after[1] - $before[1], '<', 20000, 'and no collection is fetched');
is($after[2] - $before[2], $node->safe_psql('postgres', 'SELECT count(*) FROM t WHERE id IS NOT NULL AND e IS NOT NULL'), 'all rows are from cached columns');
same('few elements, on the CPU', pairs_of("$sets WHERE n < 60"), pairs_of('SELECT qsets_agg(nothing, e) FROM t'));
is($node->safe_psql('postgres', "SET qsketch.gpu_min_elements = 1000000; SELECT count(*) FROM qsets_pairs(($sets))"),
	$node->safe_psql('postgres', "SELECT count(*) FROM qsets_pairs(($sets))"), 'too few for a GPU by the setting');
same('rescans', map { "SELECT string_agg(c, ',' ORDER BY g) FROM generate_series(-2, 30, 8) AS g, LATERAL (" . pairs_of("SELECT qsets_agg(id, e) FROM t WHERE $_") . ') AS y (c)' } 'day < g', 'day = g', 'e2 > g');
same('LIMIT', "SELECT * FROM qsets_pairs(($sets)) LIMIT 5");

reads('counts', 0, 'SELECT count(*), count(e), ' . sets_of('id', 'e') . ', count(*) FILTER (WHERE day < 7) FROM t WHERE n > 99');

# ---- what is read, and why ----

for my $case (
	[ 'text', 'qsets_agg(id, w)', 't', 'elements of more than 64 bits' ],
	[ 'numeric', 'qsets_agg(id, m)', 't', 'elements of more than 64 bits' ],
	[ 'ROW', 'qsets_agg(id, ROW(e, e2))', 't', 'a key of several columns' ],
	[ 'GROUP BY', 'day, qsets_agg(id, e)', 't GROUP BY day', 'GROUP BY of an aggregate that makes no sketch' ],
	[ 'a condition', 'qsets_agg(id, e)', q{t WHERE w = 'w5'}, 'a condition that is no comparison of a column of numbers' ],
	[ 'sum', 'sum(n), qsets_agg(id, e)', 't', 'an aggregate that takes no keys from cached columns' ])
{
	my ($name, $what, $from, $reason) = @$case;
	$plan = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off, SUMMARY off) SELECT $what FROM $from");

	like($plan, qr/Cached Columns Not Used: $reason\n/, "$name: EXPLAIN says why");
	unlike($plan, qr/Pages from Cached Columns/, "$name: all pages are read");
	same($name, "SELECT md5(string_agg(x::text, ',' ORDER BY x::text)) FROM (SELECT $what FROM $from) AS x");
	is($node->safe_psql('postgres', "EXPLAIN SELECT $what FROM $from"), $node->safe_psql('postgres', "SET qsketch.enable_gpu_columns = off; EXPLAIN SELECT $what FROM $from"),
		"$name: cached columns do not change the cost");
}
like($node->safe_psql('postgres', 'SET parallel_setup_cost = 0; SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0; SET seq_page_cost = 100;
	SET parallel_leader_participation = off; SET cpu_tuple_cost = 0.001; EXPLAIN (COSTS off) SELECT qsets_agg(id, e) FROM t'), qr/^ *Custom Scan \(QSketchScan\)/, 'cached columns make a serial scan cheap');
for my $setting ('SET qsketch.enable_gpu_columns = off', 'SET qsketch.device = cpu')
{
	is((copied_pages($node, $sets, $setting))[1], $pages, "$setting: pages are read");
	is($node->safe_psql('postgres', "$setting; " . pairs_of($sets)), $node->safe_psql('postgres', pairs_of($sets)), "$setting: the same pairs");
}
same('parallel plans', "SET max_parallel_workers_per_gather = 2; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET seq_page_cost = 0; SET cpu_tuple_cost = 10; SELECT " . sets_of('id', 'e') . ' FROM t', pairs_of($sets));
settled($node, 'pairs');

# ---- partitions: with cached columns, and without, in any order ----

$node->safe_psql('postgres', q{
	CREATE TABLE parts (id int, e bigint, n int) PARTITION BY RANGE (n);
	CREATE TABLE p1 PARTITION OF parts FOR VALUES FROM (0) TO (10000);
	CREATE TABLE p2 (n int, gone text, e bigint, id int);
	ALTER TABLE p2 DROP gone;
	ALTER TABLE parts ATTACH PARTITION p2 FOR VALUES FROM (10000) TO (20000);
	CREATE TABLE p3 PARTITION OF parts FOR VALUES FROM (20000) TO (30000);
	INSERT INTO parts SELECT i % 211, i % 1009, i FROM generate_series(0, 29999) AS i;
	VACUUM ANALYZE parts});
my @partitioned = ('SELECT ' . sets_of('id', 'e') . ' FROM parts', pairs_of('SELECT qsets_agg(id, e) FROM parts'), pairs_of('SELECT qsets_agg(id, e) FROM parts WHERE n > 5000'));
for my $loaded ('p2', 'p1', 'p3')
{
	$node->safe_psql('postgres', "SELECT qsketch_gpu_load('$loaded', '{id,e,n}')");
	same("partitions, $loaded loaded", @partitioned);
}

# ---- changes ----

$node->safe_psql('postgres', 'UPDATE t SET e = -e WHERE n BETWEEN 100 AND 300; DELETE FROM t WHERE day = 3 AND n < 500; INSERT INTO t (id, id8, e, day) SELECT i % 40, i, i, 5 FROM generate_series(1, 90) AS i');
my @changed = (pairs_of($sets), "SELECT $several FROM t", pairs_of("$sets WHERE day BETWEEN 2 AND 9", '2'));
same('changed', @changed);
my @pages = copied_pages($node, $sets);
ok($pages[0] > 0 && $pages[1] > 0, 'some pages are read, some are not');
@before = split /\|/, $node->safe_psql('postgres', 'SELECT bytes_in, bytes_out FROM qsketch_stat_gpu');
$node->safe_psql('postgres', "SELECT count(*) FROM qsets_pairs(($sets), 100000)");
@after = split /\|/, $node->safe_psql('postgres', 'SELECT bytes_in, bytes_out FROM qsketch_stat_gpu');
ok($after[0] - $before[0] > 1000 && $after[0] - $before[0] < 100000, 'rows of pages that were read are sent');
cmp_ok($after[1] - $before[1], '<', 20000, 'to where the others are');
$node->safe_psql('postgres', 'VACUUM t');
same('after vacuum', @changed);
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('t', '{e}')});
same('one of two columns loaded again', @changed);
$node->safe_psql('postgres', "SELECT qsketch_gpu_load('t', '$all')");
same('loaded again', @changed);

# ---- transactions, and what happens between a look and its use ----

$node->safe_psql('postgres', q{
	CREATE TABLE x (k bigint, n int);
	INSERT INTO x SELECT i % 400, i FROM generate_series(1, 30000) AS i;
	VACUUM x});
my $load = q{SELECT qsketch_gpu_load('x', '{k,n}')};
my $answer = "SELECT (SELECT md5(qsets_agg(k, n)::text || qsets_agg(n, k)::text) FROM %1\$s), (" . pairs_of('SELECT qsets_agg(n, k) FILTER (WHERE n < 900) FROM %1$s') . ')';
my $copied = sprintf($answer, 'x');
my $plain = sprintf($answer, '(SELECT * FROM x OFFSET 0) AS y');
$node->safe_psql('postgres', $load);
snapshots_agree($node, $load, $copied, $plain);
$node->safe_psql('postgres', $load);
writers_conflict($node, 'SELECT md5(qsets_agg(k, n)::text) FROM x');
SKIP:
{
	skip 'no test module', 6 unless can_pause($node);
	my $one = 'SELECT md5(qsets_agg(k, n)::text || qsets_agg(n, k)::text) FROM';

	for my $change ('UPDATE x SET k = k + 1000000 WHERE n BETWEEN 12000 AND 14000', q{SELECT qsketch_gpu_unload('x')}, q{SELECT qsketch_gpu_load('x', '{n}')})
	{
		$node->safe_psql('postgres', $_) foreach 'VACUUM x', $load;
		my $wanted = $node->safe_psql('postgres', "$one (SELECT * FROM x OFFSET 0) AS y");
		$node->safe_psql('postgres', $_) foreach 'UPDATE x SET k = k WHERE n BETWEEN 5000 AND 5100', 'VACUUM x';
		during_scan($node, $change, 1, "$one x", $wanted, $change);
	}
}

# ---- rights ----

$node->safe_psql('postgres', q{
	CREATE ROLE reader LOGIN; CREATE ROLE rowwise LOGIN;
	CREATE TABLE secret AS SELECT i % 50 AS k, i % 80 AS e, i AS n FROM generate_series(1, 20000) AS i;
	VACUUM secret;
	GRANT SELECT (n, k) ON secret TO reader; GRANT SELECT ON secret TO rowwise;
	ALTER TABLE secret ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON secret USING (n < 100)});
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('secret', '{k,e,n}')});
like((psql_as($node, 'reader', $_))[2], qr/permission denied for table secret/, 'a cached column gives no right to read') foreach
	'SELECT qsets_agg(k, e) FROM secret', 'SELECT qsets_agg(e, k) FROM secret', 'SELECT * FROM qsets_pairs((SELECT qsets_agg(k, e) FROM secret))';
is((psql_as($node, 'rowwise', 'SELECT (qsets_info(qsets_agg(k, e))).elements FROM secret'))[1], '99', 'row security holds');
like((psql_as($node, 'rowwise', 'EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT qsets_agg(k, e) FROM secret'))[1], qr/ Pages: 0\n.*Pages from Cached Columns: [1-9]/s, 'on copies');

# ---- memory, cancel, and a worker that fails ----

my $query = "SELECT $several, (" . pairs_of("$sets WHERE day < 25") . ') FROM t WHERE day < 25';
my $right = $node->safe_psql('postgres', ORDINARY . $query);
foreach my $fault (qw(memory spill none))
{
	set_fault($node, $fault);
	is($node->safe_psql('postgres', $query), $right, "fault $fault: the same");
}
$node->safe_psql('postgres', 'UPDATE t SET e = e WHERE n % 9000 < 20');
set_fault($node, 'spill');
same('rows that are not sorted there, and rows that are read', pairs_of($sets), "SELECT $several FROM t", pairs_of('SELECT qsets_agg(id, e) FROM parts'));
set_fault($node, 'none');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_unload(c) FROM unnest('{x,secret,p1,p2,p3,t}'::regclass[]) AS c});
for my $limit (1 .. 4)
{
	$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('t', '{id,e}')});
	set_worker($node, 'qsketch.gpu_memory_limit', $limit);
	same("a limit of $limit MB", pairs_of($sets), 'SELECT ' . sets_of('id', 'e') . ', ' . sets_of('e', 'id') . ' FROM t');
	set_worker($node, 'qsketch.gpu_memory_limit', '0');
}
$node->safe_psql('postgres', 'VACUUM t');
$node->safe_psql('postgres', "SELECT qsketch_gpu_load('t', '$all')");
$right = $node->safe_psql('postgres', ORDINARY . $query);
set_fault($node, 'slow');
cancelled_or_right($node, $query, $right);
set_fault($node, 'none');
settled($node, 'cancelled');
set_fault($node, 'error');
my ($rc, $out, $err) = $node->psql('postgres', pairs_of($sets));
like($err, qr/GPU operation failed/, 'a query that uses a cached column fails with the device');
set_fault($node, 'none');
is($node->safe_psql('postgres', $query), $right, 'later ones read');
wait_for_worker($node);
is($node->safe_psql('postgres', $query), $right, 'with another worker');
settled($node, 'the end');

# ---- cached columns on two devices ----

$node->append_conf('postgresql.conf', "qsketch.gpu_devices = '0,1'");
$node->restart;
wait_for_worker($node);
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load(p, '{id,e,n}') FROM unnest('{p1,p2,p3}'::regclass[]) AS p});
same('partitions on two devices', @partitioned);
$node->safe_psql('postgres', "SELECT qsketch_gpu_load('t', '$all')");
same('a search on two devices', map { "SET qsketch.gpu_split_time = 0; $_" } pairs_of($sets), pairs_of($sets, '1, 0, 3'));
settled($node, 'two devices');
$node->stop;
done_testing();
