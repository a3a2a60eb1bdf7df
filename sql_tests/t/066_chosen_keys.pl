# Keys that would share one slot of a hash table without a secret (base/slot.h) take no
# longer than other keys.  Cancelled statements over such keys end soon, and so do
# terminated sessions.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchCpu;
use Test::More;

my $module = "$ENV{TESTDIR}/chosen_keys.so";
plan skip_all => 'no test module' unless -f $module;

my $node = PostgreSQL::Test::Cluster->new('chosen');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'qsketch'\nqsketch.device = cpu\njit = off\nautovacuum = off\nfsync = off\n"
	. "max_parallel_workers_per_gather = 0\nwork_mem = '256MB'\nmax_wal_size = '4GB'\n");
$node->start;
$node->safe_psql('postgres', cpu_function());
$node->safe_psql('postgres', join '', 'CREATE EXTENSION qsketch;',
	map { "CREATE FUNCTION $_(bigint) RETURNS bigint IMMUTABLE STRICT LANGUAGE c AS '$module';\n" } qw(mix64 unmix64 multiply unmultiply partner));

# Chosen keys, and beside them ordinary ones of the same type:
# high: equal high bits of the mixer; seeded: the same by the usual seed of sketches; low: equal
# low bits; one: equal 32 bits of the product with a constant; a and b: equal bits together;
# word, name: texts that were found by trying, with equal high bits of the mixer, and with
# low bits of the upper half of that product in one sixty-fourth.
$node->safe_psql('postgres', q{
	CREATE TABLE chosen AS SELECT unmix64(i) AS high, unmix64(i) # mix64(-7046029254386353131) AS seeded, unmix64(i << 24) AS low, unmultiply((5::bigint << 32) + i) AS one,
		i AS a, partner(i) AS b, i % 7 AS k FROM generate_series(1::bigint, 100000) AS i;
	CREATE TABLE usual AS SELECT i AS high, i AS seeded, i AS low, i AS one, i AS a, i + 1 AS b, i % 7 AS k
		FROM generate_series(1::bigint, 100000) AS i;
	CREATE TABLE chosen_words AS SELECT word FROM
		(SELECT 'key ' || i AS word FROM generate_series(1, 1300000) AS i OFFSET 0) AS w
		WHERE mix64(hashtextextended(word, 0)) BETWEEN 0 AND (1::bigint << 58) - 1 LIMIT 20000;
	CREATE TABLE usual_words AS SELECT 'key ' || i AS word FROM generate_series(1, 20000) AS i;
	CREATE TABLE chosen_names AS SELECT name FROM generate_series(1, 10), (SELECT name FROM
		(SELECT 'key ' || i AS name FROM generate_series(1, 1400000) AS i OFFSET 0) AS n
		WHERE (multiply(hashtextextended(name, 0)) >> 32 & 65535) < 1024 LIMIT 20000) AS names;
	CREATE TABLE usual_names AS SELECT 'key ' || i AS name FROM generate_series(1, 10), generate_series(1, 20000) AS i;
	CREATE TABLE lists AS SELECT n, qtop_agg(unmix64(i), 100000) AS list FROM generate_series(1, 2) AS n,
		generate_series(1::bigint, 400000) AS i GROUP BY n;
	CREATE TABLE members AS SELECT unmix64(i << 24) AS k FROM generate_series(1::bigint, 100000) AS i, generate_series(1, 20);
	VACUUM ANALYZE;
});
is($node->safe_psql('postgres', 'SELECT count(*) FROM lists, generate_series(1::bigint, 500000) AS i WHERE n = 1 AND qtop_has(list, unmix64(i))'),
	400000, 'lists have as many candidates as there can be');
is($node->safe_psql('postgres', "SELECT count(DISTINCT $_) FROM chosen_${_}s"), 20000, "${_}s are found") for qw(word name);

# ---- as fast as others ----

# Statements over %s, whose times with chosen keys and with usual ones are compared.
my %statement = (
	'qtop_agg' => 'SELECT count(t) FROM (SELECT qtop_agg(high, 100000) AS t FROM %s) AS s',
	'qtop_agg of texts' => 'SELECT count(t) FROM (SELECT qtop_agg(word, 10000) AS t FROM %s_words) AS s',
	'qtop_agg row by row' => 'SELECT count(t) FROM (SELECT qtop_agg(high, 100000) AS t FROM (SELECT high FROM %s OFFSET 0) AS rows) AS s',
	'qsketch_agg' => 'SELECT qsketch_total(qsketch_agg(seeded)) FROM (SELECT seeded FROM %s LIMIT 1000) AS rows, generate_series(1, 500)',
	'groups by two columns' => 'SELECT count(s) FROM (SELECT a, b, qsketch_agg(k) AS s FROM %s GROUP BY a, b OFFSET 0) AS g',
	'groups by one column' => 'SELECT count(s) FROM (SELECT one, qsketch_agg(k) AS s FROM %s GROUP BY one OFFSET 0) AS g',
	'groups by texts' => 'SELECT count(s) FROM (SELECT name, qsketch_agg(length(name)) AS s FROM %s_names GROUP BY name OFFSET 0) AS g',
	'qsets_agg, ids' => 'SELECT length(qsets_agg(low, k)::bytea) FROM %s',
	'qsets_agg, elements' => 'SELECT length(qsets_agg(k, low)::bytea) FROM %s',
);

# User time of a statement, in ms: the least of three runs.
sub user_ms
{
	my ($settings, $statement) = @_;
	my $out = $node->safe_psql('postgres', "$settings;\n" . "SELECT 'cpu', user_ms();\n$statement;\n" x 3 . "SELECT 'cpu', user_ms();\n");
	my @cpu = $out =~ /^cpu\|([\d.]+)$/mg;

	return (sort { $a <=> $b } map { $cpu[ $_ + 1 ] - $cpu[$_] } 0 .. 2)[0];
}

my $piece = user_ms('', 'SELECT piece_of_work()');
for my $name (sort keys %statement)
{
	my ($chosen, $usual) = map { user_ms("SET work_mem = '1GB'", sprintf $statement{$name}, $_) } qw(chosen usual);

	# times are measured to 10 ms
	cmp_ok($chosen, '<', 3 * $usual + 5 * $piece, "$name: chosen keys take as long as others")
		or diag("$chosen ms, not $usual; a piece of work: $piece ms");
	note "$name: $chosen ms, others $usual ms";
}

# Spilled groups: a few levels of partitions divide them, though all keys have some equal bits.
for my $key ('a, b', 'one')
{
	my ($chosen, $usual) = map { user_ms("SET work_mem = '1MB'; SET hash_mem_multiplier = 1; SET enable_sort = off",
		"SELECT count(s) FROM (SELECT $key, qsketch_agg(k) AS s FROM $_ GROUP BY $key OFFSET 0) AS g") } qw(chosen usual);

	cmp_ok($chosen, '<', 3 * $usual + 5 * $piece, "groups by $key, spilled: chosen keys take as long as others")
		or diag("$chosen ms, not $usual; a piece of work: $piece ms");
}

# ---- cancelled ----

my @work = (
	[ 'qtop_agg', 'SELECT qtop_agg(unmix64(i), 100000) FROM generate_series(1, 2000) AS n, generate_series(1::bigint, 100000) AS i' ],
	[ 'qtop_has', 'SELECT count(*) FROM generate_series(1::bigint, 100000) AS i, LATERAL (SELECT list FROM lists ORDER BY n OFFSET i % 2 LIMIT 1) AS l WHERE qtop_has(list, i)' ],
	[ 'qtop_bounds', 'SELECT count(qtop_bounds(list, i)) FROM generate_series(1::bigint, 100000) AS i, LATERAL (SELECT list FROM lists ORDER BY n OFFSET i % 2 LIMIT 1) AS l' ],
	[ 'qtop_add', 'SELECT count(qtop_add(list, unmix64(i))) FROM lists, generate_series(1::bigint, 100000) AS i' ],
	[ '||', 'SELECT count(a.list || b.list) FROM lists AS a, lists AS b, generate_series(1, 100000)' ],
	[ 'qtop_merge_agg', 'SELECT qtop_merge_agg(list) FROM lists, generate_series(1, 100000)' ],
	[ 'groups by two columns', "SELECT count(s) FROM generate_series(1, 1000) AS n, LATERAL (SELECT a, b, qsketch_agg(k) AS s FROM chosen WHERE k >= n - n GROUP BY a, b OFFSET 0) AS g" ],
	[ 'qsets_agg', 'SELECT length(qsets_agg(k, k)::bytea) FROM members, generate_series(1, 100000)' ],
);
for my $work (@work)
{
	my ($name, $statement) = @$work;

	cancel_often($node, name => $name, statement => $statement, timeout_ms => 100, times => 5);
}

# ---- terminated ----

# A session that looks up in lists of 400,000 candidates, one after the other.  What it and all
# others that ended have used of the processors is the postmaster's when it is gone.
my $user_of_ended = q{(SELECT (process(own[2]))[14]::bigint * 10 FROM process('thread-self') AS own)};
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_until(qr/started/, q{\echo started
	SELECT /* victim */ count(*) FROM generate_series(1::bigint, 1000000) AS i,
	LATERAL (SELECT list FROM lists ORDER BY n OFFSET i % 2 LIMIT 1) AS l WHERE qtop_has(list, i);
	} . "\n");
my $victim = q{FROM pg_stat_activity WHERE query LIKE '%victim%' AND pid <> pg_backend_pid() AND backend_type = 'client backend'};
$node->poll_query_until('postgres', qq{SELECT max((process(pid::text))[12]::bigint) >= 30 $victim}) or die 'the session does nothing';
my $pid = $node->safe_psql('postgres', "SELECT pid $victim");
my ($ended, $used) = split /\|/, $node->safe_psql('postgres',
	qq{SELECT $user_of_ended, (process('$pid'))[12]::bigint * 10 WHERE pg_terminate_backend($pid)});
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid");
my $after = $node->safe_psql('postgres', "SELECT $user_of_ended") - $ended - $used;
cmp_ok($after, '<', 10 * $piece + 100, 'a session that looks up in lists ends soon when it is terminated') or diag("$after ms");
note "terminated: it went on for $after ms";
eval { $session->quit };

$node->stop;
done_testing();
