#include "model/graph.h"

#include "base/checked.h"
#include "base/name_index.h"
#include "model/composite.h"

#include <inttypes.h>
#include <string.h>

enum { LAYERS_MOST = 20000 };

/* The names that a layer may take as input: those of its own list that came before it, `entry` inside a
 * block, then those of the list around. */
typedef struct scope {
    const struct scope *outer;
    const tn_layer_entry *entry; /* the whole list, */
    size_t entries, index;       /* of which item `index` is being read */
    uint32_t *output;            /* [entries] the layer that an earlier entry gives */
    uint32_t preceding;          /* what stands before the item: the layer it takes by default, or TN_NONE */
    uint32_t enters;             /* what enters the block, or TN_NONE */
    const char *prefix;          /* "encoder1.", or "" */
    const char *previous;        /* prefix of the repetition before; NULL: there is none */
    uint32_t policy;             /* tn_activation_policy of its layers */
    uint64_t repetition, repeat; /* of the block, from 0; at the top 0 of 1 */
    bool in_block;               /* else its layers are of no repetition */
} scope;

typedef struct grapher {
    tn_arena *arena;
    tn_error *error;
    tn_model *model;
    uint32_t capacity;
    uint32_t blocks, repetitions; /* so far */
} grapher;

static const char ENTRY[] = "entry";
static const char PREVIOUS[] = "previous.";

static tn_status decode_entries(grapher *g, const tn_yaml *node, const char *owner,
                                const tn_layer_entry **entries) {
    if (node->kind != TN_YAML_SEQUENCE || node->count == 0)
        return tn_fail_at(g->error, TN_INPUT, node->position,
                          "\"layers\" of %s must be a list with at least one layer", owner);
    tn_layer_entry *list;
    tn_name_index names;
    TN_TRY(TN_NEW(g->arena, node->count, &list, g->error));
    TN_TRY(tn_name_index_new(&names, node->count, g->arena, g->error));
    for (size_t i = 0; i < node->count; i++) {
        TN_TRY(tn_layer_entry_decode(node->item[i], g->arena, &list[i], g->error));
        uint32_t first = tn_name_index_add(&names, list[i].name, (uint32_t)i);
        if (first != TN_NAME_NONE)
            return tn_fail_at(
                g->error, TN_INPUT, list[i].name_at,
                "layer name \"%.100s\" stands twice in this list, first in line %u; choose another",
                list[i].name, list[first].name_at.line);
        if (strcmp(list[i].name, ENTRY) == 0)
            return tn_fail_at(g->error, TN_INPUT, list[i].name_at,
                              "\"entry\" is what enters a block, not a layer name; choose another");
    }
    *entries = list;
    return TN_OK;
}

static tn_status unknown_input(grapher *g, const scope *context, const char *name, tn_position position) {
    size_t count = 0, most = 1;
    for (const scope *s = context; s; s = s->outer) most += s->index;
    const char **names;
    TN_TRY(TN_NEW(g->arena, most, &names, g->error));
    for (const scope *s = context; s; s = s->outer)
        for (size_t i = 0; i < s->index; i++) names[count++] = s->entry[i].name;
    if (context->outer) names[count++] = ENTRY;
    const char *near = tn_suggest(name, names, count);
    if (near)
        return tn_fail_at(g->error, TN_INPUT, position,
                          "no layer is called \"%.100s\" here; did you mean \"%.100s\"?", name, near);
    return tn_fail_at(g->error, TN_INPUT, position,
                      "no layer is called \"%.100s\" here; name an earlier layer or block%s", name,
                      context->outer ? ", or entry" : "");
}

static tn_status later_input(grapher *g, const scope *s, size_t i, const char *name, tn_position position) {
    if (i == s->index)
        return tn_fail_at(g->error, TN_INPUT, position,
                          "layer \"%.100s\" takes itself as input; name an earlier one", name);
    return tn_fail_at(
        g->error, TN_INPUT, position,
        "input \"%.100s\" comes later (line %u); layers take earlier ones, so that nothing runs in a "
        "circle",
        name, s->entry[i].position.line);
}

static uint32_t find_full_name(const tn_model *model, const char *name) {
    uint32_t i = 0;
    while (i < model->layers && strcmp(model->layer[i].name, name) != 0) i++;
    return i < model->layers ? i : TN_NONE;
}

/* "previous.LAYER" is what it was in the repetition before; in the first one, what enters the block. "encoder.LAYER" is
 * that of the block's last repetition. */
static tn_status resolve_full_name(grapher *g, const scope *context, const char *name, uint32_t *layer) {
    const char *dot = strchr(name, '.'), *full;
    *layer = TN_NONE;
    if (!dot) return TN_OK;
    *layer = find_full_name(g->model, name);
    if (*layer != TN_NONE) return TN_OK;
    if (context->outer && strncmp(name, PREVIOUS, sizeof PREVIOUS - 1) == 0) {
        bool known = false;
        for (size_t i = 0; i < context->entries; i++) known |= strcmp(context->entry[i].name, dot + 1) == 0;
        if (!known || (!context->previous && context->enters == TN_NONE)) return TN_OK;
        *layer = context->enters;
        if (!context->previous) return TN_OK;
        TN_TRY(tn_arena_format(g->arena, &full, g->error, "%s%s", context->previous, dot + 1));
        *layer = find_full_name(g->model, full);
        return TN_OK;
    }
    for (const scope *s = context; s; s = s->outer)
        for (size_t i = 0; i < s->index; i++) {
            if (!tn_layer_kind_is_block(s->entry[i].kind) ||
                strlen(s->entry[i].name) != (size_t)(dot - name) ||
                strncmp(s->entry[i].name, name, (size_t)(dot - name)) != 0)
                continue;
            TN_TRY(tn_arena_format(g->arena, &full, g->error, "%s%" PRIu64 "%s", s->entry[i].name,
                                   s->entry[i].repeat, dot));
            *layer = find_full_name(g->model, full);
            return TN_OK;
        }
    return TN_OK;
}

static tn_status resolve(grapher *g, const scope *context, const char *name, tn_position position,
                         uint32_t *layer) {
    if (context->outer && strcmp(name, ENTRY) == 0) {
        *layer = context->enters;
        if (*layer != TN_NONE) return TN_OK;
        return tn_fail_at(g->error, TN_INPUT, position,
                          "nothing enters this block; begin the model with an embedding or input layer");
    }
    for (const scope *s = context; s; s = s->outer)
        for (size_t i = 0; i < s->entries; i++) {
            if (strcmp(s->entry[i].name, name) != 0) continue;
            if (i >= s->index) return later_input(g, s, i, name, position);
            *layer = s->output[i];
            return TN_OK;
        }
    TN_TRY(resolve_full_name(g, context, name, layer));
    return *layer == TN_NONE ? unknown_input(g, context, name, position) : TN_OK;
}

static tn_status refuse_loss(grapher *g, uint32_t layer, tn_position position) {
    const tn_layer *source = &g->model->layer[layer];
    if (source->kind->family != TN_LAYER_LOSS) return TN_OK;
    return tn_fail_at(g->error, TN_INPUT, position,
                      "layer %.100s is a %s and gives nothing to take; name another under `input`",
                      source->name, source->kind->name);
}

static tn_status default_input(grapher *g, const scope *context, const tn_layer_entry *entry,
                               tn_layer *layer) {
    if (context->preceding == TN_NONE)
        return tn_fail_at(
            g->error, TN_INPUT, entry->position,
            "nothing comes before layer \"%.100s\"; begin the model with an embedding or input layer",
            entry->name);
    layer->input_count = 1;
    layer->input[0] = context->preceding;
    return refuse_loss(g, context->preceding, entry->position);
}

static tn_status take_inputs(grapher *g, const scope *context, const tn_layer_entry *entry, tn_layer *layer) {
    uint32_t count = entry->kind->inputs;
    if (count == 0) return TN_OK;
    if (!entry->input_at.line) return default_input(g, context, entry, layer);
    /* The first combine of a mixture of experts has nothing before it. */
    if (entry->kind == &tn_inner_kinds[TN_INNER_COMBINE] && entry->expert == 0) count--;
    if (entry->input.count != count)
        return tn_fail_at(g->error, TN_INPUT, entry->input_at,
                          "layer \"%.100s\" names %zu inputs; a layer of kind %s takes %" PRIu32, entry->name,
                          entry->input.count, entry->kind->name, count);
    layer->input_count = count;
    for (uint32_t i = 0; i < count; i++) {
        TN_TRY(resolve(g, context, entry->input.item[i], entry->input_at, &layer->input[i]));
        TN_TRY(refuse_loss(g, layer->input[i], entry->input_at));
    }
    return TN_OK;
}

/* What one token can't have by itself, with a cache of keys and values alone. */
static tn_status refuse_decoding(grapher *g, const tn_layer_entry *entry, const tn_layer *layer) {
    if (!tn_model_is_decoding(g->model)) return TN_OK;
    if (entry->kind->across_tokens)
        return tn_fail_at(
            g->error, TN_INPUT, entry->position,
            "layer \"%.100s\" of kind %s needs all tokens of an example, of which phase: decode has "
            "one; set phase: inference",
            entry->name, entry->kind->name);
    if (entry->kind->family != TN_LAYER_ATTENTION || layer->causal) return TN_OK;
    return tn_fail_at(
        g->error, TN_INPUT, entry->position,
        "layer \"%.100s\" attends to later tokens, which phase: decode has not yet; set causal: true, "
        "or phase: inference",
        entry->name);
}

/* Output shape and matrix size. */
static tn_status shape(grapher *g, const tn_layer_entry *entry, tn_layer *layer) {
    const tn_layer *input[TN_LAYER_INPUTS_MOST] = {0};
    layer->learns = entry->kind->has_parameters;
    for (uint32_t i = 0; i < layer->input_count; i++) {
        input[i] = &g->model->layer[layer->input[i]];
        layer->learns |= input[i]->learns;
    }
    layer->sequence = input[0]                         ? input[0]->sequence
                      : tn_model_is_decoding(g->model) ? 1
                                                       : g->model->keys.sequence;
    layer->width = input[0] ? input[0]->width : entry->width;
    if (entry->kind->shape) TN_TRY(entry->kind->shape(entry, input, layer, g->error));
    return refuse_decoding(g, entry, layer);
}

static tn_status too_many_layers(grapher *g, tn_position position) {
    return tn_fail_at(g->error, TN_LIMIT, position, "more than %d layers with all repetitions; use fewer",
                      LAYERS_MOST);
}

static tn_status make_room(grapher *g, tn_position position) {
    tn_model *model = g->model;
    if (model->layers < g->capacity) return TN_OK;
    if (model->layers == LAYERS_MOST) return too_many_layers(g, position);
    tn_layer *grown;
    uint32_t capacity = g->capacity ? 2 * g->capacity : 64;
    if (capacity > LAYERS_MOST) capacity = LAYERS_MOST;
    TN_TRY(TN_NEW(g->arena, capacity, &grown, g->error));
    if (model->layers) memcpy(grown, model->layer, model->layers * sizeof *grown);
    model->layer = grown;
    g->capacity = capacity;
    return TN_OK;
}

/* The layer's entry of `weights`: the one it names, or the one of this repetition. */
static tn_status take_weight(grapher *g, const scope *context, const tn_layer_entry *entry) {
    const tn_text_list *named = &entry->weight;
    if (!entry->weight_at.line) return TN_OK;
    if (named->count != 1 && named->count != context->repeat)
        return tn_fail_at(g->error, TN_INPUT, entry->weight_at,
                          "layer \"%.100s\" names %zu weights; give one, or one for each of the %" PRIu64
                          " repetitions of its block",
                          entry->name, named->count, context->repeat);
    return tn_named_weight_use(g->model, g->model->layers,
                               named->item[named->count == 1 ? 0 : context->repetition], entry->weight_at,
                               g->arena, g->error);
}

/* The embedding must have its table for itself, whole, and of the size that the layer needs. */
static tn_status take_table(grapher *g, const scope *context, const tn_layer_entry *entry) {
    tn_layer *layer = &g->model->layer[g->model->layers], *table;
    uint32_t index;
    if (!entry->tied_at.line) return TN_OK;
    if (entry->weight_at.line)
        return tn_fail_at(
            g->error, TN_INPUT, entry->weight_at,
            "layer \"%.100s\" is tied to %.100s and has no weight of its own; give one of the two",
            entry->name, entry->tied);
    TN_TRY(resolve(g, context, entry->tied, entry->tied_at, &index));
    table = &g->model->layer[index];
    if (table->kind->family != TN_LAYER_EMBEDDING)
        return tn_fail_at(g->error, TN_INPUT, entry->tied_at,
                          "layer %.100s is of kind %s; only the table of an embedding can be tied to",
                          table->name, table->kind->name);
    if (table->weight != TN_NONE)
        return tn_fail_at(
            g->error, TN_INPUT, entry->tied_at,
            "the table of %.100s names a weight; one that layer \"%.100s\" is tied to must be dense, "
            "without a weight",
            table->name, entry->name);
    if (table->tied != TN_NONE)
        return tn_fail_at(g->error, TN_INPUT, entry->tied_at,
                          "layer %.100s is tied to the table of %.100s already; one layer can be",
                          g->model->layer[table->tied].name, table->name);
    if (table->rows != layer->rows || table->columns != layer->columns)
        return tn_fail_at(g->error, TN_INPUT, entry->tied_at,
                          "the table of %.100s is %" PRIu64 " x %" PRIu64 ", layer \"%.100s\" has %" PRIu64
                          " outputs and %" PRIu64 " inputs; they must be equal",
                          table->name, table->rows, table->columns, entry->name, layer->rows, layer->columns);
    layer->tied = index;
    table->tied = g->model->layers;
    return TN_OK;
}

static tn_status add_layer(grapher *g, const scope *context, const tn_layer_entry *entry, uint32_t *output) {
    tn_model *model = g->model;
    TN_TRY(make_room(g, entry->position));
    tn_layer *layer = &model->layer[model->layers];
    *layer = (tn_layer){.kind = entry->kind,
                        .weight = TN_NONE,
                        .tied = TN_NONE,
                        .block = context->in_block ? g->blocks : TN_NONE,
                        .repetition = context->in_block ? g->repetitions : TN_NONE,
                        .activations = context->policy,
                        .position = entry->position};
    TN_TRY(tn_arena_format(g->arena, &layer->name, g->error, "%s%s", context->prefix, entry->name));
    TN_TRY(take_inputs(g, context, entry, layer));
    TN_TRY(shape(g, entry, layer));
    if (!tn_mul(model->keys.batch, layer->sequence, &layer->tokens))
        return tn_fail_at(g->error, TN_OVERFLOW, entry->position,
                          "batch %" PRIu64 " x sequence %" PRIu64 " is more than 2^64; choose smaller ones",
                          model->keys.batch, layer->sequence);
    TN_TRY(take_table(g, context, entry));
    TN_TRY(take_weight(g, context, entry));
    *output = model->layers++;
    return TN_OK;
}

/* The layers that a composite stands for; *output is the last of them. */
static tn_status add_composite(grapher *g, const scope *around, const tn_layer_entry *entry,
                               uint32_t *output) {
    tn_layer taken = {0};
    tn_layer_entry own = *entry, *inner;
    scope inside = {.outer = around, .repeat = 1, .policy = around->policy, .in_block = around->in_block};
    TN_TRY(take_inputs(g, around, entry, &taken));
    inside.enters = inside.preceding = taken.input[0];
    own.repetition = around->repetition;
    own.repetitions = around->repeat;
    TN_TRY(entry->kind->expand(&own, &g->model->layer[taken.input[0]], g->arena, &inner, &inside.entries,
                               g->error));
    inside.entry = inner;
    TN_TRY(TN_NEW(g->arena, inside.entries, &inside.output, g->error));
    TN_TRY(tn_arena_format(g->arena, &inside.prefix, g->error, "%s%s.", around->prefix, entry->name));
    for (; inside.index < inside.entries; inside.index++) {
        TN_TRY(add_layer(g, &inside, &inner[inside.index], &inside.output[inside.index]));
        inside.preceding = inside.output[inside.index];
    }
    *output = inside.preceding;
    return TN_OK;
}

static tn_status add_entry(grapher *g, const scope *context, const tn_layer_entry *entry, uint32_t *output) {
    return entry->kind->expand ? add_composite(g, context, entry, output)
                               : add_layer(g, context, entry, output);
}

/* One repetition of a block: its layers behind what enters it; *output is its last layer. */
static tn_status add_repetition(grapher *g, const scope *around, scope *inside, uint32_t enters,
                                uint32_t *output) {
    inside->outer = around;
    inside->enters = inside->preceding = enters;
    for (inside->index = 0; inside->index < inside->entries; inside->index++) {
        const tn_layer_entry *entry = &inside->entry[inside->index];
        if (tn_layer_kind_is_block(entry->kind))
            return tn_fail_at(g->error, TN_INPUT, entry->position,
                              "block \"%.100s\" inside a block; write its layers out", entry->name);
        TN_TRY(add_entry(g, inside, entry, &inside->output[inside->index]));
        inside->preceding = inside->output[inside->index];
    }
    *output = inside->preceding;
    return TN_OK;
}

static tn_status add_block(grapher *g, const scope *around, const tn_layer_entry *block, uint32_t *output) {
    scope inside = {.policy = block->activations.policy_at.line ? block->activations.policy : around->policy,
                    .in_block = true};
    if (inside.policy == TN_ACTIVATIONS_OPTIMAL && !g->model->keys.activations.budget_at.line)
        return tn_fail_at(
            g->error, TN_INPUT, block->activations.policy_at,
            "policy optimal needs the model's activations.budget_bytes, the most that may be kept");
    TN_TRY(decode_entries(g, block->layers, "a block", &inside.entry));
    inside.entries = block->layers->count;
    TN_TRY(TN_NEW(g->arena, inside.entries, &inside.output, g->error));
    uint32_t enters = around->preceding;
    inside.repeat = block->repeat;
    for (uint64_t i = 0; i < block->repeat; i++) {
        inside.repetition = i;
        inside.previous = i > 0 ? inside.prefix : NULL;
        TN_TRY(tn_arena_format(g->arena, &inside.prefix, g->error, "%s%" PRIu64 ".", block->name, i + 1));
        TN_TRY(add_repetition(g, around, &inside, enters, output));
        g->repetitions++;
        enters = *output;
    }
    g->blocks++;
    return TN_OK;
}

/* Every layer must lead to a loss, or nothing would train it. */
static tn_status refuse_dead_ends(grapher *g) {
    const tn_model *model = g->model;
    bool *leads;
    TN_TRY(TN_NEW(g->arena, model->layers, &leads, g->error));
    for (uint32_t i = model->layers; i-- > 0;) {
        const tn_layer *layer = &model->layer[i];
        leads[i] |= layer->kind->family == TN_LAYER_LOSS;
        if (!leads[i])
            return tn_fail_at(
                g->error, TN_INPUT, layer->position,
                "layer %.100s leads to no cross-entropy layer; take it as input further on or remove it",
                layer->name);
        for (uint32_t k = 0; k < layer->input_count; k++) leads[layer->input[k]] = true;
    }
    return TN_OK;
}

tn_status tn_graph_decode(const tn_yaml *layers, tn_arena *arena, tn_model *model, tn_error *error) {
    grapher g = {.arena = arena, .error = error, .model = model};
    scope top = {.prefix = "",
                 .preceding = TN_NONE,
                 .enters = TN_NONE,
                 .repeat = 1,
                 .policy = model->keys.activations.policy};
    TN_TRY(decode_entries(&g, layers, "the model", &top.entry));
    top.entries = layers->count;
    TN_TRY(TN_NEW(arena, top.entries, &top.output, error));
    for (top.index = 0; top.index < top.entries; top.index++) {
        const tn_layer_entry *entry = &top.entry[top.index];
        uint32_t *output = &top.output[top.index];
        TN_TRY(tn_layer_kind_is_block(entry->kind) ? add_block(&g, &top, entry, output)
                                                   : add_entry(&g, &top, entry, output));
        top.preceding = *output;
    }
    return refuse_dead_ends(&g);
}
