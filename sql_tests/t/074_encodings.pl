# The same text is the same key in databases of all encodings: values are equal byte by byte,
# and mean the same after dump and restore.  A database of SQL_ASCII does not know what its
# text is, so its values say that and do not mix with others.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

$ENV{PGCLIENTENCODING} = 'UTF8';

my $node = PostgreSQL::Test::Cluster->new('encodings');
$node->init(extra => [ '--no-locale', '--encoding=UTF8' ]);
$node->start;

my $dir = PostgreSQL::Test::Utils::tempdir;
my %database = map { lc($_) => $_ } 'UTF8', 'LATIN1', 'WIN1252', 'EUC_JP', 'SQL_ASCII';
my $prepare = q{
	CREATE EXTENSION qsketch;
	CREATE EXTENSION citext;
	CREATE EXTENSION hstore;
	SET qsketch.filter_nonce = 5;
	CREATE TYPE dish AS ENUM ('sopa', 'café', 'a');
	CREATE TYPE texts AS RANGE (subtype = text);
	CREATE TYPE pair AS (a int, b text);
	CREATE TABLE word (t text);
};
# What each encoding has, and 300 words of ASCII, so that sketches are dense.
my %words = (
	latin1 => [ 'café', 'naïve', 'é', 'ab', 'Öl' ],
	win1252 => [ 'café', '5 €', 'ab' ],
	euc_jp => [ '日本', '寿司 sushi', 'ｶﾅ', 'ab' ],
);

foreach my $name (sort keys %database)
{
	$node->safe_psql('postgres',
		"CREATE DATABASE $name ENCODING '$database{$name}' LOCALE 'C' TEMPLATE template0");
	next if $name eq 'euc_jp';    # which has no é: its enum is made of what it has
	$node->safe_psql($name, $prepare);
}
$node->safe_psql('euc_jp', $prepare =~ s/café/寿司/r);

# Values of all types whose keys have text, of all kinds of keys that can have it.
my @keys = (
	't', 't::varchar(9)', 't::char(12)', 't::name', 'ARRAY[t, NULL]', 'ROW(1, t)::pair', "ROW(t, 'lit')",
	'jsonb_build_object(t, 1, \'aa\', t, \'zz\', ARRAY[t, t])', 'to_jsonb(t)', 'texts(t, NULL)',
	'texts(NULL, t)::text COLLATE "C"', 'multirange(texts(t, NULL))', 'ARRAY[ARRAY[to_jsonb(t)]]');

sub values_of
{
	my $key = shift;

	return "SELECT md5(concat_ws(' ', qsketch_agg($key), qsketch_agg($key, qsketch_new('sub_warp', '2kB')),
		qfilter_agg($key, qfilter_new_bloom(1000)), qfilter_row_agg($key, i, qfilter_new(1000, 10))))
		FROM word, generate_series(1, 2) AS i";
}

sub lists_of
{
	my $key = shift;

	return "SELECT md5(qtop_agg($key, 10)::text) FROM word, generate_series(1, 2) AS i";
}

sub refused
{
	my ($name, $query, $pattern, $what) = @_;
	my ($rc, $out, $err) = $node->psql($name, "\\set VERBOSITY verbose\n$query");

	like($err, $pattern, $what);
}

sub fill
{
	my ($name, $list) = @_;
	my $values = join ', ', map { "('$_')" } @$list;

	return "TRUNCATE word; INSERT INTO word VALUES $values; INSERT INTO word SELECT i FROM generate_series(1, 300) AS i";
}

foreach my $name (sort keys %words)
{
	$node->safe_psql($_, fill($_, $words{$name})) foreach $name, 'utf8';
	foreach my $key (@keys)
	{
		is($node->safe_psql($name, values_of($key)), $node->safe_psql('utf8', values_of($key)),
			"$database{$name}: same values of $key");
		next if $key =~ /ARRAY/;
		is($node->safe_psql($name, lists_of($key)), $node->safe_psql('utf8', lists_of($key)),
			"$database{$name}: same list of $key");
		my $sets = "SELECT md5(qsets_agg(length(t) % 3, $key)::text) FROM word";
		is($node->safe_psql($name, $sets), $node->safe_psql('utf8', $sets), "$database{$name}: same sets of $key");
	}
	foreach my $plan ('SET qsketch.enable_columnscan = off', 'SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0')
	{
		is($node->safe_psql($name, "$plan; " . lists_of('t')), $node->safe_psql('utf8', lists_of('t')),
			"$database{$name}: same list with $plan");
	}
}

# An enum, whose label is the key
foreach my $name ('latin1', 'win1252')
{
	my $enum = q{SELECT concat_ws(' ', qsketch_agg(d), qtop_agg(d, 3), qsets_agg(1, d)) FROM unnest('{café,a,café}'::dish[]) AS d};

	is($node->safe_psql($name, $enum), $node->safe_psql('utf8', $enum), "$database{$name}: same values of an enum");
}

# ---- dump and restore into another encoding ----

# The text of a jsonb in a list has the keys of an object in the order of the database it came from.

my $store = q{
	CREATE TABLE stored AS SELECT qsketch_agg(t) AS sk, qfilter_agg(t, qfilter_new_bloom(1000)) AS f, qtop_agg(t, 5) AS top,
		qsets_agg(1, t) AS s, qsketch_agg(ARRAY[t]) AS lists, qtop_agg(jsonb_build_object(t, 1, 'aa', t), 5) AS objects,
		qsketch_agg(t::citext) AS folded
	FROM (SELECT unnest('{café,café,naïve,abc}'::text[]) AS t) AS w};
my $ask = q{
	SELECT qsketch_estimate(sk, 'café'), qsketch_estimate(sk, 'abc'), qsketch_estimate(sk, ARRAY['naïve', 'cafe']),
		qfilter_contains(f, 'café'), qfilter_contains(f, 'thé'), qtop_estimate(top, 'café'),
		(SELECT string_agg(key || ' ' || estimate, ', ') FROM qtop_list(top, 1, NULL::text)),
		(SELECT string_agg(key, ', ' ORDER BY key) FROM qtop_text(top)),
		(SELECT string_agg(id || ' ' || common, ', ') FROM qsets_similar(s, ARRAY['café', 'naïve'])),
		qsketch_estimate_key(lists, ARRAY['naïve']), qtop_estimate(objects, '{"café": 1, "aa": "café"}'::jsonb),
		(SELECT key ->> 'aa' FROM qtop_list(objects, 1, NULL::jsonb)),
		qsketch_estimate(sk || qsketch_agg('café'::text), 'café'), qsketch_total(folded)
	FROM stored GROUP BY stored.*, sk, f, top, s, lists, objects, folded};
my $expected = '2|1|{1,0}|t|f|2|café 2|abc, café, naïve|1 2|1|2|café|3|4';

my $file = "$dir/latin1.dump";
$node->safe_psql('latin1', $store);
$node->command_ok([ 'pg_dump', '-Fc', '-f', $file, $node->connstr('latin1') ], 'pg_dump of LATIN1');
foreach my $encoding ('UTF8', 'WIN1252', 'LATIN1')
{
	my $name = 'from_latin1_' . lc $encoding;

	$node->safe_psql('postgres', "CREATE DATABASE $name ENCODING '$encoding' LOCALE 'C' TEMPLATE template0");
	$node->command_ok([ 'pg_restore', '-d', $node->connstr($name), $file ], "restored into $encoding");
	is($node->safe_psql($name, $ask), $expected, "$encoding: keys are found");
}

# citext is hashed as the database has it, so its keys mean the same elsewhere if all are ASCII.
refused('from_latin1_utf8', "SELECT qsketch_estimate(folded, '$_'::citext) FROM stored", qr/42804.*keys in an unknown encoding, and the key is in UTF-8/,
	"citext of LATIN1 is not asked for $_") foreach 'abc', 'café';
is($node->safe_psql('latin1', "SELECT qsketch_estimate(folded, 'ABC'::citext), qsketch_estimate(folded, 'café'::citext), (qsketch_info(folded)).key_family FROM stored"),
	'1|2|citext_ops (unknown encoding)', 'but where it was made');
my $folded = "SELECT qsketch_agg(t::citext) FROM unnest('{abc,ABC,xyz}'::text[]) AS t";
is($node->safe_psql('utf8', "SELECT qsketch_estimate('" . $node->safe_psql('latin1', $folded) . "' || ($folded), 'Abc'::citext)"),
	4, 'citext that is ASCII moves');
foreach my $name ('latin1', 'sql_ascii')
{
	foreach my $key ('t::citext', 'ARRAY[t::citext]', 'ROW(1, t::citext)', "ROW(t, 'abc'::citext)", 'hstore(t, NULL)')
	{
		my $query = "SELECT count(*), min(key) <> '' FROM qtop_text((SELECT qtop_agg($key, 5)::text::qtop FROM unnest('{café,abc,naïve}'::text[]) AS t))";

		if ($name eq 'sql_ascii' && $key =~ /hstore/)
		{
			refused($name, $query, qr/0A000.*cannot keep the text of key ""café"=>NULL", which is not ASCII.*Cast the key to text/s, 'hstore in SQL_ASCII is refused');
			next;
		}
		is($node->safe_psql($name, $query), '3|t', "$name: a list of $key comes in and is shown");
	}
}

# What this encoding lacks is said when it is shown, and not before.
$node->safe_psql('utf8', q{CREATE TABLE stored AS SELECT qtop_agg(t, 5) AS top, qsketch_agg(t) AS sk FROM unnest('{日本,日本,abc,😀}'::text[]) AS t});
my $top = $node->safe_psql('utf8', 'SELECT top FROM stored');
my $sk = $node->safe_psql('utf8', 'SELECT sk FROM stored');
is($node->safe_psql('latin1', "SELECT qtop_estimate('$top'::qtop, 'abc'), qsketch_estimate('$sk'::qsketch, 'abc'), (qtop_info('$top'::qtop)).total"),
	'1|1|4', 'a list with other characters can be asked');
my ($rc, $out, $err) = $node->psql('latin1', "\\set VERBOSITY verbose\nSELECT * FROM qtop_text('$top'::qtop)");
like($err, qr/22P05: key U&'\\65E5\\672C' has a character that encoding "LATIN1" lacks/, 'a key that cannot be shown is named');
like($err, qr/HINT:  Ask for it in a database of encoding UTF8/, 'with a hint');
is($node->safe_psql('euc_jp', "SELECT string_agg(key, ',' ORDER BY key) FROM qtop_text('$top'::qtop, 1)"), '日本', 'EUC_JP shows its own');

# ---- SQL_ASCII ----

my %kind = (
	qsketch => 'qsketch_agg(t)', qfilter => 'qfilter_agg(t, qfilter_new_bloom(100))', qtop => 'qtop_agg(t, 5)',
	qsets => 'qsets_agg(1, t)');
my %ask = (
	qsketch => 'qsketch_estimate(%s, %s)', qfilter => 'qfilter_contains(%s, %s)', qtop => 'qtop_estimate(%s, %s)',
	qsets => '(SELECT count(*) FROM qsets_similar(%s, ARRAY[%s]))');
foreach my $type (sort keys %kind)
{
	my %made;

	foreach my $name ('utf8', 'sql_ascii')
	{
		foreach my $words ('{abc,xyz}', '{abc,café}')
		{
			$made{"$name $words"} = $node->safe_psql($name, "SELECT $kind{$type} FROM unnest('$words'::text[]) AS t") . "'::$type";
			$made{"$name $words"} = "'" . $made{"$name $words"};
		}
	}
	my ($utf8, $bytes, $ascii) = @made{ 'utf8 {abc,café}', 'sql_ascii {abc,café}', 'sql_ascii {abc,xyz}' };
	my $yes = $type eq 'qfilter' ? 't' : 1;
	my $no = $type eq 'qfilter' ? 'f' : 0;
	my $q = sub { return 'SELECT ' . sprintf($ask{$type}, @_) };

	isnt($utf8, $bytes, "$type: says that its text is of an unknown encoding");
	is($node->safe_psql('sql_ascii', $q->($bytes, "'café'::text")), $yes, "$type: is asked where it was made");
	is($node->safe_psql('sql_ascii', $q->("$bytes || $ascii", "'café'::text")), $yes, "$type: mixes with ASCII");
	is($node->safe_psql('sql_ascii', $q->($ascii, "'café'::text")), $no, "$type: ASCII alone is asked for anything");
	is($node->safe_psql('utf8', $q->("$utf8 || $ascii", "'café'::text")), $yes, "$type: ASCII alone mixes with UTF8");
	is($node->safe_psql('utf8', $q->("$ascii || $utf8", "'café'::text")), $yes, "$type: in any order");
	is($node->safe_psql('utf8', "SELECT ($utf8 || $ascii) = ($ascii || $utf8)"), 't', "$type: with the same bytes");
	is($node->safe_psql('sql_ascii', $q->($utf8, "'abc'::text")), $yes, "$type: UTF8 is asked for ASCII");
	refused('sql_ascii', $q->($utf8, "'café'::text"), qr/42804.*keys in UTF-8, and the encoding of the key is unknown/, "$type: UTF8 is not asked for bytes");
	refused('utf8', $q->($bytes, "'abc'::text"), qr/42804.*keys in an unknown encoding, and the key is in UTF-8/, "$type: bytes are not asked for UTF8");
	refused($_, "SELECT $utf8 || $bytes", qr/42804.*keys in UTF-8 and keys in an unknown encoding/, "$type: do not mix in $_")
		foreach 'utf8', 'sql_ascii';
	refused('utf8', "SELECT ${type}_merge_agg(v) FROM (VALUES ($bytes), ($utf8)) AS v(v)", qr/42804.*keys in UTF-8 and keys in an unknown encoding/,
		"$type: do not mix in an aggregate");
	is($node->safe_psql('sql_ascii', "SELECT count(*) FROM (VALUES ($bytes), ($ascii), (NULL)) AS v(v)"), 3, "$type: comes in");
}
refused('utf8', 'SELECT * FROM qtop_text(' . "'" . $node->safe_psql('sql_ascii', q{SELECT qtop_agg(t, 3) FROM unnest('{café}'::text[]) AS t}) . "')",
	qr/22P05.*keys in an unknown encoding, and the database has encoding UTF8/, 'a list of bytes is not shown');
is($node->safe_psql('sql_ascii', q{SELECT (SELECT string_agg(key, ',' ORDER BY key) FROM qtop_list(qtop_agg(t, 3), NULL::text)) FROM unnest('{café,abc}'::text[]) AS t}),
	'abc,café', 'but where it was made');
is($node->safe_psql('sql_ascii', q{
	SELECT qsketch_add(qsketch_agg(ARRAY[1]), ARRAY[2]) IS NOT NULL, qsketch_estimate(qsketch_add(qsketch_add(qsketch_new(), 'abc'::text), 'café'::text), 'café'::text) FROM (VALUES (1)) AS v}),
	't|1', 'keys are added');
is($node->safe_psql('sql_ascii', q{
	SELECT qsketch_agg(t)::text = qsketch_add(qsketch_add(qsketch_new(), 'abc'), 'café')::text,
		qsketch_agg(t)::text = qsketch_add(qsketch_add(qsketch_new(), 'café'), 'abc')::text FROM unnest('{abc,café}'::text[]) AS t}),
	't|t', 'in any order with the same bytes');
is($node->safe_psql('sql_ascii', q{
	SELECT qsketch_estimate(qsketch_agg(j), '{"é": 1}'::jsonb) FROM unnest(ARRAY['{"é": 1}', '{"a": "b"}']::jsonb[]) AS j}), 1, 'jsonb');
$node->safe_psql('sql_ascii', fill('sql_ascii', $words{latin1}));
foreach my $key (@keys)
{
	my $values = values_of($key);
	my $serial = $node->safe_psql('sql_ascii', $values);
	my $parallel = $node->safe_psql('sql_ascii', "SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; $values");

	is($parallel, $serial, "SQL_ASCII: same values of $key in parallel plans");
}
like($node->safe_psql('sql_ascii', 'EXPLAIN SELECT qsketch_agg(t) FROM word'), qr/Aggregate/, 'text is not read from pages there');

# Two characters of EUC_JP are one in UTF-8.  Objects with both as keys are still told apart.
is($node->safe_psql('euc_jp', q{
	SELECT a = b, qsets_id(a) = qsets_id(b), qsets_id(x) = qsets_id(y), qsketch_estimate(qsketch_agg(v), a)
	FROM (SELECT x, y, jsonb_build_object(x, 1, y, 2) AS a, jsonb_build_object(x, 7, y, 2) AS b
		FROM (SELECT convert_from('\xa2e8', 'EUC_JP') AS x, convert_from('\xadfa', 'EUC_JP') AS y) AS c) AS o, LATERAL (VALUES (a), (b)) AS w(v)
	GROUP BY a, b, x, y}), 'f|f|t|1', 'members of objects are not lost');

# ---- hostile ----

# A schema of a user's own conversions is not asked.
$node->safe_psql('latin1', q{
	CREATE SCHEMA own;
	CREATE DEFAULT CONVERSION own.mine FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8});
is($node->safe_psql('latin1', "SET search_path = own, public, pg_catalog; SELECT qsketch_estimate(sk, 'café') FROM stored"), 2,
	'conversions of other schemas do not matter');

# Long texts are converted in pieces, and can be cancelled.
$node->safe_psql($_, "CREATE TABLE long AS SELECT repeat('é' || repeat('x', 7), 1000000) AS t") foreach 'latin1', 'utf8';
is($node->safe_psql('latin1', 'SELECT qsets_id(t) FROM long'), $node->safe_psql('utf8', 'SELECT qsets_id(t) FROM long'),
	'a text of 8 MB');

done_testing();
