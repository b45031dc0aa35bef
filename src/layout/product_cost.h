/* What a product costs as the words of its operands lie, each group of its indices cut as suits it best: the cycles of its
 * issues and of writes that they wait for, filling and draining of the pipeline apart.
 */
#ifndef TN_LAYOUT_PRODUCT_COST_H
#define TN_LAYOUT_PRODUCT_COST_H

#include "layout/layout_state.h"

/* Of the cuts of the least cost the first. */
typedef struct tn_product_cost {
    uint64_t cost; /* an issue's cycle counts state->issue_weight times */
    uint32_t taken[TN_CUT_GROUPS];
} tn_product_cost;

tn_product_cost tn_product_cost_find(const tn_layout_state *state, uint32_t product);

/* Cycles of it as it is cut, if every access took one. */
uint64_t tn_product_open_cycles(const tn_layout_state *state, uint32_t product);

/* The operand's largest block, as the product is cut, takes more than a cycle. */
bool tn_operand_is_slow(const tn_layout_state *state, uint32_t product, int side);

#endif
