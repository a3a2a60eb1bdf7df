# ALTER EXTENSION qsketch UPDATE from each version that has an upgrade script, one of which was never released
# (test/older.pl).  The catalogue becomes equal to that of a fresh installation, stored values stay, views
# survive or an error names them, and no superuser is needed.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('upgrade');
$node->init;
$node->start;
my $dir = PostgreSQL::Test::Utils::tempdir;
my $version = $node->safe_psql('postgres',
	q{SELECT default_version FROM pg_available_extensions WHERE name = 'qsketch'});

# All that the catalogue says about the extension, without OIDs.
my $catalogue = q{
	CREATE TEMP VIEW member AS SELECT classid, objid FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'qsketch');
	SELECT concat_ws(' ', 'extension', to_jsonb(e) - '{oid,extnamespace}'::text[])
	FROM pg_extension AS e WHERE extname = 'qsketch'
	UNION ALL SELECT concat_ws(' ', 'description', pg_describe_object(classid, objid, 0),
		obj_description(objid, classid::regclass::name), i.privtype, i.initprivs)
	FROM member LEFT JOIN pg_init_privs AS i ON i.classoid = classid AND i.objoid = objid
	UNION ALL SELECT concat_ws(' ', 'depends', pg_describe_object(classid, objid, objsubid), deptype,
		pg_describe_object(refclassid, refobjid, refobjsubid))
	FROM pg_depend WHERE (classid, objid) IN (SELECT * FROM member) OR (refclassid, refobjid) IN (SELECT * FROM member)
	UNION ALL SELECT concat_ws(' ', 'function', oid::regprocedure, pg_get_function_arguments(oid),
		pg_get_function_result(oid), proallargtypes::regtype[], to_jsonb(p) - '{oid,pronamespace,prolang,
		prorettype,proargtypes,proallargtypes,proargdefaults}'::text[])
	FROM pg_proc AS p JOIN member ON objid = oid WHERE classid = 'pg_proc'::regclass
	UNION ALL SELECT concat_ws(' ', 'aggregate', aggfnoid::regprocedure, aggtransfn::regprocedure,
		aggfinalfn::regprocedure, aggcombinefn::regprocedure, aggmtransfn::regprocedure,
		aggminvtransfn::regprocedure, aggmfinalfn::regprocedure, aggtranstype::regtype, aggmtranstype::regtype,
		to_jsonb(a) - '{aggfnoid,aggtransfn,aggfinalfn,aggcombinefn,aggmtransfn,aggminvtransfn,aggmfinalfn,
		aggtranstype,aggmtranstype}'::text[])
	FROM pg_aggregate AS a JOIN member ON objid = aggfnoid WHERE classid = 'pg_proc'::regclass
	UNION ALL SELECT concat_ws(' ', 'type', oid::regtype, typarray::regtype, typelem::regtype, typrelid::regclass,
		to_jsonb(t) - '{oid,typnamespace,typarray,typelem,typrelid}'::text[])
	FROM pg_type AS t WHERE oid IN (SELECT objid FROM member WHERE classid = 'pg_type'::regclass)
		OR typelem IN (SELECT objid FROM member WHERE classid = 'pg_type'::regclass)
	UNION ALL SELECT concat_ws(' ', 'cast', castsource::regtype, casttarget::regtype, castfunc::regprocedure,
		castcontext, castmethod)
	FROM pg_cast JOIN member ON objid = oid WHERE classid = 'pg_cast'::regclass
	UNION ALL SELECT concat_ws(' ', 'operator', oid::regoperator, oprresult::regtype, oprcom::regoperator,
		oprnegate::regoperator, to_jsonb(o) - '{oid,oprnamespace,oprleft,oprright,oprresult,oprcom,oprnegate}'::text[])
	FROM pg_operator AS o JOIN member ON objid = oid WHERE classid = 'pg_operator'::regclass
	UNION ALL SELECT concat_ws(' ', 'operator class', opcname, opcintype::regtype, opckeytype::regtype,
		pg_describe_object('pg_opfamily'::regclass, opcfamily, 0),
		to_jsonb(c) - '{oid,opcname,opcnamespace,opcfamily,opcintype,opckeytype}'::text[])
	FROM pg_opclass AS c JOIN member ON objid = oid WHERE classid = 'pg_opclass'::regclass
	UNION ALL SELECT concat_ws(' ', 'operator of family', pg_describe_object('pg_opfamily'::regclass, amopfamily, 0),
		amoplefttype::regtype, amoprighttype::regtype, amopopr::regoperator, amopstrategy, amoppurpose, amopmethod)
	FROM pg_amop JOIN member ON objid = amopfamily WHERE classid = 'pg_opfamily'::regclass
	UNION ALL SELECT concat_ws(' ', 'function of family', pg_describe_object('pg_opfamily'::regclass, amprocfamily, 0),
		amproclefttype::regtype, amprocrighttype::regtype, amproc::regprocedure, amprocnum)
	FROM pg_amproc JOIN member ON objid = amprocfamily WHERE classid = 'pg_opfamily'::regclass
	UNION ALL SELECT concat_ws(' ', 'relation', oid::regclass, relkind, relacl, relowner::regrole, pg_get_viewdef(oid),
		(SELECT array_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attacl, col_description(attrelid, attnum)) ORDER BY attnum)
			FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0))
	FROM pg_class AS c JOIN member ON objid = oid WHERE classid = 'pg_class'::regclass
	ORDER BY 1;
};

# Sketches of all structures, and objects that depend on the extension.  No
# object uses a function whose arguments change.
my $fill = q{
	CREATE TABLE sketch (name text, sk qsketch, total bigint GENERATED ALWAYS AS (qsketch_total(sk)) STORED);
	INSERT INTO sketch
	SELECT concat_ws(' ', s, n, w), qsketch_agg(k, w, qsketch_new(s, '2kB', z => 3, seed => -5))
	FROM unnest('{thread,warp,half_warp,sub_warp,multilevel,sf}'::text[]) AS s,
		(VALUES (10, 1), (3000, 1), (3000, 10000000)) AS v(n, w),
		generate_series(1, n) AS k GROUP BY s, n, w;
	INSERT INTO sketch SELECT 'device ' || name, qsketch_sf_device(sk) FROM sketch WHERE name LIKE 'sf%';
	INSERT INTO sketch SELECT 'text', qsketch_agg(k::text, qsketch_new('sub_warp')) FROM generate_series(1, 1000) AS k;
	INSERT INTO sketch SELECT 'empty', qsketch_new('sub_warp', '1kB');
	CREATE INDEX ON sketch USING hash (sk);
	CREATE INDEX ON sketch USING btree (md5(sk::text));
	CREATE TABLE daily (day int, sk qsketch DEFAULT qsketch_new(size => '4kB'));
	INSERT INTO daily SELECT k % 7, qsketch_agg(k, qsketch_new('sub_warp', '4kB')) FROM generate_series(1, 20000) AS k GROUP BY 1;
	CREATE MATERIALIZED VIEW rollup AS SELECT qsketch_merge_agg(sk) AS sk FROM daily;
	CREATE VIEW estimates AS SELECT name, qsketch_estimate(sk, 7) AS seven, qsketch_estimate(sk, ARRAY[1, 2]) AS both,
		qsketch_estimate_unbiased(sk, 7) AS unbiased FROM sketch WHERE name <> 'text' AND name NOT LIKE 'device%';
	CREATE VIEW moving AS SELECT day, qsketch_merge_agg(sk) OVER (ORDER BY day ROWS 2 PRECEDING) AS sk FROM daily;
	CREATE VIEW moving_keys AS SELECT k, qsketch_agg(k) OVER (ORDER BY k ROWS 2 PRECEDING) AS sk FROM generate_series(1, 9) AS k;
};
my %question = (
	'stored values' => q{SELECT name, md5(sk::text), total FROM sketch ORDER BY name COLLATE "C"},
	'estimates' => q{SELECT * FROM estimates ORDER BY name COLLATE "C"},
	'keys of text' => q{SELECT qsketch_estimate(sk, '77'), qsketch_estimate(sk, 'none') FROM sketch WHERE name = 'text'},
	'errors' => q{SELECT name, qsketch_error(sk), qsketch_error(sk, 0.5) FROM sketch WHERE name NOT LIKE 'device%' ORDER BY name COLLATE "C"},
	'bounds' => q{SELECT name, b.* FROM sketch, qsketch_bounds(sk, 7) AS b WHERE name LIKE '%3000 1' AND name NOT LIKE 'device%' ORDER BY name COLLATE "C"},
	'materialized view' => q{SELECT md5(sk::text), qsketch_total(sk) FROM rollup},
	'moving merges' => q{SELECT day, md5(sk::text) FROM moving ORDER BY day},
	'moving aggregates' => q{SELECT k, qsketch_total(sk), qsketch_estimate(sk, k) FROM moving_keys ORDER BY k},
	'lookup by index' => q{SET enable_seqscan = off; SELECT count(*) FROM sketch AS a JOIN sketch AS b USING (sk)});

sub answers
{
	my ($database) = @_;

	return { map { $_ => $node->safe_psql($database, $question{$_}) } keys %question };
}

sub lines
{
	my ($database) = @_;

	return [ split /\n/, $node->safe_psql($database, $catalogue) ];
}

sub version_of
{
	my ($database) = @_;

	return $node->safe_psql($database, q{SELECT extversion FROM pg_extension WHERE extname = 'qsketch'});
}

sub upgrade
{
	my ($old, $user) = @_;
	my $name = "${user}_" . ($old =~ s/\./_/gr);
	my @as = (extra_params => [ '-U', $user ]);

	$node->safe_psql('postgres', "CREATE DATABASE $name OWNER $user");
	$node->safe_psql('postgres', "CREATE DATABASE fresh_$name OWNER $user");
	$node->safe_psql("fresh_$name", 'CREATE EXTENSION qsketch', @as);
	$node->safe_psql($name, "CREATE EXTENSION qsketch VERSION '$old'", @as);
	$node->safe_psql($name, $fill, @as);
	my $before = answers($name);
	my $fresh = lines("fresh_$name");
	cmp_ok(scalar @$fresh, '>', 500, "$name: the catalogue has much to say");
	isnt(join("\n", @{ lines($name) }), join("\n", @$fresh), "$name: it was another one");
	like($before->{'stored values'}, qr/^multilevel 3000 1\|/m, "$name: sketches are there");

	# An error names a view that prevents the upgrade, and nothing is changed.
	$node->safe_psql($name, 'CREATE VIEW in_the_way AS SELECT qsketch_error(sk) FROM sketch', @as);
	my ($status, $out, $err) = $node->psql($name, 'ALTER EXTENSION qsketch UPDATE', @as);
	like($err, qr/cannot drop function qsketch_error\(.*view in_the_way depends on/s, "$name: a view in the way is named");
	is(version_of($name), $old, "$name: and nothing has happened");
	is_deeply(answers($name), $before, "$name: all works as before");

	$node->safe_psql($name, 'DROP VIEW in_the_way; ALTER EXTENSION qsketch UPDATE', @as);
	$node->safe_psql($name, 'CREATE VIEW in_the_way AS SELECT qsketch_error(sk) FROM sketch', @as);
	is(version_of($name), $version, "$name: updated");
	is($node->safe_psql($name, 'SELECT qsketch_version()'), $version, "$name: the library is of this version");
	is_deeply(answers($name), $before, "$name: same values and estimates");
	$node->safe_psql($name, 'REFRESH MATERIALIZED VIEW rollup; REINDEX TABLE sketch', @as);
	is_deeply(answers($name), $before, "$name: also when made anew");
	is( $node->safe_psql($name, 'SELECT DISTINCT (qsketch_info(sk)).structure FROM moving_keys'),
		'multilevel', "$name: moving aggregates start with the new default");
	$node->safe_psql($name, 'INSERT INTO daily (day) VALUES (7)', @as);
	is( $node->safe_psql($name, 'SELECT (qsketch_info(sk)).structure, count(*) FROM daily GROUP BY 1 ORDER BY count(*)'),
		"multilevel|1\nsub_warp|7", "$name: and so do columns' defaults, beside what is stored");
	$node->safe_psql($name, 'DELETE FROM daily WHERE day = 7', @as);
	$node->safe_psql($name, 'DROP VIEW in_the_way');
	dump_and_restore($name, $before);

	# Drops the user's objects, after which the catalogue has only the extension's
	# objects.
	$node->safe_psql($name, 'DROP TABLE sketch, daily CASCADE; DROP VIEW moving_keys', @as);
	is_deeply(lines($name), $fresh, "$name: the catalogue is that of a fresh installation");
	$node->safe_psql($name, 'DROP EXTENSION qsketch', @as);
}

sub dump_and_restore
{
	my ($name, $before) = @_;

	$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/$name", $node->connstr($name) ], "$name: pg_dump");
	$node->safe_psql('postgres', "CREATE DATABASE restored_$name");
	$node->command_ok([ 'pg_restore', '-d', $node->connstr("restored_$name"), "$dir/$name" ], "$name: pg_restore");
	is_deeply(answers("restored_$name"), $before, "$name: same values and estimates after a restore");
}

$node->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN; CREATE ROLE chief SUPERUSER LOGIN');
my @old = split /\n/, $node->safe_psql('postgres', qq{
	SELECT source FROM pg_extension_update_paths('qsketch') WHERE target = '$version' AND path IS NOT NULL ORDER BY 1});
is($old[0], '0.9.0', 'there is an upgrade from a version that never was');
foreach my $old (@old)
{
	upgrade($old, 'ordinary');
	upgrade($old, 'chief');
}

# Before scripts do anything else they ask the library, which says what it does not
# serve: here the same scripts, if they were of a version to come.
my $scripts = `pg_config --sharedir`;
chomp $scripts;
foreach my $script ("qsketch--$version", map { "qsketch--$_--$version" } @old)
{
	my $sql = slurp_file("$scripts/extension/$script.sql");

	$sql =~ s/^(\\|--).*\n|\A\s+//mg;
	like($sql, qr/\A\s*CREATE (OR REPLACE )?FUNCTION qsketch_version\([^;]*;\s*(COMMENT ON FUNCTION qsketch_version[^;]*;\s*)?\s*ALTER FUNCTION [^;]*;\s*SELECT "qsketch_version alone"\('\Q$version\E'::text\);/,
		"$script asks first");
	$sql =~ s/\Q'$version'\E/'9.9.9'/g;
	$sql =~ s/MODULE_PATHNAME/\$libdir\/qsketch/g;
	append_to_file("$dir/$script", $sql);
	$node->command_fails_like(
		[ 'psql', '-qX1', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('template1'), '-f', "$dir/$script" ],
		qr/ERROR:  library qsketch \Q$version\E does not serve SQL of version "9\.9\.9"\nHINT:  Install/,
		"$script of a later version is refused");
}

$node->stop;
done_testing();
