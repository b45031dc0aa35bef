#include "flow/search.h"

#include "base/checked.h"
#include "base/interrupt.h"
#include "flow/cut_bound.h"
#include "flow/relaxation.h"
#include "flow/search_state.h"

#include <inttypes.h>
#include <string.h>

/* A few seconds, and about one. */
static const uint64_t USUAL_WORK = 5000000000, USUAL_BOUND_WORK = 200000000;
static const uint64_t DEFAULT_SEED = 1;
enum { ANYTIME_ROUNDS = 8 };

static const char *const stops[] = {
    [TN_STOP_PROVEN] = "proven: nothing better exists",
    [TN_STOP_WORK] = "the exact search reached its limit of work or memory; the anytime search went on",
    [TN_STOP_TOO_LARGE] = "more tensors or indices than the exact search takes; anytime search, bound from "
                          "cuts and from a part of them",
    [TN_STOP_INTERRUPTED] = "interrupted",
};

const char *tn_stop_text(tn_stop stop) {
    return stops[stop];
}

/* ---- the state ---- */

tn_status tn_search_state_begin(tn_search_state *state, const tn_network *network,
                                const tn_search_options *options, tn_arena *arena, tn_error *error) {
    state->network = network;
    state->options = options ? *options : (tn_search_options){0};
    state->arena = arena;
    state->scratch = (tn_arena){0};
    state->error = error;
    if (!state->options.effort) state->options.effort = 1;
    if (!state->options.work_most)
        state->options.work_most = tn_saturating_mul(USUAL_WORK, state->options.effort);
    if (!state->options.seed) state->options.seed = DEFAULT_SEED;
    TN_TRY(tn_network_check(network, error));
    TN_TRY(tn_network_input_elements(network, &state->inputs, error));
    state->fits = tn_problem_of(network, state->options.no_outer, &state->problem);
    return TN_OK;
}

void tn_search_state_end(tn_search_state *state) {
    tn_arena_free(&state->scratch);
}

tn_stop tn_search_state_stop(const tn_search_state *state) {
    if (tn_interrupted()) return TN_STOP_INTERRUPTED;
    return state->fits ? TN_STOP_WORK : TN_STOP_TOO_LARGE;
}

static tn_status copy_tree(tn_search_state *state, const tn_merge *merge, tn_arena *arena, tn_tree *tree) {
    uint32_t n = state->network->tensors;
    tree->tensors = n;
    TN_TRY(tn_arena_alloc(arena, n, sizeof *tree->merge, &tree->merge, state->error));
    if (merge) memcpy(tree->merge, merge, (n - 1) * sizeof *merge);
    return TN_OK;
}

tn_status tn_search_state_result(tn_search_state *state, const tn_merge *merge, tn_search_result *result) {
    TN_TRY(copy_tree(state, merge, state->arena, &result->tree));
    TN_TRY(tn_tree_reorder(state->network, &result->tree, &state->scratch, state->error));
    TN_TRY(tn_tree_cost_of(state->network, &result->tree, &result->cost, state->error));
    result->found = true;
    return TN_OK;
}

tn_status tn_search_state_single(tn_search_state *state, tn_search_result *result) {
    uint64_t bound = state->options.max_live_elements;
    TN_TRY(tn_search_state_result(state, NULL, result));
    result->exact = true;
    result->found = !bound || result->cost.peak_elements <= bound;
    if (state->options.objective == TN_LEAST_LIVE || !result->found)
        result->lower_bound = result->cost.peak_elements;
    return TN_OK;
}

/* ---- candidates ---- */

static uint64_t excess(const tn_search_state *state, const tn_search_result *result) {
    uint64_t bound = state->options.max_live_elements, peak = result->cost.peak_elements;
    return bound && peak > bound ? peak - bound : 0;
}

static bool better(const tn_search_state *state, const tn_search_result *a, const tn_search_result *b) {
    uint64_t over_a = excess(state, a), over_b = excess(state, b);
    if (over_a != over_b) return over_a < over_b;
    switch (state->options.objective) {
    case TN_LEAST_LIVE:
        if (a->cost.peak_elements != b->cost.peak_elements)
            return a->cost.peak_elements < b->cost.peak_elements;
        break;
    case TN_LEAST_PRICE:
        if (a->price != b->price) return a->price < b->price;
        break;
    case TN_LEAST_MACS:
        break;
    }
    if (a->cost.macs != b->cost.macs) return a->cost.macs < b->cost.macs;
    return a->cost.largest_intermediate < b->cost.largest_intermediate;
}

/* What the offer needs that may pass 64 bits. */
static tn_status judge(tn_search_state *state, tn_search_result *fresh) {
    TN_TRY(tn_tree_reorder(state->network, &fresh->tree, &state->scratch, state->error));
    TN_TRY(tn_tree_cost_of(state->network, &fresh->tree, &fresh->cost, state->error));
    if (state->options.objective != TN_LEAST_PRICE) return TN_OK;
    TN_TRY(tn_search_state_orient(state, &fresh->tree, &state->scratch));
    return tn_tree_price(state->network, &fresh->tree, &state->options.pricing, &fresh->price, state->error);
}

tn_status tn_search_state_offer(tn_search_state *state, const tn_merge *merge, tn_search_result *best) {
    tn_search_result fresh = *best;
    TN_TRY(copy_tree(state, merge, &state->scratch, &fresh.tree));
    tn_status status = judge(state, &fresh);
    if (status == TN_OVERFLOW) return TN_OK;
    TN_TRY(status);
    if (best->found && !better(state, &fresh, best)) return TN_OK;
    fresh.found = true;
    TN_TRY(copy_tree(state, fresh.tree.merge, state->arena, &fresh.tree));
    *best = fresh;
    return TN_OK;
}

typedef struct climb {
    tn_search_state *state;
    tn_search_result *best;
} climb;

static tn_status offer_round(void *user, const tn_tree *tree, tn_error *error) {
    climb *c = user;
    (void)error;
    tn_arena_reset(&c->state->scratch);
    return tn_search_state_offer(c->state, tree->merge, c->best);
}

tn_status tn_search_state_climb(tn_search_state *state, tn_anytime_goal goal, tn_search_result *best) {
    climb c = {state, best};
    uint64_t rounds = (uint64_t)ANYTIME_ROUNDS * state->options.effort;
    tn_anytime_options options = {.goal = goal,
                                  .no_outer = state->options.no_outer,
                                  .pricing = &state->options.pricing,
                                  .seed = state->options.seed,
                                  .rounds = rounds};
    return tn_anytime_search(state->network, &options, offer_round, &c, state->error);
}

/* ---- least MACs ---- */

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

tn_status tn_search(const tn_network *network, const tn_search_options *options, tn_arena *arena,
                    tn_search_result *result, tn_error *error) {
    tn_search_state state;
    *result = (tn_search_result){0};
    tn_status status = tn_search_state_begin(&state, network, options, arena, error);
    if (status == TN_OK && network->tensors == 1)
        status = tn_search_state_single(&state, result);
    else if (status == TN_OK && state.options.objective == TN_LEAST_PRICE)
        status = tn_search_least_price(&state, result);
    else if (status == TN_OK && state.options.objective == TN_LEAST_LIVE)
        status = tn_search_least_live(&state, result);
    else if (status == TN_OK && state.options.max_live_elements)
        status = tn_search_bounded(&state, result);
    else if (status == TN_OK)
        status = tn_search_least_macs(&state, result);
    tn_search_state_end(&state);
    return status;
}
