/* The descent of layout/tensor_layout.h. */
#ifndef TN_LAYOUT_LAYOUT_SEARCH_H
#define TN_LAYOUT_LAYOUT_SEARCH_H

#include "base/error.h"
#include "base/memory.h"
#include "layout/layout_problem.h"
#include "program/program.h"

#include <stdbool.h>
#include <stdint.h>

/* Words of a block, and how many of them the fullest bank has: what a block takes in cycles. */

enum { TN_BANKED_AXES = 4 }; /* that words of a block lie along: two cuts of each of two groups */

/* Words that the fullest of `banks` banks, a power of two, has of words[0] x .. x words[axes - 1] (at most TN_BANKED_AXES axes), word (i, ..) in bank
 * i skew[0] + ... */
uint64_t tn_fullest_bank(const uint64_t *words, const uint64_t *skew, uint32_t axes, uint64_t banks);
/* The same where word number c along axis i lies floor(c / turn[i]) banks further; turn[i] 0: none. */
uint64_t tn_fullest_turned_bank(const uint64_t *words, const uint64_t *skew, const uint64_t *turn,
                                uint32_t axes, uint64_t banks);

/* Whether 2^p words along each axis lie in different banks for this reason: along an axis they lie where sums of some of
 * s, 2 s, .., 2^(p - 1) s lead, and sums of steps whose lowest bits all differ are all different. Where there are as
 * many words as banks there is no other reason: of the product of 1 + x^(2^i s) every root of unity of order 2^k > 1 must
 * be a root, and that takes a step of lowest bit k - 1. */
bool tn_words_apart(const uint64_t *words, const uint64_t *skew, uint32_t axes, uint64_t banks);

/* Words of 2^log elements that a block of `block` elements, at a multiple of its size, touches at most along an axis
 * of `size`. */
uint64_t tn_words_of_block(uint64_t size, uint64_t block, uint32_t log);

/* The fewest rows of a memory that any layout can put a tensor into. Inside the room.
 *
 * Whatever the words and banks of a layout, the elements of one row lie in a box of as many elements: along the axis that
 * tells banks apart the box is stretched by their number. So no layout takes fewer rows than the fewest such boxes that
 * cover the tensor.
 */

enum { TN_ROW_LOGS = 21 }; /* rows of 2^0 to 2^20 elements: at most 1024 x 1024 */

/* Of all tensors of a program, by the logarithm of a row's elements. */
typedef struct tn_least_rows {
    const tn_program *program;
    uint64_t (*rows)[TN_ROW_LOGS]; /* [program->tensors] */
    struct tn_least_rows *next;
} tn_least_rows;

/* Those of the program in the list, which is searched first and then grows, in `arena`. */
tn_status tn_least_rows_find(tn_least_rows **list, const tn_program *program, tn_arena *arena,
                             const tn_least_rows **least, tn_error *error);

/* Cuts every product as if nothing were in its way. */
void tn_layout_search_open(tn_layout_search *search);
/* Lays the tensors that others want, too; nothing else is in the way. */
void tn_layout_search_share(tn_layout_search *search);
/* Descends with banks of the wanted kind until the cost is `bound`, or from all starts; `best`: room for another
 * search of the same sizes. */
void tn_layout_search_descend(tn_layout_search *search, tn_layout_search *best, uint64_t bound);
/* Rows of banks where one wide word is too slow, the full skew where they are too, neither where it does not help; shared
 * tensors stay, as one layer cannot decide for all. */
void tn_layout_search_add_banks(tn_layout_search *search);

/* The cycles that all issues take with the writes. */
uint64_t tn_layout_search_cycles(const tn_layout_search *search);

#endif
