# A statement_timeout anywhere in set_pairs and set_similar: preparing, counting,
# returning rows, waiting for workers.  The statement ends within 200 ms, and
# leaves no workers, memory or files behind.
#
# A busy machine may let a backend wait as long as it likes.  So what counts is
# the processor time that a statement took until it ended, which waiting does
# not add to, and its time on the clock beyond that of a plain query with the
# same timeout.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no /proc/self/stat here' unless -r '/proc/self/stat';

my $timeout_ms = 60;
my $times = 12;
my ($tick_ms) = map { 1000 / $_ } `getconf CLK_TCK` =~ /(\d+)/ ? $1 : 100;

my $node = PostgreSQL::Test::Cluster->new('set_pairs_cancel');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\nwork_mem = 1GB\nmax_parallel_workers_per_gather = 0");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	SELECT setseed(0.5);
	CREATE TABLE many AS SELECT n, qsets_agg(i % 20000, (random() ^ 2 * 50000)::int) AS q
		FROM generate_series(1, 2) AS n, generate_series(1, 1000000) AS i GROUP BY n;
	CREATE TABLE few AS SELECT qsets_agg(i % 20, i * 7919::bigint % 999983) AS q FROM generate_series(1, 1000000) AS i;
	CREATE TABLE alike AS SELECT qsets_agg(s, e) AS q FROM generate_series(1, 20000) AS s, generate_series(1, 5) AS e;
	-- user and system time of this backend so far, in ticks
	CREATE FUNCTION ticks() RETURNS bigint LANGUAGE sql VOLATILE AS
	$$ SELECT f[12]::bigint + f[13]::bigint FROM regexp_split_to_array(split_part(pg_read_file('/proc/self/stat'), ') ', 2), ' ') AS f $$;
});

my $again = 'generate_series(1, 100000) AS again';
my @work = (
	map({ [ "counting by $_", "SELECT count(*) FROM $again, many, LATERAL set_pairs(q, 1000 + 0 * again, method => '$_')" ] }
		'merge', 'search', 'merge_search', 'hash', 'merge_hash', 'bitmap', 'index', 'hybrid'),
	[ 'large sets', "SELECT count(*) FROM $again, few, LATERAL set_pairs(q, 1 + 0 * again, method => 'merge')" ],
	[ 'prefixes', "SELECT count(*) FROM $again, many, LATERAL set_pairs(q, 1 + 0 * again, 0.9)" ],
	[ 'preparing', "SELECT count(*) FROM $again, many, LATERAL set_pairs_plan(q, 1 + 0 * again, 0.9)" ],
	[ 'between two', "SELECT count(*) FROM $again, many AS x, many AS y, LATERAL set_pairs(x.q, y.q, 100 + 0 * again)" ],
	[ 'the best', "SELECT count(*) FROM $again, many, LATERAL set_pairs(q, top => 3 + 0 * again)" ],
	[ 'many rows', "SELECT count(*) FROM $again, alike, LATERAL set_pairs(q, 1 + 0 * again)" ],
	[ 'sets similar to one', "SELECT count(*) FROM $again, many, LATERAL set_similar(q, again % 20000)" ]);
my $workers = 'SET parallel_setup_cost = 0; SET max_parallel_workers_per_gather = 2;';

# Median ms of cancelled statements, and ms of processor time that one took.
sub cancel
{
	my ($name, $settings, $statement) = @_;
	my $script = "$settings\nSELECT count(*) FROM many, alike, few WHERE qsets_count(many.q) + qsets_count(alike.q) + qsets_count(few.q) > 0;\n"
	  . "\\set VERBOSITY sqlstate\nSELECT 'ticks', ticks();\n\\timing on\n";

	$script .= "SET statement_timeout = '${timeout_ms}ms';\n$statement;\nRESET statement_timeout;\n" for 1 .. $times;
	$script .= "\\timing off\nSELECT 'ticks', ticks();\nSELECT 'files', count(*) FROM pg_ls_tmpdir();\nSELECT 'memory', sum(total_bytes) FROM pg_backend_memory_contexts;\n";
	my ($status, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0, timeout => 180);
	my @ms = sort { $a <=> $b } grep { $_ > $timeout_ms / 2 } $out =~ /^Time: ([\d.]+) ms/mg;
	my @ticks = $out =~ /^ticks\|(\d+)/mg;
	my ($memory) = $out =~ /^memory\|(\d+)/m;

	is(scalar(() = $err =~ /ERROR:\s+57014/g), $times, "$name: every statement was cancelled") or diag $err;
	like($out, qr/^files\|0$/m, "$name: no temporary files are left");
	cmp_ok($memory, '<', 20 * 1024 * 1024, "$name: no memory is kept");
	return ($ms[ $#ms / 2 ], ($ticks[1] - $ticks[0]) * $tick_ms / $times);
}

my ($plain) = cancel('a plain query', '', 'SELECT count(*) FROM generate_series(1, 1000) AS i, generate_series(1, 10000000) AS j');

for my $work (@work)
{
	my ($name, $statement) = @$work;

	for my $way ([ '', 'SET qsketch.enable_pairscan = on;' ], [ ', stored', 'SET qsketch.enable_pairscan = off;' ],
		[ ', by workers', "SET qsketch.enable_pairscan = on; $workers" ], [ ', by workers, stored', "SET qsketch.enable_pairscan = off; $workers" ])
	{
		my ($suffix, $settings) = @$way;

		next if $suffix ne '' && $name =~ /preparing|similar/;
		next if $suffix =~ /stored/ && $name =~ /search|hash|bitmap/;
		my ($ms, $cpu) = cancel("$name$suffix", $settings, $statement);

		note sprintf '%s%s: median %.0f ms, %.0f ms of processor time; a plain query: %.0f ms', $name, $suffix, $ms, $cpu, $plain;
		cmp_ok($cpu, '<', 200, "$name$suffix: took less than 200 ms of processor time");
		cmp_ok($ms - $plain, '<', 140, "$name$suffix: ended within 200 ms, beside what a plain query takes");
	}
	ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'"),
		"$name: no workers are left");
}

$node->stop;
done_testing();
