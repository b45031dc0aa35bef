/* What finished chunks of a space found. Outcomes of disjoint chunks merge in any order to the same one. */
#ifndef TN_EXPLORE_OUTCOME_H
#define TN_EXPLORE_OUTCOME_H

#include "base/error.h"
#include "base/public.h"
#include "explore/archive.h"
#include "explore/evaluator.h"
#include "explore/space.h"

#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_completion { TN_EXHAUSTED, TN_BUDGET, TN_STOPPED } tn_completion;
extern const char *const tn_completion_names[]; /* "exhausted", "budget", "interrupted"; ended by NULL */

/* Designs that are undefined for one reason. */
typedef struct tn_undefined_count {
    tn_undefined_flow flow;
    uint64_t designs;
} tn_undefined_count;

typedef struct tn_outcome {
    tn_archive front;
    uint64_t evaluated, count[TN_CAUSES]; /* count[TN_CAUSE_NONE]: feasible */
    tn_undefined_count *undefined;        /* by ascending flow; designs sum to count[TN_CAUSE_UNDEFINED] */
    size_t undefined_count, undefined_capacity;
    tn_completion completion;
    double seconds;
    uint64_t evaluated_now;     /* in this run, for the rate: without what a resumed run found done */
    const tn_evaluation *known; /* of the front's designs, by ascending id; NULL: they are to be evaluated */
    bool certified, exact;      /* exact: the front is that of the whole space */
    double factor[TN_OBJECTIVES_MOST]; /* where certified: docs/decomposition.md */
    const char *method;
} tn_outcome;

void tn_outcome_begin(const tn_space *space, tn_outcome *outcome);
void tn_outcome_free(tn_outcome *outcome);
/* Empty again, memory kept. */
void tn_outcome_clear(tn_outcome *outcome);

/* Counts `designs` more that are undefined because of `flow` (not in `count`). */
tn_status tn_outcome_add_undefined(tn_outcome *outcome, const tn_undefined_flow *flow, uint64_t designs,
                                   tn_error *error);
/* Adds what disjoint chunks found; of `from` only those points of its front stay that entered. */
tn_status tn_outcome_absorb(tn_outcome *outcome, tn_outcome *from, tn_error *error);

TN_PUBLIC_END

#endif
