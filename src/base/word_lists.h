/* Numbers for lists of words: the same one for equal lists, from 0 in the order in which they came. */
#ifndef TN_BASE_WORD_LISTS_H
#define TN_BASE_WORD_LISTS_H

#include "base/error.h"
#include "base/memory.h"

#include <stdint.h>

typedef struct tn_word_lists {
    tn_arena *arena;
    uint32_t count, slots;
    struct tn_word_list *slot; /* [slots] */
} tn_word_lists;

/* For at most so many lists; they live in the arena. */
tn_status tn_word_lists_begin(tn_word_lists *lists, uint32_t most, tn_arena *arena, tn_error *error);
/* The number of the list, which is copied where it is new. */
tn_status tn_word_lists_number(tn_word_lists *lists, const uint64_t *word, uint32_t words, uint32_t *number,
                               tn_error *error);

#endif
