#!/usr/bin/env bash
#
# Checks that a source archive is complete: unpacks, builds and installs the archive, runs two SQL
# tests on a throw-away server, and runs check-release.pl.
#
#	test/check-dist.sh ARCHIVE.zip
set -eu -o pipefail
archive=$(realpath "${1:?usage: check-dist.sh ARCHIVE.zip}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
name=$(basename "$archive" .zip)

unzip -q -d "$folder" "$archive"
[ "$(ls "$folder")" = "$name" ] || { echo "check-dist.sh: not all in a folder $name" >&2 && exit 1; }
# The Makefile reads its settings anew, as for any user who unpacks the archive.
unset MAKEFLAGS MFLAGS MAKELEVEL
export WITH_CUDA=no
cd "$folder/$name"
make -s -j "$(nproc)"
test/run.sh regress catalog construct
test/check-release.pl
