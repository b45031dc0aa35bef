# Time of a step by layer and phase: busy time of the kernels for each layer; repeated layers are added up.
# data: layer, ms of phase 0..3, total, label
# variables: heading, rows, most, phase_0 .. phase_3
# columns: layer forward_ms input_gradient_ms weight_gradient_ms update_ms total_ms label
set title heading noenhanced
set xlabel "time that kernels are busy for the layer" . x_unit
set style fill solid 0.9 noborder
set yrange [rows - 0.4 : -0.6]
set xrange [0 : most * 1.18]
set ytics noenhanced nomirror scale 0
set grid xtics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set key bottom right samplen 1.5 noenhanced
array colour[4] = [part[1], part[2], part[3], part[4]]
set border 1
set xtics nomirror
plot data using (0.5 * $2):0:(0.5 * $2):(0.36):yticlabels(1) with boxxyerror linecolor rgb colour[1] title phase_0, \
     data using ($2 + 0.5 * $3):0:(0.5 * $3):(0.36) with boxxyerror linecolor rgb colour[2] title phase_1, \
     data using ($2 + $3 + 0.5 * $4):0:(0.5 * $4):(0.36) with boxxyerror linecolor rgb colour[3] title phase_2, \
     data using ($2 + $3 + $4 + 0.5 * $5):0:(0.5 * $5):(0.36) with boxxyerror linecolor rgb colour[4] title phase_3, \
     data using 6:0:7 with labels left offset 0.6, 0 noenhanced font ",9" notitle
