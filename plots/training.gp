# A training by its steps: losses, and what it answers rightly on dev and test after each epoch; of a text perplexities.
# data: index 0: means of the training loss
#       index 1: dev after each epoch
#       index 2: test after each epoch
# variables: heading, is_text, has_classes, has_labels
# columns: step loss first second
set xlabel "steps"
set ylabel "loss"
set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set border 3
set xtics nomirror
set ytics nomirror
set xrange [0:*]
set key inside top right samplen 2
set multiplot title heading noenhanced layout 1, 2 margins 0.08, 0.985, 0.13, 0.9 spacing 0.09, 0.05
stats data index 0:2 using ($2 > 0 ? log10($2) : NaN) name "L" nooutput
low = (exists("L_min") ? 10 ** L_min : 0.1) / 1.2
high = (exists("L_max") ? 10 ** L_max : 10) * 1.2
set yrange [low : high]
if (!narrow(low, high)) { set logscale y; eval("set ytics " . log_marks(low, high)) }
plot data index 0 using 1:2 with lines linewidth 1.2 linecolor rgb hue[6] title "training", \
     data index 1 using 1:2 with linespoints pointtype 7 pointsize 0.8 linewidth 1.4 linecolor rgb hue[1] title "dev", \
     data index 2 using 1:2 with linespoints pointtype 65 pointsize 0.9 linewidth 1.4 linecolor rgb hue[5] title "test"
unset logscale y
set yrange [*:*]
set ytics autofreq nomirror
if (is_text) {
    set ylabel "perplexity of the next byte"
    plot data index 1 using 1:3 with linespoints pointtype 7 pointsize 0.8 linewidth 1.4 linecolor rgb hue[1] title "dev", \
         data index 2 using 1:3 with linespoints pointtype 65 pointsize 0.9 linewidth 1.4 linecolor rgb hue[5] title "test"
} else {
    set ylabel "right, %"
    set key inside center right opaque
    plot data index 1 using 1:(has_classes ? $3 : NaN) with linespoints pointtype 7 pointsize 0.8 linewidth 1.4 linecolor rgb hue[1] \
             title (has_classes ? "classes, dev" : ""), \
         data index 1 using 1:(has_labels ? $4 : NaN) with linespoints pointtype 5 pointsize 0.8 linewidth 1.4 linecolor rgb hue[3] \
             title (has_labels ? "labels, dev" : ""), \
         data index 2 using 1:(has_classes ? $3 : NaN) with linespoints pointtype 65 dashtype 2 pointsize 0.9 linewidth 1.4 linecolor rgb hue[1] \
             title (has_classes ? "classes, test" : ""), \
         data index 2 using 1:(has_labels ? $4 : NaN) with linespoints pointtype 64 dashtype 2 pointsize 0.9 linewidth 1.4 linecolor rgb hue[3] \
             title (has_labels ? "labels, test" : "")
}
unset multiplot
