# Queries that end early, at any point, leave nothing with the GPU worker:
# statement_timeout, cancel, errors, ROLLBACK TO SAVEPOINT, open cursors.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('cancel', 'max_parallel_workers_per_gather = 2');
fill($node, 200_000);

# statement_timeout, at many points; each request takes 20 ms
set_fault($node, 'slow');
my ($ended, $answered, $wrong) = (0, 0, 0);
for my $turn (1 .. 40)
{
	my $timeout = 1 + $turn * 12;
	my $parallel = $turn % 2 ? 2 : 0;
	my ($rc, $out, $err) = $node->psql('postgres', qq{
		SET statement_timeout = $timeout;
		SET max_parallel_workers_per_gather = $parallel;
		SELECT qsketch_agg(k, qsketch_new('sub_warp', '256kB')) =
			(SELECT sk FROM correct WHERE structure = 'sub_warp') FROM t});
	$ended++ if $err =~ /canceling statement due to statement timeout/;
	$answered++ if $out eq 't';
	$wrong++ if $out eq 'f' || ($rc != 0 && $err !~ /canceling statement/);
}
is($wrong, 0, 'statement_timeout: no wrong answer and no other error');
cmp_ok($ended, '>=', 10, "statement_timeout: $ended queries ended early");
settled($node, 'statement_timeout');

# cancel while the query waits for the worker
set_fault($node, 'hang');
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_until(qr/started/, qq{\\echo started
	SELECT /* victim */ qsketch_agg(k) FROM t;\n});
ok($node->poll_query_until('postgres', q{
	SELECT count(*) > 0 FROM pg_stat_activity
	WHERE query LIKE '%victim%' AND pid <> pg_backend_pid() AND wait_event_type = 'Extension'}),
	'pg_stat_activity shows the wait for the GPU');
$node->safe_psql('postgres', q{
	SELECT pg_cancel_backend(pid) FROM pg_stat_activity
	WHERE query LIKE '%victim%' AND pid <> pg_backend_pid()});
ok($node->poll_query_until('postgres', q{
	SELECT count(*) = 0 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%victim%'
		AND pid <> pg_backend_pid()}), 'cancel ends the wait');
$session->quit;

# a query stops waiting for a worker that makes no progress
my ($rc, $out, $err) = $node->psql('postgres',
	"SET qsketch.gpu_timeout = '1s'; SELECT qsketch_agg(k) FROM t");
like($err, qr/GPU worker made no progress for 1 s/, 'the wait for a worker that hangs is bounded');
set_fault($node, 'none');
settled($node, 'cancel');

# errors in the middle, outside and inside of subtransactions
($rc, $out, $err) = $node->psql('postgres',
	'SELECT qsketch_agg(CASE WHEN k = 3 THEN 1 / (k - 3) ELSE k END) FROM t');
like($err, qr/division by zero/, 'an error ends a query');
settled($node, 'error');

# Ends of (sub)transactions free sketches.
$node->safe_psql('postgres', q{
	CREATE FUNCTION wait_below(n bigint) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. 1800 LOOP
			EXIT WHEN (SELECT values_now < n FROM qsketch_stat_gpu);
			PERFORM pg_sleep(0.1);
		END LOOP;
	END $$});
my $script = q{
	SET max_parallel_workers_per_gather = 0;
	BEGIN;
	DECLARE c CURSOR FOR SELECT k % 2, qsketch_agg(k) FROM t GROUP BY 1;
	FETCH 1 FROM c \g /dev/null
	SAVEPOINT s;
	DECLARE d CURSOR FOR SELECT k % 3, qsketch_agg(k) FROM t GROUP BY 1;
	FETCH 1 FROM d \g /dev/null
	SELECT values_now FROM qsketch_stat_gpu \gset
	\echo :values_now
	ROLLBACK TO SAVEPOINT s;
	SELECT wait_below(:values_now), pg_sleep(0.5) \g /dev/null
	SELECT values_now FROM qsketch_stat_gpu;
	FETCH 1 FROM c \g /dev/null
	%s;
	SELECT wait_below(1) \g /dev/null
	SELECT values_now FROM qsketch_stat_gpu;
};
for my $end ('COMMIT', 'ROLLBACK')
{
	my ($with, $after, $done) =
		split(/\n/, $node->safe_psql('postgres', sprintf($script, $end)));
	cmp_ok($with, '>', $after, "$end: ROLLBACK TO SAVEPOINT frees what came after it");
	cmp_ok($after, '>', 0, "$end: and leaves what came before");
	is($done, 0, "$end: an open cursor's sketches go with the transaction");
}

# a caught error inside PL/pgSQL
$node->safe_psql('postgres', q{
	DO $$
	BEGIN
		FOR i IN 1 .. 5 LOOP
			BEGIN
				PERFORM qsketch_agg(CASE WHEN k = 3 THEN 1 / (k - 3) ELSE k END) FROM t;
			EXCEPTION WHEN division_by_zero THEN NULL;
			END;
			ASSERT (SELECT qsketch_total(qsketch_agg(k)) = count(*) FROM t);
		END LOOP;
	END $$});
settled($node, 'caught errors');
is_right($node, 'after all of it');
settled($node, 'after all of it');

$node->stop;
done_testing();
