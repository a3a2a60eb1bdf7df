#!/usr/bin/env bash
#
# Packs a complete server for hosts that have no packages: PostgreSQL, the extension as
# built in this tree, the shared libraries of both, and the Perl module that the TAP tests
# need.
#
#	make bundle      on this machine: makes build/bundle, with pg.tar.gz, tree.tar.gz and gpu-host.sh
#	gpu-host.sh      on the host, in a copy of build/bundle: tests on the GPU
#	QSKETCH_BUNDLE=build/bundle/pg.tar.gz test/run.sh regress
#	QSKETCH_BUNDLE=build/bundle/pg.tar.gz test/server.sh psql
#	                 on the host, in a copy of the source tree with build/bundle
#
# The host needs bash, and C and C++ runtimes that are not older than this machine's
# runtimes.  TAP tests need Perl.  The host needs neither make nor a compiler.
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

# Lists all libraries except the C and C++ runtimes, which the host must have.  Ignores
# failures of ldd: some programs of PostgreSQL 18 are scripts, for which ldd fails.
shared_libraries() {
	find "$SERVER_ROOT" -type f \( -path '*/bin/*' -o -name '*.so' -o -name 'pg_*regress' \) \
		-exec sh -c 'ldd "$@" 2>/dev/null || :' ldd {} + | awk '/=> \// { print $3 }' | sort -u |
		grep -vE '/(libc|libm|libpthread|libdl|librt|libresolv|libstdc\+\+|libgcc_s|ld-linux[^/]*)\.so'
}

pack_perl_module() {
	local run
	run=$(perl -MIPC::Run -e 'print $INC{"IPC/Run.pm"}' 2>/dev/null) ||
		{ echo "bundle.sh: no IPC::Run to pack, without which no TAP test runs" >&2 && return 1; }
	mkdir -p "$SERVER_ROOT/perl5/IPC"
	cp -r "$run" "${run%.pm}" "$SERVER_ROOT/perl5/IPC/"
}

"$SOURCE/test/setup.sh" test
server_stage
mkdir -p "$SERVER_ROOT/lib" "$SOURCE/build/bundle"
shared_libraries | xargs -I{} cp -L {} "$SERVER_ROOT/lib/"
pack_perl_module
tar -C "$SERVER_ROOT" -czf "$SOURCE/build/bundle/pg.tar.gz" --exclude=./home .
tar -C "$SOURCE" -czf "$SOURCE/build/bundle/tree.tar.gz" test bench sql/upgrade.awk sql_tests expected README.md docs build/test
cp "$SOURCE/test/gpu-host.sh" "$SOURCE/build/bundle/"
ls -lh "$SOURCE/build/bundle"
