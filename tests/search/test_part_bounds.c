/* Bounds of parts (price/part_bounds.h) against prices: random spaces (tests/support/random_space.h) whose every design is
 * priced on its own. For each design the parts of its units' options and what no unit touches, each found in steps with other
 * options of the other units, are summed up; no sum may be above the price, whatever the keys of the build.
 *
 * TENFOLD_SPACES=N draws N spaces instead, TENFOLD_SEED=S the first of them. */
#include "base/clock.h"
#include "base/interrupt.h"
#include "search/followed_cost.h"
#include "search/learned_bounds.h"
#include "support/every_design.h"
#include "support/folder.h"
#include "support/random_space.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPACES = 40 };

static struct {
    uint64_t spaces, designs, tight_cycles, tight_memory;
    double cycles, memory, whole; /* sums of bound / price; the last: of memory, classes as a whole */
    uint64_t followed;
    uint64_t learned; /* designs that learn something, */
    double apart;     /* and by which part less than their bound, in sum */
} sum;

typedef struct {
    const tn_space *space;
    uint64_t seed;
    tn_units units;
    tn_layer_table table;
    size_t key_axes, key_axis[TN_AXES_MOST];
} tabled;

/* The digits of the model keys alone. */
static void keys_of(const tabled *made, uint64_t keys, uint32_t *digit) {
    memset(digit, 0, TN_AXES_MOST * sizeof *digit);
    tn_digits_of(&made->space->choices, made->key_axis, made->key_axes, keys, digit);
}

static void differs(const tabled *made, uint64_t id, const char *what, double bound, double price) {
    fail_msg("seed %llu: design %llu has %s %.17g and its parts %.17g", (unsigned long long)made->seed,
             (unsigned long long)id, what, price, bound);
}

/* What the cores of all units' options take more than their shares: by theorem 2, or dealt to participants, by theorem 3. */
static double surplus_of(const tabled *made, const uint32_t *digit, size_t build, uint32_t participants) {
    const tn_layer_table *table = &made->table;
    const tn_core_share *share = table->view[build].core;
    const uint32_t classes = table->view[build].survey->cores.count;
    uint32_t *count = calloc((size_t)classes * participants + 1, sizeof *count);
    double bits = 0;
    assert_non_null(count);
    for (uint32_t u = 0; u < table->units; u++) {
        const tn_unit *unit = &made->units.unit[u];
        const uint64_t option = tn_digits_number(&made->space->choices, unit->axis, unit->axes, digit);
        const tn_part_cores *cores = &table->unit[u].cores[build][option];
        for (uint32_t i = 0; i < cores->count; i++)
            count[(size_t)(made->seed + u * u) % participants * classes + cores->core_class[i]]++;
    }
    for (uint32_t p = 0; p < participants; p++)
        for (uint32_t i = 0; i < classes; i++) {
            const uint32_t n = count[p * classes + i];
            if (n == 0) continue;
            assert_true(n <= share[i].layers);
            assert_true(share[i].among[n] <= share[i].alone[n]);
            /* what no unit decides is a participant, too */
            const bool is_alone =
                participants == 1 && table->view[build].survey->cores.list[i].most[table->units] == 0;
            bits += (is_alone ? share[i].alone : share[i].among)[n] - n * share[i].capacity_bits;
        }
    free(count);
    return bits;
}

/* Energy that follows from the cycles of a design is no more than the sum of its parts, with cycles up to a factor, too. */
static void compare_followed(const tabled *made, uint64_t id, size_t build, const double *cost) {
    static const tn_layer_cost costs[] = {TN_COST_JOULES, TN_COST_STATIC_JOULES, TN_COST_DYNAMIC_JOULES};
    static const double slacks[] = {1, 1.02, 1.5};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        tn_followed_cost followed;
        const double value = cost[costs[i]];
        const bool follows = tn_cost_follows(&made->table, build, costs[i], &followed);
        for (size_t k = 0; k < sizeof slacks / sizeof *slacks; k++) {
            const double said = tn_followed_value(&followed, slacks[k] * cost[TN_COST_CYCLES], slacks[k]);
            if (said > slacks[k] * value * (1 + 1e-9))
                differs(made, id, "followed joules", said, slacks[k] * value);
        }
        if (follows) assert_true(tn_followed_value(&followed, cost[TN_COST_CYCLES], 1) >= 0.98 * value);
        sum.followed += follows;
    }
}

static void compare(const tabled *made, uint64_t id, const uint32_t *digit, size_t build,
                    const tn_evaluation *found) {
    const tn_layer_table *table = &made->table;
    const tn_choices *choices = &made->space->choices;
    double cost[TN_COSTS] = {0}, degrees = 0;
    for (int c = 0; c < TN_COSTS; c++) cost[c] = tn_part_cost(&table->rest[build], (tn_layer_cost)c);
    for (uint32_t u = 0; u < table->units; u++) {
        const tn_unit *unit = &made->units.unit[u];
        uint64_t option = tn_digits_number(choices, unit->axis, unit->axes, digit);
        assert_true(table->unit[u].defined[option]);
        for (int c = 0; c < TN_COSTS; c++)
            cost[c] += tn_part_cost(&table->unit[u].part[build][option], (tn_layer_cost)c);
        degrees += table->unit[u].sum[TN_SUM_DEGREES][option];
    }
    compare_followed(made, id, build, cost);
    double surplus[3] = {0};
    for (uint32_t p = 0; table->view[build].core && p < 3; p++)
        surplus[p] = surplus_of(made, digit, build, p + 1);
    const struct {
        const char *what;
        double bound, price;
    } pair[] = {
        {"cycles", cost[TN_COST_CYCLES], (double)found->price.cycles_per_step},
        {"bytes on chip", cost[TN_COST_CAPACITY] / 8, (double)found->price.on_chip_bytes + 1},
        {"bytes on chip, classes as a whole", (cost[TN_COST_CAPACITY] + surplus[0]) / 8,
         (double)found->price.on_chip_bytes + 1},
        {"bytes on chip, classes of two", (cost[TN_COST_CAPACITY] + surplus[1]) / 8,
         (double)found->price.on_chip_bytes + 1},
        {"bytes on chip, classes of three", (cost[TN_COST_CAPACITY] + surplus[2]) / 8,
         (double)found->price.on_chip_bytes + 1},
        {"block RAMs", cost[TN_COST_BRAM18], (double)found->price.used.bram18},
        {"UltraRAMs", cost[TN_COST_URAM], (double)found->price.used.uram},
        {"bytes off chip", cost[TN_COST_OFF_CHIP], (double)found->price.off_chip_bytes},
        {"bytes moved", cost[TN_COST_MOVED], (double)found->price.off_chip_bytes_per_step},
        {"joules", cost[TN_COST_JOULES], found->price.joules_per_step},
        {"static joules", cost[TN_COST_STATIC_JOULES], found->price.static_joules_per_step},
        {"dynamic joules", cost[TN_COST_DYNAMIC_JOULES],
         found->price.joules_per_step - found->price.static_joules_per_step},
        {"watts", cost[TN_COST_WATTS], found->price.watts},
        {"DSPs", (double)table->kernels[build].dsp, (double)found->price.used.dsp},
        {"LUTs", (double)table->kernels[build].lut, (double)found->price.used.lut},
        {"flip-flops", (double)table->kernels[build].ff, (double)found->price.used.ff},
        {"degrees of freedom", (double)found->degrees_of_freedom, degrees},
    };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        if (pair[i].bound > pair[i].price * (1 + 1e-9))
            differs(made, id, pair[i].what, pair[i].bound, pair[i].price);
    sum.designs++;
    sum.cycles += pair[0].bound / fmax(1, pair[0].price);
    sum.memory += pair[1].bound / fmax(1, pair[1].price);
    sum.whole += pair[2].bound / fmax(1, pair[2].price);
    sum.tight_cycles += pair[0].bound == pair[0].price;
    sum.tight_memory += pair[1].bound >= pair[1].price - 1;
}

/* What a design learns is no better than the sum of its parts, and as good where parts of one unit differ. */
static void compare_learned(const tabled *made, uint64_t id, const uint32_t *digit, tn_layer_cost cost,
                            double value) {
    const tn_layer_table *table = &made->table;
    const size_t place = cost - TN_LEARNED_FIRST;
    double bound = table->learned_rest[place];
    uint32_t differing = 0;
    for (uint32_t u = 0; u < table->units; u++) {
        const tn_unit *unit = &made->units.unit[u];
        const double *learned = table->unit[u].learned[place];
        bool differs = false;
        for (uint64_t o = 0; o < table->unit[u].options; o++) {
            differs |= learned[o] != learned[0];
            assert_true(tn_cost_is_negated(table, cost) ? learned[o] <= 0 : learned[o] >= 0);
        }
        bound += learned[tn_digits_number(&made->space->choices, unit->axis, unit->axes, digit)];
        differing += differs;
    }
    if (isnan(value)) return;
    if (bound > value + 1e-9) differs(made, id, "learned", bound, value);
    if (differing == 1) assert_true(bound > value - 1e-9);
    sum.learned += cost == TN_COST_LEARNED;
    sum.apart += cost == TN_COST_LEARNED ? (value - bound) / fabs(value) : 0;
}

static void compare_all_learned(const tabled *made, uint64_t id, const uint32_t *digit,
                                const tn_evaluation *found) {
    compare_learned(made, id, digit, TN_COST_LEARNED,
                    made->table.learns_more ? -found->accuracy : found->perplexity);
    compare_learned(made, id, digit, TN_COST_DEVIATION, found->accuracy_deviation);
    compare_learned(made, id, digit, TN_COST_BASIS, found->accuracy_interpolated);
}

static void compare_keys(tabled *made, const test_every_design *truth, uint64_t keys, tn_arena *arena) {
    const tn_space *space = made->space;
    uint32_t digit[TN_AXES_MOST], own[TN_AXES_MOST];
    uint64_t *inner = calloc(space->inner_count, sizeof *inner);
    tn_error error = {0};
    assert_non_null(inner);
    for (uint64_t b = 0; b < space->inner_count; b++) inner[b] = b;
    keys_of(made, keys, digit);
    if (tn_layer_table_make(space, &made->units, digit, inner, space->inner_count, true,
                            &(tn_table_work){.deadline = INFINITY, .threads = 1}, arena, &made->table,
                            &error) != TN_OK)
        fail_msg("seed %llu: %s", (unsigned long long)made->seed, error.message);
    const bool learns = space->accuracy_table.rows > 0 && !made->table.refused;
    for (int c = TN_LEARNED_FIRST; learns && c < TN_LEARNED_FIRST + TN_LEARNED_COSTS; c++)
        if (tn_learned_bounds_find(space, &made->units, digit, (tn_layer_cost)c, 10000, INFINITY, arena,
                                   &made->table, &error) != TN_OK)
            fail_msg("seed %llu: %s", (unsigned long long)made->seed, error.message);
    for (uint64_t id = 0; !made->table.refused && !made->table.empty && id < truth->designs; id++) {
        bool of_keys = true;
        for (size_t i = 0; i < space->choices.count; i++)
            own[i] = (uint32_t)tn_choices_digit(&space->choices, id, i);
        for (size_t i = 0; i < made->key_axes; i++)
            of_keys &= own[made->key_axis[i]] == digit[made->key_axis[i]];
        if (!of_keys || !test_has_price(&truth->design[id])) continue;
        uint64_t build = tn_digits_number(&space->choices, space->inner, space->inners, own);
        if (made->table.impossible[build]) { /* by caps, or a constraint */
            assert_int_not_equal(truth->design[id].cause, TN_CAUSE_NONE);
            continue;
        }
        compare(made, id, own, (size_t)build, &truth->design[id].evaluation);
        if (learns) compare_all_learned(made, id, own, &truth->design[id].evaluation);
    }
    free(inner);
}

/* learns: only if it has an accuracy table. */
static void try_space(uint64_t seed, bool learns) {
    tn_arena arena = {0};
    tn_space *space = calloc(1, sizeof *space);
    test_random_space drawn;
    char folder[128];
    tabled made = {.space = space, .seed = seed};
    assert_non_null(space);
    snprintf(folder, sizeof folder, "%s", test_in_folder(""));
    test_random_space_draw(seed, folder, &arena, &drawn, space);
    assert_int_equal(tn_units_find(space, &arena, &made.units, NULL), TN_OK);
    if (!space->variant && made.units.count > 0 && (!learns || space->accuracy_table.rows > 0)) {
        test_every_design truth = test_price_every_design(space);
        uint64_t keys = 1;
        for (size_t i = 0; i < space->outers; i++)
            if (space->choices.axis[space->outer[i]].kind == TN_AXIS_MODEL_KEY) {
                made.key_axis[made.key_axes++] = space->outer[i];
                keys *= space->choices.axis[space->outer[i]].count;
            }
        for (uint64_t k = 0; k < keys; k++) compare_keys(&made, &truth, k, &arena);
        test_every_design_free(&truth);
        sum.spaces++;
    }
    test_random_space_free(&drawn);
    free(space);
    tn_arena_free(&arena);
}

static void no_sum_of_parts_is_above_a_price(void **state) {
    (void)state;
    const char *asked = getenv("TENFOLD_SPACES"), *seed = getenv("TENFOLD_SEED");
    uint64_t spaces = asked ? strtoull(asked, NULL, 10) : SPACES, first = seed ? strtoull(seed, NULL, 10) : 1;
    for (uint64_t i = 0; i < spaces; i++) try_space(first + i, false);
    printf("%llu spaces, %llu designs: parts sum to %.3f of cycles, %.3f of memory in the mean, %.3f with "
           "classes of cores\n",
           (unsigned long long)sum.spaces, (unsigned long long)sum.designs, sum.cycles / (double)sum.designs,
           sum.memory / (double)sum.designs, sum.whole / (double)sum.designs);
    assert_true(asked || (sum.designs > 1000 && sum.followed > 1000));
    /* Bounds that say little would hold, too. */
    assert_true(asked || (sum.cycles > 0.4 * (double)sum.designs && sum.memory > 0.2 * (double)sum.designs));
}

static void no_sum_learns_less(void **state) {
    (void)state;
    enum { DRAWN = 300, DESIGNS = 5000 };
    for (uint64_t seed = 1; seed <= DRAWN && sum.learned < DESIGNS; seed++) try_space(seed, true);
    printf("%llu designs learn something, %.3f less than their parts in the mean\n",
           (unsigned long long)sum.learned, sum.apart / fmax(1, (double)sum.learned));
    assert_true(sum.learned > 0);
}

static void what_is_learned_ends_with_the_time(void **state) {
    (void)state;
    char set[320];
    const char *sets[] = {set, "objectives=[accuracy, seconds_per_step]"};
    const uint32_t digit[TN_AXES_MOST] = {0};
    tn_arena arena = {0};
    tn_error error = {0};
    tn_space space;
    tn_units units;
    tn_layer_table table = {.units = 0};
    snprintf(set, sizeof set, "accuracy_table=%s", test_source("tests/space/data/layers-accuracy.csv"));
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/layers.yaml"), sets, 2, NULL, &arena, &space, NULL),
        TN_OK);
    assert_int_equal(tn_units_find(&space, &arena, &units, NULL), TN_OK);
    table.units = units.count;
    assert_int_equal(TN_NEW(&arena, units.count, &table.unit, NULL), TN_OK);
    for (uint32_t u = 0; u < units.count; u++) table.unit[u].options = units.unit[u].options;
    assert_int_equal(tn_learned_bounds_find(&space, &units, digit, TN_COST_LEARNED, 10000,
                                            tn_clock_seconds() - 1, &arena, &table, &error),
                     TN_INTERRUPTED);
    tn_interrupt();
    assert_int_equal(tn_learned_bounds_find(&space, &units, digit, TN_COST_LEARNED, 10000, INFINITY, &arena,
                                            &table, &error),
                     TN_INTERRUPTED);
    tn_interrupt_clear();
    assert_int_equal(tn_learned_bounds_find(&space, &units, digit, TN_COST_LEARNED, 10000, INFINITY, &arena,
                                            &table, &error),
                     TN_OK);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_sum_of_parts_is_above_a_price),
                                       cmocka_unit_test(no_sum_learns_less),
                                       cmocka_unit_test(what_is_learned_ends_with_the_time)};
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
