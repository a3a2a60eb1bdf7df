# Pairs of sets by parallel workers: rows and their order are the same as without workers, wherever the
# call is in the query, and whatever happens to the workers.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('qsets_pairs');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', join("\n", 'jit = off', 'max_worker_processes = 8', 'log_min_messages = warning',
	'max_parallel_workers = 8', ''));
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	SELECT setseed(0.25);
	CREATE TABLE element AS SELECT (random() ^ 2 * 600)::int AS s, (random() ^ 3 * 5000)::int AS e FROM generate_series(1, 12000);
	CREATE TABLE c AS SELECT qsets_agg(s, e) AS q, qsets_agg(s, e) FILTER (WHERE s % 3 = 0) AS third FROM element;
	CREATE TABLE parts AS SELECT s % 4 AS n, qsets_agg(s, e) AS q FROM element GROUP BY s % 4;
	ANALYZE;
});

# All rows of qsets_pairs with these arguments, as one line that depends on their order.
sub digest
{
	my ($call) = @_;

	return "SELECT count(*), md5(string_agg(concat_ws(',', a, b, common, jaccard), ';')) FROM $call;";
}

my $parallel = 'SET parallel_setup_cost = 0; SET max_parallel_workers_per_gather = 3;';
my $serial = 'SET max_parallel_workers_per_gather = 0;';
my $by_node = 'SET qsketch.enable_pairscan = on;';
my $by_function = 'SET qsketch.enable_pairscan = off;';

# The output of a script, with errors, and the number of workers that it launched.
sub run
{
	my ($script) = @_;
	my ($out, $err) = ('', '');

	$node->psql('postgres', "SET client_min_messages = debug1;\n$script", stdout => \$out, stderr => \$err,
		on_error_stop => 0);
	my $launched = 0;
	$launched += $1 while $err =~ /launched (\d+) of \d+ parallel workers for pairs of sets/g;
	$out .= "$1\n" while $err =~ /(ERROR:.*)/g;
	return ($out, $launched);
}

sub workers_left
{
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'")
	  or return 'workers are left';
	return 'none';
}

# ---- the same rows ----

my @calls = (
	'c, qsets_pairs(q)', 'c, qsets_pairs(q, 4)', 'c, qsets_pairs(q, min_jaccard => 0.2)', 'c, qsets_pairs(q, top => 3)',
	'c, qsets_pairs(q, third)', 'c, qsets_pairs(third, q, 3)', 'c, qsets_pairs(q, third, top => 2)',
	"c, qsets_pairs(third, 0)", 'c, qsets_pairs(q, 1000000)', 'c, qsets_pairs(qsets_subset(q, ARRAY[1]))',
	'qsets_pairs(NULL)', 'qsets_pairs((SELECT q FROM c), 3)', 'parts, qsets_pairs(q, 3)',
	map { "c, qsets_pairs(q, 2, method => '$_')" } 'merge', 'hash', 'bitmap', 'index', 'hybrid');
my %wanted;

for my $call (@calls)
{
	my ($rows, $launched) = run("$serial $by_function" . digest($call));

	$wanted{$call} = $rows;
	is($launched, 0, "$call: no workers when none are wanted");
	is((run("$serial $by_node" . digest($call)))[0], $rows, "$call: the node's rows");
	for my $way ($by_function, $by_node)
	{
		for my $leader ('on', 'off')
		{
			my ($got, $helped) = run("$parallel $way SET parallel_leader_participation = $leader;" . digest($call));

			is($got, $rows, "$call: the same in parallel, leader participation $leader, $way");
			cmp_ok($helped, '>', 0, "$call: by workers") if $rows =~ /^\d\d/;
		}
	}
}

# Small collections have no workers, unless the settings say that starting workers
# costs nothing.
is((run('SET max_parallel_workers_per_gather = 3;' . digest('c, qsets_pairs(third, 20)')))[1], 0, 'no workers for little work');
is($node->safe_psql('postgres', "$parallel SELECT min(workers) || ' ' || max(workers) FROM c, qsets_pairs_plan(q)"),
	'3 3', 'qsets_pairs_plan tells how many');
is($node->safe_psql('postgres', "SELECT count(*) FROM c, qsets_pairs_plan(third, 100) WHERE workers > 0"),
	'0', 'and when none are worth it');

# ---- places ----

my $call = 'c, qsets_pairs(q, 4)';
my $rows = $wanted{$call};
my $copy = digest('copied');

for my $way ($by_function, $by_node)
{
	my $set = "$parallel $way";
	my ($out, $launched) = run("$set INSERT INTO copied SELECT p.* FROM $call AS p;" . $copy);

	like($out, qr/does not exist/, 'nothing copied yet');
	($out, $launched) = run("$set CREATE TABLE copied AS SELECT p.* FROM $call AS p; $copy");
	is($out, $rows, "CREATE TABLE AS, $way");
	cmp_ok($launched, '>', 0, 'by workers');
	($out, $launched) = run("$set TRUNCATE copied; INSERT INTO copied SELECT p.* FROM $call AS p; $copy DROP TABLE copied;");
	is($out, $rows, "INSERT, $way");
	cmp_ok($launched, '>', 0, 'by workers');
	($out, $launched) = run("$set SELECT count(*) FROM (SELECT (qsets_pairs(q, 4)).* FROM c) AS p;");
	is("$out$launched", "$1" . '0', "in the select list, by none, $way") if $rows =~ /^(\d+)/ && $out =~ s/\n//;
	is((run("$set BEGIN READ ONLY; " . digest($call) . 'COMMIT'))[0], $rows, "read only, $way");
	is((run("$set BEGIN ISOLATION LEVEL SERIALIZABLE; " . digest($call) . 'COMMIT'))[0], $rows, "serializable, $way");
	is((run("$set PREPARE p(bigint) AS " . digest('c, qsets_pairs(q, $1)') . "SET plan_cache_mode = force_generic_plan;"
			  . 'EXECUTE p(4); EXECUTE p(4);'))[0], "$rows\n$rows", "prepared, $way");
	($out, $launched) = run("$way BEGIN; SET LOCAL parallel_setup_cost = 0; SET LOCAL max_parallel_workers_per_gather = 2;"
		  . digest($call) . 'COMMIT;');
	is("$out $launched", "$rows 2", "SET LOCAL, $way");
	is((run("$set BEGIN; CREATE TABLE u AS SELECT 1; SAVEPOINT s; INSERT INTO u VALUES (2);" . digest($call)
			  . 'ROLLBACK TO s; ' . digest($call) . 'INSERT INTO u VALUES (3); COMMIT; SELECT count(*) FROM u; DROP TABLE u;'))[0],
		"$rows\n$rows\n2", "between writes and in a subtransaction, $way");

	# the same call runs many times in one query, each time with workers of its own
	($out, $launched) = run("$set SELECT count(*), count(DISTINCT n) FROM generate_series(1, 5) AS i, c, "
		  . 'LATERAL (SELECT count(*) AS n FROM qsets_pairs(q, 3 + i - i)) AS p;');
	is("$out $launched", '5|1 15', "five times, $way");

	# rows that are not wanted
	($out, $launched) = run("$set SELECT array_agg(n ORDER BY n) FROM (SELECT count(*) AS n FROM generate_series(1, 3) AS i, c, LATERAL "
		  . '(SELECT * FROM qsets_pairs(q, 1 + i - i) LIMIT 7) AS p GROUP BY i) AS r;');
	is($out, '{7,7,7}', "LIMIT, $way");
	is(workers_left(), 'none', 'and no workers are left');

	# cursors: of SQL, and of PL/pgSQL
	is((run("$set BEGIN; DECLARE p CURSOR FOR SELECT a, b FROM $call LIMIT 2000; MOVE 500 IN p; "
			  . "CREATE TABLE u AS SELECT 1; FETCH 2 FROM p; DROP TABLE u; MOVE ALL IN p; CLOSE p; COMMIT"))[0],
		(run("$serial SELECT a, b FROM $call LIMIT 2 OFFSET 500"))[0], "a cursor, with writes in between, $way");
	is((run("$set DO \$\$ DECLARE r record; n int := 0; BEGIN CREATE TEMP TABLE seen (a bigint); "
			  . "FOR r IN SELECT * FROM $call AS p LOOP n := n + 1; INSERT INTO seen VALUES (r.a); EXIT WHEN n = 1000; END LOOP; "
			  . "END \$\$; SELECT count(*) FROM seen;"))[0], '1000', "a loop that writes, $way");

	# the query itself runs in a worker, or its leader is in parallel mode
	for my $force ('force_parallel_mode', 'debug_parallel_query')
	{
		($out, $launched) = run("$set SET $force = on;" . digest($call));
		next if $out =~ /unrecognized configuration parameter/;
		is("$out $launched", "$rows 0", "within a worker, $way");
	}
	is((run("$set SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; "
			  . digest('(SELECT count(*) AS n FROM element) AS x, c, qsets_pairs(q, 4 + n * 0)')))[0],
		$rows, "beside a Gather, $way");
}

# Errors that PL/pgSQL catches leave the transaction and its locks as they should be.
for my $way ($by_function, $by_node)
{
	$node->safe_psql('postgres', q{
		CREATE FUNCTION try(query text) RETURNS text LANGUAGE plpgsql AS $$
		DECLARE x text;
		BEGIN
			BEGIN
				EXECUTE query INTO x;
			EXCEPTION WHEN OTHERS THEN
				x := SQLSTATE;
			END;
			RETURN x;
		END $$;
	});
	my ($out, $launched) = run("$parallel $way SELECT try('SELECT sum(1 / (a - a)) FROM $call') AS zero,
		try('SELECT count(*) FROM $call') AS count, try('SELECT count(*) FROM c, qsets_pairs(q, -1)') AS negative,
		try('SELECT count(*) FROM $call') AS again");
	my ($count) = $rows =~ /^(\d+)/;

	is($out, "22012|$count|22023|$count", "errors caught, $way");
	is(workers_left(), 'none', 'and no workers are left');
	$node->safe_psql('postgres', 'DROP FUNCTION try');
}

# Calls that the node does not compute, and who may use it.
like($node->safe_psql('postgres', "EXPLAIN SELECT a FROM $call"), qr/Custom Scan \(QSketchPairs\)/, 'the node is used');
for my $query ("SELECT p FROM $call AS p", "SELECT * FROM c, qsets_pairs(q, 4) WITH ORDINALITY",
	'SELECT * FROM c, ROWS FROM (qsets_pairs(q, 4), generate_series(1, 3))', "SELECT p.a FROM $call AS p WHERE p IS NOT NULL",
	"UPDATE element SET e = common FROM $call WHERE s = a", "SELECT a FROM $call FOR UPDATE OF c")
{
	like($node->safe_psql('postgres', "EXPLAIN $query"), qr/Function Scan on qsets_pairs|ROWS FROM|Function Scan on p/, "not in: $query");
}
is((run("$parallel SELECT count(*) FROM (SELECT p FROM $call AS p) AS r"))[0] . "\n", $rows =~ /^(\d+)/ ? "$1\n" : '', 'whole rows');
for my $way ($by_function, $by_node)
{
	like((run("CREATE ROLE nobody_may; GRANT SELECT ON c TO nobody_may; REVOKE EXECUTE ON FUNCTION qsets_pairs(qsets, bigint, float8, int, text) FROM PUBLIC;"
				. "$way SET ROLE nobody_may; SELECT count(*) FROM $call; RESET ROLE; DROP OWNED BY nobody_may; DROP ROLE nobody_may;"
				. "GRANT EXECUTE ON FUNCTION qsets_pairs(qsets, bigint, float8, int, text) TO PUBLIC;"))[0],
		qr/permission denied for function qsets_pairs/, "permissions are asked for, $way");
}
my ($plan) = $node->safe_psql('postgres', "$parallel EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT a FROM c, qsets_pairs(q)");
like($plan, qr/Device: cpu\s+Method: \w+\s+Workers Planned: 3\s+Workers Launched: [123]/, 'EXPLAIN tells of method and workers');

# ---- workers that are missing, or are terminated ----

for my $way ($by_function, $by_node)
{
	my ($out, $launched) = run("$parallel $way SET max_parallel_workers = 0; SET parallel_leader_participation = off;" . digest($call));

	is("$out $launched", "$rows 0", "no workers to be had: the leader does it, $way");

	# A worker is terminated: only the query fails.  A worker that is about to end by itself ignores
	# the signal, so workers are terminated until the leader has failed.
	my ($out_killed, $err) = ('', '');
	my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), map { ('-c', $_) } split(/;\s*/, "$parallel $way"),
		"SET work_mem = '1GB'", 'SELECT count(*) FROM generate_series(1, 100000) AS i, c, '
		  . "LATERAL (SELECT count(*) FROM qsets_pairs(q, 0 * i, method => 'merge')) AS p" ], '<', \undef, '>', \$out_killed, '2>', \$err);

	ok($node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'"),
		"workers are there, $way");
	ok($node->poll_query_until('postgres', "SELECT count(told) >= 0 AND count(*) FILTER (WHERE backend_type = 'client backend') = 0
		FROM (SELECT backend_type, CASE backend_type WHEN 'parallel worker' THEN pg_terminate_backend(pid) END AS told
			FROM pg_stat_activity WHERE pid <> pg_backend_pid()) AS t"), "a worker is told to go, $way");
	$session->finish;
	like($err, qr/terminating .* due to administrator command/, "its leader fails, $way");
	is(workers_left(), 'none', 'and no workers are left');
}
is((run("$parallel" . digest($call)))[0], $rows, 'the server works on');

# ---- another kind of shared memory, and a standby ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('qsets_pairs_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'dynamic_shared_memory_type = mmap');
$standby->start;
for my $way ($by_function, $by_node)
{
	is($standby->safe_psql('postgres', "$parallel $way" . digest($call)) . "\n", $rows =~ s/\n*$/\n/r, "on a standby, with mmap, $way");
}
$standby->stop;

$node->append_conf('postgresql.conf', 'min_dynamic_shared_memory = 64MB');
$node->restart;
for my $i (1 .. 3)
{
	is((run("$parallel" . digest($call)))[0], $rows, 'with memory that was used before');
}

$node->stop;
done_testing();
