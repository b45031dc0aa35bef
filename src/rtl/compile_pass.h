/* The passes of vector kernels as operations of the engine. Internal to the room.
 *
 * A pass is run as a product of one row and column whose multipliers are its lanes (templates/vector_unit.sv): a sum over
 * rows has a tile a row and a group a word of columns; one down the columns a tile a word of columns and a group a row;
 * other passes a tile for both. It takes the cycles of those issues, less one, the depth of its circuit, that of the
 * sum's operators, and TN_RTL_PASS_EXTRA.
 */
#ifndef TN_RTL_COMPILE_PASS_H
#define TN_RTL_COMPILE_PASS_H

#include "rtl/engine.h"

/* What the compilers of products, words and passes share: the design at hand, and blocks of ports as patterns. Internal to the
 * room. */

typedef struct tn_rtl_compiler {
    const tn_rtl_design *design;
    const uint64_t *index_size;
    tn_arena *arena;
    tn_error *error;
    tn_rtl_engine *engine;
} tn_rtl_compiler;

/* A block that no array's end cuts: all its kinds are one pattern. */
tn_status tn_rtl_place_pattern(tn_rtl_compiler *compilation, tn_rtl_patterns *list,
                               const tn_rtl_pattern *made, uint64_t *entry);

/* What goes over its operands word by word, whatever their elements are: updates, and passes over slices. An update takes
 * its trips, less one, plus a product and an addition, plus TN_RTL_UPDATE_EXTRA. Internal to the room. */

enum { TN_RTL_UPDATE_EXTRA = 7 };

/* Counters and patterns of the ports used: their arrays lie alike, and of the axis `sliced` (TN_RTL_NONE: of none) at one
 * place. */
tn_status tn_rtl_compile_update(tn_rtl_compiler *compilation, const tn_rtl_operation *operation,
                                tn_rtl_step *step);

/* Products as operations of the engine. Cycles of one: the sum of its issues (templates/engine.sv says how long one is), less
 * one, plus the operators (a product, the tree, the accumulating addition), plus the latencies of its write-back's stages,
 * plus TN_RTL_PRODUCT_EXTRA, plus the phases of its last write less one. Internal to the room. */

enum { TN_RTL_PRODUCT_EXTRA = 6 }; /* load, four from issue to multiplier, result to bank */

tn_status tn_rtl_compile_product(tn_rtl_compiler *compilation, const tn_rtl_operation *operation,
                                 tn_rtl_step *step);

/* All kinds of an operation's block at a port, cut along two groups: step->block[port] is the first of them. */
tn_status tn_rtl_port_blocks(tn_rtl_compiler *compilation, tn_rtl_port port, const tn_rtl_array *array,
                             const tn_rtl_cut *first, uint64_t first_lanes, const tn_rtl_cut *second,
                             uint64_t second_lanes, tn_rtl_step *step);
/* What is left of the cut's k-th index behind its last whole block; 0 where blocks come out even. */
uint64_t tn_rtl_cut_rest(const tn_rtl_compiler *compilation, const tn_rtl_cut *cut, int k);
/* The kernel's numbering of kinds as kernel/issue.h has it, if a group may cut two indices; else without the bits of
 * second ones. */
uint32_t tn_rtl_edge_of_bit(const tn_rtl_compiler *compilation, uint32_t bit);

/* Of a product on a systolic array: the cut whose elements are loaded or drained one row after the other, and the counters of
 * these rows. tn_rtl_order_tiles, behind all operations: vectors that take the same weights follow each other. */
const tn_rtl_cut *tn_rtl_inner_cut(const tn_rtl_operation *operation);
void tn_rtl_compile_inner(tn_rtl_compiler *compilation, const tn_rtl_operation *operation, tn_rtl_step *step);
void tn_rtl_order_tiles(tn_rtl_compiler *compilation);

enum { TN_RTL_PASS_EXTRA = 7 };

/* The circuits of all passes come first: they say which templates there are. */
tn_status tn_rtl_list_circuits(tn_rtl_compiler *compilation);
tn_status tn_rtl_compile_pass(tn_rtl_compiler *compilation, const tn_rtl_operation *operation,
                              tn_rtl_step *step);
void tn_rtl_pass_sizes(tn_rtl_engine *engine);

#endif
