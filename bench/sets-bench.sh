#!/usr/bin/env bash
#
# Runs the benchmark of the sets family and writes docs/engineering/sets-performance.md, except
# the tables that "make sets-joins" and "make sets-bench-sql" write.  The section "targets" is
# printed, not written.  With names of sections as arguments, prints these sections and leaves
# the page unchanged.
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
	echo 'Three commands repeat these measurements on your machine and write this page: `make sets-joins` (the comparison with AllPairs and PPJoin),'
	echo '`make sets-bench-sql` (inside PostgreSQL) and `make sets-bench` (all other tables). [sets-methods.md](sets-methods.md) explains the columns.'
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
