# Keys are equal if and only if SQL's = says so.  For all pairs of the values of QsketchKeys.pm, the
# test compares SQL's = with a sketch, a list, a filter, a set, an id of a set and an id of a row, for
# the values themselves and inside arrays, rows, domains, ranges and jsonb.  The column scan, its
# groups and conditions, and cached columns on an emulated GPU must see the same keys as the ordinary
# plan.  Each type of PostgreSQL that has a hash operator class needs a list.
#
# QSKETCH_KEY_LISTS is a pattern for the names of the lists to run.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QsketchGpu;
use QsketchKeys;
use Test::More;

my $node = gpu_node('keys_apart', 'max_parallel_workers_per_gather = 0', 'jit = off', 'cpu_operator_cost = 1', 'timezone = UTC', 'fsync = off');
my $version = $node->safe_psql('postgres', q{SELECT current_setting('server_version_num')::int / 10000});
my $icu = $node->safe_psql('postgres', q{SELECT count(*) > 0 FROM pg_collation WHERE collprovider = 'i'}) eq 't';
my $pattern = $ENV{QSKETCH_KEY_LISTS} // '';
my @lists = key_lists($version, $icu);

sub sql
{
	return $node->safe_psql('keys', join ";\n", @_);
}

sub quoted
{
	return join ', ', map { defined $_ ? "'" . s/'/''/gr . "'" : 'NULL' } @_;
}

$node->safe_psql('postgres', q{CREATE DATABASE keys TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'});
sql(q{CREATE EXTENSION qsketch}, q{CREATE TABLE list (no int, name text, type text, full_type text, also text, key text, is_array boolean, typtype "char", base text, size int);
	-- what a value of a domain is cast to for a comparison; "character" would be character(1)
	CREATE FUNCTION base_of(t pg_type) RETURNS text LANGUAGE sql AS $$ SELECT CASE name WHEN 'character' THEN 'bpchar' WHEN 'character[]' THEN 'bpchar[]' ELSE name END
		FROM CAST(CASE t.typbasetype WHEN 0 THEN t.oid ELSE t.typbasetype END::regtype AS text) AS name $$;
	-- pairs about which a structure is wrong; b is NULL where something else was
	CREATE TABLE wrong (list text, structure text, a text, b text, equal boolean, said text);

	-- "query" returns for all pairs of rows, (a, b), whether they have the same key
	CREATE FUNCTION compare(list text, structure text, query text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format('INSERT INTO wrong SELECT %L, %L, x.t, y.t, equal, said::text FROM pairs LEFT JOIN (%s) AS q(a, b, said) USING (a, b)
			JOIN values_now AS x ON x.n = a JOIN values_now AS y ON y.n = b WHERE said IS DISTINCT FROM equal', list, structure, query);
	EXCEPTION WHEN OTHERS THEN INSERT INTO wrong VALUES (list, structure, 'ERROR ' || sqlstate || ': ' || sqlerrm);
	END $$;

	CREATE FUNCTION one_text(query text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE result text; BEGIN EXECUTE query INTO result; RETURN result;
	EXCEPTION WHEN OTHERS THEN RETURN 'ERROR ' || sqlstate || ': ' || sqlerrm; END $$;

	-- what structures say of the list's key, and SQL of the same
	CREATE FUNCTION compare_key(l list) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		x text := format('(SELECT n, %s AS k FROM values_%s OFFSET 0) AS x', l.key, l.no);
		y text := format('(SELECT n, %s AS k FROM values_%s OFFSET 0) AS y', CASE WHEN l.also IS NULL THEN l.key ELSE 'w' END, l.no);
		equal text := CASE WHEN l.also LIKE '%[]' THEN format('x.k::%s = y.k', l.also) WHEN l.typtype = 'd' THEN format('x.k::%s = y.k::%1$s', l.base) ELSE 'x.k = y.k' END;
	BEGIN
		EXECUTE format('CREATE TEMP TABLE values_now AS SELECT n, t FROM values_%s', l.no);
		EXECUTE format('CREATE TEMP TABLE pairs AS SELECT x.n AS a, y.n AS b, %s AS equal FROM %s, %s', equal, x, y);
		ANALYZE pairs, values_now;
		PERFORM compare(l.name, 'sketch', format('SELECT x.n, y.n, qsketch_estimate_key(x.s, y.k) = 1 FROM (SELECT n, qsketch_agg(k) AS s FROM %s GROUP BY n) AS x, %s', x, y));
		PERFORM compare(l.name, 'filter', format('SELECT x.n, y.n, qfilter_contains_key(x.f, y.k) FROM (SELECT n, qfilter_agg(k, qfilter_new_bloom(1, 1e-9)) AS f FROM %s GROUP BY n) AS x, %s', x, y));
		PERFORM compare(l.name, 'list', format('SELECT x.n, y.n, qtop_has(x.s, y.k) FROM (SELECT n, qtop_agg(k, 3) AS s FROM %s GROUP BY n) AS x, %s', x, y));
		PERFORM compare(l.name, 'bounds of a list', format('SELECT x.n, y.n, qtop_estimate(x.s, y.k) = 1 FROM (SELECT n, qtop_agg(k, 3) AS s FROM %s GROUP BY n) AS x, %s', x, y));
		PERFORM compare(l.name, 'id', format('SELECT x.n, y.n, qsets_id(x.k) = qsets_id(y.k) FROM %s, %s', x, y));
		PERFORM compare(l.name, 'row id', format('SELECT x.n, y.n, x.f = y.f FROM (SELECT n, qfilter_row_agg(0, k, qfilter_new(1000, 4, k => 200)) AS f FROM %s GROUP BY n) AS x,
			(SELECT n, qfilter_row_agg(0, k, qfilter_new(1000, 4, k => 200)) AS f FROM %s GROUP BY n) AS y', x, y));
		IF NOT l.is_array THEN
			-- of a domain over integer no function is preferred
			PERFORM compare(l.name, 'arrays', format('SELECT x.n, y.n, qsets_intersect_count(ARRAY[x.k]%s, ARRAY[y.k]%1$s) = 1 FROM %s, %s', CASE WHEN l.typtype = 'd' AND l.base = 'integer' THEN '::integer[]' ELSE '' END, x, y));
			PERFORM compare(l.name, 'batch', format('SELECT x.n, e.n, e.e = 1 FROM (SELECT n, qsketch_agg(k) AS s FROM %s GROUP BY n) AS x,
				(SELECT array_agg(k ORDER BY n) AS all_of FROM %s) AS y, unnest(qsketch_estimate(s, all_of)) WITH ORDINALITY AS e(e, n)', x, y));
			PERFORM compare(l.name, 'batch of a filter', format('SELECT x.n, e.n, e.e FROM (SELECT n, qfilter_agg(k, qfilter_new_bloom(1, 1e-9)) AS s FROM %s GROUP BY n) AS x,
				(SELECT array_agg(k ORDER BY n) AS all_of FROM %s) AS y, unnest(qfilter_contains(s, all_of)) WITH ORDINALITY AS e(e, n)', x, y));
		END IF;
		IF NOT l.is_array AND l.also IS NULL THEN
			PERFORM compare(l.name, 'collection', format('SELECT x.n, y.n, qsets_intersect_count(s, x.n, y.n) = 1 FROM values_now AS x, values_now AS y, (SELECT qsets_agg(n, k) AS s FROM %s) AS s', x));
		END IF;
		DROP TABLE values_now, pairs;
	END $$;

	-- The same of a container of the key.  The sketch has a bit for each row of 60: a key's count tells which rows have it.
	CREATE FUNCTION compare_shape(l list, shape text, key text, equal text) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		is_array boolean;
	BEGIN
		EXECUTE format('SELECT typcategory = ''A'' FROM pg_type WHERE oid = (SELECT pg_typeof(%s) FROM values_%s LIMIT 1)', key, l.no) INTO is_array;
		EXECUTE format('WITH keys AS MATERIALIZED (SELECT n, %1$s AS k FROM values_%2$s), ids AS MATERIALIZED (SELECT n, k, qsets_id(k) AS id FROM keys),
			sketches AS MATERIALIZED (SELECT n / 60 AS part, qsketch_agg(k, 1::bigint << n %% 60) AS s FROM keys GROUP BY 1),
			counts AS MATERIALIZED (SELECT n, part, qsketch_estimate_key(s, k) AS count FROM keys, sketches),
			shaped AS MATERIALIZED (SELECT x.n AS a, y.n AS b, %3$s AS equal, (count >> x.n %% 60) & 1 = 1 AS sketch, x.id = y.id AS id, %4$s AS collection
				FROM ids AS x, ids AS y, counts, (SELECT qsets_agg(n, %5$s) AS s FROM keys) AS s WHERE counts.n = y.n AND part = x.n / 60)
			INSERT INTO wrong SELECT %6$L, %7$L || structure, x.t, y.t, equal, said::text
				FROM shaped, LATERAL (VALUES (''sketch'', sketch), (''id'', id), (''collection'', collection)) AS v(structure, said), values_%2$s AS x, values_%2$s AS y
				WHERE said IS DISTINCT FROM equal AND x.n = a AND y.n = b
			UNION ALL SELECT %6$L, %7$L, ''pairs are missing'', NULL, NULL, NULL FROM shaped HAVING count(*) <> %8$s ^ 2',
			key, l.no, equal, CASE WHEN is_array THEN 'x.k = y.k' ELSE 'qsets_intersect_count(s, x.n, y.n) = 1' END, CASE WHEN is_array THEN '1' ELSE 'k' END, l.name, shape, l.size);
	EXCEPTION WHEN OTHERS THEN INSERT INTO wrong VALUES (l.name, shape, 'ERROR ' || sqlstate || ': ' || sqlerrm);
	END $$;

	-- The key inside of everything that can contain it, but for what is refused: anonymous rows inside of others, domains over ranges.
	CREATE FUNCTION compare_shapes(l list, rows_nest boolean, domains_of_ranges boolean) RETURNS void LANGUAGE sql AS $$
		SELECT compare_shape(l, shape, key, CASE shape WHEN 'domain of: ' THEN format('x.k::%s = y.k::%1$s', l.base) ELSE 'x.k = y.k' END)
		FROM (VALUES ('array of: ', 'ARRAY[%s]'), ('array of NULL and: ', 'ARRAY[NULL, %s]'), ('two dimensions of: ', 'ARRAY[ARRAY[%s, NULL]]'), ('row of: ', 'ROW(%s)'), ('columns: ', 'ROW(1, %1$s, NULL::int, %1$s)'),
			('array of rows of: ', 'ARRAY[ROW(1, %s)]'), ('row of rows of: ', 'ROW(ROW(%1$s, 1), ROW(NULL::text, ARRAY[ROW(%1$s)]))'), ('named row of: ', 'ROW(1, %s)::row_%s'), ('array of named rows of: ', 'ARRAY[ROW(1, %s)::row_%s]'),
			('row of named rows of: ', 'ROW(ROW(1, %1$s)::row_%2$s, ARRAY[ROW(NULL, %1$s)::row_%2$s, NULL])'), ('domain of: ', '(%s)::domain_%s'), ('array of domains of: ', 'ARRAY[(%s)::domain_%s]'), ('range of: ', 'range_%2$s(%1$s, NULL)'),
			('range up to: ', 'range_%2$s(NULL, %1$s, ''(]'')'), ('multirange of: ', 'multirange_%2$s(range_%2$s(%1$s, %1$s, ''[]''))'), ('array of ranges of: ', 'ARRAY[NULL, range_%2$s(%1$s, NULL)]'),
			('jsonb of: ', 'to_jsonb(%s)'), ('jsonb with: ', 'jsonb_build_object(''k'', jsonb_build_array(%s, 1))')) AS v(shape, form), format(form, l.key, l.no) AS key
		WHERE (key !~ '_\d' OR l.key = 'v') AND (key !~ 'range_\d' OR to_regtype('range_' || l.no) IS NOT NULL) AND (key !~ 'ARRAY' OR NOT l.is_array OR key ~ 'ROW|_\d')
			AND (rows_nest OR NOT (shape ~ 'rows of' AND form !~ 'row_' OR l.key <> 'v' AND shape ~ 'array|dimensions|row|columns'))
			AND (domains_of_ranges OR NOT (l.typtype IN ('r', 'm') AND shape ~ 'domain'))
	$$;

	-- the key of a list, given back as its type
	CREATE FUNCTION compare_listed(l list) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format('INSERT INTO wrong SELECT %L, ''key in a list'', t, NULL, true, k::text FROM (SELECT n, t, v, (SELECT key FROM qtop_list(s, NULL::%s)) AS k
			FROM (SELECT n, qtop_agg(v, 3) AS s FROM values_%s GROUP BY n) AS x JOIN values_%3$s USING (n)) AS y WHERE (k::%s = v::%4$s) IS NOT TRUE', l.name, l.full_type, l.no, l.base);
	EXCEPTION WHEN OTHERS THEN INSERT INTO wrong VALUES (l.name, 'key in a list', 'ERROR ' || sqlstate || ': ' || sqlerrm);
	END $$;

	CREATE FUNCTION plan_has(query text, node text) RETURNS boolean LANGUAGE plpgsql AS $$
	DECLARE line text; BEGIN
		FOR line IN EXECUTE query LOOP
			IF line ~ node THEN RETURN true; END IF;
		END LOOP;
		RETURN false;
	EXCEPTION WHEN OTHERS THEN RETURN false;
	END $$;

	-- queries of a list, whose results are one value, or values by n, or values in any order; and which were answered by a column scan, and from cached columns
	CREATE TABLE path (name text, result text, query text);
	CREATE TABLE seen (list text, query text, scanned boolean, loaded boolean, copied boolean);

	-- a condition with a constant, for every third value
	CREATE FUNCTION constants(l list, v text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE queries text; BEGIN
		EXECUTE format('SELECT string_agg(format(''SELECT %%s, (SELECT qsketch_agg(n) FROM values_%s WHERE %s = %%L::%s)'', n, t), '' UNION ALL '') FROM values_%1$s WHERE n %% 3 = 0', l.no, v, CASE l.typtype WHEN 'd' THEN l.base ELSE l.full_type END) INTO queries;
		RETURN queries;
	END $$;

	CREATE FUNCTION compare_paths(l list) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		v text := CASE l.typtype WHEN 'd' THEN 'v::' || l.base ELSE 'v' END;
		loaded boolean := one_text(format('SELECT qsketch_gpu_load(''values_%s'', ''{n,v}'')', l.no)) !~ '^ERROR';
		p record;
		by_plan text;
		by_scan text;
		by_copy text;
	BEGIN
		FOR p IN SELECT name, format('SELECT md5(%s) FROM (%s) AS x', result, q) AS result, q AS query FROM path,
			format(CASE name WHEN 'constant' THEN replace(constants(l, v), '%', '%%') ELSE query END, l.no, l.key, v) AS q WHERE NOT (l.is_array AND name = 'collection') LOOP
			PERFORM set_config('qsketch.device', 'cpu', true), set_config('qsketch.enable_columnscan', 'off', true);
			by_plan := one_text(p.result);
			PERFORM set_config('qsketch.enable_columnscan', 'on', true);
			by_scan := one_text(p.result);
			by_copy := by_scan;
			INSERT INTO seen VALUES (l.name, p.name, plan_has('EXPLAIN (COSTS OFF) ' || p.query, 'QSketchScan'), loaded, false);
			IF loaded THEN
				PERFORM set_config('qsketch.device', 'gpu', true);
				by_copy := one_text(p.result);
				UPDATE seen SET copied = plan_has('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || p.query, 'Pages from Cached Columns: [1-9]') WHERE list = l.name AND query = p.name;
			END IF;
			INSERT INTO wrong SELECT l.name, 'path: ' || p.name, 'ordinary plan', plan, true, by_plan || ' and ' || result FROM (VALUES ('column scan', by_scan), ('cached columns', by_copy)) AS r(plan, result)
				WHERE result IS DISTINCT FROM by_plan OR result ~ '^ERROR';
		END LOOP;
	END $$});

# %1$s is the list's number, %2$s its key, and %3$s the column as conditions take it.
my $any_order = q{string_agg(s::text, ',' ORDER BY s::text)};
my $by_n = q{string_agg(s::text, ',' ORDER BY n)};
my @paths = (
	[ 'sketch', 's::text', 'SELECT qsketch_agg(%2$s) AS s FROM values_%1$s' ],
	[ 'list', 's::text', 'SELECT qtop_agg(%2$s, 100) AS s FROM values_%1$s' ],
	[ 'filter', 's::text', 'SELECT qfilter_agg(%2$s, qfilter_new_bloom(1000, 1e-9)) AS s FROM values_%1$s' ],
	[ 'collection', 's::text', 'SELECT qsets_agg(n, %2$s) AS s FROM values_%1$s' ],
	[ 'row ids', 's::text', 'SELECT qfilter_row_agg(n, %2$s, qfilter_new(1000, 4)) AS s FROM values_%1$s' ],
	[ 'columns', 's::text', 'SELECT qsketch_agg(ROW(n, v)) AS s FROM values_%1$s' ],
	[ 'columns of a collection', 's::text', 'SELECT qsets_agg(n, ROW(v, v)) AS s FROM values_%1$s' ],
	[ 'keys by group', $by_n, 'SELECT n, qsketch_agg(%2$s) AS s FROM values_%1$s GROUP BY n' ],
	[ 'groups', $any_order, 'SELECT qsketch_agg(n) AS s FROM values_%1$s GROUP BY v' ],
	[ 'groups of two columns', $any_order, 'SELECT qsketch_agg(n) AS s FROM values_%1$s GROUP BY v, n > 10' ],
	[ 'condition', $by_n, 'SELECT y.n, (SELECT qsketch_agg(n) FROM values_%1$s WHERE %3$s = y.%3$s) AS s FROM values_%1$s AS y' ],
	[ 'constant', $any_order =~ s/s::/qsketch_agg::/gr, '' ],
	[ 'FILTER', $by_n, 'SELECT y.n, (SELECT qsketch_agg(n) FILTER (WHERE NOT %3$s = y.%3$s) FROM values_%1$s) AS s FROM values_%1$s AS y' ]);
sql('INSERT INTO path VALUES ' . join ', ', map { '(' . quoted(@$_) . ')' } @paths);

# ---- the values, in tables ----

sub create_list
{
	my ($no, $list) = @_;
	my ($name, @values) = ($list->{name}, @{ $list->{values} });
	my $type = $list->{type} // $name;
	my $base = $type =~ s/ COLLATE.*//r;
	my $also = $list->{also} // $type;

	return $list->{setup} // (), "CREATE TABLE values_$no (n int, t text, v $type, w $also)",
		"INSERT INTO values_$no SELECT n, t, t::$type, t::$also FROM unnest(ARRAY[" . quoted(@values) . ']) WITH ORDINALITY AS x(t, n)',
		"INSERT INTO list SELECT $no, " . quoted($name, $base, $type, $list->{also}, $list->{key} // 'v') . ", typcategory = 'A', typtype, base_of(pg_type), " . @values . " FROM pg_type WHERE oid = '$base'::regtype",
		"CREATE TYPE row_$no AS (a int, v $type)", "CREATE DOMAIN domain_$no AS $type",
		# xid, for example, has no order
		"DO \$\$ BEGIN CREATE TYPE range_$no AS RANGE (subtype = " . ($type =~ s/ COLLATE/, collation =/r) . ", multirange_type_name = multirange_$no);
			EXCEPTION WHEN undefined_object OR datatype_mismatch THEN NULL; END \$\$";
}

sql(map { create_list($_, $lists[ $_ - 1 ]) } 1 .. @lists);
sql('VACUUM ANALYZE ' . join ', ', map { "values_$_" } 1 .. @lists);

# ---- a list for each type that can be a key ----

is(sql(q{SELECT string_agg(opcintype::regtype::text, ', ')
	FROM pg_opclass JOIN pg_am ON pg_am.oid = opcmethod JOIN pg_type AS t ON t.oid = opcintype
	WHERE amname = 'hash' AND opcdefault AND typnamespace = 'pg_catalog'::regnamespace
		AND CASE typtype WHEN 'p' THEN opcintype <> ALL ('{anyarray,anyenum,anyrange,anymultirange,record}'::regtype[]) ELSE opcintype NOT IN (SELECT to_regtype(type) FROM list) END}),
	'', 'each type that PostgreSQL can hash has a list of values');
is(sql(q{SELECT string_agg(concat_ws(' ', kind, count), ', ') FROM (SELECT kind, count(name) AS count FROM unnest('{array,e,r,m,c,d,anonymous}'::text[]) AS kind
		LEFT JOIN (SELECT name, CASE WHEN key <> 'v' THEN 'anonymous' WHEN typtype = 'b' AND is_array THEN 'array' ELSE typtype::text END AS kind FROM list) AS l USING (kind) GROUP BY kind) AS s
	WHERE count < CASE kind WHEN 'e' THEN 2 ELSE 4 END}),
	'', 'and so have several arrays, enums, ranges, multiranges, rows, domains and anonymous rows');
is(sql(q{SELECT string_agg(name, ', ') FROM list WHERE size < 20}), '', 'each list has at least 20 values');

# ---- what is refused as a key ----

sub accepts
{
	my ($name, $query, $right) = @_;
	my ($rc, $out, $err) = $node->psql('keys', $query);

	return is("$out$err", $right, $name) ? 'true' : 'false';
}
my $rows_nest = accepts('anonymous rows inside of arrays and rows are keys',
	q{SELECT qsketch_estimate_key(qsketch_agg(ARRAY[ROW(1, 'a'::text)]), ARRAY[ROW(1, 'a'::text)]), qsketch_estimate(qsketch_agg(ROW(ROW(1), 2)), ROW(ROW(1), 2))}, '1|1');
my $domains_of_ranges = accepts('values of domains over ranges are keys', q{SELECT qsketch_estimate(qsketch_agg(k), k), qsketch_estimate_key(qsketch_agg(ROW(k)), ROW(k))
	FROM (VALUES (int4range(1, 5)::domain_} . (grep { $lists[ $_ - 1 ]{name} eq 'int4range' } 1 .. @lists)[0] . q{)) AS v(k) GROUP BY k}, '1|1');

# ---- all pairs, and all paths ----

my @chosen = split /\n/, sql('SELECT name FROM list WHERE name ~ ' . quoted($pattern)
	. " AND ($rows_nest OR name <> 'anonymous_nested') AND ($domains_of_ranges OR name NOT IN ('domain_range', 'domain_multirange')) ORDER BY no");
my @named = map { quoted($_) } @chosen;

sql('SET qsketch.device = cpu', 'SET qsketch.enable_columnscan = off',
	map { ("SELECT compare_key(list), CASE WHEN key = 'v' THEN compare_listed(list) END FROM list WHERE name = $_",
		"SELECT compare_shapes(list, $rows_nest, $domains_of_ranges) FROM list WHERE also IS NULL AND name = $_") } @named);
sql(map { "SELECT compare_paths(list) FROM list WHERE also IS NULL AND name = $_" } @named);
for my $name (@chosen)
{
	is(sql('SELECT string_agg(concat(structures, \': \', pairs, \' pairs, \', shown), chr(10) ORDER BY structures)
		FROM (SELECT string_agg(structure, \', \' ORDER BY structure) AS structures, pairs, shown
			FROM (SELECT structure, count(*) AS pairs, string_agg(concat(left(a, 100), CASE equal WHEN true THEN \' = \' ELSE \' <> \' END || left(b, 100), \', said: \' || said), \'; \' ORDER BY n) FILTER (WHERE n <= 3) AS shown
				FROM (SELECT *, row_number() OVER (PARTITION BY structure ORDER BY length(a) + length(b), a, b) AS n FROM wrong WHERE list = ' . quoted($name) . ') AS w GROUP BY structure) AS s
			GROUP BY pairs, shown) AS s'), '', $name);
}

# ---- the paths were taken ----

is(sql(q{SELECT string_agg(concat(list, ': ', query), ', ') FROM seen JOIN list ON list.name = list
	WHERE NOT scanned AND query NOT IN ('row ids', 'groups', 'groups of two columns') AND (key = 'v' OR query = 'columns')}), '', 'column scans of all types');
is(sql(q{SELECT string_agg(concat(list, ': ', query), ', ') FROM seen WHERE loaded AND NOT copied AND query IN ('sketch', 'filter', 'keys by group')}), '', 'and their cached columns, where there are any');
cmp_ok(sql(q{SELECT count(*) FROM seen WHERE loaded AND query = 'sketch'}), '>=', 30, 'cached columns of many types') if $pattern eq '';
cmp_ok(sql(q{SELECT count(*) FROM seen WHERE scanned AND query = 'groups'}), '>=', 20, 'groups of many types') if $pattern eq '';

$node->stop;
done_testing();
