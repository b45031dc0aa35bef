/* Sentences as they stand in files, before words and labels are numbers (train/dataset.h). Internal to the room. */
#ifndef TN_TRAIN_SENTENCES_H
#define TN_TRAIN_SENTENCES_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct tn_sentence {
    size_t words;
    const char **word, **label; /* label NULL: the file has none */
    const char *class_name;     /* NULL: none */
} tn_sentence;

typedef struct tn_sentences {
    size_t count, capacity;
    tn_sentence *sentence;
    bool has_labels, has_classes;
} tn_sentences;

/* One of the folder's three parts: FOLDER/train, .. */
tn_status tn_sentences_load(const char *folder, tn_arena *arena, tn_sentences *sentences, tn_error *error);
void tn_sentences_free(tn_sentences *sentences);

#endif
