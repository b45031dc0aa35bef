# What candidates have learned after each epoch, a line a candidate.
# columns: epoch accuracy
# data: one index per candidate
# variables: lines, named (1: lines have titles), title_of[line], quality_label, constant, has_dense, dense
set xlabel "epochs" noenhanced
set ylabel quality_label noenhanced
stats data using 1 name "E" nooutput
set xrange [E_min > 1 || E_max > 1 ? 1 : 0 : E_max + 0.2]
set xtics nomirror 1
if (E_max > 12) { set xtics nomirror autofreq }
set ytics nomirror
set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set border 3
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
set title "what candidates have learned after each epoch" noenhanced
plot for [i = 1 : lines] data index i - 1 using 1:2 with linespoints pointtype 7 pointsize 0.7 linewidth 1.4 \
         linecolor rgb hue[(i - 1) % 7 + 1] title title_of[i]
