# Real data: sessions of a news portal (kosarak).  qsets_pairs returns the pairs
# of the SQL self-join, in less than a tenth of its time.  For the mail graph of a
# company (email-Enron), the pairs of some sets are those of the self-join, and
# all methods return the same pairs of all sets.
#
# The files are in $QSKETCH_DATA, or in ../shared/data relative to the source
# tree from which the test was started.

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

my $node = PostgreSQL::Test::Cluster->new('qsets_pairs_data');
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

# Returns the milliseconds and the output of a statement.
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
my $pairs = "(SELECT qsets_agg(session, item) AS q FROM $first) AS c, qsets_pairs(q, 5)";

for my $workers (0, 2, 0, 2, 0)
{
	my $settings = "SET max_parallel_workers_per_gather = $workers;";
	my ($ms) = timed($settings, "SELECT count(*) FROM $pairs;");
	my (undef, $rows) = timed($settings, "SELECT $digest FROM $pairs;");

	push @pairs_ms, $ms;
	is($rows, $joined, "the pairs of the self-join, $workers workers");
}
note sprintf 'self-join %.0f ms, qsets_pairs %.1f ms: a %.0fth', $join_ms, min(@pairs_ms), $join_ms / min(@pairs_ms);
cmp_ok(min(@pairs_ms), '<', $join_ms / 10, 'in less than a tenth of its time');

# All sessions: by workers, stored and streamed, by several methods.
my %all;
for my $settings ('SET max_parallel_workers_per_gather = 0;', 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0;',
	'SET qsketch.enable_pairscan = off; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0;')
{
	for my $method ('auto', 'index', 'hybrid', 'merge')
	{
		my ($ms, $rows) = timed($settings, "SELECT count(*), sum(common), sum(a * 31 + b)
			FROM (SELECT qsets_agg(session, item) AS q FROM click) AS c, qsets_pairs(q, 20, method => '$method');");

		note sprintf '%d sessions, min_count 20, %s: %.0f ms (%s)', $session, $method, $ms, $settings;
		push @{ $all{$rows} }, "$method $settings";
	}
}
is(scalar(keys %all), 1, 'all sessions: the same by all methods, with workers and without') or diag explain \%all;

# Rows a second with many pairs, compared with counting an equal number of generated rows.
for my $settings ('SET max_parallel_workers_per_gather = 0;', 'SET qsketch.enable_pairscan = off; SET max_parallel_workers_per_gather = 0;')
{
	my ($ms, $rows) = timed($settings, 'SELECT count(*) FROM (SELECT qsets_agg(session, item) AS q FROM click) AS c, qsets_pairs(q, 5);');

	note sprintf '%s %d rows in %.0f ms: %.1f million a second', $settings, $rows, $ms, $rows / $ms / 1000;
}

# email-Enron, if it is there: sets of all sizes, most of them small.
SKIP:
{
	my $edges = first { -r } map { "$_/email-enron-edges.tsv.gz" } @folders;
	skip 'no email-Enron here', 6 unless $edges;
	gunzip($edges => \$text) or die "$edges: $GunzipError";
	$copy = PostgreSQL::Test::Utils::tempdir . '/enron';
	open $out, '>', $copy or die "$copy: $!";
	print $out grep { /^\d+\t\d+$/ } map { "$_\n" } split /\r?\n/, $text;
	close $out or die "$copy: $!";
	$node->safe_psql('postgres', "CREATE TABLE mail (a int, b int); COPY mail FROM '$copy'; VACUUM ANALYZE mail;");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM mail'), '367662', 'all edges of email-Enron');

	# Pairs at the limit are in the result: counts of 4, Jaccard indexes of 1/2
	# and of 1.
	is($node->safe_psql('postgres', q{
		SET work_mem = '1GB';
		CREATE TABLE few AS SELECT DISTINCT a, b FROM mail WHERE a < 1000;
		CREATE TABLE joined AS SELECT p.*, common::float8 / (x.n + y.n - common) AS jaccard
			FROM (SELECT x.a, y.a AS b, count(*) AS common FROM few AS x JOIN few AS y ON x.b = y.b AND x.a < y.a GROUP BY 1, 2) AS p
			JOIN (SELECT a, count(*) AS n FROM few GROUP BY 1) AS x ON x.a = p.a JOIN (SELECT a, count(*) AS n FROM few GROUP BY 1) AS y ON y.a = p.b;
		CREATE TABLE filters AS SELECT * FROM (VALUES (1, 0), (4, 0), (1, 0.5), (1, 1), (3, 0.3)) AS f (count, jaccard);
		SELECT bool_and(counted > 0 AND NOT EXISTS (
				(SELECT a, b, common, jaccard FROM qsets_pairs(q, f.count, f.jaccard) EXCEPT ALL SELECT * FROM joined AS j WHERE common >= f.count AND j.jaccard >= f.jaccard)
				UNION ALL
				(SELECT * FROM joined AS j WHERE common >= f.count AND j.jaccard >= f.jaccard EXCEPT ALL SELECT a, b, common, jaccard FROM qsets_pairs(q, f.count, f.jaccard))))
			FROM (SELECT qsets_agg(a, b) AS q FROM few) AS c, filters AS f, LATERAL (SELECT count(*) AS counted FROM qsets_pairs(q, f.count, f.jaccard)) AS n;}),
		't', 'some of email-Enron: the pairs of the self-join');

	for my $filter ([ 10, 0 ], [ 1, 0.5 ], [ 2, 0.9 ], [ 1, 1 ])
	{
		my %found;
		for my $method ('auto', 'index', 'hybrid', 'merge')
		{
			next if $method eq 'merge' && $filter->[1] < 0.9; # minutes
			my ($ms, $rows) = timed('SET max_parallel_workers_per_gather = ' . ($method eq 'auto' ? 2 : 0) . ';', "SELECT count(*), sum(common), sum(a * 31 + b), sum(jaccard)
				FROM (SELECT qsets_agg(a, b) AS q FROM mail) AS c, qsets_pairs(q, $filter->[0], $filter->[1], method => '$method');");

			note sprintf 'email-Enron, min_count %s, min_jaccard %s, %s: %.0f ms, %s', @$filter, $method, $ms, $rows;
			push @{ $found{$rows} }, $method;
		}
		is(scalar(keys %found), 1, "all of email-Enron, @$filter: the same by all methods") or diag explain \%found;
	}
}

# The sessions nearest to each session: by one call for all sessions, and by a
# call for each session.
$node->safe_psql('postgres', "CREATE TABLE first AS SELECT qsets_agg(session, item) AS q FROM $first");
for my $order ('jaccard', 'common', 'overlap', 'lift')
{
	my $nearest = "SELECT a, b, rank, common, jaccard FROM qsets_nearest((SELECT q FROM first), order_by => '$order')";
	my $similar = "SELECT a, p.* FROM first, unnest(qsets_ids(q)) AS a, LATERAL (SELECT id AS b, rank, common, jaccard
		FROM qsets_similar(q, a, order_by => '$order') WITH ORDINALITY AS r (id, common, jaccard, overlap, lift, rank)) AS p";

	is($node->safe_psql('postgres', "SELECT count(*) FROM ($nearest) AS n FULL JOIN ($similar) AS s USING (a, b, rank, common, jaccard)
		WHERE n IS NULL OR s IS NULL"), '0', "the nearest by $order");
	cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM ($nearest) AS n"), '>', 50000, "the nearest by $order: there are many");
}

$node->stop;
done_testing();
