# pg_upgrade: stored values stay the same, byte for byte, equal those that the new server makes itself, and can
# be changed further.
#
# The environment's oldinstall names the old server, as for PostgreSQL's own
# test of pg_upgrade.  That server must have qsketch (test/matrix.sh installs
# it).  Without oldinstall the tested server is also the old server, which
# pg_upgrade allows.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use QsketchValues;

my @old_install = $ENV{oldinstall} ? (install_path => $ENV{oldinstall}) : ();
my $old = PostgreSQL::Test::Cluster->new('old', @old_install);
my $new = PostgreSQL::Test::Cluster->new('new');
my @same = ('-k', '--locale=C', '-E', 'UTF8'); # what both must have alike

$_->init(extra => [@same]) foreach $old, $new;
my $from = $old->pg_version;
my $to = $new->pg_version;
note("from PostgreSQL $from to $to");

my %question = (
	sketches => $QsketchValues::sketches,
	filters => $QsketchValues::filters,
	sets => $QsketchValues::sets,
	tops => $QsketchValues::tops,
	'top keys' => $QsketchValues::top_keys,
	keys => q{SELECT qsketch_estimate((SELECT sk FROM keyed WHERE kind = 'mood'), 'ok'::mood),
		qsketch_estimate((SELECT sk FROM keyed WHERE kind = 'pair'), ROW(1, 'a')::pair),
		(SELECT qsketch_estimate(sk, 'a') FROM merged), qfilter_contains(f, 'ok'::mood), qfilter_contains(f, 'sad'::mood),
		(SELECT qfilter_contains(f, '77') FROM merged_filters) FROM filter WHERE name = 'mood'},
	'set pairs' => q{SELECT p.* FROM sets, qsets_pairs(s, s) AS p WHERE name = 'numbers' ORDER BY 1, 2},
	totals => q{SELECT * FROM totals ORDER BY 1, 2},
	'hash index' => q{SET enable_seqscan = off; SELECT count(*) FROM sketch AS a JOIN sketch AS b USING (sk) WHERE a.name LIKE 'sf%'},
	'index on bytes' => q{SET enable_seqscan = off; SELECT a.name FROM filter AS a JOIN filter AS b ON md5(a.f::text) = md5(b.f::text) ORDER BY 1});

sub answers
{
	my ($node, $database) = @_;

	return { map { $_ => $node->safe_psql($database, $question{$_}) } keys %question };
}

$old->start;
$old->safe_psql('postgres', $QsketchValues::fill);
my $before = answers($old, 'postgres');
like($before->{sketches}, qr/^multilevel 3000 1\|/m, 'sketches are there');
is($before->{keys}, '2|3|2|t|f|t', 'and keys of types made by users');
$old->stop;

# pg_upgrade writes its logs and sockets in the current folder.
chdir($PostgreSQL::Test::Utils::tmp_check) or die;
my $bin = sub { my ($node) = @_; my $path = $node->config_data('--bindir'); chomp $path; $path };
my $old_bin = $ENV{oldinstall} ? "$ENV{oldinstall}/bin" : $bin->($old);
$new->command_ok(
	[
		'pg_upgrade', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $old_bin, '-B', $bin->($new),
		'-s', $new->host, '-p', $old->port, '-P', $new->port
	],
	'pg_upgrade');

$new->start;
is_deeply(answers($new, 'postgres'), $before, 'all is as before');

$new->safe_psql('postgres', 'CREATE DATABASE fresh');
$new->safe_psql('fresh', $QsketchValues::fill);
my $fresh = answers($new, 'fresh');
s/^arrays\|\w+/arrays/m or die foreach $fresh->{tops}, $before->{tops}; # arrays have their elements' OID
is_deeply($fresh, $before, 'and as the new server makes it');

is( $new->safe_psql('postgres', q{
		INSERT INTO strict DEFAULT VALUES;
		UPDATE keyed SET sk = qsketch_add(sk, 'happy'::mood) WHERE kind = 'mood';
		SELECT (SELECT sum(total) FROM strict), qsketch_estimate(sk, 'happy'::mood) FROM keyed WHERE kind = 'mood'}),
	'14|2', 'values can be gone on with');
is( $new->safe_psql('postgres', q{SELECT extversion = qsketch_version() FROM pg_extension WHERE extname = 'qsketch'}),
	't', 'the extension is there');

$new->stop;
done_testing();
