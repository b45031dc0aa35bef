/* A sampled front, where nothing better applies: NSGA-II (K. Deb, A. Pratap, S. Agarwal, T. Meyarivan, A fast and elitist
 * multiobjective genetic algorithm: NSGA-II, IEEE Transactions on Evolutionary Computation 6(2), 2002) over the values of
 * a space's choices, with its rule for constraints: of two designs that do not fit that which lacks less is better.
 * Half of the first generation has the same values in choices of different weights and layers that are alike, and half of the
 * changes are made in all of these at once, as what lets layers share memories and words is rarely found one by one.
 * Every feasible design that was evaluated is offered to the front; of all others nothing is known. */
#ifndef TN_SEARCH_EVOLUTION_H
#define TN_SEARCH_EVOLUTION_H

#include "base/clock.h"
#include "base/error.h"
#include "search/evaluator.h"
#include "space/space.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tn_evolve_options {
    uint64_t budget; /* designs evaluated, at most; equal ones are evaluated once */
    double
        seconds; /* over 0: and no generation is begun after these; TN_LIMIT where the first takes longer */
    uint64_t seed;
    unsigned threads;            /* the result does not depend on it */
    const tn_progress *progress; /* NULL: none */
} tn_evolve_options;

typedef struct tn_evolved {
    size_t count;
    uint32_t *digit; /* [count][choices] of the front's designs */
    tn_evaluation *evaluation;
    uint64_t evaluated, cause[TN_CAUSES]; /* of those evaluated */
    bool stopped;                         /* by an interruption: the front of the generations before it */
    double seconds;
} tn_evolved;

/* TN_INTERRUPTED where not even the first generation was finished before an interruption. Free with tn_evolved_free. */
tn_status tn_evolve(const tn_space *space, const tn_evolve_options *options, tn_evolved *found,
                    tn_error *error);
void tn_evolved_free(tn_evolved *found);

#endif
