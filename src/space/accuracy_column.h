/* What the reading of a table of accuracies and the asking of it (space/accuracy_table.h) share: texts of keys and values. */
#ifndef TN_SPACE_ACCURACY_COLUMN_H
#define TN_SPACE_ACCURACY_COLUMN_H

#include "space/accuracy_table.h"

#include <string.h>

/* A weight that is not compressed, as a folding, a rank or a format. */
static const char tn_accuracy_dense_text[] = "dense";

/* The last word of a key, and what is in front of it. */
static inline const char *tn_accuracy_last_word(const char *key) {
    const char *end = strrchr(key, '.');
    return end ? end + 1 : key;
}

static inline bool tn_accuracy_ends_as(const char *key, const char *word) {
    return strcmp(tn_accuracy_last_word(key), word) == 0;
}

static inline bool tn_accuracy_same_owner(const char *a, const char *b) {
    size_t length = (size_t)(tn_accuracy_last_word(a) - a);
    return length == (size_t)(tn_accuracy_last_word(b) - b) && strncmp(a, b, length) == 0;
}

/* A whole weight has neither ranks nor a format's effect. */
void tn_accuracy_make_whole(const tn_accuracy_table *table, tn_accuracy_value *value);

#endif
