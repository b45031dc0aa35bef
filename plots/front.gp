# The front: latency against on-chip memory, DSP blocks, and what the model can learn, coloured by rank.
# data: index 0: designs of the front, thinned
#       index 1: the best at each rank
#       index 2: the recommended design (knee)
#       index 3: the model as its file has it, on the same device
# variables: heading, budget_MiB, budget_dsp, rank_label, rank_most, rank_step, quality_label, quality_log, shown_label, given_label,
#            gpu_label, gpu_ms, gpu_least_ms, gpu_most_ms, gpu_kernels_ms (0: no GPU)
# columns: memory_MiB dsp quality latency_ms rank
set logscale y
set palette defined (0 "#440154", 0.25 "#3b528b", 0.5 "#21918c", 0.75 "#5ec962", 1 "#fde725")
set cbrange [0:rank_most]
unset colorbox
unset key
set grid xtics ytics linetype 1 linecolor rgb "#e4e4e4"
stats data index 0 using 4 name 'L' nooutput
stats data index 0 using 1 name 'M' nooutput
stats data index 0 using 2 name 'D' nooutput
stats data index 0 using 3 name 'Q' nooutput
low = L_min / 1.6
high = L_max * 1.6
if (gpu_ms > 0 && gpu_most_ms * 1.3 > high) high = gpu_most_ms * 1.3
if (gpu_ms > 0 && gpu_kernels_ms / 1.3 < low) low = gpu_kernels_ms / 1.3
set yrange [low : high]
set xtics nomirror rotate by 0
eval("set ytics " . log_marks(low, high))
set multiplot title heading noenhanced layout 1, 3 margins 0.075, 0.985, 0.22, 0.90 spacing 0.022, 0.05
# The band of a GPU's step as launched, and its kernels alone, behind all panels.
if (gpu_ms > 0) {
    set object 1 rectangle from graph 0, first gpu_least_ms to graph 1, first gpu_most_ms behind fillcolor rgb "#f3e5f5" fillstyle solid noborder
    set arrow 1 from graph 0, first gpu_ms to graph 1, first gpu_ms nohead back linewidth 1.5 linecolor rgb "#8e44ad"
    set arrow 2 from graph 0, first gpu_kernels_ms to graph 1, first gpu_kernels_ms nohead back dashtype 3 linewidth 1.5 linecolor rgb "#8e44ad"
}
set ylabel "latency of a training step, ms"
set logscale x
set xlabel "on-chip memory (blocks taken), MiB"
M_high = (budget_MiB > M_max ? budget_MiB : M_max) * 1.15
set xrange [M_min / 1.2 : M_high]
if (narrow(M_min / 1.2, M_high)) { unset logscale x }
eval("set xtics " . log_marks(M_min / 1.2, M_high))
set arrow 3 from first budget_MiB, graph 0 to first budget_MiB, graph 1 nohead dashtype 2 linewidth 2 linecolor rgb "#c0392b"
set label 3 "budget" at first budget_MiB, graph 0.97 right offset -0.5, 0 textcolor rgb "#c0392b"
plot data index 0 using 1:4:5 with points pointtype 7 pointsize 0.45 palette, \
     data index 1 using 1:4:5 with points pointtype 65 pointsize 1.1 linewidth 1.5 palette, \
     data index 3 using 1:4 with points pointtype 9 pointsize 1.8 linecolor rgb "#d35400", \
     data index 2 using 1:4 with points pointtype 3 pointsize 2.4 linewidth 3 linecolor rgb "#e84393"
unset ylabel
unlabelled = 1
eval("set ytics " . log_marks(low, high))
unlabelled = 0
set xlabel "DSP blocks"
D_high = (budget_dsp > D_max ? budget_dsp : D_max) * 1.15
set xrange [D_min / 1.2 : D_high]
set logscale x
if (narrow(D_min / 1.2, D_high)) { unset logscale x }
eval("set xtics " . log_marks(D_min / 1.2, D_high))
set arrow 3 from first budget_dsp, graph 0 to first budget_dsp, graph 1
set label 3 at first budget_dsp, graph 0.97
plot data index 0 using 2:4:5 with points pointtype 7 pointsize 0.45 palette, \
     data index 1 using 2:4:5 with points pointtype 65 pointsize 1.1 linewidth 1.5 palette, \
     data index 3 using 2:4 with points pointtype 9 pointsize 1.8 linecolor rgb "#d35400", \
     data index 2 using 2:4 with points pointtype 3 pointsize 2.4 linewidth 3 linecolor rgb "#e84393"
unset arrow 3
unset label 3
set xlabel quality_label noenhanced
set xtics autofreq
if (quality_log) {
    set logscale x
    set xrange [Q_min / 1.4 : Q_max * 1.4]
    eval("set xtics " . log_marks(Q_min / 1.4, Q_max * 1.4))
    if (narrow(Q_min / 1.4, Q_max * 1.4)) { unset logscale x; set format x "%.0s%c" }
} else { unset logscale x; set xrange [* : *] }
# One key and the colour scale for all panels, below them.
set label 11 shown_label at screen 0.05, screen 0.085 point pointtype 7 pointsize 0.6 linecolor rgb "#21918c" offset 1, 0
set label 12 "best at each rank" at screen 0.05, screen 0.04 point pointtype 65 pointsize 1.1 linewidth 1.5 linecolor rgb "#21918c" offset 1, 0
set label 13 given_label at screen 0.27, screen 0.085 point pointtype 9 pointsize 1.8 linecolor rgb "#d35400" offset 1, 0 noenhanced
set label 14 "recommended (knee)" at screen 0.27, screen 0.04 point pointtype 3 pointsize 2 linewidth 3 linecolor rgb "#e84393" offset 1, 0
if (gpu_ms > 0) {
    set arrow 15 from screen 0.48, screen 0.085 to screen 0.505, screen 0.085 nohead linewidth 1.5 linecolor rgb "#8e44ad"
    set label 15 gpu_label . " and its range" at screen 0.513, screen 0.085 textcolor rgb "#8e44ad" noenhanced
    set arrow 16 from screen 0.48, screen 0.04 to screen 0.505, screen 0.04 nohead dashtype 3 linewidth 1.5 linecolor rgb "#8e44ad"
    set label 16 "the same, its kernels alone" at screen 0.513, screen 0.04 textcolor rgb "#8e44ad"
}
set colorbox horizontal user origin screen 0.80, screen 0.06 size screen 0.16, screen 0.025
set label 17 rank_label at screen 0.88, screen 0.105 center noenhanced
set cbtics rank_step offset 0, 0.5
plot data index 0 using 3:4:5 with points pointtype 7 pointsize 0.45 palette, \
     data index 1 using 3:4:5 with points pointtype 65 pointsize 1.1 linewidth 1.5 palette, \
     data index 3 using 3:4 with points pointtype 9 pointsize 1.8 linecolor rgb "#d35400", \
     data index 2 using 3:4 with points pointtype 3 pointsize 2.4 linewidth 3 linecolor rgb "#e84393"
unset multiplot
