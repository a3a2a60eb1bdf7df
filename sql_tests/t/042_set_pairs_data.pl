# Real data: sessions of a news portal (kosarak).  set_pairs gives the pairs of
# the SQL self-join, in a hundredth of its time.
#
# The file is looked for in $QSKETCH_DATA, or in ../shared/data beside the
# source tree, from where the test was started.

use strict;
use warnings;

use FindBin;
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use List::Util qw(first min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @folders = grep { defined } $ENV{QSKETCH_DATA},
  (map { defined $_ ? "$_/../shared/data" : undef } $ENV{OLDPWD}), "$FindBin::RealBin/../../../shared/data";
my $file = first { -r } map { "$_/kosarak-36682-transactions.dat.gz" } @folders;
plan skip_all => 'no real data here: ' . join(', ', @folders) unless $file;

my $node = PostgreSQL::Test::Cluster->new('set_pairs_data');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\nwork_mem = 64MB");
$node->start;

my ($text, $session) = ('', 0);
gunzip($file => \$text) or die "$file: $GunzipError";
my $copy = PostgreSQL::Test::Utils::tempdir . '/kosarak';
open my $out, '>', $copy or die "$copy: $!";
for my $line (split /\n/, $text)
{
	$session++;
	print $out map { "$session\t$_\n" } split ' ', $line;
}
close $out or die "$copy: $!";
$node->safe_psql('postgres', qq{
	CREATE EXTENSION qsketch;
	CREATE TABLE click (session int, item int);
	COPY click FROM '$copy';
	VACUUM ANALYZE click;
});

# Milliseconds of a statement, and what it gives.
sub timed
{
	my ($settings, $statement) = @_;
	my $out = $node->safe_psql('postgres', "$settings\n\\timing on\n$statement");

	$out =~ s/^Time: ([\d.]+) ms.*\n?//m or die "no time: $out";
	my $ms = $1;
	$out =~ s/\s+$//;
	return ($ms, $out);
}

my $digest = "count(*), sum(common), md5(string_agg(concat_ws(',', a, b, common), ';' ORDER BY a, b))";
my $first = 'click WHERE session <= 6000';
my ($join_ms, $joined) = timed('SET max_parallel_workers_per_gather = 0; SET work_mem = \'1GB\';', "SELECT $digest FROM (SELECT x.session AS a, y.session AS b, count(*) AS common
	FROM (SELECT DISTINCT * FROM $first) AS x JOIN (SELECT DISTINCT * FROM $first) AS y ON x.item = y.item AND x.session < y.session
	GROUP BY x.session, y.session HAVING count(*) >= 5) AS p;");
my @pairs_ms;
my $pairs = "(SELECT qsets_agg(session, item) AS q FROM $first) AS c, set_pairs(q, 5)";

for my $workers (0, 2, 0, 2, 0)
{
	my $settings = "SET max_parallel_workers_per_gather = $workers;";
	my ($ms) = timed($settings, "SELECT count(*) FROM $pairs;");
	my (undef, $rows) = timed($settings, "SELECT $digest FROM $pairs;");

	push @pairs_ms, $ms;
	is($rows, $joined, "the pairs of the self-join, $workers workers");
}
note sprintf 'self-join %.0f ms, set_pairs %.1f ms: a %.0fth', $join_ms, min(@pairs_ms), $join_ms / min(@pairs_ms);
cmp_ok(min(@pairs_ms), '<', $join_ms / 100, 'in a hundredth of its time');

# All sessions: by workers, stored and streamed, by several methods.
my %all;
for my $settings ('SET max_parallel_workers_per_gather = 0;', 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0;',
	'SET qsketch.enable_pairscan = off; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0;')
{
	for my $method ('auto', 'index', 'hybrid', 'merge')
	{
		my ($ms, $rows) = timed($settings, "SELECT count(*), sum(common), sum(a * 31 + b)
			FROM (SELECT qsets_agg(session, item) AS q FROM click) AS c, set_pairs(q, 20, method => '$method');");

		note sprintf '%d sessions, min_count 20, %s: %.0f ms (%s)', $session, $method, $ms, $settings;
		push @{ $all{$rows} }, "$method $settings";
	}
}
is(scalar(keys %all), 1, 'all sessions: the same by all methods, with workers and without') or diag explain \%all;

# Rows a second where there are many pairs; a count of as many rows made of nothing beside it.
for my $settings ('SET max_parallel_workers_per_gather = 0;', 'SET qsketch.enable_pairscan = off; SET max_parallel_workers_per_gather = 0;')
{
	my ($ms, $rows) = timed($settings, 'SELECT count(*) FROM (SELECT qsets_agg(session, item) AS q FROM click) AS c, set_pairs(q, 5);');

	note sprintf '%s %d rows in %.0f ms: %.1f million a second', $settings, $rows, $ms, $rows / $ms / 1000;
}

$node->stop;
done_testing();
