/* The front of all designs of one build, by merging the options of its units (docs/decomposition.md). */
#ifndef TN_SEARCH_BUILD_FRONT_H
#define TN_SEARCH_BUILD_FRONT_H

#include "front/sums.h"
#include "search/layer_table.h"
#include "space/space.h"

/* How the front is to be found. */
typedef struct tn_front_options {
    bool objective[TN_COSTS]; /* costs that objectives follow from */
    bool bounded[TN_COSTS];   /* costs that constraints bound */
    double epsilon;   /* all prunings together lose at most a factor of 1 + this (front/sums.h); 0: exact */
    size_t most;      /* points kept */
    bool bounds_only; /* costs are bounds: what exceeds the device may cover what does not, so it is kept */
    double deadline;  /* tn_clock_seconds: TN_INTERRUPTED after it */
} tn_front_options;

typedef struct tn_build_front {
    size_t count;
    double *cost[TN_COSTS]; /* [count]; lower bounds, upper ones of what is better the more there is */
    uint32_t **option;      /* [units][count] */
    double slack; /* every cost of the build's designs is covered within this factor: 1 where exact */
} tn_build_front;

/* Of build `build` of the table. `budget`: what designs may use. Free with tn_build_front_free. */
tn_status tn_build_front_find(const tn_space *space, const tn_units *units, const tn_layer_table *table,
                              size_t build, const uint32_t *digit, const tn_front_options *options,
                              tn_build_front *front, tn_error *error);
void tn_build_front_free(tn_build_front *front, uint32_t units);

#endif
