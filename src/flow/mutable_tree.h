/* A contraction tree under change: every node knows its parent, its children, its open indices and its size,
 * so that a rotation is a local operation. Internal to the room. Sizes are doubles, for they only guide; what
 * is reported is counted exactly from the finished tree. */
#ifndef TN_FLOW_MUTABLE_TREE_H
#define TN_FLOW_MUTABLE_TREE_H

#include "base/error.h"
#include "base/memory.h"
#include "flow/tree.h"
#include "tensor/network.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_mutable_tree_node {
    uint32_t parent, child[2];
    uint64_t *open; /* [words] bits of indices */
} tn_mutable_tree_node;

/* Leaves are nodes 0..tensors-1. */
typedef struct tn_mutable_tree {
    const tn_network *network;
    uint32_t words, root;
    tn_mutable_tree_node *node; /* [2 * tensors - 1] */
    uint64_t *output;           /* [words] */
    double *log_size;           /* [64 * words] log2 of the size of each index */
} tn_mutable_tree;

#define TN_MUTABLE_TREE_NONE UINT32_MAX

tn_status tn_mutable_tree_new(const tn_network *network, tn_arena *arena, tn_mutable_tree *sketch,
                              tn_error *error);

/* Elements of what the bits span. */
double tn_mutable_tree_elements(const tn_mutable_tree *sketch, const uint64_t *bits);
/* MACs of making the node from its children. */
double tn_mutable_tree_macs(const tn_mutable_tree *sketch, uint32_t node);
bool tn_mutable_tree_share(const tn_mutable_tree *sketch, const uint64_t *a, const uint64_t *b);

/* Turns ((b c) a) into (b (a c)): node's child `inner_side` is an inner node (b c); its child `kept_side`, b,
 * takes the place beside a new (a c) that keeps the inner node's number. Turning again with the same sides
 * undoes it. */
void tn_mutable_tree_rotate(tn_mutable_tree *sketch, uint32_t node, int inner_side, int kept_side);

/* Sets the tree. Scratch memory comes from the arena. */
tn_status tn_mutable_tree_load(tn_mutable_tree *sketch, const tn_tree *tree, tn_arena *arena,
                               tn_error *error);
/* Writes the tree as merges, children before parents. */
void tn_mutable_tree_store(const tn_mutable_tree *sketch, tn_merge *merge);

/* A tree built greedily: always the pair whose result is smallest beside its operands. Internal to the room.
 */

/* Merges the network of the sketch (whose tree is not looked at) into merge[tensors - 1]. Each pair is scored
 * log2(result) - log2(a + b), in elements, plus `noise` times a random number (Gumbel). Pairs that share no
 * index are merged only where there are no others, and never with `no_outer`: then TN_INPUT. */
tn_status tn_greedy(const tn_mutable_tree *sketch, bool no_outer, double noise, uint64_t *random,
                    tn_arena *arena, tn_merge *merge, tn_error *error);

#endif
