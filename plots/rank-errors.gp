# Relative error against parameters: a line for each layer and folding (dashed: not the model's own folding).
# data: index 0: parameters error layer, of the choice; index 1: of candidates by tolerance;
#       index 2 on: parameters error layer folding, one block a line
# variables: lines, layers, layer_0 .. (names)
# columns: parameters error layer folding
set title "truncation error of trained weights (solid: the model's own folding, dotted: others)" noenhanced
# Errors of rounding alone would squash all others: they stand on the lower edge.
rounding = 1e-7
stats data index 1:lines + 1 using ($2 > rounding ? log10($2) : NaN) name "E" nooutput
stats data index 1:lines + 1 using ($1 > 0 ? log10($1) : NaN) name "P" nooutput
exact = 0
stats data index 1:lines + 1 using (exact = exact + ($2 <= rounding), $2) nooutput
low = (exists("E_min") ? 10 ** E_min : 0.1) / 1.6
high = (exists("E_max") ? 10 ** E_max : 1) * 1.3
left = (exists("P_min") ? 10 ** P_min : 1) / 1.3
right = (exists("P_max") ? 10 ** P_max : 10) * 1.3
shown(error) = error > rounding ? error : low
set logscale xy
set yrange [low : high]
set xrange [left : right]
if (narrow(left, right)) { unset logscale x }
eval("set xtics " . log_marks(left, right))
if (narrow(low, high)) { unset logscale y }
eval("set ytics " . log_marks(low, high))
set xlabel "parameters of the layer's cores"
set ylabel "relative error"
set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set key outside right top noenhanced samplen 1 width -1
layer_hue(i) = step_of(int(i) % int(layers) + 1, int(layers))
plot for [k = 2:lines + 1] data index k using 1:($4 == 0 ? shown($2) : NaN):(layer_hue($3)) with lines linecolor rgb variable notitle, \
     for [k = 2:lines + 1] data index k using 1:($4 > 0 ? shown($2) : NaN):(layer_hue($3)) with lines dashtype 3 linecolor rgb variable notitle, \
     data index 1 using 1:(shown($2)):(layer_hue($3)) with points pointtype 1 pointsize 0.6 linecolor rgb variable notitle, \
     for [l = 0:layers - 1] NaN with lines linewidth 2 linecolor rgb layer_hue(l) title value(sprintf("layer_%d", l)), \
     data index 0 using 1:(shown($2)) with points pointtype 6 pointsize 1.3 linewidth 2 linecolor rgb "#222222" title "chosen", \
     NaN with points pointtype 1 linecolor rgb "#555555" title "candidates by tolerance", \
     NaN with lines linewidth 0 linecolor rgb "#ffffff" title (exact > 0 ? "on the lower edge: no error" : "")
