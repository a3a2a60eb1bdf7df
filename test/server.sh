#!/usr/bin/env bash
#
# Starts a throw-away PostgreSQL server that has the extension.
#
#	test/server.sh COMMAND...     for example test/server.sh psql
#
# Scripts of tests, demo and benchmarks source this file for these functions:
#
#	server_build GROUP      install missing packages (see setup.sh) and build
#	server_stage            copy PostgreSQL, install the extension into the copy
#	server_start [LINE...]  start the server, with these lines in postgresql.conf
#	server_restart [LINE...]  start the server again, with further lines
#	gpu_line DEFAULT        the line of postgresql.conf for a GPU worker.  QSKETCH_GPU=emulate
#	                        emulates a GPU, and auto uses the real GPU; default: DEFAULT
#	as_server COMMAND...    run as the user who owns the server
#
# server_stage installs nothing into the system.  PostgreSQL finds its libraries relative to its
# programs, so a copy of both under $SERVER_ROOT is a complete server.  The script needs no root.
# If root runs it, the server runs as "nobody", since PostgreSQL refuses root.  "nobody" may not be
# able to read the source tree, so files that the server needs are copied to $SERVER_ROOT or below.
# At exit, the script always stops the server and removes all of its files.
#
# Environment: PG_CONFIG (which PostgreSQL), TMPDIR, QSKETCH_TEST_CONF (a file of further lines for
# postgresql.conf), QSKETCH_BUNDLE (an archive made by "make bundle", to be used instead of
# installed packages and a build), QSKETCH_INITDB (options of initdb in place of "--no-locale -E
# UTF8"), QSKETCH_INSTALLED (test the extension that is installed into the PostgreSQL).  PGOPTIONS
# and similar variables are passed to clients.

umask 022
SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
SERVER_ROOT=
RUN_AS=()
[ "$(id -u)" != 0 ] || RUN_AS=(setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups)

as_server() {
	(cd "$SERVER_HOME" &&
		exec env HOME="$SERVER_HOME" TMPDIR="$SERVER_HOME/tmp" GCOV_PREFIX="$SERVER_HOME/gcov" \
			"${RUN_AS[@]}" "$@")
}

server_build() {
	[ -n "${QSKETCH_BUNDLE:-}" ] ||
		{ "$SOURCE/test/setup.sh" "$1" && make -s -j "$(nproc)" -C "$SOURCE"; }
}

server_stage() {
	trap server_remove EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	SERVER_ROOT=$(mktemp -d "${TMPDIR:-/tmp}/qsketch.XXXXXX") && chmod 755 "$SERVER_ROOT" || return
	if [ -n "${QSKETCH_BUNDLE:-}" ]; then
		tar -xzf "$QSKETCH_BUNDLE" -C "$SERVER_ROOT" || return
		export LD_LIBRARY_PATH=$SERVER_ROOT/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	else
		copy_postgres || return
		[ -n "${QSKETCH_INSTALLED:-}" ] ||
			make -s -C "$SOURCE" install DESTDIR="$SERVER_ROOT" >/dev/null || return
	fi
	server_environment
}

# Copies programs, libraries and data to the same paths below $SERVER_ROOT, except for manual pages
# and files that only the JIT needs.
copy_postgres() {
	local option from=()
	for option in --bindir --pkglibdir --sharedir; do
		from+=("$("${PG_CONFIG:-pg_config}" $option)") || return
	done
	tar -C / -c --exclude=bitcode --exclude='llvmjit*' --exclude=man "${from[@]#/}" |
		tar -C "$SERVER_ROOT" -x
}

server_environment() {
	local programs
	programs=$(find "$SERVER_ROOT" -path '*/bin/initdb') && programs=${programs%/initdb} || return
	PGXS_TEST=$("$programs/pg_config" --pgxs) && PGXS_TEST=${PGXS_TEST%/makefiles/*}/test || return
	SERVER_HOME=$SERVER_ROOT/home
	mkdir -p "$SERVER_HOME/tmp" || return
	[ ${#RUN_AS[@]} = 0 ] || chown -R nobody: "$SERVER_HOME"
	unset PGDATA PGHOSTADDR PGSERVICE PGPASSFILE
	export PATH=$programs:$PATH
	export PGHOST=$SERVER_HOME PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
}

# Starts the server.  Only its owner and root can connect.
server_start() {
	local data=$SERVER_HOME/data
	as_server initdb -D "$data" -U postgres -A trust --no-sync ${QSKETCH_INITDB:---no-locale -E UTF8} \
		>"$SERVER_ROOT/initdb.log" || { cat "$SERVER_ROOT/initdb.log"; return 1; }
	{
		printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$SERVER_HOME'" \
			"unix_socket_permissions = 0700" "fsync = off" "max_wal_size = 8GB" "$@"
		[ -z "${QSKETCH_TEST_CONF:-}" ] || cat "$QSKETCH_TEST_CONF"
	} >>"$data/postgresql.conf"
	as_server pg_ctl -D "$data" -l "$SERVER_HOME/server.log" -w start >/dev/null ||
		{ cat "$SERVER_HOME/server.log"; return 1; }
}

server_restart() {
	local data=$SERVER_HOME/data
	printf '%s\n' "$@" >>"$data/postgresql.conf"
	as_server pg_ctl -D "$data" -l "$SERVER_HOME/server.log" -m fast -w restart >/dev/null ||
		{ tail -n 50 "$SERVER_HOME/server.log"; return 1; }
}

gpu_line() {
	local modules=qsketch built=$SOURCE/build/test/qsketch_emulate.so
	if [ "${QSKETCH_GPU:-$1}" = emulate ]; then
		[ -f "$built" ] || make -s -C "$SOURCE" test-modules >&2 || return
		install -m 755 "$built" "$SERVER_ROOT/" || return
		modules+=",$SERVER_ROOT/${built##*/}"
	fi
	echo "shared_preload_libraries = '$modules'"
}

# Stops the server, and servers that an interrupted test has left.  Moves the counters of a server
# built with COVERAGE=1 next to the objects, where gcov reads them.
server_remove() {
	local pid data
	[ -d "$SERVER_ROOT" ] || return 0
	for pid in $(find "$SERVER_ROOT" -name postmaster.pid); do
		data=${pid%/*}
		as_server pg_ctl -D "$data" -m fast -t 20 stop >/dev/null 2>&1 ||
			as_server pg_ctl -D "$data" -m immediate stop >/dev/null 2>&1 || :
	done
	[ ! -d "${SERVER_HOME:-}/gcov" ] || cp -r "$SERVER_HOME/gcov$SOURCE/." "$SOURCE/"
	rm -rf "$SERVER_ROOT"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	set -eu
	: "${1:?usage: server.sh COMMAND...}"
	server_stage
	server_start
	"$@"
fi
