# Memory: many small groups, sliding windows and long aggregations stay within their limits of memory.  The
# kernel reports the backend's peak.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no /proc/self/status here'
  unless -r '/proc/self/status' && slurp_file('/proc/self/status') =~ /^VmHWM:/m;

my $node = PostgreSQL::Test::Cluster->new('memory');
$node->init;
$node->append_conf('postgresql.conf', "shared_buffers = 16MB\njit = off\nmax_parallel_workers_per_gather = 0");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	CREATE FUNCTION peak_mb() RETURNS int LANGUAGE sql AS
	$$ SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s*(\d+)')::int / 1024 $$;
	CREATE TABLE row_of AS
	SELECT g, g + 13 * i AS k FROM generate_series(1, 100000) AS g, generate_series(1, 10) AS i;
	ANALYZE row_of;
});

# Runs one query in a new backend, and returns the backend's peak in MB.
sub peak_of
{
	my ($query) = @_;
	my @lines = split /\n/, $node->safe_psql('postgres', "$query; SELECT peak_mb()");

	return $lines[-1];
}

my $baseline = peak_of('SELECT qsketch_total(qsketch_new())');
note "a backend alone: $baseline MB";

sub peak_below
{
	my ($limit, $name, $query) = @_;
	my $peak = peak_of($query);

	note "$name: $peak MB";
	cmp_ok($peak, '<', $limit, "$name: below $limit MB");
}

my $groups = 'SELECT g, qsketch_agg(k) AS s FROM row_of GROUP BY g';
peak_below(400, '100,000 groups of 10 rows, hashed',
	"SET work_mem = '2GB'; SELECT count(*), sum(qsketch_total(s)) FROM ($groups) AS g");
peak_below($baseline + 50, '100,000 groups of 10 rows, spilled by the ordinary plan',
	q{SET qsketch.enable_columnscan = off; SET work_mem = '4MB'; SET enable_sort = off;}
	  . "SELECT count(*), sum(qsketch_total(s)) FROM ($groups) AS g");
peak_below($baseline + 50, '100,000 groups of 10 rows, spilled', q{SET work_mem = '4MB'; SET enable_sort = off;}
	  . "SELECT count(*), sum(qsketch_total(s)) FROM ($groups) AS g");
peak_below($baseline + 50, '100,000 groups of 10 rows, sorted', q{SET qsketch.enable_columnscan = off; SET enable_hashagg = off;}
	  . "SELECT count(*), sum(qsketch_total(s)) FROM ($groups) AS g");

# Two long strings in each row are stored out of line, and are read one at a time.
$node->safe_psql('postgres', q{
	CREATE TABLE long AS SELECT i AS k, l.a, l.a AS b FROM generate_series(1, 50) AS i,
		(SELECT string_agg(md5(i::text), '') AS a FROM generate_series(1, 60000) AS i) AS l;
	VACUUM ANALYZE long});
peak_below($baseline + 50, 'the least and the greatest of long strings', q{SELECT qsketch_agg(k), length(min(a)), length(max(b)) FROM long});
peak_below($baseline + 50, 'and in groups', q{SELECT k % 2, qsketch_agg(k), length(min(a)), length(max(b)) FROM long GROUP BY 1});

# The filters of groups are all explicit, or all dense.
my $filters = 'SELECT g, qfilter_agg(k, qfilter_new(100000, 100)) AS f FROM filtered GROUP BY g';
$node->safe_psql('postgres', q{
	CREATE TABLE filtered AS SELECT i % 10000 AS g, i AS k FROM generate_series(1, 1000000) AS i;
	ANALYZE filtered;
	CREATE TABLE twohundred AS SELECT i % 200 AS g, i AS k FROM generate_series(1, 1000000) AS i;
	ANALYZE twohundred;
});
peak_below($baseline + 50, '10,000 groups of 100 rows, filters, hashed', q{SET work_mem = '4MB'; SET enable_sort = off;}
	  . "SELECT count(*), sum(qfilter_fill(f)) FROM ($filters) AS g");
peak_below($baseline + 50, '10,000 groups of 100 rows, filters, sorted', q{SET qsketch.enable_columnscan = off; SET work_mem = '4MB'; SET enable_hashagg = off;}
	  . "SELECT count(*), sum(qfilter_fill(f)) FROM ($filters) AS g");
$filters = 'SELECT g, qfilter_agg(k, qfilter_new_bloom(1000000)) AS f FROM twohundred GROUP BY g';
peak_below($baseline + 70, '200 groups of 5,000 keys, dense Bloom filters, hashed', q{SET work_mem = '4MB'; SET enable_sort = off;}
	  . "SELECT count(*), sum(qfilter_fill(f)) FROM ($filters) AS g");

# Both by the column scan and by the ordinary plan.
my $ordinary = 'SET qsketch.enable_columnscan = off;';

# Groups become dense and large after all groups were created.  Only few dense groups may be in memory at a
# time, and EXPLAIN must show their memory.
$node->safe_psql('postgres', q{
	CREATE TABLE interleaved AS SELECT i % 500 AS g, i AS k FROM generate_series(1, 500 * 2500) AS i;
	ANALYZE interleaved;
});
for my $structure ('sub_warp', 'multilevel')
{
	my $dense = "SELECT g, qsketch_agg(k, qsketch_new('$structure', '1MB')) AS s FROM interleaved GROUP BY g";

	peak_below($baseline + 50, "500 groups of 2,500 keys, $structure, hashed", q{SET work_mem = '4MB';
		SET enable_sort = off;} . "SELECT count(*), sum(qsketch_total(s)) FROM ($dense) AS g");
	peak_below($baseline + 50, "500 groups of 2,500 keys, $structure, hashed by the ordinary plan", $ordinary . q{SET work_mem = '4MB';
		SET enable_sort = off;} . "SELECT count(*), sum(qsketch_total(s)) FROM ($dense) AS g");
	my ($told) = $node->safe_psql('postgres', q{SET work_mem = '1GB'; SET enable_sort = off; } . $ordinary
		  . "EXPLAIN (ANALYZE, TIMING OFF) SELECT sum(qsketch_total(s)) FROM ($dense) AS g") =~
	  /HashAggregate.*Batches: 1  Memory Usage: (\d+)kB/s;
	cmp_ok($told // 0, '>', 500 * 1024, "$structure: 500 sketches of 1 MB are accounted for");
}
# Each group has one key too many to be explicit, and the planner expects fewer keys.  A sketch is dense
# before the next group begins, so the executor keeps only groups that fit into memory.
$node->safe_psql('postgres', q{
	CREATE TABLE ordered (g int, k int);
	ALTER TABLE ordered ALTER COLUMN k SET (n_distinct = 10);
	INSERT INTO ordered SELECT i / 2049, i % 2049 FROM generate_series(0, 500 * 2049 - 1) AS i;
	ANALYZE ordered;
});
for my $plan ('', $ordinary)
{
	peak_below($baseline + 100, "500 groups of 2,049 keys, one after the other $plan", $plan . q{SET work_mem = '4MB';
		SET enable_sort = off; SELECT count(*), sum(qsketch_total(s))
		FROM (SELECT g, qsketch_agg(k) AS s FROM ordered GROUP BY g) AS g});
}

peak_below($baseline + 50, 'merging 100,000 sketches',
	"CREATE TEMP TABLE s AS $groups; SELECT qsketch_total(qsketch_merge_agg(s)) FROM s");
peak_below($baseline + 50, 'a sliding window over 300,000 rows', q{
	SELECT sum(t) FROM (SELECT qsketch_total(qsketch_agg(k) OVER (ROWS 20 PRECEDING)) AS t
		FROM row_of LIMIT 300000) AS w});
peak_below($baseline + 50, 'a sliding window of merges', q{
	SELECT sum(t) FROM (SELECT qsketch_total(qsketch_merge_agg(qsketch_add(qsketch_new(), k))
		OVER (ROWS 20 PRECEDING)) AS t FROM row_of LIMIT 300000) AS w});
peak_below($baseline + 50, 'windows whose frame is emptied again and again', q{
	SELECT sum(t) FROM (SELECT qsketch_total(qsketch_agg(CASE WHEN k % 3 = 0 THEN k END)
		OVER (ROWS 1 PRECEDING)) AS t FROM row_of LIMIT 300000) AS w});
peak_below($baseline + 50, 'negative weights, read in each row of a window', q{
	SELECT sum(t) FROM (SELECT qsketch_total(qsketch_agg(k % 10, CASE WHEN i % 2 = 0 THEN 2 ELSE -1 END)
		OVER (ORDER BY i)) AS t
		FROM (SELECT (i / 2) AS k, i FROM generate_series(0, 20000) AS i) AS r) AS w});
peak_below($baseline + 50, 'a million estimates of text keys', q{
	CREATE TEMP TABLE t AS SELECT qsketch_agg(k::text) AS sk FROM row_of;
	SELECT sum(qsketch_estimate(sk, k::text)) FROM row_of, t});
peak_below($baseline + 50, 'a million rows of long text keys', q{
	SELECT qsketch_total(qsketch_agg(repeat(k::text, 300))) FROM row_of});
peak_below($baseline + 50, 'estimates of 2,000 stored sketches', q{
	CREATE TEMP TABLE t AS SELECT k % 200 AS n, qsketch_agg(k, qsketch_new(size => '64kB')) AS sk
		FROM row_of GROUP BY k % 200;
	SELECT sum(qsketch_estimate(sk, i)), sum(qsketch_error(sk)) FROM t, generate_series(1, 10) AS i});
peak_below($baseline + 50, 'adding 20,000 keys one by one', q{
	DO $$ DECLARE sk qsketch := qsketch_new(size => '16kB'); BEGIN
		FOR i IN 1 .. 20000 LOOP sk := qsketch_add(sk, i); END LOOP; END $$});
peak_below($baseline + 150, 'one sketch of 64 MB', q{
	SELECT qsketch_total(qsketch_agg(k, qsketch_new(size => '64MB'))) FROM row_of});

# All pairs of 100,000 sets: each process allocates only the counters of one row, and never a
# matrix.
my $alike = q{SELECT count(*) FROM (SELECT qsets_agg(s, (s / 2)::bigint * 131 + e * (7 + s % 2 * 7 * (e / 95))) AS q
	FROM generate_series(1, 100000) AS s, generate_series(1, 100) AS e) AS c, qsets_pairs(q, min_jaccard => 0.8)};
peak_below(1000, 'pairs of 100,000 sets of 100 elements', "SET work_mem = '256MB'; $alike");
peak_below(1000, 'the same by parallel workers', "SET work_mem = '256MB'; SET max_parallel_workers_per_gather = 2; $alike");

# Many pairs are returned as they are found, or are kept in a tuple store where that is necessary.
my $many = 'SELECT count(*) FROM (SELECT qsets_agg(s, e) AS q FROM generate_series(1, 3000) AS s, generate_series(1, 5) AS e) AS c, qsets_pairs(q)';
peak_below($baseline + 50, 'four million pairs', $many);
peak_below($baseline + 50, 'four million pairs, stored', "SET qsketch.enable_pairscan = off; SET work_mem = '4MB'; $many");
peak_below($baseline + 100, 'sets similar to 2,000 of a stored collection, one by one', q{
	CREATE TEMP TABLE c AS SELECT qsets_agg(g, k) AS q FROM row_of;
	SELECT sum(common) FROM generate_series(1, 2000) AS i, c, qsets_similar(q, i)});

$node->stop;
done_testing();
