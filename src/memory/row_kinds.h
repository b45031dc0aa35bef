/* Memories whose rows are equally long under every build: those that an update, or a copy, goes through side by side, which have rows
 * as long as the widest of them asks for, and those that are asked for in the same blocks. A step has a hundred memories, and a dozen
 * kinds of rows. */
#ifndef TN_MEMORY_ROW_KINDS_H
#define TN_MEMORY_ROW_KINDS_H

#include "base/error.h"
#include "base/memory.h"
#include "memory/laid_arrays.h"
#include "memory/map.h"

#include <stdint.h>

typedef struct tn_row_kinds {
    uint32_t count;
    uint32_t *of_memory; /* [map->memories] */
    tn_mapped *asked; /* [count]: a memory with the uses of all that are tied; nothing else of it is told */
} tn_row_kinds;

tn_status tn_row_kinds_find(const tn_step *step, const tn_laid_arrays *arrays, const tn_map *map,
                            tn_arena *arena, tn_row_kinds *kinds, tn_error *error);

#endif
