#!/usr/bin/env bash
#
# Measures the speed of the extension inside PostgreSQL, in full: "make bench".  Makes its own data
# on a throw-away server, measures everything in one run, checks the results, and writes
# docs/engineering/performance.md with its figures, and a table in docs/recipes.md.  The page's text
# from "Why some queries are slower" on is kept.  Check by hand that this text is still true.
#
# Takes about eight minutes on two idle cores.
#
#	ROWS (10000000)     rows of the tables; 100000000 needs 40 GB of memory and BUFFERS=24GB
#	MOST_ROWS (30000000, or ROWS with less than 20 GB of memory)
#	                    largest number of rows of further tables, which show how time grows;
#	                    100000000 takes some minutes more
#	STORED (1000)       stored sketches of 1 MB that are merged
#	TURNS (5)           runs of each query that has a target
#	WORKERS (3)         largest number of parallel workers
#	BUFFERS (8GB, or 4GB with less than 20 GB of memory)
#	                    shared memory of the server
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

figure() {
	printf '\n![%s](performance-%s.svg)\n' "$2" "$1"
}

# Prints the page up to "Why some queries are slower", with the tables that bench.sql printed.
document() {
	local settings=
	[ -z "${ROWS:-}" ] || settings="ROWS=$ROWS "
	cat <<-EOF
		# Performance

		\`${settings}make bench\` repeats these measurements on your machine, and writes the page up to [slower queries](#why-some-queries-are-slower). Later sections name their commands.

		$(hardware). Tables have $ROWS_USED rows in memory. JIT is off, and there are no parallel workers unless a row or figure names workers. Times are
		medians of $TURNS_USED runs (in the figures, of up to 3 runs). A ratio is the median of the ratios of two consecutive runs. Sketches have the
		default structure and size (multilevel, 1 MB) unless a row or figure names others. Tables are narrow, with one to three columns. Keys are drawn uniformly from as many values as
		there are rows, and 63 % of the values occur. Sketches gain most on narrow tables and uniform keys.

	EOF
	cat "$1"
	echo
	echo "## Curves"
	figure size "Time per row by size, structure and instructions"
	figure workers "Speed-up with workers"
	figure rows "Time per row by number of rows"
	figure groups "Time per row by number of groups"
}

small_memory=$(awk '/^MemTotal/ { print ($2 < 20 * 1048576) }' /proc/meminfo)
[ "$small_memory" = 0 ] || : "${BUFFERS:=4GB}" "${MOST_ROWS:=${ROWS:-10000000}}"
ROWS_USED=${ROWS:-10000000}
TURNS_USED=${TURNS:-5}
bench_server "${BUFFERS:-8GB}"
folder=$(mktemp -d "$SERVER_ROOT/figures.XXXXXX")
psql -XAtq -v ON_ERROR_STOP=1 -v rows="$ROWS_USED" -v most_rows="${MOST_ROWS:-30000000}" \
	-v stored="${STORED:-1000}" -v turns="$TURNS_USED" \
	-v workers="${WORKERS:-3}" -v folder="$folder" -f bench.sql | tee "$folder/tables"
cd "$SOURCE"
page=docs/engineering/performance.md
{
	document "$folder/tables"
	echo
	sed -n '/^## Why some queries are slower/,$p' "$page"
} >"$folder/page"
cp "$folder/page" "$page"
gnuplot -e "folder = '$folder'" bench/bench.gp
echo "written: $page and its figures" >&2
# $(...) drops all empty lines at the end, so printf adds an empty line.
printf '%s\n\nMeasured on %s.\n' "$(cat "$folder/week")" "$(hardware)" >"$folder/week.lines"
put_into docs/recipes.md bench "$folder/week.lines"
