/* The passes of vector kernels as operations of the engine: what compile.c and compile_pass.c share. Internal to the
 * room.
 *
 * A pass is run as a product of one row and column whose multipliers are its lanes (templates/vector_unit.sv): a sum over
 * rows has a tile a row and a group a word of columns; one down the columns a tile a word of columns and a group a row;
 * other passes a tile for both. It takes the cycles of those issues, less one, the depth of its circuit, that of the
 * sum's operators, and TN_RTL_PASS_EXTRA.
 */
#ifndef TN_RTL_COMPILE_PASS_H
#define TN_RTL_COMPILE_PASS_H

#include "rtl/compile.h"

typedef struct tn_rtl_compiler {
    const tn_rtl_design *design;
    const uint64_t *index_size;
    tn_arena *arena;
    tn_error *error;
    tn_rtl_engine *engine;
} tn_rtl_compiler;

/* compile.c */
tn_status tn_rtl_place_pattern(tn_rtl_compiler *with, tn_rtl_patterns *list, const tn_rtl_pattern *made,
                               uint64_t *at);
tn_status tn_rtl_port_blocks(tn_rtl_compiler *with, tn_rtl_port port, const tn_rtl_array *array,
                             const tn_rtl_cut *first, uint64_t first_lanes, const tn_rtl_cut *second,
                             uint64_t second_lanes, tn_rtl_step *step);
/* Counters and patterns of an operation that goes over its operands word by word, whatever their elements are: they lie
 * alike, and of the axis `sliced` (TN_RTL_NONE: of none) at one place. */
tn_status tn_rtl_compile_words(tn_rtl_compiler *with, const tn_rtl_operation *operation,
                               const bool used[TN_RTL_PORTS], uint32_t sliced, tn_rtl_step *step);

/* compile_pass.c. The circuits of all passes come first: they say which templates there are. */
tn_status tn_rtl_list_circuits(tn_rtl_compiler *with);
tn_status tn_rtl_compile_pass(tn_rtl_compiler *with, const tn_rtl_operation *operation, tn_rtl_step *step);
void tn_rtl_pass_sizes(tn_rtl_engine *engine);

#endif
