/* Fronts and prices that were wrong once, as small spaces: each against every design priced on its own
 * (support/every_design.h). tests/search/test_exactness.c draws such spaces at random. */
#include "base/checked.h"
#include "base/file.h"
#include "price/bound.h"
#include "results/result.h"
#include "search/chunk_search.h"
#include "search/decomposition.h"
#include "support/every_design.h"
#include "support/folder.h"
#include "support/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_arena arena;

static int tear_down(void **state) {
    tn_arena_free(&arena);
    return test_folder_remove(state);
}

/* The space of that text, whose model: is model.yaml; `laid_most` 0: it is swept by bounds. */
static void load(const char *model, const char *text, tn_space *space) {
    tn_error error = {0};
    test_ok(tn_file_write(test_in_folder("model.yaml"), model, strlen(model), &error), &error);
    test_ok(tn_file_write(test_in_folder("space.yaml"), text, strlen(text), &error), &error);
    test_ok(tn_space_load(test_in_folder("space.yaml"), NULL, 0, NULL, &arena, space, &error), &error);
}

/* One evaluator gives every design the price that it has alone, whichever came before. */
static void assert_same_prices(const tn_space *space, const test_every_design *all) {
    for (int backwards = 0; backwards < 2; backwards++) {
        tn_evaluator *evaluator;
        tn_error error = {0};
        test_ok(tn_evaluator_new(space, &evaluator, &error), &error);
        for (uint64_t i = 0; i < all->designs; i++) {
            const uint64_t id = backwards ? all->designs - 1 - i : i;
            const test_design *alone = &all->design[id];
            tn_evaluation found;
            uint64_t outer, inner;
            uint32_t cause;
            tn_space_split(space, id, &outer, &inner);
            test_ok(tn_evaluate(evaluator, outer, inner, &found, &cause, &error), &error);
            assert_int_equal(cause, alone->cause);
            if (!test_has_price(alone)) continue;
            for (size_t q = 0; q < tn_quantities_count; q++) {
                double expected = tn_quantities[q].get(&alone->evaluation),
                       value = tn_quantities[q].get(&found);
                if (value != expected && !(isnan(value) && isnan(expected)))
                    fail_msg("design %llu has %s %.17g, alone %.17g", (unsigned long long)id,
                             tn_quantities[q].name, value, expected);
            }
        }
        tn_evaluator_free(evaluator);
    }
}

/* The sweep's front and count of feasible designs are those of designs priced alone. */
static void assert_swept(const tn_space *space, const test_every_design *all, unsigned threads) {
    char name[32];
    tn_error error = {0};
    tn_summary summary;
    tn_result result;
    snprintf(name, sizeof name, "%s-%u", space->name, threads);
    const tn_sweep_options options = {.threads = threads, .keep_all = true};
    test_ok(tn_sweep_folder(space, &options, test_in_folder(name), NULL, &summary, &error), &error);
    assert_int_equal(summary.feasible, all->feasible);
    test_ok(tn_result_load(test_in_folder(name), &arena, &result, &error), &error);
    assert_int_equal(result.front_count, all->front);
    for (size_t i = 0; i < result.front_count; i++) assert_true(all->design[result.front[i].id].on_front);
}

/* ---- write-backs of several kernels ---- */

static const char grouped_query[] =
    "kind: model\nname: tiny\nsequence: 8\nweights:\n  square: {format: cp, m: 2x12, n: 6x4, rank: "
    "3}\nlayers:\n"
    "  - {name: embedding, kind: embedding, vocabulary: 24, width: 24}\n"
    "  - {name: query, kind: linear, outputs: 24, weight: square}\n"
    "  - {name: key, kind: linear, outputs: 6, input: embedding}\n"
    "  - {name: value, kind: linear, outputs: 6, input: embedding}\n"
    "  - {name: attention, kind: attention, heads: 4, kv_heads: 1, input: [query, key, value]}\n"
    "  - {name: loss, kind: cross-entropy}\n";

static void every_kernel_has_its_write_back(void **state) {
    static const char *const kernels[] = {"[1, 2]", "[2, 1]", "[1, 2, 3, 4, 5]", "[5, 4, 3, 2, 1]"},
                             *const fusions[] = {"[additions]", "[write-back]", "[none, additions]"};
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int f = 0; f < 3; f++) {
            char text[512];
            tn_space space;
            snprintf(text, sizeof text,
                     "kind: space\nname: kernels%d%d\nmodel: model.yaml\ndevice: u280\n"
                     "constraints: ['dsp <= 760']\nchoices:\n  build.kernels: %s\n  build.fusion: %s\n",
                     k, f, kernels[k], fusions[f]);
            load(grouped_query, text, &space);
            test_every_design all = test_price_every_design(&space);
            assert_same_prices(&space, &all);
            assert_swept(&space, &all, 1);
            test_every_design_free(&all);
        }
}

/* ---- terms of block-term weights ---- */

static const char block_terms[] = "kind: model\nname: tiny\nsequence: 2\nweights:\n  a: {format: bt, m: 2x6, "
                                  "n: 3x4, rank: 2x2x3x2x3}\nlayers:\n"
                                  "  - {name: embedding, kind: embedding, vocabulary: 12, width: 12}\n"
                                  "  - {name: l1, kind: linear, outputs: 12, weight: a}\n"
                                  "  - {name: loss, kind: cross-entropy}\n";

static void terms_are_those_of_the_file(void **state) {
    static const char *const choices[] = {
        "weights.a.folding: ['2x6,3x4', '12,12']", "weights.a.folding: ['12,12', '2x6,3x4']",
        "weights.a.folding: ['12,12', '2x6,3x4', '2x3x2,3x2x2']", "weights.a.format: [ht, bt]",
        "weights.a.format: [bt, ht, tt, dense]"};
    (void)state;
    for (int i = 0; i < 5; i++) {
        char text[512];
        tn_space space;
        snprintf(text, sizeof text,
                 "kind: space\nname: terms%d\nmodel: model.yaml\ndevice: u50\nchoices:\n  %s\n"
                 "  weights.a.rank: [1, 3, 2]\n",
                 i, choices[i]);
        load(block_terms, text, &space);
        test_every_design all = test_price_every_design(&space);
        assert_same_prices(&space, &all);
        for (unsigned threads = 1; threads <= 3; threads++) assert_swept(&space, &all, threads);
        test_every_design_free(&all);
    }
}

/* ---- bounds of what passes external memory ---- */

static const char looked_up[] =
    "kind: model\nname: tiny\nbatch: 2\nsequence: 1\nprecision: {products: int8}\nfrozen: [embedding]\n"
    "weights:\n  square: {format: tt, m: 4x4, n: 8x2, rank: 3}\n"
    "  table: {format: ttm, m: 4x4, n: 8x2, rank: 3, flow: right-to-left}\nlayers:\n"
    "  - {name: embedding, kind: embedding, vocabulary: 16, width: 16, weight: table}\n"
    "  - {name: positions, kind: positions}\n"
    "  - name: enc\n    kind: block\n    layers:\n"
    "      - {name: query, kind: linear, outputs: 16, weight: square, input: entry}\n"
    "      - {name: key, kind: linear, outputs: 16, weight: square, input: entry}\n"
    "      - {name: value, kind: linear, outputs: 16, weight: square, input: entry}\n"
    "      - {name: attention, kind: attention, heads: 4, input: [query, key, value]}\n"
    "  - {name: loss, kind: cross-entropy}\n";

static void assert_bounds(const tn_space *space, const test_every_design *all) {
    tn_evaluator *evaluator;
    tn_error error = {0};
    test_ok(tn_evaluator_new(space, &evaluator, &error), &error);
    for (uint64_t id = 0; id < all->designs; id++) {
        tn_evaluation found, bound = all->design[id].evaluation;
        bool exact;
        test_ok(tn_evaluate_design(evaluator, id, &found, &error), &error);
        for (int close = 0; close < 2; close++) {
            test_ok((close ? tn_price_close_bound : tn_price_bound)(tn_evaluator_workload(evaluator),
                                                                    tn_evaluator_build(evaluator),
                                                                    &bound.price, &exact, &error),
                    &error);
            for (size_t q = 0; q < tn_quantities_count; q++)
                if (tn_quantities[q].bounded == TN_BOUNDED_BELOW &&
                    tn_quantities[q].get(&bound) > tn_quantities[q].get(&found))
                    fail_msg("%s: design %llu: the bound of %s is %.17g, the price %.17g", space->name,
                             (unsigned long long)id, tn_quantities[q].name, tn_quantities[q].get(&bound),
                             tn_quantities[q].get(&found));
        }
    }
    tn_evaluator_free(evaluator);
}

/* The space of that text is swept by bounds, none of which is above its price. */
static void assert_bounded(const char *model, const char *text) {
    tn_space space;
    load(model, text, &space);
    space.laid_most = 0;
    test_every_design all = test_price_every_design(&space);
    assert_true(all.feasible > 0);
    assert_bounds(&space, &all);
    assert_swept(&space, &all, 2);
    test_every_design_free(&all);
}

static void no_bound_is_above_its_price(void **state) {
    static const char *const devices[] = {"vck190", "zcu104", "u50"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "kind: space\nname: refuted%d\nmodel: model.yaml\ndevice: %s\n"
            "set: [build.off_chip_over_bytes=100, weights.square.rank=1]\n"
            "constraints: ['cycles_per_step <= %d']\nobjectives: [cycles_per_step, bram18]\nchoices:\n"
            "  build.blocks: [1, 2]\n  build.rows: [4, 5, 6]\n  build.off_chip_tile_bytes: [0, 1000001]\n",
            i, devices[i], i == 2 ? 2710 : 2560);
        assert_bounded(looked_up, text);
    }
}

static const char state_space[] =
    "kind: model\nname: ssm\nbatch: 2\nsequence: 4\nweights:\n"
    "  table: {format: ttm, m: 12, n: 6, rank: 5, flow: optimal}\nlayers:\n"
    "  - {name: embedding, kind: embedding, vocabulary: 12, width: 6, weight: table}\n"
    "  - {name: norm, kind: rms-norm}\n"
    "  - {name: mixer, kind: mamba, state: 2, taps: 2, step_rank: 1}\n"
    "  - {name: head, kind: linear, outputs: 5}\n  - {name: loss, kind: cross-entropy}\n";

/* Two pieces of 128 elements of an array of 192: a staging memory that holds the array holds both. */
static void staging_memories_hold_no_more_than_operands(void **state) {
    (void)state;
    assert_bounded(
        state_space,
        "kind: space\nname: staged\nmodel: model.yaml\ndevice: u50\n"
        "set: [build.rows=2, build.buffers=separate, build.off_chip_over_bytes=400, build.vector=8]\n"
        "objectives: [cycles_per_step, lut]\nchoices:\n"
        "  build.activation_memory: [distributed, block]\n  build.columns: [4, 16, 3]\n");
}

static const char large_table[] =
    "kind: model\nname: table\nbatch: 1\nsequence: 48\nfrozen: [embedding]\nlayers:\n"
    "  - {name: embedding, kind: embedding, vocabulary: 100, width: 24}\n"
    "  - {name: mean, kind: mean}\n"
    "  - {name: head, kind: linear, outputs: 12}\n  - {name: loss, kind: cross-entropy}\n";

/* What 48 tokens take of a table, 1,152 elements, comes in one piece of 1,024 and the rest. */
static void staging_memories_hold_no_less_than_operands(void **state) {
    (void)state;
    assert_bounded(large_table,
                   "kind: space\nname: rest\nmodel: model.yaml\ndevice: zcu104\n"
                   "set: [build.rows=2, build.off_chip_over_bytes=5000, build.placement=searched]\n"
                   "objectives: [cycles_per_step, on_chip_bytes]\nchoices:\n"
                   "  build.vector: [6, 32]\n  build.reduction: [8, 4]\n");
}

/* ---- decompositions whose first designs do not fit ---- */

static const char grouped_heads[] =
    "kind: model\nname: tiny\nbatch: 3\nsequence: 5\nweights:\n"
    "  square: {format: tt, m: 2x6, n: 4x3, rank: 4}\n"
    "  table: {format: ttm, m: 2x6, n: 4x3, rank: 1, flow: right-to-left}\nlayers:\n"
    "  - {name: embedding, kind: embedding, vocabulary: 12, width: 12, weight: table}\n"
    "  - {name: positions, kind: positions}\n"
    "  - {name: query, kind: linear, outputs: 12, weight: square, input: positions}\n"
    "  - {name: key, kind: linear, outputs: 4, input: positions}\n"
    "  - {name: value, kind: linear, outputs: 4, input: positions}\n"
    "  - {name: attention, kind: attention, heads: 3, kv_heads: 1, input: [query, key, value]}\n"
    "  - {name: head, kind: linear, outputs: 5}\n"
    "  - {name: loss, kind: cross-entropy}\n";

static void decompositions_find_what_fits(void **state) {
    (void)state;
    tn_space space;
    tn_error error = {0};
    load(
        grouped_heads,
        "kind: space\nname: fits\nmodel: model.yaml\ndevice: zcu104\n"
        "set: [build.layouts=ideal, build.buffers=separate, build.sharing=per-phase, build.split=partition]\n"
        "objectives: [on_chip_bytes, bram18]\nchoices:\n  weights.square.rank: {from: 1, to: 4}\n"
        "  build.reduction: [1]\n  build.columns: [3, 8]\n",
        &space);
    test_every_design all = test_price_every_design(&space);
    assert_true(all.feasible > 0 && all.feasible < all.designs);
    for (int i = 0; i < 2; i++) {
        const tn_decompose_options options = {.epsilon = i ? 0.1 : 0, .threads = 1};
        tn_decomposed found;
        test_ok(tn_decompose(&space, &options, &found, &error), &error);
        assert_null(found.refused);
        assert_true(found.count > 0);
        for (size_t k = 0; k < space.objectives; k++) assert_true(isfinite(found.factor[k]));
        for (size_t m = 0; i == 0 && m < found.count; m++) {
            uint64_t id = 0;
            assert_int_equal(
                tn_choices_id_of(&space.choices, found.digit + m * space.choices.count, &id, &error), TN_OK);
            assert_int_equal(all.design[id].cause, TN_CAUSE_NONE);
        }
        tn_decomposed_free(&found);
    }
    test_every_design_free(&all);
}

static const char turned[] =
    "kind: model\nname: turned\nbatch: 2\nsequence: 2\nweights:\n"
    "  square: {format: tt, m: 12, n: 12, rank: 1}\nlayers:\n"
    "  - {name: embedding, kind: input, width: 12}\n"
    "  - {name: positions, kind: positions, input: embedding}\n"
    "  - {name: query, kind: linear, input: positions, outputs: 12, weight: square}\n"
    "  - {name: key, kind: linear, input: positions, outputs: 12, weight: square, bias: false}\n"
    "  - {name: value, kind: linear, input: positions, outputs: 12, weight: square, bias: false}\n"
    "  - {name: turned, kind: rotary, input: query, heads: 2}\n"
    "  - {name: attention, kind: attention, heads: 2, kv_heads: 2, causal: true, input: [turned, key, "
    "value]}\n"
    "  - {name: sum, kind: residual, input: [positions, attention]}\n"
    "  - {name: head, kind: linear, input: sum, outputs: 3, bias: false}\n"
    "  - {name: loss, kind: cross-entropy, input: head}\n";

/* By their bounds many designs have no blocks; of those that are priced of them some do. */
static void bounds_of_nothing_cover_none(void **state) {
    (void)state;
    tn_space space;
    tn_decomposed found;
    tn_error error = {0};
    load(turned,
         "kind: space\nname: nothing\nmodel: model.yaml\ndevice: u55c\n"
         "set: [build.layouts=ideal, build.buffers=separate, build.placement=as-built, build.columns=5,"
         " build.kernels=2, build.sharing=shared, build.read_ports=2, precision=bf16]\n"
         "objectives: [uram, on_chip_bytes, dsp]\ncaps: {bram18: 52}\nchoices:\n"
         "  build.rows: {from: 1, to: 5}\n  layers.key.rank: [1, 6, 8, 4]\n"
         "  layers.value.rank: [5, 3]\n  layers.query.rank: [8, 5, 2]\n",
         &space);
    test_ok(tn_decompose(&space, &(tn_decompose_options){.threads = 1}, &found, &error), &error);
    assert_true(found.count > 0);
    for (size_t k = 0; k < space.objectives; k++) assert_true(isfinite(found.factor[k]));
    for (size_t m = 0; m < found.count; m++) assert_true(found.evaluation[m].price.on_chip_bytes == 0);
    tn_decomposed_free(&found);
}

static const char htucker[] =
    "kind: model\nname: ht\nbatch: 1\nsequence: 3\nweights:\n"
    "  square: {format: ht, m: 2x6, n: 2x6, rank: 3}\nlayers:\n"
    "  - {name: embedding, kind: embedding, vocabulary: 30, width: 12}\n"
    "  - {name: positions, kind: positions, input: embedding}\n"
    "  - {name: query, kind: linear, input: positions, outputs: 12, weight: square}\n"
    "  - {name: key, kind: linear, input: positions, outputs: 12, weight: square}\n"
    "  - {name: value, kind: linear, input: positions, outputs: 12, weight: square, bias: false}\n"
    "  - {name: attention, kind: attention, heads: 4, kv_heads: 4, causal: true, input: [query, key, "
    "value]}\n"
    "  - {name: norm, kind: rms-norm, input: attention}\n"
    "  - {name: other-head, kind: linear, input: norm, outputs: 3}\n"
    "  - {name: other-loss, kind: cross-entropy, input: other-head}\n"
    "  - {name: head, kind: linear, input: attention, outputs: 2, bias: false}\n"
    "  - {name: loss, kind: cross-entropy, input: head}\n";

/* Two designs of 160 hold the constraint, and what a decomposition seeks near its bounds are others: it prices all then. */
static void decompositions_of_few_designs_miss_none(void **state) {
    (void)state;
    tn_space space;
    tn_error error = {0};
    tn_decomposed found;
    load(htucker,
         "kind: space\nname: missed\nmodel: model.yaml\ndevice: u280\n"
         "set: [build.rows=2, build.columns=1, build.sharing=per-phase, build.activation_memory=distributed, "
         "build.skew=features, build.group=3, build.buffers=separate, activations.policy=recompute-layers, "
         "precision.products=bf16]\n"
         "settle: [build.core_memory]\nobjectives: [ff, dynamic_joules_per_step]\n"
         "constraints: ['ff <= 33751']\ncaps: {dsp: 111}\nchoices:\n"
         "  layers.query.rank: [6, 5, 1, 2]\n  build.placement: [searched, as-built]\n"
         "  layers.value.rank: [1, 2, 6, 5]\n",
         &space);
    test_every_design all = test_price_every_design(&space);
    assert_int_equal(all.feasible, 2);
    test_ok(tn_decompose(&space, &(tn_decompose_options){.epsilon = 0.1, .threads = 1}, &found, &error),
            &error);
    assert_null(found.refused);
    assert_true(found.exact && found.count == all.front);
    tn_decomposed_free(&found);
    test_every_design_free(&all);
    /* One flip-flop fewer, and none fits: that is known, too. */
    space.constraint[0].most = 33749;
    all = test_price_every_design(&space);
    assert_int_equal(all.feasible, 0);
    test_ok(tn_decompose(&space, &(tn_decompose_options){.epsilon = 0.1, .threads = 1}, &found, &error),
            &error);
    assert_true(found.none_fits && found.count == 0 && found.evaluated == all.designs);
    tn_decomposed_free(&found);
    test_every_design_free(&all);
}

/* Builds that only add kernels are idle, but a constraint may ask for them. */
static void constraints_may_ask_for_more(void **state) {
    static const char *const constraints[] = {"build.kernels = 2", "dsp >= 200"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char text[640];
        tn_space space;
        tn_decomposed found;
        tn_error error = {0};
        snprintf(text, sizeof text,
                 "kind: space\nname: more\nmodel: model.yaml\ndevice: zcu102\n"
                 "set: [build.layouts=ideal, build.buffers=separate, build.group=1]\n"
                 "objectives: [cycles_per_step, bram18]\nconstraints: ['%s']\nchoices:\n"
                 "  weights.square.rank: [1, 2, 3]\n  build.kernels: [1, 2]\n",
                 constraints[i]);
        load(grouped_heads, text, &space);
        test_every_design all = test_price_every_design(&space);
        const tn_decompose_options options = {.epsilon = 0, .threads = 1};
        test_ok(tn_decompose(&space, &options, &found, &error), &error);
        assert_null(found.refused);
        assert_true(all.feasible > 0 && all.feasible < all.designs);
        assert_int_equal(found.count, all.front);
        for (size_t m = 0; m < found.count; m++) {
            uint64_t id;
            assert_int_equal(
                tn_choices_id_of(&space.choices, found.digit + m * space.choices.count, &id, &error), TN_OK);
            assert_true(all.design[id].on_front);
        }
        tn_decomposed_free(&found);
        test_every_design_free(&all);
    }
}

/* ---- steps of one set ---- */

static const char activated[] = "kind: model\nname: tiny\nphase: inference\nsequence: 16\nweights:\n"
                                "  square: {format: tt, m: 4x6, n: 6x4, rank: 2}\nlayers:\n"
                                "  - {name: embedding, kind: embedding, vocabulary: 24, width: 24}\n"
                                "  - {name: first, kind: linear, outputs: 24, weight: square}\n"
                                "  - {name: relu, kind: relu}\n"
                                "  - {name: second, kind: linear, outputs: 24, weight: square}\n"
                                "  - {name: loss, kind: cross-entropy}\n";

/* What a search of sets finds of the builds of one step, of which no design is known beforehand, is the front. */
static void assert_searched(const tn_space *space, const test_every_design *all) {
    const tn_chunk chunk = {.outers = 1, .inners = space->inner_count, .designs = space->inner_count};
    tn_chunk_search search;
    tn_outcome found;
    tn_error error = {0};
    assert_int_equal(space->inner_count, all->designs);
    tn_outcome_begin(space, &found);
    test_ok(tn_chunk_search_begin(space, false, &search, &error), &error);
    test_ok(tn_chunk_search_run(&search, &chunk, NULL, NULL, &found, &error), &error);
    assert_int_equal(found.front.count, all->front);
    tn_point *point = malloc((found.front.count + 1) * sizeof *point);
    tn_archive_points(&found.front, point);
    for (size_t i = 0; i < found.front.count; i++) assert_true(all->design[point[i].id].on_front);
    free(point);
    tn_chunk_search_free(&search);
    tn_outcome_free(&found);
}

/* What is fused lives nowhere: a set of builds is not refused for the peak of one that fuses nothing. */
static void peaks_of_sets_are_the_least(void **state) {
    (void)state;
    uint64_t least = UINT64_MAX, most = 0;
    for (int constrained = 0; constrained < 2; constrained++) {
        char text[640], constraint[64] = "";
        tn_space space;
        if (constrained)
            snprintf(constraint, sizeof constraint, "constraints: [peak_elements <= %llu]\n",
                     (unsigned long long)least);
        snprintf(text, sizeof text,
                 "kind: space\nname: peaks\nmodel: model.yaml\ndevice: zcu102\n"
                 "objectives: [cycles_per_step, dsp]\n%schoices:\n"
                 "  build.fusion: [none, write-back]\n  build.rows: [1, 2]\n"
                 "  build.columns: [1, 2]\n  build.vector: [1, 4]\n",
                 constraint);
        load(activated, text, &space);
        space.laid_most = 0;
        test_every_design all = test_price_every_design(&space);
        for (uint64_t i = 0; i < all.designs; i++) {
            least = tn_least(least, all.design[i].evaluation.peak_elements);
            most = tn_greatest(most, all.design[i].evaluation.peak_elements);
        }
        assert_true(least < most);
        assert_int_equal(all.feasible, constrained ? all.designs / 2 : all.designs);
        assert_searched(&space, &all);
        test_every_design_free(&all);
    }
}

/* ---- keys that are idle under one value of another ---- */

/* Where operations follow each other a vector unit that all share is what auto is, and of memories without banks the skew says
 * nothing. Elsewhere they do, whichever key comes first. */
static void idle_keys_are_not_idle_elsewhere(void **state) {
    static const char of_units[] = "  build.rows: [2, 4]\n  build.columns: [2, 4]\n  build.vector: [1, 4]\n",
                      of_skews[] = "  build.rows: [8]\n  build.columns: [8]\n  build.reduction: [8]\n";
    static const struct {
        const char *model, *first, *rest;
    } spaces[] = {
        {"model.yaml", "  build.vector_units: [auto, shared]\n  build.schedule: [sequential, parallel]\n",
         of_units},
        {"model.yaml", "  build.schedule: [sequential, parallel]\n  build.vector_units: [auto, shared]\n",
         of_units},
        {"atis-2enc", "  build.skew: [tokens, features]\n  build.split: [reshape, banks]\n", of_skews},
        {"atis-2enc", "  build.split: [reshape, banks]\n  build.skew: [tokens, features]\n", of_skews}};
    (void)state;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        char text[640];
        tn_space space;
        snprintf(text, sizeof text,
                 "kind: space\nname: idle\nmodel: %s\ndevice: u50\n"
                 "objectives: [cycles_per_step, dsp]\nchoices:\n%s%s",
                 spaces[i].model, spaces[i].first, spaces[i].rest);
        load(grouped_heads, text, &space);
        space.laid_most = 0;
        test_every_design all = test_price_every_design(&space);
        assert_searched(&space, &all);
        test_every_design_free(&all);
    }
}

/* ---- combinations that there are not ---- */

static void undefined_combinations_are_counted(void **state) {
    static const struct {
        const char *choices;
        uint64_t designs, undefined;
    } spaces[] = {
        {"build.array: [lanes, systolic]\n  build.reduction: [1, 4]", 4, 1},
        {"phase: [training, inference]\n  activations.policy: [keep, recompute-layers]", 4, 1},
        {"sparsity.weights: [1, 0.5]\n  sparsity.activations: [0, 0.5]", 4, 1},
    };
    (void)state;
    for (int i = 0; i < 3; i++) {
        char text[512];
        tn_space space;
        snprintf(text, sizeof text,
                 "kind: space\nname: undefined%d\nmodel: model.yaml\ndevice: u280\nchoices:\n  %s\n", i,
                 spaces[i].choices);
        load(grouped_query, text, &space);
        test_every_design all = test_price_every_design(&space);
        uint64_t undefined = 0;
        for (uint64_t id = 0; id < all.designs; id++) {
            assert_int_equal(all.design[id].status, TN_OK);
            undefined += all.design[id].cause == TN_CAUSE_UNDEFINED;
        }
        assert_int_equal(all.designs, spaces[i].designs);
        assert_int_equal(undefined, spaces[i].undefined);
        assert_same_prices(&space, &all);
        assert_swept(&space, &all, 2);
        test_every_design_free(&all);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_has_its_write_back),
        cmocka_unit_test(terms_are_those_of_the_file),
        cmocka_unit_test(no_bound_is_above_its_price),
        cmocka_unit_test(staging_memories_hold_no_more_than_operands),
        cmocka_unit_test(staging_memories_hold_no_less_than_operands),
        cmocka_unit_test(decompositions_find_what_fits),
        cmocka_unit_test(bounds_of_nothing_cover_none),
        cmocka_unit_test(decompositions_of_few_designs_miss_none),
        cmocka_unit_test(peaks_of_sets_are_the_least),
        cmocka_unit_test(idle_keys_are_not_idle_elsewhere),
        cmocka_unit_test(undefined_combinations_are_counted),
        cmocka_unit_test(constraints_may_ask_for_more),
    };
    return cmocka_run_group_tests(tests, test_folder_make, tear_down);
}
