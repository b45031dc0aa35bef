#include "learn/dataset.h"

#include "base/file.h"
#include "base/memory.h"
#include "text/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t FILE_LIMIT_BYTES = (size_t)1 << 30;
enum { SENTENCE_WORDS_MOST = 100000, TEXT_MOST = 1000 };

/* A file's lines, one at a time; the text lives in the arena. */
typedef struct lines {
    const char *path;
    char *next, *end;
    unsigned number; /* of the line that was read last */
} lines;

static tn_status open_lines(const char *path, tn_arena *arena, lines *text, tn_error *error) {
    char *data, *kept;
    size_t length;
    TN_TRY(tn_file_read(path, FILE_LIMIT_BYTES, &data, &length, error));
    tn_status status = tn_arena_alloc(arena, length + 1, 1, &kept, error);
    if (status == TN_OK) memcpy(kept, data, length + 1);
    tn_free(data);
    TN_TRY(status);
    *text = (lines){.path = path, .next = kept, .end = kept + length};
    if (length >= 3 && memcmp(kept, "\xEF\xBB\xBF", 3) == 0) text->next += 3;
    return TN_OK;
}

static tn_position place(const lines *text, unsigned column) {
    return (tn_position){text->path, text->number, column};
}

/* *line: NULL at the end. Bytes that are not UTF-8 text are refused. */
static tn_status read_line(lines *text, char **line, tn_error *error) {
    *line = NULL;
    if (text->next >= text->end) return TN_OK;
    char *start = text->next, *stop = memchr(start, '\n', (size_t)(text->end - start));
    text->number++;
    if (!stop) stop = text->end;
    text->next = stop + 1;
    if (memchr(start, '\0', (size_t)(stop - start)))
        return tn_fail_at(error, TN_INPUT, place(text, 1), "a NUL byte; a data file must be text");
    if (stop > start && stop[-1] == '\r') stop--;
    *stop = '\0';
    size_t length = (size_t)(stop - start);
    for (size_t index = 0, bytes; index < length; index += bytes) {
        bytes = tn_utf8_length(start + index, length - index);
        if (bytes == 0)
            return tn_fail_at(error, TN_INPUT, place(text, (unsigned)index + 1),
                              "bytes that are not UTF-8 text");
    }
    *line = start;
    return TN_OK;
}

/* The line's words, parted by blanks or tabs; positions are kept in `column`. */
static tn_status split(const lines *text, char *line, tn_arena *arena, const char ***words, size_t *count,
                       tn_error *error) {
    size_t found = 0;
    for (char *cursor = line; *cursor; found++) {
        cursor += strspn(cursor, " \t");
        if (!*cursor) break;
        size_t length = strcspn(cursor, " \t");
        if (length > TEXT_MOST)
            return tn_fail_at(error, TN_LIMIT, place(text, (unsigned)(cursor - line) + 1),
                              "a word of %zu bytes; at most %d are read", length, TEXT_MOST);
        cursor += length;
    }
    if (found > SENTENCE_WORDS_MOST)
        return tn_fail_at(error, TN_LIMIT, place(text, 1), "%zu words in one line; at most %d are read",
                          found, SENTENCE_WORDS_MOST);
    TN_TRY(TN_NEW(arena, found, words, error));
    *count = 0;
    for (char *cursor = line; *count < found;) {
        cursor += strspn(cursor, " \t");
        (*words)[(*count)++] = cursor;
        cursor += strcspn(cursor, " \t");
        if (*cursor) *cursor++ = '\0';
    }
    return TN_OK;
}

/* O, or B- or I- and a name. */
static tn_status check_label(const lines *text, size_t word, const char *label, tn_error *error) {
    bool chunk = (label[0] == 'B' || label[0] == 'I') && label[1] == '-' && label[2];
    if (chunk || strcmp(label, "O") == 0) return TN_OK;
    return tn_fail_at(error, TN_INPUT, place(text, 0),
                      "label \"%.100s\" of word %zu; a label is O, B-NAME or I-NAME", label, word + 1);
}

static tn_status add(tn_sentences *target, const tn_sentence *sentence, tn_error *error) {
    TN_TRY(TN_GROW(&target->sentence, &target->capacity, target->count + 1, error));
    target->sentence[target->count++] = *sentence;
    return TN_OK;
}

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

/* A further file with a line for each sentence. */
static tn_status too_short(const lines *text, size_t sentences, tn_error *error) {
    return tn_fail_at(error, TN_INPUT, place(text, 0),
                      "ends after line %u; seq.in has more than %zu sentences", text->number, sentences);
}

static tn_status read_labels(lines *text, size_t index, tn_sentence *sentence, tn_arena *arena,
                             tn_error *error) {
    char *line;
    size_t count;
    TN_TRY(read_line(text, &line, error));
    if (!line) return too_short(text, index, error);
    TN_TRY(split(text, line, arena, &sentence->label, &count, error));
    if (count != sentence->words)
        return tn_fail_at(error, TN_INPUT, place(text, 1),
                          "%zu labels for the %zu words of that line of seq.in", count, sentence->words);
    for (size_t i = 0; i < count; i++) TN_TRY(check_label(text, i, sentence->label[i], error));
    return TN_OK;
}

static tn_status read_class(lines *text, size_t index, tn_sentence *sentence, tn_arena *arena,
                            tn_error *error) {
    char *line;
    const char **words;
    size_t count;
    TN_TRY(read_line(text, &line, error));
    if (!line) return too_short(text, index, error);
    TN_TRY(split(text, line, arena, &words, &count, error));
    if (count != 1)
        return tn_fail_at(error, TN_INPUT, place(text, 1), "%zu words; a line of classes is one name", count);
    sentence->class_name = words[0];
    return TN_OK;
}

static tn_status expect_end(lines *text, const char *reference, tn_error *error) {
    char *line;
    do {
        TN_TRY(read_line(text, &line, error));
    } while (line && line[strspn(line, " \t")] == '\0');
    if (!line) return TN_OK;
    return tn_fail_at(error, TN_INPUT, place(text, 1), "more lines than %s has sentences", reference);
}

static tn_status load_lines(const char *folder, tn_arena *arena, tn_sentences *target, tn_error *error) {
    const char *words_path, *labels_path, *class_path;
    lines words, labels, classes;
    TN_TRY(tn_arena_format(arena, &words_path, error, "%s/seq.in", folder));
    TN_TRY(tn_arena_format(arena, &labels_path, error, "%s/seq.out", folder));
    TN_TRY(tn_arena_format(arena, &class_path, error, "%s/label", folder));
    TN_TRY(open_lines(words_path, arena, &words, error));
    target->has_labels = exists(labels_path);
    target->has_classes = exists(class_path);
    if (target->has_labels) TN_TRY(open_lines(labels_path, arena, &labels, error));
    if (target->has_classes) TN_TRY(open_lines(class_path, arena, &classes, error));
    for (;;) {
        char *line;
        tn_sentence sentence = {0};
        TN_TRY(read_line(&words, &line, error));
        if (!line) break;
        TN_TRY(split(&words, line, arena, &sentence.word, &sentence.words, error));
        if (sentence.words == 0 && words.next >= words.end) break; /* an empty last line */
        if (sentence.words == 0)
            return tn_fail_at(error, TN_INPUT, place(&words, 1), "an empty line; each line is a sentence");
        if (target->has_labels) TN_TRY(read_labels(&labels, target->count, &sentence, arena, error));
        if (target->has_classes) TN_TRY(read_class(&classes, target->count, &sentence, arena, error));
        TN_TRY(add(target, &sentence, error));
    }
    if (target->count == 0) return TN_OK;
    if (target->has_labels) TN_TRY(expect_end(&labels, "seq.in", error));
    return target->has_classes ? expect_end(&classes, "seq.in", error) : TN_OK;
}

/* A sentence of a column file being collected. */
typedef struct collected {
    tn_sentence sentence;
    size_t word_capacity, label_capacity;
    const char *pending_class;
} collected;

static tn_status finish_sentence(collected *c, const lines *text, tn_arena *arena, tn_sentences *target,
                                 tn_error *error) {
    tn_sentence *s = &c->sentence;
    if (s->words == 0) {
        if (c->pending_class)
            return tn_fail_at(error, TN_INPUT, place(text, 1), "a class with no sentence behind it");
        return TN_OK;
    }
    if (target->count > 0 && target->has_classes != (c->pending_class != NULL))
        return tn_fail_at(error, TN_INPUT, place(text, 1),
                          "the sentence that ends here %s a class, those before it %s one; give all or none",
                          c->pending_class ? "has" : "lacks", target->has_classes ? "have" : "have not");
    target->has_classes = c->pending_class != NULL;
    tn_sentence kept = {.words = s->words, .class_name = c->pending_class};
    TN_TRY(TN_NEW(arena, s->words, &kept.word, error));
    TN_TRY(TN_NEW(arena, s->words, &kept.label, error));
    memcpy(kept.word, s->word, s->words * sizeof *kept.word);
    memcpy(kept.label, s->label, s->words * sizeof *kept.label);
    s->words = 0;
    c->pending_class = NULL;
    return add(target, &kept, error);
}

static tn_status take_column_line(collected *c, const lines *text, char *line, tn_arena *arena,
                                  tn_sentences *target, tn_error *error) {
    static const char mark[] = "# class =";
    const char **column;
    size_t columns;
    tn_sentence *s = &c->sentence;
    if (strncmp(line, mark, sizeof mark - 1) == 0) {
        if (s->words > 0)
            return tn_fail_at(error, TN_INPUT, place(text, 1),
                              "a class inside a sentence; it belongs in front of it");
        TN_TRY(split(text, line + sizeof mark - 1, arena, &column, &columns, error));
        if (columns != 1)
            return tn_fail_at(error, TN_INPUT, place(text, 1), "a class is one name: # class = NAME");
        if (c->pending_class)
            return tn_fail_at(error, TN_INPUT, place(text, 1), "a second class for one sentence");
        c->pending_class = column[0];
        return TN_OK;
    }
    if (line[0] == '#' && (line[1] == ' ' || line[1] == '\0') && s->words == 0) return TN_OK;
    if (line[strspn(line, " \t")] == '\0') return finish_sentence(c, text, arena, target, error);
    TN_TRY(split(text, line, arena, &column, &columns, error));
    if (columns < 2)
        return tn_fail_at(error, TN_INPUT, place(text, 1),
                          "one column; a line is a word and, last, its label");
    TN_TRY(check_label(text, s->words, column[columns - 1], error));
    if (s->words == SENTENCE_WORDS_MOST)
        return tn_fail_at(error, TN_LIMIT, place(text, 1), "a sentence of more than %d words",
                          SENTENCE_WORDS_MOST);
    TN_TRY(TN_GROW(&s->word, &c->word_capacity, s->words + 1, error));
    TN_TRY(TN_GROW(&s->label, &c->label_capacity, s->words + 1, error));
    s->word[s->words] = column[0];
    s->label[s->words++] = column[columns - 1];
    return TN_OK;
}

static tn_status load_columns(const char *path, tn_arena *arena, tn_sentences *target, tn_error *error) {
    lines text;
    char *line;
    collected c = {0};
    target->has_labels = true;
    TN_TRY(open_lines(path, arena, &text, error));
    tn_status status;
    do {
        status = read_line(&text, &line, error);
        if (status == TN_OK && line) status = take_column_line(&c, &text, line, arena, target, error);
    } while (status == TN_OK && line);
    if (status == TN_OK) status = finish_sentence(&c, &text, arena, target, error);
    tn_free(c.sentence.word);
    tn_free(c.sentence.label);
    return status;
}

/* One of the folder's three parts: FOLDER/train, .. */
static tn_status sentences_load(const char *folder, tn_arena *arena, tn_sentences *target, tn_error *error) {
    const char *columns, *words;
    *target = (tn_sentences){0};
    TN_TRY(tn_arena_format(arena, &columns, error, "%s/conll.txt", folder));
    TN_TRY(tn_arena_format(arena, &words, error, "%s/seq.in", folder));
    if (exists(columns) && exists(words))
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = folder},
                          "has both seq.in and conll.txt; keep one");
    if (!exists(columns) && !exists(words))
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = folder},
                          "has neither seq.in nor conll.txt; see docs/train.md for the form of data");
    tn_status status = exists(columns) ? load_columns(columns, arena, target, error)
                                       : load_lines(folder, arena, target, error);
    if (status == TN_OK && target->count == 0)
        status = tn_fail_at(error, TN_INPUT, (tn_position){.file = folder}, "has no sentences");
    if (status == TN_OK && !target->has_labels && !target->has_classes)
        status = tn_fail_at(error, TN_INPUT, (tn_position){.file = folder},
                            "has neither seq.out nor label; there is nothing to learn");
    if (status != TN_OK) tn_sentences_free(target);
    return status;
}

void tn_sentences_free(tn_sentences *corpus) {
    tn_free(corpus->sentence);
    *corpus = (tn_sentences){0};
}

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

static const entry *find(const names *dictionary, const char *text) {
    entry key = {text, 0};
    return bsearch(&key, dictionary->item, dictionary->count, sizeof key, by_text);
}

typedef struct builder {
    tn_dataset *data;
    tn_arena *arena;
    uint64_t sequence;
    names words, labels, classes;
    tn_error *error;
} builder;

static tn_status collect(builder *b, const tn_sentences *sentences, int what, names *dictionary) {
    size_t total = 0, index = 0;
    for (size_t i = 0; i < sentences->count; i++) total += what == 2 ? 1 : sentences->sentence[i].words;
    TN_TRY(TN_NEW(b->arena, total, &dictionary->item, b->error));
    for (size_t i = 0; i < sentences->count; i++) {
        const tn_sentence *s = &sentences->sentence[i];
        if (what == 2)
            dictionary->item[index++] = (entry){s->class_name, 1};
        else
            for (size_t k = 0; k < s->words; k++)
                dictionary->item[index++] = (entry){what == 0 ? s->word[k] : s->label[k], 1};
    }
    dictionary->count = join_equal(dictionary->item, total);
    if (dictionary->count > INT32_MAX / 2)
        return tn_fail(b->error, TN_LIMIT, "more than 2^30 words or labels");
    TN_TRY(TN_NEW(b->arena, dictionary->count, &dictionary->number, b->error));
    for (size_t i = 0; i < dictionary->count; i++) dictionary->number[i] = (uint32_t)i;
    return TN_OK;
}

static tn_status list_names(builder *b, const names *dictionary, const char ***list, uint32_t *count) {
    *count = (uint32_t)dictionary->count;
    TN_TRY(TN_NEW(b->arena, dictionary->count, list, b->error));
    for (size_t i = 0; i < dictionary->count; i++) (*list)[i] = dictionary->item[i].text;
    return TN_OK;
}

/* Numbers the words by falling count behind the special ones. */
static tn_status number_words(builder *b) {
    names *words = &b->words;
    tn_dataset *data = b->data;
    entry *ranked;
    data->words = (uint32_t)words->count + TN_WORDS_SPECIAL;
    TN_TRY(TN_NEW(b->arena, words->count, &ranked, b->error));
    TN_TRY(TN_NEW(b->arena, data->words, &data->word, b->error));
    TN_TRY(TN_NEW(b->arena, data->words, &data->rare, b->error));
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

static int32_t label_number(const names *dictionary, const char *text) {
    if (!text) return TN_NO_LABEL;
    const entry *found = find(dictionary, text);
    return found ? (int32_t)(found - dictionary->item) : TN_UNSEEN;
}

/* Labels that only dev or test have keep their names, for the chunks that they make. */
static tn_status number_unseen(builder *b, const char *text, int32_t *label) {
    tn_dataset *data = b->data;
    uint32_t k = 0;
    while (k < data->unseen_labels && strcmp(data->unseen_label[k], text) != 0) k++;
    if (k == data->unseen_labels) {
        const char **grown;
        TN_TRY(TN_NEW(b->arena, (size_t)k + 1, &grown, b->error));
        if (k) memcpy(grown, data->unseen_label, k * sizeof *grown);
        grown[k] = text;
        data->unseen_label = grown;
        data->unseen_labels++;
    }
    *label = TN_UNSEEN - (int32_t)k;
    return TN_OK;
}

static tn_status convert(builder *b, const tn_sentence *s, tn_split *split, tn_example *target) {
    uint32_t *token, tokens = (uint32_t)(s->words + 1 < b->sequence ? s->words + 1 : b->sequence);
    int32_t *slot;
    split->cut += s->words + 1 > b->sequence;
    TN_TRY(TN_NEW(b->arena, tokens, &token, b->error));
    TN_TRY(TN_NEW(b->arena, tokens, &slot, b->error));
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
    *target = (tn_example){tokens, token, slot, label_number(&b->classes, s->class_name)};
    return TN_OK;
}

static tn_status convert_all(builder *b, const tn_sentences *source, tn_split *split) {
    split->count = source->count;
    TN_TRY(TN_NEW(b->arena, source->count, &split->example, b->error));
    for (size_t i = 0; i < source->count; i++)
        TN_TRY(convert(b, &source->sentence[i], split, &split->example[i]));
    return TN_OK;
}

static tn_status load_part(builder *b, const char *folder, const char *part, tn_sentences *target) {
    const char *path;
    TN_TRY(tn_arena_format(b->arena, &path, b->error, "%s/%s", folder, part));
    return sentences_load(path, b->arena, target, b->error);
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

/* ---- text, byte by byte ---- */

enum { BYTES = 256, PARTS_OF_TEXT = 10 };

/* Byte k behind [CLS] is what position k is to say, from what is in front of it. */
static tn_status cut_window(builder *b, const unsigned char *text, size_t length, tn_example *target) {
    uint32_t *token;
    int32_t *slot;
    TN_TRY(TN_NEW(b->arena, length, &token, b->error));
    TN_TRY(TN_NEW(b->arena, length, &slot, b->error));
    for (size_t i = 0; i < length; i++) {
        token[i] = i == 0 ? (uint32_t)TN_WORD_CLASS : (uint32_t)TN_WORDS_SPECIAL + text[i - 1];
        slot[i] = text[i];
    }
    *target = (tn_example){(uint32_t)length, token, slot, TN_NO_LABEL};
    return TN_OK;
}

static tn_status cut_windows(builder *b, const unsigned char *text, size_t start, size_t end,
                             tn_split *split) {
    split->count = end - start;
    TN_TRY(TN_NEW(b->arena, split->count, &split->example, b->error));
    for (size_t i = 0; i < split->count; i++)
        TN_TRY(cut_window(b, text + (start + i) * b->sequence, (size_t)b->sequence, &split->example[i]));
    split->words = split->count * (size_t)b->sequence;
    return TN_OK;
}

static tn_status name_bytes(builder *b, const char *const *special, uint32_t specials, const char ***list) {
    TN_TRY(TN_NEW(b->arena, specials + BYTES, list, b->error));
    for (uint32_t i = 0; i < specials; i++) (*list)[i] = special[i];
    for (uint32_t i = 0; i < BYTES; i++)
        TN_TRY(tn_arena_format(b->arena, &(*list)[specials + i], b->error, "0x%02x", i));
    return TN_OK;
}

/* Windows of whole sequences, the last tenth of them for test, the one before for dev. */
static tn_status load_text(builder *b, const char *path) {
    static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]"};
    tn_dataset *data = b->data;
    char *text;
    size_t length;
    TN_TRY(tn_file_read(path, FILE_LIMIT_BYTES, &text, &length, b->error));
    size_t windows = length / (size_t)b->sequence, part = windows / PARTS_OF_TEXT;
    tn_status status = TN_OK;
    if (part == 0)
        status = tn_fail_at(b->error, TN_INPUT, (tn_position){.file = path},
                            "has %zu bytes; a text needs %d times the sequence of %" PRIu64, length,
                            PARTS_OF_TEXT, b->sequence);
    const unsigned char *bytes = (const unsigned char *)text;
    data->is_text = data->has_labels = true;
    data->words = TN_WORDS_SPECIAL + BYTES;
    data->labels = BYTES;
    if (status == TN_OK) status = TN_NEW(b->arena, data->words, &data->rare, b->error);
    if (status == TN_OK) status = name_bytes(b, special, TN_WORDS_SPECIAL, &data->word);
    if (status == TN_OK) status = name_bytes(b, NULL, 0, &data->label);
    if (status == TN_OK) status = cut_windows(b, bytes, 0, windows - 2 * part, &data->train);
    if (status == TN_OK) status = cut_windows(b, bytes, windows - 2 * part, windows - part, &data->dev);
    if (status == TN_OK) status = cut_windows(b, bytes, windows - part, windows, &data->test);
    tn_free(text);
    return status;
}

static bool is_folder(const char *path) {
    struct stat this_stat;
    return stat(path, &this_stat) != 0 || S_ISDIR(this_stat.st_mode);
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
    if (!is_folder(folder)) return load_text(&b, folder);
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
