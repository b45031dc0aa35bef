/* tenfold plot DIR --x KEY --y KEY: designs of a sweep as points. */
#ifndef TN_CLI_CMD_PLOT_H
#define TN_CLI_CMD_PLOT_H

#include "plot/gnuplot.h"
#include "results/result.h"

#include <stdbool.h>

typedef struct tn_designs_plot {
    const char *x, *y, *colour; /* columns; colour NULL: none */
    const char *where, *log;    /* expression, NULL: all; "", "x", "y" or "xy" */
    const char *out;            /* path without its ending; NULL: DIR/figures/Y-by-X */
    bool all;
    tn_figure_format format;
    tn_figure_style style;
} tn_designs_plot;

#endif
