/* Predicted gradients, executed: predictors against loops over their definition, what a predicted step does to the
 * parameters, that predictors learn, and counts of both sorts of step and of their mean, with other techniques beside. */
#include "support/models.h"
#include "support/trained.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/technique.h"
#include "train/initial.h"
#include "train/trainer.h"

/* What every array held when it was last written. */
typedef struct seen {
    double **values; /* [arrays]; NULL: not written yet */
    uint32_t arrays;
    uint64_t rows_most, products; /* that were checked */
    double last_error;            /* of all predictions: sum of squares */
} seen;

/* Letters: a row f, features x and y around it, elements a and c of the parameter around it, unit w. */
static uint64_t size_of(const tn_predictor *p, char letter) {
    return letter == 'f'   ? p->rows
           : letter == 'x' ? p->leading
           : letter == 'y' ? p->trailing
           : letter == 'a' ? p->left
           : letter == 'c' ? p->right
                           : p->width;
}

static size_t place_of(const tn_predictor *p, const char *letters, const uint64_t *digit) {
    size_t place = 0;
    for (; *letters; letters++) place = place * size_of(p, *letters) + digit[(unsigned char)*letters];
    return place;
}

/* The sum over all six letters of left times right, added where the result's letters say. */
static void check_product(seen *s, const tn_operation *o, const char *left, const char *right,
                          const char *out, uint64_t elements, const double *found) {
    const tn_predictor *p = o->predictor;
    const double *a = s->values[o->reads[0]], *b = s->values[o->reads[1]];
    if (!a || !b) return; /* matrices are seen from their first update on */
    double *sum = calloc(elements, sizeof *sum), scale = 0;
    uint64_t digit[256] = {0};
    assert_non_null(sum);
    static const char letters[] = "fxyacw";
    bool used[6];
    for (int i = 0; i < 6; i++) used[i] = strchr(left, letters[i]) || strchr(right, letters[i]);
    for (bool more = true; more;) {
        sum[place_of(p, out, digit)] += a[place_of(p, left, digit)] * b[place_of(p, right, digit)];
        more = false;
        for (int i = 0; i < 6 && !more; i++) {
            uint64_t *one = &digit[(unsigned char)letters[i]];
            if (!used[i]) continue;
            more = ++*one < size_of(p, letters[i]);
            if (!more) *one = 0;
        }
    }
    for (uint64_t i = 0; i < elements; i++) scale = fmax(scale, fabs(sum[i]));
    for (uint64_t i = 0; i < elements; i++) assert_true(fabs(found[i] - sum[i]) <= 1e-12 * scale);
    s->products++;
    if (p->rows > s->rows_most) s->rows_most = p->rows;
    free(sum);
}

static void watch(void *user, const tn_step *step, uint32_t operation, uint32_t array, const void *values) {
    seen *s = user;
    const tn_operation *o = &step->operation[operation];
    const tn_array_part part = step->array[array].part;
    const double *found = values;
    uint64_t elements = step->array[array].elements;
    if (!s->values) {
        s->arrays = step->arrays;
        s->values = calloc(step->arrays, sizeof *s->values);
        assert_non_null(s->values);
    }
    if (o->predictor) {
        if (part == TN_PART_PREDICTOR_HIDDEN) check_product(s, o, "xfy", "wxy", "fw", elements, found);
        if (part == TN_PART_PREDICTED) check_product(s, o, "fw", "wac", "afc", elements, found);
        if (part == TN_PART_PREDICTOR_HIDDEN_GRADIENT)
            check_product(s, o, "afc", "wac", "fw", elements, found);
        if (part == TN_PART_PREDICTOR_OUT) check_product(s, o, "fw", "afc", "wac", elements, found);
        if (part == TN_PART_PREDICTOR_IN) check_product(s, o, "fw", "xfy", "wxy", elements, found);
    } else if (part == TN_PART_PREDICTED) { /* less the true gradient */
        for (uint64_t i = 0; i < elements; i++) {
            assert_true(found[i] == s->values[o->reads[0]][i] - s->values[o->reads[1]][i]);
            s->last_error += found[i] * found[i];
        }
    } else if (part == TN_PART_PREDICTOR_INPUT) {
        const double *given = s->values[o->reads[0]];
        for (uint64_t k = 0; k < o->columns; k++) {
            double sum = 0;
            for (uint64_t i = 0; i < o->rows; i++) sum += given[i * o->columns + k];
            assert_true(fabs(found[k] - sum) <= 1e-13 * (1 + fabs(sum)));
        }
    }
    s->values[array] = realloc(s->values[array], elements * sizeof(double));
    assert_non_null(s->values[array]);
    memcpy(s->values[array], values, elements * sizeof(double));
}

static void forget(seen *s) {
    for (uint32_t i = 0; i < s->arrays; i++) free(s->values[i]);
    free(s->values);
    *s = (seen){0};
}

/* Wide enough for predictors of several rows, along factors of cores and along dense outputs. */
static const char wide[] = "kind: model\nname: wide\nsequence: 4\n"
                           "weights:\n"
                           "  square: {format: tt, m: 4x6, n: 6x4, rank: 3}\n"
                           "  other: {format: ttm, m: 6x4, n: 4x6, rank: 2, flow: optimal}\n"
                           "layers:\n"
                           "  - {name: words, kind: embedding, vocabulary: 9, width: 24}\n"
                           "  - {name: square, kind: linear, outputs: 24, weight: square}\n"
                           "  - {name: bend, kind: gelu}\n"
                           "  - {name: other, kind: linear, outputs: 24, weight: other}\n"
                           "  - {name: slots, kind: linear, outputs: 16}\n"
                           "  - {name: slot-loss, kind: cross-entropy}\n";

static tn_model *model_with(const char *name, const char *const *set, size_t sets, tn_arena *arena) {
    tn_model *model, *varied;
    tn_error error = {0};
    model = strcmp(name, "wide") == 0 ? test_model_of(wide, arena) : test_model_named(name, arena);
    if (tn_model_vary(tn_model_root(model), set, sets, arena, &varied, &error) != TN_OK)
        fail_msg("%s", error.message);
    return varied;
}

static void predictors_are_what_they_say(void **state) {
    (void)state;
    static const char *const set[] = {"batch=1", "predicted_gradients={per: 1, true: 5, predictor: 3}"};
    tn_arena arena = {0};
    seen s = {0};
    free(test_train(model_with("wide", set, 2, &arena), TN_FLOAT64, 5, watch, &s).values);
    assert_true(s.products > 100 && s.rows_most > 1);
    forget(&s);
    tn_arena_free(&arena);
}

/* Predictors that see the same step again and again come to predict its gradient. */
static double error_behind(int steps) {
    static const char *const set[] = {"batch=1", "predicted_gradients={per: 1, true: 1000, rate: 0.5}"};
    tn_arena arena = {0};
    const tn_model *model = model_with("wide", set, 2, &arena);
    tn_train_settings settings;
    tn_trainer *trainer;
    tn_step_result result;
    uint32_t token[] = {3, 1, 5, 2};
    int32_t slot[] = {0, 2, 1, 4};
    const tn_example example = {.tokens = 4, .token = token, .slot = slot, .intent = 1};
    seen s = {0};
    assert_int_equal(tn_train_settings_decode(tn_model_training(model), &arena, &settings, NULL), TN_OK);
    assert_int_equal(tn_trainer_new(model, &settings, TN_FLOAT64, &trainer, NULL), TN_OK);
    assert_int_equal(tn_initialise(trainer, &settings, NULL), TN_OK);
    for (int i = 0; i < steps; i++) {
        if (i + 1 == steps) tn_trainer_watch(trainer, watch, &s);
        /* so small a rate that the model stays where it is */
        assert_int_equal(tn_trainer_step(trainer, &example, 1, false, 1e-300, &result, NULL), TN_OK);
    }
    double error = s.last_error;
    forget(&s);
    tn_trainer_free(trainer);
    tn_arena_free(&arena);
    return error;
}

static void predictors_learn(void **state) {
    (void)state;
    double begin = error_behind(1), end = error_behind(400);
    assert_true(begin > 0);
    if (!(end < 0.2 * begin)) fail_msg("error %g of %g", end, begin);
}

/* Multiply-adds of a list without those of predictors, forward ones and others. */
static void count(const tn_step *step, uint64_t *forward, uint64_t *backward, uint64_t *predictors) {
    *forward = *backward = *predictors = 0;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *o = &step->operation[i];
        uint64_t *target = o->predictor ? predictors : o->phase == TN_FORWARD ? forward : backward;
        *target += o->macs;
    }
}

static void prices(void **state) {
    (void)state;
    static const struct {
        const char *set;
        uint64_t period, truly;
    } cycle[] = {{"predicted_gradients={per: 4, true: 1}", 4, 1},
                 {"predicted_gradients={per: 3, true: 1}", 3, 1},
                 {"predicted_gradients={per: 2, true: 1}", 2, 1},
                 {"predicted_gradients={per: 1, true: 1}", 1, 1},
                 {"predicted_gradients={per: 2, true: 3, predictor: 7}", 2, 3}};
    for (size_t i = 0; i < sizeof cycle / sizeof *cycle; i++) {
        tn_arena arena = {0};
        const tn_model *model = test_model_loaded("atis-2enc", cycle[i].set, &arena);
        tn_step mean = test_step_of(model, &arena), plain, sort[TN_PREDICTING_SORTS];
        tn_program_cache *cache;
        assert_int_equal(tn_step_sorts(model), TN_PREDICTING_SORTS);
        assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
        plain = test_step_of(test_model_loaded("atis-2enc", "batch=1", &arena), &arena);
        uint64_t forward, backward, predictors, counts[3], share = cycle[i].period + cycle[i].truly;
        count(&plain, &counts[0], &counts[1], &counts[2]);
        count(&mean, &forward, &backward, &predictors);
        assert_int_equal(forward, counts[0]);
        /* The formula, with the ratio of backward to forward work that this model has. */
        double speedup, ratio = (double)counts[1] / (double)counts[0];
        assert_int_equal(
            tn_predicted_gradient_speedup(cycle[i].period, cycle[i].truly, 0, ratio, &speedup, NULL), TN_OK);
        assert_true(fabs((double)(counts[0] + counts[1]) / (double)(forward + backward) - speedup) < 1e-4);
        uint64_t total[TN_PREDICTING_SORTS];
        for (uint32_t k = 0; k < TN_PREDICTING_SORTS; k++) {
            assert_int_equal(tn_step_build_sort(model, cache, k, &arena, &sort[k], NULL), TN_OK);
            count(&sort[k], &forward, &backward, &predictors);
            assert_int_equal(backward, k == TN_SORT_TRUE ? counts[1] : 0);
            total[k] = forward + backward + predictors;
        }
        count(&mean, &forward, &backward, &predictors);
        double wanted =
            ((double)total[0] * (double)cycle[i].truly + (double)total[1] * (double)cycle[i].period) /
            (double)share;
        assert_true(fabs(wanted - (double)(forward + backward + predictors)) < mean.operations);
        assert_int_equal(mean.peak_elements, sort[TN_SORT_TRUE].peak_elements);
        assert_true(sort[TN_SORT_PREDICTED].peak_elements < mean.peak_elements);
        assert_int_equal(mean.optimizer_elements, sort[TN_SORT_PREDICTED].optimizer_elements);
        tn_program_cache_free(cache);
        tn_arena_free(&arena);
    }
}

/* test_train holds every step's counts against what was predicted. Both sorts change the parameters. */
static void counts_with_other_techniques(void **state) {
    (void)state;
    static const char *const sets[][4] = {{"update.when=write-back", "activations.policy=recompute",
                                           "precision.products=int8", "optimizer=adam"},
                                          {"activations.segments=3", "format=dense",
                                           "precision={weights: bf16, gradients: int16}", "update.when=end"},
                                          {"train=['slots', 'block2.*']", "optimizer=momentum",
                                           "update.when=write-back", "activations.policy=recompute-layers"}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const char *const set[] = {
            "batch=1",  "predicted_gradients={per: 2, true: 1, predictor: 4, rate: 0.3}",
            sets[i][0], sets[i][1],
            sets[i][2], sets[i][3]};
        tn_arena arena = {0};
        test_trained before = {0};
        for (int steps = 3; steps <= 6; steps++) {
            test_trained now =
                test_train(model_with("transformer", set, 6, &arena), TN_FLOAT32, steps, NULL, NULL);
            if (before.values) assert_true(test_trained_distance(&now, &before) > 0);
            free(before.values);
            before = now;
        }
        free(before.values);
        tn_arena_free(&arena);
    }
}

static void slips_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *set[2], *says;
    } wrong[] = {{{"phase=inference", "update.when=end"}, "inference"},
                 {{"sparsity.weights=0.5", "update.when=end"}, "sparse-weights"},
                 {{"train=[words]", "update.when=end"}, "linear layers"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *const set[] = {"predicted_gradients.per=1", wrong[i].set[0], wrong[i].set[1]};
        tn_arena arena = {0};
        tn_program_cache *cache;
        tn_step step;
        tn_error error = {0};
        const tn_model *model = model_with("transformer", set, 3, &arena);
        assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
        assert_int_equal(tn_step_build(model, cache, &arena, &step, &error), TN_INPUT);
        if (!strstr(error.message, wrong[i].says)) fail_msg("%s", error.message);
        tn_program_cache_free(cache);
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictors_are_what_they_say),
        cmocka_unit_test(predictors_learn),
        cmocka_unit_test(prices),
        cmocka_unit_test(counts_with_other_techniques),
        cmocka_unit_test(slips_are_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_models_end(NULL);
    return failed;
}
