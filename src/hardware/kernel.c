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

/* From the multipliers' inputs to a sum of P products: the tree within groups, then that over groups. */
static uint64_t tree_cycles(const tn_matmul *kernel) {
    const tn_lane *lane = &kernel->lane;
    uint64_t within = tn_least(kernel->reduction, lane->group),
             groups = tn_ceil_div(kernel->reduction, lane->group);
    return lane->multiply.stages + tn_tree_depth(within) * lane->tree.stages +
           tn_tree_depth(groups) * lane->sum.stages;
}

uint64_t tn_matmul_fill_cycles(const tn_matmul *kernel) {
    return tree_cycles(kernel) + kernel->lane.sum.stages;
}

tn_status tn_matmul_cycles(const tn_matmul *kernel, const tn_product_size *product, tn_matmul_time *time,
                           tn_error *error) {
    const uint64_t tile[] = {product->batch, tn_ceil_div(product->rows, kernel->rows),
                             tn_ceil_div(product->columns, kernel->columns)};
    uint64_t add_cycles = kernel->lane.sum.stages, tiles;
    if (!tn_product(tile, 3, &tiles))
        return tn_fail(error, TN_OVERFLOW, "a product's tiles do not fit 64 bits");
    /* A dot product whose terms are the issues: `tree_cycles` to make one, one accumulating adder. */
    tn_dot dot = {.lanes = 1,
                  .multiply_cycles = tree_cycles(kernel),
                  .add_cycles = add_cycles,
                  .interval_cycles = 1,
                  .m = tiles,
                  .k = tn_ceil_div(product->reduction, kernel->reduction),
                  .n = 1,
                  .order = TN_DOT_IKJ};
    if (dot.k > 1) {
        interleave(tiles, add_cycles, &dot.m, &dot.n);
        dot.interval_cycles = tn_ceil_div(add_cycles, dot.n);
    }
    tn_dot_result result;
    TN_TRY(tn_dot_cycles(&dot, &result, error));
    *time = (tn_matmul_time){.cycles = result.cycles,
                             .issues = dot.m * dot.n * dot.k,
                             .interval_cycles = dot.interval_cycles,
                             .interleaved = dot.n};
    return TN_OK;
}

tn_status tn_operator_set_load(const tn_device *device, const tn_number_format *format, tn_operator_set *set,
                               tn_error *error) {
    for (int kind = 0; kind < TN_OPERATORS; kind++) {
        const tn_operator_row **row = &set->row[kind];
        bool has = format->kind == TN_FLOATING || tn_device_has_operator(device, format, (tn_operator)kind);
        TN_TRY(tn_device_operator(device, has ? format : &tn_fp32, (tn_operator)kind, row, error));
    }
    return TN_OK;
}

static void add_operators(tn_resources *used, const tn_operator_cost *cost, uint64_t count) {
    const tn_resources one = {.lut = cost->lut, .ff = cost->ff, .dsp = cost->dsp};
    tn_resources_add(used, &one, count);
}

/* Multipliers of a column of output sums have the right operand in common, those of a row the left one: so many at a
 * time are one packed multiplier, along the side where fewer are left over. */
static void add_multipliers(tn_resources *used, const tn_matmul *kernel) {
    const tn_operator_cost *cost = &kernel->lane.multiply;
    uint64_t packed = kernel->lane.packed, rows = kernel->rows, columns = kernel->columns;
    uint64_t all = rows * columns * kernel->reduction;
    uint64_t blocks = tn_least(rows * tn_ceil_div(columns, packed), columns * tn_ceil_div(rows, packed));
    used->lut += cost->lut * all;
    used->ff += cost->ff * all;
    used->dsp += cost->dsp * blocks * kernel->reduction;
}

tn_resources tn_matmul_resources(const tn_device *device, const tn_matmul *kernel) {
    const tn_lane *lane = &kernel->lane;
    tn_resources used = {.lut = device->control.lut, .ff = device->control.ff};
    uint64_t sums = kernel->rows * kernel->columns, groups = tn_ceil_div(kernel->reduction, lane->group);
    add_multipliers(&used, kernel);
    add_operators(&used, &lane->tree, sums * (kernel->reduction - groups));
    add_operators(&used, &lane->sum, sums * groups); /* groups - 1 in the tree, one accumulating */
    /* At most twice the add latency, less one, tiles are open (interleave). */
    tn_blocks open = {0};
    if (tn_memory_blocks(TN_GEOMETRY_HLS, TN_STYLE_DISTRIBUTED, lane->sum_bits, 2 * lane->sum.stages, false,
                         &open, NULL) == TN_OK)
        used.lut += sums * open.lutram;
    return used;
}
