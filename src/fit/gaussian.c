#include "fit/gaussian.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

tn_status tn_gaussian(uint64_t seed, uint64_t count, double *values, tn_error *error) {
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    gsl_rng *generator = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_set_error_handler(handler);
    if (!generator) return tn_fail(error, TN_MEMORY, "no memory for a random number generator");
    gsl_rng_set(generator, (unsigned long)seed);
    for (uint64_t i = 0; i < count; i++) values[i] = gsl_ran_gaussian_ziggurat(generator, 1.0);
    gsl_rng_free(generator);
    return TN_OK;
}
