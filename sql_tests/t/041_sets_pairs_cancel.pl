# A statement_timeout anywhere in qsets_pairs and qsets_similar: preparing, counting,
# returning rows, waiting for workers.  The statement ends soon, and leaves no
# workers, memory or files behind.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchCpu;
use Test::More;

plan skip_all => 'no /proc/self/stat here' unless -r '/proc/self/stat';

my $timeout_ms = 60;
my $times = 12;

my $node = PostgreSQL::Test::Cluster->new('qsets_pairs_cancel');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\nautovacuum = off\nwork_mem = 1GB\nmax_parallel_workers_per_gather = 0");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	SELECT setseed(0.5);
	CREATE TABLE many AS SELECT n, qsets_agg(i % 20000, (random() ^ 2 * 50000)::int) AS q
		FROM generate_series(1, 2) AS n, generate_series(1, 1000000) AS i GROUP BY n;
	CREATE TABLE few AS SELECT qsets_agg(i % 20, i * 7919::bigint % 999983) AS q FROM generate_series(1, 1000000) AS i;
	CREATE TABLE alike AS SELECT qsets_agg(s, e) AS q FROM generate_series(1, 20000) AS s, generate_series(1, 5) AS e;
});
$node->safe_psql('postgres', cpu_function());

my $again = 'generate_series(1, 100000) AS again';
my @work = (
	map({ [ "counting by $_", "SELECT count(*) FROM $again, many, LATERAL qsets_pairs(q, 1000 + 0 * again, method => '$_')" ] }
		'merge', 'search', 'merge_search', 'hash', 'merge_hash', 'bitmap', 'index', 'hybrid'),
	[ 'large sets', "SELECT count(*) FROM $again, few, LATERAL qsets_pairs(q, 1 + 0 * again, method => 'merge')" ],
	[ 'prefixes', "SELECT count(*) FROM $again, many, LATERAL qsets_pairs(q, 1 + 0 * again, 0.9)" ],
	[ 'preparing', "SELECT count(*) FROM $again, many, LATERAL qsets_pairs_plan(q, 1 + 0 * again, 0.9)" ],
	[ 'between two', "SELECT count(*) FROM $again, many AS x, many AS y, LATERAL qsets_pairs(x.q, y.q, 100 + 0 * again)" ],
	[ 'the best', "SELECT count(*) FROM $again, many, LATERAL qsets_pairs(q, top => 3 + 0 * again)" ],
	[ 'many rows', "SELECT count(*) FROM $again, alike, LATERAL qsets_pairs(q, 1 + 0 * again)" ],
	[ 'sets similar to one', "SELECT count(*) FROM $again, many, LATERAL qsets_similar(q, again % 20000)" ]);
my $workers = 'SET parallel_setup_cost = 0; SET max_parallel_workers_per_gather = 2';

# All collections are in the session's memory before anything is cancelled.
my $ready = 'SELECT count(*) FROM many, alike, few WHERE qsets_count(many.q) + qsets_count(alike.q) + qsets_count(few.q) > 0';

for my $work (@work)
{
	my ($name, $statement) = @$work;

	for my $way ([ '', 'SET qsketch.enable_pairscan = on' ], [ ', stored', 'SET qsketch.enable_pairscan = off' ],
		[ ', by workers', "SET qsketch.enable_pairscan = on; $workers" ], [ ', by workers, stored', "SET qsketch.enable_pairscan = off; $workers" ])
	{
		my ($suffix, $settings) = @$way;

		next if $suffix ne '' && $name =~ /preparing|similar/;
		next if $suffix =~ /stored/ && $name =~ /search|hash|bitmap/;
		my $run = cancel_often($node, name => "$name$suffix", statement => $statement, settings => "$settings; $ready",
			timeout_ms => $timeout_ms, times => $times, processes => $suffix =~ /workers/ ? 3 : 1,
			finally => "SELECT 'files', count(*) FROM pg_ls_tmpdir(); SELECT 'memory', sum(total_bytes) FROM pg_backend_memory_contexts;");
		my ($memory) = $run->{out} =~ /^memory\|(\d+)/m;

		like($run->{out}, qr/^files\|0$/m, "$name$suffix: no temporary files are left");
		cmp_ok($memory, '<', 20 * 1024 * 1024, "$name$suffix: no memory is kept");
	}
	ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'"),
		"$name: no workers are left");
}

$node->stop;
done_testing();
