/* Fronts of bounds by like units (search/like_front.h) against the bound of every design: the sum of its parts, with what all cores of
 * each class take together, which no price is below (tests/search/test_part_bounds.c). Layers are alike, but for what they read and
 * one that has a single token. No design of a build is better than every point of its front by more than the front's slack. */
#include "base/file.h"
#include "search/build_front.h"
#include "search/like_units.h"
#include "support/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char model_text[] =
    "kind: model\n"
    "name: alike\n"
    "batch: 1\n"
    "sequence: 8\n"
    "examples: 100\n"
    "weights:\n"
    "  square: {format: tt, m: 4x4x4, n: 4x4x4, rank: 4}\n"
    "layers:\n"
    "  - {name: embedding, kind: embedding, vocabulary: 20, width: 64}\n"
    "  - {name: turn-a, kind: linear, outputs: 64, weight: square, input: embedding}\n"
    "  - {name: turn-b, kind: linear, outputs: 64, weight: square, input: embedding}\n"
    "  - {name: both, kind: residual, input: [turn-a, turn-b]}\n"
    "  - {name: turn-c, kind: linear, outputs: 64, weight: square}\n"
    "  - {name: bend, kind: gelu}\n"
    "  - {name: first, kind: first-token, input: bend}\n"
    "  - {name: turn-d, kind: linear, outputs: 64, weight: square}\n"
    "  - {name: head, kind: linear, outputs: 6}\n"
    "  - {name: loss, kind: cross-entropy}\n";

static const char choices_text[] = "device: u50@user-area\n"
                                   "choices:\n"
                                   "  layers.turn-*.folding: [\"4x4x4,4x4x4\", \"8x8,8x8\"]\n"
                                   "  layers.turn-*.rank: [\"8\", \"12\"]\n"
                                   "  layers.turn-*.flow: [right-to-left, optimal]\n"
                                   "  build.group: [1, 3]\n"
                                   "  build.rows: [2, 8]\n"
                                   "objectives: [seconds_per_step, on_chip_bytes, degrees_of_freedom]\n";

typedef struct {
    tn_arena arena;
    tn_space space;
    tn_units units;
    tn_layer_table table;
} tabled;

/* Cycles, bits, degrees of freedom negated of the design whose options have those numbers together. */
static void find_bound(const tabled *its, size_t build, uint64_t number, double value[3]) {
    const tn_layer_table *table = &its->table;
    const tn_core_classes *classes = &table->view[build].survey->cores;
    uint32_t *count = calloc(classes->count + 1, sizeof *count);
    assert_non_null(count);
    value[0] = table->rest[build].cycles;
    value[1] = table->rest[build].capacity_bits;
    value[2] = 0;
    for (uint32_t u = 0; u < table->units; u++) {
        const uint64_t option = number % table->unit[u].options;
        const tn_part_cores *cores = &table->unit[u].cores[build][option];
        number /= table->unit[u].options;
        value[0] += tn_option_cost(table, build, u, option, TN_COST_CYCLES);
        value[1] += tn_option_cost(table, build, u, option, TN_COST_CAPACITY);
        value[2] += tn_option_cost(table, build, u, option, TN_COST_DEGREES);
        for (uint32_t i = 0; i < cores->count; i++) count[cores->core_class[i]]++;
    }
    for (uint32_t i = 0; i < classes->count; i++) {
        const tn_core_share *share = &table->view[build].core[i];
        assert_int_equal(classes->list[i].most[table->units], 0); /* no other layer has a core */
        value[1] += share->alone[count[i]] - count[i] * share->capacity_bits;
    }
    free(count);
}

static int make(void **state) {
    tabled *its = calloc(1, sizeof *its);
    uint64_t inner[16];
    const uint32_t digit[TN_AXES_MOST] = {0};
    char text[2048], space[256], model[256];
    tn_error error = {0};
    if (!its || test_folder_make(state) != 0) return -1;
    snprintf(model, sizeof model, "%s", test_in_folder("alike-model.yaml"));
    snprintf(space, sizeof space, "%s", test_in_folder("alike.yaml"));
    snprintf(text, sizeof text, "kind: space\nname: alike\nmodel: %s\n%s", model, choices_text);
    assert_int_equal(tn_file_write(model, model_text, strlen(model_text), &error), TN_OK);
    assert_int_equal(tn_file_write(space, text, strlen(text), &error), TN_OK);
    if (tn_space_load(space, NULL, 0, NULL, &its->arena, &its->space, &error) != TN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(tn_units_find(&its->space, &its->arena, &its->units, &error), TN_OK);
    for (uint64_t b = 0; b < its->space.inner_count; b++) inner[b] = b;
    if (tn_layer_table_make(&its->space, &its->units, digit, inner, its->space.inner_count, true,
                            &(tn_table_work){.deadline = INFINITY, .threads = 1}, &its->arena, &its->table,
                            &error) != TN_OK)
        fail_msg("%s", error.message);
    *state = its;
    return 0;
}

static int unmake(void **state) {
    tabled *its = *state;
    tn_arena_free(&its->arena);
    free(its);
    return test_folder_remove(state);
}

static bool is_covered(const tn_build_front *front, const double value[3]) {
    for (size_t i = 0; i < front->count; i++)
        if (front->cost[TN_COST_CYCLES][i] <= value[0] * front->slack * (1 + 1e-12) &&
            front->cost[TN_COST_CAPACITY][i] <= value[1] * front->slack * (1 + 1e-12) &&
            front->cost[TN_COST_DEGREES][i] * front->slack * (1 + 1e-12) >= -value[2])
            return true;
    return false;
}

static void compare_build(const tabled *its, size_t build, double epsilon, uint64_t *compared) {
    const tn_front_options options = {
        .objective = {[TN_COST_CYCLES] = true, [TN_COST_CAPACITY] = true, [TN_COST_DEGREES] = true},
        .epsilon = epsilon,
        .most = 1000000,
        .bounds_only = true,
        .deadline = INFINITY};
    const uint32_t digit[TN_AXES_MOST] = {0};
    tn_build_front front;
    tn_error error = {0};
    if (tn_build_front_find(&its->space, &its->units, &its->table, build, digit, &options, &front, &error) !=
        TN_OK)
        fail_msg("%s", error.message);
    assert_true(front.slack <= (1 + epsilon) * (1 + 1e-12));
    for (uint64_t i = 0; i < its->space.outer_count; i++) {
        double value[3];
        find_bound(its, build, i, value);
        if (!is_covered(&front, value))
            fail_msg("epsilon %g: no point covers design %llu", epsilon, (unsigned long long)i);
        ++*compared;
    }
    tn_build_front_free(&front, its->units.count);
}

static void every_design_is_covered(void **state) {
    static const double epsilons[] = {0.001, 0.05, 0.3};
    const tabled *its = *state;
    uint64_t compared = 0;
    for (size_t b = 0; b < its->table.builds; b++)
        for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++)
            compare_build(its, b, epsilons[i], &compared);
    assert_true(compared > 10000);
}

/* What the cores of a design cost the species that they are dealt to is no more than what they cost together. */
static void participants_pay_no_more_than_all(void **state) {
    static const tn_layer_cost cost[] = {TN_COST_CAPACITY};
    tabled *its = *state;
    const tn_layer_table *table = &its->table;
    uint64_t shared = 0;
    for (size_t b = 0; b < table->builds; b++) {
        tn_arena arena = {0};
        tn_like_units likes;
        assert_int_equal(tn_like_units_find(table, b, 1, cost, &arena, &likes, NULL), TN_OK);
        const tn_like_set *set = &likes.set[0];
        const uint32_t classes = table->view[b].survey->cores.count;
        uint32_t *count;
        assert_int_equal(TN_NEW(&arena, (size_t)classes * (set->species + 1), &count, NULL), TN_OK);
        for (uint64_t i = 0; i < its->space.outer_count; i++) {
            uint64_t number = i;
            memset(count, 0, (size_t)classes * (set->species + 1) * sizeof *count);
            for (uint32_t u = 0; u < table->units; number /= table->unit[u++].options) {
                const uint64_t option = number % table->unit[u].options;
                const tn_part_cores *cores = &table->unit[u].cores[b][option];
                for (uint32_t k = 0; k < cores->count; k++) {
                    count[set->species_of[option] * classes + cores->core_class[k]]++;
                    count[set->species * classes + cores->core_class[k]]++;
                }
            }
            for (uint32_t c = 0; c < classes; c++) {
                const double whole = table->view[b].core[c].alone[count[set->species * classes + c]];
                double sum = 0;
                for (uint32_t s = 0; s < set->species; s++) {
                    const uint32_t n = count[s * classes + c];
                    sum += tn_like_class_cost(&likes, c, set->first_participant + s, n);
                    shared += n > 0 && n < count[set->species * classes + c];
                }
                assert_true(sum <= whole * (1 + 1e-12));
            }
        }
        tn_arena_free(&arena);
    }
    assert_true(shared > 0);
}

/* Three of the layers are of one type, the one of a single token of another, all of one set. */
static void like_layers_are_a_set(void **state) {
    static const tn_layer_cost cost[] = {TN_COST_CYCLES, TN_COST_CAPACITY, TN_COST_DEGREES};
    tabled *its = *state;
    tn_arena arena = {0};
    tn_like_units likes;
    assert_int_equal(tn_like_units_find(&its->table, 0, 3, cost, &arena, &likes, NULL), TN_OK);
    assert_int_equal(likes.sets, 1);
    assert_int_equal(likes.set[0].units, 4);
    assert_int_equal(likes.set[0].types, 2);
    assert_int_equal(likes.set[0].type[0].count, 3);
    assert_int_equal(likes.set[0].species, 4); /* by foldings and ranks */
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_design_is_covered),
                                       cmocka_unit_test(participants_pay_no_more_than_all),
                                       cmocka_unit_test(like_layers_are_a_set)};
    return cmocka_run_group_tests(tests, make, unmake);
}
