#include "layout/layouts.h"

#include "base/checked.h"
#include "layout/bank_skews.h"
#include "layout/layout_search.h"

#include <string.h>

const char *const tn_layout_goal_names[] = {"cycles", "issues", NULL};

/* ---- the answer ---- */

/* A tensor that stands for itself. */
static tn_status tell_tensor(const tn_layout_state *state, uint32_t t, tn_arena *arena, tn_tensor_layout *out,
                             tn_error *error) {
    const tn_searched_tensor *own = &state->problem->tensor[t];
    const tn_laid_tensor *tensor = &state->tensor[t];
    const uint64_t one = 1, banks = one << tensor->bank_log;
    tn_layout_axis *axis;
    TN_TRY(TN_NEW(arena, own->axes, &axis, error));
    if (tensor->shared) {
        *out = *tensor->shared;
        memcpy(axis, out->axis, own->axes * sizeof *axis);
    } else {
        *out = (tn_tensor_layout){.row_elements = one << tensor->row_log, .banks = banks, .axes = own->axes};
        for (uint32_t k = 0; k < own->axes; k++)
            axis[k] = (tn_layout_axis){.index = own->axis[k],
                                       .size = state->problem->size[own->axis[k]],
                                       .edge = one << state->log[t * state->indices + own->axis[k]],
                                       .skew = 1 % banks};
    }
    out->axis = axis;
    if (tensor->kind == TN_BANKS_FULL_SKEW && !tensor->shared)
        return tn_bank_skews_find(state, t, out, error);
    tn_tensor_layout_share_rows(out);
    return TN_OK;
}

static void tell_product(const tn_layout_state *state, uint32_t i, tn_layouts *layouts) {
    const tn_searched_product *own = &state->problem->product[i];
    const tn_tensor_layout *operand[TN_OF_ALL];
    tn_product_layout *p = &layouts->product[i];
    for (int side = 0; side < TN_OF_ALL; side++) operand[side] = &layouts->tensor[own->operand[side].tensor];
    tn_product_layout_tell(state->problem->size, own, state->product[i].taken, operand, p);
    layouts->issue_cycles += p->tiles * p->terms * p->read_cycles;
    layouts->cycles += p->tiles * (p->terms * p->read_cycles + tn_greatest(p->read_cycles, p->write_cycles) -
                                   p->read_cycles);
}

static tn_status tell(const tn_layout_state *state, tn_arena *arena, tn_layouts *layouts, tn_error *error) {
    TN_TRY(TN_NEW(arena, state->tensors, &layouts->tensor, error));
    TN_TRY(TN_NEW(arena, state->products, &layouts->product, error));
    for (uint32_t t = 0; t < state->tensors; t++) {
        const uint32_t owner = state->tensor[t].stands_for;
        if (owner == t)
            TN_TRY(tell_tensor(state, t, arena, &layouts->tensor[t], error));
        else /* it comes before */
            layouts->tensor[t] = layouts->tensor[owner];
    }
    for (uint32_t i = 0; i < state->products; i++) tell_product(state, i, layouts);
    return TN_OK;
}

/* Banks only where they gain: which skews there are is known in the end. */
static tn_status add_banks(tn_layout_state *state, tn_arena *arena, tn_layouts *layouts, tn_error *error) {
    tn_layouts banked = {
        .tensors = layouts->tensors, .products = layouts->products, .bound_cycles = layouts->bound_cycles};
    tn_layout_search_add_banks(state);
    TN_TRY(tell(state, arena, &banked, error));
    if (banked.cycles < layouts->cycles) *layouts = banked;
    return TN_OK;
}

tn_status tn_layouts_find(const tn_layout_problem *problem, tn_banking banking, tn_layout_goal goal,
                          const tn_layout_demand *demand, tn_layout_room *room, tn_arena *arena,
                          tn_layouts *layouts, tn_error *error) {
    static const uint64_t issue_weights[] = {[TN_LEAST_CYCLES] = 1, [TN_LEAST_ISSUES] = 16};
    tn_layout_state best, state = {.problem = problem,
                                   .wanted = tn_banking_kind(banking),
                                   .issue_weight = issue_weights[goal],
                                   .room = room};
    TN_TRY(tn_layout_state_begin(&state, demand, error));
    TN_TRY(tn_layout_state_copy(&state, &best, error));
    *layouts = (tn_layouts){
        .tensors = state.tensors, .products = state.products, .bound_cycles = tn_layout_search_open(&state)};
    tn_layout_search_descend(&state, &best);
    TN_TRY(tell(&state, arena, layouts, error));
    if (banking == TN_BANKING_AUTO && layouts->cycles > layouts->bound_cycles)
        TN_TRY(add_banks(&state, arena, layouts, error));
    layouts->exact = layouts->cycles == layouts->bound_cycles;
    return TN_OK;
}
