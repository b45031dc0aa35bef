#include "flow/problem.h"

#include <math.h>
#include <string.h>

/* Tensors that carry each index. */
static void count_carriers(const tn_network *network, uint64_t *carriers) {
    for (uint32_t t = 0; t < network->tensors; t++)
        for (uint32_t i = 0; i < network->tensor[t].count; i++)
            carriers[network->tensor[t].index[i]] |= (uint64_t)1 << t;
}

static bool add_index(tn_problem *problem, uint64_t carriers, bool in_output, uint64_t size) {
    uint32_t group = 0;
    while (group < problem->groups &&
           (problem->carriers[group] != carriers || (problem->output >> group & 1) != in_output))
        group++;
    if (group == TN_PROBLEM_GROUPS) return false;
    if (group == problem->groups) {
        problem->groups++;
        problem->carriers[group] = carriers;
        problem->size[group] = 1;
        problem->output |= (uint64_t)in_output << group;
    }
    problem->size[group] = tn_saturating_mul(problem->size[group], size);
    return true;
}

static void fill_products(tn_problem *problem) {
    problem->slices = problem->groups ? (problem->groups + TN_SLICE_BITS - 1) / TN_SLICE_BITS : 1;
    for (uint32_t s = 0; s < problem->slices; s++) {
        uint64_t *product = problem->product[s];
        product[0] = 1;
        for (uint32_t bit = 0; bit < TN_SLICE_BITS; bit++) {
            uint32_t group = s * TN_SLICE_BITS + bit, half = (uint32_t)1 << bit;
            uint64_t size = group < problem->groups ? problem->size[group] : 1;
            for (uint32_t low = 0; low < half; low++)
                product[half + low] = tn_saturating_mul(product[low], size);
        }
    }
}

bool tn_problem_of(const tn_network *network, bool keep_units, tn_problem *problem) {
    uint64_t carriers[TN_INDICES_MOST];
    bool in_output[TN_INDICES_MOST];
    uint32_t n = network->tensors;
    if (n > TN_PROBLEM_TENSORS) return false;
    memset(carriers, 0, network->indices * sizeof *carriers);
    memset(in_output, 0, network->indices * sizeof *in_output);
    count_carriers(network, carriers);
    for (uint32_t i = 0; i < network->output.count; i++) in_output[network->output.index[i]] = true;

    problem->tensors = n;
    problem->groups = 0;
    problem->output = 0;
    problem->all = n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
    for (uint32_t i = 0; i < network->indices; i++)
        if ((network->index_size[i] > 1 || keep_units) && carriers[i] &&
            !add_index(problem, carriers[i], in_output[i], network->index_size[i]))
            return false;
    for (uint32_t t = 0; t < n; t++) {
        problem->tensor[t] = 0;
        for (uint32_t group = 0; group < problem->groups; group++)
            problem->tensor[t] |= (problem->carriers[group] >> t & 1) << group;
    }
    fill_products(problem);
    return true;
}

static bool is_connected(const tn_problem *problem) {
    uint64_t reached = 1, open = problem->tensor[0], before;
    do {
        before = reached;
        for (uint32_t t = 0; t < problem->tensors; t++)
            if (problem->tensor[t] & open) {
                reached |= (uint64_t)1 << t;
                open |= problem->tensor[t];
            }
    } while (reached != before);
    return reached == problem->all;
}

bool tn_problem_is_plain(const tn_problem *problem) {
    for (uint32_t group = 0; group < problem->groups; group++) {
        bool in_output = problem->output >> group & 1;
        if (__builtin_popcountll(problem->carriers[group]) != (in_output ? 1 : 2)) return false;
    }
    return is_connected(problem);
}

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
