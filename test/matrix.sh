#!/usr/bin/env bash
#
# Tests every supported major version of PostgreSQL, each in a throw-away copy of a release that has
# it (chroot.sh), and prints a table of the results.
#
#	test/matrix.sh [VERSION...]        default: all versions
#
# If VERSION is the name of a release, the PostgreSQL of that release is tested.  The steps are
# "not run" if the copy of a release cannot be made, or PostgreSQL cannot be installed.
#
# STEPS picks from these steps: build unit regress isolation tap gpu upgrade package.  The default
# is all but unit, which does not depend on PostgreSQL.  ARCH=arm64 puts a server of another
# architecture (dpkg's name) into Debian's releases, and builds for this architecture (foreign.sh).
#
#	build      warnings are errors
#	unit, regress, isolation, tap, gpu
#	           the steps of run.sh, as a user without privileges
#	upgrade    pg_upgrade from each older version that this matrix has built, whose server is kept as
#	           pg.tar.gz beside the logs; postgres_fdw with the older server as the remote server
#	package    the Debian packages are built, checked, installed, and tested
# PROVE_TESTS and REGRESS pick tests, as for make.  DEB_BUILD_OPTIONS=nocheck leaves out the tests
# that run while packages are built.  The logs are build/chroot/VERSION/STEP.log, or
# build/chroot/ARCH/VERSION/STEP.log.  The script needs what chroot.sh needs.
set -eu -o pipefail
cd "$(dirname "$0")/.."

STEPS=${STEPS:-build regress isolation tap gpu upgrade package}
ARCH=${ARCH:-}
LOGS=chroot${ARCH:+/$ARCH} # below build, and seen as RESULTS in a copy of a release
RESULTS=/out${ARCH:+/$ARCH}
USER_NAME=tester

release_of() {
	case $1 in
	15) echo bookworm ;;
	16) echo noble ;;
	17) echo trixie ;;
	18) echo sid ;;
	19) echo experimental ;;
	bookworm | noble | trixie | sid | experimental) echo "$1" ;;
	*) echo "matrix.sh: no release is known that has PostgreSQL \"$1\"" >&2 && return 1 ;;
	esac
}

# ---- inside a copy of a release: matrix.sh inside VERSION ----

as_tester() {
	setpriv --reuid=$USER_NAME --regid=$USER_NAME --init-groups env HOME=/home/$USER_NAME "$@"
}

# Makes the tester the owner of the sources, and installs the release's packages that
# tests need.
inside_prepare() {
	test/setup.sh test
	[ -z "$ARCH" ] || test/foreign.sh "$ARCH"
	useradd --create-home $USER_NAME
	chown -R $USER_NAME: .
	local version
	version=$(pg_config --version)
	[[ $1 != [0-9]* || $version =~ ^PostgreSQL\ $1[.a-z] ]] ||
		{ echo "matrix.sh: not PostgreSQL $1, but $version" >&2 && return 1; }
	echo "${version#PostgreSQL }" >"$out/version"
}

# unpack_old ROOT ARCHIVE: unpacks an older server with its libraries, so that only the
# programs of this server find the libraries.
unpack_old() {
	local root=$1 program programs
	mkdir -p "$root/wrapped/bin"
	tar -C "$root" -xzf "$2"
	programs=$(find "$root" -path '*/bin/initdb')
	for program in "${programs%/initdb}"/*; do
		printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$root/lib" "$program" \
			>"$root/wrapped/bin/${program##*/}"
	done
	chmod -R a+rX,a+x "$root/wrapped"
}

upgrade() {
	local old bundle status=0 tried=0
	for bundle in "$RESULTS"/[0-9]*/pg.tar.gz; do
		old=${bundle#"$RESULTS"/}
		old=${old%/*}
		[ -f "$bundle" ] && [ "$old" -lt "$1" ] || continue
		tried=$((tried + 1))
		unpack_old "/opt/$old" "$bundle"
		as_tester oldinstall="/opt/$old/wrapped" test/run.sh tap 034_pg_upgrade.pl 037_fdw.pl || status=1
	done
	test/bundle.sh && cp build/bundle/pg.tar.gz "$out/pg.tar.gz" || status=1
	[ $tried != 0 ] || echo "none older"
	return $status
}

# Runs the unit tests.  QEMU runs programs of another architecture, without
# AddressSanitizer, which does not work in QEMU.
unit_tests() {
	local triplet
	if [ -z "$ARCH" ]; then
		as_tester test/run.sh unit
		return
	fi
	triplet=$(dpkg-architecture -a "$ARCH" -q DEB_HOST_GNU_TYPE)
	as_tester env UNIT_COMPILER="$triplet-gcc" UNIT_SANITIZERS=undefined \
		UNIT_RUNNER="qemu-${triplet%%-*} -E LD_LIBRARY_PATH=/usr/$triplet/lib" test/run.sh unit
}

# Prints options of initdb.  Two versions have a locale other than C, so that no test depends on the
# locale C.
locale_of() {
	case $1 in
	17 | trixie) echo "-E UTF8 --locale=C.UTF-8 --locale-provider=icu --icu-locale=en-US" ;;
	18 | sid) echo "-E UTF8 --locale=C.UTF-8" ;;
	esac
}

step() {
	case $1 in
	build) as_tester make -s -j "$(nproc)" all test-modules ;;
	unit) unit_tests ;;
	regress) as_tester test/run.sh regress ${REGRESS:-$(tests sql_tests .sql)} ;;
	gpu) as_tester test/run.sh gpu ${REGRESS:-$(tests sql_tests .sql)} ;;
	isolation) as_tester test/run.sh isolation $(tests sql_tests/specs .spec) ;;
	tap) as_tester test/run.sh tap ${PROVE_TESTS:-$(ls sql_tests/t | grep '\.pl$')} ;;
	upgrade) upgrade "$2" ;;
	*) echo "matrix.sh: unrecognized step \"$1\"" >&2 && return 1 ;;
	esac
}

tests() {
	ls "$1" | sed -n "s/\\$2\$//p"
}

# Prints the result of a step: its counts, or whether it passed.
verdict() {
	local counts
	counts=$(awk '
		/^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ { p += $1; f += $3; s += $5; n++ }
		END { if (n) print p " passed, " f " failed" (s ? ", " s " skipped" : "") }' "$2")
	if [ "$1" != 0 ] && [[ $counts == *' 0 failed'* ]]; then counts=; fi
	if [ -n "$counts" ]; then echo "$counts"
	elif [ "$1" != 0 ]; then echo FAILED
	elif [ "$(tail -n 1 "$2")" = 'none older' ]; then echo none older
	else echo ok; fi
}

# not_run VERSION FOLDER REASON: records that there is no copy or no PostgreSQL
# to test.
not_run() {
	local name
	echo "PostgreSQL $1: not run: $3"
	for name in $STEPS; do echo "not run" >"$2/$name"; done
	echo "$3" >"$2/reason"
}

inside() {
	local name status started
	export WERROR=1 WITH_CUDA=no
	export QSKETCH_INITDB
	QSKETCH_INITDB=$(locale_of "$1")
	out=$RESULTS/$1
	inside_prepare "$1" >"$out/prepare.log" 2>&1 || { not_run "$1" "$out" "$(tail -n 1 "$out/prepare.log")"; return; }
	for name in $STEPS; do
		[ "$name" != package ] || continue
		status=0 started=$SECONDS
		step "$name" "$1" >"$out/$name.log" 2>&1 || status=$?
		verdict $status "$out/$name.log" >"$out/$name"
		echo "PostgreSQL $1: $name: $(cat "$out/$name") ($((SECONDS - started)) s)"
	done
}

# Builds packages in one copy of the release, and tests them in a new copy.
package() {
	local status=0 out=build/$LOGS/$1 started=$SECONDS
	{
		test/chroot.sh "$2" env WITH_CUDA=no ARCH="$ARCH" DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-}" bash -c "test/package.sh build &&
			rm -rf $RESULTS/$1/deb && cp -r build/deb $RESULTS/$1/deb" &&
			test/chroot.sh "$2" env ARCH="$ARCH" REGRESS="${REGRESS:-}" test/package.sh test "$RESULTS/$1/deb"
	} >"$out/package.log" 2>&1 || status=$?
	verdict $status "$out/package.log" >"$out/package"
	echo "PostgreSQL $1: package: $(cat "$out/package") ($((SECONDS - started)) s)"
}

# ---- outside of the copies ----

row() {
	local cell
	printf '|'
	for cell; do printf ' %s |' "$cell"; done
	printf '\n'
}

table() {
	local version name cells
	row PostgreSQL release $STEPS
	row --- --- $(printf -- '--- %.0s' $STEPS)
	for version; do
		cells=()
		for name in $STEPS; do
			cells+=("$(cat "build/$LOGS/$version/$name" 2>/dev/null || echo FAILED)")
		done
		row "$(cat "build/$LOGS/$version/version" 2>/dev/null || echo "$version")" \
			"$(release_of "$version")${ARCH:+ $ARCH}" "${cells[@]}"
	done
}

matrix() {
	local version release name reason
	for version; do release_of "$version" >/dev/null; done
	for version; do
		release=$(release_of "$version")
		mkdir -p "build/$LOGS/$version"
		for name in version reason $STEPS; do rm -f "build/$LOGS/$version/$name"; done
		if ! reason=$(test/chroot.sh "$release" true 2>&1); then
			not_run "$version" "build/$LOGS/$version" "$(tail -n 1 <<<"$reason")"
			continue
		fi
		[ "$STEPS" = package ] || test/chroot.sh "$release" env STEPS="$STEPS" ARCH="$ARCH" REGRESS="${REGRESS:-}" \
			PROVE_TESTS="${PROVE_TESTS:-}" test/matrix.sh inside "$version" || :
		[[ " $STEPS " != *' package '* || -f build/$LOGS/$version/reason ]] || package "$version" "$release"
	done
	printf '\n%s, %s\n\n' "$(date +%F)" "$(git describe --always --dirty)"
	table "$@" | tee "build/$LOGS/matrix.md"
	grep -qwE 'ok|passed' "build/$LOGS/matrix.md" && ! grep -qE 'FAILED|[1-9][0-9]* failed' "build/$LOGS/matrix.md"
}

case ${1:-} in
inside) inside "$2" ;;
'') matrix 15 16 17 18 19 ;;
*) matrix "$@" ;;
esac
