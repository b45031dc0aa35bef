/* Every technique beside every other, on a small model that has what each of them needs: a pair runs with multiply-adds and
 * live elements as predicted, and has a price, or is refused by one error that names both. */
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "price/price.h"
#include "step/transformation.h"
#include "train/initial.h"
#include "train/trainer.h"

/* Couplings, matrices and cores, three repetitions. */
static const char model_text[] =
    "kind: model\nname: small\nsequence: 6\n"
    "weights:\n  square: {format: tt, m: 2x4, n: 4x2, rank: 2}\n"
    "layers:\n"
    "  - {name: words, kind: embedding, vocabulary: 20, width: 8}\n"
    "  - {name: places, kind: positions}\n"
    "  - name: block\n    kind: block\n    repeat: 3\n    layers:\n"
    "      - {name: norm, kind: layer-norm, input: entry}\n"
    "      - {name: query, kind: linear, outputs: 8, weight: square}\n"
    "      - {name: key, kind: linear, outputs: 8, weight: square, input: norm}\n"
    "      - {name: value, kind: linear, outputs: 8, weight: square, input: norm}\n"
    "      - {name: attention, kind: attention, heads: 2, input: [query, key, value]}\n"
    "      - {name: first, kind: residual, input: [previous.first, attention]}\n"
    "      - {name: feed-norm, kind: layer-norm}\n"
    "      - {name: widen, kind: linear, outputs: 16}\n"
    "      - {name: bend, kind: relu}\n"
    "      - {name: narrow, kind: linear, outputs: 8}\n"
    "      - {name: second, kind: residual, input: [narrow, entry]}\n"
    "  - {name: joined, kind: residual, input: [block.first, block]}\n"
    "  - {name: slot-head, kind: linear, outputs: 6}\n"
    "  - {name: slot-loss, kind: cross-entropy}\n";

enum { SETS_MOST = 3 };

typedef struct technique {
    const char *name; /* of its transformation, or choice */
    const char *set[SETS_MOST];
} technique;
static const technique techniques[] = {
    {"inference", {"phase=inference"}},
    {"trained-layers", {"train=['block2.*', 'block3.*', slot-head]"}},
    {"sparse-update", {"ratio=0.5"}},
    {"reversible", {"activations.policy=reversible"}},
    {"checkpointing", {"activations.policy=recompute"}},
    {"checkpointing", {"activations.segments=4"}},
    {"optimal-checkpointing", {"activations.policy=optimal", "activations.budget_bytes=6000"}},
    {"predicted-gradients", {"predicted_gradients={per: 2, true: 1, predictor: 3}"}},
    {"write-back", {"update.when=write-back"}},
    {"sparse-weights", {"sparsity.weights=0.5", "sparsity.balance=pairs"}},
    {"sparse-weights", {"sparsity.weights=0.5", "sparsity.selection=accumulated-gradient"}},
    {"sparse-weights",
     {"sparsity.weights=0.25", "sparsity.selection=accumulated-gradient", "sparsity.initial_decay=0.5"}},
    {"zero-skipping", {"sparsity.activations=0.5", "sparsity.gradients=0.25"}},
    {"pruning", {"phase=inference", "pruning={tokens: 0.5, heads: 0.5}"}},
    {"early-exit", {"phase=inference", "exit=[0.25, 0.25, 0.5]", "dvfs.deadline_us=100000"}},
    {"flat-products", {"phase=inference", "flat_gemm={rows: 6, block: 4}"}},
    {"product-arithmetic", {"precision.products=bfp16,8,4"}},
    {"product-arithmetic", {"precision={weights: int8, activations: 'fixed16,8', gradients: bf16}"}},
    {"growing-precision", {"precision.products=bfp16,8,4", "precision_schedule={narrow: 'bfp16,8,2'}"}},
    {"outlier-pairs", {"phase=inference", "outliers=4"}},
    {"number-format", {"precision.accumulate=bf16"}},
    {"embedded-dram", {"memory.kind=edram"}},
};
enum { TECHNIQUES = sizeof techniques / sizeof *techniques };

static tn_device *device;
static tn_arena device_arena;

/* Two that set one key differently, or a key and the mapping that it is in, or a policy each, are no pair. */
static bool share_a_key(const technique *a, const technique *b) {
    for (int i = 0; i < SETS_MOST && a->set[i]; i++)
        for (int k = 0; k < SETS_MOST && b->set[k]; k++) {
            const char *one = a->set[i], *other = b->set[k];
            size_t word = strcspn(one, "=."), key = strcspn(one, "=");
            if (strcmp(one, other) == 0 || word != strcspn(other, "=.") || strncmp(one, other, word) != 0)
                continue;
            bool mapping = one[word] == '=' || other[word] == '=',
                 same = key == strcspn(other, "=") && strncmp(one, other, key) == 0;
            if (mapping || same || strncmp(one, "activations", word) == 0) return true;
        }
    return false;
}

static tn_status load(const technique *a, const technique *b, tn_arena *arena, tn_model **model,
                      tn_error *error) {
    const char *set[2 * SETS_MOST];
    size_t sets = 0;
    tn_yaml *root;
    for (int i = 0; i < SETS_MOST && a->set[i]; i++) set[sets++] = a->set[i];
    for (int i = 0; b && i < SETS_MOST && b->set[i]; i++) set[sets++] = b->set[i];
    assert_int_equal(tn_yaml_parse("small", model_text, strlen(model_text), arena, &root, error), TN_OK);
    return tn_model_vary(root, set, sets, arena, model, error);
}

static void check_result(const tn_step_result *r) {
    assert_true(isfinite(r->loss) && r->macs > 0);
    assert_int_equal(r->macs, r->macs_predicted);
    assert_int_equal(r->peak_elements, r->peak_elements_predicted);
}

static void execute(const tn_model *model, bool inference) {
    tn_arena arena = {0};
    tn_train_settings settings;
    tn_trainer *trainer;
    tn_step_result result;
    tn_error error = {0};
    uint32_t token[] = {2, 9, 4, 7, 1, 5};
    int32_t slot[] = {0, 1, 0, 2, 0, 1};
    const tn_example example = {.tokens = 6, .token = token, .slot = slot, .intent = -1};
    assert_int_equal(tn_train_settings_decode(NULL, &arena, &settings, NULL), TN_OK);
    if (tn_trainer_new(model, &settings, TN_FLOAT32, &trainer, &error) != TN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(tn_initialise(trainer, &settings, NULL), TN_OK);
    for (uint32_t sort = 0; sort < tn_trainer_sorts(trainer); sort++) {
        tn_trainer_set_sort(trainer, sort);
        if (inference)
            assert_int_equal(tn_trainer_forward(trainer, &example, 1, true, NULL, &result, NULL), TN_OK);
        else
            assert_int_equal(tn_trainer_step(trainer, &example, 1, true, 0.01, &result, NULL), TN_OK);
        check_result(&result);
    }
    tn_trainer_free(trainer);
    tn_arena_free(&arena);
}

static void price(const tn_step *step) {
    tn_arena arena = {0};
    tn_workload *workload;
    tn_build build;
    tn_price made;
    tn_error error = {0};
    assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
    if (tn_workload_prepare(step, device, &arena, &workload, &error) != TN_OK ||
        tn_price_step(workload, &build, &made, &error) != TN_OK)
        fail_msg("%s", error.message);
    assert_true(made.cycles_per_step > 0 && made.joules_per_step > 0);
    tn_arena_free(&arena);
}

static bool names_both(const char *message, const technique *a, const technique *b) {
    bool conflict = strstr(message, "can't be combined with") && strstr(message, "leave one out");
    bool phase = strstr(message, "is a technique of inference; set phase: inference");
    return (conflict && strstr(message, a->name) && strstr(message, b->name)) || phase ||
           /* a technique of inference brings its phase along, which excludes the other */
           (conflict && strstr(message, "inference (phase)") &&
            (strstr(message, a->name) || strstr(message, b->name)));
}

static void every_pair_runs_or_says_why_not(void **state) {
    (void)state;
    uint32_t run = 0, refused = 0;
    for (int i = 0; i < TECHNIQUES; i++)
        for (int k = i; k < TECHNIQUES; k++) {
            const technique *a = &techniques[i], *b = i == k ? NULL : &techniques[k];
            tn_arena arena = {0};
            tn_model *model;
            tn_program_cache *cache;
            tn_step step;
            tn_error error = {0};
            if (b && share_a_key(a, b)) continue;
            assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
            tn_status status = load(a, b, &arena, &model, &error);
            if (status == TN_OK) status = tn_step_build(model, cache, &arena, &step, &error);
            if (status == TN_OK) {
                bool inference = strcmp(a->name, "inference") == 0 || strstr(a->set[0], "inference") ||
                                 (b && strstr(b->set[0], "inference"));
                execute(model, inference);
                price(&step);
                run++;
            } else {
                refused++;
                if (status != TN_INPUT || !b || !names_both(error.message, a, b))
                    fail_msg("%s, %s: %s", a->name, b ? b->name : "alone", error.message);
            }
            tn_program_cache_free(cache);
            tn_arena_free(&arena);
        }
    assert_true(run > 90 && refused > 20);
}

/* A technique without an entry here would go untested. */
static void no_technique_is_left_out(void **state) {
    (void)state;
    for (const tn_transformation *const *one = tn_transformations; *one; one++) {
        bool known = false;
        for (int i = 0; i < TECHNIQUES; i++) known |= strcmp(techniques[i].name, (*one)->name) == 0;
        if (!known) fail_msg("%s", (*one)->name);
        assert_true((*one)->source && (*one)->needs && (*one)->changes && (*one)->keys);
    }
}

static int begin(void **state) {
    (void)state;
    return tn_device_load("u50@user-area", NULL, 0, &device_arena, &device, NULL) != TN_OK;
}

static int end(void **state) {
    (void)state;
    tn_arena_free(&device_arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_runs_or_says_why_not),
        cmocka_unit_test(no_technique_is_left_out),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
