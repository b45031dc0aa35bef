/* Checks of a program: executed on a trial, its work, memory and results against what was predicted and what
 * the dense matrix gives. One row per precision and phase.
 *
 * A row is ok if executed multiply-adds and peak live elements equal the predicted ones exactly, and the
 * relative errors (Frobenius norm of the difference over that of what is expected, the worst of the phase's
 * outputs) stay within the tolerances:
 *     against the dense product          1e-12 in float64, 1e-4 in float32
 *     against results that were given    the same, or that of the files' number type if it is coarser
 *     gradients against differences      1e-8, in float64
 * float64: a few roundings of 1.1e-16 per sum, and sums that grow as the square root of their length.
 * float32: the first-order bound of a chain of products is the sum of their reduction lengths times 2^-24; it
 * is below 1e-4 up to 1,600 terms, and rounding is a random walk far below it.
 * Differences: Y . dY is linear in each single core and in X, so that the central difference along a random
 * direction D, of any length, is <gradient, D> but for rounding; the error is relative to |gradient| |D| /
 * sqrt(elements).
 */
#ifndef TN_RUN_CHECK_H
#define TN_RUN_CHECK_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "program/program.h"
#include "run/product.h"
#include "run/trial.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long a program should take on this CPU: measured rates and a sum over steps.
 *
 *     seconds = sum over steps of  seconds_per_step + batch * seconds_per_call + macs * seconds_per_mac
 *                                  + (elements of a, b and the result) * seconds_per_element
 *
 * seconds_per_step is that of a whole step on four numbers (planning, scratch, one permutation),
 * seconds_per_call that of a 1 x 1 x 1 gemm, seconds_per_mac that of a 128 x 128 x 128 gemm,
 * seconds_per_element that of permuting an array, each the best of a few short runs on one thread. The last
 * term takes every array as permuted once, which is an upper bound. An estimate to set beside the measured
 * time, not a model of caches.
 */

TN_PUBLIC_BEGIN

typedef struct tn_cpu_rates {
    double seconds_per_step[TN_REALS], seconds_per_call[TN_REALS], seconds_per_mac[TN_REALS],
        seconds_per_element[TN_REALS];
} tn_cpu_rates;

/* Takes some hundredths of a second. */
tn_status tn_cpu_measure(tn_cpu_rates *rates, tn_error *error);
double tn_cpu_seconds(const tn_cpu_rates *rates, const tn_program *program, tn_phase phase, tn_real real);

typedef struct tn_check {
    const char *name, *flow;
    tn_real real;
    tn_phase phase;
    uint64_t macs_predicted, macs_executed;
    uint64_t peak_elements_predicted, peak_elements_executed;
    uint64_t scratch_elements; /* of permutations, apart from the peak; of the whole program */
    double relative_error;     /* against the dense product and what was given */
    double tolerance;          /* the coarser of those that apply */
    double difference_error;   /* against central differences; negative where not taken */
    double seconds_predicted, seconds_executed;
    bool ok;
} tn_check;

typedef struct tn_checks {
    tn_arena arena; /* of names */
    tn_check *item;
    size_t count, capacity;
    bool failed; /* some row is not ok */
} tn_checks;

/* Appends the rows of `program`, made of the trial's weight and tokens (all micro-batches together), in both
 * precisions. */
tn_status tn_check_program(tn_checks *checks, const tn_trial *trial, const tn_program *program,
                           const char *name, const char *flow, const tn_cpu_rates *rates, tn_error *error);
void tn_checks_free(tn_checks *checks);

TN_PUBLIC_END

#endif
