# What every layer takes of a cost, by way of choosing.
# data: layer, cost under the optimum, greedy, uniform rank (NaN: it does not fit)
# variables: cost_label, layers
# columns: layer optimum greedy uniform
set title "what each layer gets" noenhanced
set ylabel cost_label noenhanced
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.85 noborder
set boxwidth 0.9
set grid ytics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set xtics rotate by -40 noenhanced
set xrange [-0.8 : layers - 0.2]
set yrange [0 : *]
set format y "%.0s %c"
set key inside top right vertical
plot data using 2:xtic(1) linecolor rgb part[1] title "chosen", \
     data using 3 linecolor rgb part[2] title "greedy", \
     data using 4 linecolor rgb part[3] title "uniform rank"
