#include "front/staircase.h"

#include "base/memory.h"

#include <string.h>

/* Lays the levels out for so many places; the words of all. */
static size_t lay_levels(tn_staircase *stairs, size_t places) {
    size_t words = 0, wide = places;
    stairs->places = places;
    stairs->levels = 0;
    do {
        wide = wide / 64 + (wide % 64 > 0);
        stairs->first[stairs->levels++] = words;
        words += wide;
    } while (wide > 1);
    return words;
}

tn_status tn_staircase_new(size_t places, tn_staircase *stairs, tn_error *error) {
    *stairs = (tn_staircase){.places = 0};
    const size_t words = lay_levels(stairs, places);
    tn_status status = TN_ALLOC(words ? words : 1, &stairs->word, error);
    if (status == TN_OK) status = TN_ALLOC(places ? places : 1, &stairs->height, error);
    if (status != TN_OK) tn_staircase_free(stairs);
    return status;
}

void tn_staircase_free(tn_staircase *stairs) {
    tn_free(stairs->word);
    tn_free(stairs->height);
    *stairs = (tn_staircase){.places = 0};
}

void tn_staircase_reset(tn_staircase *stairs, size_t places) {
    memset(stairs->word, 0, lay_levels(stairs, places) * sizeof *stairs->word);
}

static uint64_t *word_at(const tn_staircase *stairs, size_t level, size_t index) {
    return &stairs->word[stairs->first[level] + index];
}

/* Down from a word's bit to the last, or the first, step below it. */
static size_t descend(const tn_staircase *stairs, size_t level, size_t place, bool last) {
    while (level-- > 0) {
        const uint64_t word = *word_at(stairs, level, place);
        place = 64 * place + (size_t)(last ? 63 - __builtin_clzll(word) : __builtin_ctzll(word));
    }
    return place;
}

size_t tn_stair_before(const tn_staircase *stairs, size_t place) {
    for (size_t level = 0; level < stairs->levels; level++) {
        const uint64_t below = *word_at(stairs, level, place / 64) & (UINT64_MAX >> (63 - place % 64));
        place /= 64;
        if (below) return descend(stairs, level, 64 * place + (size_t)(63 - __builtin_clzll(below)), true);
        if (place-- == 0) break;
    }
    return TN_STAIR_NONE;
}

size_t tn_stair_from(const tn_staircase *stairs, size_t place) {
    size_t wide = stairs->places;
    for (size_t level = 0; level < stairs->levels && place < wide; level++) {
        const uint64_t above = *word_at(stairs, level, place / 64) & (UINT64_MAX << place % 64);
        wide = wide / 64 + (wide % 64 > 0);
        place /= 64;
        if (above) return descend(stairs, level, 64 * place + (size_t)__builtin_ctzll(above), false);
        place++;
    }
    return TN_STAIR_NONE;
}

void tn_stair_put(tn_staircase *stairs, size_t place, double height) {
    stairs->height[place] = height;
    for (size_t level = 0; level < stairs->levels; level++) {
        *word_at(stairs, level, place / 64) |= (uint64_t)1 << place % 64;
        place /= 64;
    }
}

void tn_stair_drop(tn_staircase *stairs, size_t place) {
    for (size_t level = 0; level < stairs->levels; level++) {
        uint64_t *word = word_at(stairs, level, place / 64);
        *word &= ~((uint64_t)1 << place % 64);
        if (*word) break;
        place /= 64;
    }
}
