# Views and functions for monitoring wait for no lock, whatever other sessions have locked.
#
# lock_timeout detects waiting: the other session keeps its lock, so a statement that waits for
# the lock times out on any machine, and a statement that does not wait never times out.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('monitoring_locks');
my $columns = q{SELECT "table", "column", rows, bytes, pages, pages_true, last_used IS NULL FROM qsketch_gpu_columns ORDER BY 1, 2};
my @views = ($columns, 'SELECT * FROM qsketch_progress', 'SELECT * FROM qsketch_progress_of_processes()', 'SELECT * FROM qsketch_stat',
	'SELECT * FROM qsketch_stat_gpu', 'SELECT * FROM qsketch_gpu()', 'SELECT qsketch_location(sk) FROM stored');

# What a role sees without waiting for a lock; its errors, if there are any.
sub seen
{
	my ($query, $role) = @_;
	my (undef, $out, $err) = $node->psql('postgres', "SET lock_timeout = '1s'; $query", $role ? (extra_params => [ '-U', $role ]) : ());

	return $out . $err;
}

$node->safe_psql('postgres', q{
	CREATE ROLE reader LOGIN;
	CREATE ROLE nobody_else LOGIN;
	CREATE TABLE busy (k int, v varchar(10));
	CREATE TABLE idle AS SELECT i AS k FROM generate_series(1, 5000) AS i;
	INSERT INTO busy SELECT i, i FROM generate_series(1, 5000) AS i;
	CREATE TABLE stored AS SELECT qsketch_agg(k) AS sk FROM idle;
	GRANT SELECT ON busy, idle TO reader});
$node->safe_psql('postgres', "VACUUM $_") foreach qw(busy idle);
my $pages = $node->safe_psql('postgres', q{SELECT qsketch_gpu_load('busy', '{k,v}')});
my $others = $node->safe_psql('postgres', q{SELECT qsketch_gpu_load('idle', '{k}')});
my $before = seen($columns);
is(scalar(() = $before =~ /\|5000\|\d+\|\d+\|[1-9]\d*\|f$/mg), 3, 'all pages are true');

my $locker = $node->background_psql('postgres');
my $locked = $before =~ s/^(busy.*\|)$pages\|f$/$1|f/mgr;

foreach my $lock ('LOCK TABLE busy', 'LOCK TABLE busy; LOCK TABLE stored IN EXCLUSIVE MODE')
{
	$locker->query_safe("BEGIN; $lock");
	is(seen($columns), $locked, "$lock: what can be told without the table");
	is(seen($columns, 'reader'), $locked, 'to those who may read it');
	is(seen($columns, 'nobody_else'), '', 'and to nobody else');
	unlike(seen($_), qr/ERROR/, "$_ waits for nobody") foreach @views;
	$locker->query_safe('ROLLBACK');
	is(seen($columns), $before, 'after the lock all is told');
}

# a session that waits for a lock stands in the way of others, too
my $reader = $node->background_psql('postgres');
$reader->query_safe('BEGIN; SELECT count(*) FROM busy');
$locker->query_until(qr/waits/, "\\echo waits\nBEGIN; LOCK TABLE busy;\n");
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE relation = 'busy'::regclass AND NOT granted}), 'a lock is waited for');
is(seen($columns), $locked, 'the view does not queue behind it');
$reader->query_safe('COMMIT');
$locker->query_safe('ROLLBACK');

# a change that is not committed: the columns are those of the table as others see it
foreach my $change ('TRUNCATE busy', 'ALTER TABLE busy ALTER k TYPE bigint', 'ALTER TABLE busy ALTER v TYPE varchar(20)', 'ALTER TABLE busy DROP v', 'DROP TABLE busy')
{
	$locker->query_safe("BEGIN; $change");
	is(seen($columns), $locked, "$change: until it is committed");
	$locker->query_safe('ROLLBACK');
}
$locker->query_safe('ALTER TABLE busy ALTER v TYPE varchar(20); BEGIN; LOCK TABLE busy');
is(seen($columns), $locked =~ s/^busy\|v.*\n//mr, 'columns of a type that has changed are not shown');
$locker->query_safe('ROLLBACK; DROP TABLE busy');
is(seen($columns), $before =~ s/^busy.*\n//mgr, 'nor those of a table that is gone');
$_->quit foreach $reader, $locker;
settled($node, 'at the end');
$node->stop;
done_testing();
