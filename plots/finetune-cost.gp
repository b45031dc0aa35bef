# What a fine-tuning costs, by GPU, published and given prices first: a bar with the interval of its throughput; estimated
# ones lighter than measured ones. Colours of Okabe and Ito.
# data: place usd low high predicted "GPU" "hours"
# variables: heading, gpus, measured and estimated (how many)
# columns: place usd low_usd high_usd predicted gpu hours
set title heading noenhanced
set style fill solid 0.9 noborder
set boxwidth 0.6
set grid ytics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set xrange [0.3:gpus + 0.7]
set yrange [0:*]
set ylabel "cost, US dollars (above the bars: its time)"
set xtics noenhanced rotate by -30 nomirror scale 0
set offsets 0, 0, graph 0.06, 0
set key top left Left reverse samplen 1.5 noenhanced
plot data using 1:($5 == 0 ? $2 : NaN):(0.6):xticlabels(6) with boxes linecolor rgb "#0072b2" title (measured > 0 ? "measured" : ""), \
     data using 1:($5 == 1 ? $2 : NaN):(0.6):xticlabels(6) with boxes linecolor rgb "#56b4e9" title (estimated > 0 ? "estimated" : ""), \
     data using 1:2:3:4 with yerrorbars linewidth 1.5 linecolor rgb "#222222" pointtype 7 pointsize 0 notitle, \
     data using 1:4:7 with labels center offset 0, 0.7 noenhanced notitle
