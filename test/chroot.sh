#!/usr/bin/env bash
#
# Runs a command, as root, in a throw-away copy of a Debian or Ubuntu release.
#
#	test/chroot.sh SUITE COMMAND...
#
# The suite "experimental" is sid with the packages of Debian's experimental.
#
# The command finds the tracked files of this tree, as they are on disk, in its working directory
# /srv/qsketch, and build/chroot of this tree as /out.  When the command ends, all changes outside
# of /out are discarded, because the release is the lower layer of an overlay.  Only downloaded
# packages are kept.  The command's processes and mounts end, too, because the command has
# namespaces of its own.
#
# Environment: QSKETCH_CHROOTS, the folder that has the releases as chroot-SUITE.  debootstrap makes
# a missing release, with the mirror and proxy of this machine's apt.  A copy of sid that is older
# than RENEW_DAYS (below) is replaced, if possible.  The folder must not be on an overlay, such as
# the root of a container.  The script needs root.
set -eu -o pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
chroots=${QSKETCH_CHROOTS:-/var/tmp/qsketch-chroots}
suite=${1:?usage: chroot.sh SUITE COMMAND...}
base=$chroots/chroot-$suite
RENEW_DAYS=10
shift

die() {
	echo "chroot.sh: $*" >&2
	exit 1
}

# Prefers sid's packages to experimental's, except the client library of a PostgreSQL that is in
# experimental.
add_experimental() {
	sed 's/ sid / experimental /' "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/experimental.list"
	printf '%s\n' 'Package: libpq5 libpq-dev' 'Pin: release a=experimental' 'Pin-Priority: 500' \
		>"$1/etc/apt/preferences.d/experimental"
}

# Adds the suite in which Ubuntu has the bug fixes of a release.
add_updates() {
	sed 's/ noble / noble-updates /' "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/updates.list"
}

# Prints the mirror of a distribution's packages that this machine's apt uses; nothing if apt
# uses none.
mirror_of() {
	apt-get indextargets --format '$(ORIGIN)/$(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		sed -n "s|^$1/$1 ||p" | head -n 1
}

# Prints the proxies of this machine's apt, as lines of apt's configuration.
proxies() {
	local scheme variable
	for scheme in http https; do
		variable=${scheme}_proxy
		[ -z "${!variable:-}" ] || echo "Acquire::$scheme::Proxy \"${!variable}\";"
	done
	apt-config dump --no-empty Acquire::http::Proxy 2>/dev/null || :
	apt-config dump --no-empty Acquire::https::Proxy 2>/dev/null || :
}

# Prints the path of Ubuntu's keys; downloads Debian's package of these keys if
# it is not installed.
ubuntu_keys() {
	local keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg
	if ! [ -f $keys ]; then
		"$source/test/chroot.sh" trixie bash -c "apt-get -qq update &&
			apt-get -qq install -y ubuntu-keyring && cp $keys /out/" >&2 || return
		mv "$source/build/chroot/${keys##*/}" "$chroots/" && keys=$chroots/${keys##*/} || return
	fi
	echo "$keys"
}

# run_debootstrap FOLDER: makes the release.  A debootstrap that does not know noble uses its
# script for an older release.
run_debootstrap() {
	local options=(--variant=minbase) script=() mirror http_proxy=${http_proxy:-} scripts=/usr/share/debootstrap/scripts
	[ -n "$http_proxy" ] || http_proxy=$(proxies | sed -n 's/^Acquire::http::Proxy "\(.*\)";$/\1/p' | head -n 1)
	[ -z "$http_proxy" ] || export http_proxy
	if [ "$suite" = noble ]; then
		options+=(--components=main,universe "--keyring=$(ubuntu_keys)") mirror=$(mirror_of Ubuntu)
		[ -e $scripts/noble ] || script=($scripts/gutsy)
	else
		mirror=$(mirror_of Debian)
	fi
	debootstrap "${options[@]}" "${suite/experimental/sid}" "$1" "$mirror" "${script[@]}"
}

# Makes a release under another name, and renames the finished release.  Accepts expired lists of
# sid and experimental, which mirrors may have.
make_base() {
	local partial=$chroots/partial-$suite
	command -v debootstrap >/dev/null || die "no debootstrap to make $base with"
	rm -rf --one-file-system "$partial"
	run_debootstrap "$partial" >"$chroots/$suite.log" 2>&1 ||
		die "debootstrap failed, see $chroots/$suite.log; or make $base by other means"
	[ "$suite" != experimental ] || add_experimental "$partial"
	[ "$suite" != noble ] || add_updates "$partial"
	is_stable || echo 'Acquire::Check-Valid-Until "false";' >"$partial/etc/apt/apt.conf.d/expired"
	touch "$partial"
	mv "$partial" "$base"
}

is_stable() {
	[ "$suite" != sid ] && [ "$suite" != experimental ]
}

# Replaces an old copy of sid, in which newer packages could not be installed.  Commands that run in
# the old copy keep it until they end.
renew_base() {
	is_stable && return
	[ -n "$(find "$base" -maxdepth 0 -mtime +$RENEW_DAYS)" ] || return 0
	rm -rf --one-file-system "$chroots/old-$suite"
	mv "$base" "$chroots/old-$suite"
	(make_base) || mv "$chroots/old-$suite" "$base"
}

# Makes the release, or renews it.  A lock admits one process at a time.
have_base() {
	exec 9>"$chroots/$suite.lock"
	flock 9
	if [ -d "$base" ]; then renew_base; else make_base; fi
	exec 9>&-
}

# Downloaded packages are kept in a folder beside the release.  Every copy has a folder of links to
# the packages, because apt locks the folder from which it reads packages.
packages=$chroots/packages-$suite
keep_packages() {
	find "$copy/packages" -maxdepth 1 -name '*.deb' -exec cp -ln -t "$packages" {} +
}

# Prepares the copy, and forbids services to start in it.
prepare() {
	mkdir -p "$copy/upper/srv/qsketch" "$copy/upper/usr/sbin" "$copy/upper/out" "$copy/work" "$copy/root" \
		"$copy/packages/partial" "$packages" "$source/build/chroot"
	find "$packages" -maxdepth 1 -name '*.deb' -exec cp -l -t "$copy/packages" {} +
	git -C "$source" ls-files -z | tar -C "$source" --null --ignore-failed-read -T - -c 2>/dev/null |
		tar -C "$copy/upper/srv/qsketch" --no-same-owner -x
	printf '#!/bin/sh\nexit 101\n' >"$copy/upper/usr/sbin/policy-rc.d"
	chmod 755 "$copy/upper/usr/sbin/policy-rc.d"
	mkdir -p "$copy/upper/etc/dpkg/dpkg.cfg.d"
	echo force-unsafe-io >"$copy/upper/etc/dpkg/dpkg.cfg.d/unsafe-io"
	mkdir -p "$copy/upper/etc/apt/apt.conf.d"
	proxies >"$copy/upper/etc/apt/apt.conf.d/proxies"
	cp -L /etc/resolv.conf /etc/hosts "$copy/upper/etc/"
}

# Uses pivot_root, because tests need user namespaces, which are refused inside of
# chroot.
# shellcheck disable=SC2016
inside='
	mount --make-rprivate /
	mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$2/root"
	mount --bind "$3" "$2/root/var/cache/apt/archives"
	mount --bind "$4" "$2/root/out"
	mount -t proc proc "$2/root/proc"
	mount --rbind /dev "$2/root/dev"
	mount -t tmpfs -o mode=1777 shm "$2/root/dev/shm"
	mkdir "$2/root/outside"
	cd "$2/root"
	pivot_root . outside
	umount -l /outside
	rmdir /outside
	cd /srv/qsketch
	shift 4
	exec env -i HOME=/root TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"'

[ "$(id -u)" = 0 ] || die "only root can enter another root"
[ $# != 0 ] || die "no command given"
mkdir -p "$chroots"
have_base
copy=$(mktemp -d "$chroots/copy.XXXXXX")
child=
# Kills unshare, and thereby all processes that it started.  SIGINT and SIGTERM
# do not end unshare.
leave() {
	trap '' INT TERM
	[ -z "$child" ] || { kill -KILL "$child" && wait "$child"; } 2>/dev/null || :
	keep_packages || :
	rm -rf --one-file-system "$copy"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$copy"
prepare
unshare --mount --pid --fork --kill-child --propagation private bash -eu -c "$inside" chroot.sh \
	"$base" "$copy" "$copy/packages" "$source/build/chroot" "$@" <&0 &
child=$!
status=0
wait "$child" || status=$?
child=
exit $status
