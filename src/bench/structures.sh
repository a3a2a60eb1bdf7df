#!/usr/bin/env bash
#
# All structures on the same rows: "make structures".  Builds its own data on a
# throw-away server, measures how fast and how right each structure is, checks
# what the default sketch must find, and writes the tables into docs/choosing.md,
# between the lines that mark them.
#
#	TURNS (5)      runs of each query; the shortest counts
#	CLICKS (yes)   no leaves out the 20 million clicks
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

page=$SOURCE/docs/choosing.md

# Reads the tables; prints the page with them in the place of the old ones.
with_tables() {
	awk -v tables="$1" '
		/^<!-- end of what make structures writes/ { inside = 0 }
		!inside { print }
		/^<!-- make structures writes/ {
			inside = 1
			while ((getline line <tables) > 0)
				print line
		}' "$page"
}

bench_server 2GB
tables=$(mktemp "$SERVER_ROOT/tables.XXXXXX")
{
	echo
	echo "By \`make structures\`; build, estimate and merge are the shortest of ${TURNS:-5} runs, in one process."
	hardware
	echo
	psql -XAtq -v ON_ERROR_STOP=1 -v turns="${TURNS:-5}" -v clicks="${CLICKS:-yes}" -f structures.sql
	echo
} | tee "$tables"
with_tables "$tables" >"$SERVER_ROOT/choosing.md"
cp "$SERVER_ROOT/choosing.md" "$page"
echo "written: docs/choosing.md" >&2
