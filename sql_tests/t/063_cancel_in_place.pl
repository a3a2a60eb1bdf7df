# A cancelled call that changes a value in place leaves the value unchanged, also if the key makes
# the value dense and the call is cancelled while it clears the tables.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $module = "$ENV{TESTDIR}/add_cancelled.so";
plan skip_all => 'no test module' unless -f $module;

my $node = PostgreSQL::Test::Cluster->new('cancel_in_place');
$node->init;
$node->start;
$node->safe_psql('postgres', qq{
	CREATE EXTENSION qsketch;
	CREATE FUNCTION add_cancelled(regprocedure, anyelement, int) RETURNS int LANGUAGE c AS '$module'});

# Adds this number of keys to a value of this type, and returns how many calls
# were cancelled.
sub cancelled
{
	my ($type, $value, $keys) = @_;

	return $node->safe_psql('postgres', "SELECT add_cancelled('${type}_add($type, anycompatible)', $value, $keys)");
}

# Few keys stay exact, without large tables.  With more keys, each call tries to allocate the
# tables.
for my $structure ('multilevel', 'warp', 'thread', 'sf')
{
	my $new = "qsketch_new('$structure', '16MB')";

	is(cancelled('qsketch', $new, 100), 0, "$structure: few keys are added");
	cmp_ok(cancelled('qsketch', $new, 2100), '>', 0, "$structure: a key that needs tables is cancelled");
}
is(cancelled('qsketch', q{qsketch_new('multilevel', '1MB')}, 2100), 0, 'small tables are not waited for');

# A list of top keys has a sketch and candidates, which fit each other.
is(cancelled('qtop', q{qtop_new(10, qsketch_new('multilevel', '16MB'))}, 2100), 0, 'a list gets its tables');

$node->stop;
done_testing();
