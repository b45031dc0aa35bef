#include "base/search_path.h"

#include "base/memory.h"
#include "base/name_index.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char suffix[] = ".yaml";

static bool has_suffix(const char *name) {
    size_t length = strlen(name);
    return length > strlen(suffix) && strcmp(name + length - strlen(suffix), suffix) == 0;
}

/* Calls `visit` with each root of the search path until it returns a status other than TN_OK or sets *stop.
 */
typedef tn_status visitor(const char *root, void *user, bool *stop, tn_error *error);

static tn_status visit_roots(visitor *visit, void *user, tn_arena *arena, tn_error *error) {
    bool stop = false;
    for (const char *cursor = getenv("TENFOLD_PATH"); cursor && *cursor && !stop;) {
        size_t length = strcspn(cursor, ":");
        const char *root;
        TN_TRY(tn_arena_copy_text(arena, cursor, length, &root, error));
        if (length) TN_TRY(visit(root, user, &stop, error));
        cursor += length + (cursor[length] == ':');
    }
    if (!stop) TN_TRY(visit(TENFOLD_SOURCE_DIR, user, &stop, error));
    if (!stop) TN_TRY(visit(TENFOLD_DATA_DIR, user, &stop, error));
    return TN_OK;
}

typedef struct {
    const char *folder, *name, *suffix, *found;
    tn_arena *arena;
} search;

static tn_status try_root(const char *root, void *user, bool *stop, tn_error *error) {
    search *wanted = user;
    const char *path;
    TN_TRY(tn_arena_format(wanted->arena, &path, error, "%s/%s/%s%s", root, wanted->folder, wanted->name,
                           wanted->suffix));
    if (access(path, F_OK) == 0) {
        wanted->found = path;
        *stop = true;
    }
    return TN_OK;
}

tn_status tn_search_path_find(const char *folder, const char *name, tn_arena *arena, const char **path,
                              tn_error *error) {
    if (strchr(name, '/') || has_suffix(name))
        return tn_arena_copy_text(arena, name, strlen(name), path, error);
    search wanted = {.folder = folder, .name = name, .suffix = suffix, .arena = arena};
    TN_TRY(visit_roots(try_root, &wanted, arena, error));
    if (wanted.found) {
        *path = wanted.found;
        return TN_OK;
    }
    const char **names;
    size_t count;
    TN_TRY(tn_search_path_list(folder, arena, &names, &count, error));
    const char *near = tn_suggest(name, names, count);
    return tn_fail(error, TN_INPUT, "no %s/%s%s on the search path; %s%s%s", folder, name, suffix,
                   near ? "did you mean '" : "give a path or a name that `tenfold list` shows",
                   near ? near : "", near ? "'?" : "");
}

tn_status tn_search_path_find_file(const char *folder, const char *file, tn_arena *arena, const char **path,
                                   tn_error *error) {
    search wanted = {.folder = folder, .name = file, .suffix = "", .arena = arena};
    TN_TRY(visit_roots(try_root, &wanted, arena, error));
    if (!wanted.found) return tn_fail(error, TN_INPUT, "no %s/%s on the search path", folder, file);
    *path = wanted.found;
    return TN_OK;
}

typedef struct {
    const char *folder;
    tn_arena *arena;
    const char **names;
    size_t count, capacity;
} listing;

static bool listed(const listing *list, const char *name, size_t length) {
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->names[i], name, length) == 0 && list->names[i][length] == '\0') return true;
    return false;
}

static tn_status list_root(const char *root, void *user, bool *stop, tn_error *error) {
    listing *list = user;
    (void)stop;
    const char *path;
    TN_TRY(tn_arena_format(list->arena, &path, error, "%s/%s", root, list->folder));
    DIR *folder = opendir(path);
    if (!folder && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
        return TN_OK; /* a root without */
    if (!folder) return tn_fail_system(error, path, errno, "can't be listed");
    tn_status status = TN_OK;
    errno = 0;
    for (struct dirent *entry; status == TN_OK && (entry = readdir(folder)); errno = 0) {
        size_t length = has_suffix(entry->d_name) ? strlen(entry->d_name) - strlen(suffix) : 0;
        if (!length || entry->d_name[0] == '.' || listed(list, entry->d_name, length)) continue;
        status = TN_GROW(&list->names, &list->capacity, list->count + 1, error);
        if (status == TN_OK)
            status = tn_arena_copy_text(list->arena, entry->d_name, length, &list->names[list->count], error);
        if (status == TN_OK) list->count++;
    }
    if (status == TN_OK && errno) status = tn_fail_system(error, path, errno, "can't be listed");
    closedir(folder);
    return status;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

tn_status tn_search_path_list(const char *folder, tn_arena *arena, const char ***names, size_t *count,
                              tn_error *error) {
    listing list = {.folder = folder, .arena = arena};
    tn_status status = visit_roots(list_root, &list, arena, error);
    const char **kept = NULL;
    if (status == TN_OK) status = TN_NEW(arena, list.count, &kept, error);
    if (status == TN_OK) {
        if (list.count) {
            memcpy(kept, list.names, list.count * sizeof *kept);
            qsort(kept, list.count, sizeof *kept, by_text);
        }
        *names = kept;
        *count = list.count;
    }
    tn_free(list.names);
    return status;
}
