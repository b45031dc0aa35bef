# What a fine-tuning costs, by GPU, published and given prices first: a bar with the interval of its throughput; estimated
# ones lighter than measured ones. Colours of Okabe and Ito.
# data: place usd low high predicted "GPU"
# variables: heading, gpus
# columns: place usd low_usd high_usd predicted gpu
set title heading noenhanced
set style fill solid 0.9 noborder
set boxwidth 0.6
set grid ytics linecolor rgb "#dddddd"
set xrange [0.3:gpus + 0.7]
set yrange [0:*]
set ylabel "US dollars"
set xtics noenhanced rotate by -30 nomirror scale 0
set key top left Left reverse samplen 1.5 noenhanced
plot data using 1:($5 == 0 ? $2 : NaN):(0.6):xticlabels(6) with boxes linecolor rgb "#0072b2" title "measured", \
     data using 1:($5 == 1 ? $2 : NaN):(0.6):xticlabels(6) with boxes linecolor rgb "#56b4e9" title "estimated", \
     data using 1:2:3:4 with yerrorbars linewidth 1.5 linecolor rgb "#222222" pointtype 7 pointsize 0 notitle
