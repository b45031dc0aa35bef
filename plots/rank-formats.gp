# Relative error against parameters of all layers together at one cap of ranks, a line for each format.
# data: index 1 on: parameters error, one block a format
# variables: lines, format_1 .., layers
# columns: parameters error
set title sprintf("what each format keeps of the trained weights (%d layers together, one cap of ranks)", layers) noenhanced
rounding = 1e-7
stats data using ($2 > rounding ? log10($2) : NaN) name "E" nooutput
stats data using ($1 > 0 ? log10($1) : NaN) name "P" nooutput
exact = 0
stats data using (exact = exact + ($2 <= rounding), $2) nooutput
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
set xlabel "parameters"
set ylabel "relative error"
set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set key inside bottom left noenhanced
array form[5] = [7, 5, 9, 13, 11]
plot for [k = 1:lines] data index k using 1:(shown($2)) with linespoints pointtype form[(k - 1) % 5 + 1] linewidth 1.5 \
         linecolor rgb hue[(k - 1) % 7 + 1] \
         title value(sprintf("format_%d", k)), \
     NaN with lines linewidth 0 linecolor rgb "#ffffff" title (exact ? "on the lower edge: no error" : "")
