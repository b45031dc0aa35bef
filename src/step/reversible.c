/* Reversible blocks: couplings y = x + F(..), F of other values that can be had again, whose inputs are found from their
 * outputs, x = y - F(..), so that no activation inside is kept whatever the depth. F runs a second time, and what its backward
 * pass reads comes from that run. Gomez et al., The Reversible Residual Network, NeurIPS 2017: y1 = x1 + F(x2), y2 = x2
 * + G(y1). Values differ from kept ones by rounding.
 *
 * Couplings are undone from the last to the first. When one is, every stream (a value that couplings carry on, one
 * behind the other) stands as it did when that coupling ran, so F may take what any other stream has there: a branch may
 * read the inside of a frozen backbone whose blocks are couplings too (Zhang et al., CAMEL, HPCA 2024).
 *
 * A backbone that is no chain of couplings can't be had again but from its beginning. Where no gradient passes it, it runs
 * forward once and what branches read of it is kept, one array where they read one, and nothing inside (as ladder
 * side-tuning does: Sung, Cho, Bansal, NeurIPS 2022).
 */
#include "step/recompute.h"
#include "step/transformation.h"

#include <string.h>

static bool is_reversible(const tn_layer *layer) {
    return layer->activations == TN_ACTIVATIONS_REVERSIBLE && layer->repetition != TN_NONE;
}

static bool is_residual(const tn_layer *layer) {
    return layer->kind->family == TN_LAYER_RESIDUAL;
}

static bool wanted(const tn_model *model) {
    bool any = false;
    for (uint32_t i = 0; i < model->layers; i++) any |= is_reversible(&model->layer[i]);
    return any;
}

/* The couplings of a run of reversible layers: each a residual and the layers between it and the one before. */
typedef struct chain {
    tn_builder *b;
    tn_error *error;
    uint32_t first, end; /* layers */
    uint32_t number;
    uint32_t *segment_of; /* [layers] */
    uint32_t *carried_by; /* [layers]: the last coupling that carries what the layer gives, TN_NONE: none */
    bool *is_result;      /* [layers]: of a coupling */
    bool *learns;         /* [layers]: a gradient passes it */
    bool *is_backbone;    /* [layers]: runs forward once, and what is read of it stays */
    tn_coupling *coupling;
    uint32_t couplings;
} chain;

static const char *name_of(const chain *c, uint32_t layer) {
    return c->b->model->layer[layer].name;
}

static tn_status not_reversible(const chain *c, uint32_t layer, uint32_t reads) {
    return tn_fail_at(
        c->error, TN_INPUT, c->b->model->layer[layer].position,
        "layer %.100s takes %.100s, which a reversible block can't find from its outputs; a branch "
        "takes what other residuals than its own gave last, and is added to what one of them gave "
        "(docs/transformations.md)",
        name_of(c, layer), name_of(c, reads));
}

static bool is_of_branch(const chain *c, uint32_t layer, uint32_t start) {
    return layer >= start && !c->is_backbone[layer];
}

/* A residual of which one input is made by the layers behind the coupling before; a sum of two others is part of a branch. */
static bool is_coupling(const chain *c, uint32_t layer, uint32_t start) {
    const tn_layer *this_layer = &c->b->model->layer[layer];
    return is_residual(this_layer) &&
           is_of_branch(c, this_layer->input[0], start) != is_of_branch(c, this_layer->input[1], start);
}

/* What it is added to is what a coupling gave, or in the first repetition something from outside. */
static tn_status couple(chain *c, uint32_t layer, uint32_t start) {
    const tn_layer *this_layer = &c->b->model->layer[layer];
    bool first_is_branch = is_of_branch(c, this_layer->input[0], start);
    uint32_t carry = this_layer->input[first_is_branch];
    bool begins = carry < c->first && this_layer->repetition == c->b->model->layer[c->first].repetition;
    if (!begins && (carry < c->first || !c->is_result[carry])) return not_reversible(c, layer, carry);
    c->carried_by[carry] = c->couplings;
    c->is_result[layer] = true;
    c->coupling[c->couplings++] = (tn_coupling){.chain = c->number, .branch = !first_is_branch};
    return TN_OK;
}

/* What a branch takes from outside of it is there when the coupling is undone: it is carried by a later one, or by none.
 * What enters the first coupling is both of its streams. */
static tn_status check_branch(const chain *c, uint32_t layer) {
    const tn_layer *this_layer = &c->b->model->layer[layer];
    uint32_t coupling = c->segment_of[layer];
    for (uint32_t k = 0; k < this_layer->input_count; k++) {
        uint32_t start = this_layer->input[k], factor = c->carried_by[start];
        bool outside = start < c->first;
        if (c->is_backbone[start]) continue;
        if (!outside && c->segment_of[start] == coupling) continue;
        if (c->is_result[layer] && factor == coupling) continue; /* its own carry */
        bool there = factor == TN_NONE || factor > coupling || (outside && factor == coupling);
        if (!there || (!outside && !c->is_result[start])) return not_reversible(c, layer, start);
    }
    return TN_OK;
}

static tn_status find_couplings(chain *c) {
    uint32_t start = c->first, last = c->first;
    for (uint32_t i = c->first; i < c->end; i++) {
        c->segment_of[i] = c->is_backbone[i] ? TN_NONE : c->couplings;
        if (c->is_backbone[i]) continue;
        last = i;
        if (!is_coupling(c, i, start)) continue;
        TN_TRY(couple(c, i, start));
        start = i + 1;
    }
    if (start <= last && !c->is_backbone[last])
        return tn_fail_at(c->error, TN_INPUT, c->b->model->layer[last].position,
                          "a reversible block must end in a residual; layer %.100s comes behind the last one",
                          name_of(c, last));
    for (uint32_t i = c->first; i < c->end; i++)
        if (!c->is_backbone[i]) TN_TRY(check_branch(c, i));
    return TN_OK;
}

/* The run as if it had not been looked at; what no gradient passes is a backbone now. */
static void set_backbone(chain *c, uint32_t couplings) {
    for (uint32_t i = 0; i < c->end; i++)
        if (c->carried_by[i] != TN_NONE && c->carried_by[i] >= couplings) c->carried_by[i] = TN_NONE;
    for (uint32_t i = c->first; i < c->end; i++) {
        c->is_result[i] = false;
        c->is_backbone[i] = !c->learns[i];
    }
    c->couplings = couplings;
}

/* All of it couplings, or all that learns. */
static tn_status find_chain(chain *c) {
    uint32_t couplings = c->couplings;
    c->error = NULL;
    if (find_couplings(c) == TN_OK) return TN_OK;
    set_backbone(c, couplings);
    c->error = c->b->error;
    return find_couplings(c);
}

static tn_status begin(chain *c, const tn_operation *earlier, uint32_t operations) {
    tn_arena *arena = c->b->arena;
    uint32_t layers = c->b->model->layers;
    tn_error *error = c->b->error;
    TN_TRY(TN_NEW(arena, layers, &c->segment_of, error));
    TN_TRY(TN_NEW(arena, layers, &c->coupling, error));
    TN_TRY(TN_NEW(arena, layers, &c->carried_by, error));
    TN_TRY(TN_NEW(arena, layers, &c->is_result, error));
    TN_TRY(TN_NEW(arena, layers, &c->learns, error));
    TN_TRY(TN_NEW(arena, layers, &c->is_backbone, error));
    for (uint32_t i = 0; i < layers; i++) c->carried_by[i] = TN_NONE;
    for (uint32_t i = tn_recompute_forward(earlier, operations); i < operations; i++)
        c->learns[earlier[i].layer] = true;
    for (uint32_t i = 0; i < layers; i++) /* a residual passes gradients on without an operation */
        for (uint32_t k = 0; k < c->b->model->layer[i].input_count; k++)
            c->learns[i] |= c->learns[c->b->model->layer[i].input[k]];
    return TN_OK;
}

static tn_status apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    const tn_model *model = b->model;
    chain c = {.b = b};
    TN_TRY(begin(&c, earlier, operations));
    for (c.first = 0; c.first < model->layers; c.first = c.end) {
        c.end = c.first;
        c.segment_of[c.first] = TN_NONE;
        while (c.end < model->layers && is_reversible(&model->layer[c.end]) &&
               model->layer[c.end].block == model->layer[c.first].block)
            c.end++;
        if (c.end == c.first)
            c.end++;
        else
            TN_TRY(find_chain(&c));
        c.number++;
    }
    return tn_recompute(b, earlier, operations, &(tn_recomputation){c.couplings, c.segment_of, c.coupling});
}

static const char *const excluded[] = {"inference", NULL};

const tn_transformation tn_reversible = {
    .name = "reversible",
    .keys = "activations.policy",
    .source = "Gomez et al., The Reversible Residual Network, NeurIPS 2017; CAMEL, HPCA 2024",
    .needs = "blocks of residuals that each add a branch of what other ones gave to what one of them gave, "
             "but for "
             "layers that no gradient passes",
    .changes = "saved activations do not grow with depth; branches run a second time, inputs are found by "
               "subtraction; values differ by rounding",
    .excludes = excluded,
    .wanted = wanted,
    .apply = apply,
};
