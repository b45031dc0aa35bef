/* What all products of a layer's program take together at least, whatever the layers around it and whatever layouts are found, where
 * every tensor lies in one wide word a row (memory/laid.h, split `reshape`).
 *
 * Each product on its own takes no less than with the words that suit it best (TN_LAID_ALONE). But a tensor lies in the same words for
 * all its products: a core that one product reads along one axis and another along the other can't suit both. So the products'
 * cycles are costs that share variables, the words of tensors (price/shared_costs.h).
 *
 * Theorem: no design has the layer's products in fewer cycles than the bound, on a kernel of these edges and lanes. Proof: whatever word a
 * tensor has in a design, it is a box of at most 2^row_log elements along up to three axes. A box that is longer along an axis covers no block by more words, and no product takes fewer cycles with more
 * words to fetch or write. So of all boxes those are enough that can't be longer along their axes within 2^row_log; and of what other
 * layers want, too, words of 2^f features and 2^(row_log - f) rows, f as the layer's own folding allows (laid_arrays.h). A core's
 * gradient lies as the core. Each product is cut as suits it best with the words of its three tensors: that is what its term
 * costs. */
#ifndef TN_PRICE_PROGRAM_WORDS_H
#define TN_PRICE_PROGRAM_WORDS_H

#include "kernel/kernel.h"
#include "program/program.h"

/* A program on a kernel of lanes. */
typedef struct tn_program_words {
    const tn_program *program;
    const tn_matmul *kernel;
    bool is_looked_up; /* a look-up in cores: X is the first core, and lies as its gradient */
    const uint8_t
        *row_log; /* [program->tensors]: no row of the tensor's memory has more than 2^this elements */
    const uint8_t *
        features; /* [program->tensors]: logarithm of the most features of a word of what is a matrix for others,
                                too; TN_NO_FEATURES: it is none */
    const uint64_t *times; /* [program->steps]: so often is each product done */
} tn_program_words;

/* *cycles of all products, each as often as it is done, rounded down. */
tn_status tn_program_words_bound(const tn_program_words *words, double *cycles, tn_error *error);

#endif
