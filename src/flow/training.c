#include "flow/training.h"

#include "base/memory.h"
#include "flow/training_bound.h"
#include "flow/training_search.h"

#include <string.h>

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

static tn_status find_trees(tn_training_state *state, const tn_network *network,
                            const tn_training_options *options) {
    const reach *far = reach_of(network->tensors);
    size_t trees = state->closed.micro_batches > 1 ? far->trees / 4 : far->trees;
    state->exact = network->tensors <= TN_TRAINING_EXACT;
    state->entries_most = state->exact ? TN_TRAINING_ENTRIES : far->entries;
    if (state->exact) return tn_set_trees_all(network, &state->trees, state->error);
    return tn_set_trees_near(network, &state->closed, options, trees, &state->trees, &state->forward_bound,
                             state->error);
}

static tn_status copy_tree(const tn_set_tree *sets, tn_arena *arena, tn_tree *tree, tn_error *error) {
    tree->tensors = sets->leaves;
    TN_TRY(tn_arena_alloc(arena, sets->leaves, sizeof *tree->merge, &tree->merge, error));
    for (uint32_t i = 0; i + 1 < sets->leaves; i++) tree->merge[i] = (tn_merge){sets->a[i], sets->b[i]};
    return TN_OK;
}

static tn_status write_item(tn_training_state *state, const tn_network *network,
                            const tn_training_candidate *found, tn_arena *arena, tn_training_flow *flow) {
    bool exact;
    tn_training_look_at_candidate(state, found);
    flow->kept = found->kept;
    flow->shared = found->shared;
    TN_TRY(copy_tree(&state->trees.item[found->forward], arena, &flow->forward, state->error));
    if (!found->pair)
        TN_TRY(copy_tree(&state->trees.item[found->backward], arena, &flow->backward, state->error));
    TN_TRY(tn_flow_program(&state->flow, network, &state->orderer, state->entries_most, arena, &flow->program,
                           &exact, state->error));
    return tn_training_cost_of(&flow->program, &flow->cost, state->error);
}

static tn_status write_front(tn_training_state *state, const tn_network *network, tn_arena *arena,
                             tn_training_front *front) {
    const tn_training_candidates *found = &state->front;
    tn_training_candidates_sort(&state->front);
    front->count = 0;
    front->exact = state->exact;
    TN_TRY(tn_arena_alloc(arena, found->count, sizeof *front->item, &front->item, state->error));
    for (size_t i = 0; i < found->count; i++)
        TN_TRY(write_item(state, network, &found->item[i], arena, &front->item[front->count++]));
    TN_TRY(tn_training_bound(&state->closed, front->item[0].cost.total_macs, &front->lower_bound_macs,
                             state->error));
    if (front->lower_bound_macs < state->forward_bound) front->lower_bound_macs = state->forward_bound;
    return TN_OK;
}

static tn_status search(tn_training_state *state, const tn_network *network,
                        const tn_training_options *options, tn_arena *arena, tn_training_front *front) {
    TN_TRY(tn_network_check(network, state->error));
    TN_TRY(tn_closed_of(network, options, &state->closed, state->error));
    TN_TRY(find_trees(state, network, options));
    if (state->closed.micro_batches > 1) {
        TN_TRY(tn_training_shared(state));
    } else {
        TN_TRY(tn_training_pairs(state));
        bool any = state->exact && !(options && options->one_backward_tree);
        if (any) TN_TRY(tn_training_several(state, &front->exact_any_trees));
    }
    return write_front(state, network, arena, front);
}

tn_status tn_training_search(const tn_network *network, const tn_training_options *options, tn_arena *arena,
                             tn_training_front *front, tn_error *error) {
    tn_training_state state = {.error = error};
    *front = (tn_training_front){0};
    tn_status status = search(&state, network, options, arena, front);
    tn_set_trees_free(&state.trees);
    tn_training_candidates_free(&state.front);
    tn_free(state.values);
    tn_arena_free(&state.arena);
    tn_orderer_free(&state.orderer);
    return status;
}

tn_status tn_training_cost_of(const tn_program *program, tn_training_cost *cost, tn_error *error) {
    uint64_t total;
    TN_TRY(tn_program_total_macs(program, &total, error));
    *cost = (tn_training_cost){.forward_macs = program->macs[TN_FORWARD],
                               .backward_macs = total - program->macs[TN_FORWARD],
                               .total_macs = total,
                               .recomputed_macs = program->recomputed_macs,
                               .saved_elements = program->saved_elements,
                               .peak_elements = tn_program_peak(program)};
    return TN_OK;
}
