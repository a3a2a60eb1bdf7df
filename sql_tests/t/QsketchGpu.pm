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

our @EXPORT = qw(gpu_node fill is_right settled set_worker set_fault gpu_count wait_for_worker);

# A node that has the worker, with further lines of configuration.
sub gpu_node
{
	my ($name, @lines) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $worker = $ENV{QSKETCH_GPU} // 'emulate';

	$node->init(allows_streaming => 1);
	$node->append_conf('postgresql.conf', join("\n",
		"shared_preload_libraries = 'qsketch'", "qsketch.gpu_worker = $worker",
		"qsketch.device = gpu", "qsketch.gpu_buffer_size = 4MB", "restart_after_crash = on",
		"parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0",
		"max_worker_processes = 16", "autovacuum = off", "qsketch.gpu_timeout = 600s", @lines, ''));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION qsketch');
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

# Does the GPU make the same sketches, and do its answers agree?
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

# Are all slots free, and all sketches gone but copies of stored values?
sub settled
{
	my ($node, $name) = @_;
	ok($node->poll_query_until('postgres', q{
		SELECT values_now = cached_now AND slots_free = slots AND
			(SELECT sum(g.values_now) = cached_now FROM qsketch_gpu() AS g)
		FROM qsketch_stat_gpu}), "$name: no sketch and no slot is left");
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

1;
