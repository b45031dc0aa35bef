# Singular values of every bond, over the largest of the bond.
# data: a block for each bond of each layer: place, value, bond
# variables: lines, bonds
# columns: place value bond
set title "singular values of the unfoldings" noenhanced
set logscale xy
set xlabel "number of the singular value"
set ylabel "singular value over the largest"
set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
stats data using ($2 > 1e-9 ? log10($2) : NaN) name "S" nooutput
stats data using 1 name "N" nooutput
low = 10 ** S_min / 2
set yrange [low : 2]
set xrange [1 : N_max * 1.1 + 1]
if (narrow(1, N_max * 1.1 + 1)) { unset logscale x }
eval("set xtics " . log_marks(1, N_max * 1.1 + 1))
if (narrow(low, 2)) { unset logscale y }
eval("set ytics " . log_marks(low, 2))
set key bottom left

plot for [k = 0:lines - 1] data index k using 1:2:(hue_of[(int($3) - 1) % 7 + 1]) with lines linecolor rgb variable notitle, \
     for [b = 1:bonds] NaN with lines linewidth 2 linecolor rgb hue_of[(b - 1) % 7 + 1] title sprintf("bond %d", b)
