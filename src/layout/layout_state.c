#include "layout/layout_state.h"

#include "base/checked.h"
#include "layout/product_cost.h"
#include "layout/word_choice.h"

#include <string.h>

tn_status tn_layout_room_begin(tn_layout_room *room, tn_arena *arena, tn_error *error) {
    *room = (tn_layout_room){.scratch = {.parent = arena}};
    TN_TRY(TN_NEW(arena, TN_COSTS_KEPT, &room->cost, error));
    return TN_NEW(arena, TN_WORDS_KEPT, &room->word, error);
}

static tn_status new_state(tn_layout_state *state, tn_error *error) {
    tn_arena *arena = &state->room->scratch;
    TN_TRY(TN_NEW(arena, state->tensors, &state->tensor, error));
    TN_TRY(TN_NEW(arena, state->products, &state->product, error));
    return TN_NEW(arena, (size_t)state->tensors * state->indices, &state->log, error);
}

static tn_status begin_tensor(tn_layout_state *state, uint32_t t, const tn_layout_demand *demand,
                              tn_error *error) {
    tn_arena *arena = &state->room->scratch;
    tn_laid_tensor *tensor = &state->tensor[t];
    if (demand) tensor->demand = demand[t];
    tensor->stands_for = tn_searched_stands_for(state->problem, t, &tensor->demand);
    if (!tn_searched_is_shared(state->problem, t, &tensor->demand)) return TN_OK;
    tn_tensor_layout *shared;
    tn_layout_axis *axis;
    TN_TRY(TN_NEW(arena, 1, &shared, error));
    TN_TRY(TN_NEW(arena, state->problem->tensor[t].axes, &axis, error));
    tn_shared_layout(state->problem, t, &tensor->demand, state->wanted, axis, shared);
    tensor->shared = shared;
    return TN_OK;
}

/* The product's operands, and what its largest blocks ask of them. */
static tn_status begin_product(tn_layout_state *state, uint32_t place, tn_error *error) {
    const tn_searched_product *own = &state->problem->product[place];
    tn_cut_product *product = &state->product[place];
    for (int side = 0; side < TN_OF_ALL; side++) {
        const uint32_t t = product->tensor[side] = state->tensor[own->operand[side].tensor].stands_for;
        tn_laid_tensor *tensor = &state->tensor[t];
        const uint32_t log =
            (uint32_t)tn_least(own->operand[side].block_log, state->problem->tensor[t].room_log);
        tensor->least_log = (uint32_t)tn_greatest(tensor->least_log, log);
        state->widest_log = (uint32_t)tn_greatest(state->widest_log, tensor->least_log);
        if (!tensor->use) TN_TRY(TN_NEW(&state->room->scratch, state->products, &tensor->use, error));
        if (tensor->uses == 0 || tensor->use[tensor->uses - 1] != place) tensor->use[tensor->uses++] = place;
    }
    return TN_OK;
}

tn_status tn_layout_state_begin(tn_layout_state *state, const tn_layout_demand *demand, tn_error *error) {
    const tn_program *program = state->problem->program;
    state->indices = program->indices;
    state->tensors = program->tensors;
    state->products = program->steps;
    state->costs_before = state->room->costs;
    tn_arena_reset(&state->room->scratch);
    TN_TRY(new_state(state, error));
    TN_TRY(TN_NEW(&state->room->scratch, state->products, &state->open_cost, error));
    TN_TRY(TN_NEW(&state->room->scratch, (size_t)TN_OF_ALL * state->products, &state->access, error));
    for (uint32_t t = 0; t < state->tensors; t++) TN_TRY(begin_tensor(state, t, demand, error));
    for (uint32_t i = 0; i < state->products; i++) TN_TRY(begin_product(state, i, error));
    return TN_OK;
}

void tn_layout_state_take(tn_layout_state *state, const tn_layout_state *source) {
    memcpy(state->tensor, source->tensor, state->tensors * sizeof *state->tensor);
    memcpy(state->product, source->product, state->products * sizeof *state->product);
    memcpy(state->log, source->log, (size_t)state->tensors * state->indices * sizeof *state->log);
}

tn_status tn_layout_state_copy(const tn_layout_state *state, tn_layout_state *copy, tn_error *error) {
    *copy = *state;
    TN_TRY(new_state(copy, error));
    tn_layout_state_take(copy, state);
    return TN_OK;
}
