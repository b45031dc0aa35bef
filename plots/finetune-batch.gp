# The largest batch over a GPU's memory, with its interval, and what was measured. Colours of Okabe and Ito.
# data: a block a line: memory_GB batch low high; then the measured: memory_GB batch line
# variables: heading, lines, measured, label[]
# columns: memory_GB batch low high
set title heading noenhanced
set xlabel "memory of a GPU, GB"
set ylabel "largest batch, examples"
set logscale y
stats data index 0:lines - 1 using 4 name "B" nooutput
set yrange [0.8 : 1.4 * (B_max > 2 ? B_max : 2)]
eval("set ytics " . log_marks(0.8, 1.4 * (B_max > 2 ? B_max : 2)))
set grid linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set key top left Left reverse samplen 1.5 noenhanced
array colour[6] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"]
pick(n) = colour[int(n - 1) % 6 + 1]
shade(n) = int("0x" . pick(n)[2:7])
plot for [i = 1:lines] data index i - 1 using 1:($3 < 0.8 ? 0.8 : $3):($4 < 0.8 ? 0.8 : $4) with filledcurves fillstyle solid 0.15 noborder linecolor rgb pick(i) notitle, \
     for [i = 1:lines] data index i - 1 using 1:($2 < 1 ? NaN : $2) with lines linewidth 2 dashtype i linecolor rgb pick(i) title label[i], \
     for [i = 1:(measured ? lines : 0)] data index lines using 1:($3 == i ? $2 : NaN) with points pointtype 7 pointsize 1.2 linecolor rgb pick(i) notitle
