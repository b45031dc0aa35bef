/* Mixtures of experts and selective state spaces, executed: the loss of a model with them is that of loops over tokens as the
 * formulas are published, gradients are finite differences of that loss, and what is executed is what is counted. */
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

#include "model/composite.h"

enum { WORDS = 6, WIDTH = 4, HIDDEN = 5, EXPERTS = 4, TOKENS = 7 };
static const uint32_t token[TOKENS] = {3, 0, 4, 1, 5, 2, 0};
static const int32_t label[TOKENS] = {1, 4, 2, 0, 5, 3, 2};

static const struct moe_case {
    const char *keys;
    int top;
    double capacity; /* 0: dropless */
    double balance;
    bool normalised, gated, bias;
    const char *activation;
} cases[] = {
    {"top: 1", 1, 0, 0, false, false, true, "gelu"},
    {"top: 1, normalise: true, balance: 0.3", 1, 0, 0.3, true, false, true, "gelu"},
    {"top: 2, activation: silu, gated: true, bias: false, balance: 0.7", 2, 0, 0.7, true, true, false,
     "silu"},
    {"top: 2, normalise: false, balance: 0.2", 2, 0, 0.2, false, false, true, "gelu"},
    {"top: 2, capacity: 0.6, balance: 0.1", 2, 0.6, 0.1, true, false, true, "gelu"},
    {"top: 1, capacity: 1, balance: 0.1, gated: true, activation: silu", 1, 1, 0.1, false, true, true,
     "silu"},
    {"top: 4, up: wide", 4, 0, 0, true, false, true, "gelu"},
};
enum { CASES = sizeof cases / sizeof *cases };
static const struct moe_case *current;

/* Values that tell the experts apart: none of the router's choices is near a tie. */
static void set_values(tn_trainer *trainer, double amplitude) {
    for (size_t i = 0; i < tn_trainer_parameters(trainer); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(trainer, i);
        for (uint64_t k = 0; k < p->elements; k++)
            ((double *)p->values)[k] =
                amplitude * sin(1.7 * (double)(k + 1) * (double)(k % 5 + 2) + 2.3 * (double)i + 0.3);
    }
}

/* `weights`: of the model's file, or nothing. */
static tn_trainer *trainer_of(const char *weights, const char *layer, tn_arena *arena) {
    char text[2048];
    snprintf(text, sizeof text,
             "kind: model\nname: composite\nsequence: %d\n%slayers:\n"
             "  - {name: embedding, kind: embedding, vocabulary: %d, width: %d}\n"
             "%s"
             "  - {name: head, kind: linear, outputs: %d}\n"
             "  - {name: loss, kind: cross-entropy}\n",
             TOKENS, weights, WORDS, WIDTH, layer, WORDS);
    tn_trainer *trainer = test_trainer(text, NULL, 0, TN_FLOAT64, arena);
    set_values(trainer, 0.9);
    return trainer;
}

static double activation(double x) {
    return strcmp(current->activation, "silu") == 0
               ? x / (1 + exp(-x))
               : 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * pow(x, 3))));
}

static void softmax(const double *z, int count, double *p) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += exp(z[i]);
    for (int i = 0; i < count; i++) p[i] = exp(z[i]) / sum;
}

static const double *expert_parameter(const tn_trainer *t, int expert, const char *part) {
    char name[64];
    snprintf(name, sizeof name, "experts.expert%d-%s", expert + 1, part);
    return test_parameter(t, name);
}

static void run_expert(const tn_trainer *t, int e, const double *x, double *y) {
    double wide[HIDDEN], gate[HIDDEN];
    test_affine(expert_parameter(t, e, "up.weight"), current->bias ? expert_parameter(t, e, "up.bias") : NULL,
                x, HIDDEN, WIDTH, wide);
    if (current->gated)
        test_affine(expert_parameter(t, e, "gate.weight"),
                    current->bias ? expert_parameter(t, e, "gate.bias") : NULL, x, HIDDEN, WIDTH, gate);
    for (int i = 0; i < HIDDEN; i++)
        wide[i] = current->gated ? activation(gate[i]) * wide[i] : activation(wide[i]);
    test_affine(expert_parameter(t, e, "down.weight"),
                current->bias ? expert_parameter(t, e, "down.bias") : NULL, wide, WIDTH, HIDDEN, y);
}

static double head_loss(const tn_trainer *t, const double *x, int p) {
    double logit[WORDS], sum = 0;
    test_affine(test_parameter(t, "head.weight"), test_parameter(t, "head.bias"), x, WORDS, WIDTH, logit);
    for (int i = 0; i < WORDS; i++) sum += exp(logit[i]);
    return (log(sum) - logit[label[p]]) / TOKENS;
}

static double task_loss, balance_loss;
static int sent[EXPERTS], dropped[EXPERTS];

/* Router by softmax, the greatest chosen by sorting, each token through its experts one by one. */
static double moe_loss(const tn_trainer *t) {
    const double *table = test_parameter(t, "embedding.weight");
    double mean[EXPERTS] = {0};
    const int room = current->capacity > 0
                         ? (int)ceil(current->capacity * TOKENS * current->top / EXPERTS - 1e-9)
                         : TOKENS;
    task_loss = balance_loss = 0;
    memset(sent, 0, sizeof sent);
    memset(dropped, 0, sizeof dropped);
    for (int p = 0; p < TOKENS; p++) {
        const double *x = table + token[p] * WIDTH;
        double logit[EXPERTS], probability[EXPERTS], out[WIDTH] = {0}, y[WIDTH], among = 0;
        int order[EXPERTS];
        test_affine(test_parameter(t, "experts.router.weight"), NULL, x, EXPERTS, WIDTH, logit);
        softmax(logit, EXPERTS, probability);
        for (int e = 0; e < EXPERTS; e++) {
            int place = e;
            for (; place > 0 && logit[order[place - 1]] < logit[e]; place--) order[place] = order[place - 1];
            order[place] = e;
            mean[e] += probability[e] / TOKENS;
        }
        for (int k = 0; k < current->top; k++) among += probability[order[k]];
        for (int k = 0; k < current->top; k++) {
            const int e = order[k];
            if (sent[e]++ >= room) {
                dropped[e]++;
                continue;
            }
            run_expert(t, e, x, y);
            for (int i = 0; i < WIDTH; i++)
                out[i] += probability[e] / (current->normalised ? among : 1) * y[i];
        }
        task_loss += head_loss(t, out, p);
    }
    for (int e = 0; e < EXPERTS; e++)
        balance_loss += current->balance * EXPERTS * sent[e] / (TOKENS * current->top) * mean[e];
    return task_loss + balance_loss;
}

static const test_formulas moe_formulas = {token, label, TOKENS, moe_loss};

static tn_trainer *moe_trainer(size_t i, tn_arena *arena) {
    char layer[512];
    current = &cases[i];
    snprintf(layer, sizeof layer, "  - {name: experts, kind: moe, experts: %d, hidden: %d, %s}\n", EXPERTS,
             HIDDEN, cases[i].keys);
    return trainer_of(strstr(layer, "wide") ? "weights:\n  wide: {format: dense}\n" : "", layer, arena);
}

/* The reported loss leaves the balance out; what the router chose is counted. */
static void moe_is_that_of_the_formula(void **state) {
    (void)state;
    bool any_dropped = false;
    for (size_t i = 0; i < CASES; i++) {
        tn_arena arena = {0};
        tn_trainer *t = moe_trainer(i, &arena);
        double ours = test_step(t, &moe_formulas, 0);
        moe_loss(t);
        if (fabs(ours / task_loss - 1) > 1e-12)
            fail_msg("%s: %.17g, not %.17g", cases[i].keys, ours, task_loss);
        assert_int_equal(tn_trainer_routes(t), 1);
        const tn_route_counts *counts = tn_trainer_route(t, 0);
        assert_string_equal(counts->name, "experts.route");
        for (int e = 0; e < EXPERTS; e++) {
            assert_int_equal(counts->tokens[e], sent[e]);
            assert_int_equal(counts->dropped[e], dropped[e]);
            any_dropped |= dropped[e] > 0;
        }
        tn_trainer_reset_routes(t);
        assert_int_equal(counts->tokens[0], 0);
        tn_trainer_free(t);
        tn_arena_free(&arena);
    }
    assert_true(any_dropped);
}

static void moe_gradients_are_differences(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        tn_arena arena = {0};
        tn_trainer *t = moe_trainer(i, &arena);
        test_gradients(t, &moe_formulas, cases[i].keys);
        tn_trainer_free(t);
        tn_arena_free(&arena);
    }
}

/* ---- the selective state space ---- */

enum { EXPANSION = 2, INNER = EXPANSION * WIDTH, STATE = 3, TAPS = 3, RANK = 2 };

static double mamba_loss(const tn_trainer *t) {
    const double *table = test_parameter(t, "embedding.weight"),
                 *taps = test_parameter(t, "mixer.convolution.taps"),
                 *bias = test_parameter(t, "mixer.convolution.bias"),
                 *decay = test_parameter(t, "mixer.scan.decay"),
                 *skip = test_parameter(t, "mixer.scan.scale");
    double wide[TOKENS][INNER], h[INNER][STATE] = {{0}}, loss = 0;
    for (int p = 0; p < TOKENS; p++) {
        const double *x = table + token[p] * WIDTH;
        double z[INNER], u[INNER], low[RANK], step[INNER], in[STATE], read[STATE], y[INNER], out[WIDTH];
        test_affine(test_parameter(t, "mixer.in.weight"), NULL, x, INNER, WIDTH, wide[p]);
        test_affine(test_parameter(t, "mixer.gate.weight"), NULL, x, INNER, WIDTH, z);
        for (int c = 0; c < INNER; c++) {
            double sum = bias[c];
            for (int back = 0; back < TAPS && back <= p; back++)
                sum += taps[c * TAPS + TAPS - 1 - back] * wide[p - back][c];
            u[c] = sum / (1 + exp(-sum));
        }
        test_affine(test_parameter(t, "mixer.step-in.weight"), NULL, u, RANK, INNER, low);
        test_affine(test_parameter(t, "mixer.step-out.weight"), test_parameter(t, "mixer.step-out.bias"), low,
                    INNER, RANK, step);
        test_affine(test_parameter(t, "mixer.write.weight"), NULL, u, STATE, INNER, in);
        test_affine(test_parameter(t, "mixer.read.weight"), NULL, u, STATE, INNER, read);
        for (int c = 0; c < INNER; c++) {
            const double s = log1p(exp(step[c]));
            y[c] = skip[c] * u[c];
            for (int n = 0; n < STATE; n++) {
                h[c][n] = exp(-s * exp(decay[c * STATE + n])) * h[c][n] + s * in[n] * u[c];
                y[c] += h[c][n] * read[n];
            }
            y[c] *= z[c] / (1 + exp(-z[c]));
        }
        test_affine(test_parameter(t, "mixer.out.weight"), NULL, y, WIDTH, INNER, out);
        loss += head_loss(t, out, p);
    }
    return loss;
}

static const test_formulas mamba_formulas = {token, label, TOKENS, mamba_loss};

static void mamba_is_that_of_the_formula(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_trainer *t =
        trainer_of("", "  - {name: mixer, kind: mamba, state: 3, taps: 3, step_rank: 2}\n", &arena);
    double expected = mamba_loss(t), ours = test_step(t, &mamba_formulas, 0);
    if (fabs(ours / expected - 1) > 1e-12) fail_msg("%.17g, not %.17g", ours, expected);
    test_gradients(t, &mamba_formulas, "mamba");
    tn_trainer_free(t);
    tn_arena_free(&arena);
}

/* A convolution longer than the example sees zeros before it. */
static void first_tokens_see_nothing_before(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_trainer *t = trainer_of("", "  - {name: mixer, kind: mamba, state: 1, taps: 9}\n", &arena);
    assert_true(isfinite(test_step(t, &mamba_formulas, 0)));
    tn_trainer_free(t);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moe_is_that_of_the_formula),
        cmocka_unit_test(moe_gradients_are_differences),
        cmocka_unit_test(mamba_is_that_of_the_formula),
        cmocka_unit_test(first_tokens_see_nothing_before),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
