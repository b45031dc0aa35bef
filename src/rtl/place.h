/* Where arrays lie: a tensor's searched layout as banks have it, and memories for the arrays of a design. */
#ifndef TN_RTL_PLACE_H
#define TN_RTL_PLACE_H

#include "base/memory.h"
#include "design/handover.h"
#include "layout/layouts.h"
#include "program/program.h"
#include "rtl/design.h"

/* The engine's host names a memory by 16 bits. */
enum { TN_RTL_MEMORIES_MOST = 4096 };

/* One axis for each index of the tensor; a tensor without any has one axis of one element. TN_INPUT where it has more axes
 * than layouts of hardware. */
tn_status tn_rtl_tensor_layout(const tn_program *program, const tn_program_tensor *tensor,
                               const tn_tensor_layout *found, const char *name, tn_bank_layout *layout,
                               tn_error *error);

/* The indices that a product of the program cuts a group along (0: rows, 1: columns, 2: terms). */
tn_rtl_cut tn_rtl_cut_of(const tn_product_layout *product, int group);

/* How memories are found. */
typedef struct tn_rtl_placing {
    /* The memories of a price, and where the arrays lie in them: array_of[priced->arrays] is the design's array or
     * TN_RTL_NONE. NULL: memories are as the arrays want them. */
    const tn_handover *priced;
    const uint32_t *array_of;
    tn_memory_style style; /* of memories that no price has */
    uint64_t lutram_bits_most;
} tn_rtl_placing;

/* Memories, and where in them each array lies. Arrays that a price has lie where it has them. Any other goes to the first
 * place that is free while it lives, in a memory of its form of words and banks from which nothing is read at once with
 * it; memories of the price do not grow by that, others do. What is there before the program lives from its beginning,
 * what nothing reads any more to its end, unless the price says so. Views lie where their storage does. Sets
 * design->memory and each array's memory and base; all other lists of the design must be there. TN_INPUT where two arrays
 * would lie in one place at once, or an array in a memory of another form. */
tn_status tn_rtl_place_arrays(tn_rtl_design *design, tn_rtl_array *array, const tn_rtl_placing *how,
                              tn_arena *arena, tn_error *error);

#endif
