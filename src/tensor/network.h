/* A tensor network: tensors that share indices, and an output. The thing that contraction trees are trees of.
 *
 * Index i has size index_size[i] >= 1. A tensor is an ordered list of distinct indices (none: a scalar). An
 * index may occur on any number of tensors (a hyperedge); one that is not in the output is summed once all
 * tensors that carry it are merged. Every output index occurs on some tensor.
 *
 * Definitions used everywhere:
 *   idx(S)    indices of the tensor that contracting the set S of tensors gives: those on S and (outside S or
 *             output); a single tensor keeps all of its own, also one that nothing else carries;
 *   cost(A,B) product of the sizes of idx(A) | idx(B), in MACs (one multiply-add; 2 FLOPs).
 */
#ifndef TN_TENSOR_NETWORK_H
#define TN_TENSOR_NETWORK_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"

#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* Limits of what tn_network_check accepts. */
enum { TN_TENSORS_MOST = 256, TN_INDICES_MOST = 4096 };

/* Ordered indices of one tensor. */
typedef struct tn_indices {
    uint32_t count;
    uint32_t *index;
} tn_indices;

typedef struct tn_network {
    uint32_t tensors, indices;
    uint64_t *index_size;     /* [indices] */
    const char **index_name;  /* [indices]; NULL or names for people */
    tn_indices *tensor;       /* [tensors] */
    const char **tensor_name; /* [tensors]; NULL or names for people */
    tn_indices output;
} tn_network;

/* Product of the sizes; TN_OVERFLOW past 64 bits. */
tn_status tn_network_elements(const tn_network *network, tn_indices indices, uint64_t *elements,
                              tn_error *error);

/* Elements of all tensors together: what is resident while the network is contracted. */
tn_status tn_network_input_elements(const tn_network *network, uint64_t *elements, tn_error *error);

/* Refuses what breaks the invariant or a limit, naming tensor and index. */
tn_status tn_network_check(const tn_network *network, tn_error *error);

/* The tensor's or index's name, or "T3", "i7" (from 0) written to `text` of 32 bytes where it has none. */
const char *tn_network_tensor_name(const tn_network *network, uint32_t tensor, char *text);
const char *tn_network_index_name(const tn_network *network, uint32_t index, char *text);

TN_PUBLIC_END

#endif
