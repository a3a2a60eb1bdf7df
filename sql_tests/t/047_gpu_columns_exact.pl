# qtop_exact from cached columns of the GPU worker returns the same answers as its queries, in every case, and
# to the same roles.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('exact', 'qsketch.device = auto', 'max_parallel_workers_per_gather = 0', 'jit = off');

my $used = qr/qtop_exact has counts of (\d+) pages from cached columns, and read (\d+)/;

# The answer, and what EXPLAIN or messages say about cached columns.
sub ask
{
	my ($table, $column, $n, $settings) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', ($settings // '') .
		"; SET client_min_messages = debug1; SELECT key, count FROM qtop_exact('$table', '$column', $n)");

	return ($out, $err, $rc);
}

# The same answer with cached columns and by a query.  Pages from cached columns and pages read are returned.
sub same
{
	my ($name, $table, $column, $n, $settings) = @_;
	my $wanted = $node->safe_psql('postgres', ($settings // '') . qq{;
		SELECT "$column"::text, count(*) FROM $table WHERE "$column" IS NOT NULL GROUP BY "$column" ORDER BY 2 DESC, $table."$column" LIMIT $n});
	my ($out, $err) = ask($table, $column, $n, $settings);

	ok($out eq $wanted, "$name: the same");
	return $err =~ $used ? ($1, $2) : ();
}

sub from_copies
{
	my ($name, $copied, $read, @question) = @_;

	is_deeply([ same($name, @question) ], [ $copied, $read ], "$name: from cached columns");
}

sub refused
{
	my ($name, $reason, @question) = @_;
	my ($out, $err) = ask(@question);

	like($err, qr/qtop_exact does not use cached columns: $reason/, "$name: says why not");
	same($name, @question) if $question[0] ne 'weighted';
}

# ---- kinds of keys ----

$node->safe_psql('postgres', q{
	CREATE TABLE t (skewed bigint, "all ""same" int, few smallint, uniq bigint, signed int, far bigint, nothing int, w text, n int);
	INSERT INTO t SELECT floor(20000 ^ ((i * 0.61803398874989484820::numeric % 1)::float8)), 7, i % 3, i * 1000003::bigint - 10000000000,
			i % 100 - 50, CASE i % 4 WHEN 0 THEN -9223372036854775808 WHEN 1 THEN 9223372036854775807 WHEN 2 THEN 0 ELSE -1 END,
			NULL, 'w' || i % 100, i
		FROM generate_series(1, 60000) AS i;
	INSERT INTO t (n) SELECT i FROM generate_series(1, 3000) AS i;
	VACUUM ANALYZE t});
my $pages = $node->safe_psql('postgres', q{SELECT relpages FROM pg_class WHERE relname = 't'});
my @columns = ('skewed', 'all ""same', 'few', 'uniq', 'signed', 'far', 'nothing');

for my $column (@columns)
{
	(my $name = $column) =~ s/""/"/;
	my ($out, $err) = ask('t', $name, 5);
	unlike($err, qr/GPU/, "$name: nothing is said of cached columns where there are none");
}
is($node->safe_psql('postgres', q{SELECT qsketch_gpu_load('t', '{skewed,"all \"same",few,uniq,signed,far,nothing,w}')}), $pages, 'loaded');
for my $n (1, 20, 1000, 100000)
{
	for my $column (@columns)
	{
		(my $name = $column) =~ s/""/"/;
		my $wanted = $node->safe_psql('postgres', qq{
			SELECT "$column"::text, count(*) FROM t WHERE "$column" IS NOT NULL GROUP BY "$column" ORDER BY 2 DESC, t."$column" LIMIT $n});
		my ($out, $err) = ask('t', $name, $n);

		ok($out eq $wanted, "$name, $n keys: the same");
		like($err, qr/has counts of $pages pages from cached columns, and read 0/, "$name, $n keys: from cached columns");
	}
}
is($node->safe_psql('postgres', q{SELECT sum(key * count) FROM qtop_exact('t', 'signed', 100, NULL::int)}),
	$node->safe_psql('postgres', 'SELECT sum(signed) FROM t'), 'keys of their own type');
settled($node, 'kinds of keys');

# numbers that are no integers, in their order
$node->safe_psql('postgres', q{
	CREATE TABLE typed AS SELECT CASE i % 6 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '-Infinity' ELSE (i % 40 - 20) / 4.0 END::float8 AS f,
			date '1999-12-25' + i % 20 AS d, CASE WHEN i % 9 > 0 THEN time '23:00' - i % 30 * interval '1 minute' END AS tm
		FROM generate_series(1, 20000) AS i;
	VACUUM typed});
my $typed = $node->safe_psql('postgres', q{SELECT qsketch_gpu_load('typed', '{f,d,tm}')});
from_copies($_, $typed, 0, 'typed', $_, 15) for qw(f d tm);
$node->safe_psql('postgres', 'DROP TABLE typed');

# ---- calls that use queries, and why ----

refused('text', 'keys of more than 64 bits', 't', 'w', 5);
$node->safe_psql('postgres', q{CREATE TABLE ids AS SELECT (i % 100)::text::xid8 AS x FROM generate_series(1, 5000) AS i; VACUUM ids; SELECT qsketch_gpu_load('ids', '{x}')});
refused('xid8', 'keys that SQL orders in another way than their bits', 'ids', 'x', 5);
my ($rc, $out, $err) = $node->psql('postgres', q{SET client_min_messages = debug1; SELECT * FROM qtop_exact('t', 'skewed', 5, NULL::bigint, 'few')});
like($err, qr/does not use cached columns: weights/, 'weights');
for my $setting ('SET qsketch.enable_gpu_columns = off', 'SET qsketch.device = cpu')
{
	($out, $err) = ask('t', 'skewed', 5, $setting);
	unlike($err, qr/cached columns/, "$setting: no cached columns");
}
is($node->safe_psql('postgres', q{SELECT * FROM qtop_exact('t', 'ctid', 2)}), "(0,1)|1\n(0,2)|1", 'a system column');
$node->safe_psql('postgres', q{CREATE TABLE child () INHERITS (t); INSERT INTO child (skewed) SELECT 3 FROM generate_series(1, 5000)});
refused('inheritance', 'tables that inherit from it', 't', 'skewed', 3);
same('only the child', 'child', 'skewed', 3);
$node->safe_psql('postgres', 'DROP TABLE child; ANALYZE t');
$node->safe_psql('postgres', 'CREATE VIEW seen AS SELECT * FROM t');
same('a view', 'seen', 'skewed', 3);

# ---- changes ----

from_copies('before', $pages, 0, 't', 'skewed', 50);
$node->safe_psql('postgres', 'UPDATE t SET skewed = -5 WHERE n BETWEEN 2000 AND 2600; DELETE FROM t WHERE n BETWEEN 9000 AND 9050');
my ($copied, $read) = same('changed', 't', 'skewed', 50);
cmp_ok($copied, '<', $pages, 'pages that were changed are read');
cmp_ok($copied, '>', $pages / 2, 'the others are not');
$node->safe_psql('postgres', 'INSERT INTO t (uniq) SELECT 77 FROM generate_series(1, 100)');
same('added', 't', 'uniq', 3);
$node->safe_psql('postgres', 'VACUUM t');
same('after vacuum', 't', 'skewed', 50);
same('after vacuum, other keys', 't', 'uniq', 50);
$node->safe_psql('postgres', 'UPDATE t SET few = few');
refused('most are changed', 'most pages have changed', 't', 'skewed', 20);
$node->safe_psql('postgres', 'VACUUM FULL t; VACUUM t');
same('another file', 't', 'skewed', 20);
$pages = $node->safe_psql('postgres', q{SELECT qsketch_gpu_load('t', '{skewed,uniq,few}')});
from_copies('loaded again', $pages, 0, 't', 'skewed', 50);

# A column cannot be loaded in the transaction that adds it.  After a rollback the next column may get its number, and
# have other values in the same rows.  A change of type writes other columns of the table, too.
$node->safe_psql('postgres', 'CREATE TABLE grown AS SELECT i % 7 AS k FROM generate_series(1, 5000) AS i; VACUUM grown');
for my $added ('ALTER TABLE grown ADD m int DEFAULT 9', 'SAVEPOINT a; ALTER TABLE grown ADD m int', 'SAVEPOINT a; ALTER TABLE grown ADD m int; RELEASE a')
{
	my (undef, undef, $message) = $node->psql('postgres', qq{BEGIN; $added; SELECT qsketch_gpu_load('grown', '{m}')});

	like($message, qr/cannot cache column "m" of a table whose columns this transaction has changed/, "$added: refused");
}
$node->safe_psql('postgres', q{ALTER TABLE grown ADD m int DEFAULT 8; SELECT qsketch_gpu_load('grown', '{m}')});
from_copies('a column with a value for the rows that are there', $node->safe_psql('postgres', q{SELECT pg_relation_size('grown') / 8192}), 0, 'grown', 'm', 3);
($rc, $out, $err) = $node->psql('postgres', q{
	BEGIN; CREATE TABLE young (k int); SELECT qsketch_gpu_load('young', '{k}'); ALTER TABLE young ADD m int; SELECT qsketch_gpu_load('young', '{m}'); ROLLBACK});
is($rc, 0, 'a table of the same transaction');
($rc, $out, $err) = $node->psql('postgres', q{BEGIN; ALTER TABLE grown ALTER k TYPE bigint; SELECT qsketch_gpu_load('grown', '{m}')});
like($err, qr/cannot cache column "m" of a table whose columns this transaction has changed/, 'another column has changed: refused');
$node->safe_psql('postgres', 'DROP TABLE grown');

# two chunks of a table: each chunk has its own page of the visibility map
$node->safe_psql('postgres', q{
	CREATE TABLE two (k int, pad text) WITH (fillfactor = 10);
	INSERT INTO two SELECT i % 9000, repeat('x', 800) FROM generate_series(1, 33000) AS i;
	VACUUM two});
is($node->safe_psql('postgres', q{SELECT qsketch_gpu_load('two', '{k}')}), '33000', 'two chunks are loaded');
from_copies('two chunks', 33000, 0, 'two', 'k', 9000);
$node->safe_psql('postgres', q{DELETE FROM two WHERE ctid IN ('(32671,1)', '(32672,1)'); UPDATE two SET k = -k WHERE ctid IN ('(0,1)', '(32999,1)')});
from_copies('two chunks, changed at their ends', 32996, 4, 'two', 'k', 9000);
$node->safe_psql('postgres', 'DROP TABLE two');

# ---- partitions: one with its columns in another order, one below another, one empty ----

$node->safe_psql('postgres', q{
	CREATE TABLE parts (k bigint, day int, pad text) PARTITION BY RANGE (day);
	CREATE TABLE part_a PARTITION OF parts FOR VALUES FROM (0) TO (10);
	CREATE TABLE part_b (pad text, gone int, day int NOT NULL, k bigint);
	ALTER TABLE part_b DROP COLUMN gone;
	ALTER TABLE parts ATTACH PARTITION part_b FOR VALUES FROM (10) TO (20);
	CREATE TABLE part_c PARTITION OF parts FOR VALUES FROM (20) TO (30) PARTITION BY LIST (k);
	CREATE TABLE part_c_all PARTITION OF part_c DEFAULT;
	CREATE TABLE part_empty PARTITION OF parts FOR VALUES FROM (30) TO (40);
	INSERT INTO parts SELECT i::bigint * i % 3001, i % 30, 'x' FROM generate_series(1, 90000) AS i;
	VACUUM parts});
my %part_pages = map { split /\|/ } split /\n/, $node->safe_psql('postgres', q{
	SELECT relid, pg_relation_size(relid) / 8192 FROM pg_partition_tree('parts') WHERE isleaf});
is_deeply([ same('partitions that are not loaded', 'parts', 'k', 40) ], [], 'which are read');
is($node->safe_psql('postgres', qq{SELECT qsketch_gpu_load('$_', '{k}')}), $part_pages{$_}, "$_ is loaded") for qw(part_a part_b);
from_copies('a partition is not loaded', $part_pages{part_a} + $part_pages{part_b}, $part_pages{part_c_all}, 'parts', 'k', 3001);
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('part_c_all', '{k}')});
from_copies('all are loaded', $part_pages{part_a} + $part_pages{part_b} + $part_pages{part_c_all}, 0, 'parts', 'k', 3001);
from_copies('partitions of one of them', $part_pages{part_c_all}, 0, 'part_c', 'k', 3001);
$node->safe_psql('postgres', 'INSERT INTO parts SELECT 17, i % 40, NULL FROM generate_series(1, 4000) AS i');
($copied, $read) = same('changed', 'parts', 'k', 50);
cmp_ok($read, '>', 0, 'pages that were changed are read');
$node->safe_psql('postgres', 'CREATE ROLE whole LOGIN; GRANT SELECT ON parts TO whole');
my ($whole, $partly) = map { [ psql_as($node, 'whole', qq{SET client_min_messages = debug1; SELECT count(*) FROM qtop_exact('$_', 'k', 7)}) ] } qw(parts part_a);
is($whole->[1], '7', 'who may read the table may read its partitions so');
like($whole->[2], $used, 'from cached columns');
like($partly->[2], qr/permission denied for table part_a/, 'but not by their names');
$node->safe_psql('postgres', 'ALTER TABLE part_b ENABLE ROW LEVEL SECURITY');
$whole = [ psql_as($node, 'whole', q{SET client_min_messages = debug1; SELECT sum(count) FROM qtop_exact('parts', 'k', 4000)}) ];
is($whole->[1], '94000', 'row security of a partition does not hold for the table');
like($whole->[2], $used, 'whose cached columns are used');
$node->safe_psql('postgres', 'CREATE UNLOGGED TABLE part_u PARTITION OF parts FOR VALUES FROM (40) TO (50); INSERT INTO parts VALUES (5, 44, NULL)');
refused('a partition that cannot be cached', 'a table that writes no WAL', 'parts', 'k', 60);
$node->safe_psql('postgres', 'DROP TABLE parts');

# ---- transactions ----

$node->safe_psql('postgres', q{
	CREATE TABLE x (k bigint, n int);
	INSERT INTO x SELECT i % 400, i FROM generate_series(1, 30000) AS i;
	VACUUM x;});
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('x', '{k}')});
my $both = q{SELECT string_agg(key || ':' || count, ' ') FROM qtop_exact('x', 'k', 300)};
my $plain = q{SELECT string_agg(k || ':' || c, ' ') FROM (SELECT k, count(*) AS c FROM x GROUP BY k ORDER BY 2 DESC, 1 LIMIT 300) AS y};
snapshots_agree($node, q{SELECT qsketch_gpu_load('x', '{k}')}, $both, $plain);
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('x', '{k}')});
writers_conflict($node, $both);

# stopped between reading the visibility map and using it
SKIP:
{
	skip 'no test module', 4 unless can_pause($node);
	for my $race ('cleared', 'loaded anew')
	{
		$node->safe_psql('postgres', 'VACUUM x');
		$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('x', '{k}')});
		$node->safe_psql('postgres', 'UPDATE x SET k = k + 7 WHERE n BETWEEN 5000 AND 5100') if $race ne 'cleared';
		my @changes = $race eq 'cleared' ? 'UPDATE x SET k = k + 1000000 WHERE n BETWEEN 12000 AND 14000; DELETE FROM x WHERE n BETWEEN 15000 AND 15100' :
		  ('VACUUM x', q{SELECT qsketch_gpu_load('x', '{k}')});
		during_scan($node, $race, 1, $both, $node->safe_psql('postgres', $plain), @changes);
	}
}

# ---- rights: those of the queries ----

$node->safe_psql('postgres', q{
	CREATE ROLE reader LOGIN; CREATE ROLE other LOGIN; CREATE ROLE rowwise LOGIN;
	CREATE SCHEMA closed; CREATE TABLE closed.hidden AS SELECT i % 9 AS k FROM generate_series(1, 20000) AS i;
	VACUUM closed.hidden; GRANT SELECT ON closed.hidden TO reader;
	CREATE TABLE secret (k bigint, n int);
	INSERT INTO secret SELECT i % 50, i FROM generate_series(1, 20000) AS i;
	VACUUM secret;
	GRANT SELECT (n) ON secret TO reader; GRANT SELECT ON secret TO rowwise});
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('secret', '{k,n}'), qsketch_gpu_load('closed.hidden', '{k}')});
sub as
{
	my ($role, $query) = @_;
	return psql_as($node, $role, "SET client_min_messages = debug1; $query");
}
($rc, $out, $err) = as('reader', q{SELECT count FROM qtop_exact('secret', 'n', 1)});
is($out, '1', 'who may read a column has its keys');
like($err, $used, 'from cached columns');
for my $case ([ 'reader', 'secret', 'k', 'table secret' ], [ 'other', 'secret', 'n', 'table secret' ], [ 'reader', 'closed.hidden', 'k', 'schema closed' ])
{
	my ($role, $table, $column, $what) = @$case;

	($rc, $out, $err) = as($role, "SELECT * FROM qtop_exact('$table', '$column', 1)");
	like($err, qr/ERROR:  permission denied for $what/, "$role may not read $column of $table");
	is($out, '', 'and sees nothing');
}
$node->safe_psql('postgres', 'ALTER TABLE secret ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON secret TO rowwise USING (n < 100)');
($rc, $out, $err) = as('rowwise', q{SELECT sum(count) FROM qtop_exact('secret', 'k', 1000)});
is($out, '99', 'only rows of the policy count');
like($err, qr/does not use cached columns: row security/, 'which cached columns do not know');
($rc, $out, $err) = as('rowwise', q{SET row_security = off; SELECT sum(count) FROM qtop_exact('secret', 'k', 1000)});
like($err, qr/query would be affected by row-level security/, 'as queries have it');
($out, $err) = ask('secret', 'k', 1000);
like($err, $used, 'who is exempt uses cached columns');

# ---- memory, cancel, and a worker that fails ----

$node->safe_psql('postgres', q{
	CREATE TABLE many AS SELECT i % 9000 AS k, i AS n FROM generate_series(1, 100000) AS i;
	CREATE TABLE distinct_keys AS SELECT i * 7 AS k FROM generate_series(1, 100000) AS i;
	VACUUM many; VACUUM distinct_keys});
$node->safe_psql('postgres', q{SELECT qsketch_gpu_unload(t) FROM unnest('{t,x,ids,secret,closed.hidden}'::regclass[]) AS t});
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('many', '{k}')});
my $all = $node->safe_psql('postgres', q{SELECT pg_relation_size('many') / 8192});
from_copies('all at a time', $all, 0, 'many', 'k', 9000);
set_worker($node, 'qsketch.gpu_memory_limit', '2');
from_copies('in portions', $all, 0, 'many', 'k', 9000);
$node->safe_psql('postgres', 'UPDATE many SET k = -k WHERE n % 9000 < 40');
same('in portions, pages read among them', 'many', 'k', 9000);
$node->safe_psql('postgres', q{SELECT qsketch_gpu_unload('many'), qsketch_gpu_load('distinct_keys', '{k}')});
refused('too many distinct keys', 'the GPU has no room', 'distinct_keys', 'k', 5);
set_worker($node, 'qsketch.gpu_memory_limit', '1');
refused('no memory at all', 'the GPU has no room', 'distinct_keys', 'k', 5);
set_worker($node, 'qsketch.gpu_memory_limit', '0');
$all = $node->safe_psql('postgres', q{SELECT pg_relation_size('distinct_keys') / 8192});
from_copies('memory again', $all, 0, 'distinct_keys', 'k', 5);
set_fault($node, 'memory');
refused('no device memory', 'the GPU has no room', 'distinct_keys', 'k', 5);
set_fault($node, 'slow');
my $right = $node->safe_psql('postgres', q{SELECT k, 1 FROM distinct_keys ORDER BY k LIMIT 50000});
cmp_ok(cancelled_or_right($node, q{SELECT * FROM qtop_exact('distinct_keys', 'k', 50000)}, $right), '>', 0, 'some were cancelled');
set_fault($node, 'none');
settled($node, 'cancelled');
set_fault($node, 'error');
($rc, $out, $err) = $node->psql('postgres', q{SELECT * FROM qtop_exact('distinct_keys', 'k', 5)});
like($err, qr/GPU operation failed/, 'a query that uses a cached column fails with the device');
set_fault($node, 'none');
same('after that', 'distinct_keys', 'k', 5);
wait_for_worker($node);
same('with another worker', 'distinct_keys', 'k', 5);
settled($node, 'the end');
$node->stop;
done_testing();
