/* Foldings as the values of a choice: listed as texts, or every way to fold both sides into so many factors within
 * bounds. */
#ifndef TN_EXPLORE_AXIS_FOLDINGS_H
#define TN_EXPLORE_AXIS_FOLDINGS_H

#include "explore/axis.h"
#include "tensor/weight.h"

enum { TN_AXIS_VALUES_MOST = 1000000 }; /* of one choice */

/* Fills choice->folding and choice->count; `weight` says what its sides multiply to. */
tn_status tn_axis_decode_foldings(const tn_yaml *values, const tn_weight *weight, tn_arena *arena,
                                  tn_axis *choice, tn_error *error);

/* The table of the keys that describe foldings. */
void tn_axis_document_foldings(tn_buffer *out);

#endif
