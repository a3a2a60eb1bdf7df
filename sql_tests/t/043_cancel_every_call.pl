# Every function and aggregate of the extension, called with extreme values and
# cancelled in the middle: the call ends soon.  The test reads the functions and their
# arguments from the catalog.  Of overloads with the same code it calls one, with keys
# of type bigint if possible.  Some keys were chosen so that they would share a slot of
# a hash table without a secret (base/slot.h).

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $module = "$ENV{TESTDIR}/cancel_after.so";
my $chosen_keys = "$ENV{TESTDIR}/chosen_keys.so";
plan skip_all => 'no test module' unless -f $module && -f $chosen_keys;

# A call is cancelled after this many ms.  With values of the largest size a cancelled call goes on for less
# than a second of CPU time; the test allows ten seconds.  The values of the test and the allowed time are
# smaller by the factor "scale", because the time of slow calls grows with the size of the values.
my $scale = $ENV{QSKETCH_CANCEL_SCALE} // 16;
my $cancel_ms = 200;
my $most_ms = 10_000 / $scale;

my $size = (512 / $scale) . 'MB';
my $slim_size = (8192 / $scale) . 'kB'; # of sf, whose fat table is z times as large
my $rows = int(4_000_000 / $scale);
my $bits = int(400_000_000 / $scale);

# ---- values ----

my $series = "generate_series(1::bigint, $rows) AS i";

# Large values of each type, of every kind that has code of its own.
my %value = (
	qsketch => [
		(map { "(SELECT qsketch_agg(i, qsketch_new($_)) FROM $series)" }
			"'multilevel', '$size', depth => 3, masks => 65536", "'thread', '$size', depth => 32", "'sf', '$slim_size', z => 64",
			"'warp', '$size', depth => 16", "'half_warp', '$size', depth => 8", "'sub_warp', '$size', depth => 4"),
		"(SELECT qsketch_agg(i, 1000000::bigint, qsketch_new('multilevel', '$size')) FROM $series)",
		"(SELECT qsketch_agg(unmix64(i) # mix64(-7046029254386353131), qsketch_new('multilevel', '$size')) FROM generate_series(1::bigint, 2000) AS i)",
	],
	qfilter => [
		"(SELECT qfilter_agg(i, qfilter_new(1000000, 1000, 0.9, k => 65536)) FROM generate_series(1::bigint, 1000) AS i)",
		"(SELECT qfilter_agg(i, qfilter_new($bits, 100000, 0.1)) FROM $series)",
		(map { "(SELECT qfilter_agg(i, qfilter_new_bloom($bits, layout => '$_')) FROM $series)" } 'blocked', 'standard'),
	],
	qsets => [
		"(SELECT qsets_agg(i % 1000, i * 7919 % 100000) FROM $series)",
		"(SELECT qsets_agg(i / 4, i * 7919 % 1000003) FROM $series)",
		"(SELECT qsets_agg(unmix64(i / 4 << 24), unmix64(i * 7919 % 1000003 << 24)) FROM $series)",
	],
	qtop => [ map { "(SELECT qtop_agg($_, 100000, qsketch_new('multilevel', '$size')) FROM $series)" } 'i', 'unmix64(i)' ],
);

# Values of arguments, by name or by type.  The first one is used while other arguments vary.
my %named = (
	structure => [ map { "'$_'" } qw(multilevel thread warp half_warp sub_warp sf auto) ],
	size => [ "'$size'", "'1kB'" ],
	method => [ map { "'$_'" } qw(corrected unbiased paper auto merge merge_search hash bitmap index hybrid) ],
	preset => [ map { "'$_'" } qw(balanced compact fast paper) ],
	layout => [ map { "'$_'" } qw(blocked standard) ],
	key => [1],
	depth => [ 3, 32, 1 ],
	masks => [ 1024, 65536 ],
	z => [ 8, 64 ],
	rows => [ 1000000, '1::bigint << 50' ],
	frequency => [ 1000, '1::bigint << 40' ],
	error => [ 0.9, 0.01, 1e-9, 1e9 ],
	k => [ 65536, 'NULL' ],
	n => [ 100000 ],
	false_positive_rate => [ 1e-9, 0.5 ],
	confidence => [ 0.95, 0.999999999 ],
	keys => [ 1000, '1::bigint << 62' ],
	min_count => [ 1, 0, 1000 ],
	min_jaccard => [ 0, 0.5, 1 ],
	top => [ 'NULL', 2147483647, 1 ],
	order_by => [ map { "'$_'" } qw(jaccard common overlap lift) ],
	halvings => [ 1, 20 ],
	weight => [ 1, '1::bigint << 60' ],
	count => [ 1, '1::bigint << 60' ],
);
my %typed = (
	bigint => [ 1, '1::bigint << 62', '(-1::bigint) << 63' ],
	integer => [ 1, 2147483647 ],
	'double precision' => [ 0.5 ],
	boolean => [ 'true', 'false' ],
	text => [ "''" ],
	name => [ "'k'" ],
	regclass => [ "'large'::regclass" ],
	'bigint[]' => [ 'many', 'chosen' ],
	'name[]' => [ "'{k}'" ],
	bytea => [ 'bytes' ],
	cstring => [ 'textout(words)' ],
);

# ---- functions ----

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'qsketch'\nqsketch.device = cpu\njit = off\nautovacuum = off\nfsync = off\nplan_cache_mode = force_generic_plan\n"
	. "max_parallel_workers_per_gather = 0\nwork_mem = '1GB'\n");
$node->start;
$node->safe_psql('postgres', qq{
	CREATE EXTENSION qsketch;
	CREATE FUNCTION cancel_after(ms int) RETURNS void LANGUAGE c AS '$module';
	CREATE FUNCTION receive(bytes bytea, type regtype) RETURNS void LANGUAGE c AS '$module';
	CREATE FUNCTION after_cancel() RETURNS float8 LANGUAGE c AS '$module';
	CREATE FUNCTION mix64(bigint) RETURNS bigint IMMUTABLE STRICT LANGUAGE c AS '$chosen_keys';
	CREATE FUNCTION unmix64(bigint) RETURNS bigint IMMUTABLE STRICT LANGUAGE c AS '$chosen_keys';
	CREATE TABLE large AS SELECT i AS k FROM $series;
	CREATE TABLE took (call text, how text, ms float8);
});

# For each group of overloads that are the same code, one of them: whether it is an aggregate and returns a
# set, its name and result, types and names of its arguments, and the number of overloads.
my @functions = map { [ split /\|/, $_, -1 ] } split /\n/, $node->safe_psql('postgres', q{
	WITH member AS (
		SELECT p.*, CASE WHEN p.prokind = 'a' THEN t.prosrc || ' ' || m.prosrc ELSE p.prosrc END AS code
		FROM pg_extension e
		JOIN pg_depend d ON d.refobjid = e.oid AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
			AND d.classid = 'pg_proc'::regclass
		JOIN pg_proc p ON p.oid = d.objid
		LEFT JOIN pg_aggregate a ON a.aggfnoid = p.oid
		LEFT JOIN pg_proc t ON t.oid = a.aggtransfn
		LEFT JOIN pg_proc m ON m.oid = a.aggfinalfn
		WHERE e.extname = 'qsketch'
	)
	SELECT DISTINCT ON (prokind, code) prokind = 'a', proretset, oid::regproc, prorettype::regtype,
		(SELECT string_agg(t::regtype::text, ',' ORDER BY n) FROM unnest(proargtypes) WITH ORDINALITY AS a (t, n)),
		(SELECT string_agg(coalesce(proargnames[n], ''), ',' ORDER BY n) FROM generate_series(1, pronargs) AS n),
		oid IN (SELECT prosupport FROM member), count(*) OVER (PARTITION BY prokind, code)
	FROM member
	ORDER BY prokind, code, (SELECT count(*) FROM unnest(proargtypes) AS t WHERE t NOT IN (20, 1016)), oid});
my $declared = $node->safe_psql('postgres', q{
	SELECT count(*) FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid WHERE e.extname = 'qsketch'
	AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND d.classid = 'pg_proc'::regclass});
my $types = $node->safe_psql('postgres', q{
	SELECT string_agg(typname, ' ' ORDER BY typname) FROM pg_type t JOIN pg_depend d ON d.objid = t.oid
	AND d.classid = 'pg_type'::regclass AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid
	WHERE e.extname = 'qsketch' AND typtype = 'b' AND typelem = 0});
is($types, join(' ', sort keys %value), 'there are values of each type of the extension');

# ---- calls ----

# Values for an argument, of which the first is used while other arguments vary.
sub candidates
{
	my ($aggregate, $main, $type, $name, $at) = @_;

	return $type eq $main ? 'v' : 'NULL' if $value{$type};
	return @{ $typed{$type} } if $type eq 'name';
	return "'k'" if $type eq 'cstring' && $name eq 'weight';
	return @{ $named{$name} } if $named{$name} && $type !~ /\[\]$/;
	$type = $type =~ /array$/ ? 'bigint[]' : 'bigint' if $type =~ /^any/;
	return $at == 0 ? ('i', 'unmix64(i)', 'unmix64(i << 24)') : ('i * 7919 % 1000003', 'unmix64(i << 24)')
		if $aggregate && $type eq 'bigint';
	return @{ $typed{$type} // [] };
}

# All calls of a function: with the first value of each argument, and with each other value in its place.
sub calls
{
	my ($aggregate, $set, $function, $types, $names) = @_;
	my @type = split /,/, $types;
	my @name = split /,/, $names, -1;
	my ($main) = grep { $value{$_} } @type;
	my @candidates = map { [ candidates($aggregate, $main // '', $type[$_], $name[$_], $_) ] } 0 .. $#type;
	my @lists = [ map { $_->[0] } @candidates ];

	for my $at (0 .. $#type)
	{
		for my $other (@{ $candidates[$at] }[ 1 .. $#{ $candidates[$at] } ])
		{
			push @lists, [ @{ $lists[0] } ];
			$lists[-1][$at] = $other;
		}
	}
	return map { call($aggregate, $set, "$function(" . join(', ', with_types($_, @type)) . ')') } @lists;
}

sub with_types
{
	my ($list, @type) = @_;

	return map { $type[$_] =~ /^any|^cstring/ ? $list->[$_] : "($list->[$_])::$type[$_]" } 0 .. $#type;
}

# A call as a statement.  An aggregate is also called over moving frames.
sub call
{
	my ($aggregate, $set, $call) = @_;

	return "PERFORM count(*) FROM $call" if $set eq 't';
	return "PERFORM $call" if $aggregate ne 't';
	return ("PERFORM $call FROM $series", "PERFORM count(x) FROM (SELECT $call OVER (ORDER BY i ROWS 1000 PRECEDING) AS x
		FROM $series OFFSET 0) AS frames");
}

# Calls one after the other in one session: each is cancelled, its time kept.
sub run_calls
{
	my ($type, $value, @calls) = @_;
	my $needs_bytes = grep { /\bbytes\b/ } @calls;
	my $needs_words = grep { /\bwords\b/ } @calls;
	my $block = '';

	for my $call (@calls)
	{
		$block .= "BEGIN
			PERFORM cancel_after($cancel_ms); how := 'done';
			BEGIN $call; EXCEPTION WHEN OTHERS THEN how := SQLERRM; END;
			late := after_cancel(); PERFORM cancel_after(0);
		EXCEPTION WHEN query_canceled THEN late := after_cancel(); how := 'cancelled'; END;
		INSERT INTO took VALUES (\$call\$$type $value: $call\$call\$, how, late);\n";
	}
	$node->safe_psql('postgres', "SET work_mem = '1GB'; DO \$do\$ DECLARE
		v $type; bytes bytea; words text; many bigint[]; chosen bigint[]; how text; late float8;
		BEGIN
		v := $value;
		many := (SELECT array_agg(i * 7919 % 1000003) FROM $series);
		chosen := (SELECT array_agg(unmix64(i << 24)) FROM $series);
		" . ($needs_bytes ? "bytes := v::bytea;\n" : '')
		. ($needs_words ? "BEGIN words := v::text; EXCEPTION WHEN program_limit_exceeded THEN words := ''; END;\n" : '')
		. "$block END \$do\$");
}

my %calls; # by type of the extension, or by none
my $visited = 0;
for my $f (@functions)
{
	my ($aggregate, $set, $function, $result, $types, $names, $support, $overloads) = @$f;
	my ($type) = grep { $value{$_} } split /,/, $types;
	my @calls;

	# these functions are called only by the planner, for calls of other functions, or by moving aggregates
	if ($support eq 't' || $types =~ /^internal,/) { $visited += $overloads; next; }
	if ($types eq 'internal')
	{
		@calls = "PERFORM receive(bytes, '$result'::regtype)";
		$type = $result;
	}
	else
	{
		$type //= $result if $types =~ /^(bytea|cstring)$/;
		@calls = calls($aggregate eq 't' ? 't' : '', $set, $function, $types, $names);
	}
	ok(@calls && !grep({ /\(\)::/ } @calls), "$function($types) can be called") or diag(explain(\@calls));
	push @{ $calls{ $type // 'integer' } }, @calls;
	$visited += $overloads;
}
is($visited, $declared, "all $declared functions are visited, of which " . @functions . ' differ');

$value{integer} = [0];
for my $type (sort keys %calls)
{
	for my $value (@{ $value{$type} })
	{
		run_calls($type, $value, @{ $calls{$type} });
		note scalar(@{ $calls{$type} }) . " calls: $type $value";
	}
}

# ---- times ----

# Calls that fail count as calls, too, and so do those that end before they are cancelled.
my ($calls, $cancelled) = split /\|/, $node->safe_psql('postgres', "SELECT count(*), count(ms) FROM took");
cmp_ok($cancelled, '>', 0, "$calls calls, of which $cancelled were cancelled");
note "longest after that, in ms of CPU time:\n" . $node->safe_psql('postgres',
	'SELECT round(ms), how, call FROM took WHERE ms IS NOT NULL ORDER BY ms DESC LIMIT 40');
note "errors:\n" . $node->safe_psql('postgres', "SELECT count(*), how FROM took WHERE how NOT IN ('done', 'cancelled')
	GROUP BY how ORDER BY 1 DESC");
is($node->safe_psql('postgres', "SELECT round(ms)::text || ' ms: ' || call FROM took WHERE ms > $most_ms"),
	'', 'no call goes on for long');

$node->stop;
done_testing();
