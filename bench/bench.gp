# docs/engineering/performance-*.svg: the benchmark's figures (make bench).
# Each file in "folder" has one block of lines per curve, its name first.

set terminal svg size 900,560 font "sans,14" background "#ffffff"
set grid ytics xtics lc rgb "#dddddd"
set key outside right top
set key autotitle columnheader noenhanced
set ytics nomirror
set xtics nomirror

# Okabe and Ito's colours; from the ninth curve on dashed.
array colour = ["#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"]
do for [i = 1:24] {
	dashes = (i - 1) / 8 + 1
	points = i % 13 + 4
	set linetype i lc rgb colour[(i - 1) % 8 + 1] dt dashes pt points ps 0.7 lw 2
}

file(name) = folder . "/" . name . ".dat"
blocks(name) = int(system("grep -c '^\"' " . file(name)))

set output "docs/engineering/performance-size.svg"
set title "Time per row of the column scan by size of the sketch"
set logscale x 2
set xlabel "MB of counters that a query touches"
set ylabel "ns a row"
set yrange [0:*]
plot for [i = 0:blocks("size") - 1] file("size") index i with linespoints
unset yrange
unset logscale

set output "docs/engineering/performance-workers.svg"
set title "Speed-up with workers"
set xlabel "workers, beside the leader"
set ylabel "times as fast as without"
set yrange [0:*]
set xtics 1
plot for [i = 0:blocks("workers") - 1] file("workers") index i with linespoints
set xtics autofreq
unset yrange

set logscale xy
set format x "10^{%L}"
set output "docs/engineering/performance-rows.svg"
set title "Time per row by number of rows"
set xlabel "rows"
set ylabel "ns a row"
plot for [i = 0:blocks("rows") - 1] file("rows") index i with linespoints

set output "docs/engineering/performance-groups.svg"
set title "Time per row by number of groups, sketches of 64 kB"
set xlabel "groups"
plot for [i = 0:blocks("groups") - 1] file("groups") index i with linespoints
