/* Where every element of a step's arrays lies under a build: the layouts of all layers together (layout/layouts.h),
 * and the rows and depth that each memory of the map then has.
 *
 * A memory gives rows of 2^k elements, the widest block that a use of any of its arrays asks for, in as many banks as
 * build.split says (auto: as the arrays in it were found to need). Memories that an update goes through side by side,
 * those of a parameter, its gradient and its optimizer state, have rows of one size, so that it goes row by row.
 *
 * What several layers or vector kernels want (X, Y and their gradients, scores, biases) lies in words of tokens x features
 * that each of them can take: as many features as the kernel takes terms or columns, as far as that is a box in every
 * folding of every layer that touches the array, and as many tokens as fill the row (memory/laid_arrays.h). Everything
 * else of a layer is searched for that layer alone; layers of one program, kernel and demands share what was found. A
 * look-up in cores is laid for one token: a slice that a token's digit names lies behind the other.
 *
 * The same memories with every array of a program in the fewest rows that any box of a row's elements covers it with,
 * and every issue in one cycle, are a lower bound of all of it (TN_LAID_BOUND): a wide word takes no more blocks than
 * its banks do, and no blocks get fewer with depth (geometry hls). A closer one (TN_LAID_CLOSELY) knows what needs no
 * search: matrices lie in their words, and a product of a program takes what its best cut takes where nothing else is in
 * its way (layout/product_layout.h).
 *
 * TN_LAID_ALONE is like the latter for a layer whose neighbours are not known. What it shares with them lies in
 * rows of 2^r elements, where r is at most that of the widest block of the build, in words of 2^f columns and 2^(r - f) rows.
 * f is at most what the layer's own folding (and heads of attention) allow, and the terms or columns that the kernel takes, or
 * what the matrix has no rows for. A word that is longer either way covers no block worse, so the widest row is
 * the best, and with it every f is tried: of a product for what the layer reads and what it writes apart, of a block of
 * attention or of a vector kernel for each block.
 */
#ifndef TN_MEMORY_LAID_H
#define TN_MEMORY_LAID_H

#include "device/build.h"
#include "layout/layer_layout.h"
#include "layout/least_rows.h"
#include "memory/laid_arrays.h"
#include "memory/laid_kinds.h"
#include "memory/place_table.h"
#include "memory/placement.h"

/* Which layouts of a step, apart from its memory map. */
typedef struct tn_laid_key {
    uint64_t rows, columns, reduction, vector;
    uint32_t split, laying, skew, array;
} tn_laid_key;

/* How an array lies that vector kernels or several layers touch: as a matrix (memory/laid_arrays.h). */
typedef struct tn_laid_words {
    bool is_matrix; /* false: as its layer's program has it, or element behind element */
    tn_shared_words
        shared; /* of a bound of layers alone: the most features, and tokens that they leave room for */
} tn_laid_words;

typedef struct tn_laid {
    tn_laid_key key;
    tn_row *memory;              /* [memories]: of one copy */
    const tn_layouts **layer;    /* [step->layers]: NULL where it has no program; all NULL for a bound */
    const tn_least_rows **least; /* [step->layers]: for the closer bound, else NULL */
    tn_laid_layer **known;       /* [step->layers]: NULL for the first bound */
    bool closely;                /* a closer bound: no layouts were found */
    struct tn_laid_begun *begun; /* what layers are laid with that were not asked for yet (tn_laid_begin) */
    bool is_complete;
    bool alone;           /* the one of each layer alone: */
    tn_laid_layer ***way; /* [step->layers][ways] */
    uint32_t *ways;       /* [step->layers] */
    uint8_t *
        *most_features; /* [step->layers][program->tensors]: logarithm of a word's, where it is a matrix */
    uint64_t *depth;    /* [step->arrays]: rows; 0: element lies behind element */
    uint64_t *row;      /* [step->arrays]: elements that it has in a row; 0: as many as its memory */
    tn_laid_words *
        words; /* of each kind of arrays, of a bound of layers alone of each array; NULL for the first bound */
    const uint32_t *words_of; /* [step->arrays]: which of them (tn_laid_words_of) */
    struct tn_laid *next;
} tn_laid;

/* How the array lies. */
static inline const tn_laid_words *tn_laid_words_of(const tn_laid *laid, uint32_t array) {
    return &laid->words[laid->words_of ? laid->words_of[array] : array];
}

/* What is known of programs' layouts, whatever the steps that they are in. */
typedef struct tn_laid_programs {
    tn_laid_layers layers;
    tn_least_rows *least;    /* a list */
    tn_one_token *ones;      /* memory/laid_arrays.h: a list */
    tn_known_shares *shares; /* memory/memory_share.h; NULL: none yet */
    tn_known_lines *lines;   /* memory/place_table.h; likewise */
} tn_laid_programs;
tn_status tn_laid_programs_begin(tn_laid_programs *programs, tn_arena *arena, tn_error *error);

/* What is known of a step's layouts under every memory map and on every device. */
typedef struct tn_laid_step {
    const tn_step *step;
    const tn_laid_arrays *arrays;
    tn_laid_programs *programs;
} tn_laid_step;
/* `programs`: of steps whose programs live as long as it; NULL: it gets its own, in `arena`. */
tn_status tn_laid_step_make(const tn_step *step, tn_laid_programs *programs, tn_arena *arena,
                            tn_laid_step **made, tn_error *error);

/* What is known of them under one map. All three must outlive it. */
typedef struct tn_laid_map tn_laid_map;
tn_status tn_laid_map_make(tn_laid_step *laid, const tn_map *map, tn_arena *arena, tn_laid_map **made,
                           tn_error *error);
/* Which arrays and layers lie alike under it. */
const tn_laid_kinds *tn_laid_map_kinds(const tn_laid_map *laid_map);
/* The kind of each memory's rows: [map->memories]. */
const uint32_t *tn_laid_map_row_kinds(const tn_laid_map *laid_map);

/* Where everything lies under a build whose layouts are not ideal: found, or as it was found before. That of the first bound
 * is valid until the next call; others stay. */
tn_status tn_laid_find(tn_laid_map *laid_map, const tn_build *build, const tn_laid **laid, tn_error *error);

/* The number, from 1, of the rows that the build's parallelism gives the memories: of builds with the same one, equal
 * splits and equal buffers the first bound has the same memories. */
tn_status tn_laid_rows(tn_laid_map *laid_map, const tn_build *build, uint32_t *number, tn_error *error);

/* The same for those who may need the cycles of some products alone: words of matrices are there, layers are laid as their products
 * are asked for, and all else, memories, layers, depths and rows, is there after tn_laid_complete. */
tn_status tn_laid_begin(tn_laid_map *laid_map, const tn_build *build, const tn_laid **laid, tn_error *error);
tn_status tn_laid_complete(const tn_laid *laid, tn_error *error);

/* How a product of a layer's program was laid, of no bound. */
tn_status tn_laid_product_layout(const tn_laid *laid, uint32_t layer, uint32_t product,
                                 const tn_product_layout **layout, tn_error *error);

/* Cycles of a product of a layer's program on a kernel of the build's edges; of a bound, the closer one, at least. */
tn_status tn_laid_product_cycles(const tn_laid_step *laid_step, const tn_laid *laid, uint32_t layer,
                                 uint32_t product, const tn_matmul *kernel, uint64_t *cycles,
                                 tn_error *error);
/* The same of the product of a part of a gradient, of no bound. */
tn_status tn_laid_partial_cycles(const tn_laid_step *laid_step, const tn_laid *laid, uint32_t layer,
                                 const tn_partial *part, const tn_matmul *kernel, uint64_t *cycles,
                                 tn_error *error);
/* The most features of a word of a matrix, as its logarithm, as far as the layer knows: of a bound of layers alone. */
uint32_t tn_laid_most_features(const tn_laid_step *laid_step, const tn_laid *laid, uint32_t layer,
                               uint32_t array);
/* Rows that a tensor of a layer's program takes in a memory of rows of so many elements; *row: as many of them as it has. Of
 * a bound those that so many lanes go through fastest. */
uint64_t tn_laid_tensor_rows(const tn_laid *laid, uint32_t layer, uint32_t tensor, uint64_t row_elements,
                             uint64_t lanes, uint64_t *row);

#endif
