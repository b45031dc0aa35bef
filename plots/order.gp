# The best tree of a network, and MACs against peak live elements. Blocks of the data: 0 the tree's lines, 1 its
# tensors (x, y, name), 2 its merges (x, y, share of the costliest merge, label), 3 the front, 4 the named
# flows (MACs, peak live elements, name). Defined above: network, tensors, depth, longest (name of a tensor, in
# characters), points of the front, flows, their names.
# columns: x y detail label
set multiplot title network font ',13' noenhanced
set lmargin at screen 0.02 + 6.8*longest/size_x
set rmargin at screen 0.62
set bmargin at screen 0.06
set tmargin at screen 0.88
set style textbox opaque noborder margins 0.4,0.2
unset border
unset tics
unset key
set title 'cheapest tree: merges in order, MACs, elements of the result (disc area: MACs)' font ',11'
set xrange [0:depth + 1.2]
set yrange [-tensors + 0.4:0.9]
plot data index 0 using 1:2 with lines linewidth 1.5 linecolor rgb '#888888', \
     data index 1 using 1:2:3 with labels right offset -1,0 noenhanced font ',10', \
     data index 2 using 1:2:(0.7 + 2.8*sqrt($3)) with points pointtype 7 pointsize variable \
         linecolor rgb hue[1], \
     data index 2 using 1:2:4 with labels left offset 0.6,0.9 boxed noenhanced font ',9'

set lmargin at screen 0.72
set rmargin at screen 0.97
set bmargin at screen 0.24
set border 3
set title 'work against memory' font ',11'
set xtics nomirror rotate by 40 right
set ytics nomirror
set xlabel 'multiply-adds'
set ylabel 'most numbers kept at once'
set key below maxcols 2
set grid
set autoscale
unset logscale
stats data index 4 using 1:2 nooutput
left = STATS_min_x / 1.8
right = STATS_max_x * 1.8
low = STATS_min_y / 1.8
high = STATS_max_y * 1.8
if (points > 0) {
    stats data index 3 using 1:2 nooutput
    left = STATS_min_x / 1.8 < left ? STATS_min_x / 1.8 : left
    right = STATS_max_x * 1.8 > right ? STATS_max_x * 1.8 : right
    low = STATS_min_y / 1.8 < low ? STATS_min_y / 1.8 : low
    high = STATS_max_y * 1.8 > high ? STATS_max_y * 1.8 : high
}
set logscale xy
set xrange [left:right]
set yrange [low:high]
if (narrow(left, right)) { unset logscale x }
eval("set xtics " . log_marks(left, right))
if (narrow(low, high)) { unset logscale y }
eval("set ytics " . log_marks(low, high))
plot for [i=1:(points > 0)] data index 3 using 1:2 with steps linewidth 1.5 linecolor rgb hue[5] notitle, \
     for [i=1:(points > 0)] data index 3 using 1:2 with points pointtype 7 pointsize 1.4 linecolor rgb hue[5] title 'front', \
     for [i=1:flows] data index 4 every ::i-1::i-1 using 1:2 with points pointtype 2*i+2 pointsize 1.8 \
         linewidth 1.5 linecolor rgb hue[int(word('7 1 3 2', i))] title word(names, i)
unset multiplot
