# From the device's floor to a step: what each part adds, products, the vector unit, the rest.
# data: part, ms where it begins, ms where it ends, 0 floor 1 products 2 vector unit 3 the rest, label
# variables: heading, rows, most
# columns: part begin_ms end_ms kind label
set title heading noenhanced
set xlabel "time of a training step" . x_unit
set style fill solid 0.85 noborder
set yrange [rows - 0.4 : -0.6]
set xrange [0 : most * 1.25]
set ytics noenhanced nomirror scale 0
set grid xtics linetype 1 linecolor rgb "#e4e4e4"
unset key
set border 1
set xtics nomirror
plot data using (0.5 * ($2 + $3)):0:(0.5 * abs($3 - $2)):(0.36):($4 == 0 ? 0x444444 : $4 == 1 ? hue_of[1] : $4 == 2 ? hue_of[6] : hue_of[2]):yticlabels(1) with boxxyerror linecolor rgb variable, \
     data using ($2 > $3 ? $2 : $3):0:5 with labels left offset 0.6, 0 noenhanced font ",9"
