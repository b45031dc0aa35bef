/* Fine-tuning measurements for tests: the laws written anew, and measurements made of them. */
#ifndef TEST_SUPPORT_FINETUNE_H
#define TEST_SUPPORT_FINETUNE_H

#include "finetune/data.h"

#include <stdbool.h>
#include <stdint.h>

/* Uniform in [0, 1), and about normal; `state` is any seed, and moves on. */
double test_uniform(uint64_t *state);
double test_noise(uint64_t *state);

/* Seconds of a step by the law of finetune/law.h, straight from its formula. */
typedef struct test_step_law {
    double fixed, query, g, h, p, m, w;
} test_step_law;
double test_step_seconds(const test_step_law *law, double batch, double sparsity);

/* Where a real step's time may come from, other than from the library's own law. */
typedef enum test_machine {
    TEST_ADDED,    /* fixed + growing */
    TEST_MAXIMUM,  /* the larger of the two */
    TEST_LAUNCHED, /* a host that launches kernels, or a processor */
    TEST_SMOOTH,   /* fourth-power mean */
    TEST_MANY,     /* a dozen operators, each the larger of memory and arithmetic in tiles of 128 tokens */
    TEST_SERIAL,   /* an optimizer after the larger of the two */
    TEST_DECLINE,  /* time per query rises by 5 % at the largest batches */
    TEST_MACHINES
} test_machine;
double test_machine_seconds(test_machine machine, double fixed, double query, double share, double batch,
                            double sparsity);

/* Seconds of a step of a mixture of experts on a fast GPU, kernel by kernel: products in tiles of 128 x 128 on 132
 * processors, at least as long as their operands take from memory, and a host that launches them all and, where it
 * need not wait for the router, runs ahead of the device over the whole step. */
typedef struct test_mixture {
    double layers, width, inner, experts, tokens; /* tokens: of a query */
    double launch_s;
    bool waits; /* the host, for the router in every layer */
} test_mixture;
double test_mixture_seconds(const test_mixture *model, double batch, double sparsity);

#endif
