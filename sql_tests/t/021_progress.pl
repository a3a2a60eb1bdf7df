# qsketch_progress and qsketch_stat, seen from a second session while commands wait at a gate: column scans,
# serial and parallel, and qsets_pairs.  Also tests which roles see which details, and that no entry of a
# command is left, however the command ends.
#
# The gate is a hash function, or a function in the select list, that waits until a file exists.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $rows = 60_000;
my $node = gpu_node('progress', "qsketch.device = cpu\nsynchronize_seqscans = off\nautovacuum = off", 'max_parallel_workers_per_gather = 0');
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
my $gate = $node->data_dir . '/go';

sub open_gate { append_to_file($gate, 'go') }
sub shut_gate { unlink $gate }

# A type of keys whose hash function waits at key 40000 and above.
$node->safe_psql('postgres', qq{
	CREATE FUNCTION gate() RETURNS int LANGUAGE plpgsql SECURITY DEFINER PARALLEL SAFE VOLATILE AS
	\$\$ BEGIN WHILE (pg_stat_file('go', true)).size IS NULL LOOP PERFORM pg_sleep(0.005); END LOOP; RETURN 1; END \$\$;
	CREATE TYPE gated;
	CREATE FUNCTION gated_in(cstring) RETURNS gated LANGUAGE internal IMMUTABLE STRICT AS 'int8in';
	CREATE FUNCTION gated_out(gated) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int8out';
	CREATE TYPE gated (INPUT = gated_in, OUTPUT = gated_out, LIKE = int8);
	CREATE CAST (int8 AS gated) WITHOUT FUNCTION;
	CREATE CAST (gated AS int8) WITHOUT FUNCTION;
	CREATE FUNCTION gated_eq(gated, gated) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int8eq';
	CREATE OPERATOR = (LEFTARG = gated, RIGHTARG = gated, FUNCTION = gated_eq, COMMUTATOR = =);
	CREATE FUNCTION gated_hash(gated) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashint8';
	CREATE FUNCTION gated_hash(gated, int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
	\$\$ BEGIN IF \$1::int8 >= 40000 THEN PERFORM gate(); END IF; RETURN hashint8extended(\$1::int8, \$2); END \$\$;
	CREATE OPERATOR CLASS gated_ops DEFAULT FOR TYPE gated USING hash AS
		OPERATOR 1 = (gated, gated), FUNCTION 1 gated_hash(gated), FUNCTION 2 gated_hash(gated, int8);
	CREATE TABLE slow AS SELECT i::int8::gated AS k FROM generate_series(1, $rows) AS i;
	CREATE TABLE fast AS SELECT i AS k FROM generate_series(1, $rows) AS i;
	VACUUM ANALYZE slow, fast;
	CREATE TABLE sets AS SELECT qsets_agg(i % 100, i * 7919::bigint % 997) AS q FROM generate_series(1, 20000) AS i;
	CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE watcher LOGIN IN ROLE pg_read_all_stats;
	GRANT SELECT ON slow, sets TO alice;
	SELECT qsketch_stat_reset()});

# Runs statements in a session of its own; returns a function that waits for its end.
sub start
{
	my ($role, @statements) = @_;
	my %run = (out => '', err => '');

	$run{handle} = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=0', '-d', $node->connstr('postgres') . " user=$role", map { ('-c', $_) } @statements ],
		'<', \undef, '>', \$run{out}, '2>', \$run{err}, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return \%run;
}

sub progress
{
	my ($columns, $role) = @_;

	return $node->safe_psql('postgres', "SELECT $columns FROM qsketch_progress", extra_params => [ '-U', $role // $superuser ]);
}

# Waits until there is a command for which this condition holds.
sub wait_for
{
	my ($condition, $name) = @_;

	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM qsketch_progress WHERE $condition"), $name);
}

sub gone
{
	my ($name) = @_;

	ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM qsketch_progress_of_processes()'), "$name: nothing is left");
}

my $seen = q{command, phase, device, workers, pages_total = (SELECT relpages FROM pg_class WHERE relname = 'slow'),
	pages_done BETWEEN 1 AND pages_total - 1, keys BETWEEN 1 AND 39999, relid::regclass, datname, sets_total, pairs};
my $scan = q{SELECT qsketch_total(qsketch_agg(k, qsketch_new(size => '4kB'))) FROM slow};

sub cancel
{
	my ($how) = @_;

	is($node->safe_psql('postgres', "SELECT bool_and($how(pid)) FROM qsketch_progress"), 't', "$how by the pid of the view");
}

# ---- a serial scan ----

my $run = start('alice', $scan);
wait_for(q{pages_done >= 32 AND pages_done < pages_total}, 'a serial scan is seen');
is(progress($seen), 'column scan|scanning|cpu|0|t|t|t|slow|postgres||', 'what is seen of it');
is(progress($seen, 'watcher'), progress($seen), 'pg_read_all_stats sees it as well');
is(progress("$seen, pid > 0", 'alice'), progress($seen) . '|t', 'its own role, too');
is(progress('pid > 0, datname, relid, command, phase, device, workers, pages_total, pages_done, keys', 'bob'),
	't|postgres||||||||', 'another role sees the process and no more');
is($node->safe_psql('postgres', q{SELECT keys_cpu FROM qsketch_stat}), '0', 'counters are told at the end');
open_gate();
$run->{handle}->finish;
is($run->{out}, "$rows\n", 'the scan has its result');
gone('a scan that has ended');
is($node->safe_psql('postgres', q{SELECT column_scans, pages = relpages, pages_all_visible = relpages, keys_cpu, batches_cpu > 10, keys_gpu, batches_gpu,
	pair_searches_cpu, pairs FROM qsketch_stat, pg_class WHERE relname = 'slow'}), "1|t|t|$rows|t|0|0|0|0", 'what was counted of it');

# ---- the ways in which a command may end ----

for my $how ('pg_cancel_backend', 'pg_terminate_backend')
{
	shut_gate();
	$run = start('alice', $scan, 'SELECT 1');
	wait_for(q{pages_done > 0}, 'a scan is seen again');
	cancel($how);
	gone($how);
	$run->{handle}->finish;
	like($run->{err}, qr/canceling statement|terminating connection/, "$how ended it");
}

# in a subtransaction that fails, the transaction goes on
$run = start('alice', q{DO $$ DECLARE n int; BEGIN
	BEGIN
		SET LOCAL statement_timeout = 0;
		PERFORM qsketch_total(qsketch_agg(k)) FROM slow;
	EXCEPTION WHEN query_canceled THEN
		SELECT count(*) INTO n FROM qsketch_progress_of_processes();
		RAISE NOTICE '% left', n;
	END; END $$});
wait_for(q{pages_done > 0}, 'a scan within a block is seen');
cancel('pg_cancel_backend');
$run->{handle}->finish;
like($run->{err}, qr/NOTICE:  0 left/, 'nothing is left for the rest of the transaction');

# ---- a parallel scan ----

my $parallel = 'SET max_parallel_workers_per_gather = 2';
$run = start('alice', $parallel, $scan);
wait_for(q{workers = 2 AND phase = 'scanning' AND (SELECT count(*) = 3 FROM qsketch_progress_of_processes())}, 'a parallel scan is one command');
is($node->safe_psql('postgres', q{SELECT count(*), count(leader_pid), count(DISTINCT id), count(DISTINCT relid), bool_and(pages_total > pages_done)
	FROM qsketch_progress_of_processes()}), '3|2|1|1|t', 'its processes are seen, too');
is(progress('pages_done BETWEEN 0 AND pages_total, keys < 60000', 'alice'), 't|t', 'sums over them');
is($node->safe_psql('postgres', q{SELECT count(*) = 3 AND count(relid) = 0 FROM qsketch_progress_of_processes()}, extra_params => [ '-U', 'bob' ]),
	't', 'of workers, too, another role sees no more than that they are there');
cancel('pg_cancel_backend');
gone('a cancelled parallel scan');
$run->{handle}->finish;
$node->safe_psql('postgres', 'SELECT qsketch_stat_reset()');
open_gate();
is($node->safe_psql('postgres', "$parallel; $scan"), $rows, 'a parallel scan that ends');
gone('a parallel scan that has ended');
is($node->safe_psql('postgres', q{SELECT column_scans, pages = relpages, keys_cpu FROM qsketch_stat, pg_class WHERE relname = 'slow'}),
	"1|t|$rows", 'it is counted once, with what all processes read');

# ---- groups ----

# Scans with GROUP BY end with their last group, when their cursor is closed, or when they begin anew:
# a process shows four commands at most.
for my $settings ('SET max_parallel_workers_per_gather = 0', "$parallel; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET cpu_operator_cost = 0.01; SET cpu_tuple_cost = 0.0001")
{
	my $groups = q{SELECT k % 10 AS g, qsketch_total(qsketch_agg(k, qsketch_new(size => '1kB'))) FROM fast GROUP BY k % 10};
	my $way = $settings =~ /setup/ ? 'parallel' : 'serial';
	my $session = $node->background_psql('postgres');

	$session->query_safe("$settings; BEGIN");
	like($session->query_safe("EXPLAIN $groups"), $way eq 'serial' ? qr/QSketchScan/ : qr/Parallel Custom Scan \(QSketchScan\)/, "groups, $way: by a column scan");
	$session->query_safe($groups) foreach 1 .. 5;
	gone("groups, $way: scans that have ended");
	$session->query_safe("DECLARE c$_ CURSOR FOR $groups; FETCH 1 FROM c$_; CLOSE c$_") foreach 1 .. 5;
	gone("groups, $way: cursors that were closed");
	$session->query_safe("SELECT (SELECT sum(t) FROM ($groups LIMIT 1 + 0 * i) AS s (g, t)) FROM generate_series(1, 6) AS i");
	gone("groups, $way: scans that began anew");
	$session->query_safe('COMMIT');
	$session->quit;
}

# ---- pairs ----

my $pairs = $node->safe_psql('postgres', 'SELECT count(*) FROM sets, qsets_pairs(q)');
my %expected = (
	'row by row' => [ '', 'SELECT count(gate()) FROM (SELECT (qsets_pairs(q)).a FROM sets) AS p', 'cpu|0' ],
	'in FROM' => [ 'SET max_parallel_workers_per_gather = 0', 'SELECT count(gate() + p.a) FROM sets, qsets_pairs(q) AS p', 'cpu|0' ],
	'by workers' => [ 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0',
		'SELECT count(gate() + p.a) FROM qsets_pairs((SELECT q FROM sets)) AS p', 'cpu|2' ],
	'on a GPU' => [ 'SET qsketch.device = gpu', 'SELECT count(gate() + p.a) FROM sets, qsets_pairs(q) AS p', 'gpu|0' ]);
for my $way (sort keys %expected)
{
	my ($settings, $statement, $is) = @{ $expected{$way} };

	$node->safe_psql('postgres', 'SELECT qsketch_stat_reset()');
	shut_gate();
	$run = start($superuser, grep { $_ } $settings, $statement);
	wait_for(q{command = 'qsets_pairs' AND pairs > 0}, "qsets_pairs $way is seen");
	is(progress(q{device, workers, phase, sets_total, sets_done BETWEEN 0 AND 100, relid, pages_total, keys}), "$is|searching|100|t|||", "qsets_pairs $way: what is seen");
	cancel('pg_cancel_backend') if $way eq 'in FROM';
	open_gate();
	$run->{handle}->finish;
	gone("qsets_pairs $way");
	my ($cpu, $gpu) = $is =~ /gpu/ ? (0, 1) : (1, 0);
	is($node->safe_psql('postgres', 'SELECT pair_searches_cpu, pair_searches_gpu FROM qsketch_stat'), "$cpu|$gpu", "qsets_pairs $way: one search was counted");
	next if $way eq 'in FROM';
	is($run->{out}, "$pairs\n", "qsets_pairs $way: all pairs were found");
	is($node->safe_psql('postgres', 'SELECT pairs FROM qsketch_stat'), $pairs, "qsets_pairs $way: and counted");
}

# A search finds nothing, and takes so long that only a cancellation ends it. qsketch_progress shows the
# search as on the GPU before it has found a pair.
$node->safe_psql('postgres', q{CREATE TABLE apart AS SELECT qsets_agg(i % 30000, i * 7919::bigint % 999983) AS q FROM generate_series(1, 1500000) AS i});
$run = start($superuser, 'SET qsketch.device = gpu', q{SELECT count(*) FROM apart, qsets_pairs(q, min_count => 40, method => 'merge')});
wait_for(q{command = 'qsets_pairs' AND phase = 'searching' AND device = 'gpu' AND sets_total = 30000 AND pairs = 0}, 'a search on a GPU without a pair is seen');
cancel('pg_cancel_backend');
$run->{handle}->finish;
like($run->{err}, qr/canceling statement due to user request/, 'it had not ended when it was seen');
gone('a cancelled search on a GPU');

# several commands of one process, some of them left open
shut_gate();
my $session = $node->background_psql('postgres');
my $several = join('', map { "DECLARE c$_ CURSOR FOR SELECT qsets_pairs(q) FROM sets; FETCH 1 FROM c$_;" } 1 .. 6);
$session->query_until(qr/ready/, "BEGIN; $several\n\\echo ready\n");
is($node->safe_psql('postgres', q{SELECT count(*), count(DISTINCT pid), count(DISTINCT id) FROM qsketch_progress_of_processes()}), '4|1|4', 'up to four commands of a process are seen');
$session->query_until(qr/ready/, "CLOSE c2; CLOSE c6; \n\\echo ready\n");
is($node->safe_psql('postgres', 'SELECT count(*) FROM qsketch_progress_of_processes()'), '3', 'one of those seen was closed');
$session->query_until(qr/ready/, "COMMIT;\n\\echo ready\n");
gone('cursors at the end of their transaction');
$session->quit;

# ---- who may do what ----

for my $role ('bob', 'watcher')
{
	my ($rc, $out, $err) = $node->psql('postgres', 'SELECT qsketch_stat_reset()', extra_params => [ '-U', $role ]);
	like($err, qr/permission denied for function qsketch_stat_reset/, "$role may not reset the counters");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM qsketch_stat', extra_params => [ '-U', 'bob' ]), '1', 'all may read them');

# keys and batches by device: small sketches stay on the CPU as long as they are explicit
$node->safe_psql('postgres', 'SELECT qsketch_stat_reset()');
$node->safe_psql('postgres', q{SET qsketch.device = gpu; SET qsketch.enable_columnscan = off;
	SELECT qsketch_total(qsketch_agg(k)), (qfilter_info(qfilter_agg(k, qfilter_new_bloom(100000)))).rows, cardinality(array_agg(k)) FROM fast;});
is($node->safe_psql('postgres', qq{SELECT keys_cpu + keys_gpu, keys_gpu > 1.5 * $rows, batches_gpu > 0, column_scans FROM qsketch_stat}),
	2 * $rows . '|t|t|0', 'keys on a GPU, without a column scan');

# nothing is shown if activities are not tracked
$run = start($superuser, 'SET track_activities = off', $scan);
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'});
is(progress('count(*)'), '0', 'track_activities = off: nothing is seen');
open_gate();
$run->{handle}->finish;

# ---- a process that is killed ----

shut_gate();
$run = start('alice', $scan);
wait_for(q{pages_done > 0}, 'a scan is seen that will be killed');
kill('KILL', progress('pid'));
$run->{handle}->finish;
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM qsketch_progress_of_processes()}), 'nothing is left of a killed backend');
open_gate();
is($node->safe_psql('postgres', $scan), $rows, 'and scans go on');

# ---- a server without the library at its start ----

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\n");
$node->restart;
my ($rc, $out, $err) = $node->psql('postgres', "$scan; SELECT column_scans, keys_cpu FROM qsketch_stat; SELECT count(*) FROM qsketch_progress");
if ($node->safe_psql('postgres', 'SHOW server_version_num') >= 170000)
{
	is($out, "$rows\n1|$rows\n0", 'the views are there from PostgreSQL 17 on, and count');
	is($node->safe_psql('postgres', 'SELECT column_scans, keys_cpu FROM qsketch_stat'), "1|$rows", 'for all sessions');
}
else
{
	is($out, $rows, 'scans work without shared memory for their progress');
	like($err, qr/no shared memory for what backends do\nHINT:  Load qsketch at server start, by shared_preload_libraries/, 'the views say what they need');
}

$node->stop;
done_testing();
