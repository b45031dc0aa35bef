/* Token and head pruning: the first attention is of all tokens and heads; of the tokens a share stays for every later layer,
 * those that it attended to most, and of the heads a share for every later attention, those that gave most. Wang, Zhang, Han,
 * SpAtten, HPCA 2021. With one share for all layers what is chosen once stays chosen, as what is pruned does not return.
 *
 * Behind the first attention the list is that of the model with so many tokens less; look-ups take the rows that stay out of
 * what was made of all tokens. Products of attention see the heads that stay side by side, and a look-up behind them puts what
 * they give into its place, with zeros for the others. Importances are summed, and the greatest found, by operations of their
 * own, whose comparisons are the mean of quick selection.
 */
#include "base/checked.h"
#include "model/technique.h"
#include "step/recompute.h"
#include "step/transformation.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Early exit: a share of the inputs leaves behind each repetition of the blocks, so that later ones run for the rest
 * alone. At each such exit that some pass, what stands behind the blocks runs for all that come to it, and the entropy of
 * its answers decides who leaves; at the last one it runs once more and nothing is decided. With a deadline the clock
 * falls to what is left to do, and the voltage with it (price/energy.h). Tambe et al., EdgeBERT, MICRO 2021.
 *
 * Layers are the trunk, the blocks with what stands before and between them, or heads, what stands behind them. Counts are
 * those of the mean input; the list of one exit (model/model.h, sorts) is that of an input which leaves there.
 */

static bool early_exit_wanted(const tn_model *model) {
    return model->keys.exit.count > 0 || model->keys.dvfs.deadline_us > 0;
}

/* Shares as whole numbers of this, so that counts stay whole. */
static const uint64_t PARTS = 1000000;

typedef struct exits {
    tn_builder *b;
    uint64_t *reach;      /* [exits]: parts of the inputs that come to it */
    bool *decides;        /* [exits]: some leave there and some pass */
    uint32_t count, last; /* exits; the last one of this list */
    uint32_t *stage;      /* [layers]: the repetition whose inputs run it; of layers before the blocks 0 */
    bool *is_head;        /* [layers] */
    uint32_t *copy;       /* [arrays]: of a head's array at the exit at hand, TN_NONE until it is there */
    uint32_t arrays;
    const tn_operation *earlier;
    uint32_t operations;
} exits;

static tn_status find_shares(exits *x) {
    const tn_model *model = x->b->model;
    tn_error *error = x->b->error, unplaced = {0};
    double layers, left = 1;
    for (uint32_t i = 0; i < model->layers; i++)
        if (model->layer[i].repetition != TN_NONE && model->layer[i].repetition >= x->count)
            x->count = model->layer[i].repetition + 1;
    if (model->keys.exit.count != x->count)
        return tn_fail_at(error, TN_INPUT, model->keys.exit_at,
                          "\"exit\" has %zu shares; the blocks are repeated %" PRIu32
                          " times, and behind each a share leaves",
                          model->keys.exit.count, x->count);
    if (tn_early_exit_layers(model->keys.exit.item, model->keys.exit.count, &layers, &unplaced) != TN_OK)
        return tn_fail_at(error, TN_INPUT, model->keys.exit_at, "\"exit\": %.300s", unplaced.message);
    TN_TRY(TN_NEW(x->b->arena, x->count, &x->reach, error));
    TN_TRY(TN_NEW(x->b->arena, x->count, &x->decides, error));
    for (uint32_t e = 0; e < x->count; e++) {
        x->reach[e] = (uint64_t)llround(fmax(left, 0) * (double)PARTS);
        left -= model->keys.exit.item[e];
        x->decides[e] = model->keys.exit.item[e] > 0 && llround(left * (double)PARTS) > 0;
        if (x->reach[e] > 0) x->last = e;
    }
    if (x->b->sort != TN_SORT_MEAN) x->last = x->b->sort;
    return TN_OK;
}

/* Trunk and heads: a layer that leads to none of a block, and comes from one, is a head. */
static tn_status find_stages(exits *x) {
    const tn_model *model = x->b->model;
    bool *leads, *comes;
    TN_TRY(TN_NEW(x->b->arena, model->layers, &leads, x->b->error));
    TN_TRY(TN_NEW(x->b->arena, model->layers, &comes, x->b->error));
    TN_TRY(TN_NEW(x->b->arena, model->layers, &x->stage, x->b->error));
    TN_TRY(TN_NEW(x->b->arena, model->layers, &x->is_head, x->b->error));
    for (uint32_t i = model->layers; i-- > 0;) {
        const tn_layer *layer = &model->layer[i];
        leads[i] |= layer->repetition != TN_NONE;
        for (uint32_t k = 0; leads[i] && k < layer->input_count; k++) leads[layer->input[k]] = true;
    }
    for (uint32_t i = 0; i < model->layers; i++) {
        const tn_layer *layer = &model->layer[i];
        for (uint32_t k = 0; k < layer->input_count; k++) {
            uint32_t start = layer->input[k],
                     next = x->stage[start] + (model->layer[start].repetition != TN_NONE);
            comes[i] |= comes[start];
            if (next > x->stage[i]) x->stage[i] = next;
        }
        x->is_head[i] = comes[i] && !leads[i];
        if (layer->repetition == TN_NONE) continue;
        comes[i] = true;
        x->stage[i] = layer->repetition;
    }
    return TN_OK;
}

/* What a layer of a later repetition gives is there what the same layer of the last repetition that runs gave. */
static tn_status output_at_exit(exits *x, uint32_t array, uint32_t exit, uint32_t *at_exit) {
    const tn_model *model = x->b->model;
    const tn_step *step = x->b->step;
    uint32_t layer = step->array[array].layer, here = 0, there = 0;
    *at_exit = array;
    if (model->layer[layer].repetition == TN_NONE || model->layer[layer].repetition <= exit) return TN_OK;
    while (model->layer[here].repetition != exit) here++;
    while (model->layer[there].repetition != model->layer[layer].repetition) there++;
    uint32_t same = layer - there + here;
    if (model->layer[here].block != model->layer[layer].block || step->layer[layer].output != array)
        return tn_fail_at(
            x->b->error, TN_INPUT, model->keys.exit_at,
            "behind the blocks something is read that an input which leaves in another block, or "
            "earlier, has not; give \"exit\" 0 there");
    *at_exit = step->layer[same].output;
    return TN_OK;
}

/* The heads have arrays of their own at each exit; those of the last one are the list's. */
static tn_status array_at_exit(exits *x, uint32_t array, uint32_t exit, uint32_t *at_exit) {
    tn_builder *b = x->b;
    const tn_array this_array = b->step->array[array];
    *at_exit = array;
    if (tn_array_is_resident(&this_array)) return TN_OK;
    if (!x->is_head[this_array.layer]) return output_at_exit(x, array, exit, at_exit);
    if (exit == x->last) return TN_OK;
    if (x->copy[array] == TN_NONE) {
        b->layer_index = this_array.layer;
        TN_TRY(tn_builder_array(b, this_array.part, this_array.number, this_array.role, this_array.elements,
                                &x->copy[array]));
        b->step->array[x->copy[array]].exit = exit + 1;
    }
    *at_exit = x->copy[array];
    return TN_OK;
}

/* As often as inputs come to that exit; an operation that runs for none is left out. */
static tn_status keep(exits *x, const tn_operation *operation, uint32_t exit) {
    tn_operation o = *operation;
    if (x->b->sort == TN_SORT_MEAN && x->reach[exit] < PARTS) {
        o.times = o.times > 0 ? o.times * x->reach[exit] / o.of_times : x->reach[exit];
        o.of_times = PARTS;
        if (o.times == 0) return TN_OK;
    }
    return tn_builder_keep(x->b, &o);
}

/* Of the answers of every loss, one number: the mean over its rows. */
static tn_status add_entropies(exits *x, uint32_t exit) {
    tn_builder *b = x->b;
    for (uint32_t i = 0; i < b->model->layers; i++) {
        const tn_layer *layer = &b->model->layer[i];
        uint32_t logits, entropy;
        if (layer->kind->family != TN_LAYER_LOSS) continue;
        TN_TRY(array_at_exit(x, b->step->layer[layer->input[0]].output, exit, &logits));
        b->layer_index = i;
        TN_TRY(tn_builder_array(b, TN_PART_ENTROPY, 0, TN_ARRAY_ACTIVATION, 1, &entropy));
        b->step->array[entropy].exit = exit + 1;
        uint64_t outputs = b->model->layer[layer->input[0]].width;
        TN_TRY(keep(x,
                    &(tn_operation){.kind = TN_OP_ENTROPY,
                                    .phase = TN_FORWARD,
                                    .layer = i,
                                    .batch = 1,
                                    .rows = b->step->array[logits].elements / outputs,
                                    .reduction = 1,
                                    .columns = outputs,
                                    .read_count = 1,
                                    .reads = {logits},
                                    .write_count = 1,
                                    .writes = {entropy}},
                    exit));
    }
    return TN_OK;
}

/* What stands behind the blocks, behind repetition `exit`. */
static tn_status add_heads(exits *x, uint32_t exit) {
    if (exit != x->last && !x->decides[exit]) return TN_OK;
    for (uint32_t a = 0; a < x->arrays; a++) x->copy[a] = TN_NONE;
    for (uint32_t i = 0; i < x->operations; i++) {
        tn_operation o = x->earlier[i];
        if (!x->is_head[o.layer]) continue;
        for (uint32_t k = 0; k < o.read_count; k++) TN_TRY(array_at_exit(x, o.reads[k], exit, &o.reads[k]));
        for (uint32_t k = 0; k < o.write_count; k++)
            TN_TRY(array_at_exit(x, o.writes[k], exit, &o.writes[k]));
        TN_TRY(keep(x, &o, exit));
    }
    return x->decides[exit] ? add_entropies(x, exit) : TN_OK;
}

static tn_status early_exit_apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    b->step->deadline_us = b->model->keys.dvfs.deadline_us;
    if (b->model->keys.exit.count == 0) {
        for (uint32_t i = 0; i < operations; i++) TN_TRY(tn_builder_keep(b, &earlier[i]));
        return TN_OK;
    }
    if (b->step->decoding)
        return tn_fail_at(b->error, TN_INPUT, b->model->keys.exit_at,
                          "\"exit\" would leave later blocks without keys and values of the token, which "
                          "phase: decode reads for the next; leave it out");
    exits x = {.b = b, .earlier = earlier, .operations = operations, .arrays = b->step->arrays};
    TN_TRY(find_shares(&x));
    TN_TRY(find_stages(&x));
    TN_TRY(TN_NEW(b->arena, x.arrays, &x.copy, b->error));
    uint32_t exit = 0; /* whose heads come next */
    for (uint32_t i = 0; i < operations; i++) {
        uint32_t stage = x.stage[earlier[i].layer];
        if (x.is_head[earlier[i].layer] || stage > x.last) continue;
        for (; exit < stage; exit++) TN_TRY(add_heads(&x, exit));
        TN_TRY(keep(&x, &earlier[i], stage));
    }
    for (; exit <= x.last; exit++) TN_TRY(add_heads(&x, exit));
    return tn_builder_close_ranks(b, true);
}

const tn_transformation tn_early_exit = {
    .name = "early-exit",
    .keys = "exit, dvfs",
    .source = "Tambe et al., EdgeBERT, MICRO 2021",
    .needs = "phase: inference",
    .changes = "how often each repetition of a block runs for a mean input; what stands behind the blocks, "
               "and an entropy, at "
               "each exit; with dvfs clock and voltage",
    .inference_only = true,
    .wanted = early_exit_wanted,
    .apply = early_exit_apply,
};

typedef struct pruning {
    tn_builder *b;
    tn_step shorter;                      /* of the model with the tokens that stay */
    uint32_t first;                       /* layer behind the first attention */
    uint64_t tokens;                      /* of an example that stay */
    uint32_t chosen_tokens, chosen_heads; /* arrays of their places; TN_NONE: all stay */
    uint32_t *array_of;                   /* [arrays of shorter] in the list that is written, or TN_NONE */
} pruning;

static bool wanted(const tn_model *model) {
    return model->keys.pruning.tokens < 1 || model->keys.pruning.heads < 1;
}

static bool is_attention(const tn_layer *layer) {
    return layer->kind->family == TN_LAYER_ATTENTION;
}

static tn_status add_gather(pruning *p, uint32_t layer, uint32_t begin, uint32_t end, uint64_t rows,
                            uint64_t columns, const tn_gather *how) {
    tn_gather *made;
    TN_TRY(TN_NEW(p->b->arena, 1, &made, p->b->error));
    *made = *how;
    return tn_builder_keep(
        p->b, &(tn_operation){.kind = TN_OP_LOOKUP,
                              .phase = TN_FORWARD,
                              .layer = layer,
                              .gather = made,
                              .batch = 1,
                              .rows = rows,
                              .reduction = 1,
                              .columns = columns,
                              .read_count = 2,
                              .reads = {begin, how->heads > 1 ? p->chosen_heads : p->chosen_tokens},
                              .write_count = 1,
                              .writes = {end}});
}

/* What a later layer reads: of shorter's own layers their arrays, of those up to the first attention the rows that
 * stay. The look-up stands before the layer that asks first. */
static tn_status array_for(pruning *p, uint32_t array, uint32_t layer, uint32_t *found) {
    tn_builder *b = p->b;
    const tn_array *this_array = &p->shorter.array[array];
    *found = p->array_of[array];
    if (*found != TN_NONE) return TN_OK;
    uint32_t start = b->step->layer[this_array->layer].output;
    const tn_layer *giver = &b->model->layer[this_array->layer];
    *found = start;
    if (giver->sequence == 1 || p->tokens == giver->sequence) {
        p->array_of[array] = start;
        return TN_OK;
    }
    const tn_gather how = {giver->sequence, p->tokens, 1, 1, false};
    b->layer_index = this_array->layer;
    TN_TRY(tn_builder_array(b, TN_PART_KEPT, 0, TN_ARRAY_ACTIVATION, this_array->elements, found));
    p->array_of[array] = *found;
    return add_gather(p, layer, start, *found, b->model->keys.batch * p->tokens, giver->width, &how);
}

/* Passes of a quick selection of `stay` of `count`, and of the filter behind it, in parts of PARTS. */
static uint64_t passes_of(uint64_t count, uint64_t stay) {
    return (uint64_t)llround((double)PARTS * (1 + tn_quick_select_comparisons(count, stay) / (double)count));
}

/* Of the `count` tokens or heads of an example those `stay` that the attention makes important: of rows x columns of what
 * it made. */
static tn_status choose(pruning *p, uint32_t layer, uint32_t array, uint64_t rows, uint64_t columns,
                        uint64_t count, uint64_t stay, uint32_t number, uint32_t *chosen) {
    tn_builder *b = p->b;
    const uint64_t examples = b->model->keys.batch;
    uint32_t importance;
    b->layer_index = layer;
    TN_TRY(tn_builder_matrix(b, TN_PART_IMPORTANCE, TN_ARRAY_ACTIVATION, examples, count, &importance));
    TN_TRY(tn_builder_matrix(b, TN_PART_CHOSEN, TN_ARRAY_ACTIVATION, examples, stay, chosen));
    b->step->array[importance].number = b->step->array[*chosen].number = number;
    TN_TRY(tn_builder_add(b, &(tn_operation){.kind = TN_OP_IMPORTANCE,
                                             .phase = TN_FORWARD,
                                             .rows = rows,
                                             .columns = columns,
                                             .read_count = 1,
                                             .reads = {array},
                                             .write_count = 1,
                                             .writes = {importance}}));
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_TOP,
                                             .phase = TN_FORWARD,
                                             .rows = examples,
                                             .columns = count,
                                             .times = passes_of(count, stay),
                                             .of_times = PARTS,
                                             .read_count = 1,
                                             .reads = {importance},
                                             .write_count = 1,
                                             .writes = {*chosen}});
}

/* By what the first attention, `index`, made: its probabilities and what it gives. */
static tn_status choose_all(pruning *p, uint32_t index, uint32_t scores) {
    const tn_builder *b = p->b;
    const tn_layer *layer = &b->model->layer[index], *keys = &b->model->layer[layer->input[1]];
    const uint64_t heads = tn_kept_of(layer->heads, b->model->keys.pruning.heads),
                   queries = b->step->array[scores].elements / keys->sequence;
    if (p->tokens < keys->sequence)
        TN_TRY(choose(p, index, scores, queries, keys->sequence, keys->sequence, p->tokens, 1,
                      &p->chosen_tokens));
    if (heads == layer->heads) return TN_OK;
    return choose(p, index, b->step->layer[index].output, layer->tokens, layer->width, layer->heads, heads, 2,
                  &p->chosen_heads);
}

static tn_status copy_arrays(pruning *p) {
    tn_builder *b = p->b;
    TN_TRY(TN_NEW(b->arena, p->shorter.arrays, &p->array_of, b->error));
    for (uint32_t i = 0; i < p->shorter.arrays; i++) {
        const tn_array *array = &p->shorter.array[i];
        p->array_of[i] = TN_NONE;
        if (array->layer < p->first) continue;
        b->layer_index = array->layer;
        TN_TRY(
            tn_builder_array(b, array->part, array->number, array->role, array->elements, &p->array_of[i]));
        b->step->array[p->array_of[i]].is_core = array->is_core;
    }
    for (uint32_t i = p->first; i < b->step->layers; i++) {
        tn_step_layer *layer = &b->step->layer[i];
        *layer = p->shorter.layer[i];
        memset(layer->macs, 0, sizeof layer->macs);
        memset(layer->flops, 0, sizeof layer->flops);
        layer->peak_elements = layer->saved_elements = 0;
        if (layer->output != TN_NONE) layer->output = p->array_of[layer->output];
    }
    return TN_OK;
}

/* The heads that stay of query, key or value, side by side. */
static tn_status gather_heads(pruning *p, const tn_operation *o, uint32_t side, uint32_t *array) {
    tn_builder *b = p->b;
    const tn_layer *layer = &b->model->layer[o->layer];
    uint64_t stay = tn_kept_of(layer->heads, b->model->keys.pruning.heads),
             elements = b->step->array[*array].elements;
    uint64_t columns = b->model->layer[layer->input[side]].width, rows = elements / columns;
    const tn_gather how = {rows, rows, layer->heads, stay, false};
    uint32_t start = *array;
    b->layer_index = o->layer;
    TN_TRY(tn_builder_array(b, TN_PART_KEPT_HEADS, side + 1, TN_ARRAY_ACTIVATION,
                            elements / layer->heads * stay, array));
    return add_gather(p, o->layer, start, *array, rows, columns / layer->heads * stay, &how);
}

/* The three operations of attention with the heads that stay, and what brings them there and back. */
static tn_status keep_heads(pruning *p, tn_operation *o, uint32_t values) {
    enum { QUERY, KEY };
    tn_builder *b = p->b;
    const tn_layer *layer = &b->model->layer[o->layer];
    uint64_t stay = tn_kept_of(layer->heads, b->model->keys.pruning.heads), examples = b->model->keys.batch;
    if (stay == layer->heads) return tn_builder_keep(b, o);
    if (o->kind != TN_OP_PRODUCT) { /* softmax, in place */
        o->rows = o->rows / layer->heads * stay;
        return tn_builder_keep(b, o);
    }
    o->batch = examples * stay;
    if (b->step->array[o->writes[0]].part == TN_PART_SCORES) {
        TN_TRY(gather_heads(p, o, QUERY, &o->reads[0]));
        TN_TRY(gather_heads(p, o, KEY, &o->reads[1]));
        tn_array *scores = &b->step->array[o->writes[0]];
        scores->elements = scores->elements / layer->heads * stay;
        return tn_builder_keep(b, o);
    }
    uint32_t whole = o->writes[0], mixed;
    uint64_t elements = b->step->array[whole].elements, rows = elements / layer->width;
    const tn_gather back = {rows, rows, layer->heads, stay, true};
    o->reads[1] = values;
    b->layer_index = o->layer;
    TN_TRY(
        tn_builder_array(b, TN_PART_OUTPUT, 1, TN_ARRAY_ACTIVATION, elements / layer->heads * stay, &mixed));
    o->writes[0] = mixed;
    TN_TRY(tn_builder_keep(b, o));
    return add_gather(p, o->layer, mixed, whole, rows, layer->width, &back);
}

static tn_status prune(pruning *p) {
    tn_builder *b = p->b;
    uint32_t last = TN_NONE, values = TN_NONE;
    for (uint32_t i = 0; i < p->shorter.operations; i++) {
        tn_operation o = p->shorter.operation[i];
        const tn_layer *layer = &b->model->layer[o.layer];
        if (o.layer < p->first) continue;
        bool opens = is_attention(layer) && o.layer != last;
        last = o.layer;
        if (opens) {
            TN_TRY(array_for(p, p->shorter.layer[layer->input[2]].output, o.layer, &values));
            if (tn_kept_of(layer->heads, b->model->keys.pruning.heads) < layer->heads)
                TN_TRY(gather_heads(p, &o, 2, &values));
        }
        for (uint32_t k = 0; k < o.read_count; k++) TN_TRY(array_for(p, o.reads[k], o.layer, &o.reads[k]));
        for (uint32_t k = 0; k < o.write_count; k++) o.writes[k] = p->array_of[o.writes[k]];
        TN_TRY(is_attention(layer) ? keep_heads(p, &o, values) : tn_builder_keep(b, &o));
    }
    return TN_OK;
}

/* What stays of tokens would need the places they had, and what stays of heads whole groups. */
static tn_status refuse_places(const tn_builder *b) {
    for (uint32_t i = 0; i < b->model->layers; i++) {
        const tn_layer *layer = &b->model->layer[i];
        if (layer->base > 0)
            return tn_fail_at(
                b->error, TN_INPUT, layer->position,
                "pruning has no places for the tokens that stay, which rotary layer %.100s turns by; leave "
                "pruning out",
                layer->name);
        if (layer->window.height > 0)
            return tn_fail_at(b->error, TN_INPUT, layer->position,
                              "pruning leaves no whole picture for layer %.100s; leave pruning out",
                              layer->name);
        if (layer->causal || (layer->kv_heads > 0 && layer->kv_heads < layer->heads))
            return tn_fail_at(b->error, TN_INPUT, layer->position,
                              "pruning knows no attention with %s, as layer %.100s has; leave pruning out",
                              layer->causal ? "a causal mask" : "shared key heads", layer->name);
    }
    return TN_OK;
}

/* Its heads must be those that the choice is of. */
static tn_status refuse_other_heads(const tn_builder *b, uint32_t index) {
    const uint64_t heads = b->model->layer[index].heads;
    for (uint32_t i = index; i < b->model->layers && b->model->keys.pruning.heads < 1; i++)
        if (is_attention(&b->model->layer[i]) && b->model->layer[i].heads != heads)
            return tn_fail_at(b->error, TN_INPUT, b->model->layer[i].position,
                              "pruning.heads chooses by the %" PRIu64
                              " heads of layer %.100s; layer %.100s has %" PRIu64 ", leave pruning.heads out",
                              heads, b->model->layer[index].name, b->model->layer[i].name,
                              b->model->layer[i].heads);
    return TN_OK;
}

static tn_status apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    pruning p = {.b = b, .chosen_tokens = TN_NONE, .chosen_heads = TN_NONE};
    const tn_model *model = b->model;
    tn_model *shorter;
    uint32_t attention = 0, scores = TN_NONE;
    enum { INFERENCE_ALONE = 1 }; /* the first of the table */
    TN_TRY(refuse_places(b));
    while (attention < model->layers && !is_attention(&model->layer[attention])) attention++;
    p.first = attention + 1;
    for (uint32_t i = 0; i < operations; i++) {
        if (earlier[i].layer >= p.first) continue;
        if (earlier[i].layer == attention && earlier[i].kind == TN_OP_SOFTMAX) scores = earlier[i].writes[0];
        TN_TRY(tn_builder_keep(b, &earlier[i]));
    }
    if (scores == TN_NONE) return TN_OK;
    TN_TRY(refuse_other_heads(b, attention));
    p.tokens = tn_kept_of(model->keys.sequence, model->keys.pruning.tokens);
    TN_TRY(choose_all(&p, attention, scores));
    TN_TRY(tn_model_resize(model, model->keys.batch, p.tokens, b->arena, &shorter, b->error));
    TN_TRY(tn_step_build_part(shorter, b->cache, INFERENCE_ALONE, b->arena, &p.shorter, b->error));
    TN_TRY(copy_arrays(&p));
    TN_TRY(prune(&p));
    return tn_builder_close_ranks(b, false);
}

const tn_transformation tn_pruning = {
    .name = "pruning",
    .keys = "pruning.tokens, pruning.heads",
    .source = "Wang, Zhang, Han, SpAtten, HPCA 2021",
    .needs = "phase: inference",
    .changes =
        "tokens of all that stands behind the first attention, heads of later attentions' products; sums "
        "and a selection of the greatest, look-ups of what stays",
    .inference_only = true,
    .wanted = wanted,
    .apply = apply,
};
