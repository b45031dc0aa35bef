/* The model file of an ONNX graph: its layers one by one (ranks/onnx_layers.h), those that lead to a loss. */
#include "ranks/import_onnx.h"

#include "base/name_index.h"
#include "ranks/model_text.h"
#include "ranks/onnx_layers.h"
#include "text/json.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NONE UINT32_MAX

enum { CLASSES = 2 };

typedef struct {
    tn_arrays *arrays;
    const char *path;
    const tn_import_options *options;
    tn_arena *arena;
    tn_import *out;
    tn_error *error;
    tn_onnx_layers found;
    const char **name; /* [layers] in the model file */
    bool *leads;       /* [layers] to a loss */
    uint32_t *tied;    /* [layers] the embedding whose table a linear layer's matrix is, and back; NONE */
    uint64_t *padded;  /* [layers] rows of a table in the model */
    bool *lost;        /* [layers] a loss stands behind it */
    bool classified;   /* a classifier was added */
    uint64_t sequence;
    tn_model_text text;
} writer;

static tn_status note(writer *w, const char *format, ...) TN_PRINTF(2, 3);
static tn_status note(writer *w, const char *format, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (w->out->notes == TN_IMPORT_NOTES) return TN_OK;
    return tn_arena_copy_text(w->arena, text, strlen(text), &w->out->note[w->out->notes++], w->error);
}

static tn_status refuse(const writer *w, const char *format, ...) TN_PRINTF(2, 3);
static tn_status refuse(const writer *w, const char *format, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return tn_fail_at(w->error, TN_INPUT, (tn_position){.file = w->path}, "%s", text);
}

static bool is_kind(const tn_onnx_layer *layer, const char *kind) {
    return strcmp(layer->kind, kind) == 0;
}

/* ---- what leads to a loss ---- */

static void mark_leads(writer *w) {
    const tn_onnx_layers *l = &w->found;
    for (size_t i = l->count; i-- > 0;) {
        w->leads[i] |= w->lost[i];
        for (uint32_t k = 0; w->leads[i] && k < l->layer[i].inputs; k++)
            w->leads[l->layer[i].input[k]] = true;
    }
}

/* Losses stand behind the outputs that linear layers give; where none does, behind a classifier of the first. */
static tn_status find_losses(writer *w) {
    const tn_onnx_layers *l = &w->found;
    if (l->outputs == 0) return refuse(w, "has no output that a layer gives");
    size_t losses = 0;
    for (size_t i = 0; i < l->outputs; i++)
        if (is_kind(&l->layer[l->output[i]], "linear")) {
            losses += !w->lost[l->output[i]];
            w->lost[l->output[i]] = true;
        }
    if (losses) return TN_OK;
    const uint64_t width = l->layer[l->output[0]].width;
    w->lost[l->output[0]] = w->classified = true;
    w->out->added += CLASSES * width + CLASSES;
    return note(
        w,
        "no output is a linear layer's: a classifier of %d classes on the first token was added (%" PRIu64
        " parameters)",
        CLASSES, CLASSES * width + CLASSES);
}

/* ---- one layer each, one matrix each ---- */

static tn_status find_owners(writer *w) {
    const tn_onnx_layers *l = &w->found;
    uint32_t *owner;
    TN_TRY(TN_NEW(w->arena, tn_arrays_count(w->arrays), &owner, w->error));
    for (size_t i = 0; i < l->count; i++) {
        const tn_onnx_layer *layer = &l->layer[i];
        w->tied[i] = NONE;
        if (layer->array == TN_ONNX_NONE || layer->gone || !w->leads[i] || layer->cut) continue;
        uint32_t before = owner[layer->array];
        owner[layer->array] = (uint32_t)i + 1;
        if (before == 0) continue;
        const tn_onnx_layer *first = &l->layer[--before];
        if (first->array == layer->array && is_kind(first, layer->kind) && !is_kind(layer, "embedding"))
            continue; /* equal ones, stored once */
        if (!is_kind(first, "embedding") || !is_kind(layer, "linear") || layer->turned ||
            w->tied[before] != NONE)
            return refuse(w,
                          "uses \"%.100s\" in two layers; each layer of a model file has its own parameters",
                          tn_arrays_info(w->arrays, layer->array)->name);
        w->tied[i] = before;
        w->tied[before] = (uint32_t)i;
    }
    return TN_OK;
}

static tn_status pad_tables(writer *w) {
    for (size_t i = 0; i < w->found.count; i++) {
        const tn_onnx_layer *layer = &w->found.layer[i];
        w->padded[i] = layer->rows;
        if (!is_kind(layer, "embedding") || !w->leads[i] || w->tied[i] != NONE) continue;
        if (layer->rows > w->out->vocabulary) w->out->vocabulary = layer->rows;
        enum { FEW = 64 }; /* rows that are not worth folding */
        if (layer->rows <= FEW) continue;
        w->padded[i] = tn_import_padded(layer->rows, layer->width);
        if (w->padded[i] == layer->rows) continue;
        uint64_t added = (w->padded[i] - layer->rows) * layer->width;
        w->out->padding += added;
        TN_TRY(note(w,
                    "the vocabulary of %" PRIu64 " does not fold: padded to %" PRIu64 " (%" PRIu64
                    " rows of zeros, %" PRIu64 " parameters)",
                    layer->rows, w->padded[i], w->padded[i] - layer->rows, added));
    }
    return TN_OK;
}

/* ---- names ---- */

/* Letters, digits, - and _, without endings such as ".weight". */
static size_t clean(const char *name, char *target, size_t room) {
    static const char *const endings[] = {".weight", ".bias", ".gamma", ".beta"};
    size_t length = strlen(name), index = 0;
    for (int i = 0; i < 4; i++) {
        size_t own = strlen(endings[i]);
        if (length > own && strcmp(name + length - own, endings[i]) == 0) {
            length -= own;
            break;
        }
    }
    for (size_t i = 0; i < length && index + 1 < room; i++) {
        bool plain = isalnum((unsigned char)name[i]) || name[i] == '_';
        if (plain) target[index++] = name[i];
        if (!plain && index > 0 && target[index - 1] != '-') target[index++] = '-';
    }
    while (index > 0 && target[index - 1] == '-') index--;
    target[index] = '\0';
    return index;
}

/* The name that the graph gives, or the kind; with the layer's number where that is no name, or taken. */
static tn_status name_layers(writer *w) {
    const tn_onnx_layers *l = &w->found;
    tn_name_index names;
    TN_TRY(tn_name_index_new(&names, 2 * l->count + 2, w->arena, w->error));
    for (size_t i = 0; i < l->count; i++) {
        const tn_onnx_layer *layer = &l->layer[i];
        char text[160];
        bool own = clean(layer->name, text, 120) > 0 && strncmp(layer->name, "onnx::", 6) != 0 &&
                   isalpha((unsigned char)text[0]) && strcmp(text, "entry") != 0 &&
                   strcmp(text, "previous") != 0 && strncmp(text, "loss", 4) != 0;
        if (!own) snprintf(text, sizeof text, "%s-%zu", layer->kind, i + 1);
        TN_TRY(tn_arena_copy_text(w->arena, text, strlen(text), &w->name[i], w->error));
        if (tn_name_index_add(&names, w->name[i], (uint32_t)i) == TN_NAME_NONE) continue;
        TN_TRY(tn_arena_format(w->arena, &w->name[i], w->error, "%s--%zu", text, i + 1));
        tn_name_index_add(&names, w->name[i], (uint32_t)i);
    }
    return TN_OK;
}

/* ---- the file ---- */

static tn_status put_attention(writer *w, size_t i) {
    const tn_onnx_layer *layer = &w->found.layer[i];
    uint64_t heads = w->options->heads ? w->options->heads : layer->heads;
    if (heads == 0) heads = layer->width % 64 == 0 ? layer->width / 64 : 1;
    if (layer->width % heads)
        return refuse(
            w, "has attention of width %" PRIu64 ", which %" PRIu64 " heads do not divide; give --heads",
            layer->width, heads);
    if (!w->options->heads && !layer->heads && w->out->heads == 0)
        TN_TRY(note(w, "heads are not in the graph: %" PRIu64 " of %" PRIu64 " are taken; give --heads",
                    heads, layer->width / heads));
    w->out->heads = heads;
    tn_model_text_attention(&w->text, w->name[i], &(tn_model_text_heads){heads, heads, false},
                            w->name[layer->input[0]], w->name[layer->input[1]], w->name[layer->input[2]]);
    return TN_OK;
}

static tn_status put_layer(writer *w, size_t i) {
    const tn_onnx_layer *layer = &w->found.layer[i];
    tn_model_text *text = &w->text;
    const char *source = layer->inputs ? w->name[layer->input[0]] : NULL;
    if (is_kind(layer, "linear"))
        tn_model_text_linear(text, w->name[i], layer->rows, layer->columns, layer->bias, source,
                             w->tied[i] == NONE ? NULL : w->name[w->tied[i]]);
    else if (is_kind(layer, "embedding"))
        tn_model_text_embedding(text, w->name[i], w->padded[i], layer->width,
                                w->tied[i] != NONE || w->padded[i] < TN_IMPORT_FACTORS_MOST);
    else if (is_kind(layer, "residual") || is_kind(layer, "multiply"))
        tn_model_text_pair(text, w->name[i], layer->kind, source, w->name[layer->input[1]]);
    else if (is_kind(layer, "conv"))
        tn_model_text_conv(
            text, w->name[i], layer->rows, layer->columns,
            &(tn_model_text_window){layer->picture, layer->kernel, layer->stride, layer->padding},
            layer->bias, source);
    else if (is_kind(layer, "attention"))
        return put_attention(w, i);
    else if (is_kind(layer, "input")) {
        if (layer->width == 0) return refuse(w, "does not say how wide its input \"%.100s\" is", layer->name);
        tn_model_text_input(text, w->name[i], layer->width);
    } else
        tn_model_text_layer(text, w->name[i], layer->kind, source);
    return TN_OK;
}

/* Norms of a model file have scale and shift. */
static void count_added(writer *w, const tn_onnx_layer *layer) {
    bool shifted = is_kind(layer, "layer-norm");
    if (!shifted && !is_kind(layer, "rms-norm")) return;
    w->out->added += (uint64_t)(!layer->scale + (shifted && !layer->bias)) * layer->width;
}

static void put_mapping(writer *w, size_t i) {
    const tn_onnx_layer *layer = &w->found.layer[i];
    char more[160];
    int length;
    bool matrix = is_kind(layer, "linear") || is_kind(layer, "embedding");
    if (!matrix || layer->array == TN_ONNX_NONE || layer->permuted ||
        (is_kind(layer, "linear") && w->tied[i] != NONE))
        return;
    length = snprintf(more, sizeof more, "%s%s", layer->turned ? ", transpose: true" : "",
                      w->padded[i] != layer->rows ? ", padded: true" : "");
    if (layer->cut)
        snprintf(more + length, sizeof more - (size_t)length, ", %s: [%" PRIu64 ", %" PRIu64 "]",
                 layer->turned ? "columns" : "rows", layer->first, layer->rows);
    tn_model_text_map(&w->text, w->name[i], tn_arrays_info(w->arrays, layer->array)->name, more);
}

static tn_status put_loss(writer *w, size_t i, size_t *losses) {
    char name[32];
    const char *source = w->name[i];
    if (w->classified) {
        tn_model_text_layer(&w->text, "loss-token", "first-token", source);
        tn_model_text_linear(&w->text, "loss-classifier", CLASSES, w->found.layer[i].width, true, NULL, NULL);
        source = "loss-classifier";
    }
    ++*losses;
    snprintf(name, sizeof name, *losses > 1 ? "loss-%zu" : "loss", *losses);
    tn_model_text_layer(&w->text, name, "cross-entropy", source);
    return TN_OK;
}

static tn_status put_layers(writer *w) {
    size_t losses = 0;
    for (size_t i = 0; i < w->found.count; i++) {
        if (!w->leads[i] || w->found.layer[i].gone) continue;
        TN_TRY(put_layer(w, i));
        put_mapping(w, i);
        count_added(w, &w->found.layer[i]);
        w->out->layers++;
        if (w->found.layer[i].width > w->out->hidden) w->out->hidden = w->found.layer[i].width;
        if (w->lost[i]) TN_TRY(put_loss(w, i, &losses));
    }
    return TN_OK;
}

/* ---- what becomes of the constants ---- */

static bool is_parameter(const tn_array_info *info) {
    return info->elements > 1 && (info->type[0] == 'f' || strcmp(info->type, "bf16") == 0);
}

/* taken[array] = its elements that become parameters of a layer, counted as often as they do. */
static void count_taken(const writer *w, uint64_t *taken) {
    for (size_t i = 0; i < w->found.count; i++) {
        const tn_onnx_layer *layer = &w->found.layer[i];
        if (!w->leads[i] || layer->gone) continue;
        bool tied = is_kind(layer, "linear") && w->tied[i] != NONE, positions = is_kind(layer, "positions");
        if (layer->array != TN_ONNX_NONE && !tied)
            taken[layer->array] +=
                positions ? w->found.positions * layer->width : layer->rows * layer->columns;
        if (layer->bias) taken[layer->bias_array] += layer->width;
        if (layer->scale) taken[layer->scale_array] += layer->width;
        if (layer->array != TN_ONNX_NONE) w->out->array[layer->array].layer = w->name[i];
        if (layer->bias) w->out->array[layer->bias_array].layer = w->name[i];
        if (layer->scale) w->out->array[layer->scale_array].layer = w->name[i];
    }
}

/* An array that several layers use, as equal ones that were stored once, is a parameter of each. */
static tn_status account(writer *w) {
    tn_import *out = w->out;
    size_t left = 0, first = 0, several = 0;
    uint64_t *taken;
    out->arrays = tn_arrays_count(w->arrays);
    TN_TRY(TN_NEW(w->arena, out->arrays, &out->array, w->error));
    TN_TRY(TN_NEW(w->arena, out->arrays, &taken, w->error));
    count_taken(w, taken);
    for (size_t i = 0; i < out->arrays; i++) {
        const tn_array_info *info = out->array[i].info = tn_arrays_info(w->arrays, i);
        out->elements += info->elements;
        out->recognised += out->array[i].layer != NULL;
        several += taken[i] > info->elements;
        if (taken[i] > info->elements) out->added += taken[i] - info->elements;
        if (taken[i] == 0 && !is_parameter(info)) {
            out->constants += info->elements;
        } else if (taken[i] < info->elements) {
            out->left_out += info->elements - taken[i];
            first = left++ ? first : i;
        }
    }
    if (several) TN_TRY(note(w, "%zu arrays are used by several layers; each has them as its own", several));
    if (left == 0) return TN_OK;
    return note(w, "%zu constant tensors are no part of the model (\"%.100s\"%s)", left,
                out->array[first].info->name, left > 1 ? ", .." : "");
}

static tn_status find_sequence(writer *w) {
    uint64_t positions = w->found.positions, asked = w->options->sequence;
    w->sequence = asked ? asked : positions ? positions : w->found.sequence ? w->found.sequence : 128;
    if (positions == 0 || w->sequence == positions) return TN_OK;
    return refuse(w, "has %" PRIu64 " positions; --sequence %" PRIu64 " is another number", positions, asked);
}

static tn_status write_model(writer *w, tn_buffer *out) {
    TN_TRY(find_sequence(w));
    TN_TRY(find_losses(w));
    mark_leads(w);
    TN_TRY(find_owners(w));
    TN_TRY(name_layers(w));
    TN_TRY(pad_tables(w));
    TN_TRY(put_layers(w));
    TN_TRY(account(w));
    tn_buffer_text(out, "# Written by tenfold model from ");
    tn_json_quote(w->path, out);
    tn_buffer_format(out,
                     ", an ONNX graph.\nkind: model\nname: %s\nbatch: %" PRIu64 "\nsequence: %" PRIu64
                     "\nprecision: fp32\noptimizer: sgd\nflow: optimal\n\n",
                     w->options->name, w->options->batch ? w->options->batch : 1, w->sequence);
    return tn_model_text_finish(&w->text, "rows-are-output", out, w->error);
}

tn_status tn_import_onnx(tn_arrays *arrays, const char *path, const tn_import_options *options,
                         tn_arena *arena, tn_import *import, tn_buffer *out, tn_error *error) {
    writer w = {
        .arrays = arrays, .path = path, .options = options, .arena = arena, .out = import, .error = error};
    *import = (tn_import){.family = "onnx"};
    TN_TRY(tn_onnx_layers_find(arrays, path, options->from, options->to, arena, &w.found, error));
    size_t count = w.found.count;
    TN_TRY(TN_NEW(arena, count, &w.name, error));
    TN_TRY(TN_NEW(arena, count, &w.leads, error));
    TN_TRY(TN_NEW(arena, count, &w.tied, error));
    TN_TRY(TN_NEW(arena, count, &w.padded, error));
    TN_TRY(TN_NEW(arena, count, &w.lost, error));
    tn_model_text_begin(&w.text, options->rank);
    tn_status status = write_model(&w, out);
    tn_model_text_free(&w.text);
    return status;
}
