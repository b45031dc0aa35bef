# The front: latency against on-chip memory, DSP blocks, and what the model can learn, coloured by rank.
# data: index 0: designs of the front, thinned
#       index 1: the knee, and the best at each rank
#       index 2: the design, the recommended one where no other is asked for
#       index 3: designs that a publication describes, as they cost on this device, else the model as its file has it
#       index 4 to 6: the line of what the whole front attains, of each panel
# variables: heading, budgets (devices), of each I from 1: budget_MiB_I, budget_dsp_I, budget_name_I, rank_label, rank_most, rank_step, quality_label, quality_log, latency_unit, latency_per (what a mark says of one ms), shown_label, design_label, given_label,
#            quality_dense, quality_constant (what the dense model and a constant answer come to; 0: unknown),
#            published_MiB, published_dsp, published_quality, published_ms (0: not published), gpus (models on the GPU, 0: none),
#            gpu_label, and of each model I from 1: gpu_ms_I, gpu_least_ms_I, gpu_most_ms_I, gpu_kernels_ms_I, gpu_model_I
# columns: memory_MiB dsp quality latency_ms rank
set logscale y
set cbrange [0:rank_most]
unset colorbox
unset key
set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
stats data index 0 using 4 name 'L' nooutput
stats data index 0 using 1 name 'M' nooutput
stats data index 0 using 2 name 'D' nooutput
stats data index 0 using 3 name 'Q' nooutput
# A published design may lie beyond the front.
stats data index 3 using 1 name 'PM' nooutput
stats data index 3 using 2 name 'PD' nooutput
stats data index 3 using (valid(3) ? $3 : Q_min) name 'PQ' nooutput
stats data index 3 using 4 name 'PL' nooutput
lesser(a, b) = a < b ? a : b
greater(a, b) = a > b ? a : b
M_min = lesser(M_min, PM_min); M_max = greater(M_max, PM_max)
D_min = lesser(D_min, PD_min); D_max = greater(D_max, PD_max)
Q_min = lesser(Q_min, PQ_min); Q_max = greater(Q_max, PQ_max)
greatest(name, i) = i < 1 ? 0 : greater(value(sprintf("%s_%d", name, i)), greatest(name, i - 1))
low = lesser(L_min, PL_min) / 1.6
high = greater(L_max, PL_max) * 1.6
do for [i = 1 : gpus] {
    high = greater(high, value(sprintf("gpu_most_ms_%d", i)) * 1.3)
    low = lesser(low, value(sprintf("gpu_kernels_ms_%d", i)) / 1.3)
}
if (published_ms > 0) {
    high = greater(high, published_ms * 1.3)
    low = lesser(low, published_ms / 1.3)
}
set yrange [low : high]
set xtics nomirror rotate by 0
per = latency_per
eval("set ytics " . log_marks(low, high))
per = 1
set multiplot title heading noenhanced layout 1, 3 margins 0.075, 0.985, 0.28, 0.91 spacing 0.022, 0.05
# The band of each model's step on a GPU as launched, and its kernels alone, behind all panels.
do for [i = 1 : gpus] {
    ms = value(sprintf("gpu_ms_%d", i))
    kernels_ms = value(sprintf("gpu_kernels_ms_%d", i))
    set object i rectangle from graph 0, first value(sprintf("gpu_least_ms_%d", i)) to graph 1, first value(sprintf("gpu_most_ms_%d", i)) behind fillcolor rgb "#eeeeee" fillstyle solid noborder
    set arrow 100 + i from graph 0, first ms to graph 1, first ms nohead back linewidth 1.5 linecolor rgb hue[7]
    set arrow 200 + i from graph 0, first kernels_ms to graph 1, first kernels_ms nohead back dashtype 3 linewidth 1.5 linecolor rgb hue[7]
    set label 100 + i value(sprintf("gpu_model_%d", i)) at graph 0.015, first ms left offset 0, 0.5 textcolor rgb hue[7] noenhanced
    set label 200 + i value(sprintf("gpu_model_%d", i)) at graph 0.015, first kernels_ms left offset 0, 0.5 textcolor rgb hue[7] noenhanced
}
if (published_ms > 0) {
    set arrow 18 from graph 0, first published_ms to graph 1, first published_ms nohead back dashtype 4 linewidth 2 linecolor rgb hue[5]
}
set ylabel "latency of a step, " . latency_unit
set xlabel offset 0, 0.3
set logscale x
set xlabel "on-chip memory, MiB"
M_high = greater(greater(greatest("budget_MiB", budgets), M_max), published_MiB) * 1.15
set xrange [M_min / 1.2 : M_high]
if (narrow(M_min / 1.2, M_high)) { unset logscale x }
eval("set xtics " . log_marks(M_min / 1.2, M_high))
do for [i = 1 : budgets] {
    at = value(sprintf("budget_MiB_%d", i))
    set arrow 300 + i from first at, graph 0 to first at, graph 1 nohead dashtype 2 linewidth 1.5 linecolor rgb hue[1]
    set label 300 + i value(sprintf("budget_name_%d", i)) at first at, graph 0.97 - 0.05 * (i - 1) right offset -0.5, 0 textcolor rgb hue[1] noenhanced
}
if (published_MiB > 0) {
    set arrow 19 from first published_MiB, graph 0 to first published_MiB, graph 1 nohead back dashtype 4 linewidth 2 linecolor rgb hue[5]
    set label 19 "published, at most" at first published_MiB, graph 0.03 left rotate by 90 offset -1.7, 0 textcolor rgb hue[5]
}
plot data index 4 using 1:2 with lines linewidth 1 linecolor rgb "#666666", \
     data index 0 using 1:4:5 with points pointtype 7 pointsize 0.45 palette, \
     data index 1 using 1:4:5 with points pointtype 65 pointsize 1.1 linewidth 1.5 palette, \
     data index 3 using 1:4 with points pointtype 9 pointsize 1.8 linecolor rgb hue[5], \
     data index 2 using 1:4 with points pointtype 3 pointsize 2.4 linewidth 3 linecolor rgb hue[4]
unset ylabel
unset arrow 19
unset label 19
do for [i = 1 : gpus] { unset label 100 + i; unset label 200 + i }
unlabelled = 1
per = latency_per
eval("set ytics " . log_marks(low, high))
per = 1
unlabelled = 0
set xlabel "DSP blocks"
D_high = greater(greater(greatest("budget_dsp", budgets), D_max), published_dsp) * 1.15
if (published_dsp > 0) { set arrow 19 from first published_dsp, graph 0 to first published_dsp, graph 1 nohead back dashtype 4 linewidth 2 linecolor rgb hue[5] }
set xrange [D_min / 1.2 : D_high]
set logscale x
if (narrow(D_min / 1.2, D_high)) { unset logscale x }
eval("set xtics " . log_marks(D_min / 1.2, D_high))
do for [i = 1 : budgets] {
    at = value(sprintf("budget_dsp_%d", i))
    set arrow 300 + i from first at, graph 0 to first at, graph 1 nohead dashtype 2 linewidth 1.5 linecolor rgb hue[1]
    set label 300 + i value(sprintf("budget_name_%d", i)) at first at, graph 0.97 - 0.05 * (i - 1) right offset -0.5, 0 textcolor rgb hue[1] noenhanced
}
plot data index 5 using 1:2 with lines linewidth 1 linecolor rgb "#666666", \
     data index 0 using 2:4:5 with points pointtype 7 pointsize 0.45 palette, \
     data index 1 using 2:4:5 with points pointtype 65 pointsize 1.1 linewidth 1.5 palette, \
     data index 3 using 2:4 with points pointtype 9 pointsize 1.8 linecolor rgb hue[5], \
     data index 2 using 2:4 with points pointtype 3 pointsize 2.4 linewidth 3 linecolor rgb hue[4]
do for [i = 1 : budgets] { unset arrow 300 + i; unset label 300 + i }
unset arrow 19
if (published_quality > 0) { set arrow 19 from first published_quality, graph 0 to first published_quality, graph 1 nohead back dashtype 4 linewidth 2 linecolor rgb hue[5] }
set xlabel quality_label noenhanced
set xtics autofreq
if (published_quality > 0) { Q_min = lesser(Q_min, published_quality); Q_max = greater(Q_max, published_quality) }
# The ends of what can be learned: the dense model as a line, a constant answer, which lies far off, by its number.
if (quality_dense > 0) {
    Q_min = lesser(Q_min, quality_dense); Q_max = greater(Q_max, quality_dense)
    set arrow 20 from first quality_dense, graph 0 to first quality_dense, graph 1 nohead back dashtype 4 linewidth 1.5 linecolor rgb "#666666"
    set label 20 sprintf("dense: %.4g%s", quality_dense, quality_unit) at first quality_dense, graph 0.4 left rotate by 90 offset -0.8, 0 textcolor rgb "#666666"
}
if (quality_constant > 0) { set label 21 sprintf("a constant answer: %.4g%s", quality_constant, quality_unit) at graph 0.03, graph 0.96 left textcolor rgb "#666666" }
if (quality_log && !narrow(Q_min, Q_max)) {
    set logscale x
    set xrange [Q_min / 1.4 : Q_max * 1.4]
    eval("set xtics " . log_marks(Q_min / 1.4, Q_max * 1.4))
} else {
    unset logscale x
    set xrange [Q_min - 0.06 * (Q_max - Q_min) : Q_max + 0.06 * (Q_max - Q_min)]
    if (Q_min == Q_max) { set xrange [* : *] }
    if (quality_log && Q_max > 1000) { set format x "%.0s %c" }
}
# One key and the colour scale for all panels, below them.
set label 11 shown_label at screen 0.05, screen 0.105 point pointtype 7 pointsize 0.6 linecolor rgb "#21918c" offset 1, 0
set label 12 "best at each rank, and the knee" at screen 0.05, screen 0.04 point pointtype 65 pointsize 1.1 linewidth 1.5 linecolor rgb "#21918c" offset 1, 0
set label 13 given_label at screen 0.26, screen 0.105 point pointtype 9 pointsize 1.8 linecolor rgb hue[5] offset 1, 0 noenhanced
set label 14 design_label noenhanced at screen 0.26, screen 0.04 point pointtype 3 pointsize 2 linewidth 3 linecolor rgb hue[4] offset 1, 0
if (gpus > 0) {
    set arrow 15 from screen 0.48, screen 0.105 to screen 0.505, screen 0.105 nohead linewidth 1.5 linecolor rgb hue[7]
    set label 15 gpu_label at screen 0.513, screen 0.105 textcolor rgb hue[7] noenhanced
    set arrow 16 from screen 0.48, screen 0.04 to screen 0.505, screen 0.04 nohead dashtype 3 linewidth 1.5 linecolor rgb hue[7]
    set label 16 "the same, its kernels alone" at screen 0.513, screen 0.04 textcolor rgb hue[7]
}
set colorbox horizontal user origin screen 0.80, screen 0.055 size screen 0.16, screen 0.025
set label 17 rank_label at screen 0.88, screen 0.115 center noenhanced
set cbtics rank_step offset 0, 0.5
plot data index 6 using 1:2 with lines linewidth 1 linecolor rgb "#666666", \
     data index 0 using 3:4:5 with points pointtype 7 pointsize 0.45 palette, \
     data index 1 using 3:4:5 with points pointtype 65 pointsize 1.1 linewidth 1.5 palette, \
     data index 3 using 3:4 with points pointtype 9 pointsize 1.8 linecolor rgb hue[5], \
     data index 2 using 3:4 with points pointtype 3 pointsize 2.4 linewidth 3 linecolor rgb hue[4]
unset multiplot
