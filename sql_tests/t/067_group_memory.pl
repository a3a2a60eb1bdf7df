# Memory of GROUP BY: whatever the planner expects, groups take no more than work_mem times hash_mem_multiplier, by
# the column scan and by the ordinary plan.  The backend's peak is what the kernel says it was, without shared memory.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no /proc/self/status here'
  unless -r '/proc/self/status' && slurp_file('/proc/self/status') =~ /^VmHWM:/m;

my $node = PostgreSQL::Test::Cluster->new('group_memory');
$node->init;
$node->append_conf('postgresql.conf', "shared_buffers = 64MB\njit = off\nautovacuum = off\nfsync = off\nmax_parallel_workers_per_gather = 0\n"
	. "work_mem = '4MB'\nhash_mem_multiplier = 2\n");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	CREATE FUNCTION peak_kb() RETURNS int LANGUAGE sql AS $$
		SELECT substring(s FROM 'VmHWM:\s*(\d+)')::int - substring(s FROM 'RssShmem:\s*(\d+)')::int FROM pg_read_file('/proc/self/status') AS s $$;
	CREATE TABLE t AS SELECT i::bigint AS k, i % 500 AS g, timestamp '2020-01-01' + (i % 500) * interval '25 h' AS ts, 'u' || i % 500 AS s FROM generate_series(1, 1000000) AS i;
	VACUUM ANALYZE t;
});

# A new backend, one query, its peak in MB.
sub peak_of
{
	my ($query) = @_;
	my @lines = split /\n/, $node->safe_psql('postgres', "$query; SELECT peak_kb()");

	return ($lines[-1] / 1024, $lines[-2]);
}

# One and a half times the limit of 8 MB, one value that is larger than expected, and memory that the
# allocator keeps.
my ($base) = peak_of('SELECT qsketch_total(qsketch_new())');
my $most = 1.5 * 8 + 8;
note sprintf 'a backend alone: %.0f MB', $base;

my @by = ('g', 'k % 500', 'k & 511', 'mod(k, 500)', 'abs(k) % 500', 'ts::date', q{date_trunc('day', ts)}, 'lower(s)', q{g, k % 500});
my @calls = ('qfilter_agg(k, qfilter_new_bloom(1000000))', 'qsketch_agg(k)', 'qtop_agg(k, 10)', 'qtop_agg(s, 10)', 'qsets_agg(k, k)', q{count(*), sum(k), qfilter_agg(k, qfilter_new(100000, 10))});
for my $plan ('on', 'off')
{
	my $other = $plan eq 'on' ? 'SET enable_hashagg = off; SET enable_sort = off;' : '';

	for my $by (@by)
	{
		for my $call (@calls)
		{
			next if $plan eq 'off' && ($call =~ /qtop_agg\(s|count/ || $by =~ /,|mod|trunc/);
			my ($last) = $call =~ /((?:qfilter|qsketch|qtop|qsets)_agg.*)$/;
			my ($others) = $call =~ /^(count.*?), q/;
			my $inner = join ', ', $by, $others // (), "$last AS v";
			my ($peak, $count) = peak_of("SET qsketch.enable_columnscan = $plan; $other SELECT count(v) FROM (SELECT $inner FROM t GROUP BY $by) AS x");

			note sprintf '%-4s %-22s %-60s %4.0f MB', $plan, $by, $call, $peak - $base;
			cmp_ok($peak - $base, '<', $most, "$call by $by, scan $plan");
			is($count, $by =~ /511/ ? 512 : 500, 'all groups');
		}
	}
}

# A list of long texts is refused when its texts are added, not when the list is
# written.
my ($code, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT qtop_agg(repeat(i::text, 2000), 100000) FROM generate_series(1, 2000000) AS i;\nSELECT peak_kb()");
like($err, qr/54000/, 'texts of a list take at most 1 GB');
cmp_ok($out / 1024 - $base, '<', 1200, 'and no more memory than that');

$node->stop;
done_testing();
