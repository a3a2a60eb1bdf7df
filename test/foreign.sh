#!/usr/bin/env bash
#
# Replaces this system's PostgreSQL server by one of another architecture.
#
#	test/foreign.sh ARCH     ARCH is dpkg's name, like arm64; needs root, in a system to be thrown away
#
# The program postgres and its libraries are replaced by ARCH's, which QEMU runs.  Extensions that
# are built against this PostgreSQL afterwards are built for ARCH.  psql, pg_regress and Perl stay
# unchanged, and the compiler is a cross compiler.  So the tests take a small fraction of the time
# that a whole system of ARCH takes under QEMU, and the kernel need not start programs by QEMU.
#
# The system must be Debian with the packages of "setup.sh test".  PG_CONFIG or pg_config names its
# PostgreSQL.
set -eu -o pipefail

arch=${1:?usage: foreign.sh ARCH}
pg_config=${PG_CONFIG:-pg_config}
programs=$("$pg_config" --bindir)
libraries=$("$pg_config" --pkglibdir)
headers=$("$pg_config" --includedir-server)
makefile=${libraries}/pgxs/src/Makefile.global
version=$("$pg_config" --version)
version=${version#PostgreSQL }
major=${version%%[!0-9]*}
foreign=$(mktemp -d)
trap 'rm -rf "$foreign"' EXIT

die() {
	echo "foreign.sh: $*" >&2
	exit 1
}

# Installs the compiler, QEMU, and the libraries to link with.  Unpacks PostgreSQL's packages into
# $foreign, because they cannot be installed together with this system's PostgreSQL.
fetch() {
	local package
	dpkg --add-architecture "$arch"
	apt-get -qq update
	apt-get -qq install -y --no-install-recommends dpkg-dev "crossbuild-essential-$arch" "libcmocka-dev:$arch" \
		qemu-user >/dev/null
	chmod 755 "$foreign"
	(cd "$foreign" && apt-get -qq -o APT::Sandbox::User=root download \
		"postgresql-$major:$arch" "postgresql-client-$major:$arch" "postgresql-server-dev-$major:$arch")
	for package in "$foreign"/*.deb; do dpkg -x "$package" "$foreign"; done
	apt-get -qq install -y --no-install-recommends $(libraries_of "$foreign"/postgresql-"$major"_*.deb) >/dev/null
}

# Prints the shared libraries on which a package depends, as packages of the other
# architecture.
libraries_of() {
	dpkg -f "$1" Depends | tr ',' '\n' | sed -n "s/^ *\(lib[^ |:]*\).*/\1:$arch/p"
}

# Replaces postgres and its libraries, and also the headers and Makefile.global, which say how
# PostgreSQL was configured.
replace() {
	local triplet=$1
	cp "$foreign$libraries"/*.so "$libraries/"
	cp -r "$foreign$headers/." "$headers/"
	sed "s/^CC = gcc/CC = $triplet-gcc/" "$foreign$makefile" >"$makefile"
	cp "$foreign$programs/postgres" "$programs/postgres.$arch"
	printf '#!/bin/sh\nexec qemu-%s -0 "$0" "$0.%s" "$@"\n' "${triplet%%-*}" "$arch" >"$programs/postgres"
}

[ "$(id -u)" = 0 ] || die "only root can replace the server"
fetch
replace "$(dpkg-architecture -a "$arch" -q DEB_HOST_GNU_TYPE 2>/dev/null)"
[ "$("$programs/postgres" -V)" = "$("$programs/psql" -V | sed 's/^psql/postgres/')" ] ||
	die "the server for $arch is not of version $version"
