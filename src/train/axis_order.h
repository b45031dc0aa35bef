/* In which order the axes of a program's arrays lie in memory.
 *
 * What the layer gets and gives, cores and their gradients have the order of their indices. An intermediate may lie
 * as its maker and its readers like it best: every order that lets one of them use the array where it lies is tried,
 * array after array, until none is cheaper. Look-ups are cut at the tokens' digits (train/contraction.h). Internal to
 * the room.
 */
#ifndef TN_TRAIN_AXIS_ORDER_H
#define TN_TRAIN_AXIS_ORDER_H

#include "base/arena.h"
#include "base/error.h"
#include "flow/program.h"
#include "train/contraction.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_axis_order {
    const tn_program *program;
    bool looked_up;     /* the layer looks words up: x is not there, cores are cut at its digits */
    uint64_t *elements; /* [tensors] of the arrays; 0: there is none */
    tn_indices *order;  /* [tensors] */
} tn_axis_order;

/* Takes `elements` as given. */
tn_status tn_axis_order_choose(tn_axis_order *of, tn_arena *arena, tn_error *error);

tn_status tn_axis_order_view(const tn_axis_order *of, uint32_t tensor, tn_view *view, tn_error *error);

#endif
