# Inconsistent values, and pairs of values that do not match: every function and aggregate with a
# value and another argument is called with damaged values as first, second and both arguments, on
# the CPU and on an emulated GPU.  The test reads the functions from the catalog.  Values pass
# their input function, or are stored without it, as older versions may have done.  Errors are
# right.  An internal error, a lost connection, an invalid result or a different answer from the
# GPU fails the test.
#
# QSKETCH_PAIRS is how many pairs of each type are tried on the CPU.  QSKETCH_SEED is their seed.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use QsketchMutants;
use Test::More;

my $pairs = $ENV{QSKETCH_PAIRS} // 240;
my $gpu_pairs = int($pairs / 4);
srand($ENV{QSKETCH_SEED} // 1);

my $node = gpu_node('pairs', 'max_parallel_workers_per_gather = 0', 'jit = off', 'fsync = off');

sub sql
{
	return $node->safe_psql('postgres', join ";\n", @_);
}

# ---- sound values ----

my $few = 'generate_series(1, 7) AS i';
my $many = 'generate_series(1, 300) AS i';
my @keys = ('i', 'i::text', "i + date '2020-01-01'", 'ARRAY[i]', 'i::numeric', 'i::float8', 'ROW(i, i::text)', "(i || '')::mood");
my %sound = (
	qsets => [ map({ "(SELECT qsets_agg(i % 3, $_) FROM $few)" } grep { !/ARRAY/ } @keys), "(SELECT qsets_agg(i % 40, i * 7 % 90) FROM $many)",
		"(SELECT qsets_agg(i % 40, (i * 7 % 90)::text) FROM $many)", "(SELECT qsets_subset(qsets_agg(1, i), '{}') FROM $few)" ],
	qsketch => [ map({ "(SELECT qsketch_agg($_, qsketch_new(size => '1kB')) FROM $few)" } @keys),
		map({ ("(SELECT qsketch_agg(i, qsketch_new('$_', '1kB', z => 2)) FROM $many)", "(SELECT qsketch_agg(i, 1::bigint << 40, qsketch_new('$_', '1kB', z => 2)) FROM $many)") }
			qw(thread warp half_warp sub_warp multilevel sf)),
		"(SELECT qsketch_sf_device(qsketch_agg(i, qsketch_new('sf', '1kB', z => 2))) FROM $many)", "qsketch_new(size => '1kB')" ],
	qfilter => [ map({ "(SELECT qfilter_agg($_, qfilter_new_bloom(100)) FROM $few)" } @keys), "(SELECT qfilter_agg(i::text, qfilter_new_bloom(100, layout => 'blocked')) FROM $many)",
		"(SELECT qfilter_row_agg(0, i, qfilter_new(1000, 4, k => 50)) FROM $many)", 'qfilter_new_bloom(100)' ],
	qtop => [ map({ "(SELECT qtop_agg($_, 3, qsketch_new(size => '1kB')) FROM $few)" } @keys), map({ "(SELECT qtop_agg($_, 3, qsketch_new(size => '1kB')) FROM $many)" } @keys[ 0 .. 2 ]),
		"qtop_new(3, qsketch_new(size => '1kB'))" ]);
my @types = sort keys %sound;

sql("CREATE TYPE mood AS ENUM (" . join(', ', map { "'$_'" } 1 .. 300) . ')',
	# a function that gives bytes another type without looking at them
	map({ "CREATE FUNCTION stored(bytea, $_) RETURNS $_ IMMUTABLE LANGUAGE internal AS 'byteasend'" } @types),
	'CREATE TABLE pair (type text, no int, a bytea, b bytea)',
	'CREATE TABLE answer (type text, no int, stored boolean, device text, call int, said text, message text)');

my %bytes = map {
	my $type = $_;
	$type => [ map { pack 'H*', $_ } split /\n/, sql('SET qsketch.device = cpu', join ' UNION ALL ', map { "SELECT encode($_\::bytea, 'hex')" } @{ $sound{$type} }) ]
} @types;

# ---- calls ----

# Arguments of a function beside values of our types, by type.  Each of them is used in turn.
my %other = (
	anyelement => [ '1', "'1'::text" ], anynonarray => ['1'], anyarray => [ 'ARRAY[1, 5]', "ARRAY['1', '5']" ], anycompatible => ['1'], anycompatiblearray => ['ARRAY[1]'],
	bigint => ['1'], integer => ['2'], 'double precision' => ['0.5'], boolean => ['true'], text => ["'1kB'"], 'bigint[]' => ["'{1,2}'"], 'integer[]' => ["'{1,2}'"], record => ['ROW(1)']);

my @functions = map { [ split /\|/, $_, -1 ] } split /\n/, sql(q{
	SELECT p.prokind = 'a', proretset, p.oid::regproc, prorettype::regtype, pronargdefaults,
		(SELECT string_agg(t::regtype::text, ',' ORDER BY n) FROM unnest(proargtypes) WITH ORDINALITY AS a (t, n))
	FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid JOIN pg_proc p ON p.oid = d.objid
	WHERE e.extname = 'qsketch' AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND d.classid = 'pg_proc'::regclass
		AND p.pronargs > 0 ORDER BY 3, 6});

# All ways to give a function values and keys: lists of arguments.
sub arguments
{
	my ($type, @argument) = @_;
	my @values = ('a', 'b');
	my @lists = ([]);

	foreach my $argument (@argument)
	{
		my @these = $argument eq $type ? ($values[0]) : $other{$argument} ? @{ $other{$argument} } : $sound{$argument} ? ("$argument\_v") : return;

		@values = reverse @values if $argument eq $type;
		@lists = map { my $list = $_; map { [ @$list, $argument =~ /^any/ ? $_ : "$_\::$argument" ] } @these } @lists;
	}
	return @lists;
}

# The answer of a call as a digest.
sub call
{
	my ($aggregate, $set, $function, $result, $type, @argument) = @_;
	my $call = "$function(" . join(', ', @argument) . ')';

	$call =~ s/\ba::/x::/g, return "SELECT md5(" . ($sound{$result} ? "($call)::bytea" : "($call)::text") . ") FROM (VALUES (a), (b)) AS v(x)" if $aggregate eq 't';
	return "SELECT count(*)::text FROM $call" if $function =~ /_plan$/; # a plan names the device
	return "SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM $call AS t" if $set eq 't';
	return $sound{$result} ? "SELECT md5(($call)::bytea)" : "SELECT md5(($call)::text)";
}

my %calls;
my %skipped;
foreach my $f (@functions)
{
	my ($aggregate, $set, $function, $result, $defaults, $types) = @$f;
	my @argument = split /,/, $types;
	my $main = (grep { $sound{$_} } @argument)[0] // next;

	next if $types =~ /^internal|cstring/ || $function =~ /_(trans|final|combine|inverse|send|out)\b/ || (@argument == 1 && $aggregate ne 't');
	# a default is given only where a value stands behind it
	pop @argument while $defaults-- > 0 && !$sound{ $argument[-1] };
	my @lists = arguments($main, @argument);
	$skipped{"$function($types)"} = 1 unless @lists;
	push @{ $calls{$main} }, map { call($aggregate, $set, $function, $result, $main, @$_) } @lists;
}
note 'not called: ', join ', ', sort keys %skipped;

# Makes all calls with pairs of values, in one block; each answer, or its SQLSTATE, is kept.
sub ask
{
	my ($type, $device, $stored, $most) = @_;
	my $value = sub { $stored ? "stored(p.$_[0], NULL::$type)" : "p.$_[0]::$type" };
	my $no = 0;
	my $block = join '', map { "BEGIN said := ($_); message := NULL; EXCEPTION WHEN OTHERS THEN said := SQLSTATE; message := SQLERRM; END;
		INSERT INTO answer VALUES ('$type', p.no, '$stored', '$device', " . $no++ . ", said, message);\n" } @{ $calls{$type} };
	my $others = join '', map { "${_}_v $_ := $sound{$_}[0];\n" } grep { $_ ne $type } @types;

	my ($status, $out, $err) = $node->psql('postgres', "SET qsketch.device = $device; SET qsketch.filter_nonce = 5; SET statement_timeout = '600s';
		DO \$do\$ DECLARE p record; a $type; b $type; said text; message text; $others BEGIN
		FOR p IN SELECT * FROM pair WHERE type = '$type' AND no < $most ORDER BY no LOOP
			BEGIN a := " . $value->('a') . '; b := ' . $value->('b') . ";
			EXCEPTION WHEN OTHERS THEN INSERT INTO answer VALUES ('$type', p.no, '$stored', '$device', -1, SQLSTATE, SQLERRM); CONTINUE; END;
			$block END LOOP; END \$do\$");
	is($status, 0, "$type, device $device, " . ($stored ? 'stored' : 'through input')) or diag(substr $err, 0, 2000);
	return $status == 0;
}

# ---- pairs ----

# Each value with the family, kind and form of each other one, then damage at random.  Every third
# pair has its damage in the first value, in the second one, or in both.
foreach my $type (@types)
{
	my @sound = @{ $bytes{$type} };
	my @marks = grep { $fields{$type}{$_} } qw(kind texts family collation);
	my $of = sub { my ($at, $width) = @{ $fields{$type}{ $_[1] } }; unpack 'Q<', substr($_[0], $at, $width) . "\0" x 8 };
	my @damaged;

	foreach my $a (@sound)
	{
		foreach my $b (@sound)
		{
			push @damaged, with_fields($type, $a, family => $of->($b, 'family'), collation => $of->($b, 'collation'));
			push @damaged, with_fields($type, $a, map { $_ => $of->($b, $_) } @marks[ 0, 1 ]);
		}
		push @damaged, with_fields($type, $a, family => $_) foreach 0, 12345, 1977 | 0x10000, 0x80001234, 0xFFFFFFFF;
		push @damaged, with_fields($type, $a, collation => $_) foreach 1, 0x40000001, 0x80000001;
	}
	# in an order of its own, so that a few pairs are of all kinds
	@damaged = map { $_->[1] } sort { $a->[0] <=> $b->[0] } map { [ rand, $_ ] } @damaged;
	my @rows = map {
		my ($a, $b) = map { $sound[ rand @sound ] } 1, 2;
		my $damage = sub { @damaged && rand() < 0.5 ? shift @damaged : mutant($type, $sound[ rand @sound ], $sound[ rand @sound ]) };
		$a = $damage->() if $_ % 3 != 1;
		$b = $damage->() if $_ % 3 != 0;
		"('$type', $_, '\\x" . unpack('H*', $a) . "', '\\x" . unpack('H*', $b) . "')"
	} 0 .. $pairs - 1;
	while (my @some = splice @rows, 0, 500) { sql('INSERT INTO pair VALUES ' . join ', ', @some) }
}

my $sound = 1;
foreach my $type (@types)
{
	cmp_ok(scalar @{ $calls{$type} }, '>', 4, "$type: " . @{ $calls{$type} } . ' calls');
	foreach my $stored (0, 1)
	{
		$sound = $sound && ask($type, 'cpu', $stored, $pairs);
		$sound = $sound && ask($type, 'gpu', $stored, $gpu_pairs);
	}
}

note sql(q{SELECT format('%s: %s calls, %s with an answer, %s errors', type, count(*) FILTER (WHERE call >= 0), count(*) FILTER (WHERE length(said) <> 5),
	count(*) FILTER (WHERE call >= 0 AND length(said) = 5)) FROM answer GROUP BY type ORDER BY type});
note sql(q{SELECT format('%s %s: %s', said, count(*), min(message)) FROM answer WHERE length(said) = 5 GROUP BY said, substr(message, 1, 30) ORDER BY count(*) DESC LIMIT 60});

# ---- results that must not occur ----

is(sql(q{SELECT string_agg(DISTINCT concat_ws(' ', type, call, message), E'\n') FROM answer WHERE said = 'XX000'}), '', 'no internal error');
is(sql(q{SELECT string_agg(DISTINCT concat_ws(' ', c.type, c.no, c.stored, c.call, c.said, g.said), E'\n') FROM answer AS c JOIN answer AS g USING (type, no, stored, call)
	WHERE c.device = 'cpu' AND g.device = 'gpu' AND c.said <> g.said}), '', 'the GPU answers as the CPU does');

done_testing();
