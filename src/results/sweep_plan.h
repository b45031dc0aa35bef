/* What a sweep is asked for, and which chunks of the space that means. */
#ifndef TN_RESULTS_SWEEP_PLAN_H
#define TN_RESULTS_SWEEP_PLAN_H

#include "base/error.h"
#include "base/public.h"
#include "front/archive.h"
#include "space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* How a front is found: every design evaluated; by decomposition (search/decomposition.h), with a certificate; by
 * evolution (search/evolution.h), which proves nothing. */
typedef enum tn_method { TN_METHOD_AUTO, TN_ENUMERATE, TN_DECOMPOSE, TN_EVOLVE } tn_method;
extern const char *const tn_method_names[]; /* "auto", "enumerate", "decompose", "evolve"; ended by NULL */

typedef struct tn_sweep_options {
    unsigned threads;       /* 0: all */
    uint64_t shard, shards; /* this is shard 1..shards; 0 of 0: the whole */
    uint64_t budget;        /* evaluate at most about so many designs, of chunks drawn by `seed`; 0: all */
    uint64_t seed;
    bool resume;   /* go on with what the folder holds of this sweep */
    bool repair;   /* with resume: drop what the folder's store can't be trusted in, instead of refusing it */
    bool keep_all; /* keep every feasible design */
    bool counts;   /* judge each design by its own bound, not sets of them: for the counts alone */
    tn_method method;
    bool has_epsilon;
    const char *command; /* the line that asked for it, for sweep.json; NULL: a program did */
    double epsilon,
        seconds; /* asked for with has_epsilon, with seconds > 0: seconds of every method, epsilon of decompositions */
} tn_sweep_options;

typedef struct tn_sweep_plan {
    uint64_t chunks; /* of the space */
    uint64_t *chunk; /* [chosen] those to evaluate, in the order of evaluation */
    uint64_t chosen;
    bool sampled;     /* the budget leaves some out */
    uint64_t renewal; /* when so many are taken, those left are to be put in a new order */
} tn_sweep_plan;

/* TN_INPUT where the shard does not exist. Free with tn_sweep_plan_free. */
tn_status tn_sweep_plan_make(const tn_space *space, const tn_sweep_options *options, tn_sweep_plan *plan,
                             tn_error *error);
void tn_sweep_plan_free(tn_sweep_plan *plan);

/* Moves finished chunks, done[chunk], to the beginning, in whatever order; *count: of them. */
tn_status tn_sweep_plan_skip(tn_sweep_plan *plan, const bool *done, uint64_t *count, tn_error *error);

/* Puts the chunks that are not taken, those from the place `begin` on, in the order of what their choices have given so far: each
 * value by how many of the front's designs have it for a chunk of it that was taken. Sets the next renewal. */
tn_status tn_sweep_plan_renew(tn_sweep_plan *plan, const tn_space *space, const tn_archive *front,
                              uint64_t begin, tn_error *error);

TN_PUBLIC_END

#endif
