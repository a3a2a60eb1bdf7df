# Sketches over postgres_fdw: what is computed on the other server and what is pulled, as
# docs/several-machines.md says, and that the bytes are the same.  If the environment's oldinstall names a
# server, it is the other server.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $far = PostgreSQL::Test::Cluster->new('far', $ENV{oldinstall} ? (install_path => $ENV{oldinstall}) : ());
$far->init;
$far->append_conf('postgresql.conf', "jit = off\nautovacuum = off\n");
$far->start;
plan skip_all => 'no postgres_fdw'
	unless $far->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
$far->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	CREATE TABLE rows (day date, k bigint, t text, w int);
	INSERT INTO rows SELECT date '2026-01-01' + i % 4, i % 997, 'key' || i % 100, i % 5 FROM generate_series(1, 20000) AS i;
	CREATE TABLE day1 AS SELECT * FROM rows WHERE day = '2026-01-01';
	CREATE TABLE day2 AS SELECT * FROM rows WHERE day = '2026-01-02';
	CREATE TABLE stored AS SELECT day, qsketch_agg(k) AS sk FROM rows GROUP BY day;
	CREATE TABLE mixed AS SELECT sk FROM stored UNION ALL SELECT qsketch_new(size => '64kB');
	CREATE VIEW built AS SELECT day, qsketch_agg(k) AS sk FROM rows GROUP BY day;
	ANALYZE;
});

my $near = PostgreSQL::Test::Cluster->new('near');
my ($host, $port) = ($far->host, $far->port);
my $columns = '(day date, k bigint, t text, w int)';
$near->init;
$near->append_conf('postgresql.conf', "jit = off\nautovacuum = off\nmax_parallel_workers_per_gather = 0\n");
$near->start;
$near->safe_psql('postgres', qq{
	CREATE EXTENSION postgres_fdw;
	CREATE EXTENSION qsketch;
	CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'qsketch', async_capable 'true');
	CREATE SERVER plain FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far;
	CREATE USER MAPPING FOR CURRENT_USER SERVER plain;
	CREATE FOREIGN TABLE rows $columns SERVER far;
	CREATE FOREIGN TABLE plain_rows $columns SERVER plain OPTIONS (table_name 'rows');
	CREATE FOREIGN TABLE stored (day date, sk qsketch) SERVER far;
	CREATE FOREIGN TABLE mixed (sk qsketch) SERVER far;
	CREATE FOREIGN TABLE built (day date, sk qsketch) SERVER far;
	CREATE TABLE days $columns PARTITION BY LIST (day);
	CREATE FOREIGN TABLE day1 PARTITION OF days FOR VALUES IN ('2026-01-01') SERVER far;
	CREATE FOREIGN TABLE day2 PARTITION OF days FOR VALUES IN ('2026-01-02') SERVER far;
});

my $by_day = 'SET enable_partitionwise_aggregate = on;';

sub remote_sql
{
	my ($query, $settings) = @_;
	my $plan = $near->safe_psql('postgres', ($settings // '') . "EXPLAIN (VERBOSE, COSTS OFF) $query");
	return ($plan, join("\n", $plan =~ /Remote SQL: (.*)/g));
}

# Checks that the other server gets a query with this pattern, and that the result is the other server's own.
sub ships
{
	my ($name, $query, $pattern, %more) = @_;
	my ($plan, $sql) = remote_sql($query, $more{settings});

	like($sql, $pattern, "$name: asked for") or diag($plan);
	is($near->safe_psql('postgres', ($more{settings} // '') . $query),
		$far->safe_psql('postgres', $more{there} // $query), "$name: the same");
}

my $small = "qsketch_new('multilevel', '64kB')";
ships('aggregate', 'SELECT qsketch_agg(k)::text FROM rows', qr/qsketch_agg\(k\)/);
ships('text', 'SELECT qsketch_agg(t)::text FROM rows', qr/qsketch_agg\(t\)/);
ships('template', "SELECT qsketch_agg(k, $small)::text FROM rows", qr/qsketch_agg\(k, /);
ships('weight', 'SELECT qsketch_agg(k, w)::text FROM rows', qr/qsketch_agg\(k, /);
ships('FILTER', 'SELECT (qsketch_agg(k) FILTER (WHERE w < 3))::text FROM rows', qr/qsketch_agg\(k\) FILTER/);
ships('groups', 'SELECT day, qsketch_agg(k)::text FROM rows GROUP BY day ORDER BY day', qr/qsketch_agg\(k\).*GROUP BY/);
ships('estimate of an aggregate', 'SELECT qsketch_estimate(qsketch_agg(k), 42) FROM rows', qr/qsketch_agg\(k\)/);
ships('top keys', 'SELECT qtop_agg(k, 20)::text FROM rows', qr/qtop_agg\(k, '?20'?(::bigint)?\)/);
ships('top keys by weight', 'SELECT qtop_agg(k, 3::bigint, 20)::text FROM rows', qr/qtop_agg\(k, '?3'?(::bigint)?, 20\)/);
ships('filter', 'SELECT qfilter_row_agg(k, w::bigint, qfilter_new(1000, 10))::text FROM rows', qr/qfilter_row_agg\(k, /);
ships('sets', 'SELECT qsets_agg(w::bigint, k)::text FROM rows', qr/qsets_agg\(/);
ships('merging', 'SELECT qsketch_merge_agg(sk)::text FROM stored', qr/qsketch_merge_agg\(sk\)/);
ships('a condition', 'SELECT day FROM stored WHERE qsketch_estimate(sk, 42::bigint) > 0 ORDER BY day', qr/WHERE.*qsketch_estimate/);
ships('estimates in an aggregate', 'SELECT sum(qsketch_estimate(sk, 42::bigint)) FROM stored', qr/sum\(.*qsketch_estimate/);
ships('a view', "SELECT qsketch_merge_agg(sk)::text FROM built WHERE day < '2026-01-03'", qr/qsketch_merge_agg\(sk\).*WHERE/);

# Calls that are not computed on the other server.
my ($plan, $sql) = remote_sql('SELECT qsketch_estimate(sk, 42::bigint) FROM stored');
like($sql, qr/^SELECT sk FROM/, 'an estimate in the list is computed here, of sketches that are pulled');
($plan, $sql) = remote_sql('SELECT qsketch_agg(k) FROM plain_rows');
like($sql, qr/^SELECT k FROM/, "without \"extensions 'qsketch'\" rows are pulled");
($plan, $sql) = remote_sql('SELECT qsketch_agg(k) FROM days', $by_day);
unlike($sql, qr/qsketch_agg/, 'one aggregate over foreign partitions pulls rows');

# Grouped by the partition key below a merge, each partition is a query of its own.
my $merged = 'SELECT qsketch_merge_agg(sk)::text FROM (SELECT day, qsketch_agg(k) AS sk FROM days GROUP BY day) AS d';
ships('groups of partitions', $merged, qr/qsketch_agg\(k\).*day1.*GROUP BY.*\n.*qsketch_agg\(k\).*day2.*GROUP BY/,
	settings => $by_day, there => "SELECT qsketch_agg(k)::text FROM rows WHERE day < '2026-01-03'");
($plan) = remote_sql($merged, $by_day);
like($plan, qr/Async Foreign Scan/, 'and all are asked at once');
is($near->safe_psql('postgres', 'SELECT qsketch_agg(k)::text FROM days'), $near->safe_psql('postgres', "$by_day $merged"),
	'pulled or not, the same');

# Sizes that differ are an error that names both and the remedy, there and here.
foreach my $query ('SELECT qsketch_merge_agg(sk) FROM mixed', "SELECT qsketch_merge_agg(sk) FROM (SELECT sk FROM stored UNION ALL SELECT $small) AS s")
{
	my ($code, $out, $error) = $near->psql('postgres', $query);
	like($error, qr/sketches differ: size (?:1MB and 64kB|64kB and 1MB)\nHINT:  Fold the larger one: qsketch_fold\(sketch, '64kB'\)/, $query);
}

$near->stop;
$far->stop;
done_testing();
