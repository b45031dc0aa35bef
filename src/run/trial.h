/* A layer with values: what a flow is executed on, and what it must give. */
#ifndef TN_RUN_TRIAL_H
#define TN_RUN_TRIAL_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "run/reference.h"
#include "tensor/weight.h"

#include <stdint.h>

TN_PUBLIC_BEGIN

/* Results that came with the values, from a file; NULL where there is none. */
typedef struct tn_given {
    const double *y, *dx;
    const double **dcore; /* [cores]; NULL or entries that may be NULL */
    double tolerance;     /* relative; from the coarsest number type among the files */
} tn_given;

typedef struct tn_trial {
    const char *name; /* for people */
    tn_weight weight;
    uint64_t tokens;
    uint32_t cores;
    const double **input;   /* [cores + 2]: X, the cores, dY, as a program takes them */
    tn_reference reference; /* from the dense matrix */
    tn_given given;
    uint64_t seed; /* of drawn values */
} tn_trial;

/* Standard normal values of that seed (base/random.h): X, dY, and cores scaled such that an
 * element of W has variance 1/N. Everything lives in `arena`. */
tn_status tn_trial_draw(const tn_weight *weight, uint64_t tokens, uint64_t seed, tn_arena *arena,
                        tn_trial *trial, tn_error *error);
/* The same for a look-up of `tokens` drawn words in a table W that is kept in cores (step/program_cache.h): the
 * inputs are the cores, cut at the words, then dY; X is the first of them. Y must be the words' rows of W,
 * and each gradient the contraction of dY with the other cut cores by plain loops. */
tn_status tn_trial_draw_lookup(const tn_weight *weight, uint64_t tokens, uint64_t seed, tn_arena *arena,
                               tn_trial *trial, tn_error *error);
/* The standard deviation of drawn cores. */
double tn_trial_core_scale(const tn_weight *weight, uint64_t columns, uint32_t cores);
/* *values = `elements` numbers of that seed, times `scale`. */
tn_status tn_trial_draw_values(uint64_t seed, uint64_t elements, double scale, tn_arena *arena,
                               double **values, tn_error *error);

TN_PUBLIC_END

#endif
