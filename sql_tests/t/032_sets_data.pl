# All pairs of real sets (sessions of a news portal, neighbours in a mail graph) and
# of 1,000 larger generated ones, by every method against a self-join in SQL; and
# binary copies of collections that were damaged.
#
# The files are looked for in $QSKETCH_DATA, or in ../shared/data beside the
# source tree, from where the test was started.

use strict;
use warnings;

use FindBin;
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use List::Util qw(first);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @folders = grep { defined } $ENV{QSKETCH_DATA},
  (map { defined $_ ? "$_/../shared/data" : undef } $ENV{OLDPWD}), "$FindBin::RealBin/../../../shared/data";
my %file = (kosarak => 'kosarak-36682-transactions.dat.gz', enron => 'email-enron-edges.tsv.gz');
my $folder = first { -r "$_/$file{kosarak}" && -r "$_/$file{enron}" } @folders;

my $node = PostgreSQL::Test::Cluster->new('sets_data');
$node->init;
$node->append_conf('postgresql.conf', 'jit = off');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION qsketch; CREATE TABLE row (source text, s integer, e integer)');
my $dir = PostgreSQL::Test::Utils::tempdir;

# Rows of a table that are these lines.
sub copy_rows
{
	my ($source, @rows) = @_;

	open my $out, '>', "$dir/$source" or die "$source: $!";
	print $out map { "$source\t$_\n" } @rows;
	close $out or die "$source: $!";
	$node->safe_psql('postgres', "COPY row FROM '$dir/$source'");
}

# Every method gives the pairs of the self-join, and of the plan with and without the column scan.
sub same_pairs
{
	my ($source, $least) = @_;

	$node->safe_psql('postgres', qq{
		DROP TABLE IF EXISTS of, truth;
		CREATE TABLE of AS SELECT DISTINCT s, e FROM row WHERE source = '$source';
		ANALYZE of;
		CREATE TABLE truth AS SELECT x.s AS a, y.s AS b, count(*) AS common
		FROM of AS x JOIN of AS y ON x.e = y.e AND x.s < y.s GROUP BY 1, 2 HAVING count(*) >= $least;
	});
	is($node->safe_psql('postgres', qq{
		SELECT (SELECT qsets_agg(s, e) FROM of) = (SELECT qsets_agg(s, e) FROM row WHERE source = '$source')}),
		't', "$source: collected");
	cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM truth'), '>', 100, "$source: pairs");
	is($node->safe_psql('postgres', qq{
		SELECT string_agg(method, ' ' ORDER BY n) FROM unnest('{auto,merge,search,merge_search,hash,merge_hash,bitmap,index,hybrid}'::text[])
			WITH ORDINALITY AS m(method, n)
		WHERE (SELECT count(*) FILTER (WHERE t.a IS NULL OR p.a IS NULL) + abs(count(*) - (SELECT count(*) FROM truth))
			FROM truth AS t FULL JOIN (SELECT p.* FROM (SELECT qsets_agg(s, e) AS c FROM of) AS x, set_pairs(c, $least, method => method) AS p) AS p
				USING (a, b, common)) = 0}),
		'auto merge search merge_search hash merge_hash bitmap index hybrid', "$source: as the self-join");
}

SKIP: {
	skip 'no real data here: ' . join(', ', @folders), 6 unless $folder;
	my ($text, $session) = ('', 0);

	gunzip("$folder/$file{kosarak}" => \$text) or die "$file{kosarak}: $GunzipError";
	copy_rows('kosarak', map { $session++; map { "$session\t$_" } split } (split /\n/, $text)[ 0 .. 799 ]);
	gunzip("$folder/$file{enron}" => \$text) or die "$file{enron}: $GunzipError";
	copy_rows('enron', grep { /^(\d+)\t\d+$/ && $1 < 800 } split /\r?\n/, $text);
	same_pairs('kosarak', 4);
	same_pairs('enron', 6);
}

# Sets of some 500 of 40,000 elements.
$node->safe_psql('postgres', q{
	SELECT setseed(0.3);
	INSERT INTO row SELECT 'generated', s, 40000 * random() FROM generate_series(1, 1000) AS s, generate_series(1, 300 + s % 400);
});
same_pairs('generated', 12);

# Each byte of a binary copy changed: refused, or, where it is the file's own, whatever COPY says; never a crash.
$node->safe_psql('postgres', q{
	CREATE TABLE kept (c qsets);
	INSERT INTO kept SELECT qsets_agg(i % 5, i * i) FROM generate_series(1, 40) AS i;
	CREATE TABLE loaded (c qsets);
});
$node->safe_psql('postgres', "COPY kept TO '$dir/good' BINARY");
my $good = slurp_file("$dir/good");
my ($script, $count) = ('', 0);
srand(5);
for my $at (0 .. length($good) - 1, (-1) x 100)
{
	my $bad = $good;

	if ($at >= 0)
	{
		substr($bad, $at, 1) ^= chr(1 << ($at % 8));
	}
	else
	{
		# a header and a field of random bytes
		$bad = substr($good, 0, 25) . join('', map { chr rand 256 } 1 .. length($good) - 27) . substr($good, -2);
	}
	open my $out, '>:raw', "$dir/bad$count" or die $!;
	print $out $bad;
	close $out;
	$script .= "COPY loaded FROM '$dir/bad$count' BINARY;\n";
	$count++;
}
my ($out, $err);
$node->psql('postgres', $script, stdout => \$out, stderr => \$err, on_error_stop => 0);
my $errors = () = $err =~ /ERROR:/g;
# what COPY itself does not look at: flags of its header
cmp_ok($errors, '>=', $count - 4, "binary copies: $errors of $count refused");
is($node->safe_psql('postgres', 'SELECT count(*) FROM loaded WHERE c <> (SELECT c FROM kept)'), '0', 'none other got in');
is($node->safe_psql('postgres', "COPY loaded FROM '$dir/good' BINARY; SELECT count(*) > 0 FROM loaded"), 't', 'the good one did');
$node->stop;

done_testing();
