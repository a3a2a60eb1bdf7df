# Random keys: SQL's = and fingerprints must agree on pairs of values that are equal or nearly so.
# Types are drawn too: arrays, rows, ranges, multiranges, domains and jsonb, inside of one another.
# Then many random values of some types: as many different fingerprints as count(DISTINCT).
#
# QSKETCH_KEY_PAIRS and QSKETCH_KEY_VALUES are the numbers of pairs in all and of values of each type,
# for long runs: 100000 and 1000000.  QSKETCH_KEY_SEED repeats one.
#
# With the address sanitizer, in a copy of the source tree:
#	echo 'void swift_demangle(void) {}' | gcc -shared -fPIC -x c -o /tmp/demangle.so -
#	export PROFILE='-fsanitize=address -fno-omit-frame-pointer' WITH_CUDA=no QSKETCH_KEY_PAIRS=100000
#	make all test-modules
#	LD_PRELOAD="$(gcc -print-file-name=libasan.so) /tmp/demangle.so" ASAN_OPTIONS=detect_leaks=0 \
#		make tap PROVE_TESTS=065_keys_random.pl
# libasan looks for that function when memory is first allocated.  That is while libgpg-error, which
# PostgreSQL loads, has a lock that a message about a missing function needs, too.
use strict;
use warnings;
use POSIX qw(floor strftime);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $pairs = $ENV{QSKETCH_KEY_PAIRS} // 10000;
my $values = $ENV{QSKETCH_KEY_VALUES} // 20000;
my $seed = $ENV{QSKETCH_KEY_SEED} // time;
my $types = 50;

note("seed $seed");
srand($seed);

sub below { return int(rand($_[0])); }
sub one_of { return $_[ below(scalar @_) ]; }

# ---- values without parts: how one is drawn, its neighbour, its text ----

# two numbers of 32 bits of which one is often 0 and both are mostly small, so that their xor is often the same
sub wide
{
	my $number = one_of(0, 0, 1, 2, 3, below(2**30)) * 2**32 + one_of(0, 1, 2, 3, below(100), below(2**32));

	return one_of($number, $number, -$number);
}

sub near_number
{
	my ($number) = @_;

	return one_of($number + 1, $number - 1, -$number, $number + 2**32, $number - 2**32, $number + 2**32 + 1, $number, $number);
}

sub clock
{
	my ($micros) = @_;
	my $seconds = floor($micros / 1e6);

	return sprintf('%02d:%02d:%02d.%06d', $seconds / 3600, $seconds / 60 % 60, $seconds % 60, $micros - $seconds * 1_000_000);
}

sub moment
{
	my ($micros) = @_;
	my $seconds = floor($micros / 1_000_000);

	return strftime('%Y-%m-%d %H:%M:%S', gmtime(946684800 + $seconds)) . sprintf('.%06d', $micros - $seconds * 1_000_000);
}

sub time_of_day { my ($micros) = @_; return $micros % 86_400_000_000; }
sub micros { return one_of(wide() % 2**50, -(wide() % 2**45)); }
sub digits { return join '', map { one_of(0, 0, 0, 0, 1 .. 9) } 1 .. 1 + below($_[0]); }

sub near_decimal
{
	my ($text) = @_;

	return one_of('NaN', 'Infinity', '-Infinity') if $text =~ /[a-df-zA-Z]/ || rand() < 0.02;
	return one_of($text =~ s/^(-?)/$1 ? '' : '-'/er, $text =~ /\./ ? $text . '0' : $text . '.00', '0' . $text =~ s/^-//r,
		$text =~ /\./ ? "${text}1" : "$text.0001", $text =~ /\./ ? $text : "${text}0000", $text =~ s/(\d)/(1 + $1) % 10/er);
}

sub string { return join '', map { one_of('a', 'a', 'b', 'A', ' ', '"', '\\', ',', '{', '}', '(', ')', "'", 'NULL', 'ä', '0') } 1 .. below(5); }
sub near_string { my ($text) = @_; return one_of("$text ", " $text", uc $text, lc $text, reverse($text) =~ s/[\x80-\xff]//gr, $text . $text, $text =~ s/a/b/r, $text, $text =~ s/ $//r); }

# jsonb: a number, string or word as text, an array, or pairs in a hash
sub json
{
	my ($depth) = @_;
	my $kind = below($depth > 0 ? 8 : 4);

	return one_of('', '-') . below(3) . one_of('', '.0', '.5', '.50', 'e1') if $kind < 2;
	return '"' . one_of('', '1', 'a', 'b', 'true', 'null') . '"' if $kind == 2;
	return one_of('true', 'false', 'null') if $kind == 3;
	return [ map { json($depth - 1) } 1 .. below(4) ] if $kind < 6;
	return { map { $_ => json($depth - 1) } grep { rand() < 0.5 } 'a', 'b', 'c', '' };
}

sub json_text
{
	my ($value) = @_;

	return '[' . join(', ', map { json_text($_) } @$value) . ']' if ref $value eq 'ARRAY';
	return '{' . join(', ', map { qq{"$_": } . json_text($value->{$_}) } sort { $a cmp $b } keys %$value) . '}' if ref $value eq 'HASH';
	return $value;
}

sub near_json
{
	my ($value) = @_;

	return one_of([$value], { a => $value }, $value, ref $value ? 'null' : qq{"$value"} =~ s/""/"/gr) if rand() < 0.2;
	if (ref $value eq 'ARRAY' && @$value)
	{
		my @parts = @$value;
		my $i = below(scalar @parts);
		my $what = below(5);

		return [ @parts[ 0 .. $i - 1 ], [ @parts[ $i .. $#parts ] ] ] if $what == 0;
		return [ map { ref $_ eq 'ARRAY' ? @$_ : $_ } @parts ] if $what == 1;
		return [ reverse @parts ] if $what == 2;
		return { map { (qw(a b c))[$_] => $parts[$_] } 0 .. $#parts } if $what == 3 && @parts <= 3;
		$parts[$i] = near_json($parts[$i]);
		return \@parts;
	}
	if (ref $value eq 'HASH' && %$value)
	{
		my %parts = %$value;
		my $key = one_of(sort keys %parts);

		return [ map { ("\"$_\"", $parts{$_}) } sort keys %parts ] if rand() < 0.2;
		if (rand() < 0.2)
		{
			$parts{d} = delete $parts{$key};
			return \%parts;
		}
		$parts{$key} = near_json($parts{$key});
		return \%parts;
	}
	return one_of([], {}, '""', 'null') if ref $value;
	return near_decimal($value =~ s/e1//r) =~ s/^.*[NI].*/1e1/r =~ s/^(-?)0+(?=\d)/$1/r if $value =~ /^-?\d/;
	return one_of('true', 'false', 'null', '"a"', '"1"', '1');
}

my %leaf = (
	int4 => { draw => sub { one_of(below(10), -below(10), below(2**31), -below(2**31)) },
		near => sub { one_of($_[0] > 0 ? $_[0] - 1 : $_[0] + 1, -$_[0], $_[0]) } },
	int8 => { draw => \&wide, near => \&near_number },
	numeric => { draw => sub { one_of('', '-') . digits(12) . one_of('', '.' . digits(9), '.' . digits(2) . '000') }, near => \&near_decimal },
	float8 => { draw => sub { one_of('0', '-0', '1', '-1', 'NaN', 'Infinity', '-Infinity', digits(9) . 'e' . (below(40) - 20)) },
		near => sub { $_[0] =~ /[NI]/ ? one_of('NaN', 'Infinity', '-Infinity') : one_of($_[0] =~ s/^(-?)/$1 ? '' : '-'/er, $_[0], "0$_[0]" =~ s/^0-/-0/r) } },
	text => { draw => \&string, near => \&near_string },
	'char(6)' => { draw => sub { substr(string() =~ s/[\x80-\xff]//gr, 0, 6) },
		near => sub { substr(near_string($_[0]) =~ s/[\x80-\xff]//gr, 0, 6) } },
	bytea => { draw => sub { '\\x' . join '', map { one_of('00', '00', '01', 'ff', '61') } 1 .. below(6) },
		near => sub { one_of("$_[0]00", $_[0] =~ s/00/01/r, $_[0]) } },
	timestamp => { draw => \&micros, near => \&near_number, text => \&moment },
	timestamptz => { draw => \&micros, near => \&near_number, text => sub { one_of(moment($_[0]) . '+00', moment($_[0] + 7_200_000_000) . '+02') } },
	date => { draw => sub { below(80000) - 30000 }, near => sub { one_of($_[0] + 1, -$_[0], $_[0]) }, text => sub { substr(moment($_[0] * 86_400_000_000), 0, 10) } },
	time => { draw => sub { time_of_day(wide()) }, near => sub { time_of_day(near_number($_[0])) }, text => \&clock },
	timetz => { draw => sub { [ time_of_day(wide()), below(24) - 12 ] },
		near => sub { my ($t, $z) = @{ $_[0] };
			one_of([ time_of_day(near_number($t)), $z ], [ time_of_day($t + 3_600_000_000), ($z + 12 + 1) % 24 - 12 ], [ $t, -$z ], [ $t, $z ]) },
		text => sub { clock($_[0][0]) . sprintf('%+03d', $_[0][1]) } },
	interval => { draw => sub { [ below(5) - 2, below(90) - 45, one_of(0, 0, wide() % 2**45, -(wide() % 2**45)) ] },
		near => sub { my ($m, $d, $t) = @{ $_[0] };
			one_of([ $m + 1, $d - 30, $t ], [ $m, $d + 1, $t - 86_400_000_000 ], [ $m, $d, near_number($t) ], [ -$m, -$d, -$t ], [ $m, $d, $t ],
				[ $m, $d + 213503982, $t + 28_909_551_616 ], [ $m + 1, $d, $t ]) },
		text => sub { "$_[0][0] mons $_[0][1] days " . ($_[0][2] < 0 ? '-' : '') . clock(abs $_[0][2]) } },
	uuid => { draw => sub { join '', map { one_of(0, 0, 1, 'f') } 1 .. 32 }, near => sub { my $u = $_[0]; substr($u, below(32), 1) = one_of(0, 1, 'f'); $u } },
	xid8 => { draw => sub { wide() % 2**60 }, near => sub { near_number($_[0]) % 2**60 } },
	pg_lsn => { draw => sub { abs(wide()) % 2**60 }, near => sub { near_number($_[0]) % 2**60 }, text => sub { sprintf('%X/%X', $_[0] >> 32, $_[0] & 0xffffffff) } },
	inet => { draw => sub { join('.', map { one_of(0, 1, 10, 255) } 1 .. 4) . one_of('', '/' . below(33)) },
		near => sub { one_of($_[0] =~ s{/.*}{}r, $_[0] =~ s{/.*}{}r . '/32', $_[0] =~ s{(/.*|$)}{'/' . below(33)}er, $_[0] =~ s/^\d+/one_of(0, 1, 10)/er) } },
	mood => { draw => sub { one_of('sad', 'ok', 'happy', '') }, near => sub { one_of('sad', 'ok', 'happy', '') } },
	jsonb => { draw => sub { json(3) }, near => \&near_json, text => \&json_text });
my %ordered = map { $_ => 1 } qw(int4 int8 timestamp date time);

# ---- types with parts ----

my @setup = ('CREATE EXTENSION qsketch', q{CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', '')});
my $made = 0;

sub leaf_type { my $name = one_of(sort keys %leaf); return { kind => 'leaf', sql => $name, %{ $leaf{$name} } }; }

# Ranges have no domains over them: PostgreSQL has no hash for these.
sub has_range { my ($type) = @_; return $type->{kind} =~ /range/ || grep { has_range($_) } @{ $type->{parts} // [] }; }

sub draw_type
{
	my ($depth) = @_;
	my $name = 'made_' . ++$made;

	return leaf_type() if $depth == 0;
	my $kind = one_of(qw(array array row row range multirange domain));
	my @parts = map { draw_type($depth - 1 - below(2) * ($depth > 1)) } 1 .. ($kind eq 'row' ? 1 + below(3) : 1);
	my $part = $parts[0];
	if ($kind eq 'array' && $part->{kind} eq 'array' || $kind eq 'domain' && has_range($part))
	{
		$kind = 'row';
	}
	push @setup, $kind eq 'row' ? "CREATE TYPE $name AS (" . join(', ', map { "c$_ $parts[$_]{sql}" } 0 .. $#parts) . ')'
		: $kind =~ /range/ ? "CREATE TYPE $name" . ($kind eq 'range' ? '' : '_one') . " AS RANGE (subtype = $part->{sql}, multirange_type_name = $name" . ($kind eq 'range' ? '_many' : '') . ')'
		: $kind eq 'domain' ? "CREATE DOMAIN $name AS $part->{sql}" : ();
	return { kind => $kind, sql => $kind eq 'array' ? "$part->{sql}\[]" : $name, parts => \@parts };
}

# ---- their values ----

sub maybe { my ($type) = @_; return rand() < 0.15 ? undef : draw($type); }

sub sides { my ($count) = @_; return one_of([$count], [$count], [ 1, $count ], [ $count, 1 ], $count % 2 == 0 && $count > 0 ? [ 2, $count / 2 ] : [$count]); }

# Two ends of a range are drawn where they are easily put in order; else it has one, or twice the same.
sub draw_range
{
	my ($type) = @_;
	my $part = $type->{parts}[0];
	my $low = draw($part);
	my $high = $ordered{ $part->{sql} } && rand() < 0.7 ? draw($part) : $low;

	($low, $high) = ($high, $low) if $ordered{ $part->{sql} } && $low > $high;
	return { empty => rand() < 0.1, low => rand() < 0.2 ? undef : $low, high => rand() < 0.3 ? undef : $high, from => one_of('[', '('), to => one_of(']', ')') };
}

sub draw
{
	my ($type) = @_;
	my ($kind, $parts) = @$type{qw(kind parts)};

	return $type->{draw}->() if $kind eq 'leaf';
	return draw($parts->[0]) if $kind eq 'domain';
	return [ map { maybe($_) } @$parts ] if $kind eq 'row';
	return draw_range($type) if $kind eq 'range';
	return [ map { draw_range($type) } 1 .. below(3) ] if $kind eq 'multirange';
	my $count = below(5);
	return { sides => sides($count), from => one_of(1, 1, 1, 0, -1), elements => [ map { maybe($parts->[0]) } 1 .. $count ] };
}

sub near_or_null
{
	my ($type, $value) = @_;

	return undef if defined $value && rand() < 0.1;
	return defined $value ? near($type, $value) : rand() < 0.5 ? draw($type) : undef;
}

sub near_range
{
	my ($type, $value) = @_;
	my %new = %$value;
	my $part = $type->{parts}[0];

	return { %new, from => one_of('[', '('), to => one_of(']', ')') } if rand() < 0.3;
	return { %new, low => undef } if rand() < 0.2;
	return { %new, high => undef } if rand() < 0.2;
	return { %new, empty => !$new{empty} } if rand() < 0.1;
	if (defined $new{low} && !defined $new{high})
	{
		$new{low} = near($part, $new{low});
	}
	elsif (defined $new{high} && !defined $new{low})
	{
		$new{high} = near($part, $new{high});
	}
	elsif (defined $new{low} && $ordered{ $part->{sql} })
	{
		@new{qw(low high)} = sort { $a <=> $b } near($part, $new{low}), $new{high};
	}
	return \%new;
}

# A value that is the same, or differs in one leaf, bound, shape or place.
sub near
{
	my ($type, $value) = @_;
	my ($kind, $parts) = @$type{qw(kind parts)};

	return $type->{near}->($value) if $kind eq 'leaf';
	return near($parts->[0], $value) if $kind eq 'domain';
	return near_range($type, $value) if $kind eq 'range';
	if ($kind eq 'array')
	{
		my @elements = @{ $value->{elements} };

		return { %$value, sides => sides(scalar @elements) } if rand() < 0.25;
		return { %$value, from => one_of(0, 1, 2) } if rand() < 0.2;
		return { %$value, elements => [ reverse @elements ] } if rand() < 0.1;
		return { sides => [ 1 + @elements ], from => $value->{from}, elements => [ @elements, maybe($parts->[0]) ] } if !@elements || rand() < 0.1;
		my $i = below(scalar @elements);
		$elements[$i] = near_or_null($parts->[0], $elements[$i]);
		return { %$value, elements => \@elements };
	}
	my @new = @$value;
	return \@new if !@new;
	my $i = below(scalar @new);
	$new[$i] = $kind eq 'row' ? near_or_null($parts->[$i], $new[$i]) : near_range($type, $new[$i]);
	# the value of one column in another
	@new[ 0, 1 ] = @new[ 1, 0 ] if $kind eq 'row' && @new > 1 && $parts->[0]{sql} eq $parts->[1]{sql} && rand() < 0.3;
	return \@new;
}

# ---- as text ----

sub in_quotes { return '"' . $_[0] =~ s/(["\\])/\\$1/gr . '"'; }

sub nested
{
	my ($sides, @elements) = @_;
	my ($side, @rest) = @$sides;
	my $each = @elements / $side;

	return '{' . join(',', @rest ? map { nested(\@rest, splice @elements, 0, $each) } 1 .. $side : @elements) . '}';
}

sub range_text
{
	my ($part, $range) = @_;
	my ($from, $to, $low, $high) = @$range{qw(from to low high)};

	return 'empty' if $range->{empty};
	return $from . (defined $low ? in_quotes(as_text($part, $low)) : '') . ',' . (defined $high ? in_quotes(as_text($part, $high)) : '') . $to;
}

sub as_text
{
	my ($type, $value) = @_;
	my ($kind, $parts) = @$type{qw(kind parts)};

	return $type->{text} ? $type->{text}->($value) : $value if $kind eq 'leaf';
	return as_text($parts->[0], $value) if $kind eq 'domain';
	return '(' . join(',', map { defined $value->[$_] ? in_quotes(as_text($parts->[$_], $value->[$_])) : '' } 0 .. $#$parts) . ')' if $kind eq 'row';
	return range_text($parts->[0], $value) if $kind eq 'range';
	return '{' . join(',', map { range_text($parts->[0], $_) } @$value) . '}' if $kind eq 'multirange';
	return '{}' if !@{ $value->{elements} };
	my @sides = @{ $value->{sides} };
	return join('', map { "[$value->{from}:" . ($value->{from} + $_ - 1) . ']' } @sides) . '=' . nested(\@sides, map { defined $_ ? in_quotes(as_text($parts->[0], $_)) : 'NULL' } @{ $value->{elements} });
}

# ---- the pairs ----

# The type as it is shown: made_7 says nothing.
sub shown
{
	my ($type) = @_;
	my ($kind, $parts) = @$type{qw(kind parts)};

	return $type->{sql} if $kind eq 'leaf';
	return ($kind eq 'row' ? '' : $kind) . '(' . join(', ', map { shown($_) } @$parts) . ')';
}


my @drawn = ((map { { kind => 'leaf', sql => $_, %{ $leaf{$_} } } } sort keys %leaf), map { draw_type(1 + $_ % 3) } 1 .. $types);
my $each = int($pairs / @drawn) + 1;
my @load;

for my $i (0 .. $#drawn)
{
	my $type = $drawn[$i];
	my @lines;

	for my $n (1 .. $each)
	{
		my $a = draw($type);
		my $b = $a;

		$b = near($type, $b) for 1 .. one_of(0, 1, 1, 1, 2);
		push @lines, join "\t", $n, map { as_text($type, $_) =~ s/\\/\\\\/gr =~ s/\t/\\t/gr =~ s/\n/\\n/gr } $a, $b;
	}
	push @load, "CREATE TABLE pairs_$i (n int, a $type->{sql}, b $type->{sql});\nCREATE TYPE one_$i AS (v $type->{sql});\nCOPY pairs_$i FROM stdin;\n" . join("\n", @lines) . "\n\\.\n";
}

my $node = PostgreSQL::Test::Cluster->new('random_keys');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
$node->append_conf('postgresql.conf', "jit = off\nautovacuum = off\nfsync = off\ntimezone = UTC\nmax_parallel_workers_per_gather = 0\ncpu_operator_cost = 1\nwork_mem = 256MB\n");
$node->start;
$node->safe_psql('postgres', join(";\n", @setup) . ";\n" . join('', @load));
$node->safe_psql('postgres', q{
	CREATE TABLE seen (type text, pairs bigint, equal bigint);
	CREATE TABLE wrong (type text, structures text, a text, b text, equal boolean);
	-- a key as an expression of a and one of b, against = of rows that contain a and b
	CREATE FUNCTION compare(no int, type text, key_a text, key_b text, arrays text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format('WITH said AS MATERIALIZED (SELECT a::text, b::text, row_a = row_b AS equal, qsets_id(key_a) = qsets_id(key_b) AS id, qsketch_estimate_key(qsketch_add(qsketch_new(), key_a), key_b) = 1 AS sketch,
				qsets_intersect_count(ARRAY[row_a], ARRAY[row_b]) = 1 AS rows, %s AS arrays
			FROM (SELECT a, b, %s AS key_a, %s AS key_b, ROW(a)::one_%s AS row_a, ROW(b)::one_%4$s AS row_b FROM pairs_%4$s OFFSET 0) AS p),
			counted AS (INSERT INTO seen SELECT %5$L, count(*), count(*) FILTER (WHERE equal) FROM said)
			INSERT INTO wrong SELECT %5$L, string_agg(DISTINCT structure, '', ''), a, b, equal
			FROM said, LATERAL (VALUES (''id'', id), (''sketch'', sketch), (''set of rows'', rows), (''arrays'', arrays)) AS v(structure, same) WHERE same IS DISTINCT FROM equal GROUP BY a, b, equal', arrays, key_a, key_b, no, type);
	EXCEPTION WHEN OTHERS THEN INSERT INTO wrong VALUES (type, 'ERROR ' || sqlstate || ': ' || sqlerrm);
	END $$;
	CREATE FUNCTION sketch_of(no int, scan boolean) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE s text; BEGIN
		PERFORM set_config('qsketch.enable_columnscan', scan::text, true);
		EXECUTE format('SELECT md5(qsketch_agg(a)::text) FROM pairs_%s', no) INTO s;
		RETURN s;
	END $$});

# Of domains over integers it is not clear which function of arrays is meant; arrays of arrays have more dimensions.
for my $i (0 .. $#drawn)
{
	my $type = $drawn[$i];
	my $inner = $type;

	$inner = $inner->{parts}[0] while $inner->{kind} eq 'domain';
	my $arrays = $inner->{kind} eq 'array' || $type->{kind} eq 'domain' && $inner->{sql} =~ /^int/ ? 'row_a = row_b' : 'qsets_intersect_count(ARRAY[key_a], ARRAY[key_b]) = 1';
	my @columns = map { "c$_" } 0 .. $#{ $type->{parts} // [] };
	my $name = shown($type);
	my @calls = ("SELECT compare($i, '$name', 'a', 'b', '$arrays')");

	push @calls, sprintf q{SELECT compare(%d, '%s, anonymous', 'ROW(%s)', 'ROW(%s)', '%s')}, $i, $name, join(', ', map { "(a).$_" } @columns), join(', ', map { "(b).$_" } @columns), $arrays if $type->{kind} eq 'row';
	push @calls, "INSERT INTO wrong SELECT '$name', 'column scan' WHERE sketch_of($i, true) <> sketch_of($i, false)";
	$node->safe_psql('postgres', join ";\n", @calls);
}
my $report = q{SELECT string_agg(concat(type, ' (', structures, '), ', count, ' pairs: ', shown), chr(10) ORDER BY type, structures)
	FROM (SELECT type, structures, count(*), string_agg(concat(left(a, 200), CASE WHEN equal THEN ' = ' ELSE ' <> ' END, left(b, 200)), '; ' ORDER BY n) FILTER (WHERE n <= 2) AS shown
		FROM (SELECT *, row_number() OVER (PARTITION BY type, structures ORDER BY length(a) + length(b), a, b) AS n FROM wrong) AS w GROUP BY type, structures) AS s};
my ($compared, $equal) = split /\|/, $node->safe_psql('postgres', q{SELECT sum(pairs), sum(equal) FROM seen WHERE type NOT LIKE '%anonymous'});

is($compared, $each * @drawn, "$compared pairs of " . @drawn . " types, seed $seed");
cmp_ok($equal, '>', $compared / 10, "$equal of them equal");
cmp_ok($equal, '<', $compared * 2 / 3, 'others not');
is($node->safe_psql('postgres', $report), '', 'fingerprints agree with =');

# ---- many values ----

# Half of the times and numbers have halves of 32 bits whose xor often is the same.
my $wide = '(floor(random() * 2000)::bigint - 1000) * 4294967296 + floor(random() * 1000)::bigint';
my $small = 'floor(random() * 40)::int - 20';
my $far = "$small + floor(random() * 3)::bigint * 4294967296";
my %many = (
	timestamp => "timestamp '2000-01-01' + CASE WHEN random() < 0.5 THEN floor(random() * 1e15)::bigint ELSE $wide END * interval '1 microsecond'",
	time => "time '00:00' + (floor(random() * 20) * 4294967296 + floor(random() * 10000)) * interval '1 microsecond'",
	bigint => $wide,
	numeric => q{concat(floor(random() * 2e6)::int - 1000000, 'e', floor(random() * 20)::int - 10)::numeric},
	interval => q{make_interval(months => floor(random() * 40)::int - 20, days => floor(random() * 100)::int - 50) + floor(random() * 3) * interval '213503982 days 08:01:49.551616'
		+ floor(random() * 100) * interval '01:11:34.967296' + floor(random() * 100) * interval '1 microsecond'},
	jsonb => q{format((ARRAY['[%s, %s, %s, %s]', '[[%s, %s], %s, %s]', '[%s, [%s, [%s]], %s]', '{"a": [%s, %s], "b": {"c": %s, "d": %s}}', '{"a": {"c": %s, "d": [%s]}, "b": [%s, %s]}', '[{"a": %s}, {"b": %s}, "%s", %s]'])[1 + floor(random() * 6)::int],
		SMALL, SMALL, SMALL, SMALL)::jsonb} =~ s/SMALL/$small/gr,
	'bigint[]' => q{format((ARRAY['{%s,%s,%s,%s}', '{{%s,%s},{%s,%s}}', '{{%s},{%s},{%s},{%s}}', '[0:3]={%s,%s,%s,%s}', '{%s,NULL,%s,%s,%s}', '{{{%s,%s},{%s,%s}}}'])[1 + floor(random() * 6)::int], FAR, FAR, FAR, FAR)::bigint[]} =~ s/FAR/$far/gr,
	'numeric[]' => q{format((ARRAY['{%s,%s,%s.50,%s}', '{{%s,%s},{%s,%s.5}}', '{%s,%s,NULL,%s,%s.0}'])[1 + floor(random() * 3)::int], SMALL, SMALL, SMALL, SMALL)::numeric[]} =~ s/SMALL/$small/gr);

for my $type (sort keys %many)
{
	my $element = $type =~ /\[\]/ ? 'ROW(v)' : 'v';
	my ($distinct, $ids, $elements) = split /\|/, $node->safe_psql('postgres', sprintf q{SELECT setseed(%.6f); CREATE TEMP TABLE many AS SELECT %s AS v FROM generate_series(1, %d);
		SELECT count(DISTINCT v), count(DISTINCT qsets_id(v)), qsets_cardinality(qsets_agg(1, %s), 1) FROM many}, ($seed % 100000) / 100000, $many{$type}, $values, $element) =~ s/^\s+//r;

	cmp_ok($distinct, '>', $values / 10, "$distinct different values of type $type");
	is("$ids ids, $elements elements", "$distinct ids, $distinct elements", "as many different ids and elements of type $type");
}

$node->stop;
done_testing();
