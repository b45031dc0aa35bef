/* Small models that together use every kind of layer in every way that the tests care for. */
#ifndef TEST_SUPPORT_MODELS_H
#define TEST_SUPPORT_MODELS_H

#include "model/model.h"

typedef struct test_model {
    const char *name, *text; /* YAML */
} test_model;

/* transformer: batch 2, 4 tokens, width 6, TTM table, TT and dense weights, two blocks, two losses.
 * branches: cross attention from the first token, a residual of one value twice, values
 *   that only layers read which pass their gradient on as it is, a loss on a tanh, momentum.
 * features: values from outside, whose layers need no input gradient; adam.
 * rectified: RMS norms, one of them on values from outside, and ReLUs; updates at write-back.
 * experts: mixtures of experts, with a capacity and without, some of them in cores, and selective state spaces.
 * decoder: grouped-query attention under a causal mask, rotary positions, a gated feed-forward. */
extern const test_model test_models[];
enum { TEST_MODELS = 7 };

/* The model of a YAML text, of `test_models` by name, or of the source tree's models/NAME.yaml with `set`
 * applied; fails the test where it can't be made. */
tn_model *test_model_of(const char *text, tn_arena *arena);
tn_model *test_model_named(const char *name, tn_arena *arena);
tn_model *test_model_loaded(const char *name, const char *set, tn_arena *arena);

/* Its step, by a cache that lives until test_models_end. */
tn_step test_step_of(const tn_model *model, tn_arena *arena);
tn_step test_sort_of(const tn_model *model, uint32_t sort, tn_arena *arena);
/* Tears down a group of tests, or does its part of it. */
int test_models_end(void **state);

/* Position of a layer by name; fails the test where there is none. */
uint32_t test_layer(const tn_step *step, const char *name);

#endif
