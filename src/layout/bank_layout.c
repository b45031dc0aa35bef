#include "layout/bank_layout.h"

#include "base/checked.h"
#include "base/memory.h"
#include "text/number.h"

#include <stdbool.h>
#include <string.h>

/* ---- reading ---- */

enum { NUMBER_LENGTH = 32 };

/* Numbers separated by x, up to the end of the text or a comma, which is left in *text. */
static tn_status read_sizes(const char **text, const char *option, uint64_t least, uint32_t most,
                            uint64_t *size, uint32_t *count, tn_error *error) {
    const char *cursor = *text;
    for (*count = 0;; cursor++) {
        char number[NUMBER_LENGTH];
        size_t length = strcspn(cursor, "x,");
        if (*count == most)
            return tn_fail(error, TN_INPUT, "%s has more than %u sizes, which is the most", option,
                           (unsigned)most);
        memcpy(number, cursor, length < sizeof number ? length : 0);
        number[length < sizeof number ? length : 0] = '\0';
        tn_number_status status = tn_read_count(number, &size[*count]);
        if (status == TN_NUMBER_RANGE)
            return tn_fail(error, TN_OVERFLOW, "%s: %s does not fit 64 bits", option, number);
        if (status != TN_NUMBER_OK)
            return tn_fail(error, TN_INPUT, "%s is not '%.60s'; it is whole numbers such as 12x14x48", option,
                           *text);
        if (size[*count] < least)
            return tn_fail(error, TN_INPUT, "%s has a 0 in '%.60s'; each size is at least 1", option, *text);
        ++*count;
        cursor += length;
        if (*cursor != 'x') break;
    }
    *text = cursor;
    return TN_OK;
}

static tn_status read_list(const char *text, const char *option, uint64_t least, uint32_t most,
                           uint64_t *size, uint32_t *count, tn_error *error) {
    const char *end = text;
    TN_TRY(read_sizes(&end, option, least, most, size, count, error));
    if (*end == '\0') return TN_OK;
    return tn_fail(error, TN_INPUT, "%s is not '%.60s'; it is one list of sizes, without commas", option,
                   text);
}

static tn_status check_count(const char *option, uint32_t count, const char *owner, uint32_t wanted,
                             tn_error *error) {
    if (count == wanted) return TN_OK;
    return tn_fail(error, TN_INPUT, "%s has %u sizes and %s %u; give as many", option, (unsigned)count, owner,
                   (unsigned)wanted);
}

static tn_status read_skew(const char *text, tn_bank_layout *layout, tn_error *error) {
    const char *cursor = text;
    uint32_t forms = 0, count;
    for (;; cursor++) {
        if (forms == layout->forms)
            return tn_fail(error, TN_INPUT, "skew '%.60s' has more forms than the %u of banks", text,
                           (unsigned)layout->forms);
        TN_TRY(read_sizes(&cursor, "skew", 0, TN_BANK_LAYOUT_AXES, layout->skew[forms], &count, error));
        TN_TRY(check_count("skew", count, "dims", layout->axes, error));
        forms++;
        if (*cursor != ',') break;
    }
    if (forms == layout->forms) return TN_OK;
    return tn_fail(error, TN_INPUT, "skew has %u linear forms and banks %u; give one for each, with commas",
                   (unsigned)forms, (unsigned)layout->forms);
}

tn_status tn_bank_layout_read(const char *dims, const char *word, const char *banks, const char *skew,
                              tn_bank_layout *layout, tn_error *error) {
    uint32_t count;
    uint64_t all;
    *layout = (tn_bank_layout){0};
    TN_TRY(read_list(dims, "dims", 1, TN_BANK_LAYOUT_AXES, layout->dims, &layout->axes, error));
    TN_TRY(read_list(word, "word", 1, TN_BANK_LAYOUT_AXES, layout->word, &count, error));
    TN_TRY(check_count("word", count, "dims", layout->axes, error));
    TN_TRY(read_list(banks, "banks", 1, TN_BANK_LAYOUT_FORMS, layout->banks, &layout->forms, error));
    if (!tn_product(layout->banks, layout->forms, &all) || all > TN_BANK_LAYOUT_BANKS)
        return tn_fail(error, TN_INPUT, "banks '%.60s' are more than %d", banks, TN_BANK_LAYOUT_BANKS);
    if (skew) return read_skew(skew, layout, error);
    if (all == 1) return TN_OK;
    return tn_fail(
        error, TN_INPUT,
        "%llu banks need a skew, a linear form of the word's coordinates for each axis of the banks",
        (unsigned long long)all);
}

tn_status tn_bank_layout_read_block(const tn_bank_layout *layout, const char *text, uint64_t *block,
                                    tn_error *error) {
    uint32_t count;
    TN_TRY(read_list(text, "block", 1, TN_BANK_LAYOUT_AXES, block, &count, error));
    return check_count("block", count, "dims", layout->axes, error);
}

/* ---- how many blocks touch how many words along one axis ---- */

/* sum over i < n of floor((a i + b) / m), modulo 2^64, by the Euclidean algorithm: the points under a line are
 * counted by columns, then, with the axes swapped, by rows. Needs (a mod m) n + m to fit 64 bits, and then no
 * later term is larger. */
static uint64_t floor_sum(uint64_t n, uint64_t a, uint64_t b, uint64_t m) {
    uint64_t sum = 0;
    for (;;) {
        uint64_t pairs = n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
        sum += pairs * (a / m) + n * (b / m);
        a %= m;
        b %= m;
        uint64_t highest = a * n + b;
        if (highest < m) return sum;
        n = highest / m;
        b = highest % m;
        uint64_t kept = m;
        m = a;
        a = kept;
    }
}

/* Blocks that touch so many words along an axis. */
typedef struct {
    uint64_t words, blocks;
} touch;

enum { TOUCHES = 3 };

/* Block i of `block` elements touches the words floor(i b / t) .. floor((i b + b - 1) / t): one of two numbers
 * of words, which differ by one, and another where the edge cuts it. */
static uint32_t list_touches(uint64_t dim, uint64_t word, uint64_t block, touch *list) {
    uint64_t full = dim / block, narrow = (block - 1) / word;
    uint32_t count = 0;
    if (full > 0) {
        uint64_t wide =
            floor_sum(full, block, block - 1, word) - floor_sum(full, block, 0, word) - full * narrow;
        if (wide < full) list[count++] = (touch){narrow + 1, full - wide};
        if (wide > 0) list[count++] = (touch){narrow + 2, wide};
    }
    if (full * block < dim) list[count++] = (touch){(dim - 1) / word - full * block / word + 1, 1};
    return count;
}

/* ---- how many words of a box lie in the fullest bank ---- */

typedef struct {
    const tn_bank_layout *layout;
    tn_arena arena;
    uint32_t banks;
    uint32_t spread_axes, spread[TN_BANK_LAYOUT_AXES]; /* axes along which the bank changes */
    uint32_t *next[TN_BANK_LAYOUT_AXES];               /* [banks]: the bank of the next word along the axis */
    uint64_t period[TN_BANK_LAYOUT_AXES];              /* words after which the banks repeat */
    uint64_t *count[TN_BANK_LAYOUT_AXES + 1];          /* [banks]: words by bank, after so many spread axes */
    bool *seen;                                        /* [banks]: scratch */
} counter;

static uint32_t next_bank(const tn_bank_layout *layout, uint32_t bank, uint32_t axis) {
    uint32_t next = 0, stride = 1;
    for (uint32_t k = 0; k < layout->forms; k++) {
        uint32_t banks = (uint32_t)layout->banks[k];
        uint32_t index = bank / stride % banks, step = (uint32_t)(layout->skew[k][axis] % banks);
        next += (index + step) % banks * stride;
        stride *= banks;
    }
    return next;
}

static tn_status add_axis(counter *tally, uint32_t axis, tn_error *error) {
    uint32_t index = tally->spread_axes, bank = 0;
    if (next_bank(tally->layout, 0, axis) == 0) return TN_OK;
    TN_TRY(tn_arena_alloc(&tally->arena, tally->banks, sizeof **tally->next, &tally->next[index], error));
    TN_TRY(
        tn_arena_alloc(&tally->arena, tally->banks, sizeof **tally->count, &tally->count[index + 1], error));
    for (uint32_t b = 0; b < tally->banks; b++) tally->next[index][b] = next_bank(tally->layout, b, axis);
    do {
        bank = tally->next[index][bank];
        tally->period[index]++;
    } while (bank != 0);
    tally->spread[index] = axis;
    tally->spread_axes++;
    return TN_OK;
}

static tn_status begin(counter *tally, const tn_bank_layout *layout, tn_error *error) {
    *tally = (counter){.layout = layout, .banks = 1};
    for (uint32_t k = 0; k < layout->forms; k++) tally->banks *= (uint32_t)layout->banks[k];
    TN_TRY(tn_arena_alloc(&tally->arena, tally->banks, sizeof **tally->count, &tally->count[0], error));
    TN_TRY(TN_NEW(&tally->arena, tally->banks, &tally->seen, error));
    memset(tally->count[0], 0, tally->banks * sizeof **tally->count);
    tally->count[0][0] = 1;
    for (uint32_t axis = 0; axis < layout->axes; axis++) TN_TRY(add_axis(tally, axis, error));
    return TN_OK;
}

/* Spreads what lies in the banks over `words` words along the at-th spread axis. The axis walks round rings of
 * banks: whole rounds leave a word of each bank in every bank of its ring, the rest is a sliding window. */
static void spread_words(counter *tally, uint32_t index, uint64_t words) {
    const uint32_t *next = tally->next[index];
    const uint64_t *source = tally->count[index], period = tally->period[index];
    uint64_t *target = tally->count[index + 1], rounds = words / period, rest = words % period;
    memset(tally->seen, 0, tally->banks * sizeof *tally->seen);
    for (uint32_t first = 0; first < tally->banks; first++) {
        if (tally->seen[first]) continue;
        uint64_t ring = 0, window = 0;
        uint32_t last = first, tail = first; /* the window's ends */
        for (uint64_t i = 0; i < period; i++, last = next[last]) {
            ring += source[last];
            tally->seen[last] = true;
        }
        if (rest == 0)
            tail = next[first];
        else
            window = source[first];
        for (uint64_t i = 1; i < rest; i++) {
            last = next[last];
            window += source[last];
        }
        for (uint64_t i = 0; i < period; i++) {
            target[last] = rounds * ring + window;
            last = next[last];
            window += source[last] - source[tail];
            tail = next[tail];
        }
    }
}

static uint64_t fullest(const counter *tally) {
    const uint64_t *count = tally->count[tally->spread_axes];
    uint64_t most = 0;
    for (uint32_t i = 0; i < tally->banks; i++)
        if (count[i] > most) most = count[i];
    return most;
}

/* ---- questions ---- */

enum { TOO_LARGE_BITS = 62 };

static tn_status check_size(const char *what, const uint64_t *size, uint32_t axes, tn_error *error) {
    for (uint32_t i = 0; i < axes; i++) {
        if (size[i] == 0) return tn_fail(error, TN_INPUT, "%s has a 0; each size is at least 1", what);
        if (size[i] >> TOO_LARGE_BITS)
            return tn_fail(error, TN_OVERFLOW, "%s has a size of 2^%d or more, which can't be counted", what,
                           TOO_LARGE_BITS);
    }
    return TN_OK;
}

/* Refuses what can't be counted; after this no number of words of a box overflows. */
static tn_status count_words(const tn_bank_layout *layout, uint64_t *words, tn_error *error) {
    uint64_t all[TN_BANK_LAYOUT_AXES];
    TN_TRY(check_size("dims", layout->dims, layout->axes, error));
    TN_TRY(check_size("word", layout->word, layout->axes, error));
    for (uint32_t i = 0; i < layout->axes; i++) all[i] = tn_ceil_div(layout->dims[i], layout->word[i]);
    if (tn_product(all, layout->axes, words)) return TN_OK;
    return tn_fail(error, TN_OVERFLOW, "the words of an array do not fit 64 bits");
}

/* Words of the box along the axes that all lie in one bank, and the box spread over the others. */
static uint64_t fullest_of_box(counter *tally, const uint64_t *words) {
    uint64_t most = 1;
    for (uint32_t axis = 0, index = 0; axis < tally->layout->axes; axis++) {
        if (index < tally->spread_axes && tally->spread[index] == axis)
            spread_words(tally, index++, words[axis]);
        else
            most *= words[axis];
    }
    return most * fullest(tally);
}

/* Words that the fullest bank has of a box of `words` words along each axis, wherever it lies. */
static tn_status fullest_bank(const tn_bank_layout *layout, const uint64_t *words, uint64_t *most,
                              tn_error *error) {
    counter tally;
    uint64_t all;
    if (!tn_product(words, layout->axes, &all))
        return tn_fail(error, TN_OVERFLOW, "the words of a box do not fit 64 bits");
    tn_status status = begin(&tally, layout, error);
    if (status == TN_OK) *most = fullest_of_box(&tally, words);
    tn_arena_free(&tally.arena);
    return status;
}

tn_status tn_bank_layout_measure(const tn_bank_layout *layout, tn_bank_layout_size *size, tn_error *error) {
    uint64_t words[TN_BANK_LAYOUT_AXES], of_word;
    TN_TRY(count_words(layout, &size->words, error));
    if (!tn_product(layout->word, layout->axes, &of_word) ||
        !tn_mul(size->words, of_word, &size->padded_elements))
        return tn_fail(error, TN_OVERFLOW, "the padded elements of an array do not fit 64 bits");
    for (uint32_t i = 0; i < layout->axes; i++) words[i] = tn_ceil_div(layout->dims[i], layout->word[i]);
    return fullest_bank(layout, words, &size->depth, error);
}

/* Adds the cycles of all combinations of touches along the spread axes from the at-th on. */
static bool add_cycles(counter *tally, const touch (*list)[TOUCHES], const uint32_t *touches, uint32_t index,
                       uint64_t blocks, uint64_t *cycles) {
    if (index == tally->spread_axes) return tn_mul_add(blocks, fullest(tally), cycles);
    uint32_t axis = tally->spread[index];
    for (uint32_t i = 0; i < touches[axis]; i++) {
        uint64_t more;
        spread_words(tally, index, list[axis][i].words);
        if (!tn_mul(blocks, list[axis][i].blocks, &more)) return false;
        if (!add_cycles(tally, list, touches, index + 1, more, cycles)) return false;
    }
    return true;
}

/* Along an axis that stays in one bank, words add up: blocks touch so many of them together. */
static bool words_touched(const touch *list, uint32_t touches, uint64_t *words) {
    *words = 0;
    for (uint32_t i = 0; i < touches; i++)
        if (!tn_mul_add(list[i].words, list[i].blocks, words)) return false;
    return true;
}

static tn_status sum_cycles(counter *tally, const touch (*list)[TOUCHES], const uint32_t *touches,
                            uint64_t *cycles, tn_error *error) {
    uint64_t each = 1, words;
    bool fits = true;
    *cycles = 0;
    for (uint32_t axis = 0, index = 0; axis < tally->layout->axes; axis++) {
        if (index < tally->spread_axes && tally->spread[index] == axis)
            index++;
        else
            fits = fits && words_touched(list[axis], touches[axis], &words) && tn_mul(each, words, &each);
    }
    fits = fits && add_cycles(tally, list, touches, 0, 1, cycles) && tn_mul(*cycles, each, cycles);
    return fits ? TN_OK : tn_fail(error, TN_OVERFLOW, "the cycles of reading an array do not fit 64 bits");
}

tn_status tn_bank_layout_issues(const tn_bank_layout *layout, const uint64_t *block, uint64_t *cycles,
                                tn_error *error) {
    touch list[TN_BANK_LAYOUT_AXES][TOUCHES];
    uint32_t touches[TN_BANK_LAYOUT_AXES];
    uint64_t words;
    counter tally;
    TN_TRY(count_words(layout, &words, error));
    TN_TRY(check_size("block", block, layout->axes, error));
    /* Words and blocks longer than the axis are cut at its edge; cut here, sums of floors fit 64 bits. */
    for (uint32_t i = 0; i < layout->axes; i++) {
        uint64_t dim = layout->dims[i];
        touches[i] = list_touches(dim, layout->word[i] < dim ? layout->word[i] : dim,
                                  block[i] < dim ? block[i] : dim, list[i]);
    }
    tn_status status = begin(&tally, layout, error);
    if (status == TN_OK) status = sum_cycles(&tally, (const touch(*)[TOUCHES])list, touches, cycles, error);
    tn_arena_free(&tally.arena);
    return status;
}
