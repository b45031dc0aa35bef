/* What a space left out of a design: every change priced anew, and every change that is tried priced here, so that none is
 * missing that is better and worse in nothing. */
#include "results/outside.h"
#include "search/evaluator.h"
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

enum { TEXT = 256, OBJECTIVES = 3 };

/* Latency, memory and DSP blocks are objectives; one key varied, of one all values. */
static const char *const set[] = {
    "objectives=[seconds_per_step, on_chip_bytes, dsp]", "set=[]",
    "choices={weights.square.rank: [12, 24], build.split: [partition, reshape], "
    "build.sharing: [shared, per-phase], build.rows: [2, 4]}"};

static tn_arena arena;
static tn_space space;
static tn_design design;
static tn_outside outside;

static int set_up(void **state) {
    tn_error error = {0};
    tn_evaluator *evaluator;
    tn_evaluation evaluation;
    (void)state;
    test_ok(tn_space_load(test_source("tests/space/data/small.yaml"), set, sizeof set / sizeof *set, NULL,
                          &arena, &space, &error),
            &error);
    test_ok(tn_evaluator_new(&space, &evaluator, &error), &error);
    test_ok(tn_evaluate_design(evaluator, space.choices.designs - 1, &evaluation, &error), &error);
    test_ok(tn_evaluator_design(evaluator, &arena, &design, &error), &error);
    test_ok(tn_outside_find(&space, &design, TN_OUTSIDE_SPACE, &arena, &outside, &error), &error);
    tn_evaluator_free(evaluator);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

/* Of the design with "KEY=VALUE KEY=VALUE"; false: no price. */
static bool price_of(const char *change, double value[TN_OUTSIDE_VALUES], bool *fits) {
    char text[2 * TEXT];
    const char *part[2];
    size_t count = 0;
    tn_arena scratch = {0};
    tn_design changed;
    tn_price price;
    snprintf(text, sizeof text, "%s", change);
    char *second = strstr(text, " build.");
    part[count++] = text;
    if (second) {
        *second = '\0';
        part[count++] = second + 1;
    }
    bool priced = tn_design_change(&design, part, count, &scratch, &changed, NULL) == TN_OK &&
                  tn_design_price_alone(&changed, &price, NULL) == TN_OK;
    if (priced) {
        const double found[TN_OUTSIDE_VALUES] = {price.seconds_per_step, (double)price.on_chip_bytes,
                                                 (double)price.used.dsp, price.joules_per_step,
                                                 (double)price.used.lut};
        memcpy(value, found, sizeof found);
        *fits = price.seconds_per_step <= 0.05; /* the constraint of the space */
        for (int i = 0; i < TN_RESOURCES; i++)
            *fits &= tn_resource_amount(&price.used, (tn_resource)i) <=
                     tn_resource_amount(&space.budget, (tn_resource)i);
    }
    tn_arena_free(&scratch);
    return priced;
}

static bool is_in_space(const char *change) {
    static const char *const listed[] = {"build.split=partition", "build.split=reshape",
                                         "build.sharing=shared", "build.sharing=per-phase"};
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
        if (strcmp(change, listed[i]) == 0) return true;
    return strncmp(change, "build.rows", 10) == 0 || strstr(change, "rank");
}

static void each_change_is_priced(void **state) {
    (void)state;
    bool some = false, pair = false;
    double given[TN_OUTSIDE_VALUES];
    bool fits;
    assert_true(price_of("build.rows=4", given, &fits)); /* as it is */
    assert_memory_equal(given, outside.given, sizeof given);
    assert_true(outside.count > 2 && outside.tried > outside.count);
    for (size_t i = 0; i < outside.count; i++) {
        const tn_outside_change *change = &outside.change[i];
        double value[TN_OUTSIDE_VALUES], best = 0;
        bool worse = false;
        assert_true(price_of(change->change, value, &fits) && fits);
        assert_memory_equal(value, change->value, sizeof value);
        assert_false(is_in_space(change->change));
        for (int k = 0; k < OBJECTIVES; k++) {
            worse |= value[k] > given[k];
            best = fmin(best, value[k] / given[k] - 1);
        }
        if (change->dominates) assert_true(!worse && best <= -0.01);
        assert_true(change->dominates || best <= -0.05);
        const bool learns = strstr(change->change, "precision") || strstr(change->change, "optimizer") ||
                            strstr(change->change, "format");
        assert_true(learns == (strcmp(change->changes, "values") == 0));
        assert_false(learns && change->dominates);
        if (i > 0) assert_true(outside.change[i - 1].dominates || !change->dominates);
        some |= change->dominates;
        pair |= strchr(change->change, ' ') != NULL;
    }
    assert_true(some && pair);
}

/* A change that is better and worse in no objective is told, or one that is at least as good. */
static void check_told(const char *change, unsigned *better) {
    double value[TN_OUTSIDE_VALUES], best = 0;
    bool fits, told = false;
    if (!price_of(change, value, &fits) || !fits) return;
    for (int k = 0; k < OBJECTIVES; k++) {
        if (value[k] > outside.given[k]) return;
        best = fmin(best, value[k] / outside.given[k] - 1);
    }
    if (best > -0.01) return;
    ++*better;
    for (size_t i = 0; i < outside.count && !told; i++) {
        told = outside.change[i].dominates;
        for (int k = 0; k < TN_OUTSIDE_VALUES; k++) told &= outside.change[i].value[k] <= value[k];
    }
    if (!told) fail_msg("%s is not told", change);
}

static void no_better_change_is_missing(void **state) {
    static const char *const single[] = {"build.core_memory=distributed",
                                         "build.core_memory=block",
                                         "build.core_memory=ultra",
                                         "build.activation_memory=distributed",
                                         "build.activation_memory=block",
                                         "build.activation_memory=ultra",
                                         "build.vector_units=own",
                                         "build.fusion=additions",
                                         "build.fusion=write-back",
                                         "build.kernels=2",
                                         "build.read_ports=2",
                                         "build.schedule=parallel",
                                         "build.schedule=pipelined",
                                         "build.schedule=gradients-together",
                                         "activations.policy=recompute",
                                         "activations.policy=recompute-layers",
                                         "weights.square.flow=right-to-left"};
    static const char *const split[] = {"partition", "reshape", "banks", "auto"};
    char text[4][24][TEXT];
    size_t count[4] = {0};
    unsigned better = 0;
    (void)state;
    assert_true(outside.count < TN_OUTSIDE_MOST); /* else some are cut off */
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) check_told(single[i], &better);
    snprintf(text[0][count[0]++], TEXT, "update.when=write-back");
    for (int group = 1; group <= 16; group++) snprintf(text[1][count[1]++], TEXT, "build.group=%d", group);
    for (int group = 32; group <= 64; group *= 2)
        snprintf(text[1][count[1]++], TEXT, "build.group=%d", group);
    for (int i = 0; i < 4; i++) snprintf(text[2][count[2]++], TEXT, "build.split=%s", split[i]);
    snprintf(text[3][count[3]++], TEXT, "build.placement=searched");
    for (int a = 0; a < 4; a++)
        for (size_t i = 0; i < count[a]; i++) {
            if (!is_in_space(text[a][i])) check_told(text[a][i], &better);
            for (int b = a + 1; b < 4; b++)
                for (size_t k = 0; k < count[b]; k++) {
                    char pair[2 * TEXT];
                    if (is_in_space(text[a][i]) && is_in_space(text[b][k])) continue;
                    snprintf(pair, sizeof pair, "%.*s %.*s", TEXT - 1, text[a][i], TEXT - 1, text[b][k]);
                    check_told(pair, &better);
                }
        }
    assert_true(better > 10);
}

/* Memories in LUTRAM take no blocks: whatever takes some is worse in them. */
static void any_block_is_more_than_none(void **state) {
    static const char *const lutram[] = {
        "objectives=[seconds_per_step, on_chip_bytes, dsp]", "model=byte-decoder", "constraints=[]",
        "choices={build.rows: [2]}",
        "set=[build.core_memory=distributed, build.activation_memory=distributed]"};
    tn_error error = {0};
    tn_space own;
    tn_evaluator *evaluator;
    tn_evaluation evaluation;
    tn_design its;
    tn_outside found;
    (void)state;
    test_ok(tn_space_load(test_source("tests/space/data/small.yaml"), lutram, sizeof lutram / sizeof *lutram,
                          NULL, &arena, &own, &error),
            &error);
    test_ok(tn_evaluator_new(&own, &evaluator, &error), &error);
    test_ok(tn_evaluate_design(evaluator, 0, &evaluation, &error), &error);
    test_ok(tn_evaluator_design(evaluator, &arena, &its, &error), &error);
    assert_int_equal(evaluation.price.on_chip_bytes, 0);
    for (tn_outside_what what = TN_OUTSIDE_SPACE; what <= TN_OUTSIDE_FREE; what++) {
        test_ok(tn_outside_find(&own, &its, what, &arena, &found, &error), &error);
        assert_true(found.tried > 10);
        for (size_t i = 0; i < found.count; i++)
            assert_false(found.change[i].value[1] > 0 && found.change[i].dominates);
    }
    tn_evaluator_free(evaluator);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_block_is_more_than_none),
        cmocka_unit_test(each_change_is_priced),
        cmocka_unit_test(no_better_change_is_missing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
