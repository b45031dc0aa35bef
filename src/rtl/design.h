/* What hardware is generated from: an engine's kernel, its memories, which array lies where and in which layout, and
 * the operations it runs one after the other.
 *
 * An array's axes are the indices of its tensor. Its layout (hardware/bank_layout.h) has one form of banks, and every
 * word edge, the banks, the kernel's rows, columns and terms are powers of two. A product cuts at most one index of
 * its rows, of its columns and of its reduction into blocks of the kernel's size; it loops over all other indices.
 * The rows of a product are the indices that left and result share, its columns those of right and result, its
 * reduction those of left and right, its batch those of all three.
 */
#ifndef TN_RTL_DESIGN_H
#define TN_RTL_DESIGN_H

#include "base/error.h"
#include "hardware/bank_layout.h"
#include "hardware/memory.h"

#include <stdbool.h>
#include <stdint.h>

#define TN_RTL_NONE UINT32_MAX

typedef struct tn_rtl_memory {
    uint64_t banks, word, depth; /* elements of a word; words of a bank */
    tn_memory_style style;
} tn_rtl_memory;

typedef struct tn_rtl_array {
    const char *name; /* "x", "core1", "dcore1" */
    uint32_t memory;
    uint64_t base; /* its first word in every bank */
    tn_bank_layout layout;
    uint32_t index[TN_BANK_LAYOUT_AXES]; /* of each axis */
} tn_rtl_array;

typedef struct tn_rtl_operation {
    const char *name;
    bool update;                  /* left = left - rate * right, element by element; result is left */
    uint32_t left, right, result; /* arrays */
    uint32_t row, column, term;   /* the index of each group that is cut, or TN_RTL_NONE */
} tn_rtl_operation;

typedef struct tn_rtl_design {
    uint64_t rows, columns, terms; /* of the kernel */
    uint64_t vector;               /* elements of an update a cycle */
    uint64_t multiply_cycles, add_cycles;
    double rate; /* of the updates */
    uint32_t memories, arrays, operations;
    const tn_rtl_memory *memory;
    const tn_rtl_array *array;
    const tn_rtl_operation *operation;
} tn_rtl_design;

/* Refuses what can't be built: sizes that are no powers of two, an array beyond its memory, two forms of banks, banks
 * that no axis tells apart, operands in one memory, updates of arrays that lie differently. */
tn_status tn_rtl_design_check(const tn_rtl_design *design, tn_error *error);

/* The axis of the array that carries `index`, or TN_RTL_NONE. */
uint32_t tn_rtl_axis_of(const tn_rtl_array *array, uint32_t index);

#endif
