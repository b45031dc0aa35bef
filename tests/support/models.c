#include "support/models.h"

#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

const test_model test_models[] = {
    {"transformer", "kind: model\n"
                    "name: transformer\n"
                    "batch: 2\n"
                    "sequence: 4\n"
                    "examples: 7\n"
                    "weights:\n"
                    "  table: {format: ttm, m: 3x3, n: 2x3, rank: 2}\n"
                    "  square: {format: tt, m: 2x3, n: 3x2, rank: 2, flow: right-to-left}\n"
                    "  other: {format: tt, m: 2x3, n: 3x2, rank: 1x2x3x2x1}\n"
                    "layers:\n"
                    "  - {name: words, kind: embedding, vocabulary: 9, width: 6, weight: table}\n"
                    "  - {name: places, kind: positions}\n"
                    "  - name: block\n"
                    "    kind: block\n"
                    "    repeat: 2\n"
                    "    layers:\n"
                    "      - {name: query, kind: linear, outputs: 6, weight: square, input: entry}\n"
                    "      - {name: key, kind: linear, outputs: 6, weight: other, input: entry}\n"
                    "      - {name: value, kind: linear, outputs: 6, bias: false, input: entry}\n"
                    "      - {name: mix, kind: attention, heads: 3, input: [query, key, value]}\n"
                    "      - {name: sum, kind: residual, input: [entry, mix]}\n"
                    "      - {name: norm, kind: layer-norm}\n"
                    "      - {name: bend, kind: gelu}\n"
                    "  - {name: first, kind: first-token, input: block}\n"
                    "  - {name: intent, kind: linear, outputs: 3}\n"
                    "  - {name: intent-loss, kind: cross-entropy}\n"
                    "  - {name: slots, kind: linear, outputs: 5, input: block2.bend}\n"
                    "  - {name: slot-loss, kind: cross-entropy}\n"},
    {"branches", "kind: model\n"
                 "name: branches\n"
                 "batch: 3\n"
                 "sequence: 5\n"
                 "optimizer: momentum\n"
                 "layers:\n"
                 "  - {name: words, kind: embedding, vocabulary: 7, width: 4}\n"
                 "  - {name: places, kind: positions}\n"
                 "  - {name: placed, kind: residual, input: [words, places]}\n"
                 "  - {name: twice, kind: residual, input: [placed, placed]}\n"
                 "  - {name: wide, kind: linear, outputs: 8, input: twice}\n"
                 "  - {name: first, kind: first-token, input: twice}\n"
                 "  - {name: cross, kind: attention, heads: 2, input: [first, twice, wide]}\n"
                 "  - {name: bend, kind: tanh}\n"
                 "  - {name: loss, kind: cross-entropy}\n"
                 "  - {name: first-wide, kind: first-token, input: wide}\n"
                 "  - {name: again, kind: residual, input: [bend, first-wide]}\n"
                 "  - {name: norm, kind: layer-norm}\n"
                 "  - {name: other-loss, kind: cross-entropy}\n"},
    {"features", "kind: model\n"
                 "name: features\n"
                 "batch: 2\n"
                 "sequence: 3\n"
                 "optimizer: adam\n"
                 "precision: bf16\n"
                 "flow: optimal\n"
                 "weights: {square: {format: tt, m: 2x2, n: 2x2, rank: 2}}\n"
                 "layers:\n"
                 "  - {name: outside, kind: input, width: 4}\n"
                 "  - {name: shifted, kind: tanh}\n"
                 "  - {name: left, kind: linear, outputs: 4, weight: square}\n"
                 "  - {name: right, kind: linear, outputs: 4, input: outside}\n"
                 "  - {name: mix, kind: attention, heads: 1, input: [outside, left, shifted]}\n"
                 "  - {name: look, kind: attention, heads: 2, input: [outside, outside, right]}\n"
                 "  - {name: sum, kind: residual, input: [mix, look]}\n"
                 "  - {name: norm, kind: layer-norm, input: sum}\n"
                 "  - {name: loss, kind: cross-entropy}\n"},
    {"rectified", "kind: model\n"
                  "name: rectified\n"
                  "batch: 2\n"
                  "sequence: 3\n"
                  "optimizer: momentum\n"
                  "update: {when: write-back}\n"
                  "weights: {square: {format: tt, m: 2x3, n: 3x2, rank: 2, flow: bidirectional}}\n"
                  "layers:\n"
                  "  - {name: outside, kind: input, width: 6}\n"
                  "  - {name: scaled, kind: rms-norm}\n"
                  "  - {name: left, kind: linear, outputs: 6, weight: square}\n"
                  "  - {name: bent, kind: relu}\n"
                  "  - {name: right, kind: linear, outputs: 6, weight: square}\n"
                  "  - {name: sum, kind: residual, input: [left, right]}\n"
                  "  - {name: norm, kind: rms-norm}\n"
                  "  - {name: cut, kind: relu}\n"
                  "  - {name: head, kind: linear, outputs: 3}\n"
                  "  - {name: loss, kind: cross-entropy}\n"},
    {"decoder", "kind: model\n"
                "name: decoder\n"
                "batch: 2\n"
                "sequence: 5\n"
                "weights: {square: {format: tt, m: 6x4, n: 3x4, rank: 2}}\n"
                "layers:\n"
                "  - {name: embedding, kind: embedding, vocabulary: 9, width: 12}\n"
                "  - {name: norm, kind: rms-norm}\n"
                "  - {name: query, kind: linear, outputs: 24, weight: square, input: norm}\n"
                "  - {name: key, kind: linear, outputs: 8, bias: false, input: norm}\n"
                "  - {name: value, kind: linear, outputs: 8, bias: false, input: norm}\n"
                "  - {name: turned-query, kind: rotary, heads: 6, input: query}\n"
                "  - {name: turned-key, kind: rotary, heads: 2, input: key}\n"
                "  - {name: attention, kind: attention, heads: 6, kv_heads: 2, causal: true, "
                "input: [turned-query, turned-key, value]}\n"
                "  - {name: output, kind: linear, outputs: 12}\n"
                "  - {name: sum, kind: residual, input: [embedding, output]}\n"
                "  - {name: gate, kind: linear, outputs: 7, bias: false}\n"
                "  - {name: activation, kind: silu}\n"
                "  - {name: up, kind: linear, outputs: 7, bias: false, input: sum}\n"
                "  - {name: gated, kind: multiply, input: [activation, up]}\n"
                "  - {name: head, kind: linear, outputs: 9, bias: false}\n"
                "  - {name: loss, kind: cross-entropy}\n"},
    {"picture",
     "kind: model\n"
     "name: picture\n"
     "batch: 2\n"
     "sequence: 12\n"
     "weights: {cores: {format: tt, m: 2x3, n: 9x4, rank: 2}}\n"
     "layers:\n"
     "  - {name: colours, kind: embedding, vocabulary: 5, width: 3}\n"
     "  - {name: pixels, kind: conv, outputs: 4, height: 3, width: 4, kernel: 1}\n"
     "  - {name: bent, kind: relu}\n"
     "  - {name: windows, kind: conv, outputs: 6, height: 3, width: 4, kernel: 3, stride: 2, padding: 1, "
     "weight: cores}\n"
     "  - {name: flat, kind: flatten}\n"
     "  - {name: mean, kind: mean, input: bent}\n"
     "  - {name: widened, kind: linear, outputs: 24}\n"
     "  - {name: sum, kind: residual, input: [flat, widened]}\n"
     "  - {name: head, kind: linear, outputs: 3}\n"
     "  - {name: loss, kind: cross-entropy}\n"},
    {"experts",
     "kind: model\n"
     "name: experts\n"
     "batch: 2\n"
     "sequence: 5\n"
     "weights: {up: {format: tt, m: 2x4, n: 3x2, rank: 2}, whole: {format: dense}}\n"
     "layers:\n"
     "  - {name: embedding, kind: embedding, vocabulary: 9, width: 6}\n"
     "  - name: decoder\n"
     "    kind: block\n"
     "    repeat: 2\n"
     "    layers:\n"
     "      - {name: mixer, kind: mamba, state: 3, taps: 2, input: entry}\n"
     "      - {name: sum, kind: residual, input: [entry, mixer]}\n"
     "      - {name: sparse, kind: moe, experts: 3, top: 2, hidden: 8, capacity: 1.2, up: [up, whole, up]}\n"
     "      - {name: feed-sum, kind: residual, input: [sum, sparse]}\n"
     "  - {name: last, kind: moe, experts: 2, top: 1, hidden: 4, gated: true, bias: false}\n"
     "  - {name: head, kind: linear, outputs: 9, bias: false}\n"
     "  - {name: loss, kind: cross-entropy}\n"},
};

tn_model *test_model_of(const char *text, tn_arena *arena) {
    tn_yaml *root;
    tn_model *model = NULL;
    tn_error error = {0};
    if (tn_yaml_parse("model.yaml", text, strlen(text), arena, &root, &error) != TN_OK ||
        tn_model_decode(root, arena, &model, &error) != TN_OK)
        fail_msg("%s:%u:%u: %s", error.file, error.line, error.column, error.message);
    return model;
}

tn_model *test_model_named(const char *name, tn_arena *arena) {
    for (int i = 0; i < TEST_MODELS; i++)
        if (strcmp(test_models[i].name, name) == 0) return test_model_of(test_models[i].text, arena);
    fail_msg("no test model %s", name);
    return NULL;
}

tn_model *test_model_loaded(const char *name, const char *set, tn_arena *arena) {
    char path[256];
    tn_model *model = NULL;
    tn_error error = {0};
    snprintf(path, sizeof path, "models/%s.yaml", name);
    if (tn_model_load(test_source(path), &set, set != NULL, arena, &model, &error) != TN_OK)
        fail_msg("%s:%u:%u: %s", error.file, error.line, error.column, error.message);
    return model;
}

static tn_program_cache *cache;

tn_step test_step_of(const tn_model *model, tn_arena *arena) {
    tn_step step = {0};
    tn_error error = {0};
    if (!cache) assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    if (tn_step_build(model, cache, arena, &step, &error) != TN_OK) fail_msg("%s", error.message);
    return step;
}

tn_step test_sort_of(const tn_model *model, uint32_t sort, tn_arena *arena) {
    tn_step step = {0};
    tn_error error = {0};
    if (!cache) assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    if (tn_step_build_sort(model, cache, sort, arena, &step, &error) != TN_OK) fail_msg("%s", error.message);
    return step;
}

int test_models_end(void **state) {
    (void)state;
    tn_program_cache_free(cache);
    cache = NULL;
    return 0;
}

uint32_t test_layer(const tn_step *step, const char *name) {
    for (uint32_t i = 0; i < step->layers; i++)
        if (strcmp(step->layer[i].name, name) == 0) return i;
    fail_msg("no layer %s", name);
    return 0;
}
