#include "tensor/folding.h"

#include "base/checked.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "text/number.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static tn_status find_divisors(enumeration *all, uint64_t size, uint64_t smallest, uint64_t largest,
                               tn_error *error) {
    for (uint64_t low = 1; low * low <= size; low++) {
        if (size % low != 0) continue;
        const uint64_t pair[] = {low, size / low};
        for (int i = 0; i < (pair[0] == pair[1] ? 1 : 2); i++) {
            TN_TRY(tn_grow(&all->divisor, &all->divisor_capacity, all->divisors + 1, sizeof *all->divisor,
                           error));
            all->divisor[all->divisors++] = pair[i];
        }
    }
    qsort(all->divisor, all->divisors, sizeof *all->divisor, ascending);
    while (all->first < all->divisors && all->divisor[all->first] < smallest) all->first++;
    for (all->last = all->first; all->last < all->divisors && all->divisor[all->last] <= largest;)
        all->last++;
    return tn_alloc((all->d + 1) * all->divisors, sizeof *all->dead, &all->dead, error);
}

static tn_status keep(enumeration *all, tn_error *error) {
    if (all->count == FOLDINGS_MOST)
        return tn_fail(error, TN_LIMIT, "over %d foldings; narrow the bounds of the factors", FOLDINGS_MOST);
    TN_TRY(tn_grow(&all->item, &all->capacity, all->count + 1, sizeof *all->item, error));
    all->item[all->count++] = all->current;
    return TN_OK;
}

static size_t place_of(const enumeration *all, uint64_t divisor) {
    const uint64_t *found = bsearch(&divisor, all->divisor, all->divisors, sizeof *all->divisor, ascending);
    return (size_t)(found - all->divisor);
}

/* Places the factors from position `at` on; `rest`, a divisor of the size, is what they must multiply to. A rest that
 * no factors multiply to is not tried again, so the work is bounded by the results and the divisors. */
static tn_status place(enumeration *all, uint32_t at, uint64_t rest, tn_error *error) {
    if (at == all->d) return rest == 1 ? keep(all, error) : TN_OK;
    bool *dead = &all->dead[at * all->divisors + place_of(all, rest)];
    size_t before = all->count;
    if (*dead) return TN_OK;
    if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "stopped");
    for (size_t i = all->first; i < all->last && all->divisor[i] <= rest; i++) {
        if (rest % all->divisor[i] != 0) continue;
        all->current.factor[at] = all->divisor[i];
        TN_TRY(place(all, at + 1, rest / all->divisor[i], error));
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
    if (status == TN_OK) status = tn_arena_alloc(arena, all.count, sizeof *kept, &kept, error);
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
