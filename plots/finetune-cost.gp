# What a fine-tuning costs, by GPU, cheapest first: a bar with the interval of its throughput.
# data: place usd low high "GPU"
# variables: heading, gpus
# columns: place usd low_usd high_usd gpu
set title heading noenhanced
set style fill solid 0.6
set boxwidth 0.6
set grid ytics linecolor rgb "#dddddd"
set xrange [0.3:gpus + 0.7]
set yrange [0:*]
set ylabel "US dollars"
set xtics noenhanced rotate by -20
unset key
plot data using 1:2:(0.6):xticlabels(5) with boxes linecolor rgb "#3b75af", \
     data using 1:2:3:4 with yerrorbars linewidth 1.5 linecolor rgb "#222222" pointtype 7 pointsize 0
