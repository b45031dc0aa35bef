/* A design's price is that of step and workload made by hand, whatever price it is made like; a change keeps what it does not
 * name. */
#include "design/design.h"
#include "support/models.h"
#include "support/prices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static tn_design load(const char *const *set, size_t count, const char *device_name, tn_arena *arena) {
    tn_design design = {0};
    tn_device *device;
    assert_int_equal(tn_model_load("atis-2enc", set, count, arena, &design.model, NULL), TN_OK);
    assert_int_equal(tn_device_load(device_name, NULL, 0, arena, &device, NULL), TN_OK);
    assert_int_equal(tn_build_decode(tn_model_build(design.model), arena, &design.build, NULL), TN_OK);
    design.device = device;
    return design;
}

static void same_price(const tn_price *a, const tn_price *b) {
    assert_int_equal(a->cycles_per_step, b->cycles_per_step);
    assert_int_equal(a->on_chip_bytes, b->on_chip_bytes);
    assert_true(a->joules_per_step == b->joules_per_step && a->seconds_per_step == b->seconds_per_step);
    assert_memory_equal(&a->used, &b->used, sizeof a->used);
}

/* By hand: the step is fused by the workload. */
static tn_price price_by_hand(const tn_design *design, tn_arena *arena) {
    tn_step step = test_step_of(design->model, arena);
    tn_workload *workload;
    tn_price price;
    assert_int_equal(tn_workload_prepare(&step, design->device, arena, &workload, NULL), TN_OK);
    assert_int_equal(tn_price_step(workload, &design->build, &price, NULL), TN_OK);
    return price;
}

static void one_price(void **state) {
    (void)state;
    static const char *const boards[] = {"u50@user-area", "u280", "zcu104"};
    static const char *const builds[] = {"build.rows=8", "build.fusion=write-back", "build.group=1",
                                         "build.schedule=parallel", "build.layouts=ideal"};
    tn_arena arena = {0};
    tn_program_cache *cache;
    tn_priced given, priced, alike;
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    const tn_design first = load(NULL, 0, boards[0], &arena);
    assert_int_equal(tn_design_price(&first, NULL, cache, &arena, &given, NULL), TN_OK);
    const tn_price by_hand = price_by_hand(&first, &arena);
    same_price(&given.price, &by_hand);
    for (size_t d = 0; d < 3; d++)
        for (size_t b = 0; b < 5; b++) {
            tn_design design = first, changed;
            tn_price alone;
            design.device = load(NULL, 0, boards[d], &arena).device;
            assert_int_equal(tn_design_change(&design, &builds[b], 1, &arena, &changed, NULL), TN_OK);
            assert_ptr_equal(changed.model, first.model);
            assert_int_equal(tn_design_price(&changed, NULL, cache, &arena, &priced, NULL), TN_OK);
            assert_int_equal(tn_design_price(&changed, &given, cache, &arena, &alike, NULL), TN_OK);
            assert_int_equal(tn_design_price_alone(&changed, &alone, NULL), TN_OK);
            const tn_price hand = price_by_hand(&changed, &arena);
            same_price(&priced.price, &hand);
            same_price(&alike.price, &hand);
            same_price(&alone, &hand);
            assert_ptr_equal(alike.given, given.given);
            assert_int_equal(priced.step->operations < priced.given->operations, b == 1);
        }
    /* Without a device there is the step alone. */
    tn_design none = first;
    none.device = NULL;
    assert_int_equal(tn_design_price(&none, NULL, cache, &arena, &priced, NULL), TN_OK);
    assert_int_equal(priced.step->parameters, given.step->parameters);
    assert_null(priced.workload);
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
}

static void a_change_keeps_the_rest(void **state) {
    (void)state;
    static const char *const given[] = {"weights.square.rank=6", "layers.encoder1.query.rank=3",
                                        "build.vector=2"};
    static const char *const set[] = {"batch=2", "build.rows=8", "clock_MHz=150"};
    static const char *const whole[] = {"weights.square.rank=6", "layers.encoder1.query.rank=3",
                                        "build.vector=2", "batch=2", "build.rows=8"};
    tn_arena arena = {0};
    tn_design changed, design = load(given, 3, "u50@user-area", &arena);
    /* A flow that was settled, as nobody wrote it. */
    tn_model_weight_find(design.model, "square")->flow = TN_FLOW_BIDIRECTIONAL;
    assert_int_equal(tn_design_change(&design, set, 3, &arena, &changed, NULL), TN_OK);
    tn_design expected = load(whole, 5, "u50@user-area", &arena);
    tn_model_weight_find(expected.model, "square")->flow = TN_FLOW_BIDIRECTIONAL;
    const tn_device *slow = changed.device;
    assert_true(tn_device_clock_MHz(slow) == 150 && tn_device_clock_MHz(design.device) != 150);
    assert_string_equal(tn_device_name(slow), "u50@user-area");
    expected.device = slow;
    assert_memory_equal(&changed.build, &expected.build, sizeof changed.build);
    const tn_price a = price_by_hand(&changed, &arena), b = price_by_hand(&expected, &arena);
    same_price(&a, &b);
    assert_int_equal(design.build.rows == 8, false);
    /* The flow follows a key that names it. */
    static const char *const flow[] = {"weights.square.flow=optimal"};
    assert_int_equal(tn_design_change(&changed, flow, 1, &arena, &changed, NULL), TN_OK);
    assert_int_equal(tn_model_weight_find(changed.model, "square")->flow, TN_FLOW_OPTIMAL);
    assert_int_equal(tn_model_weight_find(changed.model, "square")->weight.rank[1], 6);
    tn_arena_free(&arena);
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *set, *because;
        unsigned column;
    } wrong[] = {{"build.rows=0", "rows", 12},
                 {"build.rowz=4", "rowz", 7},
                 {"weights.square.rank=0", "rank", 21},
                 {"weights.squash.rank=4", "squash", 9},
                 {"clock_MHz=fast", "clock_MHz", 11},
                 {"inherit=u280", "belongs to the device's file", 1},
                 {"variant=whole", "was asked for as u50@user-area", 1}};
    tn_arena arena = {0};
    const tn_design design = load(NULL, 0, "u50@user-area", &arena);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_design changed = design;
        tn_error error = {0};
        assert_int_equal(tn_design_change(&design, &wrong[i].set, 1, &arena, &changed, &error), TN_INPUT);
        if (!strstr(error.message, wrong[i].because) || error.column != wrong[i].column)
            fail_msg("%s: column %u, %s", wrong[i].set, error.column, error.message);
        assert_ptr_equal(changed.model, design.model);
    }
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_price),
        cmocka_unit_test(a_change_keeps_the_rest),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, test_models_end);
}
