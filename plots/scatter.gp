# Designs as points: two of their columns, a third as colour, or series told apart by colour and form.
# columns: x y colour hollow
# data: one index per series
# variables: heading, series, title_of[series], point_size, coloured (1: by the third column), and for x, y and
#            colour: _label, _log, _least, _most, _end_1, _end_2 (names of lines at _at_1, _at_2; "": none); the marks of the axes are set
if (heading ne "") set title heading noenhanced
if (x_log) set logscale x
if (y_log) set logscale y
set xlabel x_label noenhanced
set ylabel y_label noenhanced
set xrange [x_least : x_most]
set yrange [y_least : y_most]
set xtics nomirror
set ytics nomirror
set grid xtics ytics linetype 1 linecolor rgb "#e4e4e4"
set border 3
# Ends of what can be learned.
do for [i = 1 : 2] {
    if (value(sprintf("x_end_%d", i)) ne "") {
        set arrow i from first value(sprintf("x_at_%d", i)), graph 0 to first value(sprintf("x_at_%d", i)), graph 1 nohead back dashtype 4 linecolor rgb "#666666"
        set label i value(sprintf("x_end_%d", i)) at first value(sprintf("x_at_%d", i)), graph 0.03 left rotate by 90 offset -0.8, 0 textcolor rgb "#666666" noenhanced
    }
    if (value(sprintf("y_end_%d", i)) ne "") {
        set arrow 2 + i from graph 0, first value(sprintf("y_at_%d", i)) to graph 1, first value(sprintf("y_at_%d", i)) nohead back dashtype 4 linecolor rgb "#666666"
        set label 2 + i value(sprintf("y_end_%d", i)) at graph 0.99, first value(sprintf("y_at_%d", i)) right offset 0, 0.5 textcolor rgb "#666666" noenhanced
    }
}
if (coloured) {
    if (colour_log) { set logscale cb }
    set palette defined (0 "#440154", 0.25 "#3b528b", 0.5 "#21918c", 0.75 "#5ec962", 1 "#fde725")
    set cblabel colour_label noenhanced offset 1.5, 0
    set cbrange [colour_least : colour_most]
    unset key
    plot data using 1:2:3 with points pointtype 7 pointsize point_size palette
} else {
    array shade[8] = ["#2c7fb8", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d", "#444444"]
    array form[5] = [7, 5, 9, 13, 11] # filled; the open form is one less
    if (series > 1) { set key outside bottom center horizontal noenhanced } else { unset key }
    plot for [i = 1 : series] data index i - 1 using 1:($4 > 0 ? $2 : NaN) with points pointtype form[(i - 1) % 5 + 1] - 1 \
             pointsize point_size linecolor rgb shade[(i - 1) % 8 + 1] notitle, \
         for [i = 1 : series] data index i - 1 using 1:($4 > 0 ? NaN : $2) with points pointtype form[(i - 1) % 5 + 1] \
             pointsize point_size linecolor rgb shade[(i - 1) % 8 + 1] title title_of[i]
}
