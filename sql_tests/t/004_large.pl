# The largest sketches, of 512 MB: text and binary form, folding, and proper errors where a value would be
# larger than PostgreSQL can store.  Takes minutes and some GB of memory, so it runs only with
# PG_TEST_EXTRA=large.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'large sketches are not enabled in PG_TEST_EXTRA'
  unless ($ENV{PG_TEST_EXTRA} // '') =~ /\blarge\b/;

my $node = PostgreSQL::Test::Cluster->new('large');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\nmax_wal_size = 4GB\nwal_level = minimal\nmax_wal_senders = 0");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	CREATE UNLOGGED TABLE large AS
	SELECT qsketch_agg(k, qsketch_new('warp', '512MB')) AS sk FROM generate_series(1, 100000) AS k;
});

is( $node->safe_psql('postgres', q{
		SELECT octet_length(sk::bytea), qsketch_total(sk), qsketch_estimate(sk, ARRAY[1, 100000, -1]) FROM large}),
	'536870972|100000|{1,1,0}', 'a sketch of 512 MB is stored and read');
is($node->safe_psql('postgres', 'SELECT length(sk::text) < 20000000 FROM large'), 't', 'its text is that of few keys');
is($node->safe_psql('postgres', 'SELECT sk::text::qsketch = sk FROM large'), 't', 'its text is read again');
is( $node->safe_psql('postgres', q{
		SELECT qsketch_fold(sk, '1MB') = (SELECT qsketch_agg(k, qsketch_new('warp', '1MB'))
			FROM generate_series(1, 100000) AS k) FROM large}),
	't', 'it folds to 1 MB');

# Counters of 8 bytes would make the sketch twice as large, and larger than any value of
# PostgreSQL can be.
my ($status, $out, $err) = $node->psql('postgres', q{
	\set VERBOSITY verbose
	UPDATE large SET sk = qsketch_add(sk, 1, 5000000000)});
like($err, qr/54000: sketch would need 1073741888 bytes, more than the limit of 1073741823/,
	'a sketch that outgrows its value is a clean error');
is($node->safe_psql('postgres', 'SELECT qsketch_total(sk) FROM large'), '100000', 'which leaves it as it was');
is( $node->safe_psql('postgres', q{
		SELECT qsketch_estimate(qsketch_add(qsketch_add(sk, 1, 5000000000), 2), 1) FROM large}),
	'5000000001', 'in memory it can be');

# Rows nested in rows: the text of each row is more than twice as long as the text of
# the row in it.  An error of the output function must not leave a list of keys
# without texts.
my $row = 'ROW(i)::nested0';
$row = "ROW($row)::nested$_" for 1 .. 30;
$node->safe_psql('postgres', join ';', 'CREATE TYPE nested0 AS (a int)',
	map { "CREATE TYPE nested$_ AS (a nested" . ($_ - 1) . ')' } 1 .. 30);
$node->safe_psql('postgres', q{
	CREATE FUNCTION twice(t qtop) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		BEGIN
			RETURN count(*) FROM qtop_text(t, 3);
		EXCEPTION WHEN OTHERS THEN
			RETURN count(*) FROM qtop_text(t, 3);
		END;
	END $$});
($status, $out, $err) = $node->psql('postgres', "SELECT twice(qtop_agg($row, 5)) FROM generate_series(1, 3) AS i");
like($err, qr/a list of top keys is incomplete, since an error has ended the counting of its keys/,
	'keys whose text is too large are a clean error, again and again');

$node->stop;
done_testing();
