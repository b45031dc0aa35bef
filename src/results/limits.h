/* How far a design is from what it has to keep: amounts of resources, and the constraints of a space; and the designs of a space
 * that come nearest to that, where none keeps it. */
#ifndef TN_RESULTS_LIMITS_H
#define TN_RESULTS_LIMITS_H

#include "base/error.h"
#include "design/design.h"
#include "search/evaluator.h"
#include "space/space.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tn_limits {
    const tn_resources *budget;
    const tn_space *space; /* whose constraints; NULL: none */
} tn_limits;

/* The greatest ratio of need to budget over the resources: above 1 where the design does not fit. */
double tn_budget_ratio(const tn_resources *used, const tn_resources *budget);

/* *evaluation of a priced design, whose errors and accuracies are not known, and *ratio, by which it falls short: at most 1
 * where it keeps the limits. Of a constraint that asks for what is not known nothing is said. */
tn_status tn_limits_evaluate(const tn_limits *limits, const tn_priced *priced, tn_evaluation *evaluation,
                             double *ratio, tn_error *error);

/* The designs of a space that come nearest to being feasible, where none is: for each cause of rejection the one
 * that exceeds what is allowed by the least factor. */

typedef struct tn_miss {
    uint64_t id;
    uint32_t cause;
    double factor; /* need over what is allowed, above 1; of a constraint, the value's distance by factor */
} tn_miss;

typedef struct tn_misses {
    uint64_t evaluated; /* all designs, or an even sample over the model's choices */
    size_t count;
    tn_miss miss[TN_CAUSES]; /* nearest first */
} tn_misses;

/* Evaluates about `most` designs at most, on this thread. An interruption ends the search with what it has. */
tn_status tn_misses_find(const tn_space *space, uint64_t most, tn_misses *misses, tn_error *error);

#endif
