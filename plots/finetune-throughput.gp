# Throughput against batch size, one panel a group.
# data: per series (a group's sparsity) two blocks, 2 k measured: batch queries_per_s
#       and 2 k + 1 the law: batch queries_per_s low high
# variables: groups, columns, rows; arrays heading[group], top[group], first[group], last[group] (series from 0), label[series + 1]
# columns: batch_size queries_per_s low high
set multiplot layout rows, columns
set grid linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set key bottom right noenhanced
set xlabel "batch size"
set ylabel "examples/s"
set xrange [0:*]
array shade[4] = [hue[1], hue[2], hue[3], hue[4]]
do for [g = 1:groups] {
    set title heading[g] noenhanced
    set yrange [0:top[g]]
    plot for [k = first[g]:last[g]] data index 2*k+1 using 1:3:4 with filledcurves fillcolor rgb shade[(k-first[g])%4+1] fillstyle transparent solid 0.18 noborder notitle, \
         for [k = first[g]:last[g]] data index 2*k+1 using 1:2 with lines linewidth 2 linecolor rgb shade[(k-first[g])%4+1] title label[k+1], \
         for [k = first[g]:last[g]] data index 2*k using 1:2 with points pointtype 7 pointsize 0.7 linecolor rgb shade[(k-first[g])%4+1] notitle
}
unset multiplot
