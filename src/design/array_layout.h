/* How every array of a step lies in its memory under a build, told array by array: what `tenfold cost` prints of layouts
 * and what a hand-over needs to find an element.
 *
 * Element x (one coordinate an axis, each below `size`) lies in the word c, c_k = floor(x_k / word_k). A word lies in bank
 * (sum of skew_k c_k + floor(c_k / turn_k), the latter where turn_k is not 0) mod banks, and, counted from the array's first row, in row
 * sum of floor(c_k / divide_k) stride_k, the strides being those of the C order of ceil(ceil(size_k / word_k) / divide_k).
 * Within the word elements lie in C order. An array of several slices has them one behind the other, each in as many rows.
 */
#ifndef TN_DESIGN_ARRAY_LAYOUT_H
#define TN_DESIGN_ARRAY_LAYOUT_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"

#include <stdint.h>

TN_PUBLIC_BEGIN

/* A product of a layer that takes blocks of the array. */
typedef struct tn_array_use {
    const char *layer, *phase;
    const char *operand;   /* "left", "right", "result" */
    uint64_t blocks;       /* that it reads, or writes: issues, or tiles */
    uint64_t block_cycles; /* of the slowest of them */
} tn_array_use;

typedef struct tn_array_layout {
    const char *name; /* "encoder1.query.core2" */
    uint32_t memory;  /* of the map; UINT32_MAX: off chip, and nothing below holds */
    uint32_t axes;
    const char *const *axis; /* names: "i3", an index of its layer's program; "row", "column"; "element" */
    const uint64_t *size, *word, *skew, *divide, *turn; /* [axes] */
    uint64_t banks, row_elements;                       /* banks times the elements of a word */
    uint64_t slices, words, depth;                      /* of all slices; depth: rows */
    uint64_t padded_elements;                           /* words times the elements of a word */
    uint32_t uses;
    const tn_array_use *use;
} tn_array_layout;

TN_PUBLIC_END

struct tn_workload;
struct tn_plan;

/* Of the layouts that plan->laid has: layout[step->arrays], in `arena`. NULL where the build's layouts are ideal. */
tn_status tn_array_layouts_tell(const struct tn_workload *workload, const struct tn_plan *plan,
                                tn_arena *arena, const tn_array_layout **layout, tn_error *error);

#endif
