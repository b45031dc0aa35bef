# The memory map of a design: what its largest memories hold and take, and how they are laid out.
# data: name, capacity KiB, stored KiB, kind (0 block RAM, 1 UltraRAM, 2 LUTRAM), layout
# variables: heading, rows, most
# columns: name capacity_KiB stored_KiB kind layout
set title heading noenhanced
set xlabel "capacity of the blocks taken (light) and what is stored in them (dark)" . x_unit
set style fill solid 1 noborder
set yrange [rows - 0.4 : -0.6]
set xrange [0 : most * 1.7]
set ytics noenhanced nomirror scale 0
set grid xtics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set key bottom right samplen 1.5
number = "0 0 0"
of(k) = int(word(number, k + 1))
count(k) = (number = sprintf("%d %d %d", of(0) + (k == 0), of(1) + (k == 1), of(2) + (k == 2)), k)
stats data using (count(int($4))) nooutput
array light[3] = ["#a6cfe8", "#f5d99a", "#a3d9c8"]
set border 1
set xtics nomirror
array dark[3] = [hue[1], hue[2], hue[3]]
array kind[3] = ["block RAM", "UltraRAM", "LUTRAM"]
plot for [k = 0:2] data using (0.5 * $2):($4 == k ? $0 : NaN):(0.5 * $2):(0.36) with boxxyerror linecolor rgb light[k + 1] notitle, \
     for [k = 0:2] data using (0.5 * $3):($4 == k ? $0 : NaN):(0.5 * $3):(0.36) with boxxyerror linecolor rgb dark[k + 1] title (of(k) ? kind[k + 1] : ""), \
     data using (0):0:yticlabels(1) with points pointsize 0 notitle, \
     data using 2:0:5 with labels left offset 0.7, 0 noenhanced font ",8" notitle
