# Sketches are dumped and restored by pg_dump and pg_restore, and copied by COPY as text and in binary.  Then
# COPY BINARY reads bytes that are no sketches.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use QsketchValues;

my $node = PostgreSQL::Test::Cluster->new('dump');
$node->init;
$node->start;
my $dir = PostgreSQL::Test::Utils::tempdir;

$node->safe_psql('postgres', $QsketchValues::fill);

my $before = $node->safe_psql('postgres', $QsketchValues::sketches);
my $sets_before = $node->safe_psql('postgres', $QsketchValues::sets);
is(scalar(split /\n/, $sets_before), 4, 'collections of sets of all kinds');
is(scalar(split /\n/, $before), 31, 'sketches of all kinds');
my $filters_before = $node->safe_psql('postgres', $QsketchValues::filters);

my $tops_before = $node->safe_psql('postgres', $QsketchValues::tops);

foreach my $format ('plain', 'custom')
{
	my $file = "$dir/$format";

	$node->command_ok([ 'pg_dump', '-F', $format, '-f', $file, $node->connstr('postgres') ], "pg_dump $format");

	# types and functions have other OIDs than in the first database
	$node->safe_psql('postgres', "CREATE DATABASE restored_$format");
	$node->safe_psql("restored_$format",
		"CREATE TYPE other AS ENUM ('x', 'y'); CREATE TABLE t (i serial)");
	$node->command_ok(
		$format eq 'plain'
		? [ 'psql', '-qXv', 'ON_ERROR_STOP=1', '-d', $node->connstr("restored_$format"), '-f', $file ]
		: [ 'pg_restore', '-d', $node->connstr("restored_$format"), $file ],
		"restored $format");
	is($node->safe_psql("restored_$format", $QsketchValues::sketches), $before, "$format: same bytes");
	is($node->safe_psql("restored_$format", $QsketchValues::filters), $filters_before, "$format: same filters");
	is( $node->safe_psql("restored_$format", q{
			SELECT qfilter_contains(f, 'ok'::mood), qfilter_contains(f, 'sad'::mood), (SELECT qfilter_contains(f, '77') FROM merged_filters)
			FROM filter WHERE name = 'mood'}),
		't|f|t', "$format: keys of filters are found");
	is($node->safe_psql("restored_$format", $QsketchValues::tops), $tops_before, "$format: same lists of top keys");
	is($node->safe_psql("restored_$format", $QsketchValues::top_keys),
		'ok 2, happy 1|a|t|t', "$format: and their keys come back, though their types have other OIDs");
	is($node->safe_psql("restored_$format", $QsketchValues::sets), $sets_before, "$format: same collections of sets");
	is( $node->safe_psql("restored_$format",
			q{SELECT qsets_cardinality(s || qsets_agg(1, 'sad'::mood), 1) FROM sets, generate_series(1, 1) WHERE name = 'moods' GROUP BY s}),
		'3', "$format: collections of enums go on");
	is( $node->safe_psql("restored_$format", q{
			SELECT kind, CASE kind WHEN 'mood' THEN qsketch_estimate(sk, 'ok'::mood)
				WHEN 'pair' THEN qsketch_estimate(sk, ROW(1, 'a')::pair)
				ELSE qsketch_estimate(sk, 'a') END FROM keyed ORDER BY kind}),
		"mood|2\npair|3\ntext|2",
		"$format: keys are found");
	is( $node->safe_psql("restored_$format", q{
			SELECT total, qsketch_estimate(sk, 1), (SELECT qsketch_total(sk) FROM merged),
				(SELECT count(*) FROM totals) FROM strict}),
		'7|7|3|31', "$format: defaults, generated columns, views");
}

# COPY
foreach my $format ('text', 'csv', 'binary')
{
	my $file = "$dir/copy.$format";

	$node->safe_psql('postgres', qq{
		COPY sketch TO '$file' (FORMAT $format);
		CREATE TABLE copied_$format (LIKE sketch);
		COPY copied_$format FROM '$file' (FORMAT $format)});
	is( $node->safe_psql('postgres', qq{SELECT name, md5(sk::text), octet_length(sk::bytea)
			FROM copied_$format ORDER BY name, 2}),
		$before, "COPY as $format: same bytes");
	$node->safe_psql('postgres', qq{
		COPY filter TO '$file.filter' (FORMAT $format);
		CREATE TABLE filter_$format (LIKE filter);
		COPY filter_$format FROM '$file.filter' (FORMAT $format)});
	is( $node->safe_psql('postgres', $QsketchValues::filters =~ s/FROM filter/FROM filter_$format/r),
		$filters_before, "COPY as $format: same filters");
	$node->safe_psql('postgres', qq{
		COPY top TO '$file.top' (FORMAT $format);
		CREATE TABLE top_$format (LIKE top);
		COPY top_$format FROM '$file.top' (FORMAT $format)});
	is( $node->safe_psql('postgres', $QsketchValues::tops =~ s/FROM top /FROM top_$format /r),
		$tops_before, "COPY as $format: same lists of top keys");
}

$node->safe_psql('postgres', qq{
	COPY sets TO '$dir/sets' (FORMAT binary);
	CREATE TABLE copied_sets (LIKE sets);
	COPY copied_sets FROM '$dir/sets' (FORMAT binary)});
is( $node->safe_psql('postgres', 'SELECT count(*) FROM sets JOIN copied_sets USING (name, s)'),
	'4', 'COPY as binary: same collections of sets');

# COPY BINARY reads garbage: damaged sketches, truncated sketches, noise of any length.
my $header = "PGCOPY\n\377\r\n\0" . pack('NN', 0, 0);
my $good = pack 'H*', $node->safe_psql('postgres',
	q{SELECT encode(sk::bytea, 'hex') FROM sketch WHERE name = 'sf 10 1'});
my @bad = ('', "\0", 'QSK', $good . "\0", substr($good, 0, -1), substr($good, 1), $good . $good);
srand(1);
foreach my $i (1 .. 300)
{
	my $bytes = $good;

	if ($i % 3 == 0)
	{
		$bytes = join '', map { chr int rand 256 } 1 .. int rand 300;
	}
	elsif ($i % 3 == 1)
	{
		my $at = int rand length $bytes;
		substr($bytes, $at, 1) = chr((ord(substr $bytes, $at, 1) + 1 + int rand 255) % 256);
	}
	else
	{
		$bytes = substr($good, 0, int rand length $good);
	}
	push @bad, $bytes;
}
append_binary("$dir/good", $good);
append_binary("$dir/bad.$_", $bad[$_]) foreach 0 .. $#bad;

sub append_binary
{
	my ($file, $field) = @_;

	open my $out, '>:raw', $file or die "$file: $!";
	print $out $header, pack('nN', 1, length $field), $field, pack('n', 0xFFFF);
	close $out or die "$file: $!";
}

my $last = $#bad;
is( $node->safe_psql('postgres', qq{
		CREATE TABLE target (sk qsketch);
		COPY target FROM '$dir/good' (FORMAT binary);
		CREATE FUNCTION state_of(file text) RETURNS text LANGUAGE plpgsql AS \$\$
		BEGIN
			EXECUTE format('COPY target FROM %L (FORMAT binary)', file);
			RETURN 'accepted';
		EXCEPTION WHEN OTHERS THEN RETURN sqlstate;
		END \$\$;
		SELECT state_of('$dir/bad.' || i), count(*) FROM generate_series(0, $last) AS i GROUP BY 1}),
	"22P03|" . scalar(@bad),
	'COPY BINARY refuses ' . scalar(@bad) . ' fields that are no sketches');
is($node->safe_psql('postgres', 'SELECT count(*), sum(qsketch_total(sk)) FROM target'), '1|10',
	'and takes the one that is');

# These bytes are no filters either, and damaged filters are refused.
my $filter = pack 'H*', $node->safe_psql('postgres',
	q{SELECT encode(f::bytea, 'hex') FROM filter WHERE name = 'explicit'});
foreach my $at (0 .. length($filter) - 1)
{
	my $bytes = $filter;

	substr($bytes, $at, 1) = chr((ord(substr $bytes, $at, 1) + 1 + int rand 255) % 256);
	append_binary("$dir/bad." . ($last + 1 + $at), $bytes);
}
my $last_filter = $last + length $filter;
append_binary("$dir/filter", $filter);
is( $node->safe_psql('postgres', qq{
		CREATE TABLE filter_target (f qfilter);
		COPY filter_target FROM '$dir/filter' (FORMAT binary);
		CREATE FUNCTION state_of_filter(file text) RETURNS text LANGUAGE plpgsql AS \$\$
		BEGIN
			EXECUTE format('COPY filter_target FROM %L (FORMAT binary)', file);
			RETURN 'accepted';
		EXCEPTION WHEN OTHERS THEN RETURN sqlstate;
		END \$\$;
		SELECT state_of_filter('$dir/bad.' || i), count(*) FROM generate_series(0, $last_filter) AS i GROUP BY 1}),
	"22P03|" . ($last_filter + 1),
	'COPY BINARY refuses ' . ($last_filter + 1) . ' fields that are no filters');

# These bytes are no lists of top keys either, and damaged lists are refused.
my $top = pack 'H*', $node->safe_psql('postgres', q{SELECT encode(t::bytea, 'hex') FROM top WHERE name = 'moods'});
foreach my $at (0 .. length($top) - 1)
{
	my $bytes = $top;

	substr($bytes, $at, 1) = chr((ord(substr $bytes, $at, 1) + 1 + int rand 255) % 256);
	append_binary("$dir/bad." . ($last_filter + 1 + $at), $bytes);
}
my $last_top = $last_filter + length $top;
append_binary("$dir/top", $top);
is( $node->safe_psql('postgres', qq{
		CREATE TABLE top_target (t qtop);
		COPY top_target FROM '$dir/top' (FORMAT binary);
		CREATE FUNCTION state_of_top(file text) RETURNS text LANGUAGE plpgsql AS \$\$
		BEGIN
			EXECUTE format('COPY top_target FROM %L (FORMAT binary)', file);
			RETURN 'accepted';
		EXCEPTION WHEN OTHERS THEN RETURN sqlstate;
		END \$\$;
		SELECT state_of_top('$dir/bad.' || i), count(*) FROM generate_series(0, $last_top) AS i GROUP BY 1}),
	"22P03|" . ($last_top + 1),
	'COPY BINARY refuses ' . ($last_top + 1) . ' fields that are no lists of top keys');

# These bytes are no collections of sets either.  Damaged collections are refused, also if their
# checksum is right.
sub crc32c
{
	my $crc = 0xFFFFFFFF;

	foreach my $byte (unpack 'C*', shift)
	{
		$crc ^= $byte;
		$crc = $crc & 1 ? ($crc >> 1) ^ 0x82F63B78 : $crc >> 1 foreach 1 .. 8;
	}
	return $crc ^ 0xFFFFFFFF;
}

sub with_checksum
{
	my ($bytes) = @_;

	substr($bytes, 12, 4) = "\0" x 4;
	substr($bytes, 12, 4) = pack 'V', crc32c($bytes);
	return $bytes;
}

my $sets = pack 'H*', $node->safe_psql('postgres', q{SELECT encode(s::bytea, 'hex') FROM sets WHERE name = 'moods'});
is(unpack('H*', with_checksum($sets)), unpack('H*', $sets), 'the test knows the checksum of collections');
my @bad_sets = ('', "\0", 'QSS', $sets . "\0", substr($sets, 0, -1), substr($sets, 1), $sets . $sets, with_checksum($sets . "\0"));
foreach my $at (0 .. length($sets) - 1)
{
	my $bytes = $sets;

	substr($bytes, $at, 1) = chr((ord(substr $bytes, $at, 1) + 1 + int rand 255) % 256);
	push @bad_sets, $bytes, substr($sets, 0, $at);
}
# Numbers of sets, elements, distinct elements and bytes are as large as possible.
foreach my $at (24, 32, 40, 48)
{
	foreach my $count ("\xFF" x 8, "\xFF" x 3 . "\0" x 5, pack('V2', 0, 15))
	{
		my $bytes = $sets;

		substr($bytes, $at, 8) = $count;
		push @bad_sets, with_checksum($bytes);
	}
}
my $last_sets = $last_top + @bad_sets;
append_binary("$dir/bad." . ($last_top + 1 + $_), $bad_sets[$_]) foreach 0 .. $#bad_sets;
append_binary("$dir/sets.good", $sets);
is( $node->safe_psql('postgres', qq{
		SET statement_timeout = '600s';
		CREATE TABLE sets_target (s qsets);
		COPY sets_target FROM '$dir/sets.good' (FORMAT binary);
		CREATE FUNCTION state_of_sets(file text) RETURNS text LANGUAGE plpgsql AS \$\$
		BEGIN
			EXECUTE format('COPY sets_target FROM %L (FORMAT binary)', file);
			RETURN 'accepted';
		EXCEPTION WHEN OTHERS THEN RETURN sqlstate;
		END \$\$;
		SELECT state_of_sets('$dir/bad.' || i), count(*) FROM generate_series(0, $last_sets) AS i GROUP BY 1}),
	"22P03|" . ($last_sets + 1),
	'COPY BINARY refuses ' . ($last_sets + 1) . ' fields that are no collections of sets');

# Damage with a right checksum is refused, or the result is a valid collection.
my @mutants;
foreach my $i (1 .. 400)
{
	my $bytes = $sets;

	foreach (1 .. 1 + int rand 3)
	{
		my $at = 16 + int rand(length($bytes) - 16);
		substr($bytes, $at, 1) = chr int rand 256;
	}
	push @mutants, with_checksum($bytes);
}
append_binary("$dir/mutant.$_", $mutants[$_]) foreach 0 .. $#mutants;
my $states = $node->safe_psql('postgres', qq{
		SET statement_timeout = '600s';
		SELECT string_agg(DISTINCT state_of_sets('$dir/mutant.' || i), ' ') FROM generate_series(0, $#mutants) AS i});
note "bytes behind a good checksum: $states, " . $node->safe_psql('postgres', 'SELECT count(*) FROM sets_target') . ' taken';
like($states, qr/^22P03( accepted)?$/, 'behind its checksum, too');
is( $node->safe_psql('postgres', q{
		SELECT bool_and(s = (s::text)::qsets AND qsets_count(s) = (SELECT count(*) FROM unnest(qsets_ids(s)) AS id WHERE qsets_cardinality(s, id) > 0)
			AND (SELECT bool_and(common > 0) IS NOT FALSE FROM qsets_pairs(s))) FROM sets_target}),
	't', 'and what is taken is a collection');

# The bytes are the binary form.
is($node->safe_psql('postgres', qq{
		CREATE TABLE bytes (b bytea);
		INSERT INTO bytes SELECT sk::bytea FROM sketch WHERE name = 'warp 3000 1';
		COPY bytes TO '$dir/bytes' (FORMAT binary);
		TRUNCATE target;
		COPY target FROM '$dir/bytes' (FORMAT binary);
		SELECT count(*), bool_and(sk IN (SELECT sk FROM sketch)) FROM target}),
	'1|t', 'bytea and qsketch have the same binary form');

$node->stop;
done_testing();
