/* Where the elements of one tensor lie, and in which blocks a product takes them: what a search has found
 * (layout/layout_problem.h), told in full.
 */
#ifndef TN_LAYOUT_TENSOR_LAYOUT_H
#define TN_LAYOUT_TENSOR_LAYOUT_H

#include "kernel/kernel.h"
#include "layout/layout_problem.h"
#include "model/step.h"
#include "program/program.h"

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

typedef struct tn_product_layout {
    tn_group_cut cut[3];   /* of rows, columns, reduction */
    uint64_t tiles, terms; /* issues are tiles times terms */
    uint64_t read_cycles;  /* of an issue: the slower operand's, of the worst blocks */
    uint64_t write_cycles; /* of the worst tile */
    tn_issued_product issued;
} tn_product_layout;

/* Cycles of a block of the tensor that is cut along both groups; bit k of `kind`: it is the last along the k-th of their
 * edges. Indices that the tensor has not do not matter. */
uint64_t tn_tensor_layout_phases(const tn_tensor_layout *layout, const tn_group_cut *const *group, int kind);

/* Layouts of the tensors of a layer's program on a matmul kernel: which axis of each index group every product
 * cuts, and which elements of every tensor lie together in a word.
 *
 * A product's rows, columns and terms are groups of indices. A kernel of R x C sums and P terms an issue cuts
 * one index of each group: an issue takes R consecutive values of one row index, P of one reduction index and
 * C of one column index, and one value of every other index; where no index of a group is long enough, it may
 * take 2^i values of one and the rest of another. So it reads a block of each operand, and at the
 * end of a sum writes one of the result, that are boxes in the tensors' own axes.
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
 *
 * The search descends from two starts, tensor by tensor: each takes the word with which its products, each cut as
 * suits it best, cost least while the other tensors stand. Then it takes up the three tensors of one product at
 * once, of each that costs more than it must, as long as that helps. Ties go to the narrower word, then to fewer
 * words, then to the first. It ends at once where every issue takes one cycle and every cut wastes least: nothing
 * is better, so the result is exact. Otherwise `bound_cycles` says what no choice can beat.
 */

typedef struct tn_layouts {
    uint32_t tensors, products;
    tn_tensor_layout *tensor;   /* [tensors]: of the program */
    tn_product_layout *product; /* [products]: steps of the program */
    uint64_t issue_cycles;      /* of all issues of all products, if all blocks were like the worst */
    uint64_t cycles;            /* the same with what tiles wait to be written, pipelines' filling apart */
    uint64_t bound_cycles;      /* no cuts and words take fewer */
    bool exact;                 /* they are equal */
} tn_layouts;

/* Searches the layouts of a program on a kernel. demand[program->tensors], or NULL: no demands, as of a layer
 * alone. *layouts lives in `arena`. */
tn_status tn_layouts_find(const tn_program *program, const tn_kernel_edges *edges, tn_banking banking,
                          tn_layout_goal goal, const tn_layout_demand *demand, tn_arena *arena,
                          tn_layouts *layouts, tn_error *error);

/* What a program's products take at least whatever layouts are found for it: each is cut as suits it best, and only tensors
 * that other layers want, too, are in its way, as their words are known without a search. No search with the same demands
 * (layout/tensor_layout.h) ends with fewer cycles of any product.
 */

/* cycles[program->steps]: of each product on the kernel, as kernel/issue.h counts them. */
tn_status tn_open_layouts_cycles(const tn_program *program, const tn_matmul *kernel, tn_banking banking,
                                 const tn_layout_demand *demand, uint64_t *cycles, tn_error *error);

/* Where a part of a weight's gradient lies, and what was cut out for it (step/sparse_update.c): as the whole does, along the
 * cut index as far as the part goes. So an update goes row by row through the parameter, a gradient of its part and
 * that part's state, and a copy row by row from the whole. The product of the part is cut as suits it best over the rest of
 * the index, with its operands where the layer's layouts have them. Inside the room.
 */

/* The first `kept` of the index of a tensor that lies so; its axes live in `arena`. */
tn_status tn_partial_layout(const tn_tensor_layout *whole, const tn_partial *partial, tn_arena *arena,
                            tn_tensor_layout *part, tn_error *error);

/* Cycles of the product of a part, as kernel/issue.h counts them; `layouts` are of the whole layer's program. */
tn_status tn_partial_product_cycles(const tn_program *program, const tn_layouts *layouts,
                                    const tn_partial *partial, const tn_matmul *kernel, uint64_t *cycles,
                                    tn_error *error);

#endif
