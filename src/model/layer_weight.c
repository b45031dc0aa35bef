#include "model/layer_weight.h"

#include "base/checked.h"
#include "base/name_index.h"
#include "model/graph.h"
#include "tensor/folding.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The entries of a model's `weights`: decoding, and the checks that tie them to the layers. */

/* "12x8x8" */
enum { FACTORS_TEXT = 21 * TN_FACTORS_MOST };
static const char *factors_text(const uint64_t *factor, uint32_t d, char text[FACTORS_TEXT]) {
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t k = 0; k < d && length < FACTORS_TEXT; k++)
        length +=
            (size_t)snprintf(text + length, FACTORS_TEXT - length, "%s%" PRIu64, k ? "x" : "", factor[k]);
    return text;
}

/* Adds the place to an error that has none. */
static tn_status placed(tn_status status, tn_position position, const char *name, tn_error *error) {
    if (status != TN_INPUT && status != TN_LIMIT && status != TN_OVERFLOW) return status;
    if (!error || error->line) return status;
    tn_error inner = *error;
    return tn_fail_at(error, status, position, "weight \"%.100s\": %.800s", name, inner.message);
}

static tn_status take_factors(const tn_weight_entry *entry, tn_weight *weight, tn_error *error) {
    if (entry->m.count != entry->n.count)
        return tn_fail_at(error, TN_INPUT, entry->n_at,
                          "weight \"%.100s\" has %zu factors m and %zu factors n; give as many of both",
                          entry->name, entry->m.count, entry->n.count);
    if (entry->m.count == 0 || entry->m.count > TN_FACTORS_MOST)
        return tn_fail_at(error, TN_INPUT, entry->m_at, "weight \"%.100s\" has %zu factors m; give 1 to %d",
                          entry->name, entry->m.count, TN_FACTORS_MOST);
    weight->d = (uint32_t)entry->m.count;
    memcpy(weight->m, entry->m.item, entry->m.count * sizeof *weight->m);
    memcpy(weight->n, entry->n.item, entry->n.count * sizeof *weight->n);
    return TN_OK;
}

static tn_status take_ranks(const tn_weight_entry *entry, tn_weight *weight, tn_error *error) {
    if (entry->rank.count == 1)
        return placed(tn_weight_set_rank(weight, entry->rank.item[0], error), entry->rank_at, entry->name,
                      error);
    if (entry->rank.count == 0 || entry->rank.count > TN_RANKS_MOST)
        return tn_fail_at(error, TN_INPUT, entry->rank_at,
                          "weight \"%.100s\" has %zu ranks; give one for all bonds, or the %" PRIu32
                          " of its format",
                          entry->name, entry->rank.count, tn_weight_rank_count(weight));
    weight->rank_count = (uint32_t)entry->rank.count;
    memcpy(weight->rank, entry->rank.item, entry->rank.count * sizeof *weight->rank);
    return placed(tn_weight_check(weight, error), entry->rank_at, entry->name, error);
}

static tn_status refuse_missing(const tn_weight_entry *entry, tn_error *error) {
    const char *missing = !entry->m_at.line      ? "m"
                          : !entry->n_at.line    ? "n"
                          : !entry->rank_at.line ? "rank"
                                                 : NULL;
    if (!missing) return TN_OK;
    return tn_fail_at(error, TN_INPUT, entry->format_at,
                      "key \"%s\" of weight \"%.100s\" is missing; format %s needs m, n and rank", missing,
                      entry->name, tn_format_names[entry->format]);
}

/* A dense weight may keep the folding and the ranks that another format would use: a space or --set may
 * change the format alone. They must make sense then too. */
static tn_status decode_weight(const tn_weight_entry *entry, tn_weight_use *use, tn_error *error) {
    tn_weight *weight = &use->entry.weight;
    TN_TRY(tn_model_name_check(entry->name, entry->format_at, "weight", error));
    *use = (tn_weight_use){.entry.name = entry->name,
                           .entry.flow = (tn_flow_name)entry->flow,
                           .own_flow = entry->flow_at.line > 0,
                           .first_layer = TN_NONE,
                           .position = entry->format_at,
                           .m_at = entry->m_at.line ? entry->m_at : entry->format_at,
                           .n_at = entry->n_at.line ? entry->n_at : entry->format_at,
                           .flow_at = entry->flow_at};
    weight->format = (tn_format)entry->format;
    if (weight->format != TN_DENSE) TN_TRY(refuse_missing(entry, error));
    if (entry->m_at.line || entry->n_at.line) TN_TRY(take_factors(entry, weight, error));
    return weight->format == TN_DENSE ? TN_OK : take_ranks(entry, weight, error);
}

tn_status tn_named_weights_decode(const tn_item_list *entries, tn_arena *arena, tn_model *model,
                                  tn_error *error) {
    const tn_weight_entry *entry = entries->item;
    TN_TRY(TN_NEW(arena, entries->count, &model->weight, error));
    TN_TRY(tn_name_index_new(&model->weight_of, entries->count, arena, error));
    for (size_t i = 0; i < entries->count; i++) {
        TN_TRY(decode_weight(&entry[i], &model->weight[i], error));
        tn_name_index_add(&model->weight_of, entry[i].name, (uint32_t)i);
    }
    model->weights = entries->count;
    return TN_OK;
}

static tn_status unknown_weight(const tn_model *model, const char *name, tn_position position,
                                tn_arena *arena, tn_error *error) {
    const char **names;
    TN_TRY(TN_NEW(arena, model->weights, &names, error));
    for (size_t i = 0; i < model->weights; i++) names[i] = model->weight[i].entry.name;
    const char *near = tn_suggest(name, names, model->weights);
    if (near)
        return tn_fail_at(error, TN_INPUT, position,
                          "no weight is called \"%.100s\"; did you mean \"%.100s\"?", name, near);
    return tn_fail_at(error, TN_INPUT, position, "no weight is called \"%.100s\"; add it to `weights`", name);
}

static tn_status product_of(const tn_weight_use *use, const char *key, uint64_t *product, tn_error *error) {
    const tn_weight *weight = &use->entry.weight;
    bool rows = key[0] == 'm';
    const uint64_t *factor = rows ? weight->m : weight->n;
    char text[FACTORS_TEXT];
    if (tn_product(factor, weight->d, product)) return TN_OK;
    return tn_fail_at(error, TN_OVERFLOW, rows ? use->m_at : use->n_at,
                      "%s = %s of weight \"%.100s\" multiplies to more than 2^64", key,
                      factors_text(factor, weight->d, text), use->entry.name);
}

static tn_status check_factors(const tn_weight_use *use, const tn_layer *layer, tn_error *error) {
    const tn_weight *weight = &use->entry.weight;
    uint64_t rows, columns;
    char m[FACTORS_TEXT], n[FACTORS_TEXT];
    if (weight->d == 0) return TN_OK; /* dense without a folding: any size */
    TN_TRY(product_of(use, "m", &rows, error));
    TN_TRY(product_of(use, "n", &columns, error));
    bool wrong_rows = rows != layer->rows;
    if (!wrong_rows && columns == layer->columns) return TN_OK;
    return tn_fail_at(
        error, TN_INPUT, wrong_rows ? use->m_at : use->n_at,
        "in weight \"%.100s\" m = %s multiplies to %" PRIu64 " and n = %s to %" PRIu64
        ", but layer %.100s is %" PRIu64 " %s x %" PRIu64 " %s; choose %s that multiplies to %" PRIu64,
        use->entry.name, factors_text(weight->m, weight->d, m), rows, factors_text(weight->n, weight->d, n),
        columns, layer->name, layer->rows, use->looked_up ? "words" : "outputs", layer->columns,
        use->looked_up ? "features" : "inputs", wrong_rows ? "m" : "n",
        wrong_rows ? layer->rows : layer->columns);
}

tn_status tn_named_weight_check(const tn_model *model, const tn_weight_use *use, tn_error *error) {
    const tn_weight *weight = &use->entry.weight;
    if (weight->format != TN_DENSE)
        TN_TRY(placed(tn_weight_check(weight, error), use->position, use->entry.name, error));
    if (weight->d > TN_FACTORS_MOST)
        return tn_fail_at(error, TN_INPUT, use->position,
                          "weight \"%.100s\" has %" PRIu32 " factors; give 1 to %d", use->entry.name,
                          weight->d, TN_FACTORS_MOST);
    return check_factors(use, &model->layer[use->first_layer], error);
}

tn_status tn_named_weight_use(tn_model *model, uint32_t position, const char *name, tn_position place,
                              tn_arena *arena, tn_error *error) {
    tn_layer *layer = &model->layer[position];
    uint32_t i = tn_name_index_find(&model->weight_of, name);
    if (i == TN_NAME_NONE) return unknown_weight(model, name, place, arena, error);
    tn_weight_use *use = &model->weight[i];
    layer->weight = i;
    bool looked_up = layer->kind->family == TN_LAYER_EMBEDDING;
    use->looked_up |= looked_up;
    use->multiplied |= !looked_up;
    if (use->first_layer == TN_NONE) {
        use->first_layer = position;
        use->rows = layer->rows;
        use->columns = layer->columns;
        return check_factors(use, layer, error);
    }
    if (use->rows == layer->rows && use->columns == layer->columns && use->looked_up != use->multiplied)
        return TN_OK;
    const tn_layer *first = &model->layer[use->first_layer];
    return tn_fail_at(error, TN_INPUT, place,
                      "weight \"%.100s\" is %" PRIu64 " x %" PRIu64 " in layer %.100s (%s) and %" PRIu64
                      " x %" PRIu64 " in layer %.100s (%s); give them entries of their own in `weights`",
                      name, use->rows, use->columns, first->name, first->kind->name, layer->rows,
                      layer->columns, layer->name, layer->kind->name);
}

/* A dense weight keeps the model's flow for another format. */
static tn_flow_name named_weight_inherit(const tn_weight_use *use, tn_flow_name flow) {
    const tn_weight *weight = &use->entry.weight;
    if (use->looked_up) return flow == TN_FLOW_RIGHT_TO_LEFT ? flow : TN_FLOW_OPTIMAL;
    return weight->format == TN_DENSE || tn_flow_exists(weight, flow) ? flow : TN_FLOW_OPTIMAL;
}

tn_status tn_named_weights_settle(tn_model *model, tn_flow_name flow, tn_error *error) {
    for (size_t i = 0; i < model->weights; i++) {
        tn_weight_use *use = &model->weight[i];
        if (use->first_layer == TN_NONE)
            return tn_fail_at(
                error, TN_INPUT, use->position,
                "weight \"%.100s\" is used by no layer; name it under a layer's `weight` or remove it",
                use->entry.name);
        if (!use->own_flow) use->entry.flow = named_weight_inherit(use, flow);
    }
    return TN_OK;
}

const char *const tn_layer_what_names[] = {"rank", "folding", "format", "flow", NULL};

static const tn_field override_fields[] = {
    TN_KEY(COUNT_LIST, tn_override, rank, "one rank for every bond, or all ranks, as of a weight", TN_FROM(1),
           TN_SEEN(tn_override, rank_at)),
    TN_KEY(TEXT, tn_override, folding, "factors of rows and columns: \"12x8x8,8x8x12\"",
           TN_SEEN(tn_override, folding_at)),
    TN_KEY(CHOICE, tn_override, format, "how the matrix is kept", TN_ONE_OF(tn_format_names),
           TN_SEEN(tn_override, format_at)),
    TN_KEY(CHOICE, tn_override, flow, "contraction flow", TN_ONE_OF(tn_flow_names),
           TN_SEEN(tn_override, flow_at)),
};
const tn_schema tn_override_schema = TN_SCHEMA("override", tn_override, override_fields);

/* ---- names ---- */

tn_status tn_layer_key(const char *key, tn_arena *arena, bool *found, const char **pattern,
                       tn_layer_what *what, tn_error *error) {
    static const char prefix[] = "layers.";
    const size_t before = sizeof prefix - 1, end = strcspn(key, "=");
    size_t dot = end;
    *found = false;
    if (strncmp(key, prefix, before) != 0) return TN_OK;
    while (dot > before && key[dot - 1] != '.') dot--;
    if (dot < before + 2) return TN_OK; /* no pattern between the points */
    for (int i = 0; tn_layer_what_names[i]; i++) {
        if (strlen(tn_layer_what_names[i]) != end - dot ||
            strncmp(tn_layer_what_names[i], key + dot, end - dot) != 0)
            continue;
        *what = (tn_layer_what)i;
        *found = true;
        return tn_arena_copy_text(arena, key + before, dot - 1 - before, pattern, error);
    }
    return TN_OK;
}

static tn_status none_matches(const tn_model *model, const char *pattern, bool weightless,
                              tn_position position, tn_arena *arena, tn_error *error) {
    const char **names;
    size_t count = 0;
    if (weightless)
        return tn_fail_at(error, TN_INPUT, position,
                          "layer \"%.100s\" names no entry of `weights`, so it has no rank, folding, format "
                          "or flow to choose; give it one",
                          pattern);
    TN_TRY(TN_NEW(arena, model->layers, &names, error));
    for (uint32_t i = 0; i < model->layers; i++)
        if (model->layer[i].weight != TN_NONE) names[count++] = model->layer[i].name;
    char list[256];
    const char *near = tn_suggest(pattern, names, count);
    return tn_fail_at(error, TN_INPUT, position, "no layer is called \"%.100s\"; %s%.200s%s", pattern,
                      near ? "did you mean \"" : "those with a weight are ",
                      near ? near : tn_name_list(names, count, list, sizeof list), near ? "\"?" : "");
}

tn_status tn_layers_match(const tn_model *model, const char *pattern, tn_position position, tn_arena *arena,
                          size_t **layer, size_t *count, tn_error *error) {
    bool weightless = false;
    *count = 0;
    TN_TRY(TN_NEW(arena, model->layers, layer, error));
    for (uint32_t i = 0; i < model->layers; i++) {
        if (fnmatch(pattern, model->layer[i].name, 0) != 0) continue;
        if (model->layer[i].weight != TN_NONE)
            (*layer)[(*count)++] = i;
        else
            weightless = true;
    }
    return *count ? TN_OK : none_matches(model, pattern, weightless, position, arena, error);
}

/* ---- entries of their own ---- */

static tn_status make_room(tn_model *model, tn_arena *arena, tn_error *error) {
    tn_weight_use *grown;
    size_t capacity = model->weights + model->layers;
    if (model->split_room > model->weights) return TN_OK;
    TN_TRY(TN_NEW(arena, capacity, &grown, error));
    if (model->weights) memcpy(grown, model->weight, model->weights * sizeof *grown);
    TN_TRY(tn_name_index_new(&model->weight_of, capacity, arena, error));
    for (size_t i = 0; i < model->weights; i++)
        tn_name_index_add(&model->weight_of, grown[i].entry.name, (uint32_t)i);
    model->weight = grown;
    model->split_room = capacity;
    return TN_OK;
}

tn_status tn_model_split(tn_model *model, size_t layer, tn_arena *arena, size_t *weight, tn_error *error) {
    tn_layer *this_layer = &model->layer[layer];
    *weight = this_layer->weight;
    if (model->weight[this_layer->weight].is_copy) return TN_OK;
    TN_TRY(make_room(model, arena, error));
    tn_weight_use *made = &model->weight[model->weights];
    *made = model->weight[this_layer->weight];
    made->entry.name = this_layer->name;
    made->base = this_layer->weight;
    made->is_copy = true;
    made->first_layer = (uint32_t)layer;
    tn_name_index_add(&model->weight_of, this_layer->name, (uint32_t)model->weights);
    this_layer->weight = (uint32_t)model->weights;
    *weight = model->weights++;
    return TN_OK;
}

tn_status tn_model_split_like(tn_model *model, const tn_model *like, tn_arena *arena, tn_error *error) {
    for (size_t i = model->weights; i < like->weights; i++) {
        const char *name = like->weight[i].entry.name;
        uint32_t layer = 0;
        size_t weight;
        while (layer < model->layers && strcmp(model->layer[layer].name, name) != 0) layer++;
        if (layer == model->layers || model->layer[layer].weight == TN_NONE)
            return tn_fail(error, TN_INPUT, "the model has no layer \"%.100s\" with a weight any more", name);
        TN_TRY(tn_model_split(model, layer, arena, &weight, error));
    }
    return TN_OK;
}

size_t tn_model_weight_base(const tn_model *model, size_t weight) {
    return model->weight[weight].is_copy ? model->weight[weight].base : weight;
}

/* ---- overrides ---- */

static tn_status refuse(tn_status status, const tn_override *override, tn_position position,
                        tn_error *error) {
    if (status == TN_OK || !error || error->line) return status;
    tn_error why = *error;
    return tn_fail_at(error, status, position, "override of \"%.100s\": %.800s", override->name, why.message);
}

static tn_status set_folding(const tn_override *override, tn_weight *weight, tn_error *error) {
    tn_folding m, n;
    uint64_t product;
    const char *rest = tn_folding_read(override->folding, &m, &product);
    rest = rest && *rest == ',' ? tn_folding_read(rest + 1, &n, &product) : NULL;
    if (!rest || *rest || m.d != n.d)
        return tn_fail_at(error, TN_INPUT, override->folding_at,
                          "\"%.100s\" is no folding; write both sides with equally many factors, as "
                          "\"12x8x8,8x8x12\"",
                          override->folding);
    tn_weight_reshape(weight, weight->format, m.d, m.factor, n.factor);
    return TN_OK;
}

/* A new format or folding has other bonds, so the rank is spread anew: the given one, else the greatest there was. */
static tn_status set_ranks(const tn_override *override, uint64_t greatest, tn_weight *weight,
                           tn_error *error) {
    uint64_t rank = override->rank.count == 1 ? override->rank.item[0] : greatest;
    if (override->rank.count <= 1) return tn_weight_set_rank(weight, rank, error);
    if (override->rank.count > TN_RANKS_MOST)
        return tn_fail(error, TN_INPUT, "%zu ranks; give one, or the %" PRIu32 " of the format",
                       override->rank.count, tn_weight_rank_count(weight));
    weight->rank_count = (uint32_t) override->rank.count;
    memcpy(weight->rank, override->rank.item, override->rank.count * sizeof *weight->rank);
    return tn_weight_check(weight, error);
}

static tn_status apply(const tn_override *override, tn_flow_name flow, tn_weight_use *use, tn_error *error) {
    tn_weight *weight = &use->entry.weight;
    const uint64_t greatest = tn_weight_greatest_rank(weight);
    if (override->format_at.line)
        tn_weight_reshape(weight, (tn_format) override->format, weight->d, weight->m, weight->n);
    if (override->folding_at.line) TN_TRY(set_folding(override, weight, error));
    if (weight->d == 0 && weight->format != TN_DENSE)
        return tn_fail_at(error, TN_INPUT, override->format_at.line ? override->format_at : override->rank_at,
                          "weight \"%.100s\" has no folding; format %s needs one: folding: \"12x8x8,8x8x12\"",
                          use->entry.name, tn_format_names[weight->format]);
    if (override->format_at.line || override->folding_at.line || override->rank_at.line)
        if (weight->format != TN_DENSE)
            TN_TRY(refuse(set_ranks(override, greatest, weight, error), override,
                          override->rank_at.line ? override->rank_at : override->folding_at, error));
    if (override->flow_at.line) {
        use->entry.flow = (tn_flow_name) override->flow;
        use->flow_at = override->flow_at;
        use->own_flow = true;
    } else if (!use->own_flow) {
        use->entry.flow = named_weight_inherit(use, flow);
    }
    if (override->folding_at.line) use->m_at = use->n_at = use->position = override->folding_at;
    return TN_OK;
}

tn_status tn_overrides_apply(const tn_item_list *overrides, tn_flow_name flow, tn_arena *arena,
                             tn_model *model, tn_error *error) {
    const tn_override *override = overrides->item;
    for (size_t i = 0; i < overrides->count; i++, override++) {
        size_t *layer, count, weight;
        tn_position position = override->rank_at.line      ? override->rank_at
                               : override->folding_at.line ? override->folding_at
                               : override->format_at.line  ? override->format_at
                                                           : override->flow_at;
        TN_TRY(tn_layers_match(model, override->name, position, arena, &layer, &count, error));
        for (size_t k = 0; k < count; k++) {
            TN_TRY(tn_model_split(model, layer[k], arena, &weight, error));
            TN_TRY(apply(override, flow, &model->weight[weight], error));
            TN_TRY(tn_named_weight_check(model, &model->weight[weight], error));
        }
    }
    return TN_OK;
}
