# The front: latency against on-chip memory, coloured by rank.
# data: index 0: on_chip_MiB latency_ms rank      every design of the front
#       index 1: on_chip_MiB latency_ms           what no design beats in these two alone, as steps
#       index 2: on_chip_MiB latency_ms rank      the fastest design at each rank
#       index 3: on_chip_MiB latency_ms           the recommended design (knee)
# variables: heading, budget_MiB, budget_label, rank_label, rank_most
set title heading noenhanced
set logscale xy
set xlabel "on-chip memory (BRAM and URAM blocks taken), MiB"
set ylabel "latency of a training step, ms"
set cblabel rank_label noenhanced
set palette defined (0 "#440154", 0.25 "#3b528b", 0.5 "#21918c", 0.75 "#5ec962", 1 "#fde725")
set cbrange [0:rank_most]
set grid xtics ytics mxtics mytics linecolor rgb "#dddddd", linecolor rgb "#eeeeee"
set key outside above center horizontal maxrows 1 samplen 1.5 width -2
set xtics (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 50, 100, 200, 500)
stats data index 0 using 1:2 nooutput
set xrange [STATS_min_x / 1.3 : (budget_MiB > STATS_max_x ? budget_MiB : STATS_max_x) * 1.6]
set yrange [STATS_min_y / 1.3 : STATS_max_y * 1.5]
set arrow 1 from first budget_MiB, graph 0 to first budget_MiB, graph 1 nohead dashtype 2 linewidth 2 linecolor rgb "#c0392b"
set label 1 budget_label at first budget_MiB, graph 0.97 right offset -1, 0 textcolor rgb "#c0392b" noenhanced
plot data index 0 using 1:2:3 with points pointtype 7 pointsize 0.35 palette title "designs of the front", \
     data index 1 using 1:2 with fsteps linecolor rgb "#555555" linewidth 1 title "least latency at this memory", \
     data index 2 using 1:2:3 with points pointtype 65 pointsize 1.1 linewidth 1.5 palette title "fastest at each rank", \
     data index 3 using 1:2 with points pointtype 3 pointsize 2.6 linewidth 3 linecolor rgb "#e84393" title "recommended (knee)"
