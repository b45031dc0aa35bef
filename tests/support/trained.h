/* A few training steps of a model on one made-up example, executed. */
#ifndef TEST_SUPPORT_TRAINED_H
#define TEST_SUPPORT_TRAINED_H

#include "train/trainer.h"

#include <stdint.h>

typedef struct test_trained {
    uint64_t parameters;         /* elements */
    uint64_t macs, forward_macs; /* of a step; of a forward pass alone */
    uint64_t peak;               /* live elements */
    double loss;                 /* of the last step, before its update */
    double *values;              /* [parameters] behind the steps; free() */
} test_trained;

/* `steps` steps at rate 0.1 and a forward pass; asserts that multiply-adds and peak are as predicted. `watcher` (may be
 * NULL) sees all of them. */
test_trained test_train(const tn_model *model, tn_real real, int steps, tn_trainer_watcher watcher,
                        void *user);

/* The same at a share of a run's progress; *wide: the share of operands that a precision schedule made wide in the steps. */
test_trained test_train_at(const tn_model *model, tn_real real, int steps, double progress, double *wide);

/* sqrt(sum (a - b)^2 / sum b^2) over all values. */
double test_trained_distance(const test_trained *a, const test_trained *b);

#endif
