#include "base/random.h"

#include "base/memory.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

struct tn_random {
    gsl_rng gsl; /* its state follows this struct: GSL's own allocation would go past base/memory.h */
};

tn_status tn_random_open(uint64_t seed, tn_random **random, tn_error *error) {
    unsigned char *bytes = NULL;
    *random = NULL;
    TN_TRY(tn_alloc(1, sizeof **random + gsl_rng_mt19937->size, &bytes, error));
    tn_random *made = (tn_random *)(void *)bytes;
    made->gsl = (gsl_rng){.type = gsl_rng_mt19937, .state = bytes + sizeof *made};
    gsl_rng_set(&made->gsl, (unsigned long)seed);
    *random = made;
    return TN_OK;
}

void tn_random_close(tn_random *random) {
    tn_free(random);
}

uint32_t tn_random_below(tn_random *random, uint32_t below) {
    return (uint32_t)gsl_rng_uniform_int(&random->gsl, below);
}

double tn_random_normal(tn_random *random) {
    return gsl_ran_gaussian(&random->gsl, 1.0);
}

void tn_random_shuffle(tn_random *random, void *things, size_t count, size_t size) {
    gsl_ran_shuffle(&random->gsl, things, count, size);
}

tn_status tn_random_fill_normal(uint64_t seed, double *values, uint64_t count, tn_error *error) {
    tn_random *random;
    TN_TRY(tn_random_open(seed, &random, error));
    for (uint64_t i = 0; i < count; i++) values[i] = gsl_ran_gaussian_ziggurat(&random->gsl, 1.0);
    tn_random_close(random);
    return TN_OK;
}
