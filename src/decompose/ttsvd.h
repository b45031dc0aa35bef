/* TT-SVD: a tensor as a train of cores, cut bond by bond from the left.
 *
 * At bond k the matrix (rank[k] * mode[k]) x (everything to the right) is cut (decompose/truncated_svd.h); its orthonormal
 * columns are core k, and what is left of it goes on to the next bond. Every cut is an orthogonal projection
 * of what the one before left, so the squared error of the train is exactly the sum of what was cut:
 * `squared_loss`. It is at most (number of cut bonds) times that of the best train of the same ranks.
 * Source: Oseledets, "Tensor-train decomposition", SIAM J. Sci. Comput. 33 (2011), algorithm 1.
 */
#ifndef TN_DECOMPOSE_TTSVD_H
#define TN_DECOMPOSE_TTSVD_H

#include "base/error.h"
#include "base/public.h"
#include "decompose/truncated_svd.h"
#include "tensor/weight.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

enum { TN_TRAIN_MODES = 33 };

typedef struct tn_train {
    size_t cores;
    uint64_t mode[TN_TRAIN_MODES];
    uint64_t rank[TN_TRAIN_MODES + 1]; /* rank[0] = rank[cores] = 1 */
    double *core[TN_TRAIN_MODES];      /* (rank[k], mode[k], rank[k+1]) in C order */
    double squared_norm;               /* of the tensor */
    double squared_loss;               /* of the tensor less the train */
    double squared_excess; /* part of the loss that exact cuts might have saved, a bound; 0 where all were
                              exact */
    bool randomised;       /* some cut was made by the range finder */
} tn_train;

typedef struct tn_train_rule {
    const uint64_t *cap; /* [modes - 1] most rank at each bond; NULL: no cap */
    const double
        *tail; /* [modes - 1] largest norm cut off at each bond, negative: cap alone; NULL: caps alone */
    tn_svd_method method;
    uint64_t seed;
} tn_train_rule;

/* `tensor` holds product(mode) values in C order and is only read. 1 to TN_TRAIN_MODES modes, none zero. */
tn_status tn_train_decompose(const double *tensor, const uint64_t *mode, size_t modes,
                             const tn_train_rule *rule, tn_train *train, tn_error *error);
void tn_train_free(tn_train *train);

/* The tail of each bond that keeps the whole error at most `tolerance` of the norm: tolerance * norm /
 * sqrt(bonds). */
double tn_train_tail(double tolerance, double squared_norm, size_t bonds);

/* *squared_error = |tensor - train|^2 by rebuilding, a block at a time. */
tn_status tn_train_error(const tn_train *train, const double *tensor, double *squared_error, tn_error *error);
/* Cores first..last-1 multiplied together: rank[first] x (their modes) x rank[last], tn_free it. */
tn_status tn_train_merge(const tn_train *train, size_t first, size_t last, double **merged, tn_error *error);

tn_status tn_train_parameters(const tn_train *train, uint64_t *parameters, tn_error *error);

/* Singular values of the unfolding at bond `bond` (1 .. modes-1) of a tensor: the product of the modes before
 * it against the product of those behind. *count = the smaller of both; values[*count], tn_free it. */
tn_status tn_unfolding_values(const double *tensor, const uint64_t *mode, size_t modes, size_t bond,
                              double **values, uint64_t *count, tn_error *error);

TN_PUBLIC_END

/* Folding: a matrix as the tensor that a format decomposes, and trains as the weights they are.
 *
 * The row i of W folds to digits (i1 .. id) over the factors m, the column j to (j1 .. jd) over n, first factor
 * slowest. The folded tensor has its indices in this order:
 *   TT, ring, Tucker   i1 .. id, j1 .. jd     the order of the matrix itself: nothing moves
 *   TTM                (i1 j1), .. (id jd)    each pair one mode of m_k * n_k
 */

/* Modes of the folded tensor; returns how many: d for TTM, 2d for the others. mode has TN_TRAIN_MODES
 * entries. */
size_t tn_fold_modes(const tn_weight *weight, uint64_t *mode);

/* Whether folding moves values. */
bool tn_fold_moves(const tn_weight *weight);

/* Element (i, j) of the matrix lies at row[i] + column[j] of the folded tensor. */
typedef struct tn_places {
    uint64_t rows, columns, *row, *column;
} tn_places;
/* `weight` is checked. */
tn_status tn_places_make(const tn_weight *weight, tn_places *places, tn_error *error);
void tn_places_free(tn_places *places);

/* folded = w folded, both of rows * columns values and not overlapping. `weight` is checked and has that
 * shape. */
tn_status tn_fold(const tn_weight *weight, const double *w, double *folded, tn_error *error);
tn_status tn_unfold(const tn_weight *weight, const double *folded, double *w, tn_error *error);

/* The shape of a train of a TT or TTM weight with its ranks. */
void tn_fold_set_ranks(const tn_train *train, tn_weight *weight);

#endif
