/* What hardware is generated from: an engine's kernel, its memories, which array lies where and in which layout, and
 * the operations it runs one after the other.
 *
 * An array's axes are the indices of its tensor. Its layout (layout/bank_layout.h) has one or two forms of banks,
 * and every word edge, the banks, the kernel's rows, columns and terms are powers of two. A product cuts at most two
 * indices of its rows, of its columns and of its reduction into blocks; it loops over all other indices.
 * The rows of a product are the indices that left and result share, its columns those of right and result, its
 * reduction those of left and right, its batch those of all three.
 */
#ifndef TN_RTL_DESIGN_H
#define TN_RTL_DESIGN_H

#include "base/error.h"
#include "device/block.h"
#include "kernel/issue.h"
#include "layout/bank_layout.h"
#include "rtl/circuit.h"
#include "step/fusion.h"

#include <stdbool.h>
#include <stdint.h>

#define TN_RTL_NONE UINT32_MAX

enum { TN_RTL_ADDRESS_BITS_MOST = 24, TN_RTL_ELEMENT_BITS = 32 };

/* A row is a word of every bank. An array may have a form of its own: fewer banks, of wider words, as long as its rows are not
 * wider; a bank of its form is then several of the memory's at one address. */
typedef struct tn_rtl_memory {
    const char *holds;           /* one of its arrays, which names it */
    bool of_price;               /* the price has this memory */
    uint64_t banks, word, depth; /* elements of a word; words of a bank */
    uint64_t second; /* of the banks, those of a second form: banks / second of the first; 0 as 1 */
    tn_memory_style style;
} tn_rtl_memory;

typedef struct tn_rtl_array {
    const char *name; /* "x", "core1", "dcore1" */
    uint32_t memory;
    uint64_t base; /* its first word in every bank */
    tn_bank_layout layout;
    uint32_t index[TN_BANK_LAYOUT_AXES]; /* of each axis */
    uint32_t view_of; /* 1 + the array whose elements it is, under other axes; 0: its own */
} tn_rtl_array;

/* Where along an axis of an operand an operation works, as a word of the sample says: the digit of a token. */
typedef struct tn_rtl_look {
    bool used;
    uint32_t axis; /* of the array; its words hold one element along it */
    uint32_t slot; /* word of the sample */
} tn_rtl_look;

enum { TN_RTL_ROW_INDICES = 4 };

/* One pass of a vector kernel (rtl/circuit.h). Its columns are the operation's `column`, its rows all combinations of
 * the row indices, the first the slowest; each row has four scalars. The operands a, b, c are left, right, extra. */
typedef struct tn_rtl_pass {
    tn_operation_kind kind;
    uint32_t pass;
    bool reads[3], writes; /* left, right, extra; the result, which accumulating passes write too */
    bool by_word; /* element by element of operands that lie alike: their words in their order, padding too */
    uint32_t row_indices, row_index[TN_RTL_ROW_INDICES];
    uint64_t columns;     /* of a row */
    uint64_t lanes;       /* that it takes of the vector unit, the first ones */
    uint64_t first_row;   /* whose scalars the first row has */
    uint64_t first_label; /* of a loss: the row's label and share among the sample's */
    double constant[2];
    uint32_t
        limit_slot; /* word of the sample: columns from there on are no part of a row; TN_RTL_NONE: all are */
} tn_rtl_pass;

/* The indices of a product's rows, columns or terms that are cut, and into blocks of how many; TN_RTL_NONE and 1
 * where there is none. Element (u, v) of a block is the kernel's row (column, term) u * edge[1] + v. */
typedef struct tn_rtl_cut {
    uint32_t index[2];
    uint64_t edge[2];
} tn_rtl_cut;

/* What a product does on its results before they are written (templates/write_back.svh), in the order of its stages: an
 * addition, ReLU, an addition. The arrays that it adds have axes of the result's indices; along others they are the
 * same. */
enum {
    TN_RTL_ADDED = TN_FUSED_ADDED,
    TN_RTL_STAGE_FIRST = TN_FUSED_FIRST,
    TN_RTL_STAGE_POSITIVE = TN_FUSED_POSITIVE,
    TN_RTL_STAGE_LAST = TN_FUSED_LAST
};
typedef struct tn_rtl_write_back {
    uint32_t stages;              /* bits */
    uint32_t added[TN_RTL_ADDED]; /* arrays that the first and the last stage add */
} tn_rtl_write_back;

typedef struct tn_rtl_operation {
    const char *name;
    bool update;                  /* left = left - rate * right, element by element; result is left */
    uint32_t left, right, result; /* arrays */
    tn_rtl_cut row, column, term;
    const tn_rtl_pass *pass;      /* of a vector kernel; NULL: a product or an update */
    uint32_t extra;               /* a pass's third operand */
    tn_rtl_look look[3];          /* of left, right and result */
    tn_rtl_write_back write_back; /* of a product */
    tn_array_pass array;          /* of a product on a systolic array */
} tn_rtl_operation;

typedef struct tn_rtl_design {
    uint64_t rows, columns, terms; /* of the kernel */
    bool systolic;   /* it is an array of rows x columns cells, terms is 1 (kernel/array_kernel.h) */
    uint64_t vector; /* elements of an update a cycle */
    uint64_t multiply_cycles, add_cycles;
    double rate; /* of the updates */
    uint32_t memories, arrays, operations;
    const tn_rtl_memory *memory;
    const tn_rtl_array *array;
    const tn_rtl_operation *operation;
    /* Of vector kernels: cycles of the operators, rows that have scalars, words and labels of a sample. */
    tn_circuit_latencies latencies;
    uint64_t scalar_rows;
    uint32_t sample_words, sample_labels;
} tn_rtl_design;

/* Refuses what can't be built: sizes that are no powers of two, an array beyond its memory or a memory beyond the
 * widest address, banks that no axes tell apart, operands in one memory, updates of arrays that lie differently. */
tn_status tn_rtl_design_check(const tn_rtl_design *design, tn_error *error);

/* Rows, columns and terms of a product's blocks, in this order. */
void tn_rtl_edges(const tn_rtl_design *design, const tn_rtl_operation *operation, uint64_t edge[3]);

/* Is the index one of those that are cut? */
bool tn_rtl_is_cut(const tn_rtl_cut *cut, uint32_t index);

/* Does the product's write-back add an array in the first (0) or last (1) stage? */
static inline bool tn_rtl_adds(const tn_rtl_operation *operation, int which) {
    return operation->write_back.stages & (which == 0 ? TN_RTL_STAGE_FIRST : TN_RTL_STAGE_LAST);
}

/* Does the operation write its result? A pass may make scalars of rows alone. */
static inline bool tn_rtl_writes(const tn_rtl_operation *operation) {
    return !operation->pass || operation->pass->writes;
}

/* What the operation reads at once; how many. */
enum { TN_RTL_READS = 4 };
uint32_t tn_rtl_reads(const tn_rtl_operation *operation, uint32_t array[TN_RTL_READS]);

/* The axis of the array that carries `index`, or TN_RTL_NONE. */
uint32_t tn_rtl_axis_of(const tn_rtl_array *array, uint32_t index);

#endif
