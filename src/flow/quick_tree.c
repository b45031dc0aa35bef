#include "flow/quick_tree.h"

#include <math.h>

typedef struct greedy {
    const tn_problem *problem;
    uint64_t left; /* the tensors that are left; a result takes the place of its second operand */
    uint64_t set[TN_PROBLEM_TENSORS], open[TN_PROBLEM_TENSORS], size[TN_PROBLEM_TENSORS];
    /* The best partner of each among those before it, and how many elements their merge adds. */
    uint32_t partner[TN_PROBLEM_TENSORS];
    double added[TN_PROBLEM_TENSORS];
} greedy;

static void try_partner(greedy *g, uint32_t a, uint32_t b) {
    if (!(g->open[a] & g->open[b])) return;
    uint64_t open = tn_problem_open(g->problem, g->open[a] | g->open[b], g->set[a] | g->set[b]);
    double made = (double)tn_problem_product(g->problem, open);
    double added = made - (double)g->size[a] - (double)g->size[b];
    if (added >= g->added[a]) return;
    g->added[a] = added;
    g->partner[a] = b;
}

static void find_partner(greedy *g, uint32_t a) {
    g->added[a] = INFINITY;
    for (uint64_t before = g->left & (((uint64_t)1 << a) - 1); before; before &= before - 1)
        try_partner(g, a, (uint32_t)__builtin_ctzll(before));
}

/* The tensor whose merge with its partner adds least. */
static uint32_t best_of(const greedy *g) {
    uint32_t best = (uint32_t)__builtin_ctzll(g->left);
    for (uint64_t left = g->left; left; left &= left - 1) {
        uint32_t a = (uint32_t)__builtin_ctzll(left);
        if (g->added[a] < g->added[best]) best = a;
    }
    return best;
}

/* Merges `a` into b, which comes before it. */
static void merge(greedy *g, uint32_t a, uint32_t b) {
    g->left ^= (uint64_t)1 << a;
    g->set[b] |= g->set[a];
    g->open[b] = tn_problem_open(g->problem, g->open[a] | g->open[b], g->set[b]);
    g->size[b] = tn_problem_product(g->problem, g->open[b]);
    for (uint64_t left = g->left >> b << b; left; left &= left - 1) {
        uint32_t t = (uint32_t)__builtin_ctzll(left);
        if (t == b || (g->added[t] < INFINITY && (g->partner[t] == a || g->partner[t] == b)))
            find_partner(g, t);
        else
            try_partner(g, t, b);
    }
}

uint64_t tn_quick_tree_cost(const tn_problem *problem) {
    greedy g = {.problem = problem, .left = problem->all};
    uint64_t cost = 0;
    for (uint32_t t = 0; t < problem->tensors; t++) {
        g.set[t] = (uint64_t)1 << t;
        g.open[t] = problem->tensor[t];
        g.size[t] = tn_problem_product(problem, g.open[t]);
        find_partner(&g, t);
    }
    for (uint32_t merges = problem->tensors - 1; merges; merges--) {
        uint32_t a = best_of(&g);
        if (isinf(g.added[a])) return UINT64_MAX;
        uint32_t b = g.partner[a];
        cost = tn_saturating_add(cost, tn_problem_product(problem, g.open[a] | g.open[b]));
        merge(&g, a, b);
    }
    return cost;
}
