#!/usr/bin/env bash
#
# Tries the Dockerfile where there is no Docker.
#
#	src/test/image.sh [VERSION]      of PostgreSQL; 15, which the release has itself
#
# What its stages for the CPU run is run in a throw-away copy of the release that the
# image is of (chroot.sh, which says what it needs).  What that installed is copied, as
# the last stage does, into another copy that has the server alone, and a sketch is
# made there.  The images that it starts from, and CUDA, are not tried.
set -eu -o pipefail
cd "$(dirname "$0")/../.."

# The commands that stages run, each on a line.
commands_of() {
	sed -e ':more' -e '/\\$/N' -e 's/\\\n//' -e 't more' Dockerfile |
		awk -v stages=" $* " '/^FROM / { here = index(stages, " " $NF " ") } here && sub(/^RUN /, "")'
}

build() {
	local commands command
	mapfile -t commands < <(commands_of build build-cpu)
	[ ${#commands[@]} -ge 2 ]
	for command in "${commands[@]}"; do
		echo "+ $command"
		sh -e -c "$command" </dev/null
	done
	cp -a /installed /out/image
}

try() {
	apt-get -qq update
	apt-get -qq install -y --no-install-recommends "postgresql-$PG_MAJOR" >/dev/null
	cp -a /out/image/. /
	pg_ctlcluster "$PG_MAJOR" main start
	setpriv --reuid=postgres --regid=postgres --init-groups psql -XAt -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION qsketch' \
		-c 'SELECT qsketch_estimate(qsketch_agg(k % 10), 7) FROM generate_series(1, 1000) AS k' | tee /dev/stderr |
		grep -qx 100
}

in_copy() {
	src/test/chroot.sh "$release" env PG_MAJOR="$major" PG_CONFIG="/usr/lib/postgresql/$major/bin/pg_config" \
		src/test/image.sh "$1"
}

case ${1:-15} in
build) build ;;
try) try ;;
*)
	major=${1:-15}
	release=$(sed -n 's/^FROM postgres:.*-\([a-z]*\) AS build$/\1/p' Dockerfile)
	rm -rf build/chroot/image
	in_copy build
	in_copy try
	;;
esac
