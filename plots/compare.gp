# Time and energy of an epoch, a block for each model on a system; whiskers: what the unverified figures leave open.
# data: seconds, least, most, joules, least, most, dense (1) or tensor (0), batch, label
# variables: blocks, name_1 to name_BLOCKS
# columns: seconds seconds_least seconds_most joules joules_least joules_most dense batch label
if (!exists("size_x")) size_x = 1000
set title "An epoch on each system: filled as tensors, open dense" noenhanced
set logscale xy
set format x "%.0s %cs"
set format y "%.0s %cJ"
set xlabel "time of an epoch"
set ylabel "energy of an epoch"
set grid linetype 1 linecolor rgb "#e4e4e4"
set key outside right top noenhanced
name(i) = value(sprintf("name_%d", i))
plot for [i=1:blocks] data index i-1 using 1:4:2:3:5:6 with xyerrorbars pointtype 0 linewidth 0.5 \
         linecolor rgb hue[1 + (i-1)%6] notitle, \
     for [i=1:blocks] data index i-1 using ($7 == 0 ? $1 : NaN):4 with points pointtype 7 pointsize 1 \
         linecolor rgb hue[1 + (i-1)%6] title name(i), \
     for [i=1:blocks] data index i-1 using ($7 == 1 ? $1 : NaN):4 with points pointtype 6 pointsize 1 \
         linecolor rgb hue[1 + (i-1)%6] notitle, \
     for [i=1:blocks] data index i-1 using 1:4:9 with labels left offset 0.6, 0.4 font ",7" noenhanced notitle
