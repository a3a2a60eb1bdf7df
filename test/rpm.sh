#!/usr/bin/env bash
#
# Builds the RPM packages of a source archive, for the PostgreSQL that PG_CONFIG names.
#
#	test/rpm.sh ARCHIVE.zip [OPTION...]    writes build/rpm, and passes each OPTION to rpmbuild
#
# On systems whose packages are not RPMs, the dependencies of the specification are not checked.
# They must be installed.  Debian's PostgreSQL is in several folders, unlike PGDG's, so the script
# passes the folders to rpmbuild.  WITH_CUDA=yes builds with the CUDA toolkit of this machine.
set -eu -o pipefail
archive=$(realpath "${1:?usage: rpm.sh ARCHIVE.zip [OPTION...]}")
shift
cd "$(dirname "$0")/.."
pg_config=${PG_CONFIG:-pg_config}

bindir=$("$pg_config" --bindir)
major=$("$pg_config" --version)
major=${major#PostgreSQL }
options=(--define "_topdir $PWD/build/rpm" --define "_sourcedir ${archive%/*}"
	--define "pgmajorversion ${major%%[!0-9]*}" --define "pginstdir ${bindir%/bin}"
	--define "pgpkglibdir $("$pg_config" --pkglibdir)" --define "pgsharedir $("$pg_config" --sharedir)")
[ "${WITH_CUDA:-no}" != yes ] || options+=(--with cuda)
rpm -q --quiet rpm || options+=(--nodeps)
# Without the program that separates debug symbols, the symbols stay in the
# library.
[ -x "$(rpm --eval '%{_bindir}')/find-debuginfo" ] || [ -x "$(rpm --eval '%{__find_debuginfo}')" ] ||
	options+=(--define 'debug_package %{nil}')

# The build reads its settings anew, as if rpmbuild were started outside of make.
unset MAKEFLAGS MFLAGS MAKELEVEL
rm -rf build/rpm
rpmbuild -ba "${options[@]}" "$@" rpm/qsketch.spec
find build/rpm -name '*.rpm' -exec ls -l {} +
