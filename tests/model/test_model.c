/* Model files: what layers and weights a file gives, what --set and callers may change, and what is refused.
 * Malformed files lie in tests/malformed/model. */
#include "base/memory.h"
#include "model/model.h"
#include "support/models.h"
#include "support/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static tn_status load(const char *const *set, size_t count, tn_arena *arena, tn_model **model,
                      tn_error *error) {
    memset(error, 0, sizeof *error);
    return tn_model_load("atis-2enc", set, count, arena, model, error);
}

static void layers(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_model *model = test_model_loaded("atis-2enc", NULL, &arena);
    static const struct {
        const char *name, *kind, *weight;
        uint64_t rows, columns, tokens;
    } wanted[] = {{"embedding", "embedding", "table", 1000, 768, 32},
                  {"encoder1.query", "linear", "square", 768, 768, 32},
                  {"encoder2.attention", "attention", NULL, 0, 0, 32},
                  {"intent-head", "linear", NULL, 26, 768, 1},
                  {"slot-head", "linear", NULL, 120, 768, 32},
                  {"first-token", "first-token", NULL, 0, 0, 1}};
    assert_string_equal(tn_model_name(model), "atis-2enc");
    assert_int_equal(tn_model_layers(model), 2 + 2 * 12 + 5 + 4);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        size_t found = 0;
        for (size_t l = 0; l < tn_model_layers(model); l++) {
            tn_model_layer layer = tn_model_layer_at(model, l);
            if (strcmp(layer.name, wanted[i].name) != 0) continue;
            found++;
            assert_string_equal(layer.kind, wanted[i].kind);
            assert_int_equal(layer.rows, wanted[i].rows);
            assert_int_equal(layer.columns, wanted[i].columns);
            assert_int_equal(layer.tokens, wanted[i].tokens);
            if (wanted[i].weight)
                assert_ptr_equal(layer.weight, tn_model_weight_find(model, wanted[i].weight));
            else
                assert_null(layer.weight);
            assert_int_equal(layer.bias, strcmp(layer.kind, "linear") == 0);
        }
        assert_int_equal(found, 1);
    }
    tn_arena_free(&arena);
}

static void weights(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_model *model = test_model_loaded("atis-2enc", NULL, &arena);
    assert_int_equal(tn_model_weights(model), 2);
    const tn_model_weight *square = tn_model_weight_find(model, "square"),
                          *table = tn_model_weight_at(model, 1);
    assert_int_equal(square->weight.format, TN_TT);
    assert_int_equal(square->weight.d, 3);
    assert_int_equal(square->weight.rank[3], 12);
    assert_int_equal(square->flow, TN_FLOW_BIDIRECTIONAL);
    assert_string_equal(table->name, "table");
    assert_int_equal(table->weight.format, TN_TTM);
    assert_int_equal(table->flow, TN_FLOW_OPTIMAL);
    assert_null(tn_model_weight_find(model, "sqare"));
    assert_null(tn_model_build(model));
    tn_arena_free(&arena);
}

/* A layer of a repeated block names one weight, or one for each repetition. */
static void weights_by_repetition(void **state) {
    (void)state;
    static const char text[] = "kind: model\nname: two\nbatch: 1\nsequence: 2\nweights:\n"
                               "  a: {format: tt, m: 2x3, n: 3x2, rank: 2}\n"
                               "  b: {format: tt, m: 3x2, n: 3x2, rank: 1}\nlayers:\n"
                               "  - {name: words, kind: embedding, vocabulary: 9, width: 6}\n"
                               "  - name: block\n    kind: block\n    repeat: 2\n    layers:\n"
                               "      - {name: first, kind: linear, outputs: 6, weight: [b, a]}\n"
                               "      - {name: second, kind: linear, outputs: 6, weight: a}\n"
                               "  - {name: loss, kind: cross-entropy}\n";
    static const char *const names[] = {"block1.first", "block1.second", "block2.first", "block2.second"};
    static const char *const wanted[] = {"b", "a", "a", "a"};
    tn_arena arena = {0};
    tn_model *model = test_model_of(text, &arena);
    for (size_t i = 0; i < 4; i++) {
        tn_model_layer layer = tn_model_layer_at(model, i + 1);
        assert_string_equal(layer.name, names[i]);
        assert_string_equal(layer.weight->name, wanted[i]);
    }
    tn_arena_free(&arena);
}

/* The model's flow goes to the weights that have it; tables and formats without it take the cheapest. */
static void flows_are_inherited(void **state) {
    (void)state;
    static const struct {
        const char *set[3];
        tn_flow_name square;
    } cases[] = {
        {{"flow=right-to-left", "name=a", "name=a"}, TN_FLOW_RIGHT_TO_LEFT},
        {{"flow=bidirectional-published", "name=a", "name=a"}, TN_FLOW_BIDIRECTIONAL_PUBLISHED},
        {{"weights.square.m=96x8", "weights.square.n=8x96", "flow=bidirectional-published"}, TN_FLOW_OPTIMAL},
        {{"weights.square.format=ttm", "flow=bidirectional", "name=a"}, TN_FLOW_OPTIMAL},
        {{"weights.square.flow=right-to-left", "flow=optimal", "name=a"}, TN_FLOW_RIGHT_TO_LEFT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_arena arena = {0};
        tn_model *model;
        tn_error error;
        if (load(cases[i].set, 3, &arena, &model, &error) != TN_OK) fail_msg("%s", error.message);
        assert_int_equal(tn_model_weight_find(model, "square")->flow, cases[i].square);
        assert_int_equal(tn_model_weight_find(model, "table")->flow, TN_FLOW_OPTIMAL);
        tn_arena_free(&arena);
    }
}

static void build_may_be_set_without_one(void **state) {
    (void)state;
    tn_arena arena = {0};
    const tn_yaml *build = tn_model_build(test_model_loaded("atis-2enc", "build.rows=8", &arena));
    assert_non_null(build);
    assert_string_equal(tn_yaml_get(build, "rows")->text, "8");
    tn_arena_free(&arena);
}

static void refused_sets(void **state) {
    (void)state;
    static const struct {
        const char *set, *message;
    } cases[] = {
        {"weights.square.rank=0", "at least 1"},
        {"weights.square.m=12x8x9", "multiplies to 864 and n = 8x8x12 to 768"},
        {"weights.sqare.rank=3", "did you mean \"square\""},
        {"layers.encoder.layers.query.outputs=700", "700 outputs x 768 inputs"},
        {"layers.encoder.layers.qery.outputs=768", "did you mean \"query\""},
        {"layers.encoder.repeat=0", "1 to 1000"},
        {"optimiser=adam", "did you mean \"optimizer\""},
        {"format=dens", "did you mean dense"},
        {"batch=1.5", "whole number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_arena arena = {0};
        tn_model *model;
        tn_error error;
        assert_int_equal(load(&cases[i].set, 1, &arena, &model, &error), TN_INPUT);
        if (!strstr(error.message, cases[i].message)) fail_msg("%s: %s", cases[i].set, error.message);
        tn_arena_free(&arena);
    }
}

/* A policy that is of blocks, in a model that has none, would change nothing. */
static void policies_of_blocks_need_one(void **state) {
    (void)state;
    static const char *const keys[] = {
        "activations: {policy: reversible}\n", "activations: {policy: recompute}\n",
        "activations: {policy: recompute-layers}\n", "activations: {segments: 2}\n"};
    for (size_t i = 0; i < 4; i++) {
        tn_arena arena = {0};
        tn_model *flat = test_model_named("features", &arena),
                 *blocks = test_model_loaded("atis-2enc", NULL, &arena);
        tn_error error;
        assert_int_equal(tn_model_change(flat, keys[i], &arena, &flat, &error), i < 2 ? TN_INPUT : TN_OK);
        if (i < 2) assert_non_null(strstr(error.message, "is of blocks, and the model has none"));
        assert_int_equal(tn_model_change(blocks, keys[i], &arena, &blocks, &error), TN_OK);
        tn_arena_free(&arena);
    }
}

/* What a caller changed is checked when the step is built. */
static void changed_weights(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_program_cache *cache;
    tn_step step;
    tn_error error;
    tn_model *model = test_model_loaded("atis-2enc", NULL, &arena);
    tn_model_weight *square = tn_model_weight_find(model, "square"),
                    *table = tn_model_weight_find(model, "table");
    const tn_model_weight was = *square, table_was = *table;
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);

    square->weight.m[0] = 6;
    assert_int_equal(tn_step_build(model, cache, &arena, &step, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "6x8x8 multiplies to 384"));
    *square = was;
    square->weight.rank_count = 3;
    assert_int_equal(tn_step_build(model, cache, &arena, &step, &error), TN_INPUT);
    *square = was;
    square->weight.format = TN_TTM;
    assert_int_equal(tn_weight_set_rank(&square->weight, 4, NULL), TN_OK);
    assert_int_equal(tn_step_build(model, cache, &arena, &step, &error),
                     TN_INPUT); /* no bidirectional flow */
    assert_non_null(strstr(error.message, "square"));
    square->flow = TN_FLOW_OPTIMAL;
    assert_int_equal(tn_step_build(model, cache, &arena, &step, NULL), TN_OK);
    *square = was;
    table->flow = TN_FLOW_BIDIRECTIONAL;
    assert_int_equal(tn_step_build(model, cache, &arena, &step, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "right-to-left or optimal"));
    *table = table_was;
    square->weight.format = TN_DENSE; /* with the folding of before */
    assert_int_equal(tn_step_build(model, cache, &arena, &step, NULL), TN_OK);
    assert_int_equal(step.parameters, 9179282 - 768000 + 78000);
    *square = was;
    assert_int_equal(tn_step_build(model, cache, &arena, &step, NULL), TN_OK);
    assert_int_equal(step.parameters, 300290);
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
}

static void cache_keeps_programs(void **state) {
    (void)state;
    tn_program_cache *cache;
    const tn_program *first, *again, *other;
    const tn_program_options training = {.training = true},
                             first_layer = {.training = true, .no_input_gradient = true};
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    tn_weight weight = {.format = TN_TT, .d = 2, .m = {4, 6}, .n = {3, 8}};
    /* Enough of them that the table grows; every one is found again and is the one that was asked for. */
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t rank = 1; rank <= 100; rank++) {
            assert_int_equal(tn_weight_set_rank(&weight, rank, NULL), TN_OK);
            assert_int_equal(
                tn_program_cache_get(cache, &weight, 5, TN_FLOW_RIGHT_TO_LEFT, &training, &first, NULL),
                TN_OK);
            assert_int_equal(first->macs[TN_FORWARD], 5 * (2 * 24 * rank + 9 * rank * rank));
            tn_weight same = weight;
            same.m[5] = 99; /* beyond d: says nothing */
            assert_int_equal(
                tn_program_cache_get(cache, &same, 5, TN_FLOW_RIGHT_TO_LEFT, &training, &again, NULL), TN_OK);
            assert_ptr_equal(first, again);
        }
    assert_int_equal(tn_program_cache_get(cache, &weight, 6, TN_FLOW_RIGHT_TO_LEFT, &training, &other, NULL),
                     TN_OK);
    assert_ptr_not_equal(other, first);
    assert_int_equal(tn_program_cache_get(cache, &weight, 5, TN_FLOW_OPTIMAL, &training, &other, NULL),
                     TN_OK);
    assert_ptr_not_equal(other, first);
    assert_int_equal(
        tn_program_cache_get(cache, &weight, 5, TN_FLOW_RIGHT_TO_LEFT, &first_layer, &other, NULL), TN_OK);
    assert_int_equal(other->macs[TN_INPUT_GRADIENT], 0);
    assert_int_equal(tn_program_cache_get(cache, &weight, 5, TN_FLOW_RIGHT_TO_LEFT, NULL, &other, NULL),
                     TN_OK);
    assert_int_equal(other->macs[TN_WEIGHT_GRADIENT], 0);
    tn_program_cache_free(cache);
    tn_program_cache_free(NULL);
}

/* Every name of a training flow gets what it gets without the cache, and names of one point the same arrays: so
 * the front was searched once. */
static void training_flows_share_their_front(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_program_cache *cache;
    const tn_program *program[TN_FLOW_NAMES] = {0};
    const tn_program_options training = {.training = true};
    tn_weight weight = {.format = TN_TT, .d = 2, .m = {4, 6}, .n = {3, 8}};
    size_t shared = 0, points = 0;
    assert_int_equal(tn_weight_set_rank(&weight, 2, NULL), TN_OK);
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    for (int name = TN_FLOW_TRAINING_OPTIMAL; name < TN_FLOW_NAMES; name++) {
        tn_program alone;
        tn_error error = {0}, cached = {0};
        tn_status status =
            tn_program_named(&weight, 5, (tn_flow_name)name, &training, &arena, &alone, &error);
        assert_int_equal(
            tn_program_cache_get(cache, &weight, 5, (tn_flow_name)name, &training, &program[name], &cached),
            status);
        assert_string_equal(error.message, cached.message);
        if (status != TN_OK) continue;
        points += name == TN_FLOW_TRAINING_OPTIMAL || name >= TN_FLOW_TRAINING_FRONT_2;
        assert_int_equal(program[name]->peak_elements[TN_FORWARD], alone.peak_elements[TN_FORWARD]);
        assert_int_equal(program[name]->saved_elements, alone.saved_elements);
        assert_int_equal(program[name]->recomputed_macs, alone.recomputed_macs);
        for (int phase = 0; phase < TN_PHASES; phase++)
            assert_int_equal(program[name]->macs[phase], alone.macs[phase]);
    }
    for (int one = TN_FLOW_TRAINING_OPTIMAL; one < TN_FLOW_NAMES; one++)
        for (int other = TN_FLOW_TRAINING_OPTIMAL; other < one; other++)
            shared += program[one] && program[other] && program[one]->step == program[other]->step;
    assert_true(points > 1);
    assert_true(shared >= 2); /* least-saved and least-peak are points that have other names, too */
    const tn_program *forward;
    assert_int_equal(tn_program_cache_get(cache, &weight, 5, TN_FLOW_TRAINING_OPTIMAL, NULL, &forward, NULL),
                     TN_OK);
    assert_false(forward->training);
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
}

static tn_status load_and_build(tn_error *error) {
    tn_arena arena = {0};
    tn_program_cache *cache = NULL;
    tn_model *model;
    tn_step step;
    const char *set = "optimizer=adam";
    tn_status status = tn_model_load("atis-2enc", &set, 1, &arena, &model, error);
    if (status == TN_OK) status = tn_program_cache_new(&cache, error);
    if (status == TN_OK) status = tn_step_build(model, cache, &arena, &step, error);
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
    return status;
}

/* Each request for memory fails in turn: the call fails, and nothing is lost (the sanitizers watch). */
static void no_memory(void **state) {
    (void)state;
    tn_error error = {0};
    tn_memory_fail_at(0);
    assert_int_equal(load_and_build(&error), TN_OK);
    long requests = tn_memory_requests();
    assert_true(requests > 5);
    for (long i = 1; i <= requests; i++) {
        tn_memory_fail_at(i);
        assert_int_equal(load_and_build(&error), TN_MEMORY);
    }
    tn_memory_fail_at(0);
}

/* Counts past 64 bits are reported. */
static void overflow(void **state) {
    (void)state;
    static const char *const sets[][2] = {
        {"sequence=4611686018427387904", "format=dense"},
        {"sequence=4294967296", "format=dense"}, /* attention's scores */
        {"layers.intent-head.outputs=9223372036854775807", "format=dense"},
        {"batch=4503599627370496", "optimizer=adam"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        tn_arena arena = {0};
        tn_program_cache *cache;
        tn_model *model;
        tn_step step;
        tn_error error = {0};
        assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
        tn_status status = load(sets[i], 2, &arena, &model, &error);
        if (status == TN_OK) status = tn_step_build(model, cache, &arena, &step, &error);
        assert_int_equal(status, TN_OVERFLOW);
        assert_true(error.message[0]);
        tn_program_cache_free(cache);
        tn_arena_free(&arena);
    }
}

/* docs/model-file.md holds the tables of the keys. */
static void page(void **state) {
    (void)state;
    tn_buffer tables = {0};
    tn_model_document(&tables);
    test_page("model-file.md", "schema", &tables);
    tn_buffer_free(&tables);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_flows_share_their_front),
        cmocka_unit_test(layers),
        cmocka_unit_test(weights),
        cmocka_unit_test(weights_by_repetition),
        cmocka_unit_test(flows_are_inherited),
        cmocka_unit_test(build_may_be_set_without_one),
        cmocka_unit_test(refused_sets),
        cmocka_unit_test(policies_of_blocks_need_one),
        cmocka_unit_test(changed_weights),
        cmocka_unit_test(cache_keeps_programs),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(overflow),
        cmocka_unit_test(page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
