# A claimed ratio of energies, GPU over FPGA, by the time that the GPU's step takes: from its kernels alone to the slowest host;
# a line for each power at rest of the FPGA.
# data: milliseconds, ratio
# variables: blocks, name_1 to name_BLOCKS, claimed, system
# columns: step_ms ratio
set title "Energy of tensor training on " . system . " over that on the FPGA" noenhanced
set logscale xy
set xlabel "step on the GPU, ms: kernels alone, fastest host, as launched, slowest host"
set ylabel "times less energy on the FPGA"
set grid linetype 1 linecolor rgb "#e4e4e4"
set key top left noenhanced
name(i) = value(sprintf("name_%d", i))
plot for [i=1:blocks] data index i-1 using 1:2 with linespoints pointtype 7 pointsize 0.7 linewidth 1.5 \
         linecolor rgb hue[1 + ((i-1)/3)%6] dashtype 1 + (i-1)%3 title name(i), \
     claimed with lines linewidth 2 linecolor rgb "#444444" title sprintf("published: up to %g", claimed)
