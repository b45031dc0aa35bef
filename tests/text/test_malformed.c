/* Every file of tests/malformed is refused as its .expect file says (see tests/malformed/README.md). */
#include "explore/space.h"
#include "model/model.h"
#include "support/shared.h"
#include "text/arrays.h"
#include "text/csv.h"
#include "text/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_status load_yaml(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_yaml *root;
    tn_status status = tn_yaml_load(path, &arena, &root, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status load_csv(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_csv csv;
    tn_status status = tn_csv_load(path, &arena, &csv, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status load_model(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_model *model;
    tn_status status = tn_model_load(path, NULL, 0, &arena, &model, error);
    tn_arena_free(&arena);
    return status;
}

/* Opens the file and reads every array in it. */
static tn_status load_arrays(const char *path, tn_error *error) {
    tn_arrays *arrays;
    TN_TRY(tn_arrays_open(path, &arrays, error));
    tn_status status = TN_OK;
    for (size_t i = 0; i < tn_arrays_count(arrays) && status == TN_OK; i++) {
        double *values = malloc(((size_t)tn_arrays_info(arrays, i)->elements + 1) * sizeof *values);
        assert_non_null(values);
        status = tn_arrays_read(arrays, i, values, error);
        free(values);
    }
    tn_arrays_close(arrays);
    return status;
}

static tn_status load_space(const char *path, tn_error *error) {
    tn_arena arena = {0};
    tn_space space;
    tn_status status = tn_space_load(path, NULL, 0, NULL, &arena, &space, error);
    tn_arena_free(&arena);
    return status;
}

typedef struct kind {
    const char *folder;
    tn_status (*load)(const char *path, tn_error *error);
} kind;

static const kind KINDS[] = {
    {"csv", load_csv},    {"model", load_model},        {"npy", load_arrays},
    {"npz", load_arrays}, {"safetensors", load_arrays}, {"space", load_space},
    {"yaml", load_yaml},
};

enum { FEWEST_CASES = 60, LONGEST_PATH = 1024 };

static const char *status_name(tn_status status) {
    switch (status) {
    case TN_INPUT:
        return "input";
    case TN_LIMIT:
        return "limit";
    case TN_OVERFLOW:
        return "overflow";
    default:
        return "something else";
    }
}

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* Whether the first line of the expectation, "STATUS" or "STATUS LINE:COLUMN", says what happened. */
static bool is_expected_status(const char *line, tn_status status, const tn_error *error) {
    char name[16];
    unsigned row = 0, column = 0;
    int fields = sscanf(line, "%15s %u:%u", name, &row, &column);
    bool place = fields == 1 || (fields == 3 && row == error->line && column == error->column);
    return fields >= 1 && place && strcmp(name, status_name(status)) == 0;
}

static bool is_expected(const char *path, tn_status status, const tn_error *error) {
    char expectation[LONGEST_PATH + 8], line[512];
    snprintf(expectation, sizeof expectation, "%s.expect", path);
    FILE *stream = fopen(expectation, "r");
    if (!stream) {
        print_error("%s is missing\n", expectation);
        return false;
    }
    bool good = fgets(line, sizeof line, stream) && is_expected_status(line, status, error);
    size_t phrases = 0;
    for (; fgets(line, sizeof line, stream); phrases++) {
        line[strcspn(line, "\n")] = '\0';
        good = good && line[0] && strstr(error->message, line);
    }
    fclose(stream);
    return good && phrases > 0;
}

/* The number of cases in the folder; *failed is added to. */
static int run_folder(const kind *of, int *failed) {
    char folder[LONGEST_PATH / 2], path[LONGEST_PATH];
    int cases = 0;
    snprintf(folder, sizeof folder, "%s/%s", test_source("tests/malformed"), of->folder);
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing));) {
        if (entry->d_name[0] == '.' || ends_with(entry->d_name, ".expect")) continue;
        tn_error error = {0};
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        tn_status status = of->load(path, &error);
        cases++;
        if (is_expected(path, status, &error) && strcmp(error.file, path) == 0) continue;
        print_error("%s/%s gave %s %u:%u: %s\n", of->folder, entry->d_name, status_name(status), error.line,
                    error.column, error.message);
        ++*failed;
    }
    closedir(listing);
    return cases;
}

static void every_file(void **state) {
    (void)state;
    int cases = 0, failed = 0;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        int of_kind = run_folder(&KINDS[i], &failed);
        print_message("%-12s %3d files\n", KINDS[i].folder, of_kind);
        assert_true(of_kind > 0);
        cases += of_kind;
    }
    print_message("%-12s %3d files\n", "all", cases);
    assert_int_equal(failed, 0);
    assert_true(cases >= FEWEST_CASES);
}

static void every_folder_has_a_parser(void **state) {
    (void)state;
    DIR *listing = opendir(test_source("tests/malformed"));
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing));) {
        bool known = entry->d_name[0] == '.' || strcmp(entry->d_name, "README.md") == 0;
        for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
            known |= strcmp(KINDS[i].folder, entry->d_name) == 0;
        if (!known) print_error("tests/malformed/%s: no parser in the table\n", entry->d_name);
        assert_true(known);
    }
    closedir(listing);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_file),
                                       cmocka_unit_test(every_folder_has_a_parser)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
