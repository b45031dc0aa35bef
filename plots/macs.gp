# MACs of one training step by flow, for every distinct weight of the recommended design.
# data: weight, then for each flow: MACs of forward, input gradient, weight gradient (0: flow not defined)
# variables: heading, flows (number), flow_1 .. flow_N (names), weights (number)
set title heading noenhanced
set logscale y
set ylabel "multiply-adds (MACs) of one training step"
set style data histograms
set style histogram clustered gap 1.5
set style fill solid 0.85 border rgb "#444444"
set boxwidth 0.9
set grid ytics mytics linecolor rgb "#dddddd", linecolor rgb "#eeeeee"
set key outside below center horizontal samplen 2 noenhanced
set xtics noenhanced nomirror
set format y "10^{%L}"
array colour[6] = ["#7f8c8d", "#e67e22", "#2980b9", "#8e44ad", "#27ae60", "#c0392b"]
array name[6] = [flow_1, flow_2, flow_3, flow_4, flow_5, ""]
stats data using 2 nooutput
set yrange [least / 3 : most * 4]
set offsets 0.2, 0.2, 0, 0
plot for [i = 1:flows] data using (column(i + 1) > 0 ? column(i + 1) : NaN):xticlabels(1) \
         linecolor rgb colour[i] title name[i], \
     for [i = 1:flows] data using ($0 - 0.5 + (i + 0.25) / (flows + 1.5)):(column(i + 1) > 0 ? column(i + 1) : NaN):(column(i + 1) > 0 ? sprintf("%.3g M", column(i + 1) / 1e6) : "") \
         with labels rotate by 90 left offset 0, 0.5 font ",8" notitle
