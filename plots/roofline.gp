# The roofline of a device and the products of a step on it: column 1 flops a byte, 2 GFLOPS, 3 share of the
# step's time in percent. Defined above: device, model, precision, peak_GFLOPS, bandwidth_GBps, and what whole
# waves of tiles reach of the peak and cached operands of the bandwidth (reached_GFLOPS, cached_GBps).
# columns: flops_per_byte GFLOPS share_percent
set title sprintf("%s on %s, %s", model, device, precision)
set logscale xy
set format x "%.0s %c"
set format y "%.0s %c"
set xlabel "arithmetic intensity, operations a byte"
set ylabel "rate, GFLOP/s"
set key bottom right
set grid
ridge = peak_GFLOPS/bandwidth_GBps
set xrange [0.1:20*ridge]
set yrange [*:3*peak_GFLOPS]
roof(x, peak, bandwidth) = x*bandwidth < peak ? x*bandwidth : peak
size_of(share) = 0.6 + 2.4*sqrt(share/100)
plot roof(x, peak_GFLOPS, bandwidth_GBps) with lines linewidth 2 linecolor rgb "#444444" \
         title "peak and memory", \
     roof(x, reached_GFLOPS, cached_GBps) with lines linewidth 1 dashtype 2 linecolor rgb "#888888" \
         title "reached, operands in cache", \
     data using 1:2:(size_of($3)) with points pointtype 7 pointsize variable linecolor rgb hue[1] \
         title "products of the step (area: share of its time)"
