/* The flow that a device does fastest, against every flow priced as the model's own. */
#include "design/changes.h"
#include "price/price.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static tn_price price_of(const tn_model *model, const tn_device *device, const tn_build *build,
                         tn_arena *arena) {
    tn_step step = test_step_of(model, arena);
    tn_workload *workload;
    tn_price price;
    assert_int_equal(tn_workload_prepare(&step, device, arena, &workload, NULL), TN_OK);
    assert_int_equal(tn_price_step(workload, build, &price, NULL), TN_OK);
    return price;
}

static bool is_candidate(int flow) {
    return flow < TN_FLOWS || tn_flow_is_cheapest((tn_flow_name)flow);
}

static void set_flow(tn_model *model, int flow) {
    tn_model_weight_find(model, "square")->flow = (tn_flow_name)flow;
}

static void check_settled(const char *device_name, uint64_t rows, uint64_t reduction, uint32_t split,
                          bool any_fits, tn_flow_name *flow_settled) {
    tn_arena arena = {0};
    tn_device *device;
    tn_build build;
    uint64_t least = UINT64_MAX;
    tn_model *model = test_model_loaded("atis-2enc", "weights.square.flow=fastest", &arena);
    assert_int_equal(tn_device_load(device_name, NULL, 0, &arena, &device, NULL), TN_OK);
    assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
    build.rows = rows;
    build.reduction = reduction;
    build.split = split;
    assert_true(tn_flows_are_open(model));
    tn_design design = {.model = model, .device = device, .build = build};
    assert_int_equal(tn_flows_settle(&design, NULL), TN_OK);
    assert_false(tn_flows_are_open(model));
    const tn_price settled = price_of(model, device, &build, &arena);
    assert_int_equal(settled.misfits == 0, any_fits);
    *flow_settled = tn_model_weight_find(model, "square")->flow;
    for (int flow = 0; flow < TN_FLOW_NAMES; flow++) {
        if (!is_candidate(flow)) continue;
        set_flow(model, flow);
        const tn_price price = price_of(model, device, &build, &arena);
        if ((price.misfits == 0) == any_fits && price.cycles_per_step < least) least = price.cycles_per_step;
    }
    assert_int_equal(settled.cycles_per_step, least);
    tn_arena_free(&arena);
}

static void no_other_flow_is_faster(void **state) {
    (void)state;
    tn_flow_name wide, banks, none_fits;
    check_settled("u50@user-area", 4, 4, TN_SPLIT_RESHAPE, true, &wide);
    check_settled("u50@user-area", 8, 8, TN_SPLIT_BANKS, true, &banks);
    check_settled("pynq-z2", 4, 4, TN_SPLIT_RESHAPE, false, &none_fits);
    /* In wide words a tree wins that costs more MACs than `optimal` and fewer than `bidirectional`. */
    assert_true(tn_flow_is_cheapest(wide));
    assert_int_equal(banks, TN_FLOW_OPTIMAL);
}

/* Two weights that ask, one of them looked up: changing either alone makes nothing faster. */
static void several_weights_settle(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_device *device;
    tn_build build;
    const char *sets[] = {"weights.square.flow=fastest", "weights.table.flow=fastest"};
    tn_model *model;
    assert_int_equal(tn_model_load("atis-2enc", sets, 2, &arena, &model, NULL), TN_OK);
    assert_int_equal(tn_device_load("u50@user-area", NULL, 0, &arena, &device, NULL), TN_OK);
    assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
    tn_design design = {.model = model, .device = device, .build = build};
    assert_int_equal(tn_flows_settle(&design, NULL), TN_OK);
    assert_false(tn_flows_are_open(model));
    const uint64_t cycles = price_of(model, device, &build, &arena).cycles_per_step;
    for (size_t i = 0; i < tn_model_weights(model); i++) {
        tn_model_weight *weight = tn_model_weight_at(model, i);
        const tn_flow_name settled = weight->flow;
        if (strcmp(weight->name, "square") != 0 && strcmp(weight->name, "table") != 0) continue;
        for (int flow = 0; flow < TN_FLOW_NAMES; flow++) {
            bool looked_up = strcmp(weight->name, "table") == 0;
            if (looked_up ? flow != TN_FLOW_RIGHT_TO_LEFT && flow != TN_FLOW_OPTIMAL : !is_candidate(flow))
                continue;
            weight->flow = (tn_flow_name)flow;
            assert_true(price_of(model, device, &build, &arena).cycles_per_step >= cycles);
        }
        weight->flow = settled;
    }
    tn_arena_free(&arena);
}

/* What nobody has settled is no step. */
static void an_open_flow_is_refused(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_program_cache *cache;
    tn_step step;
    tn_error error;
    tn_model *model = test_model_loaded("atis-2enc", "weights.square.flow=fastest", &arena);
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    assert_int_equal(tn_step_build(model, cache, &arena, &step, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "fastest"));
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_other_flow_is_faster),
        cmocka_unit_test(several_weights_settle),
        cmocka_unit_test(an_open_flow_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, test_models_end);
}
