# Pairs of sets through the GPU worker are the CPU's pairs, in every form of the call, and whatever fails.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('sets');
$node->safe_psql('postgres', q{
	CREATE TABLE item AS
		SELECT s, (hashint8(s * 1000 + i) & 2147483647) % (10 + s % 500) AS e
		FROM generate_series(1::bigint, 600) AS s, generate_series(1, 40) AS i;
	CREATE TABLE kept AS SELECT qsets_agg(s, e) AS c, qsets_agg(s, e) FILTER (WHERE s > 400) AS d,
		qsets_agg(s, 'e' || e) AS text FROM item;
	CREATE TABLE alone AS SELECT qsets_agg(s + 5000, e + 100000) AS c FROM item WHERE s < 10;});

# Check that CPU and worker return the same rows in the same order, and that the worker was used.
sub is_same
{
	my ($name, $query, $settings) = @_;
	my $before = gpu_count($node, 'set_searches');
	my $wanted = $node->safe_psql('postgres', "SET qsketch.device = cpu; $query");
	my $got = $node->safe_psql('postgres', ($settings // '') . "; $query");

	ok($got eq $wanted, "$name: the same pairs");
	isnt($wanted, '', "$name: and there are some");
	cmp_ok(gpu_count($node, 'set_searches'), '>', $before, "$name: from the worker");
}

is_same('all', 'SELECT p.* FROM kept, qsets_pairs(c) AS p');
is_same('least count', 'SELECT p.* FROM kept, qsets_pairs(c, min_count => 20) AS p');
is_same('nothing in common', 'SELECT count(*), sum(common) FROM kept, qsets_pairs(c, min_count => 0) AS p');
is_same('Jaccard', 'SELECT p.* FROM kept, qsets_pairs(c, min_jaccard => 0.5) AS p');
is_same('top', 'SELECT p.* FROM kept, qsets_pairs(c, top => 3) AS p');
is_same('between', 'SELECT p.* FROM kept, qsets_pairs(c, d, min_count => 10) AS p');
is_same('between, top', 'SELECT p.* FROM kept, qsets_pairs(d, c, top => 2) AS p');
is_same('nearest', 'SELECT p.* FROM kept, qsets_nearest(c, top => 3) AS p');
is_same('nearest, all', 'SELECT p.* FROM kept, qsets_nearest(c, top => NULL) AS p');
is_same('nearest, between', 'SELECT p.* FROM kept, qsets_nearest(c, d, top => 2) AS p');
is_same('between strangers', 'SELECT count(*), sum(common) FROM kept, alone, qsets_pairs(kept.c, alone.c, min_count => 0) AS p');
is_same('text', 'SELECT p.* FROM kept, qsets_pairs(text, min_count => 20) AS p');
is_same("method $_", "SELECT p.* FROM kept, qsets_pairs(c, min_count => 20, method => '$_') AS p")
  foreach qw(merge search merge_search hash merge_hash bitmap index hybrid);
is_same('select list', 'SELECT qsets_pairs(c, min_count => 20) FROM kept');
is_same('select list, not to the end', 'SELECT qsets_pairs(c) FROM kept LIMIT 5');
is_same('auto, large enough', 'SELECT p.* FROM kept, qsets_pairs(c, min_count => 20) AS p',
	'SET qsketch.device = auto; SET qsketch.gpu_min_elements = 100');
# a serial plan: with statistics of autovacuum the plan may be parallel, and EXPLAIN shows no device of a node
# in a worker
like($node->safe_psql('postgres', 'SET max_parallel_workers_per_gather = 0; EXPLAIN (ANALYZE, COSTS off) SELECT p.* FROM kept, qsets_pairs(c) AS p'),
	qr/QSketchPairs.*Device: gpu/s, 'EXPLAIN says that it was a GPU');
settled($node, 'pairs');

my $before = gpu_count($node, 'set_searches');
$node->safe_psql('postgres', q{SET qsketch.device = auto; SET qsketch.gpu_min_elements = 1000000; SELECT count(*) FROM kept, qsets_pairs(c)});
is(gpu_count($node, 'set_searches'), $before, 'auto, few elements: on the CPU');

# a cursor that is not read to the end, and a subtransaction that is rolled back
$node->safe_psql('postgres', q{
	BEGIN;
	DECLARE one CURSOR FOR SELECT qsets_pairs(c) FROM kept;
	FETCH 10 FROM one;
	SAVEPOINT s;
	DECLARE other CURSOR FOR SELECT qsets_pairs(c, d) FROM kept;
	FETCH 10 FROM other;
	ROLLBACK TO s;
	FETCH 10 FROM one;
	COMMIT;});
settled($node, 'cursors');

# a cursor that is older than a savepoint, and was first read after it
is_same('an older cursor', 'BEGIN; DECLARE c CURSOR FOR SELECT qsets_pairs(c) FROM kept; SAVEPOINT s; FETCH 3 FROM c; ROLLBACK TO s; FETCH ALL FROM c; COMMIT');
settled($node, 'an older cursor');

# without memory the CPU finds the pairs
set_fault($node, 'memory');
$before = gpu_count($node, 'fallbacks');
is($node->safe_psql('postgres', 'SELECT count(*) FROM kept, qsets_pairs(c, min_count => 20)'),
	$node->safe_psql('postgres', 'SET qsketch.device = cpu; SELECT count(*) FROM kept, qsets_pairs(c, min_count => 20)'),
	'no memory: the same pairs');
cmp_ok(gpu_count($node, 'fallbacks'), '>', $before, 'no memory: from the CPU');
settled($node, 'no memory');

# a broken device: one error, and later queries succeed
set_fault($node, 'error');
my ($status, $out, $err) = $node->psql('postgres', 'SELECT count(*) FROM kept, qsets_pairs(c)');
isnt($status, 0, 'a broken device: the query fails');
like($err, qr/GPU operation failed/, 'and says why');
set_fault($node, 'none');
wait_for_worker($node);
is_same('after a broken device', 'SELECT p.* FROM kept, qsets_pairs(c, min_count => 20) AS p');

# cancelled while the worker is slow
set_fault($node, 'slow');
($status, $out, $err) = $node->psql('postgres', q{
	SET statement_timeout = 100;
	SELECT count(*) FROM kept, generate_series(1, 1000), qsets_pairs(c)});
like($err, qr/statement timeout/, 'a slow device: the query is cancelled');
set_fault($node, 'none');
settled($node, 'cancelled');

$node->stop;
done_testing();
