#include "layout/word_choice.h"

#include "base/digest.h"
#include "layout/product_cost.h"

#include <string.h>

typedef struct {
    tn_layout_state *state;
    uint32_t t;
    tn_laid_tensor *tensor; /* the state's */
    const tn_searched_tensor *own;
    uint8_t *log; /* [indices]: the tensor's, of the word at hand */
    uint64_t open
        [TN_WORD_USES]; /* numbers of the costs of the first products, where nothing of it is in the way */
    uint64_t least;     /* what all of them cost then: no word is better */
    tn_tensor_word best;
} choice;

/* That the tensor lies in. */
static uint64_t count_words(const choice *c, const tn_tensor_word *w) {
    uint64_t words = c->state->problem->program->tensor[c->t].elements;
    for (uint32_t i = 0; i < w->axes; i++) {
        const uint64_t size = c->state->problem->size[w->index[i]];
        words = words / size * (((size - 1) >> w->log[i]) + 1);
    }
    return words;
}

static bool is_better(const choice *c, const tn_tensor_word *w) {
    if (w->cost != c->best.cost) return w->cost < c->best.cost;
    if (w->row_log != c->best.row_log) return w->row_log < c->best.row_log;
    return count_words(c, w) < count_words(c, &c->best);
}

/* What the product costs as the tensor's words lie now. */
static const tn_product_cost *cost_of_use(const choice *c, uint32_t use) {
    const tn_cut_product *product = &c->state->product[use];
    uint64_t key[TN_OF_ALL];
    for (int side = 0; side < TN_OF_ALL; side++)
        key[side] = product->tensor[side] == c->t ? tn_operand_key(c->state, use, side) : product->key[side];
    return tn_product_cost_find(c->state, use, key);
}

static void find_open_costs(choice *c) {
    c->tensor->kind = TN_BANKS_OPEN;
    for (uint32_t i = 0; i < c->tensor->uses; i++) {
        const tn_product_cost *found = cost_of_use(c, c->tensor->use[i]);
        c->state->open_cost[i] = found->cost;
        c->least += found->cost;
        if (i < TN_WORD_USES) c->open[i] = found->number;
    }
}

/* Takes the word, which is the one at hand, if it is better than the best so far. */
static void consider(choice *c, tn_tensor_word *w) {
    w->cost = c->least;
    if (!is_better(c, w)) return;
    for (uint32_t i = 0; i < c->tensor->uses && w->cost <= c->best.cost; i++)
        w->cost += cost_of_use(c, c->tensor->use[i])->cost - c->state->open_cost[i];
    if (is_better(c, w)) c->best = *w;
}

/* Every box of 2^left more elements along the axes from `start` on. */
static void try_boxes(choice *c, uint32_t start, uint32_t left, tn_tensor_word *w) {
    if (left == 0) consider(c, w);
    if (left == 0 || w->axes == TN_WORD_AXES) return;
    const uint32_t place = w->axes++, first = w->axes == TN_WORD_AXES ? left : 1;
    for (uint32_t i = start; i < c->own->axes; i++) {
        const uint32_t index = c->own->axis[i], most = c->state->problem->size_log[index];
        w->index[place] = index;
        for (uint32_t log = first; log <= left && log <= most; log++) {
            c->log[index] = (uint8_t)log;
            w->log[place] = log;
            try_boxes(c, i + 1, left - log, w);
        }
        c->log[index] = 0;
    }
    w->axes = place;
}

/* One wide word: as wide as the memory's row, or the widest that the tensor fills; of a tensor alone as wide as its own
 * blocks, or wider, up to what other tensors need anyway. */
static void try_words(choice *c) {
    const tn_laid_tensor *tensor = c->tensor;
    if (tensor->demand.has_row) {
        for (uint32_t log = tensor->demand.row_log; c->best.cost == UINT64_MAX; log--) {
            tn_tensor_word w = {.row_log = tensor->demand.row_log};
            try_boxes(c, 0, log, &w);
        }
        return;
    }
    for (uint32_t log = tensor->least_log; log <= c->state->widest_log && c->best.cost > c->least; log++) {
        tn_tensor_word w = {.row_log = log};
        try_boxes(c, 0, log, &w);
    }
}

/* Rows of every length along every axis. */
static void try_rows(choice *c) {
    const uint32_t row = c->best.row_log;
    for (uint32_t i = 0; i < c->own->axes; i++) {
        const uint32_t index = c->own->axis[i], most = c->state->problem->size_log[index];
        uint32_t log = row > TN_LAYOUT_BANKS_LOG_MOST ? row - TN_LAYOUT_BANKS_LOG_MOST : 0;
        for (; log <= row && log <= most; log++) {
            tn_tensor_word w = {
                .axes = 1, .index = {index}, .log = {log}, .row_log = row, .bank_log = row - log};
            c->tensor->bank_log = w.bank_log;
            c->log[index] = (uint8_t)log;
            consider(c, &w);
        }
        c->log[index] = 0;
    }
}

/* The word that was chosen under the same before, else the best of all. */
static void choose(choice *c, tn_bank_kind kind) {
    find_open_costs(c);
    c->tensor->kind = kind;
    uint64_t key[TN_WORD_USES + 2] = {c->t, kind};
    memcpy(key + 2, c->open, sizeof c->open);
    tn_known_word *known =
        &c->state->room->word[tn_hash_place(tn_hash_counts(key, TN_WORD_USES + 2), TN_WORDS_KEPT)];
    const bool is_kept = c->tensor->uses > 0 && c->tensor->uses <= TN_WORD_USES;
    if (is_kept && known->tensor == c->t && known->kind == kind &&
        memcmp(known->open, c->open, sizeof c->open) == 0) {
        c->best = known->word;
        return;
    }
    memset(c->log, 0, c->state->indices);
    if (kind == TN_BANKS_ONE_WORD) try_words(c);
    if (kind == TN_BANKS_ROWS) try_rows(c);
    if (!is_kept) return;
    *known = (tn_known_word){.tensor = c->t, .kind = kind, .word = c->best};
    memcpy(known->open, c->open, sizeof c->open);
}

void tn_word_choose(tn_layout_state *state, uint32_t tensor, tn_bank_kind kind) {
    tn_laid_tensor *own = &state->tensor[tensor];
    const uint32_t row = own->demand.has_row ? own->demand.row_log : own->least_log;
    choice c = {.state = state,
                .t = tensor,
                .tensor = own,
                .own = &state->problem->tensor[tensor],
                .log = state->log + (size_t)tensor * state->indices,
                .best = {.cost = UINT64_MAX, .row_log = row}};
    if (kind == TN_BANKS_FULL_SKEW && row > TN_LAYOUT_BANKS_LOG_MOST) kind = TN_BANKS_ONE_WORD;
    own->kind = kind;
    own->bank_log = 0;
    if (kind == TN_BANKS_FULL_SKEW)
        c.best.bank_log = row;
    else
        choose(&c, kind);
    own->row_log = c.best.row_log;
    own->bank_log = c.best.bank_log;
    memset(c.log, 0, state->indices);
    for (uint32_t i = 0; i < c.best.axes; i++) c.log[c.best.index[i]] = (uint8_t)c.best.log[i];
}
