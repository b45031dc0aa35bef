/* Transformations: techniques that change how a training step is done, each by rewriting the step's list of
 * operations. A technique is a row here and keys of the model file. Counts, dependencies and lifetimes need nothing else of
 * it. What the rewritten list alone does not say (that a product passes over zeros, that a look-up takes what stays)
 * stands in fields of its operations and arrays (model/step.h): training executes them (train/lowered_step.h), layouts
 * and prices follow them, and generated hardware refuses what has one that it does not build (rtl/request.h).
 *
 * The layers first write the plain step: forward parts in order, backward parts in reverse, updates at the
 * end, everything kept. Then every transformation that the model asks for rewrites the list, in the order of
 * the table. Costs, dependencies, lifetimes and peaks are counted from what stands in the end, so a
 * transformation only says what is done, in an order in which it can be: operations kept, moved, changed,
 * left out or added, and new arrays for what it adds.
 *
 * Order: first what removes operations, then what adds some, then what moves them, then what changes how they
 * are computed. Each may rely on the invariant of what stands before it: an operation reads what earlier ones
 * wrote, or what nothing writes; a parameter's old value is read by all that want it before its update.
 */
#ifndef TN_STEP_TRANSFORMATION_H
#define TN_STEP_TRANSFORMATION_H

#include "base/error.h"
#include "step/builder.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_transformation {
    const char *name;            /* "write-back" */
    const char *keys;            /* of the model file that ask for it: "update.when" */
    const char *needs;           /* what the model must have; for people */
    const char *changes;         /* what it changes and what not; for people */
    const char *source;          /* who published it; NULL: common practice */
    const char *const *excludes; /* names that it can't be combined with, ended by NULL; NULL: none */
    bool inference_only;         /* it needs `phase: inference` */
    bool (*wanted)(const tn_model *model);
    /* Writes the step's list anew from the list so far: tn_builder_keep for what was there, tn_builder_array
     * and tn_builder_add (of layer b->at) for what is new. */
    tn_status (*apply)(tn_builder *b, const tn_operation *earlier, uint32_t operations);
} tn_transformation;

/* All there are, in the order in which they are applied; ended by NULL. */
extern const tn_transformation *const tn_transformations[];

/* Applies those of the first `most` of the table that the model wants. Two of the table that exclude each other are
 * TN_INPUT. */
tn_status tn_transformations_apply(const tn_transformation *const *table, uint32_t most, tn_builder *b);

/* A table each, in the file of this room that is about it. */
extern const tn_transformation tn_inference, tn_trained_layers, tn_sparse_update, tn_reversible,
    tn_checkpointing, tn_optimal_checkpointing, tn_write_back, tn_sparse_weights, tn_zero_skipping,
    tn_pruning, tn_early_exit, tn_flat_products, tn_predicted_gradients, tn_product_arithmetic,
    tn_growing_precision, tn_outlier_pairs;

#endif
