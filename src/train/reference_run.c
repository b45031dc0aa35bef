#include "train/reference_run.h"

#include "base/random.h"
#include "text/arrays.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

tn_status tn_reference_run_malformed(const tn_reference_run *r, const char *what) {
    return tn_fail_at(r->error, TN_INPUT, (tn_position){.file = r->folder},
                      "oracle.json has no usable \"%s\"; see docs/train.md for what a case holds", what);
}

static tn_status read_list(tn_reference_run *r, const json_t *list, const char *what, size_t most,
                           int64_t **values, size_t *count) {
    *count = json_array_size(list);
    if (!json_is_array(list) || *count == 0 || *count > most) return tn_reference_run_malformed(r, what);
    TN_TRY(tn_arena_alloc(&r->arena, *count, sizeof **values, values, r->error));
    for (size_t i = 0; i < *count; i++) {
        if (!json_is_integer(json_array_get(list, i))) return tn_reference_run_malformed(r, what);
        (*values)[i] = json_integer_value(json_array_get(list, i));
    }
    return TN_OK;
}

/* Padding stands at the end; what is before it is the example. */
static tn_status read_sample(tn_reference_run *r, const json_t *given, tn_reference_sample *to) {
    int64_t *tokens, *slots;
    size_t count, labels, length = 0;
    enum { TOKENS_MOST = 1 << 20 };
    TN_TRY(read_list(r, json_object_get(given, "tokens"), "tokens", TOKENS_MOST, &tokens, &count));
    TN_TRY(read_list(r, json_object_get(given, "slots"), "slots", TOKENS_MOST, &slots, &labels));
    const json_t *intent = json_object_get(given, "intent");
    while (length < count && tokens[length] >= 0) length++;
    if (labels != count || length == 0 || !json_is_integer(intent))
        return tn_reference_run_malformed(r, "samples");
    uint32_t *token;
    int32_t *slot;
    TN_TRY(tn_arena_alloc(&r->arena, length, sizeof *token, &token, r->error));
    TN_TRY(tn_arena_alloc(&r->arena, length, sizeof *slot, &slot, r->error));
    for (size_t i = 0; i < length; i++) {
        if (tokens[i] > INT32_MAX || slots[i] > INT32_MAX) return tn_reference_run_malformed(r, "samples");
        token[i] = (uint32_t)tokens[i];
        slot[i] = (int32_t)(slots[i] < 0 ? -1 : slots[i]);
    }
    *to = (tn_reference_sample){{(uint32_t)length, token, slot, (int32_t)json_integer_value(intent)}, NAN};
    const json_t *loss = json_object_get(given, "loss");
    if (json_is_number(loss)) to->loss = json_number_value(loss);
    return TN_OK;
}

static tn_status read_samples(tn_reference_run *r) {
    const json_t *list = json_object_get(r->root, "samples"), *rate = json_object_get(r->root, "lr");
    const json_t *epsilon = json_object_get(r->root, "layer_norm_eps");
    r->samples = json_array_size(list);
    r->steps = json_array_size(json_object_get(r->root, "curve"));
    if (r->samples == 0) return tn_reference_run_malformed(r, "samples");
    if (r->steps == 0) return tn_reference_run_malformed(r, "curve");
    if (!json_is_number(rate)) return tn_reference_run_malformed(r, "lr");
    r->rate = json_number_value(rate);
    TN_TRY(tn_train_settings_decode(NULL, &r->arena, &r->settings, r->error));
    if (json_is_number(epsilon)) r->settings.layer_norm_epsilon = json_number_value(epsilon);
    TN_TRY(tn_arena_alloc(&r->arena, r->samples, sizeof *r->sample, &r->sample, r->error));
    for (size_t i = 0; i < r->samples; i++) TN_TRY(read_sample(r, json_array_get(list, i), &r->sample[i]));
    return TN_OK;
}

static tn_status read_model(tn_reference_run *r) {
    const char *file = json_string_value(json_object_get(r->root, "model"));
    const char *kind = json_string_value(json_object_get(r->root, "kind")), *path = "atis-2enc";
    static const char *const dense[] = {"format=dense"};
    r->drawn = file == NULL;
    if (file) TN_TRY(tn_arena_format(&r->arena, &path, r->error, "%s/%s", r->folder, file));
    bool uncompressed = kind && strcmp(kind, "dense") == 0;
    if (!file && !uncompressed && (!kind || strcmp(kind, "tt12") != 0))
        return tn_reference_run_malformed(r, "model");
    return tn_model_load(path, dense, uncompressed ? 1 : 0, &r->arena, &r->model, r->error);
}

static tn_status open_reference(tn_reference_run *r) {
    const char *path;
    json_error_t where;
    TN_TRY(tn_arena_format(&r->arena, &path, r->error, "%s/oracle.json", r->folder));
    r->root = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    if (!r->root)
        return tn_fail_at(r->error, TN_INPUT,
                          (tn_position){path, where.line > 0 ? (unsigned)where.line : 0,
                                        where.column > 0 ? (unsigned)where.column : 0},
                          "%s", where.text);
    TN_TRY(read_model(r));
    return read_samples(r);
}

/* Sets every parameter from initial.npz. */
static tn_status load_initial(tn_reference_run *r, tn_trainer *t) {
    const char *path;
    tn_arrays *arrays;
    TN_TRY(tn_arena_format(&r->arena, &path, r->error, "%s/initial.npz", r->folder));
    TN_TRY(tn_arrays_open(path, &arrays, r->error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < tn_trainer_parameters(t); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(t, i);
        size_t position;
        double *values;
        status = tn_arrays_find(arrays, p->name, &position, r->error);
        if (status != TN_OK) break;
        if (tn_arrays_info(arrays, position)->elements != p->elements) {
            status = tn_fail_at(r->error, TN_INPUT, (tn_position){.file = path},
                                "array \"%s\" has %" PRIu64 " elements; the model needs %" PRIu64, p->name,
                                tn_arrays_info(arrays, position)->elements, p->elements);
            break;
        }
        status = tn_arena_alloc(&r->arena, p->elements, sizeof *values, &values, r->error);
        if (status == TN_OK) status = tn_arrays_read(arrays, position, values, r->error);
        if (status == TN_OK) tn_trainer_kernels(t)->from_double(values, p->values, p->elements);
    }
    tn_arrays_close(arrays);
    return status;
}

/* Draws every parameter as oracle.json's `arrays` say. */
static tn_status draw_initial(tn_reference_run *r, tn_trainer *t) {
    const json_t *list = json_object_get(r->root, "arrays"), *seed = json_object_get(r->root, "seed");
    if (json_array_size(list) != tn_trainer_parameters(t)) return tn_reference_run_malformed(r, "arrays");
    if (!json_is_integer(seed)) return tn_reference_run_malformed(r, "seed");
    uint64_t state = (uint64_t)json_integer_value(seed);
    for (size_t i = 0; i < tn_trainer_parameters(t); i++) {
        const tn_train_parameter *p = tn_trainer_parameter(t, i);
        const json_t *array = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(array, "name"));
        const json_t *amplitude = json_object_get(array, "amplitude"), *fill = json_object_get(array, "fill");
        double *values;
        if (!name || strcmp(name, p->name) != 0) return tn_reference_run_malformed(r, "arrays");
        TN_TRY(tn_arena_alloc(&r->arena, p->elements, sizeof *values, &values, r->error));
        for (uint64_t k = 0; k < p->elements; k++)
            values[k] = json_is_number(amplitude)
                            ? (2 * tn_splitmix_unit(&state) - 1) * json_number_value(amplitude)
                            : json_number_value(fill);
        tn_trainer_kernels(t)->from_double(values, p->values, p->elements);
    }
    return TN_OK;
}

tn_status tn_reference_run_initial(tn_reference_run *r, tn_trainer *t) {
    return r->drawn ? draw_initial(r, t) : load_initial(r, t);
}

tn_status tn_reference_run_open(const char *folder, tn_reference_run *r, tn_error *error) {
    *r = (tn_reference_run){.folder = folder, .error = error};
    return open_reference(r);
}

void tn_reference_run_close(tn_reference_run *r) {
    json_decref(r->root);
    tn_arena_free(&r->arena);
}
