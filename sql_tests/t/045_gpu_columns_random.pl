# Cached columns and random changes by several clients at the same time.  Each query, with random conditions
# and groups or without, in parallel plans or serial ones, is compared with the ordinary plan in the same
# snapshot; first with one device, then with three.  QSKETCH_COLUMN_QUERIES is the number of comparisons, for
# long runs.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $queries = $ENV{QSKETCH_COLUMN_QUERIES} // 400;
my $clients = 6;
my $rounds = 4;

my $node = gpu_node('random', 'qsketch.device = auto', 'qsketch.gpu_min_elements = 1000', 'max_parallel_workers_per_gather = 0', 'cpu_operator_cost = 1', 'jit = off',
	'max_prepared_transactions = 20', 'deadlock_timeout = 20ms', 'lock_timeout = 2s', 'fsync = off');
wait_for_worker($node);
$node->safe_psql('postgres', TOP_WRONG);

# Tables of about so many rows: kept (changes row by row), made (rewritten, altered, emptied),
# frozen (filled by COPY FREEZE), gone (dropped and created again) and wide (two parts, a row on a page).
$node->safe_psql('postgres', q{
	CREATE FUNCTION rows_of(rows int) RETURNS TABLE (k bigint, n int, w text, id int) LANGUAGE sql AS
		$$ SELECT (random() * 3000)::bigint, CASE WHEN random() < 0.8 THEN (random() * 40)::int END, 'w' || (random() * 500)::int, i
			FROM generate_series(1, rows) AS i $$;
	CREATE TABLE kept AS SELECT * FROM rows_of(12000);
	CREATE TABLE made AS SELECT * FROM rows_of(5000);
	CREATE TABLE frozen (k bigint, n int, w text, id int);
	CREATE TABLE gone AS SELECT * FROM rows_of(2000);
	CREATE TABLE wide (k bigint, n int, w text, id int, pad text) WITH (fillfactor = 10);
	INSERT INTO wide SELECT r.*, repeat('x', 800) FROM rows_of(33000) AS r;
	CREATE INDEX ON wide (id);
	VACUUM wide;
	ALTER TABLE kept SET (fillfactor = 70);
	CREATE INDEX ON kept (id);
	CREATE INDEX made_id ON made (id);
	CREATE SEQUENCE checked;
	CREATE SEQUENCE lists;
	CREATE SEQUENCE failed;

	-- a random table's columns, from cached columns where they are true, and by the ordinary plan
	CREATE FUNCTION check_one() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		name text := CASE WHEN random() < 0.03 THEN 'wide' ELSE (ARRAY['kept', 'kept', 'made', 'frozen', 'gone'])[1 + (random() * 4)::int] END;
		small text := CASE WHEN random() < 0.5 THEN '' ELSE ', qsketch_new(''thread'', ''32kB'')' END;
		at int := (random() * 12000)::int;
		kept_rows text := (ARRAY['', '', 'WHERE n < 20', 'WHERE n IS NULL', 'WHERE n IS NOT NULL AND k <> 7', 'WHERE id BETWEEN ' || at || ' AND ' || at + 2000,
			'WHERE k > ' || at / 4 || ' AND n >= 5', 'WHERE n IN (1, 2, 3, ' || at % 40 || ')', 'WHERE n NOT IN (4, 5) AND id > ' || at, 'WHERE id % 2 = 0'])[1 + (random() * 9)::int];
		filter text := (ARRAY['', '', ' FILTER (WHERE n < 9)', ' FILTER (WHERE id > ' || at || ' AND k < 1000)'])[1 + (random() * 3)::int];
		same boolean;
	BEGIN
		PERFORM set_config('max_parallel_workers_per_gather', (random() * 3)::int::text, true);
		EXECUTE format(CASE WHEN random() < 0.3 THEN 'SELECT a.x IS NOT DISTINCT FROM b.x FROM
			(SELECT string_agg(coalesce(n::text, '''') || coalesce(md5(q::text), ''''), '','' ORDER BY n) AS x
				FROM (SELECT n, qsketch_agg(k%2$s)%4$s AS q FROM %1$I %3$s GROUP BY n) AS g) AS a,
			(SELECT string_agg(coalesce(n::text, '''') || coalesce(md5(q::text), ''''), '','' ORDER BY n) AS x
				FROM (SELECT n, qsketch_agg(k%2$s)%4$s AS q FROM (SELECT * FROM %1$I %3$s OFFSET 0) AS c GROUP BY n) AS g) AS b'
			ELSE 'SELECT a.* IS NOT DISTINCT FROM b.* FROM
			(SELECT qsketch_agg(k%2$s)%4$s, qsketch_agg(n%2$s), qsketch_agg(w%2$s), qfilter_agg(k, qfilter_new_bloom(2000))%4$s, qfilter_agg(w, qfilter_new_bloom(300)), count(*)%4$s, count(n) FROM %1$I %3$s) AS a,
			(SELECT qsketch_agg(k%2$s)%4$s, qsketch_agg(n%2$s), qsketch_agg(w%2$s), qfilter_agg(k, qfilter_new_bloom(2000))%4$s, qfilter_agg(w, qfilter_new_bloom(300)), count(*)%4$s, count(n) FROM (SELECT * FROM %1$I %3$s OFFSET 0) AS c) AS b' END, name, small, kept_rows, filter)
			INTO same;
		PERFORM nextval('checked');
		IF NOT same THEN
			PERFORM nextval('failed');
			RAISE LOG 'copies of % differ % %', name, kept_rows, filter;
		END IF;
	EXCEPTION WHEN undefined_table OR lock_not_available OR deadlock_detected OR undefined_column THEN
		NULL;
	END $$;

	-- the most frequent keys of a column; the lock keeps its name
	CREATE FUNCTION check_exact() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		name text := CASE WHEN random() < 0.03 THEN 'wide' ELSE (ARRAY['kept', 'kept', 'made', 'frozen', 'gone'])[1 + (random() * 4)::int] END;
		col text := (ARRAY['k', 'n'])[1 + (random() * 1)::int];
		same boolean;
	BEGIN
		EXECUTE format('LOCK TABLE %I IN ACCESS SHARE MODE', name);
		EXECUTE format('SELECT (SELECT array_agg(key || '':'' || count) FROM qtop_exact(%1$L, %2$L, 50)) IS NOT DISTINCT FROM
			(SELECT array_agg(k || '':'' || c) FROM (SELECT x.%2$I AS k, count(*) AS c FROM (SELECT * FROM %1$I OFFSET 0) AS x
				WHERE x.%2$I IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 50) AS y)', name, col) INTO same;
		PERFORM nextval('checked');
		IF NOT same THEN
			PERFORM nextval('failed');
			RAISE LOG 'exact counts of % differ', name;
		END IF;
	EXCEPTION WHEN undefined_table OR lock_not_available OR deadlock_detected OR undefined_column THEN
		NULL;
	END $$;

	-- lists of top keys, of all rows or of groups: the sketch, the bounds of candidates, and that of all other keys
	CREATE FUNCTION check_top() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		name text := CASE WHEN random() < 0.03 THEN 'wide' ELSE (ARRAY['kept', 'kept', 'made', 'frozen', 'gone'])[1 + (random() * 4)::int] END;
		template text := (ARRAY['qsketch_new(''thread'', ''16kB'')', 'qsketch_new(''multilevel'', ''8kB'')', 'qsketch_new(''sub_warp'', ''64kB'', depth => 1)', 'qsketch_new(''warp'', ''4kB'')'])[1 + (random() * 3)::int];
		at int := (random() * 12000)::int;
		kept_rows text := (ARRAY['', '', 'WHERE n < 20', 'WHERE n IS NOT NULL AND k <> 7', 'WHERE id BETWEEN ' || at || ' AND ' || at + 2000, 'WHERE id % 2 = 0'])[1 + (random() * 5)::int];
		filter text := (ARRAY['true', 'true', 'n < 9', 'id > ' || at || ' AND k < 1000'])[1 + (random() * 3)::int];
		grouped text := (ARRAY['0', '0', 'n', 'id / 4000'])[1 + (random() * 3)::int];
		most int := (ARRAY[1, 3, 10, 200])[1 + (random() * 3)::int];
		wrong text;
	BEGIN
		PERFORM set_config('max_parallel_workers_per_gather', (random() * 3)::int::text, true);
		wrong := top_wrong(name, 'k', 'bigint', grouped, template, kept_rows, filter, most, CASE WHEN at % 2 = 0 THEN ', qsketch_agg(k)' ELSE '' END);
		PERFORM nextval('checked'), nextval('lists');
		IF wrong IS NOT NULL THEN
			PERFORM nextval('failed');
			RAISE LOG 'top keys of % differ: % % % % % %', name, wrong, grouped, template, kept_rows, filter, most;
		END IF;
	EXCEPTION WHEN undefined_table OR lock_not_available OR deadlock_detected OR undefined_column OR undefined_function OR datatype_mismatch THEN
		NULL;
	END $$;

	-- a collection of sets of two random columns, its pairs, and one with a FILTER
	CREATE FUNCTION check_sets() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		name text := CASE WHEN random() < 0.03 THEN 'wide' ELSE (ARRAY['kept', 'kept', 'made', 'frozen', 'gone'])[1 + (random() * 4)::int] END;
		ids text := (ARRAY['n', 'k', 'id'])[1 + floor(random() * 3)::int];
		elements text := (ARRAY['k', 'n', 'id'])[1 + floor(random() * 3)::int];
		at int := (random() * 12000)::int;
		kept_rows text := (ARRAY['', '', 'WHERE n < 20', 'WHERE n IS NOT NULL AND k <> 7', 'WHERE id BETWEEN ' || at || ' AND ' || at + 2000,
			'WHERE k > ' || at / 4 || ' AND n >= 5', 'WHERE id % 2 = 0'])[1 + (random() * 6)::int];
		least int := 1 + (random() * 3)::int;
		same boolean;
	BEGIN
		EXECUTE format('SELECT a.* IS NOT DISTINCT FROM b.* FROM
			(SELECT qsets_agg(%2$s, %3$s), qsets_agg(n, id) FILTER (WHERE k < 900), qsketch_agg(k) FROM %1$I %4$s) AS a,
			(SELECT qsets_agg(%2$s, %3$s), qsets_agg(n, id) FILTER (WHERE k < 900), qsketch_agg(k) FROM (SELECT * FROM %1$I %4$s OFFSET 0) AS c) AS b',
			name, ids, elements, kept_rows) INTO same;
		IF same THEN
			EXECUTE format('SELECT (SELECT md5(string_agg(p::text, '','')) FROM qsets_pairs((SELECT qsets_agg(n, k) FROM %1$I %2$s), %3$s) AS p) IS NOT DISTINCT FROM
				(SELECT md5(string_agg(p::text, '','')) FROM qsets_pairs((SELECT qsets_agg(n, k) FROM (SELECT * FROM %1$I %2$s OFFSET 0) AS c), %3$s) AS p)',
				name, kept_rows, least) INTO same;
		END IF;
		PERFORM nextval('checked');
		IF NOT same THEN
			PERFORM nextval('failed');
			RAISE LOG 'sets of % differ % % %', name, ids, elements, kept_rows;
		END IF;
	EXCEPTION WHEN undefined_table OR lock_not_available OR deadlock_detected OR undefined_column OR undefined_function THEN
		NULL;
	END $$;

	-- a column that the same transaction may have added is refused
	CREATE FUNCTION load_one() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format('SELECT qsketch_gpu_load(%L, %L)', CASE WHEN random() < 0.1 THEN 'wide' ELSE (ARRAY['kept', 'made', 'frozen', 'gone'])[1 + (random() * 3)::int] END,
			(ARRAY['{k,n,w,id}', '{k,n,w,id}', '{w}', '{n,k}', '{id}'])[1 + (random() * 4)::int]);
	EXCEPTION WHEN undefined_table OR lock_not_available OR deadlock_detected OR undefined_column OR feature_not_supported THEN
		NULL;
	WHEN object_not_in_prerequisite_state THEN
		IF SQLERRM NOT LIKE '%whose columns this transaction has changed' THEN
			RAISE;
		END IF;
	END $$;

	-- statements of which any may fail, in subtransactions that may be rolled back
	CREATE FUNCTION change(statements text[]) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		statement text := statements[1 + floor(random() * array_length(statements, 1))::int];
	BEGIN
		EXECUTE statement;
		IF random() < 0.3 THEN
			PERFORM check_one();
		END IF;
		IF random() < 0.2 THEN
			RAISE division_by_zero;
		END IF;
	EXCEPTION WHEN division_by_zero OR undefined_table OR lock_not_available OR deadlock_detected OR undefined_column
		OR undefined_object OR duplicate_table OR object_in_use OR invalid_text_representation OR unique_violation THEN
		NULL;
	END $$;
	CREATE FUNCTION change_rows() RETURNS void LANGUAGE sql AS $$
		SELECT change(ARRAY[
			'INSERT INTO kept SELECT * FROM rows_of((random() * 200)::int)',
			'UPDATE kept SET k = k + 1 WHERE id BETWEEN ' || (random() * 12000)::int || ' AND ' || (random() * 12000)::int || ' AND random() < 0.1',
			'UPDATE kept SET n = NULL WHERE id = ' || (random() * 12000)::int,
			'UPDATE kept SET w = w || ''x'' WHERE id = ' || (random() * 12000)::int,
			'DELETE FROM kept WHERE id BETWEEN ' || (random() * 12000)::int || ' AND ' || (random() * 12000)::int || ' AND random() < 0.02',
			'DELETE FROM kept WHERE ctid >= ''(60,0)''',
			'SELECT count(*) FROM kept WHERE id < 500',
			'SELECT id FROM kept WHERE id < 90 FOR UPDATE',
			'UPDATE wide SET k = k + 1 WHERE id BETWEEN ' || (random() * 33000)::int || ' AND ' || (random() * 33000)::int || ' AND random() < 0.01',
			'DELETE FROM wide WHERE id = ' || (random() * 33000)::int,
			'INSERT INTO made (k, n, w, id) SELECT * FROM rows_of(300)',
			'UPDATE made SET k = id WHERE id % 50 = ' || (random() * 50)::int]) $$;
	CREATE FUNCTION change_tables() RETURNS void LANGUAGE sql AS $$
		SELECT change(ARRAY[
			'TRUNCATE made; INSERT INTO made (k, n, w, id) SELECT * FROM rows_of(4000)',
			'DROP INDEX IF EXISTS made_id; CREATE INDEX made_id ON made (id); CLUSTER made USING made_id',
			'ALTER TABLE made ALTER k TYPE numeric', 'ALTER TABLE made ALTER k TYPE bigint', 'ALTER TABLE made ALTER n TYPE bigint',
			'ALTER TABLE made ALTER w TYPE varchar(40)', 'ALTER TABLE made ALTER w TYPE varchar(50)', 'ALTER TABLE made ALTER w TYPE text',
			'ALTER TABLE made DROP n; ALTER TABLE made ADD n int DEFAULT 7', 'ALTER TABLE made ADD extra' || (random() * 100000)::int || ' int DEFAULT 9',
			'ALTER TABLE made SET UNLOGGED', 'ALTER TABLE made SET LOGGED', 'ALTER TABLE made ALTER w TYPE text COLLATE "C"',
			'ALTER TABLE made SET (fillfactor = 50)', 'ALTER TABLE made RENAME TO mad; ALTER TABLE gone RENAME TO made; ALTER TABLE mad RENAME TO gone',
			'DROP TABLE gone; CREATE TABLE gone AS SELECT * FROM rows_of(2500)', 'REFRESH MATERIALIZED VIEW none']) $$});

# Parallel plans with cached columns are among them.
$node->safe_psql('postgres', 'VACUUM ANALYZE kept');
$node->safe_psql('postgres', q{SELECT qsketch_gpu_load('kept', '{k,n,w,id}'); UPDATE kept SET k = k + 1 WHERE id BETWEEN 100 AND 1000});
like($node->safe_psql('postgres', q{SET max_parallel_workers_per_gather = 2;
	EXPLAIN (ANALYZE, COSTS off) SELECT qsketch_agg(k), qsketch_agg(n), qsketch_agg(w), count(*) FROM kept}),
	qr/Parallel Custom Scan \(QSketchScan\).* Pages: [1-9].*Pages from Cached Columns: [1-9]/s, 'changed pages are shared out');

my $dir = PostgreSQL::Test::Utils::tempdir();
my %script = (
	check => [ 60, 'SELECT check_one();' ],
	exact => [ 30, 'SELECT check_exact();' ],
	sets => [ 15, 'SELECT check_sets();' ],
	top => [ 25, 'SELECT check_top();' ],
	old => [ 6, "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT check_one();\n\\sleep 30 ms\nSELECT check_one();\nSELECT check_one();\nCOMMIT;" ],
	serializable => [ 6, "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT check_one();\nUPDATE kept SET k = 5 WHERE id = 77;\nSELECT check_one();\nCOMMIT;" ],
	load => [ 20, 'SELECT load_one();' ],
	rows => [ 25, 'SELECT change_rows();' ],
	savepoints => [ 5, "BEGIN;\nSELECT change_rows();\nSAVEPOINT a;\nSELECT change_rows();\nSELECT check_one();\nROLLBACK TO a;\nSELECT check_one();\nCOMMIT;" ],
	rollback => [ 4, "BEGIN;\nSELECT change_rows();\nSELECT change_tables();\nSELECT load_one();\nSELECT check_one();\nROLLBACK;" ],
	tables => [ 6, 'SELECT change_tables();' ],
	vacuum => [ 12, 'VACUUM kept, frozen;' ],
	wide => [ 1, 'VACUUM wide;' ],
	freeze => [ 3, 'VACUUM (FREEZE) kept;' ],
	all => [ 2, 'VACUUM;' ],
	prepared => [ 3, "BEGIN;\nUPDATE kept SET k = -k WHERE id BETWEEN 100 AND 130;\nPREPARE TRANSACTION 'p:client_id';\nSELECT check_one();\nCOMMIT PREPARED 'p:client_id';" ],
	given_up => [ 2, "BEGIN;\nDELETE FROM kept WHERE id BETWEEN 200 AND 230;\nPREPARE TRANSACTION 'p:client_id';\nSELECT check_one();\nROLLBACK PREPARED 'p:client_id';" ],
	copy => [ 4, "BEGIN;\nTRUNCATE frozen;\nCOPY frozen FROM PROGRAM 'shuf -i 1-9000 -n 3000 | sed \"s/.*/&\\t5\\tw&\\t&/\"' WITH (FREEZE);\nSELECT check_one();\nCOMMIT;" ]);
foreach (keys %script)
{
	append_to_file("$dir/$_.sql", "$script{$_}[1]\n");
}
my @files = map { ('-f', "$dir/$_.sql\@$script{$_}[0]") } sort keys %script;

# Enough transactions for the comparisons of a round.  An error that may not be retried ends a client.
my $each = int($queries / $rounds / $clients) + 1;
for my $round (1 .. $rounds)
{
	my $goal = $node->safe_psql('postgres', 'SELECT last_value FROM checked') + $queries / $rounds;
	my $before;

	$node->safe_psql('postgres', 'SELECT load_one() FROM generate_series(1, 5)');
	$before = gpu_count($node, 'column_keys');
	# in the last round only 1 MB is free for cached columns
	set_worker($node, 'qsketch.gpu_cache_size', $round == $rounds ? 1 : 4096);
	for (1 .. 50)
	{
		my ($out, $err);

		IPC::Run::run([ 'pgbench', '-n', '-c', $clients, '-j', 2, '-t', $each, '--max-tries=1000', @files,
			$node->connstr('postgres') ], '>', \$out, '2>', \$err);
		my @other = grep { /ERROR/ && !/lock timeout|deadlock|concurrent|prepared transaction with identifier/ } split /\n/, $err;
		is(join("\n", @other), '', "round $round: no other error than those of locks") if @other;
		# what clients that gave up have left behind
		foreach (split /\n/, $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts'))
		{
			$node->safe_psql('postgres', "ROLLBACK PREPARED '$_'");
		}
		last if $node->safe_psql('postgres', 'SELECT last_value FROM checked') >= $goal;
	}
	cmp_ok($node->safe_psql('postgres', 'SELECT last_value FROM checked'), '>=', $goal, "round $round: so many were compared");
	is($node->safe_psql('postgres', 'SELECT last_value, is_called FROM failed'), '1|f', "round $round: none differs");
	cmp_ok(gpu_count($node, 'column_keys'), '>', $before, "round $round: keys came from cached columns");
	if ($round == 2)
	{
		$node->stop('immediate');
		$node->append_conf('postgresql.conf', "qsketch.gpu_devices = '0,1,2'") unless $ENV{QSKETCH_GPU};
		$node->start;
		wait_for_worker($node);
	}
}
note($node->safe_psql('postgres', 'SELECT last_value FROM checked') . ' comparisons, ' . gpu_count($node, 'column_keys') . ' keys from cached columns');
cmp_ok($node->safe_psql('postgres', 'SELECT last_value FROM lists'), '>', $queries / 20, 'lists of top keys were compared');
settled($node, 'random changes');
$node->stop;
done_testing();
