# docs/engineering/filter-insert.svg: time of an insertion by number of positions (make
# filter-bench).  filter-insert.dat: k, then ns a row by coins, scalar, AVX2 and
# AVX-512; a block for f = 50 and one for f = 1000.

set terminal svg size 900,460 font "sans,14" background "#ffffff"
set output "docs/engineering/filter-insert.svg"
set multiplot layout 1,2
set logscale xy
set xtics (25, 50, 100, 200, 400, 800)
set xlabel "positions of a key"
set ylabel "ns a row"
set yrange [1:10000]
set grid ytics lc rgb "#dddddd"
set key top left
name = "coins scalar AVX2 AVX-512"
colour = "#000000 #E69F00 #56B4E9 #D55E00"
do for [block=0:1] {
	set title "f = ".word("50 1000", block + 1)
	plot for [i=1:4] "build/bench/filter-insert.dat" index block using 1:i+1 with linespoints \
		pt 7 ps 0.6 lw 1.5 lc rgb word(colour, i) title word(name, i)
}
unset multiplot
