/* Fronts by evolution: against the exact one, what is bred, and of a run that was cut short. */
#include "base/clock.h"
#include "base/interrupt.h"
#include "front/archive.h"
#include "search/decomposition.h"
#include "search/evolution.h"
#include "support/models.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Sampled fronts: the same whatever the threads, never better than the exact one, and near it. */
static void evolved_fronts_are_near(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_space space;
    tn_decomposed exact;
    tn_evolved found[2];
    tn_archive front;
    static const char set[] = "set=[build.layouts=ideal, build.buffers=separate, build.group=1, "
                              "build.off_chip_over_bytes=4096]";
    const char *sets[] = {set};
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/layers.yaml"), sets, 1, NULL, &arena, &space, NULL),
        TN_OK);
    assert_int_equal(tn_decompose(&space, &(tn_decompose_options){.threads = 2}, &exact, NULL), TN_OK);
    assert_true(exact.exact && exact.count > 3);
    for (unsigned i = 0; i < 2; i++) {
        const tn_evolve_options options = {.budget = 150, .seed = 7, .threads = 1 + i};
        assert_int_equal(tn_evolve(&space, &options, &found[i], NULL), TN_OK);
        assert_int_equal(found[i].evaluated, 150);
    }
    assert_int_equal(found[0].count, found[1].count);
    assert_memory_equal(found[0].digit, found[1].digit,
                        found[0].count * space.choices.count * sizeof *found[0].digit);
    tn_archive_begin(&front, space.objectives);
    for (size_t i = 0; i < exact.count; i++) {
        tn_point point;
        tn_space_point(&space, &exact.evaluation[i], i, &point);
        assert_int_equal(tn_archive_offer(&front, &point, NULL), TN_OK);
    }
    for (size_t i = 0; i < found[0].count; i++) {
        tn_point point;
        tn_space_point(&space, &found[0].evaluation[i], i, &point);
        assert_true(tn_archive_covers(&front, point.value));
    }
    /* Most of the 192 designs were evaluated, so most of the front was found. */
    assert_true(2 * found[0].count > exact.count);
    for (int i = 0; i < 2; i++) tn_evolved_free(&found[i]);
    tn_archive_free(&front);
    tn_decomposed_free(&exact);
    tn_arena_free(&arena);
}

/* The layers' choices have the same value in all that choose alike of them. */
static bool is_alike(const tn_space *space, const uint32_t *digit) {
    for (size_t i = 0; i < space->choices.count; i++)
        for (size_t k = 0; k < i; k++) {
            const tn_axis *a = &space->choices.axis[i], *b = &space->choices.axis[k];
            if (a->kind != TN_AXIS_BUILD && a->kind == b->kind && a->count == b->count &&
                digit[i] != digit[k])
                return false;
        }
    return true;
}

/* Of some 10^47 designs with a choice for each of 15 layers, few have equal ones; designs that are drawn alone have none of these,
 * and one that breeding keeps must have been among the first, or come about by changes of many layers at once. */
static void designs_with_equal_layers_are_bred(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_space space;
    tn_evolved found;
    size_t alike = 0;
    assert_int_equal(
        tn_space_load(test_source("spaces/atis-2enc-layers.yaml"), NULL, 0, NULL, &arena, &space, NULL),
        TN_OK);
    assert_int_equal(
        tn_evolve(&space, &(tn_evolve_options){.budget = 200, .seed = 1, .threads = 2}, &found, NULL), TN_OK);
    for (size_t i = 0; i < found.count; i++) alike += is_alike(&space, found.digit + i * space.choices.count);
    assert_true(found.count > 0 && 2 * alike >= found.count);
    tn_evolved_free(&found);
    tn_arena_free(&arena);
}

/* Ends a run in the generation after so many designs, by who waits for it or by the clock. */
typedef struct {
    uint64_t designs;
    bool by_hand;
} ending;

static void end_behind(void *user, uint64_t done, uint64_t total) {
    const ending *its = user;
    (void)total;
    if (done < its->designs) return;
    if (its->by_hand)
        tn_interrupt();
    else
        tn_clock_advance(1e6);
}

/* The front of the generations that were finished, as a run that had no more to do finds it. */
static void what_was_finished_stays(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_space space;
    tn_evolved whole, cut;
    ending its = {.designs = 400};
    const tn_progress progress = {.report = end_behind, .user = &its};
    const tn_evolve_options all = {.budget = its.designs, .seed = 3, .threads = 2};
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/small.yaml"), NULL, 0, NULL, &arena, &space, NULL),
        TN_OK);
    assert_int_equal(tn_evolve(&space, &all, &whole, NULL), TN_OK);
    assert_false(whole.stopped);
    for (int by_hand = 0; by_hand < 2; by_hand++) {
        its.by_hand = by_hand;
        const tn_evolve_options more = {.budget = 1000,
                                        .seconds = by_hand ? 0 : 1e5,
                                        .seed = all.seed,
                                        .threads = 2,
                                        .progress = &progress};
        const tn_status status = tn_evolve(&space, &more, &cut, NULL);
        tn_interrupt_clear();
        assert_int_equal(status, TN_OK);
        assert_int_equal(cut.stopped, by_hand);
        assert_int_equal(cut.evaluated, its.designs);
        assert_int_equal(cut.count, whole.count);
        assert_memory_equal(cut.cause, whole.cause, sizeof cut.cause);
        assert_memory_equal(cut.digit, whole.digit, cut.count * space.choices.count * sizeof *cut.digit);
        tn_evolved_free(&cut);
    }
    tn_evolved_free(&whole);
    tn_arena_free(&arena);
}

static void nothing_finished_is_told(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_space space;
    tn_evolved found;
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/small.yaml"), NULL, 0, NULL, &arena, &space, NULL),
        TN_OK);
    tn_interrupt();
    const tn_status status =
        tn_evolve(&space, &(tn_evolve_options){.budget = 400, .threads = 1}, &found, NULL);
    tn_interrupt_clear();
    assert_int_equal(status, TN_INTERRUPTED);
    const tn_evolve_options hasty = {.budget = 400, .seconds = 1e-9, .threads = 1};
    assert_int_equal(tn_evolve(&space, &hasty, &found, NULL), TN_LIMIT);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evolved_fronts_are_near),
        cmocka_unit_test(designs_with_equal_layers_are_bred),
        cmocka_unit_test(what_was_finished_stays),
        cmocka_unit_test(nothing_finished_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, test_models_end);
}
