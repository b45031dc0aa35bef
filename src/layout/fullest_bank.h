/* Words of a block, and how many of them the fullest bank has: what a block takes in cycles. Words have 2^k elements along
 * each axis, banks are a power of two.
 */
#ifndef TN_LAYOUT_FULLEST_BANK_H
#define TN_LAYOUT_FULLEST_BANK_H

#include <stdbool.h>
#include <stdint.h>

enum { TN_LAYOUT_BANKS_LOG_MOST = 10, TN_LAYOUT_BANKS_MOST = 1 << TN_LAYOUT_BANKS_LOG_MOST };
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

#endif
