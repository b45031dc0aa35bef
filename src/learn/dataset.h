/* Labelled sentences for training: words by number, a label per word, a class per sentence.
 *
 * A folder has `train`, `dev` and `test`, each
 *     seq.in, seq.out, label   a sentence a line, its words, its labels and its class (the ATIS form); or
 *     conll.txt                a word a line, its label in the last column, an empty line behind each sentence; a
 *                              line `# class = NAME` in front of a sentence gives its class.
 * A folder without seq.out has no labels per word, one without label no classes; at least one of the two is needed.
 *
 * A file in place of the folder is a text, byte by byte: windows of a whole sequence, [CLS] in front of each, and a
 * token's label is the byte that comes next. The last tenth of the windows is `test`, the one before it `dev`.
 *
 * The vocabulary is that of `train`: 0 padding, 1 unknown, 2 the [CLS] in front of every sentence, then its words by
 * falling count, ties by code point. Labels and classes are those of `train`, by code point. A word that `train`
 * has not is unknown; a label or class that it has not counts as an error: label TN_UNSEEN - k is unseen_label[k].
 */
#ifndef TN_LEARN_DATASET_H
#define TN_LEARN_DATASET_H

#include "base/error.h"
#include "base/memory.h"
#include "train/trainer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sentences as they stand in files, before words and labels are numbers (learn/dataset.h). Internal to the room. */

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
void tn_sentences_free(tn_sentences *sentences);

enum { TN_WORD_PADDING, TN_WORD_UNKNOWN, TN_WORD_CLASS, TN_WORDS_SPECIAL };
enum { TN_NO_LABEL = -1, TN_UNSEEN = -2 };

typedef struct tn_split {
    size_t count;
    tn_example *example;              /* token 0 is [CLS], without a label */
    size_t words, unknown_words, cut; /* in all; cut: sentences longer than the sequence */
} tn_split;

typedef struct tn_dataset {
    const char *path;
    uint32_t words, labels, classes;
    const char **word, **label, **class_name;
    uint32_t unseen_labels;
    const char **unseen_label;
    bool *rare; /* [words] stands once in `train` */
    bool has_labels, has_classes;
    bool is_text; /* of a file, byte by byte: the label of a token is the next one */
    tn_split train, dev, test;
} tn_dataset;

/* `sequence`: the most tokens of an example, [CLS] included; what is longer is cut. */
tn_status tn_dataset_load(const char *folder, uint64_t sequence, tn_arena *arena, tn_dataset *data,
                          tn_error *error);

/* The text of a label by its number; NULL: none. */
const char *tn_dataset_label(const tn_dataset *data, int32_t label);

/* Whether the trainer's model can take it: vocabulary, labels and classes fit its table and its outputs. */
tn_status tn_dataset_check(const tn_dataset *data, const tn_trainer *trainer, tn_error *error);

#endif
