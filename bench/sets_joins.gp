# docs/engineering/sets-joins.svg: all pairs beside AllPairs and PPJoin (make sets-joins).
# sets-joins.dat: for each collection a block of x, then ms by auto, AllPairs and PPJoin.

set terminal svg size 900,460 font "sans,14" background "#ffffff"
set output "docs/engineering/sets-joins.svg"
set multiplot layout 1,2
set logscale y
set ylabel "ms"
set grid ytics lc rgb "#dddddd"
name = "auto AllPairs PPJoin"
colour = "#000000 #E69F00 #56B4E9"
set key top right
set xlabel "least Jaccard index"
set xtics 0.1
set title "kosarak, 36,683 sets"
plot for [i=1:3] "build/bench/sets-joins.dat" index 0 using 1:i+1 with linespoints \
	pt 7 ps 0.6 lw 1.5 lc rgb word(colour, i) title word(name, i)
set key top left
set logscale x
set xrange [4000:100000]
set xtics ("5,000" 5000, "20,000" 20000, "80,000" 80000)
set xlabel "sets"
set title "sets of 20, skewed, least Jaccard index 0.8"
plot for [i=1:3] "build/bench/sets-joins.dat" index 5 using 1:i+1 with linespoints \
	pt 7 ps 0.6 lw 1.5 lc rgb word(colour, i) title word(name, i)
unset multiplot
