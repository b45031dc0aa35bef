#include "knapsack/partial_allocations.h"

#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 4, BLOCK = 64, BLOCKS_SCANNED = 16 };

tn_status tn_partial_allocations_new(tn_partial_allocations *front, size_t costs, size_t limit,
                                     tn_error *error) {
    *front = (tn_partial_allocations){
        .costs = costs, .limit = limit, .capacity = BUFFER * limit, .dropped = INFINITY};
    TN_TRY(TN_ALLOC(front->capacity, &front->state, error));
    size_t blocks = front->capacity / BLOCK + 1;
    return TN_ALLOC(blocks * BLOCK * (costs + 1), &front->least, error);
}

void tn_partial_allocations_clear(tn_partial_allocations *front) {
    front->count = 0;
    front->dropped = INFINITY;
}

void tn_partial_allocations_free(tn_partial_allocations *front) {
    tn_free(front->state);
    tn_free(front->least);
    *front = (tn_partial_allocations){0};
}

static int compare(double a, double b) {
    return (a > b) - (a < b);
}

static int by_origin(const tn_partial_allocation *x, const tn_partial_allocation *y) {
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
    return (x->choice > y->choice) - (x->choice < y->choice);
}

/* Unused costs are 0 in every state. */
static int by_amounts(const void *a, const void *b) {
    const tn_partial_allocation *x = a, *y = b;
    int order = compare(x->objective, y->objective);
    for (size_t k = 0; k < TN_COSTS_MOST && order == 0; k++) order = compare(x->cost[k], y->cost[k]);
    return order ? order : by_origin(x, y);
}

static int by_bound(const void *a, const void *b) {
    const tn_partial_allocation *x = a, *y = b;
    int order = compare(x->bound, y->bound);
    return order ? order : by_amounts(a, b);
}

/* The dominated are found in rising order of the objective, so a state is dominated where one of those kept
 * before has no greater costs. One cost: the least so far decides. */
static bool below_least(tn_partial_allocations *front, const tn_partial_allocation *state) {
    if (front->count > 0 && state->cost[0] >= front->least[0]) return true;
    front->least[0] = state->cost[0];
    return false;
}

/* Two costs: the kept ones that matter form a staircase, first cost rising, second falling. Its steps are
 * pairs in `least`. */
static bool below_stairs(tn_partial_allocations *front, const tn_partial_allocation *state) {
    double *stair = front->least;
    size_t low = 0, high = front->stairs; /* the first step whose first cost is greater */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (stair[2 * middle] > state->cost[0])
            high = middle;
        else
            low = middle + 1;
    }
    if (low > 0 && stair[2 * low - 1] <= state->cost[1]) return true;
    size_t begin = low > 0 && stair[2 * low - 2] == state->cost[0] ? low - 1 : low, end = begin;
    while (end < front->stairs && stair[2 * end + 1] >= state->cost[1])
        end++; /* steps that it makes useless */
    memmove(stair + 2 * (begin + 1), stair + 2 * end, (front->stairs - end) * 2 * sizeof *stair);
    front->stairs += 1 + begin - end;
    stair[2 * begin] = state->cost[0];
    stair[2 * begin + 1] = state->cost[1];
    return false;
}

/* More costs: the latest blocks of kept states are scanned, cost by cost. To look no farther keeps some
 * dominated states, which costs time but loses nothing. `least` holds blocks of BLOCK values per cost. */
static bool below_blocks(tn_partial_allocations *front, const tn_partial_allocation *state) {
    size_t costs = front->costs, blocks = (front->count + BLOCK - 1) / BLOCK;
    size_t first = blocks > BLOCKS_SCANNED ? blocks - BLOCKS_SCANNED : 0;
    for (size_t b = blocks; b-- > first;) {
        size_t size = b + 1 < blocks ? BLOCK : front->count - b * BLOCK;
        const double *least = front->least + b * BLOCK * costs;
        unsigned char covers[BLOCK];
        int any = 0;
        for (size_t i = 0; i < size; i++) covers[i] = least[i] <= state->cost[0];
        for (size_t k = 1; k < costs; k++)
            for (size_t i = 0; i < size; i++) covers[i] &= least[k * BLOCK + i] <= state->cost[k];
        for (size_t i = 0; i < size; i++) any |= covers[i];
        if (any) return true;
    }
    double *place = front->least + front->count / BLOCK * BLOCK * costs + front->count % BLOCK;
    for (size_t k = 0; k < costs; k++) place[k * BLOCK] = state->cost[k];
    return false;
}

static bool is_dominated(tn_partial_allocations *front, const tn_partial_allocation *state) {
    switch (front->costs) {
    case 0:
        return front->count > 0;
    case 1:
        return below_least(front, state);
    case 2:
        return below_stairs(front, state);
    default:
        return below_blocks(front, state);
    }
}

static void drop_dominated(tn_partial_allocations *front) {
    size_t count = front->count;
    qsort(front->state, count, sizeof *front->state, by_amounts);
    front->count = front->stairs = 0;
    for (size_t i = 0; i < count; i++) {
        tn_partial_allocation state = front->state[i];
        if (!is_dominated(front, &state)) front->state[front->count++] = state;
    }
}

void tn_partial_allocations_settle(tn_partial_allocations *front) {
    drop_dominated(front);
    if (front->count <= front->limit) return;
    qsort(front->state, front->count, sizeof *front->state, by_bound);
    front->dropped = fmin(front->dropped, front->state[front->limit].bound);
    front->count = front->limit;
}

tn_status tn_partial_allocations_add(tn_partial_allocations *front, const tn_partial_allocation *state,
                                     tn_error *error) {
    if (front->count == front->capacity) tn_partial_allocations_settle(front);
    if (front->count > UINT32_MAX - 1) return tn_fail(error, TN_LIMIT, "too many partial allocations");
    front->state[front->count++] = *state;
    return TN_OK;
}

tn_status tn_allocation_trail_new(tn_allocation_trail *trail, size_t layers, tn_error *error) {
    return TN_ALLOC(layers, &trail->layer, error);
}

tn_status tn_allocation_trail_keep(tn_allocation_trail *trail, size_t layer,
                                   const tn_partial_allocations *front, tn_error *error) {
    struct tn_allocation_steps *steps = &trail->layer[layer];
    TN_TRY(TN_ALLOC(front->count, &steps->parent, error));
    TN_TRY(TN_ALLOC(front->count, &steps->choice, error));
    for (size_t i = 0; i < front->count; i++) {
        steps->parent[i] = front->state[i].parent;
        steps->choice[i] = front->state[i].choice;
    }
    return TN_OK;
}

void tn_allocation_trail_follow(const tn_allocation_trail *trail, size_t layers, size_t last,
                                size_t *choice) {
    for (size_t l = layers; l-- > 0;) {
        choice[l] = trail->layer[l].choice[last];
        last = trail->layer[l].parent[last];
    }
}

void tn_allocation_trail_free(tn_allocation_trail *trail, size_t layers) {
    for (size_t l = 0; trail->layer && l < layers; l++) {
        tn_free(trail->layer[l].parent);
        tn_free(trail->layer[l].choice);
    }
    tn_free(trail->layer);
    *trail = (tn_allocation_trail){0};
}
