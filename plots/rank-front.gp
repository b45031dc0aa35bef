# Least error at every amount of one cost (between two points of the front the dearer one is out of reach, so it goes
# on level and then falls), its lower bound, and what other ways to choose reach.
# data: index 0: cost error lower_bound; index 1, 2, 3: cost error of optimum, greedy, uniform rank
# variables: heading, cost_label, error_label
# columns: cost error lower_bound
set title heading noenhanced
set logscale y
set xlabel cost_label noenhanced
set ylabel error_label noenhanced
set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set key top right
set xrange [0 : *]
set format x "%.0s %c"
set rmargin 7
stats data index 0 using ($2 > 0 ? log10($2) : NaN) name "E" nooutput
low = 10 ** E_min / 2
high = 10 ** E_max * 2
set yrange [low : high]
if (narrow(low, high)) { unset logscale y }
eval("set ytics " . log_marks(low, high))
plot data index 0 using 1:3 with lines dashtype 2 linecolor rgb "#999999" title "lower bound", \
     data index 0 using 1:2 with steps linecolor rgb hue[1] linewidth 1.5 title "front", \
     data index 3 using 1:2 with points pointtype 6 pointsize 1.6 linewidth 2 linecolor rgb hue[5] title "uniform rank", \
     data index 2 using 1:2 with points pointtype 4 pointsize 1.6 linewidth 2 linecolor rgb hue[2] title "greedy", \
     data index 1 using 1:2 with points pointtype 7 pointsize 1.4 linecolor rgb hue[3] title "chosen"
