/* Second moments of a layer's input, C = E[x x^T]: N x N, symmetric, positive semidefinite; or its diagonal
 * alone.
 *
 * They turn the error of a weight into the error of what the layer puts out: with D = W - V,
 *     E |D x|^2 = tr(D C D^T)
 * which is the activation-aware squared error; relative to E |W x|^2 = tr(W C W^T).
 */
#ifndef TN_DECOMPOSE_COVARIANCE_H
#define TN_DECOMPOSE_COVARIANCE_H

#include "base/error.h"
#include "base/public.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_covariance {
    uint64_t inputs; /* N */
    bool diagonal;   /* values[N], else values[N * N] */
    const double *values;
} tn_covariance;

/* Refuses what is not finite, not symmetric (beyond 1e-6 of the largest entry) or has a negative diagonal
 * entry; `name` is named in the message. */
tn_status tn_covariance_check(const tn_covariance *covariance, const char *name, tn_error *error);

/* product = a C for a of rows x N. */
void tn_covariance_apply(const tn_covariance *covariance, uint64_t rows, const double *a, double *product);

/* *squares = tr(a C a^T), never below 0. */
tn_status tn_covariance_squares(const tn_covariance *covariance, uint64_t rows, const double *a,
                                double *squares, tn_error *error);

/* The leading directions of what the layer puts out: eigenvectors of a C a^T (rows x rows), u rows x rows
 * with the leading first, value[rows] their square roots, falling. TN_INPUT where it has an eigenvalue below
 * -1e-6 of the largest: C is not a matrix of second moments. */
tn_status tn_covariance_directions(const tn_covariance *covariance, uint64_t rows, const double *a, double *u,
                                   double *value, tn_error *error);

TN_PUBLIC_END

#endif
