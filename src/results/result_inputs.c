#include "results/result_inputs.h"

#include "base/digest.h"
#include "base/file.h"
#include "results/identity.h"

#include <stdio.h>
#include <string.h>

enum { RECORD_BYTES_MOST = 16 << 20 }; /* of sweep.json */
enum { STEM_TEXT = 32, NAME_TEXT = 40 };

/* "model", "model-2", ..: of the value at that place. */
static void stem_of(const char *kind, size_t place, char stem[STEM_TEXT]) {
    if (place == 0)
        snprintf(stem, STEM_TEXT, "%s", kind);
    else
        snprintf(stem, STEM_TEXT, "%s-%zu", kind, place + 1);
}

static const tn_yaml *model_root(const tn_space *space, size_t place) {
    return tn_model_root(tn_space_variant(space, place, 0)->model);
}

static const tn_yaml *device_root(const tn_space *space, size_t place) {
    return tn_device_root(tn_space_variant(space, 0, place)->device);
}

/* ---- writing ---- */

tn_status tn_result_file_write(const char *folder, const char *name, tn_buffer *contents, tn_error *error) {
    tn_buffer path = {0};
    tn_buffer_format(&path, "%s/%s", folder, name);
    tn_status status = path.status == TN_OK ? TN_OK : tn_fail(error, path.status, "no memory for a path");
    if (status == TN_OK) status = tn_file_write_buffer(path.data, contents, error);
    tn_buffer_free(&path);
    tn_buffer_free(contents);
    return status;
}

static tn_status write_tree(const char *folder, const char *kind, size_t place, const tn_yaml *root,
                            tn_error *error) {
    char stem[STEM_TEXT], name[NAME_TEXT];
    tn_buffer out = {0};
    tn_yaml_write(root, &out);
    stem_of(kind, place, stem);
    snprintf(name, sizeof name, "%s.yaml", stem);
    return tn_result_file_write(folder, name, &out, error);
}

static tn_status write_table(const char *folder, const char *name, const char *text, size_t length,
                             tn_error *error) {
    tn_buffer out = {0};
    tn_buffer_bytes(&out, text, length);
    return tn_result_file_write(folder, name, &out, error);
}

tn_status tn_result_inputs_write(const char *folder, const tn_space *space, tn_error *error) {
    const tn_error_table *errors = &space->error_table;
    const tn_accuracy_table *accuracies = &space->accuracy_table;
    TN_TRY(write_tree(folder, "space", 0, space->root, error));
    for (size_t i = 0; i < space->models; i++)
        TN_TRY(write_tree(folder, "model", i, model_root(space, i), error));
    for (size_t i = 0; i < space->devices; i++)
        TN_TRY(write_tree(folder, "device", i, device_root(space, i), error));
    if (errors->count) TN_TRY(write_table(folder, "error_table.csv", errors->text, errors->length, error));
    if (!accuracies->rows) return TN_OK;
    return write_table(folder, "accuracy_table.csv", accuracies->text, accuracies->length, error);
}

static tn_status put_hash(const char *kind, size_t place, const tn_yaml *root, tn_json *json,
                          tn_error *error) {
    char stem[STEM_TEXT], digest[TN_DIGEST_TEXT];
    stem_of(kind, place, stem);
    TN_TRY(tn_tree_digest(root, digest, error));
    tn_json_put_text(json, stem, digest);
    return TN_OK;
}

static void put_table_hash(const char *stem, const char *text, size_t length, tn_json *json) {
    char digest[TN_DIGEST_TEXT];
    tn_digest(text, length, digest);
    tn_json_put_text(json, stem, digest);
}

tn_status tn_result_inputs_hashes(const tn_space *space, tn_json *json, tn_error *error) {
    const tn_error_table *errors = &space->error_table;
    const tn_accuracy_table *accuracies = &space->accuracy_table;
    tn_json_key(json, "sha256");
    tn_json_object(json);
    TN_TRY(put_hash("space", 0, space->root, json, error));
    for (size_t i = 0; i < space->models; i++)
        TN_TRY(put_hash("model", i, model_root(space, i), json, error));
    for (size_t i = 0; i < space->devices; i++)
        TN_TRY(put_hash("device", i, device_root(space, i), json, error));
    if (errors->count) put_table_hash("error_table", errors->text, errors->length, json);
    if (accuracies->rows) put_table_hash("accuracy_table", accuracies->text, accuracies->length, json);
    tn_json_end(json);
    return TN_OK;
}

/* ---- reading ---- */

tn_status tn_result_record_load(const char *folder, tn_arena *arena, const char **path, json_t **json,
                                tn_error *error) {
    char *text;
    size_t length;
    json_error_t problem;
    TN_TRY(tn_arena_format(arena, path, error, "%s/sweep.json", folder));
    TN_TRY(tn_file_read(*path, RECORD_BYTES_MOST, &text, &length, error));
    *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    tn_free(text);
    if (*json && json_is_object(*json)) return TN_OK;
    bool none = !*json && json_error_code(&problem) == json_error_out_of_memory;
    if (none) return tn_fail(error, TN_MEMORY, "no memory to read %s", *path);
    const tn_position position = {*path, *json ? 1 : (unsigned)problem.line,
                                  *json ? 1 : (unsigned)problem.column};
    json_decref(*json);
    return tn_fail_at(error, TN_INPUT, position, "is no record of a sweep: %s",
                      *json ? "not an object" : problem.text);
}

typedef struct {
    const json_t *hashes; /* the object sha256 */
    const char *folder;
    tn_arena *arena;
} reading;

/* *path of the file STEM.EXTENSION, which must have the recorded hash; NULL: none is recorded. */
static tn_status find_input(const reading *source, const char *stem, const char *extension, const char **path,
                            tn_error *error) {
    const char *recorded = json_string_value(json_object_get(source->hashes, stem));
    char *data, digest[TN_DIGEST_TEXT];
    size_t length;
    *path = NULL;
    if (!recorded) return TN_OK;
    TN_TRY(tn_arena_format(source->arena, path, error, "%s/%s.%s", source->folder, stem, extension));
    TN_TRY(tn_file_read(*path, TN_RESULT_FILE_BYTES_MOST, &data, &length, error));
    tn_digest(data, length, digest);
    tn_free(data);
    if (strcmp(digest, recorded) == 0) return TN_OK;
    return tn_fail_at(
        error, TN_INPUT, (tn_position){.file = *path},
        "is not the one that was swept (its SHA-256 differs from that in sweep.json); sweep into "
        "another folder to see what a change does");
}

static tn_status find_tree(const reading *source, const char *stem, const char **path, tn_error *error) {
    TN_TRY(find_input(source, stem, "yaml", path, error));
    if (*path) return TN_OK;
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = source->folder},
                      "its sweep.json has no hash of %s.yaml; it is no record of a sweep", stem);
}

/* All files of models, or of devices, that have a hash. */
static tn_status find_all(const reading *source, const char *kind, const char *const **paths, size_t *count,
                          tn_error *error) {
    const char **path, *next;
    TN_TRY(TN_NEW(source->arena, TN_VARIANTS_MOST, &path, error));
    TN_TRY(find_tree(source, kind, &path[0], error));
    for (*count = 1; *count < TN_VARIANTS_MOST; ++*count) {
        char stem[STEM_TEXT];
        stem_of(kind, *count, stem);
        TN_TRY(find_input(source, stem, "yaml", &next, error));
        if (!next) break;
        path[*count] = next;
    }
    *paths = path;
    return TN_OK;
}

tn_status tn_result_inputs_load(const json_t *record, const char *folder, tn_arena *arena, tn_space *space,
                                tn_error *error) {
    const reading source = {json_object_get(record, "sha256"), folder, arena};
    const char *path;
    tn_space_inputs own = {0};
    TN_TRY(find_tree(&source, "space", &path, error));
    TN_TRY(find_all(&source, "model", &own.model, &own.models, error));
    TN_TRY(find_all(&source, "device", &own.device, &own.devices, error));
    TN_TRY(find_input(&source, "error_table", "csv", &own.error_table, error));
    TN_TRY(find_input(&source, "accuracy_table", "csv", &own.accuracy_table, error));
    TN_TRY(tn_space_load(path, NULL, 0, &own, arena, space, error));
    bool errors = space->error_table.count && !own.error_table;
    if (errors || (space->accuracy_table.rows && !own.accuracy_table))
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = folder},
                          "has no copy of the %s that its space names",
                          errors ? "error table" : "accuracy table");
    return TN_OK;
}
