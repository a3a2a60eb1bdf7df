# Cached columns of partitions: a query sends requests for all partitions before it waits for the
# first reply.  The result is the same as from pages, whichever pages are cached, and whatever
# happens to the requests.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

# The most pending requests of a backend.
my $held = 32;
my $partitions = 45;

my $node;

# The same answers from cached columns as by the ordinary plan.
sub same
{
	my ($name, $settings, @queries) = @_;
	my $wanted = answers($node, ORDINARY, @queries);

	is(scalar(@$wanted), scalar(@queries), "$name: there are answers");
	is_deeply(answers($node, "$settings;", @queries), $wanted, "$name: the same");
}

sub load_all
{
	$node->safe_psql('postgres', q{SELECT count(qsketch_gpu_load(inhrelid::regclass, '{k,n,few,two}')) FROM pg_inherits WHERE inhparent = 'many'::regclass});
}

# Starts a query that runs while the test watches it.
sub start
{
	my ($query) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_until(qr/started/, "\\echo started\n$query;\n");
	return $session;
}

sub becomes
{
	my ($expression, $wanted, $name) = @_;
	ok($node->poll_query_until('postgres', "SELECT $expression", $wanted), $name);
}

# Partitions: one of another order of columns, eight of few keys (from row 18000 on), one that is empty.
sub make_many
{
	$node->safe_psql('postgres', q{CREATE TABLE many (k bigint, n int, few int, two int, pad text) PARTITION BY RANGE (n)});
	for my $i (0 .. $partitions - 1)
	{
		my $range = 'FOR VALUES FROM (' . $i * 500 . ') TO (' . ($i + 1) * 500 . ')';

		$node->safe_psql('postgres', $i == 4
			? "CREATE TABLE m4 (pad text, two int, few int, gone int, n int, k bigint); ALTER TABLE m4 DROP gone; ALTER TABLE many ATTACH PARTITION m4 $range"
			: "CREATE TABLE m$i PARTITION OF many $range");
	}
	$node->safe_psql('postgres', q{
		INSERT INTO many SELECT CASE WHEN i < 18000 THEN i * 7919 % 15000 ELSE i % 10 END, i, CASE WHEN i % 7 > 0 THEN i / 300 % 40 END, i % 2, repeat('x', 50)
			FROM generate_series(0, 21999) AS i;
		VACUUM ANALYZE many});
	$node->safe_psql('postgres', "CREATE FUNCTION $_() RETURNS bigint LANGUAGE c AS '$ENV{TESTDIR}/gpu_schedule.so'") for qw(gpu_asked gpu_adding gpu_schedule);
}

my @queries = ('SELECT md5(qsketch_agg(k)::text) FROM many',
	'SELECT count(*), count(few), md5(qsketch_agg(k)::text), md5(qsketch_agg(few)::text) FROM many',
	(map { "SELECT md5(qsketch_agg(k, qsketch_new('$_', '32kB'))::text) FROM many WHERE few < 30" } qw(thread warp half_warp sub_warp multilevel)),
	q{SELECT md5(qsketch_agg(k, qsketch_new('multilevel', '2MB'))::text) FROM many},
	'SELECT md5(qsketch_agg(few)::text) FROM many', 'SELECT md5(qsketch_agg(k)::text) FROM many WHERE n >= 16000',
	'SELECT md5(qsketch_agg(k) FILTER (WHERE n BETWEEN 3000 AND 9000)::text), count(*) FILTER (WHERE few IS NULL), md5(qsketch_agg(n)::text) FROM many WHERE few > 3 OR few <= 3',
	'SELECT md5(qsketch_agg(k) FILTER (WHERE n BETWEEN 3000 AND 9000)::text), count(*) FILTER (WHERE few IS NULL), md5(qsketch_agg(n)::text) FROM many WHERE n % 1 = 0',
	'SELECT md5(qsketch_agg(k) FILTER (WHERE n BETWEEN 3000 AND 9000)::text), count(*) FILTER (WHERE few IS NULL), md5(qsketch_agg(n)::text) FROM many WHERE n <> 77',
	'SELECT md5(qfilter_agg(k, qfilter_new_bloom(20000))::text), md5(qfilter_agg(few, qfilter_new_bloom(300)) FILTER (WHERE n > 9999)::text) FROM many',
	'SELECT md5(qsets_agg(few, n)::text), md5(qsketch_agg(k)::text) FROM many WHERE n <> 8',
	"SELECT string_agg(few || md5(q::text), ',' ORDER BY few) FROM (SELECT few, qsketch_agg(k) AS q FROM many WHERE few < 20 GROUP BY few) AS x",
	# groups of all partitions, of which some get dense and others do not; with rows to be read beside, which is not done on the GPU
	"SELECT string_agg(concat(few, md5(q::text), md5(f::text)), ',' ORDER BY few) FROM (SELECT few, qsketch_agg(k, qsketch_new('warp', '8kB')) AS q, qsketch_agg(n, qsketch_new('multilevel', '8kB')) FILTER (WHERE k > 5) AS f FROM many GROUP BY few) AS x",
	"SELECT string_agg(few || md5(q::text) || c, ',' ORDER BY few) FROM (SELECT few, qsketch_agg(k, qsketch_new('sub_warp', '8kB')) AS q, count(*) AS c FROM many GROUP BY few HAVING count(*) > 400) AS x",
	# groups anew for each row, of other partitions each time; the first one or two of them only; of no partition
	"SELECT string_agg(concat(g, q), ',' ORDER BY g) FROM (SELECT g, (SELECT string_agg(few || md5(s::text), '' ORDER BY few) FROM (SELECT few, qsketch_agg(k, qsketch_new('warp', '8kB')) AS s FROM many WHERE n < g * 4500 - 9000 GROUP BY few) AS x) AS q FROM generate_series(1, 6) AS g) AS y",
	"SELECT string_agg(concat(g, q), ',' ORDER BY g) FROM (SELECT g, (SELECT md5(s::text) FROM (SELECT qsketch_agg(k, qsketch_new('warp', '8kB')) AS s FROM many WHERE n >= g * 4500 AND few = 7 GROUP BY few) AS x LIMIT 1) AS q FROM generate_series(1, 6) AS g) AS y",
	"SELECT string_agg(concat(g, q), ',' ORDER BY g) FROM (SELECT g, (SELECT count(*) FROM (SELECT FROM many WHERE n >= g * 3000 GROUP BY few HAVING qsketch_total(qsketch_agg(k, qsketch_new('warp', '8kB'))) > g * 100 LIMIT 2 + g % 2) AS x) AS q FROM generate_series(1, 8) AS g) AS y",
	# no row passes; the sketch gets dense with the last partitions; a parameter that leaves partitions out
	'SELECT md5(qsketch_agg(k)::text), count(*) FROM many WHERE few = ANY (NULL::int[])',
	'SELECT md5(qsketch_agg(n)::text), count(*) FROM many WHERE k < 10',
	'SELECT md5(qsketch_agg(k)::text), count(*) FROM many WHERE n >= (SELECT 13000)',
	# executed again and again, with and without a parameter
	"SELECT string_agg(g || md5(q::text), ',' ORDER BY g) FROM (SELECT g, (SELECT qsketch_agg(k) FROM many WHERE n < g * 4500) AS q FROM generate_series(1, 4) AS g) AS x",
	"SELECT string_agg(g || md5(q::text), ',' ORDER BY g) FROM (SELECT g, (SELECT qsketch_agg(k) FROM many WHERE g > 0 AND few < 25) AS q FROM generate_series(1, 4) AS g) AS x");

# Chunks of all partitions are asked for at once.
my $asks = 'SELECT count(*), md5(qsketch_agg(k)::text) FROM many WHERE few < 30';
my $groups = "SELECT string_agg(few || md5(q::text), ',' ORDER BY few) FROM (SELECT few, qsketch_agg(k, qsketch_new('warp', '8kB')) AS q FROM many GROUP BY few) AS x";

sub all_the_same
{
	my ($name) = @_;

	same($name, '', @queries);
	same("$name, on the GPU", 'SET qsketch.device = gpu', @queries);
	same("$name, parallel", 'SET max_parallel_workers_per_gather = 2; SET cpu_operator_cost = 1', @queries);
}

# Partitions that are read in part or as a whole, while others are not read at all.
sub test_results
{
	my $plan;

	all_the_same('nothing is cached');
	load_all();
	all_the_same('all is cached');
	$plan = $node->safe_psql('postgres', 'EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT count(*), qsketch_agg(k) FROM many');
	is(scalar(() = $plan =~ /^ *Pages: 0$/mg), $partitions, 'no page of any partition is read');
	is(scalar(() = $plan =~ /Pages from Cached Columns: [1-9]/g), $partitions - 1, 'all partitions with rows have cached columns');
	$plan = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS off, TIMING off) $groups");
	is(scalar(() = $plan =~ /^ *Pages: 0$/mg), $partitions, 'no page of any partition is read for groups');
	like($plan, qr/Custom Scan \(QSketchCollect\).*\n *Groups: 41\n *Device: (cpu, )?gpu\n/, 'groups of all partitions are on the GPU');
	$node->safe_psql('postgres', q{
		UPDATE many SET k = k + 1 WHERE n IN (5, 2500, 2900, 4001) OR n BETWEEN 9000 AND 9100;
		DELETE FROM many WHERE n BETWEEN 14500 AND 15500;
		INSERT INTO many SELECT i, 22000 + i, i FROM generate_series(1, 50) AS i;
		SELECT qsketch_gpu_unload('m3'); SELECT qsketch_gpu_unload('m0')});
	all_the_same('changed');
	$node->safe_psql('postgres', 'VACUUM many');
	all_the_same('vacuumed');
	load_all();
	all_the_same('loaded again');
	settled($node, 'all queries');
}

# Requests for all tables wait together, as many as a backend may have: nothing is served meanwhile.
sub test_together
{
	my $right = $node->safe_psql('postgres', ORDINARY . $asks);
	my $session;

	set_fault($node, 'hang');
	$session = start($asks);
	becomes('gpu_asked()', $held, "chunks of $held partitions are asked together");
	set_fault($node, 'none');
	is($session->query_safe('SELECT 1'), "$right\n1", 'the query goes on');
	$session->quit;

	# cancelled, with all that on its way
	set_fault($node, 'hang');
	$session = start($asks);
	becomes('gpu_asked()', $held, 'asked');
	$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%FROM many%' AND pid <> pg_backend_pid()});
	$session->query('SELECT 1');
	like($session->{stderr}, qr/canceling statement/, 'it can be cancelled');
	set_fault($node, 'none');
	$session->quit;
	settled($node, 'cancelled');
}

# A DO block that repeats a query is cancelled, with requests on their way.
sub cancel_repeated
{
	my ($session, $name) = @_;

	$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'DO %FROM many%' AND pid <> pg_backend_pid()});
	$session->query('SELECT 1');
	like($session->{stderr}, qr/canceling statement/, "$name: cancelled");
	$session->quit;
	set_fault($node, 'none');
	settled($node, $name);
}

# Keys of several partitions are on their way to one sketch at a time.  The query is repeated until
# somebody has seen it, and cancelled then.
sub test_adding
{
	my $session;

	set_fault($node, 'slow');
	$session = start('DO $$BEGIN LOOP PERFORM qsketch_agg(k) FROM many; END LOOP; END$$');
	$node->safe_psql('postgres', "SET statement_timeout = '300s'; DO \$\$BEGIN WHILE gpu_adding() < $held LOOP PERFORM pg_sleep(0.001); END LOOP; END\$\$");
	pass("keys of $held partitions are on their way together");
	cancel_repeated($session, 'keys on their way');
}

# Requests of several partitions are served together: one piece of the worker's ends three or more of
# them.  Two do not prove it: they may have ended in two pieces, if this loop saw the first one late.
# More than six are left then, so it was not the reads of a sketch's tables, of which there are six at most.
sub test_pieces
{
	my ($name, $query) = @_;
	my $session;

	set_fault($node, 'slow');
	$session = start("DO \$\$BEGIN LOOP PERFORM count(q) FROM ($query) AS x; END LOOP; END\$\$");
	$node->safe_psql('postgres', q{SET statement_timeout = '300s';
		DO $$DECLARE pieces bigint; adding bigint; last_pieces bigint := 0; last_adding bigint := 0; before bigint := 0; BEGIN
			LOOP
				pieces := gpu_schedule();
				adding := gpu_adding();
				CONTINUE WHEN gpu_schedule() <> pieces;
				IF pieces <> last_pieces THEN
					before := CASE WHEN pieces = last_pieces + 1 THEN last_adding ELSE 0 END;
					last_pieces := pieces;
				END IF;
				last_adding := adding;
				EXIT WHEN before - adding >= 3 AND adding > 6;
			END LOOP;
		END$$});
	pass("$name: chunks are served together");
	cancel_repeated($session, $name);
}

# Of groups that have no keys on a device there are no sketches: one group of forty is on all three.
# A sketch is made, fetched and read in four pieces.  Each on another device would be merged by one more.
sub test_empty_groups
{
	my $query = "SELECT string_agg(g || md5(q::text), ',' ORDER BY g) FROM (SELECT g, qsketch_agg(k, qsketch_new('sub_warp', '8kB')) AS q FROM uneven GROUP BY g) AS x";
	my ($right, $before);

	$node->safe_psql('postgres', q{
		CREATE TABLE uneven (k bigint, g int, p int) PARTITION BY LIST (p);
		SELECT format('CREATE TABLE uneven_%1$s PARTITION OF uneven FOR VALUES IN (%1$s)', i) FROM generate_series(0, 6) AS i \gexec
		INSERT INTO uneven SELECT i, i % 40, 0 FROM generate_series(1, 40000) AS i;
		INSERT INTO uneven SELECT i, 1, 1 + i % 6 FROM generate_series(1, 6000) AS i;
		VACUUM ANALYZE uneven});
	$right = $node->safe_psql('postgres', ORDINARY . $query);
	set_fault($node, 'spread');
	$node->safe_psql('postgres', q{SELECT count(qsketch_gpu_load(inhrelid::regclass, '{k,g}')) FROM pg_inherits WHERE inhparent = 'uneven'::regclass});
	set_fault($node, 'none');
	$before = $node->safe_psql('postgres', 'SELECT gpu_schedule()');
	is($node->safe_psql('postgres', $query), $right, 'groups of which most are on one device');
	cmp_ok($node->safe_psql('postgres', 'SELECT gpu_schedule()') - $before, '<', 200, 'few of them have sketches on others');
	settled($node, 'uneven groups');
}

# Chunks that go, and rows that change, between the look at all partitions and their use.
sub test_changes
{
	my $right = $node->safe_psql('postgres', ORDINARY . $queries[1]);

	during_scan($node, 'chunks of some partitions go', 1, $queries[1], $right,
		q{SELECT qsketch_gpu_unload('m2'); SELECT qsketch_gpu_unload('m7'); SELECT qsketch_gpu_unload('m8')});
	load_all();
	$right = $node->safe_psql('postgres', ORDINARY . $groups);
	load_all();
	during_scan($node, 'chunks of some partitions go, of groups', 1, $groups, $right, q{SELECT qsketch_gpu_unload('m2'); SELECT qsketch_gpu_unload('m8')});
	load_all();
	$right = $node->safe_psql('postgres', ORDINARY . $queries[1]);
	during_scan($node, 'rows of all partitions change', 1, $queries[1], $right, 'UPDATE many SET k = k + 1 WHERE n % 100 = 3', 'VACUUM many');
	load_all();
	all_the_same('after these changes');
}

# The worker ends with requests of several partitions; then there are no cached columns.
sub test_restart
{
	my $session;

	# Of chunks with pages that are not all-visible the worker is asked which pages it has, column by column.
	$node->safe_psql('postgres', 'VACUUM many');
	load_all();
	set_fault($node, 'hang');
	$session = start($asks);
	becomes('gpu_asked()', $held, 'asked before the worker ends');
	kill 'TERM', gpu_count($node, 'worker_pid');
	$session->query('SELECT 1');
	like($session->{stderr}, qr/GPU operation failed: the GPU worker was terminated/, 'the query fails with the worker');
	$session->quit;
	set_fault($node, 'none');
	wait_for_worker($node);
	all_the_same('after the worker has ended');
	load_all();
	same('loaded anew', '', @queries);
	settled($node, 'the end');
}

# The ring has room for all requests that a backend may have on their way.
for my $devices ('0', '0,1,2')
{
	note "devices $devices";
	$node = gpu_node("column_partitions_$devices" =~ tr/,/_/r, "qsketch.gpu_devices = '$devices'", 'qsketch.device = auto',
		'max_parallel_workers_per_gather = 0', 'jit = off', 'fsync = off', 'qsketch.gpu_buffer_size = 16MB');
	make_many();
	test_results();
	test_together();
	test_adding();
	test_pieces('a sketch', 'SELECT qsketch_agg(k) AS q FROM many WHERE few < 30');
	# All rows of whole chunks are wanted: they are brought together for a sketch above half of the L2
	# cache.  That of a real GPU has room for sketches that have more counters than this table has rows.
	test_pieces('a large sketch', q{SELECT qsketch_agg(k, qsketch_new('sub_warp', '1536kB')) AS q FROM many}) if ($ENV{QSKETCH_GPU} // 'emulate') eq 'emulate';
	# both groups have sketches on a GPU from the first chunk on
	test_pieces('groups', "SELECT qsketch_agg(n, qsketch_new('warp', '1kB')) AS q FROM many GROUP BY two");
	test_pieces('a filter', 'SELECT qfilter_agg(k, qfilter_new_bloom(20000)) AS q FROM many WHERE few < 30');
	test_empty_groups() if $devices ne '0';
	can_pause($node) and test_changes();
	test_restart();
	$node->stop;
}
done_testing();
