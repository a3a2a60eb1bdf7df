#!/bin/sh
#
# Runs one unit test, and prints its name and then all that it said.  Several can run at
# a time.
#
#	src/test/unit.sh PROGRAM
set -u
{
	echo "== $1"
	"$1"
} >"$1.log" 2>&1
status=$?
flock "${1%/*}" cat "$1.log"
exit $status
