/* Data folders: numbers of words and labels, what is unseen, three forms, and what must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "learn/dataset.h"
#include "learn/generated.h"
#include "support/folder.h"

/* text NULL: no such file. */
static void put_bytes(const char *part, const char *name, const char *text, size_t length) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", test_folder, part);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", test_folder, part, name);
    remove(path);
    if (!text) return;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void put(const char *part, const char *name, const char *text) {
    put_bytes(part, name, text, text ? strlen(text) : 0);
}

static void put_part(const char *part, const char *words, const char *labels, const char *classes) {
    put(part, "seq.in", words);
    put(part, "seq.out", labels);
    put(part, "label", classes);
    put(part, "conll.txt", NULL);
}

static void put_good(void) {
    put_part("train", "to oslo b\nto riga\nzz to oslo\n", "O B-c O\nO B-c\nO O B-c\n", "go\ngo\nask\n");
    put_part("dev", "to oslo\n", "O B-c\n", "go\n");
    put_part("test", "from oslo\nto xx yy zz\n", "O B-d\nO B-d I-d O\n", "go\nnew\n");
}

static void numbers(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_dataset data;
    put_good();
    assert_int_equal(tn_dataset_load(test_folder, 4, &arena, &data, NULL), TN_OK);
    /* to 3, oslo 2, then b, riga, zz once each, ties by code point */
    static const char *const words[] = {"[PAD]", "[UNK]", "[CLS]", "to", "oslo", "b", "riga", "zz"};
    assert_int_equal(data.words, 8);
    for (int i = 0; i < 8; i++) assert_string_equal(data.word[i], words[i]);
    assert_false(data.rare[4]);
    assert_true(data.rare[5] && data.rare[6] && data.rare[7]);
    assert_int_equal(data.labels, 2);
    assert_string_equal(data.label[0], "B-c");
    assert_string_equal(data.label[1], "O");
    assert_int_equal(data.classes, 2);
    assert_string_equal(data.class_name[0], "ask");
    const tn_example *first = &data.train.example[0];
    assert_int_equal(first->tokens, 4);
    assert_int_equal(first->token[0], TN_WORD_CLASS);
    assert_int_equal(first->token[3], 5);
    assert_int_equal(first->slot[0], TN_NO_LABEL);
    assert_int_equal(first->slot[2], 0);
    assert_int_equal(first->intent, 1);
    /* unknown words, an unseen label and class, and a sentence that is cut */
    const tn_example *unseen = &data.test.example[0], *cut = &data.test.example[1];
    assert_int_equal(unseen->token[1], TN_WORD_UNKNOWN);
    assert_int_equal(unseen->slot[2], TN_UNSEEN);
    assert_string_equal(tn_dataset_label(&data, unseen->slot[2]), "B-d");
    assert_string_equal(tn_dataset_label(&data, cut->slot[3]), "I-d");
    assert_int_equal(cut->intent, TN_UNSEEN);
    assert_int_equal(cut->tokens, 4);
    assert_int_equal(data.test.cut, 1);
    tn_arena_free(&arena);
}

static void columns_and_classes_alone(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_dataset lines, columns;
    put_good();
    assert_int_equal(tn_dataset_load(test_folder, 9, &arena, &lines, NULL), TN_OK);
    put_part("train", NULL, NULL, NULL);
    put("train", "conll.txt",
        "# a remark\n# class = go\nto X O\noslo X B-c\nb X O\n\n# class = go\r\nto\tO\r\nriga\tB-c\r\n\r\n\n"
        "# class = ask\nzz O\nto O\noslo B-c");
    assert_int_equal(tn_dataset_load(test_folder, 9, &arena, &columns, NULL), TN_OK);
    assert_int_equal(columns.train.count, lines.train.count);
    for (size_t i = 0; i < lines.train.count; i++) {
        const tn_example *a = &lines.train.example[i], *b = &columns.train.example[i];
        assert_int_equal(a->tokens, b->tokens);
        assert_int_equal(a->intent, b->intent);
        assert_memory_equal(a->token, b->token, a->tokens * sizeof *a->token);
        assert_memory_equal(a->slot, b->slot, a->tokens * sizeof *a->slot);
    }
    static const char *const parts[] = {"train", "dev", "test"};
    for (int i = 0; i < 3; i++) put_part(parts[i], "to oslo\n", NULL, "go\n");
    assert_int_equal(tn_dataset_load(test_folder, 9, &arena, &columns, NULL), TN_OK);
    assert_false(columns.has_labels);
    assert_true(columns.has_classes);
    assert_int_equal(columns.train.example[0].slot[1], TN_NO_LABEL);
    tn_arena_free(&arena);
}

typedef struct malformed {
    const char *file, *text; /* of train; NULL: removed */
    size_t length;           /* 0: up to the NUL */
    unsigned line;
    const char *message;
} malformed;

static void refused(void **state) {
    (void)state;
    static const malformed cases[] = {
        {"seq.in", NULL, 0, 0, "neither seq.in nor conll.txt"},
        {"seq.in", "", 0, 0, "no sentences"},
        {"seq.in", "\n", 0, 0, "no sentences"},
        {"seq.in", "to oslo b\n\nto riga\n", 0, 2, "empty line"},
        {"seq.in", "to oslo b\n   \nto riga\n", 0, 2, "empty line"},
        {"seq.in", "to oslo\nto riga\nzz to oslo\n", 0, 1, "3 labels for the 2 words"},
        {"seq.in", "to oslo b\nto riga zz\nzz to oslo\n", 0, 2, "2 labels for the 3 words"},
        {"seq.in", "to oslo b\nto riga\nzz to oslo\nto riga\n", 0, 3, "ends after line 3"},
        {"seq.in", "to oslo b\nto riga\n", 0, 3, "more lines"},
        {"seq.in", "to \xff oslo\nto riga\nzz to oslo\n", 0, 1, "not UTF-8"},
        {"seq.in", "to oslo b\nto \xc3\nzz to oslo\n", 0, 2, "not UTF-8"},
        {"seq.in", "to \xed\xa0\x80 b\nto riga\nzz to oslo\n", 0, 1, "not UTF-8"},
        {"seq.in", "to\0oslo b\nto riga\n", 18, 1, "NUL"},
        {"seq.out", "", 0, 0, "ends after line 0"},
        {"seq.out", "O B-c O\n\nO O B-c\n", 0, 2, "0 labels for the 2 words"},
        {"seq.out", "O B-c O\nO B-c\n", 0, 2, "ends after line 2"},
        {"seq.out", "O B-c O\nO B-c\nO O B-c\nO\n", 0, 4, "more lines"},
        {"seq.out", "O B-c O\nO c\nO O B-c\n", 0, 2, "O, B-NAME or I-NAME"},
        {"seq.out", "O B-c O\nO B-\nO O B-c\n", 0, 2, "O, B-NAME or I-NAME"},
        {"seq.out", "O B-c o\nO B-c\nO O B-c\n", 0, 1, "label \"o\" of word 3"},
        {"seq.out", "O Bc O\nO B-c\nO O B-c\n", 0, 1, "label \"Bc\" of word 2"},
        {"seq.out", "O S-c O\nO B-c\nO O B-c\n", 0, 1, "label \"S-c\""},
        {"seq.out", "O \x80 O\nO B-c\nO O B-c\n", 0, 1, "not UTF-8"},
        {"seq.out", NULL, 0, 0, "train and dev do not have the same files"},
        {"label", "", 0, 0, "ends after line 0"},
        {"label", "go\ngo\n", 0, 2, "ends after line 2"},
        {"label", "go\ngo\nask\nask\n", 0, 4, "more lines"},
        {"label", "go\n\nask\n", 0, 2, "0 words"},
        {"label", "go\ngo now\nask\n", 0, 2, "2 words"},
        {"label", "go\n\xfe\nask\n", 0, 2, "not UTF-8"},
        {"label", NULL, 0, 0, "train and dev do not have the same files"},
        {"conll.txt", "to O\n", 0, 0, "both seq.in and conll.txt"},
    };
    static const malformed column_cases[] = {
        {"conll.txt", "", 0, 0, "no sentences"},
        {"conll.txt", "# class = go\n", 0, 1, "no sentence behind"},
        {"conll.txt", "to\n", 0, 1, "one column"},
        {"conll.txt", "to O\noslo c\n", 0, 2, "label \"c\" of word 2"},
        {"conll.txt", "to O\n# class = go\n", 0, 2, "inside a sentence"},
        {"conll.txt", "# class = a b\nto O\n", 0, 1, "one name"},
        {"conll.txt", "# class = a\n# class = b\nto O\n", 0, 2, "second class"},
        {"conll.txt", "# class = a\nto O\n\nto O\n\n", 0, 5, "lacks a class"},
        {"conll.txt", "to O\n\n# class = a\nto O\n\n", 0, 5, "has a class"},
    };
    size_t count = sizeof cases / sizeof *cases, columns = sizeof column_cases / sizeof *column_cases;
    for (size_t i = 0; i < count + columns; i++) {
        const malformed *bad = i < count ? &cases[i] : &column_cases[i - count];
        tn_arena arena = {0};
        tn_dataset data;
        tn_error error = {0};
        put_good();
        if (i >= count) put_part("train", NULL, NULL, NULL);
        put_bytes("train", bad->file, bad->text,
                  bad->length ? bad->length
                  : bad->text ? strlen(bad->text)
                              : 0);
        tn_status status = tn_dataset_load(test_folder, 9, &arena, &data, &error);
        if (status != TN_INPUT || !strstr(error.message, bad->message) || error.line != bad->line)
            print_error("case %zu: status %d, line %u, '%s'; expected line %u, '%s'\n", i, status, error.line,
                        error.message, bad->line, bad->message);
        assert_int_equal(status, TN_INPUT);
        assert_non_null(strstr(error.message, bad->message));
        assert_int_equal(error.line, bad->line);
        assert_non_null(strstr(error.file, test_folder));
        tn_arena_free(&arena);
    }
}

static void no_memory(void **state) {
    (void)state;
    put_good();
    for (long n = 1;; n++) {
        tn_arena arena = {0};
        tn_dataset data;
        tn_error error = {0};
        tn_memory_fail_at(n);
        tn_status status = tn_dataset_load(test_folder, 9, &arena, &data, &error);
        tn_memory_fail_at(0);
        tn_arena_free(&arena);
        if (status == TN_OK) break;
        assert_int_equal(status, TN_MEMORY);
        assert_true(n < 10000);
    }
}

static char *contents(const char *name) {
    char path[256];
    static char text[1 << 20];
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void generated(void **state) {
    (void)state;
    const tn_generated how = {.train = 300, .dev = 20, .test = 40, .seed = 7}, other = {300, 20, 40, 8};
    tn_arena arena = {0};
    tn_dataset data;
    tn_error error = {0};
    put_part("train", NULL, NULL, NULL);
    assert_int_equal(tn_generated_write(test_folder, &how, &error), TN_OK);
    char *first = strdup(contents("train/seq.in"));
    assert_int_equal(tn_dataset_load(test_folder, 32, &arena, &data, &error), TN_OK);
    assert_int_equal(data.train.count, 300);
    assert_int_equal(data.dev.count, 20);
    assert_int_equal(data.test.count, 40);
    assert_int_equal(data.train.cut, 0);
    assert_true(data.classes == 7 && data.labels > 10 && data.words < 1000);
    assert_int_equal(data.test.unknown_words, 0);
    assert_int_equal(tn_generated_write(test_folder, &how, &error), TN_OK);
    assert_string_equal(contents("train/seq.in"), first);
    assert_int_equal(tn_generated_write(test_folder, &other, &error), TN_OK);
    assert_string_not_equal(contents("train/seq.in"), first);
    free(first);
    tn_arena_free(&arena);
}

/* A file: windows in order, each byte the label of the position in front of it. */
static void bytes_of_a_text(void **state) {
    (void)state;
    enum { SEQUENCE = 7, LENGTH = 7 * 25 + 3 };
    tn_arena arena = {0};
    tn_dataset data;
    tn_error error = {0};
    char text[LENGTH], path[256];
    for (int i = 0; i < LENGTH; i++) text[i] = (char)(i * 37);
    put_bytes("part", "text.bin", text, LENGTH);
    snprintf(path, sizeof path, "%s/part/text.bin", test_folder);
    assert_int_equal(tn_dataset_load(path, SEQUENCE, &arena, &data, &error), TN_OK);
    assert_true(data.is_text && data.has_labels && !data.has_classes);
    assert_int_equal(data.words, 259);
    assert_int_equal(data.labels, 256);
    const tn_split *part[] = {&data.train, &data.dev, &data.test};
    const size_t count[] = {21, 2, 2};
    for (size_t p = 0, index = 0; p < 3; p++) {
        assert_int_equal(part[p]->count, count[p]);
        for (size_t i = 0; i < count[p]; i++) {
            const tn_example *example = &part[p]->example[i];
            assert_int_equal(example->tokens, SEQUENCE);
            for (uint32_t k = 0; k < SEQUENCE; k++, index++) {
                assert_int_equal(example->slot[k], (unsigned char)text[index]);
                assert_int_equal(example->token[k], k == 0 ? 2 : 3 + (unsigned char)text[index - 1]);
            }
        }
    }
    tn_arena_free(&arena);
    put_bytes("part", "text.bin", text, 9 * SEQUENCE);
    assert_int_equal(tn_dataset_load(path, SEQUENCE, &arena, &data, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "63 bytes"));
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),   cmocka_unit_test(columns_and_classes_alone),
        cmocka_unit_test(refused),   cmocka_unit_test(no_memory),
        cmocka_unit_test(generated), cmocka_unit_test(bytes_of_a_text),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
