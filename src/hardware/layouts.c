#include "hardware/layouts.h"

#include "base/checked.h"

#include <string.h>

enum { ROWS, COLUMNS, REDUCTION, GROUPS };
enum { LEFT, RIGHT, RESULT, SIDES };
enum { STARTS = 8, PASSES_MOST = 8, CUTS_MOST = 40, WORD_AXES = 3 };

/* How a tensor's memory gives its words. OPEN: not decided yet, so nothing is in its way. */
typedef enum { OPEN, ONE_WORD, ROW_BANKS, FULL_SKEW } bank_kind;

/* Ways to cut a group, and the one that is taken. */
typedef struct {
    uint32_t count, taken;
    tn_group_cut cut[CUTS_MOST];
} group;

typedef struct {
    uint32_t tensor[SIDES];
    uint64_t batch, cost;
    group group[GROUPS];
} product;

typedef struct {
    uint32_t axes, axis[TN_LAYOUT_AXES];
    uint32_t least_log, word_log; /* of the largest block that a use may ask for; of the word as it lies */
    bool fixed;
    bank_kind kind;
    uint32_t row_index, bank_log; /* row banks */
    uint32_t uses, *use;          /* products, each once */
} tensor;

typedef struct {
    const tn_program *program;
    uint64_t edge[GROUPS];
    uint32_t indices, tensors, products;
    const uint64_t *size; /* [indices] */
    tensor *tensor;
    product *product;
    uint8_t *log; /* [tensors * indices]: of the word's edge along the index */
    bank_kind wanted;
    uint32_t widest_log; /* of any tensor's block: no word is wider */
} search;

const char *const tn_banking_names[] = {"word", "rows", "skew", "auto", NULL};

static uint64_t lesser(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t greater(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

uint64_t tn_power_above(uint64_t value) {
    uint64_t power = 1;
    while (power < value) power <<= 1;
    return power;
}

static uint32_t log_of(uint64_t power) {
    uint32_t log = 0;
    while ((uint64_t)1 << log < power) log++;
    return log;
}

/* ---- cycles of an issue ---- */

/* Words that the worst of an axis' blocks touches, where neither block nor word is a multiple of the other. */
static uint64_t worst_of_blocks(uint64_t size, uint64_t block, uint32_t log) {
    uint64_t most = 1, period = block << log; /* after which blocks lie in words as before */
    for (uint64_t from = 0; from < size && from < period; from += block) {
        uint64_t words = ((lesser(from + block, size) - 1) >> log) - (from >> log) + 1;
        most = greater(most, words);
    }
    return most;
}

/* Words that `edge` consecutive values of an index touch at most, starting at a multiple of `edge`. A fixed
 * activation is not padded within a row, so a row may start at any multiple of its odd part in a word. */
static uint64_t words_along(const search *with, uint32_t t, uint32_t index, uint64_t edge) {
    uint64_t size = with->size[index], block = lesser(edge, size);
    uint32_t log = with->log[t * with->indices + index];
    uint64_t word = (uint64_t)1 << log, aligned = lesser(block & (~block + 1), word);
    if (with->tensor[t].fixed) {
        aligned = lesser(aligned, size & (~size + 1));
        return ((block - 1 + word - aligned) >> log) + 1;
    }
    if (block == size || aligned == lesser(block, word)) return ((block - 1) >> log) + 1;
    return worst_of_blocks(size, block, log);
}

static uint64_t words_of(const search *with, uint32_t t, const tn_group_cut *c) {
    uint64_t words = 1;
    for (uint32_t i = 0; i < c->indices; i++) words *= words_along(with, t, c->index[i], c->edge[i]);
    return words;
}

/* Word (u, v) of high x wide words lies in bank u + v. Whole rounds of banks fill all alike; of what is left,
 * less than a round each way, a bank has at most one word of every row and of every column. */
static uint64_t fullest_of_rows(uint64_t high, uint64_t wide, uint64_t banks) {
    uint64_t left = high % banks;
    return high / banks * wide + wide / banks * left + lesser(left, wide % banks);
}

/* Two indices that one group cuts move along the same banks: the shorter edge takes turns. */
static uint64_t turns_of(const search *with, uint32_t t, const tn_group_cut *c) {
    if (c->indices < 2) return 1;
    return lesser(words_along(with, t, c->index[0], c->edge[0]),
                  words_along(with, t, c->index[1], c->edge[1]));
}

static uint64_t access_cycles(const search *with, uint32_t t, const tn_group_cut *a, const tn_group_cut *b) {
    const tensor *of = &with->tensor[t];
    if (of->kind == OPEN) return 1;
    uint64_t turns = turns_of(with, t, a) * turns_of(with, t, b);
    if (of->kind == FULL_SKEW) return turns;
    uint64_t high = words_of(with, t, a), wide = words_of(with, t, b);
    if (of->kind == ONE_WORD) return high * wide;
    return turns * fullest_of_rows(high / turns_of(with, t, a), wide / turns_of(with, t, b),
                                   (uint64_t)1 << of->bank_log);
}

static uint64_t read_cycles(const search *with, const product *p, const tn_group_cut *const *c) {
    return greater(access_cycles(with, p->tensor[LEFT], c[ROWS], c[REDUCTION]),
                   access_cycles(with, p->tensor[RIGHT], c[REDUCTION], c[COLUMNS]));
}

static uint64_t write_cycles(const search *with, const product *p, const tn_group_cut *const *c) {
    return access_cycles(with, p->tensor[RESULT], c[ROWS], c[COLUMNS]);
}

static void take_cuts(const product *p, const tn_group_cut **c) {
    for (int g = 0; g < GROUPS; g++) c[g] = &p->group[g].cut[p->group[g].taken];
}

/* Cycles of the issues, and of the tiles: a finished tile is written while the next ones are computed. */
static uint64_t reading_cycles(const search *with, const product *p, const tn_group_cut *const *c) {
    return p->batch * c[ROWS]->blocks * c[COLUMNS]->blocks * c[REDUCTION]->blocks * read_cycles(with, p, c);
}

static uint64_t tile_cycles(const search *with, const product *p, const tn_group_cut *const *c) {
    return greater(reading_cycles(with, p, c),
                   p->batch * c[ROWS]->blocks * c[COLUMNS]->blocks * write_cycles(with, p, c));
}

/* What the search makes least: both, as issues also move words and cannot be hidden behind anything. Stops
 * counting where it is not below `most`. */
static uint64_t cost_of(const search *with, const product *p, const tn_group_cut *const *c, uint64_t most) {
    uint64_t issues = p->batch * c[ROWS]->blocks * c[COLUMNS]->blocks * c[REDUCTION]->blocks;
    if (2 * issues >= most) return most;
    uint64_t reading = issues * read_cycles(with, p, c);
    if (2 * reading >= most) return most;
    return reading + greater(reading, issues / c[REDUCTION]->blocks * write_cycles(with, p, c));
}

/* Cuts the product where it costs least as the words lie now. */
static uint64_t best_cuts(const search *with, const product *p, uint32_t *taken) {
    uint64_t best = UINT64_MAX;
    const tn_group_cut *c[GROUPS];
    for (uint32_t i = 0; i < p->group[ROWS].count; i++)
        for (uint32_t j = 0; j < p->group[COLUMNS].count; j++)
            for (uint32_t k = 0; k < p->group[REDUCTION].count; k++) {
                c[ROWS] = &p->group[ROWS].cut[i];
                c[COLUMNS] = &p->group[COLUMNS].cut[j];
                c[REDUCTION] = &p->group[REDUCTION].cut[k];
                uint64_t cost = cost_of(with, p, c, best);
                if (cost >= best) continue;
                best = cost;
                taken[ROWS] = i;
                taken[COLUMNS] = j;
                taken[REDUCTION] = k;
            }
    return best;
}

static void cut_product(search *with, product *p) {
    uint32_t taken[GROUPS] = {0};
    p->cost = best_cuts(with, p, taken);
    for (int g = 0; g < GROUPS; g++) p->group[g].taken = taken[g];
}

static uint64_t cost_of_all(const search *with) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < with->products; i++) sum += with->product[i].cost;
    return sum;
}

static void sum_cycles(const search *with, uint64_t *reading, uint64_t *tiles) {
    *reading = *tiles = 0;
    for (uint32_t i = 0; i < with->products; i++) {
        const tn_group_cut *c[GROUPS];
        take_cuts(&with->product[i], c);
        *reading += reading_cycles(with, &with->product[i], c);
        *tiles += tile_cycles(with, &with->product[i], c);
    }
}

/* ---- words of a tensor ---- */

/* A word: edges 2^log along a few indices. */
typedef struct {
    uint64_t cost, words;
    uint32_t axes, index[WORD_AXES], log[WORD_AXES], word_log;
} word;

static uint64_t count_words(const search *with, uint32_t t) {
    const tensor *of = &with->tensor[t];
    uint64_t words = 1;
    for (uint32_t i = 0; i < of->axes; i++)
        words *= ((with->size[of->axis[i]] - 1) >> with->log[t * with->indices + of->axis[i]]) + 1;
    return words;
}

static void set_word(search *with, uint32_t t, const word *w) {
    uint8_t *log = with->log + t * with->indices;
    memset(log, 0, with->indices);
    for (uint32_t i = 0; i < w->axes; i++) log[w->index[i]] = (uint8_t)w->log[i];
}

/* Least cost, then the narrowest word, then the fewest words. */
static bool is_better(const word *a, const word *b) {
    if (a->cost != b->cost) return a->cost < b->cost;
    if (a->word_log != b->word_log) return a->word_log < b->word_log;
    return a->words < b->words;
}

/* What the tensor's products cost with the word, each cut as suits it best. */
static void consider(search *with, uint32_t t, word w, word *best) {
    const tensor *of = &with->tensor[t];
    uint32_t taken[GROUPS];
    set_word(with, t, &w);
    w.cost = 0;
    for (uint32_t i = 0; i < of->uses && w.cost <= best->cost; i++)
        w.cost += best_cuts(with, &with->product[of->use[i]], taken);
    w.words = count_words(with, t);
    if (is_better(&w, best)) *best = w;
}

/* No power of two beyond the first that covers the axis. */
static bool has_room(const search *with, uint32_t index, uint32_t log) {
    return log == 0 || (uint64_t)1 << (log - 1) < with->size[index];
}

/* Every box of 2^left more elements along the axes from `from` on. */
static void try_boxes(search *with, uint32_t t, uint32_t from, uint32_t left, word *w, word *best) {
    const tensor *of = &with->tensor[t];
    if (left == 0) consider(with, t, *w, best);
    if (left == 0 || w->axes == WORD_AXES) return;
    uint32_t at = w->axes++;
    for (uint32_t i = from; i < of->axes; i++)
        for (uint32_t log = 1; log <= left && has_room(with, of->axis[i], log); log++) {
            w->index[at] = of->axis[i];
            w->log[at] = log;
            try_boxes(with, t, i + 1, left - log, w, best);
        }
    w->axes = at;
}

/* One wide word: as wide as the tensor's own blocks, or wider, up to what other tensors need anyway. */
static void choose_word(search *with, uint32_t t, word *best) {
    for (uint32_t log = with->tensor[t].least_log; log <= with->widest_log; log++) {
        word w = {.word_log = log};
        try_boxes(with, t, 0, log, &w, best);
    }
}

/* Rows of every length along every axis. */
static void choose_rows(search *with, uint32_t t, word *best) {
    tensor *of = &with->tensor[t];
    for (uint32_t i = 0; i < of->axes; i++)
        for (uint32_t log = 0; log <= of->least_log && has_room(with, of->axis[i], log); log++) {
            of->bank_log = of->least_log - log;
            consider(with, t,
                     (word){.axes = 1, .index = {of->axis[i]}, .log = {log}, .word_log = of->least_log},
                     best);
        }
}

static void lay(search *with, uint32_t t, bank_kind kind) {
    tensor *of = &with->tensor[t];
    word best = {.cost = UINT64_MAX, .word_log = of->least_log};
    of->kind = kind;
    if (kind == FULL_SKEW) memset(with->log + t * with->indices, 0, with->indices);
    if (!of->fixed) {
        if (kind == ONE_WORD) choose_word(with, t, &best);
        if (kind == ROW_BANKS) choose_rows(with, t, &best);
        if (kind != FULL_SKEW) set_word(with, t, &best);
        of->word_log = best.word_log;
        of->row_index = best.index[0];
    }
    of->bank_log = kind == ROW_BANKS && !of->fixed ? best.word_log - best.log[0] : 0;
    for (uint32_t i = 0; i < of->uses; i++) cut_product(with, &with->product[of->use[i]]);
}

/* ---- the descent ---- */

static uint32_t common_factor(uint32_t a, uint32_t b) {
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The i-th tensor of a start: forwards, backwards, then by strides that visit all. */
static uint32_t nth(const search *with, uint32_t start, uint32_t i) {
    uint32_t n = with->tensors, stride = 2 * start + 1;
    if (start == 0) return i;
    if (start == 1) return n - 1 - i;
    while (common_factor(n, stride) != 1) stride++;
    return i * stride % n;
}

static void open_all(search *with) {
    for (uint32_t t = 0; t < with->tensors; t++)
        with->tensor[t].kind = with->tensor[t].fixed && with->wanted == ONE_WORD ? ONE_WORD : OPEN;
    for (uint32_t i = 0; i < with->products; i++) cut_product(with, &with->product[i]);
}

static uint64_t descend(search *with, uint32_t start) {
    uint64_t before, cost = UINT64_MAX;
    open_all(with);
    for (int pass = 0; pass < PASSES_MOST; pass++) {
        before = cost;
        for (uint32_t i = 0; i < with->tensors; i++) lay(with, nth(with, start, i), with->wanted);
        cost = cost_of_all(with);
        if (cost >= before) break;
    }
    return cost;
}

/* Descends anew from the best start, so that only its number is kept. */
static void search_words(search *with, uint64_t bound) {
    uint64_t best = UINT64_MAX;
    uint32_t best_start = 0, last = 0;
    for (uint32_t start = 0; start < STARTS && best > bound; start++) {
        uint64_t cost = descend(with, last = start);
        if (cost >= best) continue;
        best = cost;
        best_start = start;
    }
    if (last != best_start) descend(with, best_start);
}

/* An access to the tensor takes more than a cycle as its users cut it. */
static bool is_slow(const search *with, uint32_t t) {
    for (uint32_t i = 0; i < with->tensor[t].uses; i++) {
        const product *p = &with->product[with->tensor[t].use[i]];
        const tn_group_cut *c[GROUPS];
        take_cuts(p, c);
        if (p->tensor[LEFT] == t && access_cycles(with, t, c[ROWS], c[REDUCTION]) > 1) return true;
        if (p->tensor[RIGHT] == t && access_cycles(with, t, c[REDUCTION], c[COLUMNS]) > 1) return true;
        if (p->tensor[RESULT] == t && write_cycles(with, p, c) > 1) return true;
    }
    return false;
}

/* Rows of banks where one wide word is too slow, the full skew where they are too, and neither where it does not
 * help. */
static void add_banks(search *with) {
    for (uint32_t t = 0; t < with->tensors; t++) {
        if (!is_slow(with, t)) continue;
        uint64_t before = cost_of_all(with);
        if (!with->tensor[t].fixed) lay(with, t, ROW_BANKS);
        if (is_slow(with, t)) lay(with, t, FULL_SKEW);
        if (cost_of_all(with) >= before && !with->tensor[t].fixed) lay(with, t, ONE_WORD);
    }
}

/* ---- the problem of a program ---- */

static bool contains(const tn_program_tensor *of, uint32_t index) {
    for (uint32_t i = 0; i < of->indices.count; i++)
        if (of->indices.index[i] == index) return true;
    return false;
}

static bool is_activation(tn_role role) {
    return role == TN_ROLE_X || role == TN_ROLE_Y || role == TN_ROLE_DX || role == TN_ROLE_DY;
}

static tn_status read_tensor(search *with, uint32_t t, const tn_activation_word *activations,
                             tn_error *error) {
    const tn_program_tensor *from = &with->program->tensor[t];
    tensor *of = &with->tensor[t];
    for (uint32_t i = 0; i < from->indices.count; i++) {
        if (with->size[from->indices.index[i]] == 1) continue;
        if (of->axes == TN_LAYOUT_AXES)
            return tn_fail(error, TN_LIMIT, "a tensor has more than %d axes, too many to search a layout",
                           TN_LAYOUT_AXES);
        of->axis[of->axes++] = from->indices.index[i];
    }
    if (!is_activation(from->role) || !activations || from->indices.count < 2) return TN_OK;
    uint8_t *log = with->log + t * with->indices;
    of->fixed = true;
    log[from->indices.index[0]] = (uint8_t)log_of(activations->tokens);
    log[from->indices.index[from->indices.count - 1]] = (uint8_t)log_of(activations->features);
    of->word_log = of->least_log = log_of(activations->tokens * activations->features);
    return TN_OK;
}

/* The indices of a group, and how it may be cut: along one index, or along two where that gives fewer blocks
 * than any one does. */
static void read_cuts(const search *with, const uint32_t *index, uint32_t indices, uint64_t edge, group *of) {
    uint64_t all = 1, least = UINT64_MAX;
    of->count = 0;
    for (uint32_t i = 0; i < indices; i++) all *= with->size[index[i]];
    if (indices == 0 || edge == 1) {
        of->cut[of->count++] = (tn_group_cut){.blocks = all};
        return;
    }
    for (uint32_t i = 0; i < indices; i++) {
        uint64_t size = with->size[index[i]], blocks = all / size * tn_ceil_div(size, edge);
        of->cut[of->count++] = (tn_group_cut){1, {index[i]}, {edge}, blocks};
        least = lesser(least, blocks);
    }
    for (uint32_t i = 0; i < indices; i++)
        for (uint32_t j = i + 1; j < indices; j++)
            for (uint64_t part = 2; part < edge && of->count < CUTS_MOST; part *= 2) {
                uint64_t a = with->size[index[i]], b = with->size[index[j]];
                uint64_t blocks = all / a / b * tn_ceil_div(a, part) * tn_ceil_div(b, edge / part);
                if (edge % part == 0 && blocks < least)
                    of->cut[of->count++] =
                        (tn_group_cut){2, {index[i], index[j]}, {part, edge / part}, blocks};
            }
}

static void read_product(search *with, uint32_t at) {
    const tn_program_step *step = &with->program->step[at];
    const tn_program_tensor *a = &with->program->tensor[step->a], *b = &with->program->tensor[step->b],
                            *out = &with->program->tensor[step->out];
    uint32_t index[GROUPS][TN_LAYOUT_AXES], count[GROUPS] = {0};
    product *p = &with->product[at];
    p->tensor[LEFT] = step->a;
    p->tensor[RIGHT] = step->b;
    p->tensor[RESULT] = step->out;
    p->batch = 1;
    for (uint32_t i = 0; i < a->indices.count; i++) {
        uint32_t x = a->indices.index[i];
        bool in_b = contains(b, x);
        if (in_b && contains(out, x))
            p->batch *= with->size[x];
        else if (with->size[x] > 1)
            index[in_b ? REDUCTION : ROWS][count[in_b ? REDUCTION : ROWS]++] = x;
    }
    for (uint32_t i = 0; i < b->indices.count; i++) {
        uint32_t x = b->indices.index[i];
        if (!contains(a, x) && with->size[x] > 1) index[COLUMNS][count[COLUMNS]++] = x;
    }
    for (int g = 0; g < GROUPS; g++) read_cuts(with, index[g], count[g], with->edge[g], &p->group[g]);
}

/* The largest block along a group, as a power of two. */
static uint64_t longest(const search *with, const group *of) {
    uint64_t most = 1;
    for (uint32_t i = 0; i < of->count; i++) {
        uint64_t block = 1;
        for (uint32_t k = 0; k < of->cut[i].indices; k++)
            block *= tn_power_above(lesser(of->cut[i].edge[k], with->size[of->cut[i].index[k]]));
        most = greater(most, block);
    }
    return most;
}

/* Gives the tensor room for a block of so many elements, if it has as many along a word's axes. */
static void widen(search *with, uint32_t t, uint64_t elements) {
    tensor *of = &with->tensor[t];
    uint32_t longest_log[WORD_AXES] = {0}, room = 0;
    for (uint32_t i = 0; i < of->axes; i++) {
        uint32_t log = log_of(with->size[of->axis[i]]);
        for (int k = 0; k < WORD_AXES; k++)
            if (log > longest_log[k]) {
                uint32_t kept = longest_log[k];
                longest_log[k] = log;
                log = kept;
            }
    }
    for (int k = 0; k < WORD_AXES; k++) room += longest_log[k];
    uint32_t log = log_of(elements) < room ? log_of(elements) : room;
    if (!of->fixed && log > of->least_log) of->least_log = log;
    if (of->least_log > with->widest_log) with->widest_log = of->least_log;
}

static tn_status list_uses(search *with, tn_arena *arena, tn_error *error) {
    for (uint32_t t = 0; t < with->tensors; t++) {
        tensor *of = &with->tensor[t];
        TN_TRY(tn_arena_alloc(arena, with->products, sizeof *of->use, &of->use, error));
        for (uint32_t i = 0; i < with->products; i++)
            for (int side = 0; side < SIDES; side++)
                if (with->product[i].tensor[side] == t && (of->uses == 0 || of->use[of->uses - 1] != i))
                    of->use[of->uses++] = i;
    }
    for (uint32_t i = 0; i < with->products; i++) {
        const product *p = &with->product[i];
        uint64_t rows = longest(with, &p->group[ROWS]), columns = longest(with, &p->group[COLUMNS]),
                 reduction = longest(with, &p->group[REDUCTION]);
        widen(with, p->tensor[LEFT], rows * reduction);
        widen(with, p->tensor[RIGHT], reduction * columns);
        widen(with, p->tensor[RESULT], rows * columns);
    }
    return TN_OK;
}

static tn_status read_program(search *with, const tn_activation_word *activations, tn_arena *arena,
                              tn_error *error) {
    TN_TRY(tn_arena_alloc(arena, with->tensors, sizeof *with->tensor, &with->tensor, error));
    TN_TRY(tn_arena_alloc(arena, with->products, sizeof *with->product, &with->product, error));
    TN_TRY(tn_arena_alloc(arena, (size_t)with->tensors * with->indices, 1, &with->log, error));
    for (uint32_t t = 0; t < with->tensors; t++) TN_TRY(read_tensor(with, t, activations, error));
    for (uint32_t i = 0; i < with->products; i++) read_product(with, i);
    return list_uses(with, arena, error);
}

/* ---- the answer ---- */

static void tell_tensor(const search *with, uint32_t t, tn_tensor_layout *out) {
    const tensor *of = &with->tensor[t];
    const uint64_t one = 1;
    uint64_t elements = 1;
    *out = (tn_tensor_layout){.axes = of->axes, .word_elements = one << of->word_log, .banks = 1};
    out->full_skew = of->kind == FULL_SKEW;
    if (of->kind == ROW_BANKS) out->banks = one << of->bank_log;
    if (of->kind == FULL_SKEW) out->banks = out->word_elements;
    for (uint32_t i = 0; i < of->axes; i++) {
        out->index[i] = of->axis[i];
        out->size[i] = with->size[of->axis[i]];
        out->edge[i] = one << with->log[t * with->indices + of->axis[i]];
        if (of->axis[i] == of->row_index) out->row_axis = i;
        elements *= out->size[i];
    }
    out->words = of->kind == FULL_SKEW || of->fixed ? tn_ceil_div(elements, out->word_elements)
                                                    : tn_ceil_div(count_words(with, t), out->banks);
}

static void tell_product(const search *with, const product *p, tn_product_layout *out) {
    const tn_group_cut *c[GROUPS];
    take_cuts(p, c);
    for (int g = 0; g < GROUPS; g++) out->cut[g] = *c[g];
    out->tiles = p->batch * c[ROWS]->blocks * c[COLUMNS]->blocks;
    out->terms = c[REDUCTION]->blocks;
    out->read_cycles = read_cycles(with, p, c);
    out->write_cycles = write_cycles(with, p, c);
}

static tn_status tell(const search *with, tn_arena *arena, tn_layouts *layouts, tn_error *error) {
    TN_TRY(tn_arena_alloc(arena, with->tensors, sizeof *layouts->tensor, &layouts->tensor, error));
    TN_TRY(tn_arena_alloc(arena, with->products, sizeof *layouts->product, &layouts->product, error));
    for (uint32_t t = 0; t < with->tensors; t++) tell_tensor(with, t, &layouts->tensor[t]);
    for (uint32_t i = 0; i < with->products; i++) tell_product(with, &with->product[i], &layouts->product[i]);
    return TN_OK;
}

tn_status tn_layouts_find(const tn_program *program, const tn_kernel_edges *edges, tn_banking banking,
                          const tn_activation_word *activations, tn_arena *arena, tn_layouts *layouts,
                          tn_error *error) {
    static const bank_kind kinds[] = {[TN_BANKING_SKEW] = FULL_SKEW,
                                      [TN_BANKING_WORD] = ONE_WORD,
                                      [TN_BANKING_ROWS] = ROW_BANKS,
                                      [TN_BANKING_AUTO] = ONE_WORD};
    search with = {.program = program,
                   .edge = {edges->rows, edges->columns, edges->reduction},
                   .indices = program->indices,
                   .tensors = program->tensors,
                   .products = program->steps,
                   .size = program->index_size};
    tn_arena scratch = {0};
    *layouts = (tn_layouts){.tensors = with.tensors, .products = with.products};
    tn_status status = read_program(&with, activations, &scratch, error);
    if (status == TN_OK) {
        open_all(&with);
        sum_cycles(&with, &layouts->bound_cycles, &layouts->cycles);
        with.wanted = kinds[banking];
        search_words(&with, 2 * layouts->bound_cycles);
        if (banking == TN_BANKING_AUTO) add_banks(&with);
        sum_cycles(&with, &layouts->issue_cycles, &layouts->cycles);
        layouts->exact = layouts->cycles == layouts->bound_cycles;
        status = tell(&with, arena, layouts, error);
    }
    tn_arena_free(&scratch);
    return status;
}
