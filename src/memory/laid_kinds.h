/* Which arrays and which layers of a step lie alike under every build, as far as their map tells: a step has hundreds of arrays, and
 * a few dozen kinds of them.
 *
 * Arrays are of one kind where all is equal that layouts and the cycles of operations ask of an array (memory/laid_arrays.h): size,
 * the kind of its memory's rows (memory/row_kinds.h), role, the matrix that it is, and the tensors of programs that it is. Layers are
 * of one kind where their programs are the same and the arrays of each tensor are of one kind, so that a build demands the same of
 * both.
 */
#ifndef TN_MEMORY_LAID_KINDS_H
#define TN_MEMORY_LAID_KINDS_H

#include "base/error.h"
#include "base/memory.h"
#include "memory/laid_arrays.h"
#include "memory/map.h"
#include "memory/row_kinds.h"

#include <stdint.h>

typedef struct tn_laid_kinds {
    uint32_t arrays, layers; /* kinds of each */
    uint32_t *of_array;      /* [step->arrays] */
    uint32_t *of_layer;      /* [step->layers] */
    uint32_t *array, *layer; /* [arrays], [layers]: the first of each kind */
} tn_laid_kinds;

tn_status tn_laid_kinds_find(const tn_step *step, const tn_laid_arrays *arrays, const tn_map *map,
                             const tn_row_kinds *rows, tn_arena *arena, tn_laid_kinds *kinds,
                             tn_error *error);

#endif
