/* What each technique of a design changes, against designs that have one key more each. */
#include "design/changes.h"

#include "price/price.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

enum { SETS_MOST = 6 };

static tn_device *device;
static tn_arena device_arena;

typedef struct design {
    tn_step step;
    tn_price price;
    uint64_t macs;
} design;

static void load(const char *const *set, size_t sets, tn_arena *arena, tn_model **model, tn_build *build) {
    tn_error error = {0};
    tn_status status = tn_model_load("atis-2enc", set, sets, arena, model, &error);
    if (status == TN_OK) status = tn_build_decode(tn_model_build(*model), arena, build, &error);
    if (status != TN_OK) fail_msg("%s", error.message);
}

static design priced(const char *const *set, size_t sets, tn_arena *arena) {
    tn_model *model;
    tn_build build;
    tn_workload *workload;
    design made = {0};
    load(set, sets, arena, &model, &build);
    made.step = test_step_of(model, arena);
    assert_int_equal(tn_workload_prepare(&made.step, device, arena, &workload, NULL), TN_OK);
    assert_int_equal(tn_price_step(workload, &build, &made.price, NULL), TN_OK);
    for (int phase = 0; phase < TN_PHASES; phase++) made.macs += made.step.macs[phase];
    return made;
}

static void check_state(const design *sample, const tn_technique_price *line, bool trailing) {
    const tn_change *change[] = {&line->macs, &line->saved_bytes, &line->peak_bytes, &line->cycles_per_step};
    const uint64_t expected[] = {sample->macs, sample->step.activation_bytes, sample->step.peak_bytes,
                                 sample->price.cycles_per_step};
    for (int i = 0; i < 4; i++)
        assert_int_equal(trailing ? change[i]->after : change[i]->before, expected[i]);
    double joules = trailing ? line->joules_per_step.after : line->joules_per_step.before;
    assert_true(joules == sample->price.joules_per_step);
}

/* Keys in the order in which the list has their techniques. */
static void every_line_is_one_key_more(void **state) {
    (void)state;
    static const struct {
        const char *name[SETS_MOST], *set[SETS_MOST + 1]; /* the first one is in all */
    } lists[] = {
        {{"number-format", "trained-layers", "sparse-update", "checkpointing", "write-back", "embedded-dram"},
         {"batch=1", "precision=bf16", "frozen=[embedding]", "ratio=0.25", "activations.policy=recompute",
          "update.when=write-back", "memory.kind=edram"}},
        {{"predicted-gradients", "write-back", "zero-skipping", "product-arithmetic", "systolic-array"},
         {"build={rows: 16, columns: 16, reduction: 1}",
          "predicted_gradients={per: 2, true: 1, predictor: 4}", "update.when=write-back",
          "sparsity.activations=0.5", "precision.products=int8", "build.array=systolic"}},
        {{"inference", "pruning", "early-exit", "flat-products", "outlier-pairs"},
         {"batch=1", "phase=inference", "pruning.tokens=0.5", "exit=[0.5, 0.5]",
          "flat_gemm={rows: 32, block: 16}", "outliers=4"}},
    };
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        tn_arena arena = {0};
        tn_program_cache *cache;
        tn_model *model;
        tn_build build;
        tn_technique_price *line;
        uint32_t lines, sets = 0;
        while (sets < SETS_MOST + 1 && lists[l].set[sets]) sets++;
        assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
        load(lists[l].set, sets, &arena, &model, &build);
        const tn_design whole = {.model = model, .device = device, .build = build};
        assert_int_equal(tn_technique_prices(&whole, cache, &arena, &line, &lines, NULL), TN_OK);
        assert_int_equal(lines, sets - 1);
        design sample = priced(lists[l].set, 1, &arena);
        for (uint32_t i = 0; i < lines; i++) {
            assert_string_equal(line[i].name, lists[l].name[i]);
            check_state(&sample, &line[i], false);
            sample = priced(lists[l].set, i + 2, &arena);
            check_state(&sample, &line[i], true);
        }
        tn_program_cache_free(cache);
        tn_arena_free(&arena);
    }
}

static int begin(void **state) {
    (void)state;
    return tn_device_load("u50@user-area", NULL, 0, &device_arena, &device, NULL) != TN_OK;
}

static int end(void **state) {
    test_models_end(state);
    tn_arena_free(&device_arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_line_is_one_key_more)};
    return cmocka_run_group_tests(tests, begin, end);
}
