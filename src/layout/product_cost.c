#include "layout/product_cost.h"

#include "base/checked.h"
#include "base/digest.h"
#include "kernel/array_kernel.h"
#include "layout/fullest_bank.h"

#include <string.h>

enum { ROWS = TN_CUT_ROWS, COLUMNS = TN_CUT_COLUMNS, REDUCTION = TN_CUT_REDUCTION, GROUPS = TN_CUT_GROUPS };
enum { LEFT = TN_OF_LEFT, RIGHT = TN_OF_RIGHT, RESULT = TN_OF_RESULT, SIDES = TN_OF_ALL };

/* ---- how words lie ---- */

/* Each element is in a bank of its own; which one is sought for what is cut in the end. */
static bool is_free(const tn_laid_tensor *tensor) {
    return tensor->kind == TN_BANKS_OPEN || (tensor->kind == TN_BANKS_FULL_SKEW && !tensor->shared);
}

/* Along an index of s values there are at most s ways, and of at most 32 indices whose product fits 64 bits fewer than 2^59
 * together; so with their banks they fit, too. */
uint64_t tn_operand_key(const tn_layout_state *state, uint32_t product, int side) {
    enum { BANK_LOGS = TN_LAYOUT_BANKS_LOG_MOST + 1 };
    const tn_searched_operand *operand = &state->problem->product[product].operand[side];
    const uint32_t t = state->product[product].tensor[side];
    const tn_laid_tensor *tensor = &state->tensor[t];
    const uint8_t *log = state->log + t * state->indices;
    uint64_t key = 0;
    if (is_free(tensor)) return 0;
    if (tensor->shared) return UINT64_MAX; /* nothing moves it */
    for (uint32_t i = 0; i < operand->indices; i++) {
        const uint32_t whole = operand->index[i].whole_log, own = log[operand->index[i].index];
        key = key * (whole + 1) + (own < whole ? whole - own : 0);
    }
    return key == 0 ? 0 : key * BANK_LOGS + tensor->bank_log;
}

/* ---- cycles of a block ---- */

static uint64_t words_along(const tn_layout_state *state, uint32_t t, uint32_t index, uint64_t edge) {
    return tn_words_of_block(state->problem->size[index], edge, state->log[t * state->indices + index]);
}

static uint64_t words_of(const tn_layout_state *state, uint32_t t, const tn_group_cut *cut) {
    uint64_t words = 1;
    for (uint32_t k = 0; k < cut->indices; k++) words *= words_along(state, t, cut->index[k], cut->edge[k]);
    return words;
}

/* In rows of banks, rotated by one from word to word along every axis. */
static uint64_t rotated_cycles(const tn_layout_state *state, uint32_t t, const tn_group_cut *const *group) {
    static const uint64_t skew[TN_BANKED_AXES] = {1, 1, 1, 1};
    uint64_t words[TN_BANKED_AXES];
    uint32_t axes = 0;
    for (int g = 0; g < 2; g++)
        for (uint32_t k = 0; k < group[g]->indices; k++)
            words[axes++] = words_along(state, t, group[g]->index[k], group[g]->edge[k]);
    return tn_fullest_bank(words, skew, axes, UINT64_C(1) << state->tensor[t].bank_log);
}

static uint64_t block_cycles(const tn_layout_state *state, uint32_t t, const tn_group_cut *const *group) {
    const tn_laid_tensor *tensor = &state->tensor[t];
    if (is_free(tensor)) return 1;
    if (tensor->shared) return tn_tensor_layout_phases(tensor->shared, group, 0);
    if (tensor->kind == TN_BANKS_ROWS) return rotated_cycles(state, t, group);
    return words_of(state, t, group[0]) * words_of(state, t, group[1]);
}

/* In one wide word: along the two groups words multiply. */
static void count_words(const tn_layout_state *state, uint32_t t, const tn_searched_operand *operand,
                        const uint32_t *count, tn_operand_access *access) {
    uint32_t words[2][TN_CUTS_MOST];
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < count[k]; i++)
            words[k][i] = (uint32_t)words_of(state, t, &operand->block[k][i]);
    for (uint32_t i = 0; i < count[0]; i++)
        for (uint32_t j = 0; j < count[1]; j++) access->cycles[i][j] = words[0][i] * words[1][j];
}

static void count_cycles(const tn_layout_state *state, uint32_t t, const tn_searched_operand *operand,
                         const uint32_t *count, tn_operand_access *access) {
    for (uint32_t i = 0; i < count[0]; i++)
        for (uint32_t j = 0; j < count[1]; j++) {
            const tn_group_cut *group[] = {&operand->block[0][i], &operand->block[1][j]};
            access->cycles[i][j] = (uint32_t)block_cycles(state, t, group);
        }
}

/* As the operand lies now, which is what the key says; while another one is moved it stays as it was found last. */
static const tn_operand_access *find_access(const tn_layout_state *state, uint32_t product, int side,
                                            uint64_t key) {
    const tn_searched_product *p = &state->problem->product[product];
    tn_operand_access *access = &state->access[TN_OF_ALL * product + (uint32_t)side];
    const uint32_t t = state->product[product].tensor[side],
                   count[] = {p->group[tn_cut_directions[side][0]].count,
                              p->group[tn_cut_directions[side][1]].count};
    const tn_laid_tensor *tensor = &state->tensor[t];
    if (access->is_known && access->key == key) return access;
    const bool is_word = tensor->kind == TN_BANKS_ONE_WORD && !tensor->shared;
    (is_word ? count_words : count_cycles)(state, t, &p->operand[side], count, access);
    access->is_known = true;
    access->key = key;
    return access;
}

/* ---- cycles of a product ---- */

/* Into how many blocks each group is cut, and the cycles of a block of each operand. */
typedef struct {
    uint64_t rows, columns, terms, left, right, write;
} cut_cycles;

/* Filling and draining apart, which depend on no layout: they are those of cells that multiply and add in a cycle. */
static uint64_t cost_on_array(const tn_searched_product *p, const cut_cycles *cut, uint64_t weight) {
    const uint64_t cells = p->cells[0] + p->cells[1], tiles = p->batch * cut->rows * cut->columns;
    if (p->pass == TN_PASS_RESTS)
        return tiles * (weight * (cut->terms * tn_greatest(cut->left, cut->right) + cells) +
                        p->cells[0] * cut->write);
    const uint64_t rounds = tiles / tn_array_open(cut->rows);
    return rounds * cut->terms * weight * (p->cells[0] * cut->right + cells) +
           tiles * (weight * cut->terms * cut->left + tn_greatest(cut->left, cut->write) - cut->left);
}

static uint64_t cost_of(const tn_searched_product *p, const cut_cycles *cut, uint64_t weight) {
    const uint64_t read = tn_greatest(cut->left, cut->right);
    if (p->pass != TN_PASS_OF_LANES) return cost_on_array(p, cut, weight);
    return p->batch * cut->rows * cut->columns *
           (weight * cut->terms * read + tn_greatest(read, cut->write) - read);
}

static void find_best_cuts(const tn_layout_state *state, uint32_t product, tn_product_cost *best) {
    const tn_searched_product *p = &state->problem->product[product];
    const tn_cut_choice *row = &p->group[ROWS], *column = &p->group[COLUMNS], *term = &p->group[REDUCTION];
    const bool of_lanes = p->pass == TN_PASS_OF_LANES;
    const uint32_t(*access[SIDES])[TN_CUTS_MOST];
    for (int side = 0; side < SIDES; side++)
        access[side] = find_access(state, product, side, best->key[side])->cycles;
    for (uint32_t r = 0; r < row->count; r++)
        for (uint32_t c = 0; c < column->count; c++)
            for (uint32_t k = 0; k < term->count; k++) {
                const cut_cycles cut = {row->cut[r].blocks, column->cut[c].blocks, term->cut[k].blocks,
                                        access[LEFT][r][k], access[RIGHT][k][c],   access[RESULT][r][c]};
                const uint64_t issues = p->batch * cut.rows * cut.columns * cut.terms;
                if (of_lanes && issues * state->issue_weight >= best->cost) break;
                const uint64_t cost = cost_of(p, &cut, state->issue_weight);
                if (cost >= best->cost) continue;
                best->cost = cost;
                memcpy(best->taken, (const uint32_t[]){r, c, k}, sizeof best->taken);
            }
}

const tn_product_cost *tn_product_cost_find(const tn_layout_state *state, uint32_t product,
                                            const uint64_t *key) {
    const uint64_t all[] = {key[0], key[1], key[2], product};
    tn_product_cost *known = &state->room->cost[tn_hash_place(tn_hash_counts(all, 4), TN_COSTS_KEPT)];
    if (known->number > state->costs_before && known->product == product &&
        memcmp(known->key, key, sizeof known->key) == 0)
        return known;
    *known = (tn_product_cost){.number = ++state->room->costs,
                               .key = {key[0], key[1], key[2]},
                               .cost = UINT64_MAX,
                               .product = product};
    find_best_cuts(state, product, known);
    return known;
}

uint64_t tn_product_open_cycles(const tn_layout_state *state, uint32_t product) {
    const tn_searched_product *p = &state->problem->product[product];
    const uint32_t *taken = state->product[product].taken;
    const cut_cycles cut = {p->group[ROWS].cut[taken[ROWS]].blocks,
                            p->group[COLUMNS].cut[taken[COLUMNS]].blocks,
                            p->group[REDUCTION].cut[taken[REDUCTION]].blocks,
                            1,
                            1,
                            1};
    return cost_of(p, &cut, 1);
}

bool tn_operand_is_slow(const tn_layout_state *state, uint32_t product, int side) {
    const tn_searched_operand *operand = &state->problem->product[product].operand[side];
    const tn_cut_product *own = &state->product[product];
    const tn_group_cut *group[2];
    for (int k = 0; k < 2; k++) group[k] = &operand->block[k][own->taken[tn_cut_directions[side][k]]];
    return block_cycles(state, own->tensor[side], group) > 1;
}
