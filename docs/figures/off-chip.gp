# Draws docs/figures/off-chip.png from the table of docs/off-chip.md: gnuplot docs/figures/off-chip.gp
# One arrow for each model and device, from the build on chip to the same off chip; an open ring where it does not fit.
set terminal pngcairo size 1200,520 font "sans,11"
set output "docs/figures/off-chip.png"
rows(device) = "< awk -F'|' '/<!-- same build/,/<!-- end/' docs/off-chip.md | grep '| ." . device . ". |' | awk -F'|' '$8+0 > 0 {fits = ($7 ~ /yes/); print $6, $4, $5, fits, $10+0, $8+0, $9+0}'"
set logscale xy
set xlabel "blocks on chip, MB"
set grid lc rgb "#dddddd"
set key bottom right
device = "pynq-z2 zcu104 u50 u280"
title = "PYNQ-Z2 ZCU104 U50 U280"
array colour[4] = ["#D55E00", "#E69F00", "#0072B2", "#009E73"]
set multiplot layout 1,2
do for [panel = 0:1] {
    set ylabel panel ? "mJ a step" : "ms a step"
    set title panel ? "energy: on chip (right end) and off chip (left end)" : "time: on chip (right end) and off chip (left end)"
    at = panel ? 3 : 2
    to = panel ? 7 : 6
    plot for [i = 1:4] rows(word(device, i)) using 1:at with points pt 6 ps 1.3 lc rgb colour[i] notitle, \
         for [i = 1:4] rows(word(device, i)) using ($4 > 0 ? $1 : NaN):at with points pt 7 ps 1.3 lc rgb colour[i] notitle, \
         for [i = 1:4] rows(word(device, i)) using 1:at:($5-$1):(column(to)-column(at)) \
             with vectors head filled size graph 0.015,20 lw 1.5 lc rgb colour[i] title word(title, i)
}
unset multiplot
