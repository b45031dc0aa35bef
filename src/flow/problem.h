/* A network boiled down for searching: at most 64 tensors as bits of a word, and index groups as bits of a
 * word.
 *
 * Indices of size 1 change no cost and are dropped; indices that the same tensors carry (and that are alike
 * in being in the output or not) always come and go together, so each such group is one index of their
 * product. Counts saturate: UINT64_MAX stands for "past 64 bits", and no such tree is ever the best unless
 * all are.
 */
#ifndef TN_FLOW_PROBLEM_H
#define TN_FLOW_PROBLEM_H

#include "base/error.h"
#include "base/memory.h"
#include "tensor/network.h"

#include <stdbool.h>
#include <stdint.h>

enum { TN_PROBLEM_TENSORS = 64, TN_PROBLEM_GROUPS = 64 };

/* Products of subsets of groups, by slices of the mask. */
enum { TN_SLICE_BITS = 6, TN_SLICES = (TN_PROBLEM_GROUPS + TN_SLICE_BITS - 1) / TN_SLICE_BITS };

typedef struct tn_problem {
    uint32_t tensors, groups, slices;
    uint64_t all;                         /* every tensor */
    uint64_t output;                      /* groups in the output */
    uint64_t tensor[TN_PROBLEM_TENSORS];  /* groups on each tensor */
    uint64_t carriers[TN_PROBLEM_GROUPS]; /* tensors with each group */
    uint64_t size[TN_PROBLEM_GROUPS];
    uint64_t product[TN_SLICES][1 << TN_SLICE_BITS];
} tn_problem;

/* False where the network has more tensors or groups than bits; it must have passed tn_network_check. With
 * `keep_units` indices of size 1 stay, for they decide what shares an index. */
bool tn_problem_of(const tn_network *network, bool keep_units, tn_problem *problem);

/* True if the network is connected and each group is on two tensors, or on one and in the output. */
bool tn_problem_is_plain(const tn_problem *problem);

static inline uint64_t tn_saturating_mul(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline uint64_t tn_saturating_add(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* The set of the set's lowest tensor alone. */
static inline uint64_t tn_lowest(uint64_t set) {
    return set & (~set + 1);
}

/* Product of the sizes of the groups in the mask. Sizes are at least 2 and never 0, so saturation is safe in
 * any order. */
static inline uint64_t tn_problem_product(const tn_problem *problem, uint64_t mask) {
    const uint64_t slice = ((uint64_t)1 << TN_SLICE_BITS) - 1;
    uint64_t product = problem->product[0][mask & slice];
    for (uint32_t s = 1; s < problem->slices; s++) {
        mask >>= TN_SLICE_BITS;
        product = tn_saturating_mul(product, problem->product[s][mask & slice]);
    }
    return product;
}

/* The largest group of the mask alone, the lowest of several; nothing of nothing. */
static inline uint64_t tn_problem_largest(const tn_problem *problem, uint64_t mask) {
    uint64_t largest = tn_lowest(mask);
    for (uint64_t left = mask; left; left &= left - 1)
        if (problem->size[__builtin_ctzll(left)] > problem->size[__builtin_ctzll(largest)])
            largest = tn_lowest(left);
    return largest;
}

/* Groups of `united` that stay open once the set of tensors is merged. */
static inline uint64_t tn_problem_open(const tn_problem *problem, uint64_t united, uint64_t set) {
    uint64_t closable = united & ~problem->output, open = united;
    while (closable) {
        int group = __builtin_ctzll(closable);
        if (!(problem->carriers[group] & ~set)) open ^= (uint64_t)1 << group;
        closable &= closable - 1;
    }
    return open;
}

/* The cost of a tree found without search, to begin a search with. Internal to the room. */

/* MACs of the greedy tree: of the tensors left, always the two that share an index and whose merge adds the
 * fewest elements to those there are. No outer products: UINT64_MAX where they would be needed, or past 64
 * bits. */
uint64_t tn_quick_tree_cost(const tn_problem *problem);

#endif
