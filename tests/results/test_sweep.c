/* A sweep against the evaluation of every design one by one and the comparison of all pairs; the same files
 * for any number of threads, shards and interruptions. */
#include "base/file.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "results/merge.h"
#include "results/recommendation.h"
#include "results/result.h"
#include "results/sweep_plan.h"
#include "search/chunk.h"
#include "support/folder.h"
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
#include <unistd.h>

static tn_arena arena;
static tn_space space;

static int set_up(void **state) {
    tn_error error = {0};
    assert_int_equal(test_folder_make(state), 0);
    test_ok(tn_space_load(test_source("tests/space/data/small.yaml"), NULL, 0, NULL, &arena, &space, &error),
            &error);
    return 0;
}

static int tear_down(void **state) {
    tn_arena_free(&arena);
    return test_folder_remove(state);
}

static tn_summary sweep(const tn_sweep_options *options, const char *name, const tn_progress *progress) {
    tn_error error = {0};
    tn_summary summary;
    test_ok(tn_sweep_folder(&space, options, test_in_folder(name), progress, &summary, &error), &error);
    return summary;
}

static bool dominates(const tn_point *a, const tn_point *b) {
    bool less = false;
    for (size_t i = 0; i < space.objectives; i++) {
        if (a->value[i] > b->value[i]) return false;
        less |= a->value[i] < b->value[i];
    }
    return less;
}

static bool beaten(const tn_point *point, size_t count, size_t i) {
    for (size_t j = 0; j < count; j++) {
        if (dominates(&point[j], &point[i])) return true;
        bool same = memcmp(point[j].value, point[i].value, space.objectives * sizeof(double)) == 0;
        if (same && point[j].id < point[i].id) return true;
    }
    return false;
}

/* Every design by its id, in an order that is not the sweep's, with a fresh look at the caps. */
static size_t evaluate_all(tn_point *point, uint64_t *undefined) {
    tn_error error = {0};
    tn_evaluator *evaluator;
    size_t feasible = 0;
    test_ok(tn_evaluator_new(&space, &evaluator, &error), &error);
    for (uint64_t id = space.choices.designs; id-- > 0;) {
        uint64_t outer, inner;
        uint32_t cause;
        tn_evaluation evaluation;
        tn_space_split(&space, id, &outer, &inner);
        assert_int_equal(tn_space_id(&space, outer, inner), id);
        test_ok(tn_evaluate(evaluator, outer, inner, &evaluation, &cause, &error), &error);
        *undefined += cause == TN_CAUSE_UNDEFINED;
        if (cause == TN_CAUSE_UNDEFINED) continue;
        tn_resources used = evaluation.price.used, has = tn_device_resources(space.device);
        bool fits = 100 * used.lut <= 70 * has.lut && 100 * used.ff <= 80 * has.ff &&
                    100 * used.dsp <= 80 * has.dsp && 100 * used.bram18 <= 80 * has.bram18 &&
                    100 * used.uram <= 80 * has.uram && evaluation.price.seconds_per_step <= 0.05;
        assert_int_equal(fits, cause == TN_CAUSE_NONE);
        if (fits) tn_space_point(&space, &evaluation, id, &point[feasible++]);
    }
    tn_evaluator_free(evaluator);
    return feasible;
}

static void assert_front(const char *folder, const tn_summary *summary, const tn_point *point,
                         size_t feasible) {
    tn_error error = {0};
    tn_result result;
    test_ok(tn_result_load(test_in_folder(folder), &arena, &result, &error), &error);
    assert_int_equal(summary->feasible, feasible);
    assert_int_equal(result.front_count, summary->front);
    size_t found = 0, expected = 0;
    for (size_t i = 0; i < feasible; i++) expected += !beaten(point, feasible, i);
    assert_int_equal(expected, result.front_count);
    for (size_t i = 0; i < feasible; i++)
        for (size_t r = 0; r < result.front_count; r++)
            if (result.front[r].id == point[i].id) {
                assert_false(beaten(point, feasible, i));
                found++;
            }
    assert_int_equal(found, expected);
}

static void front_equals_all_pairs(void **state) {
    uint64_t undefined = 0;
    (void)state;
    tn_summary summary = sweep(&(tn_sweep_options){.threads = 1}, "one", NULL);
    tn_point *point = calloc(space.choices.designs, sizeof *point);
    size_t feasible = evaluate_all(point, &undefined);
    assert_true(feasible > 100);
    assert_int_equal(summary.evaluated, space.choices.designs);
    /* The published backward pass exists for one of the three foldings. */
    assert_int_equal(undefined, space.choices.designs / 4 * 2 / 3);
    assert_string_equal(summary.cause[0], "undefined");
    assert_int_equal(summary.cause_count[0], undefined);
    assert_front("one", &summary, point, feasible);
    free(point);
}

/* A space that is small enough to lay every design. */
static void front_of_laid_designs_equals_all_pairs(void **state) {
    static const char *const set[] = {
        "set=[build.layouts=searched]",
        "choices={weights.square.rank: [4, 14], weights.square.flow: [bidirectional, optimal], build.rows: "
        "[4, "
        "16], build.columns: [8], build.reduction: [1, 16], build.split: [partition, reshape]}"};
    tn_error error = {0};
    tn_space whole = space;
    uint64_t undefined = 0;
    (void)state;
    test_ok(tn_space_load(test_source("tests/space/data/small.yaml"), set, sizeof set / sizeof *set, NULL,
                          &arena, &space, &error),
            &error);
    tn_summary summary = sweep(&(tn_sweep_options){.threads = 1}, "laid", NULL);
    tn_point *point = calloc(space.choices.designs, sizeof *point);
    size_t feasible = evaluate_all(point, &undefined);
    assert_true(space.choices.designs == 32 && feasible > 4);
    assert_true(summary.exact);
    assert_front("laid", &summary, point, feasible);
    free(point);
    space = whole;
}

static const tn_result_row *front_row(const tn_result *result, uint64_t id) {
    for (size_t i = 0; i < result->front_count; i++)
        if (result->front[i].id == id) return &result->front[i];
    return NULL;
}

/* The knee first, then for each rank the design of the front that is fastest there; every row is one of the
 * front's, with the same values. */
static void recommends_members_of_the_front(void **state) {
    enum { SECONDS = 1 };
    tn_error error = {0};
    tn_result result;
    (void)state;
    test_ok(tn_result_load(test_in_folder("one"), &arena, &result, &error), &error);
    assert_string_equal(result.recommended[0].reason, "knee");
    size_t choice = tn_default_by(&space);
    assert_true(result.recommended_count > 1);
    for (size_t i = 0; i < result.recommended_count; i++) {
        const tn_result_row *row = &result.recommended[i], *same = front_row(&result, row->id);
        assert_non_null(same);
        for (size_t q = 0; q < tn_quantities_count; q++)
            assert_memory_equal(&row->value[q], &same->value[q], sizeof *row->value);
        for (size_t f = 0; i > 0 && f < result.front_count; f++)
            if (tn_choices_digit(&space.choices, result.front[f].id, choice) ==
                tn_choices_digit(&space.choices, row->id, choice))
                assert_true(result.front[f].value[SECONDS] >= row->value[SECONDS]);
    }
}

/* Counted from the model: 14 layers of the square weight, each less r^2 at each of its 2d - 1 bonds, and
 * nothing of the embedding, the heads, biases and norms. */
static void degrees_of_freedom_are_those_of_the_varied_weights(void **state) {
    tn_error error = {0};
    tn_evaluator *evaluator;
    tn_evaluation evaluation;
    uint32_t cause;
    uint64_t outer, inner;
    (void)state;
    test_ok(tn_evaluator_new(&space, &evaluator, &error), &error);
    for (uint64_t id = 0; id < space.choices.designs; id++) {
        if (tn_choices_digit(&space.choices, id, 0) != 0 || tn_choices_digit(&space.choices, id, 2) != 1)
            continue;
        tn_space_split(&space, id, &outer, &inner); /* 12x8x8,8x8x12 at rank 12 */
        test_ok(tn_evaluate(evaluator, outer, inner, &evaluation, &cause, &error), &error);
        assert_int_equal(evaluation.degrees_of_freedom, 14 * (4896 - 5 * 12 * 12));
        break;
    }
    tn_evaluator_free(evaluator);
}

static void assert_same_results(const char *one, const char *other) {
    test_same_file(one, other, "front.csv");
    test_same_file(one, other, "recommended.csv");
    test_same_file(one, other, "sweep.json");
}

static void threads_do_not_matter(void **state) {
    (void)state;
    sweep(&(tn_sweep_options){.threads = 2}, "two", NULL);
    sweep(&(tn_sweep_options){.threads = 5}, "five", NULL);
    assert_same_results("one", "two");
    assert_same_results("one", "five");
}

static void shards_merge_to_the_whole(void **state) {
    tn_error error = {0};
    tn_summary summary;
    const char *missing;
    (void)state;
    for (uint64_t i = 1; i <= 3; i++) {
        char part[16];
        snprintf(part, sizeof part, "part%d", (int)i);
        sweep(&(tn_sweep_options){.shard = i, .shards = 3}, part, NULL);
    }
    const char *parts[] = {test_in_folder("part3"), test_in_folder("part1"), test_in_folder("part2")};
    test_ok(tn_merge_folders(parts, 3, test_in_folder("merged"), &arena, &summary, &missing, &error), &error);
    assert_string_equal(summary.space, "small");
    assert_same_results("one", "merged");
    const char *twice[] = {parts[0], parts[1], parts[0]};
    assert_int_equal(tn_merge_folders(twice, 3, test_in_folder("twice"), &arena, &summary, &missing, &error),
                     TN_INPUT);
}

static void stop_half_way(void *user, uint64_t done, uint64_t total) {
    (void)user;
    if (done > total / 2) tn_interrupt();
}

static void interrupted_goes_on(void **state) {
    (void)state;
    const tn_progress progress = {.report = stop_half_way};
    tn_summary half = sweep(&(tn_sweep_options){.threads = 2}, "stopped", &progress);
    tn_interrupt_clear();
    assert_int_equal(half.completion, TN_STOPPED);
    assert_true(half.evaluated < space.choices.designs && half.evaluated > space.choices.designs / 3);

    tn_error error = {0};
    assert_int_equal(
        tn_sweep_folder(&space, &(tn_sweep_options){0}, test_in_folder("stopped"), NULL, &half, &error),
        TN_INPUT);
    assert_non_null(strstr(error.message, "--resume"));
    assert_int_equal(tn_sweep_folder(&space, &(tn_sweep_options){.resume = true, .seed = 3},
                                     test_in_folder("stopped"), NULL, &half, &error),
                     TN_INPUT);
    assert_non_null(strstr(error.message, "another sweep"));

    tn_summary whole = sweep(&(tn_sweep_options){.resume = true}, "stopped", NULL);
    assert_int_equal(whole.completion, TN_EXHAUSTED);
    assert_int_equal(whole.evaluated, space.choices.designs);
    assert_same_results("one", "stopped");
}

static void count_reports(void *user, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    ++*(unsigned *)user;
}

/* A front that is written when it is found is not looked for where it can't be kept. */
static void a_taken_folder_is_told_before_the_search(void **state) {
    (void)state;
    unsigned reports = 0;
    const tn_progress progress = {.report = count_reports, .user = &reports};
    static const tn_sweep_options own = {.method = TN_EVOLVE, .budget = 300};
    static const struct {
        tn_sweep_options options;
        const char *told;
    } refused[] = {
        {{.method = TN_EVOLVE, .budget = 300}, "holds this sweep already; --resume looks for its front anew"},
        {{.method = TN_EVOLVE, .budget = 301, .resume = true}, "holds another sweep"},
        {{.method = TN_DECOMPOSE, .resume = true}, "holds another sweep"},
        {{.seconds = 1, .resume = true}, "holds another sweep"}};
    const char *folder = test_in_folder("bred");
    tn_summary first = sweep(&own, "bred", &progress), summary;
    assert_true(first.evaluated == 300 && reports > 0);
    reports = 0;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tn_error error = {0};
        assert_int_equal(tn_sweep_folder(&space, &refused[i].options, folder, &progress, &summary, &error),
                         TN_INPUT);
        assert_non_null(strstr(error.message, refused[i].told));
        assert_int_equal(reports, 0);
    }
    tn_sweep_options again = own;
    again.resume = true;
    assert_int_equal(sweep(&again, "bred", &progress).front, first.front);
    assert_true(reports > 0);
}

/* The time is over when tables are begun, and again when the first of so many designs are done. */
typedef struct {
    const char *now;
    uint64_t designs;
} hasty;

static void end_the_tables(void *user, const char *what) {
    hasty *its = user;
    its->now = what;
    if (strncmp(what, "steps", 5) == 0) tn_clock_advance(1e6);
}

static void end_the_designs(void *user, uint64_t done, uint64_t total) {
    const hasty *its = user;
    (void)total;
    if (strcmp(its->now, "designs") == 0 && done >= its->designs) tn_clock_advance(1e6);
}

static tn_summary sweep_hastily(const char *file, const char *set, const tn_sweep_options *options,
                                uint64_t designs, const char *name, tn_arena *own, tn_status expected) {
    hasty its = {.now = "designs", .designs = designs};
    const tn_progress progress = {.report = end_the_designs, .begin = end_the_tables, .user = &its};
    tn_space other;
    tn_summary summary = {0};
    tn_error error = {0};
    test_ok(tn_space_load(test_source(file), &set, set != NULL, NULL, own, &other, &error), &error);
    const tn_status status =
        tn_sweep_folder(&other, options, test_in_folder(name), &progress, &summary, &error);
    if (status != expected) fail_msg("%s", error.message);
    return summary;
}

/* Where a time is too short for a decomposition the rest of it is for what can be enumerated, or an evolution; of a decomposition alone
 * it is an error. */
static void a_time_that_is_too_short_is_for_others(void **state) {
    (void)state;
    static const char layers[] = "tests/space/data/layers.yaml", vast[] = "spaces/atis-2enc-layers.yaml";
    const tn_sweep_options timed = {.seconds = 1e5}, alone = {.seconds = 1e5, .method = TN_DECOMPOSE},
                           near = {.seconds = 1e5, .has_epsilon = true, .epsilon = 0.01};
    tn_arena own = {0};
    tn_summary summary = sweep_hastily(layers, NULL, &near, 1000, "hasty", &own, TN_OK);
    assert_string_equal(summary.method, "enumerate");
    assert_true(summary.refused && summary.exact && summary.completion == TN_EXHAUSTED);
    summary = sweep_hastily(vast, NULL, &timed, 200, "vast", &own, TN_OK);
    assert_string_equal(summary.method, "evolve");
    assert_true(summary.refused && !summary.certified && summary.completion == TN_BUDGET);
    assert_int_equal(summary.evaluated, 200);
    sweep_hastily(layers, NULL, &alone, 1000, "alone", &own, TN_LIMIT);
    /* so it is where the time is enough to see all */
    summary = sweep_hastily(layers, NULL, &timed, 1000, "soon", &own, TN_OK);
    assert_string_equal(summary.method, "enumerate");
    assert_true(!summary.refused && summary.exact);
    tn_arena_free(&own);
}

/* An enumeration whose time is over goes on where it is given more. */
static void a_time_ends_an_enumeration(void **state) {
    (void)state;
    hasty its = {.now = "designs", .designs = space.choices.designs / 3};
    const tn_progress progress = {.report = end_the_designs, .user = &its};
    const tn_sweep_options timed = {.seconds = 1e5, .method = TN_ENUMERATE, .threads = 2};
    const tn_summary part = sweep(&timed, "timed", &progress);
    assert_int_equal(part.completion, TN_BUDGET);
    assert_true(!part.exact && part.goes_on);
    tn_summary again;
    tn_error error = {0};
    assert_int_equal(tn_sweep_folder(&space, &(tn_sweep_options){.seconds = 1}, test_in_folder("timed"), NULL,
                                     &again, &error),
                     TN_INPUT);
    assert_non_null(strstr(error.message, "--resume goes on with it"));
    assert_true(part.evaluated < space.choices.designs && part.evaluated >= its.designs);
    /* what it found before goes on, though a time and a factor ask for a certificate else */
    const tn_sweep_options more = {.seconds = 1e5, .has_epsilon = true, .epsilon = 0.2, .resume = true};
    const tn_summary whole = sweep(&more, "timed", NULL);
    assert_string_equal(whole.method, "enumerate");
    assert_true(whole.exact && !whole.goes_on && whole.completion == TN_EXHAUSTED);
    assert_same_results("one", "timed");
}

static void budget_is_drawn_by_the_seed(void **state) {
    (void)state;
    const tn_sweep_options options = {.budget = space.choices.designs / 3, .seed = 7};
    tn_summary first = sweep(&options, "drawn", NULL), second = sweep(&options, "drawn-again", NULL);
    assert_int_equal(first.completion, TN_BUDGET);
    assert_true(first.evaluated >= space.choices.designs / 3 && first.evaluated < space.choices.designs / 2);
    assert_int_equal(first.evaluated, second.evaluated);
    assert_same_results("drawn", "drawn-again");
}

/* ---- the order of chunks ---- */

static uint64_t first_design(uint64_t chunk) {
    const tn_chunk its = tn_chunk_at(&space, chunk);
    return tn_space_id(&space, its.outer, its.first);
}

/* What the chunk's choices have given: of each value designs of the front for a chunk that was taken, one chunk more counted as all in
 * the mean. */
static double yield_of(const tn_sweep_plan *plan, uint64_t taken, const tn_point *point, size_t points,
                       uint64_t chunk) {
    double yield = 1;
    for (size_t i = 0; i < space.choices.count; i++) {
        const size_t value = tn_choices_digit(&space.choices, first_design(chunk), i);
        double designs = (double)points / (double)taken, chunks = 1;
        for (size_t p = 0; p < points; p++)
            designs += tn_choices_digit(&space.choices, point[p].id, i) == value;
        for (uint64_t c = 0; c < taken; c++)
            chunks += tn_choices_digit(&space.choices, first_design(plan->chunk[c]), i) == value;
        yield *= designs / chunks;
    }
    return yield;
}

static bool has_chunk(const tn_sweep_plan *plan, uint64_t begin, uint64_t chunk) {
    for (uint64_t i = begin; i < plan->chosen; i++)
        if (plan->chunk[i] == chunk) return true;
    return false;
}

/* Three designs of chunks that were taken are the front: what is like them comes next, and no chunk is lost. */
static void chunks_come_by_what_their_choices_gave(void **state) {
    enum { TAKEN = 20, POINTS = 3 };
    tn_error error = {0};
    tn_sweep_plan plan;
    tn_archive front;
    tn_point point[POINTS] = {{.value = {1, 3}}, {.value = {2, 2}}, {.value = {3, 1}}};
    (void)state;
    test_ok(tn_sweep_plan_make(&space, &(tn_sweep_options){0}, &plan, &error), &error);
    assert_true(plan.chosen > 2 * TAKEN);
    tn_archive_begin(&front, 2);
    for (size_t p = 0; p < POINTS; p++) {
        point[p].id = first_design(plan.chunk[7 * p]);
        test_ok(tn_archive_offer(&front, &point[p], &error), &error);
    }
    uint64_t *before = calloc(plan.chosen, sizeof *before);
    memcpy(before, plan.chunk, plan.chosen * sizeof *before);
    plan.renewal = TAKEN;
    test_ok(tn_sweep_plan_renew(&plan, &space, &front, TAKEN, &error), &error);
    assert_int_equal(plan.renewal, 2 * TAKEN);
    assert_memory_equal(plan.chunk, before, TAKEN * sizeof *before);
    bool differs = false;
    for (uint64_t i = TAKEN; i < plan.chosen; i++) {
        assert_true(has_chunk(&plan, TAKEN, before[i]));
        differs |= before[i] != plan.chunk[i];
        if (i == TAKEN) continue;
        const double own = yield_of(&plan, TAKEN, point, POINTS, plan.chunk[i]);
        assert_true(own <= yield_of(&plan, TAKEN, point, POINTS, plan.chunk[i - 1]) * (1 + 1e-12));
    }
    assert_true(differs);
    free(before);
    tn_archive_free(&front);
    tn_sweep_plan_free(&plan);
}

static void finished_chunks_are_skipped(void **state) {
    tn_error error = {0};
    tn_sweep_plan plan;
    uint64_t finished, expected = 0;
    (void)state;
    test_ok(tn_sweep_plan_make(&space, &(tn_sweep_options){.shard = 1, .shards = 2}, &plan, &error), &error);
    bool *done = calloc(plan.chunks, sizeof *done);
    for (uint64_t i = 0; i < plan.chosen; i += 3) {
        done[plan.chunk[i]] = true;
        expected++;
    }
    test_ok(tn_sweep_plan_skip(&plan, done, &finished, &error), &error);
    assert_int_equal(finished, expected);
    for (uint64_t i = 0; i < plan.chosen; i++) {
        assert_int_equal(done[plan.chunk[i]], i < finished);
        assert_false(has_chunk(&plan, i + 1, plan.chunk[i]));
    }
    free(done);
    tn_sweep_plan_free(&plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(front_equals_all_pairs),
        cmocka_unit_test(front_of_laid_designs_equals_all_pairs),
        cmocka_unit_test(recommends_members_of_the_front),
        cmocka_unit_test(degrees_of_freedom_are_those_of_the_varied_weights),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(shards_merge_to_the_whole),
        cmocka_unit_test(interrupted_goes_on),
        cmocka_unit_test(a_taken_folder_is_told_before_the_search),
        cmocka_unit_test(a_time_that_is_too_short_is_for_others),
        cmocka_unit_test(a_time_ends_an_enumeration),
        cmocka_unit_test(budget_is_drawn_by_the_seed),
        cmocka_unit_test(chunks_come_by_what_their_choices_gave),
        cmocka_unit_test(finished_chunks_are_skipped),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
