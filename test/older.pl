#!/usr/bin/env perl
#
# Makes an older version that was never released.  It is today's install script with some objects
# dropped, renamed or changed, so that the upgrade to today's version makes changes of each kind.
# Until the first release, upgrades are tested from this version.
#
#	test/older.pl EXTENSION_FOLDER	makes qsketch--0.9.0.sql and the script that upgrades it
use strict;
use warnings;
use FindBin;

my ($folder) = @ARGV;
my $older = '0.9.0';

sub slurp
{
	my ($name) = @_;

	open my $file, '<', $name or die "older.pl: $name: $!\n";
	local $/;
	return <$file>;
}

my ($version) = slurp("$folder/qsketch.control") =~ /^default_version *= *'(.*)'/m;
my $today = "$folder/qsketch--$version.sql";
my $sql = slurp($today);

# Each pattern must be found, since otherwise nothing would be tested.
sub change
{
	my ($what, $pattern, $by) = @_;

	$sql =~ s/$pattern/$by/ or die "older.pl: nothing found: $what\n";
}

# Drops a FUNCTION with its description.
sub drop
{
	my ($function) = @_;

	change($function, qr/^CREATE FUNCTION \Q$function\E\([^;]*;\nCOMMENT ON [^;]*;\n/m, '');
}

change('its version', qr/DEFAULT '\Q$version\E'/, "DEFAULT '$older'");
change('it asks no library, which would refuse it',
	qr/^ALTER FUNCTION qsketch_version\([^;]*;\nSELECT "qsketch_version alone"\([^;]*;\nALTER FUNCTION [^;]*;\n/m, '');
change('another default', qr/structure text DEFAULT 'multilevel'/, "structure text DEFAULT 'sub_warp'");
change('another name of an argument', qr/FUNCTION qsketch_error\(sketch qsketch, \Kconfidence/, 'share');
drop($_) foreach 'qsketch_inner_product', 'qsketch_fold';
change('a function that is gone', qr/^(CREATE FUNCTION qsketch_total)/m,
	"CREATE FUNCTION qsketch_sum(qsketch) RETURNS bigint\n\tAS 'MODULE_PATHNAME', 'qsketch_total' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;\n"
	  . "COMMENT ON FUNCTION qsketch_sum(qsketch) IS 'sum of all weights';\n\nCREATE FUNCTION qsketch_total");
change('fewer columns of a view', qr/OUT pairs bigint\K, OUT stats_reset timestamptz\)/, ')');
change('and no description of one', qr/^COMMENT ON COLUMN qsketch_stat.stats_reset [^;]*;\n/m, '');
change('another size of states', qr/CREATE AGGREGATE qsketch_agg\(key anycompatible\) \(\n\tSTYPE = qsketch, SSPACE = \K2048/, '1024');
change('another description', qr/IS 'sketch of the keys of both'/, "IS 'both'");

open my $file, '>', "$folder/qsketch--$older.sql" or die "older.pl: $!\n";
print $file $sql;
close $file or die "older.pl: $!\n";
my $script = "$folder/qsketch--$older--$version.sql";
system("awk -f '$FindBin::RealBin/../sql/upgrade.awk' '$folder/qsketch--$older.sql' '$today' >'$script'") == 0
  or die "older.pl: no upgrade\n";
