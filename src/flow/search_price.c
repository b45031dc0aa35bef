/* The search for the least price (flow/search.h). */
#include "flow/search_state.h"

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
