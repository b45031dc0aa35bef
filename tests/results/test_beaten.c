/* Designs of a front against themselves with one key changed that changes no computed value, or with two of those that say where
 * memories lie: each priced anew by what prices a single design. Where the space settles these keys none is beaten; where it
 * says one of them, some are, so the comparison can fail.
 *
 * TENFOLD_FRONT=FOLDER TENFOLD_MEMBERS=N: the same of N members of that sweep's front, evenly drawn, and of its recommended
 * designs; a line for each that is beaten, and a sum (scripts/torture BUILD beaten). */
#include "base/file.h"
#include "results/outside.h"
#include "results/result.h"
#include "search/evaluator.h"
#include "support/folder.h"
#include "support/shared.h"
#include "support/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    size_t members, tried,
        beaten; /* beaten: by values of keys that the space varies, where `own` is asked, else by any */
} tally;

/* Whether every key of "KEY=VALUE KEY=VALUE" is a choice of the space, settled or not. */
static bool is_own(const tn_space *space, const char *change) {
    while (*change) {
        const size_t length = strcspn(change, "=");
        bool found = false;
        for (size_t i = 0; i < space->choices.count; i++) {
            const char *key = space->choices.axis[i].key;
            found |= strlen(key) == length && strncmp(key, change, length) == 0;
        }
        if (!found) return false;
        change += strcspn(change, " ");
        change += *change == ' ';
    }
    return true;
}

static void try_member(const tn_result *result, uint64_t id, bool own, bool tells, tally *sum) {
    tn_error error = {0};
    tn_arena arena = {0};
    tn_evaluator *evaluator;
    tn_evaluation evaluation;
    tn_design design;
    tn_outside outside;
    bool beaten = false;
    test_ok(tn_evaluator_new(result->space, &evaluator, &error), &error);
    test_ok(tn_evaluate_design(evaluator, id, &evaluation, &error), &error);
    test_ok(tn_evaluator_design(evaluator, &arena, &design, &error), &error);
    test_ok(
        tn_outside_find(tn_space_of(result->space, id), &design, TN_OUTSIDE_FREE, &arena, &outside, &error),
        &error);
    for (size_t i = 0; i < outside.count; i++) {
        const tn_outside_change *change = &outside.change[i];
        if (!change->dominates || (own && !is_own(result->space, change->change))) continue;
        beaten = true;
        if (tells)
            printf("BEATEN design %" PRIu64
                   " by %s (is %s): %.4g s, %.0f bytes, %.0f DSP; was %.4g s, %.0f bytes, "
                   "%.0f DSP\n",
                   id, change->change, change->was, change->value[0], change->value[1], change->value[2],
                   outside.given[0], outside.given[1], outside.given[2]);
    }
    sum->members++;
    sum->tried += outside.tried;
    sum->beaten += beaten;
    tn_evaluator_free(evaluator);
    tn_arena_free(&arena);
}

static void sweep(const char *name, const char *settled, tn_arena *arena, tn_result *result) {
    tn_error error = {0};
    tn_space space;
    tn_summary summary;
    char text[2048];
    snprintf(text, sizeof text,
             "kind: space\nname: beaten\nmodel: %s\ndevice: u50\nobjectives: [seconds_per_step, "
             "on_chip_bytes, dsp]\n"
             "%schoices:\n  weights.square.rank: [4, 12]\n  build.rows: [2, 4]\n  build.reduction: [2, 4]\n",
             "atis-2enc", settled);
    test_ok(tn_file_write(test_in_folder("space.yaml"), text, strlen(text), &error), &error);
    test_ok(tn_space_load(test_in_folder("space.yaml"), NULL, 0, NULL, arena, &space, &error), &error);
    test_ok(tn_sweep_folder(&space, &(tn_sweep_options){0}, test_in_folder(name), NULL, &summary, &error),
            &error);
    assert_true(summary.exact);
    test_ok(tn_result_load(test_in_folder(name), arena, result, &error), &error);
}

static tally try_all(const tn_result *result, bool own) {
    tally sum = {0};
    for (size_t i = 0; i < result->front_count; i++)
        try_member(result, result->front[i].id, own, false, &sum);
    return sum;
}

static void settled_keys_leave_nothing_to_gain(void **state) {
    tn_arena arena = {0};
    tn_result result;
    (void)state;
    sweep("settled",
          "settle: [update.when, build.group, build.split, build.placement, build.core_memory, "
          "build.activation_memory]\n",
          &arena, &result);
    const tally all = try_all(&result, true);
    assert_true(all.members > 2 && all.tried > 50 * all.members);
    assert_int_equal(all.beaten, 0);
    tn_arena_free(&arena);
}

static void keys_left_out_do(void **state) {
    tn_arena arena = {0};
    tn_result result;
    (void)state;
    sweep("said", "set: [update.when=end, build.group=1]\n", &arena, &result);
    const tally all = try_all(&result, false);
    printf("%zu of %zu are beaten where keys are left out\n", all.beaten, all.members);
    assert_true(all.beaten > 0);
    tn_arena_free(&arena);
}

static int try_front(const char *folder, size_t most) {
    tn_error error = {0};
    tn_arena arena = {0};
    tn_result result;
    tally sum = {0};
    test_ok(tn_result_load(folder, &arena, &result, &error), &error);
    for (size_t i = 0; i < result.recommended_count; i++)
        try_member(&result, result.recommended[i].id, false, true, &sum);
    for (size_t i = 0; i < most && i < result.front_count; i++) {
        const size_t at = most < result.front_count ? i * result.front_count / most : i;
        try_member(&result, result.front[at].id, false, true, &sum);
    }
    printf("BEATEN sum: %zu designs, %zu changes, %zu beaten\n", sum.members, sum.tried, sum.beaten);
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const char *folder = getenv("TENFOLD_FRONT"), *members = getenv("TENFOLD_MEMBERS");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settled_keys_leave_nothing_to_gain),
        cmocka_unit_test(keys_left_out_do),
    };
    if (folder) return try_front(folder, members ? strtoul(members, NULL, 10) : 50);
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
