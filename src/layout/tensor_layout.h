/* Where the elements of one tensor lie.
 *
 * A memory gives a row of 2^k elements a cycle, in banks that give a word each:
 *
 *     one wide word   a row is a word: a box of elements, edges powers of two (an address is split by bits)
 *     row banks       words of T elements along one axis, rotated over the banks: a block along that axis and
 *                     any other takes one cycle, one along two others as many as its shorter edge
 *     full skew       every element is a word in a bank of its own; which banks (skews) is searched as well
 *
 * Element x lies in the word c, c_k = floor(x_k / edge_k); a word lies in bank (sum of skew_k c_k) mod banks, in
 * row sum of floor(c_k / divide_k) stride_k: along one axis or two the next words share a row, where the skews put
 * them into different banks. So axes are padded to whole words, and these to whole rounds of banks. A block takes as many cycles as its fullest bank
 * has words of it; what an issue and a product then take is kernel/issue.h.
 */
#ifndef TN_LAYOUT_TENSOR_LAYOUT_H
#define TN_LAYOUT_TENSOR_LAYOUT_H

#include "layout/layout_demand.h"
#include "layout/layout_problem.h"
#include "model/step.h"

typedef struct tn_layout_axis {
    uint32_t index;      /* of the program */
    uint64_t size, edge; /* elements, and those of a word along the axis */
    uint64_t skew;       /* banks from a word to the next; below the layout's `banks` */
    uint64_t turn;       /* words along the axis after each of which they lie one bank further; 0: none */
    /* Words along the axis that share a place in different banks: 1 but along one axis, or two, where the product is
     * the layout's `banks`. */
    uint64_t divide;
} tn_layout_axis;

/* Axes of one element are left out. */
typedef struct tn_tensor_layout {
    uint64_t row_elements; /* that the memory gives a cycle: banks times the elements of a word */
    uint64_t banks;        /* 1: one wide word */
    uint64_t depth;        /* rows that the tensor takes */
    uint32_t axes;
    tn_layout_axis *axis; /* [axes] */
} tn_tensor_layout;

/* Cycles of a block of the tensor that is cut along both groups; bit k of `kind`: it is the last along the k-th of their
 * edges. Indices that the tensor has not do not matter. */
uint64_t tn_tensor_layout_phases(const tn_tensor_layout *layout, const tn_group_cut *const *group, int kind);

/* A tensor in words of tokens x features that every layer can take, as its demand says; axis[its axes]: room for them.
 * Rows are not sought. */
void tn_shared_layout(const tn_layout_problem *problem, uint32_t tensor, const tn_layout_demand *demand,
                      tn_bank_kind kind, tn_layout_axis *axis, tn_tensor_layout *layout);

/* Sets along which axis or axes words share rows, and the depth: the fewest rows, of equal ones the last axes. False where
 * no skews tell the banks apart. */
bool tn_tensor_layout_share_rows(tn_tensor_layout *layout);
/* The rows that it takes at least, whatever the skews. */
uint64_t tn_tensor_layout_fewest_rows(const tn_tensor_layout *layout);

/* Where a part of a weight's gradient lies, and what was cut out for it (step/sparse_update.c): the first `kept` of the index
 * lie as the whole does. So an update goes row by row through the parameter, a gradient of its part and that part's state,
 * and a copy row by row from the whole. Axes live in `arena`. */
tn_status tn_partial_layout(const tn_tensor_layout *whole, const tn_partial *partial, tn_arena *arena,
                            tn_tensor_layout *part, tn_error *error);

#endif
