#include "program/training.h"

#include "base/memory.h"
#include "program/training_bound.h"
#include "program/training_search.h"

#include <string.h>

static tn_status copy_tree(const tn_set_tree *sets, tn_arena *arena, tn_tree *tree, tn_error *error) {
    tree->tensors = sets->leaves;
    TN_TRY(TN_NEW(arena, sets->leaves, &tree->merge, error));
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
    TN_TRY(TN_NEW(arena, found->count, &front->item, state->error));
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
    TN_TRY(tn_training_find_trees(state, network, options));
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
