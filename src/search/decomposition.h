/* The whole front of a space that no one can enumerate, by decomposition, with a certificate of how far from the truth
 * it can be (docs/decomposition.md).
 *
 * For each combination of model keys and each build the units' options are merged (search/build_front.h) into a front
 * of lower bounds; those of all builds are put together, and the designs behind what is left are evaluated. Where prices do
 * not split, designs near the bounds are sought as well (search/bounded_front.c). Designs are priced as `tenfold cost` does.
 * The certificate is a factor for each objective: for every feasible design d of the space some member f of the front has
 * f_k <= factor_k d_k in all objectives at once (f_k >= d_k / factor_k where more is better). */
#ifndef TN_SEARCH_DECOMPOSITION_H
#define TN_SEARCH_DECOMPOSITION_H

#include "base/clock.h"
#include "base/error.h"
#include "search/evaluator.h"
#include "space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_decompose_options {
    double epsilon; /* factors of at most 1 + epsilon are asked for; 0: exact */
    double
        seconds; /* over 0: epsilon is made smaller again and again for so long; TN_LIMIT where nothing was found in it */
    double table_seconds; /* over 0: refused where tables take longer */
    unsigned threads;
    const tn_progress *progress; /* NULL: none */
} tn_decompose_options;

typedef struct tn_decomposed {
    const char *refused; /* NULL, or why the space does not decompose; then nothing else holds */
    size_t count;
    uint32_t *digit; /* [count][choices] of the front's designs */
    tn_evaluation *evaluation;
    double factor[TN_OBJECTIVES_MOST];
    bool
        certified; /* the factors hold; false: it ended before there were any, and nothing is known of other designs */
    bool exact;     /* every factor is 1 */
    bool least_ids; /* it is exact, and of equal designs that of the least id stands for them */
    bool none_fits; /* the front is empty, and it is known that no design of the space fits */
    uint64_t evaluated, cause[TN_CAUSES]; /* designs priced in full; of them, those that end so */
    uint64_t builds, skipped; /* with their model keys; of them, those that can't enter the front */
    double seconds;
} tn_decomposed;

/* Free with tn_decomposed_free. Where an interruption or the end of the time leaves a front, that is the result; else it is
 * TN_INTERRUPTED, or TN_LIMIT. */
tn_status tn_decompose(const tn_space *space, const tn_decompose_options *options, tn_decomposed *found,
                       tn_error *error);
void tn_decomposed_free(tn_decomposed *found);

#endif
