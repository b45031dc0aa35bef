# What candidates learn by their parameters, a line for those that differ in rank alone, bars for the spread over seeds.
# columns: parameters accuracy spread
# data: one index per line
# variables: lines, named (1: lines have titles), title_of[line]
set xlabel "parameters" noenhanced
set ylabel "accuracy on dev, %" noenhanced
set format x "%.0s %c"
set xtics nomirror
set ytics nomirror
set grid xtics ytics linetype 1 linecolor rgb "#e4e4e4"
set border 3
stats data using 1 name "P" nooutput
span = P_max > P_min ? P_max - P_min : P_max
set xrange [P_min - 0.05 * span : P_max + 0.05 * span]
if (named) { set key tmargin center horizontal noenhanced } else { unset key }
plot for [i = 1 : lines] data index i - 1 using 1:(100 * $2):(100 * $3) with yerrorbars pointtype 7 pointsize 0.1 linewidth 1.2 \
         linecolor rgb hue[(i - 1) % 7 + 1] notitle, \
     for [i = 1 : lines] data index i - 1 using 1:(100 * $2) with linespoints pointtype 7 pointsize 0.8 linewidth 1.2 \
         linecolor rgb hue[(i - 1) % 7 + 1] title title_of[i]
