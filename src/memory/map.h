/* A memory map: which memories the arrays of a step live in, before a build says how wide and in what style.
 *
 * Buffers `separate`: every array has a memory of its own. Buffers `pooled`: arrays that never live at once
 * share memories (memory/pool.h), one set of pools for each of: parameters, gradients, optimizer state
 * (tensor cores apart), and activations with intermediates. Tensor cores, their gradients and their optimizer
 * state are grouped by the build in either case: a class of cores has equal sizes, equal uses and no two
 * cores of one layer, so no operation wants two arrays of a group at once. Arrays over a given size live off
 * chip; operations reach them through staging memories, one for each operand position, which hold whole operands, or
 * twice a piece of them where that is less (one is filled while the other is used): a burst where a kernel goes over its
 * operand only once.
 * With tile_bytes pieces are tiles of so many bytes (kernel/tiling.h), of a vector kernel whole rows.
 * Equal memories are merged with a count: pricing walks over some dozens of entries.
 */
#ifndef TN_MEMORY_MAP_H
#define TN_MEMORY_MAP_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "device/build.h"
#include "model/step.h"

#include <stdbool.h>
#include <stdint.h>

struct tn_tiling;

TN_PUBLIC_BEGIN

/* How an operation reaches an array: as what, and over which two extents it can be parallel. */
typedef enum tn_side {
    TN_SIDE_LEFT,   /* rows x reduction of a product */
    TN_SIDE_RIGHT,  /* reduction x columns */
    TN_SIDE_RESULT, /* rows x columns */
    TN_SIDE_VECTOR, /* elements in a row of a vector kernel */
    TN_SIDE_BESIDE, /* rows x columns, read as a product's result is written (price/workload_data.h) */
    TN_SIDES
} tn_side;

typedef struct tn_use {
    tn_side side;
    uint32_t extent[2]; /* at most TN_BUILD_PARALLEL_MOST each, which is all that matters */
} tn_use;

/* Of either extent so many are wanted at once. */
static inline void tn_side_edges(tn_side side, const tn_build *build, uint64_t edge[2]) {
    /* Of a systolic array's results a row leaves at a time. */
    const uint64_t rows = build->array == TN_ARRAY_SYSTOLIC ? 1 : build->rows,
                   edges[TN_SIDES][2] = {{build->rows, build->reduction}, /* in the order of tn_side */
                                         {build->reduction, build->columns},
                                         {rows, build->columns},
                                         {build->vector, 1},
                                         {rows, build->columns}};
    edge[0] = edges[side][0];
    edge[1] = edges[side][1];
}

typedef struct tn_extent {
    uint64_t elements, arrays; /* `arrays` of `elements` lie one behind the other */
} tn_extent;

typedef enum tn_store { TN_STORE_CORES, TN_STORE_ACTIVATIONS, TN_STORES } tn_store;

typedef struct tn_mapped {
    uint32_t array;      /* its largest array, which names it */
    uint64_t word_bits;  /* of an element; 0: of the step's precision */
    uint32_t arrays;     /* how many arrays live in it and its copies */
    tn_store store;      /* style by activation_memory or by core_memory */
    bool grouped;        /* cores: `copies` memories that the build groups */
    bool staging;        /* between off-chip memory and the kernels */
    uint64_t copies;     /* equal memories */
    uint64_t first_port; /* their ports are numbered from here */
    uint32_t uses, extents;
    uint32_t sides; /* bit i: some use is on side i (tn_side) */
    const tn_use *use;
    const tn_extent *extent;
} tn_mapped;

/* An operand that reaches a kernel through the staging memory of its position. */
typedef struct tn_staged {
    uint32_t operation, array, position;
    uint64_t piece,
        held; /* elements that are staged at a time; that the staging memory holds: all, or two pieces where these are fewer */
} tn_staged;

typedef struct tn_map {
    uint32_t memories;
    tn_mapped *memory;
    uint64_t ports; /* memories with their copies counted */
    /* By array; UINT32_MAX where there is none. */
    uint32_t *memory_of;      /* off chip: none */
    uint32_t *copy_of;        /* which of the memory's copies */
    uint32_t slots, *slot_of; /* the place that arrays take one after the other; none: a place of its own */
    bool *off_chip;           /* [step->arrays] */
    uint32_t staging_of[TN_OPERATION_READS + 1]; /* memory by operand position; writes last */
    uint32_t staged_count;
    tn_staged *staged; /* in the order of the step */
    struct tn_tiling *
        tiling; /* kernel/tiling.h, [operations]; tiles 0: on chip, or staged whole; NULL: nothing is off chip */
} tn_map;

typedef struct tn_map_options {
    tn_buffers buffers;
    uint64_t off_chip_over_bytes; /* 0: all arrays on chip */
    uint64_t burst_bytes;         /* what is staged at a time of an array that a kernel goes over once */
    uint64_t tile_bytes;          /* of any other operand; 0: all of it */
    uint64_t access_bytes;        /* the least that external memory moves */
} tn_map_options;

tn_status tn_map_make(const tn_step *step, const tn_map_options *options, tn_arena *arena, tn_map *map,
                      tn_error *error);

/* True if a map of these options puts the array off chip. */
bool tn_map_puts_off_chip(const tn_step *step, const tn_map_options *options, uint32_t array);

/* Bits of a word that holds an element of the array. */
uint64_t tn_array_word_bits(const tn_step *step, uint32_t array);

/* Adds a use to an ascending list none of which covers another, unless one of them covers it; those that it covers go. False:
 * there are `most` already. */
bool tn_uses_add(tn_use *use, uint32_t *uses, uint32_t most, tn_use added);

/* Where arrays of that role are kept: those that a batch makes apart from the model's own. */
static inline tn_store tn_role_store(tn_array_role role) {
    return tn_role_is_activation(role) ? TN_STORE_ACTIVATIONS : TN_STORE_CORES;
}

/* How the operation uses its operand `position` (TN_OPERATION_READS: what it writes). */
tn_use tn_use_of(const tn_operation *operation, unsigned position);

/* Words that the memory must serve in a cycle: its widest use. */
uint64_t tn_mapped_accesses(const tn_mapped *memory, const tn_build *build);

/* The same with each edge of a block rounded up to a power of two: elements of a row. */
uint64_t tn_mapped_row(const tn_mapped *memory, const tn_build *build);

/* Rows of so many elements that the arrays of one copy take, one behind the other, with nothing padded. */
uint64_t tn_mapped_rows(const tn_mapped *memory, uint64_t elements);

/* The most copies that a memory of the map has which is grouped, 1 where none is: groups of more are as large. */
uint64_t tn_map_most_copies(const tn_map *map);

/* The logarithm of the widest row that any memory has under the build. */
uint32_t tn_widest_row_log(const tn_build *build);

/* Elements of `array` that the operation moves when it reads it as operand `position` (TN_OPERATION_READS:
 * writes it): at most the whole array. */
uint64_t tn_operand_elements(const tn_step *step, const tn_operation *operation, uint32_t array,
                             unsigned position);

TN_PUBLIC_END

#endif
