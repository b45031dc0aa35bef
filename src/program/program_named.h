/* Programs of the training flows that have names (flow/named.h): points of the front of a weight's training
 * flows, which is searched once for all of them. */
#ifndef TN_PROGRAM_PROGRAM_NAMED_H
#define TN_PROGRAM_PROGRAM_NAMED_H

#include "program/program.h"
#include "program/training.h"

/* The front of the weight's forward network (tn_training_search), the trees of its named flows as hints. Lives
 * in `arena`. */
tn_status tn_training_front_of(const tn_weight *weight, uint64_t tokens, bool no_input_gradient,
                               tn_arena *arena, tn_training_front *front, tn_error *error);

/* The point's program; without `training` that of its forward tree alone. Arrays of *program may be the
 * front's. */
tn_status tn_training_named(const tn_weight *weight, uint64_t tokens, const tn_training_front *front,
                            tn_flow_name name, bool training, tn_arena *arena, tn_program *program,
                            tn_error *error);

#endif
