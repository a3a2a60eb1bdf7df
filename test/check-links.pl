#!/usr/bin/env perl
#
# Checks the links of all pages.  Prints broken links, and fails if there are any.
#
#	test/check-links.pl
#
# A link is good if its file is in the tree.  If the link also names a heading, the file must have a
# heading to which GitHub gives this name.  Links to other sites are not followed.  README.md and
# docs are installed without the rest of the tree, so they may link only to one another.
# docs/README.md must link to every page in docs.  The table of sql_tests/README.md must name every
# test in sql_tests.  For each figure in docs, a page must show the figure, and a gnuplot script in
# bench must name it.  No page may have lines that a merge left behind, or a @PLACEHOLDER@ that was
# not filled.
use strict;
use warnings;
use FindBin;
use File::Basename qw(basename dirname);

chdir "$FindBin::RealBin/.." or die "check-links.pl: $!\n";
my $lost = 0;

sub offends
{
	my ($what) = @_;
	print "check-links.pl: $what\n";
	$lost++;
}

sub text_of
{
	my ($name) = @_;
	open my $file, '<', $name or die "check-links.pl: $name: $!\n";
	local $/;
	return <$file>;
}

# The lines of a page outside blocks of code, with their numbers.
sub lines_of
{
	my ($name) = @_;
	my ($code, %lines);

	open my $file, '<', $name or die "check-links.pl: $name: $!\n";
	while (my $line = <$file>)
	{
		if ($line =~ /^```/) { $code = !$code }
		elsif (!$code) { $lines{$.} = $line }
	}
	return \%lines;
}

# The names that GitHub gives a page's headings; a second heading "Limits" gets the name limits-1.
sub headings_of
{
	my ($name) = @_;
	my $lines = lines_of($name);
	my (%names, %seen);

	foreach my $number (sort { $a <=> $b } keys %$lines)
	{
		my ($heading) = $lines->{$number} =~ /^#+\s+(.*?)\s*$/ or next;
		$heading =~ s/\[([^]]*)\]\([^)]*\)/$1/g;
		$heading = lc $heading;
		$heading =~ s/[^a-z0-9_ -]//g;
		$heading =~ s/ /-/g;
		my $count = $seen{$heading}++;
		$names{ $heading . ($count ? "-$count" : '') } = 1;
	}
	return \%names;
}

# Makes a/c of a/b/../c.
sub plain_path
{
	my @parts;
	foreach my $part (split m{/}, $_[0])
	{
		if ($part eq '..' && @parts) { pop @parts }
		elsif ($part ne '.' && $part ne '') { push @parts, $part }
	}
	return join '/', @parts;
}

sub is_installed
{
	return $_[0] =~ m{^(?:README\.md|docs(?:/.*)?)$};
}

my @pages = grep { -f } glob 'README.md CHANGELOG.md src/*.md src/*/README.md bench/README.md sql_tests/README.md docs/*.md docs/engineering/*.md';
my (%headings, %indexed, %linked);

foreach my $page (@pages)
{
	my $lines = lines_of($page);
	foreach my $number (sort { $a <=> $b } keys %$lines)
	{
		my $line = $lines->{$number} =~ s/`[^`]*`//gr;
		offends("$page:$number: a merge left this line") if $line =~ /^(?:<{7} |>{7} |={7}$)/;
		offends("$page:$number: $1 was not filled") if $line =~ /(@[A-Z_]+@)/;
		while ($line =~ /\]\(([^)\s]+)\)/g)
		{
			my ($path, $heading) = split /#/, $1, 2;
			next if $path =~ /^[a-z]+:/;
			my $target = $path eq '' ? $page : plain_path(dirname($page) . "/$path");
			$linked{$target} = 1;
			$indexed{$target} = 1 if $page eq 'docs/README.md';
			if (!-e $target) { offends("$page:$number: no file $target"); next }
			offends("$page:$number: $target is not installed with the page") if is_installed($page) && !is_installed($target);
			next if !defined $heading;
			$headings{$target} //= headings_of($target);
			offends("$page:$number: no heading $heading in $target") if !$headings{$target}{$heading};
		}
	}
}
foreach my $page (grep { m{^docs/} && $_ ne 'docs/README.md' } @pages)
{
	offends("$page is not in docs/README.md") if !$indexed{$page};
}

my $scripts = join '', map { text_of($_) } glob 'bench/*.gp';
foreach my $figure (glob 'docs/*.{svg,png} docs/*/*.{svg,png}')
{
	offends("no page shows $figure") if !$linked{$figure};
	offends("no bench/*.gp names $figure") if $scripts !~ /\b\Q@{[basename($figure)]}\E\b/;
}

my %tests = map { s{^sql_tests/|\.\w+$}{}gr => 1 } glob 'sql_tests/*.sql sql_tests/specs/*.spec sql_tests/t/*.pl';
my %listed = map { $_ => 1 } map { /`([^`]*)`/g } grep { /^\|/ } values %{ lines_of('sql_tests/README.md') };
offends("sql_tests/README.md does not list $_") foreach grep { !$listed{$_} } sort keys %tests;
offends("sql_tests/README.md lists $_, which is not there") foreach grep { !$tests{$_} } sort keys %listed;
exit($lost != 0);
