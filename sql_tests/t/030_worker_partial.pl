# Aggregates whose arguments are passed as a row, through another aggregate, as when Citus pushes them
# down.  The key's collation and type are those of the row's first field.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $module = "$ENV{TESTDIR}/worker_partial.so";
plan skip_all => 'no test module' unless -f $module;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'jit = off');
$node->start;

my $contrib = $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'citext'");
my $icu = $node->safe_psql('postgres',
	"SELECT count(*) > 0 AND getdatabaseencoding() = 'UTF8' FROM pg_collation WHERE collprovider = 'i'") eq 't';
$node->safe_psql('postgres', qq{
	CREATE EXTENSION qsketch;
	CREATE FUNCTION worker_partial_trans(internal, oid, anyelement) RETURNS internal
		AS '$module' LANGUAGE C PARALLEL SAFE;
	CREATE FUNCTION worker_partial_final(internal, oid, anyelement) RETURNS bytea
		AS '$module' LANGUAGE C PARALLEL SAFE;
	CREATE AGGREGATE worker_partial(oid, anyelement) (SFUNC = worker_partial_trans, STYPE = internal,
		FINALFUNC = worker_partial_final, FINALFUNC_EXTRA);
	CREATE TABLE t (w text, i int, d date, n bigint, v varchar);
	INSERT INTO t SELECT k, i, date '2000-01-01' + i, i % 5, k FROM
		(SELECT i, CASE i % 2 WHEN 0 THEN 'KEY' ELSE 'key' END || i % 100 AS k FROM generate_series(1, 1000) AS i) AS s;
	CREATE TYPE pair AS (a text, b bigint);
});

# Compares the sketch of the wrapped call with that of the call itself.
sub same
{
	my ($name, $types, $arguments, $row, $table) = @_;
	my $sql = "SELECT worker_partial('qsketch_agg($types)'::regprocedure, $row)::qsketch
		= qsketch_agg($arguments) FROM @{[$table // 't']}";
	my ($ret, $out, $err) = $node->psql('postgres', $sql);

	is($out, 't', $name) or diag($err);
}

my $new = "qsketch_new('multilevel', '64kB')";
same('text', 'anycompatible', 'w', 'w');
same('text and weight', 'anycompatible, bigint', 'w, n', 'ROW(w, n)');
same('text and template', 'anycompatible, qsketch', "w, $new", "ROW(w, $new)");
same('text, weight and template', 'anycompatible, bigint, qsketch', "w, n, $new", "ROW(w, n, $new)");
same('varchar', 'anycompatible, bigint', 'v, n', 'ROW(v, n)');
same('an expression', 'anycompatible, bigint', "w || 'x', n", "ROW(w || 'x', n)");
same('integers', 'anycompatible, bigint', 'i, n', 'ROW(i, n)');
same('dates', 'anycompatible, bigint', 'd, n', 'ROW(d, n)');
same('text under a collation', 'anycompatible, bigint', 'w COLLATE "POSIX", n', 'ROW(w COLLATE "POSIX", n)');

# Keys of many types, in all families.
$node->safe_psql('postgres', q{
	CREATE TABLE types AS SELECT x::bigint AS n, x * interval '1 min' AS iv, time '00:00' + x * interval '1 min' AS ti,
		(time '00:00' + x * interval '1 min')::timetz AS tt, jsonb_build_object('x', x) AS j,
		('08:00:2b:01:02:' || x % 90 + 10)::macaddr AS ma, ('08:00:2b:01:02:03:04:' || x % 90 + 10)::macaddr8 AS m8,
		'0/0'::pg_lsn + x::numeric AS ls, int4range(x, x + 5) AS ir, int8range(x, x + 5) AS br, numrange(x / 8.0, x) AS nr,
		tsrange('2026-01-01', timestamp '2026-01-02' + x * interval '1 h') AS tr,
		tstzrange('2026-01-01 00:00+0', timestamptz '2026-01-02 00:00+0' + x * interval '1 h') AS zr,
		daterange(date '2026-01-01', date '2026-01-02' + x) AS dr, x::oid AS o
	FROM (SELECT i % 997 AS x FROM generate_series(1, 2000) AS i) AS s
});
foreach my $column (split /\n/, $node->safe_psql('postgres',
	q{SELECT attname || ':' || atttypid::regtype FROM pg_attribute WHERE attrelid = 'types'::regclass AND attnum > 1}))
{
	my ($key, $type) = split /:/, $column;

	same($type, 'anycompatible', $key, $key, 'types');
	same("$type and weight", 'anycompatible, bigint', "$key, n", "ROW($key, n)", 'types');
	same("$type and template", 'anycompatible, qsketch', "$key, $new", "ROW($key, $new)", 'types');
	same("$type, weight and template", 'anycompatible, bigint, qsketch', "$key, n, $new", "ROW($key, n, $new)", 'types');
	foreach my $other ([ 'qfilter_row_agg', 'anycompatible, anyelement, qfilter', "$key, n, qfilter_new(2000, 10)", 'qfilter' ],
		[ 'qfilter_agg', 'anycompatible, qfilter', "$key, qfilter_new_bloom(2000)", 'qfilter' ],
		[ 'qfilter_count_agg', 'anycompatible, bigint, qfilter', "$key, n, qfilter_new_bloom(2000)", 'qfilter' ],
		[ 'qsets_agg', 'bigint, anycompatible', "n, $key", 'qsets' ],
		[ 'qtop_agg', 'anycompatible, bigint', "$key, 5::bigint", 'qtop' ],
		[ 'qtop_agg', 'anycompatible, bigint, integer', "$key, 2, 5", 'qtop' ],
		[ 'qtop_agg', 'anycompatible, bigint, integer, qsketch', "$key, 2, 5, $new", 'qtop' ],
		[ 'qtop_agg', 'anycompatible, integer, qsketch', "$key, 5, $new", 'qtop' ])
	{
		my ($name, $types, $arguments, $result) = @$other;

		my ($ret, $out, $err) = $node->psql('postgres', "SELECT
			worker_partial('$name($types)'::regprocedure, ROW($arguments))::$result = $name($arguments) FROM types");
		is($out, 't', "$name of $type") or diag($err);
	}
}

# Keys that are rows themselves are no rows of arguments.
same('a row as key', 'anycompatible', 'ROW(w, n)::pair', 'ROW(w, n)::pair');

SKIP:
{
	skip 'no ICU', 3 unless $icu;
	$node->safe_psql('postgres', q{
		CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
		CREATE TABLE folded AS SELECT w COLLATE nocase AS w, n FROM t;
	});
	same('nondeterministic', 'anycompatible, bigint', 'w, n', 'ROW(w, n)', 'folded');
	same('nondeterministic, explicit', 'anycompatible, bigint', 'w COLLATE nocase, n', 'ROW(w COLLATE nocase, n)');
	is($node->safe_psql('postgres', "SELECT qsketch_estimate(worker_partial(
		'qsketch_agg(anycompatible, bigint)'::regprocedure, ROW(w, 1::bigint))::qsketch, 'Key1' COLLATE nocase) FROM folded"),
		10, 'nondeterministic: estimate');
}

SKIP:
{
	skip 'no citext', 3 unless $contrib;
	$node->safe_psql('postgres', q{
		CREATE EXTENSION citext;
		CREATE TABLE ci AS SELECT w::citext AS c, w, n FROM t;
	});
	my $total = "FROM ci";
	is($node->safe_psql('postgres', "SELECT qsketch_estimate(worker_partial(
		'qsketch_agg(anycompatible, bigint)'::regprocedure, ROW(c::text, 1::bigint))::qsketch, 'KEY2') FROM ci"), 10,
		'citext cast to text is text');
	is($node->safe_psql('postgres', "SELECT (qsketch_info(worker_partial(
		'qsketch_agg(anycompatible)'::regprocedure, c::text)::qsketch)).key_family FROM ci"), 'text_ops', 'alone as well');
	is($node->safe_psql('postgres', "SELECT (qsketch_info(worker_partial(
		'qsketch_agg(anycompatible, bigint)'::regprocedure, ROW(w, n))::qsketch)).key_family FROM ci"), 'text_ops', 'and text');
}

$node->stop;
done_testing();
