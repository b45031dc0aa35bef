#include "kernel/tiling.h"

#include "base/checked.h"

typedef struct {
    const tn_product_size *product;
    const bool *off_chip;
    uint64_t capacity, least; /* least: moved elements so far */
    tn_tiling *best;
    bool found;
} search;

/* False where a count leaves 64 bits. */
static bool measure(const search *state, uint64_t m, uint64_t n, bool rows_outside, tn_tiling *made) {
    const tn_product_size *p = state->product;
    uint64_t row_tiles = tn_ceil_div(p->rows, m), column_tiles = tn_ceil_div(p->columns, n);
    uint64_t left_times = rows_outside || m == p->rows ? 1 : column_tiles,
             right_times = !rows_outside || n == p->columns ? 1 : row_tiles;
    const uint64_t size[TN_TILED_OPERANDS][2] = {
        {p->rows, p->reduction}, {p->reduction, p->columns}, {p->rows, p->columns}};
    const uint64_t tile[TN_TILED_OPERANDS][2] = {{m, p->reduction}, {p->reduction, n}, {m, n}};
    const uint64_t times[TN_TILED_OPERANDS] = {left_times, right_times, 1};
    const uint64_t counted[] = {p->batch, row_tiles, column_tiles};
    *made = (tn_tiling){.rows = m, .columns = n};
    if (!tn_product(counted, 3, &made->tiles)) return false;
    for (int i = 0; i < TN_TILED_OPERANDS; i++) {
        const uint64_t factor[] = {p->batch, size[i][0], size[i][1], times[i]};
        if (!state->off_chip[i]) continue;
        if (!tn_mul(tile[i][0], tile[i][1], &made->staged[i]) || !tn_product(factor, 4, &made->moved[i]))
            return false;
    }
    return true;
}

static bool holds(const search *state, const tn_tiling *tiling) {
    for (int i = 0; i < TN_TILED_OPERANDS; i++)
        if (tiling->staged[i] > state->capacity) return false;
    return true;
}

bool tn_tiling_moved(const tn_tiling *tiling, uint64_t *elements) {
    *elements = 0;
    for (int i = 0; i < TN_TILED_OPERANDS; i++)
        if (!tn_add(*elements, tiling->moved[i], elements)) return false;
    return true;
}

static void offer(search *state, uint64_t m, uint64_t n) {
    for (int outside = 1; outside >= 0; outside--) {
        tn_tiling made;
        uint64_t moved;
        if (!measure(state, m, n, outside, &made)) continue;
        if (!holds(state, &made) && (m > 1 || n > 1)) continue;
        if (!tn_tiling_moved(&made, &moved) ||
            (state->found &&
             (moved > state->least || (moved == state->least && made.tiles >= state->best->tiles))))
            continue;
        state->found = true;
        state->least = moved;
        *state->best = made;
    }
}

/* The next edge after `edge`: twice, at most the whole; 0 after the whole. */
static uint64_t next_edge(uint64_t edge, uint64_t whole) {
    if (edge == whole) return 0;
    return edge > whole / 2 ? whole : 2 * edge;
}

tn_status tn_tiling_find(const tn_product_size *product, const bool off_chip[TN_TILED_OPERANDS],
                         uint64_t capacity, tn_tiling *tiling, tn_error *error) {
    search state = {.product = product, .off_chip = off_chip, .capacity = capacity, .best = tiling};
    for (uint64_t m = 1; m; m = next_edge(m, product->rows))
        for (uint64_t n = 1; n; n = next_edge(n, product->columns)) offer(&state, m, n);
    return state.found ? TN_OK
                       : tn_fail(error, TN_OVERFLOW, "the tiles of an off-chip product do not fit 64 bits");
}

tn_status tn_operation_tiling(const tn_operation *operation, const bool *off_chip, uint64_t tile_elements,
                              tn_tiling *tiling, tn_error *error) {
    *tiling = (tn_tiling){0};
    if (operation->kind != TN_OP_PRODUCT || tile_elements == 0) return TN_OK;
    const bool off[TN_TILED_OPERANDS] = {off_chip[operation->reads[0]], off_chip[operation->reads[1]],
                                         off_chip[operation->writes[0]]};
    const tn_product_size size = {operation->batch, operation->rows, operation->reduction,
                                  operation->columns};
    if (!off[TN_TILED_LEFT] && !off[TN_TILED_RIGHT] && !off[TN_TILED_RESULT]) return TN_OK;
    return tn_tiling_find(&size, off, tile_elements, tiling, error);
}
