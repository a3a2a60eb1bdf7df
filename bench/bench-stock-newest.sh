#!/usr/bin/env bash
#
# Prints the table of "make bench-stock" for the PostgreSQL of a newer Debian release, which runs
# in a throw-away system: "make bench-stock-newest".
#
#	SUITE (sid)     the release; "experimental" may have a version that is not released yet
#	ROWS, TURNS     as for bench-stock
#
# The script has the requirements of test/chroot.sh.
set -eu -o pipefail
. "$(dirname "$0")/server.sh"
cd "$SOURCE"
test/chroot.sh "${SUITE:-sid}" env WITH_CUDA=no QSKETCH_INSTALL=yes ROWS="${ROWS:-4000000}" TURNS="${TURNS:-5}" bash -c '
	test/setup.sh build >/out/stock.log 2>&1
	make -s bench-stock >/out/stock.md 2>>/out/stock.log' ||
	{ tail -n 20 build/chroot/stock.log >&2; exit 1; }
cat build/chroot/stock.md
