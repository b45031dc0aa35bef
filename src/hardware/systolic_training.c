#include "hardware/systolic_training.h"

#include "base/checked.h"

static tn_status overflow(tn_error *error) {
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
        return overflow(error);
    return TN_OK;
}

/* T tiles through resident weights, all but the first visited loaded; the padding rows of the tile visited
 * last (the first of the forward pass) are whole unless it is the only row of tiles. */
static tn_status input_gradient_in_place(const tn_systolic *array, const tn_array_product *l,
                                         uint64_t *cycles, tn_error *error) {
    uint64_t row_tiles = tn_ceil_div(l->k, array->rows), column_tiles = tn_ceil_div(l->n, array->columns),
             tiles;
    uint64_t padding = row_tiles == 1 ? array->rows - l->k : 0;
    uint64_t pass = l->m + array->rows + array->columns - 2, total = 0;
    if (!tn_mul(row_tiles, column_tiles, &tiles) || !tn_mul_add(tiles, pass, &total) ||
        !tn_mul_add(tiles - 1, array->rows, &total))
        return overflow(error);
    *cycles = total - padding;
    return TN_OK;
}

static tn_status in_place(const tn_systolic *array, const tn_array_product *l, tn_systolic_passes *p,
                          tn_error *error) {
    TN_TRY(product_cycles(array, TN_WS_SERIAL, l->m, l->k, l->n, &p->forward_cycles, error));
    TN_TRY(input_gradient_in_place(array, l, &p->input_gradient_cycles, error));
    TN_TRY(product_cycles(array, TN_OS_SERIAL, l->k, l->m, l->n, &p->weight_gradient_cycles, error));
    return add_up(p, error);
}

static tn_status explicitly(const tn_systolic *array, const tn_array_product *l, tn_systolic_passes *p,
                            tn_error *error) {
    TN_TRY(product_cycles(array, TN_WS_SERIAL, l->m, l->k, l->n, &p->forward_cycles, error));
    TN_TRY(product_cycles(array, TN_WS_SERIAL, l->m, l->n, l->k, &p->input_gradient_cycles, error));
    TN_TRY(product_cycles(array, TN_WS_SERIAL, l->k, l->m, l->n, &p->weight_gradient_cycles, error));
    uint64_t words = 0;
    if (!tn_mul_add(l->k, l->n, &words) || !tn_mul_add(l->m, l->k, &words) ||
        !tn_mul(words, 2, &p->transposition_accesses))
        return overflow(error);
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
