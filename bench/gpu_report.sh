#!/usr/bin/env bash
#
# Puts the lines of gpu_bench into the tables of docs/engineering/gpu-performance.md,
# between the marks that are there, and draws its figures.
#
#	gpu_report.sh [lines of gpu_bench]
#
# The text around the tables is written by hand.  The sections "batches", "access", "host" and
# "sf" and the queries of "skew" are in no table.
set -eu
cd "$(dirname "$0")/.."
lines=${1:-build/gpu/gpu-bench.tsv}
page=docs/engineering/gpu-performance.md
tables=$(mktemp -d)
trap 'rm -rf "$tables"' EXIT

# pivot SECTION TITLE CONDITION ROW COLUMN: a table of values.  CONDITION, ROW
# and COLUMN are awk expressions of name, bytes, keys and what.  Rows and columns
# are in the order in which they first come up.
pivot() {
	awk -F'\t' -v section="$1" -v title="$2" '
		function size(b) { return b >= 2^30 ? b / 2^30 " GB" : b >= 2^20 ? b / 2^20 " MB" : b / 2^10 " kB" }
		function power(n,  k) { for (k = 0; n > 1; n /= 2) k++; return "2^" k }
		$1 != section { next }
		{
			name = $2; bytes = size($3); keys = power($4); what = $5; value = $6
			if (!('"$3"')) next
			row = '"$4"'; column = '"$5"'
			if (!(row in rows)) { rows[row] = ++nr; row_name[nr] = row }
			if (!(column in columns)) { columns[column] = ++nc; column_name[nc] = column }
			cell[row, column] = value
		}
		END {
			printf "| %s |", title
			for (c = 1; c <= nc; c++) printf " %s |", column_name[c]
			printf "\n|---|"
			for (c = 1; c <= nc; c++) printf "--:|"
			print ""
			for (r = 1; r <= nr; r++) {
				printf "| %s |", row_name[r]
				for (c = 1; c <= nc; c++) printf " %s |", cell[row_name[r], column_name[c]]
				print ""
			}
		}' "$lines"
}

# The machine, its driver, the date.
device() {
	awk -F'\t' '
		$1 == "device" && NR == 1 {
			printf "| %s, %d GB, %d multiprocessors | %s |\n|---|--:|\n", $2, $3 / 2^30, $6, $5
		}
		$1 == "device" && NR > 1 { printf "| %s | %s %s |\n", $5, $6, $7 }
		$1 == "checks" { printf "| %s | %d |\n", $5, $6 }' "$lines"
}

# figure NAME TITLE "load 0.5" insert|query: throughput against number of keys.
figure() {
	awk -F'\t' -v load="$3" -v what="$4" -v out="$tables" '
		$1 == "figures" && ($5 == load ", " what || (what == "insert" && $5 == load ", bulk")) {
			name = $2 ($5 ~ /bulk/ ? "-bulk" : "")
			print $4, $6 >> (out "/" name ".dat")
		}' "$lines"
	gnuplot <<-GNUPLOT
		set terminal svg size 760,480 font "sans,12"
		set output "docs/engineering/$1.svg"
		set title "$2"
		set logscale x 2
		set format x "2^{%L}"
		set xlabel "keys"
		set ylabel "10^9 keys/s"
		set key outside right
		set grid
		set yrange [0:*]
		plot $(for s in ceiling sub_warp sub_warp-bulk multilevel half_warp warp thread; do
			[ ! -f "$tables/$s.dat" ] || printf '"%s" using 1:2 with linespoints title "%s"%s, ' \
				"$tables/$s.dat" "${s//_/ }" "$([ $s = ceiling ] && echo ' lw 2 dashtype 2')"
		done)
	GNUPLOT
	rm -f "$tables"/*.dat
}

device >"$tables/device"
pivot sizes insert 'what == "insert"' name bytes >"$tables/sizes-insert"
pivot sizes query 'what ~ /^query/' '(what == "query" ? name : name " " what)' bytes >"$tables/sizes-query"
pivot bulk 'bulk insert' 'what == "bulk"' name bytes >"$tables/bulk"
pivot skew insert 'what ~ /, (auto|direct)$/' 'name ", " bytes' what >"$tables/skew-insert"
pivot depth '4 GB table' 1 name what >"$tables/depth"

awk -v tables="$tables" '
	/^<!-- begin / {
		print
		file = tables "/" $3
		while ((getline line < file) > 0) print line
		inside = 1
		next
	}
	/^<!-- end / { inside = 0 }
	!inside { print }' "$page" >"$tables/page"
cat "$tables/page" >"$page"
rm -f "$tables"/*

figure gpu-insert-half "Insert, load 0.5 (paper, Fig. 5)" "load 0.5" insert
figure gpu-insert-one "Insert, load 1 (paper, Fig. 5)" "load 1" insert
figure gpu-query-half "Query, load 0.5 (paper, Fig. 6)" "load 0.5" query
figure gpu-query-one "Query, load 1 (paper, Fig. 6)" "load 1" query
