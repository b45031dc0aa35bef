#include "flow/cut_bound.h"

#include "base/interrupt.h"
#include "flow/problem.h"

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
    TN_TRY(TN_NEW(arena, (size_t)n * n, &l->weight, error));
    TN_TRY(TN_NEW(arena, n, &l->order, error));
    TN_TRY(TN_NEW(arena, n, &l->best_order, error));
    TN_TRY(TN_NEW(arena, n, &l->left, error));
    TN_TRY(TN_NEW(arena, n, &l->placed, error));
    TN_TRY(TN_NEW(arena, network->indices, &first, error));
    TN_TRY(TN_NEW(arena, network->indices, &bound, error));
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
static void close_tensor(table *t, uint32_t index) {
    size_t low = (size_t)1 << index, half = (size_t)1 << (t->open - 1);
    for (size_t target = 0; target < half; target++) {
        size_t zero = (target & (low - 1)) | (target & ~(low - 1)) << 1;
        const double *a = t->cut + zero * t->counts, *b = t->cut + (zero | low) * t->counts;
        double *best = t->cut + target * t->counts;
        for (uint32_t k = 0; k < t->counts; k++) best[k] = fmin(a[k], b[k]);
    }
    t->open--;
    memmove(&t->tensor[index], &t->tensor[index + 1], (t->open - index) * sizeof *t->tensor);
}

static void open_tensor(table *t, const layout *l, uint32_t next) {
    size_t sides = (size_t)1 << t->open;
    double all = 0, bits[OPEN_MOST + 1];
    for (uint32_t j = 0; j < t->open; j++) all += bits[j] = weight_of(l, next, t->tensor[j]);
    for (size_t side = 0; side < sides; side++) {
        const double *source = t->cut + side * t->counts;
        double *one = t->cut + (side + sides) * t->counts, ones = 0;
        for (uint32_t j = 0; j < t->open; j++) ones += side >> j & 1 ? bits[j] : 0;
        one[0] = INFINITY;
        for (uint32_t k = 1; k < t->counts; k++) one[k] = source[k - 1] + (all - ones);
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
    TN_TRY(TN_NEW(arena, ((size_t)1 << width) * t.counts, &t.cut, error));
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

/* Many times the rounding of sums of logarithms; what it takes off a small integer the next integer up gives back. */
static const double ROUNDING = 1e-9;

/* Of what is an integer, and is `least` but for rounding or more. */
static double least_integer(double least) {
    return ceil(least * (1 - ROUNDING));
}

/* Rises with each of the three, in rounded arithmetic too. 2^63 stands for all that is more. */
static uint64_t least_merge(double x, double y, double z) {
    double least = least_integer(fmax(fmax(sqrt(x * y * z), x), fmax(y, z)));
    return least >= 0x1p63 ? (uint64_t)1 << 63 : (uint64_t)least;
}

static uint64_t least_within(const tn_cut_bound *bound, uint32_t p) {
    uint64_t least = UINT64_MAX;
    for (uint32_t q = (p + 1) / 2; q < p; q++) {
        uint64_t halves = tn_saturating_add(bound->within[q], bound->within[p - q]);
        uint64_t merge = least_merge(bound->cut[q], bound->cut[p - q], bound->cut[p]);
        uint64_t all = tn_saturating_add(halves, merge);
        if (all < least) least = all;
    }
    return least;
}

/* Outside of a tree of p tensors that makes so many elements. */
static uint64_t least_beside(const tn_cut_bound *bound, uint32_t p, double elements) {
    const uint32_t others = bound->tensors - p;
    uint64_t least = others ? UINT64_MAX : 0;
    for (uint32_t q = 1; q <= others; q++) {
        uint64_t after = tn_saturating_add(bound->within[q], bound->beside[p + q]);
        if (after >= least) continue;
        uint64_t all = tn_saturating_add(after, least_merge(elements, bound->cut[q], bound->cut[p + q]));
        if (all < least) least = all;
    }
    return least;
}

uint64_t tn_cut_bound_beside(const tn_cut_bound *bound, uint32_t tensors, uint64_t elements) {
    return least_beside(bound, tensors, (double)elements);
}

tn_status tn_cut_bound_of(const tn_network *network, uint64_t work_most, tn_arena *arena, tn_cut_bound *bound,
                          tn_error *error) {
    const uint32_t n = network->tensors;
    uint64_t states = work_most / ((uint64_t)n * n);
    *bound = (tn_cut_bound){.tensors = n};
    TN_TRY(tn_least_cuts(network, states < 2 ? 2 : states, arena, bound->cut, error));
    if (tn_interrupted()) {
        *bound = (tn_cut_bound){.tensors = n};
        return TN_OK;
    }
    for (uint32_t k = 0; k <= n; k++) bound->cut[k] = least_integer(exp2(bound->cut[k]));
    for (uint32_t k = 2; k <= n; k++) bound->within[k] = least_within(bound, k);
    for (uint32_t k = n - 1; k > 0; k--) bound->beside[k] = least_beside(bound, k, bound->cut[k]);
    return TN_OK;
}
