#include "ranks/own_weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LIST_TEXT = 21 * TN_RANKS_MOST };

/* A tree being rewritten: which entry of `weights` each layer of the model names. */
typedef struct {
    const tn_model *model;
    tn_arena *arena;
    tn_error *error;
    const char **name; /* [layers of the model]; NULL: no weight */
    tn_yaml **entry;   /* [layers of the model] what the entry of that name holds */
} writer;

/* --- nodes --- */

static tn_status new_node(const writer *w, tn_yaml_kind kind, size_t count, tn_yaml **node) {
    TN_TRY(tn_arena_alloc(w->arena, 1, sizeof **node, node, w->error));
    (*node)->kind = kind;
    (*node)->at = tn_model_root(w->model)->at; /* a place, so that it counts as given */
    TN_TRY(tn_arena_alloc(w->arena, count, sizeof *(*node)->item, &(*node)->item, w->error));
    return tn_arena_alloc(w->arena, count, sizeof *(*node)->key, &(*node)->key, w->error);
}

static tn_status new_text(const writer *w, const char *text, tn_yaml **node) {
    TN_TRY(new_node(w, TN_YAML_SCALAR, 0, node));
    return tn_arena_copy_text(w->arena, text, strlen(text), &(*node)->text, w->error);
}

static tn_status add_pair(const writer *w, tn_yaml *mapping, const char *key, tn_yaml *value) {
    mapping->item[mapping->count] = value;
    return new_text(w, key, &mapping->key[mapping->count++]);
}

static tn_status add_text(const writer *w, tn_yaml *mapping, const char *key, const char *value) {
    tn_yaml *node;
    TN_TRY(new_text(w, value, &node));
    return add_pair(w, mapping, key, node);
}

/* A mapping with one value exchanged. */
static tn_status replace(const writer *w, const tn_yaml *mapping, const char *key, tn_yaml *value,
                         tn_yaml **copy) {
    TN_TRY(new_node(w, TN_YAML_MAPPING, mapping->count, copy));
    (*copy)->at = mapping->at;
    (*copy)->count = mapping->count;
    for (size_t i = 0; i < mapping->count; i++) {
        (*copy)->key[i] = mapping->key[i];
        (*copy)->item[i] = strcmp(mapping->key[i]->text, key) == 0 ? value : mapping->item[i];
    }
    return TN_OK;
}

/* --- layers --- */

static size_t find_layer(const tn_model *model, const char *name) {
    size_t i = 0;
    while (i < tn_model_layers(model) && strcmp(tn_model_layer_at(model, i).name, name) != 0) i++;
    return i;
}

/* The names of one layer of a block, repetition by repetition; one alone where they are equal. */
static tn_status repeated_name(const writer *w, const char *block, const char *layer, tn_yaml **node) {
    tn_yaml *list;
    size_t repetitions = 0, layers = tn_model_layers(w->model), place;
    const char *full, *first = NULL;
    bool equal = true;
    TN_TRY(new_node(w, TN_YAML_SEQUENCE, layers, &list));
    for (;; repetitions++) {
        TN_TRY(tn_arena_format(w->arena, &full, w->error, "%s%zu.%s", block, repetitions + 1, layer));
        place = find_layer(w->model, full);
        if (place == layers) break;
        if (!first) first = w->name[place];
        equal = equal && strcmp(first, w->name[place]) == 0;
        TN_TRY(new_text(w, w->name[place], &list->item[list->count++]));
    }
    *node = equal ? list->item[0] : list;
    return TN_OK;
}

/* A layer with its weight renamed; `block` NULL: not in one. */
static tn_status rename_layer(const writer *w, const tn_yaml *layer, const char *block, tn_yaml **renamed) {
    const char *name = tn_yaml_get(layer, "name")->text;
    tn_yaml *weight;
    *renamed = (tn_yaml *)layer;
    if (!tn_yaml_get(layer, "weight")) return TN_OK;
    if (block)
        TN_TRY(repeated_name(w, block, name, &weight));
    else
        TN_TRY(new_text(w, w->name[find_layer(w->model, name)], &weight));
    return replace(w, layer, "weight", weight, renamed);
}

static tn_status rename_list(const writer *w, const tn_yaml *list, const char *block, tn_yaml **renamed) {
    TN_TRY(new_node(w, TN_YAML_SEQUENCE, list->count, renamed));
    (*renamed)->count = list->count;
    for (size_t i = 0; i < list->count; i++) {
        const tn_yaml *layer = list->item[i], *inside = tn_yaml_get(layer, "layers");
        if (!inside) {
            TN_TRY(rename_layer(w, layer, block, &(*renamed)->item[i]));
            continue;
        }
        tn_yaml *layers;
        TN_TRY(rename_list(w, inside, tn_yaml_get(layer, "name")->text, &layers));
        TN_TRY(replace(w, layer, "layers", layers, &(*renamed)->item[i]));
    }
    return TN_OK;
}

/* The entries that layers name, in the order of the layers, each once. */
static tn_status list_entries(const writer *w, tn_yaml **entries) {
    size_t layers = tn_model_layers(w->model);
    TN_TRY(new_node(w, TN_YAML_MAPPING, layers, entries));
    for (size_t i = 0; i < layers; i++)
        if (w->name[i] && !tn_yaml_get(*entries, w->name[i]))
            TN_TRY(add_pair(w, *entries, w->name[i], w->entry[i]));
    return TN_OK;
}

static tn_status rewrite(const writer *w, tn_yaml **root) {
    const tn_yaml *old = tn_model_root(w->model);
    tn_yaml *entries, *layers, *half;
    TN_TRY(list_entries(w, &entries));
    TN_TRY(rename_list(w, tn_yaml_get(old, "layers"), NULL, &layers));
    TN_TRY(replace(w, old, "weights", entries, &half));
    return replace(w, half, "layers", layers, root);
}

static tn_status new_writer(const tn_model *model, tn_arena *arena, tn_error *error, writer *w) {
    *w = (writer){.model = model, .arena = arena, .error = error};
    TN_TRY(tn_arena_alloc(arena, tn_model_layers(model), sizeof *w->name, &w->name, error));
    return tn_arena_alloc(arena, tn_model_layers(model), sizeof *w->entry, &w->entry, error);
}

/* --- one entry a layer --- */

static tn_status own_name(const writer *w, size_t layer) {
    const char *name = tn_model_layer_at(w->model, layer).name, *copy;
    TN_TRY(tn_arena_copy_text(w->arena, name, strlen(name), &copy, w->error));
    for (char *at = (char *)copy; *at; at++)
        if (*at == '.') *at = '-';
    for (size_t i = 0; i < layer; i++)
        if (w->name[i] && strcmp(w->name[i], copy) == 0)
            return tn_fail(w->error, TN_INPUT, "layers %s and %s would name the same weight; rename one",
                           tn_model_layer_at(w->model, i).name, name);
    w->name[layer] = copy;
    return TN_OK;
}

tn_status tn_own_weights_make(const tn_model *model, tn_arena *arena, tn_model **own, tn_error *error) {
    writer w;
    tn_yaml *root;
    const tn_yaml *policy = tn_yaml_get(tn_model_root(model), "format");
    const tn_yaml *weights = tn_yaml_get(tn_model_root(model), "weights");
    if (policy && policy->text && strcmp(policy->text, "dense") == 0)
        return tn_fail_at(error, TN_INPUT, policy->at,
                          "format: dense leaves every weight uncompressed; there are no ranks to choose");
    if (!weights) return tn_fail(error, TN_INPUT, "the model has no `weights`; there are no ranks to choose");
    TN_TRY(new_writer(model, arena, error, &w));
    for (size_t i = 0; i < tn_model_layers(model); i++) {
        const tn_model_weight *weight = tn_model_layer_at(model, i).weight;
        if (!weight) continue;
        TN_TRY(own_name(&w, i));
        w.entry[i] = tn_yaml_get(weights, weight->name);
    }
    TN_TRY(rewrite(&w, &root));
    return tn_model_decode(root, arena, own, error);
}

/* --- writing --- */

static const char *product_text(const uint64_t *number, uint32_t count, char text[LIST_TEXT]) {
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t k = 0; k < count; k++)
        length +=
            (size_t)snprintf(text + length, LIST_TEXT - length, k ? "x%" PRIu64 : "%" PRIu64, number[k]);
    return text;
}

static bool same_ranks(const tn_weight *a, const tn_weight *b) {
    return a->rank_count == b->rank_count && memcmp(a->rank, b->rank, a->rank_count * sizeof *a->rank) == 0;
}

/* One number where that gives all ranks, else the list. */
static const char *rank_text(const tn_weight *weight, char text[LIST_TEXT]) {
    uint64_t most = 0;
    tn_weight uniform = *weight;
    for (uint32_t k = 0; k < weight->rank_count; k++)
        if (weight->rank[k] > most) most = weight->rank[k];
    if (tn_weight_set_rank(&uniform, most, NULL) == TN_OK && same_ranks(&uniform, weight)) {
        snprintf(text, LIST_TEXT, "%" PRIu64, most);
        return text;
    }
    return product_text(weight->rank, weight->rank_count, text);
}

/* The entry of a weight as it stands; a flow that the original entry names is kept. */
static tn_status describe(const writer *w, const tn_weight *weight, const tn_yaml *original,
                          tn_yaml **entry) {
    char text[LIST_TEXT];
    const tn_yaml *flow = tn_yaml_get(original, "flow");
    TN_TRY(new_node(w, TN_YAML_MAPPING, 5, entry));
    TN_TRY(add_text(w, *entry, "format", tn_format_names[weight->format]));
    TN_TRY(add_text(w, *entry, "m", product_text(weight->m, weight->d, text)));
    TN_TRY(add_text(w, *entry, "n", product_text(weight->n, weight->d, text)));
    if (weight->format != TN_DENSE) TN_TRY(add_text(w, *entry, "rank", rank_text(weight, text)));
    return flow && weight->format != TN_DENSE ? add_text(w, *entry, "flow", flow->text) : TN_OK;
}

/* Whether all layers that share the entry of layer `i` in the original came out equal. */
static bool stays_shared(const tn_model *model, const tn_model *own, size_t i) {
    const tn_model_weight *shared = tn_model_layer_at(model, i).weight;
    const tn_weight *weight = &tn_model_layer_at(own, i).weight->weight;
    for (size_t k = 0; k < tn_model_layers(model); k++)
        if (tn_model_layer_at(model, k).weight == shared &&
            !tn_weight_equal(weight, &tn_model_layer_at(own, k).weight->weight))
            return false;
    return true;
}

/* The first layer of the same original entry and the same shape lends its name. */
static size_t lender(const tn_model *model, const tn_model *own, size_t i) {
    const tn_model_weight *shared = tn_model_layer_at(model, i).weight;
    for (size_t k = 0; k < i; k++)
        if (tn_model_layer_at(model, k).weight == shared &&
            tn_weight_equal(&tn_model_layer_at(own, k).weight->weight,
                            &tn_model_layer_at(own, i).weight->weight))
            return k;
    return i;
}

tn_status tn_own_weights_write(const tn_model *model, tn_model *own, tn_arena *arena, tn_buffer *out,
                               tn_error *error) {
    writer w;
    tn_yaml *root;
    const tn_yaml *weights = tn_yaml_get(tn_model_root(model), "weights");
    TN_TRY(new_writer(model, arena, error, &w));
    for (size_t i = 0; i < tn_model_layers(model); i++) {
        const tn_model_weight *original = tn_model_layer_at(model, i).weight;
        const tn_model_weight *now = tn_model_layer_at(own, i).weight;
        if (!original) continue;
        w.name[i] = stays_shared(model, own, i) ? original->name
                                                : tn_model_layer_at(own, lender(model, own, i)).weight->name;
        TN_TRY(describe(&w, &now->weight, tn_yaml_get(weights, original->name), &w.entry[i]));
    }
    TN_TRY(rewrite(&w, &root));
    tn_yaml_write(root, out);
    return out->status == TN_OK ? TN_OK : tn_fail(error, out->status, "no memory to write the model");
}
