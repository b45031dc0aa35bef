# MACs of one training step by flow, for every distinct weight of the recommended design.
# data: x of the bar, MACs, number of its flow (1..), label
# variables: heading, flows (number), flow_1 .. (names), groups (number), group_1 .. (names), place_1 .. (their x),
#            right (end of the x axis), least, most
# columns: x macs flow label
set title heading noenhanced
set logscale y
set ylabel "multiply-adds (MACs) of one training step"
set style fill solid 0.85 border rgb "#444444"
set boxwidth 0.85
set grid ytics mytics linecolor rgb "#dddddd", linecolor rgb "#eeeeee"
set key outside above center horizontal samplen 1.5 noenhanced
set yrange [10 ** floor(log10(least) - 0.3) : most * 3]
eval("set ytics " . log_marks(10 ** floor(log10(least) - 0.3), most * 3))
set xrange [-1 : right]
set xtics nomirror scale 0 noenhanced ("" 0)
do for [i = 1:groups] { set xtics add (value(sprintf("group_%d", i)) value(sprintf("place_%d", i))) }
array colour[5] = ["#7f8c8d", "#e67e22", "#2980b9", "#8e44ad", "#27ae60"]
plot for [i = 1:flows] data using ($3 == i ? $1 : NaN):2 with boxes linecolor rgb colour[i] title value(sprintf("flow_%d", i)), \
     data using 1:2:4 with labels offset 0, 0.6 notitle
