/* A model in which every layer has a weight of its own, so that each may get ranks of its own; and its file.
 *
 * Layers of the given model that name one entry of `weights` share its shape. Here each of them names an
 * entry called after the layer, encoder1-query for encoder1.query; in a repeated block a layer names one per
 * repetition. All else of the file stays as it is. When it is written, entries that came out equal are one
 * again.
 */
#ifndef TN_RANKS_OWN_WEIGHTS_H
#define TN_RANKS_OWN_WEIGHTS_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "decompose/dense.h"
#include "decompose/factored.h"
#include "decompose/middle_cut.h"
#include "model/model.h"
#include "text/yaml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The trained matrix of one layer, opened for many decompositions that share their first cut (decompose/middle_cut.h),
 * and the measure in which their errors count: Frobenius, or that of the layer's output where second moments
 * of its input are known (decompose/dense.h). Not for two threads at once.
 */

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
    uint64_t most_parameters; /* a tolerance whose first cut needs as many is not tried; 0: all are */
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

/* *own = `model` with a weight for each layer, in the same order of layers. Lives in `arena`. */
tn_status tn_own_weights_make(const tn_model *model, tn_arena *arena, tn_model **own, tn_error *error);

/* Appends the model file of `own` with its weights as they stand. A weight of the original that all its
 * layers share still keeps its name. Format, folding, ranks and flow are written; entries are those of the
 * layers. */
tn_status tn_own_weights_write(const tn_model *model, tn_model *own, tn_arena *arena, tn_buffer *out,
                               tn_error *error);

#endif
