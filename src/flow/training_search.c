#include "flow/training_search.h"

/* How far a search goes that can't be exact: the more tensors, the longer each tree takes. */
typedef struct reach {
    uint32_t tensors; /* up to so many */
    size_t trees;     /* looked at; a quarter of them with micro-batches */
    int choices;      /* merges of a tree that may be kept or not; the largest */
    size_t entries;   /* sets of done steps that ordering keeps per layer */
} reach;
static const reach reaches[] = {{9, 96, 8, 256}, {13, 32, 7, 64}, {TN_TRAINING_MOST, 12, 6, 32}};

static const reach *reach_of(uint32_t tensors) {
    const reach *found = reaches;
    while (found->tensors < tensors) found++;
    return found;
}

void tn_training_look_at(tn_training_state *state, uint32_t forward, uint32_t backward, uint64_t kept,
                         uint64_t shared) {
    const tn_training_plan plan = {
        &state->closed, &state->trees.item[forward], &state->trees.item[backward], kept, shared, NULL, 0};
    tn_training_plan_write(&plan, &state->flow);
}

void tn_training_look_at_candidate(tn_training_state *state, const tn_training_candidate *candidate) {
    const tn_set_tree *trees = state->trees.item;
    const tn_training_plan plan = {.closed = &state->closed,
                                   .forward = &trees[candidate->forward],
                                   .backward = candidate->pair ? NULL : &trees[candidate->backward],
                                   .kept = candidate->kept,
                                   .shared = candidate->shared,
                                   .pair = candidate->pair,
                                   .pairs = candidate->pairs};
    tn_training_plan_write(&plan, &state->flow);
}

tn_status tn_training_peak(tn_training_state *state, tn_part part, uint64_t *peak) {
    uint32_t order[5 * TN_TRAINING_MOST], count;
    bool exact;
    TN_TRY(tn_flow_order_part(&state->flow, part, &state->orderer, state->entries_most, order, &count, peak,
                              &exact, state->error));
    state->exact &= exact;
    return TN_OK;
}

uint64_t tn_training_choices(tn_training_state *state, uint32_t tree, uint64_t *always) {
    const tn_set_tree *sets = &state->trees.item[tree];
    uint64_t all = (UINT64_C(1) << (sets->leaves - 2)) - 1, chosen = 0;
    int most_choices = reach_of(sets->leaves)->choices;
    *always = 0;
    if ((int)sets->leaves - 2 <= most_choices) return all;
    for (int i = 0; i < most_choices; i++) {
        uint32_t largest = 0;
        uint64_t most = 0;
        for (uint64_t rest = all & ~chosen; rest; rest &= rest - 1) {
            uint32_t merge = (uint32_t)__builtin_ctzll(rest);
            uint64_t elements = tn_closed_elements(&state->closed, sets->set[merge]);
            if (elements <= most) continue;
            most = elements;
            largest = merge;
        }
        chosen |= UINT64_C(1) << largest;
    }
    *always = all & ~chosen;
    state->exact = false;
    return chosen;
}

tn_status tn_training_find_trees(tn_training_state *state, const tn_network *network,
                                 const tn_training_options *options) {
    const reach *far = reach_of(network->tensors);
    size_t trees = state->closed.micro_batches > 1 ? far->trees / 4 : far->trees;
    state->exact = network->tensors <= TN_TRAINING_EXACT;
    state->entries_most = state->exact ? TN_TRAINING_ENTRIES : far->entries;
    if (state->exact) return tn_set_trees_all(network, &state->trees, state->error);
    return tn_set_trees_near(network, &state->closed, options, trees, &state->trees, &state->forward_bound,
                             state->error);
}
