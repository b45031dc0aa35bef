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

#endif
