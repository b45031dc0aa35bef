/* A bank layout: which elements of an array lie together in a word, and which words in one bank.
 *
 * Element x (one coordinate an axis) lies in word c with c_i = floor(x_i / word_i); the last words of an axis
 * are padded. A word lies in the bank whose k-th coordinate is (sum_i skew_k,i c_i) mod banks_k. Every bank
 * gives one word a cycle, so one bank is one wide word a cycle, a skew of one axis is a row of banks, rotated,
 * and a square of banks with two independent forms is the full skew that serves a tile in either orientation.
 *
 * A block is a box of elements, aligned at multiples of its size and cut at the array's edge. It takes as many
 * cycles as its fullest bank has words of it. Moving a box by whole words only permutes the banks, so that
 * number depends on how many words the box touches along each axis, and on nothing else: along an axis there
 * are at most three such numbers, each counted in closed form (a sum of floors), and what is enumerated are
 * their combinations.
 */
#ifndef TN_LAYOUT_BANK_LAYOUT_H
#define TN_LAYOUT_BANK_LAYOUT_H

#include "base/error.h"

#include <stdint.h>

enum { TN_BANK_LAYOUT_AXES = 10, TN_BANK_LAYOUT_FORMS = 4, TN_BANK_LAYOUT_BANKS = 65536 };

typedef struct tn_bank_layout {
    uint32_t axes, forms;                 /* forms: axes of the banks, at least 1 */
    uint64_t dims[TN_BANK_LAYOUT_AXES];   /* elements, each at least 1 */
    uint64_t word[TN_BANK_LAYOUT_AXES];   /* elements of a word along the axis, at least 1 */
    uint64_t banks[TN_BANK_LAYOUT_FORMS]; /* at least 1; their product at most TN_BANK_LAYOUT_BANKS */
    uint64_t skew[TN_BANK_LAYOUT_FORMS][TN_BANK_LAYOUT_AXES];
    /* Words along the axis that share a place in different banks; their product is the banks. All 0: nobody has said,
     * and whoever needs it takes those of the fewest places. */
    uint64_t divide[TN_BANK_LAYOUT_AXES];
    /* Of one form of generated hardware: words along the axis after each of which they lie one bank further; 0: none. */
    uint64_t turn[TN_BANK_LAYOUT_AXES];
} tn_bank_layout;

typedef struct tn_bank_layout_size {
    uint64_t words;           /* product of ceil(dims_i / word_i) */
    uint64_t padded_elements; /* words times the elements of a word */
    uint64_t depth;           /* words of the fullest bank */
} tn_bank_layout_size;

/* Reads "12x14x48", "1x1x4", "4x4" and "1x0x1,0x1x0" (a linear form for each axis of the banks) into a checked
 * layout. `skew` may be NULL where there is one bank. TN_INPUT names the option that is wrong. */
tn_status tn_bank_layout_read(const char *dims, const char *word, const char *banks, const char *skew,
                              tn_bank_layout *layout, tn_error *error);
/* Reads a block of the layout's array: as many sizes as it has axes, each at least 1. */
tn_status tn_bank_layout_read_block(const tn_bank_layout *layout, const char *text, uint64_t *block,
                                    tn_error *error);

tn_status tn_bank_layout_measure(const tn_bank_layout *layout, tn_bank_layout_size *size, tn_error *error);

/* Cycles to read every block of the array once. block[layout->axes], each at least 1. */
tn_status tn_bank_layout_issues(const tn_bank_layout *layout, const uint64_t *block, uint64_t *cycles,
                                tn_error *error);

#endif
