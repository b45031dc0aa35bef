#include "flow/neighbours.h"

#include <string.h>

void tn_neighbours_clear(tn_neighbours *neighbours) {
    neighbours->count = 0;
    for (uint32_t group = 0; group < TN_PROBLEM_GROUPS; group++)
        for (int side = 0; side < 2; side++)
            neighbours->list[group][side].count = neighbours->list[group][side].filled = 0;
}

enum {
    WORD = 64,
    FILLED_AT_ONCE = 16,
};

static uint32_t pages_of(uint32_t items) {
    return (items + TN_NEIGHBOUR_PAGE - 1) / TN_NEIGHBOUR_PAGE;
}

/* Twice the room: of the items, and for the pages that they fill. */
static tn_status widen(tn_neighbour_list *list, tn_arena *arena, tn_error *error) {
    enum { FIRST_CAPACITY = 8 };
    const uint32_t pages = pages_of(list->filled);
    list->capacity = list->capacity ? 2 * list->capacity : FIRST_CAPACITY;
    tn_neighbour *item = NULL;
    TN_TRY(TN_NEW(arena, list->capacity, &item, error));
    if (list->count) memcpy(item, list->item, list->count * sizeof *item);
    list->item = item;
    if (list->capacity <= WORD) return TN_OK;
    tn_neighbour_page **page = NULL;
    TN_TRY(TN_NEW(arena, pages_of(list->capacity), &page, error));
    if (pages) memcpy(page, list->page, pages * sizeof *page);
    list->page = page;
    return TN_OK;
}

/* The bits that the number takes. */
static uint32_t bit_length(uint64_t number) {
    return number ? 64 - (uint32_t)__builtin_clzll(number) : 0;
}

/* Sets the bit in the word of each column of the mask. */
static void mark(tn_neighbour_column *column, uint64_t mask, uint32_t word, uint64_t bit) {
    for (; mask; mask &= mask - 1) column[__builtin_ctzll(mask)].word[word] |= bit;
}

/* The bits of a page's items from `begin` up to `end`, which are of one word. */
static void fill(tn_neighbour_page *page, const tn_neighbour *item, uint32_t begin, uint32_t end) {
    const uint32_t w = begin / WORD;
    uint64_t of_length[TN_NEIGHBOUR_LENGTHS] = {0}, shorter = 0;
    if (begin % WORD == 0) {
        page->least_key[w] = item[begin].key;
        page->least_beyond[w] = UINT64_MAX;
    }
    for (uint32_t i = begin; i < end; i++) {
        const uint64_t bit = (uint64_t)1 << i % WORD;
        mark(page->holds, item[i].set, w, bit);
        mark(page->opens, item[i].open, w, bit);
        of_length[bit_length(item[i].size)] |= bit;
        if (item[i].beyond < page->least_beyond[w]) page->least_beyond[w] = item[i].beyond;
    }
    for (uint32_t b = 0; b < TN_NEIGHBOUR_LENGTHS; b++) page->within[b].word[w] |= shorter |= of_length[b];
}

static tn_status fill_next(tn_neighbour_list *list, tn_arena *arena, tn_error *error) {
    const uint32_t begin = list->filled % TN_NEIGHBOUR_PAGE, first = list->filled - begin;
    tn_neighbour_page **page = &list->page[first / TN_NEIGHBOUR_PAGE];
    if (!*page) TN_TRY(TN_NEW(arena, 1, page, error));
    if (!begin) **page = (tn_neighbour_page){0};
    fill(*page, &list->item[first], begin, begin + FILLED_AT_ONCE);
    list->filled += FILLED_AT_ONCE;
    return TN_OK;
}

tn_status tn_neighbours_fill(tn_neighbour_list *list, uint64_t key, tn_arena *arena, tn_error *error) {
    for (;;) {
        uint32_t needed = list->filled ? list->filled + FILLED_AT_ONCE : TN_NEIGHBOURS_MANY;
        if (list->count < needed || list->item[needed - 1].key > key) return TN_OK;
        TN_TRY(fill_next(list, arena, error));
    }
}

static tn_status add(tn_neighbour_list *list, const tn_neighbour *item, tn_arena *arena, tn_error *error) {
    if (list->count == list->capacity) TN_TRY(widen(list, arena, error));
    list->item[list->count++] = *item;
    return TN_OK;
}

tn_status tn_neighbours_add(tn_neighbours *neighbours, const tn_problem *problem, tn_neighbour item,
                            uint64_t groups, tn_arena *arena, tn_error *error) {
    for (; groups; groups &= groups - 1) {
        uint32_t group = (uint32_t)__builtin_ctzll(groups);
        TN_TRY(
            add(&neighbours->list[group][tn_neighbours_side(problem, group, item.set)], &item, arena, error));
        neighbours->count++;
    }
    return TN_OK;
}

/* *column |= the columns of the mask. */
static void unite(const tn_neighbour_column *of, uint64_t mask, tn_neighbour_column *column) {
    for (; mask; mask &= mask - 1) {
        const uint64_t *word = of[__builtin_ctzll(mask)].word;
        for (uint32_t w = 0; w < TN_NEIGHBOUR_WORDS; w++) column->word[w] |= word[w];
    }
}

/* Sets of the word whose merge is small enough: `shares[k]` share at least k + 1 of `after`. */
static uint64_t small_enough(const tn_neighbour_page *page, uint32_t w, const tn_neighbour_query *query,
                             const tn_neighbour_column *shares) {
    uint64_t small = UINT64_MAX, room = query->most - page->least_beyond[w];
    for (uint32_t k = 0; k < TN_NEIGHBOUR_FACTORS; k++)
        small &= shares[k].word[w] | page->within[bit_length(room / query->factor[k])].word[w];
    return small;
}

tn_neighbour_column tn_neighbour_candidates(const tn_neighbour_page *page, const tn_neighbour_query *query) {
    tn_neighbour_column column = {{0}}, shares[TN_NEIGHBOUR_FACTORS] = {{{0}}};
    unite(page->holds, query->set, &column);
    unite(page->opens, query->before, &column);
    for (uint64_t left = query->after; left; left &= left - 1) {
        const uint64_t *opens = page->opens[__builtin_ctzll(left)].word;
        for (uint32_t k = TN_NEIGHBOUR_FACTORS - 1; k > 0; k--)
            for (uint32_t w = 0; w < TN_NEIGHBOUR_WORDS; w++)
                shares[k].word[w] |= shares[k - 1].word[w] & opens[w];
        for (uint32_t w = 0; w < TN_NEIGHBOUR_WORDS; w++) shares[0].word[w] |= opens[w];
    }
    for (uint32_t w = 0; w < TN_NEIGHBOUR_WORDS; w++) {
        bool any = page->least_key[w] <= query->key && page->least_beyond[w] <= query->most;
        column.word[w] = any ? ~column.word[w] & small_enough(page, w, query, shares) : 0;
    }
    return column;
}
