# The roofline of a device and the products of a step on it: column 1 flops a byte, 2 GFLOPS, 3 share of the
# step's time in percent. Defined above: device, model, precision, peak_GFLOPS, bandwidth_GBps, and what whole
# waves of tiles reach of the peak and cached operands of the bandwidth (reached_GFLOPS, cached_GBps).
# columns: flops_per_byte GFLOPS share_percent
set title sprintf("%s on %s, %s", model, device, precision)
set logscale xy
set xlabel "arithmetic intensity, operations a byte"
set ylabel "rate, GFLOP/s (billions of operations a second)"
set key bottom right
set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
ridge = peak_GFLOPS/bandwidth_GBps
set xrange [0.1:20*ridge]
stats data using (log10($2)) name "R" nooutput
low = 10 ** R_min / 3
set yrange [low : 3*peak_GFLOPS]
eval("set xtics " . log_marks(0.1, 20*ridge))
eval("set ytics " . log_marks(low, 3*peak_GFLOPS))
roof(x, peak, bandwidth) = x*bandwidth < peak ? x*bandwidth : peak
size_of(share) = 0.6 + 2.4*sqrt(share/100)
plot roof(x, peak_GFLOPS, bandwidth_GBps) with lines linewidth 2 linecolor rgb "#444444" \
         title "peak and memory", \
     roof(x, reached_GFLOPS, cached_GBps) with lines linewidth 1 dashtype 2 linecolor rgb "#888888" \
         title "reached, operands in cache", \
     data using 1:2:(size_of($3)) with points pointtype 7 pointsize variable linecolor rgb hue[1] \
         title "products of the step (area: share of its time)"
