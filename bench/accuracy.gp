# docs/engineering/accuracy.png: error by load, measured and theory (make accuracy).
# Columns of accuracy.dat: load, then measured and theory of each structure.

data = "build/bench/accuracy.dat"
array names = ["thread", "warp", "half\\_warp", "sub\\_warp", "multilevel", "sf, z = 3", "sf, z = 8"]
column_of = "2 4 8 10 12 14 18"
colour = "#000000 #E69F00 #56B4E9 #009E73 #D55E00 #CC79A7 #0072B2"
mark = "7 5 9 11 13 15 3"

# The authors' figures at loads 0.5 and 1 (paper, Fig. 7), in the colours above.
$authors << EOD
0.5 0.0621 0x000000
0.5 0.0821 0xE69F00
0.5 0.1266 0x009E73
0.5 0.0065 0xD55E00
0.5 0.0158 0xCC79A7
0.5 0.0050 0x0072B2
1.0 0.2706 0x000000
1.0 0.3032 0xE69F00
1.0 0.3839 0x009E73
1.0 0.0258 0xD55E00
1.0 0.0743 0xCC79A7
1.0 0.0201 0x0072B2
EOD

set logscale xy
set format y "10^{%L}"
set xrange [0.22:4.6]
set xtics (0.25, 0.5, 1, 2, 4)
set xlabel "load: keys per counter of a row of the thread sketch of equal memory"
set ylabel "mean relative error of present keys"
set key bottom right
set grid ytics xtics lc rgb "#dddddd"
set title "Accuracy by load: points measured, lines theory, circles the authors"

set terminal pngcairo size 900,620 font "sans,11"
set output "docs/engineering/accuracy.png"
plot for [i=1:7] data using 1:(column(int(word(column_of, i)) + 1)) with lines \
		lw 1.5 lc rgb word(colour, i) notitle, \
	for [i=1:7] data using 1:(column(int(word(column_of, i)))) with points \
		pt int(word(mark, i)) ps 1 lc rgb word(colour, i) title names[i], \
	$authors using 1:2:3 with points pt 6 ps 2 lc rgb variable notitle, \
	NaN with points pt 6 ps 2 lc rgb "#888888" title "authors"
