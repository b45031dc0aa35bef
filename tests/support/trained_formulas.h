/* A trainer of a small model whose loss a test writes down as formulas: made from a model's text, stepped, and its gradients
 * against finite differences of the formulas. */
#ifndef TEST_SUPPORT_TRAINED_FORMULAS_H
#define TEST_SUPPORT_TRAINED_FORMULAS_H

#include "train/trainer.h"

#include <stddef.h>
#include <stdint.h>

/* One example without a class, all tokens labelled. */
typedef struct test_formulas {
    const uint32_t *token;
    const int32_t *label;
    uint32_t tokens;
    double (*loss)(const tn_trainer *trainer); /* by formulas, from the parameters as they stand */
} test_formulas;

/* With drawn parameters and the settings that the text has. The settings stand until the next one is made. */
tn_trainer *test_trainer(const char *model_text, const char *const *set, size_t sets, tn_real real,
                         tn_arena *arena);
/* The parameter of that name, in float64. */
const double *test_parameter(const tn_trainer *trainer, const char *name);
/* y = w x + bias; bias NULL: none. */
void test_affine(const double *w, const double *bias, const double *x, int rows, int columns, double *y);
/* One step, its counts as predicted; returns the loss. */
double test_step(tn_trainer *trainer, const test_formulas *formulas, double rate);
/* One step of rate 1 moves every parameter by its gradient: within 1e-8 of the slope of the loss. In float64. `user` goes to
 * both, which say how a step is done and what its loss is. */
void test_slopes(tn_trainer *trainer, void (*step)(tn_trainer *trainer, void *user),
                 double (*loss)(const tn_trainer *trainer, void *user), void *user, const char *name);
/* The same of the formulas. */
void test_gradients(tn_trainer *trainer, const test_formulas *formulas, const char *name);

#endif
