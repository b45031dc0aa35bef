/* The trained matrix of one layer, opened for many decompositions that share their first cut (decompose/middle_cut.h),
 * and the measure in which their errors count: Frobenius, or that of the layer's output where second moments
 * of its input are known (decompose/covariance.h). Not for two threads at once.
 */
#ifndef TN_RANKS_LAYER_WEIGHT_H
#define TN_RANKS_LAYER_WEIGHT_H

#include "base/error.h"
#include "base/public.h"
#include "decompose/covariance.h"
#include "decompose/factored.h"
#include "decompose/middle_cut.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

enum { TN_LAYER_CUTS = 16 };

typedef struct tn_layer_weight {
    uint64_t rows, columns;
    double *w;                /* rows x columns, owned */
    tn_covariance covariance; /* values NULL: none */
    double *moments;          /* its values, owned */
    double *image;            /* w C, owned; NULL without covariance */
    double squared_norm;      /* in the measure that counts: |W|^2 or tr(W C W^T) */
    uint64_t width;           /* most rank asked for at a shared cut */
    tn_svd_method method;
    uint64_t seed;
    size_t cuts;
    tn_middle_cut cut[TN_LAYER_CUTS];
} tn_layer_weight;

/* Takes w and, where covariance is not NULL, its values over, also on failure. `name` is named in errors. */
tn_status tn_layer_weight_open(double *w, uint64_t rows, uint64_t columns, tn_covariance covariance,
                               double *moments, uint64_t width, tn_svd_method method, uint64_t seed,
                               const char *name, tn_layer_weight *layer, tn_error *error);
void tn_layer_weight_close(tn_layer_weight *layer);

/* Decomposes into the format and folding of `weight`; with `capped` its ranks are the most allowed, else
 * tolerance counts as in decompose/factored.h. *met = false (and nothing to free) where the tolerance needs more
 * than `width`. */
tn_status tn_layer_weight_factor(tn_layer_weight *layer, const tn_weight *weight, bool capped,
                                 double tolerance, bool *met, tn_factored *factored, tn_error *error);

/* *squares = the squared error of the factored weight in the measure that counts. */
tn_status tn_layer_weight_error(const tn_layer_weight *layer, const tn_factored *factored, double *squares,
                                tn_error *error);

TN_PUBLIC_END

#endif
