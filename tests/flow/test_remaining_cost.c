/* What the rest of a tree costs, bounded from below: every subtree of every tree of small networks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow/bounds.h"
#include "flow/problem.h"
#include "flow/search.h"
#include "support/brute.h"

typedef struct walk {
    const tn_problem *problem;
    tn_remaining_cost remaining;
    uint64_t checked, tight; /* subtrees, and those whose bound is what the rest costs */
} walk;

typedef struct part {
    uint64_t set, open, size, charged, macs;
} part;

static tn_status check_tree(void *user, const tn_tree *tree, const tn_tree_cost *cost, tn_error *error) {
    walk *w = user;
    part node[16] = {{0}};
    uint32_t n = tree->tensors;
    (void)error;
    for (uint32_t v = 0; v < 2 * n - 1; v++) {
        part *own = &node[v];
        if (v < n) {
            *own = (part){.set = (uint64_t)1 << v, .open = w->problem->tensor[v]};
            own->size = tn_problem_product(w->problem, own->open);
            own->charged = w->remaining.charged >> v & 1 ? own->size : 0;
        } else {
            const part *a = &node[tree->merge[v - n].a], *b = &node[tree->merge[v - n].b];
            own->set = a->set | b->set;
            own->open = tn_problem_open(w->problem, a->open | b->open, own->set);
            own->size = tn_problem_product(w->problem, own->open);
            own->charged = a->charged + b->charged;
            own->macs = a->macs + b->macs + tn_problem_product(w->problem, a->open | b->open);
        }
        uint64_t rest = tn_remaining_cost_beside(&w->remaining, own->set, own->open, own->size, own->charged);
        assert_true(own->macs + rest <= cost->macs);
        w->checked++;
        w->tight += own->macs + rest == cost->macs && own->set != w->problem->all;
    }
    return TN_OK;
}

static void no_rest_of_a_tree_costs_less(void **state) {
    (void)state;
    const test_random_network kind = {.tensors = 5, .most_indices = 7, .most_size = 4, .hyperedges = true};
    uint64_t checked = 0, tight = 0, quick = 0;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        tn_arena arena = {0};
        tn_problem problem;
        tn_network network = seed % 3 == 0   ? test_network(&kind, seed, &arena)
                             : seed % 3 == 1 ? test_star(3 + (uint32_t)(seed % 4), seed, &arena)
                                             : test_tree(3 + (uint32_t)(seed % 4), seed, &arena);
        assert_true(tn_problem_of(&network, seed % 2, &problem));
        walk w = {.problem = &problem};
        tn_remaining_cost_of(&problem, &w.remaining);
        assert_int_equal(tn_search_every_tree(&network, NULL, check_tree, &w, NULL), TN_OK);
        checked += w.checked;
        tight += w.tight;

        uint64_t least = test_least_macs(&network, false, NULL), found = tn_quick_tree_cost(&problem);
        assert_true(found >= least || seed % 2 == 0); /* units dropped may part the network */
        quick += found == least;
        tn_arena_free(&arena);
    }
    assert_true(checked > 100000 && tight > 1000);
    assert_true(quick > 300);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rest_of_a_tree_costs_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
