#include "support/prices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

tn_build test_build(void) {
    tn_build build;
    tn_arena arena = {0};
    assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
    tn_arena_free(&arena);
    return build;
}

uint64_t test_draw(uint64_t *state, uint64_t bound) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % bound;
}

tn_build test_random_build(uint64_t *state) {
    tn_build build = test_build();
    build.rows = 1 + test_draw(state, 4);
    build.columns = 1 + test_draw(state, 4);
    build.reduction = (uint64_t)1 << test_draw(state, 4);
    build.vector = 1 + test_draw(state, 4);
    build.kernels = 1 + test_draw(state, 2);
    build.group = 1 + test_draw(state, 8);
    build.read_ports = 1 + test_draw(state, 2);
    build.blocks = 1 + test_draw(state, 4);
    build.sharing = (uint32_t)test_draw(state, 2);
    build.core_memory = (uint32_t)test_draw(state, 4);
    build.activation_memory = (uint32_t)test_draw(state, 4);
    build.split = (uint32_t)test_draw(state, 4);
    build.layouts = (uint32_t)test_draw(state, 2);
    build.buffers = (uint32_t)test_draw(state, 2);
    build.schedule = (uint32_t)test_draw(state, 4);
    build.placement = test_draw(state, 4) == 0;
    if (test_draw(state, 3) == 0) build.lane_dsp = 1 + test_draw(state, 24);
    build.off_chip_over_bytes = test_draw(state, 3) ? 0 : 50000;
    if (test_draw(state, 3) == 0) build.lane_lut = 100 * test_draw(state, 24);
    build.skew = (uint32_t)test_draw(state, 2);
    return build;
}

tn_workload *test_prepare(const tn_step *step, const tn_device *device, tn_arena *arena) {
    tn_workload *workload;
    tn_error error;
    if (tn_workload_prepare(step, device, arena, &workload, &error) != TN_OK) fail_msg("%s", error.message);
    return workload;
}

tn_price test_price(tn_workload *workload, const tn_build *build) {
    tn_price price;
    tn_error error;
    if (tn_price_step(workload, build, &price, &error) != TN_OK) fail_msg("%s", error.message);
    return price;
}

/* Up to the last member: what pads the struct says nothing. */
void test_same_price(const tn_price *one, const tn_price *other) {
    assert_memory_equal(one, other, offsetof(tn_price, misfits) + sizeof one->misfits);
}

tn_explanation test_explain(tn_workload *workload, const tn_build *build, tn_arena *arena) {
    tn_explanation explanation;
    tn_error error;
    if (tn_price_explain(workload, build, arena, &explanation, &error) != TN_OK)
        fail_msg("%s", error.message);
    return explanation;
}
