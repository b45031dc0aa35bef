/* The search for least MACs (flow/search.h). */
#include "base/checked.h"
#include "base/interrupt.h"
#include "flow/cut_bound.h"
#include "flow/relaxation.h"
#include "flow/search_state.h"

static const uint64_t USUAL_BOUND_WORK = 200000000; /* about a second */

/* No tree costs less: the last merge spans the output; and each merge consumes at most two of the network's
 * tensors and spans both. */
static uint64_t structural_bound(const tn_search_state *state) {
    const tn_network *network = state->network;
    uint64_t size[TN_TENSORS_MOST], sum = 0, output = UINT64_MAX;
    for (uint32_t t = 0; t < network->tensors; t++) {
        uint64_t elements = 0;
        uint32_t place = t;
        tn_network_elements(network, network->tensor[t], &elements, NULL);
        while (place && size[place - 1] < elements) {
            size[place] = size[place - 1];
            place--;
        }
        size[place] = elements;
    }
    for (uint32_t t = 0; t < network->tensors; t += 2) sum += size[t]; /* all inputs together fit 64 bits */
    tn_network_elements(network, network->output, &output, NULL);
    return output > sum ? output : sum;
}

static tn_status none_found(const tn_search_state *state, bool proven) {
    if (state->options.no_outer && proven)
        return tn_fail(state->error, TN_INPUT,
                       "the network falls into parts that share no index; it needs outer products");
    return tn_fail(state->error, TN_OVERFLOW,
                   "every tree %s takes more than 2^64 MACs or elements; use smaller sizes",
                   proven ? "there is" : "that was found");
}

/* What the exact search of as much of the network as it takes proves; *bound as it is where that is less. */
static tn_status raise_by_relaxation(tn_search_state *state, uint64_t *bound, uint64_t *work) {
    uint64_t most = tn_saturating_mul(USUAL_BOUND_WORK, state->options.effort);
    tn_exact_options options = {.memory = state->options.effort,
                                .work_most =
                                    most < state->options.work_most ? most : state->options.work_most};
    tn_exact_result exact = {0};
    tn_merge merge[TN_PROBLEM_TENSORS];
    tn_arena_reset(&state->scratch);
    TN_TRY(tn_relax(state->network, &state->scratch, &state->problem, state->error));
    if (state->problem.tensors < 2) return TN_OK;
    TN_TRY(tn_exact_search(&state->problem, &options, &state->scratch, merge, &exact, state->error));
    uint64_t proven = exact.complete && exact.found ? exact.cost : exact.level;
    if (proven > *bound) *bound = proven;
    *work += exact.work;
    return TN_OK;
}

static tn_status raise_by_cuts(tn_search_state *state, uint64_t *bound, uint64_t *work) {
    uint64_t most = tn_saturating_mul(USUAL_BOUND_WORK, state->options.effort), proven;
    if (most > state->options.work_most) most = state->options.work_most;
    tn_arena_reset(&state->scratch);
    TN_TRY(tn_cut_bound(state->network, most, &state->scratch, &proven, work, state->error));
    if (proven > *bound) *bound = proven;
    return TN_OK;
}

tn_status tn_search_least_macs(tn_search_state *state, tn_search_result *result) {
    tn_exact_options options = {.no_outer = state->options.no_outer,
                                .work_most = state->options.work_most,
                                .memory = state->options.effort};
    tn_exact_result exact = {0};
    tn_merge merge[TN_PROBLEM_TENSORS];
    if (state->fits)
        TN_TRY(tn_exact_search(&state->problem, &options, &state->scratch, merge, &exact, state->error));
    result->work = exact.work;
    if (exact.complete) {
        if (!exact.found) return none_found(state, true);
        TN_TRY(tn_search_state_result(state, merge, result));
        result->exact = true;
        result->lower_bound = result->cost.macs;
        return TN_OK;
    }
    result->stop = tn_search_state_stop(state);
    if (exact.found) TN_TRY(tn_search_state_offer(state, merge, result));
    TN_TRY(tn_search_state_climb(state, TN_ANYTIME_MACS, result));
    if (!result->found) return none_found(state, false);
    uint64_t floor = structural_bound(state);
    result->lower_bound = exact.level > floor ? exact.level : floor;
    if (!tn_interrupted()) TN_TRY(raise_by_cuts(state, &result->lower_bound, &result->work));
    if (!state->fits && !tn_interrupted())
        TN_TRY(raise_by_relaxation(state, &result->lower_bound, &result->work));
    return TN_OK;
}
