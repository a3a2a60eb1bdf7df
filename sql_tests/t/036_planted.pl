# Objects that the owner of the extension's schema, or the user of a session, has
# put beside those of the extension: functions of the same names whose further
# arguments have defaults, or of the same arguments as domains; operators, casts
# and types.  The extension calls none of these objects, and none of them stops
# an installation, an upgrade or qtop_exact.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('planted');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'qsketch'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION qsketch; CREATE ROLE owner LOGIN');

# Names and argument types of all functions and aggregates, but for that which the
# test itself calls.
my $members = q{
	SELECT proname, pg_catalog.oidvectortypes(proargtypes), pronargs FROM pg_proc
	JOIN pg_depend ON classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e'
	WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'qsketch') AND proname <> 'qtop_exact'
		AND NOT EXISTS (SELECT FROM unnest(proargtypes) AS t WHERE t IN ('internal'::regtype, 'cstring'::regtype))
};

$members = $node->safe_psql('postgres', "COPY ($members) TO STDOUT (FORMAT csv)");
cmp_ok(scalar(split /\n/, $members), '>', 150, 'there are functions whose names can be taken');

# A table of which qtop_exact makes lists, of keys that are integers and others.
my $fill = q{
	CREATE TABLE member (name text, arguments text, count int);
	\copy member from stdin csv
} . $members . q{
\.
	CREATE TABLE log AS SELECT k, 'key ' || k AS t
	FROM (SELECT CASE WHEN i % 2 = 0 THEN floor(sqrt(i % 20)) ELSE i * 7919 % 1000003 END::int AS k FROM generate_series(1, 100000) AS i) AS s;
	VACUUM ANALYZE log;
	CREATE DOMAIN number AS int;
	CREATE DOMAIN label AS text;
};

# For each member a function that has one more argument, or two, with defaults,
# and one that takes domains.  The database may lack types that they take.
my $plant = q{
	CREATE OR REPLACE FUNCTION planted() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$;
	CREATE OR REPLACE FUNCTION try(statement text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement; RETURN true;
		EXCEPTION WHEN undefined_object OR duplicate_function THEN RETURN false; END $$;
	CREATE TABLE IF NOT EXISTS plants (worked boolean);
	INSERT INTO plants SELECT try(format('CREATE FUNCTION %I(%s) RETURNS int LANGUAGE sql AS ''SELECT planted()''', name,
		concat_ws(', ', NULLIF(arguments, ''), extra)))
	FROM member AS m, unnest(ARRAY['integer DEFAULT 1', 'text DEFAULT NULL, number DEFAULT 2']) AS extra
	WHERE NOT EXISTS (SELECT FROM member AS o WHERE o.name = m.name AND o.arguments = concat_ws(', ', NULLIF(m.arguments, ''), 'integer'));
	INSERT INTO plants SELECT try(format('CREATE FUNCTION %I(%s) RETURNS int LANGUAGE sql AS ''SELECT planted()''', name,
		regexp_replace(regexp_replace(arguments, 'integer$', 'number'), '\ytext\y', 'label')))
	FROM member WHERE arguments ~ 'integer$|\ytext\y';
};
my $others = q{
	CREATE FUNCTION count(int) RETURNS int LANGUAGE sql AS 'SELECT planted()';
	CREATE FUNCTION max(bigint, int DEFAULT 1) RETURNS int LANGUAGE sql AS 'SELECT planted()';
	CREATE FUNCTION string_agg(text, label) RETURNS int LANGUAGE sql AS 'SELECT planted()';
	CREATE FUNCTION compare(bigint, number) RETURNS boolean LANGUAGE sql AS 'SELECT planted() > 0';
	CREATE OPERATOR >= (LEFTARG = bigint, RIGHTARG = number, FUNCTION = compare);
	CREATE FUNCTION plus(bigint, number) RETURNS int LANGUAGE sql AS 'SELECT planted()';
	CREATE OPERATOR + (LEFTARG = bigint, RIGHTARG = number, FUNCTION = plus);
	CREATE TYPE theirs.int8 AS (planted int);
	CREATE TYPE theirs.text AS (planted int);
	CREATE FUNCTION to_text(theirs.text) RETURNS text LANGUAGE sql AS 'SELECT planted()::text';
	CREATE CAST (theirs.text AS text) WITH FUNCTION to_text(theirs.text) AS IMPLICIT;
};
my $temporary = q{
	CREATE TYPE pg_temp.qsketch AS (planted int);
	CREATE TYPE pg_temp.qtop AS (planted int);
	CREATE FUNCTION pg_temp.qsketch_new() RETURNS int LANGUAGE sql AS 'SELECT 1/0';
	CREATE FUNCTION pg_temp.qsketch_version(text) RETURNS int LANGUAGE sql AS 'SELECT 1/0';
	CREATE FUNCTION pg_temp._qsketch_gpu_counts() RETURNS int LANGUAGE sql AS 'SELECT 1/0';
};

sub as_owner
{
	my ($name, $sql) = @_;

	return $node->safe_psql($name, "SET search_path = theirs;\n$sql", extra_params => [ '-U', 'owner' ]);
}

# The answer, and in which way it was found.
sub exact
{
	my ($name, $column) = @_;
	my ($out, $err);

	$node->psql($name, "$temporary; SET search_path = theirs; SET client_min_messages = debug1;
		SELECT * FROM qtop_exact('log', '$column', 3);", stdout => \$out, stderr => \$err, extra_params => [ '-U', 'owner' ]);
	return join(' ', $out =~ s/\n/ /gr, $err =~ /(?:DEBUG:  qtop_exact|ERROR: ) (.*)/g);
}

sub try_all
{
	my ($name, $before, $change) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name OWNER owner");
	$node->safe_psql($name, 'CREATE SCHEMA theirs AUTHORIZATION owner');
	as_owner($name, "$before; $fill");
	as_owner($name, "$plant; $others");
	my $planted = as_owner($name, 'SELECT count(*) FROM plants WHERE worked');
	cmp_ok($planted, '>', 50, "$name: $planted functions are planted");
	as_owner($name, "$temporary; $change");
	is(as_owner($name, q{SELECT count(*) FROM pg_extension JOIN pg_available_extensions AS a ON a.name = extname
			WHERE extname = 'qsketch' AND default_version = extversion}), 1, "$name: done");
	is(as_owner($name, 'SELECT (SELECT count(*) FROM qsketch_stat_gpu), (SELECT count(*) FROM qsketch_stat), (SELECT count(*) FROM qsketch_progress)'),
		'1|1|0', "$name: views work");

	# now that all types are there
	as_owner($name, $plant);
	$planted = as_owner($name, 'SELECT count(*) FROM plants WHERE worked');
	cmp_ok($planted, '>', 200, "$name: $planted functions are planted in all");
	is(exact($name, 'k'), '2|15000 3|15000 4|10000 has the counts of candidates', "$name: integers are counted");
	is(exact($name, 't'), 'key 2|15000 key 3|15000 key 4|10000 counts candidates', "$name: texts are counted");
}

try_all('installed', '', 'CREATE EXTENSION qsketch SCHEMA theirs');
try_all('upgraded', q{CREATE EXTENSION qsketch SCHEMA theirs VERSION '0.9.0'}, 'ALTER EXTENSION qsketch UPDATE');

$node->stop;
done_testing();
