#include "support/trained_formulas.h"

#include "support/folder.h"
#include "train/initial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tn_trainer *test_trainer(const char *model_text, const char *const *set, size_t sets, tn_real real,
                         tn_arena *arena) {
    const char *path = test_in_folder("formulas.yaml");
    FILE *file = fopen(path, "w");
    tn_model *model;
    tn_trainer *trainer = NULL;
    static tn_train_settings settings;
    tn_error error = {0};
    assert_non_null(file);
    fputs(model_text, file);
    assert_int_equal(fclose(file), 0);
    if (tn_model_load(path, set, sets, arena, &model, &error) != TN_OK ||
        tn_train_settings_decode(tn_model_training(model), arena, &settings, NULL) != TN_OK ||
        tn_trainer_new(model, &settings, real, &trainer, &error) != TN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(tn_initialise(trainer, &settings, NULL), TN_OK);
    return trainer;
}

const double *test_parameter(const tn_trainer *trainer, const char *name) {
    for (size_t i = 0; i < tn_trainer_parameters(trainer); i++)
        if (strcmp(tn_trainer_parameter(trainer, i)->name, name) == 0)
            return tn_trainer_parameter(trainer, i)->values;
    fail_msg("no parameter %s", name);
    return NULL;
}

void test_affine(const double *w, const double *bias, const double *x, int rows, int columns, double *y) {
    for (int i = 0; i < rows; i++) {
        y[i] = bias ? bias[i] : 0;
        for (int j = 0; j < columns; j++) y[i] += w[i * columns + j] * x[j];
    }
}

double test_step(tn_trainer *trainer, const test_formulas *formulas, double rate) {
    const tn_example example = {
        .tokens = formulas->tokens, .token = formulas->token, .slot = formulas->label, .intent = -1};
    tn_step_result result = {0};
    assert_int_equal(tn_trainer_step(trainer, &example, 1, false, rate, &result, NULL), TN_OK);
    assert_int_equal(result.macs, result.macs_predicted);
    assert_int_equal(result.peak_elements, result.peak_elements_predicted);
    return result.loss;
}

void test_slopes(tn_trainer *trainer, void (*step)(tn_trainer *trainer, void *user),
                 double (*loss)(const tn_trainer *trainer, void *user), void *user, const char *name) {
    static const double small = 1e-5;
    size_t parameters = tn_trainer_parameters(trainer);
    double **gradient = calloc(parameters, sizeof *gradient);
    assert_non_null(gradient);
    for (size_t i = 0; i < parameters; i++) {
        const tn_train_parameter *p = tn_trainer_parameter(trainer, i);
        gradient[i] = malloc(p->elements * sizeof(double));
        assert_non_null(gradient[i]);
        memcpy(gradient[i], p->values, p->elements * sizeof(double));
    }
    step(trainer, user);
    for (size_t i = 0; i < parameters; i++) {
        double *now = tn_trainer_parameter(trainer, i)->values;
        for (uint64_t k = 0; k < tn_trainer_parameter(trainer, i)->elements; k++) {
            double before = gradient[i][k];
            gradient[i][k] -= now[k];
            now[k] = before;
        }
    }
    for (size_t i = 0; i < parameters; i++) {
        const tn_train_parameter *p = tn_trainer_parameter(trainer, i);
        for (uint64_t k = 0; k < p->elements; k++) {
            double *element = (double *)p->values + k, was = *element;
            *element = was + small;
            double above = loss(trainer, user);
            *element = was - small;
            double slope = (above - loss(trainer, user)) / (2 * small);
            *element = was;
            if (fabs(slope - gradient[i][k]) > 1e-8)
                fail_msg("%s, %s[%d]: %.12g, not %.12g", name, p->name, (int)k, gradient[i][k], slope);
        }
        free(gradient[i]);
    }
    free(gradient);
}

static void step_by_one(tn_trainer *trainer, void *user) {
    test_step(trainer, user, 1);
}

static double loss_by_formulas(const tn_trainer *trainer, void *user) {
    return ((const test_formulas *)user)->loss(trainer);
}

void test_gradients(tn_trainer *trainer, const test_formulas *formulas, const char *name) {
    test_formulas own = *formulas;
    test_slopes(trainer, step_by_one, loss_by_formulas, &own, name);
}
