# Predicted against executed time of every flow that was run on this CPU.
# data: predicted_ms executed_ms precision(0: float64, 1: float32)
# variables: heading, time_unit, time_ms
# columns: predicted_ms executed_ms single_precision
set title heading noenhanced
set logscale xy
per = 1 / time_ms
set xlabel "time that the roofline foretells, " . time_unit
set ylabel "time that it took, " . time_unit
set grid linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set key bottom right Left reverse
stats data using 1:2 nooutput
low = (STATS_min_x < STATS_min_y ? STATS_min_x : STATS_min_y) / 2
high = (STATS_max_x > STATS_max_y ? STATS_max_x : STATS_max_y) * 2
set xrange [low : high]
eval("set xtics " . log_marks(low, high))
eval("set ytics " . log_marks(low, high))
set yrange [low : high]
set size ratio 1
plot x with lines linecolor rgb "#555555" title "as foretold", \
     2 * x with lines dashtype 3 linecolor rgb "#999999" title "a factor of two apart", \
     0.5 * x with lines dashtype 3 linecolor rgb "#999999" notitle, \
     data using ($3 == 0 ? $1 : NaN):2 with points pointtype 7 pointsize 0.8 linecolor rgb hue[1] title "float64", \
     data using ($3 == 1 ? $1 : NaN):2 with points pointtype 5 pointsize 0.8 linecolor rgb hue[2] title "float32"
