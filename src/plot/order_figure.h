/* A network's flows as a picture: its best tree, drawn from the tensors on the left to the result on the
 * right with elements and MACs at each merge, and beside it MACs against peak live elements of the front and
 * of the named flows. */
#ifndef TN_PLOT_ORDER_FIGURE_H
#define TN_PLOT_ORDER_FIGURE_H

#include "base/error.h"
#include "flow/search.h"
#include "flow/tree.h"

#include <stddef.h>

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

#endif
