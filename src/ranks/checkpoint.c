#include "ranks/checkpoint.h"

#include "base/buffer.h"
#include "base/name_index.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *layer, *tensor;
    tn_text_list cores;
    tn_count_list rows, columns;
    uint32_t convention;
    bool transpose, padded;
    tn_position layer_at, tensor_at, cores_at, rows_at, columns_at, convention_at;
} entry;

static const tn_field entry_fields[] = {
    TN_KEY(TEXT, entry, layer, "layer of the model, encoder1.query; {i} stands for any whole number",
           TN_REQUIRED, TN_SEEN(entry, layer_at)),
    TN_KEY(TEXT, entry, tensor, "array that holds its matrix; {i}, {i-1}, {i+1} stand for the layer's number",
           TN_SEEN(entry, tensor_at)),
    TN_KEY(TEXT_LIST, entry, cores, "instead of `tensor`: the cores of a tensor train, in order",
           TN_SEEN(entry, cores_at)),
    TN_KEY(COUNT_LIST, entry, rows,
           "[first, count] of the array's rows as stored; absent: all (a fused QKV is cut so)",
           TN_SEEN(entry, rows_at)),
    TN_KEY(COUNT_LIST, entry, columns, "[first, count] of its columns as stored", TN_SEEN(entry, columns_at)),
    TN_KEY(CHOICE, entry, convention, "what rows and leading cores are; absent: that of the checkpoint",
           TN_DEFAULT("rows-are-output"), TN_ONE_OF(tn_convention_names), TN_SEEN(entry, convention_at)),
    TN_KEY(BOOL, entry, transpose, "the array is the other way round than the convention says",
           TN_DEFAULT("false")),
    TN_KEY(BOOL, entry, padded,
           "the layer may have more outputs than the array, which are zero: a padded vocabulary",
           TN_DEFAULT("false")),
};
static const tn_schema entry_schema = TN_SCHEMA("checkpoint tensor", entry, entry_fields);

static const tn_field checkpoint_fields[] = {
    TN_KEY(CHOICE, tn_checkpoint, convention, "of all entries that say none", TN_DEFAULT("rows-are-output"),
           TN_ONE_OF(tn_convention_names)),
    TN_KEY(LIST, tn_checkpoint, tensors, "where each layer's matrix lies", .sub = &entry_schema),
};
const tn_schema tn_checkpoint_schema = TN_SCHEMA("checkpoint", tn_checkpoint, checkpoint_fields);

/* --- names with a number in them --- */

/* Whether `layer` is `pattern`, whose {i} may stand for digits; *number is what it stands for. */
static bool matches(const char *pattern, const char *layer, uint64_t *number) {
    static const char mark[] = "{i}";
    const char *cursor = strstr(pattern, mark);
    if (!cursor) return strcmp(pattern, layer) == 0;
    size_t before = (size_t)(cursor - pattern);
    if (strncmp(pattern, layer, before) != 0) return false;
    size_t digits = strspn(layer + before, "0123456789");
    if (digits == 0 || digits > 18) return false;
    *number = strtoull(layer + before, NULL, 10);
    return strcmp(cursor + sizeof mark - 1, layer + before + digits) == 0;
}

/* Replaces {i}, {i+A} and {i-A}; false where the braces hold anything else or the number would be negative.
 */
static bool put_number(const char **cursor, uint64_t number, tn_buffer *out) {
    const char *text = *cursor + 1; /* behind the brace */
    char *end;
    if (text[0] != 'i') return false;
    char sign = text[1];
    uint64_t shift = 0;
    if (sign == '+' || sign == '-') {
        if (text[2] < '0' || text[2] > '9') return false;
        shift = strtoull(text + 2, &end, 10);
    } else {
        end = (char *)text + 1;
    }
    if (*end != '}' || shift > UINT32_MAX || (sign == '-' && shift > number)) return false;
    tn_buffer_format(out, "%" PRIu64, sign == '-' ? number - shift : number + shift);
    *cursor = end + 1;
    return true;
}

static tn_status expand(const char *pattern, uint64_t number, tn_position where, tn_arena *arena,
                        const char **name, tn_error *error) {
    tn_buffer out = {0};
    tn_status status = TN_OK;
    for (const char *cursor = pattern; *cursor && status == TN_OK;) {
        if (*cursor != '{')
            tn_buffer_bytes(&out, cursor++, 1);
        else if (!put_number(&cursor, number, &out))
            status = tn_fail_at(error, TN_INPUT, where,
                                "\"%.100s\" has braces that hold no {i}, {i-1} or {i+1}", pattern);
    }
    if (status == TN_OK && out.status != TN_OK) status = tn_fail(error, out.status, "no memory for a name");
    if (status == TN_OK)
        status = tn_arena_copy_text(arena, out.data ? out.data : "", out.length, name, error);
    tn_buffer_free(&out);
    return status;
}

/* --- decoding --- */

static tn_status unknown_layer(const entry *e, const tn_model *model, tn_arena *arena, tn_error *error) {
    size_t count = tn_model_layers(model), named = 0;
    const char **names;
    TN_TRY(TN_NEW(arena, count, &names, error));
    for (size_t i = 0; i < count; i++) {
        tn_model_layer layer = tn_model_layer_at(model, i);
        if (layer.rows) names[named++] = layer.name;
    }
    const char *near = tn_suggest(e->layer, names, named);
    return tn_fail_at(error, TN_INPUT, e->layer_at, "no layer with a matrix is called \"%.100s\"; %s%.100s",
                      e->layer, near ? "did you mean " : "the first one is ",
                      near    ? near
                      : named ? names[0]
                              : "absent");
}

static tn_status check_slice(const tn_count_list *slice, tn_position position, const char *key,
                             tn_error *error) {
    if (!position.line || (slice->count == 2 && slice->item[1] > 0)) return TN_OK;
    return tn_fail_at(error, TN_INPUT, position, "\"%s\" must be [first, count] with a count of at least 1",
                      key);
}

static tn_status check_entry(const entry *e, const tn_model *model, tn_arena *arena, tn_error *error) {
    bool fits = false;
    uint64_t number;
    for (size_t i = 0; i < tn_model_layers(model) && !fits; i++) {
        tn_model_layer layer = tn_model_layer_at(model, i);
        fits = layer.rows && matches(e->layer, layer.name, &number);
    }
    if (!fits) return unknown_layer(e, model, arena, error);
    if (!e->tensor_at.line == !e->cores_at.line)
        return tn_fail_at(error, TN_INPUT, e->layer_at, "layer \"%.100s\" needs either `tensor` or `cores`",
                          e->layer);
    if (e->cores_at.line && (e->cores.count == 0 || e->rows_at.line || e->columns_at.line))
        return tn_fail_at(error, TN_INPUT, e->cores_at,
                          "`cores` must name cores, and takes no rows or columns");
    TN_TRY(check_slice(&e->rows, e->rows_at, "rows", error));
    return check_slice(&e->columns, e->columns_at, "columns", error);
}

tn_status tn_checkpoint_decode(const tn_yaml *node, const tn_model *model, tn_arena *arena,
                               tn_checkpoint *checkpoint, tn_error *error) {
    *checkpoint = (tn_checkpoint){0};
    if (!node) return TN_OK;
    TN_TRY(tn_schema_decode(&tn_checkpoint_schema, node, arena, checkpoint, error));
    const entry *e = checkpoint->tensors.item;
    for (size_t i = 0; i < checkpoint->tensors.count; i++) TN_TRY(check_entry(&e[i], model, arena, error));
    return TN_OK;
}

/* --- finding --- */

static tn_slice slice_of(const tn_count_list *list) {
    return list->count == 2 ? (tn_slice){list->item[0], list->item[1]} : (tn_slice){0, 0};
}

static tn_status from_entry(const tn_checkpoint *checkpoint, const entry *e, uint64_t number, tn_arena *arena,
                            tn_matrix_source *source, tn_error *error) {
    uint32_t convention = e->convention_at.line ? e->convention : checkpoint->convention;
    *source = (tn_matrix_source){.cores = e->cores.count,
                                 .rows = slice_of(&e->rows),
                                 .columns = slice_of(&e->columns),
                                 .padded = e->padded,
                                 .transposed = (convention != TN_ROWS_ARE_OUTPUT) != e->transpose};
    if (e->tensor_at.line) return expand(e->tensor, number, e->tensor_at, arena, &source->tensor, error);
    const char **core;
    TN_TRY(TN_NEW(arena, e->cores.count, &core, error));
    for (size_t k = 0; k < e->cores.count; k++)
        TN_TRY(expand(e->cores.item[k], number, e->cores_at, arena, &core[k], error));
    source->core = core;
    return TN_OK;
}

/* Under its own name. The error of the last try names the array with ".weight". */
static tn_status by_own_name(const tn_checkpoint *checkpoint, const char *layer, const tn_arrays *arrays,
                             tn_arena *arena, tn_matrix_source *source, tn_error *error) {
    size_t position;
    *source = (tn_matrix_source){.tensor = layer, .transposed = checkpoint->convention != TN_ROWS_ARE_OUTPUT};
    for (position = 0; position < tn_arrays_count(arrays); position++)
        if (strcmp(tn_arrays_info(arrays, position)->name, layer) == 0) return TN_OK;
    TN_TRY(tn_arena_format(arena, &source->tensor, error, "%s.weight", layer));
    return tn_arrays_find(arrays, source->tensor, &position, error);
}

tn_status tn_checkpoint_find(const tn_checkpoint *checkpoint, const char *layer, const tn_arrays *arrays,
                             tn_arena *arena, tn_matrix_source *source, tn_error *error) {
    const entry *e = checkpoint->tensors.item;
    uint64_t number = 0;
    size_t position;
    for (size_t i = 0; i < checkpoint->tensors.count; i++) {
        if (!matches(e[i].layer, layer, &number)) continue;
        TN_TRY(from_entry(checkpoint, &e[i], number, arena, source, error));
        if (source->tensor) return tn_arrays_find(arrays, source->tensor, &position, error);
        for (size_t k = 0; k < source->cores; k++)
            TN_TRY(tn_arrays_find(arrays, source->core[k], &position, error));
        return TN_OK;
    }
    return by_own_name(checkpoint, layer, arrays, arena, source, error);
}

tn_status tn_checkpoint_check(const tn_checkpoint *checkpoint, const tn_model *model, const tn_arrays *arrays,
                              tn_arena *arena, tn_error *error) {
    const entry *e = checkpoint->tensors.item;
    for (size_t i = 0; i < tn_model_layers(model); i++) {
        tn_model_layer layer = tn_model_layer_at(model, i);
        tn_matrix_source source;
        uint64_t number;
        bool named = false;
        for (size_t k = 0; k < checkpoint->tensors.count && layer.rows; k++)
            named = named || matches(e[k].layer, layer.name, &number);
        if (named) TN_TRY(tn_checkpoint_find(checkpoint, layer.name, arrays, arena, &source, error));
    }
    return TN_OK;
}
