# Runs every SQL example of README.md and the pages in docs.  The ```sql blocks of a page run in order, in one
# database and one session.  Each must print the contents of the block after it (``` without a language).
#
# A comment above a block says why the block cannot be run, or why its output
# varies:
#	<!-- not run: REASON -->
#	<!-- output varies: REASON -->
# If the shown output is an error, the page continues after it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $marker = '== block ';

# Returns the blocks of a page: for each block its first line number, its
# language, its lines, and the comment above it.
sub blocks
{
	my ($file) = @_;
	my (@blocks, $block, $comment);
	my $number = 0;

	foreach my $line (split /\n/, slurp_file($file))
	{
		$number++;
		if ($block)
		{
			if ($line eq '```') { push @blocks, $block; undef $block; $comment = '' }
			else { $block->{text} .= "$line\n" }
		}
		elsif ($line =~ /^```(\w*)$/)
		{
			$block = { line => $number, language => $1, text => '', comment => $comment // '',
				follows => @blocks && $blocks[-1]{alone} ? $blocks[-1] : undef };
			$block->{alone} = 1;
		}
		elsif ($line =~ /^<!-- (.*) -->$/) { $comment = $1 }
		elsif ($line ne '')
		{
			$comment = '';
			$blocks[-1]{alone} = 0 if @blocks;    # text between: what follows is no output of it
		}
	}
	return @blocks;
}

# Returns the examples of a page: the SQL, and the output if the page has it.
sub examples
{
	my ($page, @blocks) = @_;
	my @examples;

	foreach my $block (@blocks)
	{
		if ($block->{language} eq 'sql')
		{
			if ($block->{comment} =~ /^not run: (.+)/) { note("$page:$block->{line} is not run: $1") }
			else { push @examples, $block }
		}
		elsif ($block->{language} eq '' && $block->{follows} && $block->{follows}{language} eq 'sql')
		{
			if ($block->{comment} =~ /^output varies: (.+)/) { note("$page:$block->{line} varies: $1") }
			else { $block->{follows}{output} = $block->{text} }
		}
	}
	return @examples;
}

# Returns one script of all examples, with marks between them on standard output
# and standard error.
sub script
{
	my $script = "\\pset format aligned\n\\pset tuples_only off\n";

	foreach my $example (@_)
	{
		my $stop = ($example->{output} // '') =~ /^ERROR:/ ? 'off' : 'on';
		$script .= "\\set ON_ERROR_STOP $stop\n\\echo '$marker$example->{line}'\n\\warn '$marker$example->{line}'\n";
		$script .= $example->{text};
	}
	return $script;
}

# Returns the output of each block, by the block's line, without blanks at the ends
# of lines.
sub printed
{
	my ($text) = @_;
	my %printed;
	my $at = 0;

	foreach my $line (split /\n/, $text)
	{
		$line =~ s/^psql:<stdin>:\d+: //;
		$line =~ s/\s+$//;
		if ($line =~ /^$marker(\d+)$/) { $at = $1; $printed{$at} = '' }
		else { $printed{$at} .= "$line\n" }
	}
	return \%printed;
}

# Returns the text without blank lines at its ends.
sub trimmed
{
	my ($text) = @_;
	$text =~ s/[ \t]+$//mg;
	$text =~ s/\A\n+|\n+\z//g;
	return $text;
}

sub run_page
{
	my ($node, $page) = @_;
	my @examples = examples($page, blocks("$ENV{TESTDIR}/pages/$page"));
	my $database = lc($page =~ s{\.md$}{}r) =~ tr{a-z0-9_-}{-}cr;
	my ($stdout, $stderr);

	return unless @examples;
	$node->safe_psql('postgres', qq{CREATE DATABASE "$database"});
	$node->safe_psql($database, 'CREATE EXTENSION qsketch')
		unless grep { $_->{text} =~ /CREATE EXTENSION qsketch/ } @examples;
	$node->psql($database, script(@examples), stdout => \$stdout, stderr => \$stderr, on_error_stop => 0);
	my ($out, $err) = (printed($stdout), printed($stderr));
	foreach my $example (@examples)
	{
		my $name = "$page:$example->{line}";
		my $expected = $example->{output};
		my $errors = $err->{ $example->{line} };

		if (!defined $errors) { fail("$name was not reached"); next }
		my $failed = $errors =~ /^(ERROR|FATAL):/m;
		if (!defined $expected) { ok(!$failed, "$name runs") or diag($errors) }
		elsif ($expected =~ /^ERROR:/) { is(trimmed($errors), trimmed($expected), "$name fails as shown") }
		else { is(trimmed($failed ? $errors : $out->{ $example->{line} }), trimmed($expected), "$name prints what is shown") }
	}
}

my $node = PostgreSQL::Test::Cluster->new('docs');
$node->init;
# some views need shared memory, on PostgreSQL before 17
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'qsketch'\nqsketch.gpu_worker = off");
$node->append_conf('postgresql.conf', "autovacuum = off\nshared_buffers = 256MB\nmax_wal_size = 4GB");
$node->start;
my @pages = map { s{^\Q$ENV{TESTDIR}\E/pages/}{}r } map { glob "$ENV{TESTDIR}/pages/$_*.md" } '', 'docs/', 'docs/engineering/';
ok(@pages > 1, 'there are pages');
run_page($node, $_) foreach @pages;
done_testing();
