#!/usr/bin/env bash
#
# Runs the benchmark of the sets family and writes docs/engineering/sets-performance.md, except
# the tables that "make sets-joins" and "make sets-bench-sql" write.  Targets are only printed,
# and so are sections that are named.
set -eu
cd "$(dirname "$0")/.."

if [ $# -gt 0 ]; then
	exec build/bench/sets_bench "$@"
fi
out=build/bench/sets-performance.md
page=docs/engineering/sets-performance.md
build/bench/sets_bench targets
{
	echo '# Performance of the sets family'
	echo
	echo 'Written by `make sets-bench`, the part beside AllPairs and PPJoin by `make sets-joins`, and the part'
	echo 'inside PostgreSQL by `make sets-bench-sql`. They measure all of this anew on your machine. What the columns mean is in [sets-methods.md](sets-methods.md).'
	echo
	echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) processors," \
		"$(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo) of memory;" \
		"$(gcc --version | head -1); $(date +%F)."
	build/bench/sets_bench single multiple model
	echo
	sed -n '/^## Beside AllPairs and PPJoin/,/^<!-- end of what make sets-joins/p' $page
	echo
	echo '## Inside PostgreSQL'
	echo
	sed -n '/^<!-- make sets-bench-sql writes/,$p' $page
} >$out
cp $out $page
