/* A training step being written: the families of layers (linear.c, attention.c, ...) add arrays and
 * operations through it, first all forward parts in the order of the layers, then all backward parts in
 * reverse, then the updates.
 *
 * Gradients of layer outputs arrive from the layers that read them, as contributions: the first stands as it
 * is, later ones are added to it, in place where one of the two arrays is read by nothing else. A residual
 * passes its gradient on without a copy.
 */
#ifndef TN_STEP_BUILDER_H
#define TN_STEP_BUILDER_H

#include "model/graph.h"
#include "model/layer_kind.h"
#include "model/model.h"
#include "model/step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A named weight, or a dense one without a name, as this step uses it. */
typedef struct tn_used_weight {
    const char *name; /* NULL: without one */
    tn_weight weight;
    tn_flow_name flow;
    uint64_t parameters, degrees_of_freedom;
    const uint64_t *useful_rank;
    tn_position flow_at;
} tn_used_weight;

/* What one layer has made so far. */
typedef struct tn_layer_arrays {
    uint32_t output;
    uint32_t gradient;        /* of the output; TN_NONE until one arrives */
    bool gradient_is_free;    /* nothing else reads it, so another may be added to it in place */
    uint32_t first_parameter; /* its parameter arrays, in the order they were made, */
    uint32_t parameters;      /* and how many */
    uint32_t kept[3];         /* forward arrays that the backward part reads, by family */
    const tn_used_weight *weight;
    const tn_program *program; /* of its products or its look-up */
    uint32_t *array_of;        /* of each tensor of the program */
} tn_layer_arrays;

struct tn_builder {
    const tn_model *model;
    tn_program_cache *cache;
    tn_arena *arena;
    tn_error *error;
    tn_step *step;
    size_t operation_capacity, array_capacity;
    uint32_t *writer; /* [arrays] the operation that writes it last, or TN_NONE; from tn_builder_count on */
    bool formatted;   /* operands of products have formats of their own */
    uint32_t layer_index;  /* the layer being written */
    uint32_t sort;         /* of the steps of a run (model/model.h): TN_SORT_MEAN or which */
    tn_layer_arrays *made; /* [layers] */
    tn_used_weight *used;  /* [model->weights] */
};

/* A new array of the layer being written; `number` counts parts of one name from 1, 0: no number. */
tn_status tn_builder_array(tn_builder *b, tn_array_part part, uint32_t number, tn_array_role role,
                           uint64_t elements, uint32_t *array);
/* a * b elements, checked. */
tn_status tn_builder_matrix(tn_builder *b, tn_array_part part, tn_array_role role, uint64_t rows,
                            uint64_t columns, uint32_t *array);

/* A parameter, its gradient and its optimizer state; a layer adds all its parameters with no other array in
 * between. Of its parameter i these are arrays tn_builder_parameter(b, i), the next, and the next but one
 * where the optimizer keeps state. */
tn_status tn_builder_add_parameter(tn_builder *b, tn_array_part part, uint32_t number, uint64_t elements,
                                   bool is_core);
uint32_t tn_builder_parameter(const tn_builder *b, uint32_t i);
uint32_t tn_builder_parameter_gradient(const tn_builder *b, uint32_t i);

/* Appends an operation of the layer being written: kind, phase, sizes, reads and writes are given; what it
 * costs and waits for follows once the list stands. */
tn_status tn_builder_add(tn_builder *b, const tn_operation *operation);
/* The same for one that stood in a list before and has its layer. */
tn_status tn_builder_keep(tn_builder *b, const tn_operation *operation);

/* The list so far becomes *before, and is written anew from here on. */
void tn_builder_anew(tn_builder *b, const tn_operation **earlier, uint32_t *operations);

/* Keeps the operations before[i] with wanted[i], those that write an array with array[a] (NULL: none), and all that
 * these need; updates only where wanted. Arrays that nothing touches any more are gone (trained_layers.c). */
tn_status tn_builder_keep_needed(tn_builder *b, const tn_operation *earlier, uint32_t operations,
                                 const bool *wanted, const bool *array);

/* Arrays that no operation touches are left out, parameters and what the optimizer keeps only without `keep_resident`, and
 * the others numbered anew. */
tn_status tn_builder_close_ranks(tn_builder *b, bool keep_resident);

/* Gives `gradient` to the output of layer `target`. `is_free`: nothing else reads the array. */
tn_status tn_builder_contribute(tn_builder *b, uint32_t target, uint32_t gradient, bool is_free);

/* Shorthands for the layer being written. */
const tn_layer *tn_builder_layer(const tn_builder *b);
tn_layer_arrays *tn_builder_made(const tn_builder *b);
const tn_layer *tn_builder_input_layer(const tn_builder *b, uint32_t input);
uint32_t tn_builder_input(const tn_builder *b, uint32_t input);
bool tn_builder_input_learns(const tn_builder *b, uint32_t input);

/* The updates of all parameters, layer by layer (trained_layers.c). */
tn_status tn_builder_updates(tn_builder *b);

/* array[].value from a list of operations; array[].format from the step's, once lifetimes are known. */
tn_status tn_builder_values(tn_builder *b, const tn_operation *operation, uint32_t operations);
tn_status tn_builder_formats(tn_builder *b);

/* What follows from the list once it stands: costs of operations and their sums, and what each waits for
 * (count.c); lifetimes, peaks and what is saved (liveness.c). */
tn_status tn_builder_count(tn_builder *b);
tn_status tn_builder_liveness(tn_builder *b);

#endif
