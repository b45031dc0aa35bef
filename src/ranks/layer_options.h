/* Candidates: for every layer of a model that has a weight of its own kind, what each folding and rank would
 * leave of the trained matrix.
 *
 * Foldings are the layer's own and, where asked for, the most balanced one of other depths and any that fits
 * its size. Ranks are caps (one number for all bonds; candidates that would only repeat the useful ranks of a
 * smaller cap are left out) and tolerances (each bond gets the rank it needs).
 */
#ifndef TN_RANKS_LAYER_OPTIONS_H
#define TN_RANKS_LAYER_OPTIONS_H

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "model/model.h"
#include "ranks/checkpoint.h"
#include "ranks/own_weights.h"
#include "text/arrays.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

enum { TN_FOLDINGS_MOST = 16 };

/* What to try. */
typedef struct tn_layer_option_rule {
    size_t caps, tolerances, depths, foldings, formats;
    const uint64_t *cap;
    const double *tolerance;
    const uint64_t *depth;
    const tn_weight *folding; /* m and n alone count; tried where they fit a layer's size */
    const tn_format *format;  /* of all candidates; none: the layer's own */
    bool own_ranks;           /* the model's own folding at the model's own ranks is a candidate too */
    bool dense;               /* the matrix as it is, without error, is a candidate too, */
    double layer_error;       /* most relative error of a layer; 0: any */
    size_t kept;              /* layers that stay dense, */
    const char *const *keep;  /* by patterns of their names (fnmatch) */
    double most_parameters; /* of all layers here together, known before they are decomposed; 0: any number */
    bool low_rank;          /* and two plain factors: a train of one factor a side; not of tables */
    tn_svd_method method;
    uint64_t seed;
} tn_layer_option_rule;

/* Where the trained weights are. */
typedef struct tn_trained {
    tn_arrays *weights;
    const char *weights_path;
    tn_checkpoint checkpoint;
    tn_arrays *moments; /* second moments of inputs by layer name, or one array for all; NULL: none */
    const char *moments_path;
} tn_trained;

typedef struct tn_layer_option {
    tn_weight weight; /* with the ranks reached */
    uint64_t cap;     /* requested, or the greatest rank that a tolerance led to; 0: dense, which has none */
    double tolerance; /* negative: by cap */
    uint32_t folding; /* 0: the model's own */
    uint64_t parameters;
    double squared_error; /* in the layer's measure */
    bool usable;          /* false: the tolerance was out of reach */
} tn_layer_option;

typedef struct tn_layer_options {
    size_t layer; /* position in the model */
    const char *name;
    uint64_t rows, columns;
    double squared_norm; /* of the matrix, in its measure */
    double excess;       /* bound on how much of a squared error exact cuts might have saved */
    bool randomised;
    bool
        stays; /* with measured accuracies: nothing was measured of it, it keeps the model's folding and ranks */
    size_t foldings;
    tn_weight folding[TN_FOLDINGS_MOST];
    size_t count;
    tn_layer_option *item;
} tn_layer_options;

/* One entry for each layer of `model` whose weight names an entry of `weights`, in order; layers side by side
 * on the threads of OpenMP. Lives in `arena`. TN_INTERRUPTED where asked to stop. */
tn_status tn_layer_options_find(const tn_model *model, const tn_trained *trained,
                                const tn_layer_option_rule *rule, const tn_progress *progress,
                                tn_arena *arena, tn_layer_options **candidates, size_t *count,
                                tn_error *error);

/* The cores of one candidate, decomposed as in the search: the same cores, bit by bit. */
tn_status tn_layer_option_factor(const tn_trained *trained, const tn_layer_option_rule *rule,
                                 const tn_layer_options *options, const tn_layer_option *candidate,
                                 tn_factored *factored, tn_error *error);

/* Singular values of the unfoldings of a layer's matrix at the bonds of a candidate's folding;
 * value[b][count[b]], each tn_free'd by the caller; bonds = modes - 1. TT and TTM. */
tn_status tn_layer_option_spectrum(const tn_trained *trained, const tn_layer_options *options,
                                   const tn_weight *folding, double **value, uint64_t *count, size_t *bonds,
                                   tn_error *error);

TN_PUBLIC_END

#endif
