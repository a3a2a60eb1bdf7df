# docs/storage.svg: stored bytes by distinct keys ("make bench-size").

set terminal svg size 900,560 font "sans,14" background "#ffffff"
set output "docs/storage.svg"
set grid ytics xtics lc rgb "#dddddd"
set key outside right top
set key autotitle columnheader noenhanced
array colour = ["#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#666666"]
do for [i = 1:9] {
	set linetype i lc rgb colour[i] dt 1 pt i ps 0.7 lw 2
}
set title "Stored bytes by distinct keys"
set logscale xy
set xlabel "distinct keys"
set ylabel "bytes"
file = folder . "/size.dat"
blocks = int(system("grep -c '^\"' " . file))
plot for [i = 0:blocks - 1] file index i using 1:2 with linespoints
