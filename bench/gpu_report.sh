#!/usr/bin/env bash
#
# Writes the lines of gpu_bench as tables into docs/engineering/gpu-performance.md, between the
# comment lines that mark the tables.
#
#	gpu_report.sh [lines of gpu_bench]
#
# The text around the tables is written by hand.  The tables leave out the sections "batches",
# "access", "depth", "host" and "sf", the queries of "skew", the lines "direct" and "auto" of
# "bulk", and the sizes above 512 MB of "sizes" and "bulk", which SQL refuses.
set -eu
cd "$(dirname "$0")/.."
lines=${1:-build/gpu/gpu-bench.tsv}
page=docs/engineering/gpu-performance.md
tables=$(mktemp -d)
trap 'rm -rf "$tables"' EXIT

# pivot SECTION TITLE CONDITION ROW COLUMN: prints a table of values.  CONDITION, ROW and COLUMN are
# awk expressions of name, bytes, keys and what.  Rows and columns are in the order of their first
# values.
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

# Prints the device, its driver, the date, the speeds of copying, and the number of wrong results.
device() {
	awk -F'\t' '
		$1 == "device" && NR == 1 {
			printf "| %s, %d GB, %d multiprocessors | %s |\n|---|--:|\n", $2, $3 / 2^30, $6, $5
		}
		$1 == "device" && NR > 1 { printf "| %s | %s %s |\n", $5, $6, $7 }
		$1 == "checks" { printf "| %s | %d |\n", $5, $6 }' "$lines"
}

device >"$tables/device"
pivot sizes insert 'what == "insert" && $3 <= 2^29' name bytes >"$tables/sizes-insert"
pivot sizes query 'what ~ /^query/ && $3 <= 2^29' '(what == "query" ? name : name " " what)' bytes >"$tables/sizes-query"
pivot bulk 'bulk insert' 'what == "bulk" && $3 <= 2^29' name bytes >"$tables/bulk"
pivot skew insert 'what ~ /, (auto|direct)$/' 'name ", " bytes' what >"$tables/skew-insert"

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
