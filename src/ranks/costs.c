#include "ranks/costs.h"

#include "base/memory.h"
#include "design/design.h"

#include <math.h>
#include <string.h>

const char *const tn_rank_cost_names[] = {"parameters", "bytes", "macs", "cycles", "bram18", "uram", NULL};

struct tn_rank_costs {
    const tn_model *shared;
    tn_design design; /* its model is that of the plan, one weight a layer; its device may be NULL */
    tn_program_cache *cache;
    tn_flow_name *flow;      /* [layers] of each layer's weight as the model has it */
    tn_arena fixed, scratch; /* of the build; of one step at a time */
    tn_resources used;       /* by the design that was priced last */
};

static tn_model_weight *entry_of(tn_rank_costs *costs, size_t layer) {
    return tn_model_weight_find(costs->design.model,
                                tn_model_layer_at(costs->design.model, layer).weight->name);
}

static tn_status keep_flows(tn_rank_costs *costs, tn_error *error) {
    size_t layers = tn_model_layers(costs->design.model);
    TN_TRY(TN_NEW(&costs->fixed, layers, &costs->flow, error));
    for (size_t l = 0; l < layers; l++)
        if (tn_model_layer_at(costs->design.model, l).weight) costs->flow[l] = entry_of(costs, l)->flow;
    return TN_OK;
}

/* The layer's weight, in the model's flow where the format has it, else in the optimal one. */
static void set_weight(tn_rank_costs *costs, size_t layer, const tn_weight *weight) {
    tn_model_weight *entry = entry_of(costs, layer);
    bool keeps = tn_model_layer_at(costs->design.model, layer).looked_up || weight->format == TN_DENSE ||
                 tn_flow_exists(weight, costs->flow[layer]);
    entry->weight = *weight;
    entry->flow = keeps ? costs->flow[layer] : TN_FLOW_OPTIMAL;
}

tn_status tn_rank_costs_new(const tn_model *shared, tn_model *own, const tn_device *device,
                            tn_rank_costs **costs, tn_error *error) {
    tn_rank_costs *made;
    TN_TRY(TN_ALLOC(1, &made, error));
    *made = (tn_rank_costs){.shared = shared, .design = {.model = own, .device = device}};
    tn_status status = tn_program_cache_new(&made->cache, error);
    if (status == TN_OK)
        status = tn_build_decode(tn_model_build(own), &made->fixed, &made->design.build, error);
    if (status == TN_OK) status = keep_flows(made, error);
    if (status == TN_OK)
        *costs = made;
    else
        tn_rank_costs_free(made);
    return status;
}

void tn_rank_costs_free(tn_rank_costs *costs) {
    if (!costs) return;
    tn_program_cache_free(costs->cache);
    tn_arena_free(&costs->fixed);
    tn_arena_free(&costs->scratch);
    tn_free(costs);
}

size_t tn_rank_costs_count(const tn_rank_costs *costs) {
    return costs->design.device ? TN_RANK_COSTS : TN_RANK_CYCLES;
}

/* Amounts of the design as it stands, and in `own` those of one layer where they belong to it. */
static tn_status measure(tn_rank_costs *costs, size_t layer, double *total, double *own, tn_error *error) {
    tn_priced found;
    tn_arena_reset(&costs->scratch);
    TN_TRY(tn_design_price(&costs->design, NULL, costs->cache, &costs->scratch, &found, error));
    const tn_step *step = found.step;
    total[TN_RANK_PARAMETERS] = (double)step->parameters;
    total[TN_RANK_BYTES] = (double)step->parameters * (double)step->element_bytes;
    total[TN_RANK_MACS] = (double)tn_step_macs(step->macs);
    own[TN_RANK_PARAMETERS] = (double)step->layer[layer].parameters;
    own[TN_RANK_BYTES] = own[TN_RANK_PARAMETERS] * (double)step->element_bytes;
    own[TN_RANK_MACS] = (double)tn_step_macs(step->layer[layer].macs);
    total[TN_RANK_CYCLES] = (double)found.price.cycles_per_step;
    total[TN_RANK_BRAM18] = (double)found.price.used.bram18;
    total[TN_RANK_URAM] = (double)found.price.used.uram;
    costs->used = found.price.used;
    return TN_OK;
}

/* The work of finding costs: the layers' candidates and the base design. */
typedef struct {
    tn_rank_costs *costs;
    tn_layer_options *list;
    size_t layers, count; /* count: of costs */
    size_t *base;         /* [layers] place of the base's candidate */
    double *cost;
    tn_error *error;
} finder;

/* Layers that name the same entry of the shared model's weights, have as many tokens and the same base cost
 * the same. */
static bool alike(const finder *f, size_t a, size_t b) {
    tn_model_layer x = tn_model_layer_at(f->costs->shared, f->list[a].layer);
    tn_model_layer y = tn_model_layer_at(f->costs->shared, f->list[b].layer);
    return x.weight == y.weight && x.tokens == y.tokens && x.bias == y.bias &&
           tn_weight_equal(&f->list[a].item[f->base[a]].weight, &f->list[b].item[f->base[b]].weight);
}

/* The cost of the same shape in an earlier layer that is alike, or NULL. */
static const double *known_cost(const finder *f, size_t layer, const tn_layer_option *candidate) {
    size_t index = 0;
    for (size_t l = 0; l < layer; index += f->list[l++].count) {
        if (!alike(f, l, layer)) continue;
        for (size_t i = 0; i < f->list[l].count; i++)
            if (f->list[l].item[i].usable && tn_weight_equal(&f->list[l].item[i].weight, &candidate->weight))
                return f->cost + (index + i) * f->count;
    }
    return NULL;
}

static tn_status cost_candidate(const finder *f, size_t layer, tn_layer_option *candidate, double *cost) {
    double total[TN_RANK_COSTS], own[TN_RANK_COSTS];
    const double *known = known_cost(f, layer, candidate);
    if (known) {
        memcpy(cost, known, f->count * sizeof *cost);
        return TN_OK;
    }
    const tn_weight before = entry_of(f->costs, f->list[layer].layer)->weight;
    set_weight(f->costs, f->list[layer].layer, &candidate->weight);
    tn_status status = measure(f->costs, f->list[layer].layer, total, own, f->error);
    set_weight(f->costs, f->list[layer].layer, &before);
    candidate->usable = status == TN_OK;
    for (size_t k = 0; candidate->usable && k < f->count; k++)
        cost[k] = k < TN_RANK_CYCLES ? own[k] : total[k];
    return status == TN_INPUT || status == TN_OVERFLOW || status == TN_LIMIT ? TN_OK : status;
}

/* Costs of the whole design become what a candidate takes more than the cheapest of its layer. */
static void subtract_least(const finder *f, size_t k) {
    size_t index = 0;
    for (size_t l = 0; l < f->layers; index += f->list[l++].count) {
        double least = INFINITY;
        for (size_t i = 0; i < f->list[l].count; i++)
            if (f->list[l].item[i].usable) least = fmin(least, f->cost[(index + i) * f->count + k]);
        for (size_t i = 0; i < f->list[l].count; i++) f->cost[(index + i) * f->count + k] -= least;
    }
}

/* Puts the base design into the model. TN_INPUT where a layer has no candidate left. */
static tn_status stand_base(const finder *f, const tn_layer_option *const *base) {
    for (size_t l = 0; l < f->layers; l++) {
        const tn_layer_options *options = &f->list[l];
        size_t i = base ? (size_t)(base[l] - options->item) : 0;
        while (i < options->count && !options->item[i].usable) i++;
        if (i == options->count)
            return tn_fail(f->error, TN_INPUT,
                           "no candidate of layer %s can be used; ask for other ranks or foldings",
                           options->name);
        f->base[l] = i;
        set_weight(f->costs, options->layer, &options->item[i].weight);
    }
    return TN_OK;
}

/* fixed = the base design less what its candidates are counted with. */
static tn_status find_fixed(const finder *f, const tn_layer_option *const *base, double *fixed) {
    size_t index = 0;
    double total[TN_RANK_COSTS], own[TN_RANK_COSTS];
    TN_TRY(stand_base(f, base));
    TN_TRY(measure(f->costs, f->list[0].layer, total, own, f->error));
    for (size_t l = 0; l < f->layers; index += f->list[l++].count)
        for (size_t k = 0; k < f->count; k++) total[k] -= f->cost[(index + f->base[l]) * f->count + k];
    memcpy(fixed, total, f->count * sizeof *fixed);
    return TN_OK;
}

static tn_status find_all(const finder *f, const tn_layer_option *const *base, double *fixed) {
    size_t index = 0;
    TN_TRY(stand_base(f, base));
    for (size_t l = 0; l < f->layers; index += f->list[l++].count)
        for (size_t i = 0; i < f->list[l].count; i++)
            if (f->list[l].item[i].usable)
                TN_TRY(cost_candidate(f, l, &f->list[l].item[i], f->cost + (index + i) * f->count));
    for (size_t k = TN_RANK_CYCLES; k < f->count; k++) subtract_least(f, k);
    return find_fixed(f, base, fixed);
}

tn_status tn_rank_costs_find(tn_rank_costs *costs, tn_layer_options *candidates, size_t layers,
                             const tn_layer_option *const *base, double *cost, double *fixed,
                             tn_error *error) {
    finder f = {costs, candidates, layers, tn_rank_costs_count(costs), NULL, cost, error};
    TN_TRY(TN_ALLOC(layers, &f.base, error));
    tn_status status = find_all(&f, base, fixed);
    tn_free(f.base);
    return status;
}

tn_status tn_rank_costs_total(tn_rank_costs *costs, const tn_layer_options *candidates, size_t layers,
                              const tn_layer_option *const *choice, double *total, tn_error *error) {
    double own[TN_RANK_COSTS];
    for (size_t l = 0; l < layers; l++) set_weight(costs, candidates[l].layer, &choice[l]->weight);
    return measure(costs, candidates[0].layer, total, own, error);
}

tn_resources tn_rank_costs_used(const tn_rank_costs *costs) {
    return costs->used;
}
