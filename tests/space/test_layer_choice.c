/* Choices of single layers: what they mean, against the same overrides of the model file, and what is refused. */
#include "model/layer_weight.h"
#include "search/evaluator.h"
#include "support/models.h"
#include "support/prices.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static tn_arena arena;
static tn_space space;

static int set_up(void **state) {
    (void)state;
    return tn_space_load(test_source("tests/space/data/layers.yaml"), NULL, 0, NULL, &arena, &space, NULL) !=
           TN_OK;
}

static int tear_down(void **state) {
    test_models_end(state);
    tn_arena_free(&arena);
    return 0;
}

static const char *value_of(uint64_t id, const char *key, tn_arena *own) {
    const char *text = NULL;
    for (size_t i = 0; i < space.choices.count; i++) {
        tn_buffer value = {0};
        if (strcmp(space.choices.axis[i].key, key) != 0) continue;
        tn_axis_value(&space.choices.axis[i], tn_choices_digit(&space.choices, id, i), &value);
        assert_int_equal(tn_arena_format(own, &text, NULL, "%s", value.data), TN_OK);
        tn_buffer_free(&value);
    }
    assert_non_null(text);
    return text;
}

/* The keys of the model file that the design stands for: the tied key layer spelt out. */
static size_t overrides_of(uint64_t id, tn_arena *own, const char **set) {
    static const char *const key[][2] = {
        {"layers.encoder1.query.rank", "layers.encoder1.query.rank"},
        {"layers.encoder1.key.rank", "layers.encoder1.query.rank"},
        {"layers.encoder2.key.rank", "layers.encoder2.key.rank"},
        {"layers.encoder1.output.folding", "layers.encoder1.output.folding"},
        {"layers.encoder2.output.folding", "layers.encoder2.output.folding"},
        {"layers.slot-projection.flow", "layers.slot-projection.flow"},
        {"layers.intent-projection.format", "layers.intent-projection.format"},
        {"build.rows", "build.rows"},
    };
    enum { KEYS = sizeof key / sizeof *key };
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(
            tn_arena_format(own, &set[i], NULL, "%s=%s", key[i][0], value_of(id, key[i][1], own)), TN_OK);
    return KEYS;
}

static void designs_are_their_overrides(void **state) {
    (void)state;
    tn_evaluator *evaluator;
    assert_int_equal(space.choices.designs, 192);
    assert_int_equal(tn_evaluator_new(&space, &evaluator, NULL), TN_OK);
    for (uint64_t id = 0; id < space.choices.designs; id += 5) {
        tn_arena own = {0};
        tn_model *model;
        tn_build build;
        tn_evaluation evaluation;
        const char *set[16];
        size_t count = overrides_of(id, &own, set);
        assert_int_equal(tn_model_load("atis-2enc", set, count, &own, &model, NULL), TN_OK);
        assert_int_equal(tn_build_decode(tn_model_build(model), &own, &build, NULL), TN_OK);
        tn_step step = test_step_of(model, &own);
        tn_price price = test_price(test_prepare(&step, space.device, &own), &build);
        assert_int_equal(tn_evaluate_design(evaluator, id, &evaluation, NULL), TN_OK);
        test_same_price(&evaluation.price, &price);
        assert_int_equal(evaluation.parameters, step.parameters);
        assert_int_equal(evaluation.peak_elements, step.peak_elements);
        uint64_t degrees = 0; /* of the layers that the choices vary, and no other */
        for (uint32_t i = 0; i < step.layers; i++) {
            static const char *const varied[] = {"encoder1.query",   "encoder1.key",    "encoder2.key",
                                                 "encoder1.output",  "encoder2.output", "slot-projection",
                                                 "intent-projection"};
            uint64_t own_degrees;
            for (size_t k = 0; k < sizeof varied / sizeof *varied; k++)
                if (strcmp(step.layer[i].name, varied[k]) == 0) {
                    assert_int_equal(tn_weight_degrees_of_freedom(step.layer[i].weight, &own_degrees, NULL),
                                     TN_OK);
                    degrees += own_degrees;
                }
        }
        assert_int_equal(evaluation.degrees_of_freedom, degrees);
        tn_arena_free(&own);
    }
    tn_evaluator_free(evaluator);
}

/* The same text for the space with one key changed, which must fail. */
static void refused(const char *set, const char *why) {
    tn_arena own = {0};
    tn_space other;
    tn_error error = {0};
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/layers.yaml"), &set, 1, NULL, &own, &other, &error),
        TN_INPUT);
    if (!strstr(error.message, why)) fail_msg("%s: %s", set, error.message);
    tn_arena_free(&own);
}

static void wrong_ones_are_refused(void **state) {
    (void)state;
    refused("choices={layers.encoder1.qery.rank: [4]}", "did you mean \"encoder1.query\"");
    refused("choices={layers.decoder*.rank: [4]}", "no layer is called");
    refused("choices={layers.intent-head.rank: [4]}", "names no entry of `weights`");
    refused("choices={layers.encoder1.query.rank: [4, 4]}", "given twice as a value");
    refused("choices={layers.encoder1.*.rank: [4], layers.*.query.rank: [8]}", "is chosen twice");
    refused("choices={layers.encoder1.query.folding: [\"24x32,32x25\"]}", "multiplies to");
    refused("tied=[[layers.encoder1.query.rank, layers.encoder1.value.rank]]", "no choice varies");
    refused("tied=[[layers.encoder1.query.rank, layers.encoder1.output.folding]]", "values differ");
    refused("tied=[layers.encoder1.query.rank]", "list of lists");
    refused("tied=[[weights.square.rank]]", "a tied choice is layers.PATTERN.rank");
    refused("layers.encoder9.query.rank=3", "did you mean");
    refused("build.rows=2", "is a choice of the space");
    refused("pruning.tokens=2", "tokens");
    refused("fase=inference", "unknown key");
}

/* A key that is not the space's is the model's, in every design and in the same place as the list `set`. */
static void keys_of_the_model_are_set(void **state) {
    (void)state;
    tn_arena own = {0};
    tn_space other;
    const char *const set[] = {"phase=inference", "build.columns=2", "device=zcu104"};
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/layers.yaml"), set, 3, NULL, &own, &other, NULL), TN_OK);
    assert_true(tn_model_is_inference(other.model));
    assert_int_equal(other.set_count, 2);
    assert_string_equal(other.set[1], "build.columns=2");
    assert_string_equal(other.device_name, "zcu104");
    assert_int_equal(other.choices.designs, space.choices.designs);
    tn_arena_free(&own);
}

static void tied_layers_may_be_many(void **state) {
    (void)state;
    tn_arena own = {0};
    tn_space other;
    const char *const set[] = {"choices={layers.*.rank: [2, 4, 8]}", "tied=[[layers.encoder*.rank]]"};
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/layers.yaml"), set, 2, NULL, &own, &other, NULL), TN_OK);
    assert_int_equal(other.choices.count,
                     4); /* embedding, the encoders, intent-projection, slot-projection */
    assert_int_equal(other.choices.designs, 81);
    assert_int_equal(other.choices.axis[1].more, 11);
    assert_string_equal(other.choices.axis[1].key, "layers.encoder1.query.rank");
    tn_arena_free(&own);
}

/* 24^14 x 50^12, counted elsewhere. */
static void vast_spaces_are_counted(void **state) {
    (void)state;
    tn_arena own = {0};
    tn_space vast;
    char text[TN_BIG_TEXT];
    const char *const set[] = {"choices={layers.*.rank: {from: 2, to: 48, step: 2}, layers.encoder*.folding: "
                               "{factors: [2, 3, 4], smallest: 4, largest: 48, pairs: mirrored}}",
                               "tied=[[layers.slot-projection.rank, layers.intent-projection.rank]]"};
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/layers.yaml"), set, 2, NULL, &own, &vast, NULL), TN_OK);
    assert_true(vast.choices.is_vast);
    assert_int_equal(vast.choices.count, 14 + 12);
    assert_string_equal(tn_big_text(&vast.choices.size, text), "5135673858195456000000000000000000000000");
    /* A design has an id once it is listed. */
    uint32_t digit[TN_AXES_MOST] = {3, 1, 2};
    uint64_t id;
    for (uint64_t i = 0; i < 3000; i++) {
        digit[0] = (uint32_t)(i % 24);
        assert_int_equal(tn_choices_id_of(&vast.choices, digit, &id, NULL), TN_OK);
        assert_int_equal(id, i);
    }
    assert_int_equal(tn_choices_digit(&vast.choices, 2999, 0), 2999 % 24);
    assert_int_equal(tn_choices_digit(&vast.choices, 2999, 2), 2);
    tn_arena_free(&own);
}

/* The space of all layers is priced as a build is by default: what comes of it can be built. */
static void all_layers_ask_the_default_price(void **state) {
    (void)state;
    tn_arena own = {0};
    tn_space asked;
    tn_build build, usual;
    assert_int_equal(
        tn_space_load(test_source("spaces/atis-2enc-layers.yaml"), NULL, 0, NULL, &own, &asked, NULL), TN_OK);
    assert_int_equal(tn_build_decode(tn_model_build(asked.model), &own, &build, NULL), TN_OK);
    assert_int_equal(tn_build_decode(NULL, &own, &usual, NULL), TN_OK);
    assert_int_equal(build.layouts, usual.layouts);
    assert_int_equal(build.buffers, usual.buffers);
    assert_int_equal(build.group, usual.group);
    assert_int_equal(build.off_chip_over_bytes, usual.off_chip_over_bytes);
    tn_arena_free(&own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(designs_are_their_overrides), cmocka_unit_test(wrong_ones_are_refused),
        cmocka_unit_test(keys_of_the_model_are_set),   cmocka_unit_test(tied_layers_may_be_many),
        cmocka_unit_test(vast_spaces_are_counted),     cmocka_unit_test(all_layers_ask_the_default_price),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
