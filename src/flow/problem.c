#include "flow/problem.h"

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
