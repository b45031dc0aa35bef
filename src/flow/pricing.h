/* Prices of merges. A device's opinion of a merge comes in as a callback on its product shape (tn_product_shape: MACs =
 * batch * rows * reduction * columns), in any unit. Both orientations of a merge are asked, (a, b) and (b, a) with rows and
 * columns changed places, and the cheaper is kept as the order of the pair in the tree. The callback must give the same price
 * for the same shape. The price of a tree is the sum over its merges.
 */
#ifndef TN_FLOW_PRICING_H
#define TN_FLOW_PRICING_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "flow/tree.h"
#include "tensor/network.h"

#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_pricing {
    uint64_t (*price)(void *user, const tn_product_shape *shape);
    void *user;
} tn_pricing;

/* What the tree costs under the prices of `pricing`, in the orientation of its pairs. */
tn_status tn_tree_price(const tn_network *network, const tn_tree *tree, const tn_pricing *pricing,
                        uint64_t *price, tn_error *error);

TN_PUBLIC_END

/* Turns every merge of the tree so that it is cheapest. */
tn_status tn_tree_orient(const tn_network *network, tn_tree *tree, const tn_pricing *pricing,
                         tn_arena *scratch, tn_error *error);

#endif
