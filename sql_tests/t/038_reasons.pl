# From PostgreSQL 18 on EXPLAIN (VERBOSE) says why a query uses neither the
# column scan nor the GPU. reasons.sql tests the messages, which say so on all
# versions.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('reasons');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'qsketch'\nqsketch.device = cpu");
$node->start;
plan skip_all => 'EXPLAIN takes no lines of extensions before PostgreSQL 18'
	if $node->safe_psql('postgres', 'SHOW server_version_num') < 180000;

$node->safe_psql('postgres', q{CREATE EXTENSION qsketch;
	CREATE TABLE why (k int, w int, t text); INSERT INTO why SELECT i % 10, 1, 'a' FROM generate_series(1, 1000) AS i});
my $query = 'SELECT w, qsketch_agg(k) FROM why GROUP BY ROLLUP (w, t)';
my ($scan, $gpu) = ('GROUPING SETS, ROLLUP or CUBE: group by all of their columns in a subquery, and merge above it', 'qsketch.device is cpu');

sub explained
{
	my ($options, $of) = @_;
	return $node->safe_psql('postgres', "EXPLAIN (COSTS OFF, $options) $of");
}

like(explained('VERBOSE', $query), qr/\nColumn Scan Not Used: $scan\nGPU Not Used: $gpu\z/, 'text');
like(explained('VERBOSE, FORMAT xml', $query),
	qr{<Column-Scan-Not-Used>\s*<Item>$scan</Item>\s*</Column-Scan-Not-Used>\s*<GPU-Not-Used>\s*<Item>$gpu</Item>}, 'XML');
like(explained('VERBOSE, FORMAT yaml', $query),
	qr/Column Scan Not Used:\s*- "$scan"\s*GPU Not Used:\s*- "$gpu"/, 'YAML');
foreach my $options ('VERBOSE', 'VERBOSE, ANALYZE, TIMING OFF')
{
	my $json = explained("$options, FORMAT json", $query);
	is($node->safe_psql('postgres', "SELECT e->0->>'Column Scan Not Used', e->0->>'GPU Not Used', json_array_length(e) FROM CAST(\$x\$$json\$x\$ AS json) AS e"),
		qq{["$scan"]|["$gpu"]|1}, "JSON, $options");
}
like(explained('VERBOSE', "CREATE TABLE why_made AS $query"), qr/Column Scan Not Used: $scan/, 'CREATE TABLE AS');
unlike(explained('VERBOSE OFF', $query), qr/Not Used/, 'nothing without VERBOSE');
unlike(explained('VERBOSE', 'SELECT count(*) FROM why'), qr/Not Used/, 'nothing of a query without aggregates of ours');
like(explained('VERBOSE', "SELECT (SELECT qsketch_agg(DISTINCT k) FROM why) || (SELECT qsketch_agg(DISTINCT w) FROM why) || (SELECT qsketch_agg(k) FROM why GROUP BY ROLLUP (w, t))"),
	qr/Column Scan Not Used: DISTINCT in qsketch_agg\(\), $scan\nGPU Not Used: $gpu\z/, 'of several parts, each reason once');

# an error in between leaves nothing behind
my ($rc, $out, $err) = $node->psql('postgres',
	"EXPLAIN (VERBOSE, ANALYZE) SELECT qsketch_agg(k / 0) FROM why;\nEXPLAIN (VERBOSE) SELECT count(*) FROM why", on_error_stop => 0);
like($err, qr/division by zero/, 'an error');
unlike($out, qr/Not Used/, 'and nothing left of it');
done_testing();
