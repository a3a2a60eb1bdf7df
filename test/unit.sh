#!/bin/sh
#
# Runs one unit test, and prints its name and then all of its output.  Several tests can run at the
# same time.
#
#	test/unit.sh PROGRAM
#
# UNIT_RUNNER is a command that runs the program, for example QEMU for another architecture.
set -u
{
	echo "== $1"
	${UNIT_RUNNER:-} "$1"
} >"$1.log" 2>&1
status=$?
flock "${1%/*}" cat "$1.log"
exit $status
