/* A linear layer with values: what a flow is executed on, and what it must give. */
#ifndef TN_RUN_TRIAL_H
#define TN_RUN_TRIAL_H

#include "base/arena.h"
#include "base/error.h"
#include "run/reference.h"
#include "tensor/weight.h"

#include <stdint.h>

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

/* Values drawn from a seeded generator (GSL's mt19937, standard normal): X, dY, and cores scaled such that an
 * element of W has variance 1/N. Everything lives in `arena`. */
tn_status tn_trial_draw(const tn_weight *weight, uint64_t tokens, uint64_t seed, tn_arena *arena,
                        tn_trial *trial, tn_error *error);
/* `count` standard normal numbers of that seed. */
tn_status tn_draw_normal(uint64_t seed, double *values, uint64_t count, tn_error *error);

#endif
