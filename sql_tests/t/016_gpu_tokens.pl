# Tokens: partial states on a device, which are passed to the leader by name.  Tokens are values, so users may
# try to see, keep, copy and forge them, by aggregates of their own that call the extension's functions.  This
# test also passes arbitrary bytes as a sketch, by functions that only a superuser can declare.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use Test::More;

my $node = gpu_node('tokens', 'max_parallel_workers = 8', 'max_parallel_workers_per_gather = 3',
	'qsketch.enable_columnscan = off', 'cpu_operator_cost = 1');
fill($node, 100_000);
$node->safe_psql('postgres', q{
	CREATE FUNCTION as_sketch(bytea, bytea DEFAULT '') RETURNS qsketch LANGUAGE internal IMMUTABLE PARALLEL SAFE AS 'byteacat';
	CREATE FUNCTION as_bytea(qsketch, bytea DEFAULT '') RETURNS bytea LANGUAGE internal IMMUTABLE PARALLEL SAFE AS 'byteacat';
	CREATE SCHEMA s;
	CREATE FUNCTION s.keep(a qsketch, b qsketch) RETURNS qsketch LANGUAGE plpgsql PARALLEL SAFE AS $$
	BEGIN
		IF b IS NULL THEN RETURN a; END IF;
		RAISE NOTICE 'saw % bytes: %', length(as_bytea(b)), substr(as_bytea(b), 1, 3);
		RETURN coalesce(a || b, b);
	END $$;
	CREATE AGGREGATE s.kept(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = s.keep,
		FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
	CREATE AGGREGATE s.same(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch,
		COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
	-- a partial state that is whatever the rows say, for our combine functions
	CREATE FUNCTION s.last(a qsketch, b bytea) RETURNS qsketch LANGUAGE sql PARALLEL SAFE COST 100000 AS 'SELECT as_sketch($2)';
	CREATE AGGREGATE s.forge(bytea) (SFUNC = s.last, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, PARALLEL = SAFE);
	CREATE AGGREGATE s.forge_merge(bytea) (SFUNC = s.last, STYPE = qsketch, COMBINEFUNC = _qsketch_merge_trans, PARALLEL = SAFE);
	CREATE AGGREGATE s.direct(qsketch) (SFUNC = _qsketch_agg_combine, STYPE = qsketch);
	CREATE TABLE forged (id int, bytes bytea) WITH (parallel_workers = 2)});

# A user's own combine function receives whole sketches, also if an aggregate of the extension
# shares the state.
for my $query ('SELECT s.kept(k) = (SELECT qsketch_agg(k) FROM t) FROM t',
	'SELECT s.kept(k) = qsketch_agg(k) FROM t', 'SELECT qsketch_agg(k) = s.kept(k) FROM t',
	'SELECT s.same(k) = qsketch_agg(k) FROM t',
	'SELECT bool_and(a = b) FROM (SELECT s.kept(k) AS a, qsketch_agg(k) AS b FROM t GROUP BY k > 9999) AS g')
{
	my ($out, $err) = ('', '');
	$node->psql('postgres', $query, stdout => \$out, stderr => \$err);
	is($out, 't', $query);
	like($err, qr/saw \d+ bytes/, 'a combine function was called') if $query =~ /kept/;
	is(scalar(() = $err =~ /saw \d+ bytes: \\x(?!51534b)/g), 0, 'and saw sketches only');
}

# An owner's combine function receives whole sketches, also if a running query calls this function while the
# aggregate is changed to the extension's combine function.
make_partitions($node);
$node->safe_psql('postgres', q{
	CREATE ROLE owner LOGIN;
	GRANT USAGE, CREATE ON SCHEMA s TO owner;
	GRANT SELECT ON parts TO owner});
my $replaced = 'CREATE OR REPLACE AGGREGATE s.replaced(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch,
	FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE, COMBINEFUNC';
my ($rc, $out, $err) = psql_as($node, 'owner', qq{
	$replaced = s.keep);
	SET enable_partitionwise_aggregate = on;
	SET max_parallel_workers_per_gather = 0;
	SET cpu_operator_cost = 0.0025;
	EXPLAIN (COSTS OFF) SELECT s.replaced(k) FROM parts;
	BEGIN;
	DECLARE c CURSOR FOR SELECT s.replaced(k) = (SELECT qsketch_agg(k) FROM (SELECT k FROM parts OFFSET 0) AS ordinary) FROM parts;
	$replaced = _qsketch_agg_combine);
	FETCH c;
	COMMIT});
like($out, qr/Partial Aggregate.*^t$/ms, "replaced: partial states are combined, and right");
like($err, qr/saw \d+ bytes/, 'by the function that the query began with');
is(scalar(() = $err =~ /saw \d+ bytes: \\x(?!51534b)/g), 0, 'which saw sketches only');

# Forged tokens: in the present and earlier formats of tokens, and mutants of
# sketches.
$node->safe_psql('postgres', q{
	SELECT setseed(0.5);
	CREATE FUNCTION random_bytes(n int) RETURNS bytea LANGUAGE sql VOLATILE AS
	$$ SELECT decode(coalesce(string_agg(lpad(to_hex((random() * 255)::int), 2, '0'), ''), ''), 'hex')
		FROM generate_series(1, n) $$;
	INSERT INTO forged SELECT i, convert_to((ARRAY['QSG1', 'QSG2', 'QSP1', 'QSL1', 'QSK'])[1 + i % 5], 'UTF8')
			|| CASE WHEN i % 3 = 0 THEN decode(repeat('00', (ARRAY[16, 12, 20, 108])[1 + i % 4]), 'hex')
				ELSE random_bytes((ARRAY[16, 12, 20, 108, (i % 200)])[1 + i % 5]) END
		FROM generate_series(1, 1000) AS i;
	INSERT INTO forged SELECT 1000 + i, set_byte(b, (random() * (length(b) - 1))::int, (random() * 255)::int)
		FROM generate_series(1, 500) AS i, (SELECT as_bytea(sk) AS b FROM correct WHERE structure = 'sub_warp') AS c;
	ANALYZE forged});
$node->safe_psql('postgres', q{
	CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN EXECUTE query; RETURN 'a value';
	EXCEPTION WHEN OTHERS THEN RETURN sqlstate; END $$});
for my $aggregate ('s.forge(bytes)', 's.forge_merge(bytes)', 's.direct(as_sketch(bytes))')
{
	my $outcomes = $node->safe_psql('postgres', qq{
		SELECT outcome, count(*) > 0 FROM forged AS f,
			LATERAL outcome(format('SELECT qsketch_total($aggregate) FROM forged WHERE id + 0 = %s', f.id)) AS outcome
		WHERE f.id <= 1000 OR f.id % 10 = 0 GROUP BY 1 ORDER BY 1});
	unlike($outcomes, qr/^(?!55000|XX001|22|a value)/m, "$aggregate: forged values give clean errors");
	like($outcomes, qr/^XX001/m, "$aggregate: that they are no sketches");
	like($outcomes, qr/^55000/m, "$aggregate: or not there") if $aggregate =~ /forge/;
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM forged WHERE id <= 1000
	AND outcome(format('SELECT as_sketch(bytes)::text, qsketch_total(as_sketch(bytes)) FROM forged WHERE id = %s', id)) <> 'XX001'}),
	'0', 'tokens are no sketches to anything else');
is_right($node, 'after all that');
settled($node, 'after all that');
$node->stop;
done_testing();
