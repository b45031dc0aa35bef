#include "flow/search_state.h"

#include "base/checked.h"
#include "base/interrupt.h"

#include <string.h>

static const uint64_t USUAL_WORK = 5000000000; /* a few seconds */
static const uint64_t DEFAULT_SEED = 1;
enum { ANYTIME_ROUNDS = 8 };

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
    TN_TRY(
        tn_tree_orient(state->network, &fresh->tree, &state->options.pricing, &state->scratch, state->error));
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
