/* Allocations against enumeration of every choice, and against the reference allocations. */
#include "knapsack/allocation.h"

#include "base/memory.h"
#include "knapsack/branch.h"
#include "knapsack/knapsack.h"
#include "knapsack/tradeoff.h"
#include "support/brute.h"
#include "support/shared.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 6, CANDIDATES = 7, MOST = 64 };
static tn_error error;

typedef struct {
    size_t first[LAYERS + 1];
    double objective[MOST], cost[MOST * 4];
    tn_knapsack choices;
} table;

static double draw(uint64_t *state, uint64_t most) {
    return (double)(test_random(state) % most);
}

/* Errors fall with the rank as in practice, or are anything; small numbers so that there are ties. */
static void random_table(uint64_t seed, size_t layers, size_t costs, bool falling, table *t) {
    t->first[0] = 0;
    for (size_t l = 0; l < layers; l++) {
        size_t count = 1 + test_random(&seed) % CANDIDATES;
        t->first[l + 1] = t->first[l] + count;
        for (size_t i = t->first[l], rank = 1; i < t->first[l + 1]; i++, rank++) {
            t->objective[i] =
                falling ? floor(400 * exp(-0.7 * (double)rank)) + draw(&seed, 9) : draw(&seed, 30);
            for (size_t k = 0; k < costs; k++)
                t->cost[i * costs + k] =
                    falling ? (double)(rank * (k + 2)) + draw(&seed, 4) : draw(&seed, 20);
        }
    }
    t->choices = (tn_knapsack){layers, costs, t->first, t->objective, t->cost, 0};
}

/* Goes through all choices in order; false after the last. */
static bool next_choice(const table *t, size_t *choice) {
    for (size_t l = t->choices.layers; l-- > 0;) {
        if (++choice[l] < t->first[l + 1] - t->first[l]) return true;
        choice[l] = 0;
    }
    return false;
}

/* Sums counted here, not by the library. */
static double sum_of(const table *t, const size_t *choice, int cost) {
    double sum = 0;
    for (size_t l = 0; l < t->choices.layers; l++) {
        size_t i = t->first[l] + choice[l];
        sum += cost < 0 ? t->objective[i] : t->cost[i * t->choices.costs + (size_t)cost];
    }
    return sum;
}

static bool fits(const table *t, const size_t *choice, const double *budget) {
    for (size_t k = 0; k < t->choices.costs; k++)
        if (sum_of(t, choice, (int)k) > budget[k]) return false;
    return true;
}

static double best_of_all(const table *t, const double *budget) {
    size_t choice[LAYERS] = {0};
    double best = INFINITY;
    do
        if (fits(t, choice, budget)) best = fmin(best, sum_of(t, choice, -1));
    while (next_choice(t, choice));
    return best;
}

/* The same optimum, by branch and bound where objectives are known to be whole numbers; cut short it says so. */
static void optimum_by_branching(table *t, const double *budget, double expected) {
    tn_allocation a;
    tn_branch branch;
    size_t choice[LAYERS];
    t->choices.step = 1;
    assert_int_equal(tn_allocate(&t->choices, budget, 0, &a, &error), TN_OK);
    assert_true(a.exact && a.found == isfinite(expected));
    if (a.found)
        assert_true(a.objective == expected && fits(t, a.choice, budget) && a.lower_bound == expected);
    tn_allocation_free(&a);
    for (uint64_t nodes = 1; nodes < 2000; nodes *= 12) {
        assert_int_equal(tn_branch_and_bound(&t->choices, budget, nodes, choice, &branch, &error), TN_OK);
        if (isfinite(expected)) assert_true(branch.bound <= expected * (1 + 1e-12));
        if (branch.met) assert_true(fits(t, choice, budget) && sum_of(t, choice, -1) >= expected);
        if (branch.met && branch.finished) assert_true(sum_of(t, choice, -1) == expected);
        assert_int_equal(tn_allocate(&t->choices, budget, nodes, &a, &error), TN_OK);
        if (isfinite(expected) && a.found) assert_true(a.lower_bound <= expected * (1 + 1e-12));
        tn_allocation_free(&a);
    }
    t->choices.step = 0;
}

static void optimum_of_every_small_table(void **state) {
    (void)state;
    size_t infeasible = 0, found = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        table t;
        uint64_t dice = seed;
        size_t costs = seed % 5, layers = 1 + seed % LAYERS;
        random_table(seed * 977, layers, costs, seed % 3 != 0, &t);
        double budget[4];
        for (size_t k = 0; k < costs; k++) budget[k] = draw(&dice, 12 * layers) + 2.0 * (double)layers;
        double expected = best_of_all(&t, budget);
        tn_allocation a;
        tn_dual dual;
        size_t choice[LAYERS];
        bool met;
        assert_int_equal(tn_allocate(&t.choices, budget, 0, &a, &error), TN_OK);
        assert_true(a.exact);
        assert_int_equal(a.found, isfinite(expected));
        if (a.found) {
            assert_true(a.objective == expected && sum_of(&t, a.choice, -1) == expected);
            assert_true(fits(&t, a.choice, budget) && a.gap == 0 && a.lower_bound == expected);
            for (size_t k = 0; k < costs; k++) assert_true(a.cost[k] == sum_of(&t, a.choice, (int)k));
        }
        /* The dual bounds it from below, whatever its prices. */
        assert_int_equal(tn_dual_solve(&t.choices, budget, &dual, choice, &met, &error), TN_OK);
        assert_true(dual.bound <= expected);
        if (met) assert_true(fits(&t, choice, budget));
        optimum_by_branching(&t, budget, expected);
        found += a.found;
        infeasible += !a.found;
        tn_allocation_free(&a);
    }
    assert_true(found > 100 && infeasible > 20);
}

/* With fronts of 2 the answer may be off, but the bound must hold and the gap must say so. */
static void a_thinned_front_states_its_gap(void **state) {
    (void)state;
    size_t inexact = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        table t;
        random_table(seed * 31, LAYERS, 3, seed % 2, &t);
        double budget[] = {32, 34, 40}, expected = best_of_all(&t, budget);
        tn_allocation a;
        assert_int_equal(tn_allocate(&t.choices, budget, 2, &a, &error), TN_OK);
        assert_true(a.lower_bound <= expected);
        if (a.exact) assert_true(a.found == isfinite(expected) && (!a.found || a.objective == expected));
        if (a.found)
            assert_true(a.objective >= expected && a.gap <= 1 && (a.objective == expected || a.gap > 0));
        inexact += !a.exact;
        tn_allocation_free(&a);
    }
    assert_true(inexact > 20);
}

static int by_number(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Every cost that occurs, with the least objective there, by enumeration. */
static size_t whole_front(const table *t, double *cost, double *objective) {
    static double costs[1 << 18]; /* cost and objective in one number */
    size_t choice[LAYERS] = {0}, count = 0, kept = 0;
    do {
        assert_true(count < sizeof costs / sizeof *costs);
        costs[count++] = sum_of(t, choice, 0) * 1e6 + sum_of(t, choice, -1);
    } while (next_choice(t, choice));
    qsort(costs, count, sizeof *costs, by_number);
    for (size_t i = 0; i < count; i++) {
        double c = floor(costs[i] / 1e6), o = costs[i] - c * 1e6;
        if (kept > 0 && o >= objective[kept - 1]) continue;
        cost[kept] = c;
        objective[kept++] = o;
    }
    return kept;
}

static void front_of_every_small_table(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        table t;
        double cost[4096], objective[4096];
        random_table(seed * 55, 1 + seed % LAYERS, 1, seed % 2, &t);
        size_t count = whole_front(&t, cost, objective);
        tn_tradeoff front, thin;
        assert_int_equal(tn_tradeoff_make(&t.choices, 0, 0, &front, &error), TN_OK);
        assert_true(front.exact && front.worst_factor == 1);
        assert_int_equal(front.count, count);
        for (size_t i = 0; i < count; i++) {
            assert_true(front.point[i].cost == cost[i] && front.point[i].objective == objective[i]);
            assert_true(front.point[i].lower_bound <= objective[i]);
        }
        /* Thinned: every true point has a kept one of no greater cost within the stated factor. */
        assert_int_equal(tn_tradeoff_make(&t.choices, 0, 5, &thin, &error), TN_OK);
        for (size_t i = 0; i < count; i++) {
            size_t j = thin.count;
            while (j > 0 && thin.point[j - 1].cost > cost[i]) j--;
            assert_true(j > 0 &&
                        thin.point[j - 1].objective <= objective[i] * thin.worst_factor * (1 + 1e-12));
        }
        tn_tradeoff_free(&front);
        tn_tradeoff_free(&thin);
    }
}

static void amounts_are_checked(void **state) {
    (void)state;
    size_t first[] = {0, 1, 2};
    double objective[] = {1, 2}, cost[] = {1, NAN}, budget[] = {5};
    tn_knapsack choices = {2, 1, first, objective, cost, 0};
    tn_allocation a;
    assert_int_equal(tn_allocate(&choices, budget, 0, &a, &error), TN_INPUT);
    cost[1] = -1;
    assert_int_equal(tn_allocate(&choices, budget, 0, &a, &error), TN_INPUT);
    cost[1] = 1e16;
    assert_int_equal(tn_allocate(&choices, budget, 0, &a, &error), TN_OVERFLOW);
    first[1] = 0;
    assert_int_equal(tn_allocate(&choices, budget, 0, &a, &error), TN_INPUT);
    choices.costs = TN_COSTS_MOST + 1;
    assert_int_equal(tn_allocate(&choices, budget, 0, &a, &error), TN_LIMIT);
}

/* --- the reference allocations --- */

typedef struct {
    table t;
    uint64_t cap[MOST];
} reference;

static void load_table(const char *path, reference *r) {
    static const char *const names[] = {"layer", "cap", "params", "sqerr"};
    tn_arena arena = {0};
    tn_csv csv;
    size_t column[4];
    assert_int_equal(tn_csv_load(path, &arena, &csv, &error), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 4, false, column, &error), TN_OK);
    assert_int_equal(csv.rows, MOST);
    for (size_t i = 0; i < csv.rows; i++) {
        uint64_t layer;
        assert_int_equal(tn_csv_count(&csv, i, column[0], 0, 3, &layer, &error), TN_OK);
        assert_int_equal(tn_csv_count(&csv, i, column[1], 1, 16, &r->cap[i], &error), TN_OK);
        assert_int_equal(tn_csv_real(&csv, i, column[2], 0, INFINITY, &r->t.cost[i], &error), TN_OK);
        assert_int_equal(tn_csv_real(&csv, i, column[3], 0, INFINITY, &r->t.objective[i], &error), TN_OK);
        r->t.first[layer + 1] = i + 1;
    }
    r->t.first[0] = 0;
    r->t.choices = (tn_knapsack){4, 1, r->t.first, r->t.objective, r->t.cost, 0};
    tn_arena_free(&arena);
}

static void reference_allocations(void **state) {
    (void)state;
    static const char *const names[] = {"budget", "method", "caps", "params", "sqerr"};
    reference r;
    tn_arena arena = {0};
    tn_csv csv;
    size_t column[5], checked = 0;
    load_table(test_shared_or_skip("oracles/ttsvd/alloc_table.csv"), &r);
    assert_int_equal(tn_csv_load(test_shared_or_skip("oracles/ttsvd/alloc_oracle.csv"), &arena, &csv, &error),
                     TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 5, true, column, &error),
                     TN_INPUT); /* over_optimum is more */
    assert_int_equal(tn_csv_columns(&csv, names, 5, false, column, &error), TN_OK);
    for (size_t row = 0; row < csv.rows; row++) {
        const char *method = tn_csv_at(&csv, row, column[1])->text;
        double budget, params, squares;
        size_t choice[4];
        bool met = true;
        tn_allocation a = {0};
        assert_int_equal(tn_csv_real(&csv, row, column[0], 0, INFINITY, &budget, &error), TN_OK);
        if (strcmp(method, "optimum") == 0) {
            assert_int_equal(tn_allocate(&r.t.choices, &budget, 0, &a, &error), TN_OK);
            assert_true(a.found && a.exact);
            memcpy(choice, a.choice, sizeof choice);
        } else if (strcmp(method, "greedy") == 0) {
            assert_int_equal(tn_allocate_greedy(&r.t.choices, &budget, choice, &met, &error), TN_OK);
        } else if (strcmp(method, "uniform") == 0) {
            assert_int_equal(tn_allocate_uniform(&r.t.choices, &budget, r.cap, choice, &met, &error), TN_OK);
        } else {
            continue;
        }
        assert_true(met);
        char caps[64];
        snprintf(caps, sizeof caps, "%d %d %d %d", (int)choice[0] + 1, (int)choice[1] + 1, (int)choice[2] + 1,
                 (int)choice[3] + 1);
        assert_string_equal(caps, tn_csv_at(&csv, row, column[2])->text);
        assert_int_equal(tn_csv_real(&csv, row, column[3], 0, INFINITY, &params, &error), TN_OK);
        assert_int_equal(tn_csv_real(&csv, row, column[4], 0, INFINITY, &squares, &error), TN_OK);
        assert_true(sum_of(&r.t, choice, 0) == params);
        assert_true(fabs(sum_of(&r.t, choice, -1) / squares - 1) < 1e-14);
        tn_allocation_free(&a);
        checked++;
    }
    assert_int_equal(checked, 24);
    tn_arena_free(&arena);
}

static void baselines_keep_budgets(void **state) {
    (void)state;
    size_t better = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        table t;
        random_table(seed * 7, LAYERS, 2, true, &t);
        double budget[] = {40, 55}, best = best_of_all(&t, budget);
        size_t choice[LAYERS];
        uint64_t group[MOST];
        bool met;
        for (size_t l = 0; l < LAYERS; l++)
            for (size_t i = t.first[l]; i < t.first[l + 1]; i++) group[i] = i - t.first[l];
        assert_int_equal(tn_allocate_greedy(&t.choices, budget, choice, &met, &error), TN_OK);
        if (met) {
            assert_true(fits(&t, choice, budget) && sum_of(&t, choice, -1) >= best);
            better += sum_of(&t, choice, -1) > best;
        }
        assert_int_equal(tn_allocate_uniform(&t.choices, budget, group, choice, &met, &error), TN_OK);
        if (!met) continue;
        assert_true(fits(&t, choice, budget) && sum_of(&t, choice, -1) >= best);
        for (size_t l = 1; l < LAYERS; l++) assert_int_equal(choice[l], choice[0]);
    }
    assert_true(better > 10); /* the exact way pays */
}

static void every_allocation_of_memory_may_fail_at(double step) {
    table t;
    random_table(3, 4, 2, true, &t);
    t.choices.step = step;
    double budget[] = {40, 55};
    for (long n = 1;; n++) {
        tn_allocation a;
        tn_tradeoff front = {0};
        tn_memory_fail_at(n);
        tn_status status = tn_allocate(&t.choices, budget, 0, &a, &error);
        if (status == TN_OK) status = tn_tradeoff_make(&t.choices, 0, 0, &front, &error);
        long requests = tn_memory_requests();
        tn_memory_fail_at(0);
        tn_allocation_free(&a);
        tn_tradeoff_free(&front);
        assert_int_equal(status, requests < n ? TN_OK : TN_MEMORY);
        if (requests < n) break;
    }
}

static void every_allocation_of_memory_may_fail(void **state) {
    (void)state;
    every_allocation_of_memory_may_fail_at(0);
    every_allocation_of_memory_may_fail_at(1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimum_of_every_small_table),
        cmocka_unit_test(a_thinned_front_states_its_gap),
        cmocka_unit_test(front_of_every_small_table),
        cmocka_unit_test(amounts_are_checked),
        cmocka_unit_test(reference_allocations),
        cmocka_unit_test(baselines_keep_budgets),
        cmocka_unit_test(every_allocation_of_memory_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
