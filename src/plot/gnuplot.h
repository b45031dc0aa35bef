/* Drawing by gnuplot.
 *
 * A figure is three files side by side: NAME.png (or .svg, .pdf), NAME.gp, the script that drew it, and
 * NAME.dat, the numbers. The script is whole and stands on its own: `gnuplot NAME.gp` in its folder draws the
 * figure again after the user changed it. It is made of a head (terminal, output, definitions) and of a
 * template plots/TEMPLATE.gp, looked up in TENFOLD_PATH, the source tree and the installed data folder.
 *
 * A template begins with comments; "# columns: a b c" among them names the columns of the data, for CSV, which has a
 * first column `block` where the data has several (parted by two empty lines). It finds the variables `data` (name of the data file), `size_x` and `size_y` (900 x 600 unless the
 * caller defined them), and what the caller defined. The three files are written whole or not at all, the
 * figure last; gnuplot is started without a shell and hands the picture over through a pipe, so that a full
 * disk or a kill never leaves half a picture.
 */
#ifndef TN_PLOT_GNUPLOT_H
#define TN_PLOT_GNUPLOT_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/public.h"

#include <stdbool.h>
#include <stddef.h>

/* Marks of an axis: never one alone. A linear axis has 3 to 8 at multiples of 1, 2 or 5 times a power of ten; a
 * logarithmic one its powers of ten, their multiples by 2 and 5, by all digits, or those of a linear axis, the first
 * that gives at least three. */

enum { TN_TICKS_MOST = 24 };

typedef struct tn_ticks {
    double least, most; /* of the axis: the range of the values, a little wider */
    size_t count;
    double value[TN_TICKS_MOST];
} tn_ticks;

/* For values of `least` to `most`; `log` needs them positive. Equal ones get an axis around them. */
tn_ticks tn_ticks_of(double least, double most, bool log);

TN_PUBLIC_BEGIN

typedef enum tn_figure_format {
    TN_FIGURE_PNG,
    TN_FIGURE_SVG,
    TN_FIGURE_PDF,
    TN_FIGURE_CSV /* the numbers alone, under the names that the template gives its columns */
} tn_figure_format;
/* PAPER: as wide as a column of two (3.5 inch), or as both (7.16) where the figure is wide, in 9-point serif type. */
enum { TN_FIGURE_WIDE = 920 }; /* the least size_x of a figure that takes both columns on paper, pixels */
typedef enum tn_figure_style { TN_FIGURE_SCREEN, TN_FIGURE_PAPER } tn_figure_style;
tn_status tn_figure_style_find(const char *name, tn_figure_style *style, tn_error *error);

/* "png", "svg", "pdf" or "csv"; any other is TN_INPUT with the nearest one suggested. */
tn_status tn_figure_format_find(const char *name, tn_figure_format *format, tn_error *error);
const char *tn_figure_format_name(tn_figure_format format);
/* The format that a path's ending says. */
tn_status tn_figure_format_of(const char *path, tn_figure_format *format, tn_error *error);

typedef struct tn_figure {
    const char *path; /* of the picture without its ending: "out/front" */
    tn_figure_format format;
    tn_figure_style style;
    const char *script;          /* "throughput" for plots/throughput.gp */
    const tn_buffer *definition; /* gnuplot assignments, made with tn_define_*; NULL: none */
    const tn_buffer *data;       /* the contents of the data file */
} tn_figure;

/* Appends `name = 'text'` (quoted for gnuplot; control characters become spaces) or `name = value`. */
void tn_define_text(tn_buffer *definition, const char *name, const char *text);
void tn_define_real(tn_buffer *definition, const char *name, double value);
/* Appends the marks of an axis ("x", "y", "cb") at those places. */
void tn_define_marks(tn_buffer *definition, const char *axis, const char *const *label, const double *element,
                     size_t count);
/* Appends the marks of an axis whose values run from `least` to `most`, each `per` of `unit` (text/words.h): of milliseconds 1e-3
 * of "s". The marks are told with the prefix that they fit, of which the variable AXIS_unit holds ", ms". Returns the axis in
 * values. */
tn_ticks tn_define_axis(tn_buffer *definition, const char *axis, const char *unit, double per, double least,
                        double most, bool log);
/* Appends a text cell for a data file, in double quotes. */
void tn_figure_cell(tn_buffer *data, const char *text);

/* Draws. TN_IO where gnuplot is missing or fails (with the first line of what it said), or a file can't be
 * written. gnuplot is found on PATH. */
tn_status tn_figure_draw(const tn_figure *figure, tn_error *error);

TN_PUBLIC_END

#endif
