# Little shared memory: parallel plans pass sketches through shared memory, and go on without it if
# /dev/shm or the file system of the server's files is full.  The test starts itself again in a user
# namespace with a /dev/shm of its own.  Without user namespaces the test is skipped.

use strict;
use warnings;

use Test::More;

# Runs before PostgreSQL's modules are loaded, because they redirect the output.
BEGIN
{
	if (!$ENV{QSKETCH_OWN_SHM})
	{
		# the namespace's root may mount, but PostgreSQL needs another user, who must exist in the
		# system
		my ($user, $group) = ($>, $) + 0);
		my @enter = ('unshare', '-Urm', 'sh', '-c', 'mount -t tmpfs -o size=64m tmpfs /dev/shm &&
			exec unshare -U --map-user=' . $user . ' --map-group=' . $group . ' "$@"', 'sh');
		plan skip_all => 'no namespace with a /dev/shm of its own' if system(@enter, 'true');
		$ENV{QSKETCH_OWN_SHM} = 1;
		exec @enter, $^X, (map { "-I$_" } @INC), $0 or die "exec: $!";
	}
}

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

sub free_kb
{
	return `df -k --output=avail /dev/shm` =~ /(\d+)\s*$/ ? $1 : die 'df';
}

# Leaves only this many kB of the memory free.
sub leave
{
	my ($kb) = @_;

	unlink '/dev/shm/filler';
	open(my $file, '>', '/dev/shm/filler') or die "filler: $!";
	syswrite $file, "\0" x 1024 for 1 .. free_kb() - $kb;
	close $file;
	note free_kb() . ' kB left';
}

my $node;

sub start_node
{
	my ($type) = @_;

	$node = PostgreSQL::Test::Cluster->new("small_$type");
	$node->init;
	$node->append_conf('postgresql.conf', join("\n", 'jit = off', 'autovacuum = off', "dynamic_shared_memory_type = $type",
		'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0',
		'cpu_operator_cost = 1', ''));
	if ($type eq 'mmap')
	{
		# puts the server's files on the file system that the test can fill
		my $files = $node->data_dir . '/pg_dynshmem';
		rmdir $files or die "rmdir: $!";
		mkdir '/dev/shm/files' or die "mkdir: $!";
		symlink '/dev/shm/files', $files or die "symlink: $!";
	}
	$node->start;
	$node->safe_psql('postgres', q{
		CREATE EXTENSION qsketch;
		CREATE TABLE t WITH (parallel_workers = 3) AS SELECT i % 40000 AS k FROM generate_series(1, 400000) AS i;
		ANALYZE t;
		SET max_parallel_workers_per_gather = 0;
		CREATE TABLE correct AS SELECT s, qsketch_agg(k, qsketch_new('sub_warp', s)) AS sk
		FROM t, unnest('{1kB,32kB,64kB,128kB,1MB,4MB}'::text[]) AS s GROUP BY s;
		CREATE TABLE sets WITH (parallel_workers = 0) AS SELECT qsets_agg(i / 100, (i * 7919::bigint) % 60013) AS s FROM generate_series(1, 600000) AS i;
		CREATE TABLE member WITH (parallel_workers = 3) AS SELECT i % 4001 AS s, i * 7 % 30011 AS e FROM generate_series(1, 400000) AS i;
		ANALYZE member;
		CREATE TABLE built WITH (parallel_workers = 0) AS SELECT qsets_agg(s, e) AS c FROM member;
		CREATE TABLE pairs WITH (parallel_workers = 0) AS SELECT count(*) AS n, sum(a + 3 * b + common) AS sum FROM sets, qsets_pairs(s, 2);
	});
}

sub try_all
{
	my ($scan, $what, @structures) = @_;
	my $set = "SET qsketch.enable_columnscan = $scan; SET max_parallel_workers_per_gather = 3;";

	for my $kept (@structures)
	{
		my ($out, $err) = ('', '');
		my $query = "SELECT qsketch_agg(k, qsketch_new('sub_warp', '$kept')) = (SELECT sk FROM correct WHERE s = '$kept') FROM t;";

		$node->psql('postgres', $set . $query x 5, stdout => \$out, stderr => \$err, on_error_stop => 0);
		is("$out$err", join("\n", ('t') x 5), "column scan $scan, $what: $kept");
	}
	like($node->safe_psql('postgres', "$set EXPLAIN SELECT qsketch_agg(k) FROM t"),
		$scan eq 'on' ? qr/Gather.*QSketchScan/s : qr/Gather.*Seq Scan/s, "column scan $scan, $what: parallel");
}

# Sets are built by all processes, and rows that do not fit into shared memory go through the queues.
sub try_building
{
	my ($what) = @_;

	for my $leader ('on', 'off')
	{
		my ($out, $err) = ('', '');

		$node->psql('postgres', "SET max_parallel_workers_per_gather = 3; SET parallel_leader_participation = $leader;"
			. 'SELECT qsets_agg(s, e) = (SELECT c FROM built) FROM member;' x 5,
			stdout => \$out, stderr => \$err, on_error_stop => 0);
		is("$out$err", join("\n", ('t') x 5), "building sets, leader $leader, $what");
	}
}

# Pairs of sets are found by workers, or by the leader alone if the collection does not fit.
sub try_pairs
{
	my ($what, $workers) = @_;

	for my $way ('on', 'off')
	{
		my ($out, $err) = ('', '');

		$node->psql('postgres', "SET work_mem = '64MB'; SET max_parallel_workers_per_gather = 3; SET qsketch.enable_pairscan = $way;
			SET client_min_messages = debug1;
			SELECT ROW(count(*), sum(a + 3 * b + common)) = (SELECT n, sum FROM pairs) FROM sets, qsets_pairs(s, 2);",
			stdout => \$out, stderr => \$err, on_error_stop => 0);
		is($out, 't', "pairs of sets, node $way, $what") or diag $err;
		like($err, $workers, "pairs of sets, node $way, $what: workers");
	}
}

# The server itself has all shared memory that it needs.
for my $type ('posix', 'mmap')
{
	start_node($type);
	try_all($_, "$type, all", '1kB', '1MB') for 'on', 'off';
	try_pairs("$type, all", qr/launched 3 of 3/);
	try_building("$type, all");
	for my $kb (856, 3000, 9000)
	{
		leave($kb);
		try_pairs("$type, $kb kB", $kb < 9000 ? qr/^((?!launched).)*$/s : qr/launched 3 of 3/);
		try_building("$type, $kb kB");
		try_all($_, "$type, $kb kB", '1kB', '32kB', '64kB', '128kB', '1MB', '4MB') for 'on', 'off';
	}
	unlink '/dev/shm/filler';
	$node->stop;
}
done_testing();
