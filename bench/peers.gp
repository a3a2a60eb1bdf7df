# docs/engineering/peers.png: mean error of estimates by memory, and peers-stored.png by bytes stored
# (make accuracy).  Columns of the data: kB, then the mean error of each structure in the order of peers.c.

array names = ["multilevel", "multilevel, unbiased", "thread (Count-Min)", "thread, unbiased", \
	"Count-Min, conservative", "Count sketch", "SALSA", "SALSA, conservative", "Sublime, fixed size", "Space-Saving"]
column_of = "2 5 6 7 9 10 11 12 13 14"
colour = "#D55E00 #D55E00 #000000 #000000 #E69F00 #56B4E9 #009E73 #009E73 #0072B2 #CC79A7"
line = "1 2 1 2 1 1 1 2 1 1"
mark = "13 12 7 6 5 9 11 10 3 15"

set logscale xy
set format y "10^{%L}"
set xrange [12:22400]
set yrange [0.002:*]
set xtics ("16 kB" 16, "64 kB" 64, "256 kB" 256, "1 MB" 1024, "4 MB" 4096, "16 MB" 16384)
set ylabel "mean absolute error of all keys"
set key outside right
set grid ytics xtics lc rgb "#dddddd"
set title "Structures at equal bytes: 10 million rows, 760,000 keys, Zipf 1.0"

set terminal pngcairo size 1000,560 font "sans,11"
do for [figure in "peers peers-stored"] {
	data = "build/bench/".figure.".dat"
	set xlabel figure eq "peers" ? "bytes of memory: all that a structure needs" : "bytes stored in PostgreSQL"
	set output "docs/engineering/".figure.".png"
	plot for [i=1:10] data using 1:(column(int(word(column_of, i)))) with linespoints \
		lw 1.5 dt int(word(line, i)) pt int(word(mark, i)) ps 1 lc rgb word(colour, i) title names[i]
	unset output
}
