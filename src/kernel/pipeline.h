/* A pipelined dot-product kernel: `lanes` multipliers, an adder tree and one accumulating adder compute the
 * M x K x N product, `lanes` terms of one output an issue.
 *
 * Cycles from the first issue to the last result:
 *     (M * N * ceil(K/lanes) - 1) * II + L_mul + (ceil(log2 lanes) + 1) * L_add.
 * An accumulation reads what the one before it wrote L_add cycles earlier, so consecutive terms of one output
 * must start at least L_add cycles apart. With the reduction innermost (order i, j, k) they are II apart;
 * with the columns innermost (order i, k, j: N accumulators interleaved) N * II. Where one issue covers the
 * whole reduction nothing accumulates, so any interval is legal.
 *
 * Source: RTL simulation (tests/kernel/test_dot.c has its rows and a cycle-by-cycle simulation of its own).
 */
#ifndef TN_KERNEL_PIPELINE_H
#define TN_KERNEL_PIPELINE_H

#include "base/error.h"
#include "base/public.h"

#include <stdbool.h>
#include <stdint.h>

/* Cycles of a loop as a high-level synthesis tool schedules it.
 *
 * Pipelined: a new iteration starts every II cycles, the last one runs to its end, and the loop is left one
 * cycle before the last iteration's registered end, but never before its interval has passed:
 *     (trips - 1) * II + max(iteration latency - 1, II).
 * Sequential: trips * iteration latency. No trips: 0 cycles.
 *
 * Source: loop tables of Vitis HLS 2022/2023 reports (tests/kernel/test_loop.c).
 */

TN_PUBLIC_BEGIN

typedef struct tn_loop {
    uint64_t trips;
    uint64_t iteration_cycles; /* latency of one iteration, at least 1 */
    bool pipelined;
    uint64_t interval_cycles; /* II, at least 1; only read where pipelined */
} tn_loop;

tn_status tn_loop_cycles(const tn_loop *loop, uint64_t *cycles, tn_error *error);

typedef enum tn_dot_order {
    TN_DOT_ANY, /* whichever order makes the interval legal */
    TN_DOT_IJK, /* one accumulator, reduction innermost */
    TN_DOT_IKJ, /* N interleaved accumulators, columns innermost */
} tn_dot_order;

/* "any", "ijk", "ikj", NULL. */
extern const char *const tn_dot_order_names[];

typedef struct tn_dot {
    uint64_t lanes;                       /* products a cycle, at least 1 */
    uint64_t multiply_cycles, add_cycles; /* operator latencies, at least 1 */
    uint64_t interval_cycles;             /* II, at least 1 */
    uint64_t m, k, n;                     /* output rows, reduction, output columns; at least 1 */
    tn_dot_order order;
} tn_dot;

typedef struct tn_dot_result {
    uint64_t cycles;                /* what the kernel takes at this interval, be the sums right or wrong */
    bool legal;                     /* the sums are right */
    uint64_t least_interval_cycles; /* the least legal interval */
    uint64_t accumulators; /* 1, or N where the columns are interleaved, or 0 where nothing accumulates */
} tn_dot_result;

/* TN_OK also for an illegal interval: it is an answer. A zero size or latency is TN_INPUT. */
tn_status tn_dot_cycles(const tn_dot *dot, tn_dot_result *result, tn_error *error);

/* ceil(log2 n), the depth of a tree over n >= 1 leaves. */
uint64_t tn_tree_depth(uint64_t n);

TN_PUBLIC_END

#endif
