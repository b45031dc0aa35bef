/* A contraction tree with its execution order: n-1 merges over n tensors in SSA numbering (inputs 0..n-1 in
 * the network's order, merge i makes tensor n+i). Trees are costed from the merges, never from a formula of a
 * format. */
#ifndef TN_FLOW_TREE_H
#define TN_FLOW_TREE_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "tensor/network.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_merge {
    uint32_t a, b;
} tn_merge;

typedef struct tn_tree {
    uint32_t tensors; /* leaves; merges = tensors - 1 */
    tn_merge *merge;
} tn_tree;

/* A merge as a matrix product: MACs = batch * rows * reduction * columns. `batch`: indices on both operands
 * and the result; `rows`: on a and the result; `columns`: on b and the result; `reduction`: summed. */
typedef struct tn_product_shape {
    uint64_t batch, rows, reduction, columns;
} tn_product_shape;

/* Units: macs in multiply-adds, the rest in elements.
 * peak_elements: all inputs resident + live intermediates (operands of the running merge included) + the
 * tensor being made, at the worst merge, in the tree's own execution order. */
typedef struct tn_tree_cost {
    uint64_t macs, peak_elements, largest_intermediate;
} tn_tree_cost;

/* Refuses a path that is not a tree over the network's tensors. */
tn_status tn_tree_check(const tn_network *network, const tn_tree *tree, tn_error *error);

/* Cost in the order given. TN_OVERFLOW names the merge. A network of one tensor has no merge, no MACs and no
 * intermediate; largest_intermediate counts the result too. */
tn_status tn_tree_cost_of(const tn_network *network, const tn_tree *tree, tn_tree_cost *cost,
                          tn_error *error);

/* The indices of every tensor of the tree, [2 * tensors - 1], inputs first. */
tn_status tn_tree_tensors(const tn_network *network, const tn_tree *tree, tn_arena *arena,
                          tn_indices **tensor, tn_error *error);

/* Elements of each merge's result and MACs of each merge, [tensors - 1] each, in the tree's order. */
tn_status tn_tree_merges(const tn_network *network, const tn_tree *tree, tn_arena *arena, uint64_t **elements,
                         uint64_t **macs, tn_error *error);

/* The product shape of each merge, [tensors - 1]. */
tn_status tn_tree_shapes(const tn_network *network, const tn_tree *tree, tn_arena *arena,
                         tn_product_shape **shape, tn_error *error);

/* Reorders the merges so that peak_elements is least over all topological orders (exact; flow/profile.h
 * says how). */
tn_status tn_tree_reorder(const tn_network *network, tn_tree *tree, tn_arena *arena, tn_error *error);

/* True if both merge the same sets (mirror images and execution order apart). */
bool tn_tree_equal(const tn_tree *a, const tn_tree *b);

/* One line: ((X G5) G4); and for people: an indented drawing with size and MACs at each merge. A tree that is
 * not one or a count past 64 bits fails the buffer. */
void tn_tree_expression(const tn_network *network, const tn_tree *tree, tn_buffer *out);
void tn_tree_draw(const tn_network *network, const tn_tree *tree, tn_buffer *out);

TN_PUBLIC_END

#endif
