/* Programs of the training flows that have names (flow/named.h). Internal to the room. */
#ifndef TN_FLOW_TRAINING_NAMED_H
#define TN_FLOW_TRAINING_NAMED_H

#include "flow/program.h"

/* As tn_program_named, for a name that tn_flow_is_training. Without a backward pass: the flow's forward tree.
 * A front of fewer points than the name says is TN_INPUT. */
tn_status tn_training_named(const tn_weight *weight, uint64_t tokens, tn_flow_name name,
                            const tn_program_options *options, tn_arena *arena, tn_program *program,
                            tn_error *error);

#endif
