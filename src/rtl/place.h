/* Where arrays lie: a tensor's searched layout as banks have it, and memories for the arrays of a design. */
#ifndef TN_RTL_PLACE_H
#define TN_RTL_PLACE_H

#include "base/arena.h"
#include "flow/program.h"
#include "hardware/layouts.h"
#include "rtl/design.h"

enum { TN_RTL_MEMORIES_MOST = 64 };

/* One axis for each index of the tensor; a tensor without any has one axis of one element. TN_INPUT where it has more axes
 * than layouts of hardware. */
tn_status tn_rtl_tensor_layout(const tn_program *program, const tn_program_tensor *tensor,
                               const tn_tensor_layout *found, const char *name, tn_bank_layout *layout,
                               tn_error *error);

/* The indices that a product of the program cuts a group along (0: rows, 1: columns, 2: terms). */
tn_rtl_cut tn_rtl_cut_of(const tn_product_layout *product, int group);

/* Arrays of one form of words and banks share memories, one behind the other; what an operation reads at once never
 * does. Views lie where their storage does. Sets design->memory and each array's memory and base; all other lists of the
 * design must be there. */
tn_status tn_rtl_place_arrays(tn_rtl_design *design, tn_rtl_array *array, tn_memory_style style,
                              uint64_t lutram_bits_most, tn_arena *arena, tn_error *error);

#endif
