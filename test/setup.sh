#!/usr/bin/env bash
#
# Installs the Debian packages that a target needs, if they are missing.
#
#	test/setup.sh [-n] build|test|fuzz|bench|deb|chroot
#
# With -n the script only prints the names of the missing packages.
#
# Calls apt only if packages are missing, as root or through sudo.  Without the right to do this,
# the script prints the missing packages, and fails.  Before it installs packages for benchmarks,
# the script names them and asks, unless QSKETCH_INSTALL is set: "yes" permits the installation.  If
# PG_CONFIG (or pg_config) names a PostgreSQL that can build extensions, only the targets deb
# and bench may install another PostgreSQL.  The installation starts no server: see install.
set -eu

dry_run=
[ "${1:-}" != -n ] || { dry_run=yes && shift; }
group=${1:?usage: setup.sh [-n] build|test|fuzz|bench|deb|chroot}
pg_config=${PG_CONFIG:-pg_config}

# True if this PostgreSQL can build extensions and run servers.
server_ready() {
	[ -f "$("$pg_config" --pgxs 2>/dev/null)" ] &&
		[ -f "$("$pg_config" --includedir-server)/postgres.h" ] &&
		[ -x "$("$pg_config" --bindir)/initdb" ]
}

# Prints the major version of the installed PostgreSQL or, if none is installed, of the newest
# package.
server_major() {
	local version
	if version=$("$pg_config" --version 2>/dev/null); then
		version=${version#PostgreSQL }
		echo "${version%%[!0-9]*}"
	else
		apt-cache search --names-only '^postgresql-server-dev-[0-9]+$' |
			sed 's/^postgresql-server-dev-\([0-9]*\).*/\1/' | sort -n | tail -n 1
	fi
}

wanted_packages() {
	[ "$group" != chroot ] || { echo debootstrap && return; }
	echo gcc libc6-dev make
	server_ready || echo "postgresql-$major postgresql-server-dev-$major"
	case $group in
	build) ;;
	test) echo libcmocka-dev perl libipc-run-perl clang-format-14 unzip ;;
	fuzz) echo clang libclang-rt-dev ;;
	deb) echo build-essential debhelper lintian postgresql-all postgresql-server-dev-all ;;
	bench) echo "gnuplot-nox postgresql-$major-hll postgresql-$major-tdigest" ;;
	*) echo "setup.sh: unrecognized group \"$group\"" >&2 && return 1 ;;
	esac
}

# Prints the packages that are not installed.  dpkg prints several lines for a package that is also
# installed for other architectures.
missing_packages() {
	local package wanted
	wanted=$(wanted_packages)
	for package in $wanted; do
		dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
	done
}

# Leaves out packages that this release lacks.  Steps that need these packages are skipped.
drop_unavailable() {
	local package
	for package; do
		if apt-cache show "$package" >/dev/null 2>&1; then
			echo "$package"
		else
			echo "setup.sh: no package $package here, going on without it" >&2
		fi
	done
}

may_install() {
	command -v apt-get >/dev/null || return 1
	[ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null || { [ -t 0 ] && command -v sudo >/dev/null; }
}

# True if packages may be installed.  Packages for benchmarks require a permission.
may_add() {
	local answer=${QSKETCH_INSTALL:-}
	[ "$group" = bench ] || return 0
	[ -n "$answer" ] || ! [ -t 0 ] || read -r -p "The benchmarks need packages: $*. Install them? [y/N] " answer
	[[ $answer == [yY]* ]]
}

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

apt() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@"
}

# Installs packages.  Debian's server package creates and starts a server when it is first
# installed; a drop-in file prevents this.
install() {
	local status=0 dropin=/etc/postgresql-common/createcluster.d/qsketch-setup.conf
	as_root mkdir -p "${dropin%/*}"
	echo 'create_main_cluster = false' | as_root tee "$dropin" >/dev/null
	apt install -y --no-install-recommends "$@" >/dev/null || status=$?
	as_root rm -f "$dropin"
	return $status
}

if ! command -v dpkg-query >/dev/null; then
	server_ready && exit 0
	echo "setup.sh: not a Debian system; install PostgreSQL with its extension headers, and set PG_CONFIG" >&2
	exit 1
fi

major=$(server_major)
missing=$(missing_packages)
[ -z "$dry_run" ] || { [ -z "$missing" ] || echo "$missing"; exit 0; }
[ -n "$missing" ] || exit 0
if ! may_install; then
	echo "setup.sh: missing packages, and neither root nor sudo to install them:" $missing >&2
	exit 1
fi
may_add $missing || {
	echo "setup.sh: install these packages for the benchmarks, or set QSKETCH_INSTALL=yes:" $missing >&2
	exit 1
}

apt update || echo "setup.sh: could not update the package lists, going on with the old ones" >&2
major=$(server_major)
missing=$(drop_unavailable $(missing_packages))
[ -n "$missing" ] || exit 0
echo "installing" $missing
install $missing
