/* What a product costs as the words of its operands lie, each group of its indices cut as suits it best: the cycles of its
 * issues and of writes that they wait for, filling and draining of the pipeline apart.
 *
 * It follows from how words lie along the indices that some cut goes along, no farther than they hold every block, and from
 * their banks: a few ways of each operand, which a search meets again and again. So a key tells the way of an operand, and
 * what a product costs with the keys of its three is found once, as long as it is kept.
 */
#ifndef TN_LAYOUT_PRODUCT_COST_H
#define TN_LAYOUT_PRODUCT_COST_H

#include "layout/layout_state.h"

/* Of the cuts of the least cost the first, with operands that lie as their keys say. */
typedef struct tn_product_cost {
    uint64_t number; /* among all that were found; 0: none yet */
    uint64_t key[TN_OF_ALL];
    uint64_t cost; /* an issue's cycle counts state->issue_weight times */
    uint32_t product, taken[TN_CUT_GROUPS];
} tn_product_cost;

enum { TN_COSTS_KEPT = 1024 };

/* Cycles of a block of an operand that lies as the key says, by the cuts of the two groups that it is cut along. */
typedef struct tn_operand_access {
    uint64_t key;
    bool is_known;
    uint32_t cycles[TN_CUTS_MOST][TN_CUTS_MOST];
} tn_operand_access;

/* How the operand's words lie: 0 where nothing is in its way. */
uint64_t tn_operand_key(const tn_layout_state *state, uint32_t product, int side);

/* With operands of these keys, which are those of how they lie. What is returned is valid until the next call. */
const tn_product_cost *tn_product_cost_find(const tn_layout_state *state, uint32_t product,
                                            const uint64_t *key);

/* Cycles of it as it is cut, if every access took one. */
uint64_t tn_product_open_cycles(const tn_layout_state *state, uint32_t product);

/* The operand's largest block, as the product is cut, takes more than a cycle. */
bool tn_operand_is_slow(const tn_layout_state *state, uint32_t product, int side);

#endif
