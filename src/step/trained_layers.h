/* Which parameters are trained: by patterns of layers or of single parameters, and lists of which only their updates are
 * kept. */
#ifndef TN_STEP_TRAINED_LAYERS_H
#define TN_STEP_TRAINED_LAYERS_H

#include "step/builder.h"

bool tn_parameter_is_named(const char *pattern, const char *layer, const char *parameter);

/* Writes the list anew with the forward pass, the losses, and of the updates those of update[i]; what only the others needed
 * is gone. None: TN_INPUT at `position`, the key that chose them. */
tn_status tn_keep_updates(tn_builder *b, const tn_operation *earlier, uint32_t operations, const bool *update,
                          tn_position position);

#endif
