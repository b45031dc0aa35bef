/* Choices of single layers in a space: layers.PATTERN.rank|folding|format|flow, and `tied`, which keeps some of them
 * together. */
#ifndef TN_SPACE_LAYER_CHOICE_H
#define TN_SPACE_LAYER_CHOICE_H

#include "base/error.h"
#include "base/memory.h"
#include "space/space.h"

#include <stdbool.h>

/* What a space may say of flows: the names of trees and of points of a front, but not `fastest`. Which flow is the fastest
 * depends on the build, so on all other choices; a sweep that has the flows as a choice finds it, and what else is worth
 * having.
 */

/* TN_INPUT, at the choice or at `choices`, where designs would have that flow; the message says what to write instead. */
tn_status tn_space_check_flows(const tn_space *space, tn_position choices, tn_error *error);

/* Where `key` is one of layers: gives every layer that it means an entry of its own among the model's weights and
 * appends an axis for each to the space's choices; else *found is false. */
tn_status tn_layer_choice_decode(const char *key, tn_position position, const tn_yaml *values,
                                 tn_arena *arena, tn_space *space, bool *found, tn_error *error);

/* Makes one axis of the choices of each list in `tied`, the first of them; all must have the same values. NULL: none
 * are. */
tn_status tn_layer_choices_tie(const tn_yaml *tied, tn_arena *arena, tn_space *space, tn_error *error);

/* Refuses two choices of the same thing of one layer. */
tn_status tn_layer_choices_check(const tn_space *space, tn_error *error);

#endif
