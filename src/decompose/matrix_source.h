/* A weight matrix in an array file: which array, which part of it, which way round. Reads it as the folded
 * tensor that a decomposition starts from, in blocks of rows, so that no second copy of it is made.
 *
 * W is M x N, rows are outputs, as in PyTorch's Linear and Embedding. Files of other conventions are turned:
 *   rows-are-output   array M x N; train cores m first, then n; TTM cores (r, m, n, r)
 *   input-first       array N x M; train cores n first, then m, as CoMERA keeps them; TTM cores (r, n, m, r)
 *   input-rows        array N x M, as t3f and TensorFlow's dense layers have it; cores as input-first
 * The values are finite or the array is refused.
 */
#ifndef TN_DECOMPOSE_MATRIX_SOURCE_H
#define TN_DECOMPOSE_MATRIX_SOURCE_H

#include "base/error.h"
#include "base/public.h"
#include "tensor/weight.h"
#include "text/arrays.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_convention { TN_ROWS_ARE_OUTPUT, TN_INPUT_FIRST, TN_INPUT_ROWS } tn_convention;
extern const char *const tn_convention_names[]; /* ended by NULL */

/* Rows first..first+count-1 of an axis; count 0: all. */
typedef struct tn_slice {
    uint64_t first, count;
} tn_slice;

typedef struct tn_matrix_source {
    const char *tensor; /* name of the array; NULL: the only one of the file */
    size_t cores;       /* instead: the cores of a train, by name */
    const char *const *core;
    tn_slice rows, columns; /* of the array as it is stored, before it is turned; not with cores */
    bool transposed;        /* the array is N x M */
    bool padded; /* outputs beyond those of the array are zero, as of a vocabulary that was made to fold */
} tn_matrix_source;

/* folded[rows * columns of `weight`], in the order of decompose/ttsvd.h. TN_INPUT where the shapes differ. */
tn_status tn_matrix_read(tn_arrays *arrays, const char *path, const tn_matrix_source *source,
                         const tn_weight *weight, double *folded, tn_error *error);

TN_PUBLIC_END

#endif
