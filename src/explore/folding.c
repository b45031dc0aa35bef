#include "explore/folding.h"

#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

enum { FOLDINGS_MOST = 100000 };

typedef struct {
    uint32_t d;
    uint64_t smallest, largest;
    tn_folding current, *item;
    size_t count, capacity;
} enumeration;

static tn_status keep(enumeration *all, tn_error *error) {
    if (all->count == FOLDINGS_MOST)
        return tn_fail(error, TN_LIMIT, "over %d foldings; narrow the bounds of the factors", FOLDINGS_MOST);
    TN_TRY(tn_grow(&all->item, &all->capacity, all->count + 1, sizeof *all->item, error));
    all->item[all->count++] = all->current;
    return TN_OK;
}

/* Places the factors from position `at` on; `rest` is what they must multiply to. */
static tn_status place(enumeration *all, uint32_t at, uint64_t rest, tn_error *error) {
    if (at + 1 == all->d) {
        if (rest < all->smallest || rest > all->largest) return TN_OK;
        all->current.factor[at] = rest;
        return keep(all, error);
    }
    uint64_t top = rest < all->largest ? rest : all->largest;
    for (uint64_t factor = all->smallest; factor <= top; factor++) {
        if (rest % factor != 0) continue;
        all->current.factor[at] = factor;
        TN_TRY(place(all, at + 1, rest / factor, error));
    }
    return TN_OK;
}

tn_status tn_foldings_all(uint64_t size, uint32_t d, uint64_t smallest, uint64_t largest, tn_arena *arena,
                          tn_foldings *foldings, tn_error *error) {
    if (size == 0 || d == 0 || d > TN_FACTORS_MOST || smallest == 0 || smallest > largest)
        return tn_fail(error, TN_INPUT,
                       "no foldings of %" PRIu64 " into %u factors of %" PRIu64 " to %" PRIu64
                       "; sizes and factors start at 1, the number of factors at 1 and ends at %d",
                       size, d, smallest, largest, TN_FACTORS_MOST);
    enumeration all = {.d = d, .smallest = smallest, .largest = largest, .current = {.d = d}};
    tn_status status = place(&all, 0, size, error);
    tn_folding *kept = NULL;
    if (status == TN_OK) status = tn_arena_alloc(arena, all.count, sizeof *kept, &kept, error);
    if (status == TN_OK) {
        if (all.count) memcpy(kept, all.item, all.count * sizeof *kept);
        *foldings = (tn_foldings){.count = all.count, .item = kept};
    }
    tn_free(all.item);
    return status;
}
