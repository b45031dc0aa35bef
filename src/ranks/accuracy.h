/* Measured accuracy by rank: what a user has from trained runs, between the points by Steffen's monotone
 * cubic (GSL), which never swings beyond two neighbouring measurements. Outside the measured ranks there is
 * no answer. Source: Steffen, "A simple method for monotonic interpolation in one dimension", Astron.
 * Astrophys. 239 (1990).
 *
 * A CSV file with the columns rank and accuracy, where curves belong to layers, layer, and where they belong to
 * foldings, folding ("12x8x8,8x8x12"). Without `layer` the points are of the whole model at one rank throughout. Rows
 * that can't be compared are left out: of other `epochs`, models or formats than most rows have, or
 * all of whose `seeds` have `collapsed`; and foldings of fewer than 3 points.
 *
 * How accuracies become something to add up over layers: what is lost against the best measured accuracy.
 *   with `layer`   the layer's own curve: best - accuracy(rank), measured with that layer alone reduced
 *   without        the layer's equal share of the whole model's loss: (best - accuracy(rank)) / layers
 * At one rank throughout the sum is what was measured; that losses of different layers add up is an
 * assumption.
 */
#ifndef TN_RANKS_ACCURACY_H
#define TN_RANKS_ACCURACY_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_accuracy tn_accuracy;

/* At least 3 points a curve, no rank twice in one. */
tn_status tn_accuracy_load(const char *path, tn_arena *arena, tn_accuracy **accuracy, tn_error *error);

/* Whether the file has a curve for the layer in that folding; a file without the column speaks of all. */
bool tn_accuracy_covers(const tn_accuracy *accuracy, const char *layer, const char *folding);

/* *value at `rank`, of the curve of `layer` or of the whole model, in `folding` where the file tells foldings apart. TN_INPUT outside the measured ranks, or
 * where the file has curves for layers and none for this. */
tn_status tn_accuracy_at(const tn_accuracy *accuracy, const char *layer, const char *folding, double rank,
                         double *value, tn_error *error);
/* Measured ranks of that curve. */
tn_status tn_accuracy_range(const tn_accuracy *accuracy, const char *layer, const char *folding,
                            double *least, double *most, tn_error *error);
/* *loss = what the layer adds to the sum over `layers` layers, as above; at least 0. */
tn_status tn_accuracy_loss(const tn_accuracy *accuracy, const char *layer, const char *folding, size_t layers,
                           double rank, double *loss, tn_error *error);

TN_PUBLIC_END

#endif
