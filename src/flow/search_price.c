/* Searches under foreign prices (flow/search.h). */
#include "base/checked.h"
#include "flow/search_state.h"

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

tn_status tn_search_state_orient(tn_search_state *state, tn_tree *tree, tn_arena *scratch) {
    const tn_pricing *pricing = &state->options.pricing;
    tn_product_shape *shape = NULL;
    TN_TRY(tn_tree_shapes(state->network, tree, scratch, &shape, state->error));
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

/* The exact optimum, offered to *result with its lower bound. */
static tn_status offer_exact(tn_search_state *state, tn_search_result *result) {
    const tn_exact_options options = {.no_outer = state->options.no_outer,
                                      .pricing = &state->options.pricing,
                                      .work_most = state->options.work_most};
    tn_exact_result exact = {0};
    tn_merge merge[TN_PROBLEM_TENSORS];
    if (state->fits)
        TN_TRY(tn_exact_search(&state->problem, &options, &state->scratch, merge, &exact, state->error));
    result->work += exact.work;
    result->exact = exact.complete;
    result->lower_bound = exact.complete && exact.found ? exact.cost : exact.level;
    return exact.found ? tn_search_state_offer(state, merge, result) : TN_OK;
}

tn_status tn_search_least_price(tn_search_state *state, tn_search_result *result) {
    if (!state->options.pricing.price)
        return tn_fail(state->error, TN_INPUT,
                       "a search for the least price needs a price; give pricing.price");
    if (state->options.max_live_elements)
        return tn_fail(state->error, TN_INPUT, "a bound on live elements does not go with prices");
    TN_TRY(offer_exact(state, result));
    result->stop = result->exact ? TN_STOP_PROVEN : tn_search_state_stop(state);
    if (!result->exact) TN_TRY(tn_search_state_climb(state, TN_ANYTIME_PRICE, result));
    if (!result->found)
        return tn_fail(state->error, state->options.no_outer ? TN_INPUT : TN_OVERFLOW,
                       state->options.no_outer
                           ? "the network falls into parts that share no index; it needs outer products"
                           : "every tree that was found costs more than 2^64");
    return TN_OK;
}
