/* Prices and explanations that must succeed, for tests. */
#ifndef TEST_SUPPORT_PRICES_H
#define TEST_SUPPORT_PRICES_H

#include "design/explain.h"

tn_build test_build(void); /* the defaults */
/* Any schedule, style, placement; small parallelism; the same state gives the same build. */
tn_build test_random_build(uint64_t *state);
uint64_t test_draw(uint64_t *state, uint64_t bound);

tn_workload *test_prepare(const tn_step *step, const tn_device *device, tn_arena *arena);
tn_price test_price(tn_workload *workload, const tn_build *build);
void test_same_price(const tn_price *one, const tn_price *other);
tn_explanation test_explain(tn_workload *workload, const tn_build *build, tn_arena *arena);

#endif
