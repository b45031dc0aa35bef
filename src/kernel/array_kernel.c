#include "kernel/array_kernel.h"

#include "base/checked.h"

static tn_status overflow(tn_error *error) {
    return tn_fail(error, TN_OVERFLOW, "the cycles of a product on an array do not fit 64 bits");
}

/* One product of the batch: cycles of cells that add in a cycle, and what slower ones take more for a tile. */
static tn_status one_product(const tn_matmul *kernel, tn_phase phase, const tn_product_size *p,
                             tn_array_time *time, uint64_t *slower, tn_error *error) {
    const tn_systolic array = {kernel->rows, kernel->columns};
    const tn_array_product product = {p->rows, p->reduction, p->columns};
    uint64_t wait = kernel->lane.sum.stages - 1;
    tn_systolic_result result;
    if (phase == TN_INPUT_GRADIENT) {
        /* The layer whose weights rest has this product's columns as inputs and its terms as outputs. */
        const tn_array_product layer = {p->rows, p->columns, p->reduction};
        tn_systolic_training training;
        TN_TRY(tn_systolic_training_cycles(&array, &layer, &training, error));
        time->cycles = training.in_place.input_gradient_cycles;
        time->tiles = tn_ceil_div(p->columns, array.rows) * tn_ceil_div(p->reduction, array.columns);
        *slower = array.columns * wait;
    } else {
        bool forward = phase == TN_FORWARD;
        TN_TRY(tn_systolic_cycles(&array, forward ? TN_WS_SERIAL : TN_OS_SERIAL, &product, &result, error));
        time->cycles = result.cycles;
        time->tiles = result.tiles;
        *slower = forward ? array.rows * wait : p->reduction * wait;
    }
    return TN_OK;
}

/* Streamed operands are read once for each column, or row, of tiles; what rests once. */
static bool count_words(const tn_matmul *kernel, tn_phase phase, const tn_product_size *p,
                        tn_array_time *time) {
    uint64_t across = tn_ceil_div(phase == TN_INPUT_GRADIENT ? p->columns : p->reduction, kernel->rows);
    uint64_t left_times = phase == TN_INPUT_GRADIENT ? across : tn_ceil_div(p->columns, kernel->columns);
    uint64_t right_times = phase == TN_WEIGHT_GRADIENT ? tn_ceil_div(p->rows, kernel->rows) : 1;
    const uint64_t left[] = {p->batch, left_times, p->rows, p->reduction},
                   right[] = {p->batch, right_times, p->reduction, p->columns};
    return tn_product(left, 4, &time->words[0]) && tn_product(right, 4, &time->words[1]);
}

tn_status tn_array_kernel_cycles(const tn_matmul *kernel, tn_phase phase, const tn_product_size *product,
                                 tn_array_time *time, tn_error *error) {
    uint64_t slower;
    *time = (tn_array_time){0};
    TN_TRY(one_product(kernel, phase, product, time, &slower, error));
    if (!tn_mul_add(time->tiles, slower, &time->cycles) ||
        !tn_mul(time->cycles, product->batch, &time->cycles) ||
        !tn_mul(time->tiles, product->batch, &time->tiles) ||
        !tn_add(time->cycles, kernel->lane.multiply.stages - 1, &time->cycles) ||
        !count_words(kernel, phase, product, time))
        return overflow(error);
    return TN_OK;
}
