#!/usr/bin/env bash
#
# Measures the size of values on disk, the WAL for keeping them up to date, and the cost of reading
# them: "make bench-size".  Writes its tables into docs/engineering/storage.md, and draws
# docs/storage.svg.
#
#	ROWS (5000000)      rows of the log
#	MOST (10000000)     distinct keys of the largest sketches in the figure
#	TURNS (5)           runs of each query
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

command -v gnuplot >/dev/null || "$SOURCE/test/setup.sh" bench >&2
server_build bench >&2
server_stage
server_start
cd "$SOURCE/bench"
folder=$SERVER_ROOT/figures
mkdir -p "$folder"
chmod a+rwx "$folder"
{
	echo
	echo "$(hardware)."
	echo
	psql -XAtq -v ON_ERROR_STOP=1 -v rows="${ROWS:-5000000}" -v turns="${TURNS:-5}" -f bench-size.sql
	echo
} | tee "$SERVER_ROOT/tables"
psql -XAtq -v ON_ERROR_STOP=1 -v most="${MOST:-10000000}" -f size-figure.sql >"$folder/size.dat"
cd "$SOURCE"
gnuplot -e "folder='$folder'" bench/size.gp
put_into docs/engineering/storage.md bench-size "$SERVER_ROOT/tables"
