/* The best word of a tensor while the others stand: that with which its products, each cut as suits it best, cost least; of
 * equal ones that of the narrowest row, then of the fewest words, then the first.
 */
#ifndef TN_LAYOUT_WORD_CHOICE_H
#define TN_LAYOUT_WORD_CHOICE_H

#include "layout/layout_state.h"

/* Edges 2^log along a few indices, as many banks of it as the row has. */
typedef struct tn_tensor_word {
    uint64_t cost; /* of the tensor's products */
    uint32_t axes, index[TN_WORD_AXES], log[TN_WORD_AXES];
    uint32_t row_log, bank_log;
} tn_tensor_word;

/* What was chosen for a tensor whose products have the costs of these numbers where nothing of it is in the way
 * (layout/product_cost.h): they tell how all others of its products lie. */
enum { TN_WORD_USES = 6, TN_WORDS_KEPT = 256 };
typedef struct tn_known_word {
    uint64_t open[TN_WORD_USES];
    uint32_t tensor;
    tn_bank_kind kind;
    tn_tensor_word word;
} tn_known_word;

/* Lays the tensor in its best word of banks of that kind; its products' cuts stay. */
void tn_word_choose(tn_layout_state *state, uint32_t tensor, tn_bank_kind kind);

#endif
