# Designs as points: two of their columns, a third as colour, or series told apart by colour and form, and the line of
# what they attain.
# columns: x y colour hollow
# data: one index per series, behind them the line and the marked design
# variables: joined (1: a line through the points of each series), heading, x_unit, y_unit, colour_unit, series, title_of[series], series_title, ordered (1: steps of one quantity), attained (1: draw the line),
#            marked_name ("": none), point_size, coloured (1: by the third column), and for x, y and colour: _label, _log,
#            _least, _most, _end_1, _end_2 (names of lines at _at_1, _at_2; "": none); the marks of the axes are set
x_unit = exists("x_unit") ? x_unit : ""
y_unit = exists("y_unit") ? y_unit : ""
if (heading ne "") set title heading noenhanced
if (x_log) set logscale x
if (y_log) set logscale y
set xlabel x_label . x_unit noenhanced
set ylabel y_label . y_unit noenhanced
set xrange [x_least : x_most]
set yrange [y_least : y_most]
set xtics nomirror
set ytics nomirror
set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
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
array form[5] = [7, 5, 9, 13, 11] # filled; the open form is one less
set key tmargin center horizontal Left reverse noenhanced samplen 1 spacing 1.1
if (coloured) {
    if (colour_log) { set logscale cb }
    set cblabel colour_label . colour_unit noenhanced offset 1.5, 0
    set cbrange [colour_least : colour_most]
    plot data index series using 1:2 with lines linewidth 1 linecolor rgb "#555555" title attained ? "best of the two axes" : "", \
         data index 0 using 1:2:3 with points pointtype 7 pointsize point_size palette notitle, \
         data index series + 1 using 1:2 with points pointtype 3 pointsize 2.2 linewidth 2.5 linecolor rgb hue[5] title marked_name
} else {
    if (series_title ne "") { set key title series_title noenhanced } else { set key title "" }
    if (series < 2 && !attained && marked_name eq "") { unset key }
    colour_of(i) = ordered ? step_of(i, series) : hue_of[(i - 1) % 7 + 1]
    plot data index series using 1:2 with lines linewidth 1 linecolor rgb "#555555" title attained ? "best of the two axes" : "", \
         for [i = 1 : series] data index i - 1 using 1:(joined ? $2 : NaN) with lines linewidth 1.5 linecolor rgb colour_of(i) notitle, \
         for [i = 1 : series] data index i - 1 using 1:($4 > 0 ? $2 : NaN) with points pointtype form[(i - 1) % 5 + 1] - 1 \
             pointsize point_size linecolor rgb colour_of(i) notitle, \
         for [i = 1 : series] data index i - 1 using 1:($4 > 0 ? NaN : $2) with points pointtype form[(i - 1) % 5 + 1] \
             pointsize point_size linecolor rgb colour_of(i) title series > 1 ? title_of[i] : "", \
         data index series + 1 using 1:2 with points pointtype 3 pointsize 2.2 linewidth 2.5 linecolor rgb hue[5] title marked_name
}
