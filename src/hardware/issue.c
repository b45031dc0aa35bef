#include "hardware/issue.h"

#include "base/checked.h"

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* The most phases of a result's block, among the kinds that occur. */
static uint64_t write_phases(const tn_issued_product *product) {
    uint64_t phases = 1;
    for (int kind = 0; kind < TN_BLOCK_KINDS; kind++) {
        bool rows = kind & 1 ? product->row_edge : !product->row_edge || product->row_blocks > 1,
             columns = kind & 2 ? product->column_edge : !product->column_edge || product->column_blocks > 1;
        if (rows && columns) phases = most(phases, product->result[kind]);
    }
    return phases;
}

/* All issues of one tile. */
static bool tile_cycles(const tn_issued_product *product, const tn_issued *issued, bool row_edge,
                        bool column_edge, uint64_t *cycles) {
    uint64_t sum = 0;
    bool fits = true;
    for (int last = 0; last < 2; last++) {
        bool term_edge = last && product->term_edge;
        uint64_t groups = last ? 1 : product->term_blocks - 1,
                 issue = most(issued->interval, most(product->left[row_edge + 2 * term_edge],
                                                     product->right[term_edge + 2 * column_edge]));
        fits = fits && tn_mul(groups, product->other_groups, &groups) && tn_mul_add(groups, issue, &sum);
        if (last) fits = fits && tn_add(sum, most(issue, issued->write_phases) - issue, &sum);
    }
    *cycles = sum;
    return fits;
}

static bool sum_tiles(const tn_issued_product *product, tn_issued *issued) {
    uint64_t padding, groups;
    bool fits = tn_mul(issued->rounds, issued->open, &padding);
    padding -= issued->tiles;
    issued->cycles = 0;
    for (int kind = 0; kind < TN_BLOCK_KINDS; kind++) {
        bool row = kind & 1, column = kind & 2;
        uint64_t tiles, cycles;
        fits =
            fits &&
            tn_mul(row ? 1 : product->row_blocks - 1, column ? 1 : product->column_blocks - 1, &tiles) &&
            tn_mul(tiles, product->other_tiles, &tiles) &&
            tile_cycles(product, issued, row && product->row_edge, column && product->column_edge, &cycles) &&
            tn_mul_add(tiles, cycles, &issued->cycles);
    }
    fits = fits && tn_mul(issued->groups, issued->interval, &groups) &&
           tn_mul_add(padding, groups, &issued->cycles);
    issued->last_phases = padding > 0 ? 1 : product->result[product->row_edge + 2 * product->column_edge];
    return fits;
}

tn_status tn_issue_product(const tn_matmul *kernel, const tn_issued_product *product, tn_issued *issued,
                           tn_error *error) {
    const uint64_t tiles[] = {product->row_blocks, product->column_blocks, product->other_tiles};
    *issued = (tn_issued){.write_phases = write_phases(product)};
    if (!tn_product(tiles, 3, &issued->tiles) ||
        !tn_mul(product->term_blocks, product->other_groups, &issued->groups))
        return tn_fail(error, TN_OVERFLOW, "a product's issues do not fit 64 bits");
    tn_matmul one = *kernel;
    one.rows = one.columns = one.reduction = 1;
    const tn_product_size size = {1, issued->tiles, issued->groups, 1};
    tn_matmul_time time;
    TN_TRY(tn_matmul_cycles(&one, &size, &time, error));
    issued->open = time.interleaved;
    issued->interval = time.interval_cycles;
    issued->rounds = time.issues / issued->groups / issued->open;
    if (!sum_tiles(product, issued))
        return tn_fail(error, TN_OVERFLOW, "a product's issues do not fit 64 bits");
    return TN_OK;
}
