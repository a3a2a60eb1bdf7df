# Partial aggregates of Citus, as text and in binary, are planned as the aggregates themselves.  The result is
# the same, only users who may call the aggregates get this plan, and no object is recognised by its name.
# States that are combined are validated.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $module = "$ENV{TESTDIR}/worker_partial.so";
plan skip_all => 'no test module' unless -f $module;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf',
	"session_preload_libraries = '$module, qsketch'\njit = off\nmax_parallel_workers_per_gather = 0\n");
$node->start;
$node->safe_psql('postgres', qq{
	CREATE EXTENSION qsketch;
	CREATE FUNCTION sfunc(internal, oid, anyelement) RETURNS internal
		AS '$module', 'worker_partial_agg_sfunc' LANGUAGE C PARALLEL SAFE;
	CREATE FUNCTION ffunc(internal) RETURNS cstring
		AS '$module', 'worker_partial_agg_ffunc' LANGUAGE C PARALLEL SAFE;
	CREATE AGGREGATE partial(oid, anyelement) (SFUNC = sfunc, STYPE = internal, FINALFUNC = ffunc);
	CREATE FUNCTION binary_ffunc(internal) RETURNS bytea
		AS '$module', 'worker_binary_partial_agg_ffunc' LANGUAGE C PARALLEL SAFE;
	CREATE AGGREGATE partial_binary(oid, anyelement) (SFUNC = sfunc, STYPE = internal, FINALFUNC = binary_ffunc);
	CREATE FUNCTION combine_sfunc(internal, oid, bytea) RETURNS internal
		AS '$module', 'coord_binary_combine_agg_sfunc' LANGUAGE C;
	CREATE AGGREGATE combined(oid, bytea) (SFUNC = combine_sfunc, STYPE = internal, FINALFUNC = binary_ffunc);
	CREATE FUNCTION worker_binary_partial_agg_ffunc(text) RETURNS bytea LANGUAGE internal AS 'textsend';
	CREATE FUNCTION other_trans(text, oid, anyelement) RETURNS text LANGUAGE sql AS \$\$SELECT 'other'\$\$;
	CREATE FUNCTION other_final(text) RETURNS cstring LANGUAGE internal AS 'textout';
	CREATE AGGREGATE worker_partial_agg(oid, anyelement) (SFUNC = other_trans, STYPE = text, FINALFUNC = other_final);
	CREATE AGGREGATE worker_binary_partial_agg(oid, anyelement) (SFUNC = other_trans, STYPE = text,
		FINALFUNC = worker_binary_partial_agg_ffunc);
	CREATE TYPE mood AS ENUM ('good', 'bad');
	CREATE TABLE t (k bigint, i int, w text, v varchar, e mood, day date);
	INSERT INTO t SELECT nullif(i % 997, 3), i, 'key' || i % 100, 'key' || i % 10, 'bad', date '2000-01-01' + i % 7
		FROM generate_series(1, 20000) AS i;
	CREATE TABLE stored AS SELECT day, qsketch_agg(k) AS sk FROM t GROUP BY day;
	CREATE ROLE usual;
	GRANT SELECT ON t, stored TO usual;
	ANALYZE;
});

my $small = "qsketch_new('multilevel', '64kB')";

# Returns the output of a query with the calls replaced, and with the original
# calls.
sub both
{
	my ($query) = @_;
	return map { my ($ret, $out, $err) = $node->psql('postgres', "SET qsketch.enable_worker_partial = $_; $query");
		$err ne '' ? $err : $out } ('on', 'off');
}

# The plan of the call.
sub plan_of
{
	my ($query, $before) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', ($before // '') . "EXPLAIN (VERBOSE, COSTS OFF) $query");
	return $err ne '' ? $err : $out;
}

# A query that calls the aggregate "partial", which gives text, and the same in binary.
sub same
{
	my ($name, $call, $rest) = @_;
	my $query = "SELECT $call FROM " . ($rest // 't');
	foreach my $aggregate ('partial', 'partial_binary')
	{
		my $asked = $query =~ s/partial\(/$aggregate(/r;
		my ($on, $off) = both($asked);
		unlike(plan_of($asked), qr/$aggregate\(/, "$name: $aggregate is planned as the aggregate");
		is($on, $off, "$name: $aggregate gives the same");
	}
}

same('keys', "partial('qsketch_agg(anycompatible)'::regprocedure, k)");
same('template', "partial('qsketch_agg(anycompatible, qsketch)'::regprocedure, ROW(k, $small))");
same('weight, template', "partial('qsketch_agg(anycompatible, bigint, qsketch)'::regprocedure, ROW(w, i::bigint, $small))");
same('varchar', "partial('qsketch_agg(anycompatible)'::regprocedure, v::text)");
same('collation', qq{partial('qsketch_agg(anycompatible, bigint)'::regprocedure, ROW(w COLLATE "POSIX", i::bigint))});
same('top keys', "partial('qtop_agg(anycompatible, bigint)'::regprocedure, ROW(k, 20::bigint))");
same('top keys by weight', "partial('qtop_agg(anycompatible, bigint, integer)'::regprocedure, ROW(k, 3::bigint, 20))");
same('top keys of text', "partial('qtop_agg(anycompatible, integer, qsketch)'::regprocedure, ROW(w, 20, $small))");
same('filter', "partial('qfilter_row_agg(anycompatible, anyelement, qfilter)'::regprocedure, ROW(k, i::bigint, qfilter_new(1000, 10)))");
same('Bloom filter', "partial('qfilter_agg(anycompatible, qfilter)'::regprocedure, ROW(k, qfilter_new_bloom(1000)))");
same('sets', "partial('qsets_agg(bigint, anycompatible)'::regprocedure, ROW(k, i))");
same('stored sketches', "partial('qsketch_merge_agg(qsketch)'::regprocedure, sk)", 'stored');
same('groups', "day, partial('qsketch_agg(anycompatible)'::regprocedure, k)", 't GROUP BY day ORDER BY day');
same('FILTER', "partial('qsketch_agg(anycompatible)'::regprocedure, k) FILTER (WHERE i < 100)");
same('HAVING', 'day', "t GROUP BY day HAVING partial('qsketch_agg(anycompatible)'::regprocedure, k)::text <> '' ORDER BY day");
same('a subquery', 's', "(SELECT partial('qsketch_agg(anycompatible)'::regprocedure, k) AS s FROM t) AS q");
same('an oid', "partial('qsketch_agg(anycompatible)'::regprocedure::oid, k)");
same('empty', "partial('qsketch_agg(anycompatible)'::regprocedure, k) IS NULL", 't WHERE false');
same('only NULLs', "partial('qsketch_agg(anycompatible)'::regprocedure, k) IS NULL", 't WHERE k IS NULL');
like(plan_of("SELECT partial('qsketch_agg(anycompatible)'::regprocedure, k) FROM t"), qr/QSketchScan/, 'a column scan');
like(plan_of("SELECT partial_binary('qsketch_agg(anycompatible)'::regprocedure, k) FROM t"),
	qr/QSketchScan.*_qsketch_send/s, 'a column scan, in binary');
like(plan_of("SELECT day, partial_binary('qsketch_agg(anycompatible)'::regprocedure, k) FROM t GROUP BY day"),
	qr/QSketchScan.*_qsketch_send/s, 'groups of a column scan, in binary');
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	ALTER TABLE t SET (parallel_workers = 2);';
my $tiny = "partial_binary('qsketch_agg(anycompatible, qsketch)'::regprocedure, ROW(k, qsketch_new('sf', '1kB')))";
like(plan_of("SELECT $tiny FROM t", $parallel), qr/_qsketch_send.*Gather.*Parallel Custom Scan \(QSketchScan\)/s,
	'a parallel column scan, in binary');
is($node->safe_psql('postgres', "$parallel SELECT $tiny FROM t") =~ s/.*\n//rs,
	$node->safe_psql('postgres', "SET qsketch.enable_worker_partial = off; SELECT $tiny FROM t"), 'the same bytes in parallel');
$node->safe_psql('postgres', 'ALTER TABLE t RESET (parallel_workers)');

# Keys of any type.  (Citus' own aggregate refuses all of them, as ours declares none.)
my ($on, $off) = both("SELECT qsketch_estimate(partial('qsketch_agg(anycompatible)'::regprocedure, e)::text::qsketch,
	'bad'::mood) FROM t");
is($on, 20000, 'enum, replaced');
is($off, 20000, 'enum, as it is');
is((both("SELECT qsketch_estimate(partial('qsketch_agg(anycompatible)'::regprocedure, ROW(k, w))::text::qsketch,
	ROW(1::bigint, 'key1'::text)) > 0 FROM t"))[0], 't', 'a row is one key');

# States in binary are combined to the value of all rows, and read by the receive function.
sub combined
{
	my ($aggregate, $call, $row) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', "SELECT combined('$aggregate'::regprocedure, s)
		= (SELECT $call FROM t)::bytea FROM
		(SELECT partial_binary('$aggregate'::regprocedure, $row) AS s FROM t GROUP BY day) AS q");
	is("$out$err", 't', "$aggregate combined from parts in binary");
}

combined('qsketch_agg(anycompatible)', 'qsketch_agg(k)', 'k');
combined('qsketch_agg(anycompatible, qsketch)', "qsketch_agg(w, $small)", "ROW(w, $small)");
combined('qtop_agg(anycompatible, bigint)', 'qtop_agg(k, 20)', 'ROW(k, 20::bigint)');
combined('qfilter_row_agg(anycompatible, anyelement, qfilter)', 'qfilter_row_agg(k, i::bigint, qfilter_new(1000, 10))',
	'ROW(k, i::bigint, qfilter_new(1000, 10))');
combined('qsets_agg(bigint, anycompatible)', 'qsets_agg(k, i)', 'ROW(k, i)');

foreach my $agg (['qsketch', 'k'], ['qtop', 'k, 20'], ['qfilter', 'k, qfilter_new_bloom(1000)'], ['qsets', 'k, i'])
{
	my ($type, $arguments) = @$agg;
	my $merge = "${type}_merge_agg($type)";
	my $bytes = "(SELECT ${type}_agg($arguments) FROM t)::bytea";
	foreach my $bad ("''", "'\\x00'", "substr($bytes, 1, length($bytes) - 1)", "$bytes || '\\x00'",
		"set_bit($bytes, 8 * (length($bytes) / 2), 1 - get_bit($bytes, 8 * (length($bytes) / 2)))", "'qsketch:AAAA'")
	{
		my ($ret, $out, $err) = $node->psql('postgres',
			"\\set VERBOSITY sqlstate\nSELECT combined('$merge'::regprocedure, ($bad)::bytea)");
		is("$out$err", 'psql:<stdin>:2: ERROR:  22P03', "$merge: refused $bad");
	}
}

# Calls that are left as they are.
like(plan_of("SELECT worker_partial_agg('qsketch_agg(anycompatible)'::regprocedure, k) FROM t"), qr/worker_partial_agg\(/,
	'an aggregate of that name');
like(plan_of("SELECT worker_binary_partial_agg('qsketch_agg(anycompatible)'::regprocedure, k) FROM t"),
	qr/worker_binary_partial_agg\(/, 'an aggregate of that name, in binary');
like(plan_of("SELECT partial('sum(integer)'::regprocedure, i) FROM t"), qr/partial\(/, 'an aggregate of others');
like(plan_of("SELECT partial('qsketch_agg(anycompatible, bigint)'::regprocedure, ROW(k, i)) FROM t"), qr/partial\(/, 'another type');
like(plan_of("SELECT partial('qsketch_agg(anycompatible, qsketch)'::regprocedure, k) FROM t"), qr/partial\(/, 'too few arguments');
like(plan_of("SELECT partial('qsketch_agg(anycompatible)'::regprocedure, k ORDER BY k) FROM t"), qr/partial\(/, 'an order');
like(plan_of('SELECT partial(i::oid, k) FROM t'), qr/partial\(/, 'no constant');
like(plan_of('SELECT partial(0, k) FROM t'), qr/partial\(/, 'no aggregate');
like(plan_of('SELECT partial(NULL, k) FROM t'), qr/partial\(/, 'no name');

# Permissions: the plan requires those of both ways.
foreach my $form (['partial', '_qsketch_out'], ['partial_binary', '_qsketch_send'])
{
	my ($aggregate, $output) = @$form;
	my $query = "SELECT $aggregate('qsketch_agg(anycompatible)'::regprocedure, k)::text <> '' FROM t";
	foreach my $function ("FUNCTION $aggregate(oid, anyelement)", 'FUNCTION qsketch_agg(anycompatible)',
		'FUNCTION _qsketch_agg_trans(qsketch, anycompatible)', 'FUNCTION _qsketch_agg_combine(qsketch, qsketch)',
		'FUNCTION _qsketch_agg_final(qsketch)', "FUNCTION $output(qsketch)")
	{
		unlike(plan_of($query, 'SET ROLE usual;'), qr/$aggregate\(/, "before revoking $function");
		$node->safe_psql('postgres', "REVOKE EXECUTE ON $function FROM public");
		my $plan = plan_of($query, 'SET ROLE usual;');
		like($plan, qr/$aggregate\(|permission denied for/, "left as it is without $function");
		unlike(plan_of($query), qr/$aggregate\(/, "but not for the owner");
		my ($ret, $out, $err) = $node->psql('postgres', "PREPARE q AS $query; EXECUTE q; SET ROLE usual;
			SELECT 'usual'; EXECUTE q;", on_error_stop => 0);
		like("$out $err", $function =~ /partial/ ? qr/usual\n? .*permission denied for aggregate $aggregate/s : qr/usual/,
			"a plan does not outlive the role: $function");
		$node->safe_psql('postgres', "GRANT EXECUTE ON $function TO public");
	}
}
my $query = "SELECT partial('qsketch_agg(anycompatible)'::regprocedure, k)::text <> '' FROM t";
my ($ret, $out, $err) = $node->psql('postgres', "SET ROLE usual; PREPARE q AS $query; EXECUTE q; RESET ROLE;
	REVOKE EXECUTE ON FUNCTION partial(oid, anyelement) FROM public; SET ROLE usual; EXECUTE q;", on_error_stop => 0);
is($out, 't', 'permitted, once');
like($err, qr/permission denied for aggregate partial/, 'a plan does not outlive a permission');

$node->stop;
done_testing();
