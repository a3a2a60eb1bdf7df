# The choice of qsketch.device = auto: by the size of the value, the rows, and the processes of the plan.
# Whatever each process chooses, the result has the CPU's bytes.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('choice', 'qsketch.device = auto', 'max_parallel_workers = 15', 'qsketch.filter_nonce = 5',
	'qsketch.gpu_buffer_size = 16MB', 'jit = off');
my $rows = 600_000;
$node->safe_psql('postgres', qq{
	CREATE TABLE t AS SELECT (i * 7919::bigint) % 150000 AS k, i % 4 AS g, i % 2 AS h FROM generate_series(1, $rows) AS i;
	CREATE TABLE few AS SELECT k, g FROM t LIMIT 100000;
	VACUUM ANALYZE t, few;
	-- a table of which the planner expects 100 million rows
	CREATE TABLE much AS SELECT 1::bigint AS k, 1 AS g;
	ANALYZE much;
	UPDATE pg_class SET reltuples = 1e8 WHERE oid = 'much'::regclass});

# Plans with so many processes.
sub processes
{
	my ($processes, $executor) = @_;
	my $workers = $processes - 1;

	return "SET max_parallel_workers_per_gather = $workers; SET qsketch.enable_columnscan = " . ($executor ? 'off; ' : 'on; ')
		. "SET parallel_leader_participation = on; ALTER TABLE t SET (parallel_workers = $workers); ALTER TABLE few SET (parallel_workers = $workers); ALTER TABLE much SET (parallel_workers = $workers); ";
}

# The planner's reason for not using a GPU; empty if it expects to use one.
sub reason
{
	my ($settings, $query) = @_;
	my (undef, undef, $err) = $node->psql('postgres', "$settings SET client_min_messages = debug1; EXPLAIN $query");

	return $err =~ /GPU not used: (.*)/ ? $1 : '';
}

# Returns where a value was made, after checking that the CPU makes the same.
sub device_of
{
	my ($name, $settings, $query) = @_;
	my $right = $node->safe_psql('postgres', "SET qsketch.device = cpu; SELECT md5(string_agg(x::text, '' ORDER BY x::text)) FROM ($query) AS q (x)");
	my $before = gpu_count($node, 'keys');

	is($node->safe_psql('postgres', "$settings SELECT md5(string_agg(x::text, '' ORDER BY x::text)) FROM ($query) AS q (x)"), $right, "$name: the CPU's bytes");
	return gpu_count($node, 'keys') > $before ? 'gpu' : 'cpu';
}

sub chooses
{
	my ($name, $settings, $query, $reason) = @_;

	is(reason($settings, $query), $reason, "$name: the reason");
	is(device_of($name, $settings, $query), $reason ? 'cpu' : 'gpu', "$name: so it was made");
}

sub sketch
{
	my ($size, $table) = @_;
	return "SELECT qsketch_agg(k, qsketch_new('multilevel', '$size')) FROM " . ($table // 't');
}

# ---- by size and processes: 32 kB for each process, 256 kB at least ----

chooses('one process, 128 kB', processes(1), sketch('128kB'), 'one process fills a sketch of 128kB faster than a GPU');
chooses('one process, 256 kB', processes(1), sketch('256kB'), '');
chooses('2 processes, 4 MB', processes(2), sketch('4MB'), '');
is(reason(processes(8), sketch('256kB', 'much')), '', '8 processes, 256 kB');
is(reason(processes(9), sketch('256kB', 'much')), '9 processes fill a sketch of 256kB faster than a GPU', '9 processes, 256 kB');
is(reason(processes(9), sketch('288kB', 'much')), '', '9 processes, 288 kB');
chooses('16 processes, 256 kB', processes(16), sketch('256kB'), '16 processes fill a sketch of 256kB faster than a GPU');
chooses('16 processes, 512 kB', processes(16), sketch('512kB'), '');
chooses('16 processes, 4 MB', processes(16), sketch('4MB'), '');
# a process that starts late may find few rows, whose keys it counts exactly
my $plan = $node->safe_psql('postgres', processes(2) . 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' . sketch('4MB'));
like($plan, qr/QSketchScan.*Device: (cpu, )?gpu\n/s, 'EXPLAIN says where it was made');
$plan = $node->safe_psql('postgres', processes(16) . 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' . sketch('256kB'));
like($plan, qr/QSketchScan.*Device: cpu\n/s, 'and so of one that stays on the CPU');

# the leader may not take part
is(reason(processes(16) . 'SET parallel_leader_participation = off;', sketch('480kB', 'much')), '', '15 workers alone, 480 kB');

# from the executor, processes send a third
is(reason(processes(30, 1), sketch('256kB', 'much')), '30 processes fill a sketch of 256kB faster than a GPU', '30 processes, executor, 256 kB');
is(reason(processes(24, 1), sketch('256kB', 'much')), '', '24 processes, executor, 256 kB');
chooses('4 processes, executor, 128 kB', processes(4, 1), sketch('128kB'), '4 processes fill a sketch of 128kB faster than a GPU');
chooses('4 processes, executor, 4 MB', processes(4, 1), sketch('4MB'), '');
chooses('one process, executor, 256 kB', processes(1, 1), sketch('256kB'), '');

# ---- who knows better ----

chooses('gpu_min_size', processes(16) . "SET qsketch.gpu_min_size = '8MB';", sketch('4MB'), 'the sketch is smaller than qsketch.gpu_min_size allows');
chooses('gpu_min_size, small', processes(1) . "SET qsketch.gpu_min_size = '64kB';", sketch('64kB'), '');
is($node->safe_psql('postgres', 'SHOW qsketch.gpu_min_size'), '-1', 'by default the rule decides');

# ---- by rows ----

is(reason(processes(4), sketch('512kB', 'few')), 'a GPU does not pay for the expected 100000 rows in a sketch of 512kB', 'too few for all processes');
chooses('few rows', processes(1), sketch('1MB', 'few'), 'a GPU does not pay for the expected 100000 rows in a sketch of 1MB');
chooses('few rows for a large sketch', processes(1), sketch('64MB'), 'a GPU does not pay for the expected 600000 rows in a sketch of 64MB');
is(reason(processes(4, 1), sketch('64MB')), '', 'enough for several processes, which the CPU would have to merge');
chooses('rows that a condition leaves', processes(1), sketch('4MB') . ' WHERE g = 1', 'a GPU does not pay for the expected ' . expected('g = 1') . ' rows in a sketch of 4MB');
# the planner expects 1000 rows of this function: more move the sketch later
$node->safe_psql('postgres', q{CREATE FUNCTION many() RETURNS SETOF bigint LANGUAGE sql STABLE ROWS 1000 AS $$ SELECT k FROM t $$});
is(device_of('more rows than expected', processes(1), 'SELECT qsketch_agg(k, qsketch_new(\'multilevel\', \'4MB\')) FROM (SELECT * FROM many() AS k OFFSET 0) AS m'), 'gpu', 'more rows than expected: it moves later');

# ---- groups: the rows of one of them ----

my $grouped = sub { "SELECT qsketch_agg(k, qsketch_new('multilevel', '$_[1]')) FROM t GROUP BY $_[0]" };
chooses('groups of few rows', processes(1), $grouped->('g', '16MB'), 'a GPU does not pay for the expected 150000 rows in a sketch of 16MB');
chooses('groups of many rows', processes(1), $grouped->('h', '16MB'), '');
chooses('groups that have enough rows together', processes(1), $grouped->('g', '4MB'), '');

# keys of many groups are kept for the CPU
is(device_of('many groups', processes(1), 'SELECT qsketch_agg(k) FROM t GROUP BY k % 500'), 'cpu', 'many groups: so they were made');

# also if more keys come than are expected; if they are expected, small sketches move, too
$node->safe_psql('postgres', q{CREATE TABLE more AS SELECT * FROM t; ANALYZE more; UPDATE pg_class SET reltuples = 1000 WHERE oid = 'more'::regclass});
foreach my $table ('more', 't')
{
	my $groups = "(SELECT h, qsketch_agg(k, qsketch_new('multilevel', '1MB')) AS sk FROM $table GROUP BY h) AS g";
	my $query = "SELECT string_agg(md5(sk::text), ',' ORDER BY h) FROM $groups";

	is($node->safe_psql('postgres', processes(1) . $query), $node->safe_psql('postgres', 'SET qsketch.device = cpu; ' . processes(1) . $query),
		"groups of $table: the same bytes");
	is(device_of("groups of $table", processes(1), "SELECT qsketch_agg(k, qsketch_new('multilevel', '1MB')) FROM $table GROUP BY h"), $table eq 't' ? 'gpu' : 'cpu',
		"groups of $table: so they were made");
}

# ---- filters ----

my $filter = sub { 'SELECT qfilter_row_agg(k, k, qfilter_new_bloom(' . shift() . ')) FROM t' };
my $bloom = sub { "SELECT qfilter_agg(k, qfilter_new_bloom($_[0])) FROM " . ($_[1] // 't') };
chooses('filter, one process, small', processes(1), $bloom->(20000), 'one process fills a filter of 25kB faster than a GPU');
chooses('filter, one process, large', processes(1), $bloom->(4000000), '');
chooses('filter, 4 processes', processes(4), $bloom->(1000000), '');
chooses('filter, 4 processes, few rows', processes(4), $bloom->(40000000, 'few'), 'a GPU does not pay for the expected 100000 rows in a filter of 48513kB');
chooses('filter, one process, few rows', processes(1), $bloom->(80000000), 'a GPU does not pay for the expected 600000 rows in a filter of 97025kB');
chooses('filter, gpu_min_size', processes(1) . "SET qsketch.gpu_min_size = '64MB';", $bloom->(4000000), 'the filter is smaller than qsketch.gpu_min_size allows');
is(device_of('filter, more rows than expected', processes(1), 'SELECT qfilter_agg(k, qfilter_new_bloom(4000000)) FROM (SELECT * FROM many() AS k OFFSET 0) AS m'), 'gpu', 'filter, more rows than expected: it moves later');

# ---- processes whose sketches are in different places ----

# one partition gives its process enough keys to move the sketch, the others do not
$node->safe_psql('postgres', q{
	CREATE TABLE parts (k bigint, p int) PARTITION BY LIST (p);
	CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1) WITH (parallel_workers = 0);
	CREATE TABLE part2 PARTITION OF parts FOR VALUES IN (2) WITH (parallel_workers = 0);
	CREATE TABLE part3 PARTITION OF parts FOR VALUES IN (3) WITH (parallel_workers = 0);
	INSERT INTO parts SELECT k, 1 FROM t;
	INSERT INTO parts SELECT k, 2 + g % 2 FROM few;
	VACUUM ANALYZE parts});
my $mixed = "SELECT qsketch_agg(k, qsketch_new('multilevel', '1MB')) FROM parts";
like($node->safe_psql('postgres', processes(3, 1) . "EXPLAIN (COSTS OFF) $mixed"), qr/Finalize.*Gather.*Parallel Append.* Seq Scan on part1/s, 'one process has most rows');
is(device_of('in different places', processes(3, 1), $mixed), 'gpu', 'in different places: some were on the GPU');
settled($node, 'choice');
done_testing();

sub expected
{
	my ($condition) = @_;
	my ($all) = $node->safe_psql('postgres', "EXPLAIN SELECT k FROM t WHERE $condition") =~ /rows=(\d+)/;
	return $all;
}
