/* A decoder layer of today, executed: grouped-query attention under a causal mask, rotary positions, a norm of
 * heads, a gated feed-forward.
 * The loss is that of plain loops over the formulas, the gradients are finite differences of the loss, and multiply-adds
 * and live elements are as predicted. */
#include "support/folder.h"
#include "support/trained_formulas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 11, WIDTH = 12, HEADS = 4, SHARED = 2, DEPTH = 6, INNER = 10, TOKENS = 5 };
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
    tn_trainer *trainer = test_trainer(model_text, set, sets, TN_FLOAT64, arena);
    for (size_t i = 0; i < tn_trainer_parameters(trainer); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(trainer, i);
        for (uint64_t k = 0; k < p->elements; k++)
            ((double *)p->values)[k] =
                0.5 * sin(0.9 * (double)k + (double)i) + (strstr(p->name, "scale") ? 1 : 0);
    }
    return trainer;
}

/* ---- the formulas, a token and a head at a time ---- */

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
    test_affine(test_parameter(t, "gate.weight"), NULL, x, INNER, WIDTH, gate);
    test_affine(test_parameter(t, "up.weight"), NULL, x, INNER, WIDTH, up);
    for (int i = 0; i < INNER; i++) gate[i] = up[i] * gate[i] * 0.5 * (1 + tanh(gate[i] / 2)); /* a sigmoid */
    test_affine(test_parameter(t, "down.weight"), NULL, gate, WIDTH, INNER, down);
    for (int i = 0; i < WIDTH; i++) x[i] += down[i];
}

static double loss_at(const tn_trainer *t, const double *x, int count) {
    double logit[WORDS], sum = 0;
    test_affine(test_parameter(t, "head.weight"), NULL, x, WORDS, WIDTH, logit);
    for (int i = 0; i < WORDS; i++) sum += exp(logit[i]);
    return log(sum) - logit[count];
}

/* The mean over the tokens. */
static double reference_loss(const tn_trainer *t) {
    double query[TOKENS][HEADS * DEPTH], key[TOKENS][SHARED * DEPTH], value[TOKENS][SHARED * DEPTH], loss = 0;
    const double *table = test_parameter(t, "embedding.weight"), *scale = test_parameter(t, "norm.scale"),
                 *bias = test_parameter(t, "query.bias");
    for (int p = 0; p < TOKENS; p++) {
        const double *x = table + token[p] * WIDTH;
        double square = 0, y[WIDTH];
        for (int i = 0; i < WIDTH; i++) square += x[i] * x[i];
        for (int i = 0; i < WIDTH; i++) y[i] = scale[i] * x[i] / sqrt(square / WIDTH + EPSILON);
        test_affine(test_parameter(t, "query.weight"), NULL, y, HEADS * DEPTH, WIDTH, query[p]);
        for (int i = 0; i < HEADS * DEPTH; i++) query[p][i] += bias[i];
        test_affine(test_parameter(t, "key.weight"), NULL, y, SHARED * DEPTH, WIDTH, key[p]);
        test_affine(test_parameter(t, "value.weight"), NULL, y, SHARED * DEPTH, WIDTH, value[p]);
        for (int h = 0; h < HEADS; h++) {
            norm_head(&query[p][h * DEPTH], test_parameter(t, "query-norm.scale"));
            turn(&query[p][h * DEPTH], p);
        }
        for (int h = 0; h < SHARED; h++) turn(&key[p][h * DEPTH], p);
    }
    for (int p = 0; p < TOKENS; p++) {
        double seen[HEADS * DEPTH], x[WIDTH];
        attend(query, key, value, p, seen);
        test_affine(test_parameter(t, "output.weight"), NULL, seen, WIDTH, HEADS * DEPTH, x);
        for (int i = 0; i < WIDTH; i++) x[i] += table[token[p] * WIDTH + i];
        feed(t, x);
        loss += loss_at(t, x, label[p]) / TOKENS;
    }
    return loss;
}

static const test_formulas formulas = {token, label, TOKENS, reference_loss};

static void loss_is_that_of_the_formulas(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_trainer *t = trainer_of(NULL, 0, &arena);
    double expected = reference_loss(t), ours = test_step(t, &formulas, 0);
    if (fabs(ours / expected - 1) > 1e-13) fail_msg("%.17g, not %.17g", ours, expected);
    tn_trainer_free(t);
    tn_arena_free(&arena);
}

static void gradients_are_differences(void **state) {
    (void)state;
    static const char *const sets[] = {"update.when=end", "activations.policy=recompute-layers",
                                       "update.when=write-back"};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        tn_arena arena = {0};
        tn_trainer *t = trainer_of(&sets[s], 1, &arena);
        test_gradients(t, &formulas, sets[s]);
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
