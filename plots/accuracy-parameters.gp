# What candidates learn by their parameters, bars for the spread over seeds; a line joins those that differ in rank alone and were
# trained for as many epochs as any, open marks those that were stopped before.
# columns: parameters learned spread stopped
# data: one index per line
# variables: lines, stopped (any is), epochs, named (1: lines have titles), title_of[line], quality_label, constant, has_dense, dense
set xlabel "parameters" noenhanced
set ylabel quality_label noenhanced
set format x "%.0s %c"
set xtics nomirror
set ytics nomirror
set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set border 3
stats data using 1 name "P" nooutput
span = P_max > P_min ? P_max - P_min : P_max
set xrange [P_min - 0.05 * span : P_max + 0.05 * span]
if (named) { set key inside bottom right vertical opaque } else { unset key }
# The ends between which all of it lies.
set arrow 1 from graph 0, first constant to graph 1, first constant nohead back dashtype 2 linecolor rgb "#888888"
set label 1 "constant answer" at graph 0.99, first constant right offset 0, 0.5 textcolor rgb "#666666"
if (has_dense) {
    set arrow 2 from graph 0, first dense to graph 1, first dense nohead back dashtype 4 linecolor rgb "#888888"
    set label 2 "dense" at graph 0.01, first dense left offset 0, 0.5 textcolor rgb "#666666"
}
other = has_dense ? dense : constant
low = constant < other ? constant : other
high = constant < other ? other : constant
set yrange [* < low : high < *]
set title sprintf("what candidates learn in %d epochs", epochs) noenhanced
plot for [i = 1 : lines] data index i - 1 using 1:2:3 with yerrorbars pointtype 7 pointsize 0.1 linewidth 1.2 \
         linecolor rgb hue[(i - 1) % 7 + 1] notitle, \
     for [i = 1 : lines] data index i - 1 using ($4 > 0 ? NaN : $1):2 with linespoints pointtype 7 pointsize 0.8 linewidth 1.2 \
         linecolor rgb hue[(i - 1) % 7 + 1] title title_of[i], \
     for [i = 1 : lines] data index i - 1 using ($4 > 0 ? $1 : NaN):2 with points pointtype 6 pointsize 0.9 linewidth 1.2 \
         linecolor rgb hue[(i - 1) % 7 + 1] notitle, \
     NaN with points pointtype 6 linecolor rgb "#555555" title (stopped ? "open: stopped before" : "")
