# From PostgreSQL 18 on, PL/pgSQL changes a sketch in place: sk := qsketch_add(sk, k) takes the time of a key,
# and not of a copy of the sketch, also in a block that catches errors.  A call that fails leaves the sketch
# as it was.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use QsketchCpu;

plan skip_all => 'no /proc/self/stat here' unless -r '/proc/self/stat';
my $node = PostgreSQL::Test::Cluster->new('in_place');
plan skip_all => 'PL/pgSQL changes no value of an extension in place before PostgreSQL 18'
  if $node->pg_version < 18;
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION qsketch;' . cpu_function());

# A function that adds and removes so many keys one by one: the sketch, and the processor's time.
sub loop_function
{
	my ($name, $add, $after) = @_;

	$node->safe_psql('postgres', qq{
		CREATE FUNCTION $name(sk qsketch, keys int, OUT made qsketch, OUT ms float8) LANGUAGE plpgsql AS
		\$\$ DECLARE began float8 := cpu_ms(); other qsketch; BEGIN
			BEGIN
				FOR k IN 1 .. keys LOOP $add END LOOP;
			$after END;
			made := sk;
			ms := cpu_ms() - began;
		END \$\$});
}

# In a block that catches errors the variable must survive an error, which the
# function has to promise.  In other blocks PL/pgSQL may pass the variable's
# memory to the function.
my $in_place = 'sk := qsketch_add(sk, k % 1000, 3); sk := qsketch_remove(sk, k % 1000, 2);';
my $catch = 'EXCEPTION WHEN division_by_zero THEN RAISE;';
loop_function('in_place', $in_place, '');
loop_function('caught', $in_place, $catch);
loop_function('copying', $in_place =~ s/sk := (.*?);/other := $1; sk := other;/gr, '');

my $filled = q{(SELECT qsketch_agg(k) FROM generate_series(1, 100000) AS k)};
my ($slow, $same) = split /\|/, $node->safe_psql('postgres', qq{
	SELECT ms, made = (SELECT qsketch_merge(qsketch_agg(k % 1000), $filled) FROM generate_series(1, 3000) AS k)
	FROM copying($filled, 3000)});
is($same, 't', 'the sketch of all keys');
foreach my $function ('in_place', 'caught')
{
	my $fast;

	($fast, $same) = split /\|/, $node->safe_psql('postgres', qq{
		SELECT f.ms, f.made = s.made FROM $function($filled, 3000) AS f, copying($filled, 3000) AS s});
	is($same, 't', "$function: the same sketch");
	note("3000 keys added and removed: $fast ms $function, $slow ms with copies");
	cmp_ok($slow, '>', 3 * ($fast + 10), "$function: less than a third of the time");
}

# Arguments and other variables do not change.  A call that fails changes
# nothing.
is( $node->safe_psql('postgres', q{
		CREATE FUNCTION others(sk qsketch) RETURNS text LANGUAGE plpgsql AS
		$$ DECLARE a qsketch := sk; b qsketch; BEGIN
			a := qsketch_add(a, 1);
			b := a;
			a := qsketch_add(a, 2);
			BEGIN
				a := qsketch_add(a, 'a text'::text);
			EXCEPTION WHEN OTHERS THEN
				b := qsketch_add(b, 1);
			END;
			BEGIN
				a := qsketch_remove(a, 3, 5);
			EXCEPTION WHEN OTHERS THEN
				b := qsketch_add(b, 1);
			END;
			BEGIN
				a := qsketch_add(a, 7, 1 / (qsketch_total(a) - 3)::int);
			EXCEPTION WHEN OTHERS THEN
				b := qsketch_add(b, 1);
			END;
			a := qsketch_add(a, qsketch_total(a)::int);
			RETURN concat_ws(' ', qsketch_total(sk), qsketch_total(a), qsketch_estimate(a, 3), qsketch_estimate(b, 1));
		END $$;
		SELECT others(s), qsketch_total(s) FROM qsketch_add(qsketch_new(), 0) AS s}),
	'1 4 1 4|1', 'nothing else changes, and nothing where adding fails');

# Lists of top keys change in place, too, and not at all where adding fails.
is( $node->safe_psql('postgres', q{
		CREATE FUNCTION list(t qtop, keys int, OUT made qtop, OUT ms float8) LANGUAGE plpgsql AS
		$$ DECLARE began float8 := cpu_ms(); BEGIN
			FOR k IN 1 .. keys LOOP t := qtop_add(t, k % 1000, 3); END LOOP;
			BEGIN t := qtop_add(t, 1, 9223372036854775807); EXCEPTION WHEN numeric_value_out_of_range THEN NULL; END;
			BEGIN t := qtop_add(t, 'a text'::text); EXCEPTION WHEN OTHERS THEN NULL; END;
			made := t;
			ms := cpu_ms() - began;
		END $$;
		CREATE FUNCTION list_copying(t qtop, keys int, OUT made qtop, OUT ms float8) LANGUAGE plpgsql AS
		$$ DECLARE began float8 := cpu_ms(); other qtop; BEGIN
			FOR k IN 1 .. keys LOOP other := qtop_add(t, k % 1000, 3); t := other; END LOOP;
			made := t;
			ms := cpu_ms() - began;
		END $$;
		SELECT qtop_sketch(f.made) = qtop_sketch(s.made), s.ms > 3 * (f.ms + 10)
		FROM (SELECT qtop_agg(k, 100) AS t FROM generate_series(1, 100000) AS k) AS filled, list(t, 3000) AS f, list_copying(t, 3000) AS s}),
	't|t', 'a list of top keys: the same, in less than a third of the time');

$node->stop;
done_testing();
