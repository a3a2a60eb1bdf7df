# docs/engineering/overload.png: minimum and unbiased estimate in overloaded
# sketches (make accuracy).
# Columns of overload.dat: data and load, mean absolute errors.

data = "build/bench/overload.dat"

set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9 border -1
set logscale y
set yrange [0.3:20000]
set bmargin 6
set format y "10^{%L}"
set xtics rotate by 40 right scale 0
set ylabel "mean absolute error"
set key outside top center horizontal
set grid ytics lc rgb "#dddddd"
set title "Overloaded sub\\_warp sketches: 200,000 keys, 4 million rows, by distribution and load"

set terminal pngcairo size 1000,620 font "sans,11"
set output "docs/engineering/overload.png"
plot data using 2:xtic(1) title "minimum" lc rgb "#E69F00", \
	data using 3 title "unbiased" lc rgb "#56B4E9", \
	data using 4 title "unbiased, clipped to 0 .. minimum" lc rgb "#009E73"
