/* A weight matrix in one of the tensor formats, its cores, and the networks of its products.
 *
 * W is M x N, M = m[0]*...*m[d-1] outputs, N = n[0]*...*n[d-1] inputs, folded in C order (first factor
 * slowest). Mode k of W is m[k] for k < d, else n[k-d].
 *
 *   TT          2d cores: core k is (rank[k], mode k, rank[k+1]); 2d+1 ranks, rank[0] = rank[2d] = 1
 *   TTM         d cores (rank[k], m[k], n[k], rank[k+1]); d+1 ranks, first and last 1
 *   RING        as TT with rank[0] = rank[2d] >= 1, one closed bond
 *   TUCKER      2d factors (mode k, rank[k]), then the core tensor (rank[0], .., rank[2d-1])
 *   HT          hierarchical Tucker on the binary tree that halves the list of 2d modes (the first half takes
 *               the odd one): 2d leaves (mode k, rank[k]), then the inner nodes, children before parents and
 *               left before right: node j is (rank of left child, of right child, rank[2d+j]), the last one,
 *               the root, (left, right); 4d-2 ranks, one for each edge of the tree
 *   CP          2d factors (mode k, rank[0]) that share one index
 *   BLOCK_TERM  a sum of rank[2d] Tucker terms of ranks rank[0..2d-1]: 2d factors (rank[2d], mode k, rank[k]),
 *               then the core tensors (rank[2d], rank[0], .., rank[2d-1])
 *   DENSE       one tensor (m[0], .., m[d-1], n[0], .., n[d-1]); no ranks
 *
 * Ranks above the useful maximum are legal (training uses them as they are).
 */
#ifndef TN_TENSOR_WEIGHT_H
#define TN_TENSOR_WEIGHT_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "tensor/network.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

enum { TN_FACTORS_MOST = 16, TN_RANKS_MOST = 4 * TN_FACTORS_MOST };

typedef enum tn_format { TN_DENSE, TN_TT, TN_TTM, TN_RING, TN_TUCKER, TN_HT, TN_CP, TN_BLOCK_TERM } tn_format;
enum { TN_FORMATS = TN_BLOCK_TERM + 1 };

typedef struct tn_weight {
    tn_format format;
    uint32_t d;                  /* factors per side */
    uint64_t m[TN_FACTORS_MOST]; /* output modes */
    uint64_t n[TN_FACTORS_MOST]; /* input modes */
    uint32_t rank_count;
    uint64_t rank[TN_RANKS_MOST];
} tn_weight;

/* "dense", "tt", "ttm", "tr", "tucker", "ht", "cp", "bt"; ended by NULL, in the order of tn_format. */
extern const char *const tn_format_names[];
/* The formats that trained weights are decomposed into (decompose/factor.h). */
extern const tn_format tn_formats_from_weights[];
extern const size_t tn_formats_from_weights_count;

/* How many ranks the format has at weight->d. */
uint32_t tn_weight_rank_count(const tn_weight *weight);
/* Another format or folding, of d factors a side. Its ranks are to be set behind it: a block-term weight keeps the number of
 * its terms for that, any other one has 1 of them, whatever bonds it had. */
void tn_weight_reshape(tn_weight *weight, tn_format format, uint32_t d, const uint64_t *m, const uint64_t *n);
/* Fills rank_count and rank from one requested rank (ends 1 where the format asks for it). Block-term: the
 * number of terms in rank[2d] stays if it is not 0, else becomes 1. */
tn_status tn_weight_set_rank(tn_weight *weight, uint64_t rank, tn_error *error);
/* At least 1. */
uint64_t tn_weight_greatest_rank(const tn_weight *weight);
/* Same format, folding and ranks. */
bool tn_weight_equal(const tn_weight *a, const tn_weight *b);
/* Refuses impossible shapes: no factors, a zero, ranks of the wrong number, ends that are not 1; M, N or the
 * tokens x M or N past 64 bits are TN_OVERFLOW where they are first needed. */
tn_status tn_weight_check(const tn_weight *weight, tn_error *error);

tn_status tn_weight_rows(const tn_weight *weight, uint64_t *rows, tn_error *error);       /* M */
tn_status tn_weight_columns(const tn_weight *weight, uint64_t *columns, tn_error *error); /* N */

/* Number of cores and shape of core k: returns its axes, at most TN_RANKS_MOST. */
uint32_t tn_weight_cores(const tn_weight *weight);
uint32_t tn_weight_core_shape(const tn_weight *weight, uint32_t core, uint64_t *shape);
tn_status tn_weight_parameters(const tn_weight *weight, uint64_t *parameters, tn_error *error);

/* Parameters at the useful ranks less the gauge freedom: the dimension of the set of matrices that the format
 * can express, never below 1. Gauge freedom: each bond between two cores may be given any invertible matrix,
 * so the sum of rank^2 over the bonds (block-term: that times the terms; ring: less 1, for a common factor
 * cancels round the ring); CP: each of the rank terms may be scaled in 2d - 1 ways. DENSE: M*N.
 * Source: dimension of the manifold of tensors of fixed TT rank, Holtz, Rohwedder, Schneider 2012; of fixed
 * HT rank, Uschmajew, Vandereycken 2013. */
tn_status tn_weight_degrees_of_freedom(const tn_weight *weight, uint64_t *degrees, tn_error *error);

/* The useful maximum of each rank: the largest ranks, none above the requested one, such that no bond exceeds
 * the product of the other axes of either of its two cores. For TT this is the sweep from both ends. CP's
 * shared index and the number of block terms have no such bound and stay. useful has rank_count entries. */
tn_status tn_weight_useful_ranks(const tn_weight *weight, uint64_t *useful, tn_error *error);
/* Sets the ranks to the useful ones. */
tn_status tn_weight_trim_ranks(tn_weight *weight, tn_error *error);

/* The network of one product with `tokens` rows: forward Y (tokens, m...) from X (tokens, n...) and the
 * cores; input gradient dX from dY and the cores; gradient of core k from X, dY and the other cores. Tensor
 * order: forward: X, core 0, core 1 ..; input gradient: dY, cores; core gradient: X, dY, the other cores in
 * order. X has indices (token, n[0], .., n[d-1]), Y and dY (token, m[0], .., m[d-1]). Index 0 is the token,
 * 1..d the modes n, d+1..2d the modes m, then the bonds. A core's indices follow its shape; the end bonds of
 * size 1 of TT and TTM are no indices. Names: k, n1.., m1.., r1..; X, dY, G1... */
tn_status tn_weight_forward(const tn_weight *weight, uint64_t tokens, tn_arena *arena, tn_network *network,
                            tn_error *error);
tn_status tn_weight_input_gradient(const tn_weight *weight, uint64_t tokens, tn_arena *arena,
                                   tn_network *network, tn_error *error);
tn_status tn_weight_core_gradient(const tn_weight *weight, uint64_t tokens, uint32_t core, tn_arena *arena,
                                  tn_network *network, tn_error *error);
/* The cores alone, with output (m..., n...): W itself. */
tn_status tn_weight_matrix(const tn_weight *weight, tn_arena *arena, tn_network *network, tn_error *error);

TN_PUBLIC_END

/* The axes of a weight's cores as labels: which core shares what with which. Internal to the room.
 *
 * Labels 0..2d-1 are the modes of W (m first), label 2d+j is the bond of rank[j]. The closing bond of a ring
 * has one label, that of rank[0]. */

enum { TN_CORES_MOST = 4 * TN_FACTORS_MOST, TN_LABELS_MOST = 2 * TN_FACTORS_MOST + TN_RANKS_MOST };

typedef struct tn_core_axes {
    uint8_t count, label[2 * TN_FACTORS_MOST + 1];
} tn_core_axes;

typedef struct tn_layout {
    uint32_t cores, labels;
    uint64_t size[TN_LABELS_MOST];
    uint8_t carriers[TN_LABELS_MOST]; /* how many cores have the label */
    tn_core_axes core[TN_CORES_MOST];
} tn_layout;

/* The weight must have passed tn_weight_check. */
void tn_layout_of(const tn_weight *weight, tn_layout *layout);

#endif
