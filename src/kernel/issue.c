#include "kernel/issue.h"

#include "base/checked.h"
#include "kernel/array_kernel.h"
#include "kernel/pipeline.h"

enum { GROUP_KINDS = 1 << TN_ISSUE_CUTS };

/* Blocks of each kind of a group: bit k of the kind, cut along the k-th index. */
typedef struct {
    uint64_t count[GROUP_KINDS]; /* up to the last kind */
    int last; /* that of the last block, which is cut wherever any is: no other occurs beyond */
} group_kinds;

typedef struct {
    group_kinds row, column, term;
} block_kinds;

static bool count_group(const tn_issued_group *group, group_kinds *kinds) {
    bool fits = true;
    kinds->last = 0;
    for (int k = 0; k < TN_ISSUE_CUTS; k++) kinds->last |= group->edge[k] << k;
    for (int kind = 0; kind <= kinds->last; kind++) {
        kinds->count[kind] = 1;
        for (int k = 0; k < TN_ISSUE_CUTS; k++) {
            const uint64_t cut = group->edge[k] ? 1 : 0,
                           blocks = kind >> k & 1 ? cut : group->blocks[k] - cut;
            fits = fits && tn_mul(kinds->count[kind], blocks, &kinds->count[kind]);
        }
    }
    return fits;
}

static bool count_kinds(const tn_issued_product *product, block_kinds *kinds) {
    return count_group(&product->row, &kinds->row) && count_group(&product->column, &kinds->column) &&
           count_group(&product->term, &kinds->term);
}

/* The kind of a block whose directions are of these kinds. */
static int block_kind(int first, int second) {
    return first | second << TN_ISSUE_CUTS;
}

/* The most phases of a result's block, among the kinds that occur. */
static uint64_t write_phases(const tn_issued_product *product, const block_kinds *kinds) {
    uint64_t phases = 1;
    for (int row = 0; row <= kinds->row.last; row++)
        for (int column = 0; column <= kinds->column.last; column++)
            if (kinds->row.count[row] > 0 && kinds->column.count[column] > 0)
                phases = tn_greatest(phases, product->result[block_kind(row, column)]);
    return phases;
}

/* All issues of one tile: in every group of terms, and the last of them leaves room for the write. */
static bool tile_cycles(const tn_issued_product *product, const block_kinds *kinds, const tn_issued *issued,
                        int row, int column, uint64_t *cycles) {
    bool fits = true;
    *cycles = 0;
    for (int term = 0; term <= kinds->term.last; term++) {
        if (kinds->term.count[term] == 0) continue; /* the last kind occurs */
        uint64_t groups,
            issue = tn_greatest(issued->interval, tn_greatest(product->left[block_kind(row, term)],
                                                              product->right[block_kind(term, column)]));
        fits = fits && tn_mul(kinds->term.count[term], product->other_groups, &groups) &&
               tn_mul_add(groups, issue, cycles);
        uint64_t last = tn_greatest(issued->write_phases, product->extra[block_kind(row, column)]);
        if (term == kinds->term.last)
            fits = fits && tn_add(*cycles, tn_greatest(issue, last) - issue, cycles);
    }
    return fits;
}

static bool count_tiles(const tn_issued_product *product, const block_kinds *kinds, int row, int column,
                        uint64_t *tiles) {
    *tiles = 0;
    if (kinds->row.count[row] == 0 || kinds->column.count[column] == 0) return true;
    return tn_mul(kinds->row.count[row], kinds->column.count[column], tiles) &&
           tn_mul(*tiles, product->other_tiles, tiles);
}

static bool sum_tiles(const tn_issued_product *product, const block_kinds *kinds, tn_issued *issued) {
    uint64_t padding, groups;
    bool fits = tn_mul(issued->rounds, issued->open, &padding);
    padding -= issued->tiles;
    issued->cycles = 0;
    for (int row = 0; row <= kinds->row.last; row++)
        for (int column = 0; column <= kinds->column.last; column++) {
            uint64_t tiles, cycles;
            fits = fits && count_tiles(product, kinds, row, column, &tiles);
            if (!fits || tiles == 0) continue;
            fits = tile_cycles(product, kinds, issued, row, column, &cycles) &&
                   tn_mul_add(tiles, cycles, &issued->cycles);
        }
    fits = fits && tn_mul(issued->groups, issued->interval, &groups) &&
           tn_mul_add(padding, groups, &issued->cycles);
    uint64_t last = product->result[block_kind(kinds->row.last, kinds->column.last)],
             after = 0; /* cycles of the padding behind the last tile */
    fits = fits && tn_mul(padding, issued->interval, &after);
    issued->last_phases = last > after ? last - after : 1;
    return fits;
}

/* ---- on a systolic array ---- */

/* What the product's terms take for the tiles of a kind: each group's weights and vectors, or its terms. */
static bool array_groups(const tn_matmul *kernel, const tn_issued_product *product, const block_kinds *kinds,
                         const tn_issued *issued, int row, int column, uint64_t *cycles) {
    const bool rests = product->pass == TN_PASS_RESTS;
    const uint64_t last = tn_greatest(issued->write_phases, product->extra[block_kind(row, column)]),
                   wait = tn_array_wait_cycles(kernel, product->pass);
    bool fits = true;
    *cycles = 0;
    for (int term = 0; term <= kinds->term.last; term++) {
        const uint64_t left = tn_greatest(1, product->left[block_kind(row, term)]),
                       right = tn_greatest(1, product->right[block_kind(term, column)]);
        uint64_t groups, one = rests ? tn_greatest(issued->interval, tn_greatest(left, right)) : wait;
        if (kinds->term.count[term] == 0) continue;
        fits = fits && tn_mul(kinds->term.count[term], product->other_groups, &groups);
        if (!rests)
            fits = fits && tn_mul_add(kernel->rows, right, &one) && tn_mul_add(issued->open, left, &one);
        fits = fits && tn_mul_add(groups, one, cycles);
        if (!rests && term == kinds->term.last)
            fits = fits && tn_mul_add(issued->open, tn_greatest(left, last) - left, cycles);
    }
    return fits && (!rests || (tn_add(*cycles, wait, cycles) && tn_mul_add(kernel->rows, last, cycles)));
}

static bool sum_on_array(const tn_matmul *kernel, const tn_issued_product *product, const block_kinds *kinds,
                         tn_issued *issued) {
    bool fits = true;
    issued->cycles = 0;
    for (int row = 0; row <= kinds->row.last; row++)
        for (int column = 0; column <= kinds->column.last; column++) {
            uint64_t tiles, cycles;
            fits = fits && count_tiles(product, kinds, row, column, &tiles);
            if (!fits || tiles == 0) continue;
            fits = array_groups(kernel, product, kinds, issued, row, column, &cycles) &&
                   tn_mul_add(tiles / issued->open, cycles, &issued->cycles);
        }
    issued->last_phases = tn_greatest(1, product->result[block_kind(kinds->row.last, kinds->column.last)]);
    /* Rows of cells beyond the last tile's end are drained behind its last row. */
    if (product->pass == TN_PASS_RESTS && product->drained < kernel->rows) issued->last_phases = 1;
    return fits;
}

static tn_status issue_on_array(const tn_matmul *kernel, const tn_issued_product *product,
                                const block_kinds *kinds, tn_issued *issued, tn_error *error) {
    const bool rests = product->pass == TN_PASS_RESTS;
    issued->open = rests ? 1 : tn_array_open(product->vectors);
    issued->interval = rests ? kernel->lane.sum.stages : 1;
    issued->rounds = issued->tiles / issued->open;
    if (!sum_on_array(kernel, product, kinds, issued))
        return tn_fail(error, TN_OVERFLOW, "a product's issues do not fit 64 bits");
    return TN_OK;
}

tn_status tn_issue_product(const tn_matmul *kernel, const tn_issued_product *product, tn_issued *issued,
                           tn_error *error) {
    const uint64_t tiles[] = {product->row.blocks[0], product->row.blocks[1], product->column.blocks[0],
                              product->column.blocks[1], product->other_tiles},
                   groups[] = {product->term.blocks[0], product->term.blocks[1], product->other_groups};
    block_kinds kinds;
    *issued = (tn_issued){0};
    if (!tn_product(tiles, 5, &issued->tiles) || !tn_product(groups, 3, &issued->groups) ||
        !count_kinds(product, &kinds))
        return tn_fail(error, TN_OVERFLOW, "a product's issues do not fit 64 bits");
    issued->write_phases = write_phases(product, &kinds);
    if (product->pass != TN_PASS_OF_LANES) return issue_on_array(kernel, product, &kinds, issued, error);
    tn_matmul one = *kernel;
    one.rows = one.columns = one.reduction = 1;
    const tn_product_size size = {1, issued->tiles, issued->groups, 1};
    tn_matmul_time time;
    TN_TRY(tn_matmul_cycles(&one, &size, &time, error));
    issued->open = time.interleaved;
    issued->interval = time.interval_cycles;
    issued->rounds = time.issues / issued->groups / issued->open;
    if (!sum_tiles(product, &kinds, issued))
        return tn_fail(error, TN_OVERFLOW, "a product's issues do not fit 64 bits");
    return TN_OK;
}

tn_status tn_issue_product_cycles(const tn_matmul *kernel, const tn_issued_product *product, uint64_t *cycles,
                                  tn_error *error) {
    tn_issued issued;
    TN_TRY(tn_issue_product(kernel, product, &issued, error));
    /* On an array the sums' way out is counted tile by tile. */
    const uint64_t fill = product->pass == TN_PASS_OF_LANES ? tn_matmul_fill_cycles(kernel) : 1;
    if (!tn_add(issued.cycles - 1 + issued.last_phases - 1, fill, cycles))
        return tn_fail(error, TN_OVERFLOW, "a product's cycles do not fit 64 bits");
    return TN_OK;
}

/* A round's first cut trip, while the write of the whole one before it is still under way, waits for it: the write begins
 * where a trip's fetch ends, and so lasts into the next, which may be shorter. Behind padding it waits the less. */
static bool add_waits(const tn_issued_pass *pass, tn_issued *issued) {
    const uint64_t padding = issued->rounds * issued->open - issued->tiles,
                   cut = tn_greatest(issued->interval, tn_greatest(pass->phases[1], pass->write_phases[1])),
                   wait = pass->write_phases[0] > cut ? pass->write_phases[0] - cut : 0,
                   between = padding * issued->interval;
    if (!pass->cut || pass->blocks < 2) return true;
    return tn_mul_add(issued->rounds - 1, wait, &issued->cycles) &&
           tn_add(issued->cycles, wait - tn_least(wait, between), &issued->cycles);
}

tn_status tn_issue_pass(const tn_issued_pass *pass, tn_issued *issued, uint64_t *trailing, tn_error *error) {
    const bool along = pass->form == TN_PASS_REDUCE, down = pass->form == TN_PASS_ACCUMULATE;
    const uint64_t sum_cycles = along || down ? pass->sum_cycles : 0, add = sum_cycles ? sum_cycles : 1;
    const tn_matmul kernel = {
        .lane = {.multiply.stages = pass->depth, .tree.stages = add, .sum.stages = add, .group = 1}};
    const tn_issued_group one = {{1, 1}, {false, false}}, columns = {{pass->blocks, 1}, {pass->cut, false}};
    tn_issued_product product = {.row = one,
                                 .column = along ? one : columns,
                                 .term = along ? columns : one,
                                 .other_tiles = down ? 1 : pass->rows,
                                 .other_groups = down ? pass->rows : 1};
    /* Blocks are whole but along the columns: terms of the left block and of the right one, or columns of the right one
     * and of the result. */
    for (int cut = 0; cut <= pass->cut; cut++) {
        const uint64_t streamed = tn_greatest(pass->phases[cut], pass->write_phases[cut]);
        const int first = block_kind(cut, 0), second = block_kind(0, cut);
        product.left[along ? second : first] = along ? streamed : 1;
        product.right[along ? first : second] = along ? 1 : pass->phases[cut];
        product.result[second] = along ? 1 : pass->write_phases[cut];
    }
    TN_TRY(tn_issue_product(&kernel, &product, issued, error));
    if (along && !add_waits(pass, issued))
        return tn_fail(error, TN_OVERFLOW, "a pass's issues do not fit 64 bits");
    const uint64_t sums = (along ? tn_tree_depth(pass->lanes) + 1 : 1) * sum_cycles,
                   write = along ? pass->write_phases[pass->cut] : issued->last_phases;
    *trailing = pass->depth + (along ? tn_greatest(sums, write - 1) : sums + write - 1);
    return TN_OK;
}
