/* The order of the rooms, as docs/README.md lists them: a file includes only its own room and those above it, every room
 * stands in the table, and headers include each other in no circle. */
#include "base/file.h"
#include "base/memory.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROOMS_MOST = 32, HEADERS_MOST = 1024, INCLUDES_MOST = 64, NAME_MOST = 128 };

static char room[ROOMS_MOST][NAME_MOST];
static int rooms;

static struct header {
    char name[NAME_MOST]; /* "flow/tree.h" */
    char included[INCLUDES_MOST][NAME_MOST];
    int count, mark; /* mark: 0 not seen, 1 on the way, 2 done */
} header[HEADERS_MOST];
static int headers;

static int room_number(const char *path) {
    size_t length = strcspn(path, "/");
    for (int i = 0; i < rooms; i++)
        if (strlen(room[i]) == length && strncmp(room[i], path, length) == 0) return i;
    return -1;
}

static void read_source(const char *path, char **text) {
    size_t length;
    assert_int_equal(tn_file_read(test_source(path), 1 << 24, text, &length, NULL), TN_OK);
}

/* Rows "| `NAME` | ..." of the table under the heading. */
static void read_rooms(void) {
    char *page;
    read_source("docs/README.md", &page);
    const char *cursor = strstr(page, "## The rooms");
    assert_non_null(cursor);
    for (cursor = strstr(cursor, "\n| `"); cursor && rooms < ROOMS_MOST;
         cursor = strstr(cursor + 1, "\n| `")) {
        size_t length = strcspn(cursor + 4, "`");
        assert_true(length < NAME_MOST);
        memcpy(room[rooms++], cursor + 4, length);
        if (strchr(cursor + 1, '\n') && strncmp(strchr(cursor + 1, '\n'), "\n| `", 4) != 0) break;
    }
    tn_free(page);
    assert_true(rooms > 10);
}

/* A header whose first comment says that it is inside its room is included there alone. */
static bool is_private(const char *included) {
    char path[NAME_MOST + 8], *text;
    snprintf(path, sizeof path, "src/%s", included);
    read_source(path, &text);
    text[strcspn(text, "#")] = '\0';
    bool found = strstr(text, "nside the room") || strstr(text, "nternal to the room");
    tn_free(text);
    return found;
}

static int read_includes(const char *path) {
    assert_true(headers < HEADERS_MOST);
    char *text;
    read_source(path, &text);
    bool is_header = strstr(path, ".h") != NULL;
    const char *name = path + strlen("src/");
    int own = room_number(name), wrong = 0;
    struct header *fields = &header[headers];
    if (is_header) {
        snprintf(fields->name, sizeof fields->name, "%.120s", name);
        headers++;
    }
    for (const char *cursor = text; (cursor = strstr(cursor, "#include \"")); cursor++) {
        char included[NAME_MOST];
        cursor += strlen("#include \"");
        size_t length = strcspn(cursor, "\"");
        assert_true(length < NAME_MOST);
        snprintf(included, sizeof included, "%.*s", (int)length, cursor);
        int other = room_number(included);
        if (other < 0 || other > own) {
            print_error("%s includes %s, %s\n", path, included,
                        other < 0 ? "of no room in docs/README.md" : "a room below its own");
            wrong++;
        }
        if (other >= 0 && other != own && is_private(included)) {
            print_error("%s includes %s, which is inside its room\n", path, included);
            wrong++;
        }
        if (!is_header) continue;
        assert_true(fields->count < INCLUDES_MOST);
        snprintf(fields->included[fields->count++], NAME_MOST, "%s", included);
    }
    tn_free(text);
    return wrong;
}

static void includes_run_downwards(void **state) {
    (void)state;
    int wrong = 0, files = 0;
    read_rooms();
    DIR *source = opendir(test_source("src"));
    assert_non_null(source);
    for (const struct dirent *folder; (folder = readdir(source));) {
        char path[600];
        if (strchr(folder->d_name, '.')) continue;
        if (room_number(folder->d_name) < 0) {
            print_error("src/%s is not in the table of docs/README.md\n", folder->d_name);
            wrong++;
            continue;
        }
        snprintf(path, sizeof path, "src/%.200s", folder->d_name);
        DIR *files_of = opendir(test_source(path));
        assert_non_null(files_of);
        for (const struct dirent *file; (file = readdir(files_of));) {
            size_t length = strlen(file->d_name);
            if (length < 3 || file->d_name[length - 2] != '.' || !strchr("ch", file->d_name[length - 1]))
                continue;
            snprintf(path, sizeof path, "src/%.200s/%.200s", folder->d_name, file->d_name);
            wrong += read_includes(path);
            files++;
        }
        closedir(files_of);
    }
    closedir(source);
    assert_true(files > 200);
    assert_int_equal(wrong, 0);
}

static int circles(struct header *fields) {
    int found = 0;
    if (fields->mark == 2) return 0;
    if (fields->mark == 1) {
        print_error("a circle of headers comes back to %s\n", fields->name);
        return 1;
    }
    fields->mark = 1;
    for (int i = 0; i < fields->count; i++)
        for (int j = 0; j < headers; j++)
            if (strcmp(header[j].name, fields->included[i]) == 0) found += circles(&header[j]);
    fields->mark = 2;
    return found;
}

static void headers_make_no_circle(void **state) {
    (void)state;
    int found = 0;
    assert_true(headers > 100);
    for (int i = 0; i < headers; i++) found += circles(&header[i]);
    assert_int_equal(found, 0);
}

/* Files and folders of the source tree that the page names. */
static void named_places_exist(void **state) {
    static const char *const tops[] = {"`src/", "`models/", "`plots`", "`docs/"};
    char *page, place[NAME_MOST];
    int places = 0, absent = 0;
    (void)state;
    read_source("docs/README.md", &page);
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++)
        for (const char *cursor = page; (cursor = strstr(cursor, tops[i])); cursor++) {
            snprintf(place, sizeof place, "%.*s", (int)strcspn(cursor + 1, "`"), cursor + 1);
            if (strstr(place, "NAME")) continue;
            places++;
            if (access(test_source(place), R_OK) == 0) continue;
            print_error("docs/README.md names %s, which is not there\n", place);
            absent++;
        }
    tn_free(page);
    assert_true(places > 10);
    assert_int_equal(absent, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(includes_run_downwards),
        cmocka_unit_test(headers_make_no_circle),
        cmocka_unit_test(named_places_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
