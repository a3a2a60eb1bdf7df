#!/usr/bin/env bash
#
# Builds and tests the Debian packages.
#
#	test/package.sh build    makes build/deb: packages for the PostgreSQL versions whose
#	                             development packages are installed, checked by lintian
#	test/package.sh test DIR installs the packages in DIR, and tests them by autopkgtest;
#	                             root, in a system to be thrown away (chroot.sh)
#
# The sources are the tracked files as they are on disk; without git, all files.
# PG_SUPPORTED_VERSIONS="17 18" picks versions.  The default, "installed", includes versions that
# are not from the release itself.  ARCH=arm64 builds for another architecture, whose server then
# runs the tests (foreign.sh); this needs root, in a system to be thrown away.
# WITH_CUDA=yes builds with the CUDA toolkit of this machine.  The changelog names Debian's suite,
# so lintian uses Debian's profile, also on Ubuntu.
set -eu -o pipefail
cd "$(dirname "$0")/.."
source=$PWD
version=$(sed -n "s/^default_version *= *'\(.*\)'/\1/p" qsketch.control)

files() {
	git ls-files -z 2>/dev/null || find . -path ./build -prune -o -type f -print0
}

# Makes the source tree of the package and its orig archive.  The tree has a debian/control for the
# PostgreSQL versions of PG_SUPPORTED_VERSIONS.
unpack() {
	local tree=build/deb/qsketch-$version
	rm -rf build/deb
	mkdir -p "$tree"
	files | tar --null -T - -c | tar -C "$tree" --no-same-owner -x
	tar -C build/deb --exclude="qsketch-$version/debian" --exclude='qsketch-*/.[cg]*' --sort=name --owner=0 \
		--group=0 --numeric-owner -czf "build/deb/qsketch_$version.orig.tar.gz" "qsketch-$version"
	rm -rf "$tree"/.[cg]*
	cd "$tree"
	pg_buildext updatecontrol
}

# Prints the differences from the expected output of tests, at the end of the log.
show_failed() {
	find build/deb -name regression.diffs -exec grep -HE '^(\+\+\+|[-+])' {} + | sed 's|^[^:]*:||' | head -n 40
}

# DEB_BUILD_OPTIONS=nocheck leaves out the tests on a server of each version.  A build for another
# architecture leaves out these tests, and the check of build dependencies, which are installed for
# this system.
build() {
	echo "package.sh: installs what building takes, builds, and runs the SQL tests on a server of each version, which takes some 10 minutes on 2 cores; DEB_BUILD_OPTIONS=nocheck leaves the tests out"
	test/setup.sh deb
	[ -z "${ARCH:-}" ] || test/foreign.sh "$ARCH"
	export PG_SUPPORTED_VERSIONS=${PG_SUPPORTED_VERSIONS:-installed}
	grep -q "^qsketch ($version-" debian/changelog ||
		{ echo "package.sh: debian/changelog is not of version $version" >&2 && return 1; }
	(unpack && dpkg-buildpackage -us -uc ${ARCH:+--host-arch "$ARCH" -Pcross,nocheck -d}) || { show_failed; return 1; }
	lintian --profile debian --allow-root --info --fail-on error,warning "build/deb/qsketch_$version"-*.changes
	ls -l "$source"/build/deb/*.deb
}

# autopkgtest installs the packages that the tests name, and runs the tests as an ordinary user.
# The tests name postgresql-server-dev-all, which depends on the release's own versions.
test_installed() {
	local headers
	headers=$(cd "$1" && ls *.deb | sed -n 's/^postgresql-\([0-9]*\)-qsketch_.*/postgresql-server-dev-\1/p')
	apt-get -qq update
	apt-get -qq install -y --no-install-recommends autopkgtest dpkg-dev $headers >/dev/null
	useradd --create-home tester
	autopkgtest --user=tester "$1"/*.deb "$1"/*.dsc -- null
}

# Copies the package's files, because the package depends on a server that cannot be installed
# together with this system's.
test_foreign() {
	test/setup.sh test
	test/foreign.sh "$ARCH"
	dpkg -x "$1"/postgresql-*-qsketch_*_"$ARCH".deb /
	make -s WITH_CUDA=no test-modules
	QSKETCH_INSTALLED=yes test/run.sh regress ${REGRESS:-$(ls sql_tests | sed -n 's/\.sql$//p')}
	QSKETCH_INSTALLED=yes test/run.sh isolation $(ls sql_tests/specs | sed -n 's/\.spec$//p')
}

case ${1:-} in
build) build ;;
test)
	: "${2:?usage: package.sh test DIR}"
	if [ -z "${ARCH:-}" ]; then test_installed "$2"; else test_foreign "$2"; fi
	;;
*) echo "usage: package.sh build|test DIR" >&2 && exit 2 ;;
esac
