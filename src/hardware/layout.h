/* A layout: which memories the arrays of a step live in, before a build says how wide and in what style.
 *
 * Layout `separate`: every array has a memory of its own. Layout `pooled`: arrays that never live at once
 * share memories (hardware/pool.h), one set of pools for each of: parameters, gradients, optimizer state
 * (tensor cores apart), and activations with intermediates. Tensor cores, their gradients and their optimizer
 * state are grouped by the build in either layout; a group is made of cores with equal size and equal uses,
 * that is, of the same core of different layers, which no operation wants at once. Equal memories are merged
 * with a count: pricing walks over some dozens of entries.
 */
#ifndef TN_HARDWARE_LAYOUT_H
#define TN_HARDWARE_LAYOUT_H

#include "base/arena.h"
#include "base/error.h"
#include "hardware/build.h"
#include "model/step.h"

#include <stdbool.h>
#include <stdint.h>

/* How an operation reaches an array: as what, and over which two extents it can be parallel. */
typedef enum tn_side {
    TN_SIDE_LEFT,   /* rows x reduction of a product */
    TN_SIDE_RIGHT,  /* reduction x columns */
    TN_SIDE_RESULT, /* rows x columns */
    TN_SIDE_VECTOR, /* elements in a row of a vector kernel */
} tn_side;

typedef struct tn_use {
    tn_side side;
    uint32_t extent[2]; /* at most TN_BUILD_PARALLEL_MOST each, which is all that matters */
} tn_use;

typedef struct tn_extent {
    uint64_t elements, arrays; /* `arrays` of `elements` lie one behind the other */
} tn_extent;

typedef struct tn_layout_memory {
    uint32_t array;    /* its largest array, which names it */
    uint32_t arrays;   /* how many arrays live in it and its copies */
    bool activation;   /* style by activation_memory, else by core_memory */
    bool grouped;      /* cores: `copies` arrays that the build groups */
    bool both_streams; /* read or written by input gradients as well as by weight gradients and updates */
    uint64_t copies;   /* equal memories */
    uint32_t uses, extents;
    const tn_use *use;
    const tn_extent *extent;
} tn_layout_memory;

typedef struct tn_layout {
    uint32_t memories;
    tn_layout_memory *memory;
    uint32_t *memory_of; /* [step->arrays]; UINT32_MAX for an array without elements */
    uint32_t slots;
    uint32_t
        *slot_of; /* [step->arrays]: place that arrays take one after the other; UINT32_MAX: one of its own */
} tn_layout;

tn_status tn_layout_make(const tn_step *step, tn_buffers buffers, tn_arena *arena, tn_layout *layout,
                         tn_error *error);

/* Words that the memory must serve in a cycle: its widest use. */
uint64_t tn_layout_accesses(const tn_layout_memory *memory, const tn_build *build);

#endif
