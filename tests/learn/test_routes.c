/* What routers chose in a run's last pass: as many choices as words times experts a token takes, files that fine-tuning reads as
 * loads, the same for any number of threads, and none without a router. */
#include "support/small_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "finetune/load.h"

enum { EXPERTS = 4, TOP = 2, ROUTERS = 2 };
/* The last two for what is computed twice. */
static const char *const experts[] = {
    "layers.sum={name: sum, kind: moe, experts: 4, top: 2, hidden: 8, capacity: 0.8}",
    "layers.norm={name: norm, kind: moe, experts: 4, top: 2, hidden: 16, balance: 0.1, up: [square, square, "
    "square, square], "
    "down: square}",
    "training.epochs=2", "activations.policy=recompute", "activations.segments=2"};
enum { ALL_SETS = sizeof experts / sizeof *experts, SETS = ALL_SETS - 2 };

static void read_load(const char *name, tn_arena *arena, tn_expert_load *load) {
    tn_error error = {0};
    if (tn_expert_load_read(test_in_folder(name), EXPERTS, TOP, arena, load, &error) != TN_OK)
        fail_msg("%s:%u:%u: %s", error.file, error.line, error.column, error.message);
}

static void counts_are_those_of_the_words(void **state) {
    (void)state;
    test_small_run b;
    tn_expert_load load;
    uint64_t words = 0, all[EXPERTS] = {0}, everything = 0;
    test_small_begin(&b, experts, SETS);
    b.run.folder = test_in_folder("run");
    assert_int_equal(test_small_train(&b), TN_OK);
    assert_int_equal(b.result.macs.predicted, b.result.macs.executed);
    assert_int_equal(b.result.loads, ROUTERS * EXPERTS);
    for (size_t i = 0; i < b.data.train.count; i++) words += b.data.train.example[i].tokens;
    for (size_t r = 0; r < ROUTERS; r++) {
        const tn_router_load *router = &b.result.load[r * EXPERTS];
        uint64_t sum = 0, dropped = 0;
        double shares = 0;
        for (size_t e = 0; e < EXPERTS; e++) {
            assert_string_equal(router[e].layer, r ? "norm" : "sum");
            assert_int_equal(router[e].expert, e);
            sum += router[e].tokens;
            all[e] += router[e].tokens;
            dropped += router[e].dropped;
            shares += router[e].share;
            assert_true(router[e].tokens <= words);
        }
        assert_int_equal(sum, TOP * words);
        assert_true(fabs(shares - 1) < 1e-12);
        assert_true(r ? dropped == 0 : dropped > 0); /* the second is dropless */
        everything += sum;
    }
    read_load("run/experts-norm.csv", &b.arena, &load);
    for (size_t e = 0; e < EXPERTS; e++)
        assert_true(fabs(load.share[e] - b.result.load[EXPERTS + e].share) < 1e-12);
    read_load("run/experts.csv", &b.arena, &load);
    for (size_t e = 0; e < EXPERTS; e++)
        assert_true(fabs(load.share[e] - (double)all[e] / (double)everything) < 1e-12);
    tn_arena_free(&b.arena);
}

static void threads_change_nothing(void **state) {
    (void)state;
    test_small_run one, two;
    test_small_begin(&one, experts, SETS);
    test_small_begin(&two, experts, SETS);
    two.run.threads = 2;
    assert_int_equal(test_small_train(&one), TN_OK);
    assert_int_equal(test_small_train(&two), TN_OK);
    assert_true(one.result.epoch[1].loss == two.result.epoch[1].loss);
    for (size_t i = 0; i < one.result.loads; i++)
        assert_int_equal(one.result.load[i].tokens, two.result.load[i].tokens);
    tn_arena_free(&one.arena);
    tn_arena_free(&two.arena);
}

/* What is computed again in the backward pass is not chosen again. */
static void recomputed_routes_count_once(void **state) {
    (void)state;
    test_small_run plain, again;
    test_small_begin(&plain, experts, SETS);
    test_small_begin(&again, experts, ALL_SETS);
    assert_int_equal(test_small_train(&plain), TN_OK);
    assert_int_equal(test_small_train(&again), TN_OK);
    assert_int_equal(again.result.macs.predicted, again.result.macs.executed);
    assert_true(again.result.macs.executed > plain.result.macs.executed);
    for (size_t i = 0; i < plain.result.loads; i++)
        assert_int_equal(again.result.load[i].tokens, plain.result.load[i].tokens);
    tn_arena_free(&plain.arena);
    tn_arena_free(&again.arena);
}

static void no_router_no_load(void **state) {
    (void)state;
    test_small_run b;
    test_small_begin(&b, NULL, 0);
    b.run.settings.epochs = 1;
    assert_int_equal(test_small_train(&b), TN_OK);
    assert_int_equal(b.result.loads, 0);
    tn_arena_free(&b.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_the_words),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(recomputed_routes_count_once),
        cmocka_unit_test(no_router_no_load),
    };
    return cmocka_run_group_tests(tests, test_small_set_up, test_folder_remove);
}
