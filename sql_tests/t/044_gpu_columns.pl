# Cached columns of the GPU worker: loading, use, correctness, rights, races, and what happens when memory or
# the worker is missing.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('columns', 'qsketch.device = auto', 'max_parallel_workers_per_gather = 0',
	"qsketch.gpu_devices = '0'", 'max_prepared_transactions = 5', 'jit = off');

# All plain aggregates of a table, as text: with cached columns, without them, and without the scan.
my $small = q{qsketch_new('sub_warp', '64kB')};
sub same
{
	my ($name, $query, $database) = @_;
	$database //= 'postgres';
	my $wanted = $node->safe_psql($database, ORDINARY . $query);
	my $got = $node->safe_psql($database, $query);

	isnt($wanted, '', "$name: there is something");
	ok($got eq $wanted, "$name: the same");
}

sub from_copies
{
	my ($name, $query, $copied, $read) = @_;
	my @pages = copied_pages($node, $query);

	is($pages[0], $copied, "$name: pages from cached columns") if defined $copied;
	is($pages[1], $read, "$name: pages read") if defined $read;
}

$node->safe_psql('postgres', q{
	CREATE TABLE t (k bigint, n int, s smallint, w text, v varchar(20), u uuid, d date, m numeric, c char(5), pad text);
	INSERT INTO t SELECT i * 7919 % 50000, CASE WHEN i % 5 > 0 THEN i % 30 END, i % 7, 'w' || i % 3000, 'v' || i % 100,
			md5((i % 500)::text)::uuid, date '2026-01-01' + i % 60, i % 900 / 4.0, 'c' || i % 10, repeat('x', i % 200)
		FROM generate_series(1, 60000) AS i;
	VACUUM ANALYZE t});
my $pages = $node->safe_psql('postgres', q{SELECT relpages FROM pg_class WHERE relname = 't'});

# ---- without cached columns EXPLAIN does not mention them ----

unlike($node->safe_psql('postgres', 'EXPLAIN (ANALYZE, VERBOSE, COSTS off) SELECT qsketch_agg(k) FROM t'),
	qr/Cached Columns/, 'EXPLAIN says nothing of cached columns where there are none');

# ---- every type ----

my @columns = qw(k n s w v u d m c);
is($node->safe_psql('postgres', "SELECT qsketch_gpu_load('t', '{" . join(',', @columns) . ",k}')"), $pages, 'all pages are loaded');
is($node->safe_psql('postgres', 'SELECT count(*), min(pages), max(pages), min(pages_true) FROM qsketch_gpu_columns'),
	scalar(@columns) . "|$pages|$pages|$pages", 'the view shows all columns and pages');
is($node->safe_psql('postgres', q{SELECT rows, bytes FROM qsketch_gpu_columns WHERE "column" = 'n'}),
	$node->safe_psql('postgres', 'SELECT count(n), 8 * (count(*) + (count(*) + 63) / 64) FROM t'), 'a column with NULLs has a bitmap');
is($node->safe_psql('postgres', q{SELECT rows, bytes FROM qsketch_gpu_columns WHERE "column" = 'k'}),
	$node->safe_psql('postgres', 'SELECT count(k), 8 * count(k) FROM t'), 'others have none');
for my $column (@columns)
{
	same($column, "SELECT md5(qsketch_agg($column)::text) FROM t");
	same("$column, small", "SELECT md5(qsketch_agg($column, $small)::text) FROM t");
	from_copies($column, "SELECT qsketch_agg($column) FROM t", $pages, 0);
}
for my $structure (qw(thread warp half_warp sub_warp multilevel))
{
	my $query = "SELECT qsketch_agg(k, qsketch_new('$structure', '32kB')) FROM t";

	same($structure, "SELECT md5(q::text) FROM ($query) AS x (q)");
	from_copies($structure, $query, $pages, 0);
}
same('sf', q{SELECT md5(qsketch_agg(k, qsketch_new('sf', '32kB'))::text) FROM t});
from_copies('several', "SELECT qsketch_agg(k), qsketch_agg(n, $small), qsketch_agg(w) FROM t", $pages, 0);
same('several', "SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n, $small)::text), md5(qsketch_agg(w)::text) FROM t");
is(gpu_count($node, 'column_keys > 0'), 't', 'keys of cached columns are counted');

# ---- counts of rows and values beside sketches ----

my @counts = ('count(*), qsketch_agg(k)', 'qsketch_agg(k), count(*), count(n), count(w), count(m), count(k)', 'count(n), count(*), qsketch_agg(w)',
	'count(*) FILTER (WHERE n < 9), count(n) FILTER (WHERE n IS NULL), count(n) FILTER (WHERE s > 2), qsketch_agg(n)');
for my $where ('', ' WHERE s < 5', ' WHERE n IS NULL', ' WHERE n > 1000', ' WHERE k <> 7 AND n IS NOT NULL')
{
	for my $counts (@counts)
	{
		same("$counts$where", "SELECT x.*, md5(x::text) FROM (SELECT $counts FROM t$where) AS x");
		from_copies("$counts$where", "SELECT $counts FROM t$where", $pages, 0);
	}
}
same('counts in HAVING', 'SELECT md5(qsketch_agg(k)::text) FROM t HAVING count(*) > count(n)');
is_deeply([ copied_pages($node, 'SELECT count(pad), qsketch_agg(k) FROM t') ], [ 0, $pages ], 'a column that is not cached is read for its count');

# ---- few distinct keys: a sketch stays explicit, or just not ----

$node->safe_psql('postgres', q{
	CREATE TABLE few (k bigint, n int);
	INSERT INTO few SELECT i % 4500 - 1, i FROM generate_series(1, 40000) AS i;
	INSERT INTO few SELECT NULL, i FROM generate_series(1, 500) AS i;
	VACUUM ANALYZE few});
my $limit = $node->safe_psql('postgres', q{SELECT max(n) FROM generate_series(1, 4500) AS n,
	LATERAL (SELECT qsketch_agg(i) AS q FROM generate_series(1, n) AS i) AS s WHERE n IN (1, 2, 256, 512, 1024, 2048) AND (qsketch_info(q)).form = 'explicit'});
cmp_ok($limit, '>', 1, 'some sketches are explicit');
for my $distinct (1, 2, $limit - 1, $limit, $limit + 1, 4500)
{
	$node->safe_psql('postgres', "TRUNCATE few; INSERT INTO few SELECT i % $distinct - 1, i FROM generate_series(1, 40000) AS i;
			INSERT INTO few SELECT NULL, i FROM generate_series(1, 500) AS i");
	$node->safe_psql('postgres', 'VACUUM few');
	$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('few', '{k}')});
	same("$distinct distinct keys", 'SELECT md5(qsketch_agg(k)::text), (qsketch_info(qsketch_agg(k))).form FROM few');
	same("$distinct distinct keys, as they were counted before", 'SELECT md5(qsketch_agg(k)::text) FROM few') for 1 .. 2;
	same("$distinct distinct keys, small", "SELECT md5(qsketch_agg(k, $small)::text) FROM few");
	from_copies("$distinct distinct keys", 'SELECT qsketch_agg(k) FROM few', undef, 0);
	$node->safe_psql('postgres', 'UPDATE few SET k = k + 1 WHERE n % 9000 = 0');
	same("$distinct distinct keys, some pages changed", 'SELECT md5(qsketch_agg(k)::text) FROM few');
}
$node->safe_psql('postgres', 'DROP TABLE few');

# ---- queries that use no cached columns, and why ----

sub refused
{
	my ($name, $query, $reason, $settings) = @_;
	my $plan = $node->safe_psql('postgres',
		($settings // '') . "; EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off, SUMMARY off) $query");

	like($plan, qr/Cached Columns Not Used: $reason\n/, "$name: EXPLAIN says why");
	unlike($plan, qr/Pages from Cached Columns/, "$name: all pages are read");
	same($name, 'SELECT md5(x::text) FROM (' . $query . ') AS x') if $query !~ /qtop/;
}
refused('WHERE', q{SELECT qsketch_agg(k) FROM t WHERE w = 'w5'}, 'a condition that is no comparison of a column of numbers');
refused('FILTER', 'SELECT qsketch_agg(k) FILTER (WHERE m < 5) FROM t', 'a condition that is no comparison of a column of numbers');
refused('sum', 'SELECT sum(n), qsketch_agg(k) FROM t', 'an aggregate that takes no keys from cached columns');
refused('qtop of texts', 'SELECT qtop_agg(w, 5) FROM t', 'top keys of more than 64 bits');
refused('qtop of weights', 'SELECT qtop_agg(k, n, 5) FROM t', 'weights');
refused('qtop of sf', q{SELECT qtop_agg(k, 5, qsketch_new('sf', '32kB')) FROM t}, 'the list is made on the CPU');
refused('weights', 'SELECT qsketch_agg(k, s) FROM t', 'weights');
refused('ROW', 'SELECT qsketch_agg(ROW(k, n)) FROM t', 'a key of several columns');
refused('sf', q{SELECT qsketch_agg(k, qsketch_new('sf', '32kB')) FROM t}, 'sketches of structure sf are made on the CPU');
like($node->safe_psql('postgres', 'SET parallel_setup_cost = 0; SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0;
		SET seq_page_cost = 100; SET qsketch.enable_gpu_columns = on; SET parallel_leader_participation = off; SET cpu_tuple_cost = 0.001;
		EXPLAIN (VERBOSE, COSTS off) SELECT qsketch_agg(k) FROM t'), qr/^ *Custom Scan \(QSketchScan\)/, 'the planner knows that cached columns make a serial scan cheap');
foreach ('w, qsketch_agg(k) FROM t GROUP BY w', 'qsketch_agg(k) FILTER (WHERE m = 1) FROM t', 'qsketch_agg(k) FROM t WHERE m = 1',
	q{qsketch_agg(k, qsketch_new('sf', '32kB')) FROM t}, 'qsketch_agg(v::text) FROM t', 'qsketch_agg(k), sum(n) FROM t', 'n, count(*), qsketch_agg(k) FROM t GROUP BY n')
{
	is($node->safe_psql('postgres', "EXPLAIN SELECT $_"), $node->safe_psql('postgres', "SET qsketch.enable_gpu_columns = off; EXPLAIN SELECT $_"),
		"cached columns do not change the cost of $_");
}
my @pages = copied_pages($node, 'SELECT qsketch_agg(pad) FROM t');
is_deeply(\@pages, [ 0, $pages ], 'a column that is not cached is read');
@pages = copied_pages($node, 'SELECT qsketch_agg(k), qsketch_agg(pad) FROM t');
is_deeply(\@pages, [ 0, $pages ], 'so are all columns beside it');
@pages = copied_pages($node, 'SELECT qsketch_agg(k) FROM t', 'SET qsketch.enable_gpu_columns = off');
is_deeply(\@pages, [ -1, $pages ], 'one setting turns cached columns off');
@pages = copied_pages($node, 'SELECT qsketch_agg(k) FROM t', 'SET qsketch.device = cpu');
is_deeply(\@pages, [ -1, $pages ], 'as does qsketch.device = cpu');
from_copies('another collation', 'SELECT qsketch_agg(w COLLATE "C") FROM t', 0, $pages);

# ---- plans that are kept ----

my $session = $node->background_psql('postgres');
$session->query_safe('SET plan_cache_mode = force_generic_plan; SET max_parallel_workers_per_gather = 2; SET parallel_leader_participation = on;
	CREATE TABLE kept AS SELECT i % 9000 AS k FROM generate_series(1, 100000) AS i');
$session->query_safe('VACUUM ANALYZE kept');
$session->query_safe('PREPARE q AS SELECT qsketch_agg(k) FROM kept');
like($session->query_safe('EXPLAIN (COSTS off) EXECUTE q'), qr/Gather/, 'a parallel plan is prepared');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('kept', '{k}')});
like($session->query_safe('EXPLAIN (ANALYZE, COSTS off, TIMING off) EXECUTE q'), qr/^ *Custom Scan \(QSketchScan\).*\n.*Pages: 0\n.*Pages from Cached Columns: [1-9]/s,
	'after loading it is planned anew');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_unload('kept')});
like($session->query_safe('EXPLAIN (COSTS off) EXECUTE q'), qr/Gather/, 'and after unloading');
$session->quit;

# ---- changes ----

$node->safe_psql('postgres', 'UPDATE t SET n = n + 1 WHERE k < 200');
my @after = copied_pages($node, 'SELECT qsketch_agg(k) FROM t');
cmp_ok($after[0], '<', $pages, 'pages that were changed are read');
cmp_ok($after[0], '>', 0, 'the others are not');
same('changed', 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n)::text) FROM t');
same('changed, counts', 'SELECT count(*), count(n), count(*) FILTER (WHERE s = 1), md5(qsketch_agg(k)::text) FROM t WHERE n < 25');
$node->safe_psql('postgres', 'VACUUM t');
is($node->safe_psql('postgres', q{SELECT pages_true FROM qsketch_gpu_columns WHERE "column" = 'k'}), '0',
	'vacuum moves the LSN of the map');
is((copied_pages($node, 'SELECT qsketch_agg(k) FROM t'))[0], $after[0], 'then the LSNs of pages tell');
is($node->safe_psql('postgres', q{SELECT pages_true FROM qsketch_gpu_columns WHERE "column" = 'k'}), $after[0],
	'which is remembered');
same('after vacuum', 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n)::text) FROM t');
my $now = $node->safe_psql('postgres', q{SELECT pg_relation_size('t') / current_setting('block_size')::int});
is($node->safe_psql('postgres', q{SELECT qsketch_gpu_load('t', '{k,n}')}), $now, 'loading again copies what has changed');
from_copies('loaded again', 'SELECT qsketch_agg(k), qsketch_agg(n) FROM t', $now, 0);
$node->safe_psql('postgres', 'VACUUM FREEZE t');
same('frozen', 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n)::text) FROM t');

# ---- pages that became all-visible again without vacuum: from PostgreSQL 19 on, reading does that ----

$node->safe_psql('postgres', q{
	CREATE TABLE marked (k bigint, n int) WITH (fillfactor = 95, autovacuum_enabled = off);
	INSERT INTO marked SELECT i, i FROM generate_series(1, 20000) AS i;
	VACUUM marked});
my $marked = $node->safe_psql('postgres', q{SELECT qsketch_gpu_load('marked', '{k}')});
from_copies('before the pages change', 'SELECT qsketch_agg(k) FROM marked', $marked, 0);
$node->safe_psql('postgres', 'UPDATE marked SET k = k + 1000000 WHERE n % 1000 = 3');
$node->safe_psql('postgres', 'SELECT count(*) FROM marked') for 1 .. 2;
same('marked by a query', 'SELECT md5(qsketch_agg(k)::text) FROM marked');
@pages = copied_pages($node, 'SELECT qsketch_agg(k) FROM marked');
cmp_ok($pages[0], '>', 0, 'marked by a query: the other pages come from cached columns');
cmp_ok($pages[1], '>=', 20, 'marked by a query: changed pages are read');
is($node->safe_psql('postgres', 'EXPLAIN (ANALYZE, COSTS off) SELECT qsketch_agg(k) FROM marked') =~ /All-Visible Pages: [1-9]/ ? 1 : 0,
	$node->safe_psql('postgres', q{SELECT (current_setting('server_version_num')::int >= 190000)::int}), 'marked by a query: where queries do that');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('marked', '{k}')});
same('marked by a query and loaded again', 'SELECT md5(qsketch_agg(k)::text) FROM marked');
$node->safe_psql('postgres', 'DROP TABLE marked');

# ---- tables that change as a whole ----

$node->safe_psql('postgres', q{
	CREATE TABLE whole (k bigint, w varchar(10), x int);
	INSERT INTO whole SELECT i % 3000, 'w' || i % 100, i FROM generate_series(1, 20000) AS i;
	VACUUM whole});
sub reload
{
	$node->safe_psql('postgres', 'VACUUM whole') unless $_[0];
	return $node->safe_psql('postgres', q{SELECT qsketch_gpu_load('whole', '{k,w}')});
}
my %whole = (
	TRUNCATE => q{TRUNCATE whole; INSERT INTO whole SELECT i % 700, 'z', i FROM generate_series(1, 20000) AS i},
	'TRUNCATE and COPY FREEZE' => q{BEGIN; TRUNCATE whole; COPY whole FROM PROGRAM 'seq 1 9000 | awk ''{print $1 % 77 "\\tw" $1 % 50 "\\t" $1}''' WITH (FREEZE); COMMIT},
	'VACUUM FULL' => q{DELETE FROM whole WHERE x % 3 = 0; VACUUM FULL whole},
	CLUSTER => q{CREATE INDEX byx ON whole (x); DELETE FROM whole WHERE x % 5 = 1; CLUSTER whole USING byx},
	'another type' => q{ALTER TABLE whole ALTER k TYPE numeric USING k / 7},
	'a longer varchar' => q{ALTER TABLE whole ALTER w TYPE varchar(30)},
	'ADD COLUMN with a default' => q{ALTER TABLE whole ADD y int DEFAULT 5; UPDATE whole SET k = 1 WHERE x < 50},
	'another column of that name' => q{ALTER TABLE whole DROP w; ALTER TABLE whole ADD w varchar(10) DEFAULT 'added'},
	'SET UNLOGGED' => q{ALTER TABLE whole SET UNLOGGED; INSERT INTO whole (k, w) VALUES (5, 'five')},
	'another table of that name' => q{DROP TABLE whole; CREATE TABLE whole AS SELECT i::bigint AS k, 'w' || i % 100 AS w, i AS x FROM generate_series(1, 9999) AS i},
	'vacuum that truncates' => q{DELETE FROM whole WHERE ctid >= '(10,0)'; VACUUM whole; INSERT INTO whole (k, w) SELECT i, 'again' FROM generate_series(1, 30000) AS i; VACUUM whole});
for my $change ('vacuum that truncates', 'TRUNCATE', 'TRUNCATE and COPY FREEZE', 'VACUUM FULL', 'CLUSTER', 'a longer varchar',
	'another type', 'ADD COLUMN with a default', 'another column of that name', 'another table of that name', 'SET UNLOGGED')
{
	cmp_ok(reload(), '>', 0, "before $change: loaded");
	same("before $change", 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(w)::text) FROM whole');
	$node->safe_psql('postgres', $_) foreach map { "$_" } ($change =~ /VACUUM|vacuum/ ? split(/; /, $whole{$change}) : $whole{$change});
	same("after $change", 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(w)::text) FROM whole');
}
my ($rc, $out, $err) = $node->psql('postgres', q{SELECT qsketch_gpu_load('whole', '{k}')});
like($err, qr/cannot cache columns of "whole" on a GPU\nDETAIL:  The reason is: a table that writes no WAL/, 'no unlogged tables');
$node->safe_psql('postgres', 'ALTER TABLE whole SET LOGGED; VACUUM whole');
cmp_ok(reload(), '>', 0, 'logged again');
is($node->safe_psql('postgres', q{SELECT count(*) FROM qsketch_gpu_columns WHERE "table" = 'whole'::regclass}), '2', 'the view shows columns of current files');

# a column that was added later, with a default that is in no tuple
$node->safe_psql('postgres', q{ALTER TABLE whole ADD late int DEFAULT 77});
cmp_ok($node->safe_psql('postgres', q{SELECT qsketch_gpu_load('whole', '{late}')}), '>', 0, 'a default that was added');
$node->safe_psql('postgres', 'ALTER TABLE whole ALTER late SET DEFAULT 78');
same('a default that was added', 'SELECT md5(qsketch_agg(late)::text) FROM whole');

# a change of type keeps the file, but not the fingerprints
$node->safe_psql('postgres', q{CREATE TABLE coerced AS SELECT -(i % 300)::int AS i FROM generate_series(1, 5000) AS i; VACUUM coerced});
cmp_ok($node->safe_psql('postgres', q{SELECT qsketch_gpu_load('coerced', '{i}')}), '>', 0, 'integers');
same('integers', 'SELECT md5(qsketch_agg(i)::text) FROM coerced');
my $file = $node->safe_psql('postgres', q{SELECT pg_relation_filenode('coerced')});
$node->safe_psql('postgres', 'ALTER TABLE coerced ALTER i TYPE oid');
is($node->safe_psql('postgres', q{SELECT pg_relation_filenode('coerced')}), $file, 'that became OIDs are in the same file');
same('OIDs', 'SELECT md5(qsketch_agg(i)::text) FROM coerced');

# two chunks of a table: each chunk has its own page of the visibility map
$node->safe_psql('postgres', q{
	CREATE TABLE two (k int, pad text) WITH (fillfactor = 10);
	INSERT INTO two SELECT i, repeat('x', 800) FROM generate_series(1, 33000) AS i;
	VACUUM two});
is($node->safe_psql('postgres', q{SELECT qsketch_gpu_load('two', '{k}')}), '33000', 'two chunks are loaded');
from_copies('two chunks', 'SELECT qsketch_agg(k) FROM two', 33000, 0);
same('two chunks', 'SELECT md5(qsketch_agg(k)::text) FROM two');
$node->safe_psql('postgres', q{UPDATE two SET k = -k WHERE k IN (32671, 32672, 32673, 1, 33000)});
same('two chunks, changed at their ends', 'SELECT md5(qsketch_agg(k)::text) FROM two');
from_copies('two chunks, changed', 'SELECT qsketch_agg(k) FROM two', 32995, undef);
$node->safe_psql('postgres', q{DROP TABLE two});

# ---- transactions ----

$node->safe_psql('postgres', q{
	CREATE TABLE x (k bigint, n int);
	INSERT INTO x SELECT i % 4000, i FROM generate_series(1, 30000) AS i;
	VACUUM x});
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('x', '{k,n}')});
my $both = 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n)::text) FROM x';
my $plain = 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n)::text) FROM (SELECT * FROM x OFFSET 0) AS y';
snapshots_agree($node, q{SELECT qsketch_gpu_load('x', '{k,n}')}, $both, $plain);
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('x', '{k,n}'); BEGIN; UPDATE x SET k = 5 WHERE n < 20; PREPARE TRANSACTION 'p'});
same('prepared', $both);
$node->safe_psql('postgres', q{COMMIT PREPARED 'p'});
same('committed', $both);

$node->safe_psql('postgres', 'VACUUM x');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('x', '{k}')});
writers_conflict($node, 'SELECT md5(qsketch_agg(k)::text) FROM x');

# ---- the two races, stopped between check and use ----

SKIP:
{
	skip 'no test module', 16 unless can_pause($node);
	for my $place (0, 1)
	{
		for my $race ('cleared', 'set', 'loaded anew', 'one column loaded anew')
		{
			$node->safe_psql('postgres', 'VACUUM x');
			$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('x', '{k,n}')});
			$node->safe_psql('postgres', 'UPDATE x SET k = k + 7 WHERE n BETWEEN 5000 AND 5100') if $race ne 'cleared';
			# at place 0 the visibility map has changed, so that LSNs are compared
			# after the pause
			$node->safe_psql('postgres', 'UPDATE x SET k = k + 9 WHERE n BETWEEN 9000 AND 9100; VACUUM x') if $race eq 'cleared';
			my @changes = {
				cleared => [ 'UPDATE x SET k = k + 1000000 WHERE n BETWEEN 12000 AND 14000; DELETE FROM x WHERE n BETWEEN 15000 AND 15100' ],
				set => [ 'VACUUM x' ],
				'loaded anew' => [ 'VACUUM x', q{SELECT qsketch_gpu_load('x', '{k,n}')} ],
				'one column loaded anew' => [ 'VACUUM x', q{SELECT qsketch_gpu_load('x', '{n}')} ] }->{$race}->@*;
			during_scan($node, "$race, place $place", $place, $both, $node->safe_psql('postgres', $plain), @changes);
		}
	}
}

# ---- partitions, in one database and another ----

make_partitions($node);
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load(p, '{k}') FROM unnest('{p1,p3,p2}'::regclass[]) AS p WHERE p <> 'p3'::regclass});
same('partitions', 'SELECT md5(qsketch_agg(k)::text) FROM parts');
same('partitions, counts', 'SELECT count(*), count(k), count(n), md5(qsketch_agg(k)::text) FROM parts');
like($node->safe_psql('postgres', 'EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT qsketch_agg(k) FROM parts'),
	qr/ Pages: 0\n.*Pages from Cached Columns: [1-9].* Pages: 0\n.*Pages from Cached Columns: [1-9].* Pages: [1-9]\d*\n.*Pages from Cached Columns: 0/s,
	'partitions with and without cached columns');
($rc, $out, $err) = $node->psql('postgres', q{SELECT qsketch_gpu_load('parts', '{k}')});
like($err, qr/The reason is: a table that is no heap/, 'a partitioned table has no pages');
$node->safe_psql('postgres', 'CREATE DATABASE other TEMPLATE postgres');
is($node->safe_psql('other', 'SELECT count(*) FROM qsketch_gpu_columns'), '0', 'another database has no cached columns');
$node->safe_psql('other', 'UPDATE x SET k = k / 2; VACUUM x');
$node->safe_psql('other', q{SELECT qsketch_gpu_load('x', '{k,n}')});
same('the other database', $both, 'other');
same('this database', $both);

# ---- rights ----

$node->safe_psql('postgres', q{
	CREATE ROLE owner LOGIN; CREATE ROLE other LOGIN; CREATE ROLE reader LOGIN; CREATE ROLE rowwise LOGIN;
	GRANT CREATE ON SCHEMA public TO owner;
	CREATE TABLE secret (k bigint, n int);
	INSERT INTO secret SELECT i % 5000, i FROM generate_series(1, 20000) AS i;
	VACUUM secret;
	ALTER TABLE secret OWNER TO owner;
	GRANT SELECT (n) ON secret TO reader;
	GRANT SELECT ON secret TO rowwise;});
($rc, $out, $err) = psql_as($node, 'other', q{SELECT qsketch_gpu_load('secret', '{k}')});
like($err, qr/must be owner of table secret/, 'others do not load');
($rc, $out, $err) = psql_as($node, 'reader', q{SELECT qsketch_gpu_load('secret', '{n}')});
like($err, qr/must be owner of table secret/, 'nor do readers');
($rc, $out, $err) = psql_as($node, 'owner', q{SELECT qsketch_gpu_load('secret', '{k,n}') > 0});
is($out, 't', 'the owner loads');
$node->safe_psql('postgres', 'REVOKE SELECT ON secret FROM owner');
($rc, $out, $err) = psql_as($node, 'owner', q{SELECT qsketch_gpu_load('secret', '{k}')});
like($err, qr/permission denied for table secret/, 'an owner who may not read does not');
$node->safe_psql('postgres', 'GRANT SELECT ON secret TO owner');
my $rows = q{SELECT string_agg("column", ',' ORDER BY "column") FROM qsketch_gpu_columns WHERE "table" = 'secret'::regclass};
is((psql_as($node, 'owner', $rows))[1], 'k,n', 'the owner sees both columns');
is((psql_as($node, 'reader', $rows))[1], 'n', 'a reader sees the column that he may read');
is((psql_as($node, 'other', $rows))[1], '', 'others see none');
is((psql_as($node, 'rowwise', $rows))[1], 'k,n', 'who may read all rows sees both');
($rc, $out, $err) = psql_as($node, 'reader', 'SELECT qsketch_agg(k) FROM secret');
like($err, qr/permission denied for table secret/, 'a cached column gives no right to read');
($rc, $out, $err) = psql_as($node, 'reader', 'SELECT (qsketch_info(qsketch_agg(n))).total FROM secret');
is($out, '20000', 'who may read a column may use what is cached of it');
my $locker = $node->background_psql('postgres');
$locker->query_safe('BEGIN; LOCK TABLE secret IN ACCESS EXCLUSIVE MODE');
is((psql_as($node, 'other', "SET lock_timeout = '1ms'; $rows"))[1], '', 'who sees nothing of a table does not wait for its locks');
($rc, $out, $err) = psql_as($node, 'other', q{SET lock_timeout = '1ms'; SELECT qsketch_gpu_load('secret', '{k}')});
like($err, qr/must be owner of table secret/, 'nor to be told that he may not load it');
$locker->query_safe('COMMIT');
$locker->quit;
$node->safe_psql('postgres', 'ALTER TABLE secret ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON secret TO rowwise USING (n < 100)');
is((psql_as($node, 'rowwise', $rows))[1], '', 'with row security the numbers of all rows are hidden');
is((psql_as($node, 'rowwise', 'SELECT (qsketch_info(qsketch_agg(k))).total FROM secret'))[1], '99', 'and only rows of the policy count');
is((psql_as($node, 'owner', $rows))[1], 'k,n', 'the owner is exempt');
($rc, $out, $err) = psql_as($node, 'other', q{SELECT qsketch_gpu_unload('secret')});
like($err, qr/must be owner of table secret/, 'others do not unload');
is((psql_as($node, 'owner', q{SELECT qsketch_gpu_unload('secret')}))[1], 't', 'the owner does');
is((psql_as($node, 'owner', q{SELECT qsketch_gpu_unload('secret')}))[1], 'f', 'once');

# ---- errors ----

for my $case (
	[ q{'t', '{nosuch}'}, qr/column "nosuch" of relation "t" does not exist/ ],
	[ q{'t', '{ctid}'}, qr/column "ctid" of relation "t" does not exist/ ],
	[ q{4000000000, '{k}'}, qr/relation with OID 4000000000 does not exist/ ],
	[ q{'t', '{}'}, qr/number of columns must be between 1 and 32, not 0/ ],
	[ q{'t', '{NULL}'}, qr/name of a column must not be NULL/ ],
	[ q{'pg_class', '{oid}'}, qr/The reason is: a catalog/ ],
	[ q{'qsketch_gpu_columns', '{rows}'}, qr/The reason is: a table that is no heap/ ],
	[ q{'odd', '{a}'}, qr/cannot cache column "a" of type integer\[\] on a GPU/ ],
	[ q{'odd', '{e}'}, qr/cannot cache column "e" of type mood on a GPU/ ],
	[ q{'odd', '{j}'}, qr/cannot cache column "j" of type json on a GPU/ ],
	[ q{'odd', '{positive}'}, qr/cannot cache column "positive" of type positive on a GPU/ ])
{
	$node->safe_psql('postgres', q{CREATE TYPE mood AS ENUM ('a', 'b'); CREATE DOMAIN positive AS int CHECK (value > 0);
		CREATE TABLE odd (a int[], e mood, j json, positive positive)}) if $case->[0] =~ /'\{a\}'/;
	($rc, $out, $err) = $node->psql('postgres', "SELECT qsketch_gpu_load($case->[0])");
	like($err, $case->[1], "error of $case->[0]");
}
is($node->safe_psql('postgres', q{CREATE TABLE none (k int); SELECT qsketch_gpu_load('none', '{k}')}), '0', 'an empty table');
is($node->safe_psql('postgres', q{SELECT qsketch_agg(k) IS NULL FROM none}), 't', 'has no sketch');
is($node->safe_psql('postgres', q{SELECT qsketch_gpu_load(NULL, '{k}') IS NULL}), 't', 'NULL');

# ---- memory, cancel, and a worker that fails ----

set_worker($node, 'qsketch.gpu_cache_size', '0');
ok($node->poll_query_until('postgres', 'SELECT cached_now = 0 FROM qsketch_stat_gpu'), 'without room for cached columns there are none');
($rc, $out, $err) = $node->psql('postgres', q{SELECT qsketch_gpu_load('t', '{k,w}')});
like($err, qr/WARNING:  not all of "t" fits on the GPU/, 'loading says so');
same('no room', 'SELECT md5(qsketch_agg(k)::text) FROM t');
set_worker($node, 'qsketch.gpu_cache_size', '4096');
set_fault($node, 'memory');
($rc, $out, $err) = $node->psql('postgres', q{SELECT qsketch_gpu_load('t', '{k}')});
like($err, qr/WARNING:  not all of "t" fits on the GPU/, 'without device memory, too');
is($out, '0', 'and no page is there');
set_fault($node, 'none');
is($node->safe_psql('postgres', q{SELECT qsketch_gpu_load('t', '{k,n}')}), $now, 'loaded');
set_fault($node, 'memory');
same('no memory for a sketch, but for counts', 'SELECT count(*), count(n), md5(qsketch_agg(k)::text) FROM t');
same('no memory for a sketch', 'SELECT md5(qsketch_agg(k)::text) FROM t');
set_fault($node, 'spill');
same('no memory for a sketch to grow', 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n)::text) FROM t');
set_fault($node, 'slow');
my $right = $node->safe_psql('postgres', 'SET qsketch.device = cpu; SELECT md5(qsketch_agg(k)::text) FROM t');
cmp_ok(cancelled_or_right($node, 'SELECT md5(qsketch_agg(k)::text) FROM t', $right), '>', 0, 'some were cancelled');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_unload('t')});
set_fault($node, 'hang');
my $loader = $node->background_psql('postgres');
$loader->query_until(qr/started/, "\\echo started\nSELECT qsketch_gpu_load('t', '{k,n,s,w,v,u,d,m,c}');\n");
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM qsketch_progress WHERE command = 'qsketch_gpu_load' AND relid = 't'::regclass
	AND phase = 'scanning' AND device = 'gpu' AND pages_total > 0}), 'progress of loading');
set_fault($node, 'slow');
is($loader->query_safe('SELECT 1'), "$now\n1", 'which ends');
$loader->quit;
($rc, $out, $err) = $node->psql('postgres', q{SELECT qsketch_gpu_unload('t'); SET statement_timeout = 50; SELECT qsketch_gpu_load('t', '{k,n,w}')});
like($err, qr/canceling statement/, 'loading can be cancelled');
set_fault($node, 'none');
is($node->safe_psql('postgres', q{SELECT count(*) FROM qsketch_gpu_columns WHERE "table" = 't'::regclass}), '0', 'and leaves nothing');
settled($node, 'columns');
is($node->safe_psql('postgres', q{SELECT qsketch_gpu_load('t', '{k}')}), $now, 'loaded');
set_fault($node, 'error');
($rc, $out, $err) = $node->psql('postgres', 'SELECT qsketch_agg(k) FROM t');
like($err, qr/GPU operation failed/, 'a query that uses a cached column fails with the device');
set_fault($node, 'none');
same('after that', 'SELECT md5(qsketch_agg(k)::text) FROM t');
wait_for_worker($node);
is($node->safe_psql('postgres', 'SELECT count(*) FROM qsketch_gpu_columns'), '0', 'the new worker has no cached columns');
is($node->safe_psql('postgres', q{SELECT qsketch_gpu_load('t', '{k}')}), $now, 'they can be loaded again');
same('loaded after that', 'SELECT md5(qsketch_agg(k)::text) FROM t');

# ---- columns of several roles ----

$node->safe_psql('postgres', 'SELECT qsketch_gpu_unload(t) FROM (SELECT DISTINCT "table" FROM qsketch_gpu_columns) AS c (t)');
$node->safe_psql('postgres', q{
	CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE noisy LOGIN;
	GRANT CREATE ON SCHEMA public TO alice, bob;
	SET qsketch.device = cpu;
	CREATE TABLE crowd AS SELECT g, qsketch_agg(i + g, qsketch_new('sub_warp', '1kB')) AS sk
		FROM generate_series(1, 10000) AS g, generate_series(1, 100) AS i GROUP BY g;
	GRANT SELECT ON crowd TO noisy});
for my $role (qw(alice bob))
{
	is((psql_as($node, $role, "CREATE TABLE of_$role AS SELECT i AS c1, i AS c2, i AS c3, i AS c4, i AS c5, i AS c6, i AS c7
			FROM generate_series(1::bigint, 100000) AS i"))[0], 0, "a table of $role");
	$node->safe_psql('postgres', "VACUUM of_$role");
}
sub load
{
	my ($role, $columns) = @_;
	return (psql_as($node, $role, "SELECT qsketch_gpu_load('of_$role', '{$columns}')"))[2];
}
sub loaded
{
	my ($role) = @_;
	return $node->safe_psql('postgres', qq{SELECT string_agg("column", ' ' ORDER BY "column") FROM qsketch_gpu_columns
		WHERE "table" = 'of_$role'::regclass AND bytes > 0});
}
# The role's messages about columns that were evicted to make room.
sub told
{
	my ($role, $table) = @_;
	return (psql_as($node, $role, qq{SELECT string_agg("column" || ' ' || pushed_out || ' ' || coalesce(pushed_out_by::text, 'nobody'), ', ' ORDER BY "column")
		FROM qsketch_gpu_columns WHERE "table" = '$table'::regclass AND pushed_out > 0 AND pushed_out_at < now()}))[1];
}

# lookups of values
is(load('alice', 'c1,c2,c3,c4,c5,c6,c7'), '', 'alice loads seven columns');
my $kept = gpu_count($node, 'cached_now');
my $pushed = gpu_count($node, 'columns_pushed_out');
my $lookups = q{SET qsketch.device = gpu; SELECT count(qsketch_estimate(sk, ARRAY[1::bigint, 2, 3]))};
($rc, $out, $err) = psql_as($node, 'noisy', "$lookups FROM crowd WHERE g <= 100");
is($out, '100', 'lookups in 100 small sketches');
is(gpu_count($node, 'cached_now'), $kept, 'a small one is not kept for one lookup');
($rc, $out, $err) = psql_as($node, 'noisy', "$lookups FROM crowd, LATERAL generate_series(1, 2 + 0 * g) AS again");
is($out, '20000', 'two lookups in each of 10,000');
cmp_ok(gpu_count($node, 'values_pushed_out'), '>', 8000, 'they made room for one another');
is(loaded('alice'), 'c1 c2 c3 c4 c5 c6 c7', 'but no column of another role did');

# values that are being made
set_worker($node, 'qsketch.gpu_memory_limit', '16');
my $fallbacks = gpu_count($node, 'fallbacks');
my $large = q{SET work_mem = '1GB'; SET qsketch.device = gpu; SELECT count(*), sum(qsketch_total(sk)) FROM
	(SELECT qsketch_agg(i, qsketch_new('sub_warp', '4MB')) AS sk FROM generate_series(1, 100000) AS i GROUP BY i % 8) AS s};
($rc, $out, $err) = psql_as($node, 'noisy', $large);
is($out, '8|100000', 'more sketches than there is memory');
cmp_ok(gpu_count($node, 'fallbacks'), '>', $fallbacks, 'some stay on the CPU');
is(gpu_count($node, 'columns_pushed_out'), $pushed, 'and no column of another role makes room');
($rc, $out, $err) = psql_as($node, 'alice', $large);
is($out, '8|100000', 'the same for the role itself');
cmp_ok(gpu_count($node, 'columns_pushed_out'), '>', $pushed, 'its own columns do');
like(told('alice', 'of_alice'), qr/c1 1 alice/, 'and it is told so');
set_worker($node, 'qsketch.gpu_memory_limit', '0');

# columns: 7 of 8 MB, 100,000 rows each
set_worker($node, 'qsketch.gpu_cache_size', '8');
is(load('alice', 'c1,c2,c3,c4,c5,c6,c7'), '', 'alice loads seven columns again');
is(told('alice', 'of_alice'), '', 'what made room is forgotten then');
is(load('bob', 'c1,c2'), '', 'bob loads two');
is(load('bob', 'c3'), '', 'and a third one');
is(loaded('bob'), 'c1 c2 c3', 'which are there');
is(loaded('alice'), 'c2 c3 c4 c5 c6 c7', 'in the place of the column of alice that was not used for the longest time');
is(told('alice', 'of_alice'), 'c1 1 bob', 'alice is told who needed the room');
is(told('noisy', 'of_alice'), '', 'who may not read the table is not');
like(load('alice', 'c1'), qr/^$|not all/, 'alice, who has more than half, loads it again');
is(loaded('bob'), 'c1 c2 c3', 'bob loses none');
is(told('alice', 'of_alice'), 'c2 1 alice', 'but alice loses another one');
is(psql_as($node, 'alice', 'SELECT qsketch_total(qsketch_agg(c2)) FROM of_alice'), 0, 'a query of the lost column');
set_worker($node, 'qsketch.gpu_cache_size', '1');
ok($node->poll_query_until('postgres', 'SELECT cached_bytes <= 1024 * 1024 FROM qsketch_stat_gpu'), 'less room for all');
like(told('bob', 'of_bob'), qr/c1 1 nobody/, 'nobody needed it');
set_worker($node, 'qsketch.gpu_cache_size', '4096');
is((psql_as($node, $_, "SELECT qsketch_gpu_unload('of_$_')"))[0], 0, "$_ unloads") foreach qw(alice bob);
is(told('bob', 'of_bob'), '', 'nothing is said of columns that nobody wants');

# notes about columns of one role, and many columns of another role
set_worker($node, 'qsketch.gpu_cache_size', '8');
is(load(@$_), '', "$_->[0] loads") foreach [ 'alice', 'c1,c2,c3,c4,c5,c6,c7' ], [ 'bob', 'c1,c2' ], [ 'bob', 'c3' ];
my $many = join ', ', map { "$_ AS w$_" } 1 .. 32;
my $names = join ',', map { "w$_" } 1 .. 32;
$pushed = gpu_count($node, 'columns_pushed_out');
psql_as($node, 'bob', "CREATE TABLE wide$_ AS SELECT $many; VACUUM wide$_; SELECT qsketch_gpu_load('wide$_', '{$names}')") foreach 1 .. 32;
cmp_ok(gpu_count($node, 'columns_pushed_out') - $pushed, '>', 64, 'bob loads so many columns that his own make room');
is(told('alice', 'of_alice'), 'c1 1 bob', 'alice is still told what she lost');
psql_as($node, 'bob', "SELECT qsketch_gpu_unload('wide$_')") foreach 1 .. 32;
psql_as($node, $_, "SELECT qsketch_gpu_unload('of_$_')") foreach qw(alice bob);
set_worker($node, 'qsketch.gpu_cache_size', '4096');

# ---- crash, restart, standby ----

$node->safe_psql('postgres', 'UPDATE t SET k = k + 1 WHERE n = 3');
$node->stop('immediate');
$node->start;
wait_for_worker($node);
same('after a crash', 'SELECT md5(qsketch_agg(k)::text) FROM t');
$node->safe_psql('postgres', 'VACUUM t');
cmp_ok($node->safe_psql('postgres', q{SELECT qsketch_gpu_load('t', '{k}')}), '>', 0, 'loaded after a crash');
same('loaded after a crash', 'SELECT md5(qsketch_agg(k)::text) FROM t');
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
($rc, $out, $err) = $standby->psql('postgres', q{SELECT qsketch_gpu_load('t', '{k}')});
like($err, qr/The reason is: a server in recovery/, 'no cached columns on a standby');
is($standby->safe_psql('postgres', 'SELECT md5(qsketch_agg(k)::text) FROM t'),
	$node->safe_psql('postgres', 'SELECT md5(qsketch_agg(k)::text) FROM t'), 'which reads');
$standby->promote;
cmp_ok($standby->safe_psql('postgres', q{SELECT qsketch_gpu_load('t', '{k}')}), '>', 0, 'they are loaded after promotion');
is($standby->safe_psql('postgres', 'SELECT md5(qsketch_agg(k)::text) FROM t'),
	$node->safe_psql('postgres', 'SELECT md5(qsketch_agg(k)::text) FROM t'), 'and true');
$standby->stop;
settled($node, 'the end');
$node->stop;
done_testing();
