/* One linear layer as hardware: the arrays of its program, where each lies, and its operations with the layouts and cuts
 * that the step was priced with (memory/laid.h).
 *
 * Arrays of one form of words and banks share memories; two operands of an operation never do. A core's gradient lies
 * as the core does, so that an update goes word by word.
 */
#ifndef TN_RTL_LAYER_H
#define TN_RTL_LAYER_H

#include "base/memory.h"
#include "layout/layouts.h"
#include "program/program.h"
#include "rtl/design.h"

typedef struct tn_rtl_layer_options {
    uint64_t rows, columns, terms, vector; /* of the kernel */
    bool systolic;                         /* an array of rows x columns cells */
    uint64_t multiply_cycles, add_cycles;
    const tn_layouts *layouts; /* of the program on that kernel */
    tn_memory_style style;
    uint64_t lutram_bits_most; /* style auto: a bank of at most so many bits is LUTRAM */
    bool update;               /* SGD of every core behind the gradients */
    double rate;
} tn_rtl_layer_options;

typedef struct tn_rtl_layer {
    tn_rtl_design design;
    const tn_phase *phase; /* [operations] */
    uint32_t x, y, dx, dy; /* arrays; TN_RTL_NONE where the program has none */
    uint32_t cores;
    const uint32_t *core, *core_gradient; /* [cores]: arrays */
} tn_rtl_layer;

/* Everything in *layer lives in `arena`; the program must outlive it. TN_INPUT where no template builds a layout. */
tn_status tn_rtl_layer_make(const tn_program *program, bool dense, const tn_rtl_layer_options *options,
                            tn_arena *arena, tn_rtl_layer *layer, tn_error *error);

#endif
