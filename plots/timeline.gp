# The timeline of a training step: a row per kernel, a bar per operation.
# data: row of the kernel (0 the first), start in ms, finish in ms, phase (0..3), 1 on the critical path
# variables: heading, kernels, kernel_0 .. (names), busy_0 .. (share of the time that each is busy), step_ms,
#            phase_0 .. phase_3 (names)
# columns: row start_ms finish_ms phase critical
set title heading noenhanced
set xlabel "time" . x_unit
set xrange [0 : step_ms]
set yrange [kernels - 0.4 : -0.6]
set ytics nomirror scale 0 noenhanced ("" 0)
do for [i = 0:kernels - 1] { set ytics add (value(sprintf("kernel_%d", i)) i) }
do for [i = 0:kernels - 1] { set label i + 1 value(sprintf("busy_%d", i)) at graph 1, first i left offset 0.7, 0 noenhanced }
set label kernels + 1 "busy" at graph 1, graph 1 left offset 0.7, 0.6
set rmargin 9
set grid xtics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set key outside above center horizontal maxrows 1 samplen 1.5 noenhanced
set style fill solid 1 noborder
plot for [p = 0:3] data using 2:($4 == p ? $1 : NaN):2:3:($1 - 0.36):($1 + 0.36) with boxxyerror \
         linecolor rgb part[p + 1] title value(sprintf("phase_%d", p)), \
     data using ($5 == 1 ? $2 : NaN):($1 + 0.43):($3 - $2):(0) with vectors nohead linewidth 3 \
         linecolor rgb hue[5] title "critical path"
