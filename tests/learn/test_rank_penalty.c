/* Ranks that adapt: the proximal step against its definition, that a balanced or trimmed model gives what the whole one
 * gives, and a run that ends in a trimmed model's file and weights. */
#include "support/small_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "learn/adapted_model.h"
#include "learn/rank_penalty.h"
#include "train/initial.h"

static tn_trainer *fresh(test_small_run *b, const tn_model *model) {
    tn_trainer *t;
    tn_status status = tn_trainer_new(model, &b->run.settings, TN_FLOAT64, &t, &b->error);
    if (status != TN_OK) print_error("%s\n", b->error.message);
    assert_int_equal(status, TN_OK);
    assert_int_equal(tn_initialise(t, &b->run.settings, NULL), TN_OK);
    return t;
}

static double loss_of(tn_trainer *t, const test_small_run *b) {
    uint32_t *const class_of[TN_HEADS_MOST] = {NULL};
    tn_step_result result;
    double loss = 0;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(tn_trainer_forward(t, &b->data.train.example[i], 1, false, class_of, &result, NULL),
                         TN_OK);
        loss += result.loss;
    }
    return loss;
}

/* Norm of slice r of a bond in one of its cores. */
static double slice_norm(const tn_trainer *t, const tn_rank_bond *bond, bool left, uint64_t r) {
    const tn_train_parameter *p = tn_trainer_parameter(t, left ? bond->left : bond->right);
    const double *values = p->values;
    double sum = 0;
    for (uint64_t i = 0; i < p->elements; i++) {
        uint64_t count = left ? i % p->shape[p->axes - 1] : i / (p->elements / p->shape[0]);
        if (count == r) sum += values[i] * values[i];
    }
    return sqrt(sum);
}

/* Balanced, the slice's norm is sqrt(2 a b) whatever the gauge; the step takes
 * amount * sqrt(cost) * mean / norm off it. */
static void one_step(void **state) {
    (void)state;
    enum { SLICES_MOST = 64 };
    test_small_run b;
    tn_rank_penalty penalty;
    test_small_begin(&b, NULL, 0);
    tn_trainer *t = fresh(&b, b.model);
    assert_int_equal(tn_rank_penalty_new(t, &b.arena, &penalty, NULL), TN_OK);
    assert_int_equal(penalty.bonds, 1 + 3 * 3); /* the table's, and three of each of three matrices */
    for (double amount = 0; amount < 0.4; amount += 0.06) {
        for (size_t i = 0; i < penalty.bonds; i++) {
            const tn_rank_bond *bond = &penalty.bond[i];
            double before[SLICES_MOST], greatest = 0, squares = 0, living = 0;
            bool any = false;
            for (uint64_t r = 0; r < bond->rank; r++) {
                before[r] = sqrt(2 * slice_norm(t, bond, true, r) * slice_norm(t, bond, false, r));
                greatest = fmax(greatest, before[r]);
                squares += before[r] * before[r];
                living += before[r] > 0;
            }
            tn_rank_penalty one = penalty;
            one.bond = &penalty.bond[i];
            one.bonds = 1;
            tn_rank_penalty_shrink(&one, t, amount);
            double all = amount * sqrt(bond->cost * squares / living), taken[SLICES_MOST];
            for (uint64_t r = 0; r < bond->rank; r++) {
                taken[r] = before[r] > 0 ? all / before[r] : 0;
                any |= before[r] > taken[r];
            }
            for (uint64_t r = 0; r < bond->rank; r++) {
                double a = slice_norm(t, bond, true, r), c = slice_norm(t, bond, false, r);
                double expected = fmax(0, before[r] - taken[r]);
                if (!any && before[r] == greatest) expected = before[r];
                assert_true(fabs(a - c) <= 1e-12 * (a + 1e-30));
                assert_true(fabs(sqrt(a * a + c * c) - expected) <= 1e-12 * before[r]);
                assert_int_equal(bond->lives[r], expected > 0);
            }
        }
    }
    for (size_t i = 0; i < penalty.bonds; i++) assert_true(tn_rank_bond_left(&penalty.bond[i]) >= 1);
    tn_trainer_free(t);
    tn_arena_free(&b.arena);
}

static void balance_and_trim_change_nothing(void **state) {
    (void)state;
    test_small_run b;
    tn_rank_penalty penalty;
    tn_model *trimmed;
    test_small_begin(&b, NULL, 0);
    tn_trainer *t = fresh(&b, b.model);
    assert_int_equal(tn_rank_penalty_new(t, &b.arena, &penalty, NULL), TN_OK);
    double loss = loss_of(t, &b);
    tn_rank_penalty_shrink(&penalty, t, 0);
    assert_true(fabs(loss_of(t, &b) - loss) <= 1e-12 * loss);

    tn_rank_penalty_shrink(&penalty, t, 0.12);
    loss = loss_of(t, &b);
    tn_rank_penalty_look(&penalty, t);
    assert_int_equal(tn_trimmed_model(t, &penalty, &b.arena, &trimmed, NULL), TN_OK);
    tn_trainer *small = fresh(&b, trimmed);
    assert_int_equal(tn_trimmed_values(t, &penalty, small, NULL), TN_OK);
    assert_true(tn_trainer_parameter_elements(small) < tn_trainer_parameter_elements(t));
    assert_true(fabs(loss_of(small, &b) - loss) <= 1e-12 * loss);
    tn_trainer_free(small);
    tn_trainer_free(t);
    tn_arena_free(&b.arena);
}

static bool same_scores(const tn_scores *a, const tn_scores *b) {
    return fabs(a->loss - b->loss) < 1e-4 * b->loss && a->intent_accuracy == b->intent_accuracy &&
           a->slot_accuracy == b->slot_accuracy;
}

/* With every optimizer the slices that vanished stay away when the penalty is over; the files in the folder are the
 * trimmed model, which scores the same. */
static void whole_run(void **state) {
    (void)state;
    static const char *const optimizers[] = {"optimizer=sgd", "optimizer=momentum", "optimizer=adam"};
    static const double rate[] = {0.05, 0.01, 0.005}, penalty[] = {0.02, 0.2, 0.2};
    for (int i = 0; i < 3; i++) {
        test_small_run b, again;
        char weights[256];
        test_small_begin(&b, &optimizers[i], 1);
        b.run.settings.learning_rate = rate[i];
        b.run.settings.rank_penalty = penalty[i];
        b.run.folder = test_in_folder(optimizers[i]);
        snprintf(weights, sizeof weights, "%s/weights.npz", b.run.folder);
        assert_int_equal(test_small_train(&b), TN_OK);
        const tn_adapted *adapted = &b.result.adapted;
        assert_true(adapted->done && !adapted->priced);
        assert_int_equal(adapted->slices, 8 + 3 * 3 * 6);
        assert_true(adapted->slices_left < adapted->slices && adapted->slices_left >= 10);
        assert_true(adapted->parameters < b.result.parameters);
        assert_int_equal(adapted->layers, 4);
        assert_int_equal(adapted->macs_per_step.predicted, adapted->macs_per_step.executed);
        assert_int_equal(adapted->peak_elements.predicted, adapted->peak_elements.executed);
        assert_true(adapted->macs_per_step.executed < b.result.macs_per_step.executed);
        assert_true(same_scores(&adapted->dev, &b.result.epoch[2].dev));

        again = (test_small_run){.run = b.run, .data = b.data};
        char path[256];
        snprintf(path, sizeof path, "%s/model.yaml", b.run.folder);
        assert_int_equal(tn_model_load(path, NULL, 0, &again.arena, &again.model, &again.error), TN_OK);
        again.run.model = again.model;
        again.run.weights = weights;
        again.run.folder = NULL;
        again.run.settings.rank_penalty = 0;
        again.run.settings.learning_rate = 0;
        again.run.settings.epochs = 1;
        assert_int_equal(test_small_train(&again), TN_OK);
        assert_int_equal(again.result.parameters, adapted->parameters);
        assert_true(same_scores(&again.result.epoch[0].dev, &adapted->dev));
        tn_arena_free(&again.arena);
        tn_arena_free(&b.arena);
    }
}

/* Where a slice costs more, more of it goes: the table's bond, by its memory. */
static void prices_weigh(void **state) {
    (void)state;
    test_small_run b;
    tn_rank_penalty penalty;
    tn_device *device;
    tn_design design;
    double by_size = 0, by_price = 0;
    test_small_begin(&b, NULL, 0);
    assert_int_equal(tn_device_load("u50@user-area", NULL, 0, &b.arena, &device, &b.error), TN_OK);
    design = (tn_design){.model = b.model, .device = device};
    assert_int_equal(tn_build_decode(NULL, &b.arena, &design.build, &b.error), TN_OK);
    tn_trainer *t = fresh(&b, b.model);
    assert_int_equal(tn_rank_penalty_new(t, &b.arena, &penalty, NULL), TN_OK);
    for (size_t i = 0; i < penalty.bonds; i++) by_size += penalty.bond[i].cost * (double)penalty.bond[i].rank;
    assert_int_equal(tn_slice_costs(t, &design, &penalty, &b.error), TN_OK);
    for (size_t i = 0; i < penalty.bonds; i++) {
        by_price += penalty.bond[i].cost * (double)penalty.bond[i].rank;
        assert_true(penalty.bond[i].cost >= 0);
    }
    assert_true(fabs(by_price - by_size) < 1e-9 * by_size);
    assert_true(penalty.bond[2].cost != penalty.bond[1].cost); /* the middle bond of a matrix and its first */
    assert_true(penalty.bond[4].cost == penalty.bond[1].cost); /* the first ones of two matrices */
    tn_trainer_free(t);
    tn_arena_free(&b.arena);
}

static void nothing_to_adapt(void **state) {
    (void)state;
    static const char *const dense[] = {"format=dense"};
    test_small_run b;
    test_small_begin(&b, dense, 1);
    b.run.settings.rank_penalty = 1;
    assert_int_equal(test_small_train(&b), TN_INPUT);
    assert_non_null(strstr(b.error.message, "no rank to adapt"));
    tn_arena_free(&b.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step),         cmocka_unit_test(balance_and_trim_change_nothing),
        cmocka_unit_test(whole_run),        cmocka_unit_test(prices_weigh),
        cmocka_unit_test(nothing_to_adapt),
    };
    return cmocka_run_group_tests(tests, test_small_set_up, test_folder_remove);
}
