#include "hardware/kernel.h"

#include "base/checked.h"
#include "hardware/dot.h"
#include "hardware/memory.h"

/* Rounds of open tiles that hold all tiles, at least `add_cycles` open where there are so many. Either just
 * so many, or the tiles dealt evenly to the rounds: whichever pads less, which is by fewer than add_cycles
 * tiles. */
static void interleave(uint64_t tiles, uint64_t add_cycles, uint64_t *rounds, uint64_t *open) {
    *rounds = tiles / add_cycles;
    if (*rounds == 0) *rounds = 1;
    *open = tn_ceil_div(tiles, *rounds);
    uint64_t narrow = tn_ceil_div(tiles, add_cycles);
    if (tiles < add_cycles || narrow * add_cycles >= *rounds * *open) return;
    *rounds = narrow;
    *open = add_cycles;
}

tn_status tn_matmul_cycles(const tn_matmul *kernel, const tn_product_size *product, tn_matmul_time *time,
                           tn_error *error) {
    const uint64_t tile[] = {product->batch, tn_ceil_div(product->rows, kernel->rows),
                             tn_ceil_div(product->columns, kernel->columns)};
    uint64_t tiles;
    if (!tn_product(tile, 3, &tiles))
        return tn_fail(error, TN_OVERFLOW, "a product's tiles do not fit 64 bits");
    tn_dot dot = {.lanes = kernel->reduction,
                  .multiply_cycles = kernel->multiply_cycles,
                  .add_cycles = kernel->add_cycles,
                  .interval_cycles = 1,
                  .m = tiles,
                  .k = product->reduction,
                  .n = 1,
                  .order = TN_DOT_IKJ};
    uint64_t groups = tn_ceil_div(product->reduction, kernel->reduction);
    if (groups > 1) {
        interleave(tiles, kernel->add_cycles, &dot.m, &dot.n);
        dot.interval_cycles = tn_ceil_div(kernel->add_cycles, dot.n);
    }
    tn_dot_result result;
    TN_TRY(tn_dot_cycles(&dot, &result, error));
    *time = (tn_matmul_time){.cycles = result.cycles,
                             .issues = dot.m * dot.n * groups,
                             .interval_cycles = dot.interval_cycles,
                             .interleaved = dot.n};
    return TN_OK;
}

tn_status tn_operator_set_load(const tn_device *device, tn_precision precision, bool all,
                               tn_operator_set *set, tn_error *error) {
    *set = (tn_operator_set){{0}};
    for (int kind = 0; kind < TN_OPERATORS; kind++) {
        bool needed = all || kind == TN_MULTIPLY || kind == TN_ADDER;
        if (needed) TN_TRY(tn_device_operator(device, precision, (tn_operator)kind, &set->row[kind], error));
    }
    return TN_OK;
}

void tn_resources_add(tn_resources *used, const tn_resources *amount, uint64_t times) {
    used->lut += amount->lut * times;
    used->ff += amount->ff * times;
    used->dsp += amount->dsp * times;
    used->bram18 += amount->bram18 * times;
    used->uram += amount->uram * times;
}

static void add_operators(tn_resources *used, const tn_operator_row *row, uint64_t count) {
    const tn_resources one = {.lut = row->lut, .ff = row->ff, .dsp = row->dsp};
    tn_resources_add(used, &one, count);
}

tn_resources tn_matmul_resources(const tn_device *device, const tn_matmul *kernel,
                                 const tn_operator_set *operators, uint64_t word_bits) {
    tn_resources used = {.lut = device->control.lut, .ff = device->control.ff};
    uint64_t sums = kernel->rows * kernel->columns, lanes = sums * kernel->reduction;
    add_operators(&used, operators->row[TN_MULTIPLY], lanes);
    add_operators(&used, operators->row[TN_ADDER], lanes); /* P-1 in the tree and one accumulating */
    /* At most twice the add latency, less one, tiles are open (tn_matmul_cycles). */
    tn_blocks open = {0};
    if (tn_memory_blocks(TN_GEOMETRY_HLS, TN_STYLE_DISTRIBUTED, word_bits, 2 * kernel->add_cycles, false,
                         &open, NULL) == TN_OK)
        used.lut += sums * open.lutram;
    uint64_t ports = kernel->rows * kernel->reduction + kernel->reduction * kernel->columns + sums;
    used.lut += ports * device->control.lane_lut;
    return used;
}
