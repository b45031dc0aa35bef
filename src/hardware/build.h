/* A build: the hardware choices of one design, apart from the device and the model. Key `build:` of a model
 * file, and what a space varies under `build.*`. docs/build-keys.md says what each key means.
 */
#ifndef TN_HARDWARE_BUILD_H
#define TN_HARDWARE_BUILD_H

#include "base/arena.h"
#include "base/error.h"
#include "hardware/memory.h"
#include "text/schema.h"
#include "text/yaml.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum tn_sharing {
    TN_SHARED,
    TN_PER_PHASE
} tn_sharing; /* one matmul kernel for all, or one per phase */

/* Where arrays live whose lifetimes do not meet: each in a memory of its own, or in pools (hardware/pool.h).
 */
typedef enum tn_buffers { TN_BUFFERS_SEPARATE, TN_BUFFERS_POOLED } tn_buffers;

/* hardware/schedule.h says what each means. */
typedef enum tn_schedule_kind { TN_SCHEDULE_SEQUENTIAL, TN_SCHEDULE_GRADIENTS_TOGETHER } tn_schedule_kind;

/* Bounds of the keys: a price within them can't overflow (hardware/price.c). */
enum { TN_BUILD_PARALLEL_MOST = 1024, TN_BUILD_GROUP_MOST = 1024 };

typedef struct tn_build {
    uint64_t rows, columns, reduction; /* parallelism of the matmul kernel: MACs per cycle = their product */
    uint64_t vector;                   /* lanes of the vector kernels */
    uint32_t sharing;                  /* tn_sharing */
    uint32_t core_memory;              /* tn_memory_style of parameters, gradients, optimizer state */
    uint32_t activation_memory;        /* tn_memory_style of activations and intermediates */
    uint32_t split;                    /* tn_array_split: how an array serves parallel accesses */
    uint64_t group;                    /* small cores that share one memory in depth; 1: none */
    uint32_t buffers;                  /* tn_buffers */
    uint32_t schedule;                 /* tn_schedule_kind */
} tn_build;

extern const tn_schema tn_build_schema; /* every key with its default */
tn_status tn_build_decode(const tn_yaml *node, tn_arena *arena, tn_build *build,
                          tn_error *error); /* NULL: defaults */
/* Refuses what the schema would: for builds that were not decoded. */
tn_status tn_build_check(const tn_build *build, tn_error *error);

/* True where two streams of operations run side by side. */
static inline bool tn_build_runs_streams(const tn_build *build) {
    return build->schedule == TN_SCHEDULE_GRADIENTS_TOGETHER;
}

#endif
