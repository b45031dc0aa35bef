#include "layout/layout_search.h"

#include "layout/product_cost.h"
#include "layout/word_choice.h"

#include <string.h>

enum { PASSES_MOST = 8, ROUNDS_MOST = 4 };

/* Tensors are taken up in their order or against it. */
enum { FORWARDS, BACKWARDS, STARTS };

static void cut_product(tn_layout_state *state, uint32_t product) {
    tn_cut_product *own = &state->product[product];
    const tn_product_cost *found = tn_product_cost_find(state, product, own->key);
    own->cost = found->cost;
    memcpy(own->taken, found->taken, sizeof found->taken);
}

/* Its products know how the tensor lies now. */
static void tell_uses(tn_layout_state *state, uint32_t t) {
    for (uint32_t i = 0; i < state->tensor[t].uses; i++) {
        tn_cut_product *product = &state->product[state->tensor[t].use[i]];
        for (int side = 0; side < TN_OF_ALL; side++)
            if (product->tensor[side] == t)
                product->key[side] = tn_operand_key(state, state->tensor[t].use[i], side);
    }
}

static void cut_uses(tn_layout_state *state, uint32_t t) {
    for (uint32_t i = 0; i < state->tensor[t].uses; i++) cut_product(state, state->tensor[t].use[i]);
}

static void cut_all(tn_layout_state *state) {
    for (uint32_t t = 0; t < state->tensors; t++) tell_uses(state, t);
    for (uint32_t i = 0; i < state->products; i++) cut_product(state, i);
}

static uint64_t cost_of_all(const tn_layout_state *state) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < state->products; i++) sum += state->product[i].cost;
    return sum;
}

static uint64_t cost_of_uses(const tn_layout_state *state, uint32_t t) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < state->tensor[t].uses; i++) sum += state->product[state->tensor[t].use[i]].cost;
    return sum;
}

static void lay(tn_layout_state *state, uint32_t t, tn_bank_kind kind) {
    tn_word_choose(state, t, kind);
    tell_uses(state, t);
    cut_uses(state, t);
}

/* ---- the descent ---- */

/* Whether the search decides how it lies. */
static bool is_own(const tn_layout_state *state, uint32_t t) {
    return state->tensor[t].stands_for == t && !state->tensor[t].shared;
}

uint64_t tn_layout_search_open(tn_layout_state *state) {
    uint64_t cycles = 0;
    for (uint32_t t = 0; t < state->tensors; t++) state->tensor[t].kind = TN_BANKS_OPEN;
    cut_all(state);
    for (uint32_t i = 0; i < state->products; i++) {
        state->product[i].least = state->product[i].cost;
        cycles += tn_product_open_cycles(state, i);
    }
    return cycles;
}

/* Only tensors that others want, too, are in the way. */
static void begin(tn_layout_state *state) {
    for (uint32_t t = 0; t < state->tensors; t++) {
        tn_laid_tensor *tensor = &state->tensor[t];
        tensor->kind = tensor->shared ? state->wanted : TN_BANKS_OPEN;
        tensor->is_stale = is_own(state, t);
    }
    cut_all(state);
}

/* Lays the tensor, and says so to those that its products bring together with it if that changed anything. */
static void lay_anew(tn_layout_state *state, uint32_t t) {
    tn_laid_tensor *tensor = &state->tensor[t];
    const uint64_t before = cost_of_uses(state, t);
    const bool was_open = tensor->kind == TN_BANKS_OPEN;
    lay(state, t, state->wanted);
    tensor->is_stale = false;
    if (cost_of_uses(state, t) == before && !was_open) return;
    for (uint32_t i = 0; i < tensor->uses; i++)
        for (int side = 0; side < TN_OF_ALL; side++) {
            const uint32_t other = state->product[tensor->use[i]].tensor[side];
            if (other != t) state->tensor[other].is_stale = is_own(state, other);
        }
}

/* Until no tensor can lie better while the others stand. */
static uint64_t settle(tn_layout_state *state, int start) {
    bool any = true;
    for (int pass = 0; pass < PASSES_MOST && any; pass++) {
        any = false;
        for (uint32_t i = 0; i < state->tensors; i++) {
            const uint32_t t = start == FORWARDS ? i : state->tensors - 1 - i;
            if (!state->tensor[t].is_stale) continue;
            lay_anew(state, t);
            any = true;
        }
    }
    return cost_of_all(state);
}

/* The tensors of a product are taken up together: what holds each of them is how the other two lie. */
static void loosen(tn_layout_state *state, const tn_cut_product *product) {
    for (int side = 0; side < TN_OF_ALL; side++) {
        tn_laid_tensor *tensor = &state->tensor[product->tensor[side]];
        if (tensor->shared) continue;
        tensor->kind = TN_BANKS_OPEN;
        tensor->is_stale = true;
        tell_uses(state, product->tensor[side]);
    }
    for (int side = 0; side < TN_OF_ALL; side++) cut_uses(state, product->tensor[side]);
}

/* Takes up one product after the other that costs more than it must, as long as that helps. */
static void improve(tn_layout_state *state, tn_layout_state *best, uint64_t bound, uint64_t least) {
    bool better = least > bound;
    for (int round = 0; round < ROUNDS_MOST && better; round++) {
        better = false;
        for (uint32_t i = 0; i < state->products && least > bound; i++)
            for (int start = 0; start < STARTS; start++) {
                if (best->product[i].cost == best->product[i].least) break;
                tn_layout_state_take(state, best);
                loosen(state, &state->product[i]);
                const uint64_t cost = settle(state, start);
                if (cost >= least) continue;
                least = cost;
                better = true;
                tn_layout_state_take(best, state);
            }
    }
}

void tn_layout_search_descend(tn_layout_state *state, tn_layout_state *best) {
    uint64_t least = UINT64_MAX, bound = 0;
    for (int start = 0; start < STARTS && least > bound; start++) {
        begin(state);
        bound = cost_of_all(state); /* with nothing in the way but what others want, too */
        const uint64_t cost = settle(state, start);
        if (cost >= least) continue;
        least = cost;
        tn_layout_state_take(best, state);
    }
    improve(state, best, bound, least);
    tn_layout_state_take(state, best);
}

/* An access to the tensor takes more than a cycle as its users cut it. */
static bool is_slow(const tn_layout_state *state, uint32_t t) {
    for (uint32_t i = 0; i < state->tensor[t].uses; i++) {
        const uint32_t use = state->tensor[t].use[i];
        for (int side = 0; side < TN_OF_ALL; side++)
            if (state->product[use].tensor[side] == t && tn_operand_is_slow(state, use, side)) return true;
    }
    return false;
}

void tn_layout_search_add_banks(tn_layout_state *state) {
    for (uint32_t t = 0; t < state->tensors; t++) {
        if (!is_own(state, t) || !is_slow(state, t)) continue;
        const uint64_t before = cost_of_all(state);
        lay(state, t, TN_BANKS_ROWS);
        if (is_slow(state, t)) lay(state, t, TN_BANKS_FULL_SKEW);
        if (cost_of_all(state) >= before) lay(state, t, TN_BANKS_ONE_WORD);
    }
}
