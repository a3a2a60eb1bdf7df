#!/usr/bin/env bash
#
# Compares qsketch's search for all pairs of sets with AllPairs and PPJoin: "make sets-joins".
# Writes tables into docs/engineering/sets-performance.md, and the figure sets-joins.svg.
set -eu -o pipefail
cd "$(dirname "$0")/.."

page=docs/engineering/sets-performance.md
table=build/bench/sets-joins.md
{
	echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) processors;" \
		"$(gcc --version | head -1); $(date +%F)."
	echo
	build/bench/sets_bench joins
} | tee $table
awk -v table=$table '
	/^<!-- end of what make sets-joins/ { skipping = 0 }
	!skipping { print }
	/^<!-- make sets-joins writes/ { skipping = 1; while ((getline line < table) > 0) print line }
' $page >build/bench/sets-page.md
cp build/bench/sets-page.md $page
gnuplot bench/sets_joins.gp
