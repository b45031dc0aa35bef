#include "ranks/import.h"

#include "base/checked.h"
#include "base/memory.h"
#include "ranks/import_onnx.h"
#include "ranks/importer.h"
#include "ranks/name_map.h"
#include "text/json.h"
#include "text/onnx.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- which family ---- */

/* Has the first layer's queries and whatever else tells the family from its relatives. */
static bool is_family(const tn_arrays *arrays, const tn_tensor_family *family) {
    bool attention = false, gate = !family->grouped;
    tn_tensor_name read;
    for (size_t i = 0; i < tn_arrays_count(arrays) && !(attention && gate); i++) {
        if (!tn_tensor_name_read(family, tn_arrays_info(arrays, i)->name, &read) || read.is_bias) continue;
        attention |= read.role == TN_TENSOR_QUERY || read.role == TN_TENSOR_FUSED;
        gate |= read.role == TN_TENSOR_GATE;
    }
    return attention && gate;
}

static tn_status load_names(tn_importer *importer) {
    tn_tensor_family *family;
    TN_TRY(TN_NEW(importer->arena, 1, &family, importer->error));
    TN_TRY(tn_name_map_load(importer->options->map, importer->arena, family, importer->error));
    importer->family = family;
    importer->out->family = family->name;
    return TN_OK;
}

static tn_status find_family(tn_importer *importer) {
    size_t count = tn_arrays_count(importer->arrays);
    if (importer->options->map) return load_names(importer);
    for (size_t i = 0; i < tn_tensor_family_count; i++)
        if (is_family(importer->arrays, &tn_tensor_families[i])) {
            importer->family = &tn_tensor_families[i];
            importer->out->family = importer->family->name;
            return TN_OK;
        }
    for (size_t i = 0; i < count; i++) {
        const char *what = tn_tensor_unsupported(tn_arrays_info(importer->arrays, i)->name);
        if (what)
            return tn_importer_refuse(importer,
                                      "\"%.100s\" is an array of %s, which no layer of a model file has",
                                      tn_arrays_info(importer->arrays, i)->name, what);
    }
    return tn_importer_refuse(
        importer,
        "names none of its %zu arrays as BERT, DistilBERT, ViT, GPT-2, OPT or Llama models do "
        "(\"%.80s\"%s); --propose NAMES.yaml writes what their shapes say, for --map NAMES.yaml",
        count, count ? tn_arrays_info(importer->arrays, 0)->name : "", count > 1 ? ", .." : "");
}

/* A file such as model-00001-of-00003.safetensors holds a part of the arrays. */
static tn_status refuse_shard(const tn_importer *importer) {
    const char *slash = strrchr(importer->path, '/'), *name = slash ? slash + 1 : importer->path, *owner;
    unsigned number, count;
    for (owner = strstr(name, "-of-"); owner; owner = strstr(owner + 1, "-of-")) {
        const char *digits = owner;
        while (digits > name && digits[-1] >= '0' && digits[-1] <= '9') digits--;
        if (sscanf(digits, "%9u-of-%9u", &number, &count) == 2 && count > 1)
            return tn_importer_refuse(importer,
                                      "is one of %u parts of a checkpoint; give the index beside it, such as "
                                      "model.safetensors.index.json",
                                      count);
    }
    return TN_OK;
}

/* ---- which array is what ---- */

static bool same_shape(const tn_array_info *a, const tn_array_info *b) {
    return a->axes == b->axes && memcmp(a->shape, b->shape, a->axes * sizeof *a->shape) == 0;
}

/* "encoder.layer.0.x" with {i-1} for its number. */
static tn_status pattern_of(tn_importer *importer, const char *name, const tn_tensor_name *read,
                            const char **pattern) {
    if (!read->has_layer) {
        *pattern = name;
        return TN_OK;
    }
    return tn_arena_format(importer->arena, pattern, importer->error, "%.*s{i-1}%s", (int)read->index, name,
                           name + read->index + read->digits);
}

static tn_status take_matrix(tn_importer *importer, const tn_array_info *info, const tn_tensor_name *read) {
    tn_role_arrays *role = &importer->role[read->role];
    const char *pattern;
    TN_TRY(pattern_of(importer, info->name, read, &pattern));
    role->arrays++;
    if (read->expert >= role->experts) role->experts = read->expert + 1;
    if (!role->info) {
        role->info = info;
        role->pattern = pattern;
        return TN_OK;
    }
    if (!read->has_layer)
        return tn_importer_refuse(
            importer,
            "\"%.100s\" and \"%.100s\" are both the %s of a model; a checkpoint of one model is needed",
            role->info->name, info->name, tn_tensor_layer(read->role));
    if (!same_shape(role->info, info))
        return tn_importer_refuse(
            importer,
            "\"%.100s\" and \"%.100s\" are of different shapes; the layers of a model file's block are alike",
            role->info->name, info->name);
    if (role->experts == 1 && strcmp(role->pattern, pattern) != 0)
        return tn_importer_refuse(
            importer,
            "\"%.100s\" and \"%.100s\" are of two rows of layers; a checkpoint of one model is needed",
            role->info->name, info->name);
    return TN_OK;
}

static tn_status take_bias(tn_importer *importer, const tn_array_info *info, const tn_tensor_name *read) {
    tn_role_arrays *role = &importer->role[read->role];
    if (role->biases++ && role->bias_elements != info->elements)
        return tn_importer_refuse(
            importer,
            "\"%.100s\" has another size than that of other layers; the layers of a block are alike",
            info->name);
    role->bias_elements = info->elements;
    return TN_OK;
}

static bool is_readable(const tn_array_info *info) {
    static const char *const readable[] = {"f2", "bf16", "f4", "f8"};
    for (int i = 0; i < 4; i++)
        if (strcmp(info->type, readable[i]) == 0) return true;
    return false;
}

static tn_status assign_array(tn_importer *importer, tn_imported_array *array) {
    tn_import *out = importer->out;
    tn_tensor_name read;
    const tn_array_info *info = array->info;
    if (!tn_add(out->elements, info->elements, &out->elements))
        return tn_importer_refuse(importer, "claims more than 2^64 elements");
    if (tn_tensor_is_constant(info->name)) {
        out->constants += info->elements;
        return TN_OK;
    }
    if (tn_tensor_left_out(importer->family, info->name) ||
        !tn_tensor_name_read(importer->family, info->name, &read)) {
        out->left_out += info->elements;
        return TN_OK;
    }
    if (!is_readable(info))
        return tn_importer_refuse(
            importer,
            "\"%.100s\" holds type %.40s; a checkpoint in floating point is needed (F16, BF16, F32, F64), "
            "not a quantised one",
            info->name, info->type);
    out->recognised++;
    if (read.has_layer && read.layer + 1 > out->layers) out->layers = read.layer + 1;
    TN_TRY(read.is_bias ? take_bias(importer, info, &read) : take_matrix(importer, info, &read));
    array->layer = tn_tensor_layer(read.role);
    if (!read.has_layer) return TN_OK;
    return tn_arena_format(importer->arena, &array->layer, importer->error, "%s%" PRIu64 ".%s",
                           tn_importer_block(importer), read.layer + 1, array->layer);
}

/* As many arrays as layers, and as many biases or none. */
static tn_status check_complete(const tn_importer *importer, tn_tensor_role r) {
    const tn_role_arrays *role = &importer->role[r];
    const char *ways = importer->family->names[r];
    uint64_t needed = ways && strstr(ways, "{i}") ? importer->out->layers : 1;
    if (role->arrays == 0 && ways && importer->options->map)
        return tn_importer_refuse(importer, "names no array '%.100s', which %.200s says for its %s", ways,
                                  importer->options->map, tn_tensor_layer(r));
    if (role->arrays == 0 && role->biases == 0) return TN_OK;
    if (!tn_mul(needed, role->experts ? role->experts : 1, &needed) || role->arrays != needed)
        return tn_importer_refuse(importer,
                                  "has %" PRIu64 " arrays of kind %s (%.100s), %" PRIu64
                                  " are needed: the checkpoint is not complete, or one of several files",
                                  role->arrays, tn_tensor_layer(r), role->pattern ? role->pattern : ways,
                                  needed);
    if (role->biases == 0 || role->biases == role->arrays) return TN_OK;
    return tn_importer_refuse(importer, "has %" PRIu64 " biases of kind %s for %" PRIu64 " matrices",
                              role->biases, tn_tensor_layer(r), role->arrays);
}

static tn_status assign(tn_importer *importer) {
    tn_import *out = importer->out;
    out->arrays = tn_arrays_count(importer->arrays);
    TN_TRY(TN_NEW(importer->arena, out->arrays, &out->array, importer->error));
    for (size_t i = 0; i < out->arrays; i++) {
        out->array[i] = (tn_imported_array){.info = tn_arrays_info(importer->arrays, i)};
        TN_TRY(assign_array(importer, &out->array[i]));
    }
    for (int r = 0; r < TN_TENSOR_ROLES; r++) TN_TRY(check_complete(importer, (tn_tensor_role)r));
    return TN_OK;
}

/* ---- sizes ---- */

/* The matrix of a role has two axes (a convolution more) and elements. */
static tn_status need(const tn_importer *importer, tn_tensor_role r) {
    const tn_array_info *info = importer->role[r].info;
    if (info && info->axes >= 2 && info->elements > 0) return TN_OK;
    return tn_importer_lacks(importer, r);
}

static uint64_t outputs_of(const tn_importer *importer, tn_tensor_role r) {
    return importer->role[r].info->shape[importer->family->input_rows ? 1 : 0];
}

/* Said by the configuration and by the arrays: the same, or it is of another model. */
static tn_status agree(const tn_importer *importer, const char *what, uint64_t said, uint64_t found) {
    if (said == 0 || found == 0 || said == found) return TN_OK;
    return tn_fail_at(importer->error, TN_INPUT, (tn_position){.file = importer->config.path},
                      "says %" PRIu64 " %s, the arrays have %" PRIu64
                      ": it is the configuration of another model",
                      said, what, found);
}

/* 64 wide where queries and keys are multiples of that, else as wide as divides both. */
static uint64_t usual_head(const tn_importer *importer, uint64_t wide) {
    enum { USUAL = 64 };
    const tn_array_info *key = importer->family->grouped ? importer->role[TN_TENSOR_KEY].info : NULL;
    uint64_t other = key && key->axes && key->shape[0] ? key->shape[0] : wide;
    if (wide % USUAL == 0 && other % USUAL == 0) return USUAL;
    return tn_greatest_common_divisor(wide, other);
}

static tn_status find_heads(tn_importer *importer) {
    tn_import *out = importer->out;
    const tn_array_info *norm = importer->role[TN_TENSOR_QUERY_NORM].info;
    uint64_t wide = importer->family->grouped ? outputs_of(importer, TN_TENSOR_QUERY) : out->hidden;
    out->heads = importer->options->heads ? importer->options->heads : importer->config.size[TN_CONFIG_HEADS];
    if (out->heads == 0 && norm && norm->elements && wide % norm->elements == 0)
        out->heads = wide / norm->elements;
    if (out->heads == 0) {
        uint64_t size = usual_head(importer, wide);
        out->heads = wide / size;
        TN_TRY(tn_importer_note(importer,
                                "heads are not in the checkpoint: %" PRIu64 " of %" PRIu64
                                " are taken; give --config or --heads",
                                out->heads, size));
    }
    if (wide % out->heads == 0) return TN_OK;
    return tn_fail(importer->error, TN_INPUT, "%" PRIu64 " heads do not divide the width %" PRIu64,
                   out->heads, wide);
}

static tn_status measure(tn_importer *importer) {
    tn_import *out = importer->out;
    const tn_role_arrays *role = importer->role;
    TN_TRY(need(importer, importer->family->names[TN_TENSOR_FUSED] ? TN_TENSOR_FUSED : TN_TENSOR_QUERY));
    TN_TRY(need(importer, TN_TENSOR_OUTPUT));
    TN_TRY(need(importer, TN_TENSOR_WIDEN));
    TN_TRY(need(importer, TN_TENSOR_NARROW));
    out->hidden = outputs_of(importer, TN_TENSOR_OUTPUT);
    importer->widened = outputs_of(importer, TN_TENSOR_WIDEN);
    if (importer->family->names[TN_TENSOR_WORDS]) {
        TN_TRY(need(importer, TN_TENSOR_WORDS));
        out->vocabulary = role[TN_TENSOR_WORDS].info->shape[0];
        TN_TRY(tn_importer_matrix(importer, TN_TENSOR_WORDS, out->vocabulary, out->hidden));
    }
    const tn_array_info *positions = role[TN_TENSOR_POSITIONS].info;
    if (positions && positions->axes >= 2) importer->positions = positions->shape[positions->axes - 2];
    TN_TRY(
        tn_model_config_load(importer->options->config, importer->arena, &importer->config, importer->error));
    TN_TRY(agree(importer, "hidden units", importer->config.size[TN_CONFIG_HIDDEN], out->hidden));
    TN_TRY(agree(importer, "layers", importer->config.size[TN_CONFIG_LAYERS], out->layers));
    TN_TRY(agree(importer, "words", importer->config.size[TN_CONFIG_VOCABULARY], out->vocabulary));
    return find_heads(importer);
}

/* Whether the first rows of the output projection are those of the table. */
static tn_status compare_rows(const tn_importer *importer, const tn_array_info *head,
                              const tn_array_info *words, bool *equal) {
    enum { COMPARED = 16 };
    uint64_t rows = head->shape[0] < COMPARED ? head->shape[0] : COMPARED, width = head->shape[1];
    size_t entry[2];
    double *values;
    TN_TRY(tn_arrays_find(importer->arrays, head->name, &entry[0], importer->error));
    TN_TRY(tn_arrays_find(importer->arrays, words->name, &entry[1], importer->error));
    TN_TRY(TN_ALLOC(2 * rows * width, &values, importer->error));
    tn_status status = tn_arrays_read_rows(importer->arrays, entry[0], 0, rows, values, importer->error);
    if (status == TN_OK)
        status =
            tn_arrays_read_rows(importer->arrays, entry[1], 0, rows, values + rows * width, importer->error);
    *equal = status == TN_OK && memcmp(values, values + rows * width, rows * width * sizeof *values) == 0;
    tn_free(values);
    return status;
}

/* A table that is the output projection too stands once in safetensors, which share nothing, and twice in what is written
 * from a model's state. Without a configuration a second copy is known by its values, in families that are tied as a rule. */
static tn_status find_tied(tn_importer *importer) {
    const tn_array_info *head = importer->role[TN_TENSOR_HEAD].info,
                        *words = importer->role[TN_TENSOR_WORDS].info;
    if (!importer->family->is_decoder) return TN_OK;
    importer->tied = !head || importer->config.tied_embeddings == TN_CONFIG_YES;
    if (!head) return TN_OK;
    TN_TRY(tn_importer_matrix(importer, TN_TENSOR_HEAD, importer->out->vocabulary, importer->out->hidden));
    if (importer->config.tied_embeddings == TN_CONFIG_ABSENT && !importer->family->grouped)
        TN_TRY(compare_rows(importer, head, words, &importer->tied));
    if (importer->tied) importer->out->shared += head->elements;
    return TN_OK;
}

static tn_status note_left_out(tn_importer *importer) {
    size_t count = 0, first = 0;
    const tn_import *out = importer->out;
    for (size_t i = out->arrays; i-- > 0;)
        if (!out->array[i].layer && !tn_tensor_is_constant(out->array[i].info->name)) {
            first = i;
            count++;
        }
    if (count == 0) return TN_OK;
    return tn_importer_note(importer, "%zu arrays are no part of the model (\"%.100s\"%s)", count,
                            out->array[first].info->name, count > 1 ? ", .." : "");
}

tn_status tn_import_model(tn_arrays *arrays, const char *path, const tn_import_options *options,
                          tn_arena *arena, tn_import *import, tn_buffer *out, tn_error *error) {
    tn_importer importer = {
        .arrays = arrays, .path = path, .options = options, .arena = arena, .out = import, .error = error};
    *import = (tn_import){0};
    if (tn_arrays_graph(arrays)) return tn_import_onnx(arrays, path, options, arena, import, out, error);
    if (options->from || options->to)
        return tn_importer_refuse(&importer, "is no ONNX graph, of which --from and --to take a part");
    TN_TRY(refuse_shard(&importer));
    TN_TRY(find_family(&importer));
    TN_TRY(assign(&importer));
    TN_TRY(measure(&importer));
    TN_TRY(find_tied(&importer));
    TN_TRY(note_left_out(&importer));
    if (options->config && strcmp(options->config, path) == 0)
        TN_TRY(tn_importer_note(&importer,
                                "a configuration alone: arrays are named and shaped as models of type "
                                "%s have them, and hold no values",
                                importer.config.type));
    TN_TRY(tn_import_layers(&importer, out));
    return out->status == TN_OK ? TN_OK : tn_fail(error, out->status, "no memory for the model file");
}
