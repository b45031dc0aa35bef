#include "flow/pricing.h"

#include "base/checked.h"

static tn_status price_tree(const tn_network *network, const tn_tree *tree, const tn_pricing *pricing,
                            tn_arena *scratch, uint64_t *price, tn_error *error) {
    tn_product_shape *shape = NULL;
    *price = 0;
    TN_TRY(tn_tree_shapes(network, tree, scratch, &shape, error));
    for (uint32_t i = 0; i + 1 < tree->tensors; i++)
        if (!tn_add(*price, pricing->price(pricing->user, &shape[i]), price))
            return tn_fail(error, TN_OVERFLOW, "the prices of a tree add up to more than 2^64");
    return TN_OK;
}

tn_status tn_tree_price(const tn_network *network, const tn_tree *tree, const tn_pricing *pricing,
                        uint64_t *price, tn_error *error) {
    tn_arena scratch = {0};
    tn_status status = price_tree(network, tree, pricing, &scratch, price, error);
    tn_arena_free(&scratch);
    return status;
}

tn_status tn_tree_orient(const tn_network *network, tn_tree *tree, const tn_pricing *pricing,
                         tn_arena *scratch, tn_error *error) {
    tn_product_shape *shape = NULL;
    TN_TRY(tn_tree_shapes(network, tree, scratch, &shape, error));
    for (uint32_t i = 0; i + 1 < tree->tensors; i++) {
        tn_product_shape mirror = shape[i];
        mirror.rows = shape[i].columns;
        mirror.columns = shape[i].rows;
        if (pricing->price(pricing->user, &mirror) >= pricing->price(pricing->user, &shape[i])) continue;
        tn_merge merge = tree->merge[i];
        tree->merge[i] = (tn_merge){merge.b, merge.a};
    }
    return TN_OK;
}
