#!/bin/sh
#
# Runs one unit test, and prints its name and then all that it said.  Several can run at
# a time.
#
#	test/unit.sh PROGRAM
#
# UNIT_RUNNER: a command that runs it, as QEMU does where it is for another architecture.
set -u
{
	echo "== $1"
	${UNIT_RUNNER:-} "$1"
} >"$1.log" 2>&1
status=$?
flock "${1%/*}" cat "$1.log"
exit $status
