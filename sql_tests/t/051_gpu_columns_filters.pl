# Bloom filters from cached columns of the GPU worker have the same bytes as from the
# rows, in every case.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('filters', 'qsketch.device = auto', 'max_parallel_workers_per_gather = 0', 'jit = off', 'timezone = UTC');

$node->safe_psql('postgres', q{
	CREATE TABLE t (k bigint, n int, s smallint, w text, u uuid, d date, ts timestamp, m numeric, nothing int, day int NOT NULL);
	INSERT INTO t SELECT i * 7919 % 50000, CASE WHEN i % 5 > 0 THEN i % 3000 END, i % 7, 'w' || i % 3000, md5((i % 500)::text)::uuid,
			date '2026-01-01' + i % 60, timestamp '2026-01-01' + i % 900 * interval '1 hour', i % 900 / 4.0, NULL, i % 30
		FROM generate_series(1, 40000) AS i;
	VACUUM ANALYZE t});
my $pages = $node->safe_psql('postgres', q{SELECT relpages FROM pg_class WHERE relname = 't'});
my $all = '{k,n,s,w,u,d,ts,m,nothing,day}';
is($node->safe_psql('postgres', "SELECT qsketch_gpu_load('t', '$all')"), $pages, 'loaded');

# The md5 of a filter of a column.
sub filter_of
{
	my ($column, $template, $filter) = @_;
	return "coalesce(md5(qfilter_agg($column, $template)" . ($filter ? " FILTER (WHERE $filter)" : '') . "::text), 'none')";
}

# Checks that cached columns and the ordinary plan give the same answers, and that this number of pages
# was read.
sub same
{
	my ($name, $read, @queries) = @_;

	is_deeply(answers($node, '', @queries), answers($node, ORDINARY, @queries), "$name: the same");
	is_deeply([ map { (copied_pages($node, $_))[1] } @queries ], [ map { $read } @queries ], "$name: pages read") if defined $read;
}

# ---- every type and kind of Bloom filter ----

my %template = (
	blocked => 'qfilter_new_bloom(20000)',
	standard => q{qfilter_new_bloom(20000, 0.001, 7, 'standard')},
	small => 'qfilter_new_bloom(10)',
	large => q{qfilter_new_bloom(20000000, 0.01, 0, 'standard')},
	'with many positions' => q{qfilter_new_bloom(5000, 1e-9, 0, 'standard')});
for my $column (qw(k n s w u d ts m nothing))
{
	same($column, 0, map { 'SELECT ' . filter_of($column, $template{$_}) . ' FROM t' } sort keys %template);
}
same('few keys', 0, map { 'SELECT ' . filter_of('k', $template{$_}) . ' FROM t WHERE day = 3 AND n < 40' } sort keys %template);
same('no rows', 0, map { 'SELECT ' . filter_of('k', $_) . ' FROM t WHERE n = -5' } values %template);
same('one row', 0, map { 'SELECT ' . filter_of('w', $_) . ' FROM t WHERE n = 40 AND s = 5 AND day = 10' } values %template);
is($node->safe_psql('postgres', 'SELECT count(*) FILTER (WHERE qfilter_contains(f, k)), round(max(qfilter_distinct(f))::numeric, -4) FROM t, (SELECT qfilter_agg(k, qfilter_new_bloom(100000)) AS f FROM t) AS x'),
	'40000|40000', 'the filter has its keys');

# ---- conditions, FILTERs, several aggregates in one pass ----

same('WHERE', 0, map { 'SELECT ' . filter_of('k', $template{blocked}) . " FROM t WHERE $_" } 'day < 20', 'n IS NULL', 'n IS NOT NULL AND d > \'2026-01-20\'', 's IN (1, 2, 5)', 'k < 20000 AND day BETWEEN 3 AND 9');
my $several = join(', ', filter_of('k', $template{blocked}), filter_of('w', $template{standard}, 'day < 7'), filter_of('k', $template{small}, 'n IS NULL'),
	'md5(qsketch_agg(k)::text)', q{md5(qsketch_agg(w, qsketch_new('thread', '32kB')) FILTER (WHERE day > 7)::text)}, filter_of('n', $template{large}, 'day = 77'));
same('several aggregates', 0, "SELECT $several FROM t", "SELECT $several FROM t WHERE s < 5");

same('counts', 0, 'SELECT count(*), ' . filter_of('k', $template{blocked}) . ', count(n) FROM t WHERE s < 5');

# ---- what is read, and why ----

for my $case (
	[ 'frequencies', 'qfilter_agg(k, qfilter_new(100000, 100))', 't', 'a filter whose rows draw by their numbers' ],
	[ 'rows with ids', 'qfilter_row_agg(k, n, qfilter_new_bloom(1000))', 't', '' ],
	[ 'GROUP BY', 'day, qfilter_agg(k, qfilter_new_bloom(1000))', 't GROUP BY day', 'GROUP BY of an aggregate that makes no sketch' ],
	[ 'GROUP BY, beside a sketch', 'day, qsketch_agg(k), qfilter_agg(k, qfilter_new_bloom(1000))', 't GROUP BY day', 'GROUP BY of an aggregate that makes no sketch' ],
	[ 'ROW', 'qfilter_agg(ROW(k, n), qfilter_new_bloom(1000))', 't', 'a key of several columns' ],
	[ 'a condition', 'qfilter_agg(k, qfilter_new_bloom(1000))', q{t WHERE w = 'w5'}, 'a condition that is no comparison of a column of numbers' ],
	[ 'sum', 'sum(n), qfilter_agg(k, qfilter_new_bloom(1000))', 't', 'an aggregate that takes no keys from cached columns' ])
{
	my ($name, $what, $from, $reason) = @$case;
	my $plan = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off, SUMMARY off) SELECT $what FROM $from");

	like($plan, qr/Cached Columns Not Used: $reason\n/, "$name: EXPLAIN says why") if $reason;
	unlike($plan, qr/Pages from Cached Columns: [1-9]/, "$name: all pages are read");
}
my $parallel = 'SET parallel_setup_cost = 0; SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0; SET seq_page_cost = 100;
	SET parallel_leader_participation = off; SET cpu_tuple_cost = 0.001; EXPLAIN (COSTS off) SELECT';
like($node->safe_psql('postgres', "$parallel qfilter_agg(k, qfilter_new_bloom(1000)) FROM t"), qr/^ *Custom Scan \(QSketchScan\)/, 'cached columns make a serial scan cheap');
for my $what ('qfilter_agg(k, qfilter_new(100000, 100)) FROM t', 'day, qfilter_agg(k, qfilter_new_bloom(1000)) FROM t GROUP BY day')
{
	is($node->safe_psql('postgres', "EXPLAIN SELECT $what"), $node->safe_psql('postgres', "SET qsketch.enable_gpu_columns = off; EXPLAIN SELECT $what"),
		"cached columns do not change the cost of $what");
}
for my $setting ('SET qsketch.enable_gpu_columns = off', 'SET qsketch.device = cpu')
{
	is((copied_pages($node, 'SELECT qfilter_agg(k, qfilter_new_bloom(1000)) FROM t', $setting))[1], $pages, "$setting: pages are read");
}

# ---- partitions, rescans ----

make_partitions($node);
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load(p, '{k,n}') FROM unnest('{p1,p3}'::regclass[]) AS p});
same('partitions', undef, map { 'SELECT ' . filter_of('k', $template{$_}) . ' FROM parts' } sort keys %template);
same('rescans', undef, map { "SELECT string_agg(f, ',' ORDER BY x) FROM generate_series(-2, 30, 4) AS x, LATERAL (SELECT " . filter_of('k', $template{$_}) . ' AS f FROM t WHERE day = x) AS y' } qw(blocked small));

# ---- changes, snapshots, and what happens between a look and its use ----

$node->safe_psql('postgres', 'UPDATE t SET k = -k WHERE n BETWEEN 100 AND 110; DELETE FROM t WHERE day = 3 AND n < 50; INSERT INTO t (k, day) SELECT i + 100000, 5 FROM generate_series(1, 50) AS i');
same('changed', undef, map { 'SELECT ' . filter_of('k', $template{$_}) . ' FROM t' } sort keys %template);
my @changed = copied_pages($node, 'SELECT qfilter_agg(k, qfilter_new_bloom(1000)) FROM t');
ok($changed[0] > 0 && $changed[1] > 0, 'some pages are read, some are not');
$node->safe_psql('postgres', 'VACUUM t');
same('after vacuum', undef, map { 'SELECT ' . filter_of('k', $template{$_}) . ' FROM t' } sort keys %template);
$node->safe_psql('postgres', q{
	CREATE TABLE x (k bigint, n int);
	INSERT INTO x SELECT i % 4000, i FROM generate_series(1, 30000) AS i;
	VACUUM x});
my $load = q{SELECT qsketch_gpu_load('x', '{k,n}')};
my $both = 'SELECT ' . filter_of('k', $template{blocked}) . ', ' . filter_of('n', $template{standard}, 'k < 900') . ' FROM';
my $plain = "$both (SELECT * FROM x OFFSET 0) AS y";
$node->safe_psql('postgres', $load);
snapshots_agree($node, $load, "$both x", $plain);
$node->safe_psql('postgres', $load);
writers_conflict($node, 'SELECT md5(qfilter_agg(k, qfilter_new_bloom(1000))::text) FROM x');
SKIP:
{
	skip 'no test module', 4 unless can_pause($node);
	for my $change ('UPDATE x SET k = k + 1000000 WHERE n BETWEEN 12000 AND 14000', q{SELECT qsketch_gpu_unload('x')})
	{
		$node->safe_psql('postgres', $_) foreach 'VACUUM x', $load;
		during_scan($node, $change, 1, "$both x", $node->safe_psql('postgres', $plain), $change);
	}
}

# ---- rights ----

$node->safe_psql('postgres', q{
	CREATE ROLE reader LOGIN; CREATE ROLE rowwise LOGIN;
	CREATE TABLE secret AS SELECT i % 500 AS k, i AS n FROM generate_series(1, 20000) AS i;
	VACUUM secret;
	GRANT SELECT (n) ON secret TO reader; GRANT SELECT ON secret TO rowwise;
	ALTER TABLE secret ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON secret USING (n < 100)});
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('secret', '{k,n}')});
like((psql_as($node, 'reader', 'SELECT qfilter_agg(k, qfilter_new_bloom(1000)) FROM secret'))[2], qr/permission denied for table secret/, 'a cached column gives no right to read');
is((psql_as($node, 'rowwise', 'SELECT round(qfilter_distinct(qfilter_agg(k, qfilter_new_bloom(100000)))) FROM secret'))[1], '99', 'row security holds');
like((psql_as($node, 'rowwise', 'EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT qfilter_agg(k, qfilter_new_bloom(1000)) FROM secret'))[1], qr/ Pages: 0\n.*Pages from Cached Columns: [1-9]/s, 'on copies');

# ---- memory, cancel, and a worker that fails ----

my $query = "SELECT $several FROM t WHERE day < 25";
my $right = $node->safe_psql('postgres', ORDINARY . $query);
my $keys = gpu_count($node, 'column_keys');
set_fault($node, 'memory');
is($node->safe_psql('postgres', $query), $right, 'no memory for a filter');
is(gpu_count($node, 'column_keys'), $keys, 'then pages are read');
set_fault($node, 'none');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_unload(c) FROM unnest('{x,secret,p1,p3}'::regclass[]) AS c});
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('t', '{k}')});
set_worker($node, 'qsketch.gpu_memory_limit', '2');
same('little memory', undef, map { 'SELECT ' . filter_of('k', $template{$_}) . ' FROM t' } sort keys %template);
set_worker($node, 'qsketch.gpu_memory_limit', '0');
$node->safe_psql('postgres', "SELECT qsketch_gpu_load('t', '$all')");
set_fault($node, 'slow');
cancelled_or_right($node, $query, $right);
set_fault($node, 'none');
settled($node, 'cancelled');
set_fault($node, 'error');
my ($rc, $out, $err) = $node->psql('postgres', $query);
like($err, qr/GPU operation failed/, 'a query that uses a cached column fails with the device');
set_fault($node, 'none');
is($node->safe_psql('postgres', $query), $right, 'later ones read');
wait_for_worker($node);
is($node->safe_psql('postgres', $query), $right, 'with another worker');

# ---- cached columns on two devices, which replicas of one filter are on ----

$node->append_conf('postgresql.conf', "qsketch.gpu_devices = '0,1'");
$node->restart;
wait_for_worker($node);
SKIP:
{
	skip 'one GPU', 3 if $node->safe_psql('postgres', 'SELECT count(*) FROM qsketch_gpu()') < 2;
	$node->safe_psql('postgres', 'CREATE TABLE p4 PARTITION OF parts FOR VALUES FROM (30000) TO (40000); INSERT INTO parts SELECT i % 9000, i FROM generate_series(30000, 39999) AS i; VACUUM parts');
	load_spread($node, $_, '{k}') foreach qw(p1 p2 p3 p4);
	is($node->safe_psql('postgres', 'SELECT count(*) FROM qsketch_gpu() WHERE memory_used > 0'), '2', 'both devices have chunks');
	same('partitions on two devices', undef, map { 'SELECT ' . filter_of('k', $template{$_}) . ' FROM parts' } sort keys %template);
	unlike($node->safe_psql('postgres', 'EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT qfilter_agg(k, qfilter_new_bloom(1000)) FROM parts'), qr/ Pages: [1-9]/, 'no page is read');
}
settled($node, 'the end');
$node->stop;
done_testing();
