# Draws docs/figures/duplex.png from the table of docs/techniques.md: gnuplot docs/figures/duplex.gp
# Memory besides the parameters, and the longest life in a step, over the depth of the duplex network.
set terminal pngcairo size 1200,480 font "sans,11"
set output "docs/figures/duplex.png"
rows(policy) = "< awk -F'|' '/duplex.repeat=.*policy=" . policy . "/ {gsub(/,/, \"\"); n = $2; sub(/.*repeat=/, \"\", n); print n + 0, $4 - $3, $6}' docs/techniques.md"
policy = "keep recompute reversible"
array colour[3] = ["#D55E00", "#0072B2", "#009E73"]
array mark[3] = [7, 5, 9]
set logscale xy 2
set xtics (2, 4, 8, 16)
set xrange [1.8:18]
set xlabel "blocks of backbone and branch"
set grid lc rgb "#dddddd"
set key top left
set multiplot layout 1,2
set title "most live at once besides the parameters"
set ylabel "kB"
plot for [i = 1:3] rows(word(policy, i)) using 1:2 with linespoints lw 2 ps 1.4 pt mark[i] lc rgb colour[i] title word(policy, i)
set title "longest life of what a step makes, and retention"
set ylabel "us"
plot for [i = 1:3] rows(word(policy, i)) using 1:3 with linespoints lw 2 ps 1.4 pt mark[i] lc rgb colour[i] title word(policy, i), \
     77 with lines lw 2 dt 2 lc rgb "#000000" title "a cell keeps its value, 77 us"
unset multiplot
