/* What generated hardware is predicted to take is what the price of the step says of the layer: both follow from the
 * same layouts and the same formula of a product's issues. */
#include "base/file.h"
#include "hardware/workload.h"
#include "model/model.h"
#include "rtl/generate.h"
#include "support/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_arena arena;

/* Operation by operation of the layer, as tn_price_work leaves them; products and updates of its cores. */
static uint64_t priced_cycles(const tn_step *step, const tn_device *device, const tn_build *build,
                              const char *layer) {
    tn_workload *workload;
    tn_plan *plan;
    tn_work_price price;
    uint64_t sum = 0;
    assert_int_equal(tn_workload_prepare(step, device, &arena, &workload, NULL), TN_OK);
    assert_int_equal(tn_workload_plan(workload, build, &plan, NULL), TN_OK);
    assert_int_equal(tn_plan_lay(workload, plan, build, NULL), TN_OK);
    assert_int_equal(tn_price_work(workload, plan, build, &price, NULL), TN_OK);
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *of = &step->operation[i];
        bool update = of->kind == TN_OP_UPDATE_SGD && step->array[of->reads[0]].is_core;
        if (strcmp(step->layer[of->layer].name, layer) == 0 && (of->program_step || update))
            sum += workload->cycles[i];
    }
    return sum;
}

static void price_is_prediction(void **state) {
    (void)state;
    static const struct {
        const char *model, *layer;
        uint64_t rows, columns, reduction;
        tn_array_split split;
    } cases[] = {
        {"atis-2enc", "encoder1.query", 4, 4, 4, TN_SPLIT_RESHAPE},
        {"atis-2enc", "encoder2.narrow", 8, 4, 8, TN_SPLIT_RESHAPE},
        {"atis-2enc", "encoder1.value", 4, 4, 4, TN_SPLIT_BANKS},
        {"atis-2enc", "encoder1.output", 4, 4, 2, TN_SPLIT_AUTO},
        {"atis-2enc", "encoder2.widen", 2, 2, 4, TN_SPLIT_PARTITION},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        tn_model *model;
        tn_program_cache *cache;
        tn_device *device;
        tn_step step;
        tn_build build;
        tn_rtl_answer answer;
        tn_error error;
        char folder[] = "priced-XXXXXX", command[64];
        assert_int_equal(tn_model_load(cases[c].model, NULL, 0, &arena, &model, NULL), TN_OK);
        assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
        assert_int_equal(tn_step_build(model, cache, &arena, &step, NULL), TN_OK);
        assert_int_equal(tn_device_load("u50@user-area", NULL, 0, &arena, &device, NULL), TN_OK);
        assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
        build.layouts = TN_LAID_AS_FOUND;
        build.rows = cases[c].rows;
        build.columns = cases[c].columns;
        build.reduction = cases[c].reduction;
        build.split = (uint32_t)cases[c].split;
        const tn_rtl_request request = {.step = &step,
                                        .device = device,
                                        .build = &build,
                                        .layer = cases[c].layer,
                                        .folder = folder,
                                        .seed = 1,
                                        .update = true,
                                        .rate = 0.01};
        assert_non_null(mkdtemp(folder));
        if (tn_rtl_generate(&request, &arena, &answer, &error) != TN_OK) fail_msg("%s", error.message);
        assert_int_equal(answer.cycles_predicted, priced_cycles(&step, device, &build, cases[c].layer));
        print_message("%s on %" PRIu64 "x%" PRIu64 "x%" PRIu64 ": %" PRIu64 " cycles\n", cases[c].layer,
                      build.rows, build.columns, build.reduction, answer.cycles_predicted);
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        test_run run = test_shell(command);
        test_run_free(&run);
        tn_program_cache_free(cache);
    }
}

static int tear_down(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(price_is_prediction)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
