/* What generated hardware is predicted to take is what the price of the step says, operation by operation, of layers and
 * of whole steps: both follow from the same layouts and the same formula of issues. */
#include "base/file.h"
#include "model/model.h"
#include "model/train_settings.h"
#include "price/work.h"
#include "rtl/generate.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tn_arena arena;

typedef struct {
    const char *model, *layer; /* "": the whole step */
    uint64_t rows, columns, reduction, vector;
    tn_array_split split;
    uint64_t lane_dsp, lane_lut;
    tn_skewing skew;
    tn_array_kind array;
} priced_case;

typedef struct {
    tn_model *model;
    tn_program_cache *cache;
    tn_device *device;
    tn_step step;
    tn_build build;
    tn_train_settings settings;
    tn_workload *workload; /* with cycles by operation */
} priced;

static void price(const priced_case *sample, const char *model, priced *fixture) {
    tn_plan *plan;
    tn_work_price price;
    assert_int_equal(tn_model_load(model, NULL, 0, &arena, &fixture->model, NULL), TN_OK);
    assert_int_equal(tn_program_cache_new(&fixture->cache, NULL), TN_OK);
    assert_int_equal(tn_step_build(fixture->model, fixture->cache, &arena, &fixture->step, NULL), TN_OK);
    assert_int_equal(tn_device_load("u50@user-area", NULL, 0, &arena, &fixture->device, NULL), TN_OK);
    assert_int_equal(tn_build_decode(NULL, &arena, &fixture->build, NULL), TN_OK);
    assert_int_equal(
        tn_train_settings_decode(tn_model_training(fixture->model), &arena, &fixture->settings, NULL), TN_OK);
    fixture->build.layouts = TN_LAID_AS_FOUND;
    fixture->build.rows = sample->rows;
    fixture->build.columns = sample->columns;
    fixture->build.reduction = sample->reduction;
    fixture->build.vector = sample->vector;
    fixture->build.split = (uint32_t)sample->split;
    fixture->build.lane_dsp = sample->lane_dsp;
    fixture->build.lane_lut = sample->lane_lut;
    fixture->build.skew = (uint32_t)sample->skew;
    fixture->build.array = sample->array;
    assert_int_equal(tn_workload_prepare(&fixture->step, fixture->device, &arena, &fixture->workload, NULL),
                     TN_OK);
    assert_int_equal(tn_workload_plan(fixture->workload, &fixture->build, &plan, NULL), TN_OK);
    assert_int_equal(tn_plan_lay(fixture->workload, plan, &fixture->build, NULL), TN_OK);
    assert_int_equal(tn_price_work(fixture->workload, plan, &fixture->build, &price, NULL), TN_OK);
}

static bool is_of_layer(const tn_step *step, const tn_operation *operation, const char *layer) {
    bool update = operation->kind == TN_OP_UPDATE_SGD && step->array[operation->reads[0]].is_core;
    return !layer[0] ||
           (strcmp(step->layer[operation->layer].name, layer) == 0 && (operation->program_step || update));
}

/* What is generated takes, operation by operation, what the step's price says. */
static void check(const priced_case *sample, const char *model) {
    priced made;
    tn_rtl_answer answer;
    tn_error error;
    char folder[] = "priced-XXXXXX", command[64];
    uint32_t line = 0;
    price(sample, model, &made);
    const tn_rtl_request request = {.step = &made.step,
                                    .device = made.device,
                                    .build = &made.build,
                                    .layer = sample->layer[0] ? sample->layer : NULL,
                                    .folder = folder,
                                    .seed = 1,
                                    .update = true,
                                    .rate = 0.01,
                                    .model = made.model,
                                    .settings = &made.settings};
    assert_non_null(mkdtemp(folder));
    if (tn_rtl_generate(&request, &arena, &answer, &error) != TN_OK) fail_msg("%s", error.message);
    for (uint32_t i = 0; i < made.step.operations; i++) {
        if (!is_of_layer(&made.step, &made.step.operation[i], sample->layer)) continue;
        if (answer.operation[line].cycles_predicted != made.workload->cycles[i])
            fail_msg("%s, operation %" PRIu32 " (%s %s): generated %" PRIu64 ", priced %" PRIu64,
                     sample->model, i, answer.operation[line].kind, answer.operation[line].name,
                     answer.operation[line].cycles_predicted, made.workload->cycles[i]);
        line++;
    }
    assert_int_equal(line, answer.operations);
    print_message("%s %s on %" PRIu64 "x%" PRIu64 "x%" PRIu64 ", %" PRIu64 " lanes: %" PRIu64
                  " cycles in %" PRIu32 " operations\n",
                  sample->model, sample->layer, sample->rows, sample->columns, sample->reduction,
                  sample->vector, answer.cycles_predicted, answer.operations);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    test_run run = test_shell(command);
    test_run_free(&run);
    tn_program_cache_free(made.cache);
}

static void layers(void **state) {
    (void)state;
    static const priced_case cases[] = {
        {"atis-2enc", "encoder1.query", 4, 4, 4, 4, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"atis-2enc", "encoder2.narrow", 8, 4, 8, 4, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"atis-2enc", "encoder1.value", 4, 4, 4, 4, TN_SPLIT_BANKS, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"atis-2enc", "encoder1.output", 4, 4, 2, 4, TN_SPLIT_AUTO, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"atis-2enc", "encoder2.widen", 2, 2, 4, 4, TN_SPLIT_PARTITION, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"atis-2enc", "encoder1.query", 4, 4, 1, 4, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS,
         TN_ARRAY_SYSTOLIC},
        {"atis-2enc", "encoder2.narrow", 8, 4, 1, 4, TN_SPLIT_BANKS, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_SYSTOLIC},
        {"atis-2enc", "encoder1.value", 4, 16, 1, 4, TN_SPLIT_PARTITION, 0, 0, TN_SKEW_TOKENS,
         TN_ARRAY_SYSTOLIC},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) check(&cases[c], cases[c].model);
}

/* Look-ups in cores token by token, attention, every vector kernel, updates. */
static void steps(void **state) {
    (void)state;
    static const priced_case cases[] = {
        {"tiny-tt", "", 4, 4, 4, 4, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-tt", "", 2, 2, 1, 2, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-tt", "", 2, 4, 2, 8, TN_SPLIT_AUTO, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-ttm", "", 4, 4, 4, 4, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-ttm", "", 8, 2, 4, 2, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-dense", "", 4, 4, 2, 16, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-tt", "", 4, 4, 4, 4, TN_SPLIT_PARTITION, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-tt", "", 4, 4, 4, 4, TN_SPLIT_BANKS, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-tt", "", 2, 4, 2, 8, TN_SPLIT_BANKS, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-ttm", "", 8, 2, 4, 2, TN_SPLIT_PARTITION, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-ttm", "", 4, 4, 4, 4, TN_SPLIT_BANKS, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-dense", "", 16, 8, 16, 16, TN_SPLIT_PARTITION, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-dense", "", 16, 8, 16, 16, TN_SPLIT_AUTO, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-ttm", "", 16, 8, 16, 16, TN_SPLIT_AUTO, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-ttm", "", 4, 4, 4, 16, TN_SPLIT_BANKS, 6, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-tt", "", 2, 4, 2, 8, TN_SPLIT_RESHAPE, 3, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-dense", "", 4, 4, 2, 16, TN_SPLIT_PARTITION, 12, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-ttm", "", 4, 4, 4, 16, TN_SPLIT_BANKS, 0, 700, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-tt", "", 4, 4, 4, 32, TN_SPLIT_BANKS, 5, 1000, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"tiny-ttm", "", 2, 2, 2, 4, TN_SPLIT_BANKS, 0, 0, TN_SKEW_FEATURES, TN_ARRAY_LANES},
        {"tiny-ttm", "", 2, 4, 2, 2, TN_SPLIT_BANKS, 0, 0, TN_SKEW_FEATURES, TN_ARRAY_LANES},
        {"tiny-tt", "", 4, 2, 2, 8, TN_SPLIT_BANKS, 0, 700, TN_SKEW_FEATURES, TN_ARRAY_LANES},
        {"tiny-dense", "", 4, 4, 2, 4, TN_SPLIT_BANKS, 0, 0, TN_SKEW_FEATURES, TN_ARRAY_LANES},
        {"tiny-tt", "", 4, 4, 1, 4, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_SYSTOLIC},
        {"tiny-ttm", "", 2, 8, 1, 4, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_SYSTOLIC},
        {"tiny-dense", "", 8, 2, 1, 2, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_SYSTOLIC},
        {"tiny-tt", "", 8, 4, 1, 8, TN_SPLIT_BANKS, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_SYSTOLIC},
        {"tiny-ttm", "", 4, 4, 1, 4, TN_SPLIT_PARTITION, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_SYSTOLIC},
        {"tiny-dense", "", 4, 8, 1, 4, TN_SPLIT_AUTO, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_SYSTOLIC},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char model[2048];
        snprintf(model, sizeof model, "%s/oracles/training/%.11s/model.yaml", TEST_SHARED_DIR,
                 cases[c].model);
        if (access(model, R_OK) != 0) {
            print_message("SKIPPED: %s is absent\n", model);
            skip();
        }
        check(&cases[c], model);
    }
}

static void kernels(void **state) {
    (void)state;
    static const priced_case cases[] = {
        {"kernels", "", 2, 2, 1, 4, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"kernels", "", 4, 8, 2, 16, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_LANES},
        {"kernels", "", 2, 2, 1, 4, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS, TN_ARRAY_SYSTOLIC}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        check(&cases[c], test_source("tests/rtl/data/kernels.yaml"));
    const priced_case gated = {"gated",       "", 2, 2, 1, 4, TN_SPLIT_RESHAPE, 0, 0, TN_SKEW_TOKENS,
                               TN_ARRAY_LANES};
    check(&gated, test_source("tests/rtl/data/gated.yaml"));
}

static int tear_down(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers), cmocka_unit_test(steps),
                                       cmocka_unit_test(kernels)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
