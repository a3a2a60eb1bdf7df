# Large values that all processes of a parallel scan merge: the bytes are those of a serial plan, whatever
# the structure, the size, the weights, the processes and the aggregates beside them; also in rescans
# and over partitions.  The bounds of top keys hold.  Then workers are terminated and killed in the middle: queries fail or are right,
# and no shared memory is left behind.
#
# SHARED_VALUES_ROUNDS and SHARED_VALUES_SEED repeat a failure, or do more.

use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $rounds = $ENV{SHARED_VALUES_ROUNDS} // 100;
my $seed = $ENV{SHARED_VALUES_SEED} // 77;
srand($seed);
note "seed $seed";

sub any_of { return $_[ int rand @_ ] }

my $node = PostgreSQL::Test::Cluster->new('shared_values');
$node->init;
$node->append_conf('postgresql.conf', join("\n", 'autovacuum = off', 'fsync = off', 'jit = off', 'max_worker_processes = 12',
	'max_parallel_workers = 8', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0',
	'cpu_operator_cost = 1', 'restart_after_crash = on', ''));
$node->start;

# Few keys and many; weights that take sums past 2^32, and that take back what others add.
$node->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	CREATE TABLE t (k bigint, few int, nothing bigint, word text, w bigint, big bigint, back int, huge bigint);
	INSERT INTO t SELECT i * 7919 % 60013, i % 40, NULL, CASE WHEN i % 3 > 0 THEN 'word ' || i % 9000 END, i % 5, i % 7 * 1000000, CASE WHEN i > 60013 THEN -1 ELSE 3 END, 100000000000000
	FROM generate_series(1, 120000) AS i;
	CREATE TABLE parts (LIKE t) PARTITION BY HASH (k);
	CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
	CREATE TABLE parts_2 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 2);
	INSERT INTO parts SELECT * FROM t;
	ALTER TABLE t SET (parallel_workers = 7);
	VACUUM ANALYZE;
	CREATE FUNCTION segments() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM pg_ls_dir('pg_dynshmem') $$;
});

sub sf { return "qsketch_new('sf', '64kB', z => " . any_of(2, 8) . ')' }

# Of one of these sizes, or of any.
sub template
{
	my @sizes = @_ ? @_ : ('16kB', '64kB', '96kB', '128kB', '256kB', '1MB', '2MB');
	my $structure = any_of('thread', 'warp', 'half_warp', 'sub_warp', 'multilevel', 'multilevel', 'sf');

	return 'qsketch_sf_host(' . sf() . ')' if rand() < 0.05;
	return sprintf "qsketch_new('%s', '%s', depth => %d, seed => %d)", $structure,
	  any_of(@sizes), 1 + int rand 4, int rand 3;
}

sub call
{
	my $key = any_of('k', 'k', 'few', 'nothing', 'word');

	return any_of(
		sub { "qsketch_agg($key, " . template() . ')' },
		sub { "qsketch_agg($key, " . any_of('w', 'big') . ', ' . template() . ')' },
		sub { 'qsketch_agg(k, back, ' . template() . ')' }, # takes back what other rows added
		sub { "qfilter_agg($key, qfilter_new_bloom(" . any_of(1000, 200_000, 2_000_000) . ', 0.01, 0, ' . any_of("'standard'", "'blocked'") . '))' })->();
}

# Other aggregates beside the tested one, with results that depend on no plan.
sub beside
{
	return any_of('count(*)', 'count(word)', '(qfilter_info(qfilter_agg(k, qfilter_new(1000000, 100)))).rows', 'sum(w)', 'qtop_sketch(qtop_agg(k, 5))', 'qtop_total(qtop_agg(word, 20))', 'qtop_sketch(qtop_agg(k, 9, ' . template() . '))',
		'qsets_agg(few, k)', 'max(k)', 'qtop_sketch(qtop_agg(few, 3, ' . template() . '))');
}

my %plans;
for my $round (1 .. $rounds)
{
	my @calls = map { call() } 0 .. int rand 3;
	my $table = any_of('t', 't', 'parts');
	my $where = any_of('', '', ' WHERE w > 1', ' WHERE few < 3');
	my ($workers, $leader, $appends) = (1 + int rand 7, any_of('on', 'on', 'off'), any_of('on', 'off'));

	$where = '' if grep { /back/ } @calls;
	push @calls, beside() if rand() < 0.5;
	my $query = 'SELECT ' . join(', ', map { "coalesce(md5(($_)::text), 'none')" } @calls) . " FROM $table$where";
	my $settings = "SET max_parallel_workers_per_gather = $workers; SET parallel_leader_participation = $leader; SET enable_parallel_append = $appends;";
	my $out = $node->safe_psql('postgres', "SET max_parallel_workers_per_gather = 0; SET qsketch.enable_columnscan = off; $query;
		RESET qsketch.enable_columnscan; $settings EXPLAIN (COSTS OFF) $query; $query; $query;");
	my @lines = split /\n/, $out;

	$plans{ $out =~ /Gather.*QSketchScan/s ? 'parallel scan' : 'other' }++;
	is("$lines[-1]\n$lines[-2]", "$lines[0]\n$lines[0]", "round $round") or diag("$settings $query");
}
note join(', ', map { "$plans{$_} $_" } sort keys %plans);
cmp_ok($plans{'parallel scan'}, '>', $rounds / 3, 'most plans are parallel scans');

# Candidates of lists that all processes merge: their bounds hold, and so does the bound of all other keys.
$node->safe_psql('postgres', q{
	CREATE TABLE skewed AS SELECT (random() ^ 4 * 50000)::bigint AS k, 'word ' || (random() ^ 4 * 30000)::int AS word, (random() * 3)::int AS w FROM generate_series(1, 150000);
	ALTER TABLE skewed SET (parallel_workers = 7);
	ANALYZE skewed;
});
for my $round (1 .. 12)
{
	my ($key, $weight, $n) = (any_of('k', 'word'), any_of('1', 'w'), any_of(1, 5, 20, 500, 2100));
	my $list = "qtop_agg($key, $weight, $n, " . template('96kB', '128kB', '256kB') =~ s/qsketch_sf_host\((.*)\)/$1/r . ')';
	my $out = $node->safe_psql('postgres', "SET cpu_operator_cost = 10; SET max_parallel_workers_per_gather = " . any_of(2, 3, 7) . "; SET parallel_leader_participation = " . any_of('on', 'off') . ";
		EXPLAIN (COSTS OFF) SELECT $list FROM skewed; CREATE TEMP TABLE list AS SELECT $list AS q FROM skewed;
		SELECT count(*) FROM list, LATERAL qtop_text(q) AS l LEFT JOIN (SELECT ($key)::text AS key, sum($weight) AS weight FROM skewed GROUP BY 1) AS e USING (key)
			WHERE e.weight NOT BETWEEN l.lower AND l.estimate OR e.weight IS NULL;
		SELECT count(*) FROM list, (SELECT $key AS key, sum($weight) AS weight FROM skewed GROUP BY 1) AS e WHERE NOT qtop_has(q, e.key) AND e.weight > (qtop_info(q)).bound;
		SELECT (qtop_info(q)).candidates BETWEEN $n AND greatest(4 * $n, $n + 100) FROM list;");

	like($out, qr/Gather.*QSketchScan.*\n0\n0\nt\z/s, "candidates, round $round") or diag($list);
}

# Weights whose total is too large only for all processes together.
my ($sum, $refused) = ('', '');
$node->psql('postgres', "\\set VERBOSITY verbose\nSET max_parallel_workers_per_gather = 7; SELECT qsketch_total(qsketch_agg(k, huge, qsketch_new('sub_warp', '1MB'))) FROM t",
	stdout => \$sum, stderr => \$refused, on_error_stop => 0);
is($sum, '', 'too much weight: no answer');
like($refused, qr/ERROR:  22003: /, 'too much weight: the error');

# Rescans: the plan below Gather runs again.
my $templates = "qsketch_agg(k, qsketch_new('multilevel', '256kB')) AS a, qsketch_agg(word, qsketch_new('thread', '128kB')) AS b";
my $again = $node->safe_psql('postgres', "SET max_parallel_workers_per_gather = 3; SET enable_material = off;
	EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT x, s.a IS NULL FROM generate_series(1, 4) AS x LEFT JOIN LATERAL (SELECT $templates FROM t OFFSET x - x) AS s ON true;
	SELECT count(DISTINCT md5(a::text || b::text)) || ' ' || count(*) FROM generate_series(1, 4) AS x LEFT JOIN LATERAL (SELECT $templates FROM t OFFSET x - x) AS s ON true;
	SET max_parallel_workers_per_gather = 0;
	SELECT md5(a::text || b::text) FROM (SELECT $templates FROM t) AS s;
	SET max_parallel_workers_per_gather = 3;
	SELECT min(md5(a::text || b::text)) FROM generate_series(1, 4) AS x LEFT JOIN LATERAL (SELECT $templates FROM t OFFSET x - x) AS s ON true;");
my @again = split /\n/, $again;
like($again, qr/Gather \(actual rows=[\d.]+ loops=4\).*QSketchScan/s, 'rescans of Gather');
is($again[-3], '1 4', 'rescans: always the same');
is($again[-1], $again[-2], 'rescans: the bytes of a serial plan');

# ---- processes that end in the middle; shared memory as files of this server, so that they can be counted ----

$node->append_conf('postgresql.conf', 'dynamic_shared_memory_type = mmap');
$node->restart;

my @large = ((map { "qsketch_agg(k, qsketch_new('$_', '16MB'))" } 'multilevel', 'thread', 'sf'), 'qfilter_agg(word, qfilter_new_bloom(30000000))');
my $large = join(', ', map { "md5(($_)::bytea)" } @large);
my $serial = $node->safe_psql('postgres', "SET max_parallel_workers_per_gather = 0; SELECT $large FROM t");
my $parallel = "SET max_parallel_workers_per_gather = 7; SELECT $large FROM t;";
my $before = $node->safe_psql('postgres', 'SELECT segments()');
is($node->safe_psql('postgres', $parallel), $serial, 'large values');

# How long their making takes, without writing them.
my $start = Time::HiRes::time();
$node->safe_psql('postgres', 'SET max_parallel_workers_per_gather = 7; SELECT ' . join(', ', map { "($_) IS NULL" } @large) . ' FROM t');
my $takes = Time::HiRes::time() - $start;

# Runs the query; somebody ends one of its workers after a random part of its time.
sub end_worker
{
	my ($how) = @_;
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "SET application_name = 'ended'", '-c',
		'SET max_parallel_workers_per_gather = 7', '-c', "SELECT $large FROM t" ], '<', \undef, '>', \$out, '2>', \$err);
	my $ended = 0;

	usleep(1e6 * $takes * (0.1 + 0.7 * rand));
	for my $try (1 .. 200)
	{
		my $pids = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND application_name = 'ended'");
		my @pids = split /\n/, $pids;

		$ended = @pids && kill($how, any_of(@pids)) if @pids;
		$run->pump_nb;
		last if $ended || !$run->pumpable;
	}
	$run->finish;
	return ($ended, $out, $err);
}

my %ends = (failed => 0, right => 0);
for my $round (1 .. 60)
{
	last if $ends{failed} >= 8;
	my ($ended, $out, $err) = end_worker('TERM');
	my $right = $out eq "$serial\n" && $err eq '';
	my $failed = $out eq '' && $err =~ /terminating (?:connection|background worker)|lost connection to parallel worker/;

	$ends{ $failed ? 'failed' : 'right' }++;
	ok($right || $failed, "terminated worker, round $round") or diag("$out$err");
}
note join(', ', map { "$ends{$_} $_" } sort keys %ends);
cmp_ok($ends{failed}, '>', 0, 'workers were terminated before their end');
ok($node->poll_query_until('postgres', "SELECT segments() <= $before"), 'terminated workers: no shared memory is left');

my $killed = 0;
for my $round (1 .. 30)
{
	last if $killed >= 3;
	my ($ended) = end_worker('KILL');

	$killed++ if $ended;
	ok($node->poll_query_until('postgres', 'SELECT true'), "killed worker, round $round: the server is there again");
}
cmp_ok($killed, '>', 0, 'workers were killed before their end');
is($node->safe_psql('postgres', $parallel), $serial, 'killed workers: the next query is right');
ok($node->poll_query_until('postgres', "SELECT segments() <= $before"), 'killed workers: no shared memory is left');
$node->stop;
done_testing();
