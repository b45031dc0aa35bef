/* Sweeps that go by bounds and lay few designs against the evaluation of every design as laid and the comparison of all
 * pairs, on drawn spaces; the same files for any number of threads, shards and interruptions. */
#include "base/file.h"
#include "base/interrupt.h"
#include "results/merge.h"
#include "results/result.h"
#include "support/folder.h"
#include "support/prices.h"
#include "support/shared.h"
#include "support/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_arena arena;

static int tear_down(void **state) {
    tn_arena_free(&arena);
    return test_folder_remove(state);
}

static const char *pick(uint64_t *seed, const char *const *owner, uint64_t count) {
    return owner[test_draw(seed, count)];
}

/* A space of a small transformer that is swept by bounds however small it is. */
static void draw_space(uint64_t *seed, tn_space *space) {
    static const char *const
        ranks[] = {"[2, 4]", "[3, 4, 6]", "[5, 6]"},
        *const flows[] = {"[optimal, bidirectional]", "[right-to-left, optimal]"},
        *const splits[] = {"[partition, reshape]", "[banks, reshape, auto]", "[auto]"},
        *const edges[] = {"[1, 4]", "[2, 3, 8]", "[2, 4]"},
        *const stores[] = {"[auto, block]", "[ultra, auto]"}, *const buffers[] = {"separate", "pooled"},
        *const schedules[] = {"sequential", "parallel", "gradients-together", "sequential"},
        *const objectives[] = {"[seconds_per_step, on_chip_bytes, dsp]", "[seconds_per_step, on_chip_bytes]",
                               "[seconds_per_step, lut, degrees_of_freedom]",
                               "[joules_per_step, bram18, dsp]"};
    const char *store = pick(seed, stores, 2), *split = pick(seed, splits, 3);
    const char *reduction = pick(seed, edges, 3), *columns = pick(seed, edges, 3),
               *rows = pick(seed, edges, 3);
    const char *flow = pick(seed, flows, 2), *rank = pick(seed, ranks, 3),
               *objective = pick(seed, objectives, 4);
    const char *schedule = pick(seed, schedules, 4);
    int vector = test_draw(seed, 2) ? 4 : 6;
    tn_error error = {0};
    char text[2048];
    snprintf(text, sizeof text,
             "kind: space\nname: drawn\nmodel: %s\ndevice: kv260\n"
             "set: [build.buffers=%s, build.vector=%d, build.schedule=%s]\nobjectives: %s\nchoices:\n"
             "  weights.square.rank: %s\n  weights.square.flow: %s\n  build.rows: %s\n"
             "  build.columns: %s\n  build.reduction: %s\n  build.split: %s\n  build.core_memory: %s\n",
             test_source("tests/space/data/small-transformer.yaml"), pick(seed, buffers, 2), vector, schedule,
             objective, rank, flow, rows, columns, reduction, split, store);
    test_ok(tn_file_write(test_in_folder("drawn.yaml"), text, strlen(text), &error), &error);
    test_ok(tn_space_load(test_in_folder("drawn.yaml"), NULL, 0, NULL, &arena, space, &error), &error);
    space->laid_most = 0;
}

static bool refuses(const tn_point *a, const tn_point *b, size_t objectives) {
    bool equal = true;
    for (size_t i = 0; i < objectives; i++) {
        if (a->value[i] > b->value[i]) return false;
        equal &= a->value[i] == b->value[i];
    }
    return !equal || a->id < b->id;
}

/* Points of the designs as laid that no other refuses, by ascending id; how many fit, and how many their own bounds let pass. */
static size_t front_of_all(const tn_space *space, tn_point *point, uint64_t *fit, uint64_t *passed) {
    tn_error error = {0};
    tn_evaluator *evaluator;
    size_t feasible = 0, kept = 0;
    tn_point *all = malloc(space->choices.designs * sizeof *all);
    test_ok(tn_evaluator_new(space, &evaluator, &error), &error);
    *passed = 0;
    for (uint64_t id = 0; id < space->choices.designs; id++) {
        uint64_t outer, inner;
        uint32_t cause;
        tn_evaluation evaluation;
        bool exact;
        tn_space_split(space, id, &outer, &inner);
        test_ok(tn_evaluate_bound(evaluator, outer, inner, &evaluation, &cause, &exact, &error), &error);
        *passed += cause == TN_CAUSE_NONE;
        test_ok(tn_evaluate(evaluator, outer, inner, &evaluation, &cause, &error), &error);
        if (cause == TN_CAUSE_NONE) tn_space_point(space, &evaluation, id, &all[feasible++]);
    }
    tn_evaluator_free(evaluator);
    for (size_t i = 0; i < feasible; i++) {
        bool refused = false;
        for (size_t j = 0; j < feasible; j++)
            refused |= j != i && refuses(&all[j], &all[i], space->objectives);
        if (!refused) point[kept++] = all[i];
    }
    free(all);
    *fit = feasible;
    return kept;
}

static tn_summary sweep(const tn_space *space, const tn_sweep_options *options, const char *name,
                        const tn_progress *progress) {
    tn_error error = {0};
    tn_summary summary;
    test_ok(tn_sweep_folder(space, options, test_in_folder(name), progress, &summary, &error), &error);
    return summary;
}

static void assert_front(const tn_space *space, const tn_point *point, size_t count, const char *folder) {
    tn_error error = {0};
    tn_result result;
    test_ok(tn_result_load(test_in_folder(folder), &arena, &result, &error), &error);
    assert_int_equal(result.front_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(result.front[i].id, point[i].id);
        for (size_t k = 0; k < space->objectives; k++) {
            double value = result.front[i].value[space->objective[k] - tn_quantities];
            assert_true((space->objective[k]->maximise ? -value : value) == point[i].value[k]);
        }
    }
}

static void assert_same_results(const char *one, const char *other) {
    test_same_file(one, other, "front.csv");
    test_same_file(one, other, "recommended.csv");
    test_same_file(one, other, "sweep.json");
}

static void fronts_equal_all_pairs(void **state) {
    uint64_t seed = 11;
    size_t members = 0;
    uint64_t misfits = 0;
    (void)state;
    for (int i = 0; i < 4; i++) {
        tn_space space;
        uint64_t fit, passed;
        char name[24], every[24], counted[24];
        draw_space(&seed, &space);
        tn_point *point = malloc(space.choices.designs * sizeof *point);
        size_t count = front_of_all(&space, point, &fit, &passed);
        snprintf(name, sizeof name, "drawn%d", i);
        snprintf(every, sizeof every, "every%d", i);
        snprintf(counted, sizeof counted, "counted%d", i);
        tn_summary summary = sweep(&space, &(tn_sweep_options){.threads = 1 + (unsigned)i % 2}, name, NULL);
        assert_true(summary.exact);
        assert_front(&space, point, count, name);
        misfits += summary.feasible - fit; /* by their bounds they fit */
        assert_string_equal(summary.counted_by, "set");
        assert_true(summary.feasible >= passed);
        summary = sweep(&space, &(tn_sweep_options){.counts = true}, counted, NULL);
        assert_string_equal(summary.counted_by, "bound");
        assert_int_equal(summary.feasible, passed);
        assert_front(&space, point, count, counted);
        summary = sweep(&space, &(tn_sweep_options){.keep_all = true}, every, NULL);
        assert_int_equal(summary.feasible, fit);
        assert_string_equal(summary.counted_by, "price");
        assert_front(&space, point, count, every);
        members += count;
        free(point);
    }
    assert_true(members > 20);
    assert_true(misfits > 0);
}

static void stop_half_way(void *user, uint64_t done, uint64_t total) {
    (void)user;
    if (done > total / 2) tn_interrupt();
}

static void parts_make_the_same_whole(void **state) {
    const tn_progress progress = {.report = stop_half_way};
    tn_error error = {0};
    tn_space space;
    tn_summary summary;
    const char *missing;
    uint64_t seed = 4;
    (void)state;
    draw_space(&seed, &space);
    const tn_summary whole = sweep(&space, &(tn_sweep_options){.threads = 1}, "one", NULL);
    sweep(&space, &(tn_sweep_options){.threads = 2}, "two", NULL);
    assert_same_results("one", "two");

    summary = sweep(&space, &(tn_sweep_options){.threads = 2}, "stopped", &progress);
    tn_interrupt_clear();
    assert_int_equal(summary.completion, TN_STOPPED);
    assert_true(sweep(&space, &(tn_sweep_options){.resume = true}, "stopped", NULL).exact);
    assert_same_results("one", "stopped");

    for (uint64_t i = 1; i <= 2; i++)
        sweep(&space, &(tn_sweep_options){.shard = i, .shards = 2}, i == 1 ? "part1" : "part2", NULL);
    const char *parts[] = {test_in_folder("part1"), test_in_folder("part2")};
    test_ok(tn_merge_folders(parts, 2, test_in_folder("merged"), &arena, &summary, &missing, &error), &error);
    assert_true(summary.exact);
    /* The folder's space lays its few designs, so it is told as counted by prices: not all of sweep.json is the same. */
    test_same_file("one", "merged", "front.csv");
    test_same_file("one", "merged", "recommended.csv");
    assert_int_equal(summary.evaluated, whole.evaluated);
    assert_int_equal(summary.feasible, whole.feasible);
    assert_true(summary.hypervolume.share == whole.hypervolume.share);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fronts_equal_all_pairs),
        cmocka_unit_test(parts_make_the_same_whole),
    };
    return cmocka_run_group_tests(tests, test_folder_make, tear_down);
}
