#include "run/case.h"

#include "base/random.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char suffix[] = ".npy";

static tn_status path_in(const tn_case_files *files, const char *name, const char *ending, const char **path,
                         tn_error *error) {
    return tn_arena_format(files->arena, path, error, "%s/%s%s", files->path, name, ending);
}

static tn_status case_files_open(tn_case_files *files, const char *folder, tn_arena *arena, tn_error *error) {
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

static void case_files_close(tn_case_files *files) {
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
    TN_TRY(TN_NEW(files->arena, info->elements, &values, error));
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

/* Reads array `name`; absent: values NULL. Refuses NaN and infinity. */
static tn_status case_files_read(tn_case_files *files, const char *name, tn_case_array *array,
                                 tn_error *error) {
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

/* The highest number behind `stem` ("core" finds core1, core12) among the arrays; 0: none. */
static tn_status case_files_highest(const tn_case_files *files, const char *stem, uint32_t *highest,
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

enum { DRAWN_TOKENS = 8, CORES_MOST = 2 * TN_FACTORS_MOST };

/* How many roundings of the coarsest type the results that were given may be off. */
static const double given_roundoffs = 32;

typedef struct loading {
    tn_case_files files;
    uint32_t cores;
    tn_case_array core[CORES_MOST], x, dy;
    tn_trial *trial;
    tn_error *error;
} loading;

static tn_status read_numbered(loading *l, const char *stem, uint32_t number, tn_case_array *array) {
    char name[32];
    snprintf(name, sizeof name, "%s%" PRIu32, stem, number);
    TN_TRY(case_files_read(&l->files, name, array, l->error));
    return TN_OK;
}

static tn_status read_cores(loading *l) {
    TN_TRY(case_files_highest(&l->files, "core", &l->cores, l->error));
    if (l->cores == 0)
        return tn_fail(l->error, TN_INPUT, "%s: no core1; a case holds core1, core2, .. and x and dy",
                       l->files.path);
    if (l->cores > CORES_MOST)
        return tn_fail(l->error, TN_LIMIT, "%s: core%" PRIu32 "; at most %d cores", l->files.path, l->cores,
                       CORES_MOST);
    for (uint32_t k = 0; k < l->cores; k++) {
        TN_TRY(read_numbered(l, "core", k + 1, &l->core[k]));
        if (!l->core[k].values)
            return tn_fail(l->error, TN_INPUT, "%s: core%" PRIu32 " is missing, there is core%" PRIu32,
                           l->files.path, k + 1, l->cores);
    }
    return TN_OK;
}

static tn_status choose_format(loading *l, tn_weight *weight) {
    size_t axes = l->core[0].axes;
    for (uint32_t k = 1; k < l->cores; k++)
        if (l->core[k].axes != axes)
            return tn_fail(l->error, TN_INPUT, "%s has %zu axes, core1 has %zu; all cores need the same",
                           l->core[k].where, l->core[k].axes, axes);
    if (axes == 2 && l->cores == 1) {
        *weight = (tn_weight){.format = TN_DENSE, .d = 1};
    } else if (axes == 3 && l->cores % 2 == 0) {
        bool ring = l->core[0].shape[0] > 1;
        *weight = (tn_weight){.format = ring ? TN_RING : TN_TT, .d = l->cores / 2};
    } else if (axes == 4) {
        if (l->cores > TN_FACTORS_MOST)
            return tn_fail(l->error, TN_LIMIT, "%s: %" PRIu32 " cores of 4 axes; at most %d", l->files.path,
                           l->cores, TN_FACTORS_MOST);
        *weight = (tn_weight){.format = TN_TTM, .d = l->cores};
    } else {
        return tn_fail(l->error, TN_INPUT,
                       "%s: %" PRIu32
                       " cores of %zu axes; TT has an even number of cores (rank, mode, rank), "
                       "TTM cores (rank, m, n, rank), dense one core (M, N)",
                       l->files.path, l->cores, axes);
    }
    return TN_OK;
}

/* The first and last axes of the cores are one chain of ranks. */
static tn_status take_ranks(loading *l, tn_weight *weight) {
    weight->rank_count = tn_weight_rank_count(weight);
    weight->rank[0] = l->core[0].shape[0];
    for (uint32_t k = 0; k < l->cores; k++) {
        const tn_case_array *core = &l->core[k];
        if (core->shape[0] != weight->rank[k])
            return tn_fail(l->error, TN_INPUT,
                           "%s: first axis %" PRIu64 ", but the core before ends with rank %" PRIu64,
                           core->where, core->shape[0], weight->rank[k]);
        weight->rank[k + 1] = core->shape[core->axes - 1];
    }
    return TN_OK;
}

static tn_status infer_weight(loading *l) {
    tn_weight *weight = &l->trial->weight;
    TN_TRY(choose_format(l, weight));
    if (weight->format == TN_DENSE) {
        weight->m[0] = l->core[0].shape[0];
        weight->n[0] = l->core[0].shape[1];
    }
    for (uint32_t k = 0; k < weight->d && weight->format != TN_DENSE; k++) {
        bool matrix = weight->format == TN_TTM;
        weight->m[k] = l->core[k].shape[1];
        weight->n[k] = matrix ? l->core[k].shape[2] : l->core[weight->d + k].shape[1];
    }
    if (weight->format != TN_DENSE) TN_TRY(take_ranks(l, weight));
    tn_error reason;
    tn_status status = tn_weight_check(weight, &reason);
    if (status != TN_OK) return tn_fail(l->error, status, "%s: %s", l->files.path, reason.message);
    return TN_OK;
}

/* An array of rows x columns; `required` or absent. */
static tn_status read_matrix(loading *l, const char *name, bool required, uint64_t rows, uint64_t columns,
                             tn_case_array *array) {
    TN_TRY(case_files_read(&l->files, name, array, l->error));
    if (!array->values)
        return required ? tn_fail(l->error, TN_INPUT, "%s: no %s; a case needs x and dy", l->files.path, name)
                        : TN_OK;
    bool fits = array->axes == 2 && array->shape[1] == columns && array->shape[0] > 0 &&
                (rows == 0 || array->shape[0] == rows);
    if (fits) return TN_OK;
    if (rows == 0)
        return tn_fail(l->error, TN_INPUT, "%s must be tokens x %" PRIu64 " by the cores", array->where,
                       columns);
    return tn_fail(l->error, TN_INPUT, "%s must be %" PRIu64 " x %" PRIu64 " by x and the cores",
                   array->where, rows, columns);
}

static tn_status draw(loading *l, uint64_t seed, uint64_t columns, tn_case_array *array) {
    double *values;
    array->shape[0] = DRAWN_TOKENS;
    TN_TRY(TN_NEW(l->files.arena, DRAWN_TOKENS * columns, &values, l->error));
    TN_TRY(tn_random_fill_normal(seed, values, DRAWN_TOKENS * columns, l->error));
    array->values = values;
    return TN_OK;
}

/* X and dY; drawn where both are absent and `seed` is not NULL. */
static tn_status read_rows(loading *l, const uint64_t *seed) {
    uint64_t rows, columns;
    TN_TRY(tn_weight_rows(&l->trial->weight, &rows, l->error));
    TN_TRY(tn_weight_columns(&l->trial->weight, &columns, l->error));
    TN_TRY(read_matrix(l, "x", !seed, 0, columns, &l->x));
    TN_TRY(read_matrix(l, "dy", !seed || l->x.values, l->x.shape[0], rows, &l->dy));
    if (!l->x.values) {
        if (l->dy.values)
            return tn_fail(l->error, TN_INPUT, "%s: dy without x; a case needs both", l->files.path);
        l->trial->seed = *seed;
        TN_TRY(draw(l, *seed, columns, &l->x));
        TN_TRY(draw(l, *seed + 1, rows, &l->dy));
    }
    l->trial->tokens = l->x.shape[0];
    return TN_OK;
}

static tn_status read_core_gradients(loading *l, const double **dcore, bool *any) {
    uint32_t highest;
    TN_TRY(case_files_highest(&l->files, "dcore", &highest, l->error));
    if (highest > l->cores)
        return tn_fail(l->error, TN_INPUT, "%s: dcore%" PRIu32 ", but %" PRIu32 " cores", l->files.path,
                       highest, l->cores);
    for (uint32_t k = 0; k < l->cores; k++) {
        tn_case_array array;
        TN_TRY(read_numbered(l, "dcore", k + 1, &array));
        if (!array.values) continue;
        size_t bytes = array.axes * sizeof *array.shape;
        if (array.axes != l->core[k].axes || memcmp(array.shape, l->core[k].shape, bytes) != 0)
            return tn_fail(l->error, TN_INPUT, "%s must have the shape of core%" PRIu32, array.where, k + 1);
        dcore[k] = array.values;
        *any = true;
    }
    return TN_OK;
}

static tn_status read_results(loading *l) {
    tn_given *given = &l->trial->given;
    tn_case_array y, dx;
    const double **dcore;
    bool any = false;
    uint64_t rows, columns;
    TN_TRY(tn_weight_rows(&l->trial->weight, &rows, l->error));
    TN_TRY(tn_weight_columns(&l->trial->weight, &columns, l->error));
    TN_TRY(read_matrix(l, "y", false, l->trial->tokens, rows, &y));
    TN_TRY(read_matrix(l, "dx", false, l->trial->tokens, columns, &dx));
    TN_TRY(TN_NEW(l->files.arena, l->cores, &dcore, l->error));
    TN_TRY(read_core_gradients(l, dcore, &any));
    *given = (tn_given){.y = y.values,
                        .dx = dx.values,
                        .dcore = any ? dcore : NULL,
                        .tolerance = given_roundoffs * l->files.epsilon};
    return TN_OK;
}

/* The last part of the path. */
static tn_status name_of(loading *l, const char **name) {
    const char *path = l->files.path;
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/') start--;
    return tn_arena_copy_text(l->files.arena, path + start, end - start, name, l->error);
}

static tn_status load(loading *l, const uint64_t *seed) {
    tn_trial *trial = l->trial;
    *trial = (tn_trial){0};
    TN_TRY(read_cores(l));
    TN_TRY(infer_weight(l));
    TN_TRY(read_rows(l, seed));
    TN_TRY(read_results(l));
    TN_TRY(name_of(l, &trial->name));
    trial->cores = l->cores;
    TN_TRY(TN_NEW(l->files.arena, l->cores + 2, &trial->input, l->error));
    trial->input[0] = l->x.values;
    for (uint32_t k = 0; k < l->cores; k++) trial->input[k + 1] = l->core[k].values;
    trial->input[l->cores + 1] = l->dy.values;
    return tn_reference_make(&trial->weight, trial->tokens, l->x.values, l->dy.values, trial->input + 1,
                             l->files.arena, &trial->reference, l->error);
}

tn_status tn_case_load_folder(const char *folder, tn_arena *arena, tn_trial *trial, tn_error *error) {
    loading l = {.trial = trial, .error = error};
    tn_status status = case_files_open(&l.files, folder, arena, error);
    if (status == TN_OK) status = load(&l, NULL);
    case_files_close(&l.files);
    return status;
}

tn_status tn_case_load_arrays(tn_arrays *arrays, const char *path, uint64_t seed, tn_arena *arena,
                              tn_trial *trial, tn_error *error) {
    loading l = {.trial = trial, .error = error};
    l.files = (tn_case_files){.path = path, .container = arrays, .container_path = path, .arena = arena};
    return load(&l, &seed);
}

bool tn_case_in_arrays(const tn_arrays *arrays) {
    for (size_t i = 0; i < tn_arrays_count(arrays); i++)
        if (strcmp(tn_arrays_info(arrays, i)->name, "core1") == 0) return true;
    return false;
}
