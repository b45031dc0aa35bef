/* A look-up in a table that is kept as tensor cores, and its gradient, as products.
 *
 * The table is a weight W of M rows (words) x N columns (features); a token fetches row i = (i_1, .., i_d),
 * the digits of its word in the mixed radix m. Each core that carries a factor m_k is cut at i_k. So the rows
 * of all tokens are one network: the cores, each m_k replaced by the token index, with output (token, n...).
 * It is the network of the input gradient (tensor/weight.h) for dY = one-hot rows, with the products by ones
 * and zeros left out.
 *
 * The gradients follow in reverse mode on the same tree: each merge a b -> c gives da = dc b and db = a dc,
 * at the merge's own cost each, so a look-up with all gradients costs 3 x the look-up. The gradient of a cut
 * core is added to the core's gradient at the token's slice as it is made. Cut cores are read in place, not
 * copied. Tokens that repeat a word are computed again: counts do not depend on data.
 */
#ifndef TN_MODEL_LOOKUP_H
#define TN_MODEL_LOOKUP_H

#include "base/arena.h"
#include "base/error.h"
#include "flow/program.h"
#include "tensor/network.h"
#include "tensor/weight.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_lookup_step {
    uint32_t a, b, out; /* tensors */
    bool backward;
    tn_product_shape shape;
} tn_lookup_step;

/* Tensors: the cut cores 0..cores-1, then each merge's result in order, the last one Y; then, for the
 * backward part, dY and the gradient of every tensor but Y as steps make them. */
typedef struct tn_lookup {
    tn_network network; /* forward: cut cores to Y */
    uint32_t cores, tensors, steps;
    uint32_t y, dy;
    tn_indices *tensor;   /* [tensors] indices */
    uint64_t *elements;   /* [tensors] */
    uint32_t *core_of;    /* [tensors] of gradients of cut cores: the core; else UINT32_MAX */
    tn_lookup_step *step; /* forward ones first */
} tn_lookup;

/* flow: TN_FLOW_RIGHT_TO_LEFT (cores from the last to the first) or TN_FLOW_OPTIMAL (least MACs over all
 * trees); others are TN_INPUT, as is a dense weight. */
tn_status tn_lookup_of(const tn_weight *weight, uint64_t tokens, tn_flow_name flow, tn_arena *arena,
                       tn_lookup *lookup, tn_error *error);

#endif
