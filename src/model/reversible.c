/* Reversible blocks: couplings y = x + F(z), z the output of the coupling before and x of the one before that, whose
 * inputs are found from their outputs, x = y - F(z), so that no activation inside is kept whatever the depth. F runs
 * a second time, and what its backward pass reads comes from that run. Gomez et al., The Reversible Residual Network,
 * NeurIPS 2017: y1 = x1 + F(x2), y2 = x2 + G(y1). Values differ from kept ones by rounding. */
#include "model/recompute.h"
#include "model/transformation.h"

#include <string.h>

static bool is_reversible(const tn_layer *layer) {
    return layer->activations == TN_ACTIVATIONS_REVERSIBLE && layer->repetition != TN_NONE;
}

static bool is_residual(const tn_layer *layer) {
    return strcmp(layer->kind->name, "residual") == 0;
}

static bool wanted(const tn_model *model) {
    bool any = false;
    for (uint32_t i = 0; i < model->layers; i++) any |= is_reversible(&model->layer[i]);
    return any;
}

/* The couplings of a run of reversible layers: each a residual and the layers between it and the one before. */
typedef struct chain {
    tn_builder *b;
    uint32_t first, end; /* layers */
    uint32_t number;
    uint32_t from;        /* first layer of the coupling at hand */
    uint32_t stream[2];   /* layers: z of the coupling at hand, and its x; TN_NONE: not known yet */
    uint32_t *segment_of; /* [layers] */
    tn_coupling *coupling;
    uint32_t couplings;
} chain;

static const char *name_of(const chain *c, uint32_t layer) {
    return c->b->model->layer[layer].name;
}

static tn_status not_reversible(const chain *c, uint32_t layer, uint32_t reads) {
    return tn_fail_at(
        c->b->error, TN_INPUT, c->b->model->layer[layer].at,
        "layer %.100s takes %.100s, which a reversible block can't find from its outputs; every residual "
        "must add a branch of the one before it to the one before that (docs/transformations.md)",
        name_of(c, layer), name_of(c, reads));
}

/* A layer of a branch takes others of the branch, or z. */
static tn_status check_branch(chain *c, uint32_t layer) {
    const tn_layer *of = &c->b->model->layer[layer];
    for (uint32_t k = 0; k < of->input_count; k++) {
        uint32_t from = of->input[k];
        if (from >= c->from) continue;
        if (c->stream[0] == TN_NONE) c->stream[0] = from;
        if (c->stream[0] != from) return not_reversible(c, layer, from);
    }
    return TN_OK;
}

static tn_status couple(chain *c, uint32_t layer) {
    const tn_layer *of = &c->b->model->layer[layer];
    bool first_is_branch = of->input[0] >= c->from;
    uint32_t branch = of->input[!first_is_branch], carry = of->input[first_is_branch];
    if (branch < c->from || carry >= c->from)
        return not_reversible(c, layer, branch < c->from ? branch : carry);
    if (c->stream[1] != TN_NONE && c->stream[1] != carry) return not_reversible(c, layer, carry);
    c->coupling[c->couplings++] = (tn_coupling){.chain = c->number, .branch = !first_is_branch};
    c->stream[1] = c->stream[0];
    c->stream[0] = layer;
    c->from = layer + 1;
    return TN_OK;
}

static tn_status find_couplings(chain *c) {
    c->from = c->first;
    c->stream[0] = c->stream[1] = TN_NONE;
    for (uint32_t i = c->first; i < c->end; i++) {
        c->segment_of[i] = c->couplings;
        TN_TRY(is_residual(&c->b->model->layer[i]) ? couple(c, i) : check_branch(c, i));
    }
    if (c->from == c->end) return TN_OK;
    return tn_fail_at(c->b->error, TN_INPUT, c->b->model->layer[c->end - 1].at,
                      "a reversible block must end in a residual; layer %.100s comes behind the last one",
                      name_of(c, c->end - 1));
}

static tn_status apply(tn_builder *b, const tn_operation *before, uint32_t operations) {
    const tn_model *model = b->model;
    chain c = {.b = b};
    TN_TRY(tn_arena_alloc(b->arena, model->layers, sizeof *c.segment_of, &c.segment_of, b->error));
    TN_TRY(tn_arena_alloc(b->arena, model->layers, sizeof *c.coupling, &c.coupling, b->error));
    for (c.first = 0; c.first < model->layers; c.first = c.end) {
        c.end = c.first;
        c.segment_of[c.first] = TN_NONE;
        while (c.end < model->layers && is_reversible(&model->layer[c.end]) &&
               model->layer[c.end].block == model->layer[c.first].block)
            c.end++;
        if (c.end == c.first)
            c.end++;
        else
            TN_TRY(find_couplings(&c));
        c.number++;
    }
    return tn_recompute(b, before, operations, &(tn_recomputation){c.couplings, c.segment_of, c.coupling});
}

static const char *const excluded[] = {"inference", NULL};

const tn_transformation tn_reversible = {
    .name = "reversible",
    .keys = "activations.policy",
    .source = "Gomez et al., The Reversible Residual Network, NeurIPS 2017; CAMEL, HPCA 2024",
    .needs = "blocks of residuals that each add a branch of the one before to the one before that",
    .changes = "saved activations do not grow with depth; branches run a second time, inputs are found by "
               "subtraction; values differ by rounding",
    .excludes = excluded,
    .wanted = wanted,
    .apply = apply,
};
