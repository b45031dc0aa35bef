#include "train/sentences.h"

#include "base/file.h"
#include "base/memory.h"
#include "text/utf8.h"

#include <string.h>
#include <unistd.h>

static const size_t FILE_LIMIT_BYTES = (size_t)1 << 30;
enum { SENTENCE_WORDS_MOST = 100000, TEXT_MOST = 1000 };

/* A file's lines, one at a time; the text lives in the arena. */
typedef struct lines {
    const char *path;
    char *next, *end;
    unsigned number; /* of the line that was read last */
} lines;

static tn_status open_lines(const char *path, tn_arena *arena, lines *of, tn_error *error) {
    char *data, *kept;
    size_t length;
    TN_TRY(tn_file_read(path, FILE_LIMIT_BYTES, &data, &length, error));
    tn_status status = tn_arena_alloc(arena, length + 1, 1, &kept, error);
    if (status == TN_OK) memcpy(kept, data, length + 1);
    tn_free(data);
    TN_TRY(status);
    *of = (lines){.path = path, .next = kept, .end = kept + length};
    if (length >= 3 && memcmp(kept, "\xEF\xBB\xBF", 3) == 0) of->next += 3;
    return TN_OK;
}

static tn_position place(const lines *of, unsigned column) {
    return (tn_position){of->path, of->number, column};
}

/* *line: NULL at the end. Bytes that are not UTF-8 text are refused. */
static tn_status read_line(lines *of, char **line, tn_error *error) {
    *line = NULL;
    if (of->next >= of->end) return TN_OK;
    char *start = of->next, *stop = memchr(start, '\n', (size_t)(of->end - start));
    of->number++;
    if (!stop) stop = of->end;
    of->next = stop + 1;
    if (memchr(start, '\0', (size_t)(stop - start)))
        return tn_fail_at(error, TN_INPUT, place(of, 1), "a NUL byte; a data file must be text");
    if (stop > start && stop[-1] == '\r') stop--;
    *stop = '\0';
    size_t length = (size_t)(stop - start);
    for (size_t at = 0, bytes; at < length; at += bytes) {
        bytes = tn_utf8_length(start + at, length - at);
        if (bytes == 0)
            return tn_fail_at(error, TN_INPUT, place(of, (unsigned)at + 1), "bytes that are not UTF-8 text");
    }
    *line = start;
    return TN_OK;
}

/* The line's words, parted by blanks or tabs; positions are kept in `column`. */
static tn_status split(const lines *of, char *line, tn_arena *arena, const char ***words, size_t *count,
                       tn_error *error) {
    size_t found = 0;
    for (char *at = line; *at; found++) {
        at += strspn(at, " \t");
        if (!*at) break;
        size_t length = strcspn(at, " \t");
        if (length > TEXT_MOST)
            return tn_fail_at(error, TN_LIMIT, place(of, (unsigned)(at - line) + 1),
                              "a word of %zu bytes; at most %d are read", length, TEXT_MOST);
        at += length;
    }
    if (found > SENTENCE_WORDS_MOST)
        return tn_fail_at(error, TN_LIMIT, place(of, 1), "%zu words in one line; at most %d are read", found,
                          SENTENCE_WORDS_MOST);
    TN_TRY(tn_arena_alloc(arena, found, sizeof **words, words, error));
    *count = 0;
    for (char *at = line; *count < found;) {
        at += strspn(at, " \t");
        (*words)[(*count)++] = at;
        at += strcspn(at, " \t");
        if (*at) *at++ = '\0';
    }
    return TN_OK;
}

/* O, or B- or I- and a name. */
static tn_status check_label(const lines *of, size_t word, const char *label, tn_error *error) {
    bool chunk = (label[0] == 'B' || label[0] == 'I') && label[1] == '-' && label[2];
    if (chunk || strcmp(label, "O") == 0) return TN_OK;
    return tn_fail_at(error, TN_INPUT, place(of, 0),
                      "label \"%.100s\" of word %zu; a label is O, B-NAME or I-NAME", label, word + 1);
}

static tn_status add(tn_sentences *to, const tn_sentence *sentence, tn_error *error) {
    TN_TRY(tn_grow(&to->sentence, &to->capacity, to->count + 1, sizeof *to->sentence, error));
    to->sentence[to->count++] = *sentence;
    return TN_OK;
}

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

/* A further file with a line for each sentence. */
static tn_status too_short(const lines *of, size_t sentences, tn_error *error) {
    return tn_fail_at(error, TN_INPUT, place(of, 0), "ends after line %u; seq.in has more than %zu sentences",
                      of->number, sentences);
}

static tn_status read_labels(lines *of, size_t at, tn_sentence *sentence, tn_arena *arena, tn_error *error) {
    char *line;
    size_t count;
    TN_TRY(read_line(of, &line, error));
    if (!line) return too_short(of, at, error);
    TN_TRY(split(of, line, arena, &sentence->label, &count, error));
    if (count != sentence->words)
        return tn_fail_at(error, TN_INPUT, place(of, 1),
                          "%zu labels for the %zu words of that line of seq.in", count, sentence->words);
    for (size_t i = 0; i < count; i++) TN_TRY(check_label(of, i, sentence->label[i], error));
    return TN_OK;
}

static tn_status read_class(lines *of, size_t at, tn_sentence *sentence, tn_arena *arena, tn_error *error) {
    char *line;
    const char **words;
    size_t count;
    TN_TRY(read_line(of, &line, error));
    if (!line) return too_short(of, at, error);
    TN_TRY(split(of, line, arena, &words, &count, error));
    if (count != 1)
        return tn_fail_at(error, TN_INPUT, place(of, 1), "%zu words; a line of classes is one name", count);
    sentence->class_name = words[0];
    return TN_OK;
}

static tn_status expect_end(lines *of, const char *against, tn_error *error) {
    char *line;
    do {
        TN_TRY(read_line(of, &line, error));
    } while (line && line[strspn(line, " \t")] == '\0');
    if (!line) return TN_OK;
    return tn_fail_at(error, TN_INPUT, place(of, 1), "more lines than %s has sentences", against);
}

static tn_status load_lines(const char *folder, tn_arena *arena, tn_sentences *to, tn_error *error) {
    const char *words_path, *labels_path, *class_path;
    lines words, labels, classes;
    TN_TRY(tn_arena_format(arena, &words_path, error, "%s/seq.in", folder));
    TN_TRY(tn_arena_format(arena, &labels_path, error, "%s/seq.out", folder));
    TN_TRY(tn_arena_format(arena, &class_path, error, "%s/label", folder));
    TN_TRY(open_lines(words_path, arena, &words, error));
    to->has_labels = exists(labels_path);
    to->has_classes = exists(class_path);
    if (to->has_labels) TN_TRY(open_lines(labels_path, arena, &labels, error));
    if (to->has_classes) TN_TRY(open_lines(class_path, arena, &classes, error));
    for (;;) {
        char *line;
        tn_sentence sentence = {0};
        TN_TRY(read_line(&words, &line, error));
        if (!line) break;
        TN_TRY(split(&words, line, arena, &sentence.word, &sentence.words, error));
        if (sentence.words == 0 && words.next >= words.end) break; /* an empty last line */
        if (sentence.words == 0)
            return tn_fail_at(error, TN_INPUT, place(&words, 1), "an empty line; each line is a sentence");
        if (to->has_labels) TN_TRY(read_labels(&labels, to->count, &sentence, arena, error));
        if (to->has_classes) TN_TRY(read_class(&classes, to->count, &sentence, arena, error));
        TN_TRY(add(to, &sentence, error));
    }
    if (to->count == 0) return TN_OK;
    if (to->has_labels) TN_TRY(expect_end(&labels, "seq.in", error));
    return to->has_classes ? expect_end(&classes, "seq.in", error) : TN_OK;
}

/* A sentence of a column file being collected. */
typedef struct collected {
    tn_sentence sentence;
    size_t word_capacity, label_capacity;
    const char *pending_class;
} collected;

static tn_status finish_sentence(collected *c, const lines *of, tn_arena *arena, tn_sentences *to,
                                 tn_error *error) {
    tn_sentence *s = &c->sentence;
    if (s->words == 0) {
        if (c->pending_class)
            return tn_fail_at(error, TN_INPUT, place(of, 1), "a class with no sentence behind it");
        return TN_OK;
    }
    if (to->count > 0 && to->has_classes != (c->pending_class != NULL))
        return tn_fail_at(error, TN_INPUT, place(of, 1),
                          "the sentence that ends here %s a class, those before it %s one; give all or none",
                          c->pending_class ? "has" : "lacks", to->has_classes ? "have" : "have not");
    to->has_classes = c->pending_class != NULL;
    tn_sentence kept = {.words = s->words, .class_name = c->pending_class};
    TN_TRY(tn_arena_alloc(arena, s->words, sizeof *kept.word, &kept.word, error));
    TN_TRY(tn_arena_alloc(arena, s->words, sizeof *kept.label, &kept.label, error));
    memcpy(kept.word, s->word, s->words * sizeof *kept.word);
    memcpy(kept.label, s->label, s->words * sizeof *kept.label);
    s->words = 0;
    c->pending_class = NULL;
    return add(to, &kept, error);
}

static tn_status take_column_line(collected *c, const lines *of, char *line, tn_arena *arena,
                                  tn_sentences *to, tn_error *error) {
    static const char mark[] = "# class =";
    const char **column;
    size_t columns;
    tn_sentence *s = &c->sentence;
    if (strncmp(line, mark, sizeof mark - 1) == 0) {
        if (s->words > 0)
            return tn_fail_at(error, TN_INPUT, place(of, 1),
                              "a class inside a sentence; it belongs in front of it");
        TN_TRY(split(of, line + sizeof mark - 1, arena, &column, &columns, error));
        if (columns != 1)
            return tn_fail_at(error, TN_INPUT, place(of, 1), "a class is one name: # class = NAME");
        if (c->pending_class)
            return tn_fail_at(error, TN_INPUT, place(of, 1), "a second class for one sentence");
        c->pending_class = column[0];
        return TN_OK;
    }
    if (line[0] == '#' && (line[1] == ' ' || line[1] == '\0') && s->words == 0) return TN_OK;
    if (line[strspn(line, " \t")] == '\0') return finish_sentence(c, of, arena, to, error);
    TN_TRY(split(of, line, arena, &column, &columns, error));
    if (columns < 2)
        return tn_fail_at(error, TN_INPUT, place(of, 1), "one column; a line is a word and, last, its label");
    TN_TRY(check_label(of, s->words, column[columns - 1], error));
    if (s->words == SENTENCE_WORDS_MOST)
        return tn_fail_at(error, TN_LIMIT, place(of, 1), "a sentence of more than %d words",
                          SENTENCE_WORDS_MOST);
    TN_TRY(tn_grow(&s->word, &c->word_capacity, s->words + 1, sizeof *s->word, error));
    TN_TRY(tn_grow(&s->label, &c->label_capacity, s->words + 1, sizeof *s->label, error));
    s->word[s->words] = column[0];
    s->label[s->words++] = column[columns - 1];
    return TN_OK;
}

static tn_status load_columns(const char *path, tn_arena *arena, tn_sentences *to, tn_error *error) {
    lines of;
    char *line;
    collected c = {0};
    to->has_labels = true;
    TN_TRY(open_lines(path, arena, &of, error));
    tn_status status;
    do {
        status = read_line(&of, &line, error);
        if (status == TN_OK && line) status = take_column_line(&c, &of, line, arena, to, error);
    } while (status == TN_OK && line);
    if (status == TN_OK) status = finish_sentence(&c, &of, arena, to, error);
    tn_free(c.sentence.word);
    tn_free(c.sentence.label);
    return status;
}

tn_status tn_sentences_load(const char *folder, tn_arena *arena, tn_sentences *to, tn_error *error) {
    const char *columns, *words;
    *to = (tn_sentences){0};
    TN_TRY(tn_arena_format(arena, &columns, error, "%s/conll.txt", folder));
    TN_TRY(tn_arena_format(arena, &words, error, "%s/seq.in", folder));
    if (exists(columns) && exists(words))
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = folder},
                          "has both seq.in and conll.txt; keep one");
    if (!exists(columns) && !exists(words))
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = folder},
                          "has neither seq.in nor conll.txt; see docs/train.md for the form of data");
    tn_status status =
        exists(columns) ? load_columns(columns, arena, to, error) : load_lines(folder, arena, to, error);
    if (status == TN_OK && to->count == 0)
        status = tn_fail_at(error, TN_INPUT, (tn_position){.file = folder}, "has no sentences");
    if (status == TN_OK && !to->has_labels && !to->has_classes)
        status = tn_fail_at(error, TN_INPUT, (tn_position){.file = folder},
                            "has neither seq.out nor label; there is nothing to learn");
    if (status != TN_OK) tn_sentences_free(to);
    return status;
}

void tn_sentences_free(tn_sentences *of) {
    tn_free(of->sentence);
    *of = (tn_sentences){0};
}
