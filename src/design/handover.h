/* A design as it is handed over: every array with the memory, the row and the layout it lies in, every operation with the
 * kernel that runs it and what it waits for, every memory that is built. The same map, places and schedule as the price.
 *
 * Memories are listed one by one: a class of the map that has copies, or groups of them, becomes as many. A memory has
 * `banks` of words of width_bits, one word a cycle each; a row is one word of every bank, row_elements elements. An array
 * lies from row `offset` of its memory, as its layout says (design/array_layout.h); with ideal layouts row r of it holds
 * its elements r * row_elements .. in C order. */
#ifndef TN_DESIGN_HANDOVER_H
#define TN_DESIGN_HANDOVER_H

#include "base/error.h"
#include "base/memory.h"
#include "design/explain.h"
#include "price/workload.h"

#include <stdbool.h>
#include <stdint.h>

enum { TN_HANDED_AXES = 64 };
#define TN_HANDED_NONE UINT32_MAX

typedef struct tn_handed_memory {
    const char *name;  /* "m12": a name in C and HDL */
    const char *holds; /* of its largest array */
    tn_memory_style style;
    tn_array_split split;
    bool staging;
    uint64_t banks, width_bits, depth, row_elements, read_ports;
    tn_blocks blocks; /* read ports included */
    uint32_t arrays;
} tn_handed_memory;

typedef struct tn_handed_array {
    const char *name; /* "encoder1.query.core2" */
    const char *role;
    uint32_t memory;                 /* TN_HANDED_NONE: off chip */
    uint64_t elements, offset, rows; /* rows of the memory, both */
    uint32_t first, last;            /* operations between which it lives; UINT32_MAX: to the end */
    uint32_t axes;
    uint64_t shape[TN_HANDED_AXES];
    const char *axis[TN_HANDED_AXES]; /* names; equal ones are the same index of its layer's contraction */
    const tn_array_layout *layout;    /* NULL where layouts are ideal */
} tn_handed_array;

typedef struct tn_handed_operation {
    const char *name, *kind, *kernel; /* "encoder1.query", "product", "matmul" */
    const char *phase;
    uint64_t start, finish; /* cycles of the schedule */
    bool critical;
    const tn_operation *operation;
} tn_handed_operation;

typedef struct tn_handover {
    const tn_step *step;
    const tn_explanation *why;
    uint64_t element_bits;
    uint32_t memories, arrays, operations;
    tn_handed_memory *memory;
    tn_handed_array *array;         /* [step->arrays] */
    tn_handed_operation *operation; /* [step->operations] */
} tn_handover;

/* `why` must be the explanation of the same workload and build. Lives in `arena`. */
tn_status tn_handover_make(tn_workload *workload, const tn_build *build, const tn_explanation *why,
                           tn_arena *arena, tn_handover *handover, tn_error *error);

#endif
