#include "support/malformed.h"

#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* "STATUS" or "STATUS LINE:COLUMN" */
static bool read_first_line(const char *line, test_malformed *file) {
    static const struct {
        const char *name;
        tn_status status;
    } known[] = {{"input", TN_INPUT}, {"limit", TN_LIMIT}, {"overflow", TN_OVERFLOW}};
    char name[16];
    int fields = sscanf(line, "%15s %u:%u", name, &file->line, &file->column);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fields >= 1 && strcmp(name, known[i].name) == 0) file->status = known[i].status;
    return file->status != TN_OK && (fields == 1 || fields == 3);
}

static bool read_expectation(test_malformed *file) {
    char path[sizeof file->path + 8], line[sizeof file->phrase[0]];
    snprintf(path, sizeof path, "%s.expect", file->path);
    FILE *stream = fopen(path, "r");
    if (!stream) return false;
    bool good = fgets(line, sizeof line, stream) && read_first_line(line, file);
    while (good && fgets(line, sizeof line, stream)) {
        line[strcspn(line, "\n")] = '\0';
        good = line[0] != '\0' && file->phrases < TEST_PHRASES;
        if (good) strcpy(file->phrase[file->phrases++], line);
    }
    fclose(stream);
    return good && file->phrases > 0;
}

int test_malformed_each(const char *kind, void (*visit)(const test_malformed *file, void *user), void *user) {
    char folder[512];
    int files = 0;
    snprintf(folder, sizeof folder, "%s/%s", test_source("tests/malformed"), kind);
    DIR *listing = opendir(folder);
    if (!listing) print_error("%s is missing\n", folder);
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing));) {
        if (entry->d_name[0] == '.' || ends_with(entry->d_name, ".expect")) continue;
        test_malformed file = {.kind = kind};
        snprintf(file.path, sizeof file.path, "%s/%s", folder, entry->d_name);
        if (!read_expectation(&file))
            print_error("%s.expect is missing or not as tests/malformed/README.md says\n", file.path);
        assert_true(file.phrases > 0);
        visit(&file, user);
        files++;
    }
    closedir(listing);
    return files;
}

bool test_malformed_says(const test_malformed *file, const char *text) {
    for (size_t i = 0; i < file->phrases; i++)
        if (!strstr(text, file->phrase[i])) return false;
    return true;
}
