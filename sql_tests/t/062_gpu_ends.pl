# An unprivileged role leaves no sketch on the device behind, however a transaction, a cursor, a
# session or the extension ends.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('ends', 'enable_sort = off', 'max_parallel_workers_per_gather = 0', 'max_connections = 60', 'max_prepared_transactions = 5', 'jit = off', 'fsync = off');
fill($node, 80_000);
$node->safe_psql('postgres', q{
	CREATE ROLE greedy LOGIN; CREATE ROLE modest LOGIN; CREATE ROLE other LOGIN; GRANT other TO greedy;
	GRANT SELECT ON t TO greedy, modest, other; GRANT CREATE ON SCHEMA public TO greedy, other;});

# A query of four groups of t, and what the CPU says.  After the first row the other groups are on the device.
sub questions
{
	my ($seed) = @_;

	return qq{SELECT g, qsketch_total(sk), qsketch_estimate(sk, $seed + 17 * g) FROM (SELECT k % 4 AS g, qsketch_agg(k + $seed, qsketch_new('multilevel', '64kB')) AS sk
		FROM t GROUP BY 1 OFFSET 0) AS s};
}

# Returns a session whose timeout, which prevents endless waiting, begins anew with each
# query.
sub session_of
{
	my ($role) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', $role ]);

	$session->set_query_timer_restart;
	return $session;
}

my @right = map { [ split /\n/, $node->safe_psql('postgres', 'SET qsketch.device = cpu;' . questions($_)) ] } 0 .. 5;
my $there = '(SELECT sum(g.values_now) FROM qsketch_gpu() AS g) - cached_now';

# ---- ends of sessions ----

{
	my @sessions = map { session_of('greedy') } 1 .. 12;

	for my $session (@sessions)
	{
		$session->query_safe('BEGIN');
		for my $c (1 .. 3)
		{
			$session->query_safe("DECLARE c$c CURSOR FOR " . questions($c));
			is($session->query_safe("FETCH 1 FROM c$c"), $right[$c][0], 'a cursor');
		}
	}
	is_soon($node, $there, 108, 'three groups of each cursor are on the device');
	$sessions[0]->query_safe('ROLLBACK');
	$sessions[1]->query('SELECT 1 / 0');
	$sessions[$_]->quit for 2 .. 5;
	$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'greedy'});
	$_->{run}->finish foreach @sessions[ 0, 1, 6 .. 11 ];
	settled($node, 'sessions that ended');
}

# ---- ends of transactions ----

sub steps_are_right
{
	my ($name, @steps) = @_;
	my $session = session_of('greedy');

	while (my ($step, $wanted) = splice @steps, 0, 2)
	{
		my $out = $session->query($step);
		is($out, $wanted, "$name: " . substr($step, 0, 60)) if defined $wanted;
	}
	my $errors = $session->{stderr};
	$session->quit;
	settled($node, $name);
	return $errors;
}

my $declare = 'DECLARE c CURSOR FOR ' . questions(1);
my @rest = @{ $right[1] };

is(steps_are_right('WITH HOLD', 'BEGIN; DECLARE c CURSOR WITH HOLD FOR ' . questions(1), undef, 'FETCH 1 FROM c', $rest[0], 'COMMIT', undef,
	'FETCH 1 FROM c', $rest[1], 'BEGIN; SAVEPOINT s', undef, 'FETCH 1 FROM c', $rest[2], 'ROLLBACK', undef, 'FETCH 1 FROM c', $rest[3], 'CLOSE c', undef), '', 'WITH HOLD: no error');
is(steps_are_right('scroll', 'BEGIN; DECLARE c SCROLL CURSOR FOR ' . questions(1), undef, 'FETCH 2 FROM c', join("\n", @rest[0, 1]), 'FETCH BACKWARD 1 FROM c', $rest[0],
	'FETCH LAST FROM c', $rest[3], 'COMMIT', undef), '', 'scroll: no error');
like(steps_are_right('prepared', "BEGIN; $declare", undef, 'FETCH 1 FROM c', $rest[0], q{PREPARE TRANSACTION 'p'}, undef, 'FETCH 1 FROM c', '',
	questions(1), join("\n", @rest), q{COMMIT PREPARED 'p'}, undef), qr/cursor "c" does not exist/, 'prepared: the cursor ended');
like(steps_are_right('prepared, held', "BEGIN; DECLARE h CURSOR WITH HOLD FOR " . questions(1), undef, 'FETCH 1 FROM h', $rest[0], q{PREPARE TRANSACTION 'p'}, undef,
	questions(1), join("\n", @rest)), qr/cannot PREPARE a transaction that has created a cursor WITH HOLD/, 'prepared, held: refused');
like(steps_are_right('an error', "BEGIN; $declare", undef, 'FETCH 1 FROM c', $rest[0], 'SELECT 1 / 0', '', 'FETCH 1 FROM c', '', 'ROLLBACK', undef), qr/aborted/, 'an error: the transaction is aborted');
is(steps_are_right('chained', "BEGIN; $declare", undef, 'FETCH 1 FROM c', $rest[0], 'COMMIT AND CHAIN', undef, $declare, undef, 'FETCH 2 FROM c', join("\n", @rest[0, 1]),
	'ROLLBACK AND CHAIN', undef, 'COMMIT', undef), '', 'chained: no error');

# procedures that end transactions while they have sketches
$node->safe_psql('postgres', 'SET ROLE other;' . q{
	CREATE PROCEDURE ends(at_end text, INOUT sum bigint) LANGUAGE plpgsql AS $$
	DECLARE r record; kept qsketch; c CURSOR FOR SELECT qsketch_agg(k, qsketch_new('sub_warp', '64kB')) AS sk FROM t;
	BEGIN
		FOR r IN SELECT k % 3 AS g, qsketch_agg(k, qsketch_new('multilevel', '64kB')) AS sk FROM t GROUP BY 1 ORDER BY 1 LOOP
			sum := sum + qsketch_total(r.sk) + qsketch_estimate(r.sk, r.g::bigint);
			kept := r.sk;
			IF at_end = 'commit' THEN COMMIT; ELSIF at_end = 'rollback' THEN ROLLBACK; END IF;
			sum := sum + qsketch_total(kept) + qsketch_total(r.sk);
			BEGIN
				OPEN c;
				FETCH c INTO kept;
				sum := sum + qsketch_total(kept);
				RAISE EXCEPTION 'undone';
			EXCEPTION WHEN raise_exception THEN
				sum := sum + qsketch_total(kept) + qsketch_estimate(kept, 3::bigint);
			END;
		END LOOP;
	END $$;});
for my $end ('commit', 'rollback', 'nothing')
{
	my $wanted = $node->safe_psql('postgres', "SET qsketch.device = cpu; CALL ends('nothing', 0)");

	is(steps_are_right("a procedure, $end", "CALL ends('$end', 0)", $wanted), '', "a procedure, $end: no error");
}

# ---- parallel workers that make sketches ----

{
	my $asking = q{SELECT count(*), sum(e) FROM (SELECT (SELECT qsketch_total(q) + qsketch_estimate(q, o.k)
		FROM (SELECT qsketch_agg(i + o.k, qsketch_new('sub_warp', '64kB')) AS q FROM generate_series(1, 4000) AS i OFFSET 0) AS s) AS e
		FROM (SELECT k FROM t LIMIT ALL) AS o WHERE k % 500 = 3) AS x};
	my $parallel = 'SET max_parallel_workers_per_gather = 3; SET debug_parallel_query = on';
	$parallel =~ s/debug_parallel_query/force_parallel_mode/ if $node->safe_psql('postgres', 'SHOW server_version_num') < 160000;

	like($node->safe_psql('postgres', "$parallel; EXPLAIN (COSTS off) $asking"), qr/Gather/, 'parallel workers');
	is($node->safe_psql('postgres', "$parallel; $asking"), $node->safe_psql('postgres', "SET qsketch.device = cpu; $asking"), 'parallel workers: right');
	settled($node, 'parallel workers');
}

# ---- the extension goes ----

{
	$node->safe_psql('postgres', 'CREATE DATABASE gone');
	$node->safe_psql('gone', 'CREATE EXTENSION qsketch; CREATE TABLE t AS SELECT i::bigint % 20000 AS k FROM generate_series(1, 80000) AS i; GRANT SELECT ON t TO greedy');
	my $session = $node->background_psql('gone', on_error_stop => 0, extra_params => [ '-U', 'greedy' ]);
	my $answers = $node->safe_psql('gone', 'SET qsketch.device = cpu;' . questions(1));

	$session->query_safe("BEGIN; $declare");
	is($session->query_safe('FETCH 1 FROM c'), (split /\n/, $answers)[0], 'before the extension goes');
	is_soon($node, $there, 3, 'the others are on the device');
	$node->safe_psql('gone', 'DROP EXTENSION qsketch CASCADE');
	my $out = $session->query('FETCH ALL FROM c');
	ok($out eq join("\n", (split /\n/, $answers)[ 1 .. 3 ]) || $session->{stderr} =~ /does not exist|cache lookup failed/, 'after it has gone: an answer or an error')
		or diag("$out $session->{stderr}");
	$session->query('ROLLBACK');
	$session->query(questions(1));
	like($session->{stderr}, qr/does not exist/, 'there is no such function any more');
	$session->quit;
	settled($node, 'the extension has gone');
	$node->safe_psql('postgres', 'DROP DATABASE gone');
}

# ---- all of it in random order ----

my $state = 11;

sub draw
{
	my ($below) = @_;

	$state = ($state * 1103515245 + 12345) % 2147483648;
	return ($state >> 8) % $below;
}

# The savepoints of a session, and its cursors: which sketch, how many rows were read, and at which savepoint it was made.
sub random_step
{
	my ($s) = @_;
	my $what = draw(10);
	my @cursors = sort keys %{ $s->{cursors} };

	if ($what < 3 && @cursors < 8)
	{
		my ($name, $seed) = ('c' . $s->{made}++, draw(6));
		$s->{cursors}{$name} = { seed => $seed, read => 0, level => scalar @{ $s->{points} } };
		return ("DECLARE $name CURSOR FOR " . questions($seed));
	}
	if ($what < 7 && @cursors)
	{
		my $c = $s->{cursors}{ my $name = $cursors[ draw(scalar @cursors) ] };
		my $count = 1 + draw(2);
		my $last = $c->{read} + $count > 4 ? 3 : $c->{read} + $count - 1;
		my @rows = @{ $right[ $c->{seed} ] }[ $c->{read} .. $last ];

		$c->{read} = $c->{read} + $count > 4 ? 4 : $c->{read} + $count;
		return ("FETCH $count FROM $name", join("\n", @rows));
	}
	if ($what == 7 && @cursors)
	{
		delete $s->{cursors}{ my $name = $cursors[ draw(scalar @cursors) ] };
		return ("CLOSE $name");
	}
	if ($what == 8)
	{
		push @{ $s->{points} }, 's' . $s->{made}++;
		return ("SAVEPOINT $s->{points}[-1]");
	}
	if (@{ $s->{points} })
	{
		my $level = draw(scalar @{ $s->{points} });
		my $point = $s->{points}[$level];

		if (draw(2))
		{
			splice @{ $s->{points} }, $level;
			$_->{level} = $_->{level} > $level ? $level : $_->{level} foreach values %{ $s->{cursors} };
			return ("RELEASE $point");
		}
		splice @{ $s->{points} }, $level + 1;
		delete $s->{cursors}{$_} foreach grep { $s->{cursors}{$_}{level} > $level } @cursors;
		return ("ROLLBACK TO $point");
	}
	($s->{points}, $s->{cursors}) = ([], {});
	return (draw(2) ? 'COMMIT; BEGIN' : 'ROLLBACK; BEGIN');
}

{
	my @sessions = map { { psql => session_of($_), points => [], cursors => {}, made => 0 } } qw(greedy greedy modest);
	my ($steps, $wrong) = (0, 0);

	my ($fetched, $most) = (gpu_count($node, 'fetches'), 0);

	$_->{psql}->query_safe('BEGIN') foreach @sessions;
	for my $turn (1 .. 400)
	{
		my $s = $sessions[ draw(scalar @sessions) ];
		my ($step, $wanted) = random_step($s);
		my $out = $s->{psql}->query($step);

		set_worker($node, 'qsketch.gpu_memory_limit', draw(2) ? "'1MB'" : "'0'") if $turn % 40 == 0;
		$steps++;
		$most = gpu_count($node, $there) if $turn % 20 == 0 && gpu_count($node, $there) > $most;
		next if $s->{psql}{stderr} eq '' && (!defined $wanted || $out eq $wanted);
		diag("turn $turn, $step: got $out, not " . ($wanted // 'anything') . "; $s->{psql}{stderr}") if $wrong++ < 5;
		$s->{psql}{stderr} = '';
	}
	is($wrong, 0, "$steps random steps are right");
	cmp_ok(gpu_count($node, 'fetches') - $fetched, '>', 100, 'they fetched sketches');
	cmp_ok($most, '>', 4, 'several were on the device at a time');
	set_worker($node, 'qsketch.gpu_memory_limit', "'0'");
	$_->{psql}->query_safe('COMMIT') foreach @sessions;
	settled($node, 'random steps');
	$_->{psql}->quit foreach @sessions;
}

$node->stop;
done_testing();
