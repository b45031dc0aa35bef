/* Transformations of a step: updates at write-back against the plain step, and tables with conflicts. */
#include "step/transformation.h"

#include "price/price.h"
#include "support/formats.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_step loaded(const char *const *set, size_t count, tn_arena *arena) {
    tn_model *model;
    assert_int_equal(tn_model_load("atis-2enc", set, count, arena, &model, NULL), TN_OK);
    return test_step_of(model, arena);
}

/* What an operation does, whatever its place in the list. */
static int by_work(const void *a, const void *b) {
    const tn_operation *one = a, *other = b;
    int order = memcmp(&one->kind, &other->kind, sizeof one->kind);
    if (order == 0) order = memcmp(one->writes, other->writes, sizeof one->writes);
    return order ? order : memcmp(one->reads, other->reads, sizeof one->reads);
}

static tn_operation *sorted(const tn_step *step) {
    tn_operation *list = malloc(step->operations * sizeof *list);
    assert_non_null(list);
    memcpy(list, step->operation, step->operations * sizeof *list);
    qsort(list, step->operations, sizeof *list, by_work);
    return list;
}

static void check_same_work(const tn_step *plain, const tn_step *moved) {
    tn_operation *one = sorted(plain), *other = sorted(moved);
    assert_int_equal(plain->operations, moved->operations);
    assert_int_equal(plain->arrays, moved->arrays);
    for (uint32_t i = 0; i < plain->operations; i++) {
        assert_int_equal(by_work(&one[i], &other[i]), 0);
        assert_int_equal(one[i].layer, other[i].layer);
        assert_int_equal(one[i].macs, other[i].macs);
        assert_int_equal(one[i].flops, other[i].flops);
    }
    for (int phase = 0; phase < TN_PHASES; phase++) {
        assert_int_equal(plain->macs[phase], moved->macs[phase]);
        assert_int_equal(plain->flops[phase], moved->flops[phase]);
    }
    free(one);
    free(other);
}

static bool touches(const tn_operation *operation, uint32_t array) {
    for (uint32_t i = 0; i < operation->read_count; i++)
        if (operation->reads[i] == array) return true;
    for (uint32_t i = 0; i < operation->write_count; i++)
        if (operation->writes[i] == array) return true;
    return false;
}

/* No operation touches the parameter or its gradient behind the update, and one that does stands right before
 * it, but for other updates: later than that it need not be, earlier it must not. */
static void check_places(const tn_step *step) {
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *update = &step->operation[i];
        if (update->phase != TN_UPDATE) continue;
        uint32_t before = i;
        while (step->operation[before].phase == TN_UPDATE) before--;
        assert_true(touches(&step->operation[before], update->reads[0]) ||
                    touches(&step->operation[before], update->reads[1]));
        for (uint32_t j = i + 1; j < step->operations; j++) {
            assert_false(touches(&step->operation[j], update->reads[0]));
            assert_false(touches(&step->operation[j], update->reads[1]));
        }
        assert_int_equal(step->array[update->reads[1]].last, i);
    }
}

/* The most gradients that are held at once, by a walk. */
static uint64_t gradients_held(const tn_step *step) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < step->operations; i++) {
        uint64_t held = 0;
        for (uint32_t a = 0; a < step->arrays; a++)
            if (step->array[a].role == TN_ARRAY_GRADIENT && step->array[a].first <= i &&
                i <= step->array[a].last)
                held += step->array[a].elements;
        if (held > most) most = held;
    }
    return most;
}

static void write_back(void **state) {
    (void)state;
    static const char *const others[] = {"optimizer=sgd", "optimizer=adam", "format=dense",
                                         "flow=bidirectional-published", "flow=right-to-left"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        tn_arena arena = {0};
        const char *end[] = {others[i], "update.when=end"}, *early[] = {others[i], "update.when=write-back"};
        tn_step plain = loaded(end, 2, &arena), moved = loaded(early, 2, &arena);
        check_same_work(&plain, &moved);
        check_places(&moved);
        assert_int_equal(plain.gradient_elements, plain.parameters);
        assert_int_equal(moved.gradient_elements, gradients_held(&moved));
        assert_true(moved.gradient_elements < plain.gradient_elements);
        assert_true(moved.peak_elements < plain.peak_elements);
        assert_int_equal(moved.activation_elements, plain.activation_elements);
        tn_arena_free(&arena);
    }
}

static tn_price price_of(const tn_step *step, tn_arena *arena) {
    tn_device *device;
    tn_workload *workload;
    tn_build build;
    tn_price price;
    assert_int_equal(tn_device_load("u50@user-area", NULL, 0, arena, &device, NULL), TN_OK);
    assert_int_equal(tn_build_decode(NULL, arena, &build, NULL), TN_OK);
    assert_int_equal(tn_workload_prepare(step, device, arena, &workload, NULL), TN_OK);
    assert_int_equal(tn_price_step(workload, &build, &price, NULL), TN_OK);
    return price;
}

/* On a device gradients that are gone leave their memories to others; one operation after the other takes as
 * long as before. */
static void write_back_on_a_device(void **state) {
    (void)state;
    tn_arena arena = {0};
    const char *early = "update.when=write-back";
    tn_step plain = loaded(NULL, 0, &arena), moved = loaded(&early, 1, &arena);
    tn_price one = price_of(&plain, &arena), other = price_of(&moved, &arena);
    assert_int_equal(one.cycles_per_step, other.cycles_per_step);
    assert_true(other.used.bram18 < one.used.bram18);
    assert_true(other.used.uram <= one.used.uram);
    assert_int_equal(one.used.dsp, other.used.dsp);
    tn_arena_free(&arena);
}

/* Only products change, and only how they are multiplied. */
static void arithmetic_of_products(void **state) {
    (void)state;
    static const struct {
        const char *set, *weights, *activations, *gradients, *accumulate;
    } row[] = {
        {"precision.products=bfp16,8,4", "bfp16,8,4", "bfp16,8,4", "bfp16,8,4", "fp32"},
        {"precision.products=fp16", "fp16", "fp16", "fp16", "fp32"},
        {"precision={products: \"bfp8,3,2\", accumulate: bf16}", "bfp8,3,2", "bfp8,3,2", "bfp8,3,2", "bf16"},
        {"precision={weights: int8, activations: \"fixed16,8\", gradients: int16}", "int8", "fixed16,8",
         "int16", "fp32"},
        {"precision={gradients: bf16}", "fp32", "fp32", "bf16", "fp32"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_arena arena = {0};
        tn_step plain = loaded(NULL, 0, &arena), step = loaded(&row[i].set, 1, &arena);
        check_same_work(&plain, &step);
        assert_int_equal(step.peak_elements, plain.peak_elements);
        assert_string_equal(step.precision, row[i].accumulate);
        const tn_number_format format[] = {test_format(row[i].weights), test_format(row[i].activations),
                                           test_format(row[i].gradients)},
                               sum = test_format(row[i].accumulate);
        for (uint32_t o = 0; o < step.operations; o++) {
            const tn_arithmetic *arithmetic = step.operation[o].arithmetic;
            assert_int_equal(arithmetic != NULL, step.operation[o].kind == TN_OP_PRODUCT);
            if (!arithmetic) continue;
            const tn_array *left = &step.array[step.operation[o].reads[0]],
                           *right = &step.array[step.operation[o].reads[1]];
            assert_true(tn_number_format_same(&arithmetic->left, &format[left->value]));
            assert_true(tn_number_format_same(&arithmetic->right, &format[right->value]));
            assert_true(tn_number_format_same(&arithmetic->sum, &sum));
            /* Parameters are weights; forward nothing is a gradient, and a product of two layers' values no weight. */
            if (left->role == TN_ARRAY_PARAMETER) assert_int_equal(left->value, TN_VALUE_WEIGHT);
            if (step.operation[o].phase == TN_FORWARD) assert_true(left->value < TN_VALUE_GRADIENT);
            if (step.operation[o].phase != TN_FORWARD)
                assert_true(left->value == TN_VALUE_GRADIENT || right->value == TN_VALUE_GRADIENT ||
                            step.array[step.operation[o].writes[0]].value < TN_VALUE_GRADIENT);
        }
        if (i < 4)
            assert_true(step.activation_bytes < plain.activation_bytes && step.peak_bytes < plain.peak_bytes);
        if (i != 2) assert_int_equal(step.parameter_bytes, 4 * step.parameters); /* updates read them */
        tn_price one = price_of(&plain, &arena), other = price_of(&step, &arena);
        if (i < 3) assert_true(other.used.dsp < one.used.dsp);
        tn_arena_free(&arena);
    }
    static const char *const wrong[] = {"precision.products=bfp16,8",
                                        "precision.products=bfp16,8,4,2",
                                        "precision.products=bfp0,8,4",
                                        "precision.products=fp8",
                                        "precision.products=bfp16,8,-4",
                                        "precision=[fp32]",
                                        "precision=fp31"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_arena arena = {0};
        tn_model *model;
        tn_error error = {0};
        assert_int_equal(tn_model_load("atis-2enc", &wrong[i], 1, &arena, &model, &error), TN_INPUT);
        assert_true(error.line > 0 && error.message[0]);
        tn_arena_free(&arena);
    }
}

/* The most elements that are live at once, by a walk: parameters and the optimizer's state all the time, others
 * from their first touch to their last. */
static uint64_t peak_by_walking(const tn_step *step) {
    uint32_t *source = malloc(step->arrays * sizeof *source), *target = calloc(step->arrays, sizeof *target);
    uint64_t most = 0;
    assert_true(source && target);
    for (uint32_t a = 0; a < step->arrays; a++) {
        tn_array_role role = step->array[a].role;
        bool resident = role == TN_ARRAY_PARAMETER || role == TN_ARRAY_OPTIMIZER;
        source[a] = resident ? 0 : step->operations;
        for (uint32_t i = 0; i < step->operations && !resident; i++) {
            if (!touches(&step->operation[i], a)) continue;
            if (i < source[a]) source[a] = i;
            target[a] = i;
        }
        if (resident) target[a] = step->operations;
    }
    for (uint32_t i = 0; i < step->operations; i++) {
        uint64_t held = 0;
        for (uint32_t a = 0; a < step->arrays; a++)
            if (source[a] <= i && i <= target[a]) held += step->array[a].elements;
        if (held > most) most = held;
    }
    free(source);
    free(target);
    return most;
}

/* Every operation finds what it reads made before it, as the plain step has it: the value of an array is the chain of
 * operations that made it, which a hash of kinds, layers and what they read stands for. */
static uint64_t chain(const tn_operation *o, const uint64_t *value) {
    uint64_t hash = 1469598103934665603u ^ (uint64_t)o->kind * 31 ^ (uint64_t)o->layer * 1021;
    for (uint32_t k = 0; k < o->read_count; k++) hash = (hash ^ value[o->reads[k]]) * 1099511628211u;
    return hash;
}

/* The parameters' chains behind all updates, added up. */
static uint64_t outcome_of(const tn_step *step) {
    uint64_t *value = calloc(step->arrays, sizeof *value), sum = 0, parameter = 0;
    assert_non_null(value);
    for (uint32_t a = 0; a < step->arrays; a++)
        if (step->array[a].role == TN_ARRAY_PARAMETER) value[a] = ++parameter;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *o = &step->operation[i];
        uint64_t made = chain(o, value);
        for (uint32_t k = 0; k < o->write_count; k++) value[o->writes[k]] = made + k;
        if (o->phase == TN_UPDATE) sum += made;
    }
    free(value);
    return sum;
}

static void checkpointing(void **state) {
    (void)state;
    static const char *const others[] = {"optimizer=adam", "format=dense", "flow=optimal",
                                         "update.when=write-back", "precision.products=bfp16,8,4"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int segments = 1; segments < 50; segments += segments < 6 ? 1 : 15) {
            tn_arena arena = {0};
            char key[64];
            snprintf(key, sizeof key, "activations.segments=%d", segments);
            const char *set[] = {others[i], key};
            tn_step plain = loaded(set, 1, &arena), step = loaded(set, 2, &arena);
            assert_true(outcome_of(&plain) == outcome_of(&step));
            assert_int_equal(step.forward_operations, plain.forward_operations);
            assert_int_equal(step.peak_elements, peak_by_walking(&step));
            for (int phase = TN_FORWARD + 1; phase < TN_PHASES; phase++)
                assert_int_equal(step.macs[phase], plain.macs[phase]);
            assert_true(step.macs[TN_FORWARD] >= plain.macs[TN_FORWARD] &&
                        step.macs[TN_FORWARD] <= 2 * plain.macs[TN_FORWARD]);
            if (segments == 1) assert_int_equal(step.operations, plain.operations);
            if (segments == 1) assert_int_equal(step.peak_elements, plain.peak_elements);
            if (segments > 1) assert_true(step.activation_elements < plain.activation_elements);
            tn_arena_free(&arena);
        }
    static const char *const both[] = {"activations.segments=4", "phase=inference"};
    tn_arena arena = {0};
    tn_model *model;
    tn_step step;
    tn_error error;
    tn_program_cache *cache;
    assert_int_equal(tn_model_load("atis-2enc", both, 2, &arena, &model, NULL), TN_OK);
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    assert_int_equal(tn_step_build(model, cache, &arena, &step, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "can't be combined"));
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
}

/* Of all ways to give each of three blocks a policy, the one with the fewest operations whose activations fit: found
 * by pricing them all. */
static void optimal_checkpointing(void **state) {
    (void)state;
    enum { BLOCKS = 3, POLICIES = 3, WAYS = 27 };
    static const char *const policies[] = {"keep", "recompute-layers", "recompute"};
    static const char text[] =
        "kind: model\nname: m\nsequence: 5\nactivations: {policy: keep, budget_bytes: 1000000}\n"
        "weights:\n  a: {format: tt, m: 4x4, n: 4x4, rank: 3}\n  b: {format: tt, m: 2x2x4, n: 4x2x2, rank: "
        "4}\n"
        "layers:\n  - {name: words, kind: embedding, vocabulary: 9, width: 16}\n"
        "  - {name: one, kind: block, repeat: 1, activations: {policy: keep}, layers: [{name: l, kind: "
        "linear, outputs: "
        "16, weight: a}, {name: g, kind: gelu}, {name: r, kind: residual, input: [entry, g]}]}\n"
        "  - {name: two, kind: block, activations: {policy: keep}, layers: [{name: q, kind: linear, outputs: "
        "16, "
        "weight: b}, {name: k, kind: linear, outputs: 16, input: entry}, {name: t, kind: attention, heads: "
        "2, input: "
        "[q, k, k]}, {name: n, kind: layer-norm}]}\n"
        "  - {name: three, kind: block, activations: {policy: keep}, layers: [{name: l, kind: linear, "
        "outputs: 64, "
        "input: entry}, {name: g, kind: gelu}, {name: m, kind: linear, outputs: 16}, {name: t, kind: "
        "tanh}]}\n"
        "  - {name: head, kind: linear, outputs: 6}\n  - {name: loss, kind: cross-entropy}\n";
    tn_arena arena = {0};
    uint64_t bytes[WAYS], flops[WAYS], least = UINT64_MAX;
    tn_program_cache *cache;
    tn_yaml *root;
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    assert_int_equal(tn_yaml_parse("m", text, strlen(text), &arena, &root, NULL), TN_OK);
    for (int way = 0; way < WAYS; way++) {
        char key[BLOCKS][64];
        const char *set[BLOCKS];
        tn_model *model;
        tn_step step;
        for (int i = 0, rest = way; i < BLOCKS; i++, rest /= POLICIES) {
            snprintf(key[i], sizeof key[i], "layers.%d.activations.policy=%s", i + 1,
                     policies[rest % POLICIES]);
            set[i] = key[i];
        }
        assert_int_equal(tn_model_vary(root, set, BLOCKS, &arena, &model, NULL), TN_OK);
        assert_int_equal(tn_step_build(model, cache, &arena, &step, NULL), TN_OK);
        assert_int_equal(step.peak_elements, peak_by_walking(&step));
        bytes[way] = step.activation_elements * step.element_bytes;
        flops[way] = step.flops[TN_FORWARD];
        if (bytes[way] < least) least = bytes[way];
    }
    for (uint64_t budget = least - 4; budget <= bytes[0] + 4; budget += 4) {
        char key[64];
        const char *const set[] = {"layers.1.activations.policy=optimal",
                                   "layers.2.activations.policy=optimal",
                                   "layers.3.activations.policy=optimal", key};
        tn_model *model;
        tn_step step;
        tn_error error = {0};
        uint64_t best = UINT64_MAX;
        snprintf(key, sizeof key, "activations.budget_bytes=%llu", (unsigned long long)budget);
        for (int way = 0; way < WAYS; way++)
            if (bytes[way] <= budget && flops[way] < best) best = flops[way];
        assert_int_equal(tn_model_vary(root, set, 4, &arena, &model, NULL), TN_OK);
        tn_status status = tn_step_build(model, cache, &arena, &step, &error);
        assert_int_equal(status, budget < least ? TN_INPUT : TN_OK);
        if (status != TN_OK) {
            assert_non_null(strstr(error.message, "bytes are kept"));
            continue;
        }
        assert_true(step.activation_elements * step.element_bytes <= budget);
        assert_int_equal(step.flops[TN_FORWARD], best);
    }
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
}

/* The forward phase of the training step and nothing else: the same products, all parameters, no other role. */
static void inference(void **state) {
    (void)state;
    static const char *const others[] = {"optimizer=sgd",          "optimizer=adam",
                                         "format=dense",           "flow=bidirectional-published",
                                         "update.when=write-back", "precision.products=bfp16,8,4"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        tn_arena arena = {0};
        const char *plainly[] = {others[i], "phase=training"}, *forward[] = {others[i], "phase=inference"};
        tn_step plain = loaded(plainly, 2, &arena), alone = loaded(forward, 2, &arena);
        assert_int_equal(alone.macs[TN_FORWARD], plain.macs[TN_FORWARD]);
        assert_int_equal(alone.flops[TN_FORWARD], plain.flops[TN_FORWARD]);
        for (int phase = TN_FORWARD + 1; phase < TN_PHASES; phase++) {
            assert_int_equal(alone.macs[phase], 0);
            assert_int_equal(alone.flops[phase], 0);
        }
        assert_int_equal(alone.parameters, plain.parameters);
        assert_int_equal(alone.operations, plain.forward_operations);
        assert_int_equal(alone.gradient_elements + alone.optimizer_elements + alone.activation_elements, 0);
        uint64_t parameters = 0;
        for (uint32_t a = 0; a < alone.arrays; a++) {
            tn_array_role role = alone.array[a].role;
            assert_true(role != TN_ARRAY_GRADIENT && role != TN_ARRAY_OPTIMIZER);
            parameters += role == TN_ARRAY_PARAMETER ? alone.array[a].elements : 0;
        }
        assert_int_equal(parameters, alone.parameters);
        for (uint32_t o = 0; o < alone.operations; o++) { /* the same arrays, by name and size */
            const tn_operation *one = &plain.operation[o], *other = &alone.operation[o];
            assert_int_equal(one->kind, other->kind);
            for (uint32_t k = 0; k < one->read_count; k++) {
                const char *was, *is;
                assert_int_equal(tn_step_array_name(&plain, one->reads[k], &arena, &was, NULL), TN_OK);
                assert_int_equal(tn_step_array_name(&alone, other->reads[k], &arena, &is, NULL), TN_OK);
                assert_string_equal(was, is);
            }
        }
        assert_int_equal(alone.peak_elements, peak_by_walking(&alone));
        assert_true(alone.peak_elements < plain.peak_elements);
        tn_price one = price_of(&plain, &arena), other = price_of(&alone, &arena);
        assert_true(2 * other.cycles_per_step < one.cycles_per_step);
        assert_true(other.used.bram18 + other.used.uram <= one.used.bram18 + one.used.uram);
        tn_arena_free(&arena);
    }
}

static bool always(const tn_model *model) {
    (void)model;
    return true;
}

static bool never(const tn_model *model) {
    (void)model;
    return false;
}

static tn_status drop_all(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    (void)b;
    (void)earlier;
    (void)operations;
    return TN_OK;
}

static tn_status keep_half(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    for (uint32_t i = 0; i < operations / 2; i++) TN_TRY(tn_builder_keep(b, &earlier[i]));
    return TN_OK;
}

static void order_and_conflicts(void **state) {
    (void)state;
    static const char *const excluded[] = {"other", "drop", NULL};
    const tn_transformation half = {
        .name = "half", .keys = "a.b", .excludes = excluded, .wanted = always, .apply = keep_half};
    tn_transformation drop = {.name = "drop", .keys = "c", .wanted = never, .apply = drop_all};
    const tn_transformation *const table[] = {&half, &drop, NULL}, *const twice[] = {&half, &half, NULL};
    tn_arena arena = {0};
    tn_error error = {0};
    tn_operation operation[8] = {{.rows = 1}};
    tn_step step = {.operations = 8, .operation = operation};
    tn_builder b = {.arena = &arena, .step = &step, .error = &error};
    assert_int_equal(tn_transformations_apply(table, UINT32_MAX, &b), TN_OK);
    assert_int_equal(step.operations, 4);
    assert_int_equal(step.operation[0].rows, 1);
    assert_int_equal(tn_transformations_apply(twice, UINT32_MAX, &b), TN_OK);
    assert_int_equal(step.operations, 1);
    drop.wanted = always;
    assert_int_equal(tn_transformations_apply(table, UINT32_MAX, &b), TN_INPUT);
    assert_string_equal(error.message, "half (a.b) can't be combined with drop (c); leave one out");
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_back),          cmocka_unit_test(write_back_on_a_device),
        cmocka_unit_test(checkpointing),       cmocka_unit_test(optimal_checkpointing),
        cmocka_unit_test(inference),           cmocka_unit_test(arithmetic_of_products),
        cmocka_unit_test(order_and_conflicts),
    };
    return cmocka_run_group_tests(tests, NULL, test_models_end);
}
