/* A weight matrix in one of the tensor formats, its cores, and the networks of its products.
 *
 * W is M x N, M = m[0]*...*m[d-1] outputs, N = n[0]*...*n[d-1] inputs, folded in C order (first factor
 * slowest). TT      2d cores: cores 0..d-1 carry m, cores d..2d-1 carry n; core k is (rank[k], mode k,
 * rank[k+1]); rank has 2d+1 entries, rank[0] = rank[2d] = 1 TTM     d cores (rank[k], m[k], n[k], rank[k+1]);
 * rank has d+1 entries, first and last 1 RING    like TT with rank[0] = rank[2d] >= 1, a closed bond TUCKER
 * core tensor (rank[0] .. rank[2d-1]) and 2d factors (mode k, rank[k]) HT      hierarchical Tucker on the
 * balanced binary tree over the 2d modes; one rank per tree edge CP      2d factors (mode k, rank[0]) that
 * share one index BLOCK_TERM  a sum of rank[2d] Tucker terms of ranks rank[0..2d-1] DENSE   one tensor M x N;
 * d = 1 Ranks above the useful maximum are legal (training uses them as they are).
 */
#ifndef TN_TENSOR_WEIGHT_H
#define TN_TENSOR_WEIGHT_H

#include "base/arena.h"
#include "base/error.h"
#include "tensor/network.h"

#include <stdint.h>

enum { TN_FACTORS_MOST = 16, TN_RANKS_MOST = 4 * TN_FACTORS_MOST };

typedef enum tn_format { TN_DENSE, TN_TT, TN_TTM, TN_RING, TN_TUCKER, TN_HT, TN_CP, TN_BLOCK_TERM } tn_format;

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

/* Fills rank_count and rank from one requested rank (ends 1 where the format asks for it). */
tn_status tn_weight_set_rank(tn_weight *weight, uint64_t rank, tn_error *error);
/* Refuses impossible shapes: no factors, a zero, ranks of the wrong number, ends that are not 1. */
tn_status tn_weight_check(const tn_weight *weight, tn_error *error);

tn_status tn_weight_rows(const tn_weight *weight, uint64_t *rows, tn_error *error);       /* M */
tn_status tn_weight_columns(const tn_weight *weight, uint64_t *columns, tn_error *error); /* N */

/* Number of cores and shape of core k: at most TN_RANKS_MOST axes. */
uint32_t tn_weight_cores(const tn_weight *weight);
uint32_t tn_weight_core_shape(const tn_weight *weight, uint32_t core, uint64_t *shape);
tn_status tn_weight_parameters(const tn_weight *weight, uint64_t *parameters, tn_error *error);

/* Parameters less the gauge freedom: TT, TTM, ring: sum over bonds of rank^2 (one bond less the end ones of
 * size 1); Tucker: sum of rank^2 over its factor bonds; dense, CP (rank * (modes - 1)): as documented in
 * weight.c. The measure of what a model can express; never below 1. */
tn_status tn_weight_degrees_of_freedom(const tn_weight *weight, uint64_t *degrees, tn_error *error);

/* The useful maximum of each rank: the least of the requested one and what the modes on either side allow,
 * swept from both ends. TT, TTM. Other formats: the requested ranks. useful has rank_count entries. */
tn_status tn_weight_useful_ranks(const tn_weight *weight, uint64_t *useful, tn_error *error);

/* The network of one product with `tokens` rows: forward Y (tokens, m...) from X (tokens, n...) and the
 * cores; input gradient dX from dY and the cores; gradient of core k from X, dY and the other cores. Tensor
 * order: forward: X, core 0, core 1 ..; input gradient: dY, cores; core gradient: X, dY, the other cores in
 * order. X has indices (token, n[0], .., n[d-1]), Y and dY (token, m[0], .., m[d-1]). */
tn_status tn_weight_forward(const tn_weight *weight, uint64_t tokens, tn_arena *arena, tn_network *network,
                            tn_error *error);
tn_status tn_weight_input_gradient(const tn_weight *weight, uint64_t tokens, tn_arena *arena,
                                   tn_network *network, tn_error *error);
tn_status tn_weight_core_gradient(const tn_weight *weight, uint64_t tokens, uint32_t core, tn_arena *arena,
                                  tn_network *network, tn_error *error);

#endif
