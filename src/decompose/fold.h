/* Folding: a matrix as the tensor that a format decomposes, and trains as the weights they are.
 *
 * The row i of W folds to digits (i1 .. id) over the factors m, the column j to (j1 .. jd) over n, first factor
 * slowest. The folded tensor has its indices in this order:
 *   TT, ring, Tucker   i1 .. id, j1 .. jd     the order of the matrix itself: nothing moves
 *   TTM                (i1 j1), .. (id jd)    each pair one mode of m_k * n_k
 */
#ifndef TN_DECOMPOSE_FOLD_H
#define TN_DECOMPOSE_FOLD_H

#include "base/error.h"
#include "decompose/ttsvd.h"
#include "tensor/weight.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Modes of the folded tensor; returns how many: d for TTM, 2d for the others. mode has TN_TRAIN_MODES
 * entries. */
size_t tn_fold_modes(const tn_weight *weight, uint64_t *mode);

/* Whether folding moves values. */
bool tn_fold_moves(const tn_weight *weight);

/* Element (i, j) of the matrix lies at row[i] + column[j] of the folded tensor. */
typedef struct tn_places {
    uint64_t rows, columns, *row, *column;
} tn_places;
/* `weight` is checked. */
tn_status tn_places_make(const tn_weight *weight, tn_places *places, tn_error *error);
void tn_places_free(tn_places *places);

/* folded = w folded, both of rows * columns values and not overlapping. `weight` is checked and has that
 * shape. */
tn_status tn_fold(const tn_weight *weight, const double *w, double *folded, tn_error *error);
tn_status tn_unfold(const tn_weight *weight, const double *folded, double *w, tn_error *error);

/* The shape of a train of a TT or TTM weight with its ranks. */
void tn_fold_set_ranks(const tn_train *train, tn_weight *weight);

#endif
