/* Requests for memory of a sweep fail in turn, all of the first hundred and then one in 41, each on its
 * own: each gives TN_MEMORY, nothing leaks, and the folder stays usable. */
#include "base/memory.h"
#include "front/knee.h"
#include "results/outside.h"
#include "results/recommendation.h"
#include "results/remedy.h"
#include "results/result.h"
#include "results/verdict.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64];

static tn_status whole_sweep(tn_error *error) {
    const tn_sweep_options options = {.threads = 1, .resume = true};
    tn_arena arena = {0};
    tn_space space;
    tn_summary summary;
    tn_result result;
    tn_status status =
        tn_space_load(test_source("tests/space/data/mini.yaml"), NULL, 0, NULL, &arena, &space, error);
    if (status == TN_OK) status = tn_sweep_folder(&space, &options, folder, NULL, &summary, error);
    if (status == TN_OK) status = tn_result_load(folder, &arena, &result, error);
    if (status == TN_OK) assert_true(result.front_count > 0 && result.recommended_count > 1);
    tn_arena_free(&arena);
    return status;
}

static void requests_fail_in_turn(void **state) {
    (void)state;
    /* A folder in memory where there is one: every sweep syncs its files to disk. */
    const char *root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/tenfold-memory-XXXXXX", root);
    assert_non_null(mkdtemp(folder));
    bool ended = false;
    for (long n = 1; !ended; n += n < 100 ? 1 : 41) {
        tn_error error = {0};
        tn_memory_fail_at(n);
        tn_status status = whole_sweep(&error);
        ended = tn_memory_requests() < n;
        tn_memory_fail_at(0);
        if (ended)
            assert_int_equal(status, TN_OK);
        else if (status != TN_MEMORY)
            print_error("request %ld: status %d, %s\n", n, (int)status, error.message);
        if (!ended) assert_int_equal(status, TN_MEMORY);
    }
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* What stands behind a recommendation and a comparison, on the least of spaces. */
static tn_status recommendation(tn_error *error) {
    enum { DESIGNS = 16, CLOSE = 2 };
    tn_arena arena = {0};
    tn_space space;
    tn_misses misses;
    tn_robustness robustness;
    tn_claims claims;
    tn_verdicts verdicts;
    tn_device *device;
    tn_roofline *roofline;
    tn_comparison_row row[3];
    uint64_t id[DESIGNS];
    tn_model *base;
    tn_searched_builds builds;
    tn_compared_step compared = {.kind = TN_SYSTEM_GPU, .way = TN_WAY_LAUNCHED};
    const tn_rent rent = {"rtx3090", 0.3};
    const tn_rent_terms terms = {0.2, 3, 1, &rent};
    tn_judgement judgement;
    bool kept[DESIGNS] = {false};
    tn_point point[DESIGNS] = {{{0}, 0}};
    size_t left;
    const char *model = test_source("models/atis-2enc.yaml");
    for (uint64_t i = 0; i < DESIGNS; i++) id[i] = i;
    tn_status status =
        tn_space_load(test_source("tests/space/data/mini.yaml"), NULL, 0, NULL, &arena, &space, error);
    if (status == TN_OK) status = tn_misses_find(&space, DESIGNS, &misses, error);
    if (status == TN_OK) status = tn_robustness_of(&space, id, CLOSE, 0, &arena, &robustness, error);
    if (status == TN_OK) status = tn_thin(point, DESIGNS, space.objectives, 0.02, kept, &left, error);
    if (status == TN_OK) status = tn_claims_load("arxiv-2501.06663", &arena, &claims, error);
    if (status == TN_OK)
        status = tn_device_load(test_source("models/devices/rtx3090.yaml"), NULL, 0, &arena, &device, error);
    if (status == TN_OK) status = tn_roofline_of(device, &arena, &roofline, error);
    if (status == TN_OK) status = tn_model_load(model, NULL, 0, &arena, &base, error);
    if (status == TN_OK) {
        compared.model = base;
        compared.roofline = roofline;
        compared.is_dense = true;
        status = tn_compare_step(&compared, 0, &arena, &row[0], error);
    }
    compared.is_dense = false;
    if (status == TN_OK) status = tn_compare_step(&compared, 2, &arena, &row[1], error);
    if (status == TN_OK) status = tn_compare_fpga(&space, 0, TN_WAY_GIVEN, &arena, &row[2], error);
    if (status == TN_OK) status = tn_claims_judge(&claims, row, 3, &arena, &verdicts, error);
    if (status == TN_OK)
        status = tn_judge_rows(row, 3, &compared, 1, &terms, 0, &claims, &arena, &judgement, error);
    if (status == TN_OK) status = tn_compare_search(model, NULL, 0, 0, "u50", &arena, &builds, error);
    tn_arena_free(&arena);
    return status;
}

/* What would make a small model fit into nothing. */
static tn_status remedies(tn_error *error) {
    const tn_resources little = {.lut = 1, .ff = 1, .dsp = 1, .bram18 = 1, .uram = 1};
    tn_arena arena = {0};
    tn_device *device;
    tn_design design = {0};
    tn_remedies found;
    const tn_limits limits = {.budget = &little};
    tn_status status = tn_model_load(test_source("tests/space/data/small-transformer.yaml"), NULL, 0, &arena,
                                     &design.model, error);
    if (status == TN_OK) status = tn_device_load("u50", NULL, 0, &arena, &device, error);
    if (status == TN_OK) status = tn_build_decode(tn_model_build(design.model), &arena, &design.build, error);
    if (status == TN_OK) {
        design.device = device;
        status = tn_remedies_find(&design, &limits, &arena, &found, error);
    }
    tn_arena_free(&arena);
    return status;
}

/* All of the first requests, then one in `step`. */
static void fail_in_turn(tn_status work(tn_error *error), long step) {
    bool ended = false;
    for (long n = 1; !ended; n += n < 200 ? 1 : step) {
        tn_error error = {0};
        tn_memory_fail_at(n);
        tn_status status = work(&error);
        ended = tn_memory_requests() < n;
        tn_memory_fail_at(0);
        if (!ended && status != TN_MEMORY)
            print_error("request %ld: status %d, %s\n", n, (int)status, error.message);
        assert_int_equal(status, ended ? TN_OK : TN_MEMORY);
    }
}

static void requests_of_a_recommendation_fail_in_turn(void **state) {
    (void)state;
    fail_in_turn(recommendation, 401);
}

/* What a space left out of one of its designs. */
static tn_status left_out(tn_error *error) {
    static const char *const set[] = {"choices={build.rows: [1, 2], weights.square.rank: [2, 3]}"};
    tn_arena arena = {0};
    tn_space space;
    tn_evaluator *evaluator = NULL;
    tn_evaluation evaluation;
    tn_design design;
    tn_outside outside;
    tn_status status =
        tn_space_load(test_source("tests/space/data/small.yaml"), set, 1, NULL, &arena, &space, error);
    if (status == TN_OK) status = tn_evaluator_new(&space, &evaluator, error);
    if (status == TN_OK) status = tn_evaluate_design(evaluator, 0, &evaluation, error);
    if (status == TN_OK) status = tn_evaluator_design(evaluator, &arena, &design, error);
    if (status == TN_OK) status = tn_outside_find(&space, &design, TN_OUTSIDE_SPACE, &arena, &outside, error);
    tn_evaluator_free(evaluator);
    tn_arena_free(&arena);
    return status;
}

static void requests_of_what_is_left_out_fail_in_turn(void **state) {
    (void)state;
    fail_in_turn(left_out, 997);
}

static void requests_of_remedies_fail_in_turn(void **state) {
    (void)state;
    fail_in_turn(remedies, 97);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(requests_fail_in_turn),
                                       cmocka_unit_test(requests_of_a_recommendation_fail_in_turn),
                                       cmocka_unit_test(requests_of_what_is_left_out_fail_in_turn),
                                       cmocka_unit_test(requests_of_remedies_fail_in_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
