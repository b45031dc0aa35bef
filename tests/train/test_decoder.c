/* A decoder layer of today, executed: grouped-query attention under a causal mask, rotary positions, a norm of
 * heads, a gated feed-forward.
 * The loss is that of plain loops over the formulas, the gradients are finite differences of the loss, and multiply-adds
 * and live elements are as predicted. */
#include "support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/initial.h"
#include "train/trainer.h"

enum { WORDS = 11, WIDTH = 12, HEADS = 4, SHARED = 2, DEPTH = 6, INNER = 10, TOKENS = 5, VALUES_MOST = 512 };
static const double BASE = 100, EPSILON = 1e-5;

static const char model_text[] =
    "kind: model\nname: decoder\nsequence: 5\nlayers:\n"
    "  - {name: embedding, kind: embedding, vocabulary: 11, width: 12}\n"
    "  - {name: norm, kind: rms-norm}\n"
    "  - {name: query, kind: linear, outputs: 24, input: norm}\n"
    "  - {name: key, kind: linear, outputs: 12, bias: false, input: norm}\n"
    "  - {name: value, kind: linear, outputs: 12, bias: false, input: norm}\n"
    "  - {name: query-norm, kind: rms-norm, heads: 4, input: query}\n"
    "  - {name: turned-query, kind: rotary, heads: 4, base: 100, input: query-norm}\n"
    "  - {name: turned-key, kind: rotary, heads: 2, base: 100, input: key}\n"
    "  - {name: attention, kind: attention, heads: 4, kv_heads: 2, causal: true, "
    "input: [turned-query, turned-key, value]}\n"
    "  - {name: output, kind: linear, outputs: 12, bias: false}\n"
    "  - {name: residual, kind: residual, input: [embedding, output]}\n"
    "  - {name: gate, kind: linear, outputs: 10, bias: false, input: residual}\n"
    "  - {name: activation, kind: silu}\n"
    "  - {name: up, kind: linear, outputs: 10, bias: false, input: residual}\n"
    "  - {name: gated, kind: multiply, input: [activation, up]}\n"
    "  - {name: down, kind: linear, outputs: 12, bias: false}\n"
    "  - {name: feed-residual, kind: residual, input: [residual, down]}\n"
    "  - {name: head, kind: linear, outputs: 11, bias: false}\n"
    "  - {name: loss, kind: cross-entropy}\n";

static const uint32_t token[TOKENS] = {3, 7, 3, 0, 10};
static const int32_t label[TOKENS] = {7, 3, 0, 10, 2};

static tn_trainer *trainer_of(const char *const *set, size_t sets, tn_arena *arena) {
    const char *path = test_in_folder("decoder.yaml");
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
        tn_trainer_new(model, &settings, TN_FLOAT64, &trainer, &error) != TN_OK)
        fail_msg("%s", error.message);
    settings.layer_norm_epsilon = EPSILON;
    assert_int_equal(tn_initialise(trainer, &settings, NULL), TN_OK);
    for (size_t i = 0; i < tn_trainer_parameters(trainer); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(trainer, i);
        assert_true(p->elements <= VALUES_MOST);
        for (uint64_t k = 0; k < p->elements; k++)
            ((double *)p->values)[k] =
                0.5 * sin(0.9 * (double)k + (double)i) + (strstr(p->name, "scale") ? 1 : 0);
    }
    return trainer;
}

static const double *values_of(const tn_trainer *t, const char *name) {
    for (size_t i = 0; i < tn_trainer_parameters(t); i++)
        if (strcmp(tn_trainer_parameter(t, i)->name, name) == 0) return tn_trainer_parameter(t, i)->values;
    fail_msg("no parameter %s", name);
    return NULL;
}

/* ---- the formulas, a token and a head at a time ---- */

static void multiply(const double *w, const double *x, int rows, int columns, double *y) {
    for (int i = 0; i < rows; i++) {
        y[i] = 0;
        for (int j = 0; j < columns; j++) y[i] += w[i * columns + j] * x[j];
    }
}

/* As complex numbers: (a + i b) exp(i angle). */
static void turn(double *head, int position) {
    for (int i = 0; i < DEPTH / 2; i++) {
        double angle = position / pow(BASE, 2.0 * i / DEPTH), a = head[i], b = head[i + DEPTH / 2];
        double size = hypot(a, b), now = atan2(b, a) + angle;
        head[i] = size * cos(now);
        head[i + DEPTH / 2] = size * sin(now);
    }
}

/* One scale for all heads. */
static void norm_head(double *head, const double *scale) {
    double square = 0;
    for (int i = 0; i < DEPTH; i++) square += head[i] * head[i];
    for (int i = 0; i < DEPTH; i++) head[i] *= scale[i] / sqrt(square / DEPTH + EPSILON);
}

static void attend(double query[TOKENS][HEADS * DEPTH], double key[TOKENS][SHARED * DEPTH],
                   double value[TOKENS][SHARED * DEPTH], int t, double *out) {
    for (int h = 0; h < HEADS; h++) {
        int shared = h / (HEADS / SHARED);
        double sum = 0;
        for (int i = 0; i < DEPTH; i++) out[h * DEPTH + i] = 0;
        for (int s = 0; s <= t; s++) {
            double score = 0;
            for (int i = 0; i < DEPTH; i++) score += query[t][h * DEPTH + i] * key[s][shared * DEPTH + i];
            score = exp(score / sqrt(DEPTH));
            sum += score;
            for (int i = 0; i < DEPTH; i++) out[h * DEPTH + i] += score * value[s][shared * DEPTH + i];
        }
        for (int i = 0; i < DEPTH; i++) out[h * DEPTH + i] /= sum;
    }
}

static void feed(const tn_trainer *t, double *x) {
    double gate[INNER], up[INNER], down[WIDTH];
    multiply(values_of(t, "gate.weight"), x, INNER, WIDTH, gate);
    multiply(values_of(t, "up.weight"), x, INNER, WIDTH, up);
    for (int i = 0; i < INNER; i++) gate[i] = up[i] * gate[i] * 0.5 * (1 + tanh(gate[i] / 2)); /* a sigmoid */
    multiply(values_of(t, "down.weight"), gate, WIDTH, INNER, down);
    for (int i = 0; i < WIDTH; i++) x[i] += down[i];
}

static double loss_at(const tn_trainer *t, const double *x, int count) {
    double logit[WORDS], sum = 0;
    multiply(values_of(t, "head.weight"), x, WORDS, WIDTH, logit);
    for (int i = 0; i < WORDS; i++) sum += exp(logit[i]);
    return log(sum) - logit[count];
}

/* The mean over the tokens. */
static double reference_loss(const tn_trainer *t) {
    double query[TOKENS][HEADS * DEPTH], key[TOKENS][SHARED * DEPTH], value[TOKENS][SHARED * DEPTH], loss = 0;
    const double *table = values_of(t, "embedding.weight"), *scale = values_of(t, "norm.scale"),
                 *bias = values_of(t, "query.bias");
    for (int p = 0; p < TOKENS; p++) {
        const double *x = table + token[p] * WIDTH;
        double square = 0, y[WIDTH];
        for (int i = 0; i < WIDTH; i++) square += x[i] * x[i];
        for (int i = 0; i < WIDTH; i++) y[i] = scale[i] * x[i] / sqrt(square / WIDTH + EPSILON);
        multiply(values_of(t, "query.weight"), y, HEADS * DEPTH, WIDTH, query[p]);
        for (int i = 0; i < HEADS * DEPTH; i++) query[p][i] += bias[i];
        multiply(values_of(t, "key.weight"), y, SHARED * DEPTH, WIDTH, key[p]);
        multiply(values_of(t, "value.weight"), y, SHARED * DEPTH, WIDTH, value[p]);
        for (int h = 0; h < HEADS; h++) {
            norm_head(&query[p][h * DEPTH], values_of(t, "query-norm.scale"));
            turn(&query[p][h * DEPTH], p);
        }
        for (int h = 0; h < SHARED; h++) turn(&key[p][h * DEPTH], p);
    }
    for (int p = 0; p < TOKENS; p++) {
        double seen[HEADS * DEPTH], x[WIDTH];
        attend(query, key, value, p, seen);
        multiply(values_of(t, "output.weight"), seen, WIDTH, HEADS * DEPTH, x);
        for (int i = 0; i < WIDTH; i++) x[i] += table[token[p] * WIDTH + i];
        feed(t, x);
        loss += loss_at(t, x, label[p]) / TOKENS;
    }
    return loss;
}

/* ---- the step ---- */

static double step(tn_trainer *t, double rate) {
    const tn_example example = {.tokens = TOKENS, .token = token, .slot = label, .intent = -1};
    tn_step_result result = {0};
    assert_int_equal(tn_trainer_step(t, &example, 1, false, rate, &result, NULL), TN_OK);
    assert_int_equal(result.macs, result.macs_predicted);
    assert_int_equal(result.peak_elements, result.peak_elements_predicted);
    return result.loss;
}

static void loss_is_that_of_the_formulas(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_trainer *t = trainer_of(NULL, 0, &arena);
    double expected = reference_loss(t), ours = step(t, 0);
    if (fabs(ours / expected - 1) > 1e-13) fail_msg("%.17g, not %.17g", ours, expected);
    tn_trainer_free(t);
    tn_arena_free(&arena);
}

/* One step of rate 1 moves a weight by its gradient. */
static void gradients_are_differences(void **state) {
    (void)state;
    static const char *const sets[] = {"update.when=end", "activations.policy=recompute-layers",
                                       "update.when=write-back"};
    enum { PARAMETERS = 12 };
    static double gradient[PARAMETERS][VALUES_MOST];
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        tn_arena arena = {0};
        tn_trainer *t = trainer_of(&sets[s], 1, &arena);
        assert_int_equal(tn_trainer_parameters(t), PARAMETERS);
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
                double *element = (double *)p->values + k, was = *element;
                *element = was + small;
                double above = reference_loss(t);
                *element = was - small;
                double slope = (above - reference_loss(t)) / (2 * small);
                *element = was;
                if (fabs(slope - gradient[i][k]) > 1e-8)
                    fail_msg("%s[%d]: %.12g, not %.12g", p->name, (int)k, gradient[i][k], slope);
            }
        }
        tn_trainer_free(t);
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_is_that_of_the_formulas),
        cmocka_unit_test(gradients_are_differences),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
