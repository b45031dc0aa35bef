#include "flow/training_search.h"

/* Merges of cores alone. */
static uint64_t merges_of_cores(const tn_set_tree *tree) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i + 1 < tree->leaves; i++)
        if (!(tree->set[i] & 1)) mask |= UINT64_C(1) << i;
    return mask;
}

static bool are_disjoint(const tn_set_tree *tree, uint64_t merges) {
    uint64_t united = 0;
    for (uint64_t rest = merges; rest; rest &= rest - 1) {
        uint64_t set = tree->set[__builtin_ctzll(rest)];
        if (united & set) return false;
        united |= set;
    }
    return true;
}

static tn_status look_at(tn_training_state *state, uint32_t tree, uint64_t kept, uint64_t shared) {
    tn_training_look_at(state, tree, tree, kept, shared);
    tn_training_candidate found = {.total_macs = state->flow.total_macs,
                                   .saved_elements = state->flow.saved_elements,
                                   .forward = tree,
                                   .backward = tree,
                                   .kept = kept,
                                   .shared = shared};
    uint64_t bound = tn_flow_peak_bound(&state->flow, TN_FORWARD_PART);
    uint64_t backward_bound = tn_flow_peak_bound(&state->flow, TN_BACKWARD_PART);
    if (bound < backward_bound) bound = backward_bound;
    if (tn_training_candidates_cover(&state->front, found.total_macs, found.saved_elements, bound))
        return TN_OK;
    for (int part = 0; part < TN_PARTS; part++) {
        uint64_t peak;
        TN_TRY(tn_training_peak(state, (tn_part)part, &peak));
        if (peak > found.peak_elements) found.peak_elements = peak;
    }
    return tn_training_candidates_add(&state->front, &found, state->error);
}

/* Every subset of what may be kept, but the shared merges themselves, which are. */
static tn_status keep_each(tn_training_state *state, uint32_t tree, uint64_t shared) {
    uint64_t always, choices = tn_training_choices(state, tree, &always) & ~shared, kept = choices;
    for (bool more = true; more; kept = (kept - 1) & choices) {
        TN_TRY(look_at(state, tree, (kept | always) & ~shared, shared));
        more = kept != 0;
    }
    return TN_OK;
}

tn_status tn_training_shared(tn_training_state *state) {
    for (size_t tree = 0; tree < state->trees.count; tree++) {
        const tn_set_tree *sets = &state->trees.item[tree];
        uint64_t choices = merges_of_cores(sets), shared = choices;
        for (bool more = true; more; shared = (shared - 1) & choices) {
            if (are_disjoint(sets, shared)) TN_TRY(keep_each(state, (uint32_t)tree, shared));
            more = shared != 0;
        }
    }
    return TN_OK;
}
