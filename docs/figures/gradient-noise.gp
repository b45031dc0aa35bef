# Draws docs/figures/gradient-noise.png from docs/figures/gradient-noise.csv: gnuplot docs/figures/gradient-noise.gp
# Left the variance of gradients in windows of 559 steps; right that over the square of the window's mean gradient, whose own noise
# is left in it: so far above the line of 559 the noise cannot be seen.
set terminal pngcairo size 1200,480 font "sans,12"
set output "docs/figures/gradient-noise.png"
set datafile separator ","
array colour[3] = ["#000000", "#0072B2", "#D55E00"]
array mark[3] = [7, 5, 65]
rows(seed) = sprintf("< grep '^%d,' docs/figures/gradient-noise.csv", seed)
set grid linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set border 3
set xtics nomirror
set ytics nomirror
set xrange [0:*]
set xlabel "steps"
set key top right samplen 2
set multiplot layout 1,2
set yrange [0:*]
set ylabel "variance of a step's gradient"
plot for [s = 1:3] rows(s) using 2:3 with linespoints pointtype mark[s] pointsize 0.8 linewidth 1.4 linecolor rgb colour[s] \
     title sprintf("fp32, seed %d", s)
set key bottom right
set ylabel "variance over the mean gradient's square"
plot for [s = 1:3] rows(s) using 2:($3/($4+$3/559)) with linespoints pointtype mark[s] pointsize 0.8 linewidth 1.4 \
     linecolor rgb colour[s] title sprintf("fp32, seed %d", s), \
     559 with lines dashtype 2 linewidth 1.4 linecolor rgb "#666666" title "noise alone"
unset multiplot
