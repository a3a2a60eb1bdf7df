#!/usr/bin/env bash
#
# Runs the tests and counts them.
#
#	test/run.sh                    everything: packages, build, all tests
#	test/run.sh check              tests what a change most often breaks, in some minutes: build, checks
#	                                   of the sources, unit tests without the random ones, SQL tests
#	test/run.sh unit               unit tests                 test/unit
#	test/run.sh regress [NAME...]  SQL tests                  sql_tests/*.sql
#	test/run.sh isolation [NAME...]  concurrency tests        sql_tests/specs/*.spec
#	test/run.sh gpu [NAME...]      SQL tests through the GPU worker, which emulates its GPU
#	                                   (test/modules/qsketch_emulate), or uses a real one with
#	                                   QSKETCH_GPU=auto
#	test/run.sh tap [FILE...]      tests that start servers   sql_tests/t/*.pl
#
# To run one test, use "make regress REGRESS=merge", "make isolation ISOLATION=iso_rollup", "make
# regress-gpu REGRESS=merge", "make tap PROVE_TESTS=001_cancel.pl" or "make unit
# UNIT=build/unit/test_merge".  These commands first build what they need.  The logs of TAP tests
# are in build/tap.
#
# Every step runs, also after a failed step.  The last line is always "N passed, N failed": the
# number of unit tests, SQL, isolation and TAP tests, and checks.  If files of TAP tests were
# skipped, the line ends with ", N skipped".  The lines before the last line name the failed tests,
# with the first lines of the output of failed TAP and SQL tests, so that the end of a log is
# enough.  The exit status is not 0 if any test failed or none ran.  The output of SQL tests is in
# build/regress/results.  Copy it to expected/ if it is right.
set -eu -o pipefail
. "$(dirname "$0")/server.sh"
cd "$SOURCE"

# Seconds until PostgreSQL's test modules and programs give up: enough for a slow or busy machine.
export PG_TEST_TIMEOUT_DEFAULT=${PG_TEST_TIMEOUT_DEFAULT:-900} PGCTLTIMEOUT=${PGCTLTIMEOUT:-600}
export PGISOLATIONTIMEOUT=${PGISOLATIONTIMEOUT:-3600}

passed=0
failed=0
skipped=()
failures=()
reasons=()
build=$SOURCE/build
mkdir -p "$build"

# count PASSED FAILED [NAME...]: adds to the counts.  Each NAME is a failed test.
count() {
	passed=$((passed + $1))
	failed=$((failed + $2))
	shift 2
	failures+=("$@")
}

# reason NAME FILE PATTERN: keeps the first matching lines of a failed test's log.
reason() {
	reasons+=("$(printf -- '-- %s\n' "$1" && grep -m 12 -E "$3" "$2" | cut -c 1-200 || :)")
}

title() {
	printf '\n== %s\n' "$*"
}

# check NAME COMMAND...: counts one check, which passes if the command succeeds.
check() {
	local name=$1
	title "$name"
	shift
	if "$@"; then count 1 0; else count 0 1 "$name"; fi
}

# count_of PLANNED SEEN STATUS KIND [NAME...]: counts SEEN of the PLANNED tests as passed, and all
# other planned tests as failed.  If STATUS is not 0, counts at least one failure.  Each NAME is a
# failed test.
count_of() {
	local planned=$1 seen=$2 status=$3 kind=$4 lost
	shift 4
	lost=$((planned - seen))
	[ "$status" = 0 ] || [ "$lost" != 0 ] || lost=1
	[ "$lost" -le $# ] || set -- "$@" "$((lost - $#)) not seen to the end"
	count "$seen" "$lost" "${@/#/$kind: }"
}

# unit_run [NAME...]: runs the named unit tests, or all of them.  Keeps the status beside the log.
unit_run() {
	local status=0 log=$build/unit.log
	make -s -j "$(nproc)" unit ${1:+UNIT="${*/#/build/unit/}"} 2>&1 | tee "$log" || status=1
	echo $status >"$log.status"
}

unit_count() {
	local log=$build/unit.log seen lost
	seen=$(awk '/\[  PASSED  \] [0-9]+ test/ { n += $4 } END { print n + 0 }' "$log")
	lost=$(awk '/\[  FAILED  \] [0-9]+ test/ { n += $4 } END { print n + 0 }' "$log")
	count_of $((seen + lost)) "$seen" "$(cat "$log.status")" unit $(failed_unit_tests "$log")
}

unit_tests() {
	title "unit tests"
	unit_run
	unit_count
}

# failed_unit_tests LOG: prints program/test of the tests that failed, and the programs that ended
# before cmocka's summary.  The summary repeats the names of the failed tests.
failed_unit_tests() {
	awk '
		function ends() { if (program != "" && !ended) print program }
		/^== / { ends(); program = $2; sub(/.*\//, "", program) }
		/^== |\[=+\] Running/ { ended = 0 }
		/\[  PASSED  \] [0-9]+ test/ { ended = 1 }
		/\[  FAILED  \] / && !ended { print program "/" $NF }
		END { ends() }' "$1"
}

# names FOLDER SUFFIX: prints the names of the tests in the folder.
names() {
	local file
	for file in "$1"/*"$2"; do
		[ ! -f "$file" ] || basename "$file" "$2"
	done
}

# pg_regress_run NAME PROGRAM TEST...: runs tests in the database qsketch_NAME, and keeps the status
# beside the log.  The tests run on copies, because the server's user may not be able to read the
# source tree, and because pg_regress must not find the install scripts in sql/.
pg_regress_run() {
	local name=$1 program=$PGXS_TEST/$2 stage=$SERVER_HOME/$1 log=$build/$1.log status=0
	shift 2
	: >"$log"
	echo 1 >"$log.status" # until the tests have ended: no log of an earlier run is counted
	stage_tests "$stage"
	as_server "$program" --bindir="${PATH%%:*}" --inputdir="$stage" --outputdir="$stage" \
		--load-extension=qsketch --dbname="qsketch_$name" "$@" 2>&1 | tee "$log" || status=1
	echo $status >"$log.status"
}

# pg_regress_count NAME TEST...: counts tests that have run, and adds their output to the folder of
# their type.
pg_regress_count() {
	local name=$1 kind=${1%_2} stage=$SERVER_HOME/$1 log=$build/$1.log seen
	shift
	cp -r "$stage/results" "$build/$kind/" || :
	if [ -s "$stage/regression.diffs" ]; then
		cat "$stage/regression.diffs" | tee -a "$build/$kind/regression.diffs"
		reason "$kind" "$stage/regression.diffs" '^[-+]'
	fi
	seen=$(grep -cE '^test .*\.\.\. ok |^ok [0-9]+ ' "$log") || :
	count_of $# "$seen" "$(cat "$log.status")" "$kind" $(not_ok "$log" "$@")
}

pg_regress_title() {
	title "$1 tests"
	rm -rf "${build:?}/$1"
	mkdir -p "$build/$1"
}

# pg_regress_tests KIND PROGRAM TEST...: runs and counts SQL tests or isolation tests.
pg_regress_tests() {
	local kind=$1
	[ $# != 2 ] || return 0
	pg_regress_title "$kind"
	pg_regress_run "$@"
	shift 2
	pg_regress_count "$kind" "$@"
	server_crashes
}

server_crashes() {
	grep -E 'PANIC|TRAP|terminated by signal' "$SERVER_HOME/server.log" || :
}

# not_ok LOG TEST...: prints the tests for which pg_regress did not say "ok".  Up to PostgreSQL
# 15, pg_regress prints a format of its own; later versions print TAP.
not_ok() {
	local log=$1 name
	shift
	for name; do
		grep -qE "^test $name +\.\.\. ok |^ok [0-9]+ +[-+] $name " "$log" || echo "$name"
	done
}

stage_tests() {
	mkdir -p "$1/pages"
	cp -r sql_tests "$1/sql"
	cp -r README.md docs "$1/pages"
	[ ! -d expected ] || cp -r expected "$1/expected"
	[ ! -d sql_tests/specs ] || cp -r sql_tests/specs "$1/specs"
	[ ! -d test/golden ] || cp -r test/golden "$1/golden"
	cp build/test/*.so "$1/" 2>/dev/null || :
	[ ${#RUN_AS[@]} = 0 ] || chown -R nobody: "$1"
}

# Runs half of the tests in one database, and at the same time the other half in a second database.
regress() {
	local odd=() even=() name
	[ $# -gt 1 ] || { pg_regress_tests regress regress/pg_regress "$@"; return; }
	for name; do
		if [ ${#odd[@]} -gt ${#even[@]} ]; then even+=("$name"); else odd+=("$name"); fi
	done
	pg_regress_title regress
	pg_regress_run regress_2 regress/pg_regress "${even[@]}" >/dev/null &
	pg_regress_run regress regress/pg_regress "${odd[@]}"
	wait $! || :
	cat "$build/regress_2.log"
	pg_regress_count regress "${odd[@]}"
	pg_regress_count regress_2 "${even[@]}"
	server_crashes
}

# Runs the SQL tests on a server where the GPU worker does all work that it can do.  The expected
# output is the output without a GPU, byte for byte.
gpu() {
	[ $# != 0 ] || return 0
	title "server with a GPU worker"
	server_restart "$(gpu_line emulate)" "qsketch.gpu_timeout = 600s" "qsketch.device = gpu" || { count 0 1 "server with a GPU worker"; return; }
	pg_regress_tests regress_gpu regress/pg_regress "$@"
	psql -XAtc "SELECT 'GPU worker: ' || keys || ' keys in ' || batches || ' batches'
		FROM qsketch_stat_gpu" qsketch_regress_gpu
	check "sketches were on the GPU" test "$(psql -XAtc \
		'SELECT batches > 0 FROM qsketch_stat_gpu' qsketch_regress_gpu)" = t
}

isolation() {
	pg_regress_tests isolation isolation/pg_isolation_regress "$@"
}

# tap_file FILE: runs one test, keeps its status beside its log, and prints the log after its end,
# so that the output of several tests does not mix.
tap_file() {
	local log=$build/tap-${1##*/}.log stage=$SERVER_HOME/tap status=0
	as_server env TESTDIR="$stage" TESTDATADIR="$stage/tmp_check" \
		TESTLOGDIR="$stage/tmp_check/log" PGPORT=65432 PG_REGRESS="$PGXS_TEST/regress/pg_regress" \
		prove --directives -I "$PGXS_TEST/perl" -I "$SERVER_ROOT/perl5" -I "$stage/sql/t" \
		"$stage/sql/t/${1##*/}" >"$log" 2>&1 || status=1
	echo $status >"$log.status"
	{ flock 9 && title "$1" && cat "$log"; } 9>"$build/tap.lock"
}

# all_skipped LOG: true if the file skipped all of its tests.  The log says why.
all_skipped() {
	local tests
	! grep -q '^Result: NOTESTS' "$1" || return 0
	tests=$(sed -n 's/^Files=1, Tests=\([0-9]*\),.*/\1/p' "$1")
	[ "$(grep -cE '^ok [0-9]+.* # (skip|SKIP)' "$1")" = "$tests" ]
}

# tap_count FILE: counts a test that has ended.
tap_count() {
	local log=$build/tap-${1##*/}.log
	if [ "$(cat "$log.status")" != 0 ]; then
		count 0 1 "tap: ${1##*/}"
		reason "${1##*/}" "$log" '^ *#|rror|imed out|^Bail out|^Can.t|signal'
	elif all_skipped "$log"; then
		skipped+=("tap: ${1##*/}")
	else
		count 1 0
	fi
}

# Each file is one test, and needs PostgreSQL's Perl modules, IPC::Run and prove.  Two files run at
# a time, because tests wait most of the time.  With a real GPU one file runs at a time, because
# tests assume that all memory of the GPU is free.  TAP_JOBS sets another number of files.
tap() {
	local file jobs=2 stage=$SERVER_HOME/tap
	[ $# != 0 ] || return 0
	if ! command -v prove >/dev/null || ! perl -I"$SERVER_ROOT/perl5" -MIPC::Run -e1 2>/dev/null; then
		title "TAP tests skipped: no prove or no IPC::Run"
		return
	fi
	[ "${QSKETCH_GPU:-emulate}" = emulate ] || jobs=1
	jobs=${TAP_JOBS:-$jobs}
	stage_tests "$stage"
	test/older.pl "$(pg_config --sharedir)/extension" || { count 0 1 "tap: an older version"; return; }
	rm -f "$build"/tap-*.log "$build"/tap-*.log.status
	for file; do
		while [ "$(jobs -rp | wc -l)" -ge $jobs ]; do wait -n || :; done
		tap_file "$file" &
	done
	wait
	for file; do tap_count "$file"; done
	rm -rf "${build:?}/tap"
	cp -r "$stage/tmp_check/log" "$build/tap" || :
}

# with_server COMMAND...: runs the command with a server.  Counts one failure if the server does
# not start.
with_server() {
	title "server"
	if server_stage && server_start "autovacuum = off"; then "$@"; else count 0 1 "server"; fi
}

server_tests() {
	regress $(names sql_tests .sql)
	isolation $(names sql_tests/specs .spec)
	tap $(names sql_tests/t .pl | sed 's/$/.pl/')
	gpu $(names sql_tests .sql)
}

# half_servers: checks that setup.sh requires the packages of a PostgreSQL that lacks initdb, its
# server's headers or PGXS.  A generated pg_config, for a version that never existed, names the
# folders.
half_servers() (
	folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
	cat >"$folder/pg_config" <<-'END' && chmod +x "$folder/pg_config"
		#!/bin/sh
		[ "$1" = --version ] && echo PostgreSQL 0.1 || echo "${0%/*}/${1#--}"
	END
	mkdir "$folder/bindir" "$folder/includedir-server"
	touch "$folder/bindir/initdb" "$folder/includedir-server/postgres.h" "$folder/pgxs"
	chmod +x "$folder/bindir/initdb"
	lacks() { PG_CONFIG=$folder/pg_config test/setup.sh -n build | grep -q server-dev-0; }
	! lacks || return
	for part in bindir/initdb includedir-server/postgres.h pgxs; do
		mv "$folder/$part" "$folder/away"
		lacks || return
		make -n PG_CONFIG="$folder/pg_config" demo >/dev/null || return
		mv "$folder/away" "$folder/$part"
	done
)

# one_number_each: prints the numbers that more than one TAP test has, and fails if there are
# any.
one_number_each() {
	! ls sql_tests/t | grep -o '^[0-9]*_' | uniq -d | grep .
}

format_check() {
	if command -v "${CLANG_FORMAT:-clang-format-14}" >/dev/null; then
		check "format" make -s format-check
	else
		title "format skipped: no clang-format-14"
	fi
}

source_checks() {
	check "layers" make -s check-layers
	check "links" make -s check-links
	check "numbers of TAP tests" one_number_each
	format_check
}

# Runs unit tests at the same time as the SQL tests.  Leaves out unit tests of random damage and
# random operations, because they take longer than all other tests.
quick() {
	export WERROR=1
	check "build" make -s -j "$(nproc)" all
	echo 1 >"$build/unit.log.status"
	unit_run $(names test/unit .c | grep -vE '_(mutants|property)$') >/dev/null &
	local units=$!
	source_checks
	with_server regress $(names sql_tests .sql)
	wait $units
	title "unit tests"
	cat "$build/unit.log"
	unit_count
}

everything() {
	export WERROR=1
	check "packages" test/setup.sh test
	check "build" make -s -j "$(nproc)" all test-modules
	unit_tests
	source_checks
	check "release" test/check-release.pl
	if command -v dpkg-query >/dev/null; then check "half a PostgreSQL" half_servers; fi
	if git rev-parse -q --verify HEAD >/dev/null 2>&1; then check "source archive" make -s check-dist; fi
	with_server server_tests
}

case ${1:-everything} in
everything) everything ;;
check) quick ;;
unit) unit_tests ;;
regress | gpu | isolation | tap) with_server "$@" ;;
*) echo "run.sh: unrecognized tests \"$1\"" >&2 && exit 2 ;;
esac

[ $((passed + failed)) != 0 ] || title "nothing was run, which is a failure"
if [ ${#skipped[@]} != 0 ]; then
	title "skipped"
	printf '%s\n' "${skipped[@]}"
fi
if [ ${#failures[@]} != 0 ]; then
	title "failed"
	printf '%s\n' "${failures[@]}" "${reasons[@]}"
fi
printf '\n%d passed, %d failed' $passed $failed
[ ${#skipped[@]} = 0 ] || printf ', %d skipped' ${#skipped[@]}
echo
[ $passed != 0 ] && [ $failed = 0 ]
