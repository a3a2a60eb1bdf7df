# An object access hook lets other modules refuse functions and schemas to users.  The column scan and lookups
# must call the hook for the same objects as the executor of the ordinary plan.

use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $module = "$ENV{TESTDIR}/object_access.so";
plan skip_all => 'no test module' unless -f $module;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', join("\n", emulated_line(),
	'qsketch.device = cpu', "session_preload_libraries = '$module'", 'jit = off', 'autovacuum = off',
	'max_parallel_workers_per_gather = 0', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', 'cpu_operator_cost = 1', ''));
$node->start;
$node->safe_psql('postgres', q{
	CREATE SCHEMA ours;
	CREATE EXTENSION qsketch SCHEMA ours;
	CREATE ROLE owner;
	CREATE ROLE usual;
	GRANT USAGE ON SCHEMA ours TO owner, usual;
	CREATE TABLE t (k bigint, w int, small smallint, s text) WITH (parallel_workers = 2);
	INSERT INTO t SELECT i % 100, i % 5, i % 7, i % 10 FROM generate_series(1, 20000) AS i;
	GRANT SELECT ON t TO usual;
	CREATE TABLE parts (k bigint) PARTITION BY RANGE (k);
	CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (50) WITH (parallel_workers = 2);
	CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (50) TO (100) WITH (parallel_workers = 2);
	INSERT INTO parts SELECT k FROM t;
	GRANT SELECT ON parts TO usual;
	CREATE AGGREGATE of_owner(bigint) (SFUNC = ours._qsketch_agg_trans, STYPE = ours.qsketch,
		COMBINEFUNC = ours._qsketch_agg_combine, FINALFUNC = ours._qsketch_agg_final, PARALLEL = SAFE);
	ALTER AGGREGATE of_owner(bigint) OWNER TO owner;
	GRANT USAGE, CREATE ON SCHEMA public TO owner;
	CREATE TABLE stored AS SELECT ours.qsketch_agg(k) AS sk, ours.qfilter_agg(k, ours.qfilter_new(20000, 200)) AS f,
		ours.qsets_agg(w, k) AS sets FROM t;
	GRANT SELECT ON stored TO usual;
	ANALYZE;
});

# The hook's reports while the query ran, and the errors.  Planning folds constants before that.
sub told
{
	my ($settings, $query) = @_;
	my ($out, $err) = ('', '');

	$node->psql('postgres', "SET ROLE usual; SET search_path = ours, public; $settings
		PREPARE q AS $query; EXPLAIN EXECUTE q; SET plan_cache_mode = force_generic_plan;
		SET object_access.tell = on; \\set VERBOSITY terse\n EXECUTE q;",
		stdout => \$out, stderr => \$err, on_error_stop => 0);
	my @execute = sort $err =~ /NOTICE:  execute (.*)/g;
	my @search = $err =~ /NOTICE:  search (.*)/g;
	my ($error) = $err =~ /(ERROR: .*)/;
	return { out => $out, execute => \@execute, search => \@search, error => $error };
}

# The reports without repetitions, and without their process, leader or worker.
sub functions
{
	my %functions = map { s/ in (leader|worker)$//r => 1 } @{ $_[0]{execute} };

	return join("\n", sort keys %functions);
}

# Templates are constants, so that neither plan calls a function for them.
my %query = (
	'a key' => 'SELECT qsketch_agg(k) FROM t',
	'a key of text' => 'SELECT qsketch_agg(s) FROM t',
	'a weight' => 'SELECT qsketch_agg(k, k) FROM t',
	'a weight with a cast' => 'SELECT qsketch_agg(k, w) FROM t',
	'another cast' => 'SELECT qsketch_agg(k, small) FROM t',
	'a template' => "SELECT qsketch_agg(k, qsketch_new('sub_warp', '256kB')), qsketch_agg(k) FROM t",
	'a filter' => 'SELECT qfilter_agg(k, qfilter_new(20000, 200)) FROM t',
	'another owner' => 'SELECT of_owner(k) FROM t',
	'partitions' => 'SELECT qsketch_agg(k) FROM parts',
	'an expression above' => 'SELECT qsketch_total(qsketch_agg(k)) FROM t',
);
my %refused;
for my $name (sort keys %query)
{
	for my $workers (0, 2)
	{
		my $settings = "SET max_parallel_workers_per_gather = $workers;";
		my $off = 'SET qsketch.enable_columnscan = off;';
		my $scan = told($settings, $query{$name});
		my $plan = told("$settings $off", $query{$name});

		like($scan->{out}, qr/QSketchScan/, "$name, $workers workers: scanned");
		unlike($plan->{out}, qr/QSketchScan/, "$name, $workers workers: not scanned");
		like($scan->{out}, $workers ? qr/Gather/ : qr/^(?!.*Gather)/s, "$name, $workers workers: planned");
		isnt(functions($plan), '', "$name, $workers workers: functions are told of");
		# partitions are scanned apart, and their sketches combined, also in one process
		my $combined = $name eq 'partitions' && $workers == 0 ? functions($scan) =~ s/^\w+_combine.*\n//mr : functions($scan);
		is($combined, functions($plan), "$name, $workers workers: the same ones by the scan");
		cmp_ok(scalar(grep { /in worker/ } @{ $scan->{execute} }), $workers ? '>' : '==', 0, "$name, $workers workers: who tells");
		is("@{ $scan->{search} }", '', "$name, $workers workers: no name is looked for");
		for my $function (sort map { /^(\w+)/ } split /\n/, functions($plan))
		{
			my $refuse = "SET object_access.function = $function;";
			my @error = map { told("$settings $_", $query{$name})->{error} } ($refuse, "$off $refuse");

			is($error[0], $error[1], "$name, $workers workers: $function refused, the same error");
			is($error[0], "ERROR:  hook refuses function $function", "$name, $workers workers: $function refused");
			$refused{$function} = 1;
		}
	}
}
is(join(' ', sort keys %refused), '_qfilter_agg_combine _qfilter_agg_final _qfilter_agg_trans _qsketch_agg_combine _qsketch_agg_final '
	. '_qsketch_agg_trans int8 of_owner qfilter_agg qsketch_agg qsketch_total', 'all functions were refused');

# Through the GPU worker.
for my $workers (0, 2)
{
	my $settings = "SET qsketch.device = gpu; SET max_parallel_workers_per_gather = $workers;";
	my $query = "SELECT qsketch_total(qsketch_agg(k, qsketch_new('sub_warp', '64kB'))) FROM t";

	is(functions(told($settings, $query)), functions(told("$settings SET qsketch.enable_columnscan = off;", $query)),
		"GPU, $workers workers: the same functions");
	is(told("$settings SET object_access.function = _qsketch_agg_trans;", $query)->{error},
		'ERROR:  hook refuses function _qsketch_agg_trans', "GPU, $workers workers: refused");
}
ok($node->poll_query_until('postgres', 'SELECT values_now = cached_now AND slots_free = slots FROM ours.qsketch_stat_gpu'),
	'GPU: nothing is left');

# Windows, lookups, and functions that return sets.
my %other = (
	'_qsketch_moving_trans' => 'SELECT count(qsketch_total(s)) FROM (SELECT qsketch_agg(k) OVER (ORDER BY k ROWS 1 PRECEDING) AS s FROM t WHERE k < 2) AS w',
	'_qsketch_agg_inverse' => 'SELECT count(qsketch_total(s)) FROM (SELECT qsketch_agg(k) OVER (ORDER BY k ROWS 1 PRECEDING) AS s FROM t WHERE k < 2) AS w',
	'qsketch_estimate' => 'SELECT sum(qsketch_estimate(sk, k)) FROM stored, t',
	'qsketch_estimate_unbiased' => 'SELECT sum(qsketch_estimate_unbiased(sk, k)) FROM stored, t',
	'qsketch_bounds' => 'SELECT qsketch_bounds(sk, k) FROM stored, t LIMIT 1',
	'qfilter_estimate' => 'SELECT sum(qfilter_estimate(f, k)) FROM stored, t',
	'qfilter_contains' => 'SELECT count(*) FROM stored, t WHERE qfilter_contains(f, k)',
	'qsets_pairs' => 'SELECT count(*) FROM stored, qsets_pairs(sets)',
	'qsets_nearest' => 'SELECT count(*) FROM stored, qsets_nearest(sets)',
	'qsets_similar' => 'SELECT count(*) FROM stored, qsets_similar(sets, 1)',
	'_qsets_merge_trans' => 'SELECT qsets_count(qsets_merge_agg(sets)) FROM stored',
	'_qfilter_merge_trans' => 'SELECT qfilter_fill(qfilter_merge_agg(f)) FROM stored',
);
for my $function (sort keys %other)
{
	my $free = told('', $other{$function});

	is($free->{error}, undef, "$function: allowed");
	ok((grep { /^$function\(\d+\) as usual in leader$/ } @{ $free->{execute} }) > 0, "$function: told of") or diag(explain($free));
	is(told("SET object_access.function = $function;", $other{$function})->{error},
		"ERROR:  hook refuses function $function", "$function: refused");
}

# A refused schema hides its objects from the parser.  Code that uses OIDs instead of names still finds
# the objects.
my ($ret, $out, $err) = $node->psql('postgres',
	'SET ROLE usual; SET object_access.schema = ours; SELECT ours.qsketch_agg(k) FROM t');
like($err, qr/hook refuses schema ours/, 'schema refused: named');
($ret, $out, $err) = $node->psql('postgres',
	'SET ROLE usual; SET object_access.schema = ours; SET search_path = ours, public; SELECT qsketch_agg(k) FROM t');
like($err, qr/function qsketch_agg\(bigint\) does not exist/, 'schema refused: in the path');
for my $name (sort keys %query)
{
	my ($out, $err) = ('', '');

	$node->psql('postgres', "SET ROLE usual; SET search_path = ours, public; PREPARE q AS $query{$name};
		SET plan_cache_mode = force_generic_plan; EXPLAIN EXECUTE q; SET object_access.schema = ours; EXECUTE q;",
		stdout => \$out, stderr => \$err, on_error_stop => 0);
	like($out, qr/QSketchScan/, "$name: prepared");
	is($err, '', "$name: runs though the schema is refused");
}

$node->stop;
done_testing();
