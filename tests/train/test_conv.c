/* Convolutions, means over tokens and tokens side by side, executed: the loss of a model with them is that of direct loops
 * over pixels, gradients are finite differences of that loss, and what is executed is what is counted. */
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

#include "train/initial.h"
#include "train/trainer.h"

enum { COLOURS = 5, FEATURES = 2, HEIGHT = 5, WIDTH = 4, PIXELS = HEIGHT * WIDTH, EXAMPLES = 2, ANSWERS = 3 };
enum { FIRST = 3, SECOND = 4, VALUES_MOST = 512, PARAMETERS = 7 };

/* A picture's convolution: kernel, stride and padding down and across. */
typedef struct geometry {
    int kernel[2], stride[2], padding[2];
} geometry;

static const struct {
    geometry first, second;
    const char *gathered; /* by which layer a picture becomes one row */
} cases[] = {
    {{{3, 3}, {1, 1}, {1, 1}}, {{3, 3}, {1, 1}, {0, 0}}, "mean"},
    {{{3, 3}, {2, 2}, {1, 1}}, {{1, 1}, {1, 1}, {0, 0}}, "flatten"},
    {{{1, 3}, {1, 2}, {0, 1}}, {{2, 1}, {1, 1}, {1, 0}}, "mean"},
    {{{1, 1}, {1, 1}, {0, 0}}, {{5, 4}, {1, 1}, {0, 0}}, "flatten"},
    {{{2, 3}, {1, 1}, {2, 3}}, {{3, 2}, {3, 2}, {1, 0}}, "flatten"}, /* windows without any pixel */
};
enum { CASES = sizeof cases / sizeof *cases };

static int along(int pixels, const geometry *g, int side) {
    return (pixels + 2 * g->padding[side] - g->kernel[side]) / g->stride[side] + 1;
}

static tn_trainer *trainer_of(int number, tn_real real, tn_arena *arena) {
    const geometry *a = &cases[number].first, *b = &cases[number].second;
    const char *path = test_in_folder("conv.yaml");
    FILE *file = fopen(path, "w");
    tn_model *model;
    tn_trainer *trainer = NULL;
    static tn_train_settings settings;
    tn_error error = {0};
    assert_non_null(file);
    fprintf(file,
            "kind: model\nname: conv\nsequence: %d\nbatch: %d\nlayers:\n"
            "  - {name: embedding, kind: embedding, vocabulary: %d, width: %d}\n"
            "  - {name: first, kind: conv, outputs: %d, height: %d, width: %d, kernel: %d, kernel_width: %d, "
            "stride: %d, "
            "stride_width: %d, padding: %d, padding_width: %d}\n"
            "  - {name: tanh, kind: tanh}\n"
            "  - {name: second, kind: conv, outputs: %d, height: %d, width: %d, kernel: %d, kernel_width: "
            "%d, stride: %d, "
            "stride_width: %d, padding: %d, padding_width: %d}\n"
            "  - {name: gathered, kind: %s}\n"
            "  - {name: head, kind: linear, outputs: %d}\n"
            "  - {name: loss, kind: cross-entropy}\n",
            PIXELS, EXAMPLES, COLOURS, FEATURES, FIRST, HEIGHT, WIDTH, a->kernel[0], a->kernel[1],
            a->stride[0], a->stride[1], a->padding[0], a->padding[1], SECOND, along(HEIGHT, a, 0),
            along(WIDTH, a, 1), b->kernel[0], b->kernel[1], b->stride[0], b->stride[1], b->padding[0],
            b->padding[1], cases[number].gathered, ANSWERS);
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
            double value = 0.7 * sin(0.9 * (double)k * (double)k + (double)i + 0.3);
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

/* y[outputs down][outputs across][outputs] of x[height][width][inputs]; multiply-adds are those of windows with padding. */
static uint64_t convolve(const geometry *g, const double *weight, const double *bias, const double *x,
                         int height, int width, int inputs, int outputs, double *y) {
    int down = along(height, g, 0), across = along(width, g, 1);
    uint64_t macs = 0;
    for (int p = 0; p < down; p++)
        for (int q = 0; q < across; q++)
            for (int o = 0; o < outputs; o++) {
                double sum = bias[o];
                for (int i = 0; i < g->kernel[0]; i++)
                    for (int j = 0; j < g->kernel[1]; j++)
                        for (int c = 0; c < inputs; c++, macs++) {
                            int row = p * g->stride[0] + i - g->padding[0],
                                column = q * g->stride[1] + j - g->padding[1];
                            if (row < 0 || row >= height || column < 0 || column >= width) continue;
                            sum += weight[((o * g->kernel[0] + i) * g->kernel[1] + j) * inputs + c] *
                                   x[(row * width + column) * inputs + c];
                        }
                y[(p * across + q) * outputs + o] = sum;
            }
    return macs;
}

static uint32_t colour_of(int example, int pixel) {
    return (uint32_t)((7 * example + pixel * pixel) % COLOURS);
}

/* The mean of the examples' losses. */
static double reference_loss(const tn_trainer *t, int number, uint64_t *macs) {
    enum { MOST = 16 * PIXELS };
    const geometry *a = &cases[number].first, *b = &cases[number].second;
    const double *table = values_of(t, "embedding.weight"), *head = values_of(t, "head.weight"),
                 *head_bias = values_of(t, "head.bias");
    int height = along(HEIGHT, a, 0), width = along(WIDTH, a, 1),
        pixels = along(height, b, 0) * along(width, b, 1);
    bool mean = strcmp(cases[number].gathered, "mean") == 0;
    int inputs = mean ? SECOND : SECOND * pixels;
    double loss = 0;
    for (int e = 0; e < EXAMPLES; e++) {
        double x[PIXELS * FEATURES], first[MOST] = {0}, second[MOST] = {0}, gathered[MOST] = {0},
                                     logit[ANSWERS], sum = 0;
        for (int p = 0; p < PIXELS; p++)
            memcpy(x + p * FEATURES, table + colour_of(e, p) * FEATURES, FEATURES * sizeof *x);
        *macs += convolve(a, values_of(t, "first.weight"), values_of(t, "first.bias"), x, HEIGHT, WIDTH,
                          FEATURES, FIRST, first);
        for (int i = 0; i < height * width * FIRST; i++) first[i] = tanh(first[i]);
        *macs += convolve(b, values_of(t, "second.weight"), values_of(t, "second.bias"), first, height, width,
                          FIRST, SECOND, second);
        for (int i = 0; i < pixels * SECOND; i++)
            gathered[mean ? i % SECOND : i] += mean ? second[i] / pixels : second[i];
        for (int o = 0; o < ANSWERS; o++) {
            logit[o] = head_bias[o];
            for (int i = 0; i < inputs; i++, ++*macs) logit[o] += head[o * inputs + i] * gathered[i];
            sum += exp(logit[o]);
        }
        loss += (log(sum) - logit[e]) / EXAMPLES;
    }
    return loss;
}

static double step(tn_trainer *t, double rate, uint64_t *macs) {
    static uint32_t token[EXAMPLES][PIXELS];
    static int32_t slot[EXAMPLES][PIXELS];
    tn_example example[EXAMPLES];
    tn_step_result result = {0};
    for (int e = 0; e < EXAMPLES; e++) {
        for (int p = 0; p < PIXELS; p++) {
            token[e][p] = colour_of(e, p);
            slot[e][p] = -1;
        }
        example[e] = (tn_example){.tokens = PIXELS, .token = token[e], .slot = slot[e], .intent = e};
    }
    assert_int_equal(tn_trainer_step(t, example, EXAMPLES, false, rate, &result, NULL), TN_OK);
    assert_int_equal(result.macs, result.macs_predicted);
    assert_int_equal(result.peak_elements, result.peak_elements_predicted);
    *macs = result.macs;
    return result.loss;
}

static void loss_is_that_of_the_pixels(void **state) {
    (void)state;
    for (int c = 0; c < CASES; c++) {
        tn_arena arena = {0};
        uint64_t macs, counted = 0;
        tn_trainer *wide = trainer_of(c, TN_FLOAT64, &arena), *narrow = trainer_of(c, TN_FLOAT32, &arena);
        double expected = reference_loss(wide, c, &counted), ours = step(wide, 0, &macs),
               rounded = step(narrow, 0, &macs);
        if (fabs(ours / expected - 1) > 1e-12 || fabs(rounded / expected - 1) > 1e-5)
            fail_msg("case %d: %.17g, in float32 %.9g, not %.17g", c, ours, rounded, expected);
        /* forward and both gradients: the embedding learns, so the first layer's input gradient is computed, too */
        assert_int_equal(macs, 3 * counted);
        tn_trainer_free(wide);
        tn_trainer_free(narrow);
        tn_arena_free(&arena);
    }
}

static void step_by_one(tn_trainer *trainer, void *number) {
    uint64_t macs;
    (void)number;
    step(trainer, 1, &macs);
}

static double loss_of_case(const tn_trainer *trainer, void *number) {
    uint64_t macs = 0;
    return reference_loss(trainer, *(const int *)number, &macs);
}

static void gradients_are_differences(void **state) {
    (void)state;
    for (int c = 0; c < CASES; c++) {
        tn_arena arena = {0};
        char name[32];
        tn_trainer *trainer = trainer_of(c, TN_FLOAT64, &arena);
        snprintf(name, sizeof name, "case %d", c);
        assert_int_equal(tn_trainer_parameters(trainer), PARAMETERS);
        test_slopes(trainer, step_by_one, loss_of_case, &c, name);
        tn_trainer_free(trainer);
        tn_arena_free(&arena);
    }
}

/* What is no picture is refused where it is written. */
static void wrong_pictures(void **state) {
    (void)state;
    static const struct {
        const char *keys, *said;
    } wrong[] = {
        {"height: 3, width: 3, kernel: 1", "choose height and width that multiply to 20"},
        {"height: 5, width: 4, kernel: 6", "choose a smaller kernel"},
        {"height: 5, width: 4, kernel: 0", "kernel"},
        {"height: 5, width: 4, kernel: 3, padding: 18446744073709551615", "padding"},
        {"height: 5, width: 4", "kernel"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *path = test_in_folder("wrong.yaml");
        FILE *file = fopen(path, "w");
        tn_arena arena = {0};
        tn_model *model;
        tn_error error = {0};
        assert_non_null(file);
        fprintf(file,
                "kind: model\nname: wrong\nsequence: 20\nlayers:\n"
                "  - {name: embedding, kind: embedding, vocabulary: 5, width: 2}\n"
                "  - {name: conv, kind: conv, outputs: 3, %s}\n"
                "  - {name: loss, kind: cross-entropy}\n",
                wrong[i].keys);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(tn_model_load(path, NULL, 0, &arena, &model, &error), TN_INPUT);
        if (!strstr(error.message, wrong[i].said)) fail_msg("%s: %s", wrong[i].keys, error.message);
        assert_int_equal(error.line, 6);
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_is_that_of_the_pixels),
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(wrong_pictures),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
