# Times faster of each technique, its publication's claim beside what scripts/what-pays finds:
#     gnuplot -e "data='OUT/what-pays.csv'; picture='OUT/what-pays.png'" docs/figures/what-pays.gp
set terminal pngcairo size 1100,760 font "sans,11"
set output picture
set datafile separator ";"
set logscale x
set xrange [0.2:12]
set xtics ("0.25" 0.25, "0.5" 0.5, "1" 1, "2" 2, "4" 4, "8" 8)
set xlabel "times better than the same model without the technique"
stats data every ::1 using 0 nooutput
rows = STATS_records
set yrange [rows - 0.4:-0.6]
set ytics out nomirror
set grid x linecolor "#dddddd"
set arrow from 1, graph 0 to 1, graph 1 nohead linecolor "#666666"
set key outside top center horizontal
set lmargin 40
name(group, technique) = technique . " (" . group . ")"
plot data every ::1 using 3:0:3:4:ytic(name(strcol(1), strcol(2))) with xerrorbars pointtype 5 pointsize 0 linewidth 6 linecolor "#bbbbbb" title "claimed", \
     data every ::1 using 5:0 with points pointtype 7 pointsize 1.4 linecolor "#0072b2" title "at equal area", \
     data every ::1 using 7:0 with points pointtype 4 pointsize 1.5 linewidth 2 linecolor "#d55e00" title "at equal energy", \
     data every ::1 using 8:0 with points pointtype 8 pointsize 1.6 linewidth 2 linecolor "#000000" title "at equal accuracy"
