#include "model/composite.h"

#include "base/checked.h"
#include "model/graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const tn_expert_activation_names[] = {"gelu", "silu", "relu", "tanh", "squared-relu", NULL};

/* ---- shapes of inner layers ---- */

/* Rows of an example that an expert takes: its even share of the choices times the capacity, rounded up; without a capacity as
 * many as there are tokens, since a token chooses an expert once at most. */
static uint64_t rows_of(const tn_layer_entry *entry, uint64_t tokens) {
    const double even = (double)tokens * (double)entry->top / (double)entry->experts;
    if (!entry->capacity_at.line || entry->capacity * even >= (double)tokens) return tokens;
    const uint64_t rows = (uint64_t)ceil(entry->capacity * even - 1e-9); /* 1.1 x 10 is 11, not 12 */
    return rows > 0 ? rows : 1;
}

static void set_routing(const tn_layer_entry *entry, uint64_t tokens, tn_layer *layer) {
    layer->routing = (tn_routing){.experts = entry->experts,
                                  .top = entry->top,
                                  .rows = rows_of(entry, tokens),
                                  .expert = entry->expert,
                                  .normalised = entry->normalise_at.line ? entry->normalise : entry->top > 1,
                                  .balance = entry->balance};
}

static tn_status shape_route(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                             tn_error *error) {
    (void)error;
    set_routing(entry, input[0]->sequence, layer);
    return TN_OK;
}

/* Inputs: tokens, route. */
static tn_status shape_dispatch(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                                tn_error *error) {
    (void)error;
    set_routing(entry, input[0]->sequence, layer);
    layer->sequence = layer->routing.rows;
    return TN_OK;
}

/* Inputs: an expert's rows, route, what earlier experts gave. */
static tn_status shape_combine(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                               tn_error *error) {
    (void)error;
    set_routing(entry, input[1]->sequence, layer);
    layer->sequence = input[1]->sequence;
    return TN_OK;
}

static tn_status shape_causal_conv(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                                   tn_error *error) {
    (void)input;
    (void)error;
    layer->taps = entry->taps;
    return TN_OK;
}

static tn_status shape_scan(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                            tn_error *error) {
    (void)input;
    (void)error;
    layer->states = entry->state;
    return TN_OK;
}

#define PARTS(part) .forward = tn_##part##_forward, .backward = tn_##part##_backward

const tn_layer_kind tn_inner_kinds[TN_INNER_KINDS] = {
    [TN_INNER_ROUTE] = {"route", .inputs = 1, PARTS(route), .shape = shape_route},
    [TN_INNER_DISPATCH] = {"dispatch", .inputs = 2, PARTS(dispatch), .shape = shape_dispatch},
    [TN_INNER_COMBINE] = {"combine", .inputs = 3, PARTS(combine), .shape = shape_combine},
    [TN_INNER_CAUSAL_CONV] = {"causal-conv", .inputs = 1, .across_tokens = true, PARTS(causal_conv),
                              .has_parameters = true, .shape = shape_causal_conv},
    [TN_INNER_SCAN] = {"scan", .inputs = 4, .across_tokens = true, PARTS(scan), .has_parameters = true,
                       .shape = shape_scan},
};

/* ---- writing entries ---- */

typedef struct {
    const tn_layer_entry *composite;
    tn_layer_entry *entry;
    size_t count;
    tn_arena *arena;
    tn_error *error;
} writer;

/* A copy of the composite's own entry under the name, which takes the inputs (up to NULL). */
static tn_status add(writer *w, const char *name, const tn_layer_kind *kind, const char *const *input,
                     tn_layer_entry **added) {
    tn_layer_entry *entry = *added = &w->entry[w->count++];
    *entry = *w->composite;
    entry->kind = kind;
    entry->input = (tn_text_list){0};
    entry->weight = (tn_text_list){0};
    entry->input_at = entry->position; /* named here, whether the file names any or not */
    entry->weight_at = (tn_position){0};
    TN_TRY(tn_arena_copy_text(w->arena, name, strlen(name), &entry->name, w->error));
    while (input[entry->input.count]) entry->input.count++;
    TN_TRY(TN_NEW(w->arena, entry->input.count, &entry->input.item, w->error));
    for (size_t i = 0; i < entry->input.count; i++)
        TN_TRY(tn_arena_copy_text(w->arena, input[i], strlen(input[i]), &entry->input.item[i], w->error));
    return TN_OK;
}

/* Names of weights: one for all `parts` of a composite that they are for, one for each, or one for each of each repetition of the
 * block, repetition by repetition. */
typedef struct {
    const tn_text_list *name;
    tn_position place;
    uint64_t parts;
} named_weights;

static tn_status check_weights(const tn_layer_entry *entry, const named_weights *weights, const char *what,
                               tn_error *error) {
    const uint64_t count = weights->name->count, parts = weights->parts;
    if (!weights->place.line || count == 1 || count == parts || count == parts * entry->repetitions)
        return TN_OK;
    return tn_fail_at(error, TN_INPUT, weights->place,
                      "layer \"%.100s\" names %" PRIu64 " weights for %" PRIu64
                      " %s; give one for all, or one for each%s",
                      entry->name, count, parts, what,
                      entry->repetitions > 1 ? ", or one for each of each repetition" : "");
}

/* weights NULL: the matrix is dense. */
static tn_status add_linear(writer *w, const char *name, const char *input, uint64_t outputs, bool bias,
                            const named_weights *weights, uint64_t part) {
    tn_layer_entry *entry;
    TN_TRY(add(w, name, tn_layer_kind_find("linear"), (const char *const[]){input, NULL}, &entry));
    entry->outputs = outputs;
    entry->bias = bias;
    entry->tied = NULL;
    entry->tied_at = (tn_position){0};
    if (!weights || !weights->place.line) return TN_OK;
    const uint64_t count = weights->name->count, place = count == 1 ? 0
                                                         : count == weights->parts
                                                             ? part
                                                             : entry->repetition * weights->parts + part;
    entry->weight = (tn_text_list){1, &weights->name->item[place]};
    entry->weight_at = weights->place;
    return TN_OK;
}

static tn_status add_plain(writer *w, const char *name, const tn_layer_kind *kind, const char *first,
                           const char *second) {
    tn_layer_entry *entry;
    return add(w, name, kind, (const char *const[]){first, second, NULL}, &entry);
}

/* ---- a mixture of experts ---- */

enum { EXPERT_LAYERS = 7, NAME_MOST = 48 };

static named_weights ups(const tn_layer_entry *moe) {
    return (named_weights){&moe->up, moe->up_at, moe->experts};
}
static named_weights gates(const tn_layer_entry *moe) {
    return (named_weights){&moe->gate, moe->gate_at, moe->experts};
}
static named_weights downs(const tn_layer_entry *moe) {
    return (named_weights){&moe->down, moe->down_at, moe->experts};
}

static tn_status check_moe(const tn_layer_entry *entry, tn_error *error) {
    if (entry->top > entry->experts)
        return tn_fail_at(error, TN_INPUT, entry->top_at,
                          "layer \"%.100s\" sends a token to %" PRIu64 " of %" PRIu64
                          " experts; choose 1 to %" PRIu64,
                          entry->name, entry->top, entry->experts, entry->experts);
    if (entry->gate_at.line && !entry->gated)
        return tn_fail_at(
            error, TN_INPUT, entry->gate_at,
            "layer \"%.100s\" names weights of gates, but its experts have none; set gated: true",
            entry->name);
    const named_weights weights[] = {ups(entry), gates(entry), downs(entry)};
    for (int i = 0; i < 3; i++) TN_TRY(check_weights(entry, &weights[i], "experts", error));
    return TN_OK;
}

/* Rows, matrices and sum of one expert, from 0; `last` is the name of the sum so far, and becomes that with this one. */
static tn_status add_expert(writer *w, uint64_t expert, uint64_t width, char *last) {
    const tn_layer_entry *moe = w->composite;
    const named_weights up = ups(moe), gate = gates(moe), down = downs(moe);
    const tn_layer_kind *activation = tn_layer_kind_find(tn_expert_activation_names[moe->activation]);
    static const char *const parts[] = {"in", "up", "gate", "activation", "gated", "down", "out"};
    enum { IN, UP, GATE, ACTIVATION, GATED, DOWN, OUT };
    char name[EXPERT_LAYERS][NAME_MOST];
    tn_layer_entry *entry;
    for (int i = 0; i < EXPERT_LAYERS; i++)
        snprintf(name[i], sizeof name[i], "expert%" PRIu64 "-%s", expert + 1, parts[i]);
    TN_TRY(add(w, name[IN], &tn_inner_kinds[TN_INNER_DISPATCH], (const char *const[]){"entry", "route", NULL},
               &entry));
    entry->expert = expert;
    TN_TRY(add_linear(w, name[UP], name[IN], moe->hidden, moe->bias, &up, expert));
    if (moe->gated) {
        TN_TRY(add_linear(w, name[GATE], name[IN], moe->hidden, moe->bias, &gate, expert));
        TN_TRY(add_plain(w, name[ACTIVATION], activation, name[GATE], NULL));
        TN_TRY(add_plain(w, name[GATED], tn_layer_kind_find("multiply"), name[ACTIVATION], name[UP]));
    } else {
        TN_TRY(add_plain(w, name[ACTIVATION], activation, name[UP], NULL));
    }
    TN_TRY(add_linear(w, name[DOWN], name[moe->gated ? GATED : ACTIVATION], width, moe->bias, &down, expert));
    TN_TRY(add(w, name[OUT], &tn_inner_kinds[TN_INNER_COMBINE],
               (const char *const[]){name[DOWN], "route", expert ? last : NULL, NULL}, &entry));
    entry->expert = expert;
    memcpy(last, name[OUT], NAME_MOST);
    return TN_OK;
}

tn_status tn_moe_expand(const tn_layer_entry *moe, const tn_layer *input, tn_arena *arena,
                        tn_layer_entry **entries, size_t *count, tn_error *error) {
    enum { COMMON = 2 };
    writer w = {.composite = moe, .arena = arena, .error = error};
    char last[NAME_MOST];
    TN_TRY(check_moe(moe, error));
    TN_TRY(TN_NEW(arena, COMMON + EXPERT_LAYERS * moe->experts, &w.entry, error));
    TN_TRY(add_linear(&w, "router", "entry", moe->experts, false, NULL, 0));
    TN_TRY(add_plain(&w, "route", &tn_inner_kinds[TN_INNER_ROUTE], "router", NULL));
    for (uint64_t e = 0; e < moe->experts; e++) TN_TRY(add_expert(&w, e, input->width, last));
    *entries = w.entry;
    *count = w.count;
    return TN_OK;
}

/* ---- a selective state space ---- */

tn_status tn_mamba_expand(const tn_layer_entry *mamba, const tn_layer *input, tn_arena *arena,
                          tn_layer_entry **entries, size_t *count, tn_error *error) {
    enum { LAYERS = 13 };
    writer w = {.composite = mamba, .arena = arena, .error = error};
    const tn_layer_kind *silu = tn_layer_kind_find("silu");
    const named_weights in = {&mamba->in, mamba->in_at, 2}, out = {&mamba->out, mamba->out_at, 1};
    const uint64_t rank = mamba->step_rank ? mamba->step_rank : tn_ceil_div(input->width, 16);
    uint64_t inner;
    tn_layer_entry *scan;
    if (!tn_mul(mamba->expansion, input->width, &inner))
        return tn_fail_at(error, TN_OVERFLOW, mamba->position,
                          "the inner width of layer \"%.100s\" is more than 2^64", mamba->name);
    TN_TRY(check_weights(mamba, &in, "projections in", error));
    TN_TRY(check_weights(mamba, &out, "projection out", error));
    TN_TRY(TN_NEW(arena, LAYERS, &w.entry, error));
    TN_TRY(add_linear(&w, "in", "entry", inner, false, &in, 0));
    TN_TRY(add_linear(&w, "gate", "entry", inner, false, &in, 1));
    TN_TRY(add_plain(&w, "convolution", &tn_inner_kinds[TN_INNER_CAUSAL_CONV], "in", NULL));
    TN_TRY(add_plain(&w, "activation", silu, "convolution", NULL));
    TN_TRY(add_linear(&w, "step-in", "activation", rank, false, NULL, 0));
    TN_TRY(add_linear(&w, "step-out", "step-in", inner, true, NULL, 0));
    TN_TRY(add_plain(&w, "step", tn_layer_kind_find("softplus"), "step-out", NULL));
    TN_TRY(add_linear(&w, "write", "activation", mamba->state, false, NULL, 0));
    TN_TRY(add_linear(&w, "read", "activation", mamba->state, false, NULL, 0));
    TN_TRY(add(&w, "scan", &tn_inner_kinds[TN_INNER_SCAN],
               (const char *const[]){"activation", "step", "write", "read", NULL}, &scan));
    TN_TRY(add_plain(&w, "gate-activation", silu, "gate", NULL));
    TN_TRY(add_plain(&w, "gated", tn_layer_kind_find("multiply"), "scan", "gate-activation"));
    TN_TRY(add_linear(&w, "out", "gated", input->width, false, &out, 0));
    *entries = w.entry;
    *count = w.count;
    return TN_OK;
}
