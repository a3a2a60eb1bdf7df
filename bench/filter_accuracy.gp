# docs/engineering/filter-accuracy.svg: the paper's Figs. 10 and 11, and the distribution of
# relative errors (make filter-accuracy).
# filter-NAME.dat: key, true count, estimate, relative error.
# filter-cdf.dat: relative error, share within it measured and by theory; a
# block for each distribution.

folder = "build/bench/"
set terminal svg size 1000,1000 font "sans,13" background "#ffffff"
set output "docs/engineering/filter-accuracy.svg"
set multiplot layout 3,2
set grid ytics lc rgb "#dddddd"
set xlabel "key"
do for [name in "uniform gaussian"] {
	set title name.": frequency"
	set ylabel "frequency"
	set yrange [0:*]
	set key bottom right
	plot folder."filter-".name.".dat" using 1:3 with points pt 7 ps 0.3 lc rgb "#56B4E9" \
		title "estimate", "" using 1:2 with points pt 7 ps 0.2 lc rgb "#000000" title "true"
	set title name.": relative error"
	set ylabel "(estimate - true) / true"
	set yrange [-0.6:0.6]
	unset key
	plot folder."filter-".name.".dat" using 1:4 with points pt 7 ps 0.3 lc rgb "#0072B2"
}
set title "relative errors of all keys: points measured, lines theory"
set xlabel "relative error"
set ylabel "share of keys within"
set xrange [0:0.4]
set yrange [0:1]
set key bottom right
colour = "#000000 #E69F00 #009E73 #D55E00"
plot for [i=0:3] folder."filter-cdf.dat" index i using 1:3 with lines lw 1.5 \
		lc rgb word(colour, i + 1) notitle, \
	for [i=0:3] "" index i using 1:2 every 8 with points pt 7 ps 0.5 lc rgb word(colour, i + 1) \
		title word("uniform random gaussian poisson", i + 1)
unset multiplot
