/* Lifetimes, peaks, what is saved, and the order of operations, against a slow walk over the operation list
 * that shares nothing with the library. */
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static bool reads(const tn_operation *operation, uint32_t array) {
    for (uint32_t i = 0; i < operation->read_count; i++)
        if (operation->reads[i] == array) return true;
    return false;
}

static bool writes(const tn_operation *operation, uint32_t array) {
    for (uint32_t i = 0; i < operation->write_count; i++)
        if (operation->writes[i] == array) return true;
    return false;
}

static bool touches(const tn_operation *operation, uint32_t array) {
    return reads(operation, array) || writes(operation, array);
}

static bool is_resident(const tn_array *array) {
    return array->role == TN_ARRAY_PARAMETER || array->role == TN_ARRAY_OPTIMIZER ||
           array->role == TN_ARRAY_CONSTANT;
}

static bool is_written(const tn_step *step, uint32_t array) {
    for (uint32_t i = 0; i < step->operations; i++)
        if (writes(&step->operation[i], array)) return true;
    return false;
}

/* live[i * arrays + a]: array a is held while operation i runs. */
static bool *walk(const tn_step *step) {
    bool *live = calloc((size_t)step->operations * step->arrays, 1);
    assert_non_null(live);
    for (uint32_t a = 0; a < step->arrays; a++) {
        uint32_t first = 0, last = step->operations - 1;
        bool always = is_resident(&step->array[a]), given = !is_written(step, a);
        while (!always && !given && !touches(&step->operation[first], a)) first++;
        while (!always && last > first && !touches(&step->operation[last], a)) last--;
        for (uint32_t i = first; i <= last; i++) live[(size_t)i * step->arrays + a] = true;
    }
    return live;
}

static void check_lifetimes(const tn_step *step, const bool *live) {
    for (uint32_t a = 0; a < step->arrays; a++)
        for (uint32_t i = 0; i < step->operations; i++)
            assert_int_equal(live[(size_t)i * step->arrays + a],
                             step->array[a].first <= i && i <= step->array[a].last);
}

static void check_peaks(const tn_step *step, const bool *live) {
    uint64_t *layer_peak = calloc(step->layers, sizeof *layer_peak), peak = 0;
    bool *of_layer = calloc((size_t)step->layers * step->arrays, 1);
    assert_true(layer_peak && of_layer);
    for (uint32_t i = 0; i < step->operations; i++)
        for (uint32_t a = 0; a < step->arrays; a++)
            if (touches(&step->operation[i], a))
                of_layer[(size_t)step->operation[i].layer * step->arrays + a] = true;
    for (uint32_t i = 0; i < step->operations; i++) {
        uint64_t all = 0, own = 0;
        uint32_t layer = step->operation[i].layer;
        for (uint32_t a = 0; a < step->arrays; a++) {
            uint64_t held = live[(size_t)i * step->arrays + a] ? step->array[a].elements : 0;
            all += held;
            if (of_layer[(size_t)layer * step->arrays + a]) own += held;
        }
        if (all > peak) peak = all;
        if (own > layer_peak[layer]) layer_peak[layer] = own;
    }
    assert_int_equal(step->peak_elements, peak);
    for (uint32_t l = 0; l < step->layers; l++) assert_int_equal(step->layer[l].peak_elements, layer_peak[l]);
    free(layer_peak);
    free(of_layer);
}

/* Made before the backward pass begins, or given from outside. */
static bool is_of_forward(const tn_step *step, uint32_t array) {
    for (uint32_t i = 0; i < step->operations; i++)
        if (writes(&step->operation[i], array)) return step->operation[i].phase == TN_FORWARD;
    return true;
}

static void check_saved(const tn_step *step) {
    uint64_t all = 0, *saved = calloc(step->layers, sizeof *saved);
    bool *in_layer = calloc(step->layers, 1);
    assert_true(saved && in_layer);
    for (uint32_t a = 0; a < step->arrays; a++) {
        const tn_array *array = &step->array[a];
        bool kept = false;
        if (array->role != TN_ARRAY_ACTIVATION && array->role != TN_ARRAY_INTERMEDIATE) continue;
        if (!is_of_forward(step, a)) continue;
        memset(in_layer, 0, step->layers);
        for (uint32_t i = 0; i < step->operations; i++) {
            const tn_operation *operation = &step->operation[i];
            if (operation->phase == TN_FORWARD || !reads(operation, a)) continue;
            kept = true;
            in_layer[operation->layer] = true;
        }
        if (kept) all += array->elements;
        for (uint32_t l = 0; l < step->layers; l++)
            if (in_layer[l]) saved[l] += array->elements;
    }
    assert_int_equal(step->activation_elements, all);
    for (uint32_t l = 0; l < step->layers; l++) assert_int_equal(step->layer[l].saved_elements, saved[l]);
    free(saved);
    free(in_layer);
}

/* before[i * operations + j]: j must be done before i, directly or through others. */
static bool *close_order(const tn_step *step) {
    uint32_t n = step->operations;
    bool *before = calloc((size_t)n * n, 1);
    assert_non_null(before);
    for (uint32_t i = 0; i < n; i++) {
        const tn_operation *operation = &step->operation[i];
        for (uint32_t k = 0; k < operation->after_count; k++) {
            uint32_t j = operation->after[k];
            assert_true(j < i);
            if (k > 0) assert_true(operation->after[k - 1] < j);
            before[(size_t)i * n + j] = true;
            for (uint32_t h = 0; h < j; h++) before[(size_t)i * n + h] |= before[(size_t)j * n + h];
        }
    }
    return before;
}

/* What is read was written before, by an operation that must come first; what is overwritten is read no more.
 */
static void check_hazards(const tn_step *step, const bool *before) {
    uint32_t n = step->operations;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t a = 0; a < step->arrays; a++) {
            const tn_operation *operation = &step->operation[i];
            bool written = is_resident(&step->array[a]) || !is_written(step, a);
            for (uint32_t j = 0; j < i; j++) {
                const tn_operation *earlier = &step->operation[j];
                written |= writes(earlier, a);
                bool ordered = before[(size_t)i * n + j];
                if (reads(operation, a) && writes(earlier, a)) assert_true(ordered);
                if (writes(operation, a) && touches(earlier, a)) assert_true(ordered);
            }
            if (reads(operation, a)) assert_true(written);
        }
}

/* Layers whose backward part the layer's gradient needs: those that come behind it in the dataflow, as the
 * forward operations show it. */
static void find_consumers(const tn_step *step, uint32_t layer, bool *consumer) {
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        for (uint32_t k = 0; k < operation->read_count; k++) {
            const tn_array *array = &step->array[operation->reads[k]];
            bool trailing = array->layer == layer || consumer[array->layer];
            bool value = array->role == TN_ARRAY_ACTIVATION && is_of_forward(step, operation->reads[k]);
            bool forward = operation->phase == TN_FORWARD || operation->kind == TN_OP_CROSS_ENTROPY;
            /* What it adds to in place passes its gradient on as it is; which rows are sent has none. */
            bool added_to =
                writes(operation, operation->reads[k]) || (operation->kind == TN_OP_DISPATCH && k == 1);
            if (value && trailing && forward && !added_to && operation->layer != layer)
                consumer[operation->layer] = true;
        }
    }
}

/* Every parameter is updated once, after its gradient, which has gone through every layer behind it: each of
 * their operations for input gradients comes before, but for those that end elsewhere. */
static void check_updates(const tn_step *step, const bool *before) {
    uint32_t n = step->operations;
    bool *consumer = calloc(step->layers, 1);
    assert_non_null(consumer);
    for (uint32_t a = 0; a < step->arrays; a++) {
        if (step->array[a].role != TN_ARRAY_PARAMETER) continue;
        uint32_t update = n, updates = 0;
        for (uint32_t i = 0; i < n; i++)
            if (step->operation[i].phase == TN_UPDATE && writes(&step->operation[i], a)) {
                update = i;
                updates++;
            }
        assert_int_equal(updates, 1);
        assert_int_equal(step->operation[update].rows * step->operation[update].columns,
                         step->array[a].elements);
        memset(consumer, 0, step->layers);
        find_consumers(step, step->array[a].layer, consumer);
        for (uint32_t l = 0; l < step->layers; l++) {
            bool passed = !consumer[l], has = false;
            for (uint32_t i = 0; i < n; i++) {
                const tn_operation *operation = &step->operation[i];
                if (operation->layer != l || operation->phase != TN_INPUT_GRADIENT) continue;
                has = true;
                passed |= before[(size_t)update * n + i];
            }
            assert_true(passed || !has);
        }
    }
    free(consumer);
}

static void check_all(const tn_model *model) {
    tn_arena arena = {0};
    tn_step step = test_step_of(model, &arena);
    bool *live = walk(&step), *before = close_order(&step);
    check_lifetimes(&step, live);
    check_peaks(&step, live);
    check_saved(&step);
    check_hazards(&step, before);
    check_updates(&step, before);
    free(live);
    free(before);
    tn_arena_free(&arena);
}

static void small_models(void **state) {
    (void)state;
    for (int i = 0; i < TEST_MODELS; i++) {
        tn_arena arena = {0};
        check_all(test_model_of(test_models[i].text, &arena));
        tn_arena_free(&arena);
    }
}

static void atis(void **state) {
    (void)state;
    const char *sets[] = {
        NULL,           "format=dense",   "flow=right-to-left",     "flow=bidirectional-published",
        "flow=optimal", "optimizer=adam", "update.when=write-back", "batch=3"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        tn_arena arena = {0};
        check_all(test_model_loaded("atis-2enc", sets[i], &arena));
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_models),
        cmocka_unit_test(atis),
    };
    return cmocka_run_group_tests(tests, NULL, test_models_end);
}
