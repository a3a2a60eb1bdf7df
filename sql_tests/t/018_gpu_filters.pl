# Filters through the GPU worker have the CPU's bytes and answers, for every type of row, and whatever fails.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('filters', 'max_parallel_workers_per_gather = 0', 'qsketch.filter_nonce = 5');
$node->safe_psql('postgres', q{
	CREATE TABLE hit AS SELECT i::bigint AS id, i * 7919::bigint % 20000 AS k, i % 4 AS n
		FROM generate_series(1, 100000) AS i;
	ANALYZE hit;});

# Check that CPU and worker return the same text, and that the worker was used.
sub is_same
{
	my ($name, $query, $settings, $counter) = @_;
	my $before = gpu_count($node, $counter // 'batches');
	my $wanted = $node->safe_psql('postgres', "SET qsketch.device = cpu; $query");
	my $got = $node->safe_psql('postgres', ($settings // '') . "; $query");

	isnt($wanted, '', "$name: there is something");
	ok($got eq $wanted, "$name: the same");
	cmp_ok(gpu_count($node, $counter // 'batches'), '>', $before, "$name: from the worker");
}

# every kind of row, and filters that fold
my %filter = (
	rows => 'qfilter_agg(k, qfilter_new(100000, 100))',
	ids => 'qfilter_row_agg(k, id, qfilter_new(100000, 100))',
	copies => 'qfilter_count_agg(k, 1 + id % 3, qfilter_new(100000, 100))',
	large => 'qfilter_agg(k, qfilter_new(50000000, 100, 0.2, \'fast\'))',
	many => 'qfilter_agg(k, qfilter_new(100000, 5))',
	blocks => 'qfilter_agg(k, qfilter_new_bloom(20000))',
	standard => q{qfilter_agg(k, qfilter_new_bloom(20000, 0.001, 3, 'standard'))},
	bloom_ids => 'qfilter_row_agg(k, id, qfilter_new_bloom(20000))',
	folded => 'qfilter_fold(qfilter_row_agg(k, id, qfilter_new(100000, 100)))');
is_same($_, "SELECT md5(($filter{$_})::text) FROM hit") foreach sort keys %filter;
is_same("groups of $_", "SELECT md5(string_agg(f::text, '' ORDER BY n))
	FROM (SELECT n, $filter{$_} AS f FROM hit GROUP BY n) AS g") foreach qw(ids copies blocks);
is_same('without the column scan', "SET qsketch.enable_columnscan = off;
	SELECT md5(($filter{rows})::text) FROM hit");
is_same('window', "SELECT md5(string_agg(f::text, '' ORDER BY id)) FROM (SELECT id, $filter{ids}
	OVER (ORDER BY id) AS f FROM hit WHERE id <= 12000) AS w WHERE id % 3000 = 0");
is_same('ids, in parallel', "SELECT md5(($filter{ids})::text) FROM hit",
	'SET max_parallel_workers_per_gather = 3');
is_same('blocks, in parallel', "SELECT md5(($filter{blocks})::text) FROM hit",
	'SET max_parallel_workers_per_gather = 3');
is_same('auto, large enough', 'SELECT md5(qfilter_agg(k, qfilter_new_bloom(3000000))::text) FROM hit',
	'SET qsketch.device = auto');
settled($node, 'filters');
like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS off) SELECT $filter{blocks} FROM hit"),
	qr/QSketchScan.*Device: gpu/s, 'EXPLAIN says that it was a GPU');

my $before = gpu_count($node, 'batches');
$filter{few} = 'qfilter_agg(k, qfilter_new(50000000, 10000, 0.2, \'fast\'))';
foreach (qw(blocks few large))
{
	$node->safe_psql('postgres', "SET qsketch.device = auto; SELECT $filter{$_} FROM hit");
	is(gpu_count($node, 'batches'), $before, "auto, $_, a small one, few bits a row, or few rows for its size: on the CPU");
}
$node->safe_psql('postgres', 'SET qsketch.device = auto; SELECT qfilter_agg(k, qfilter_new_bloom(3000000)) FROM hit');
cmp_ok(gpu_count($node, 'batches'), '>', $before, 'auto, large, with enough rows: on the GPU');

# of two lookups, the second one finds a cached filter, and sends only the keys
$node->safe_psql('postgres', "SET qsketch.device = cpu; CREATE TABLE kept AS
	SELECT $filter{rows} AS frequency, $filter{blocks} AS blocks, $filter{standard} AS standard FROM hit;
	ALTER TABLE kept ALTER frequency SET STORAGE EXTERNAL, ALTER blocks SET STORAGE EXTERNAL;");
my $keys = 'ARRAY(SELECT i::bigint FROM generate_series(1, 40000) AS i)';
is_same('estimates', "SELECT md5(qfilter_estimate(frequency, $keys)::text) FROM kept", '', 'lookups');
is_same("contains, $_", "SELECT md5(qfilter_contains($_, $keys)::text) FROM kept", '', 'lookups')
  foreach qw(frequency blocks standard);
is_same('not stored', "SELECT md5(qfilter_contains(($filter{blocks}), $keys)::text) FROM hit", '', 'lookups');
my ($hits, $bytes, $back) = map { gpu_count($node, $_) } qw(cache_hits bytes_in bytes_out);
is($node->safe_psql('postgres', 'SELECT qfilter_contains(blocks, ARRAY[1::bigint, NULL, 30000]) FROM kept'),
	'{t,NULL,f}', 'a repeated lookup');
is(gpu_count($node, 'cache_hits'), $hits + 1, 'finds the copy');
is(gpu_count($node, 'bytes_in'), $bytes + 24, 'and sends nothing but the keys');
is(gpu_count($node, 'bytes_out'), $back + 3, 'for which a byte each comes back');
$node->safe_psql('postgres', 'UPDATE kept SET blocks = (SELECT qfilter_agg(k + 50000, qfilter_new_bloom(20000)) FROM hit)');
is_same('an updated value', "SELECT md5(qfilter_contains(blocks, $keys)::text) FROM kept", '', 'lookups');

# a cursor that is not read to the end, and a subtransaction that is rolled back
$node->safe_psql('postgres', qq{
	BEGIN;
	DECLARE one CURSOR FOR SELECT n, $filter{blocks} FROM hit GROUP BY n;
	FETCH 1 FROM one;
	SAVEPOINT s;
	DECLARE other CURSOR FOR SELECT n, $filter{ids} FROM hit GROUP BY n;
	FETCH 1 FROM other;
	ROLLBACK TO s;
	FETCH 1 FROM one;
	COMMIT;});
settled($node, 'cursors');

# a cursor that is older than a savepoint, and was first read after it
my $older = "DECLARE c CURSOR FOR SELECT n, md5(($filter{blocks})::text) FROM hit GROUP BY n; SAVEPOINT s; FETCH 1 FROM c; ROLLBACK TO s; FETCH ALL FROM c";
is($node->safe_psql('postgres', "BEGIN; $older; COMMIT"), $node->safe_psql('postgres', "SET qsketch.device = cpu; BEGIN; $older; COMMIT"),
	'an older cursor goes on after a savepoint is rolled back');
settled($node, 'an older cursor');

# without memory the CPU makes the filters
set_fault($node, 'memory');
$before = gpu_count($node, 'fallbacks');
my $batches = gpu_count($node, 'batches');
foreach (qw(rows ids copies blocks))
{
	my $query = "SELECT md5(($filter{$_})::text) FROM hit";
	is($node->safe_psql('postgres', $query),
		$node->safe_psql('postgres', "SET qsketch.device = cpu; $query"), "no memory, $_: the same");
}
cmp_ok(gpu_count($node, 'fallbacks'), '>=', $before + 4, 'no memory: fallbacks are counted');
is(gpu_count($node, 'batches'), $batches, 'no memory: all was done on the CPU');
set_fault($node, 'none');
settled($node, 'no memory');

# a broken device: queries with a filter on it fail, and others go on
my $other = $node->background_psql('postgres');
set_fault($node, 'error');
foreach ("SELECT $filter{blocks} FROM hit", 'SELECT qfilter_contains(standard, ARRAY[1::bigint]) FROM kept')
{
	my ($status, $out, $err) = $node->psql('postgres', $_);
	isnt($status, 0, 'a broken device: the query fails');
	like($err, qr/GPU operation failed/, 'and says why');
	wait_for_worker($node);
}
is($other->query_safe(q{SET qsketch.device = cpu; SELECT qfilter_fill(qfilter_agg(k, qfilter_new_bloom(20000))) > 0 FROM hit}),
	't', 'a broken device: others go on');
$other->quit;
set_fault($node, 'none');
wait_for_worker($node);
is_same('after a broken device', "SELECT md5(($filter{blocks})::text) FROM hit");

# cancelled while the worker is slow
set_fault($node, 'slow');
my ($status, $out, $err) = $node->psql('postgres', qq{
	SET statement_timeout = 200;
	SELECT n, $filter{ids} FROM hit, generate_series(1, 100) GROUP BY n});
like($err, qr/statement timeout/, 'a slow device: the query is cancelled');
set_fault($node, 'none');
settled($node, 'cancelled');

$node->stop;
done_testing();
