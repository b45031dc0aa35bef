/* Fronts of several sweeps (other devices, models, techniques) beside each other: which designs of which front no
 * design of any front dominates, and which front dominates how much of which.
 *
 *   objectives  those that all the sweeps have, in the order of the first; a design dominates another that it is at
 *               least as good as in all of them and better in one
 *   coverage    C(A, B): the share of B's front that some design of A's dominates. Source: Zitzler and Thiele (IEEE
 *               Transactions on Evolutionary Computation, 1999), with strict dominance, so that a front does not
 *               cover itself.
 */
#ifndef TN_RESULTS_DOMINANCE_H
#define TN_RESULTS_DOMINANCE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "results/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

enum { TN_FRONTS_MOST = 64 };

/* A design of some front. */
typedef struct tn_rival {
    size_t source;
    const tn_result_row *row;
    double value[TN_OBJECTIVES_MOST]; /* to be minimised: what is maximised is negated */
    const struct tn_rival *better;    /* one that no other dominates and that dominates it; NULL: none does */
} tn_rival;

typedef struct tn_dominance {
    size_t objectives, sources, count;
    const tn_quantity *objective[TN_OBJECTIVES_MOST];
    tn_rival *rival; /* [count] by source, then id */
    size_t *designs; /* [sources] of its front */
    size_t *best;    /* [sources] of them that nothing dominates */
    size_t
        *covered; /* [better * sources + other]: designs of `other` that some design of `better` dominates */
} tn_dominance;

/* `objective`: names of quantities to judge by, instead of those in common; none: those. TN_INPUT where the sweeps
 * have no objective in common or a design's is not known. Lives in `arena`. */
tn_status tn_dominance_of(const tn_result *source, size_t sources, const char *const *objective,
                          size_t objectives, tn_arena *arena, tn_dominance *dominance, tn_error *error);

TN_PUBLIC_END

#endif
