# Shares of the device's resources that the design takes.
# data: resource, share in percent, "used of available", cap in percent
# variables: heading, budget_label
# columns: resource share_percent label cap_percent
set title heading noenhanced
set xlabel "share of the device, %; strokes: what the space allows"
set style fill solid 0.85 noborder
set boxwidth 0.6
set yrange [rows - 0.4 : -0.6]
set xrange [0 : (most > 100 ? most : 100) * (most > 85 ? 1.35 : 1.12)]
set style textbox opaque noborder margins 0.4, 0.2
set ytics noenhanced nomirror scale 0
set xtics nomirror
set border 1
set grid xtics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set key off
set arrow 1 from first 100, graph 0 to first 100, graph 1 nohead dashtype 2 linewidth 2 linecolor rgb hue[7]
set label 1 budget_label at first 100, graph 0.97 right offset -0.5, 0 textcolor rgb hue[7] noenhanced
plot data using (0.5 * $2):0:(0.5 * $2):(0.3):($2 > 100 ? hue_of[5] : hue_of[1]):yticlabels(1) with boxxyerror linecolor rgb variable, \
     data using 4:($0 - 0.38):(0):(0.76) with vectors nohead linewidth 2.5 linecolor rgb hue[5], \
     data using ($2 > 85 && $2 <= 100 ? 100 : $2):0:3 with labels left offset 0.9, 0 boxed noenhanced
