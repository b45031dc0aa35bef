/* A build: the hardware choices of one design, apart from the device and the model. Key `build:` of a model
 * file, and what a space varies under `build.*`. */
#ifndef TN_HARDWARE_BUILD_H
#define TN_HARDWARE_BUILD_H

#include "base/arena.h"
#include "base/error.h"
#include "text/schema.h"
#include "text/yaml.h"

#include <stdint.h>

typedef enum tn_sharing {
    TN_SHARED,
    TN_PER_PHASE
} tn_sharing; /* one matmul kernel for all, or one per phase */
typedef enum tn_memory_style { TN_STYLE_AUTO, TN_STYLE_BRAM, TN_STYLE_URAM, TN_STYLE_LUTRAM } tn_memory_style;
typedef enum tn_array_split { TN_SPLIT_PARTITION, TN_SPLIT_RESHAPE } tn_array_split;
/* sequential; the weight gradient beside the input gradient; ... (hardware/schedule.h) */
typedef enum tn_schedule_kind { TN_SCHEDULE_SEQUENTIAL, TN_SCHEDULE_GRADIENTS_TOGETHER } tn_schedule_kind;

typedef struct tn_build {
    uint64_t rows, columns, reduction; /* parallelism of the matmul kernel: MACs per cycle = their product */
    uint64_t vector;                   /* lanes of the vector kernels */
    uint32_t sharing;                  /* tn_sharing */
    uint32_t core_memory;              /* tn_memory_style of parameters, gradients, optimizer state */
    uint32_t activation_memory;        /* tn_memory_style of activations and intermediates */
    uint32_t split;                    /* tn_array_split: how an array serves parallel accesses */
    uint64_t group;                    /* small cores that share one memory in depth; 1: none */
    uint32_t schedule;                 /* tn_schedule_kind */
} tn_build;

extern const tn_schema tn_build_schema; /* every key with its default */
tn_status tn_build_decode(const tn_yaml *node, tn_arena *arena, tn_build *build,
                          tn_error *error); /* NULL: defaults */

#endif
