#!/usr/bin/env bash
#
# Runs a command, as root, in a throw-away copy of a Debian or Ubuntu release.
#
#	test/chroot.sh SUITE COMMAND...
#
# The suite "experimental" is sid with what Debian keeps in experimental beside it.
#
# The command finds the tracked files of this tree in its working directory,
# /srv/qsketch, as they are on disk, and build/chroot of this tree as /out.
# All else that it changes is gone when it ends, as are processes and mounts: it
# has namespaces of its own, and the release is the lower layer of an overlay.
#
# Environment: QSKETCH_CHROOTS, the folder that has the releases as chroot-SUITE; what is not
# there is made by debootstrap.  The folder must not be on an overlay itself, as the root of a
# container is.  It needs root.
set -eu -o pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
chroots=${QSKETCH_CHROOTS:-/var/tmp/qsketch-chroots}
suite=${1:?usage: chroot.sh SUITE COMMAND...}
base=$chroots/chroot-$suite
shift

die() {
	echo "chroot.sh: $*" >&2
	exit 1
}

# Packages that are in sid as well are taken from sid, but for the client library of a
# PostgreSQL that is in experimental.  Mirrors may have a list of experimental that has expired.
add_experimental() {
	sed 's/^deb /&[check-valid-until=no] /; s/ sid / experimental /' "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/experimental.list"
	printf '%s\n' 'Package: libpq5 libpq-dev' 'Pin: release a=experimental' 'Pin-Priority: 500' \
		>"$1/etc/apt/preferences.d/experimental"
}

# Ubuntu keeps the bug fixes of a release beside it.
add_updates() {
	sed 's/ noble / noble-updates /' "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/updates.list"
}

# A release that was made only in part has no name yet.
make_base() {
	local components=main release=$suite partial=$chroots/partial-$suite
	command -v debootstrap >/dev/null || die "no debootstrap to make $base with"
	[ "$suite" != noble ] || components=main,universe
	[ "$suite" != experimental ] || release=sid
	rm -rf --one-file-system "$partial"
	debootstrap --variant=minbase --components=$components "$release" "$partial" >"$chroots/$suite.log" ||
		die "debootstrap failed, see $chroots/$suite.log; another release's keys may be missing;" \
			"or make $base by other means"
	[ "$suite" != experimental ] || add_experimental "$partial"
	[ "$suite" != noble ] || add_updates "$partial"
	mv "$partial" "$base"
}

# Packages that were fetched once are kept beside the release, and every copy has
# links to them, since apt locks the folder that it takes packages from.
packages=$chroots/packages-$suite
keep_packages() {
	find "$copy/packages" -maxdepth 1 -name '*.deb' -exec cp -ln -t "$packages" {} +
}

# No service starts.
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
	cp -L /etc/resolv.conf /etc/hosts "$copy/upper/etc/"
}

# pivot_root, since user namespaces are refused in what chroot makes, and tests use them.
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
[ -d "$base" ] || make_base
copy=$(mktemp -d "$chroots/copy.XXXXXX")
child=
# With unshare, which takes no milder signal, all that it started ends.
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
