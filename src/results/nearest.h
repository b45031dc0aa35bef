/* Which build comes nearest to what is said of a published design's hardware (results/claims.h), and what stays unexplained. */
#ifndef TN_RESULTS_NEAREST_H
#define TN_RESULTS_NEAREST_H

#include "results/comparison.h"

/* One figure of the hardware, and that of the nearest build. */
typedef struct tn_nearest_figure {
    const char *model, *quantity;
    double published;
    uint32_t origin; /* tn_origin */
    double ours;
    double ratio;      /* published / ours: what the build does not explain */
    const char *build; /* what it chooses */
} tn_nearest_figure;

/* Of the builds of spaces/build-search.yaml with the published flow that fit, all priced, that whose figures are nearest: the greatest of its
 * ratios, upwards or downwards, is least; of equal ones the first. *count 0: nothing is said of that model's hardware,
 * or no build fits. Lives in `arena`. */
/* `model`: its file or bare name; `name`: what the file calls it. */
tn_status tn_nearest_build(const tn_claims *claims, const char *model, const char *name, const char *device,
                           tn_arena *arena, tn_nearest_figure **figure, size_t *count, tn_error *error);

#endif
