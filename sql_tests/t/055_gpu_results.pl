# Sketches that were made on a device.  The first read of a sketch fetches it, and later reads do not.  An
# unread sketch stays on the device, but no longer than the aggregate that makes it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('results', 'max_parallel_workers_per_gather = 0', "qsketch.gpu_devices = '0'");
fill($node, 200_000);

# An expression of a fresh sketch sk of table t.
sub of_sketch
{
	my ($expression, $structure, $size, $from) = @_;

	$from //= '';
	return "SELECT $expression FROM (SELECT qsketch_agg(k, qsketch_new('$structure', '$size')) AS sk FROM t OFFSET 0) AS s$from";
}

# Check that the answer is the CPU's, and return how many tables were fetched for it.
sub fetches_for
{
	my ($name, $query, $set) = @_;
	my $right = $node->safe_psql('postgres', "SET qsketch.device = cpu; $query");
	my $before = gpu_count($node, 'fetches');

	is($node->safe_psql('postgres', ($set // '') . ";$query"), $right, "$name: right");
	return gpu_count($node, 'fetches') - $before;
}

for my $structure ('multilevel', 'sub_warp', 'warp', 'thread')
{
	my %read = (
		'a total' => 'qsketch_total(sk)',
		'an estimate' => 'qsketch_estimate(sk, 17), qsketch_estimate(sk, 18)',
		'a literal' => q{qsketch_estimate(sk, '17')},
		'an array' => q{qsketch_estimate(sk, ARRAY[1, NULL, 3, -1, 49999]::bigint[]), qsketch_estimate(sk, '{}'::bigint[])},
		'a batch' => 'md5(qsketch_estimate(sk, ARRAY(SELECT g::bigint FROM generate_series(-100, 120000) AS g))::text)',
		'all of them' => 'qsketch_total(sk), qsketch_estimate(sk, 17), qsketch_estimate(sk, ARRAY[18])',
		'bytes' => 'md5(sk::text)',
		'a comparison' => 'sk = (SELECT c.sk FROM correct AS c LIMIT 1)',
		'all facts' => 'qsketch_info(sk)',
		'a merge' => 'md5((sk || sk)::text)',
		'errors' => 'qsketch_estimate(sk, 17), qsketch_error(sk), qsketch_bounds(sk, 17), qsketch_estimate(sk, 18)');

	is(fetches_for("$structure, $_", of_sketch($read{$_}, $structure, '1MB')), 1, "$structure, $_: fetched once")
		foreach sort keys %read;
}

is(fetches_for('rows of keys and estimates', of_sketch('md5(string_agg(l::text, $$ $$))', 'multilevel', '1MB',
	', qsketch_lookup(sk, ARRAY[3, NULL, -5, 49999]::bigint[]) AS l')), 1, 'rows of keys and estimates: fetched once');

# wide counters, groups, rows in other orders, and many questions
is(fetches_for('wide counters', q{
	SELECT qsketch_estimate(sk, 5), qsketch_estimate(sk, ARRAY[6, 7]) FROM (
		SELECT qsketch_agg(k, 3000000000, qsketch_new('multilevel', '1MB')) AS sk FROM t OFFSET 0) AS s}), 1,
	'wide counters: fetched once');
is(fetches_for('many questions', of_sketch('md5(string_agg(qsketch_estimate(sk, g)::text, $$ $$))', 'multilevel', '1MB',
	', generate_series(-10, 60000) AS g')), 1, 'many questions: fetched once');
is(fetches_for('groups', q{SELECT sum(qsketch_estimate(sk, k)) FROM (
	SELECT k % 20 AS k, qsketch_agg(k, qsketch_new('multilevel', '1MB')) AS sk FROM t GROUP BY 1) AS g}), 20,
	'groups: each is fetched once');
is(fetches_for('groups in order', q{SELECT sum(qsketch_estimate(sk, k)) FROM (
	SELECT k % 3 AS k, qsketch_agg(k, qsketch_new('multilevel', '1MB')) AS sk FROM t GROUP BY 1) AS g},
	'SET enable_hashagg = off'), 3, 'groups in order: each is fetched once');
fetches_for('weights that are taken back', q{SELECT qsketch_total(sk), qsketch_estimate(sk, 5) FROM (
	SELECT qsketch_agg(k, CASE WHEN k % 2 = 0 THEN 5 ELSE 1 END, qsketch_new('multilevel', '1MB')) AS sk
	FROM t OFFSET 0) AS s});
fetches_for('frames', q{SELECT md5(string_agg(e::text, ' ')) FROM (
	SELECT qsketch_estimate(qsketch_agg(k, qsketch_new('multilevel', '64kB')) OVER (ORDER BY ctid), k) AS e FROM t LIMIT 300) AS w});

# An aggregate reads its own state while a frame grows, so keys come between the reads.
$node->safe_psql('postgres', q{
	CREATE FUNCTION ask(qsketch) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT qsketch_total($1) * 1000 + qsketch_estimate($1, 7::bigint)';
	CREATE AGGREGATE asked(bigint, qsketch) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, FINALFUNC = ask)});
fetches_for('keys between questions', q{
	SELECT md5(string_agg(a::text, ' ')) FROM (
		SELECT asked(i % 2600, qsketch_new('multilevel', '8MB')) OVER (ORDER BY i) AS a FROM generate_series(1, 3000) AS i) AS x});

# values that leave their query are values of their own
is($node->safe_psql('postgres', q{
	SET client_min_messages = error;
	CREATE FUNCTION variable() RETURNS boolean LANGUAGE plpgsql AS $$
	DECLARE a qsketch; b qsketch;
	BEGIN
		a := (SELECT qsketch_agg(k, qsketch_new('multilevel', '1MB')) FROM t);
		BEGIN
			b := (SELECT qsketch_agg(k, qsketch_new('multilevel', '1MB')) FROM t);
			PERFORM qsketch_total(b), 1 / (qsketch_total(b) - qsketch_total(b));
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
		b := qsketch_add(b, 5::bigint);
		RETURN qsketch_total(a) = 200000 AND qsketch_total(b) = 200001
			AND qsketch_estimate(b, 5::bigint) = qsketch_estimate(a, 5::bigint) + 1;
	END $$;
	SELECT variable()}), 't', 'variables');
is($node->safe_psql('postgres', "BEGIN; DECLARE c CURSOR WITH HOLD FOR "
	. of_sketch('sk, qsketch_estimate(sk, 5)', 'sub_warp', '256kB')
	. '; COMMIT; FETCH 1 FROM c \gset
	SELECT :\'sk\'::qsketch = (SELECT sk FROM correct WHERE structure = $$sub_warp$$), :qsketch_estimate >= 4'), 't|t',
	'a cursor that is held');
settled($node, 'values of their own');

# A session with a cursor over groups: those that were not read yet are on the device.
my $cursor = q{SELECT g, qsketch_total(sk), qsketch_estimate(sk, 5) FROM (
	SELECT k % 4 AS g, qsketch_agg(k, qsketch_new('sub_warp', '1MB')) AS sk FROM t GROUP BY 1 OFFSET 0) AS s};
my @right = split /\n/, $node->safe_psql('postgres', "SET qsketch.device = cpu; $cursor");

sub open_cursor
{
	my ($first) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe("BEGIN; DECLARE c CURSOR FOR $cursor; $first");
	is($session->query_safe('FETCH 1 FROM c'), $right[0], 'the first group');
	is_soon($node, 'values_now - cached_now', 3, 'the others are on the device');
	return $session;
}

# other sessions find no free memory, and count on the CPU
{
	my $session = open_cursor('');

	set_worker($node, 'qsketch.gpu_memory_limit', "'1MB'");
	my $fallbacks = gpu_count($node, 'fallbacks');
	is_right($node, 'beside groups that wait');
	cmp_ok(gpu_count($node, 'fallbacks'), '>', $fallbacks, 'on the CPU');
	is($session->query_safe('FETCH ALL FROM c'), join("\n", @right[ 1 .. 3 ]), 'the other groups are right');
	$session->query_safe('COMMIT');
	$session->quit;
	set_worker($node, 'qsketch.gpu_memory_limit', '0');
	settled($node, 'a cursor');
}

# a savepoint is rolled back: sketches that were made after it are freed, but an older cursor
# goes on
{
	my $session = open_cursor('SAVEPOINT r;');

	$session->query_safe("SAVEPOINT s; DECLARE d CURSOR FOR $cursor; FETCH 1 FROM d");
	is_soon($node, 'values_now - cached_now', 6, 'two cursors');
	$session->query_safe('ROLLBACK TO s');
	is_soon($node, 'values_now - cached_now', 3, 'one is gone with its savepoint');
	is($session->query_safe('FETCH ALL FROM c'), join("\n", @right[ 1 .. 3 ]), 'it goes on after the savepoint is rolled back');
	$session->query_safe('CLOSE c');
	is_soon($node, 'values_now - cached_now', 0, 'its values go with it');
	$session->query_safe('ROLLBACK');
	$session->quit;
	settled($node, 'savepoints');
}

# the device fails between two groups
{
	my $session = open_cursor('');

	set_fault($node, 'error');
	$node->psql('postgres', 'SELECT qsketch_agg(k) FROM t');
	$session->query('FETCH 1 FROM c');
	like($session->{stderr}, qr/GPU operation failed/, 'a value on a device that failed gives an error');
	set_fault($node, 'none');
	$session->query('ROLLBACK');
	$session->quit;
	wait_for_worker($node);
	is($node->safe_psql('postgres', $cursor), join("\n", @right), 'and later queries are right');
	settled($node, 'a device that failed');
}

# Sketches of groups come from cached columns.  While one of them is fetched, the worker describes the
# tables of the next one, and others find no memory meanwhile.
{
	$node->safe_psql('postgres', q{CREATE TABLE c AS SELECT k, (k % 3)::int AS b FROM t; VACUUM ANALYZE c});
	for my $structure ('sub_warp', 'multilevel')
	{
		my $groups = qq{SELECT b, g, CASE WHEN b = 0 OR g > 3 THEN md5(q::bytea) ELSE qsketch_estimate(q, 3 * g + b)::text END
			FROM (SELECT b, qsketch_agg(k, qsketch_new('$structure', '1MB')) AS q FROM c GROUP BY b OFFSET 0) AS s, LATERAL generate_series(1, 5 + 0 * b) AS g};
		my $right = $node->safe_psql('postgres', ORDINARY . $groups);
		my %right = map { /^(\d+\|\d+)\|/ ? ($1 => $_) : () } split /\n/, $right;
		my $session = $node->background_psql('postgres');

		$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('c', '{k,b}')});
		$session->query_safe("BEGIN; DECLARE d CURSOR FOR $groups");
		my @rows = split /\n/, $session->query_safe('FETCH 7 FROM d');
		set_worker($node, 'qsketch.gpu_memory_limit', "'1MB'");
		is_right($node, "$structure: beside sketches of groups");
		set_worker($node, 'qsketch.gpu_memory_limit', '0');
		push @rows, split /\n/, $session->query_safe('FETCH ALL FROM d');
		is(scalar(@rows), 15, "$structure: all rows");
		is_deeply([ sort @rows ], [ sort values %right ], "$structure: groups are right");
		$session->query_safe('COMMIT');
		$session->quit;
		settled($node, "$structure: groups");
	}
	$node->safe_psql('postgres', q{SELECT qsketch_gpu_unload('c')});
}

# questions that are cancelled
my $query = of_sketch('qsketch_total(sk), md5(qsketch_estimate(sk, ARRAY(SELECT g::bigint FROM generate_series(1, 500000) AS g))::text)',
	'sub_warp', '1MB');
my $right = $node->safe_psql('postgres', "SET qsketch.device = cpu; $query");
cmp_ok(cancelled_or_right($node, $query, $right), '>', 0, 'some were cancelled');
settled($node, 'cancelled');

$node->stop;
done_testing();
