#include "tensor/folding.h"

#include "base/checked.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_M, KEY_N, KEY_RANK, KEY_TOKENS, KEY_TERMS, KEYS, WORD_BYTES = 32 };

static const char *const keys[] = {
    [KEY_M] = "m", [KEY_N] = "n", [KEY_RANK] = "rank", [KEY_TOKENS] = "tokens", [KEY_TERMS] = "terms"};

/* One value: numbers with x between them. */
typedef struct counts {
    bool given;
    tn_position position;
    uint32_t count;
    uint64_t item[TN_RANKS_MOST];
} counts;

typedef struct parser {
    const char *start, *text;
    tn_position position;
    tn_error *error;
    counts value[KEYS];
} parser;

static tn_position here(const parser *p, const char *text) {
    tn_position position = p->position;
    position.column += (unsigned)(text - p->start);
    return position;
}

/* Copies up to `length` bytes of a word for a message or a look-up; what does not fit is cut. */
static void copy_word(const char *text, size_t length, char word[WORD_BYTES]) {
    if (length > WORD_BYTES - 1) length = WORD_BYTES - 1;
    memcpy(word, text, length);
    word[length] = '\0';
}

static tn_status unknown(const parser *p, const char *text, size_t length, const char *what,
                         const char *const *names, size_t count) {
    char word[WORD_BYTES];
    copy_word(text, length, word);
    const char *near = tn_suggest(word, names, count);
    if (near)
        return tn_fail_at(p->error, TN_INPUT, here(p, text), "no %s is called '%s'; did you mean %s?", what,
                          word, near);
    return tn_fail_at(p->error, TN_INPUT, here(p, text),
                      "no %s is called '%s'; a layer looks like tt:m=12x8x8,n=8x8x12,rank=12,tokens=32", what,
                      word);
}

static tn_status read_format(parser *p, tn_format *format) {
    size_t length = strcspn(p->text, ":");
    for (int f = 0; f < TN_FORMATS; f++)
        if (strlen(tn_format_names[f]) == length && memcmp(tn_format_names[f], p->text, length) == 0) {
            if (p->text[length] == '\0')
                return tn_fail_at(p->error, TN_INPUT, here(p, p->text + length),
                                  "':' and the layer's sizes must follow the format, as in "
                                  "tt:m=12x8x8,n=8x8x12,rank=12,tokens=32");
            *format = (tn_format)f;
            p->text += length + 1;
            return TN_OK;
        }
    return unknown(p, p->text, length, "format", tn_format_names, TN_FORMATS);
}

/* One number of a list, at p->text. */
static tn_status read_number(parser *p, uint64_t *number) {
    size_t length = strcspn(p->text, "x,");
    char digits[WORD_BYTES];
    copy_word(p->text, length, digits);
    if (tn_read_count(digits, number) != TN_NUMBER_OK || *number == 0 || length > WORD_BYTES - 1)
        return tn_fail_at(p->error, TN_INPUT, here(p, p->text),
                          "'%s' is no whole number of 1 to 2^64 - 1; lists look like 12x8x8", digits);
    p->text += length;
    return TN_OK;
}

static tn_status read_counts(parser *p, counts *value) {
    value->given = true;
    value->position = here(p, p->text);
    for (;;) {
        if (value->count == TN_RANKS_MOST)
            return tn_fail_at(p->error, TN_LIMIT, here(p, p->text), "a list of more than %d numbers",
                              TN_RANKS_MOST);
        TN_TRY(read_number(p, &value->item[value->count]));
        value->count++;
        if (*p->text != 'x') return TN_OK;
        p->text++;
    }
}

static tn_status read_pair(parser *p) {
    const char *name = p->text;
    size_t length = strcspn(name, "=,");
    int key = 0;
    while (key < KEYS && (strlen(keys[key]) != length || memcmp(keys[key], name, length) != 0)) key++;
    if (key == KEYS) return unknown(p, name, length, "key of a layer", keys, KEYS);
    if (name[length] != '=')
        return tn_fail_at(p->error, TN_INPUT, here(p, name + length), "'=' and a value must follow '%s'",
                          keys[key]);
    if (p->value[key].given)
        return tn_fail_at(p->error, TN_INPUT, here(p, name), "'%s' is given twice; give it once", keys[key]);
    p->text += length + 1;
    return read_counts(p, &p->value[key]);
}

static tn_status read_pairs(parser *p) {
    for (;;) {
        TN_TRY(read_pair(p));
        if (*p->text == '\0') return TN_OK;
        p->text++; /* the comma that ended the value */
    }
}

static tn_status missing(const parser *p, const char *key, const char *example) {
    return tn_fail_at(p->error, TN_INPUT, here(p, p->text), "the layer has no '%s'; add %s", key, example);
}

/* A key that takes one number. */
static tn_status single(const parser *p, int key) {
    const counts *value = &p->value[key];
    if (value->given && value->count != 1)
        return tn_fail_at(p->error, TN_INPUT, value->position, "'%s' takes one number, not a list",
                          keys[key]);
    return TN_OK;
}

static tn_status set_factors(const parser *p, tn_weight *weight) {
    const counts *m = &p->value[KEY_M], *n = &p->value[KEY_N];
    if (!m->given) return missing(p, "m", "m=12x8x8, the factors of the outputs");
    if (!n->given) return missing(p, "n", "n=8x8x12, the factors of the inputs");
    if (m->count != n->count)
        return tn_fail_at(p->error, TN_INPUT, n->position,
                          "n has %" PRIu32 " factors and m has %" PRIu32 "; both need as many", n->count,
                          m->count);
    if (m->count > TN_FACTORS_MOST)
        return tn_fail_at(p->error, TN_LIMIT, m->position, "more than %d factors", TN_FACTORS_MOST);
    weight->d = m->count;
    memcpy(weight->m, m->item, m->count * sizeof *m->item);
    memcpy(weight->n, n->item, n->count * sizeof *n->item);
    return TN_OK;
}

static tn_status set_ranks(const parser *p, tn_weight *weight) {
    const counts *rank = &p->value[KEY_RANK], *terms = &p->value[KEY_TERMS];
    TN_TRY(single(p, KEY_TERMS));
    if (terms->given && weight->format != TN_BLOCK_TERM)
        return tn_fail_at(p->error, TN_INPUT, terms->position, "only format bt has terms");
    if (weight->format == TN_DENSE)
        return rank->given
                   ? tn_fail_at(p->error, TN_INPUT, rank->position, "format dense has no rank; leave it out")
                   : TN_OK;
    if (!rank->given) return missing(p, "rank", "rank=12, or the list of all ranks");
    if (rank->count == 1) {
        if (terms->given) weight->rank[2 * weight->d] = terms->item[0];
        return tn_weight_set_rank(weight, rank->item[0], p->error);
    }
    if (terms->given)
        return tn_fail_at(p->error, TN_INPUT, terms->position,
                          "the last of bt's list of ranks is its number of terms");
    weight->rank_count = rank->count;
    memcpy(weight->rank, rank->item, rank->count * sizeof *rank->item);
    return TN_OK;
}

/* A weight that is refused as a whole: the error is placed at its ranks, or where the text begins. */
static tn_status check(const parser *p, const tn_weight *weight) {
    tn_error error;
    tn_status status = tn_weight_check(weight, &error);
    if (status == TN_OK) return TN_OK;
    tn_position position = p->value[KEY_RANK].given ? p->value[KEY_RANK].position : p->position;
    return tn_fail_at(p->error, status, position, "%s", error.message);
}

tn_status tn_spec_parse(const char *text, tn_position position, tn_weight *weight, uint64_t *tokens,
                        tn_error *error) {
    parser p = {.start = text, .text = text, .position = position, .error = error};
    if (p.position.line == 0) p.position.line = 1;
    if (p.position.column == 0) p.position.column = 1;
    *weight = (tn_weight){0};
    TN_TRY(read_format(&p, &weight->format));
    TN_TRY(read_pairs(&p));
    TN_TRY(set_factors(&p, weight));
    TN_TRY(set_ranks(&p, weight));
    TN_TRY(single(&p, KEY_TOKENS));
    if (!p.value[KEY_TOKENS].given) return missing(&p, "tokens", "tokens=32, the rows of X");
    *tokens = p.value[KEY_TOKENS].item[0];
    return check(&p, weight);
}

enum { FOLDINGS_MOST = 100000 };
/* Sizes up to here: their divisors are found by trial up to 2^20. */
static const uint64_t size_most = (uint64_t)1 << 40;

typedef struct {
    uint32_t d;
    uint64_t *divisor; /* of the size, ascending */
    size_t divisors, divisor_capacity;
    size_t first, last; /* those within the bounds: divisor[first] .. divisor[last - 1] */
    bool *dead;         /* [d + 1][divisors] no factors from that position on multiply to the divisor */
    tn_folding current, *item;
    size_t count, capacity;
} enumeration;

static tn_status find_divisors(enumeration *all, uint64_t size, uint64_t smallest, uint64_t largest,
                               tn_error *error) {
    for (uint64_t low = 1; low * low <= size; low++) {
        if (size % low != 0) continue;
        const uint64_t pair[] = {low, size / low};
        for (int i = 0; i < (pair[0] == pair[1] ? 1 : 2); i++) {
            TN_TRY(TN_GROW(&all->divisor, &all->divisor_capacity, all->divisors + 1, error));
            all->divisor[all->divisors++] = pair[i];
        }
    }
    qsort(all->divisor, all->divisors, sizeof *all->divisor, tn_count_order);
    while (all->first < all->divisors && all->divisor[all->first] < smallest) all->first++;
    for (all->last = all->first; all->last < all->divisors && all->divisor[all->last] <= largest;)
        all->last++;
    return TN_ALLOC((all->d + 1) * all->divisors, &all->dead, error);
}

static tn_status keep(enumeration *all, tn_error *error) {
    if (all->count == FOLDINGS_MOST)
        return tn_fail(error, TN_LIMIT, "over %d foldings; narrow the bounds of the factors", FOLDINGS_MOST);
    TN_TRY(TN_GROW(&all->item, &all->capacity, all->count + 1, error));
    all->item[all->count++] = all->current;
    return TN_OK;
}

static size_t place_of(const enumeration *all, uint64_t divisor) {
    const uint64_t *found =
        bsearch(&divisor, all->divisor, all->divisors, sizeof *all->divisor, tn_count_order);
    return (size_t)(found - all->divisor);
}

/* Places the factors from position `index` on; `rest`, a divisor of the size, is what they must multiply to. A rest that
 * no factors multiply to is not tried again, so the work is bounded by the results and the divisors. */
static tn_status place(enumeration *all, uint32_t index, uint64_t rest, tn_error *error) {
    if (index == all->d) return rest == 1 ? keep(all, error) : TN_OK;
    bool *dead = &all->dead[index * all->divisors + place_of(all, rest)];
    size_t before = all->count;
    if (*dead) return TN_OK;
    if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "stopped");
    for (size_t i = all->first; i < all->last && all->divisor[i] <= rest; i++) {
        if (rest % all->divisor[i] != 0) continue;
        all->current.factor[index] = all->divisor[i];
        TN_TRY(place(all, index + 1, rest / all->divisor[i], error));
    }
    *dead = all->count == before;
    return TN_OK;
}

tn_status tn_foldings_all(uint64_t size, uint32_t d, uint64_t smallest, uint64_t largest, tn_arena *arena,
                          tn_foldings *foldings, tn_error *error) {
    if (size == 0 || d == 0 || d > TN_FACTORS_MOST || smallest == 0 || smallest > largest)
        return tn_fail(error, TN_INPUT,
                       "no foldings of %" PRIu64 " into %u factors of %" PRIu64 " to %" PRIu64
                       "; sizes and factors start at 1, the number of factors at 1 and ends at %d",
                       size, d, smallest, largest, TN_FACTORS_MOST);
    if (size > size_most)
        return tn_fail(error, TN_LIMIT, "a size of %" PRIu64 " is not folded; at most 2^40 is", size);
    enumeration all = {.d = d, .current = {.d = d}};
    tn_status status = find_divisors(&all, size, smallest, largest, error);
    if (status == TN_OK) status = place(&all, 0, size, error);
    tn_folding *kept = NULL;
    if (status == TN_OK) status = TN_NEW(arena, all.count, &kept, error);
    if (status == TN_OK) {
        if (all.count) memcpy(kept, all.item, all.count * sizeof *kept);
        *foldings = (tn_foldings){.count = all.count, .item = kept};
    }
    tn_free(all.item);
    tn_free(all.divisor);
    tn_free(all.dead);
    return status;
}

const char *tn_folding_read(const char *text, tn_folding *folding, uint64_t *product) {
    *folding = (tn_folding){0};
    *product = 1;
    for (;;) {
        char digits[24];
        size_t length = strspn(text, "0123456789");
        if (length == 0 || length >= sizeof digits || folding->d == TN_FACTORS_MOST) return NULL;
        memcpy(digits, text, length);
        digits[length] = '\0';
        uint64_t factor;
        if (tn_read_count(digits, &factor) != TN_NUMBER_OK || factor == 0 ||
            !tn_mul(*product, factor, product))
            return NULL;
        folding->factor[folding->d++] = factor;
        text += length;
        if (*text != 'x') return text;
        text++;
    }
}
