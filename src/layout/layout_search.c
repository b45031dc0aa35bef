#include "layout/layout_search.h"

#include "base/checked.h"
#include "layout/product_cost.h"

#include <string.h>

enum { PASSES_MOST = 8, ROUNDS_MOST = 4 };

/* Tensors are taken up in their order or against it. */
enum { FORWARDS, BACKWARDS, STARTS };

static void cut_product(tn_layout_state *state, uint32_t product) {
    const tn_product_cost found = tn_product_cost_find(state, product);
    state->product[product].cost = found.cost;
    memcpy(state->product[product].taken, found.taken, sizeof found.taken);
}

static void cut_uses(tn_layout_state *state, uint32_t t) {
    for (uint32_t i = 0; i < state->tensor[t].uses; i++) cut_product(state, state->tensor[t].use[i]);
}

static void cut_all(tn_layout_state *state) {
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

/* ---- words of a tensor ---- */

/* A word: edges 2^log along a few indices. */
typedef struct {
    uint64_t cost, words;
    uint32_t axes, index[TN_WORD_AXES], log[TN_WORD_AXES], row_log;
} word;

static uint64_t count_words(const tn_layout_state *state, uint32_t t) {
    const tn_searched_tensor *tensor = &state->problem->tensor[t];
    uint64_t words = 1;
    for (uint32_t i = 0; i < tensor->axes; i++)
        words *= ((state->problem->size[tensor->axis[i]] - 1) >>
                  state->log[t * state->indices + tensor->axis[i]]) +
                 1;
    return words;
}

static void set_word(tn_layout_state *state, uint32_t t, const word *w) {
    uint8_t *log = state->log + t * state->indices;
    memset(log, 0, state->indices);
    for (uint32_t i = 0; i < w->axes; i++) log[w->index[i]] = (uint8_t)w->log[i];
}

/* Least cost, then the narrowest word, then the fewest words. */
static bool is_better(const word *a, const word *b) {
    if (a->cost != b->cost) return a->cost < b->cost;
    if (a->row_log != b->row_log) return a->row_log < b->row_log;
    return a->words < b->words;
}

/* What the tensor's products cost with the word, each cut as suits it best. */
static void consider(tn_layout_state *state, uint32_t t, word w, word *best) {
    const tn_laid_tensor *tensor = &state->tensor[t];
    set_word(state, t, &w);
    w.words = count_words(state, t);
    w.cost = 0;
    for (uint32_t i = 0; i < tensor->uses; i++) w.cost += state->product[tensor->use[i]].least;
    if (!is_better(&w, best)) return;
    w.cost = 0;
    for (uint32_t i = 0; i < tensor->uses && w.cost <= best->cost; i++)
        w.cost += tn_product_cost_find(state, tensor->use[i]).cost;
    if (is_better(&w, best)) *best = w;
}

/* No power of two beyond the first that covers the axis. */
static bool has_room(const tn_layout_state *state, uint32_t index, uint32_t log) {
    return log == 0 || (uint64_t)1 << (log - 1) < state->problem->size[index];
}

/* Every box of 2^left more elements along the axes from `start` on. */
static void try_boxes(tn_layout_state *state, uint32_t t, uint32_t start, uint32_t left, word *w,
                      word *best) {
    const tn_searched_tensor *tensor = &state->problem->tensor[t];
    if (left == 0) consider(state, t, *w, best);
    if (left == 0 || w->axes == TN_WORD_AXES) return;
    const uint32_t place = w->axes++;
    for (uint32_t i = start; i < tensor->axes; i++)
        for (uint32_t log = 1; log <= left && has_room(state, tensor->axis[i], log); log++) {
            w->index[place] = tensor->axis[i];
            w->log[place] = log;
            try_boxes(state, t, i + 1, left - log, w, best);
        }
    w->axes = place;
}

/* One wide word: as wide as the memory's row, or the widest that the tensor fills; of a tensor alone as wide as its own
 * blocks, or wider, up to what other tensors need anyway. */
static void choose_word(tn_layout_state *state, uint32_t t, word *best) {
    const tn_laid_tensor *tensor = &state->tensor[t];
    if (tensor->demand.has_row) {
        for (uint32_t log = tensor->demand.row_log; best->cost == UINT64_MAX; log--) {
            word w = {.row_log = tensor->demand.row_log};
            try_boxes(state, t, 0, log, &w, best);
        }
        return;
    }
    for (uint32_t log = tensor->least_log; log <= state->widest_log; log++) {
        word w = {.row_log = log};
        try_boxes(state, t, 0, log, &w, best);
    }
}

/* Rows of every length along every axis. */
static void choose_rows(tn_layout_state *state, uint32_t t, word *best) {
    const tn_searched_tensor *own = &state->problem->tensor[t];
    tn_laid_tensor *tensor = &state->tensor[t];
    uint32_t row = tensor->demand.has_row ? tensor->demand.row_log : tensor->least_log;
    for (uint32_t i = 0; i < own->axes; i++) {
        uint32_t log = row > TN_LAYOUT_BANKS_LOG_MOST ? row - TN_LAYOUT_BANKS_LOG_MOST : 0;
        for (; log <= row && has_room(state, own->axis[i], log); log++) {
            tensor->bank_log = row - log;
            consider(state, t, (word){.axes = 1, .index = {own->axis[i]}, .log = {log}, .row_log = row},
                     best);
        }
    }
    tensor->bank_log = best->cost == UINT64_MAX ? 0 : best->row_log - best->log[0];
}

static void lay(tn_layout_state *state, uint32_t t, tn_bank_kind kind) {
    tn_laid_tensor *tensor = &state->tensor[t];
    word best = {.cost = UINT64_MAX,
                 .row_log = tensor->demand.has_row ? tensor->demand.row_log : tensor->least_log};
    if (kind == TN_BANKS_FULL_SKEW && best.row_log > TN_LAYOUT_BANKS_LOG_MOST) kind = TN_BANKS_ONE_WORD;
    tensor->kind = kind;
    tensor->bank_log = kind == TN_BANKS_FULL_SKEW ? best.row_log : 0;
    if (kind == TN_BANKS_ONE_WORD) choose_word(state, t, &best);
    if (kind == TN_BANKS_ROWS) choose_rows(state, t, &best);
    tensor->row_log = best.row_log;
    set_word(state, t, &best);
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

void tn_layout_search_descend(tn_layout_state *state, tn_layout_state *best, uint64_t bound) {
    uint64_t least = UINT64_MAX;
    for (int start = 0; start < STARTS && least > bound; start++) {
        begin(state);
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
