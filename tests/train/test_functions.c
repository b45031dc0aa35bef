/* Layers that are functions of each element, executed: the loss of a model with one is that of plain loops over its formula
 * as it is published, and gradients are finite differences of that loss. */
#include "support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/layer_kind.h"
#include "train/initial.h"
#include "train/trainer.h"

enum { WORDS = 5, WIDTH = 4, INNER = 7, TOKENS = 3, VALUES_MOST = 64, PARAMETERS = 5 };
static const uint32_t token[TOKENS] = {3, 0, 4};
static const int32_t label[TOKENS] = {1, 4, 2};

static double gelu(double x) {
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * pow(x, 3))));
}

static double silu(double x) {
    return x / (1 + exp(-x));
}

static double relu(double x) {
    return fmax(x, 0);
}

static double squared_relu(double x) {
    return x > 0 ? x * x : 0;
}

static double softplus(double x) {
    return log1p(exp(x));
}

static const struct {
    const char *kind;
    double (*formula)(double x);
} functions[] = {
    {"gelu", gelu},         {"silu", silu}, {"relu", relu}, {"tanh", tanh}, {"squared-relu", squared_relu},
    {"softplus", softplus},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static tn_trainer *trainer_of(const char *kind, tn_real real, tn_arena *arena) {
    const char *path = test_in_folder("function.yaml");
    FILE *file = fopen(path, "w");
    tn_model *model;
    tn_trainer *trainer = NULL;
    static tn_train_settings settings;
    tn_error error = {0};
    assert_non_null(file);
    fprintf(file,
            "kind: model\nname: function\nsequence: %d\nlayers:\n"
            "  - {name: embedding, kind: embedding, vocabulary: %d, width: %d}\n"
            "  - {name: widen, kind: linear, outputs: %d}\n"
            "  - {name: function, kind: %s}\n"
            "  - {name: head, kind: linear, outputs: %d}\n"
            "  - {name: loss, kind: cross-entropy}\n",
            TOKENS, WORDS, WIDTH, INNER, kind, WORDS);
    assert_int_equal(fclose(file), 0);
    if (tn_model_load(path, NULL, 0, arena, &model, &error) != TN_OK ||
        tn_train_settings_decode(tn_model_training(model), arena, &settings, NULL) != TN_OK ||
        tn_trainer_new(model, &settings, real, &trainer, &error) != TN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(tn_initialise(trainer, &settings, NULL), TN_OK);
    assert_int_equal(tn_trainer_parameters(trainer), PARAMETERS);
    for (size_t i = 0; i < PARAMETERS; i++) {
        const tn_train_parameter *p = tn_trainer_parameter(trainer, i);
        assert_true(p->elements <= VALUES_MOST);
        for (uint64_t k = 0; k < p->elements; k++) {
            double value = 1.1 * sin(0.9 * (double)k + (double)i + 0.3);
            if (real == TN_FLOAT64)
                ((double *)p->values)[k] = value;
            else
                ((float *)p->values)[k] = (float)value;
        }
    }
    return trainer;
}

static const double *values_of(const tn_trainer *t, const char *name) {
    for (size_t i = 0; i < tn_trainer_parameters(t); i++)
        if (strcmp(tn_trainer_parameter(t, i)->name, name) == 0) return tn_trainer_parameter(t, i)->values;
    fail_msg("no parameter %s", name);
    return NULL;
}

static void multiply(const double *w, const double *bias, const double *x, int rows, int columns, double *y) {
    for (int i = 0; i < rows; i++) {
        y[i] = bias[i];
        for (int j = 0; j < columns; j++) y[i] += w[i * columns + j] * x[j];
    }
}

static double reference_loss(const tn_trainer *t, double (*formula)(double)) {
    double loss = 0;
    for (int p = 0; p < TOKENS; p++) {
        double wide[INNER], logit[WORDS], sum = 0;
        multiply(values_of(t, "widen.weight"), values_of(t, "widen.bias"),
                 values_of(t, "embedding.weight") + token[p] * WIDTH, INNER, WIDTH, wide);
        for (int i = 0; i < INNER; i++) wide[i] = formula(wide[i]);
        multiply(values_of(t, "head.weight"), values_of(t, "head.bias"), wide, WORDS, INNER, logit);
        for (int i = 0; i < WORDS; i++) sum += exp(logit[i]);
        loss += (log(sum) - logit[label[p]]) / TOKENS;
    }
    return loss;
}

static double step(tn_trainer *t, double rate) {
    const tn_example example = {.tokens = TOKENS, .token = token, .slot = label, .intent = -1};
    tn_step_result result = {0};
    assert_int_equal(tn_trainer_step(t, &example, 1, false, rate, &result, NULL), TN_OK);
    assert_int_equal(result.macs, result.macs_predicted);
    assert_int_equal(result.peak_elements, result.peak_elements_predicted);
    return result.loss;
}

/* None is left out: whoever adds one gives its formula above. */
static void all_kinds_are_here(void **state) {
    (void)state;
    for (size_t i = 0; i < tn_layer_kind_count; i++) {
        bool found = tn_layer_kinds[i].operation == TN_OP_PRODUCT; /* 0: no function */
        for (size_t f = 0; f < FUNCTIONS; f++)
            found |= strcmp(functions[f].kind, tn_layer_kinds[i].name) == 0;
        if (!found) fail_msg("%s has no formula in this test", tn_layer_kinds[i].name);
    }
}

static void loss_is_that_of_the_formula(void **state) {
    (void)state;
    for (size_t f = 0; f < FUNCTIONS; f++) {
        tn_arena arena = {0};
        tn_trainer *wide = trainer_of(functions[f].kind, TN_FLOAT64, &arena),
                   *narrow = trainer_of(functions[f].kind, TN_FLOAT32, &arena);
        double expected = reference_loss(wide, functions[f].formula), ours = step(wide, 0),
               rounded = step(narrow, 0);
        if (fabs(ours / expected - 1) > 1e-12 || fabs(rounded / expected - 1) > 1e-5)
            fail_msg("%s: %.17g, in float32 %.9g, not %.17g", functions[f].kind, ours, rounded, expected);
        tn_trainer_free(wide);
        tn_trainer_free(narrow);
        tn_arena_free(&arena);
    }
}

/* One step of rate 1 moves a parameter by its gradient. */
static void gradients_are_differences(void **state) {
    (void)state;
    static double gradient[PARAMETERS][VALUES_MOST];
    for (size_t f = 0; f < FUNCTIONS; f++) {
        tn_arena arena = {0};
        tn_trainer *t = trainer_of(functions[f].kind, TN_FLOAT64, &arena);
        for (size_t i = 0; i < PARAMETERS; i++)
            memcpy(gradient[i], tn_trainer_parameter(t, i)->values,
                   tn_trainer_parameter(t, i)->elements * sizeof(double));
        step(t, 1);
        for (size_t i = 0; i < PARAMETERS; i++) {
            double *now = tn_trainer_parameter(t, i)->values;
            for (uint64_t k = 0; k < tn_trainer_parameter(t, i)->elements; k++) {
                double before = gradient[i][k];
                gradient[i][k] -= now[k];
                now[k] = before;
            }
        }
        for (size_t i = 0; i < PARAMETERS; i++) {
            const tn_train_parameter *p = tn_trainer_parameter(t, i);
            for (uint64_t k = 0; k < p->elements; k++) {
                const double small = 1e-5;
                double *place = (double *)p->values + k, was = *place;
                *place = was + small;
                double above = reference_loss(t, functions[f].formula);
                *place = was - small;
                double slope = (above - reference_loss(t, functions[f].formula)) / (2 * small);
                *place = was;
                if (fabs(slope - gradient[i][k]) > 1e-8)
                    fail_msg("%s, %s[%d]: %.12g, not %.12g", functions[f].kind, p->name, (int)k,
                             gradient[i][k], slope);
            }
        }
        tn_trainer_free(t);
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_are_here),
        cmocka_unit_test(loss_is_that_of_the_formula),
        cmocka_unit_test(gradients_are_differences),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
