# Time of a fine-tuning step by kernel and stage. Colours of Okabe and Ito, told apart by the colour-blind.
# data: kernel, ms of stage 0..3, total, label
# variables: heading, rows, most, stage_0 .. stage_3
# columns: kernel forward_ms forward_again_ms backward_ms optimizer_ms total_ms label
set title heading noenhanced
set xlabel "time of a step, ms"
set style fill solid 0.9 noborder
set yrange [rows - 0.4 : -0.6]
set xrange [0 : most * 1.3]
set ytics noenhanced nomirror scale 0
set grid xtics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set key bottom right samplen 1.5 noenhanced
array colour[4] = [part[1], part[3], part[2], part[4]]
plot data using (0.5 * $2):0:(0.5 * $2):(0.36):yticlabels(1) with boxxyerror linecolor rgb colour[1] title stage_0, \
     data using ($2 + 0.5 * $3):0:(0.5 * $3):(0.36) with boxxyerror linecolor rgb colour[2] title stage_1, \
     data using ($2 + $3 + 0.5 * $4):0:(0.5 * $4):(0.36) with boxxyerror linecolor rgb colour[3] title stage_2, \
     data using ($2 + $3 + $4 + 0.5 * $5):0:(0.5 * $5):(0.36) with boxxyerror linecolor rgb colour[4] title stage_3, \
     data using 6:0:7 with labels left offset 0.6, 0 noenhanced font ",9" notitle
