/* Searches under foreign prices (flow/search.h). */
#include "base/checked.h"
#include "flow/schedule.h"
#include "flow/search_state.h"

#include <inttypes.h>

/* Networks of so many tensors are searched tree by tree where units are limited. */
enum { EVERY_TREE_TENSORS = 7 };

static bool units_limited(const tn_pricing *pricing, uint32_t tensors) {
    /* Of n tensors at most n/2 merges are ever ready together. */
    return pricing->units > 1 && pricing->units < tensors / 2;
}

static tn_status add_up(const uint64_t *price, uint32_t merges, uint64_t *sum, tn_error *error) {
    *sum = 0;
    for (uint32_t i = 0; i < merges; i++)
        if (!tn_add(*sum, price[i], sum))
            return tn_fail(error, TN_OVERFLOW, "the prices of a tree add up to more than 2^64");
    return TN_OK;
}

static tn_status price_tree(const tn_network *network, const tn_tree *tree, const tn_pricing *pricing,
                            tn_arena *scratch, uint64_t *price, bool *exact, tn_error *error) {
    uint32_t merges = tree->tensors - 1;
    tn_product_shape *shape = NULL;
    uint64_t *each = NULL;
    *exact = true;
    *price = 0;
    TN_TRY(tn_tree_shapes(network, tree, scratch, &shape, error));
    TN_TRY(tn_arena_alloc(scratch, merges, sizeof *each, &each, error));
    for (uint32_t i = 0; i < merges; i++) each[i] = pricing->price(pricing->user, &shape[i]);
    if (pricing->units <= 1) return add_up(each, merges, price, error);
    TN_TRY(tn_schedule_length(tree, each, pricing->units, scratch, price, exact, error));
    if (*price == UINT64_MAX) return tn_fail(error, TN_OVERFLOW, "the price of a tree is over 2^64");
    return TN_OK;
}

tn_status tn_tree_price(const tn_network *network, const tn_tree *tree, const tn_pricing *pricing,
                        uint64_t *price, bool *exact, tn_error *error) {
    tn_arena scratch = {0};
    bool proven;
    tn_status status = price_tree(network, tree, pricing, &scratch, price, exact ? exact : &proven, error);
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

/* The exact optimum for `units` 1 or unlimited, offered to *result; *level is a lower bound. */
static tn_status offer_exact(tn_search_state *state, uint32_t units, tn_search_result *result,
                             uint64_t *level, bool *complete) {
    tn_pricing pricing = state->options.pricing;
    tn_exact_options options = {
        .no_outer = state->options.no_outer, .pricing = &pricing, .work_most = state->options.work_most};
    tn_exact_result exact = {0};
    tn_merge merge[TN_PROBLEM_TENSORS];
    pricing.units = units;
    if (state->fits)
        TN_TRY(tn_exact_search(&state->problem, &options, &state->scratch, merge, &exact, state->error));
    result->work += exact.work;
    *complete = exact.complete;
    *level = exact.complete && exact.found ? exact.cost : exact.level;
    return exact.found ? tn_search_state_offer(state, merge, result) : TN_OK;
}

typedef struct every_tree {
    tn_search_state *state;
    tn_search_result *best;
} every_tree;

static tn_status offer_tree(void *user, const tn_tree *tree, const tn_tree_cost *cost, tn_error *error) {
    every_tree *every = user;
    (void)cost;
    (void)error;
    tn_arena_reset(&every->state->scratch);
    return tn_search_state_offer(every->state, tree->merge, every->best);
}

static tn_status try_every_tree(tn_search_state *state, tn_search_result *result) {
    every_tree every = {state, result};
    return tn_search_every_tree(state->network, &state->options, offer_tree, &every, state->error);
}

/* With limited units no tree beats the longest path with units without end, nor the least sum shared out. */
static tn_status search_limited(tn_search_state *state, tn_search_result *result) {
    uint64_t path = 0, sum = 0;
    bool path_complete, sum_complete;
    uint32_t units = state->options.pricing.units, n = state->network->tensors;
    TN_TRY(offer_exact(state, TN_UNITS_UNLIMITED, result, &path, &path_complete));
    TN_TRY(offer_exact(state, 1, result, &sum, &sum_complete));
    uint64_t shared = tn_ceil_div(sum, units);
    result->lower_bound = path > shared ? path : shared;
    result->exact = result->found && result->price == result->lower_bound;
    if (!result->exact && n <= EVERY_TREE_TENSORS) {
        TN_TRY(try_every_tree(state, result));
        result->exact = result->found;
        if (result->exact) result->lower_bound = result->price;
    }
    result->stop = result->exact ? TN_STOP_PROVEN : TN_STOP_UNITS;
    return TN_OK;
}

tn_status tn_search_least_price(tn_search_state *state, tn_search_result *result) {
    const tn_pricing *pricing = &state->options.pricing;
    if (!pricing->price)
        return tn_fail(state->error, TN_INPUT,
                       "a search for the least price needs a price; give pricing.price");
    if (state->options.max_live_elements)
        return tn_fail(state->error, TN_INPUT, "a bound on live elements does not go with prices");
    if (units_limited(pricing, state->network->tensors)) {
        TN_TRY(search_limited(state, result));
    } else {
        TN_TRY(offer_exact(state, pricing->units > 1 ? TN_UNITS_UNLIMITED : 1, result, &result->lower_bound,
                           &result->exact));
        result->stop = result->exact ? TN_STOP_PROVEN : tn_search_state_stop(state);
    }
    if (!result->exact) TN_TRY(tn_search_state_climb(state, TN_ANYTIME_PRICE, result));
    if (!result->found)
        return tn_fail(state->error, state->options.no_outer ? TN_INPUT : TN_OVERFLOW,
                       state->options.no_outer
                           ? "the network falls into parts that share no index; it needs outer products"
                           : "every tree that was found costs more than 2^64");
    return TN_OK;
}
