#!/bin/sh
#
# Runs one unit test, and prints its name and then its whole output.  Several copies of this script
# can run at the same time.
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
