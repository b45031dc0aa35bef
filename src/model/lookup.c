#include "model/lookup.h"

#include "base/checked.h"
#include "flow/search.h"
#include "flow/tree.h"

#include <inttypes.h>

enum { NONE = UINT32_MAX, TOKEN = 0 };

static bool holds(tn_indices set, uint32_t index) {
    for (uint32_t i = 0; i < set.count; i++)
        if (set.index[i] == index) return true;
    return false;
}

/* The input gradient's network without dY, and the token in place of each m (indices d+1..2d). */
static tn_status cut_network(const tn_weight *weight, uint64_t tokens, tn_arena *arena, tn_network *network,
                             tn_error *error) {
    uint32_t d = weight->d;
    TN_TRY(tn_weight_input_gradient(weight, tokens, arena, network, error));
    network->tensors--;
    network->tensor++;
    network->tensor_name++;
    for (uint32_t k = 0; k < network->tensors; k++)
        for (uint32_t i = 0; i < network->tensor[k].count; i++) {
            uint32_t *index = &network->tensor[k].index[i];
            if (*index > d && *index <= 2 * d) *index = TOKEN;
        }
    /* The indices m are gone; the bonds behind them move up. */
    for (uint32_t index = 2 * d + 1; index < network->indices; index++) {
        network->index_size[index - d] = network->index_size[index];
        network->index_name[index - d] = network->index_name[index];
    }
    for (uint32_t k = 0; k < network->tensors; k++)
        for (uint32_t i = 0; i < network->tensor[k].count; i++)
            if (network->tensor[k].index[i] > 2 * d) network->tensor[k].index[i] -= d;
    network->indices -= d;
    return TN_OK;
}

static tn_status right_to_left(const tn_network *network, tn_arena *arena, tn_tree *tree, tn_error *error) {
    uint32_t n = network->tensors, last = n - 1;
    tree->tensors = n;
    TN_TRY(tn_arena_alloc(arena, n, sizeof *tree->merge, &tree->merge, error));
    for (uint32_t i = 0; i + 1 < n; i++) {
        tree->merge[i] = (tn_merge){n - 2 - i, last};
        last = n + i;
    }
    return TN_OK;
}

static tn_status find_tree(const tn_network *network, tn_flow_name flow, tn_arena *arena, tn_tree *tree,
                           tn_error *error) {
    if (flow == TN_FLOW_RIGHT_TO_LEFT) return right_to_left(network, arena, tree, error);
    if (flow != TN_FLOW_OPTIMAL)
        return tn_fail(error, TN_INPUT, "a look-up in cores has no flow %s; choose right-to-left or optimal",
                       tn_flow_names[flow]);
    tn_search_result best;
    TN_TRY(tn_search(network, NULL, arena, &best, error));
    *tree = best.tree;
    return TN_OK;
}

/* Batch, rows, reduction and columns of a b -> out. */
static tn_status shape_of(const tn_lookup *lookup, uint32_t a, uint32_t b, uint32_t out,
                          tn_product_shape *shape, tn_error *error) {
    const tn_network *network = &lookup->network;
    *shape = (tn_product_shape){1, 1, 1, 1};
    for (uint32_t i = 0; i < network->indices; i++) {
        bool in_a = holds(lookup->tensor[a], i), in_b = holds(lookup->tensor[b], i);
        if (!in_a && !in_b) continue;
        uint64_t *side = !holds(lookup->tensor[out], i) ? &shape->reduction
                         : in_a && in_b                 ? &shape->batch
                         : in_a                         ? &shape->rows
                                                        : &shape->columns;
        if (!tn_mul(*side, network->index_size[i], side))
            return tn_fail(error, TN_OVERFLOW,
                           "a product of a look-up is larger than 2^64; use smaller sizes");
    }
    return TN_OK;
}

static tn_status add_step(tn_lookup *lookup, uint32_t a, uint32_t b, uint32_t out, bool backward,
                          tn_error *error) {
    tn_lookup_step *step = &lookup->step[lookup->steps++];
    *step = (tn_lookup_step){.a = a, .b = b, .out = out, .backward = backward};
    return shape_of(lookup, a, b, out, &step->shape, error);
}

static tn_status add_forward(tn_lookup *lookup, const tn_tree *tree, tn_arena *arena, tn_error *error) {
    tn_indices *made;
    TN_TRY(tn_tree_tensors(&lookup->network, tree, arena, &made, error));
    for (uint32_t i = 0; i < 2 * tree->tensors - 1; i++) lookup->tensor[lookup->tensors++] = made[i];
    for (uint32_t i = 0; i + 1 < tree->tensors; i++)
        TN_TRY(add_step(lookup, tree->merge[i].a, tree->merge[i].b, tree->tensors + i, false, error));
    lookup->y = lookup->tensors - 1;
    return TN_OK;
}

/* The gradient of forward tensor `of` from that of the merge's result and the other operand. */
static tn_status add_gradient(tn_lookup *lookup, uint32_t of, uint32_t other, uint32_t *gradient,
                              uint32_t merged, tn_error *error) {
    uint32_t made = lookup->tensors++;
    lookup->tensor[made] = lookup->tensor[of];
    if (of < lookup->cores) lookup->core_of[made] = of;
    gradient[of] = made;
    return add_step(lookup, gradient[merged], other, made, true, error);
}

static tn_status add_backward(tn_lookup *lookup, const tn_tree *tree, tn_arena *arena, tn_error *error) {
    uint32_t *gradient;
    TN_TRY(tn_arena_alloc(arena, lookup->tensors, sizeof *gradient, &gradient, error));
    lookup->dy = lookup->tensors++;
    lookup->tensor[lookup->dy] = lookup->tensor[lookup->y];
    gradient[lookup->y] = lookup->dy;
    for (uint32_t i = tree->tensors - 1; i-- > 0;) {
        const tn_merge merge = tree->merge[i];
        TN_TRY(add_gradient(lookup, merge.a, merge.b, gradient, tree->tensors + i, error));
        TN_TRY(add_gradient(lookup, merge.b, merge.a, gradient, tree->tensors + i, error));
    }
    return TN_OK;
}

tn_status tn_lookup_of(const tn_weight *weight, uint64_t tokens, tn_flow_name flow, tn_arena *arena,
                       tn_lookup *lookup, tn_error *error) {
    tn_tree tree;
    *lookup = (tn_lookup){0};
    if (weight->format == TN_DENSE)
        return tn_fail(error, TN_INPUT, "a dense table is looked up without products");
    TN_TRY(cut_network(weight, tokens, arena, &lookup->network, error));
    uint32_t n = lookup->network.tensors, most = 4 * n;
    lookup->cores = n;
    TN_TRY(find_tree(&lookup->network, flow, arena, &tree, error));
    TN_TRY(tn_arena_alloc(arena, most, sizeof *lookup->tensor, &lookup->tensor, error));
    TN_TRY(tn_arena_alloc(arena, most, sizeof *lookup->elements, &lookup->elements, error));
    TN_TRY(tn_arena_alloc(arena, most, sizeof *lookup->core_of, &lookup->core_of, error));
    TN_TRY(tn_arena_alloc(arena, most, sizeof *lookup->step, &lookup->step, error));
    for (uint32_t i = 0; i < most; i++) lookup->core_of[i] = NONE;
    TN_TRY(add_forward(lookup, &tree, arena, error));
    TN_TRY(add_backward(lookup, &tree, arena, error));
    for (uint32_t i = 0; i < lookup->tensors; i++)
        TN_TRY(tn_network_elements(&lookup->network, lookup->tensor[i], &lookup->elements[i], error));
    return TN_OK;
}
