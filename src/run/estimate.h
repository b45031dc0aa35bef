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
#ifndef TN_RUN_ESTIMATE_H
#define TN_RUN_ESTIMATE_H

#include "base/error.h"
#include "base/public.h"
#include "flow/program.h"
#include "run/product.h"

TN_PUBLIC_BEGIN

typedef struct tn_cpu_rates {
    double seconds_per_step[TN_REALS], seconds_per_call[TN_REALS], seconds_per_mac[TN_REALS],
        seconds_per_element[TN_REALS];
} tn_cpu_rates;

/* Takes some hundredths of a second. */
tn_status tn_cpu_measure(tn_cpu_rates *rates, tn_error *error);
double tn_cpu_seconds(const tn_cpu_rates *rates, const tn_program *program, tn_phase phase, tn_real real);

TN_PUBLIC_END

#endif
