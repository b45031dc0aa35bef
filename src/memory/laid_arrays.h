/* What layouts need to know of a step's arrays under every build: which of them a layer's programs and its vector kernels
 * touch, and as what.
 *
 * An array that vector kernels, attention or several layers touch lies as a matrix of rows x columns (tokens x features,
 * queries x keys; a vector is one row): its words hold as many columns as every folding of it has together. What one
 * layer's products alone touch is laid as they like it.
 */
#ifndef TN_MEMORY_LAID_ARRAYS_H
#define TN_MEMORY_LAID_ARRAYS_H

#include "base/memory.h"
#include "model/operation.h"

/* An array that is a part of a tensor of a layer's program, or of an optimizer's state of that, so many times. */
typedef struct tn_laid_part {
    const tn_partial *partial; /* NULL: it is none */
    uint32_t layer;
    uint64_t times;
} tn_laid_part;

typedef struct tn_laid_arrays {
    uint32_t **of_tensor; /* [step->layers][program->tensors]: array; UINT32_MAX: no operation says */
    /* [step->layers]: the program whose layouts are searched; of a look-up in cores that of one token, as generated
     * hardware takes tokens one by one. NULL: the layer has none. */
    const tn_program **program;
    uint64_t *columns;        /* [step->arrays]: of the matrix that the array is; 0: it is none */
    uint64_t *rows;           /* [step->arrays]: of that matrix, */
    uint8_t *rows_log;        /* and the logarithm of the power of two from them on; */
    uint64_t *heads;          /* of attention's scores: every head's rows begin a word of their own; else 1 */
    uint8_t *feature_log;     /* [step->arrays]: the most columns of a word, */
    uint8_t *feature_most;    /* and what it were if no layer folded the array */
    uint64_t *axis_logs;      /* bit l: in some folding values of an axis lie 2^l columns apart */
    const tn_laid_part *part; /* [step->arrays] */
    uint32_t updates, *update; /* operations */
    uint32_t cuts, *cut;       /* those that cut parts out */
    bool *
        clears; /* [step->operations]: adds to an array row by row, or slice by slice, and is the first that does */
} tn_laid_arrays;

enum { TN_LOOKUP_TOKEN = 0 }; /* index of a look-up's program that numbers the tokens */

/* A look-up's program, and the same for one token. */
typedef struct tn_one_token {
    const tn_program *source, *one;
    struct tn_one_token *next;
} tn_one_token;

/* ones: a list, which grows in `ones_arena`. */
tn_status tn_laid_arrays_find(const tn_step *step, tn_one_token **ones, tn_arena *ones_arena, tn_arena *arena,
                              const tn_laid_arrays **arrays, tn_error *error);

/* Whether the operation moves rows one by one, each to or from a place of its own: a look-up of rows, or a scatter, which
 * adds them, unless every row goes to its own. */
bool tn_moves_by_row(const tn_step *step, const tn_operation *operation);

/* Whether a product of a look-up in cores has a term of each token, so that the tokens' products are added: what has no
 * token, and gradients. */
bool tn_lookup_is_summed(const tn_program *program, const tn_program_step *step);
/* Whether it is one for each token at all; else the same for all. */
bool tn_lookup_is_by_token(const tn_program *program, const tn_program_step *step);

/* How often a tensor of a layer's program lies in its array: once, or, of a look-up's core or row, once for each. */
uint64_t tn_laid_slices(const tn_laid_arrays *arrays, const tn_step *step, uint32_t layer, uint32_t tensor);

#endif
