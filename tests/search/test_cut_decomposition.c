/* Decompositions that end before they are done: by the end of a time, or an interruption. What was found stays, and what is said
 * of it holds. */
#include "base/clock.h"
#include "base/interrupt.h"
#include "search/decomposition.h"
#include "support/models.h"
#include "support/shared.h"
#include "support/truth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void load_layers(const char *const *set, size_t sets, tn_arena *arena, tn_space *space) {
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/layers.yaml"), set, sets, NULL, arena, space, NULL),
        TN_OK);
}

/* The clock goes on by far more than the time that there is when that step begins; of one that begins "steps", once half of
 * it is done. */
typedef struct {
    const char *step, *now;
} last_step;

static void end_at_the_step(void *user, const char *what) {
    last_step *its = user;
    its->now = what;
    if (strcmp(what, its->step) == 0 && strncmp(what, "steps", 5) != 0) tn_clock_advance(1e6);
}

static void end_at_its_half(void *user, uint64_t done, uint64_t total) {
    const last_step *its = user;
    assert_non_null(its->now);
    assert_true(done >= 1 && done <= total);
    if (strcmp(its->now, its->step) == 0 && 2 * done >= total) tn_clock_advance(1e6);
}

/* No front is found in it: that is said, and where it ended. */
static void a_time_that_is_over_is_told(void **state) {
    (void)state;
    static const char bounded[] = "set=[]", split[] = "set=[build.layouts=ideal, build.buffers=separate, "
                                                      "build.off_chip_over_bytes=4096]";
    static const struct {
        const char *set, *step, *said;
    } cases[] = {{bounded, NULL, "with 0 % of the tables made"},
                 {bounded, "steps surveyed", " % of the steps surveyed"},
                 {bounded, "builds surveyed", "with 0 % of the builds surveyed"},
                 {bounded, "steps tabled", " % of the tables made"},
                 {split, NULL, "with 0 % of the tables made"},
                 {split, "steps tabled", " % of the tables made"},
                 {split, "builds merged", "with 100 % of the tables made"},
                 {split, "designs priced", "with 100 % of the tables made"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        last_step its = {.step = cases[i].step};
        const tn_progress progress = {.report = end_at_its_half, .begin = end_at_the_step, .user = &its};
        const tn_decompose_options options = {
            .seconds = its.step ? 1e5 : 1e-9, .threads = 1, .progress = its.step ? &progress : NULL};
        tn_arena arena = {0};
        tn_space space;
        tn_decomposed found;
        tn_error error = {0};
        load_layers(&cases[i].set, 1, &arena, &space);
        assert_int_equal(tn_decompose(&space, &options, &found, &error), TN_LIMIT);
        if (!strstr(error.message, cases[i].said)) fail_msg("case %zu: %s", i, error.message);
        const bool begun = cases[i].said[0] == ' ';
        if (begun) assert_null(strstr(error.message, "with 0 %"));
        if (begun) assert_null(strstr(error.message, "with 100 %"));
        tn_arena_free(&arena);
    }
}

/* Where tables may take a part of the time alone, others find a front in the rest. */
static void tables_that_take_too_long_are_told(void **state) {
    (void)state;
    static const char *const steps[] = {"steps surveyed", "steps tabled"};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        last_step its = {.step = steps[i]};
        const tn_progress progress = {.report = end_at_its_half, .begin = end_at_the_step, .user = &its};
        const tn_decompose_options options = {
            .seconds = 1e9, .table_seconds = 1e5, .threads = 1, .progress = &progress};
        tn_arena arena = {0};
        tn_space space;
        tn_decomposed found;
        load_layers(NULL, 0, &arena, &space);
        assert_int_equal(tn_decompose(&space, &options, &found, NULL), TN_OK);
        assert_true(found.refused && strstr(found.refused, "tables"));
        tn_decomposed_free(&found);
        tn_arena_free(&arena);
    }
}

/* A clock that goes by over a half of the time with each step of the one stage. */
typedef struct {
    const char *step, *now;
    unsigned reports;
} slow_step;

static void note_the_slow_step(void *user, const char *what) {
    ((slow_step *)user)->now = what;
}

static void go_slowly(void *user, uint64_t done, uint64_t total) {
    slow_step *its = user;
    (void)done;
    (void)total;
    if (strcmp(its->now, its->step) != 0) return;
    its->reports++;
    tn_clock_advance(0.6e5);
}

/* That is known after the first of the steps, of which there are three; alone it uses all of the time. */
static void tables_are_given_up_when_they_are_too_slow(void **state) {
    (void)state;
    static const char *const steps[] = {"steps surveyed", "steps tabled"};
    for (size_t i = 0; i < 2 * sizeof steps / sizeof *steps; i++) {
        const bool alone = i % 2;
        slow_step its = {.step = steps[i / 2]};
        const tn_progress progress = {.report = go_slowly, .begin = note_the_slow_step, .user = &its};
        const tn_decompose_options options = {.seconds = alone ? 1e5 : 1e9,
                                              .table_seconds = alone ? 0 : 1e5,
                                              .threads = 1,
                                              .progress = &progress};
        tn_arena arena = {0};
        tn_space space;
        tn_decomposed found;
        load_layers(NULL, 0, &arena, &space);
        assert_int_equal(tn_decompose(&space, &options, &found, NULL), alone ? TN_LIMIT : TN_OK);
        if (!alone) assert_true(found.refused && strstr(found.refused, "tables"));
        assert_int_equal(its.reports, alone ? 2 : 1);
        tn_decomposed_free(&found);
        tn_arena_free(&arena);
    }
}

/* Ends the search, by the clock or by who waits for it, in that round of a step, when so much of it is done. */
typedef struct {
    const char *step;
    uint64_t done;
    unsigned last, rounds;
    bool by_hand;
    const char *now;
} ending;

/* The space of single layers, as it is and where prices split. */
static const struct {
    const char *set;
    ending its;
} endings[] = {{"set=[]", {.step = "builds merged", .done = 1}},
               {"set=[build.layouts=ideal, build.buffers=separate, build.off_chip_over_bytes=4096]",
                {.step = "designs priced", .done = 5}}};
enum { ENDINGS = sizeof endings / sizeof *endings };

static void note_the_step(void *user, const char *what) {
    ((ending *)user)->now = what;
}

static void end_the_last_round(void *user, uint64_t done, uint64_t total) {
    ending *its = user;
    (void)total;
    if (done != its->done || strcmp(its->now, its->step) != 0 || ++its->rounds != its->last) return;
    if (its->by_hand)
        tn_interrupt();
    else
        tn_clock_advance(1e6);
}

/* Each found design has the price that it has by itself. */
static void check_prices(const tn_space *space, const tn_decomposed *found) {
    tn_evaluator *evaluator;
    assert_int_equal(tn_evaluator_new(space, &evaluator, NULL), TN_OK);
    for (size_t i = 0; i < found->count; i++) {
        tn_evaluation alone;
        uint32_t cause;
        assert_int_equal(
            tn_evaluate_digits(evaluator, found->digit + i * space->choices.count, &alone, &cause, NULL),
            TN_OK);
        assert_int_equal(cause, TN_CAUSE_NONE);
        for (size_t k = 0; k < space->objectives; k++)
            assert_true(space->objective[k]->get(&alone) == space->objective[k]->get(&found->evaluation[i]));
    }
    tn_evaluator_free(evaluator);
}

/* With a time the last front that was finished counts, whatever ends it. */
static void a_front_in_time_stays(void **state) {
    (void)state;
    for (int i = 0; i < 2 * ENDINGS; i++) {
        ending its = endings[i / 2].its;
        const tn_progress progress = {.report = end_the_last_round, .begin = note_the_step, .user = &its};
        tn_arena arena = {0};
        tn_space space;
        tn_decomposed found;
        truth all = {0};
        its.by_hand = i % 2;
        its.last = 2;
        load_layers(&endings[i / 2].set, 1, &arena, &space);
        const tn_status status =
            tn_decompose(&space, &(tn_decompose_options){.seconds = 1e5, .threads = 1, .progress = &progress},
                         &found, NULL);
        tn_interrupt_clear();
        assert_int_equal(status, TN_OK);
        assert_int_equal(its.rounds, 2);
        assert_true(found.count > 0 && found.certified && !found.exact);
        check_prices(&space, &found);
        test_enumerate(&space, &all, &found);
        tn_archive_free(&all.front);
        tn_decomposed_free(&found);
        tn_arena_free(&arena);
    }
}

/* The space, its search ended before there is a certificate: by who waits for it, or by the clock. */
static void decompose_until(ending its, const char *const *set, size_t sets, tn_arena *arena, tn_space *space,
                            tn_decomposed *found) {
    const tn_progress progress = {.report = end_the_last_round, .begin = note_the_step, .user = &its};
    const tn_decompose_options options = {
        .seconds = its.by_hand ? 0 : 1e5, .epsilon = 0.05, .threads = 1, .progress = &progress};
    its.last = 1;
    load_layers(set, sets, arena, space);
    const tn_status status = tn_decompose(space, &options, found, NULL);
    tn_interrupt_clear();
    assert_int_equal(status, TN_OK);
}

/* What was priced before is the result, of which nothing is promised. */
static void what_was_priced_stays(void **state) {
    (void)state;
    for (int i = 0; i < 2 * ENDINGS; i++) {
        ending its = endings[i / 2].its;
        tn_arena arena = {0};
        tn_space space;
        tn_decomposed found;
        its.by_hand = i % 2;
        decompose_until(its, &endings[i / 2].set, 1, &arena, &space, &found);
        assert_null(found.refused);
        assert_true(found.count > 0 && found.count <= found.evaluated);
        assert_true(!found.certified && !found.exact && !found.none_fits);
        check_prices(&space, &found);
        tn_decomposed_free(&found);
        tn_arena_free(&arena);
    }
}

/* Where none of that fits it is told what they lack, and that others may. */
static void what_was_priced_tells_what_it_lacks(void **state) {
    (void)state;
    static const char *const none_fits = "constraints=['uram <= 10']";
    for (int by_hand = 0; by_hand < 2; by_hand++) {
        ending its = endings[0].its;
        tn_arena arena = {0};
        tn_space space;
        tn_decomposed found;
        its.by_hand = by_hand;
        decompose_until(its, &none_fits, 1, &arena, &space, &found);
        assert_true(found.count == 0 && found.evaluated > 0 && !found.certified && !found.none_fits);
        assert_int_equal(found.cause[TN_CAUSE_CONSTRAINT], found.evaluated);
        tn_decomposed_free(&found);
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_that_is_over_is_told),
        cmocka_unit_test(tables_that_take_too_long_are_told),
        cmocka_unit_test(tables_are_given_up_when_they_are_too_slow),
        cmocka_unit_test(a_front_in_time_stays),
        cmocka_unit_test(what_was_priced_stays),
        cmocka_unit_test(what_was_priced_tells_what_it_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, test_models_end);
}
