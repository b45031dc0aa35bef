/* Decoding token by token with a cache of keys and values: what each step answers is what the forward pass of the whole
 * sequence answers at that token; multiply-adds, live elements and the cache are as counted. */
#include "support/trained_formulas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 11, TOKENS = 6, EXAMPLES = 3 };

/* Learned positions, rotary ones, keys and values of fewer heads, a tensor train, a mixture of experts. */
static const char model_text[] =
    "kind: model\nname: decoder\nsequence: 6\nbatch: 3\nflow: right-to-left\n"
    "weights:\n  square: {format: tt, m: 3x4, n: 4x3, rank: 4}\n"
    "layers:\n"
    "  - {name: embedding, kind: embedding, vocabulary: 11, width: 12}\n"
    "  - {name: positions, kind: positions}\n"
    "  - name: block\n    kind: block\n    repeat: 2\n    layers:\n"
    "      - {name: norm, kind: rms-norm, input: entry}\n"
    "      - {name: query, kind: linear, outputs: 24, input: norm}\n"
    "      - {name: key, kind: linear, outputs: 12, input: norm, weight: square}\n"
    "      - {name: value, kind: linear, outputs: 12, bias: false, input: norm}\n"
    "      - {name: turned-query, kind: rotary, heads: 4, base: 100, input: query}\n"
    "      - {name: turned-key, kind: rotary, heads: 2, base: 100, input: key}\n"
    "      - {name: attention, kind: attention, heads: 4, kv_heads: 2, causal: true, "
    "input: [turned-query, turned-key, value]}\n"
    "      - {name: output, kind: linear, outputs: 12}\n"
    "      - {name: first, kind: residual, input: [entry, output]}\n"
    "      - {name: experts, kind: moe, experts: 3, top: 1, hidden: 5}\n"
    "      - {name: second, kind: residual, input: [first, experts]}\n"
    "  - {name: head, kind: linear, outputs: 11}\n"
    "  - {name: loss, kind: cross-entropy}\n";

static const uint32_t token[EXAMPLES][TOKENS] = {{3, 7, 3, 0, 10, 5}, {1, 2, 8, 9, 4, 4}, {6, 6, 0, 1, 2, 3}};
static const int32_t label[EXAMPLES][TOKENS] = {{7, 3, 0, 10, 5, 1}, {2, 8, 9, 4, 4, 0}, {6, 0, 1, 2, 3, -1}};
static const uint32_t length[EXAMPLES] = {6, 4, 5};

typedef struct answers {
    double logits[EXAMPLES][TOKENS][WORDS];
    uint64_t place;
    bool decodes;
} answers;

static void watch(void *user, const tn_step *step, uint32_t operation, uint32_t array, const void *values) {
    answers *seen = user;
    const double *value = values;
    if (strcmp(step->layer[step->operation[operation].layer].name, "head") != 0 ||
        step->layer[step->operation[operation].layer].output != array ||
        step->operation[operation].kind != TN_OP_ADD)
        return;
    const uint64_t tokens = step->array[array].elements / WORDS / step->batch;
    for (uint64_t e = 0; e < step->batch; e++)
        for (uint64_t i = 0; i < tokens; i++)
            memcpy(seen->logits[e][seen->place + i], value + (e * tokens + i) * WORDS, WORDS * sizeof *value);
    if (seen->decodes) seen->place++;
}

static void run(const char *phase, const char *more, answers *seen, tn_step_result *result,
                uint32_t found[EXAMPLES * TOKENS]) {
    const char *const set[] = {phase, more};
    tn_arena arena = {0};
    tn_trainer *trainer = test_trainer(model_text, set, 2, TN_FLOAT64, &arena);
    tn_example example[EXAMPLES];
    uint32_t *class_of[] = {found};
    for (size_t i = 0; i < tn_trainer_parameters(trainer); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(trainer, i);
        for (uint64_t k = 0; k < p->elements; k++)
            ((double *)p->values)[k] =
                0.5 * sin(0.9 * (double)k + (double)i) + (strstr(p->name, "scale") ? 1 : 0);
    }
    for (int e = 0; e < EXAMPLES; e++)
        example[e] = (tn_example){.tokens = length[e], .token = token[e], .slot = label[e], .intent = -1};
    *seen = (answers){.decodes = strcmp(phase, "phase=decode") == 0};
    tn_trainer_watch(trainer, watch, seen);
    assert_int_equal(tn_trainer_forward(trainer, example, EXAMPLES, false, class_of, result, NULL), TN_OK);
    tn_trainer_free(trainer);
    tn_arena_free(&arena);
}

/* In all formats that a cache may be kept in and that round number by number; by one flow, as what lies inside a tensor layer is
 * rounded, too. */
static void each_token_as_in_the_whole(void **state) {
    (void)state;
    static const char *const formats[] = {"precision=fp32", "precision.products=bf16",
                                          "flat_gemm={rows: 6, block: 3}"};
    for (int f = 0; f < 3; f++) {
        answers whole, alone;
        tn_step_result of_whole, of_alone;
        uint32_t classes[EXAMPLES * TOKENS] = {0}, decoded[EXAMPLES * TOKENS] = {0};
        run("phase=inference", formats[f], &whole, &of_whole, classes);
        run("phase=decode", formats[f], &alone, &of_alone, decoded);
        assert_int_equal(alone.place, TOKENS);
        for (int e = 0; e < EXAMPLES; e++)
            for (uint32_t i = 0; i < length[e]; i++)
                for (int c = 0; c < WORDS; c++) {
                    assert_true(whole.logits[e][i][c] != 0);
                    if (!(fabs(alone.logits[e][i][c] - whole.logits[e][i][c]) < 1e-12))
                        fail_msg("%s: token %u of example %d: %.17g, not %.17g", formats[f], i, e,
                                 alone.logits[e][i][c], whole.logits[e][i][c]);
                }
        for (int i = 0; i < 6 + 4 + 5; i++) assert_int_equal(decoded[i], classes[i]);
        assert_true(fabs(of_alone.loss - of_whole.loss) < 1e-12);
        assert_int_equal(of_alone.labels[0], of_whole.labels[0]);
        assert_int_equal(of_alone.macs, of_alone.macs_predicted);
        assert_int_equal(of_alone.peak_elements, of_alone.peak_elements_predicted);
    }
}

/* An answer does not depend on what was decoded before, in formats whose scale is of the whole cache neither. */
static void nothing_stays_of_earlier_examples(void **state) {
    (void)state;
    static const char *const set[] = {"phase=decode", "precision.products=int8"};
    tn_arena arena = {0};
    tn_trainer *trainer = test_trainer(model_text, set, 2, TN_FLOAT64, &arena);
    tn_step_result first, again;
    tn_example example[EXAMPLES], other[EXAMPLES];
    for (int e = 0; e < EXAMPLES; e++) {
        example[e] = (tn_example){.tokens = 3, .token = token[e], .slot = label[e], .intent = -1};
        other[e] = (tn_example){
            .tokens = TOKENS, .token = token[(e + 1) % EXAMPLES], .slot = label[e], .intent = -1};
    }
    assert_int_equal(tn_trainer_forward(trainer, example, EXAMPLES, false, NULL, &first, NULL), TN_OK);
    assert_int_equal(tn_trainer_forward(trainer, other, EXAMPLES, false, NULL, &again, NULL), TN_OK);
    assert_true(again.loss != first.loss);
    assert_int_equal(tn_trainer_forward(trainer, example, EXAMPLES, false, NULL, &again, NULL), TN_OK);
    assert_true(again.loss == first.loss);
    tn_trainer_free(trainer);
    tn_arena_free(&arena);
}

/* The worked sizes: 3 examples of 6 places, keys and values of 12 features, in 2 blocks; all of it read, a row each written. */
static void cache_is_counted(void **state) {
    (void)state;
    static const char *const set[] = {"phase=decode", "precision.products=bf16"};
    const uint64_t elements = 2 * 2 * 3 * 6 * 12, written = 2 * 2 * 3 * 12;
    for (size_t sets = 1; sets <= 2; sets++) {
        const uint64_t bytes = sets == 1 ? 4 : 2;
        tn_arena arena = {0};
        tn_model *model;
        tn_program_cache *cache;
        tn_step step;
        tn_yaml *root;
        assert_int_equal(tn_yaml_parse("model", model_text, strlen(model_text), &arena, &root, NULL), TN_OK);
        assert_int_equal(tn_model_vary(root, set, sets, &arena, &model, NULL), TN_OK);
        assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
        assert_int_equal(tn_step_build(model, cache, &arena, &step, NULL), TN_OK);
        assert_int_equal(step.cache_elements, elements);
        assert_int_equal(step.cache_bytes, bytes * elements);
        assert_int_equal(step.cache_moved_elements, elements + written);
        assert_int_equal(step.cache_moved_bytes, bytes * (elements + written));
        assert_true(step.decoding && step.inference);
        uint64_t attention = 0; /* a query against all places, and back: 4 heads of 6 */
        for (uint32_t i = 0; i < step.operations; i++)
            if (step.operation[i].attention) attention += step.operation[i].macs;
        assert_int_equal(attention, 2 * 2 * 3 * 4 * 6 * 6);
        tn_program_cache_free(cache);
        tn_arena_free(&arena);
    }
}

static void what_needs_all_tokens_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *layer, *said;
    } slips[] = {
        {"  - {name: bad, kind: attention, heads: 2, input: [embedding, embedding, embedding]}\n",
         "causal: true"},
        {"  - {name: bad, kind: first-token}\n", "of kind first-token needs all tokens"},
        {"  - {name: bad, kind: mean}\n", "of kind mean needs all tokens"},
        {"  - {name: bad, kind: flatten}\n", "of kind flatten needs all tokens"},
        {"  - {name: bad, kind: conv, outputs: 2, height: 1, width: 1, kernel: 1}\n",
         "of kind conv needs all tokens"},
        {"  - {name: bad, kind: mamba}\n", "of kind causal-conv needs all tokens"},
        {"  - {name: rows, kind: linear, outputs: 5}\n  - {name: last, kind: cross-entropy}\nexit: [1]\n",
         "phase: decode"},
    };
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        char text[1024];
        tn_arena arena = {0};
        tn_error error = {0};
        tn_model *model;
        tn_program_cache *cache;
        tn_step step;
        tn_yaml *root;
        snprintf(text, sizeof text,
                 "kind: model\nname: slip\nphase: decode\nsequence: 4\nlayers:\n"
                 "  - name: block\n    kind: block\n    layers:\n"
                 "      - {name: inner, kind: embedding, vocabulary: 11, width: 12}\n"
                 "  - {name: embedding, kind: relu}\n%s%s",
                 slips[i].layer,
                 strstr(slips[i].layer, "exit") ? "" : "  - {name: loss, kind: cross-entropy}\n");
        assert_int_equal(tn_yaml_parse("model", text, strlen(text), &arena, &root, NULL), TN_OK);
        assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
        tn_status status = tn_model_decode(root, &arena, &model, &error);
        if (status == TN_OK) status = tn_step_build(model, cache, &arena, &step, &error);
        assert_int_equal(status, TN_INPUT);
        if (!strstr(error.message, slips[i].said)) fail_msg("%s", error.message);
        assert_true(error.line > 0);
        tn_program_cache_free(cache);
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_token_as_in_the_whole),
        cmocka_unit_test(nothing_stays_of_earlier_examples),
        cmocka_unit_test(cache_is_counted),
        cmocka_unit_test(what_needs_all_tokens_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
