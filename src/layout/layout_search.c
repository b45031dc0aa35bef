#include "layout/layout_search.h"

#include "base/checked.h"
#include "kernel/array_kernel.h"
#include "layout/fullest_bank.h"
#include "layout/layout_problem.h"

#include <string.h>

enum { ROWS = TN_CUT_ROWS, COLUMNS = TN_CUT_COLUMNS, REDUCTION = TN_CUT_REDUCTION, GROUPS = TN_CUT_GROUPS };
enum { LEFT = TN_OF_LEFT, RIGHT = TN_OF_RIGHT, RESULT = TN_OF_RESULT };
enum { STARTS = 2, PASSES_MOST = 8, ROUNDS_MOST = 4 };

/* ---- cycles of an issue ---- */

static uint64_t words_along(const tn_layout_search *search, uint32_t t, uint32_t index, uint64_t edge) {
    return tn_words_of_block(search->size[index], edge, search->log[t * search->indices + index]);
}

static uint64_t words_of(const tn_layout_search *search, uint32_t t, const tn_group_cut *c) {
    uint64_t words = 1;
    for (uint32_t i = 0; i < c->indices; i++) words *= words_along(search, t, c->index[i], c->edge[i]);
    return words;
}

/* Cycles of a block in rows of banks. */
static uint64_t rotated_cycles(const tn_layout_search *search, uint32_t t, const tn_group_cut *a,
                               const tn_group_cut *b) {
    const tn_group_cut *cut[] = {a, b};
    uint64_t words[TN_BANKED_AXES], skew[TN_BANKED_AXES], turn[TN_BANKED_AXES];
    uint32_t axes = 0, longer = 0, turned = 0;
    for (int g = 0; g < 2; g++)
        for (uint32_t i = 0; i < cut[g]->indices; i++) {
            words[axes] = words_along(search, t, cut[g]->index[i], cut[g]->edge[i]);
            skew[axes] = search->skew[t * search->indices + cut[g]->index[i]];
            turn[axes] = search->turn[t * search->indices + cut[g]->index[i]];
            if (words[axes] == 1) continue;
            turned += turn[axes] > 0;
            longer += words[axes] > (uint64_t)1 << search->tensor[t].bank_log;
            axes++;
        }
    if (axes == 0) return 1;
    if (turned > 0)
        return tn_fullest_turned_bank(words, skew, turn, axes, (uint64_t)1 << search->tensor[t].bank_log);
    if (axes == 1 && longer == 0 && skew[0] == 1) return 1;
    if (axes == 2 && longer == 0 && skew[0] == 1 && skew[1] == 1) return tn_least(words[0], words[1]);
    return tn_fullest_bank(words, skew, axes, (uint64_t)1 << search->tensor[t].bank_log);
}

/* Cycles of every block that the product may ask of its operand. */
static void find_access(const tn_layout_search *search, tn_searched_product *p, int side) {
    uint32_t t = p->tensor[side];
    const tn_searched_tensor *tensor = &search->tensor[t];
    const tn_cut_choice *a = &p->group[tn_cut_directions[side][0]],
                        *b = &p->group[tn_cut_directions[side][1]];
    bool rotated =
        tensor->kind == TN_BANKS_ROWS || (tensor->kind == TN_BANKS_FULL_SKEW && tensor->demand.is_shared);
    uint32_t wide[TN_CUTS_MOST];
    for (uint32_t j = 0; j < b->count && tensor->kind == TN_BANKS_ONE_WORD; j++)
        wide[j] = (uint32_t)words_of(search, t, tn_block_cut(p, side, 1, &b->cut[j]));
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t high = tensor->kind == TN_BANKS_ONE_WORD
                            ? (uint32_t)words_of(search, t, tn_block_cut(p, side, 0, &a->cut[i]))
                            : 1;
        for (uint32_t j = 0; j < b->count; j++)
            if (rotated)
                p->access[side][i][j] = (uint32_t)rotated_cycles(
                    search, t, tn_block_cut(p, side, 0, &a->cut[i]), tn_block_cut(p, side, 1, &b->cut[j]));
            else if (tensor->kind == TN_BANKS_ONE_WORD)
                p->access[side][i][j] = high * wide[j];
            else /* open; or skews are searched for what is cut in the end */
                p->access[side][i][j] = 1;
    }
}

/* Filling and draining apart, which depend on no layout: they are those of cells that multiply and add in a cycle. */
static uint64_t cost_on_array(const tn_searched_product *p, uint64_t terms, uint64_t column_blocks,
                              uint64_t row_blocks, const uint32_t *taken, uint64_t weight) {
    const uint64_t left = p->access[LEFT][taken[ROWS]][taken[REDUCTION]],
                   right = p->access[RIGHT][taken[REDUCTION]][taken[COLUMNS]],
                   write = p->access[RESULT][taken[ROWS]][taken[COLUMNS]], cells = p->cells[0] + p->cells[1],
                   tiles = p->batch * row_blocks * column_blocks;
    if (p->pass == TN_PASS_RESTS)
        return tiles * (weight * (terms * tn_greatest(left, right) + cells) + p->cells[0] * write);
    const uint64_t rounds = tiles / tn_array_open(row_blocks);
    return rounds * terms * weight * (p->cells[0] * right + cells) +
           tiles * (weight * terms * left + tn_greatest(left, write) - left);
}

static uint64_t cost_of(const tn_searched_product *p, const uint32_t *taken, uint64_t weight) {
    uint64_t terms = p->group[REDUCTION].cut[taken[REDUCTION]].blocks,
             tiles = p->batch * p->group[ROWS].cut[taken[ROWS]].blocks *
                     p->group[COLUMNS].cut[taken[COLUMNS]].blocks,
             read = tn_greatest(p->access[LEFT][taken[ROWS]][taken[REDUCTION]],
                                p->access[RIGHT][taken[REDUCTION]][taken[COLUMNS]]),
             write = p->access[RESULT][taken[ROWS]][taken[COLUMNS]];
    if (p->pass != TN_PASS_OF_LANES)
        return cost_on_array(p, terms, p->group[COLUMNS].cut[taken[COLUMNS]].blocks,
                             p->group[ROWS].cut[taken[ROWS]].blocks, taken, weight);
    return tiles * (weight * terms * read + tn_greatest(read, write) - read);
}

uint64_t tn_layout_search_cycles(const tn_layout_search *layout_search) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < layout_search->products; i++) {
        const tn_searched_product *p = &layout_search->product[i];
        const uint32_t taken[] = {p->group[ROWS].taken, p->group[COLUMNS].taken, p->group[REDUCTION].taken};
        sum += cost_of(p, taken, 1);
    }
    return sum;
}

/* Cuts the product where it costs least as the words lie now. */
static uint64_t best_cuts(const tn_layout_search *search, const tn_searched_product *p, uint32_t *taken) {
    const bool of_lanes = p->pass == TN_PASS_OF_LANES;
    uint64_t best = UINT64_MAX, weight = search->issue_weight;
    uint32_t entry[GROUPS];
    for (entry[ROWS] = 0; entry[ROWS] < p->group[ROWS].count; entry[ROWS]++)
        for (entry[COLUMNS] = 0; entry[COLUMNS] < p->group[COLUMNS].count; entry[COLUMNS]++) {
            uint64_t tiles = p->batch * p->group[ROWS].cut[entry[ROWS]].blocks *
                             p->group[COLUMNS].cut[entry[COLUMNS]].blocks * weight;
            for (entry[REDUCTION] = 0; entry[REDUCTION] < p->group[REDUCTION].count; entry[REDUCTION]++) {
                if (of_lanes && tiles * p->group[REDUCTION].cut[entry[REDUCTION]].blocks >= best) continue;
                uint64_t cost = cost_of(p, entry, weight);
                if (cost >= best) continue;
                best = cost;
                memcpy(taken, entry, sizeof entry);
            }
        }
    return best;
}

static void cut_product(const tn_layout_search *search, tn_searched_product *p) {
    uint32_t taken[GROUPS] = {0};
    p->cost = best_cuts(search, p, taken);
    for (int g = 0; g < GROUPS; g++) p->group[g].taken = taken[g];
}

static uint64_t cost_of_all(const tn_layout_search *search) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < search->products; i++) sum += search->product[i].cost;
    return sum;
}

/* What the product's blocks of the tensor take, as its words lie now. */
static void meet(const tn_layout_search *search, tn_searched_product *p, uint32_t t) {
    for (int side = 0; side < TN_OF_ALL; side++)
        if (p->tensor[side] == t) find_access(search, p, side);
}

/* ---- words of a tensor ---- */

/* A word: edges 2^log along a few indices. */
typedef struct {
    uint64_t cost, words;
    uint32_t axes, index[TN_WORD_AXES], log[TN_WORD_AXES], row_log;
} word;

static uint64_t count_words(const tn_layout_search *search, uint32_t t) {
    const tn_searched_tensor *tensor = &search->tensor[t];
    uint64_t words = 1;
    for (uint32_t i = 0; i < tensor->axes; i++)
        words *=
            ((search->size[tensor->axis[i]] - 1) >> search->log[t * search->indices + tensor->axis[i]]) + 1;
    return words;
}

static void set_word(tn_layout_search *search, uint32_t t, const word *w) {
    uint8_t *log = search->log + t * search->indices;
    memset(log, 0, search->indices);
    for (uint32_t i = 0; i < w->axes; i++) log[w->index[i]] = (uint8_t)w->log[i];
}

/* Least cost, then the narrowest word, then the fewest words. */
static bool is_better(const word *a, const word *b) {
    if (a->cost != b->cost) return a->cost < b->cost;
    if (a->row_log != b->row_log) return a->row_log < b->row_log;
    return a->words < b->words;
}

/* What the tensor's products cost with the word, each cut as suits it best. */
static void consider(tn_layout_search *search, uint32_t t, word w, word *best) {
    const tn_searched_tensor *tensor = &search->tensor[t];
    uint32_t taken[GROUPS];
    set_word(search, t, &w);
    w.words = count_words(search, t);
    w.cost = tensor->least;
    if (!is_better(&w, best)) return;
    w.cost = 0;
    for (uint32_t i = 0; i < tensor->uses && w.cost <= best->cost; i++) {
        meet(search, &search->product[tensor->use[i]], t);
        w.cost += best_cuts(search, &search->product[tensor->use[i]], taken);
    }
    if (is_better(&w, best)) *best = w;
}

/* No power of two beyond the first that covers the axis. */
static bool has_room(const tn_layout_search *search, uint32_t index, uint32_t log) {
    return log == 0 || (uint64_t)1 << (log - 1) < search->size[index];
}

/* Every box of 2^left more elements along the axes from `start` on. */
static void try_boxes(tn_layout_search *search, uint32_t t, uint32_t start, uint32_t left, word *w,
                      word *best) {
    const tn_searched_tensor *tensor = &search->tensor[t];
    if (left == 0) consider(search, t, *w, best);
    if (left == 0 || w->axes == TN_WORD_AXES) return;
    uint32_t index = w->axes++;
    for (uint32_t i = start; i < tensor->axes; i++)
        for (uint32_t log = 1; log <= left && has_room(search, tensor->axis[i], log); log++) {
            w->index[index] = tensor->axis[i];
            w->log[index] = log;
            try_boxes(search, t, i + 1, left - log, w, best);
        }
    w->axes = index;
}

/* One wide word: as wide as the memory's row, or the widest that the tensor fills; of a tensor alone as wide as its own
 * blocks, or wider, up to what other tensors need anyway. */
static void choose_word(tn_layout_search *search, uint32_t t, word *best) {
    const tn_searched_tensor *tensor = &search->tensor[t];
    if (tensor->demand.has_row) {
        for (uint32_t log = tensor->demand.row_log; best->cost == UINT64_MAX; log--) {
            word w = {.row_log = tensor->demand.row_log};
            try_boxes(search, t, 0, log, &w, best);
        }
        return;
    }
    for (uint32_t log = tensor->least_log; log <= search->widest_log; log++) {
        word w = {.row_log = log};
        try_boxes(search, t, 0, log, &w, best);
    }
}

/* Rows of every length along every axis. */
static void choose_rows(tn_layout_search *search, uint32_t t, word *best) {
    tn_searched_tensor *tensor = &search->tensor[t];
    uint32_t row = tensor->demand.has_row ? tensor->demand.row_log : tensor->least_log;
    for (uint32_t i = 0; i < tensor->axes; i++) {
        uint32_t log = row > TN_LAYOUT_BANKS_LOG_MOST ? row - TN_LAYOUT_BANKS_LOG_MOST : 0;
        for (; log <= row && (log == 0 || has_room(search, tensor->axis[i], log)); log++) {
            tensor->bank_log = row - log;
            consider(search, t, (word){.axes = 1, .index = {tensor->axis[i]}, .log = {log}, .row_log = row},
                     best);
        }
    }
    tensor->bank_log = best->cost == UINT64_MAX ? 0 : best->row_log - best->log[0];
}

/* Words of tokens x features that every layer can take. */
static void lay_shared(tn_layout_search *search, uint32_t t) {
    tn_searched_tensor *tensor = &search->tensor[t];
    uint8_t *log = search->log + t * search->indices;
    uint64_t *skew = search->skew + t * search->indices, *turn = search->turn + t * search->indices;
    uint32_t first = search->program->tensor[t].indices.index[0];
    const bool has_tokens = tensor->demand.is_one_token || (tensor->axes > 0 && tensor->axis[0] == first);
    const tn_shared_words words = tn_layout_shared(&tensor->demand, tensor->kind, has_tokens);
    uint64_t banks = (uint64_t)1 << words.bank_log, stride = 1;
    uint32_t features = words.feature_log;
    tensor->bank_log = words.bank_log;
    tensor->row_log = tensor->demand.row_log;
    memset(log, 0, search->indices);
    memset(skew, 0, search->indices * sizeof *skew);
    memset(turn, 0, search->indices * sizeof *turn);
    if (tensor->axes == 0) return;
    for (uint32_t i = tensor->axes; i-- > 0 && tensor->axis[i] != first;) {
        uint32_t index = tensor->axis[i], most = tn_log_above(search->size[index]);
        if (most > features) most = features;
        log[index] = (uint8_t)most;
        features -= most;
        const uint64_t count = ((search->size[index] - 1) >> most) + 1;
        tn_shared_axis(&words, stride, count, &skew[index], &turn[index]);
        stride *= count;
    }
    log[first] = words.token_log;
    skew[first] = 1 % banks;
}

static void lay(tn_layout_search *search, uint32_t t, tn_bank_kind kind) {
    tn_searched_tensor *tensor = &search->tensor[t];
    word best = {.cost = UINT64_MAX,
                 .row_log = tensor->demand.has_row ? tensor->demand.row_log : tensor->least_log};
    if (tensor->stands_for != t) return;
    if (kind == TN_BANKS_FULL_SKEW && best.row_log > TN_LAYOUT_BANKS_LOG_MOST) kind = TN_BANKS_ONE_WORD;
    tensor->kind = kind;
    tensor->bank_log = 0;
    if (tensor->demand.is_shared) {
        lay_shared(search, t);
    } else {
        for (uint32_t i = 0; i < search->indices; i++) {
            search->skew[t * search->indices + i] = 1;
            search->turn[t * search->indices + i] = 0;
        }
        if (kind == TN_BANKS_ONE_WORD) choose_word(search, t, &best);
        if (kind == TN_BANKS_ROWS) choose_rows(search, t, &best);
        if (kind == TN_BANKS_FULL_SKEW) tensor->bank_log = best.row_log;
        tensor->row_log = best.row_log;
        set_word(search, t, &best);
    }
    for (uint32_t i = 0; i < tensor->uses; i++) {
        tn_searched_product *p = &search->product[tensor->use[i]];
        meet(search, p, t);
        cut_product(search, p);
    }
}

/* ---- the descent ---- */

/* The i-th tensor of a start: forwards, backwards, then by strides that visit all. */
static uint32_t nth(const tn_layout_search *search, uint32_t start, uint32_t i) {
    uint32_t n = search->tensors, stride = 2 * start + 1;
    if (start == 0) return i;
    if (start == 1) return n - 1 - i;
    while (tn_greatest_common_divisor(n, stride) != 1) stride++;
    return i * stride % n;
}

static void cut_all(tn_layout_search *search) {
    for (uint32_t i = 0; i < search->products; i++) {
        tn_searched_product *p = &search->product[i];
        for (int side = 0; side < TN_OF_ALL; side++) find_access(search, p, side);
        cut_product(search, p);
    }
}

void tn_layout_search_open(tn_layout_search *layout_search) {
    for (uint32_t t = 0; t < layout_search->tensors; t++) layout_search->tensor[t].kind = TN_BANKS_OPEN;
    cut_all(layout_search);
    for (uint32_t i = 0; i < layout_search->products; i++)
        layout_search->product[i].least = layout_search->product[i].cost;
    for (uint32_t t = 0; t < layout_search->tensors; t++) {
        tn_searched_tensor *tensor = &layout_search->tensor[t];
        tensor->least = 0;
        for (uint32_t i = 0; i < tensor->uses; i++)
            tensor->least += layout_search->product[tensor->use[i]].least;
    }
}

void tn_layout_search_share(tn_layout_search *layout_search) {
    for (uint32_t t = 0; t < layout_search->tensors; t++) {
        layout_search->tensor[t].kind = TN_BANKS_OPEN;
        layout_search->tensor[t].is_stale = true;
        if (!layout_search->tensor[t].demand.is_shared) continue;
        layout_search->tensor[t].kind = layout_search->wanted;
        lay_shared(layout_search, t);
    }
}

/* Lays the tensor, and says so to those that its products bring together with it if that changed anything. */
static void lay_anew(tn_layout_search *search, uint32_t t) {
    tn_searched_tensor *tensor = &search->tensor[t];
    uint64_t before = 0, after = 0;
    bool was_open = tensor->kind == TN_BANKS_OPEN;
    for (uint32_t i = 0; i < tensor->uses; i++) before += search->product[tensor->use[i]].cost;
    lay(search, t, search->wanted);
    for (uint32_t i = 0; i < tensor->uses; i++) after += search->product[tensor->use[i]].cost;
    tensor->is_stale = false;
    if (after == before && !was_open) return;
    for (uint32_t i = 0; i < tensor->uses; i++)
        for (int side = 0; side < TN_OF_ALL; side++) {
            uint32_t other = search->product[tensor->use[i]].tensor[side];
            if (other != t) search->tensor[other].is_stale = true;
        }
}

/* Until no tensor can lie better while the others stand. */
static uint64_t settle(tn_layout_search *search, uint32_t start) {
    bool any = true;
    for (int pass = 0; pass < PASSES_MOST && any; pass++) {
        any = false;
        for (uint32_t i = 0; i < search->tensors; i++) {
            uint32_t t = nth(search, start, i);
            if (!search->tensor[t].is_stale) continue;
            lay_anew(search, t);
            any = true;
        }
    }
    return cost_of_all(search);
}

/* The tensors of a product are taken up together: what holds each of them is how the other two lie. */
static void loosen(tn_layout_search *search, const tn_searched_product *p) {
    for (int side = 0; side < TN_OF_ALL; side++) {
        tn_searched_tensor *tensor = &search->tensor[p->tensor[side]];
        if (tensor->demand.is_shared) continue;
        tensor->kind = TN_BANKS_OPEN;
        tensor->is_stale = true;
        for (uint32_t i = 0; i < tensor->uses; i++)
            meet(search, &search->product[tensor->use[i]], p->tensor[side]);
    }
    for (int side = 0; side < TN_OF_ALL; side++) {
        const tn_searched_tensor *tensor = &search->tensor[p->tensor[side]];
        for (uint32_t i = 0; i < tensor->uses; i++) cut_product(search, &search->product[tensor->use[i]]);
    }
}

static void keep(const tn_layout_search *search, tn_layout_search *kept) {
    size_t logs = (size_t)search->tensors * search->indices;
    memcpy(kept->tensor, search->tensor, search->tensors * sizeof *search->tensor);
    memcpy(kept->product, search->product, search->products * sizeof *search->product);
    memcpy(kept->log, search->log, logs * sizeof *search->log);
    memcpy(kept->skew, search->skew, logs * sizeof *search->skew);
    memcpy(kept->turn, search->turn, logs * sizeof *search->turn);
}

/* Takes up one product after the other that costs more than it must, as long as that helps. */
static void improve(tn_layout_search *search, tn_layout_search *best, uint64_t bound, uint64_t least) {
    bool better = least > bound;
    for (int round = 0; round < ROUNDS_MOST && better; round++) {
        better = false;
        for (uint32_t i = 0; i < search->products && least > bound; i++)
            for (uint32_t start = 0; start < 2; start++) {
                if (best->product[i].cost == best->product[i].least) break;
                keep(best, search);
                loosen(search, &search->product[i]);
                uint64_t cost = settle(search, start);
                if (cost >= least) continue;
                least = cost;
                better = true;
                keep(search, best);
            }
    }
}

void tn_layout_search_descend(tn_layout_search *layout_search, tn_layout_search *best, uint64_t bound) {
    uint64_t least = UINT64_MAX;
    for (uint32_t start = 0; start < STARTS && least > bound; start++) {
        tn_layout_search_share(layout_search);
        cut_all(layout_search);
        uint64_t cost = settle(layout_search, start);
        if (cost >= least) continue;
        least = cost;
        keep(layout_search, best);
    }
    improve(layout_search, best, bound, least);
    keep(best, layout_search);
}

/* An access to the tensor takes more than a cycle as its users cut it. */
static bool is_slow(const tn_layout_search *search, uint32_t t) {
    for (uint32_t i = 0; i < search->tensor[t].uses; i++) {
        const tn_searched_product *p = &search->product[search->tensor[t].use[i]];
        for (int side = 0; side < TN_OF_ALL; side++) {
            const int *g = tn_cut_directions[side];
            if (p->tensor[side] == t && p->access[side][p->group[g[0]].taken][p->group[g[1]].taken] > 1)
                return true;
        }
    }
    return false;
}

void tn_layout_search_add_banks(tn_layout_search *layout_search) {
    for (uint32_t t = 0; t < layout_search->tensors; t++) {
        if (layout_search->tensor[t].stands_for != t || layout_search->tensor[t].demand.is_shared ||
            !is_slow(layout_search, t))
            continue;
        uint64_t before = cost_of_all(layout_search);
        lay(layout_search, t, TN_BANKS_ROWS);
        if (is_slow(layout_search, t)) lay(layout_search, t, TN_BANKS_FULL_SKEW);
        if (cost_of_all(layout_search) >= before) lay(layout_search, t, TN_BANKS_ONE_WORD);
    }
}
