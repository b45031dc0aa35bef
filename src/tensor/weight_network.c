/* The networks of a weight's products (tensor/weight.h). */
#include "tensor/layout.h"
#include "tensor/weight.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define NO_INDEX UINT32_MAX

/* A network being written: index 0 the token, 1..d the modes n, d+1..2d the modes m, then the bonds. */
typedef struct writer {
    const tn_weight *weight;
    tn_layout layout;
    uint32_t index_of[TN_LABELS_MOST]; /* of a label; NO_INDEX: an end bond */
    tn_arena *arena;
    tn_network *network;
    tn_error *error;
} writer;

static void number_labels(writer *w) {
    uint32_t d = w->weight->d, next = 2 * d + 1;
    for (uint32_t k = 0; k < d; k++) {
        w->index_of[k] = 1 + d + k;
        w->index_of[d + k] = 1 + k;
    }
    for (uint32_t label = 2 * d; label < w->layout.labels; label++)
        w->index_of[label] = w->layout.carriers[label] > 1 ? next++ : NO_INDEX;
    w->network->indices = next;
}

static tn_status name_indices(writer *w) {
    tn_network *network = w->network;
    uint32_t d = w->weight->d;
    const char **name = network->index_name;
    TN_TRY(tn_arena_copy_text(w->arena, "k", 1, &name[0], w->error));
    for (uint32_t k = 0; k < d; k++) {
        TN_TRY(tn_arena_format(w->arena, &name[1 + k], w->error, "n%" PRIu32, k + 1));
        TN_TRY(tn_arena_format(w->arena, &name[1 + d + k], w->error, "m%" PRIu32, k + 1));
    }
    for (uint32_t label = 2 * d; label < w->layout.labels; label++)
        if (w->index_of[label] != NO_INDEX)
            TN_TRY(
                tn_arena_format(w->arena, &name[w->index_of[label]], w->error, "r%" PRIu32, label - 2 * d));
    return TN_OK;
}

static tn_status begin(writer *w, uint64_t tokens) {
    if (tokens == 0) return tn_fail(w->error, TN_INPUT, "0 tokens; a product has at least 1");
    TN_TRY(tn_weight_check(w->weight, w->error));
    tn_layout_of(w->weight, &w->layout);
    number_labels(w);
    tn_network *network = w->network;
    uint32_t most_tensors = w->layout.cores + 2;
    TN_TRY(tn_arena_alloc(w->arena, network->indices, sizeof *network->index_size, &network->index_size,
                          w->error));
    TN_TRY(tn_arena_alloc(w->arena, network->indices, sizeof *network->index_name, &network->index_name,
                          w->error));
    TN_TRY(tn_arena_alloc(w->arena, most_tensors, sizeof *network->tensor, &network->tensor, w->error));
    TN_TRY(tn_arena_alloc(w->arena, most_tensors, sizeof *network->tensor_name, &network->tensor_name,
                          w->error));
    network->index_size[0] = tokens;
    for (uint32_t label = 0; label < w->layout.labels; label++)
        if (w->index_of[label] != NO_INDEX) network->index_size[w->index_of[label]] = w->layout.size[label];
    return name_indices(w);
}

/* (token, n...) or (token, m...). */
static tn_status token_indices(writer *w, bool input_side, tn_indices *indices) {
    uint32_t d = w->weight->d;
    indices->count = d + 1;
    TN_TRY(tn_arena_alloc(w->arena, d + 1, sizeof *indices->index, &indices->index, w->error));
    for (uint32_t k = 0; k < d; k++) indices->index[1 + k] = (input_side ? 1 : 1 + d) + k;
    return TN_OK;
}

static tn_status core_indices(writer *w, uint32_t core, tn_indices *indices) {
    const tn_core_axes *axes = &w->layout.core[core];
    indices->count = 0;
    TN_TRY(tn_arena_alloc(w->arena, axes->count, sizeof *indices->index, &indices->index, w->error));
    for (uint32_t i = 0; i < axes->count; i++)
        if (w->index_of[axes->label[i]] != NO_INDEX)
            indices->index[indices->count++] = w->index_of[axes->label[i]];
    return TN_OK;
}

static tn_status add_rows(writer *w, bool input_side) {
    uint32_t t = w->network->tensors++;
    const char *name = input_side ? "X" : "dY";
    TN_TRY(tn_arena_copy_text(w->arena, name, strlen(name), &w->network->tensor_name[t], w->error));
    return token_indices(w, input_side, &w->network->tensor[t]);
}

/* All cores but `without`. */
static tn_status add_cores(writer *w, uint32_t without) {
    for (uint32_t core = 0; core < w->layout.cores; core++) {
        if (core == without) continue;
        uint32_t t = w->network->tensors++;
        TN_TRY(tn_arena_format(w->arena, &w->network->tensor_name[t], w->error, "G%" PRIu32, core + 1));
        TN_TRY(core_indices(w, core, &w->network->tensor[t]));
    }
    return TN_OK;
}

tn_status tn_weight_forward(const tn_weight *weight, uint64_t tokens, tn_arena *arena, tn_network *network,
                            tn_error *error) {
    writer w = {.weight = weight, .arena = arena, .network = network, .error = error};
    *network = (tn_network){0};
    TN_TRY(begin(&w, tokens));
    TN_TRY(add_rows(&w, true));
    TN_TRY(add_cores(&w, NO_INDEX));
    return token_indices(&w, false, &network->output);
}

tn_status tn_weight_input_gradient(const tn_weight *weight, uint64_t tokens, tn_arena *arena,
                                   tn_network *network, tn_error *error) {
    writer w = {.weight = weight, .arena = arena, .network = network, .error = error};
    *network = (tn_network){0};
    TN_TRY(begin(&w, tokens));
    TN_TRY(add_rows(&w, false));
    TN_TRY(add_cores(&w, NO_INDEX));
    return token_indices(&w, true, &network->output);
}

tn_status tn_weight_core_gradient(const tn_weight *weight, uint64_t tokens, uint32_t core, tn_arena *arena,
                                  tn_network *network, tn_error *error) {
    writer w = {.weight = weight, .arena = arena, .network = network, .error = error};
    *network = (tn_network){0};
    TN_TRY(begin(&w, tokens));
    if (core >= w.layout.cores)
        return tn_fail(error, TN_INPUT, "gradient of core %" PRIu32 "; the weight has %" PRIu32 " cores",
                       core + 1, w.layout.cores);
    TN_TRY(add_rows(&w, true));
    TN_TRY(add_rows(&w, false));
    TN_TRY(add_cores(&w, core));
    return core_indices(&w, core, &network->output);
}

tn_status tn_weight_matrix(const tn_weight *weight, tn_arena *arena, tn_network *network, tn_error *error) {
    writer w = {.weight = weight, .arena = arena, .network = network, .error = error};
    *network = (tn_network){0};
    TN_TRY(begin(&w, 1));
    TN_TRY(add_cores(&w, NO_INDEX));
    uint32_t modes = 2 * weight->d;
    network->output.count = modes;
    TN_TRY(tn_arena_alloc(arena, modes, sizeof *network->output.index, &network->output.index, error));
    for (uint32_t k = 0; k < modes; k++) network->output.index[k] = w.index_of[k];
    return TN_OK;
}
