#include "layout/layout_demand.h"

#include <stddef.h>

const char *const tn_banking_names[] = {"word", "rows", "skew", "auto", NULL};

bool tn_layout_is_box(const uint64_t *size, uint32_t axes, uint32_t log) {
    while (axes > 0 && log > 0) {
        uint64_t last = size[--axes];
        if (last % ((uint64_t)1 << log) == 0) return true;
        if ((last & (last - 1)) != 0) return false;
        log -= tn_log_above(last);
    }
    return log == 0;
}

tn_bank_kind tn_banking_kind(tn_banking banking) {
    static const tn_bank_kind kinds[] = {[TN_BANKING_SKEW] = TN_BANKS_FULL_SKEW,
                                         [TN_BANKING_WORD] = TN_BANKS_ONE_WORD,
                                         [TN_BANKING_ROWS] = TN_BANKS_ROWS,
                                         [TN_BANKING_AUTO] = TN_BANKS_ONE_WORD};
    return kinds[banking];
}

tn_shared_words tn_layout_shared(const tn_layout_demand *demand, tn_bank_kind kind, bool has_tokens) {
    if (kind == TN_BANKS_FULL_SKEW && demand->row_log > TN_LAYOUT_BANKS_LOG_MOST) kind = TN_BANKS_ONE_WORD;
    uint32_t row = demand->row_log, features = demand->feature_log, tokens = demand->token_log;
    if (kind == TN_BANKS_ROWS) tokens = 0, features = features < row / 2 ? features : row / 2;
    if (kind == TN_BANKS_FULL_SKEW) tokens = features = 0;
    uint32_t banks = row - tokens - features;
    if (kind == TN_BANKS_ONE_WORD || banks > TN_LAYOUT_BANKS_LOG_MOST) banks = 0;
    bool spread = kind == TN_BANKS_FULL_SKEW && has_tokens;
    return (tn_shared_words){.token_log = (uint8_t)tokens,
                             .feature_log = (uint8_t)features,
                             .bank_log = (uint8_t)banks,
                             .turn_log = kind == TN_BANKS_ROWS && banks > 0 ? demand->turn_log : 0,
                             .apart = spread ? (uint64_t)1 << demand->token_log : 1};
}

/* A power of two consecutive words from a multiple of it are a box in every folding, so an axis lies within, beyond or
 * across it. */
void tn_shared_axis(const tn_shared_words *words, uint64_t stride, uint64_t count, uint64_t *skew,
                    uint64_t *turn) {
    const uint64_t one = 1, banks = one << words->bank_log, period = one << words->turn_log;
    const bool turns = words->turn_log > 0;
    *skew = (words->apart * stride + (turns ? stride / period : 0)) % banks;
    *turn = turns && stride < period && stride * count > period ? period / stride : 0;
}

/* The next 2^divide_log words along the features, and those of the tokens that follow, lie in different banks where
 * either side alone fills them, or the tokens fill what the features leave between their banks. */
uint64_t tn_layout_share_rows(tn_shared_words *words, uint64_t tokens, uint64_t features, uint32_t box_log) {
    const uint64_t token_words = ((tokens - 1) >> words->token_log) + 1,
                   feature_words = ((features - 1) >> words->feature_log) + 1;
    const uint32_t apart_log = tn_log_above(words->apart), along[] = {words->bank_log - apart_log, 0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 2; i++) {
        const bool boxes = along[i] + words->feature_log <= box_log ||
                           box_log >= tn_log_above(features); /* of all features */
        const uint64_t rows = (((token_words - 1) >> (words->bank_log - along[i])) + 1) *
                              (((feature_words - 1) >> along[i]) + 1);
        if (rows >= least || (along[i] > 0 && !boxes)) continue;
        least = rows;
        words->divide_log = (uint8_t)along[i];
    }
    return least;
}
