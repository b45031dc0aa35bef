# What candidates have learned after each epoch, a line a candidate.
# columns: epoch accuracy
# data: one index per candidate
# variables: lines, named (1: lines have titles), title_of[line]
set xlabel "epochs" noenhanced
set ylabel "accuracy on dev, %" noenhanced
stats data using 1 name "E" nooutput
set xrange [E_min > 1 || E_max > 1 ? 1 : 0 : E_max + 0.2]
set xtics nomirror 1
if (E_max > 12) { set xtics nomirror autofreq }
set ytics nomirror
set grid xtics ytics linetype 1 linecolor rgb "#e4e4e4"
set border 3
if (named) { set key tmargin center horizontal noenhanced } else { unset key }
plot for [i = 1 : lines] data index i - 1 using 1:(100 * $2) with linespoints pointtype 7 pointsize 0.7 linewidth 1.4 \
         linecolor rgb hue[(i - 1) % 7 + 1] title title_of[i]
