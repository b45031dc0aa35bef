#include "run/case_files.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const char suffix[] = ".npy";

static tn_status path_in(const tn_case_files *files, const char *name, const char *ending, const char **path,
                         tn_error *error) {
    return tn_arena_format(files->arena, path, error, "%s/%s%s", files->path, name, ending);
}

tn_status tn_case_files_open(tn_case_files *files, const char *folder, tn_arena *arena, tn_error *error) {
    static const char *const endings[] = {".npz", ".safetensors"};
    *files = (tn_case_files){.path = folder, .folder = true, .arena = arena};
    for (int i = 0; i < 2; i++) {
        const char *path;
        TN_TRY(path_in(files, "cores", endings[i], &path, error));
        if (access(path, F_OK) != 0) continue;
        if (files->container)
            return tn_fail(error, TN_INPUT, "%s: both cores.npz and cores.safetensors; keep one", folder);
        TN_TRY(tn_arrays_open(path, &files->container, error));
        files->container_path = path;
        files->owns_container = true;
    }
    return TN_OK;
}

void tn_case_files_close(tn_case_files *files) {
    if (files->owns_container) tn_arrays_close(files->container);
}

/* Position in the container, or its count where it has no such array. */
static size_t find_member(const tn_case_files *files, const char *name) {
    size_t count = files->container ? tn_arrays_count(files->container) : 0, i = 0;
    while (i < count && strcmp(tn_arrays_info(files->container, i)->name, name) != 0) i++;
    return i;
}

static double roundoff(const char *type) {
    static const struct {
        const char *type;
        double epsilon;
    } known[] = {{"f4", 0x1p-24}, {"f2", 0x1p-11}, {"bf16", 0x1p-8}};
    for (int i = 0; i < 3; i++)
        if (strcmp(type, known[i].type) == 0) return known[i].epsilon;
    return 0;
}

static tn_status check_finite(const tn_case_array *array, tn_error *error) {
    for (uint64_t i = 0; i < array->elements; i++)
        if (!isfinite(array->values[i]))
            return tn_fail(error, TN_INPUT,
                           "%s: element %llu is not a finite number; a check needs finite ones", array->where,
                           (unsigned long long)i);
    return TN_OK;
}

static tn_status read_at(tn_case_files *files, tn_arrays *arrays, size_t position, tn_case_array *array,
                         tn_error *error) {
    const tn_array_info *info = tn_arrays_info(arrays, position);
    double *values;
    array->axes = info->axes;
    array->elements = info->elements;
    memcpy(array->shape, info->shape, sizeof array->shape);
    TN_TRY(tn_arena_alloc(files->arena, info->elements, sizeof *values, &values, error));
    TN_TRY(tn_arrays_read(arrays, position, values, error));
    array->values = values;
    files->epsilon = fmax(files->epsilon, roundoff(info->type));
    return check_finite(array, error);
}

static tn_status read_file(tn_case_files *files, const char *path, tn_case_array *array, tn_error *error) {
    tn_arrays *arrays;
    array->where = path;
    TN_TRY(tn_arrays_open(path, &arrays, error));
    tn_status status =
        tn_arrays_count(arrays) == 1
            ? read_at(files, arrays, 0, array, error)
            : tn_fail(error, TN_INPUT, "%s: holds several arrays; a .npy file holds one", path);
    tn_arrays_close(arrays);
    return status;
}

tn_status tn_case_files_read(tn_case_files *files, const char *name, tn_case_array *array, tn_error *error) {
    size_t member = find_member(files, name);
    bool in_container = files->container && member < tn_arrays_count(files->container);
    *array = (tn_case_array){0};
    if (files->folder) {
        const char *path;
        TN_TRY(path_in(files, name, suffix, &path, error));
        if (access(path, F_OK) == 0) {
            if (in_container)
                return tn_fail(error, TN_INPUT, "%s: %s is in %s too; keep one", path, name,
                               files->container_path);
            return read_file(files, path, array, error);
        }
    }
    if (!in_container) return TN_OK;
    TN_TRY(tn_arena_format(files->arena, &array->where, error, "%s: %s", files->container_path, name));
    return read_at(files, files->container, member, array, error);
}

/* The number of "stem12" or, with the ending, "stem12.npy"; 0 where the name is another. */
static uint32_t number_of(const char *name, const char *stem, const char *ending) {
    size_t length = strlen(stem);
    if (strncmp(name, stem, length) != 0 || name[length] == '0') return 0;
    uint32_t number = 0;
    for (name += length; *name >= '0' && *name <= '9'; name++) {
        if (number > 100000) return 0;
        number = 10 * number + (uint32_t)(*name - '0');
    }
    return strcmp(name, ending) == 0 ? number : 0;
}

tn_status tn_case_files_highest(const tn_case_files *files, const char *stem, uint32_t *highest,
                                tn_error *error) {
    uint32_t found = 0;
    for (size_t i = 0; files->container && i < tn_arrays_count(files->container); i++) {
        uint32_t number = number_of(tn_arrays_info(files->container, i)->name, stem, "");
        if (number > found) found = number;
    }
    if (files->folder) {
        DIR *folder = opendir(files->path);
        if (!folder) return tn_fail_reading(error, files->path, errno, "can't be read as a folder");
        for (struct dirent *entry; (entry = readdir(folder));) {
            uint32_t number = number_of(entry->d_name, stem, suffix);
            if (number > found) found = number;
        }
        closedir(folder);
    }
    *highest = found;
    return TN_OK;
}
