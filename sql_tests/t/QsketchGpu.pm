# What the tests of the GPU worker share: a server whose worker emulates its
# GPU (or, with QSKETCH_GPU=auto in the environment, uses a real one), a table,
# the right answers, and a check that nothing was left behind.
package QsketchGpu;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(gpu_node emulated_line fill is_right settled is_soon set_worker set_fault load_spread gpu_count wait_for_worker
	ORDINARY answers psql_as copied_pages can_pause during_scan cancelled_or_right snapshots_agree writers_conflict
	make_partitions TOP_WRONG);

# Settings with which PostgreSQL's own plan computes an answer on the CPU.
use constant ORDINARY => 'SET qsketch.device = cpu; SET qsketch.enable_columnscan = off;';

# What is wrong with lists of top keys of a table, of all rows or of groups, by exact counts in the same snapshot: how many
# groups there are, the sketches, the bounds of candidates, or the bound of all other keys; NULL: nothing.
use constant TOP_WRONG => q{
	CREATE FUNCTION top_wrong(name text, key text, type text, grouped text, template text, kept_rows text, filter text, most int, beside text DEFAULT '')
		RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		wrong text;
	BEGIN
		EXECUTE format('WITH list AS (SELECT %2$s AS g, qtop_agg(%9$I, %6$s, %3$s) FILTER (WHERE %5$s) AS q%7$s FROM %1$I %4$s %8$s),
				rows AS (SELECT * FROM %1$I %4$s OFFSET 0),
				sketch AS (SELECT %2$s AS g, qsketch_agg(%9$I, %3$s) FILTER (WHERE %5$s) AS q FROM rows %8$s),
				exact AS (SELECT %2$s AS g, %9$I AS k, count(*) AS c FROM rows WHERE %9$I IS NOT NULL AND (%5$s) GROUP BY 1, 2)
			SELECT CASE WHEN (SELECT count(*) FROM list) <> (SELECT count(*) FROM sketch) THEN ''groups''
				WHEN EXISTS (SELECT FROM list JOIN sketch ON list.g IS NOT DISTINCT FROM sketch.g WHERE qtop_sketch(list.q) IS DISTINCT FROM sketch.q) THEN ''sketch''
				WHEN EXISTS (SELECT FROM list CROSS JOIN LATERAL qtop_list(q, %6$s, NULL::%10$s) AS l LEFT JOIN exact AS e ON e.k = l.key AND e.g IS NOT DISTINCT FROM list.g
					WHERE e.c NOT BETWEEN l.lower AND l.estimate OR e.c IS NULL) THEN ''candidates''
				WHEN EXISTS (SELECT FROM list JOIN exact AS e ON e.g IS NOT DISTINCT FROM list.g WHERE NOT qtop_has(q, e.k) AND e.c > (qtop_info(q)).bound) THEN ''bound'' END',
			name, grouped, template, kept_rows, filter, most, beside, CASE WHEN grouped = '0' THEN '' ELSE 'GROUP BY 1' END, key, type) INTO wrong;
		RETURN wrong;
	END $$};

# The line of configuration for a worker that emulates its GPU.
sub emulated_line
{
	return "shared_preload_libraries = 'qsketch,$ENV{TESTDIR}/qsketch_emulate.so'";
}

# A node that has the worker, with further lines of configuration.
sub gpu_node
{
	my ($name, @lines) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $emulated = ($ENV{QSKETCH_GPU} // 'emulate') eq 'emulate';

	$node->init(allows_streaming => 1);
	$node->append_conf('postgresql.conf', join("\n",
		$emulated ? emulated_line() : "shared_preload_libraries = 'qsketch'",
		"qsketch.device = gpu", "qsketch.gpu_buffer_size = 4MB", "restart_after_crash = on",
		"parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0",
		"max_worker_processes = 16", "autovacuum = off", "qsketch.gpu_timeout = 600s", @lines, ''));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION qsketch');
	if ($emulated && "@lines" =~ /gpu_devices = '([^']+)'/)
	{
		my $wanted = () = $1 =~ /\d+/g;

		$node->poll_query_until('postgres', "SELECT count(*) = $wanted FROM qsketch_gpu() WHERE state = 'ready'")
			or die "there are not $wanted emulated GPUs";
	}
	elsif (!$emulated && "@lines" !~ /gpu_worker = off/)
	{
		$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM qsketch_gpu() WHERE state = 'ready'")
			or die 'there is no GPU';
	}
	return $node;
}

# Table t of keys, and the sketches that the CPU makes of it in table right.
sub fill
{
	my ($node, $rows) = @_;
	$node->safe_psql('postgres', qq{
		CREATE TABLE t AS
			SELECT (i * 7919::bigint) % ($rows / 4) AS k FROM generate_series(1, $rows) AS i;
		ANALYZE t;
		SET qsketch.device = cpu;
		CREATE TABLE correct AS
			SELECT s AS structure, qsketch_agg(k, qsketch_new(s, '256kB')) AS sk
			FROM t, unnest('{sub_warp,multilevel,thread}'::text[]) AS s GROUP BY s});
}

# Check that the GPU makes the same sketches, and that its answers agree.
sub is_right
{
	my ($node, $name) = @_;
	my $wrong = $node->safe_psql('postgres', q{
		SET qsketch.device = gpu;
		SELECT count(*) FROM correct AS c
		WHERE c.sk <> (SELECT qsketch_agg(k, qsketch_new(c.structure, '256kB')) FROM t)
			OR (SELECT bool_or(l.estimate <> qsketch_estimate(c.sk, l.key))
				FROM qsketch_lookup(c.sk, ARRAY(SELECT k FROM t LIMIT 1000)) AS l)});
	is($wrong, '0', "$name: sketches and estimates are right");
}

# True if all slots are free, and all sketches are gone except cached values.
sub settled
{
	my ($node, $name) = @_;
	ok($node->poll_query_until('postgres', q{
		SELECT values_now = cached_now AND slots_free = slots AND
			(SELECT sum(g.values_now) = cached_now FROM qsketch_gpu() AS g)
		FROM qsketch_stat_gpu}), "$name: no sketch and no slot is left");
}

# True if a count reaches this value, once the worker has freed what nobody needs any more.
sub is_soon
{
	my ($node, $count, $wanted, $name) = @_;
	ok($node->poll_query_until('postgres', "SELECT $count FROM qsketch_stat_gpu", $wanted), $name);
}

# Changes a setting of the worker, which knows it before its next request: when a new
# session has the time of the reload from the postmaster, that has told the worker, too.
sub set_worker
{
	my ($node, $setting, $value) = @_;
	my $loaded = $node->safe_psql('postgres', 'SELECT pg_conf_load_time()');

	$node->safe_psql('postgres', "ALTER SYSTEM SET $setting = $value");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT pg_conf_load_time() > '$loaded'") or die "$setting was not set";
}

sub set_fault
{
	my ($node, $fault) = @_;
	set_worker($node, 'qsketch.gpu_fault', $fault);
}

# Loads columns so that the parts of the table are on several devices, although it is small.
sub load_spread
{
	my ($node, $table, $columns) = @_;

	set_fault($node, 'spread');
	my $pages = $node->safe_psql('postgres', "SELECT qsketch_gpu_load('$table', '$columns')");
	set_fault($node, 'none');
	return $pages;
}

sub gpu_count
{
	my ($node, $column) = @_;
	return $node->safe_psql('postgres', "SELECT $column FROM qsketch_stat_gpu");
}

sub wait_for_worker
{
	my ($node) = @_;
	ok($node->poll_query_until('postgres',
		q{SELECT count(*) > 0 FROM qsketch_gpu() WHERE state = 'ready'}), 'the worker is ready');
}

# ---- cached columns ----

# Queries of a session, each with an answer of one line; the settings come first.
sub answers
{
	my ($node, $settings, @queries) = @_;

	return [ split /\n/, $node->safe_psql('postgres', join("\n", $settings, map { "$_;" } @queries)) ];
}

# Exit status, output and errors of a query of a role.
sub psql_as
{
	my ($node, $role, $query) = @_;
	return $node->psql('postgres', $query, extra_params => [ '-U', $role ]);
}

# Pages from cached columns, and pages read, of a query; -1: EXPLAIN does not mention them.
sub copied_pages
{
	my ($node, $query, $settings) = @_;
	my $plan = $node->safe_psql('postgres',
		($settings // '') . "; EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) $query");
	my ($copied) = $plan =~ /Pages from Cached Columns: (\d+)/;
	my ($read) = $plan =~ /^ *Pages: (\d+)/m;

	return ($copied // -1, $read // -1);
}

# Makes the function that during_scan() needs; false if its module was not built.
sub can_pause
{
	my ($node) = @_;
	my $module = "$ENV{TESTDIR}/copy_pause.so";

	return 0 unless -f $module;
	$node->safe_psql('postgres', "CREATE FUNCTION pause_copies(place int, lock bigint) RETURNS void LANGUAGE c AS '$module'");
	return 1;
}

# Stops the scan of a query at a place between a check of the visibility map and its use, and runs other statements
# meanwhile.  Then the query must have the wanted answer.
sub during_scan
{
	my ($node, $name, $place, $query, $wanted, @changes) = @_;
	my $holder = $node->background_psql('postgres');
	my $reader = $node->background_psql('postgres');

	$holder->query_safe('SELECT pg_advisory_lock(1)');
	$reader->query_safe("SELECT pause_copies($place, 1)");
	$reader->query_until(qr/started/, "\\echo started\n$query;\n");
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}),
		"$name: the scan waits");
	$node->safe_psql('postgres', $_) foreach @changes;
	$holder->query_safe('SELECT pg_advisory_unlock(1)');
	is($reader->query_safe('SELECT 1'), "$wanted\n1", "$name: right");
	$_->quit foreach $reader, $holder;
}

# Cancels a query after longer and longer times.  Each time it is cancelled, or has the right answer.
sub cancelled_or_right
{
	my ($node, $query, $right) = @_;
	my ($ended, $wrong) = (0, 0);

	for my $turn (1 .. 8)
	{
		my ($rc, $out, $err) = $node->psql('postgres', 'SET statement_timeout = ' . 15 * $turn . "; $query");
		$ended++ if $err =~ /canceling statement/;
		$wrong++ if $rc == 0 ? $out ne $right : $err !~ /canceling statement/;
	}
	is($wrong, 0, 'cancelled or right');
	return $ended;
}

# Two queries of table x (k bigint, n int), of which one uses its cached columns, agree in every
# isolation level, while the table is changed and loaded by others, and by the reader.
sub snapshots_agree
{
	my ($node, $load, $query, $plain) = @_;

	for my $isolation ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
	{
		my $reader = $node->background_psql('postgres');
		my $writer = $node->background_psql('postgres');
		my $agree = sub { ok($reader->query_safe($query) eq $reader->query_safe($plain), "$isolation: $_[0]") };

		$reader->query_safe("BEGIN ISOLATION LEVEL $isolation; SELECT count(*) FROM pg_class");
		$node->safe_psql('postgres', 'UPDATE x SET k = k + 3 WHERE n < 300; DELETE FROM x WHERE n BETWEEN 1000 AND 1100');
		$writer->query_safe('BEGIN; INSERT INTO x SELECT 1, -i FROM generate_series(1, 50) AS i; UPDATE x SET k = -1 WHERE n = 20000');
		$agree->('as the rows that it sees');
		$writer->query_safe('COMMIT');
		$node->safe_psql('postgres', 'VACUUM x');
		$agree->('after others have committed');
		$node->safe_psql('postgres', $load);
		$agree->('after loading');
		if ($isolation ne 'SERIALIZABLE')
		{
			$reader->query_safe('UPDATE x SET k = k + 1 WHERE n = 29999; SAVEPOINT s; DELETE FROM x WHERE n > 25000 AND n % 100 = 3');
			$agree->('own changes');
			$reader->query_safe('ROLLBACK TO s');
			$agree->('changes that were undone');
		}
		$reader->query_safe('COMMIT');
		$_->quit foreach $reader, $writer;
		$node->safe_psql('postgres', 'VACUUM x');
	}
}

# Write skew: two serializable transactions read all of x by a query, and write a row each.
sub writers_conflict
{
	my ($node, $query) = @_;
	my @skew = map { $node->background_psql('postgres', on_error_stop => 0) } 1, 2;

	$_->query("BEGIN ISOLATION LEVEL SERIALIZABLE; $query") foreach @skew;
	$skew[0]->query('INSERT INTO x VALUES (1, 1)');
	$skew[1]->query('INSERT INTO x VALUES (2, 2)');
	$_->query('COMMIT') foreach @skew;
	like($skew[0]->{stderr} . $skew[1]->{stderr}, qr/could not serialize access/, 'serializable transactions that read cached columns conflict with writers');
	$_->quit foreach @skew;
}

# Table parts: three partitions of all-visible pages, one with another order of columns.
sub make_partitions
{
	my ($node) = @_;

	$node->safe_psql('postgres', q{
		CREATE TABLE parts (k bigint, n int) PARTITION BY RANGE (n);
		CREATE TABLE p1 PARTITION OF parts FOR VALUES FROM (0) TO (10000);
		CREATE TABLE p2 (n int, gone text, k bigint);
		ALTER TABLE p2 DROP gone;
		ALTER TABLE parts ATTACH PARTITION p2 FOR VALUES FROM (10000) TO (20000);
		CREATE TABLE p3 PARTITION OF parts FOR VALUES FROM (20000) TO (30000);
		INSERT INTO parts SELECT i % 7000, i FROM generate_series(0, 29999) AS i;
		VACUUM ANALYZE parts});
}

1;
