/* Models and devices as choices of a space: every design costs and fits as in the space that names its model and device
 * by themselves, and a folder of such a sweep stands alone. */
#include "base/file.h"
#include "base/memory.h"
#include "results/merge.h"
#include "results/query.h"
#include "results/result.h"
#include "search/evaluator.h"
#include "space/condition.h"
#include "support/folder.h"
#include "support/shared.h"
#include "support/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MODELS = 2, DEVICES = 3, DESIGNS = 72 };
static const char *const models[MODELS] = {"small-transformer.yaml", "small-reordered.yaml"};
static const char *const devices[DEVICES] = {"u50@user-area", "zcu104", "pynq-z2"};

static tn_arena arena;
static tn_space space;

static int set_up(void **state) {
    tn_error error = {0};
    assert_int_equal(test_folder_make(state), 0);
    test_ok(tn_space_load(test_source("tests/space/data/boards.yaml"), NULL, 0, NULL, &arena, &space, &error),
            &error);
    return 0;
}

static int tear_down(void **state) {
    tn_arena_free(&arena);
    return test_folder_remove(state);
}

static size_t value_of(uint64_t id, const char *key) {
    for (size_t i = 0; i < space.choices.count; i++)
        if (strcmp(space.choices.axis[i].key, key) == 0) return tn_choices_digit(&space.choices, id, i);
    fail_msg("no choice %s", key);
    return 0;
}

static tn_space written_space(const char *text, tn_arena *own) {
    tn_space made;
    tn_error error = {0};
    const char *path = test_in_folder("written.yaml");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    test_ok(tn_space_load(path, NULL, 0, NULL, own, &made, &error), &error);
    return made;
}

/* The same space of one model and one device, which its keys name. */
static tn_space space_of(const char *model, const char *device, tn_arena *own) {
    static const char body[] =
        "kind: space\nname: single\nmodel: %s/tests/space/data/%s\ndevice: %s\nchoices:\n"
        "  weights.square.rank: [2, 4]\n  build.rows: [1, 2, 16]\n  sequence: [4, 8]\n"
        "caps: {dsp: 50 %%}\nconstraints: [bram18 <= 50 %%]\n"
        "objectives: [seconds_per_step, on_chip_bytes, dsp]\n";
    char text[1024];
    snprintf(text, sizeof text, body, TEST_SOURCE_DIR, model, device);
    return written_space(text, own);
}

static void evaluate(const tn_space *variant, tn_evaluator *evaluator, uint64_t id, tn_evaluation *evaluation,
                     uint32_t *cause) {
    tn_error error = {0};
    uint64_t outer, inner;
    *evaluation = (tn_evaluation){0};
    tn_space_split(variant, id, &outer, &inner);
    test_ok(tn_evaluate(evaluator, outer, inner, evaluation, cause, &error), &error);
}

static void designs_are_those_of_their_model_and_device(void **state) {
    (void)state;
    tn_evaluator *evaluator;
    size_t feasible = 0, seen = 0, infeasible = 0;
    assert_int_equal(space.choices.designs, DESIGNS);
    assert_int_equal(tn_evaluator_new(&space, &evaluator, NULL), TN_OK);
    for (size_t m = 0; m < MODELS; m++)
        for (size_t d = 0; d < DEVICES; d++) {
            tn_arena own = {0};
            tn_evaluator *alone;
            tn_space single = space_of(models[m], devices[d], &own);
            assert_int_equal(tn_evaluator_new(&single, &alone, NULL), TN_OK);
            for (uint64_t i = 0; i < DESIGNS; i++) {
                uint64_t id = i * 31 % DESIGNS; /* from one model and device to another and back */
                if (value_of(id, "model") != m || value_of(id, "device") != d) continue;
                uint64_t same = value_of(id, "weights.square.rank") * 6 + value_of(id, "build.rows") * 2 +
                                value_of(id, "sequence");
                tn_evaluation one, other;
                uint32_t cause, other_cause;
                evaluate(&space, evaluator, id, &one, &cause);
                evaluate(&single, alone, same, &other, &other_cause);
                assert_int_equal(cause, other_cause);
                for (size_t q = 0; q < tn_quantities_count; q++) {
                    double value = tn_quantities[q].get(&one), expected = tn_quantities[q].get(&other);
                    assert_memory_equal(&value, &expected, sizeof value);
                }
                assert_ptr_equal(tn_space_of(&space, id), tn_space_variant(&space, m, d));
                feasible += cause == TN_CAUSE_NONE;
                infeasible += cause != TN_CAUSE_NONE;
                seen++;
            }
            tn_evaluator_free(alone);
            tn_arena_free(&own);
        }
    tn_evaluator_free(evaluator);
    assert_int_equal(seen, DESIGNS);
    assert_true(feasible > 0 && infeasible > 0); /* else no budget was put to the test */
}

static tn_summary sweep(const char *name, uint64_t shard, uint64_t shards) {
    tn_error error = {0};
    tn_summary summary;
    const tn_sweep_options options = {.keep_all = true, .shard = shard, .shards = shards};
    test_ok(tn_sweep_folder(&space, &options, test_in_folder(name), NULL, &summary, &error), &error);
    return summary;
}

/* A space with tied choices, on the device or with a choice of devices behind them. */
static tn_space tied_space(const char *before, const char *behind, tn_arena *own) {
    static const char body[] =
        "kind: space\nname: tied\nmodel: %s/tests/space/data/small-transformer.yaml\n%s"
        "tied: [[layers.query.rank, layers.key.rank]]\nchoices:\n  layers.query.rank: [2, 3]\n"
        "  build.rows: [1, 2]\n  layers.key.rank: [2, 3]\n  build.sharing: [shared, per-phase]\n%s"
        "  weights.table.rank: [2, 5, 8]\n";
    char text[1024];
    snprintf(text, sizeof text, body, TEST_SOURCE_DIR, before, behind);
    return written_space(text, own);
}

/* Tied choices are one, so those behind them move up. */
static void devices_behind_tied_choices_are_found(void **state) {
    (void)state;
    static const char *const names[] = {"zcu102", "u55c"};
    tn_arena own = {0};
    tn_evaluator *evaluator, *of_one[2];
    const tn_space both = tied_space("", "  device: [zcu102, u55c]\n", &own);
    tn_space one[2];
    assert_int_equal(tn_evaluator_new(&both, &evaluator, NULL), TN_OK);
    for (size_t d = 0; d < 2; d++) {
        char line[64];
        snprintf(line, sizeof line, "device: %s\n", names[d]);
        one[d] = tied_space(line, "", &own);
        assert_int_equal(tn_evaluator_new(&one[d], &of_one[d], NULL), TN_OK);
        assert_int_equal(2 * one[d].choices.designs, both.choices.designs);
    }
    for (uint64_t id = 0; id < both.choices.designs; id++) {
        const size_t device = tn_space_device_of(&both, id);
        tn_evaluation its, alone;
        uint32_t cause, cause_alone;
        /* the last choice has three values, the devices are before it */
        evaluate(&both, evaluator, id, &its, &cause);
        evaluate(&one[device], of_one[device], id / 6 * 3 + id % 3, &alone, &cause_alone);
        assert_int_equal(device, id / 3 % 2);
        assert_int_equal(cause, cause_alone);
        assert_memory_equal(&its.price, &alone.price, sizeof its.price);
    }
    for (size_t d = 0; d < 2; d++) tn_evaluator_free(of_one[d]);
    tn_evaluator_free(evaluator);
    tn_arena_free(&own);
}

static void assert_same_front(const char *one, const char *other) {
    char path[2][160], *data[2];
    size_t length[2];
    snprintf(path[0], sizeof path[0], "%s/%s/front.csv", test_folder, one);
    snprintf(path[1], sizeof path[1], "%s/%s/front.csv", test_folder, other);
    for (int i = 0; i < 2; i++) test_ok(tn_file_read(path[i], 1 << 24, &data[i], &length[i], NULL), NULL);
    assert_int_equal(length[0], length[1]);
    assert_memory_equal(data[0], data[1], length[0]);
    tn_free(data[0]);
    tn_free(data[1]);
}

static void shards_merge_to_the_whole(void **state) {
    (void)state;
    tn_error error = {0};
    tn_summary summary;
    char first[160], second[160];
    const char *parts[2] = {first, second};
    tn_summary whole = sweep("whole", 0, 0);
    sweep("part1", 1, 2);
    sweep("part2", 2, 2);
    snprintf(first, sizeof first, "%s/part1", test_folder);
    snprintf(second, sizeof second, "%s/part2", test_folder);
    tn_arena own = {0};
    const char *missing;
    test_ok(tn_merge_folders(parts, 2, test_in_folder("merged"), &own, &summary, &missing, &error), &error);
    tn_arena_free(&own);
    assert_int_equal(summary.feasible, whole.feasible);
    assert_same_front("whole", "merged");
}

/* Percentages are of each design's own device. */
static void folders_are_asked_by_device(void **state) {
    (void)state;
    tn_error error = {0};
    tn_arena own = {0};
    tn_result result;
    tn_query query = {.all = true, .most = UINT64_MAX};
    tn_query_answer all, found;
    test_ok(tn_result_load(test_in_folder("whole"), &own, &result, &error), &error);
    assert_int_equal(result.space->devices, DEVICES);
    test_ok(tn_query_run(&result, &query, &own, &all, &error), &error);
    test_ok(tn_condition_parse("bram18 <= 40 % and (device = zcu104 or device = pynq-z2)",
                               (tn_position){"EXPR", 1, 1}, result.space, &own, &query.where, &error),
            &error);
    test_ok(tn_query_run(&result, &query, &own, &found, &error), &error);
    uint64_t expected = 0, excess = 0;
    for (size_t i = 0; i < all.count; i++) {
        size_t device = tn_space_device_of(result.space, all.design[i].id);
        const tn_resources has = tn_device_resources(tn_space_variant(&space, 0, device)->device);
        double bram18 = NAN;
        for (size_t q = 0; q < tn_quantities_count; q++)
            if (strcmp(tn_quantities[q].name, "bram18") == 0) bram18 = all.design[i].value[q];
        if (device == 0) continue;
        if (100 * bram18 <= 40 * (double)has.bram18)
            expected++;
        else
            excess++;
    }
    assert_true(expected > 0 && excess > 0);
    assert_int_equal(found.matched, expected);
    tn_arena_free(&own);
}

static void another_device_in_the_folder_is_refused(void **state) {
    (void)state;
    char path[160], text[] = "kind: fpga\n";
    tn_arena own = {0};
    tn_result result;
    tn_error error = {0};
    snprintf(path, sizeof path, "%s/part2/device-3.yaml", test_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(tn_result_load(test_in_folder("part2"), &own, &result, &error), TN_INPUT);
    assert_non_null(strstr(error.file, "device-3.yaml"));
    tn_arena_free(&own);
}

static void assert_refused(const char *set, const char *about) {
    tn_arena own = {0};
    tn_space refused;
    tn_error error = {0};
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/boards.yaml"), &set, 1, NULL, &own, &refused, &error),
        TN_INPUT);
    if (!strstr(error.message, about)) fail_msg("'%s' says nothing of '%s'", error.message, about);
    assert_true(error.line > 0);
    tn_arena_free(&own);
}

static void nonsense_is_refused(void **state) {
    (void)state;
    assert_refused("device=u50", "device is a choice");
    assert_refused("choices={device: [u50], build.rows: [1]}", "space needs 'model'");
    assert_refused("choices={device: [], model: [atis-2enc]}", "list of its values");
    assert_refused("choices={device: [u50, u50], model: [atis-2enc]}", "given twice");
    assert_refused("choices={device: [u50], model: [atis-2enc, gpt2], weights.table.rank: [2]}",
                   "with model=gpt2 and device=u50: the model has no weight 'table'");
    assert_refused(
        "choices={device: [u50], model: [atis-2enc, encoder-512], weights.square.folding: {factors: [3], "
        "largest: 16}}",
        "has other choices");
    assert_refused("choices={device: [nowhere], model: [atis-2enc]}", "nowhere");
    assert_refused("choices={device: [u50], model: [atis-2enc], weights.square.flow: [optimal, fastest]}",
                   "list the flows to choose from");
    assert_refused("weights.square.flow=fastest", "weights.square.flow: [bidirectional");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(designs_are_those_of_their_model_and_device),
        cmocka_unit_test(devices_behind_tied_choices_are_found),
        cmocka_unit_test(shards_merge_to_the_whole),
        cmocka_unit_test(folders_are_asked_by_device),
        cmocka_unit_test(another_device_in_the_folder_is_refused),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
