# Relative error against parameters: a line for each layer and folding (dashed: not the model's own folding).
# data: index 0: parameters error layer, of the choice; index 1: of candidates by tolerance;
#       index 2 on: parameters error layer folding, one block a line
# variables: lines, layers, layer_0 .. (names)
# columns: parameters error layer folding
set title "truncation error of trained weights" noenhanced
set logscale xy
set xlabel "parameters of the layer's cores"
set ylabel "relative error"
set grid xtics ytics linecolor rgb "#dddddd"
set key outside right top noenhanced
stats data using ($1 > 0 ? $1 : NaN):($2 > 0 ? $2 : NaN) nooutput
if (narrow(STATS_min_x, STATS_max_x)) { unset logscale x }
eval("set xtics " . log_marks(STATS_min_x, STATS_max_x))
if (narrow(STATS_min_y, STATS_max_y)) { unset logscale y }
eval("set ytics " . log_marks(STATS_min_y, STATS_max_y))
hue(i) = hsv2rgb((int(i) % int(layers)) / (layers + 0.0), 0.85, 0.75)
plot for [k = 2:lines + 1] data index k using 1:($4 == 0 ? $2 : NaN):(hue($3)) with lines linecolor rgb variable notitle, \
     for [k = 2:lines + 1] data index k using 1:($4 > 0 ? $2 : NaN):(hue($3)) with lines dashtype 3 linecolor rgb variable notitle, \
     data index 1 using 1:2:(hue($3)) with points pointtype 1 pointsize 0.6 linecolor rgb variable notitle, \
     for [l = 0:layers - 1] NaN with lines linewidth 2 linecolor rgb hue(l) title value(sprintf("layer_%d", l)), \
     data index 0 using 1:2 with points pointtype 6 pointsize 1.3 linewidth 2 linecolor rgb "#222222" title "chosen"
