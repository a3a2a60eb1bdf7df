# qtop_exact while other sessions replace, attach and detach partitions and children, and rewrite them.
#
# Each transaction of a writer leaves the keys of all rows together as they were.  So a reader under
# READ COMMITTED must always receive the same counts, whatever it waited for.  Under the other
# isolation levels a reader receives these counts, or an error that says that its snapshot is too
# old.

use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('top_exact_random');
my $seconds = $ENV{TOP_EXACT_SECONDS} // 6;
my @levels = ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');

$node->init;
$node->append_conf('postgresql.conf', "deadlock_timeout = 20ms\nautovacuum = off\nfsync = off");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION qsketch;
	CREATE TABLE parts (id int, k bigint) PARTITION BY RANGE (id);
	CREATE TABLE p0 PARTITION OF parts FOR VALUES FROM (0) TO (100);
	CREATE TABLE p1 PARTITION OF parts FOR VALUES FROM (100) TO (200);
	CREATE TABLE upper PARTITION OF parts FOR VALUES FROM (200) TO (400) PARTITION BY RANGE (id);
	CREATE TABLE p2 PARTITION OF upper FOR VALUES FROM (200) TO (300);
	CREATE TABLE p3 PARTITION OF upper FOR VALUES FROM (300) TO (400);
	CREATE TABLE rest PARTITION OF parts DEFAULT;
	INSERT INTO parts SELECT i, i % 7 FROM generate_series(0, 449) AS i;
	CREATE TABLE family (id int, k bigint);
	CREATE TABLE child () INHERITS (family);
	INSERT INTO family SELECT i, i % 5 FROM generate_series(1, 100) AS i;
	INSERT INTO child SELECT i, i % 3 FROM generate_series(1, 100) AS i;

	CREATE FUNCTION top(name regclass) RETURNS text LANGUAGE sql AS
	$$ SELECT string_agg(key || ' ' || count, ', ' ORDER BY count DESC, key) FROM qtop_exact(name, 'k', 7) $$;

	-- replaces partition n of its parent, or moves its rows to the default partition and back
	CREATE FUNCTION replace(parent text, n int, lasting boolean) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		bounds text := format('FOR VALUES FROM (%s) TO (%s)', 100 * n, 100 * n + 100);
		part text := 'p' || n;
	BEGIN
		EXECUTE format('CREATE TABLE made (LIKE %I)', part);
		EXECUTE format('INSERT INTO made SELECT * FROM %I', part);
		EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent, part);
		IF lasting THEN
			EXECUTE format('DROP TABLE %I', part);
			EXECUTE format('ALTER TABLE made RENAME TO %I', part);
		ELSE
			DROP TABLE made;
		END IF;
		EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I %s', parent, part, bounds);
	END $$;
	CREATE FUNCTION to_default() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF to_regclass('p0') IS NOT NULL THEN
			ALTER TABLE parts DETACH PARTITION p0;
			INSERT INTO parts SELECT * FROM p0;
			DROP TABLE p0;
		ELSE
			CREATE TABLE p0 (LIKE parts);
			WITH gone AS (DELETE FROM rest WHERE id < 100 RETURNING *) INSERT INTO p0 SELECT * FROM gone;
			ALTER TABLE parts ATTACH PARTITION p0 FOR VALUES FROM (0) TO (100);
		END IF;
	END $$;
	CREATE FUNCTION children() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		CREATE TABLE made () INHERITS (family);
		INSERT INTO made SELECT * FROM child;
		ALTER TABLE child NO INHERIT family;
		DROP TABLE child;
		ALTER TABLE made RENAME TO child;
	END $$;
	CREATE FUNCTION rewrite() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM p1;
		TRUNCATE p1;
		INSERT INTO p1 SELECT * FROM kept;
	END $$;
	CREATE PROCEDURE change(seconds float8) LANGUAGE plpgsql AS $$
	DECLARE
		began timestamptz := clock_timestamp();
	BEGIN
		WHILE clock_timestamp() < began + seconds * interval '1 s' LOOP
			BEGIN
				CASE (random() * 5)::int
					WHEN 0 THEN PERFORM replace('parts', 1, random() < 0.7);
					WHEN 1 THEN PERFORM replace('upper', 2 + (random() * 1)::int, random() < 0.7);
					WHEN 2 THEN PERFORM to_default();
					WHEN 3 THEN PERFORM children();
					WHEN 4 THEN PERFORM rewrite();
					ELSE ALTER TABLE upper DETACH PARTITION p3; ALTER TABLE upper ATTACH PARTITION p3 FOR VALUES FROM (300) TO (400);
				END CASE;
				PERFORM pg_sleep(random() * 0.005);
			EXCEPTION WHEN deadlock_detected OR serialization_failure THEN NULL;
			END;
			COMMIT;
			PERFORM pg_sleep(random() * 0.01);
		END LOOP;
	END $$;
});
my %right = map { $_ => $node->safe_psql('postgres', "SELECT top('$_')") } qw(parts family);

my $writer = $node->background_psql('postgres');
$writer->query_until(qr/started/, "\\echo started\nCALL change($seconds);\n\\echo ended\n");

my (%same, %too_old, @wrong);
my $until = time + $seconds - 1;

while (time < $until)
{
	foreach my $level (@levels)
	{
		my $script = "\\set VERBOSITY verbose\n";

		foreach my $table (map { (keys %right) } 1 .. 10)
		{
			$script .= "BEGIN ISOLATION LEVEL $level;\n"
				. "SELECT '$table=', pg_sleep(random() * 0.01) IS NULL, (SELECT top('$table'));\nROLLBACK;\n";
		}
		my (undef, $out, $err) = $node->psql('postgres', $script, on_error_stop => 0);
		foreach my $line (split /\n/, $out)
		{
			my ($table, $answer) = $line =~ /^(\w+)=\|f\|(.*)$/ or next;

			$answer eq $right{$table} ? $same{$level}++ : push @wrong, "$level, $table: $answer";
		}
		foreach my $error ($err =~ /ERROR: .*/g)
		{
			next if $error =~ /ERROR:  40P01/;
			$error =~ /ERROR:  40001/ && $level ne 'READ COMMITTED' ? $too_old{$level}++ : push @wrong, "$level: $error";
		}
	}
}
$writer->query_until(qr/ended/, '');
$writer->quit;
is(join("\n", @wrong), '', 'every answer was right');
cmp_ok($same{$_} // 0, '>', 0, "$_: some answers") foreach @levels;
note "$_: " . ($same{$_} // 0) . ' answers, ' . ($too_old{$_} // 0) . ' errors' foreach @levels;
is($node->safe_psql('postgres', "SELECT top('$_')"), $right{$_}, "$_ as it was") foreach keys %right;
$node->stop;
done_testing();
