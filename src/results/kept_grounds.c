#include "results/kept_grounds.h"

#include "base/digest.h"
#include "base/file.h"
#include "search/evaluator.h"
#include "text/json.h"

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT = 1 }; /* changes with what the file says */
static const char file_name[] = "recommendation.json", lock_name[] = "sweep.lock";
static const size_t limit_bytes = (size_t)256 << 20, kept_limit_bytes = (size_t)1 << 20;

typedef struct {
    const tn_result *result;
    tn_arena *arena;
    char made_of[TN_DIGEST_TEXT];
    tn_robustness *robustness;
    tn_outside *outside;
    tn_error *error;
} kept;

/* ---- what it was made of ---- */

static tn_status hash_file(kept *state, const char *name, tn_buffer *all) {
    const char *path;
    char *data, digest[TN_DIGEST_TEXT];
    size_t length;
    TN_TRY(tn_arena_format(state->arena, &path, state->error, "%s/%s", state->result->folder, name));
    TN_TRY(tn_file_read(path, limit_bytes, &data, &length, state->error));
    tn_digest(data, length, digest);
    tn_free(data);
    tn_buffer_format(all, "%s %s\n", name, digest);
    return TN_OK;
}

static tn_status hash_all(kept *state) {
    static const char *const name[] = {"sweep.json", "front.csv", "recommended.csv"};
    tn_buffer all = {0};
    tn_status status = TN_OK;
    tn_buffer_format(&all, "tenfold %s, format %d\n", TENFOLD_VERSION, FORMAT);
    for (size_t i = 0; status == TN_OK && i < sizeof name / sizeof *name; i++)
        status = hash_file(state, name[i], &all);
    if (status == TN_OK && all.status != TN_OK)
        status = tn_fail(state->error, all.status, "no memory for a hash");
    if (status == TN_OK) tn_digest(all.data, all.length, state->made_of);
    tn_buffer_free(&all);
    return status;
}

/* ---- reading: false where the file does not say what it should ---- */

static bool read_text(kept *state, const json_t *object, const char *key, const char **text) {
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) && tn_arena_copy_text(state->arena, json_string_value(value),
                                                       json_string_length(value), text, NULL) == TN_OK;
}

/* A design of the front, as text; null: none. */
static bool read_design(const kept *state, const json_t *object, uint64_t *design) {
    const json_t *value = json_object_get(object, "design");
    *design = UINT64_MAX;
    if (json_is_null(value)) return true;
    if (!json_is_string(value) || tn_read_count(json_string_value(value), design) != TN_NUMBER_OK)
        return false;
    for (size_t i = 0; i < state->result->front_count; i++)
        if (state->result->front[i].id == *design) return true;
    return false;
}

static bool read_perturbations(kept *state, const json_t *list, tn_perturbation *change, size_t most,
                               size_t *count) {
    *count = json_array_size(list);
    if (!json_is_array(list) || *count > most) return false;
    for (size_t i = 0; i < *count; i++) {
        const json_t *entry = json_array_get(list, i);
        if (!read_text(state, entry, "change", &change[i].change) ||
            !read_design(state, entry, &change[i].design))
            return false;
        change[i].kept = change[i].design == state->result->recommended[0].id;
    }
    return true;
}

static bool read_values(const json_t *list, double value[TN_OUTSIDE_VALUES]) {
    if (!json_is_array(list) || json_array_size(list) != TN_OUTSIDE_VALUES) return false;
    for (size_t i = 0; i < TN_OUTSIDE_VALUES; i++) {
        const json_t *number = json_array_get(list, i);
        value[i] = json_number_value(number);
        if (!json_is_number(number) || !(value[i] >= 0)) return false;
    }
    return true;
}

static bool read_outside_change(kept *state, const json_t *entry, tn_outside_change *change) {
    const char *changes;
    const json_t *dominates = json_object_get(entry, "dominates");
    if (!read_text(state, entry, "change", &change->change) ||
        !read_text(state, entry, "was", &change->was) || !read_text(state, entry, "changes", &changes) ||
        !json_is_boolean(dominates) || !read_values(json_object_get(entry, "values"), change->value))
        return false;
    change->dominates = json_is_true(dominates);
    for (int i = 0; i < TN_EFFECTS; i++)
        if (strcmp(changes, tn_effect_names[i]) == 0) change->changes = tn_effect_names[i];
    return change->changes != NULL;
}

static bool read_outside(kept *state, const json_t *object) {
    tn_outside *outside = state->outside;
    const json_t *list = json_object_get(object, "changes"), *tried = json_object_get(object, "tried");
    *outside = (tn_outside){.count = json_array_size(list), .tried = (size_t)json_integer_value(tried)};
    if (!json_is_array(list) || outside->count > TN_OUTSIDE_MOST || !json_is_integer(tried) ||
        json_integer_value(tried) < 0 || !read_values(json_object_get(object, "given"), outside->given) ||
        TN_NEW(state->arena, outside->count, &outside->change, NULL) != TN_OK)
        return false;
    for (size_t i = 0; i < outside->count; i++)
        if (!read_outside_change(state, json_array_get(list, i), &outside->change[i])) return false;
    return true;
}

static bool read_all(kept *state, const json_t *root) {
    const char *made_of = json_string_value(json_object_get(root, "made_of"));
    const json_t *firm = json_object_get(root, "robustness");
    tn_robustness *robustness = state->robustness;
    *robustness = (tn_robustness){0};
    if (!made_of || strcmp(made_of, state->made_of) != 0 ||
        !read_perturbations(state, json_object_get(firm, "changes"), robustness->change,
                            TN_PERTURBATIONS_MOST, &robustness->changes) ||
        !read_perturbations(state, json_object_get(firm, "without"), robustness->reduced, TN_OBJECTIVES_MOST,
                            &robustness->objectives))
        return false;
    for (size_t i = 0; i < robustness->changes; i++) robustness->kept += robustness->change[i].kept;
    return read_outside(state, json_object_get(root, "outside_the_space"));
}

static bool read_kept(kept *state, const char *path) {
    char *data;
    size_t length;
    if (tn_file_read(path, kept_limit_bytes, &data, &length, NULL) != TN_OK) return false;
    json_t *root = json_loadb(data, length, JSON_REJECT_DUPLICATES, NULL);
    const bool good = read_all(state, root);
    json_decref(root);
    tn_free(data);
    return good;
}

/* ---- writing ---- */

static void put_perturbations(const char *key, const tn_perturbation *change, size_t count, tn_json *json) {
    tn_json_key(json, key);
    tn_json_array(json);
    for (size_t i = 0; i < count; i++) {
        char design[24];
        snprintf(design, sizeof design, "%" PRIu64, change[i].design);
        tn_json_object(json);
        tn_json_put_text(json, "change", change[i].change);
        tn_json_put_text(json, "design", change[i].design == UINT64_MAX ? NULL : design);
        tn_json_end(json);
    }
    tn_json_end(json);
}

static void put_values(const char *key, const double value[TN_OUTSIDE_VALUES], tn_json *json) {
    tn_json_key(json, key);
    tn_json_row(json);
    for (int i = 0; i < TN_OUTSIDE_VALUES; i++) tn_json_real(json, value[i]);
    tn_json_end(json);
}

static void put_all(const kept *state, tn_json *json) {
    const tn_robustness *robustness = state->robustness;
    const tn_outside *outside = state->outside;
    tn_json_object(json);
    tn_json_put_text(json, "made_of", state->made_of);
    tn_json_key(json, "robustness");
    tn_json_object(json);
    put_perturbations("changes", robustness->change, robustness->changes, json);
    put_perturbations("without", robustness->reduced, robustness->objectives, json);
    tn_json_end(json);
    tn_json_key(json, "outside_the_space");
    tn_json_object(json);
    tn_json_put_count(json, "tried", outside->tried);
    put_values("given", outside->given, json);
    tn_json_key(json, "changes");
    tn_json_array(json);
    for (size_t i = 0; i < outside->count; i++) {
        tn_json_object(json);
        tn_json_put_text(json, "change", outside->change[i].change);
        tn_json_put_text(json, "was", outside->change[i].was);
        tn_json_put_text(json, "changes", outside->change[i].changes);
        tn_json_put_bool(json, "dominates", outside->change[i].dominates);
        put_values("values", outside->change[i].value, json);
        tn_json_end(json);
    }
    tn_json_end(json);
    tn_json_end(json);
    tn_json_end(json);
}

/* Whatever keeps it from being written is no error: the answer is there. */
static void write_kept(const kept *state, const char *path) {
    tn_lock lock;
    tn_buffer out = {0};
    tn_json json;
    const char *folder = state->result->folder;
    const int open_folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (open_folder < 0) return;
    if (tn_lock_take(open_folder, lock_name, folder, &lock, NULL) == TN_OK) {
        tn_json_begin(&json, &out);
        put_all(state, &json);
        tn_file_write_buffer(path, &out, NULL);
        tn_buffer_free(&out);
        tn_lock_release(&lock);
    }
    close(open_folder);
}

/* ---- finding ---- */

tn_status tn_outside_result(const tn_result *result, uint64_t id, tn_arena *arena, tn_outside *outside,
                            tn_error *error) {
    tn_evaluator *evaluator;
    tn_evaluation evaluation;
    tn_design design;
    TN_TRY(tn_evaluator_new(result->space, &evaluator, error));
    tn_status status = tn_evaluate_design(evaluator, id, &evaluation, error);
    if (status == TN_OK) status = tn_evaluator_design(evaluator, arena, &design, error);
    if (status == TN_OK)
        status =
            tn_outside_find(tn_space_of(result->space, id), &design, TN_OUTSIDE_SPACE, arena, outside, error);
    tn_evaluator_free(evaluator);
    return status;
}

static tn_status find_outside(kept *state) {
    return tn_outside_result(state->result, state->result->recommended[0].id, state->arena, state->outside,
                             state->error);
}

static tn_status find_anew(kept *state) {
    const tn_result *result = state->result;
    uint64_t *id;
    TN_TRY(TN_NEW(state->arena, result->front_count, &id, state->error));
    for (size_t i = 0; i < result->front_count; i++) id[i] = result->front[i].id;
    TN_TRY(tn_robustness_of(result->space, id, result->front_count, result->recommended[0].id, state->arena,
                            state->robustness, state->error));
    return find_outside(state);
}

tn_status tn_grounds_kept(const tn_result *result, tn_arena *arena, tn_robustness *robustness,
                          tn_outside *outside, tn_error *error) {
    kept state = {
        .result = result, .arena = arena, .robustness = robustness, .outside = outside, .error = error};
    const char *path;
    TN_TRY(tn_arena_format(arena, &path, error, "%s/%s", result->folder, file_name));
    TN_TRY(hash_all(&state));
    if (read_kept(&state, path)) return TN_OK;
    TN_TRY(find_anew(&state));
    write_kept(&state, path);
    return TN_OK;
}
