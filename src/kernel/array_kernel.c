#include "kernel/array_kernel.h"

#include "base/checked.h"

#include <string.h>

tn_array_pass tn_array_pass_of(tn_phase phase) {
    return phase == TN_FORWARD          ? TN_PASS_FORWARD
           : phase == TN_INPUT_GRADIENT ? TN_PASS_SIDEWAYS
                                        : TN_PASS_RESTS;
}

void tn_array_edges(uint64_t rows, uint64_t columns, tn_array_pass pass, uint64_t edge[3]) {
    const uint64_t edges[][3] = {[TN_PASS_OF_LANES] = {rows, columns, 1},
                                 [TN_PASS_FORWARD] = {1, columns, rows},
                                 [TN_PASS_SIDEWAYS] = {1, rows, columns},
                                 [TN_PASS_RESTS] = {rows, columns, 1}};
    memcpy(edge, edges[pass], sizeof edges[pass]);
}

uint64_t tn_array_open(uint64_t vectors) {
    uint64_t open = tn_least(vectors, TN_ARRAY_SLOTS);
    while (open > 1 && vectors % open != 0) open--;
    return open;
}

uint64_t tn_array_wait_cycles(const tn_matmul *kernel, tn_array_pass pass) {
    const uint64_t multiply = kernel->lane.multiply.stages, add = kernel->lane.sum.stages;
    const uint64_t along = pass == TN_PASS_FORWARD    ? kernel->rows * add + kernel->columns
                           : pass == TN_PASS_SIDEWAYS ? kernel->columns * add + kernel->rows
                                                      : add + kernel->rows + kernel->columns - 1;
    return multiply + along - 2;
}

static tn_issued_group blocks_of(uint64_t size, uint64_t edge) {
    return (tn_issued_group){{tn_ceil_div(size, edge), 1}, {false, false}};
}

/* Streamed operands are read once for each column, or row, of tiles; weights once a round. */
static bool count_words(const tn_product_size *p, const uint64_t edge[3], const tn_issued *issued,
                        tn_array_pass pass, tn_array_time *time) {
    const bool rests = pass == TN_PASS_RESTS;
    const uint64_t left[] = {p->batch, tn_ceil_div(p->columns, edge[1]), p->rows, p->reduction},
                   right[] = {p->batch, rests ? tn_ceil_div(p->rows, edge[0]) : p->rows / issued->open,
                              p->reduction, p->columns};
    return tn_product(left, 4, &time->words[0]) && tn_product(right, 4, &time->words[1]);
}

tn_status tn_array_kernel_cycles(const tn_matmul *kernel, tn_phase phase, const tn_product_size *product,
                                 tn_array_time *time, tn_error *error) {
    const tn_array_pass pass = tn_array_pass_of(phase);
    uint64_t edge[3];
    tn_issued issued;
    *time = (tn_array_time){0};
    tn_array_edges(kernel->rows, kernel->columns, pass, edge);
    const tn_issued_product blocks = {.row = blocks_of(product->rows, edge[0]),
                                      .column = blocks_of(product->columns, edge[1]),
                                      .term = blocks_of(product->reduction, edge[2]),
                                      .other_tiles = product->batch,
                                      .other_groups = 1,
                                      .pass = pass,
                                      .vectors = product->rows};
    TN_TRY(tn_issue_product(kernel, &blocks, &issued, error));
    TN_TRY(tn_issue_product_cycles(kernel, &blocks, &time->cycles, error));
    if (!tn_mul(issued.rounds, pass == TN_PASS_RESTS ? 1 : issued.groups, &time->tiles) ||
        !count_words(product, edge, &issued, pass, time))
        return tn_fail(error, TN_OVERFLOW, "the cycles of a product on an array do not fit 64 bits");
    return TN_OK;
}
