/* Layers whose layouts were asked for, by what these depend on: program, edges of the kernel, banking, and what is
 * demanded of each tensor. Layers of a step that have all of it in common, and builds that ask for the same again, share
 * one search and the cycles that products then take.
 */
#ifndef TN_LAYOUT_LAYER_LAYOUT_H
#define TN_LAYOUT_LAYER_LAYOUT_H

#include "kernel/kernel.h"
#include "layout/layouts.h"

/* A layer under its demands. */
typedef struct tn_laid_layer tn_laid_layer;

/* A program on a kernel's edges, whatever the banking and the demands. */
typedef struct tn_known_problem tn_known_problem;

/* All that were asked for. */
typedef struct tn_laid_layers {
    tn_arena *arena;
    tn_layout_room room;
    tn_laid_layer **list;       /* by hash */
    tn_known_problem **problem; /* by hash */
    tn_known_problem **last;    /* by hash of the program: the last of one */
} tn_laid_layers;

tn_status tn_laid_layers_begin(tn_laid_layers *layers, tn_arena *arena, tn_error *error);

/* The layer of such demands, a new one where there is none yet; nothing is searched. demand[program->tensors]; program must
 * live as long as `layers`. */
tn_status tn_laid_layer_find(tn_laid_layers *layers, const tn_program *program, const tn_kernel_edges *edges,
                             tn_banking banking, const tn_layout_demand *demand, tn_laid_layer **layer,
                             tn_error *error);

/* Its layouts, searched where they were not before (layout/layouts.h). */
tn_status tn_laid_layer_search(tn_laid_layers *layers, tn_laid_layer *layer, const tn_layouts **layouts,
                               tn_error *error);

/* Cycles of a product of its program on a kernel of its edges: as its layouts have it, which were searched, or `at_least`,
 * whatever they are (layout/product_layout.h). */
tn_status tn_laid_layer_cycles(tn_laid_layers *layers, tn_laid_layer *layer, bool at_least, uint32_t product,
                               const tn_matmul *kernel, uint64_t *cycles, tn_error *error);

/* The same of the product of a part (layout/product_layout.h), with layouts that were searched. */
tn_status tn_laid_layer_partial_cycles(tn_laid_layers *layers, tn_laid_layer *layer,
                                       const tn_partial *partial, const tn_matmul *kernel, uint64_t *cycles,
                                       tn_error *error);

#endif
