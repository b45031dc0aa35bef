/* Searches in which peak live elements count (flow/search.h). */
#include "base/checked.h"
#include "flow/last_merge_bound.h"
#include "flow/search_state.h"

#include <stdlib.h>

/* One run of the exact search; what it found is in *live. */
static tn_status run(tn_search_state *state, tn_live_goal goal, uint64_t peak_most, uint64_t peak_floor,
                     tn_live_result *live) {
    tn_live_options options = {.goal = goal,
                               .no_outer = state->options.no_outer,
                               .peak_most = peak_most,
                               .peak_floor = peak_floor,
                               .work_most = state->options.work_most};
    *live = (tn_live_result){0};
    if (!state->fits) return TN_OK;
    return tn_exact_live_search(&state->problem, &options, &state->scratch, live, state->error);
}

/* No tree needs less above what is resident. */
static uint64_t floor_of(tn_search_state *state, uint64_t *work) {
    uint64_t output = 0;
    if (state->fits) return tn_last_merge_bound(&state->problem, work);
    tn_network_elements(state->network, state->network->output, &output, NULL);
    return output;
}

/* Peak of a tree above what is resident. */
static uint64_t above_inputs(const tn_search_state *state, const tn_search_result *result) {
    return result->cost.peak_elements - state->inputs;
}

/* The search for the least peak gave up: *result is the known tree or a better one. */
static tn_status climb_to_peak(tn_search_state *state, uint64_t floor, tn_search_result *result) {
    result->exact = false;
    result->stop = tn_search_state_stop(state);
    result->lower_bound = tn_saturating_add(state->inputs, floor);
    TN_TRY(tn_search_state_climb(state, TN_ANYTIME_ELEMENTS, result));
    if (result->cost.peak_elements > result->lower_bound) return TN_OK;
    result->exact = true;
    result->stop = TN_STOP_PROVEN;
    return TN_OK;
}

/* The least peak, from a first tree (of least MACs): *result is that tree or a better one. */
static tn_status lower_peak(tn_search_state *state, tn_search_result *result) {
    tn_live_result live = {0}, cheap;
    uint64_t known = above_inputs(state, result), floor = floor_of(state, &result->work);
    bool least_macs = result->exact;
    if (known > floor) {
        TN_TRY(run(state, TN_LIVE_LEAST_PEAK, known, floor, &live));
        result->work += live.work;
        if (!live.complete) return climb_to_peak(state, live.level > floor ? live.level : floor, result);
    }
    /* Of the trees of that peak the cheapest, unless that takes too much work. */
    uint64_t least = live.count ? live.point[0].peak : known;
    if (known > least || !least_macs) {
        TN_TRY(run(state, TN_LIVE_LEAST_MACS, least, 0, &cheap));
        result->work += cheap.work;
        if (cheap.count) live = cheap;
        if (live.count) TN_TRY(tn_search_state_result(state, live.point[0].merge, result));
    }
    result->exact = true;
    result->stop = TN_STOP_PROVEN;
    result->lower_bound = result->cost.peak_elements;
    return TN_OK;
}

static void drop_if_over(tn_search_state *state, tn_search_result *result) {
    uint64_t bound = state->options.max_live_elements;
    if (bound && result->cost.peak_elements > bound) {
        result->found = false;
        result->exact = result->lower_bound > bound;
    }
}

tn_status tn_search_least_live(tn_search_state *state, tn_search_result *result) {
    TN_TRY(tn_search_least_macs(state, result));
    TN_TRY(lower_peak(state, result));
    drop_if_over(state, result);
    return TN_OK;
}

/* Nothing fits the bound, as far as is known: says what would. */
static tn_status report_none(tn_search_state *state, tn_search_result *result) {
    TN_TRY(lower_peak(state, result));
    drop_if_over(state, result);
    return TN_OK;
}

tn_status tn_search_bounded(tn_search_state *state, tn_search_result *result) {
    uint64_t bound = state->options.max_live_elements;
    tn_live_result live;
    TN_TRY(tn_search_least_macs(state, result));
    if (result->cost.peak_elements <= bound) return TN_OK;
    if (bound < state->inputs) {
        result->found = false;
        result->exact = true;
        result->stop = TN_STOP_PROVEN;
        result->lower_bound = tn_saturating_add(state->inputs, floor_of(state, &result->work));
        return TN_OK;
    }
    TN_TRY(run(state, TN_LIVE_LEAST_MACS, bound - state->inputs, 0, &live));
    result->work += live.work;
    if (live.count) {
        TN_TRY(tn_search_state_result(state, live.point[0].merge, result));
        result->exact = true;
        result->stop = TN_STOP_PROVEN;
        result->lower_bound = result->cost.macs;
        return TN_OK;
    }
    if (live.complete) return report_none(state, result);
    result->exact = false;
    result->stop = tn_search_state_stop(state);
    if (live.level > result->lower_bound) result->lower_bound = live.level;
    TN_TRY(tn_search_state_climb(state, TN_ANYTIME_ELEMENTS, result));
    if (result->cost.peak_elements > bound) {
        result->found = false;
        result->lower_bound = tn_saturating_add(state->inputs, floor_of(state, &result->work));
    }
    return TN_OK;
}

/* ---- the front ---- */

static int by_macs(const void *a, const void *b) {
    const tn_tree_cost *p = &((const tn_search_result *)a)->cost, *q = &((const tn_search_result *)b)->cost;
    if (p->macs != q->macs) return p->macs < q->macs ? -1 : 1;
    return (p->peak_elements > q->peak_elements) - (p->peak_elements < q->peak_elements);
}

/* Sorts, and keeps what nothing dominates and the bound allows. */
static void sift(const tn_search_state *state, tn_tree_front *front) {
    uint64_t least = state->options.max_live_elements ? state->options.max_live_elements : UINT64_MAX - 1;
    size_t kept = 0;
    qsort(front->item, front->count, sizeof *front->item, by_macs);
    for (size_t i = 0; i < front->count; i++) {
        if (front->item[i].cost.peak_elements > least) continue;
        least = front->item[i].cost.peak_elements - 1;
        front->item[kept++] = front->item[i];
    }
    front->count = kept;
}

static tn_status collect(tn_search_state *state, const tn_search_result *cheapest,
                         const tn_search_result *leanest, const tn_live_result *live, tn_tree_front *front) {
    TN_TRY(tn_arena_alloc(state->arena, live->count + 2, sizeof *front->item, &front->item, state->error));
    front->item[front->count++] = *cheapest;
    front->item[front->count++] = *leanest;
    for (size_t i = 0; i < live->count; i++) {
        tn_search_result *item = &front->item[front->count++];
        TN_TRY(tn_search_state_result(state, live->point[i].merge, item));
    }
    sift(state, front);
    for (size_t i = 0; i < front->count; i++) {
        front->item[i].exact = front->exact;
        front->item[i].stop = front->stop;
        front->item[i].lower_bound = front->exact ? front->item[i].cost.macs : cheapest->lower_bound;
    }
    return TN_OK;
}

static tn_status find_front(tn_search_state *state, tn_tree_front *front) {
    uint64_t bound = state->options.max_live_elements;
    tn_search_result cheapest = {0}, leanest;
    tn_live_result live = {0};
    if (state->network->tensors == 1) {
        TN_TRY(tn_search_state_single(state, &cheapest));
        front->exact = true;
        return collect(state, &cheapest, &cheapest, &live, front);
    }
    TN_TRY(tn_search_least_macs(state, &cheapest));
    leanest = cheapest;
    state->options.objective = TN_LEAST_LIVE;
    TN_TRY(lower_peak(state, &leanest));
    front->exact = cheapest.exact && leanest.exact;
    front->stop = leanest.stop;
    uint64_t most = above_inputs(state, &cheapest);
    if (bound && bound < cheapest.cost.peak_elements)
        most = bound > state->inputs ? bound - state->inputs : 0;
    /* Where the cheapest tree is the leanest too it is the whole front. */
    if (front->exact && cheapest.cost.peak_elements > leanest.cost.peak_elements) {
        TN_TRY(run(state, TN_LIVE_FRONT, most, above_inputs(state, &leanest), &live));
        front->exact = live.complete;
        front->stop = live.complete ? TN_STOP_PROVEN : tn_search_state_stop(state);
    }
    return collect(state, &cheapest, &leanest, &live, front);
}

tn_status tn_search_front(const tn_network *network, const tn_search_options *options, tn_arena *arena,
                          tn_tree_front *front, tn_error *error) {
    tn_search_state state;
    *front = (tn_tree_front){0};
    tn_status status = tn_search_state_begin(&state, network, options, arena, error);
    if (status == TN_OK) status = find_front(&state, front);
    tn_search_state_end(&state);
    return status;
}
