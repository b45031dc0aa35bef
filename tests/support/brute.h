/* Contraction by brute force, written from the definitions and sharing nothing with the library's search:
 * every sequence of pairwise merges is tried, which is every tree in every execution order. For up to 8
 * tensors. */
#ifndef TEST_SUPPORT_BRUTE_H
#define TEST_SUPPORT_BRUTE_H

#include "base/memory.h"
#include "tensor/network.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEST_BRUTE_TENSORS = 8, TEST_BRUTE_FRONT = 256 };

typedef struct test_point {
    uint64_t macs, peak_elements;
} test_point;

typedef struct test_brute {
    uint64_t least_macs, least_peak;
    size_t count;
    test_point front[TEST_BRUTE_FRONT]; /* fewest MACs first */
} test_brute;

/* With `outer` false only tensors that share an index are merged (all least_* UINT64_MAX if none can). */
test_brute test_brute_force(const tn_network *network, bool outer);

/* Least MACs over all trees of up to 12 tensors, by the definition over all splits of all sets; *largest
 * (which may be NULL) is the smallest largest intermediate of the trees that take so few. */
uint64_t test_least_macs(const tn_network *network, bool outer, uint64_t *largest);

/* What a random network is drawn from. */
typedef struct test_random_network {
    uint32_t tensors, most_indices, most_size;
    bool hyperedges; /* an index may be on any number of tensors, or on one that is not the output */
} test_random_network;

/* The same `seed` gives the same network; it may be disconnected, have scalars and sizes of 1. */
tn_network test_network(const test_random_network *kind, uint64_t seed, tn_arena *arena);

/* Network of "ab,bc->ac" with sizes by letter ("a=2,b=3,c=4"); for tests only. */
tn_network test_einsum(const char *expression, const char *sizes, tn_arena *arena);

/* A binary tree, a caterpillar or a random tree, by the seed, some of its tensors with an open index. */
tn_network test_tree(uint32_t tensors, uint64_t seed, tn_arena *arena);

/* Closed: every index joins two random tensors, `edges` of them beside a ring through all. */
tn_network test_closed(uint32_t tensors, uint32_t edges, uint64_t seed, tn_arena *arena);

/* A large tensor and small ones on it, some in chains: where outer products win. Plain and connected. */
tn_network test_star(uint32_t tensors, uint64_t seed, tn_arena *arena);

uint64_t test_random(uint64_t *state);

#endif
