# Lists of top keys from cached columns: counts are exact if no page has changed, bounds always hold, and
# sketches equal those of the CPU.  The lists have all types, groups and devices, with changed rows, without
# memory, and with a GPU that fails.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('top', "qsketch.gpu_devices = '0,1,2'", 'qsketch.device = auto', 'max_parallel_workers_per_gather = 0', 'jit = off', 'fsync = off');

$node->safe_psql('postgres', TOP_WRONG);
$node->safe_psql('postgres', q{
	CREATE TABLE t (k bigint, n int, d date, ts timestamp, f float8, g int, few int, hot bigint, id int);
	INSERT INTO t SELECT (r ^ 3 * 20000)::bigint, (r ^ 4 * 9000)::int - 4500, date '2026-01-01' + (r ^ 3 * 900)::int, timestamp '2026-01-01' + (r ^ 4 * 50000)::int * interval '7 minutes',
			CASE WHEN i % 11 > 0 THEN (r ^ 3 * 4000)::int / 8.0 - 100 END, i % 400, i % 5, CASE WHEN i % 3 = 0 THEN i ELSE i % 2 END, i
		FROM (SELECT i, random() AS r FROM generate_series(1, 60000) AS i) AS x;
	CREATE TABLE parts (LIKE t) PARTITION BY HASH (id);
	CREATE TABLE p1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
	CREATE TABLE p2 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
	CREATE TABLE p3 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 2);
	INSERT INTO parts SELECT * FROM t});
$node->safe_psql('postgres', "VACUUM ANALYZE $_") foreach qw(t p1 p2 p3);
my $columns = '{k,n,d,ts,f,g,few,hot,id}';
$node->safe_psql('postgres', "SELECT qsketch_gpu_load('t', '$columns')");
load_spread($node, $_, $columns) foreach qw(p1 p2 p3);

my $small = q{qsketch_new('multilevel', '8kB')};

# The queries; all pages are from cached columns, if "copied" is true.
sub right
{
	my ($name, %of) = @_;
	my ($table, $key, $type, $by, $rows, $filter, $n, $template) =
	  ($of{table} // 't', $of{key} // 'k', $of{type} // 'bigint', $of{by} // '0', $of{where} // '', $of{filter} // 'true', $of{n} // 10, $of{template} // $small);
	my $group = $by eq '0' ? '' : "GROUP BY $by";
	my $beside = $of{beside} // '';
	my $settings = $of{settings} // '';

	is($node->safe_psql('postgres', "$settings; SELECT top_wrong('$table', '$key', '$type', '$by', \$\$$template\$\$, '$rows', '$filter', $n, '$beside')"), '', $name);
	return if !defined $of{copied};
	my @pages = copied_pages($node, "SELECT qtop_agg($key, $n, $template)$beside FROM $table $rows $group", $settings);
	$of{copied} ? cmp_ok($pages[0], '>', 0, "$name: pages from cached columns") : cmp_ok($pages[0], '<=', 0, "$name: pages are read");
	is($pages[1], 0, "$name: no page is read") if $of{copied} && $of{copied} > 1;
}

# ---- exact counts ----

foreach ([ 'k', 'bigint' ], [ 'n', 'int' ], [ 'd', 'date' ], [ 'ts', 'timestamp' ], [ 'f', 'float8' ])
{
	my ($key, $type) = @$_;

	right($key, key => $key, type => $type, copied => 2);
	my $list = $node->safe_psql('postgres', "SELECT string_agg(l::text, ' ' ORDER BY estimate DESC, key) FROM (SELECT qtop_agg($key, 6, $small) AS q FROM t) AS x, LATERAL qtop_list(q, 6, NULL::$type) AS l");
	is($list, $node->safe_psql('postgres', "SELECT string_agg(x::text, ' ' ORDER BY c DESC, k) FROM (SELECT $key AS k, count(*) AS c, count(*) FROM (SELECT * FROM t OFFSET 0) AS t WHERE $key IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 6) AS x"),
		"$key: the most frequent keys, with exact counts");
}
cmp_ok($node->safe_psql('postgres', "SELECT (qtop_info(qtop_agg(k, 100, $small))).candidates FROM t"), '>=', 100, 'there are as many candidates as keys that are wanted');

# ---- structures, sizes, few keys and many, other aggregates ----

right("$_->[0] $_->[1], depth $_->[2]", template => "qsketch_new(''$_->[0]'', ''$_->[1]'', depth => $_->[2])" =~ s/''/'/gr, n => $_->[3], copied => 2)
	foreach [ 'thread', '4kB', 3, 5 ], [ 'thread', '1MB', 1, 100 ], [ 'sub_warp', '16kB', 1, 20 ], [ 'warp', '32kB', 4, 1000 ], [ 'half_warp', '8kB', 2, 3 ], [ 'multilevel', '1MB', 3, 100000 ];
right('few distinct keys', key => 'few', type => 'int', copied => 2);
right('keys of which one is a third, and many come once', key => 'hot', n => 2, copied => 2);
right('beside other aggregates', beside => ', qsketch_agg(n), count(*), qfilter_agg(k, qfilter_new_bloom(9000)), qtop_agg(few, 3)', copied => 2);
right('WHERE and FILTER', where => 'WHERE few < 3 AND n > -4000', filter => 'g < 100', copied => 2);
right('no row', where => 'WHERE few > 90');
right('a weight', beside => ', qtop_agg(k, few, 3)', copied => 0);

foreach ('', 'GROUP BY few')
{
	my $plan = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS off) SELECT qtop_agg(k, 3, $small) FROM t $_");
	like($plan, qr/Device: gpu\n/, "the sketch stays on the GPU $_");
}

# a list that was not read yet, for each function that reads one key
foreach my $call ('qtop_has(q, k)', 'qtop_estimate(q, k)', 'qtop_bounds(q, k)')
{
	my $lists = "SELECT few, qtop_agg(k, 10, $small) AS q FROM t GROUP BY few OFFSET 0";
	my $answers = sub {
		return $node->safe_psql('postgres', "SELECT string_agg(($_[0])::text, ' ' ORDER BY few) FROM (SELECT few, 0::bigint AS k, $_[1] AS q FROM ($lists) AS x OFFSET 0) AS y");
	};
	is($answers->($call, 'q'), $answers->($call, 'q::text::qtop'), "$call as the first to read a list");
}
is($node->safe_psql('postgres', "SELECT count(*) FROM (SELECT 1 FROM t GROUP BY few HAVING qtop_has(qtop_agg(k, 10, $small), 0::bigint)) AS x"), 5, 'HAVING as the first to read a list');

# ---- groups ----

right("groups by $_", by => $_, copied => 2, n => 3) foreach 'few', 'g';
right('too many groups', by => 'd', copied => 0);
right('groups and conditions', by => 'few', where => 'WHERE k > 30', filter => 'g < 200', beside => ', qsketch_agg(n), qtop_agg(n, 2)', copied => 2);
# with several devices the sketches of all groups come to this process
my $devices = $node->safe_psql('postgres', q{SELECT count(*) FROM qsketch_gpu() WHERE state = 'ready'});
right('groups that work_mem has no memory for', by => 'g', template => q{qsketch_new('multilevel', '64kB')}, copied => $devices > 1 ? 0 : 2);
right('groups by an expression', by => 'g % 30', copied => 0);

# ---- several devices ----

right('partitions on several devices', table => 'parts', n => 50);
right('partitions, groups', table => 'parts', by => 'few', n => 5);
right('partitions, all distinct', table => 'parts', key => 'id', type => 'int', n => 5);

# Each of a million keys comes twice on one device.  Two devices have the others.
$node->safe_psql('postgres', q{
	CREATE TABLE far (k bigint, d int) PARTITION BY LIST (d);
	CREATE TABLE far1 PARTITION OF far FOR VALUES IN (1);
	CREATE TABLE far2 PARTITION OF far FOR VALUES IN (2);
	INSERT INTO far SELECT -1 - i % 1000, 1 FROM generate_series(0, 99999) AS i;
	INSERT INTO far SELECT i % 1100000, 2 FROM generate_series(1, 2200000) AS i;
	INSERT INTO far SELECT -1 - i, 2 FROM generate_series(0, 999) AS i});
$node->safe_psql('postgres', "VACUUM ANALYZE $_") foreach qw(far1 far2);
load_spread($node, $_, '{k}') foreach qw(far1 far2);
is($node->safe_psql('postgres', "SELECT count(*), min(lower), max(estimate) FROM (SELECT qtop_agg(k, 100000, $small) AS q FROM far) AS x, LATERAL qtop_list(q, 1000, NULL::bigint)"),
	'1000|101|101', 'counts of two devices are added, however many keys a device has');

# A list survives an error while it is read for the first time: it is right afterwards, or refuses to be read.
SKIP: {
	my $module = "$ENV{TESTDIR}/cancel_after.so";
	skip 'no test module', 1 unless -f $module;
	$node->safe_psql('postgres', qq{
		CREATE FUNCTION cancel_after(ms int) RETURNS void LANGUAGE c AS '$module';
		CREATE FUNCTION twice(q qtop, ms int) RETURNS text LANGUAGE plpgsql AS \$\$
		BEGIN
			PERFORM cancel_after(ms);
			BEGIN PERFORM qtop_total(q); PERFORM cancel_after(0); EXCEPTION WHEN query_canceled THEN NULL; END;
			RETURN (SELECT md5(string_agg(l::text, ' ' ORDER BY key)) FROM qtop_list(q, 1000, NULL::bigint) AS l);
		EXCEPTION WHEN query_canceled THEN RETURN NULL; WHEN OTHERS THEN RETURN SQLERRM;
		END \$\$});
	my $expected = $node->safe_psql('postgres', "SELECT twice(qtop_agg(k, 100000, $small), 10000) FROM parts");
	my @after = map { $node->safe_psql('postgres', "SELECT twice(qtop_agg(k, 100000, $small), $_) FROM parts") } 1 .. 12;
	is(join(' ', grep { $_ ne '' && $_ ne $expected && $_ !~ /incomplete/ } @after), '', 'lists whose first reading was cancelled');
}

# ---- changed rows; uncommitted ones ----

$node->safe_psql('postgres', q{UPDATE t SET k = k % 50 WHERE id < 900; DELETE FROM t WHERE id BETWEEN 20000 AND 20400; INSERT INTO t SELECT * FROM t WHERE id > 59500});
my $other = $node->background_psql('postgres');
$other->query_safe('BEGIN; UPDATE t SET k = -k WHERE id % 7000 = 0');
foreach my $workers (0, 2)
{
	right("changed rows, $workers workers", copied => 1, settings => "SET max_parallel_workers_per_gather = $workers; SET cpu_operator_cost = 1");
	right("changed rows, $workers workers, text beside", beside => ', min(d)', settings => "SET max_parallel_workers_per_gather = $workers");
	right("changed rows, $workers workers, groups", by => 'few', settings => "SET max_parallel_workers_per_gather = $workers");
}
$other->query_safe('ROLLBACK');
$other->quit;

# ---- without memory; faults ----

set_worker($node, 'qsketch.gpu_memory_limit', 3);
right('little memory', template => q{qsketch_new('multilevel', '1MB')}, n => 100);
right('little memory, groups', by => 'g', n => 100);
set_worker($node, 'qsketch.gpu_memory_limit', 0);
SKIP: {
	skip 'only emulated GPUs fail', 5 if ($ENV{QSKETCH_GPU} // 'emulate') ne 'emulate';
	foreach my $fault ('memory', 'spill')
	{
		set_fault($node, $fault);
		right("fault $fault");
		right("fault $fault, groups", by => 'few');
	}
	set_fault($node, 'none');
	right('after faults', copied => 1);
}
settled($node, 'lists of top keys');
$node->stop;
done_testing();
