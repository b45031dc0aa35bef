/* Vector kernels: everything of a training step that is not a matrix product, on V lanes.
 *
 * A kernel takes the passes of its operation's row (model/operation.h) over a rows x columns array:
 *   map          rows * ceil(columns/V) issues of V lanes
 *   reduce       V lanes, a tree and an accumulation, rows interleaved as a product's tiles are
 *   accumulate   V columns at a time, column groups interleaved
 *   per row      an issue a row
 * whose issues and operators kernel/issue.h counts as it does a product's: what generated hardware takes in
 * simulation. The passes follow each other and use the same operators, so a kernel has of each operator what its
 * hungriest pass needs.
 */
#ifndef TN_KERNEL_VECTOR_H
#define TN_KERNEL_VECTOR_H

#include "base/error.h"
#include "kernel/kernel.h"
#include "model/operation.h"

#include <stdint.h>

typedef struct tn_vector {
    tn_operation_kind kind;
    uint64_t lanes; /* V */
    const tn_operator_set *operators;
    uint64_t unit; /* lanes of the unit that it is part of, as wide as its sums' tree; 0: as many */
} tn_vector;

/* DSP blocks of one lane of a kernel that has operators of its own; LUTs of the operators of so many lanes. */
uint64_t tn_vector_lane_dsp(tn_operation_kind kind, const tn_operator_set *operators);
uint64_t tn_vector_lut(tn_operation_kind kind, uint64_t lanes, const tn_operator_set *operators);
/* What a lane of a unit has on the mean; 0: what the hungriest kernel wants. */
typedef struct tn_lane_means {
    uint64_t dsp, lut;
} tn_lane_means;
/* How many of a unit's lanes a kernel takes: halved until its operators want no more than all lanes have. What moves, adds or
 * updates goes word by word, and takes all. */
uint64_t tn_vector_lanes(tn_operation_kind kind, uint64_t unit, const tn_lane_means *has,
                         const tn_operator_set *operators);

/* What one of its passes goes over, in blocks of V columns of a row. A whole block and one that a row's end cuts take so
 * many cycles to be fetched and to be written (kernel/issue.h). */
typedef struct tn_vector_blocks {
    uint64_t rows, columns;
    uint64_t phases[2], write_phases[2];
} tn_vector_blocks;
tn_status tn_vector_pass_cycles(const tn_vector *kernel, int pass, const tn_vector_blocks *blocks,
                                uint64_t *cycles, tn_error *error);
/* Of these cycles, those behind the last issue. */
tn_status tn_vector_pass_drain(const tn_vector *kernel, int pass, const tn_vector_blocks *blocks,
                               uint64_t *cycles, tn_error *error);

/* Cycles that an element takes through the pass's operators, sums apart. */
uint64_t tn_vector_pass_depth(tn_operation_kind vector, int pass, const tn_operator_set *operators);

/* What the passes of a kernel go over where every block of rows x columns elements takes a cycle; what is done element by element
 * has one row. TN_OVERFLOW where they do not fit. */
tn_status tn_vector_plain_blocks(tn_operation_kind kind, uint64_t rows, uint64_t columns,
                                 tn_vector_blocks *blocks, tn_error *error);
/* Cycles of all its passes over them (each extent at least 1), starting apart. TN_OVERFLOW where they do not fit. */
tn_status tn_vector_cycles(const tn_vector *kernel, uint64_t rows, uint64_t columns, uint64_t *cycles,
                           tn_error *error);
/* Passes, each of which starts and drains (control.vector_cycles). */
uint64_t tn_vector_starts(tn_operation_kind kind);
/* Passes that go over all elements: how often each is read. */
uint64_t tn_vector_passes(tn_operation_kind kind);
tn_resources tn_vector_resources(const tn_device *device, const tn_vector *kernel);
/* One unit that serves all kernels with lanes[TN_OPERATION_KINDS] above 0, one after the other: of each operator what the
 * hungriest of them needs on its lanes. */
tn_resources tn_vector_unit_resources(const tn_device *device, const uint64_t *lanes,
                                      const tn_operator_set *operators);
/* True where the kernel has an operator of that kind. */
bool tn_vector_uses(tn_operation_kind kind, tn_operator operator_kind);

#endif
