/* Layers that are functions of each element, executed: the loss of a model with one is that of plain loops over its formula
 * as it is published, and gradients are finite differences of that loss. */
#include "support/folder.h"
#include "support/trained_formulas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/layer_kind.h"

enum { WORDS = 5, WIDTH = 4, INNER = 7, TOKENS = 3, PARAMETERS = 5 };
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

static double (*formula)(double); /* of the kind in work */

static tn_trainer *trainer_of(size_t kind, tn_real real, tn_arena *arena) {
    char text[1024];
    snprintf(text, sizeof text,
             "kind: model\nname: function\nsequence: %d\nlayers:\n"
             "  - {name: embedding, kind: embedding, vocabulary: %d, width: %d}\n"
             "  - {name: widen, kind: linear, outputs: %d}\n"
             "  - {name: function, kind: %s}\n"
             "  - {name: head, kind: linear, outputs: %d}\n"
             "  - {name: loss, kind: cross-entropy}\n",
             TOKENS, WORDS, WIDTH, INNER, functions[kind].kind, WORDS);
    formula = functions[kind].formula;
    tn_trainer *trainer = test_trainer(text, NULL, 0, real, arena);
    assert_int_equal(tn_trainer_parameters(trainer), PARAMETERS);
    for (size_t i = 0; i < PARAMETERS; i++) {
        const tn_train_parameter *p = tn_trainer_parameter(trainer, i);
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

static double reference_loss(const tn_trainer *t) {
    double loss = 0;
    for (int p = 0; p < TOKENS; p++) {
        double wide[INNER], logit[WORDS], sum = 0;
        test_affine(test_parameter(t, "widen.weight"), test_parameter(t, "widen.bias"),
                    test_parameter(t, "embedding.weight") + token[p] * WIDTH, INNER, WIDTH, wide);
        for (int i = 0; i < INNER; i++) wide[i] = formula(wide[i]);
        test_affine(test_parameter(t, "head.weight"), test_parameter(t, "head.bias"), wide, WORDS, INNER,
                    logit);
        for (int i = 0; i < WORDS; i++) sum += exp(logit[i]);
        loss += (log(sum) - logit[label[p]]) / TOKENS;
    }
    return loss;
}

static const test_formulas formulas = {token, label, TOKENS, reference_loss};

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
        tn_trainer *wide = trainer_of(f, TN_FLOAT64, &arena), *narrow = trainer_of(f, TN_FLOAT32, &arena);
        double expected = reference_loss(wide), ours = test_step(wide, &formulas, 0),
               rounded = test_step(narrow, &formulas, 0);
        if (fabs(ours / expected - 1) > 1e-12 || fabs(rounded / expected - 1) > 1e-5)
            fail_msg("%s: %.17g, in float32 %.9g, not %.17g", functions[f].kind, ours, rounded, expected);
        tn_trainer_free(wide);
        tn_trainer_free(narrow);
        tn_arena_free(&arena);
    }
}

static void gradients_are_differences(void **state) {
    (void)state;
    for (size_t f = 0; f < FUNCTIONS; f++) {
        tn_arena arena = {0};
        tn_trainer *t = trainer_of(f, TN_FLOAT64, &arena);
        test_gradients(t, &formulas, functions[f].kind);
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
