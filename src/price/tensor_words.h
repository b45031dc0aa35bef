/* The words that a tensor of a program may have in rows of 2^row_log elements, as far as they matter (price/program_words.h): boxes
 * along up to three axes that can't be longer along them; of what is a matrix for other layers, too, 2^f features and
 * 2^(row_log - f) rows for each f up to a most. */
#ifndef TN_PRICE_TENSOR_WORDS_H
#define TN_PRICE_TENSOR_WORDS_H

#include "layout/layout_problem.h"

enum { TN_NO_FEATURES = UINT8_MAX };

/* Edges of each along the tensor's axes, as logarithms. */
typedef struct tn_tensor_words {
    uint32_t count;
    size_t room;
    uint8_t *log; /* [count][axes]; free it with tn_free, also after an error */
} tn_tensor_words;

/* features: the logarithm of the most of a word, or TN_NO_FEATURES where the tensor is no matrix. */
tn_status tn_tensor_words_list(const tn_layout_problem *problem, uint32_t tensor, uint32_t row_log,
                               uint32_t features, tn_tensor_words *words, tn_error *error);

#endif
