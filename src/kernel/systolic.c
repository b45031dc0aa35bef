#include "kernel/systolic.h"

#include "base/checked.h"

const char *const tn_dataflow_names[] = {
    "ws_serial",   "os_serial",   "ws_double_buffered", "os_overlapped",
    "scalesim_ws", "scalesim_os", "scalesim_is",        NULL,
};

/* How a product lies on the array: which sizes are cut into tiles along rows and columns and which one
 * streams through. */
typedef struct {
    uint64_t along_rows, along_columns, streamed;
} layout;

static layout lay_out(tn_dataflow dataflow, const tn_array_product *p) {
    switch (dataflow) {
    case TN_WS_SERIAL:
    case TN_WS_DOUBLE_BUFFERED:
    case TN_SCALESIM_WS:
        return (layout){p->k, p->n, p->m};
    case TN_OS_SERIAL:
    case TN_OS_OVERLAPPED:
    case TN_SCALESIM_OS:
        return (layout){p->m, p->n, p->k};
    case TN_SCALESIM_IS:
        return (layout){p->k, p->m, p->n};
    }
    return (layout){0};
}

/* Tiles and what is valid of the last ones; the count of tiles can't overflow within the limits. */
typedef struct {
    uint64_t rows, columns;           /* of the array */
    uint64_t row_tiles, column_tiles; /* how often the product covers it */
    uint64_t tiles;                   /* row_tiles * column_tiles */
    uint64_t last_rows, last_columns; /* valid ones of the last tile */
    uint64_t streamed;
} tiling;

static tn_status cut(const tn_systolic *array, layout lie, tiling *t, tn_error *error) {
    t->rows = array->rows;
    t->columns = array->columns;
    t->row_tiles = tn_ceil_div(lie.along_rows, t->rows);
    t->column_tiles = tn_ceil_div(lie.along_columns, t->columns);
    t->last_rows = lie.along_rows - (t->row_tiles - 1) * t->rows;
    t->last_columns = lie.along_columns - (t->column_tiles - 1) * t->columns;
    t->streamed = lie.streamed;
    if (!tn_mul(t->row_tiles, t->column_tiles, &t->tiles))
        return tn_fail(error, TN_OVERFLOW, "the product's tiles do not fit 64 bits; give it smaller sizes");
    return TN_OK;
}

/* *cycles = tiles * each + rest */
static bool serial(uint64_t tiles, uint64_t each, uint64_t rest, uint64_t *cycles) {
    *cycles = rest;
    return tn_mul_add(tiles, each, cycles);
}

/* Column tiles outermost, row tiles (the reduction) innermost. The last output is the last tile's, or, where
 * its column tile is narrow, that of the tile before the last column of tiles, at the array's full width. */
static bool ws_double_buffered(const tiling *t, uint64_t *cycles) {
    uint64_t period = tn_greatest(t->streamed, t->rows), own = t->streamed + t->rows - 1;
    if (!serial(t->tiles - 1, period, own + t->last_columns, cycles)) return false;
    if (t->column_tiles == 1) return true;
    uint64_t before;
    if (!serial(t->tiles - 1 - t->row_tiles, period, own + t->columns, &before)) return false;
    *cycles = tn_greatest(*cycles, before);
    return true;
}

/* Row tiles outermost, column tiles innermost. Tile t's sums leave from the start of tile t+1 on: row r,
 * column c of it 2r + c cycles later. Narrow last tiles finish early, so the last output is one of four: the
 * last tile's, its left neighbour's, and the same two of the row of tiles above. */
static bool os_overlapped(const tiling *t, uint64_t *cycles) {
    uint64_t period = tn_greatest(t->streamed, 2 * t->rows - 1);
    if (t->tiles == 1) {
        *cycles = t->streamed + 2 * t->last_rows + t->last_columns - 2;
        return true;
    }
    *cycles = 0;
    for (uint64_t up = 0; up < 2 && up < t->row_tiles; up++)
        for (uint64_t left = 0; left < 2 && left < t->column_tiles; left++) {
            uint64_t starts = t->tiles - up * t->column_tiles - left, end;
            uint64_t rows = up ? t->rows : t->last_rows, columns = left ? t->columns : t->last_columns;
            if (!serial(starts, period, 2 * rows + columns - 2, &end)) return false;
            *cycles = tn_greatest(*cycles, end);
        }
    return true;
}

static bool count(tn_dataflow dataflow, const tiling *t, uint64_t *cycles) {
    uint64_t skew = t->rows + t->columns - 2;
    bool fits = true;
    switch (dataflow) {
    case TN_WS_SERIAL:
        fits = serial(t->tiles, t->streamed + t->rows + skew, 0, cycles);
        *cycles -= t->columns - t->last_columns;
        return fits;
    case TN_OS_SERIAL:
        return serial(t->tiles, t->streamed + t->rows + skew, 0, cycles);
    case TN_WS_DOUBLE_BUFFERED:
        return ws_double_buffered(t, cycles);
    case TN_OS_OVERLAPPED:
        return os_overlapped(t, cycles);
    case TN_SCALESIM_OS:
        fits = serial(t->tiles, t->streamed + skew, 0, cycles);
        *cycles -= 1;
        return fits;
    case TN_SCALESIM_WS:
    case TN_SCALESIM_IS:
        fits = serial(t->tiles, t->streamed + t->rows + skew, 0, cycles);
        *cycles -= 1;
        return fits;
    }
    return false;
}

static tn_status check(const tn_systolic *array, const tn_array_product *p, tn_error *error) {
    const struct {
        const char *name;
        uint64_t value, most;
    } sizes[] = {
        {"rows", array->rows, TN_SYSTOLIC_MOST_EDGE}, {"cols", array->columns, TN_SYSTOLIC_MOST_EDGE},
        {"m", p->m, TN_SYSTOLIC_MOST_SIZE},           {"k", p->k, TN_SYSTOLIC_MOST_SIZE},
        {"n", p->n, TN_SYSTOLIC_MOST_SIZE},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value == 0 || sizes[i].value > sizes[i].most)
            return tn_fail(error, TN_INPUT, "%s = %llu on a systolic array; it is 1 to %llu", sizes[i].name,
                           (unsigned long long)sizes[i].value, (unsigned long long)sizes[i].most);
    return TN_OK;
}

tn_status tn_systolic_cycles(const tn_systolic *array, tn_dataflow dataflow, const tn_array_product *product,
                             tn_systolic_result *result, tn_error *error) {
    TN_TRY(check(array, product, error));
    tiling t;
    TN_TRY(cut(array, lay_out(dataflow, product), &t, error));
    uint64_t cycles;
    if (!count(dataflow, &t, &cycles))
        return tn_fail(error, TN_OVERFLOW, "the array's cycles do not fit 64 bits; give it smaller sizes");
    double macs = (double)product->m * (double)product->k * (double)product->n;
    *result = (tn_systolic_result){
        .cycles = cycles,
        .tiles = t.tiles,
        .utilisation = cycles ? macs / ((double)cycles * (double)array->rows * (double)array->columns) : 0,
    };
    return TN_OK;
}

static tn_status systolic_training_overflow(tn_error *error) {
    return tn_fail(error, TN_OVERFLOW,
                   "the cycles of the training passes do not fit 64 bits; give smaller sizes");
}

static tn_status product_cycles(const tn_systolic *array, tn_dataflow dataflow, uint64_t m, uint64_t k,
                                uint64_t n, uint64_t *cycles, tn_error *error) {
    tn_systolic_result result;
    const tn_array_product product = {m, k, n};
    TN_TRY(tn_systolic_cycles(array, dataflow, &product, &result, error));
    *cycles = result.cycles;
    return TN_OK;
}

static tn_status add_up(tn_systolic_passes *p, tn_error *error) {
    if (!tn_add(p->forward_cycles, p->input_gradient_cycles, &p->total_cycles) ||
        !tn_add(p->total_cycles, p->weight_gradient_cycles, &p->total_cycles) ||
        !tn_add(p->total_cycles, p->transposition_cycles, &p->total_cycles))
        return systolic_training_overflow(error);
    return TN_OK;
}

/* T tiles through resident weights, all but the first visited loaded; the padding rows of the tile visited
 * last (the first of the forward pass) are whole unless it is the only row of tiles. */
static tn_status input_gradient_in_place(const tn_systolic *array, bool double_buffered,
                                         const tn_array_product *l, uint64_t *cycles, tn_error *error) {
    uint64_t row_tiles = tn_ceil_div(l->k, array->rows), column_tiles = tn_ceil_div(l->n, array->columns);
    uint64_t padding = row_tiles == 1 ? array->rows - l->k : 0;
    uint64_t pass = l->m + array->rows + array->columns - 2, tiles, begin = 0;
    bool fits = tn_mul(row_tiles, column_tiles, &tiles);
    if (fits && double_buffered && tiles > 1) {
        uint64_t loaded = 1;
        fits = tn_mul(tiles - 1, l->m, &begin) && tn_mul_add(tiles - 2, array->rows, &loaded);
        begin = fits ? tn_greatest(begin, loaded) : 0;
    } else if (fits && !double_buffered) {
        fits = serial(tiles - 1, pass + array->rows, 0, &begin);
    }
    if (!fits || !tn_add(begin, pass - padding, cycles)) return systolic_training_overflow(error);
    return TN_OK;
}

static tn_dataflow with_resting_sums(tn_dataflow dataflow) {
    return dataflow == TN_WS_SERIAL            ? TN_OS_SERIAL
           : dataflow == TN_WS_DOUBLE_BUFFERED ? TN_OS_OVERLAPPED
                                               : dataflow;
}

tn_status tn_systolic_pass_cycles(const tn_systolic *array, tn_dataflow dataflow, tn_phase pass,
                                  const tn_array_product *l, uint64_t *cycles, tn_error *error) {
    bool in_place = dataflow == TN_WS_SERIAL || dataflow == TN_WS_DOUBLE_BUFFERED;
    switch (pass) {
    case TN_FORWARD:
        return product_cycles(array, dataflow, l->m, l->k, l->n, cycles, error);
    case TN_INPUT_GRADIENT:
        if (!in_place) return product_cycles(array, dataflow, l->m, l->n, l->k, cycles, error);
        TN_TRY(check(array, l, error));
        return input_gradient_in_place(array, dataflow == TN_WS_DOUBLE_BUFFERED, l, cycles, error);
    case TN_WEIGHT_GRADIENT:
        return product_cycles(array, with_resting_sums(dataflow), l->k, l->m, l->n, cycles, error);
    default:
        return tn_fail(error, TN_INPUT,
                       "a systolic array has no such pass; it has forward, input gradient "
                       "and weight gradient");
    }
}

tn_status tn_systolic_saved_accesses(tn_phase pass, const tn_array_product *l, uint64_t *words,
                                     tn_error *error) {
    *words = 0;
    if (pass == TN_FORWARD) return TN_OK;
    if (!tn_mul(l->k, pass == TN_INPUT_GRADIENT ? l->n : l->m, words) || !tn_mul(*words, 2, words))
        return systolic_training_overflow(error);
    return TN_OK;
}

static tn_status in_place(const tn_systolic *array, const tn_array_product *l, tn_systolic_passes *p,
                          tn_error *error) {
    uint64_t *cycles[] = {&p->forward_cycles, &p->input_gradient_cycles, &p->weight_gradient_cycles};
    for (tn_phase pass = TN_FORWARD; pass <= TN_WEIGHT_GRADIENT; pass++)
        TN_TRY(tn_systolic_pass_cycles(array, TN_WS_SERIAL, pass, l, cycles[pass], error));
    return add_up(p, error);
}

static tn_status explicitly(const tn_systolic *array, const tn_array_product *l, tn_systolic_passes *p,
                            tn_error *error) {
    TN_TRY(product_cycles(array, TN_WS_SERIAL, l->m, l->k, l->n, &p->forward_cycles, error));
    TN_TRY(product_cycles(array, TN_WS_SERIAL, l->m, l->n, l->k, &p->input_gradient_cycles, error));
    TN_TRY(product_cycles(array, TN_WS_SERIAL, l->k, l->m, l->n, &p->weight_gradient_cycles, error));
    uint64_t weights, inputs;
    TN_TRY(tn_systolic_saved_accesses(TN_INPUT_GRADIENT, l, &weights, error));
    TN_TRY(tn_systolic_saved_accesses(TN_WEIGHT_GRADIENT, l, &inputs, error));
    if (!tn_add(weights, inputs, &p->transposition_accesses)) return systolic_training_overflow(error);
    p->transposition_cycles = tn_ceil_div(p->transposition_accesses, array->columns);
    return add_up(p, error);
}

tn_status tn_systolic_training_cycles(const tn_systolic *array, const tn_array_product *layer,
                                      tn_systolic_training *training, tn_error *error) {
    tn_systolic_training result = {0};
    TN_TRY(in_place(array, layer, &result.in_place, error));
    TN_TRY(explicitly(array, layer, &result.explicit_transposition, error));
    *training = result;
    return TN_OK;
}
