/* Columns of finished sets leave out none that may be merged: random sets and queries, against each set by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow/neighbours.h"
#include "support/brute.h"

enum { GROUPS = 24 };

/* Groups of sizes 2 to 9; of each, list [group][0] and [group][1] lie behind tensors 2 group and 2 group + 1. */
static void draw_groups(tn_problem *problem, uint64_t *random) {
    *problem = (tn_problem){.tensors = 2 * GROUPS, .groups = GROUPS};
    for (uint32_t group = 0; group < GROUPS; group++) {
        problem->carriers[group] = (uint64_t)3 << 2 * group;
        problem->size[group] = 2 + test_random(random) % 8;
    }
}

static uint64_t product_of(const tn_problem *problem, uint64_t groups) {
    uint64_t product = 1;
    for (; groups; groups &= groups - 1) product *= problem->size[__builtin_ctzll(groups)];
    return product;
}

/* A set with group 0 open and up to six others. */
static tn_neighbour draw_set(const tn_problem *problem, uint64_t key, uint64_t *random) {
    tn_neighbour item = {.set = 1, .open = 1, .key = key, .beyond = test_random(random) % 1000};
    for (uint64_t i = test_random(random) % 7; i; i--) {
        item.open |= (uint64_t)1 << test_random(random) % GROUPS;
        item.set |= (uint64_t)1 << (2 + test_random(random) % (2 * GROUPS - 2));
    }
    item.size = product_of(problem, item.open);
    return item;
}

/* What the query asks of a set, by definition. */
static bool wanted(const tn_problem *problem, const tn_neighbour_query *query, uint64_t open,
                   const tn_neighbour *item) {
    uint64_t merge = product_of(problem, open | item->open);
    return !(item->set & query->set) && !(item->open & query->before) && item->key <= query->key &&
           item->beyond + merge <= query->most;
}

static tn_neighbour_query draw_query(const tn_problem *problem, uint64_t *open, uint64_t *random) {
    const tn_neighbour own = draw_set(problem, 0, random);
    const uint64_t before = own.open & test_random(random) & test_random(random) & ~(uint64_t)1;
    tn_neighbour_query query = {.set = own.set & ~(uint64_t)1,
                                .before = before,
                                .after = own.open & ~before & ~(uint64_t)1,
                                .key = test_random(random) % 3000,
                                .most = 500 + test_random(random) % 5000};
    uint64_t left = query.after, factor = own.size / problem->size[0];
    for (uint32_t k = 0; k < TN_NEIGHBOUR_FACTORS; k++) {
        query.factor[k] = factor;
        const uint64_t largest = tn_problem_largest(problem, left);
        factor /= product_of(problem, largest);
        left &= ~largest;
    }
    *open = own.open;
    return query;
}

/* Sets among the first `filled` that are wanted, and candidates; each of the former must be one of the latter. */
static void compare(const tn_problem *problem, const tn_neighbour_list *list, uint64_t *random,
                    uint64_t *sets, uint64_t *candidates) {
    uint64_t open;
    const tn_neighbour_query query = draw_query(problem, &open, random);
    for (uint32_t first = 0; first < list->filled; first += TN_NEIGHBOUR_PAGE) {
        const tn_neighbour_page *page = list->page[first / TN_NEIGHBOUR_PAGE];
        const tn_neighbour_column column = tn_neighbour_candidates(page, &query);
        for (uint32_t i = 0; i < TN_NEIGHBOUR_PAGE; i++) {
            const bool candidate = column.word[i / 64] >> i % 64 & 1;
            assert_true(!candidate || first + i < list->filled);
            if (first + i >= list->filled) continue;
            const bool want = wanted(problem, &query, open, &list->item[first + i]);
            assert_true(candidate || !want);
            *sets += want;
            *candidates += candidate;
        }
    }
}

static void no_set_that_may_be_merged_is_left_out(void **state) {
    (void)state;
    uint64_t sets = 0, candidates = 0, compared = 0, random = 1;
    for (uint32_t round = 0; round < 6; round++) {
        tn_arena arena = {0};
        tn_neighbours *neighbours = NULL;
        tn_problem problem;
        assert_int_equal(TN_NEW(&arena, 1, &neighbours, NULL), TN_OK);
        draw_groups(&problem, &random);
        for (int again = 0; again < 2; again++) {
            tn_neighbour_list *list = &neighbours->list[0][0];
            tn_neighbours_clear(neighbours);
            for (uint32_t i = 0; i < 700 + 150 * round; i++) {
                tn_neighbour item = draw_set(&problem, 2 * i, &random);
                assert_int_equal(tn_neighbours_add(neighbours, &problem, item, 1, &arena, NULL), TN_OK);
                if (i % 37) continue;
                assert_int_equal(tn_neighbours_fill(list, test_random(&random) % 3000, &arena, NULL), TN_OK);
                for (uint32_t q = 0; q < 50; q++, compared += list->filled)
                    compare(&problem, list, &random, &sets, &candidates);
            }
            assert_int_equal(tn_neighbours_fill(list, UINT64_MAX, &arena, NULL), TN_OK);
            assert_true(list->filled + 16 > list->count);
        }
        tn_arena_free(&arena);
    }
    assert_true(sets > 100000 && candidates < 2 * sets && 2 * candidates < compared);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_set_that_may_be_merged_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
