# WHERE, FILTER and GROUP BY on cached columns: every test of every type, NULLs,
# parameters, columns cached at different times, rights, and the pages that the scan
# has to read.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('conditions', 'qsketch.device = auto', 'max_parallel_workers_per_gather = 0', 'jit = off', 'timezone = UTC');
my $ordinary = ORDINARY;

$node->safe_psql('postgres', q{
	CREATE TABLE c (k bigint, i2 smallint, i4 int, i8 bigint, d date, ts timestamp, tz timestamptz, ti time, b boolean, t text, f float8,
		full_ int NOT NULL);
	INSERT INTO c SELECT i * 7919 % 40000,
		CASE WHEN i % 7 > 0 THEN (ARRAY[-32768, -1, 0, 1, 32767, 5])[1 + i % 6] END,
		CASE WHEN i % 5 > 0 THEN CASE i % 1000 WHEN 3 THEN -2147483648 WHEN 4 THEN 2147483647 ELSE i % 40 - 9 END END,
		CASE WHEN i % 9 > 0 THEN CASE i % 1000 WHEN 3 THEN -9223372036854775808 WHEN 4 THEN 9223372036854775807 ELSE i % 40 - 9 END END,
		CASE WHEN i % 11 > 0 THEN CASE i % 1000 WHEN 3 THEN '-infinity' WHEN 4 THEN 'infinity' ELSE date '2026-01-01' + i % 40 END END,
		CASE WHEN i % 13 > 0 THEN CASE i % 1000 WHEN 3 THEN '-infinity' WHEN 4 THEN 'infinity' ELSE timestamp '2026-01-01 00:00:01' + i % 40 * interval '1 hour' END END,
		CASE WHEN i % 13 > 1 THEN CASE i % 1000 WHEN 3 THEN '-infinity' WHEN 4 THEN 'infinity' ELSE timestamptz '1999-12-31 22:00:00' + i % 40 * interval '1 hour' END END,
		CASE WHEN i % 4 > 0 THEN time '00:00' + i % 40 * interval '36 minutes' END,
		CASE WHEN i % 3 > 0 THEN i % 2 = 0 END, 't' || i % 50, i % 50 / 2.0, i % 100
		FROM generate_series(1, 30000) AS i;
	VACUUM ANALYZE c});
my $pages = $node->safe_psql('postgres', q{SELECT relpages FROM pg_class WHERE relname = 'c'});
my $columns = '{k,i2,i4,i8,d,ts,tz,ti,b,t,f,full_}';
is($node->safe_psql('postgres', "SELECT qsketch_gpu_load('c', '$columns')"), $pages, 'all columns are loaded');

# Check that cached columns and the ordinary plan give the same answers, and that no page was read.
sub same
{
	my ($name, @tails) = @_;
	my @queries = map { "SELECT coalesce(md5(qsketch_agg(k)::text), 'none') FROM c $_" } @tails;
	my ($got, $wanted) = (answers($node, '', @queries), answers($node, $ordinary, @queries));
	my @read = grep { !/ Pages: 0\n.*Pages from Cached Columns: $pages\n/s } map
	{ $node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT qsketch_agg(k) FROM c $_") . "\n" } @tails[0, -1];

	is_deeply($got, $wanted, "$name: the same");
	is(scalar(@$wanted), scalar(@tails), "$name: of all queries");
	is(join('', @read), '', "$name: no page is read");
}

# ---- every comparison of every type, with its limits ----

my %values = (
	i2 => [ -32768, -1, 0, 5, 32767 ],
	i4 => [ -2147483648, -5, 0, 7, 2147483647 ],
	i8 => [ '(-9223372036854775808)', -5, 0, 7, '9223372036854775807' ],
	d => [ map { "date '$_'" } '-infinity', '2026-01-01', '2026-01-20', 'infinity' ],
	ts => [ map { "timestamp '$_'" } '-infinity', '2026-01-01 00:00:01', '2026-01-01 12:00:01', 'infinity' ],
	tz => [ map { "timestamptz '$_'" } '-infinity', '2000-01-01', '2000-01-01 12:00:00+05', 'infinity' ],
	ti => [ map { "time '$_'" } '00:00', '12:00', '24:00' ],
	b => [ 'true', 'false' ]);
for my $column (sort keys %values)
{
	my @value = @{ $values{$column} };
	my @tests = map { my $value = $_; map { "$column $_ $value" } qw(= <> < <= > >=) } @value;

	push @tests, "$value[0] < $column", "$column BETWEEN $value[1] AND $value[-1]", "NOT ($column BETWEEN $value[0] AND $value[1])",
		"$column IN ($value[0], $value[-1])", "$column NOT IN ($value[0], $value[1])", "$column NOT IN ($value[0], NULL)", "$column = NULL",
		"$column IS NULL", "$column IS NOT NULL", "$column = ANY (ARRAY[$value[1], NULL])", "$column IS NULL AND full_ < 50";
	same($column, map { "WHERE $_" } @tests);
}
same('booleans', map { "WHERE $_" } 'b', 'NOT b', 'b IS TRUE', 'b IS FALSE', 'b AND full_ = 2');
same('integers of other widths', map { "WHERE $_" } 'i2 < 70000', 'i4 > (-9223372036854775808)', 'i4 <> 9223372036854775807', 'i8 < 5::smallint', 'i2 IN (1, 100000)');
same('floats', map { "WHERE $_" } 'f < 5', 'i4 < 5 AND f > 3', q{f = 'NaN'}, q{f < 'NaN'}, 'f >= 0', 'f <= -0.0', 'f = 3::real', q{f IN (1, 'Infinity')});
same('NULLs of other types', map { "WHERE $_" } 't IS NULL', 't IS NOT NULL', 'f IS NOT NULL AND i4 < 5');
same('several columns', map { "WHERE $_" } 'i4 < 10 AND i8 > 0', 'i2 = 5 AND d IS NOT NULL AND full_ BETWEEN 10 AND 60', 'k < 20000 AND k > 5 AND full_ <> 7',
	'i2 = 5 AND i4 > -5 AND i8 > -5 AND d > date \'2026-01-02\' AND ts IS NOT NULL AND tz IS NOT NULL AND b');
same('all and none', map { "WHERE $_" } 'full_ >= 0', 'full_ < 0', 'full_ < -2147483648', 'full_ = 5 AND full_ = 6', q{full_ <> ALL ('{}')}, q{i4 <> ALL ('{}')}, q{full_ = ANY ('{}')});
same('values that are computed', map { "WHERE $_" } q{d >= date '2026-01-10' - 5}, q{ts < timestamp '2026-01-02' + interval '1 hour'}, 'i4 < (SELECT max(full_) / 20 FROM c WHERE f < 5)',
	'tz > now() - interval \'100 years\'');

# ---- keys of every type, with NULLs among them ----

for my $column (qw(i2 i4 i8 d ts tz ti b t f))
{
	my @queries = map { "SELECT md5(qsketch_agg($column)::text), md5(qsketch_agg($column, qsketch_new('warp', '64kB'))::text) FROM c $_" } '', 'WHERE full_ < 30', "WHERE $column IS NOT NULL AND full_ <> 3";

	is_deeply(answers($node, '', @queries), answers($node, $ordinary, @queries), "keys of $column");
	like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS off, TIMING off) $queries[1]"), qr/ Pages: 0\n.*Pages from Cached Columns: $pages/s, "keys of $column: no page is read");
}

# ---- FILTERs ----

my $filters = q{SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(k) FILTER (WHERE i4 < 5)::text), md5(qsketch_agg(i8) FILTER (WHERE i4 < 5)::text),
	md5(qsketch_agg(t, qsketch_new('thread', '32kB')) FILTER (WHERE d > '2026-01-20' AND b)::text), qsketch_agg(k) FILTER (WHERE full_ < 0) IS NULL FROM c};
for my $where ('', ' WHERE full_ < 70', ' WHERE i8 IS NOT NULL AND full_ <> 5')
{
	is_deeply(answers($node, '', "$filters$where"), answers($node, $ordinary, "$filters$where"), "FILTERs$where");
	like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS off, TIMING off) $filters$where"), qr/ Pages: 0\n.*Pages from Cached Columns: $pages/s, "FILTERs$where: no page is read");
}

# ---- parameters, rescans, small and explicit sketches ----

for my $mode (qw(force_generic_plan force_custom_plan))
{
	my @calls = map { "EXECUTE p($_)" } "5, '2026-01-10', '{1,2,3}'", "-2147483648, 'infinity', '{}'", "NULL, '2026-01-10', '{1}'", "30, NULL, '{1}'", "30, '-infinity', NULL", "99, '2026-01-15', '{5,NULL,7}'",
		"99, '2026-01-15', '{" . join(',', 1 .. 128) . "}'", "99, '2026-01-15', '{" . join(',', 1 .. 129) . "}'";
	my $prepare = "SET plan_cache_mode = $mode; PREPARE p(int, date, int[]) AS SELECT coalesce(md5(qsketch_agg(k)::text), 'none') FROM c WHERE full_ < \$1 AND d >= \$2 AND i4 = ANY (\$3);";

	is_deeply(answers($node, $prepare, @calls), answers($node, "$ordinary $prepare", @calls), "parameters, $mode");
	like($node->safe_psql('postgres', "$prepare EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off) $calls[-1]"), qr/Cached Columns Not Used: too many conditions\n/, "a long list, $mode");
	like($node->safe_psql('postgres', "$prepare EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off) $calls[-2]"), qr/Pages from Cached Columns: $pages\n/, "a list that just fits, $mode");
}
my @rescans = map { "SELECT string_agg(coalesce(md5(q::text), 'none'), ',' ORDER BY x) FROM generate_series(-10, 30) AS x, LATERAL (SELECT qsketch_agg(k) AS q FROM c WHERE $_) AS y" }
	'i4 = x', 'i4 < x AND full_ > x', 'i8 IN (x, x + 1)';
is_deeply(answers($node, '', @rescans), answers($node, $ordinary, @rescans), 'rescans');
@rescans = map { "SELECT coalesce(md5(qsketch_agg(k)::text), 'none'), (qsketch_info(qsketch_agg(k))).form FROM c WHERE k < $_" } 1, 2, 3, 10, 100, 500, 1000, 2000, 5000;
is_deeply(answers($node, '', @rescans), answers($node, $ordinary, @rescans), 'few distinct keys pass');
my $most = join ' AND ', map { "k <> $_" } 1 .. 16;
same('as many conditions as there can be', "WHERE $most");
like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off) SELECT qsketch_agg(k) FROM c WHERE $most AND k <> 17"), qr/Cached Columns Not Used: too many conditions\n/, 'one more is too many');
like($node->safe_psql('postgres', q{EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off) SELECT qsketch_agg(k) FROM c
	WHERE i2 = 5 AND i4 > -5 AND i8 > -5 AND d IS NOT NULL AND ts IS NOT NULL AND tz IS NOT NULL AND b AND full_ > 5}), qr/Cached Columns Not Used: too many conditions\n/, 'and so are tests of 8 columns');

# ---- GROUP BY ----

sub grouped
{
	my ($name, $group, $rest, $settings) = @_;
	my $query = "SELECT $group AS g, qsketch_agg(k) AS a, qsketch_agg(i8, qsketch_new('warp', '32kB')) FILTER (WHERE full_ < 40) AS b FROM $rest GROUP BY $group";
	my $all = "SELECT g, coalesce(md5(a::text), 'none'), coalesce(md5(b::text), 'none') FROM ($query) AS x ORDER BY g";

	is_deeply(answers($node, $settings // '', $all), answers($node, $ordinary, $all), "$name: the same");
	return $node->safe_psql('postgres', ($settings // '') . "EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off) $query");
}
for my $group (qw(i2 i4 i8 d ts tz))
{
	like(grouped("GROUP BY $group", $group, 'c'), qr/ Groups: \d+\n.* Pages: 0\n.*Pages from Cached Columns: $pages\n/s, "GROUP BY $group: no page is read");
	like(grouped("GROUP BY $group, conditions", $group, 'c WHERE i4 < 20 AND full_ > 5'), qr/Pages from Cached Columns: $pages\n/, "GROUP BY $group, conditions: nor here");
}
like(grouped('GROUP BY the column of WHERE', 'd', q{c WHERE d BETWEEN '2026-01-05' AND '2026-01-20'}), qr/ Groups: 16\n.*Pages from Cached Columns: $pages\n/s, 'groups that WHERE leaves');
like(grouped('GROUP BY NULL alone', 'i4', 'c WHERE i4 IS NULL'), qr/ Groups: 1\n.*Pages from Cached Columns: $pages\n/s, 'NULL is a group');
like(grouped('GROUP BY without NULL', 'i4', 'c WHERE i4 IS NOT NULL'), qr/ Groups: 34\n.*Pages from Cached Columns: $pages\n/s, 'which may be missing');
like(grouped('GROUP BY of no rows', 'i4', 'c WHERE full_ < 0'), qr/ Groups: 0\n.*Pages from Cached Columns: $pages\n/s, 'no group');
like(grouped('GROUP BY many', 'k', 'c', q{SET work_mem = '256MB'; }), qr/Cached Columns Not Used: too many groups\n/, 'many groups');
$node->safe_psql('postgres', q{CREATE TABLE later AS SELECT i / 1000 AS g FROM generate_series(0, 6000000) AS i; VACUUM later; SELECT qsketch_gpu_load('later', '{g}')});
like($node->safe_psql('postgres', q{EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off) SELECT g, qsketch_agg(g) FROM later GROUP BY g}),
	qr/ Groups: 6001\n.*Cached Columns Not Used: too many groups\n/s, 'many groups, though few in each piece of the work');
$node->safe_psql('postgres', 'DROP TABLE later');
like(grouped('GROUP BY text', 't', 'c'), qr/Cached Columns Not Used: GROUP BY of a column that is not cached as numbers\n/, 'a group of another type');
is($node->safe_psql('postgres', q{SELECT count(*) FILTER (WHERE (qsketch_info(q)).form = 'explicit') > 1, count(*) FILTER (WHERE (qsketch_info(q)).form <> 'explicit') > 9 FROM (SELECT i4, qsketch_agg(k, qsketch_new('warp', '8kB')) AS q FROM c GROUP BY i4) AS x}),
	't|t', 'some groups stay explicit, others do not');
is_deeply(answers($node, '', $_), answers($node, $ordinary, $_), 'both together') foreach q{SELECT i4, md5(q::text) FROM (SELECT i4, qsketch_agg(k, qsketch_new('warp', '8kB')) AS q FROM c WHERE full_ <> 3 GROUP BY i4) AS x ORDER BY i4},
	q{SELECT i4, md5(q::text) FROM (SELECT i4, qsketch_agg(ts, qsketch_new('warp', '8kB')) AS q FROM c GROUP BY i4) AS x ORDER BY i4};
# while the sketch of a group is fetched, the next sketch is prepared; keys of changed pages may be added to
# it later
$node->safe_psql('postgres', q{CREATE TABLE ahead AS SELECT i % 20 AS g, i * 7919 AS k, i AS n FROM generate_series(1, 20000) AS i; VACUUM ahead; SELECT qsketch_gpu_load('ahead', '{g,k}')});
sub fetched { return $node->safe_psql('postgres', 'SELECT fetches FROM qsketch_stat_gpu') }
my $each = q{(SELECT g, qsketch_agg(k, qsketch_new('multilevel', '4kB')) AS q FROM ahead GROUP BY g) AS x};
for my $case ([ 2, "SELECT md5(q::text) FROM $each LIMIT 1" ], [ 20, "SELECT g, md5(q::text) FROM $each" ], [ 7, "SELECT g, CASE WHEN g % 5 > 3 THEN md5(q::text) END FROM $each" ])
{
	my ($before, $few) = (fetched(), $$case[0]);
	$node->safe_psql('postgres', $$case[1]);
	is(fetched() - $before, $few, "$few sketches are made ready: $$case[1]");
}
my @ahead = ("SELECT g, md5(q::text) FROM $each ORDER BY g", "SELECT g, CASE WHEN g % 5 > 3 THEN md5(q::text) END FROM $each ORDER BY g",
	"SELECT md5(qsketch_merge_agg(q)::text) FROM $each", "SELECT g, md5(q::text) FROM $each WHERE qsketch_total(q) > 0 AND g > 11 ORDER BY g",
	"SELECT a.g, md5((a.q || b.q)::text) FROM $each JOIN (SELECT g, qsketch_agg(n, qsketch_new('multilevel', '4kB')) AS q FROM ahead GROUP BY g) AS b USING (g) ORDER BY 1" =~ s/AS x JOIN/AS a JOIN/r);
is_deeply(answers($node, '', @ahead), answers($node, $ordinary, @ahead), 'sketches that were made ready');
$node->safe_psql('postgres', 'UPDATE ahead SET k = -k WHERE n % 500 < 20');
is_deeply(answers($node, '', @ahead), answers($node, $ordinary, @ahead), 'and get keys of changed pages then');
$node->safe_psql('postgres', 'DROP TABLE ahead');
my $little = q{SET work_mem = '64kB'; SET hash_mem_multiplier = 1;};
like(grouped('GROUP BY, little memory', 'd', 'c', $little), qr/Pages from Cached Columns: $pages\n/, 'sketches on a GPU take no work_mem');
my $prepared = q{SET plan_cache_mode = force_generic_plan; PREPARE g(int) AS SELECT d, md5(q::text) FROM (SELECT d, qsketch_agg(k) AS q FROM c WHERE i4 < $1 GROUP BY d) AS x ORDER BY d;};
my @executed = map { "EXECUTE g($_)" } 5, 'NULL', 50, -2147483648;
is_deeply(answers($node, $prepared, @executed), answers($node, "$ordinary $prepared", @executed), 'groups by a parameter');
my @scroll = ('BEGIN', 'DECLARE s SCROLL CURSOR FOR SELECT d, md5(a::text) FROM (SELECT d, qsketch_agg(k) AS a FROM c GROUP BY d ORDER BY d OFFSET 0) AS x', 'FETCH 30 s', 'FETCH BACKWARD 7 s', 'FETCH ALL s', 'COMMIT');
is_deeply(answers($node, $little, @scroll), answers($node, "$ordinary $little", @scroll), 'groups that are read twice');
@rescans = ("SELECT string_agg(coalesce(md5(q::text), 'none'), ',' ORDER BY x, d) FROM generate_series(-5, 5) AS x, LATERAL (SELECT d, qsketch_agg(k) AS q FROM c WHERE i4 < x GROUP BY d) AS y",
	"SELECT d, md5(a::text) FROM (SELECT d, qsketch_agg(k) AS a FROM c GROUP BY d ORDER BY d LIMIT 5) AS x");
is_deeply(answers($node, '', @rescans), answers($node, $ordinary, @rescans), 'rescans of groups');

# ---- what is read, and why ----

sub refused
{
	my ($condition, $reason) = @_;
	my $query = "SELECT coalesce(md5(qsketch_agg(k)::text), 'none') FROM c WHERE $condition";

	like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off) $query"), qr/Cached Columns Not Used: $reason\n/, "$condition: EXPLAIN says why");
	is_deeply(answers($node, '', $query), answers($node, $ordinary, $query), "$condition: the same");
}
refused($_, 'a condition that is no comparison of a column of numbers') foreach q{t = 't5'}, 'i4 % 5 = 1', 'i4 < full_', 'i4 < 3 OR i4 > 30', 'b IS UNKNOWN', 'i4::text = \'5\'';
$node->safe_psql('postgres', q{CREATE TABLE coerced (k int, o oid, n int); INSERT INTO coerced SELECT i % 500, i % 90, i FROM generate_series(1, 3000) AS i; VACUUM coerced;
	SELECT qsketch_gpu_load('coerced', '{k,o}')});
like($node->safe_psql('postgres', 'EXPLAIN (ANALYZE, VERBOSE, COSTS off, TIMING off) SELECT qsketch_agg(k) FROM coerced WHERE o::int < 5'), qr/a condition on a column of a type that is not cached as numbers/,
	'an OID as an integer');
like($node->safe_psql('postgres', 'EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT qsketch_agg(k) FROM coerced WHERE n < 5'), qr/Pages from Cached Columns: 0\n/, 'a condition on a column without a copy');
like($node->safe_psql('postgres', 'SET parallel_setup_cost = 0; SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0; SET seq_page_cost = 100;
	SET parallel_leader_participation = off; SET cpu_tuple_cost = 0.001; EXPLAIN (COSTS off) SELECT qsketch_agg(k) FILTER (WHERE i4 < 7) FROM c WHERE d > \'2026-01-03\''),
	qr/^ *Custom Scan \(QSketchScan\)/, 'the planner knows that cached columns make a serial scan cheap');

# ---- cached columns of different ages ----

$node->safe_psql('postgres', q{
	CREATE TABLE ages (k bigint, n int, day date) WITH (fillfactor = 80);
	INSERT INTO ages SELECT i % 5000, CASE WHEN i % 6 > 0 THEN i END, date '2026-01-01' + i % 30 FROM generate_series(1, 20000) AS i;
	VACUUM ages});
my @ages = map { "SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(day)::text), md5(qsketch_agg(n) FILTER (WHERE k < 900)::text) FROM ages $_" }
	q{WHERE n < 9000}, q{WHERE day BETWEEN '2026-01-03' AND '2026-01-10' AND n > 500}, 'WHERE n IS NULL';
push @ages, "SELECT md5(string_agg(day || md5(q::text), ',' ORDER BY day)), 2, 3 FROM (SELECT day, qsketch_agg(k) AS q FROM ages WHERE n > 50 GROUP BY day) AS x";
sub aged
{
	is_deeply(answers($node, '', @ages), answers($node, $ordinary, @ages), "$_[0]: the same");
	return $node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS off, TIMING off) $ages[1]") =~ /Pages from Cached Columns: (\d+)/ ? $1 : -1;
}
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('ages', '{k}')});
is(aged('one column'), 0, 'one column of three is not enough');
$node->safe_psql('postgres', $_) foreach 'UPDATE ages SET day = day + 1, k = k + 1 WHERE n BETWEEN 100 AND 300', 'VACUUM ages', q{SELECT qsketch_gpu_load('ages', '{n}')};
$node->safe_psql('postgres', q{DELETE FROM ages WHERE n BETWEEN 5000 AND 5200});
$node->safe_psql('postgres', 'VACUUM ages');
$node->safe_psql('postgres', q{INSERT INTO ages SELECT i, i, date '2026-01-05' FROM generate_series(1, 300) AS i});
$node->safe_psql('postgres', 'VACUUM ages');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('ages', '{day}')});
my $some = aged('three ages');
cmp_ok($some, '>', 0, 'pages that all cached columns have are not read');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('ages', '{k,n,day}')});
cmp_ok(aged('loaded together'), '>', $some, 'and more of them when all are loaded anew');
$node->safe_psql('postgres', 'BEGIN; UPDATE ages SET n = n + 1 WHERE n % 700 = 0; ROLLBACK');
aged('an update that was rolled back');
$node->safe_psql('postgres', 'VACUUM ages');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('ages', '{n}')});
aged('loaded after it');
$node->safe_psql('postgres', q{ALTER TABLE ages ADD late int DEFAULT 7; ALTER TABLE ages ADD nothing int});
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('ages', '{late,nothing}')});
push @ages, map { "SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(late)::text), qsketch_agg(nothing) IS NULL, 3 FROM ages WHERE $_" } 'late = 7', 'nothing IS NULL', 'nothing < 5', 'late > 7';
aged('columns that were added later');

# two chunks of a table; one column is cached in only one of them
$node->safe_psql('postgres', q{
	CREATE TABLE two (k int, n int, pad text) WITH (fillfactor = 10);
	INSERT INTO two SELECT i % 9000, CASE WHEN i % 3 > 0 THEN i END, repeat('x', 800) FROM generate_series(1, 33000) AS i;
	VACUUM two;
	SELECT qsketch_gpu_load('two', '{k,n}')});
@ages = map { "SELECT coalesce(md5(qsketch_agg(k)::text), '') FROM two WHERE $_" } 'n > 32000', 'n < 40', 'n IS NULL';
is_deeply(answers($node, '', @ages), answers($node, $ordinary, @ages), 'two chunks');
$node->safe_psql('postgres', 'UPDATE two SET n = -n WHERE n IN (32671, 32672, 32674, 1, 32999)');
is_deeply(answers($node, '', @ages), answers($node, $ordinary, @ages), 'two chunks, changed at their ends');
$node->safe_psql('postgres', 'DROP TABLE two');

# ---- rights ----

$node->safe_psql('postgres', q{
	CREATE ROLE reader LOGIN; CREATE ROLE rowwise LOGIN; CREATE ROLE barred LOGIN;
	GRANT SELECT (k, full_) ON c TO reader;
	CREATE TABLE secret (k bigint, n int, owner text);
	INSERT INTO secret SELECT i % 5000, i, 'r' || i % 3 FROM generate_series(1, 20000) AS i;
	VACUUM secret;
	GRANT SELECT ON secret TO rowwise;
	ALTER TABLE secret ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON secret TO rowwise USING (n < 100);
	CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM secret WHERE n > 19000;
	GRANT SELECT ON barrier TO barred;
	SELECT qsketch_gpu_load('secret', '{k,n}')});
sub as
{
	my ($rc, $out, $err) = psql_as($node, @_);
	return $out . $err;
}
like(as('reader', 'SELECT qsketch_agg(k) FROM c WHERE i4 < 5'), qr/permission denied for table c/, 'a condition needs the right to read its column');
like(as('reader', 'SELECT qsketch_agg(k) FILTER (WHERE i4 < 5) FROM c'), qr/permission denied for table c/, 'as a FILTER does');
is(as('reader', 'SELECT (qsketch_info(qsketch_agg(k))).total FROM c WHERE full_ = 5'), '300', 'with it the cached column is used');
is(as('rowwise', 'SELECT (qsketch_info(qsketch_agg(k))).total FROM secret'), '99', 'row security');
is(as('rowwise', 'SELECT (qsketch_info(qsketch_agg(k))).total FROM secret WHERE n > 50'), '49', 'and a condition of its own');
like(as('rowwise', 'EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT qsketch_agg(k) FROM secret WHERE n > 50'), qr/ Pages: 0\n.*Pages from Cached Columns: [1-9]/s, 'from cached columns');
is(as('barred', 'SELECT (qsketch_info(qsketch_agg(k))).total FROM barrier WHERE n > 19500'), '500', 'a security barrier');
like(as('barred', 'SELECT qsketch_agg(k) FROM secret WHERE n > 19500'), qr/permission denied for table secret/, 'a cached column gives no right to read');

# ---- partitions ----

$node->safe_psql('postgres', q{
	CREATE TABLE parts (k bigint, n int, day date) PARTITION BY RANGE (n);
	CREATE TABLE p1 PARTITION OF parts FOR VALUES FROM (0) TO (10000);
	CREATE TABLE p2 (day date, n int, gone text, k bigint);
	ALTER TABLE p2 DROP gone;
	ALTER TABLE parts ATTACH PARTITION p2 FOR VALUES FROM (10000) TO (20000);
	INSERT INTO parts SELECT i % 7000, i, date '2026-01-01' + i % 9 FROM generate_series(0, 19999) AS i;
	VACUUM ANALYZE parts;
	SELECT qsketch_gpu_load(p, '{k,n,day}') FROM unnest('{p1,p2}'::regclass[]) AS p});
@ages = map { "SELECT coalesce(md5(qsketch_agg(k)::text), '') FROM parts WHERE $_" } 'n > 5000', q{day = '2026-01-04'}, q{day < '2026-01-04' AND n < 12000};
is_deeply(answers($node, '', @ages), answers($node, $ordinary, @ages), 'partitions');
like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS off, TIMING off) $ages[1]"), qr/ Pages: 0\n.*Pages from Cached Columns: [1-9].* Pages: 0\n.*Pages from Cached Columns: [1-9]/s, 'partitions from cached columns');

@ages = map { "SELECT md5(string_agg(day || md5(q::text), ',' ORDER BY day)) FROM (SELECT day, qsketch_agg(k) AS q FROM parts WHERE $_ GROUP BY day) AS x" } 'n >= 0', 'n BETWEEN 9000 AND 11000', 'k < 3';
is_deeply(answers($node, '', @ages), answers($node, $ordinary, @ages), 'groups of partitions');
@ages = map { "SELECT string_agg(md5(q::text), ',' ORDER BY x.*) FROM (SELECT qsketch_agg(k) AS q, $_) AS x" } 'd, b FROM c GROUP BY d, b', 'd + 1 AS e FROM c WHERE d IS NOT NULL AND isfinite(d) GROUP BY d + 1', 'i4 FROM c GROUP BY i4 HAVING i4 < 5',
	'i4 FROM c GROUP BY i4 HAVING qsketch_total(qsketch_agg(k)) > 500', 'd, count(*) FROM c GROUP BY d';
is_deeply(answers($node, '', @ages), answers($node, $ordinary, @ages), 'other groups');

# ---- the worker loses chunks, has no memory, or fails; cancel ----

my $query = q{SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(d) FILTER (WHERE i8 > 0)::text),
	(SELECT md5(string_agg(md5(q::text), ',' ORDER BY i2)) FROM (SELECT i2, qsketch_agg(k) AS q FROM c GROUP BY i2) AS x) FROM c WHERE i4 < 20};
my $right = $node->safe_psql('postgres', "$ordinary $query");
foreach my $fault (qw(memory spill none))
{
	set_fault($node, $fault);
	is($node->safe_psql('postgres', $query), $right, "fault $fault: the same");
}
SKIP:
{
	skip 'no test module', 4 unless can_pause($node);
	for my $race ("SELECT qsketch_gpu_load('c', '{i4}')", q{SELECT qsketch_gpu_unload('c')})
	{
		during_scan($node, "chunks go, $race", 1, $query, $right, 'UPDATE c SET k = k WHERE full_ = 3 AND i4 = 4', 'VACUUM c', $race);
	}
}
$node->safe_psql('postgres', "SELECT qsketch_gpu_load('c', '$columns')");
set_fault($node, 'slow');
cancelled_or_right($node, $query, $right);
set_fault($node, 'none');
settled($node, 'conditions');
set_fault($node, 'error');
my ($rc, $out, $err) = $node->psql('postgres', $query);
like($err, qr/GPU operation failed/, 'a query fails with the device');
set_fault($node, 'none');
is($node->safe_psql('postgres', $query), $right, 'later ones read');
settled($node, 'the end');
$node->stop;
done_testing();
