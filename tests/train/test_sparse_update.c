/* Updates of a share of the input channels, executed: that part becomes what it becomes when all is trained, the rest does
 * not move by a bit, and multiply-adds, gradients and states are those of the part. */
#include "support/models.h"
#include "support/trained.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS_MOST = 4 };

static const char small[] =
    "kind: model\nname: small\nsequence: 4\nbatch: 2\n"
    "weights:\n"
    "  square: {format: tt, m: 2x3x4, n: 4x3x2, rank: 3}\n"
    "  up: {format: dense}\n"
    "layers:\n"
    "  - {name: embedding, kind: embedding, vocabulary: 30, width: 24}\n"
    "  - {name: positions, kind: positions}\n"
    "  - name: encoder\n"
    "    kind: block\n"
    "    repeat: 2\n"
    "    layers:\n"
    "      - {name: query, kind: linear, outputs: 24, weight: square, input: entry}\n"
    "      - {name: key, kind: linear, outputs: 24, weight: square, input: entry}\n"
    "      - {name: value, kind: linear, outputs: 24, weight: square, input: entry}\n"
    "      - {name: attention, kind: attention, heads: 3, input: [query, key, value]}\n"
    "      - {name: output, kind: linear, outputs: 24, weight: square}\n"
    "      - {name: sum, kind: residual, input: [entry, output]}\n"
    "      - {name: norm, kind: layer-norm}\n"
    "      - {name: wide, kind: linear, outputs: 40, weight: up}\n"
    "      - {name: gelu, kind: gelu}\n"
    "      - {name: narrow, kind: linear, outputs: 24}\n"
    "      - {name: sum2, kind: residual, input: [norm, narrow]}\n"
    "      - {name: norm2, kind: layer-norm}\n"
    "  - {name: slots, kind: linear, outputs: 7}\n"
    "  - {name: slot, kind: cross-entropy}\n";

static tn_model *loaded(const char *const *set, size_t sets, tn_arena *arena) {
    tn_model *model = NULL;
    tn_yaml *root;
    tn_error error = {0};
    tn_status status = tn_yaml_parse("small", small, strlen(small), arena, &root, &error);
    if (status == TN_OK) status = tn_model_vary(root, set, sets, arena, &model, &error);
    if (status != TN_OK) fail_msg("%s", error.message);
    return model;
}

/* Whether element `i` of the parameter is updated: of a core the first of its factor, of a matrix the first columns. */
static bool is_updated(const tn_step *step, const tn_array *parameter, uint64_t i, double ratio) {
    const tn_step_layer *layer = &step->layer[parameter->layer];
    if (layer->family != TN_LAYER_LINEAR || parameter->part == TN_PART_BIAS) return true;
    uint64_t shape[TN_RANKS_MOST];
    uint32_t core = parameter->number ? parameter->number - 1 : 0, d = layer->weight->d;
    uint32_t axes = tn_weight_core_shape(layer->weight, core, shape), axis = 0;
    switch (layer->weight->format) {
    case TN_DENSE:
        axis = 1; /* outputs x inputs, however either is folded: both have one factor here */
        break;
    case TN_TTM:
        axis = 2;
        break;
    case TN_TUCKER:
    case TN_CP:
        if (core >= 2 * d) return true;
        axis = 0;
        break;
    default: /* tensor trains and rings */
        axis = 1;
    }
    uint64_t trailing = 1, kept = (uint64_t)ceil(ratio * (double)shape[axis] - 1e-9);
    for (uint32_t k = axis + 1; k < axes; k++) trailing *= shape[k];
    return i / trailing % shape[axis] < (kept ? kept : 1);
}

static void the_part_moves_as_the_whole(void **state) {
    (void)state;
    static const char *const sets[][SETS_MOST] = {
        {"format=dense", "optimizer=sgd", "batch=2", "update.when=end"},
        {"format=dense", "optimizer=adam", "batch=2", "activations.policy=recompute"},
        {"flow=bidirectional", "optimizer=adam", "batch=2", "update.when=write-back"},
        {"flow=right-to-left", "optimizer=momentum", "batch=2", "activations.policy=recompute-layers"},
        {"flow=optimal", "optimizer=sgd", "batch=1", "update.when=end"},
        {"weights.square.format=ttm", "optimizer=momentum", "batch=1", "update.when=end"},
        {"weights.square.format=tr", "optimizer=sgd", "batch=1", "update.when=end"},
        {"weights.square.format=tucker", "weights.square.rank=3", "batch=1", "update.when=end"},
        {"weights.square.format=cp", "optimizer=sgd", "batch=1", "update.when=write-back"}};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        tn_arena arena = {0};
        const double ratio = s % 2 ? 0.5 : 0.2;
        const char *set[SETS_MOST + 1];
        memcpy(set, sets[s], sizeof sets[s]);
        set[SETS_MOST] = s % 2 ? "ratio=0.5" : "ratio=0.2";
        const tn_model *model = loaded(set, SETS_MOST + 1, &arena), *whole = loaded(set, SETS_MOST, &arena);
        const tn_step step = test_step_of(model, &arena), all_step = test_step_of(whole, &arena);
        const test_trained some = test_train(model, TN_FLOAT64, 1, NULL, NULL),
                           all = test_train(whole, TN_FLOAT64, 1, NULL, NULL),
                           start = test_train(whole, TN_FLOAT64, 0, NULL, NULL);
        uint64_t index = 0, moved = 0, gradients = 0;
        double difference = 0;
        for (uint32_t a = 0; a < step.arrays; a++) {
            const tn_array *array = &step.array[a];
            if (array->role != TN_ARRAY_PARAMETER) continue;
            for (uint64_t i = 0; i < array->elements; i++, index++) {
                bool updated = is_updated(&step, array, i, ratio);
                gradients += updated;
                moved += some.values[index] != start.values[index];
                if (updated)
                    difference = fmax(difference, fabs(some.values[index] - all.values[index]));
                else
                    assert_true(some.values[index] == start.values[index]);
            }
        }
        assert_int_equal(index, some.parameters);
        assert_true(moved > some.parameters / 5 && difference < 1e-12);
        uint64_t of_step = 0; /* gradients that the step makes */
        for (uint32_t a = 0; a < step.arrays; a++)
            if (step.array[a].role == TN_ARRAY_GRADIENT) of_step += step.array[a].elements;
        assert_int_equal(of_step, gradients);
        assert_int_equal(step.optimizer_elements, step.optimizer == TN_ADAM       ? 2 * gradients
                                                  : step.optimizer == TN_MOMENTUM ? gradients
                                                                                  : 0);
        assert_true(some.macs < all.macs && step.peak_elements < all_step.peak_elements);
        assert_true(step.activation_bytes <= all_step.activation_bytes);
        free(start.values);
        free(all.values);
        free(some.values);
        tn_arena_free(&arena);
    }
}

/* Of dense layers: tokens x outputs x input channels that are updated, and of what only these read as many are kept. */
static void counts_of_a_dense_model(void **state) {
    (void)state;
    static const char *const sets[] = {"format=dense", "train=[encoder1.*, encoder2.*]",
                                       "ratio=[0.25, 0.125]"};
    tn_arena arena = {0};
    const tn_step step = test_step_of(loaded(sets, 3, &arena), &arena),
                  whole = test_step_of(loaded(sets, 2, &arena), &arena);
    for (uint32_t i = 0; i < step.layers; i++) {
        bool first = strncmp(step.layer[i].name, "encoder1.", 9) == 0;
        if (strcmp(step.layer[i].kind, "linear") != 0 || strncmp(step.layer[i].name, "encoder", 7) != 0)
            continue;
        const bool up = strstr(step.layer[i].name, "wide"), down = strstr(step.layer[i].name, "narrow");
        uint64_t tokens = 8, macs = tokens * (down ? 40 : 24) * (up ? 40 : 24);
        assert_int_equal(whole.layer[i].macs[TN_WEIGHT_GRADIENT], macs);
        assert_int_equal(step.layer[i].macs[TN_WEIGHT_GRADIENT], macs / (first ? 4 : 8));
    }
    /* What query, key and value read, what attention, the norm and GELU give: nothing else reads these behind the
     * forward pass. */
    uint64_t saved = 0, inputs = 0;
    for (uint32_t a = 0; a < step.arrays; a++) {
        if (!step.array[a].is_part) continue;
        saved += step.array[a].elements;
        inputs++;
    }
    assert_int_equal(inputs, 2 * 4);
    assert_int_equal(saved,
                     8 * (24 / 4 + 24 / 4 + 24 / 4 + 40 / 4) + 8 * (24 / 8 + 24 / 8 + 24 / 8 + 40 / 8));
    assert_true(step.activation_bytes < whole.activation_bytes);
    tn_arena_free(&arena);
}

static void a_share_of_none_leaves_biases(void **state) {
    (void)state;
    static const char *const none[] = {"train=[encoder2.*]", "ratio=0"},
                             *const biases[] = {"train=[encoder2.*]",
                                                "frozen=['encoder2.*.core*', 'encoder2.*.weight']"};
    tn_arena arena = {0};
    const test_trained a = test_train(loaded(none, 2, &arena), TN_FLOAT32, 1, NULL, NULL),
                       b = test_train(loaded(biases, 2, &arena), TN_FLOAT32, 1, NULL, NULL);
    assert_int_equal(a.macs, b.macs);
    assert_int_equal(a.peak, b.peak);
    assert_memory_equal(a.values, b.values, a.parameters * sizeof *a.values);
    free(a.values);
    free(b.values);
    tn_arena_free(&arena);
}

static void slips_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *set[2], *says;
    } wrong[] = {{{"ratio=[0.5, 0.25]", "batch=1"}, "one for each name"},
                 {{"ratio=0", "train=['*.query']"}, "biases"},
                 {{"ratio=0.5", "phase=inference"}, "can't be combined with inference"},
                 {{"ratio=0.5", "predicted_gradients.per=1"}, "can't be combined with predicted-gradients"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_arena arena = {0};
        tn_program_cache *cache;
        tn_step step;
        tn_error error = {0};
        assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
        tn_status status = tn_step_build(loaded(wrong[i].set, 2, &arena), cache, &arena, &step, &error);
        if (i == 1) /* biases of queries are left */
            assert_int_equal(status, TN_OK);
        else if (status != TN_INPUT || !strstr(error.message, wrong[i].says))
            fail_msg("%zu: %s", i, error.message);
        tn_program_cache_free(cache);
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_part_moves_as_the_whole),
        cmocka_unit_test(counts_of_a_dense_model),
        cmocka_unit_test(a_share_of_none_leaves_biases),
        cmocka_unit_test(slips_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, test_models_end);
}
