/* A product of a layer's program as it is cut, its operands as they lie: what an issue takes of each, and what the product takes
 * in all (kernel/issue.h).
 */
#ifndef TN_LAYOUT_PRODUCT_LAYOUT_H
#define TN_LAYOUT_PRODUCT_LAYOUT_H

#include "kernel/kernel.h"
#include "layout/layout_problem.h"
#include "layout/tensor_layout.h"

typedef struct tn_product_layout {
    tn_group_cut cut[TN_CUT_GROUPS];
    uint64_t tiles, terms; /* issues are tiles times terms */
    uint64_t read_cycles;  /* of an issue: the slower operand's, of the worst blocks */
    uint64_t write_cycles; /* of the worst tile */
    tn_issued_product issued;
} tn_product_layout;

/* The product cut as `taken` says of each group. operand[TN_OF_ALL]: how each lies; NULL: nothing is in its way, and each of its
 * blocks takes a cycle. size: of the program's indices. */
void tn_product_layout_tell(const uint64_t *size, const tn_searched_product *product, const uint32_t *taken,
                            const tn_tensor_layout *const *operand, tn_product_layout *layout);

/* What a product takes at least whatever layouts are found for its program: it is cut as suits it best, and only operands
 * that other layers want, too, are in its way, as their words are known without a search. No search with the same demands
 * (layout/layouts.h) ends with fewer cycles of any product.
 */
tn_status tn_open_product_cycles(const tn_layout_problem *problem, uint32_t product, const tn_matmul *kernel,
                                 tn_banking banking, const tn_layout_demand *demand, uint64_t *cycles,
                                 tn_error *error);

/* Cycles of the product of a part of a weight's gradient (step/sparse_update.c): cut as suits it best over what is left of
 * the index, its operands as tensor[program->tensors] have it for the whole. What is needed in between lives in `arena`. */
tn_status tn_partial_product_cycles(const tn_program *program, const tn_tensor_layout *tensor,
                                    const tn_partial *partial, const tn_matmul *kernel, tn_arena *arena,
                                    uint64_t *cycles, tn_error *error);

#endif
