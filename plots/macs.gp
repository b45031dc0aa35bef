# MACs of one training step by flow, for every distinct weight of the design.
# data: row, MACs, 1: the flow of the design, the MACs as text, the flow's name
# variables: heading, groups (number), group_1 .. (names), place_1 .. (their rows), bottom (end of the y axis), most
# columns: row macs own label name
set title heading noenhanced
set xlabel "multiply-adds of one training step" . x_unit
set style fill solid 0.85 noborder
set grid xtics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set key off
set xrange [0 : most * 1.18]
set xtics nomirror
set yrange [bottom : -1.4]
set ytics nomirror scale 0 noenhanced
do for [i = 1:groups] {
    set label i value(sprintf("group_%d", i)) at graph 0, first value(sprintf("place_%d", i)) left offset 0.5, 0 noenhanced
}
set border 1
plot data using (0.5 * $2):1:(0.5 * $2):(0.36):($3 > 0 ? hue_of[5] : hue_of[1]):yticlabels(5) with boxxyerror linecolor rgb variable, \
     data using 2:1:4 with labels left offset 0.7, 0
