/* Layers of a model file that stand for several: a mixture of experts (`moe`) and a selective state space (`mamba`). Each is
 * written out as a list of entries, one behind the other, of which the last gives what the composite gives; so a linear layer
 * of an expert is a linear layer like any other, with a weight format of its own, and is counted, priced and trained as one.
 * They take `entry`, what enters the composite. Layers that only composites have (kinds `route`, `dispatch`, `combine`,
 * `causal-conv`, `scan`) cannot be named in a file.
 *
 * A mixture of experts (Shazeer et al. 2017; Fedus et al. 2022): router, a linear layer of one output an expert; route, which
 * keeps of each token the `top` greatest; and for each expert E its rows ("expertE-in"), two or three matrices with an
 * activation, and their sum by gates into the tokens ("expertE-out").
 *
 * A selective state space (Gu, Dao, Mamba, 2023, section 3.4): two projections in, a causal convolution of each feature, the
 * step's size and what is written and read as functions of the token, the scan, a gate, and a projection out. */
#ifndef TN_MODEL_COMPOSITE_H
#define TN_MODEL_COMPOSITE_H

#include "model/layer_kind.h"

#include <stddef.h>

typedef enum tn_inner_kind {
    TN_INNER_ROUTE,
    TN_INNER_DISPATCH,
    TN_INNER_COMBINE,
    TN_INNER_CAUSAL_CONV,
    TN_INNER_SCAN,
    TN_INNER_KINDS
} tn_inner_kind;
extern const tn_layer_kind tn_inner_kinds[TN_INNER_KINDS];

extern const char *const tn_expert_activation_names[]; /* kinds of layers; ended by NULL */

/* Entries that the composite stands for; `input` is what enters it. Refuses more chosen experts than there are, and lists of
 * weights that are neither one for all experts nor one for each. */
tn_status tn_moe_expand(const tn_layer_entry *entry, const tn_layer *input, tn_arena *arena,
                        tn_layer_entry **entries, size_t *count, tn_error *error);
tn_status tn_mamba_expand(const tn_layer_entry *entry, const tn_layer *input, tn_arena *arena,
                          tn_layer_entry **entries, size_t *count, tn_error *error);

#endif
