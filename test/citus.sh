#!/usr/bin/env bash
#
# Tests and times aggregates of distributed tables, on a Citus of three servers on this machine.
#
#	test/citus.sh [BUILD [test|time|COMMAND...]]
#
# BUILD is a folder in which Citus was built.  Without BUILD, or if BUILD is "-", the script uses
# the Citus of the PostgreSQL that pg_config names.  If this PostgreSQL has no Citus, the script
# prints a line that says so, and succeeds.
#
# The script starts a coordinator and two workers, as server.sh starts its server, and leaves
# nothing behind.  "test" computes the expressions of citus/expressions.txt over a local table and
# over a distributed table of the same rows.  The results must be equal byte by byte.  If qsketch is
# not loaded at start, Citus' error is accepted, too.  "time" measures ROWS (2000000) rows in 16
# shards: each query runs ROUNDS (9) times, in turn with all other queries, and the shortest time
# counts.  A COMMAND runs while the servers listen on ports 5432, 5433 and 5434.
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

build=${1:--} what=${2:-all}
nodes=(coordinator worker1 worker2)
first_port=5432
status=0

# Installs a given BUILD of Citus into the copy of PostgreSQL.  False if the copy has no Citus.
stage_citus() {
	[ "$build" = - ] ||
		make -s -C "$build" with_llvm=no install-extension DESTDIR="$SERVER_ROOT" >"$SERVER_ROOT/install.log" 2>&1 ||
		{ cat "$SERVER_ROOT/install.log"; exit 1; }
	[ -n "$(find "$SERVER_ROOT" -name citus.so)" ]
}

# start_node NAME PORT: starts a server.  The setting citus.node_conninfo prevents Citus from
# making certificates.
start_node() {
	local data=$SERVER_HOME/$1 port=$2
	as_server initdb -D "$data" -U postgres -A trust --no-sync --no-locale -E UTF8 >"$SERVER_ROOT/initdb.log" ||
		{ cat "$SERVER_ROOT/initdb.log"; return 1; }
	printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$SERVER_HOME'" \
		"unix_socket_permissions = 0700" "port = $port" "fsync = off" "max_wal_size = 8GB" \
		"shared_preload_libraries = 'citus, qsketch'" "citus.node_conninfo = 'sslmode=prefer'" \
		"qsketch.gpu_worker = off" "wal_level = logical" "shared_buffers = 512MB" "jit = off" \
		"max_prepared_transactions = 50" "autovacuum = off" "citus.enable_statistics_collection = off" \
		>>"$data/postgresql.conf"
	as_server pg_ctl -D "$data" -l "$SERVER_HOME/$1.log" -w start >/dev/null ||
		{ cat "$SERVER_HOME/$1.log"; return 1; }
	as_server psql -Xqp "$port" -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION citus' -c 'CREATE EXTENSION qsketch'
}

start_nodes() {
	local i
	for i in "${!nodes[@]}"; do
		start_node "${nodes[i]}" $((first_port + i)) || return
	done
	sql -c "SELECT citus_set_coordinator_host('$SERVER_HOME', $first_port)" >/dev/null
	for i in 1 2; do
		sql -c "SELECT citus_add_node('$SERVER_HOME', $((first_port + i)))" >/dev/null
	done
}

sql() {
	as_server psql -XAtqp "$first_port" -v ON_ERROR_STOP=1 "$@"
}

# results TABLE: prints a line "NAME|RESULT" for each expression over the table.
results() {
	grep -v '^--' "$SERVER_HOME/citus/expressions.txt" | grep . |
		awk -F '\t+' -v t="$1" -v q="'" '{ gsub(/@T@/, t)
			name = $1; gsub(q, q q, name)
			print "SELECT " q name q ", " $2 ";" }' >"$SERVER_HOME/$1.sql"
	sql -v ON_ERROR_STOP=0 -f - <"$SERVER_HOME/$1.sql" 2>&1 | sed -e 's/^psql:<stdin>:[0-9]*: //' -e '/^CONTEXT:/d'
}

# Compares the results of expressions over both tables.  An error in a result
# fails the test.
compare() {
	local count expected
	results plain >"$SERVER_ROOT/plain.out"
	results spread >"$SERVER_ROOT/spread.out"
	expected=$(grep -v '^--' "$SERVER_HOME/citus/expressions.txt" | grep -c .)
	count=$(grep -vc '^\(ERROR\|HINT\|DETAIL\)' "$SERVER_ROOT/plain.out")
	if diff "$SERVER_ROOT/plain.out" "$SERVER_ROOT/spread.out" >"$SERVER_ROOT/diff" && [ "$count" = "$expected" ]; then
		echo "$count results are the same"
	else
		echo "$count of $expected results; they differ in (< local, > distributed):"
		cat "$SERVER_ROOT/diff"
		status=1
	fi
}

# check_file NAME MESSAGE: checks that citus/NAME.sql prints citus/NAME.out.
check_file() {
	sql -f "$SERVER_HOME/citus/$1.sql" >"$SERVER_ROOT/$1.out" 2>&1 || status=1
	if diff "$SERVER_HOME/citus/$1.out" "$SERVER_ROOT/$1.out"; then
		echo "$2"
	else
		status=1
	fi
}

run_tests() {
	sql -f "$SERVER_HOME/citus/tables.sql" >/dev/null
	compare
	check_file plans 'plans of shards: as expected'
	check_file states 'states of users: refused or combined, as expected'
}

# Checks servers that do not load qsketch at start.  Citus must refuse some expressions, because
# their aggregates have keys of any type.  All other results must be right.
without_preload() {
	local i
	for i in "${!nodes[@]}"; do
		sed -i '/^qsketch\./d' "$SERVER_HOME/${nodes[i]}/postgresql.conf"
		printf '%s\n' "shared_preload_libraries = 'citus'" "qsketch.enable_worker_partial = off" \
			>>"$SERVER_HOME/${nodes[i]}/postgresql.conf"
		as_server pg_ctl -D "$SERVER_HOME/${nodes[i]}" -l "$SERVER_HOME/${nodes[i]}.log" -m fast -w restart >/dev/null
	done
	results plain >"$SERVER_ROOT/plain.out"
	results spread >"$SERVER_ROOT/spread.out"
	if grep -q 'ERROR:.* could not confirm type correctness' "$SERVER_ROOT/spread.out" &&
		! grep -v 'could not confirm type correctness' "$SERVER_ROOT/spread.out" |
			grep -vxF -f "$SERVER_ROOT/plain.out"; then
		echo 'without preload: keys are refused, and nothing else'
	else
		status=1
	fi
	check_file pushdown 'without preload: pushed down as expected'
}

# Runs each query of citus/times.txt once, and prints a line "MILLISECONDS" for each.
time_once() {
	awk -F '\t+' '!/^--/ { print $2 " \\g /dev/null" }' "$SERVER_HOME/citus/times.txt" |
		{ echo '\timing on'; cat; } | sql -f - | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p'
}

# Prints the shortest times as a Markdown table, also divided by the time of the query that
# citus/times.txt names.
time_table() {
	awk -F '\t+' -v runs="$1" -v queries="$(grep -vc '^--' "$SERVER_HOME/citus/times.txt")" '
		BEGIN { while ((getline line < runs) > 0) { n++; i = (n - 1) % queries + 1
				if (!(i in least) || line < least[i]) least[i] = line + 0 } }
		!/^--/ { q++; of[$1] = least[q]
			printf "| %s | %.0f | %.2f |\n", $1, least[q], least[q] / of[$3] }' \
		"$SERVER_HOME/citus/times.txt"
}

measure() {
	local round
	sql -v rows="${ROWS:-2000000}" -f "$SERVER_HOME/citus/events.sql" >/dev/null
	for ((round = 0; round < ${ROUNDS:-9}; round++)); do time_once; done >"$SERVER_HOME/runs"
	echo "| query | ms | of count(*) |"
	echo "|---|---|---|"
	time_table "$SERVER_HOME/runs"
}

stage_and_start() {
	server_stage || exit
	stage_citus || { echo "skipped: no Citus in this PostgreSQL ($(pg_config --version)); build it and name the folder"; exit 0; }
	cp -r "$SOURCE/test/citus" "$SERVER_HOME/citus"
	[ ${#RUN_AS[@]} = 0 ] || chown -R nobody: "$SERVER_HOME"
	start_nodes
}

stage_and_start
case $what in
test) run_tests && without_preload ;;
time) measure ;;
all) run_tests && measure && without_preload ;;
*) "${@:2}" ;;
esac
exit $status
