#include "flow/remaining_cost.h"

/* Some other tensor has all groups of `t`; of several that have the same, the first is charged. */
static bool lies_in_another(const tn_remaining_cost *remaining, uint32_t t) {
    const tn_problem *problem = remaining->problem;
    uint64_t own = problem->tensor[t] & ~remaining->units;
    for (uint32_t other = 0; other < problem->tensors; other++) {
        uint64_t theirs = problem->tensor[other] & ~remaining->units;
        if (other != t && !(own & ~theirs) && (own != theirs || other < t)) return true;
    }
    return false;
}

void tn_remaining_cost_of(const tn_problem *problem, tn_remaining_cost *remaining) {
    *remaining = (tn_remaining_cost){.problem = problem};
    for (uint32_t group = 0; group < problem->groups; group++)
        remaining->units |= (uint64_t)(problem->size[group] == 1) << group;
    for (uint32_t t = 0; t < problem->tensors; t++) {
        remaining->size[t] = tn_problem_product(problem, problem->tensor[t]);
        if (problem->tensors == 1 || lies_in_another(remaining, t)) continue;
        remaining->charged |= (uint64_t)1 << t;
        remaining->total = tn_saturating_add(remaining->total, remaining->size[t]);
    }
}

/* What consuming the result adds to the charges of the tensors outside: all its elements beside another
 * result or a tensor that neither holds it nor lies in it; else what the two do not pay together. */
static uint64_t least_to_consume(const tn_remaining_cost *remaining, uint64_t set, uint64_t open,
                                 uint64_t size) {
    const tn_problem *problem = remaining->problem;
    uint64_t least = size, own = open & ~remaining->units;
    for (uint64_t left = remaining->charged & ~set; left; left &= left - 1) {
        int t = __builtin_ctzll(left);
        uint64_t theirs = problem->tensor[t] & ~remaining->units;
        if (!(own & ~theirs)) return 0;
        if (!(theirs & ~own) && size - remaining->size[t] < least) least = size - remaining->size[t];
    }
    return least;
}

uint64_t tn_remaining_cost_beside(const tn_remaining_cost *remaining, uint64_t set, uint64_t open,
                                  uint64_t size, uint64_t charged) {
    if (set == remaining->problem->all) return 0;
    uint64_t outside = remaining->total - charged;
    return tn_saturating_add(outside, least_to_consume(remaining, set, open, size));
}
