/* Executes a program on this CPU, by OpenBLAS products of unfolded operands (run/product.h), in float64 or
 * float32, one thread.
 *
 * What it reports is measured, not predicted: multiply-adds from the dimensions of every gemm, live elements
 * from the allocator. A tensor is freed when the steps still to come, counted here, no longer read it; which
 * tensors outlive their last use is in program/program.h.
 */
#ifndef TN_RUN_EXECUTOR_H
#define TN_RUN_EXECUTOR_H

#include "base/error.h"
#include "program/program.h"
#include "run/product.h"

#include <stdint.h>

/* The memory of an execution: tensors made and freed one by one, with what is live and its peak. It counts
 * elements as they are allocated and knows nothing of predictions. Internal to the room. */

typedef struct tn_live_tensors {
    tn_real real;
    uint32_t tensors;
    void **values;      /* [tensors]; NULL: not live */
    uint64_t *elements; /* [tensors], of the live ones */
    uint64_t live_elements, peak_elements[TN_PHASES];
} tn_live_tensors;

/* What is live now is live during `phase`. */
void tn_live_tensors_note(tn_live_tensors *store, tn_phase phase);

typedef struct tn_execution {
    uint64_t macs[TN_PHASES];
    uint64_t peak_elements[TN_PHASES];
    double seconds[TN_PHASES];
    tn_product_work work; /* of all steps; scratch is apart from the peaks */
} tn_execution;

/* `input` holds the values of the program's inputs (X, cores, dY), C order in the order of their indices; X
 * and dY of all micro-batches one after the other, as Y and dX are given. `output` has an entry per tensor of
 * the program; where it is not NULL, it gets the values that an output (Y, dX, a core gradient) has when it
 * is made; other entries are not looked at. A program that needs more memory than this machine has is
 * TN_LIMIT. Sets OpenBLAS to one thread, for results that do not depend on the machine's load. */
tn_status tn_execute(const tn_program *program, tn_real real, const double *const *input,
                     double *const *output, tn_execution *execution, tn_error *error);

#endif
