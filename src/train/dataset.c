#include "train/dataset.h"

#include "base/memory.h"
#include "train/sentences.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Texts with how often they occur, sorted. */
typedef struct entry {
    const char *text;
    size_t count;
} entry;

static int by_text(const void *a, const void *b) {
    return strcmp(((const entry *)a)->text,
                  ((const entry *)b)->text); /* bytes of UTF-8 sort as code points */
}

static int by_falling_count(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return by_text(a, b);
}

/* Sorts by text and joins equal ones. */
static size_t join_equal(entry *item, size_t count) {
    size_t kept = 0;
    qsort(item, count, sizeof *item, by_text);
    for (size_t i = 0; i < count; i++) {
        if (kept && strcmp(item[kept - 1].text, item[i].text) == 0)
            item[kept - 1].count++;
        else
            item[kept++] = item[i];
    }
    return kept;
}

/* Names sorted by code point, and where each is: of labels and classes that is its number. */
typedef struct names {
    entry *item; /* by text */
    size_t count;
    uint32_t *number; /* [count] of each item */
} names;

static const entry *find(const names *in, const char *text) {
    entry key = {text, 0};
    return bsearch(&key, in->item, in->count, sizeof key, by_text);
}

typedef struct builder {
    tn_dataset *data;
    tn_arena *arena;
    uint64_t sequence;
    names words, labels, classes;
    tn_error *error;
} builder;

static tn_status collect(builder *b, const tn_sentences *of, int what, names *to) {
    size_t total = 0, at = 0;
    for (size_t i = 0; i < of->count; i++) total += what == 2 ? 1 : of->sentence[i].words;
    TN_TRY(tn_arena_alloc(b->arena, total, sizeof *to->item, &to->item, b->error));
    for (size_t i = 0; i < of->count; i++) {
        const tn_sentence *s = &of->sentence[i];
        if (what == 2)
            to->item[at++] = (entry){s->class_name, 1};
        else
            for (size_t k = 0; k < s->words; k++)
                to->item[at++] = (entry){what == 0 ? s->word[k] : s->label[k], 1};
    }
    to->count = join_equal(to->item, total);
    if (to->count > INT32_MAX / 2) return tn_fail(b->error, TN_LIMIT, "more than 2^30 words or labels");
    TN_TRY(tn_arena_alloc(b->arena, to->count, sizeof *to->number, &to->number, b->error));
    for (size_t i = 0; i < to->count; i++) to->number[i] = (uint32_t)i;
    return TN_OK;
}

static tn_status list_names(builder *b, const names *of, const char ***list, uint32_t *count) {
    *count = (uint32_t)of->count;
    TN_TRY(tn_arena_alloc(b->arena, of->count, sizeof **list, list, b->error));
    for (size_t i = 0; i < of->count; i++) (*list)[i] = of->item[i].text;
    return TN_OK;
}

/* Numbers the words by falling count behind the special ones. */
static tn_status number_words(builder *b) {
    names *words = &b->words;
    tn_dataset *data = b->data;
    entry *ranked;
    data->words = (uint32_t)words->count + TN_WORDS_SPECIAL;
    TN_TRY(tn_arena_alloc(b->arena, words->count, sizeof *ranked, &ranked, b->error));
    TN_TRY(tn_arena_alloc(b->arena, data->words, sizeof *data->word, &data->word, b->error));
    TN_TRY(tn_arena_alloc(b->arena, data->words, sizeof *data->rare, &data->rare, b->error));
    if (words->count) memcpy(ranked, words->item, words->count * sizeof *ranked);
    qsort(ranked, words->count, sizeof *ranked, by_falling_count);
    data->word[TN_WORD_PADDING] = "[PAD]";
    data->word[TN_WORD_UNKNOWN] = "[UNK]";
    data->word[TN_WORD_CLASS] = "[CLS]";
    for (size_t i = 0; i < words->count; i++) {
        data->word[TN_WORDS_SPECIAL + i] = ranked[i].text;
        data->rare[TN_WORDS_SPECIAL + i] = ranked[i].count == 1;
        words->number[find(words, ranked[i].text) - words->item] = (uint32_t)(TN_WORDS_SPECIAL + i);
    }
    return TN_OK;
}

static int32_t label_number(const names *in, const char *text) {
    if (!text) return TN_NO_LABEL;
    const entry *found = find(in, text);
    return found ? (int32_t)(found - in->item) : TN_UNSEEN;
}

/* Labels that only dev or test have keep their names, for the chunks that they make. */
static tn_status number_unseen(builder *b, const char *text, int32_t *label) {
    tn_dataset *data = b->data;
    uint32_t k = 0;
    while (k < data->unseen_labels && strcmp(data->unseen_label[k], text) != 0) k++;
    if (k == data->unseen_labels) {
        const char **grown;
        TN_TRY(tn_arena_alloc(b->arena, (size_t)k + 1, sizeof *grown, &grown, b->error));
        if (k) memcpy(grown, data->unseen_label, k * sizeof *grown);
        grown[k] = text;
        data->unseen_label = grown;
        data->unseen_labels++;
    }
    *label = TN_UNSEEN - (int32_t)k;
    return TN_OK;
}

static tn_status convert(builder *b, const tn_sentence *s, tn_split *split, tn_example *to) {
    uint32_t *token, tokens = (uint32_t)(s->words + 1 < b->sequence ? s->words + 1 : b->sequence);
    int32_t *slot;
    split->cut += s->words + 1 > b->sequence;
    TN_TRY(tn_arena_alloc(b->arena, tokens, sizeof *token, &token, b->error));
    TN_TRY(tn_arena_alloc(b->arena, tokens, sizeof *slot, &slot, b->error));
    token[0] = TN_WORD_CLASS;
    slot[0] = TN_NO_LABEL;
    for (uint32_t i = 1; i < tokens; i++) {
        const entry *word = find(&b->words, s->word[i - 1]);
        token[i] = word ? b->words.number[word - b->words.item] : TN_WORD_UNKNOWN;
        slot[i] = s->label ? label_number(&b->labels, s->label[i - 1]) : TN_NO_LABEL;
        if (slot[i] == TN_UNSEEN) TN_TRY(number_unseen(b, s->label[i - 1], &slot[i]));
        split->words++;
        split->unknown_words += !word;
    }
    *to = (tn_example){tokens, token, slot, label_number(&b->classes, s->class_name)};
    return TN_OK;
}

static tn_status convert_all(builder *b, const tn_sentences *from, tn_split *split) {
    split->count = from->count;
    TN_TRY(tn_arena_alloc(b->arena, from->count, sizeof *split->example, &split->example, b->error));
    for (size_t i = 0; i < from->count; i++)
        TN_TRY(convert(b, &from->sentence[i], split, &split->example[i]));
    return TN_OK;
}

static tn_status load_part(builder *b, const char *folder, const char *part, tn_sentences *to) {
    const char *path;
    TN_TRY(tn_arena_format(b->arena, &path, b->error, "%s/%s", folder, part));
    return tn_sentences_load(path, b->arena, to, b->error);
}

static tn_status build(builder *b, const char *folder, const tn_sentences part[3]) {
    tn_dataset *data = b->data;
    data->has_labels = part[0].has_labels;
    data->has_classes = part[0].has_classes;
    for (int i = 1; i < 3; i++)
        if (part[i].has_labels != data->has_labels || part[i].has_classes != data->has_classes)
            return tn_fail_at(
                b->error, TN_INPUT, (tn_position){.file = folder},
                "train and %s do not have the same files; each needs labels and classes, or neither",
                i == 1 ? "dev" : "test");
    TN_TRY(collect(b, &part[0], 0, &b->words));
    if (data->has_labels) TN_TRY(collect(b, &part[0], 1, &b->labels));
    if (data->has_classes) TN_TRY(collect(b, &part[0], 2, &b->classes));
    TN_TRY(number_words(b));
    TN_TRY(list_names(b, &b->labels, &data->label, &data->labels));
    TN_TRY(list_names(b, &b->classes, &data->class_name, &data->classes));
    TN_TRY(convert_all(b, &part[0], &data->train));
    TN_TRY(convert_all(b, &part[1], &data->dev));
    return convert_all(b, &part[2], &data->test);
}

tn_status tn_dataset_load(const char *folder, uint64_t sequence, tn_arena *arena, tn_dataset *data,
                          tn_error *error) {
    static const char *const parts[] = {"train", "dev", "test"};
    builder b = {.data = data, .arena = arena, .sequence = sequence, .error = error};
    tn_sentences part[3] = {0};
    *data = (tn_dataset){.path = folder};
    if (sequence < 2)
        return tn_fail(error, TN_INPUT, "a sequence of %" PRIu64 " tokens holds no word behind [CLS]",
                       sequence);
    tn_status status = TN_OK;
    for (int i = 0; i < 3 && status == TN_OK; i++) status = load_part(&b, folder, parts[i], &part[i]);
    if (status == TN_OK) status = build(&b, folder, part);
    for (int i = 0; i < 3; i++) tn_sentences_free(&part[i]);
    return status;
}

const char *tn_dataset_label(const tn_dataset *data, int32_t label) {
    if (label == TN_NO_LABEL) return NULL;
    return label >= 0 ? data->label[label] : data->unseen_label[TN_UNSEEN - label];
}

tn_status tn_dataset_check(const tn_dataset *data, const tn_trainer *trainer, tn_error *error) {
    uint64_t vocabulary = tn_trainer_vocabulary(trainer);
    if (data->words > vocabulary)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = data->path},
                          "has %" PRIu32
                          " words with [PAD], [UNK] and [CLS]; the model's table holds %" PRIu64,
                          data->words, vocabulary);
    for (uint32_t h = 0; h < tn_trainer_heads(trainer); h++) {
        tn_head_info head = tn_trainer_head(trainer, h);
        uint32_t needed = head.of_example ? data->classes : data->labels;
        if (!(head.of_example ? data->has_classes : data->has_labels))
            return tn_fail_at(error, TN_INPUT, (tn_position){.file = data->path},
                              "has no %s, which %s learns", head.of_example ? "classes" : "labels",
                              head.name);
        if (needed > head.outputs)
            return tn_fail_at(error, TN_INPUT, (tn_position){.file = data->path},
                              "has %" PRIu32 " %s; %s tells %" PRIu64 " apart", needed,
                              head.of_example ? "classes" : "labels", head.name, head.outputs);
    }
    return TN_OK;
}
