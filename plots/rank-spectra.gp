# Singular values of every bond, over the largest of the bond.
# data: a block for each bond of each layer: place, value, bond
# variables: lines, bonds
# columns: place value bond
set title "singular values of the unfoldings" noenhanced
set logscale xy
set format y "10^{%L}"
set xlabel "place"
set ylabel "singular value over the largest"
set grid xtics ytics linecolor rgb "#dddddd"
set yrange [1e-9 : 2]
set key bottom left
stats data using 1 nooutput
if (narrow(STATS_min, STATS_max)) { unset logscale x }
eval("set xtics " . log_marks(STATS_min, STATS_max))
array colour[7] = [0x2980b9, 0xe67e22, 0x27ae60, 0x8e44ad, 0xc0392b, 0x16a085, 0x7f8c8d]
plot for [k = 0:lines - 1] data index k using 1:2:(colour[(int($3) - 1) % 7 + 1]) with lines linecolor rgb variable notitle, \
     for [b = 1:bonds] NaN with lines linewidth 2 linecolor rgb colour[(b - 1) % 7 + 1] title sprintf("bond %d", b)
