#include "model/layer_weight.h"

#include "base/suggest.h"
#include "model/graph.h"
#include "tensor/folding.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

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

static tn_status none_matches(const tn_model *model, const char *pattern, bool weightless, tn_position at,
                              tn_arena *arena, tn_error *error) {
    const char **names;
    size_t count = 0;
    if (weightless)
        return tn_fail_at(error, TN_INPUT, at,
                          "layer \"%.100s\" names no entry of `weights`, so it has no rank, folding, format "
                          "or flow to choose; give it one",
                          pattern);
    TN_TRY(tn_arena_alloc(arena, model->layers, sizeof *names, &names, error));
    for (uint32_t i = 0; i < model->layers; i++)
        if (model->layer[i].weight != TN_NONE) names[count++] = model->layer[i].name;
    char list[256];
    const char *near = tn_suggest(pattern, names, count);
    return tn_fail_at(error, TN_INPUT, at, "no layer is called \"%.100s\"; %s%.200s%s", pattern,
                      near ? "did you mean \"" : "those with a weight are ",
                      near ? near : tn_name_list(names, count, list, sizeof list), near ? "\"?" : "");
}

tn_status tn_layers_match(const tn_model *model, const char *pattern, tn_position at, tn_arena *arena,
                          size_t **layer, size_t *count, tn_error *error) {
    bool weightless = false;
    *count = 0;
    TN_TRY(tn_arena_alloc(arena, model->layers, sizeof **layer, layer, error));
    for (uint32_t i = 0; i < model->layers; i++) {
        if (fnmatch(pattern, model->layer[i].name, 0) != 0) continue;
        if (model->layer[i].weight != TN_NONE)
            (*layer)[(*count)++] = i;
        else
            weightless = true;
    }
    return *count ? TN_OK : none_matches(model, pattern, weightless, at, arena, error);
}

/* ---- entries of their own ---- */

static tn_status make_room(tn_model *model, tn_arena *arena, tn_error *error) {
    tn_weight_use *grown;
    size_t capacity = model->weights + model->layers;
    if (model->split_room > model->weights) return TN_OK;
    TN_TRY(tn_arena_alloc(arena, capacity, sizeof *grown, &grown, error));
    if (model->weights) memcpy(grown, model->weight, model->weights * sizeof *grown);
    TN_TRY(tn_name_index_new(&model->weight_of, capacity, arena, error));
    for (size_t i = 0; i < model->weights; i++)
        tn_name_index_add(&model->weight_of, grown[i].entry.name, (uint32_t)i);
    model->weight = grown;
    model->split_room = capacity;
    return TN_OK;
}

tn_status tn_model_split(tn_model *model, size_t layer, tn_arena *arena, size_t *weight, tn_error *error) {
    tn_layer *of = &model->layer[layer];
    *weight = of->weight;
    if (model->weight[of->weight].is_copy) return TN_OK;
    TN_TRY(make_room(model, arena, error));
    tn_weight_use *made = &model->weight[model->weights];
    *made = model->weight[of->weight];
    made->entry.name = of->name;
    made->base = of->weight;
    made->is_copy = true;
    made->first_layer = (uint32_t)layer;
    tn_name_index_add(&model->weight_of, of->name, (uint32_t)model->weights);
    of->weight = (uint32_t)model->weights;
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

static uint64_t greatest_rank(const tn_weight *weight) {
    uint64_t greatest = 1;
    for (uint32_t i = 0; i < weight->rank_count; i++)
        if (weight->rank[i] > greatest) greatest = weight->rank[i];
    return greatest;
}

static tn_status refuse(tn_status status, const tn_override *of, tn_position at, tn_error *error) {
    if (status == TN_OK || !error || error->line) return status;
    tn_error why = *error;
    return tn_fail_at(error, status, at, "override of \"%.100s\": %.800s", of->name, why.message);
}

static tn_status set_folding(const tn_override *of, tn_weight *weight, tn_error *error) {
    tn_folding m, n;
    uint64_t product;
    const char *rest = tn_folding_read(of->folding, &m, &product);
    rest = rest && *rest == ',' ? tn_folding_read(rest + 1, &n, &product) : NULL;
    if (!rest || *rest || m.d != n.d)
        return tn_fail_at(error, TN_INPUT, of->folding_at,
                          "\"%.100s\" is no folding; write both sides with equally many factors, as "
                          "\"12x8x8,8x8x12\"",
                          of->folding);
    weight->d = m.d;
    memcpy(weight->m, m.factor, sizeof m.factor);
    memcpy(weight->n, n.factor, sizeof n.factor);
    return TN_OK;
}

/* A new format or folding has other bonds, so the rank is spread anew: the given one, else the greatest there was. */
static tn_status set_ranks(const tn_override *of, tn_weight *weight, tn_error *error) {
    uint64_t rank = of->rank.count == 1 ? of->rank.item[0] : greatest_rank(weight);
    if (of->rank.count <= 1) return tn_weight_set_rank(weight, rank, error);
    if (of->rank.count > TN_RANKS_MOST)
        return tn_fail(error, TN_INPUT, "%zu ranks; give one, or the %" PRIu32 " of the format",
                       of->rank.count, tn_weight_rank_count(weight));
    weight->rank_count = (uint32_t)of->rank.count;
    memcpy(weight->rank, of->rank.item, of->rank.count * sizeof *weight->rank);
    return tn_weight_check(weight, error);
}

static tn_status apply(const tn_override *of, tn_flow_name flow, tn_weight_use *use, tn_error *error) {
    tn_weight *weight = &use->entry.weight;
    if (of->format_at.line) weight->format = (tn_format)of->format;
    if (of->folding_at.line) TN_TRY(set_folding(of, weight, error));
    if (weight->d == 0 && weight->format != TN_DENSE)
        return tn_fail_at(error, TN_INPUT, of->format_at.line ? of->format_at : of->rank_at,
                          "weight \"%.100s\" has no folding; format %s needs one: folding: \"12x8x8,8x8x12\"",
                          use->entry.name, tn_format_names[weight->format]);
    if (of->format_at.line || of->folding_at.line || of->rank_at.line)
        if (weight->format != TN_DENSE)
            TN_TRY(refuse(set_ranks(of, weight, error), of, of->rank_at.line ? of->rank_at : of->folding_at,
                          error));
    if (of->flow_at.line) {
        use->entry.flow = (tn_flow_name)of->flow;
        use->flow_at = of->flow_at;
        use->own_flow = true;
    } else if (!use->own_flow) {
        use->entry.flow = tn_named_weight_inherit(use, flow);
    }
    if (of->folding_at.line) use->m_at = use->n_at = use->at = of->folding_at;
    return TN_OK;
}

tn_status tn_overrides_apply(const tn_item_list *overrides, tn_flow_name flow, tn_arena *arena,
                             tn_model *model, tn_error *error) {
    const tn_override *of = overrides->item;
    for (size_t i = 0; i < overrides->count; i++, of++) {
        size_t *layer, count, weight;
        tn_position at = of->rank_at.line      ? of->rank_at
                         : of->folding_at.line ? of->folding_at
                         : of->format_at.line  ? of->format_at
                                               : of->flow_at;
        TN_TRY(tn_layers_match(model, of->name, at, arena, &layer, &count, error));
        for (size_t k = 0; k < count; k++) {
            TN_TRY(tn_model_split(model, layer[k], arena, &weight, error));
            TN_TRY(apply(of, flow, &model->weight[weight], error));
            TN_TRY(tn_named_weight_check(model, &model->weight[weight], error));
        }
    }
    return TN_OK;
}
