# Draws docs/figures/time-to-accuracy.png from docs/figures/accuracy-by-step.csv and the prices of steps in the table "time to
# accuracy" of docs/techniques.md: gnuplot docs/figures/time-to-accuracy.gp
# A line for each seed: F1 of slots on dev over the predicted time, and energy, up to each step at which it was scored.
set terminal pngcairo size 1200,520 font "sans,12"
set output "docs/figures/time-to-accuracy.png"
set datafile separator ","
formats = "fp32 bfp4 fast-2-to-4 fp32-first"
array title[4] = ["fp32", "bfp16,8,4", "FAST: bfp16,8,2, then bfp16,8,4", "fp32, then bfp16,8,4"]
array colour[4] = ["#000000", "#0072B2", "#D55E00", "#009E73"]
array mark[4] = [7, 5, 65, 64]
array share[4] = [0, 0, 0.5, 0.25]  # of the run before the change
array price[16]                     # a step: ms before, mJ before, ms behind, mJ behind
do for [f = 1:4] {
    line = system(sprintf("awk -F'|' '/<!-- time to accuracy/,/<!-- end/' docs/techniques.md | grep '| %s |' | awk -F'|' '{print $4, $5, $6, $7}'", word(formats, f)))
    do for [k = 1:4] { price[4 * f - 4 + k] = real(word(line, k)) }
}
rows(format, seed) = sprintf("< grep '^%s,%d,' docs/figures/accuracy-by-step.csv", format, seed)
early(step, f) = step < share[f] * 8956 ? step : share[f] * 8956
taken(step, f, what) = 1e-3 * (early(step, f) * price[4 * f - 3 + what] + (step - early(step, f)) * price[4 * f - 1 + what])
set grid linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set border 3
set xtics nomirror
set ytics nomirror
set xrange [0:*]
set yrange [0:0.85]
set key bottom right samplen 2
set ylabel "F1 of slots, dev"
set multiplot layout 1,2
do for [panel = 0:1] {
    set xlabel panel ? "energy on the device, J" : "time on the device, s"
    plot for [s = 1:3] for [f = 1:4] rows(word(formats, f), s) using (taken($3, f, panel)):4 with linespoints \
         pointtype mark[f] pointsize 0.6 linewidth 1.4 linecolor rgb colour[f] title (s == 1 ? title[f] : "")
}
unset multiplot
