# Energy of a step by part, and what the unverified figures leave open.
# data: part, mJ, least, most, label
# variables: heading, rows, most
# columns: part joules_mJ least_mJ most_mJ label
set title heading noenhanced
set xlabel "energy of a training step" . x_unit . "; lines: range over the figures that nobody verified"
set style fill solid 0.85 noborder
set yrange [rows - 0.4 : -0.6]
set xrange [0 : most * 1.45]
set ytics noenhanced nomirror scale 0
set grid xtics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
unset key
set border 1
set xtics nomirror
plot data using (0.5 * $2):0:(0.5 * $2):(0.3):($0 == 0 ? hue_of[6] : $0 == rows - 1 ? 0x444444 : hue_of[1]):yticlabels(1) with boxxyerror linecolor rgb variable, \
     data using 2:0:3:4 with xerrorbars pointtype 7 pointsize 0 linewidth 2 linecolor rgb hue[5], \
     data using 4:0:5 with labels left offset 1, 0 noenhanced
