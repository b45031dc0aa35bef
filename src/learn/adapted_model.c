#include "learn/adapted_model.h"

#include "base/memory.h"
#include "train/trainer_state.h"

#include <inttypes.h>
#include <string.h>

static const tn_step *step_of(const tn_trainer *t) {
    return &t->whole->lowered.step;
}

static void put_numbers(tn_buffer *out, const uint64_t *number, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) tn_buffer_format(out, "%s%" PRIu64, i ? "x" : "", number[i]);
}

/* All that an override may say of a layer: a weight may have been changed since the file was read. */
static void put_layer(tn_buffer *out, const tn_step_layer *layer, const tn_weight *weight) {
    tn_buffer_format(out, "  %s: {format: %s, folding: \"", layer->name, tn_format_names[weight->format]);
    put_numbers(out, weight->m, weight->d);
    tn_buffer_text(out, ",");
    put_numbers(out, weight->n, weight->d);
    tn_buffer_text(out, "\", rank: ");
    if (weight->rank_count == 1)
        tn_buffer_format(out, "%" PRIu64, weight->rank[0]);
    else
        put_numbers(out, weight->rank, weight->rank_count);
    tn_buffer_format(out, ", flow: %s}\n", layer->flow);
}

/* The trainer's model with these weights of its layers. */
static tn_status vary_weights(const tn_trainer *t, const tn_weight *weight, tn_arena *arena, tn_model **made,
                              tn_error *error) {
    const tn_step *step = step_of(t);
    tn_buffer text = {0};
    tn_yaml *override, *merged;
    const char *kept;
    tn_buffer_text(&text, "overrides:\n");
    for (uint32_t i = 0; i < step->layers; i++)
        if (step->layer[i].weight_name && weight[i].format != TN_DENSE)
            put_layer(&text, &step->layer[i], &weight[i]);
    tn_status status = text.status;
    if (status == TN_OK) status = tn_arena_copy_text(arena, text.data, text.length, &kept, error);
    tn_buffer_free(&text);
    TN_TRY(status);
    TN_TRY(tn_yaml_parse("adapted ranks", kept, strlen(kept), arena, &override, error));
    TN_TRY(tn_yaml_merge(tn_model_root(t->model), override, arena, &merged, error));
    return tn_model_decode(merged, arena, made, error);
}

/* [layers] The weights as they are. */
static tn_status copy_weights(const tn_trainer *t, tn_arena *arena, tn_weight **weight, tn_error *error) {
    const tn_step *step = step_of(t);
    TN_TRY(TN_NEW(arena, step->layers, weight, error));
    for (uint32_t i = 0; i < step->layers; i++)
        if (step->layer[i].weight) (*weight)[i] = *step->layer[i].weight;
    return TN_OK;
}

tn_status tn_device_price_of(const tn_design *design, tn_device_price *price, tn_error *error) {
    tn_price found;
    TN_TRY(tn_design_price_alone(design, &found, error));
    *price = (tn_device_price){found.seconds_per_step, found.on_chip_bytes + found.off_chip_bytes};
    return TN_OK;
}

/* A bond of an equal layer costs the same. */
static const tn_rank_bond *equal_bond(const tn_trainer *t, const tn_rank_penalty *penalty, size_t bond) {
    const tn_step_layer *layer = step_of(t)->layer;
    const tn_rank_bond *rank_bond = &penalty->bond[bond];
    for (size_t i = 0; i < bond; i++) {
        const tn_rank_bond *one = &penalty->bond[i];
        if (one->place == rank_bond->place && layer[one->layer].tokens == layer[rank_bond->layer].tokens &&
            layer[one->layer].family == layer[rank_bond->layer].family &&
            tn_weight_equal(layer[one->layer].weight, layer[rank_bond->layer].weight))
            return one;
    }
    return NULL;
}

/* Seconds and bytes that a slice of the bond adds. */
static tn_status price_slice(const tn_trainer *t, const tn_rank_bond *bond, const tn_device_price *whole,
                             const tn_design *design, double slice[2], tn_error *error) {
    tn_arena arena = {0};
    tn_weight *weight;
    tn_design halved = *design;
    tn_device_price less;
    uint64_t half = (bond->rank + 1) / 2;
    slice[0] = slice[1] = 0;
    if (half == bond->rank) return TN_OK;
    tn_status status = copy_weights(t, &arena, &weight, error);
    if (status == TN_OK) {
        weight[bond->layer].rank[bond->place] = half;
        status = vary_weights(t, weight, &arena, &halved.model, error);
    }
    if (status == TN_OK) status = tn_device_price_of(&halved, &less, error);
    tn_arena_free(&arena);
    TN_TRY(status);
    double slices = (double)(bond->rank - half);
    if (less.seconds_per_step < whole->seconds_per_step)
        slice[0] = (whole->seconds_per_step - less.seconds_per_step) / slices;
    if (less.memory_bytes < whole->memory_bytes)
        slice[1] = (double)(whole->memory_bytes - less.memory_bytes) / slices;
    return TN_OK;
}

/* Half of each of both prices, over their means; a price that no slice changes counts for nothing. */
static void set_costs(tn_rank_penalty *penalty, double (*slice)[2]) {
    double mean[2] = {0}, slices = 0, given = 0, found = 0;
    for (size_t i = 0; i < penalty->bonds; i++) {
        double rank = (double)penalty->bond[i].rank;
        slices += rank;
        given += rank * penalty->bond[i].cost;
        for (int k = 0; k < 2; k++) mean[k] += rank * slice[i][k];
    }
    for (size_t i = 0; i < penalty->bonds; i++) {
        double share = 0;
        for (int k = 0; k < 2; k++)
            if (mean[k] > 0) share += slice[i][k] * slices / mean[k] / 2;
        slice[i][0] = share;
        found += share * (double)penalty->bond[i].rank;
    }
    for (size_t i = 0; found > 0 && i < penalty->bonds; i++)
        penalty->bond[i].cost = slice[i][0] * given / found;
}

tn_status tn_slice_costs(const tn_trainer *t, const tn_design *design, tn_rank_penalty *penalty,
                         tn_error *error) {
    tn_device_price whole;
    double(*slice)[2];
    TN_TRY(tn_device_price_of(design, &whole, error));
    TN_TRY(TN_ALLOC(penalty->bonds, &slice, error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < penalty->bonds; i++) {
        const tn_rank_bond *equal = equal_bond(t, penalty, i);
        if (equal)
            memcpy(slice[i], slice[equal - penalty->bond], sizeof slice[i]);
        else
            status = price_slice(t, &penalty->bond[i], &whole, design, slice[i], error);
    }
    if (status == TN_OK) set_costs(penalty, slice);
    tn_free(slice);
    return status;
}

tn_status tn_trimmed_model(const tn_trainer *t, const tn_rank_penalty *penalty, tn_arena *arena,
                           tn_model **trimmed, tn_error *error) {
    tn_weight *weight;
    TN_TRY(copy_weights(t, arena, &weight, error));
    for (size_t i = 0; i < penalty->bonds; i++) {
        const tn_rank_bond *bond = &penalty->bond[i];
        weight[bond->layer].rank[bond->place] = tn_rank_bond_left(bond);
    }
    return vary_weights(t, weight, arena, trimmed, error);
}

tn_status tn_adapted_layers(const tn_trainer *t, const tn_rank_penalty *penalty, tn_arena *arena,
                            tn_adapted *adapted, tn_error *error) {
    TN_TRY(TN_NEW(arena, penalty->bonds, &adapted->layer, error));
    adapted->layers = 0;
    for (size_t i = 0; i < penalty->bonds; i++) {
        const tn_rank_bond *bond = &penalty->bond[i];
        const tn_step_layer *layer = &step_of(t)->layer[bond->layer];
        tn_adapted_layer *target = &adapted->layer[adapted->layers];
        adapted->slices += bond->rank;
        adapted->slices_left += tn_rank_bond_left(bond);
        if (i > 0 && penalty->bond[i - 1].layer == bond->layer) continue;
        uint64_t *rank;
        TN_TRY(TN_NEW(arena, layer->weight->rank_count, &rank, error));
        memcpy(rank, layer->weight->rank, layer->weight->rank_count * sizeof *rank);
        *target = (tn_adapted_layer){
            .ranks = layer->weight->rank_count, .rank = rank, .parameters = layer->parameters};
        TN_TRY(tn_arena_copy_text(arena, layer->name, strlen(layer->name), &target->layer, error));
        adapted->layers++;
    }
    return TN_OK;
}

/* The bond before (or behind) that parameter; NULL: none is penalised. */
static const tn_rank_bond *bond_of(const tn_rank_penalty *penalty, size_t parameter, bool trailing) {
    for (size_t i = 0; i < penalty->bonds; i++)
        if ((trailing ? penalty->bond[i].left : penalty->bond[i].right) == parameter)
            return &penalty->bond[i];
    return NULL;
}

static bool lives(const tn_rank_bond *bond, uint64_t r) {
    return !bond || bond->lives[r];
}

/* out = in without the vanished slices of its first and last axis. */
static uint64_t trim(const double *input, uint64_t rows, uint64_t middle, uint64_t columns,
                     const tn_rank_bond *previous, const tn_rank_bond *next, double *out) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t m = 0; lives(previous, i) && m < middle; m++)
            for (uint64_t k = 0; k < columns; k++)
                if (lives(next, k)) out[count++] = input[(i * middle + m) * columns + k];
    return count;
}

tn_status tn_trimmed_values(const tn_trainer *source, const tn_rank_penalty *penalty, tn_trainer *target,
                            tn_error *error) {
    uint64_t most = 1;
    double *input, *out;
    for (size_t i = 0; i < source->parameters; i++)
        if (source->parameter[i].elements > most) most = source->parameter[i].elements;
    TN_TRY(TN_ALLOC(2 * most, &input, error));
    out = input + most;
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < source->parameters; i++) {
        const tn_train_parameter *p = &source->parameter[i], *q = &target->parameter[i];
        const tn_rank_bond *previous = bond_of(penalty, i, false), *next = bond_of(penalty, i, true);
        uint64_t rows = previous ? previous->rank : 1, columns = next ? next->rank : 1;
        source->kernels->to_double(p->values, input, p->elements);
        uint64_t count = trim(input, rows, p->elements / rows / columns, columns, previous, next, out);
        if (count != q->elements || strcmp(p->name, q->name) != 0)
            status = tn_fail(error, TN_INPUT,
                             "parameter %s has %" PRIu64 " elements left, the trimmed model %" PRIu64,
                             p->name, count, q->elements);
        else
            target->kernels->from_double(out, q->values, q->elements);
    }
    tn_free(input);
    return status;
}
