#include "kernel/tiling.h"

#include "base/checked.h"

#include <string.h>

enum { LEFT_STAYS, RIGHT_STAYS, RESULT_STAYS, ORDERS };

typedef struct {
    const tn_product_size *product;
    const bool *off_chip;
    const tn_tile_limits *limits;
    uint64_t least; /* moved elements so far */
    tn_tiling *best;
    bool found;
} search;

/* How often the matrix rows x columns is moved in tiles, and what a pass over it takes. */
typedef struct {
    uint64_t rows, columns, tile_rows, tile_columns, times;
} tiled_matrix;

/* `lines` lines of so many elements. */
static bool add_lines(const tn_tile_limits *limits, uint64_t lines, uint64_t elements, uint64_t *moved,
                      uint64_t *bursts) {
    return tn_mul_add(lines, tn_ceil_div(elements, limits->access) * limits->access, moved) &&
           tn_mul_add(lines, tn_ceil_div(elements, limits->burst), bursts);
}

/* One pass over the matrix: tiles of whole rows are a line each, of others every row is one. */
static bool pass_over(const tn_tile_limits *limits, const tiled_matrix *matrix, uint64_t *moved,
                      uint64_t *bursts) {
    const bool whole = matrix->tile_columns == matrix->columns;
    const uint64_t size = whole ? matrix->rows : matrix->columns,
                   edge = whole ? matrix->tile_rows : matrix->tile_columns,
                   each = whole ? matrix->columns : 1, lines = whole ? 1 : matrix->rows,
                   full = (size - 1) / edge;
    uint64_t line, rest, count;
    *moved = *bursts = 0;
    return tn_mul(edge, each, &line) && tn_mul(size - full * edge, each, &rest) &&
           tn_mul(full, lines, &count) && add_lines(limits, count, line, moved, bursts) &&
           add_lines(limits, lines, rest, moved, bursts);
}

static bool measure_operand(const search *state, const tiled_matrix *matrix, int operand, tn_tiling *made) {
    uint64_t moved, bursts;
    const bool whole = matrix->tile_columns == matrix->columns;
    if (!tn_mul(matrix->tile_rows, matrix->tile_columns, &made->staged[operand]) ||
        !pass_over(state->limits, matrix, &moved, &bursts))
        return false;
    made->tile_bursts[operand] =
        whole ? tn_ceil_div(made->staged[operand], state->limits->burst)
              : matrix->tile_rows * tn_ceil_div(matrix->tile_columns, state->limits->burst);
    const uint64_t passes[] = {state->product->batch, matrix->times, moved},
                   requests[] = {state->product->batch, matrix->times, bursts};
    return tn_product(passes, 3, &made->moved[operand]) && tn_product(requests, 3, &made->bursts[operand]);
}

/* False where a count leaves 64 bits. */
static bool measure(const search *state, uint64_t m, uint64_t n, uint64_t k, int order, tn_tiling *made) {
    const tn_product_size *p = state->product;
    const uint64_t rows = tn_ceil_div(p->rows, m), columns = tn_ceil_div(p->columns, n),
                   terms = tn_ceil_div(p->reduction, k);
    const bool left_is_one = rows == 1 && terms == 1, right_is_one = columns == 1 && terms == 1,
               sums_stay = order == RESULT_STAYS || terms == 1 || (order == LEFT_STAYS ? columns : rows) == 1;
    const tiled_matrix matrix[TN_TILED_OPERANDS] = {
        {p->rows, p->reduction, m, k, order == LEFT_STAYS || left_is_one ? 1 : columns},
        {p->reduction, p->columns, k, n, order == RIGHT_STAYS || right_is_one ? 1 : rows},
        {p->rows, p->columns, m, n, sums_stay ? 1 : 2 * terms - 1}};
    const uint64_t counted[] = {p->batch, rows, columns, terms};
    *made = (tn_tiling){.rows = m, .columns = n, .reduction = k};
    if (!tn_product(counted, 4, &made->tiles)) return false;
    for (int i = 0; i < TN_TILED_OPERANDS; i++)
        if (state->off_chip[i] && !measure_operand(state, &matrix[i], i, made)) return false;
    return true;
}

bool tn_tiling_moved(const tn_tiling *tiling, uint64_t *elements) {
    *elements = 0;
    for (int i = 0; i < TN_TILED_OPERANDS; i++)
        if (!tn_add(*elements, tiling->moved[i], elements)) return false;
    return true;
}

static void offer(search *state, uint64_t m, uint64_t n, uint64_t k) {
    for (int order = 0; order < ORDERS; order++) {
        tn_tiling made;
        uint64_t moved;
        if (!measure(state, m, n, k, order, &made) || !tn_tiling_moved(&made, &moved)) continue;
        if (state->found &&
            (moved > state->least || (moved == state->least && made.tiles >= state->best->tiles)))
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

static bool fits(const search *state, int operand, uint64_t a, uint64_t b) {
    return !state->off_chip[operand] || a <= state->limits->capacity / b;
}

/* The fewest terms of a tile: a power of two that is no shorter than an access. */
static uint64_t least_terms(const search *state) {
    uint64_t terms = 1;
    while (terms < state->limits->access && terms < state->product->reduction)
        terms = next_edge(terms, state->product->reduction);
    return terms;
}

/* The most terms that fit beside so many rows and columns; 0: not even an access. */
static uint64_t most_terms(const search *state, uint64_t m, uint64_t n) {
    uint64_t most = 0;
    if (!fits(state, TN_TILED_RESULT, m, n)) return 0;
    for (uint64_t k = least_terms(state); k; k = next_edge(k, state->product->reduction))
        if (fits(state, TN_TILED_LEFT, m, k) && fits(state, TN_TILED_RIGHT, k, n)) most = k;
    return most;
}

tn_status tn_tiling_find(const tn_product_size *product, const bool off_chip[TN_TILED_OPERANDS],
                         const tn_tile_limits *limits, tn_tiling *tiling, tn_error *error) {
    search state = {.product = product, .off_chip = off_chip, .limits = limits, .best = tiling};
    for (uint64_t m = 1; m; m = next_edge(m, product->rows))
        for (uint64_t n = 1; n; n = next_edge(n, product->columns)) {
            const uint64_t k = most_terms(&state, m, n);
            if (k) offer(&state, m, n, k);
        }
    if (!state.found) offer(&state, 1, 1, least_terms(&state));
    return state.found ? TN_OK
                       : tn_fail(error, TN_OVERFLOW, "the tiles of an off-chip product do not fit 64 bits");
}

tn_status tn_operation_tiling(const tn_operation *operation, const bool *off_chip,
                              const tn_tile_limits *limits, tn_tiling *tiling, tn_error *error) {
    memset(tiling, 0, sizeof *tiling);
    if (operation->kind != TN_OP_PRODUCT || limits->capacity == 0) return TN_OK;
    const bool off[TN_TILED_OPERANDS] = {off_chip[operation->reads[0]], off_chip[operation->reads[1]],
                                         off_chip[operation->writes[0]]};
    const tn_product_size size = {operation->batch, operation->rows, operation->reduction,
                                  operation->columns};
    if (!off[TN_TILED_LEFT] && !off[TN_TILED_RIGHT] && !off[TN_TILED_RESULT]) return TN_OK;
    return tn_tiling_find(&size, off, limits, tiling, error);
}
