/* What a design asks of layouts (layout/tensor_layout.h): how its memories give words, and of each tensor how long its memory's
 * rows are and in which words it lies where others want it, too.
 */
#ifndef TN_LAYOUT_LAYOUT_DEMAND_H
#define TN_LAYOUT_LAYOUT_DEMAND_H

#include "layout/fullest_bank.h"

#include <stdbool.h>
#include <stdint.h>

/* Banks of all tensors' memories; auto: of each tensor the first of them under which all its blocks take one
 * cycle, if that helps. */
typedef enum tn_banking {
    TN_BANKING_WORD, /* one wide word */
    TN_BANKING_ROWS,
    TN_BANKING_SKEW,
    TN_BANKING_AUTO
} tn_banking;
extern const char *const tn_banking_names[]; /* "word", "rows", "skew", "auto"; ended by NULL */

/* How a tensor's memory gives its words. OPEN: not decided yet, so nothing is in its way. */
typedef enum tn_bank_kind {
    TN_BANKS_OPEN,
    TN_BANKS_ONE_WORD,
    TN_BANKS_ROWS,
    TN_BANKS_FULL_SKEW
} tn_bank_kind;

/* Banks of that kind; auto: those that it begins with. */
tn_bank_kind tn_banking_kind(tn_banking banking);

/* What a design asks of a tensor's layout; all zeros: nothing. */
typedef struct tn_layout_demand {
    uint8_t row_log;   /* its memory's rows have 2^this elements */
    bool has_row;      /* else the widest block that a use asks for, or another tensor's */
    bool is_updated;   /* a core's gradient: it lies as the core does, so that the update goes word by word */
    bool is_looked_up; /* X is a look-up's first core, and its gradient dX likewise */
    bool is_shared;    /* other layers want it, too: its words are 2^token_log values of the first index by
                          2^feature_log elements of the last ones, these in C order */
    bool is_one_token; /* of those words only the elements of one value of the first index */
    uint8_t token_log, feature_log;
    uint8_t turn_log; /* of what is shared in rows of banks: tn_shared_words.turn_log */
} tn_layout_demand;

/* How what several layers share lies: of one wide word whole boxes of tokens x features; in banks rows of features,
 * rotated from token to token; each element in a bank of its own, features 2^token_log banks apart. */
typedef struct tn_shared_words {
    uint8_t token_log, feature_log, bank_log; /* of a word's edges, of the banks */
    /* Words that share a row of the memory: 2^this next ones along the features, of as many tokens as there are banks
     * left. Set by tn_layout_share_rows. */
    uint8_t divide_log;
    uint8_t turn_log; /* after 2^this words along the features they lie one bank further; 0: never */
    uint64_t apart;   /* banks from a word to the next along the features */
} tn_shared_words;
/* Of an axis of the features whose neighbours lie `stride` words apart: in which bank, from that of its first word, word
 * number c of `count` lies: *skew c, and, where *turn is not 0, one further after each *turn words. */
void tn_shared_axis(const tn_shared_words *words, uint64_t stride, uint64_t count, uint64_t *skew,
                    uint64_t *turn);
tn_shared_words tn_layout_shared(const tn_layout_demand *demand, tn_bank_kind kind, bool has_tokens);
/* Which words of tokens x features share rows: those of the fewest rows, so that in every folding of the features each
 * axis tells its part of the row. 2^box_log consecutive features are a box in all of them. Returns the rows. */
uint64_t tn_layout_share_rows(tn_shared_words *words, uint64_t tokens, uint64_t features, uint32_t box_log);

/* Whether 2^log consecutive elements in C order, from a multiple of it, are always a box of the last axes. */
bool tn_layout_is_box(const uint64_t *size, uint32_t axes, uint32_t log);

/* The logarithm of the least power of two that is not below `value`, of 1 to 2^63. */
static inline uint32_t tn_log_above(uint64_t value) {
    return value <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(value - 1);
}

#endif
