#include "base/word_lists.h"

#include "base/digest.h"

#include <string.h>

/* Open addressing; no word: free. */
struct tn_word_list {
    const uint64_t *word;
    uint32_t words, number;
    uint64_t hash;
};

tn_status tn_word_lists_begin(tn_word_lists *lists, uint32_t most, tn_arena *arena, tn_error *error) {
    *lists = (tn_word_lists){.arena = arena, .slots = 2};
    while (lists->slots < 2 * (uint64_t)most) lists->slots *= 2;
    return TN_NEW(arena, lists->slots, &lists->slot, error);
}

tn_status tn_word_lists_number(tn_word_lists *lists, const uint64_t *word, uint32_t words, uint32_t *number,
                               tn_error *error) {
    uint64_t hash = words, *kept;
    for (uint32_t i = 0; i < words; i++) hash = tn_hash_word(hash, word[i]);
    struct tn_word_list *slot = &lists->slot[hash & (lists->slots - 1)];
    while (slot->word && (slot->hash != hash || slot->words != words ||
                          memcmp(slot->word, word, words * sizeof *word) != 0))
        slot = slot + 1 < lists->slot + lists->slots ? slot + 1 : lists->slot;
    if (!slot->word) {
        TN_TRY(TN_NEW(lists->arena, words + 1, &kept, error));
        memcpy(kept, word, words * sizeof *word);
        *slot = (struct tn_word_list){kept, words, lists->count++, hash};
    }
    *number = slot->number;
    return TN_OK;
}
