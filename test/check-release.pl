#!/usr/bin/env perl
#
# Checks that statements about a release are the same in several places, and that META.json has
# what PGXN requires (PGXN Meta Spec 1.0.0).  Reads only files of the tree.
#
#	test/check-release.pl
use strict;
use warnings;
use FindBin;
use JSON::PP;

chdir "$FindBin::RealBin/.." or die "check-release.pl: $!\n";
my $failed = 0;

# The prototype gives each argument scalar context.  In list context a failed match would add no
# argument.
sub check($$)
{
	my ($ok, $what) = @_;

	return if $ok;
	print "check-release.pl: $what\n";
	$failed = 1;
}

sub slurp
{
	my ($name) = @_;

	open my $file, '<', $name or die "check-release.pl: $name: $!\n";
	local $/;
	return <$file>;
}

# The texts of the first group, one for each match.
sub all_of
{
	my ($name, $pattern) = @_;

	return slurp($name) =~ /$pattern/g;
}

sub same
{
	my ($what, $expected, @found) = @_;

	check(@found > 0, "$what: nothing found");
	check($_ eq $expected, "$what is \"$_\", not \"$expected\"") foreach @found;
}

# ---- META.json: the required fields, and the form of fields ----

my $term = qr/\A[^\s\/\\[:cntrl:]]{2,}\z/;
my $number = qr/(?:0|[1-9][0-9]*)/;
my $version_form = qr/\A$number\.$number\.$number(?:[-+]?[A-Za-z][0-9A-Za-z-]*)?\z/;
my $file = qr/\A(?!\/)(?!.*\.\.)/;

sub text
{
	my ($value) = @_;

	return defined $value && !ref $value && length $value;
}

sub check_meta
{
	my ($meta) = @_;

	check(text($meta->{$_}), "META.json: no $_") foreach qw(name abstract version);
	check(($meta->{name} // '') =~ $term, 'META.json: name is no term');
	check(($meta->{version} // '') =~ $version_form, 'META.json: version is no semantic version');
	my $people = ref $meta->{maintainer} ? $meta->{maintainer} : [ $meta->{maintainer} ];
	check(ref $people eq 'ARRAY' && @$people && !grep({ !text($_) } @$people), 'META.json: no maintainer');
	my $license = $meta->{license};
	check(text($license) || ref $license eq 'HASH' && %$license
		  && !grep({ ($_ // '') !~ m{\Ahttps?://} } values %$license), 'META.json: no license');
	check(($meta->{'meta-spec'}{version} // '') eq '1.0.0', 'META.json: not of meta-spec 1.0.0');
	check(($meta->{release_status} // 'stable') =~ /\A(stable|testing|unstable)\z/, 'META.json: release_status');
	check(!grep({ !text($_) || length > 255 || m{[/\\[:cntrl:]]} } @{ $meta->{tags} // [] }), 'META.json: tags');
	check_provides($meta->{provides});
	check_resources($meta->{resources} // {});
	check_prereqs($meta->{prereqs} // {});
}

sub check_provides
{
	my ($provides) = @_;

	check(ref $provides eq 'HASH' && %$provides, 'META.json: provides nothing');
	foreach my $name (keys %{ $provides // {} })
	{
		my $extension = $provides->{$name};

		check($name =~ $term, "META.json: provides \"$name\", no term");
		check(($extension->{version} // '') =~ $version_form, "META.json: $name has no version");
		foreach my $field ('file', 'docfile')
		{
			next if $field eq 'docfile' && !exists $extension->{docfile};
			my $path = $extension->{$field} // '';
			check($path =~ $file && -f $path, "META.json: $name has no $field \"$path\"");
		}
	}
}

sub check_resources
{
	my ($resources) = @_;
	my $url = qr{\A(?:https?|git)://[^\s/]+};
	my ($bugs, $repository) = @$resources{qw(bugtracker repository)};

	check(($resources->{homepage} // '') =~ $url, 'META.json: no homepage');
	check(($bugs->{web} // '') =~ $url && ($bugs->{mailto} // '') =~ /\A\S+@\S+\z/, 'META.json: no bugtracker');
	check(($repository->{$_} // '') =~ $url, "META.json: no $_ of repository") foreach qw(url web);
	check(($repository->{type} // '') =~ /\A[a-z]+\z/, 'META.json: type of repository');
}

sub check_prereqs
{
	my ($prereqs) = @_;

	foreach my $phase (keys %$prereqs)
	{
		check($phase =~ /\A(configure|build|test|runtime|develop)\z/, "META.json: prereqs of phase \"$phase\"");
		foreach my $relation (keys %{ $prereqs->{$phase} })
		{
			check($relation =~ /\A(requires|recommends|suggests|conflicts)\z/, "META.json: prereqs that \"$relation\"");
			check($_ eq '0' || /\A(?:[<>=!]+\s*)?$number\.$number\.$number/, "META.json: prereq of version \"$_\"")
			  foreach values %{ $prereqs->{$phase}{$relation} };
		}
	}
}

my $meta = decode_json(slurp('META.json'));
check_meta($meta);

# ---- the version of qsketch is the same everywhere ----

my ($version) = all_of('qsketch.control', qr/^default_version *= *'(.*)'/m);
same('version in META.json', $version, $meta->{version}, map { $_->{version} } values %{ $meta->{provides} });
same('version in CHANGELOG.md', $version, (all_of('CHANGELOG.md', qr/^## (\S+)/m))[0]);
same('version in Dockerfile', $version, all_of('Dockerfile', qr/image\.version="(.*?)"/));
if (-d 'debian') # which source archives lack
{
	same('version in debian/changelog', $version, (all_of('debian/changelog', qr/^qsketch \((.*)-[^-]*\)/m))[0]);
}
if (-d 'rpm')
{
	same('version in rpm/qsketch.spec', $version, all_of('rpm/qsketch.spec', qr/^Version:\s*(\S+)/m));
	same('version in its changelog', $version, (all_of('rpm/qsketch.spec', qr/^\* .* - (.*)-[^-]*$/m))[0]);
}

# ---- the description of the extension is the same in psql's \dx, PGXN and packages ----

my ($families) = all_of('qsketch.control', qr/^comment *= *'(.*)'/m);
check($families =~ /\b\Q$_\E/i, "qsketch.control: no $_ in the comment")
  foreach 'frequency sketch', 'Bloom filter', 'set intersection';
same('families in META.json', $families, lcfirst(($meta->{abstract} =~ /^([^:]*)/)[0]));
foreach my $control (glob 'debian/control debian/control.in')
{
	same("families in $control", "$families in PostgreSQL", all_of($control, qr/^Description: (.*)/m)) if -f $control;
}
same('families in rpm/qsketch.spec', ucfirst "$families in PostgreSQL", all_of('rpm/qsketch.spec', qr/^Summary:\s*(.*)/m)) if -d 'rpm';
same('families in Dockerfile', $families, all_of('Dockerfile', qr/image\.description="(.*?)"/));

# ---- the versions of PostgreSQL are the same everywhere ----

my @majors = all_of('test/matrix.sh', qr/^\t(\d+)\) echo/m);
my $range = "$majors[0] to $majors[-1]";
same('PostgreSQL in README.md', $range, all_of('README.md', qr/^qsketch needs PostgreSQL (\d+ to \d+)\./m));
same('PostgreSQL in META.json', "$majors[0].0.0", $meta->{prereqs}{runtime}{requires}{PostgreSQL});
my ($image) = all_of('Dockerfile', qr/^ARG PG_MAJOR=(\d+)$/m);
check(scalar(grep { $_ eq $image } @majors), "PostgreSQL $image in Dockerfile is none of @majors");
if (-d 'debian')
{
	same('PostgreSQL in debian/pgversions', "$majors[0]+", split /\n/, slurp('debian/pgversions'));
}
if (-d 'rpm')
{
	my ($major) = all_of('rpm/qsketch.spec', qr/^%\{!\?pgmajorversion:%global pgmajorversion (\d+)\}/m);
	check(scalar(grep { $_ eq ($major // '') } @majors), 'rpm/qsketch.spec: pgmajorversion is none of ' . "@majors");
}
if (-d '.github')
{
	# A version that only experimental has is not released yet, so there are no images of it.
	my @released = all_of('test/matrix.sh', qr/^\t(\d+)\) echo (?!experimental)/m);
	same('PostgreSQL in workflows', join(', ', @released), all_of($_, qr/postgresql: \[(.*?)\]/)) foreach glob '.github/workflows/*.yml';
}

# ---- the packages that building needs, and the version of CUDA ----

my ($compiler) = all_of('test/setup.sh', qr/^\techo (gcc .*)$/m);
my ($installed) = all_of('Dockerfile', qr/--no-install-recommends (gcc .*?) &&/);
same('what Dockerfile installs', "$compiler postgresql-server-dev-\$PG_MAJOR", $installed);
foreach my $tests ('debian/tests/installcheck', 'debian/tests/tap')
{
	next unless -d 'debian';
	my ($name) = $tests =~ m{([^/]*)$};
	my ($depends) = slurp('debian/tests/control') =~ /^Tests: \Q$name\E\nDepends: (.*)$/m;
	check(-x $tests && defined $depends, "debian/tests/control does not run $tests");
	check(($depends // '') =~ /\b\Q$_\E\b/, "debian/tests/control: $name does not depend on $_") foreach split / /, $compiler;
}
my ($cuda) = all_of('Dockerfile', qr/^ARG CUDA=(.*)$/m);
check(($cuda // '') =~ /^\d+\.\d+$/, 'Dockerfile: CUDA has no version of the form 13.0');

exit $failed;
