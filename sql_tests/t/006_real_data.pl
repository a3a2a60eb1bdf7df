# Real frequencies: clicks on a news portal (kosarak) and the degrees of a mail graph (email-Enron).
# Estimates are never too small, and their overestimate is within the bounds of theory and of the sketch
# itself.
#
# The files are in $QSKETCH_DATA, or in ../shared/data relative to the source
# tree from which the test was started.

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
my %file = (clicks => 'kosarak-36682-transactions.dat.gz', mails => 'email-enron-edges.tsv.gz');
my $folder = first { -r "$_/$file{clicks}" && -r "$_/$file{mails}" } @folders;
plan skip_all => 'no real data here: ' . join(', ', @folders) unless $folder;

my $node = PostgreSQL::Test::Cluster->new('real_data');
$node->init;
$node->append_conf('postgresql.conf', 'jit = off');
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	CREATE TABLE event (source text, k int);
	CREATE TABLE exact (source text, k int, n bigint);
	CREATE TABLE sketch (source text, structure text, sk qsketch);
	CREATE TABLE template AS SELECT structure, qsketch_new(structure, '64kB', z => 4) AS template
	FROM unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS structure;
});

# Each row has one key: an item of a session, or one end of an edge.
my $dir = PostgreSQL::Test::Utils::tempdir;
foreach my $source (sort keys %file)
{
	my $text;

	gunzip("$folder/$file{$source}" => \$text) or die "$file{$source}: $GunzipError";
	open my $out, '>', "$dir/$source" or die "$source: $!";
	print $out map { "$source\t$_\n" } grep { /^\d+$/ } split /\s+/, $text;
	close $out or die "$source: $!";
	$node->safe_psql('postgres', "COPY event FROM '$dir/$source'");
}
$node->safe_psql('postgres', q{
	INSERT INTO exact SELECT source, k, count(*) FROM event GROUP BY source, k;
	INSERT INTO sketch
	SELECT source, structure, qsketch_agg(k, template) FROM event, template GROUP BY source, structure;
	ANALYZE;
});
note $node->safe_psql('postgres', q{
	SELECT source, count(*), sum(n), max(n) FROM exact GROUP BY source ORDER BY source});

# Estimates of every key, and of an equal number of absent keys.  The query reads sketch by sketch,
# so that it computes the measurement for unbiased estimates once for each sketch.
$node->safe_psql('postgres', q{
	CREATE TABLE said AS
	SELECT source, structure, e.* FROM sketch, LATERAL (
		SELECT k, n, qsketch_estimate(sk, k) AS e, qsketch_estimate_unbiased(sk, k, true) AS u,
			qsketch_estimate(sk, -k - 1) AS absent
		FROM exact WHERE exact.source = sketch.source OFFSET 0) AS e;
	CREATE TABLE claim AS SELECT source, structure, c, qsketch_error(sk, c) AS error
	FROM sketch, unnest(ARRAY[0.5, 0.9, 0.99]) AS c;
	ALTER TABLE said ADD PRIMARY KEY (source, structure, k);
	ANALYZE;
});
note $node->safe_psql('postgres', q{
	SELECT source, structure, round(avg(e - n), 2) AS error, round(avg(abs(u - n))::numeric, 2) AS unbiased,
		max(e - n) FILTER (WHERE n > 1000) AS of_heavy
	FROM said GROUP BY source, structure ORDER BY 1, 2});

sub is_true
{
	my ($query, $name) = @_;

	is($node->safe_psql('postgres', "SELECT coalesce(string_agg(source || ' ' || structure, ', '), 'all')
		FROM (SELECT source, structure FROM $query) AS exceptions"), 'all', $name);
}

is($node->safe_psql('postgres', q{
		SELECT bool_and(qsketch_total(sk) = (SELECT sum(n) FROM exact AS e WHERE e.source = s.source)), count(*)
		FROM sketch AS s}),
	't|12', 'totals are exact');
is_true('said WHERE e < n', 'no estimate is below the truth');

# Count-Min: the chance of an error above e N / w is at most exp(-d).
is_true(q{said JOIN (SELECT source, s.structure, total, width FROM sketch AS s, qsketch_info(sk)) AS i
		USING (source, structure) WHERE structure = 'thread'
		GROUP BY source, structure HAVING avg((e - n > exp(1) * total / width)::int) > exp(-3)},
	'the error of thread is within that of Count-Min');

# The sketch's own error bound must hold for present and for absent keys.
is_true(q{said JOIN claim USING (source, structure) GROUP BY source, structure, c
		HAVING avg((e - n <= error)::int) < c - 0.02 OR avg((absent <= error)::int) < c - 0.02},
	'errors hold as often as they say');
is_true(q{said JOIN (SELECT source, k, e AS other FROM said WHERE structure = 'sub_warp') AS o USING (source, k)
		WHERE structure = 'sf' AND e > other},
	'sf is never worse than sub_warp');
is_true(q{(SELECT source, structure, avg(e - n) AS error FROM said GROUP BY source, structure) AS a
		JOIN (SELECT source, avg(e - n) FILTER (WHERE structure = 'thread') AS thread,
			avg(e - n) FILTER (WHERE structure = 'sub_warp') AS sub_warp FROM said GROUP BY source) AS t
		USING (source) WHERE structure = 'multilevel' AND error > thread / 2
			OR structure = 'sf' AND error > 0.7 * sub_warp},
	'multilevel makes less than half the error of thread, and sf less than 0.7 of that of sub_warp');
is_true(q{said GROUP BY source, structure HAVING avg(e - n) > 1 AND avg(abs(u - n)) > avg(e - n)},
	'where sketches are overloaded, unbiased estimates are nearer to the truth');
is_true(q{(SELECT *, rank() OVER (PARTITION BY source, structure ORDER BY n DESC) FROM said) AS r
		WHERE rank <= 20 GROUP BY source, structure HAVING avg((e - n) / n::float8) > 0.05},
	'the twenty most frequent keys are right within 5 %');

# A parallel rollup of sketches of weighted keys equals the sketch of all rows.
is( $node->safe_psql('postgres', q{
		SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
		CREATE TABLE part AS SELECT source, structure, k % 7 AS p, qsketch_agg(k, n, template) AS sk
		FROM exact, template GROUP BY 1, 2, 3;
		SELECT count(*), bool_and(s.sk = p.sk) FROM sketch AS s
			JOIN (SELECT source, structure, qsketch_merge_agg(sk) AS sk FROM part GROUP BY 1, 2) AS p
			USING (source, structure)}),
	'12|t', 'merged parts are the whole');

# Top keys by weight, of the same rows and of a generated log: the bytes of the rows differ
# by four orders of magnitude, independently of the frequency of the row's key.
$node->safe_psql('postgres', q{
	CREATE TABLE traffic AS
	SELECT source, k, 'host ' || k AS host, (100 * exp(9.0 * abs(hashint8(row_number() OVER ())) / 2147483648.0))::int AS bytes
	FROM (SELECT source, k FROM event
		UNION ALL SELECT 'log', floor(100000 ^ (i * 0.61803398874989484820::numeric % 1)::float8) FROM generate_series(1, 400000) AS i) AS r;
	CREATE TABLE weight AS SELECT source, k, sum(bytes), rank() OVER (PARTITION BY source ORDER BY sum(bytes) DESC) FROM traffic GROUP BY source, k;
	ALTER TABLE weight ADD PRIMARY KEY (source, k);
	VACUUM ANALYZE traffic, weight;
	CREATE FUNCTION top_of(source text, key text, size text, scan text) RETURNS qtop LANGUAGE plpgsql AS $$ DECLARE t qtop; BEGIN
		PERFORM set_config('qsketch.enable_columnscan', scan, true);
		EXECUTE format('SELECT qtop_agg(%s, bytes, 100, qsketch_new(size => %L)) FROM traffic WHERE source = %L', key, size, source) INTO t;
		RETURN t;
	END $$;
	CREATE TABLE made AS SELECT *, top_of(source, key, size, scan) AS t FROM (SELECT DISTINCT source FROM weight) AS s,
		unnest('{k,host}'::text[]) AS key, unnest('{64kB,1MB}'::text[]) AS size, unnest('{on,off}'::text[]) AS scan;
});
note my $recall = $node->safe_psql('postgres', q{
	SELECT made.source, made.key, size, scan, count(*) FROM made, qtop_text(t) AS l JOIN weight
		ON rank <= 100 AND l.key IN (k::text, 'host ' || k) WHERE weight.source = made.source GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4});
is(scalar(grep { /1MB.*\|100$/ } split /\n/, $recall), 12, 'the lists have the 100 keys with the largest weights');
is(scalar(grep { /64kB.*\|(9[89]|100)$/ } split /\n/, $recall), 12, 'nearly all of them with a sixteenth of the memory');
is($node->safe_psql('postgres', q{
	SELECT count(*) > 500000, bool_and(sum BETWEEN lower AND upper) FROM (
		SELECT w.* FROM made, LATERAL (
			SELECT sum, b.* FROM weight, qtop_bounds(t, k) AS b WHERE weight.source = made.source AND key = 'k'
			UNION ALL SELECT sum, b.* FROM weight, qtop_bounds(t, 'host ' || k) AS b WHERE weight.source = made.source AND key = 'host') AS w) AS all_keys}),
	't|t', 'the bounds of all weights hold');

$node->stop;
done_testing();
