# Small batches are appended as rows and merged later.  This method writes little WAL compared with upserts
# and with exact counts, and loses no keys.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('append');
$node->init;
# A checkpoint in between would write whole pages.
$node->append_conf('postgresql.conf', "checkpoint_timeout = 1d\nmax_wal_size = 4GB\nautovacuum = off");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	CREATE TABLE parts (sketch int, sk qsketch);
	CREATE TABLE upserted (sketch int PRIMARY KEY, sk qsketch);
	CREATE TABLE batch (number int, sketch int, key bigint);
	INSERT INTO parts SELECT g, qsketch_agg(i * 10 + g) FROM generate_series(1, 3) AS g, generate_series(1, 300000) AS i GROUP BY g;
	INSERT INTO upserted SELECT * FROM parts;
	INSERT INTO batch SELECT n, 1 + i % 3, n * 1000 + i FROM generate_series(1, 20) AS n, generate_series(1, 100) AS i;
});

# The bytes of WAL that statements write.
sub wal_of
{
	my @statements = @_;
	my $start = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');

	$node->safe_psql('postgres', $_) foreach @statements;
	return $node->safe_psql('postgres', "SELECT pg_current_wal_insert_lsn() - '$start'");
}

$node->safe_psql('postgres', 'CHECKPOINT');
my $append = wal_of(map { "INSERT INTO parts SELECT sketch, qsketch_agg(key) FROM batch WHERE number = $_ GROUP BY sketch" } 1 .. 20);
my $upsert = wal_of(
	map { "INSERT INTO upserted SELECT sketch, qsketch_agg(key) FROM batch WHERE number = $_ GROUP BY sketch
		ON CONFLICT (sketch) DO UPDATE SET sk = upserted.sk || EXCLUDED.sk" } 1 .. 20);
cmp_ok($append, '<', 300_000, 'twenty batches of 100 rows write a few kB each');
cmp_ok($upsert, '>', 50 * $append, 'upserts write the sketches again and again');

my $before = $node->safe_psql('postgres', 'SELECT sketch, md5(qsketch_merge_agg(sk)::text) FROM parts GROUP BY sketch ORDER BY sketch');
my $fold = q{
	WITH old AS (DELETE FROM parts WHERE pg_column_size(sk) < 65536 RETURNING sketch, sk)
	INSERT INTO parts SELECT sketch, qsketch_merge_agg(sk) FROM old GROUP BY sketch};
cmp_ok(wal_of($fold), '<', 300_000, 'folding the small rows leaves the large ones alone');
is($node->safe_psql('postgres', 'SELECT sketch, count(*) FROM parts GROUP BY sketch ORDER BY sketch'), "1|2\n2|2\n3|2", 'a large and a small row for each');
is($node->safe_psql('postgres', 'SELECT sketch, md5(qsketch_merge_agg(sk)::text) FROM parts GROUP BY sketch ORDER BY sketch'), $before, 'nothing is lost');
is($node->safe_psql('postgres', 'SELECT count(*) FROM upserted AS u JOIN (SELECT sketch, qsketch_merge_agg(sk) AS sk FROM parts GROUP BY sketch) AS p USING (sketch, sk)'),
	3, 'the same sketches as by upserts');

# Two jobs at the same time, and a batch between them: the second job finds nothing
# to merge.
my $job = $node->background_psql('postgres');
$job->query_safe('BEGIN');
$job->query_safe($fold);
my $other = $node->background_psql('postgres');
$other->query_until(qr/started/, "\\echo started\n$fold;\n");
ok($node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"), 'the second job waits');
$node->safe_psql('postgres', 'INSERT INTO parts VALUES (3, qsketch_add(qsketch_new(), 1))');
$job->query_safe('COMMIT');
$job->quit;
$other->quit;
is($node->safe_psql('postgres', 'SELECT sum(qsketch_total(sk)) FROM parts'), 900000 + 2000 + 1, 'and each row is counted once');

$node->stop;
done_testing();
