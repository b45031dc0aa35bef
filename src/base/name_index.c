#include "base/name_index.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST_NAME = 63 };

/* Levenshtein distance; names over LONGEST_NAME bytes count as far. */
static size_t distance(const char *a, const char *b) {
    size_t m = strlen(a), n = strlen(b), row[LONGEST_NAME + 1];
    if (m > LONGEST_NAME || n > LONGEST_NAME) return (size_t)-1;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t above = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
            if (above + 1 < best) best = above + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = above;
            row[j] = best;
        }
    }
    return row[n];
}

const char *tn_suggest(const char *given, const char *const *names, size_t count) {
    size_t limit = strlen(given) / 3, least = (size_t)-1;
    const char *nearest = NULL;
    if (limit < 2) limit = 2;
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(given, names[i]);
        if (d < least && d <= limit) {
            least = d;
            nearest = names[i];
        }
    }
    return nearest;
}

const char *tn_name_list(const char *const *names, size_t count, char *text, size_t capacity) {
    enum { ENDING = 40 };
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (length + strlen(names[i]) + ENDING > capacity) {
            snprintf(text + length, capacity - length, "%s.. (%zu in all)", i ? ", " : "", count);
            break;
        }
        length += (size_t)snprintf(text + length, capacity - length, "%s%s", i ? ", " : "", names[i]);
    }
    return text;
}

const char *tn_suggestion(const char *given, const char *const *names, size_t count, char *text,
                          size_t capacity) {
    static const char before[] = "it is one of ";
    const char *near = tn_suggest(given, names, count);
    if (near) {
        snprintf(text, capacity, "did you mean %s?", near);
        return text;
    }
    memcpy(text, before, sizeof before);
    tn_name_list(names, count, text + strlen(before), capacity - strlen(before));
    return text;
}

tn_status tn_name_index_new(tn_name_index *index, size_t most, tn_arena *arena, tn_error *error) {
    index->slots = 2;
    while (index->slots / 2 < most) {
        if (index->slots > UINT32_MAX / 2) return tn_fail(error, TN_LIMIT, "more than 2^30 names");
        index->slots *= 2;
    }
    return TN_NEW(arena, index->slots, &index->slot, error);
}

/* The slot of the name, or the free one where it belongs. */
static struct tn_name_slot *slot_of(const tn_name_index *index, const char *name) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *cursor = name; *cursor; cursor++)
        hash = (hash ^ (unsigned char)*cursor) * 0x100000001b3u;
    uint32_t mask = index->slots - 1, place = (uint32_t)(hash ^ hash >> 32) & mask;
    while (index->slot[place].name && strcmp(index->slot[place].name, name) != 0) place = (place + 1) & mask;
    return &index->slot[place];
}

uint32_t tn_name_index_find(const tn_name_index *index, const char *name) {
    const struct tn_name_slot *slot = slot_of(index, name);
    return slot->name ? slot->place : TN_NAME_NONE;
}

uint32_t tn_name_index_add(tn_name_index *index, const char *name, uint32_t place) {
    struct tn_name_slot *slot = slot_of(index, name);
    if (slot->name) return slot->place;
    *slot = (struct tn_name_slot){name, place};
    return TN_NAME_NONE;
}
