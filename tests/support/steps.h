/* Training steps made for tests of the hardware room, without the model room's layers. */
#ifndef TEST_SUPPORT_STEPS_H
#define TEST_SUPPORT_STEPS_H

#include "model/step.h"

#include <stdbool.h>
#include <stdint.h>

/* A step being put together: arrays and operations get their lifetimes and dependencies from the order of the
 * calls. Everything lives in `arena`. */
typedef struct test_step {
    tn_step step;
    tn_arena *arena;
    uint32_t *maker; /* of each array: operation that wrote it last, UINT32_MAX: none */
    uint32_t layer;  /* of what is added from now on */
} test_step;

void test_step_begin(test_step *made, const char *name, tn_arena *arena);
uint32_t test_step_array(test_step *made, tn_array_role role, uint64_t elements, bool is_core);
/* left (rows x reduction) times right (reduction x columns) into result. */
void test_step_product(test_step *made, tn_phase phase, uint32_t left, uint32_t right, uint32_t result,
                       uint64_t rows, uint64_t reduction, uint64_t columns);
/* `second` may be UINT32_MAX. */
void test_step_vector(test_step *made, tn_operation_kind kind, tn_phase phase, uint32_t first,
                      uint32_t second, uint32_t result, uint64_t rows, uint64_t columns);
/* Lifetimes: parameters and optimizer state throughout, the rest from first to last use. */
tn_step *test_step_end(test_step *made);

/* `layers` tensor-train linear layers of 768 x 768 as (12,8,8) x (8,8,12), 32 tokens, bidirectional flow,
 * with bias, GELU and update: about 30 operations a layer. */
tn_step *test_step_trains(uint32_t layers, uint64_t rank, tn_arena *arena);

/* A small step of `operations` random operations; the same seed gives the same step. */
tn_step *test_step_random(uint64_t seed, uint32_t operations, tn_arena *arena);

#endif
