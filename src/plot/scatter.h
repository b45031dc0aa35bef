/* Designs as points: two of their columns on the axes, a third as colour, or series told apart by colour and form. */
#ifndef TN_PLOT_SCATTER_H
#define TN_PLOT_SCATTER_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "flow/search.h"
#include "flow/tree.h"
#include "plot/gnuplot.h"

#include <stdbool.h>
#include <stddef.h>

/* A network's flows as a picture: its best tree, drawn from the tensors on the left to the result on the
 * right with elements and MACs at each merge, and beside it MACs against peak live elements of the front and
 * of the named flows. */

/* A flow's point beside the front. */
typedef struct tn_figure_flow {
    const char *name;
    tn_tree_cost cost;
} tn_figure_flow;

typedef struct tn_order_figure {
    const char *title;
    const tn_network *network;
    const tn_tree *tree;
    const tn_tree_front *front; /* may be empty */
    size_t flows;
    const tn_figure_flow *flow;
} tn_order_figure;

/* `path` ends in .png, .svg or .pdf; the script and the numbers lie beside it. */
tn_status tn_order_draw(const char *path, const tn_order_figure *figure, tn_error *error);

TN_PUBLIC_BEGIN

enum { TN_SCATTER_VALUES = 12 };

typedef struct tn_scatter_axis {
    const char *title; /* NULL: no such axis */
    const char *unit;  /* of the values (text/words.h) */
    bool log;          /* its values must be positive */
    /* Values with a line of their own, named at it; the first is drawn wherever it lies, others where the points' range has them. */
    size_t ends;
    double end[2];
    const char *end_name[2];
    int better; /* -1: less is better, 1: more; 0: neither */
    /* Where it has texts: values are places among them, from 0. */
    size_t names;
    const char *const *name;
    /* Where it has few values, as those of a choice: they have the marks. */
    size_t values;
    double value[TN_SCATTER_VALUES];
} tn_scatter_axis;

/* Appends the stairs of what points attain: none is better in both axes (1: more is better, -1: less). Changes the points. */
void tn_attained_put(double (*point)[2], size_t count, int better_x, int better_y, tn_buffer *data);

/* The axis of a quantity or choice, linear: its title and unit (text/words.h), and which direction is better. Lives in
 * `arena`. */
tn_status tn_scatter_axis_of(const char *key, tn_arena *arena, tn_scatter_axis *axis, tn_error *error);

typedef struct tn_scatter_point {
    double x, y, colour;
    size_t series;
    bool hollow; /* of a series: an open mark */
} tn_scatter_point;

typedef struct tn_scatter {
    const char *heading; /* "": none */
    tn_scatter_axis x, y, colour;
    size_t series;
    const char *const *series_name;
    const char *series_title; /* above their names; NULL: none */
    bool ordered; /* the series are steps of one quantity: shades of one scale rather than unlike colours */
    bool
        attained; /* draw the line of what the points attain in the two axes, where each has a better direction */
    bool joined;   /* by a line each series, where none has two points at one x: curves over x */
    size_t marked; /* the recommended one of the points; `count`: none */
    const char *marked_name;
    size_t count;
    const tn_scatter_point *point; /* finite */
} tn_scatter;

/* Draws PATH.png (.svg, .pdf). TN_INPUT without a point, or where a value of a logarithmic axis is not positive. */
tn_status tn_scatter_draw(const tn_scatter *scatter, const char *path, tn_figure_format format,
                          tn_figure_style style, tn_error *error);

TN_PUBLIC_END

#endif
