# QSketchScan on a hot standby, in synchronized scans of a table larger than a
# quarter of the buffers, cancelled, and together with other extensions.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchCpu;
use Test::More;

my $sketch = 'SELECT md5(qsketch_agg(k)::text) FROM t';
my $ordinary = "SET qsketch.enable_columnscan = off; $sketch";

sub same_on
{
	my ($node, $what) = @_;

	like($node->safe_psql('postgres', "EXPLAIN $sketch"), qr/QSketchScan/, "$what: plan");
	is($node->safe_psql('postgres', $sketch), $node->safe_psql('postgres', $ordinary), "$what: bytes");
}

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf',
	"shared_buffers = 4MB\nautovacuum = off\nmax_standby_streaming_delay = -1\njit = off");
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	CREATE TABLE t (k bigint, filler text);
	INSERT INTO t SELECT i % 5000, repeat('x', 100) FROM generate_series(1, 60000) AS i;
});
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

# The standby replays changes of the primary, also pages that became all-visible while a snapshot of the
# standby cannot see their rows.
same_on($primary, 'primary');
same_on($standby, 'standby');
my $reader = $standby->background_psql('postgres');
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $before = $reader->query_safe($sketch);
$primary->safe_psql('postgres', q{
	INSERT INTO t SELECT -i FROM generate_series(1, 1000) AS i;
	UPDATE t SET k = k + 1 WHERE k BETWEEN 1 AND 50;
	BEGIN; INSERT INTO t SELECT i FROM generate_series(1, 5000) AS i; ROLLBACK;
});
$primary->wait_for_catchup($standby);
is($reader->query_safe($sketch), $before, 'standby: old snapshot');
$reader->query_safe("SET qsketch.enable_columnscan = off");
is($reader->query_safe($sketch), $before, 'standby: old snapshot, ordinary plan');
$reader->query_safe("RESET qsketch.enable_columnscan");
$reader->query_safe('COMMIT');
isnt($reader->query_safe($sketch), $before, 'standby: new snapshot');
$primary->safe_psql('postgres', 'VACUUM (FREEZE) t');
$primary->wait_for_catchup($standby);
same_on($standby, 'standby, all-visible');
is($reader->query_safe($sketch), $primary->safe_psql('postgres', $sketch), 'standby: as the primary');
$reader->quit;
$standby->stop;

# Two scans run at the same time.  The second scan starts at the page that the first scan has
# reached.
my $other = $primary->background_psql('postgres');
$other->query_until(qr/go/, "\\echo go\nSELECT count(qsketch_total(sk)) FROM generate_series(1, 60) AS x,
	LATERAL (SELECT qsketch_agg(k) AS sk FROM t WHERE x > 0) AS s;\n");
my %sketches = map { $primary->safe_psql('postgres', $sketch) => 1 } 1 .. 10;
is(scalar(keys %sketches), 1, 'synchronized scans');
$other->quit;

# Cancelled scans and their workers end soon: scans that make four sketches of 64 MB each, and two
# collections of sets.
$primary->safe_psql('postgres', cpu_function());
$primary->safe_psql('postgres',
	'CREATE TABLE big AS SELECT i::bigint AS k, md5(i::text) AS t FROM generate_series(1, 1000000) AS i; ANALYZE big');
my $large = join(', ', map { "qsketch_agg(k, qsketch_new('sub_warp', '64MB', seed => $_)), qsketch_agg(t)" } 1 .. 4);
for my $run ([ 0, $large ], [ 2, $large ], [ 0, 'qsets_agg(k, k), qsets_agg(k, t)' ], [ 2, 'qsets_agg(k, k), qsets_agg(k, t)' ])
{
	my ($workers, $what) = @$run;
	my $name = "$workers workers, " . ($what eq $large ? 'sketches' : 'sets');
	my $query = "SELECT $what FROM big";
	my $settings = "SET max_parallel_workers_per_gather = $workers; SET cpu_operator_cost = 1;
		SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0";
	my $cancelled = cancel_often($primary, name => $name, statement => $query, settings => "$settings; EXPLAIN $query",
		timeout_ms => 30, times => 10, processes => $workers + 1,
		finally => "SELECT 'all', user_ms();\n$query \\g /dev/null\nSELECT 'all', user_ms();");
	my $out = $cancelled->{out};
	my @all = $out =~ /^all\|([\d.]+)$/mg;

	note sprintf '%s: %d ms of user time to the end', $name, $all[1] - $all[0];
	like($out, qr/QSketchScan/, "$name: scanned");
	like($out, $workers ? qr/Workers Planned: $workers/ : qr/^(?!.*Workers Planned)/s, "$name: planned");
	cmp_ok($cancelled->{user_ms}, '<', ($all[1] - $all[0]) / 2, "$name: before the end");
}

# Other extensions hook into planner and executor, and read the plan.
SKIP: {
	skip 'no auto_explain and pg_stat_statements here', 3
	  if $primary->psql('postgres', "LOAD 'auto_explain'; CREATE EXTENSION pg_stat_statements");
	my $hooked = "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on;
		SET client_min_messages = log; SET auto_explain.log_level = log; SET min_parallel_table_scan_size = 0;
		SET parallel_setup_cost = 0; SET cpu_operator_cost = 1;";
	$primary->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements'");
	$primary->restart;
	for my $workers (0, 2)
	{
		my ($out, $err) = ('', '');
		$primary->psql('postgres', "$hooked SET max_parallel_workers_per_gather = $workers; $sketch",
			stdout => \$out, stderr => \$err);
		like($err, qr/QSketchScan.*Keys: \d+\n/s, "$workers workers: explained");
	}
	is($primary->safe_psql('postgres', "SELECT calls FROM pg_stat_statements WHERE query = '$sketch'"), '2', 'counted');
}

# Another extension, like TimescaleDB, reads the table.  So some rows may not be in the table's
# pages.
my $attached = "LOAD '$ENV{TESTDIR}/other_reader.so'; CREATE TEMP TABLE parts (k bigint) PARTITION BY HASH (k);
	CREATE TEMP TABLE part_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TEMP TABLE part_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO parts SELECT generate_series(1, 300000); ANALYZE parts; SET max_parallel_workers_per_gather = 0;";
for my $query ($sketch, 'SELECT k % 3, qsketch_agg(k) FROM t GROUP BY 1', 'SELECT qsketch_agg(k) FROM parts',
	'SELECT k % 3, qsketch_agg(k) FROM parts GROUP BY 1', 'SELECT qtop_agg(k, 5) FROM t')
{
	like($primary->safe_psql('postgres', "$attached EXPLAIN $query"), qr/QSketchScan/, "$query: scanned");
	unlike($primary->safe_psql('postgres', "$attached SET other_reader.enabled = true; EXPLAIN $query"), qr/QSketchScan/,
		"$query: left to the other extension");
}
$primary->stop;

done_testing();
