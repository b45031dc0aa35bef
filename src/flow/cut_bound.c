#include "flow/cut_bound.h"

#include "base/interrupt.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { OPEN_MOST = 20 };

typedef struct layout {
    uint32_t tensors;
    double *weight; /* [tensors][tensors]: log2 of the indices that two share */
    uint32_t *order, *best_order;
    uint32_t *left; /* [tensors]: neighbours still to come */
    bool *placed;
} layout;

static double weight_of(const layout *l, uint32_t a, uint32_t b) {
    return l->weight[(size_t)a * l->tensors + b];
}

static tn_status weigh(const tn_network *network, tn_arena *arena, layout *l, tn_error *error) {
    uint32_t n = network->tensors, *first;
    bool *bound;
    *l = (layout){.tensors = n};
    TN_TRY(tn_arena_alloc(arena, (size_t)n * n, sizeof *l->weight, &l->weight, error));
    TN_TRY(tn_arena_alloc(arena, n, sizeof *l->order, &l->order, error));
    TN_TRY(tn_arena_alloc(arena, n, sizeof *l->best_order, &l->best_order, error));
    TN_TRY(tn_arena_alloc(arena, n, sizeof *l->left, &l->left, error));
    TN_TRY(tn_arena_alloc(arena, n, sizeof *l->placed, &l->placed, error));
    TN_TRY(tn_arena_alloc(arena, network->indices, sizeof *first, &first, error));
    TN_TRY(tn_arena_alloc(arena, network->indices, sizeof *bound, &bound, error));
    for (uint32_t t = 0; t < n; t++)
        for (uint32_t i = 0; i < network->tensor[t].count; i++) {
            uint32_t index = network->tensor[t].index[i];
            if (!first[index]) {
                first[index] = t + 1;
            } else if (!bound[index]) {
                uint32_t other = first[index] - 1;
                double bits = log2((double)network->index_size[index]);
                l->weight[(size_t)t * n + other] += bits;
                l->weight[(size_t)other * n + t] += bits;
                bound[index] = true;
            }
        }
    return TN_OK;
}

/* How many more are open once `next` is placed. */
static int growth(const layout *l, uint32_t next) {
    int grown = l->left[next] > 0;
    for (uint32_t u = 0; u < l->tensors; u++)
        if (l->placed[u] && l->left[u] == 1 && weight_of(l, next, u) > 0) grown--;
    return grown;
}

static void place(layout *l, uint32_t next) {
    l->placed[next] = true;
    for (uint32_t u = 0; u < l->tensors; u++)
        if (u != next && weight_of(l, next, u) > 0) l->left[u]--;
}

/* From `start`, always the tensor that opens least; the most that are open at once. */
static int lay_out(layout *l, uint32_t start) {
    int open = 0, most = 0;
    memset(l->placed, 0, l->tensors * sizeof *l->placed);
    memset(l->left, 0, l->tensors * sizeof *l->left);
    for (uint32_t t = 0; t < l->tensors; t++)
        for (uint32_t u = 0; u < l->tensors; u++) l->left[t] += weight_of(l, t, u) > 0;
    for (uint32_t i = 0; i < l->tensors; i++) {
        uint32_t next = start;
        int least = 2;
        for (uint32_t t = 0; i > 0 && t < l->tensors; t++) {
            int grown = l->placed[t] ? 2 : growth(l, t);
            if (grown >= least) continue;
            least = grown;
            next = t;
        }
        open += growth(l, next);
        if (open > most) most = open;
        place(l, next);
        l->order[i] = next;
    }
    return most;
}

/* Tries at most 16 starts, spread over the tensors. */
static void find_order(layout *l) {
    int least = (int)l->tensors + 1;
    uint32_t stride = l->tensors / 16 + 1;
    for (uint32_t start = 0; start < l->tensors; start += stride) {
        int most = lay_out(l, start);
        if (most >= least) continue;
        least = most;
        memcpy(l->best_order, l->order, l->tensors * sizeof *l->order);
    }
}

/* The least cut by sides of the open tensors (a bit each) and by how many tensors are on side 1. */
typedef struct table {
    uint32_t open, tensor[OPEN_MOST + 1];
    uint32_t counts; /* tensors + 1 */
    double *cut;     /* [2^open][counts] */
} table;

/* Takes the place of the last: each side of the others keeps the better one. */
static void close_tensor(table *t, uint32_t at) {
    size_t low = (size_t)1 << at, half = (size_t)1 << (t->open - 1);
    for (size_t to = 0; to < half; to++) {
        size_t zero = (to & (low - 1)) | (to & ~(low - 1)) << 1;
        const double *a = t->cut + zero * t->counts, *b = t->cut + (zero | low) * t->counts;
        double *best = t->cut + to * t->counts;
        for (uint32_t k = 0; k < t->counts; k++) best[k] = fmin(a[k], b[k]);
    }
    t->open--;
    memmove(&t->tensor[at], &t->tensor[at + 1], (t->open - at) * sizeof *t->tensor);
}

static void open_tensor(table *t, const layout *l, uint32_t next) {
    size_t sides = (size_t)1 << t->open;
    double all = 0, bits[OPEN_MOST + 1];
    for (uint32_t j = 0; j < t->open; j++) all += bits[j] = weight_of(l, next, t->tensor[j]);
    for (size_t side = 0; side < sides; side++) {
        const double *from = t->cut + side * t->counts;
        double *one = t->cut + (side + sides) * t->counts, ones = 0;
        for (uint32_t j = 0; j < t->open; j++) ones += side >> j & 1 ? bits[j] : 0;
        one[0] = INFINITY;
        for (uint32_t k = 1; k < t->counts; k++) one[k] = from[k - 1] + (all - ones);
        for (uint32_t k = 0; k < t->counts; k++) t->cut[side * t->counts + k] += ones;
    }
    t->tensor[t->open++] = next;
}

/* Of the open tensors the one with the least bonds to what is not placed. */
static uint32_t least_bound(const table *t, const layout *l) {
    uint32_t best = 0;
    double least = INFINITY;
    for (uint32_t j = 0; j < t->open; j++) {
        double bits = 0;
        for (uint32_t u = 0; u < l->tensors; u++)
            if (!l->placed[u]) bits += weight_of(l, t->tensor[j], u);
        if (bits >= least) continue;
        least = bits;
        best = j;
    }
    return best;
}

tn_status tn_least_cuts(const tn_network *network, uint64_t states_most, tn_arena *arena, double *cut,
                        tn_error *error) {
    layout l;
    table t = {.counts = network->tensors + 1};
    uint32_t width = 1;
    while (width < OPEN_MOST && (uint64_t)2 << width <= states_most) width++;
    TN_TRY(weigh(network, arena, &l, error));
    find_order(&l);
    TN_TRY(tn_arena_alloc(arena, ((size_t)1 << width) * t.counts, sizeof *t.cut, &t.cut, error));
    for (uint32_t k = 1; k < t.counts; k++) t.cut[k] = INFINITY;
    memset(l.placed, 0, l.tensors * sizeof *l.placed);
    memset(l.left, 0, l.tensors * sizeof *l.left);
    for (uint32_t a = 0; a < l.tensors; a++)
        for (uint32_t b = 0; b < l.tensors; b++) l.left[a] += weight_of(&l, a, b) > 0;
    for (uint32_t i = 0; i < l.tensors && !tn_interrupted(); i++) {
        uint32_t next = l.best_order[i];
        if (t.open == width) close_tensor(&t, least_bound(&t, &l));
        open_tensor(&t, &l, next);
        place(&l, next);
        for (uint32_t j = t.open; j-- > 0;)
            if (l.left[t.tensor[j]] == 0) close_tensor(&t, j);
    }
    while (t.open) close_tensor(&t, t.open - 1);
    memcpy(cut, t.cut, t.counts * sizeof *cut);
    return TN_OK;
}

static double merge_least(const double *cut, uint32_t p, uint32_t q) {
    double bits = (cut[p] + cut[q] + cut[p - q]) / 2;
    return exp2(fmax(fmax(bits, cut[p]), fmax(cut[q], cut[p - q])));
}

tn_status tn_cut_bound(const tn_network *network, uint64_t work_most, tn_arena *arena, uint64_t *bound,
                       uint64_t *work, tn_error *error) {
    static const double rounding = 1e-9; /* many times that of the sums of logarithms */
    uint32_t n = network->tensors;
    double *cut, *macs;
    uint64_t states = work_most / ((uint64_t)n * n);
    *bound = 0;
    TN_TRY(tn_arena_alloc(arena, (size_t)n + 1, sizeof *cut, &cut, error));
    TN_TRY(tn_arena_alloc(arena, (size_t)n + 1, sizeof *macs, &macs, error));
    TN_TRY(tn_least_cuts(network, states < 2 ? 2 : states, arena, cut, error));
    *work += work_most;
    if (tn_interrupted()) return TN_OK;
    for (uint32_t p = 2; p <= n; p++) {
        macs[p] = INFINITY;
        for (uint32_t q = (p + 1) / 2; q < p; q++)
            macs[p] = fmin(macs[p], macs[q] + macs[p - q] + merge_least(cut, p, q));
    }
    double least = floor(macs[n] * (1 - rounding));
    *bound = least >= 0x1p63 ? (uint64_t)1 << 63 : (uint64_t)least;
    return TN_OK;
}
