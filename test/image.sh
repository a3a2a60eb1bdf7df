#!/usr/bin/env bash
#
# Tests the Dockerfile without Docker.
#
#	test/image.sh [VERSION]      VERSION of PostgreSQL; default: 15, which Debian bookworm has
#
# Runs the commands of the stages for the CPU (WITH_CUDA=yes: for CUDA) in a throw-away copy of the
# image's release.  The script needs what chroot.sh needs.  It copies the installed files, as the
# last stage does, into another copy of the release that has only the server, and makes a sketch in
# this server.  With CUDA, qsketch is preloaded, and finds no GPU.  CUDA_HOME names the toolkit of
# this machine.  The base images are not tested.
set -eu -o pipefail
cd "$(dirname "$0")/.."
cuda=${WITH_CUDA:-no}

# Prints the commands of the Dockerfile's stages, one command in each line.
commands_of() {
	sed -e ':more' -e '/\\$/N' -e 's/\\\n//' -e 't more' Dockerfile |
		awk -v stages=" $* " '/^FROM / { here = index(stages, " " $NF " ") } here && sub(/^RUN /, "")'
}

build() {
	local commands command
	if [ "$cuda" = yes ]; then
		ln -s /out/cuda /usr/local/cuda
		mapfile -t commands < <(commands_of build build-cuda)
	else
		mapfile -t commands < <(commands_of build build-cpu)
	fi
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
	[ "$cuda" != yes ] || pg_conftool "$PG_MAJOR" main set shared_preload_libraries qsketch
	pg_ctlcluster "$PG_MAJOR" main start
	setpriv --reuid=postgres --regid=postgres --init-groups psql -XAt -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION qsketch' \
		-c 'SELECT qsketch_estimate(qsketch_agg(k % 10), 7) FROM generate_series(1, 1000) AS k' | tee /dev/stderr |
		grep -qx 100
	[ "$cuda" != yes ] || no_gpu
}

# Checks that the worker reports a missing driver: only a library with the kernels looks for
# a driver.
no_gpu() {
	local reason
	for _ in {1..50}; do
		reason=$(setpriv --reuid=postgres --regid=postgres --init-groups \
			psql -XAtc 'SELECT state, reason FROM qsketch_gpu()')
		[[ $reason != 'none|cudaError'* ]] || return 0
		sleep 0.2
	done
	echo "image.sh: no error of CUDA's, but \"$reason\"" >&2
	return 1
}

# Makes the toolkit visible in a copy of the release, as /out/cuda.
lend_toolkit() {
	trap 'rm -rf build/chroot/cuda' EXIT
	mkdir -p build/chroot
	cp -al "$(realpath "${CUDA_HOME:-/usr/local/cuda}")" build/chroot/cuda
}

in_copy() {
	test/chroot.sh "$release" env WITH_CUDA="$cuda" ${CUDA_ARCHS:+CUDA_ARCHS="$CUDA_ARCHS"} \
		PG_MAJOR="$major" PG_CONFIG="/usr/lib/postgresql/$major/bin/pg_config" test/image.sh "$1"
}

case ${1:-15} in
build) build ;;
try) try ;;
*)
	major=${1:-15}
	release=$(sed -n 's/^FROM postgres:.*-\([a-z]*\) AS build$/\1/p' Dockerfile)
	rm -rf build/chroot/image build/chroot/cuda
	[ "$cuda" != yes ] || lend_toolkit
	in_copy build
	in_copy try
	;;
esac
