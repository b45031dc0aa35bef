/* Sparse training by accumulated gradient, executed: the live set has one size, and is that of sorting; all else is W(0), drawn
 * again from the seed to the bit and read from nowhere; multiply-adds, counted by the mask, are as predicted. */
#include "support/models.h"
#include "support/trained.h"
#include "train/initial.h"
#include "train/selection.h"
#include "train/trainer_state.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char model_text[] = "kind: model\nname: m\nsequence: 6\n"
                                 "sparsity: {weights: 0.3, selection: accumulated-gradient}\n"
                                 "layers:\n"
                                 "  - {name: words, kind: embedding, vocabulary: 20, width: 16}\n"
                                 "  - {name: query, kind: linear, outputs: 16}\n"
                                 "  - {name: key, kind: linear, outputs: 16, input: words}\n"
                                 "  - {name: mix, kind: attention, heads: 2, input: [query, key, words]}\n"
                                 "  - {name: wide, kind: linear, outputs: 33}\n"
                                 "  - {name: bend, kind: gelu}\n"
                                 "  - {name: head, kind: linear, outputs: 7}\n"
                                 "  - {name: loss, kind: cross-entropy}\n";
enum { MATRICES = 4, MATRIX_WEIGHTS = 256 + 256 + 528 + 231, LIVE_WEIGHTS = 77 + 77 + 158 + 69, TOKENS = 6 };
enum { PARAMETERS_MOST = 16, ELEMENTS_MOST = 1024 };

typedef struct run {
    tn_arena arena;
    tn_model *model;
    tn_train_settings settings;
    tn_trainer *trainer;
    uint64_t random;
} run;

static void begin(run *r, const char *const *set, size_t sets, tn_real real) {
    *r = (run){.random = 5};
    assert_int_equal(tn_model_vary(tn_model_root(test_model_of(model_text, &r->arena)), set, sets, &r->arena,
                                   &r->model, NULL),
                     TN_OK);
    assert_int_equal(tn_train_settings_decode(NULL, &r->arena, &r->settings, NULL), TN_OK);
    assert_int_equal(tn_trainer_new(r->model, &r->settings, real, &r->trainer, NULL), TN_OK);
    assert_int_equal(tn_initialise(r->trainer, &r->settings, NULL), TN_OK);
}

static void end(run *r) {
    tn_trainer_free(r->trainer);
    tn_arena_free(&r->arena);
}

static tn_step_result step(run *r, double rate) {
    uint32_t token[TOKENS];
    int32_t slot[TOKENS];
    tn_step_result result;
    for (int i = 0; i < TOKENS; i++) {
        token[i] = tn_splitmix_below(&r->random, 20);
        slot[i] = (int32_t)token[i] % 7;
    }
    const tn_example example = {.tokens = TOKENS, .token = token, .slot = slot, .intent = -1};
    assert_int_equal(tn_trainer_step(r->trainer, &example, 1, false, rate, &result, NULL), TN_OK);
    return result;
}

static bool is_matrix(const tn_train_parameter *p) {
    return !p->is_table && p->axes == 2;
}

/* Any stretch of any parameter, in any order, long after training has moved all of them. */
static void initial_values_are_drawn_again(void **state) {
    (void)state;
    for (int real = TN_FLOAT32; real <= TN_FLOAT64; real++) {
        run r;
        void *first[PARAMETERS_MOST];
        begin(&r, NULL, 0, (tn_real)real);
        const tn_kernels *k = tn_trainer_kernels(r.trainer);
        const size_t parameters = tn_trainer_parameters(r.trainer);
        assert_in_range(parameters, MATRICES + 1, PARAMETERS_MOST);
        for (size_t i = 0; i < parameters; i++) {
            const tn_train_parameter *p = tn_trainer_parameter(r.trainer, i);
            assert_non_null(first[i] = malloc(p->elements * k->bytes));
            memcpy(first[i], p->values, p->elements * k->bytes);
        }
        for (int i = 0; i < 10; i++) step(&r, 0.1);
        for (int trial = 0; trial < 500; trial++) {
            size_t i = tn_splitmix_below(&r.random, (uint32_t)parameters);
            const tn_train_parameter *p = tn_trainer_parameter(r.trainer, i);
            uint64_t start = tn_splitmix_below(&r.random, (uint32_t)p->elements),
                     count = 1 + tn_splitmix_below(&r.random, (uint32_t)(p->elements - start));
            double values[ELEMENTS_MOST], again[ELEMENTS_MOST];
            assert_in_range(count, 1, ELEMENTS_MOST);
            tn_initial_values(r.trainer, i, start, count, values);
            k->from_double(values, again, count);
            assert_memory_equal(again, (char *)first[i] + start * k->bytes, count * k->bytes);
        }
        for (size_t i = 0; i < parameters; i++) free(first[i]);
        end(&r);
    }
}

/* What the watcher notes of the matrices: where they are in the trainer is the order in which the step has them. */
typedef struct notes {
    run *r;
    double rate;
    double initial[PARAMETERS_MOST][ELEMENTS_MOST], before[PARAMETERS_MOST][ELEMENTS_MOST],
        gradient[PARAMETERS_MOST][ELEMENTS_MOST];
    int trackings;
    bool poisons;
} notes;

static size_t parameter_of(const tn_step *step, uint32_t array) {
    size_t parameters = 0;
    for (uint32_t i = 0; i <= array; i++) parameters += step->array[i].role == TN_ARRAY_PARAMETER;
    return parameters - 1;
}

/* Against all candidates: what stays is nowhere nearer to W(0) than what returns would have been. */
static void check_tracking(notes *n, size_t parameter, uint64_t live, const double *value, const double *mask,
                           uint64_t elements) {
    double nearest = INFINITY, farthest = 0;
    uint64_t members = 0;
    for (uint64_t i = 0; i < elements; i++) {
        const double moved = n->before[parameter][i] - n->rate * n->gradient[parameter][i],
                     distance = fabs(moved - n->initial[parameter][i]);
        assert_true(mask[i] == 0 || mask[i] == 1);
        members += mask[i] == 1;
        if (mask[i] == 1) {
            assert_true(fabs(value[i] - moved) <= 1e-6 * fabs(moved) + 1e-9);
            nearest = fmin(nearest, distance);
        } else {
            assert_true(value[i] == n->initial[parameter][i]); /* to the bit */
            farthest = fmax(farthest, distance);
        }
    }
    assert_int_equal(members, live);
    assert_true(nearest >= farthest - 1e-7);
}

static void note(void *user, const tn_step *step, uint32_t operation, uint32_t array, const void *values) {
    notes *n = user;
    const tn_operation *o = &step->operation[operation];
    const tn_array *this_array = &step->array[array];
    const tn_kernels *k = tn_trainer_kernels(n->r->trainer);
    if (this_array->role == TN_ARRAY_GRADIENT)
        k->to_double(values, n->gradient[parameter_of(step, array)], this_array->elements);
    if (o->kind != TN_OP_TRACK || this_array->part != TN_PART_MASK) return;
    const uint32_t sparse = o->writes[0];
    const size_t parameter = parameter_of(step, sparse);
    const tn_train_parameter *p = tn_trainer_parameter(n->r->trainer, parameter);
    double value[ELEMENTS_MOST], mask[ELEMENTS_MOST];
    k->to_double(values, mask, p->elements);
    k->to_double(p->values, value, p->elements);
    if (!n->poisons) check_tracking(n, parameter, step->array[sparse].live, value, mask, p->elements);
    for (uint64_t i = 0; i < p->elements && n->poisons; i++)
        if (mask[i] == 0) value[i] = NAN;
    if (n->poisons) k->from_double(value, p->values, p->elements);
    memcpy(n->before[parameter], value, p->elements * sizeof *value);
    n->trackings++;
}

static notes *notes_new(run *r, double rate) {
    notes *n = calloc(1, sizeof *n);
    assert_non_null(n);
    n->r = r;
    n->rate = rate;
    for (size_t i = 0; i < tn_trainer_parameters(r->trainer); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(r->trainer, i);
        tn_trainer_kernels(r->trainer)->to_double(p->values, n->initial[i], p->elements);
        memcpy(n->before[i], n->initial[i], sizeof n->initial[i]);
    }
    tn_trainer_watch(r->trainer, note, n);
    return n;
}

static void the_live_set_is_that_of_sorting(void **state) {
    (void)state;
    enum { STEPS = 150, COMPARED = 30 };
    static const char *const sets[] = {"sparsity.weights=0.5", "sparsity.weights=0.25",
                                       "sparsity.weights=0.1", "update.when=write-back"};
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        run r;
        begin(&r, &sets[s], 1, TN_FLOAT32);
        notes *n = notes_new(&r, 0.1);
        double first = 0, last = 0;
        for (int i = 0; i < STEPS; i++) {
            const tn_step_result result = step(&r, 0.1);
            assert_int_equal(result.macs, result.macs_predicted);
            assert_int_equal(result.peak_elements, result.peak_elements_predicted);
            if (i < COMPARED) first += result.loss;
            if (i >= STEPS - COMPARED) last += result.loss;
        }
        assert_int_equal(n->trackings, STEPS * MATRICES);
        assert_true(last < first);
        free(n);
        end(&r);
    }
}

/* With no number in the place of what is no member, every loss and every member is the same to the bit. */
static void what_returns_is_read_nowhere(void **state) {
    (void)state;
    run plain, poisoned;
    begin(&plain, NULL, 0, TN_FLOAT32);
    begin(&poisoned, NULL, 0, TN_FLOAT32);
    notes *n = notes_new(&poisoned, 0.05);
    n->poisons = true;
    for (int i = 0; i < 30; i++) {
        const tn_step_result a = step(&plain, 0.05), b = step(&poisoned, 0.05);
        assert_true(a.loss == b.loss);
    }
    int numbers = 0;
    for (size_t i = 0; i < tn_trainer_parameters(plain.trainer); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(plain.trainer, i),
                                 *q = tn_trainer_parameter(poisoned.trainer, i);
        const float *a = p->values, *b = q->values;
        for (uint64_t k = 0; k < p->elements; k++) {
            if (!isnan(b[k])) assert_memory_equal(&a[k], &b[k], sizeof *a);
            numbers += is_matrix(p) && !isnan(b[k]);
        }
    }
    assert_int_equal(numbers, LIVE_WEIGHTS);
    assert_int_equal(n->trackings, 30 * MATRICES);
    free(n);
    end(&plain);
    end(&poisoned);
}

/* Dense until the initial weights are zero, then live weights alone; what is no member is W(0) times the factor. */
static void initial_weights_decay(void **state) {
    (void)state;
    enum { SETTLED = 127 };
    static const char *const set[] = {"sparsity.initial_decay=0.5"};
    run r;
    begin(&r, set, 1, TN_FLOAT32);
    const tn_step priced = test_step_of(r.model, &r.arena);
    const uint64_t saved =
        (uint64_t)TOKENS * (2 * (MATRIX_WEIGHTS - LIVE_WEIGHTS)); /* forward and input gradient */
    double initial[PARAMETERS_MOST][ELEMENTS_MOST];
    uint64_t all = 0;
    for (int phase = 0; phase < TN_PHASES; phase++) all += priced.macs[phase];
    for (size_t i = 0; i < tn_trainer_parameters(r.trainer); i++)
        tn_initial_values(r.trainer, i, 0, tn_trainer_parameter(r.trainer, i)->elements, initial[i]);
    for (int i = 0; i < SETTLED + 5; i++) {
        const tn_step_result result = step(&r, 0.02);
        assert_int_equal(result.macs, result.macs_predicted);
        assert_int_equal(result.macs, i < SETTLED ? all + saved : all);
        const double factor = i + 1 < SETTLED ? ldexp(1, -(i + 1)) : 0;
        uint64_t apart = 0;
        for (size_t k = 0; k < tn_trainer_parameters(r.trainer); k++) {
            const tn_train_parameter *p = tn_trainer_parameter(r.trainer, k);
            for (uint64_t e = 0; e < p->elements && is_matrix(p); e++)
                apart += ((float *)p->values)[e] != (float)(initial[k][e] * factor);
        }
        assert_in_range(apart, LIVE_WEIGHTS / 2, LIVE_WEIGHTS);
    }
    assert_true(tn_trainer_settled_steps(r.trainer) >= SETTLED);
    end(&r);
}

/* Only the live set is kept, its mask beside it, and no state. */
static void memory_is_that_of_the_live_set(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_model *dense;
    static const char *const all[] = {"sparsity.weights=1"};
    tn_model *tracked = test_model_of(model_text, &arena);
    assert_int_equal(tn_model_vary(tn_model_root(tracked), all, 1, &arena, &dense, NULL), TN_OK);
    const tn_step a = test_step_of(dense, &arena), b = test_step_of(tracked, &arena);
    assert_int_equal(a.parameter_bytes - b.parameter_bytes, 4 * (MATRIX_WEIGHTS - LIVE_WEIGHTS));
    assert_int_equal(b.optimizer_bytes, 2 * 32 + 66 + 29); /* bits, each mask in whole bytes */
    assert_int_equal(tn_step_macs(a.macs), tn_step_macs(b.macs));
    tn_arena_free(&arena);
}

static void states_are_refused(void **state) {
    (void)state;
    static const char *const set[] = {"optimizer=momentum"};
    tn_arena arena = {0};
    tn_model *model;
    tn_program_cache *cache;
    tn_step step_of;
    tn_error error = {0};
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    assert_int_equal(
        tn_model_vary(tn_model_root(test_model_of(model_text, &arena)), set, 1, &arena, &model, NULL), TN_OK);
    assert_int_equal(tn_step_build(model, cache, &arena, &step_of, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "optimizer: sgd"));
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initial_values_are_drawn_again), cmocka_unit_test(the_live_set_is_that_of_sorting),
        cmocka_unit_test(what_returns_is_read_nowhere),   cmocka_unit_test(initial_weights_decay),
        cmocka_unit_test(memory_is_that_of_the_live_set), cmocka_unit_test(states_are_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_models_end(NULL);
    return failed;
}
