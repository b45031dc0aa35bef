/* Choices of single layers in a space: layers.PATTERN.rank|folding|format|flow, and `tied`, which keeps some of them
 * together. */
#ifndef TN_EXPLORE_LAYER_CHOICE_H
#define TN_EXPLORE_LAYER_CHOICE_H

#include "base/arena.h"
#include "base/error.h"
#include "explore/space.h"

#include <stdbool.h>

/* Where `key` is one of layers: gives every layer that it means an entry of its own among the model's weights and
 * appends an axis for each to the space's choices; else *found is false. */
tn_status tn_layer_choice_decode(const char *key, tn_position at, const tn_yaml *values, tn_arena *arena,
                                 tn_space *space, bool *found, tn_error *error);

/* Makes one axis of the choices of each list in `tied`, the first of them; all must have the same values. NULL: none
 * are. */
tn_status tn_layer_choices_tie(const tn_yaml *tied, tn_arena *arena, tn_space *space, tn_error *error);

/* Refuses two choices of the same thing of one layer. */
tn_status tn_layer_choices_check(const tn_space *space, tn_error *error);

#endif
