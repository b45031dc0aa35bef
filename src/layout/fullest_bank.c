#include "layout/fullest_bank.h"

#include "base/checked.h"

#include <string.h>

/* Word by word: few words in many banks. */
static uint64_t count_each(const uint64_t *words, const uint64_t *step, uint32_t axes, uint64_t banks) {
    uint32_t count[TN_LAYOUT_BANKS_MOST];
    uint64_t entry[TN_BANKED_AXES] = {0}, bank = 0, mask = banks - 1;
    uint32_t most = 0;
    memset(count, 0, banks * sizeof *count);
    for (;;) {
        if (++count[bank] > most) most = count[bank];
        uint32_t k = 0;
        while (k < axes && ++entry[k] == words[k]) {
            bank = (bank - step[k] * (words[k] - 1)) & mask;
            entry[k++] = 0;
        }
        if (k == axes) return most;
        bank = (bank + step[k]) & mask;
    }
}

/* Axis by axis, whole rounds of banks at once. */
static uint64_t count_rounds(const uint64_t *words, const uint64_t *step, uint32_t axes, uint64_t banks) {
    uint64_t count[2][TN_LAYOUT_BANKS_MOST], most = 0, mask = banks - 1;
    int start = 0;
    memset(count[start], 0, banks * sizeof **count);
    count[start][0] = 1;
    for (uint32_t k = 0; k < axes; k++) {
        uint64_t round = 1, bank = 0;
        for (uint64_t b = step[k]; b != 0; b = (b + step[k]) & mask) round++;
        memset(count[1 - start], 0, banks * sizeof **count);
        for (uint64_t i = 0; i < round && i < words[k]; i++, bank = (bank + step[k]) & mask) {
            uint64_t times = words[k] / round + (i < words[k] % round);
            for (uint64_t b = 0; b < banks; b++)
                count[1 - start][(b + bank) & mask] += times * count[start][b];
        }
        start = 1 - start;
    }
    for (uint64_t b = 0; b < banks; b++) most = tn_greatest(most, count[start][b]);
    return most;
}

bool tn_words_apart(const uint64_t *words, const uint64_t *skew, uint32_t axes, uint64_t banks) {
    uint64_t taken = 0; /* lowest bits of steps so far */
    for (uint32_t k = 0; k < axes; k++) {
        uint64_t step = skew[k] & (banks - 1), lowest = step ? step & (~step + 1) : banks;
        uint64_t bits = (words[k] - 1) * lowest;
        if ((words[k] & (words[k] - 1)) != 0 || (taken & bits) != 0 || bits >= banks) return false;
        taken |= bits;
    }
    return true;
}

/* Along two axes, where a word along the one lies `stride` words along the other, forwards or backwards: the words along the
 * other are consecutive banks, of which each word along the one begins `stride` further. A bank is in
 * as many of these runs as begin within one of them, at most all; round the ring of banks no two runs meet if the last ends
 * before it is round, and runs that begin at neighbours, none longer than the ring, meet as often anyway. */
static bool count_runs(const uint64_t *words, const uint64_t *step, uint64_t banks, uint64_t *most) {
    for (int run = 0; run < 2; run++) {
        const int one = 1 - run;
        if ((step[run] & (step[run] - 1)) != 0 || step[one] % step[run] != 0) continue;
        const uint64_t ring = banks / step[run], ahead = step[one] / step[run],
                       stride = tn_least(ahead, ring - ahead);
        const bool is_round = (words[one] - 1) * stride + words[run] > ring;
        if (is_round && (stride > 1 || words[one] > ring || words[run] > ring)) continue;
        *most = tn_least(words[one], tn_ceil_div(words[run], stride));
        return true;
    }
    return false;
}

uint64_t tn_fullest_bank(const uint64_t *words, const uint64_t *skew, uint32_t axes, uint64_t banks) {
    enum { FEW = 8 };
    uint64_t along[TN_BANKED_AXES], step[TN_BANKED_AXES], each = 1, all = 1, most;
    uint32_t spread = 0;
    for (uint32_t k = 0; k < axes; k++) {
        if (words[k] == 1 || (skew[k] & (banks - 1)) == 0) {
            each *= words[k];
            continue;
        }
        along[spread] = words[k];
        step[spread++] = skew[k] & (banks - 1);
        all *= words[k];
    }
    if (spread == 0) return each;
    for (uint32_t k = 0; k < spread; k++) {
        const uint64_t lowest = step[k] & (~step[k] + 1), ring = banks / lowest;
        if (spread == 1) return each * tn_ceil_div(along[k], ring);
        if (along[k] % ring != 0) continue;
        /* It fills its ring, every `lowest`-th bank, evenly: what the others add to a bank is told by its ring. */
        each *= along[k] / ring;
        along[k] = along[spread - 1];
        step[k] = step[spread - 1];
        return each * tn_fullest_bank(along, step, spread - 1, lowest);
    }
    if (tn_words_apart(along, step, spread, banks)) return each;
    if (spread == 2 && count_runs(along, step, banks, &most)) return each * most;
    return each * (all <= FEW * banks ? count_each(along, step, spread, banks)
                                      : count_rounds(along, step, spread, banks));
}

uint64_t tn_fullest_turned_bank(const uint64_t *words, const uint64_t *skew, const uint64_t *turn,
                                uint32_t axes, uint64_t banks) {
    uint32_t count[TN_LAYOUT_BANKS_MOST], most = 0, k = 0;
    uint64_t entry[TN_BANKED_AXES] = {0};
    bool turned = false;
    for (uint32_t i = 0; i < axes; i++) turned |= turn[i] > 0 && words[i] > turn[i];
    if (!turned) return tn_fullest_bank(words, skew, axes, banks);
    memset(count, 0, banks * sizeof *count);
    while (k < axes) {
        uint64_t bank = 0;
        for (uint32_t i = 0; i < axes; i++) bank += skew[i] * entry[i] + (turn[i] ? entry[i] / turn[i] : 0);
        if (++count[bank & (banks - 1)] > most) most = count[bank & (banks - 1)];
        for (k = 0; k < axes && ++entry[k] == words[k]; k++) entry[k] = 0;
    }
    return most;
}

uint64_t tn_words_of_block(uint64_t size, uint64_t block, uint32_t log) {
    uint64_t word = (uint64_t)1 << log, most = 1;
    block = tn_least(block, size);
    if ((block & (block - 1)) == 0 || log == 0) return ((block - 1) >> log) + 1;
    uint64_t aligned = tn_least(block & (~block + 1), word);
    if (block == size || aligned == tn_least(block, word)) return ((block - 1) >> log) + 1;
    uint64_t period = block << log; /* after which blocks lie in words as before */
    for (uint64_t start = 0; start < size && start < period; start += block) {
        uint64_t words = ((tn_least(start + block, size) - 1) >> log) - (start >> log) + 1;
        most = tn_greatest(most, words);
    }
    return most;
}
