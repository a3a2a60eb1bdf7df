# One of three GPUs fails, with and without peer access: queries with data on it fail cleanly or
# read pages, all other queries go on, no new data are sent to it, and later it is opened again.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

plan skip_all => 'only emulated GPUs fail alone' if ($ENV{QSKETCH_GPU} // 'emulate') ne 'emulate';

my $lost = qr/GPU operation failed: GPU 2: error of the GPU's memory that could not be corrected \(cudaErrorECCUncorrectable/;
my $states = q{SELECT string_agg(device || ' ' || state, ', ' ORDER BY device) FROM qsketch_gpu()};
my ($all_ready, $third_lost) = ('0 ready, 1 ready, 2 ready', '0 ready, 1 ready, 2 lost');
my $peers = q{SELECT string_agg(peers::text, ' ' ORDER BY device) FROM qsketch_gpu()};
my $on_third = 'SELECT values_now FROM qsketch_gpu() WHERE device = 2';
my $everywhere = 'SELECT sum(values_now) FROM qsketch_gpu()';
my $pid = 'SELECT worker_pid FROM qsketch_stat_gpu';
my %query = (
	sketch => 'SELECT md5(qsketch_agg(k)::text), md5(qsketch_agg(n)::text) FROM parts',
	condition => 'SELECT md5(qsketch_agg(k)::text) FROM parts WHERE n % 2 >= 0 AND n > 100',
	groups => q{SELECT md5(string_agg(x::text, ',' ORDER BY n)) FROM (SELECT n, qsketch_agg(k, qsketch_new('sub_warp', '64kB')) FROM small GROUP BY n) AS x},
	counts => 'SELECT count(*), count(k) FROM parts WHERE n > 50',
	filter => 'SELECT md5(qfilter_agg(k, qfilter_new_bloom(9000))::text) FROM parts',
	sets => 'SELECT md5(qsets_agg(n, k)::text) FROM small',
	exact => q{SELECT string_agg(key || ':' || count, ',') FROM qtop_exact('parts', 'k', 20)},
	pairs => q{SELECT md5(string_agg(p::text, ',' ORDER BY p::text)) FROM baskets, qsets_pairs(c, 2) AS p},
	rows => q{SET qsketch.device = gpu; SELECT md5(string_agg(x::text, ',' ORDER BY m)) FROM (SELECT n % 9 AS m, qsketch_agg(k, qsketch_new('multilevel', '64kB')) FROM parts GROUP BY 1) AS x},
	merged => q{SET qsketch.device = gpu; SELECT md5(qsketch_merge_agg(q)::text) FROM (SELECT qsketch_agg(k, qsketch_new('warp', '64kB')) AS q FROM parts GROUP BY n % 7) AS x},
	lookup => q{SET qsketch.device = gpu; SELECT md5(qsketch_estimate(q, ARRAY(SELECT generate_series(1, 3000)))::text) FROM stored},
	parallel => 'SET max_parallel_workers_per_gather = 2; SET cpu_operator_cost = 1; SELECT md5(qsketch_agg(k)::text) FROM parts');
my %right;

# Caches the columns, with nothing else on the GPUs: a partition on each GPU, or, while the fault goes on, all on
# one GPU.
sub load
{
	my ($node, $fault_goes_on) = @_;
	set_worker($node, 'qsketch.gpu_cache_size', $_) foreach 0, 4096;
	$node->poll_query_until('postgres', 'SELECT sum(memory_used) = 0 FROM qsketch_gpu()') or die 'memory was not freed';
	foreach my $table (qw(p1 p2 p3 small))
	{
		$fault_goes_on ? $node->safe_psql('postgres', "SELECT qsketch_gpu_load('$table', '{k,n}')") : load_spread($node, $table, '{k,n}');
	}
}

# The third GPU fails, at the next request that needs it; it can be opened again.
sub break { set_fault($_[0], 'lost') }
sub mend
{
	my ($node) = @_;
	set_fault($node, 'none');
	$node->poll_query_until('postgres', $states, $all_ready) or die 'the GPU did not come back';
}

sub is_the_same
{
	my ($node, $name) = @_;
	my @wrong = grep { $node->safe_psql('postgres', $query{$_}) ne $right{$_} } sort keys %query;
	is("@wrong", '', "$name: all queries are right");
}

sub start
{
	my ($join) = @_;
	my $node = gpu_node("lost_$join", "qsketch.gpu_devices = '0,1,2'", "qsketch_emulate.peers = $join", 'qsketch.device = auto',
		'qsketch.gpu_min_elements = 100', 'max_parallel_workers_per_gather = 0', 'jit = off', 'fsync = off');
	make_partitions($node);
	$node->safe_psql('postgres', q{
		CREATE TABLE small AS SELECT i * 7 % 900 AS k, i % 50 AS n FROM generate_series(1, 20000) AS i;
		CREATE TABLE stored AS SELECT qsketch_agg(k, qsketch_new('sub_warp', '256kB')) AS q FROM parts;
		CREATE TABLE baskets AS SELECT qsets_agg(n, k) AS c FROM small;
		VACUUM ANALYZE small});
	foreach (keys %query)
	{
		my $plain = $query{$_} =~ s/SET qsketch.device = gpu;//r;
		$plain = 'SELECT string_agg(k || \':\' || c, \',\') FROM (SELECT k, count(*) AS c FROM parts GROUP BY k ORDER BY 2 DESC, 1 LIMIT 20) AS x' if $_ eq 'exact';
		$right{$_} = $node->safe_psql('postgres', ORDINARY . $plain);
	}
	return $node;
}

# Each kind of query meets the failure: it fails cleanly or is right, and is right from then on.
sub each_query
{
	my ($node) = @_;
	my %ended;

	foreach my $kind (sort keys %query)
	{
		load($node);
		break($node);
		my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$query{$kind}");
		ok($rc == 0 ? $out eq $right{$kind} : $err =~ /38000: $lost/, "$kind: right, or fails with the GPU") or diag("$rc: $out $err");
		$ended{$rc == 0 ? 'right' : 'failed'}++;
		is($node->safe_psql('postgres', $query{$kind}), $right{$kind}, "$kind: right, without the GPU");
		mend($node);
	}
	cmp_ok($ended{failed}, '>', 0, 'some had data there');
}

# Sessions that use columns on the other GPUs do not notice.
sub others_go_on
{
	my ($node) = @_;
	my ($file, $out, $err) = ($node->basedir . '/others.sql', '', '');

	foreach my $table ('p1', 'p2')
	{
		my $answer = "md5(qsketch_agg(k)::text) || count(*) FROM $table";
		my $wanted = $node->safe_psql('postgres', ORDINARY . "SELECT $answer");

		append_to_file($file, "SELECT 1 / (a = '$wanted')::int FROM (SELECT $answer) AS x (a);\n");
	}
	my $others = IPC::Run::start([ 'pgbench', '-n', '-c', '4', '-T', '4', '-f', $file, $node->connstr('postgres') ], '>', \$out, '2>', \$err);
	$node->poll_query_until('postgres', 'SELECT column_keys > 200000 FROM qsketch_stat_gpu') or die 'the others do not start';
	break($node);
	$node->psql('postgres', 'SELECT qsketch_agg(k) FROM p3');
	is($node->safe_psql('postgres', $states), $third_lost, 'lost while others work');
	ok($others->finish && $out =~ /transactions actually processed: [1-9]/ && $err !~ /rror/, 'which go on, and are right') or diag("$out $err");
	mend($node);
}

# A session that holds a sketch on one of the GPUs.  The sketch is larger than all cached columns,
# so the next one goes elsewhere.
sub holder
{
	my ($node, $groups) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe("SET qsketch.device = gpu; SET enable_sort = off; BEGIN; DECLARE c CURSOR FOR $groups; MOVE 1 FROM c");
	return $session;
}

# Sessions that hold sketches, of which some are on the third GPU: just these fail.
sub holders
{
	my ($node) = @_;
	my $groups = q{SELECT md5(qsketch_agg(k, qsketch_new('sub_warp', '1MB'))::text) FROM p1 GROUP BY n % 2};
	my %correct = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', ORDINARY . $groups);
	my $cached = $node->safe_psql('postgres', $on_third);
	my $all_cached = $node->safe_psql('postgres', $everywhere);
	my ($failed, $right, $third) = (0, 0, 0);
	my @holder;

	while ($third == 0 && @holder < 30)
	{
		push @holder, holder($node, $groups), holder($node, $groups), holder($node, $groups);
		$node->poll_query_until('postgres', "SELECT ($everywhere) = $all_cached + " . @holder) or die 'sketches are not freed';
		$third = $node->safe_psql('postgres', $on_third) - $cached;
	}
	ok($third > 0 && $third < @holder, "$third of " . @holder . ' sketches are on the third GPU');
	break($node);
	$node->psql('postgres', $query{rows}) foreach 1 .. 2;
	is($node->safe_psql('postgres', $states), $third_lost, 'it is lost');
	foreach my $holder (@holder)
	{
		$holder->{stderr} = '';
		my $out = $holder->query('FETCH 1 FROM c');
		$failed++ if $holder->{stderr} =~ $lost;
		$right++ if $holder->{stderr} eq '' && $correct{$out};
		$holder->query('ROLLBACK');
	}
	is($failed, $third, 'their sessions fail');
	is($right, @holder - $third, 'the others go on, and are right');
	$_->quit foreach @holder;
}

foreach my $join ('on', 'off')
{
	my $node = start($join);
	my $worker;

	is($node->safe_psql('postgres', $peers), $join eq 'on' ? '2 2 2' : '0 0 0', "peers $join");
	load($node);
	is_the_same($node, 'three GPUs');
	$worker = $node->safe_psql('postgres', $pid);
	each_query($node);
	load($node);
	others_go_on($node);
	load($node);
	holders($node);

	# the state, and what goes where
	like($node->safe_psql('postgres', 'SELECT reason FROM qsketch_gpu() WHERE device = 2'), qr/^error of the GPU's memory/, 'it says why');
	is($node->safe_psql('postgres', $peers), $join eq 'on' ? '1 1 0' : '0 0 0', 'it is no peer');
	like(slurp_file($node->logfile), qr/LOG: .*qsketch has lost GPU 2: error of the GPU's memory/, 'so does the log');
	is_the_same($node, 'two GPUs');
	cmp_ok((copied_pages($node, 'SELECT qsketch_agg(k) FROM p3'))[0], '<=', 0, 'columns that were there read pages');
	cmp_ok((copied_pages($node, 'SELECT qsketch_agg(k) FROM p1'))[0], '>', 0, 'columns that were elsewhere do not');
	load($node, 1);
	cmp_ok((copied_pages($node, 'SELECT qsketch_agg(k) FROM p3'))[0], '>', 0, 'they are loaded again');
	is($node->safe_psql('postgres', $on_third), 0, 'on other GPUs');
	is_the_same($node, 'two GPUs, loaded again');
	is($node->safe_psql('postgres', $states), $third_lost, 'it is not opened while it fails');

	# it comes back
	mend($node);
	is($node->safe_psql('postgres', $peers), $join eq 'on' ? '2 2 2' : '0 0 0', 'it is a peer again');
	is_the_same($node, 'three GPUs again');
	load($node);
	cmp_ok($node->safe_psql('postgres', $on_third), '>', 0, 'columns are loaded there');
	is($node->safe_psql('postgres', $pid), $worker, 'the worker has gone on all the time');
	settled($node, 'lost and back');

	# lost from the start
	break($node);
	$node->restart;
	$node->poll_query_until('postgres', $states, $third_lost) or die 'the worker did not start with two GPUs';
	load($node);
	is_the_same($node, 'two GPUs from the start');
	mend($node);
	is($node->safe_psql('postgres', $peers), $join eq 'on' ? '2 2 2' : '0 0 0', 'it is opened later');
	is_the_same($node, 'three GPUs after the start');

	# all are lost: the worker ends, and starts again
	$worker = $node->safe_psql('postgres', $pid);
	set_fault($node, 'error');
	foreach (1 .. 20)
	{
		$node->psql('postgres', $query{rows});
		last if $node->safe_psql('postgres', $pid) ne $worker;
	}
	set_fault($node, 'none');
	$node->poll_query_until('postgres', $states, $all_ready) or die 'the worker did not start again';
	isnt($node->safe_psql('postgres', $pid), $worker, 'without any GPU the worker starts again');
	load($node);
	is_the_same($node, 'started again');
	settled($node, 'started again');
	unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'nothing crashed');
	$node->stop;
}
done_testing();
