#include "tensor/weight.h"

#include "base/checked.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const tn_format tn_formats_from_weights[] = {TN_TT, TN_TTM, TN_RING, TN_TUCKER};
const size_t tn_formats_from_weights_count = sizeof tn_formats_from_weights / sizeof *tn_formats_from_weights;
const char *const tn_format_names[] = {"dense", "tt", "ttm", "tr", "tucker", "ht", "cp", "bt", NULL};

uint32_t tn_weight_rank_count(const tn_weight *weight) {
    uint32_t d = weight->d;
    switch (weight->format) {
    case TN_DENSE:
        return 0;
    case TN_TT:
    case TN_RING:
    case TN_BLOCK_TERM:
        return 2 * d + 1;
    case TN_TTM:
        return d + 1;
    case TN_TUCKER:
        return 2 * d;
    case TN_HT:
        return 4 * d - 2;
    case TN_CP:
        return 1;
    }
    return 0;
}

static bool has_open_ends(tn_format format) {
    return format == TN_TT || format == TN_TTM;
}

static tn_status check_factors(const tn_weight *weight, tn_error *error) {
    if ((unsigned)weight->format >= TN_FORMATS)
        return tn_fail(error, TN_INPUT, "weight format number %u; formats are 0 to %d",
                       (unsigned)weight->format, TN_FORMATS - 1);
    if (weight->d == 0 || weight->d > TN_FACTORS_MOST)
        return tn_fail(error, weight->d ? TN_LIMIT : TN_INPUT,
                       "a weight of %" PRIu32 " factors per side; it must be 1 to %d", weight->d,
                       TN_FACTORS_MOST);
    for (uint32_t k = 0; k < weight->d; k++)
        if (weight->m[k] == 0 || weight->n[k] == 0)
            return tn_fail(error, TN_INPUT, "factor %" PRIu32 " of %s is 0; factors are at least 1", k + 1,
                           weight->m[k] == 0 ? "m" : "n");
    return TN_OK;
}

void tn_weight_reshape(tn_weight *weight, tn_format format, uint32_t d, const uint64_t *m,
                       const uint64_t *n) {
    uint64_t terms = weight->format == TN_BLOCK_TERM ? weight->rank[2 * weight->d] : 1;
    weight->format = format;
    weight->d = d;
    memmove(weight->m, m, d * sizeof *m);
    memmove(weight->n, n, d * sizeof *n);
    weight->rank[2 * d] = terms;
}

tn_status tn_weight_set_rank(tn_weight *weight, uint64_t rank, tn_error *error) {
    TN_TRY(check_factors(weight, error));
    if (rank == 0) return tn_fail(error, TN_INPUT, "rank 0; a rank is at least 1");
    uint32_t count = tn_weight_rank_count(weight);
    uint64_t terms = weight->rank[2 * weight->d];
    weight->rank_count = count;
    for (uint32_t j = 0; j < count; j++) weight->rank[j] = rank;
    if (has_open_ends(weight->format)) weight->rank[0] = weight->rank[count - 1] = 1;
    if (weight->format == TN_BLOCK_TERM) weight->rank[count - 1] = terms ? terms : 1;
    return TN_OK;
}

tn_status tn_weight_check(const tn_weight *weight, tn_error *error) {
    TN_TRY(check_factors(weight, error));
    const char *name = tn_format_names[weight->format];
    uint32_t count = tn_weight_rank_count(weight);
    if (weight->rank_count != count)
        return tn_fail(error, TN_INPUT,
                       "%" PRIu32 " ranks for format %s with %" PRIu32 " factors per side; it has %" PRIu32,
                       weight->rank_count, name, weight->d, count);
    for (uint32_t j = 0; j < count; j++)
        if (weight->rank[j] == 0)
            return tn_fail(error, TN_INPUT, "rank %" PRIu32 " is 0; a rank is at least 1", j + 1);
    if (has_open_ends(weight->format) && (weight->rank[0] != 1 || weight->rank[count - 1] != 1))
        return tn_fail(error, TN_INPUT,
                       "the first and last rank of format %s are %" PRIu64 " and %" PRIu64
                       "; both must be 1 (a ring, format tr, closes the chain)",
                       name, weight->rank[0], weight->rank[count - 1]);
    if (weight->format == TN_RING && weight->rank[0] != weight->rank[count - 1])
        return tn_fail(error, TN_INPUT,
                       "the first and last rank of format tr are %" PRIu64 " and %" PRIu64
                       "; they are one bond and must be equal",
                       weight->rank[0], weight->rank[count - 1]);
    return TN_OK;
}

static tn_status side(const uint64_t *factor, uint32_t d, const char *name, uint64_t *product,
                      tn_error *error) {
    if (!tn_product(factor, d, product))
        return tn_fail(error, TN_OVERFLOW, "the factors of %s multiply to more than 2^64; use smaller ones",
                       name);
    return TN_OK;
}

tn_status tn_weight_rows(const tn_weight *weight, uint64_t *rows, tn_error *error) {
    return side(weight->m, weight->d, "m", rows, error);
}

tn_status tn_weight_columns(const tn_weight *weight, uint64_t *columns, tn_error *error) {
    return side(weight->n, weight->d, "n", columns, error);
}

uint32_t tn_weight_cores(const tn_weight *weight) {
    tn_layout layout;
    tn_layout_of(weight, &layout);
    return layout.cores;
}

uint32_t tn_weight_core_shape(const tn_weight *weight, uint32_t core, uint64_t *shape) {
    tn_layout layout;
    tn_layout_of(weight, &layout);
    const tn_core_axes *axes = &layout.core[core];
    for (uint32_t i = 0; i < axes->count; i++) shape[i] = layout.size[axes->label[i]];
    return axes->count;
}

static tn_status too_many_parameters(const tn_weight *weight, tn_error *error) {
    return tn_fail(error, TN_OVERFLOW,
                   "a weight of format %s with more than 2^64 parameters; use smaller sizes",
                   tn_format_names[weight->format]);
}

static bool core_elements(const tn_layout *layout, uint32_t core, uint64_t *elements) {
    const tn_core_axes *axes = &layout->core[core];
    *elements = 1;
    for (uint32_t i = 0; i < axes->count; i++)
        if (!tn_mul(*elements, layout->size[axes->label[i]], elements)) return false;
    return true;
}

static bool all_elements(const tn_layout *layout, uint64_t *sum) {
    *sum = 0;
    for (uint32_t k = 0; k < layout->cores; k++) {
        uint64_t elements;
        if (!core_elements(layout, k, &elements) || !tn_add(*sum, elements, sum)) return false;
    }
    return true;
}

tn_status tn_weight_parameters(const tn_weight *weight, uint64_t *parameters, tn_error *error) {
    tn_layout layout;
    TN_TRY(tn_weight_check(weight, error));
    tn_layout_of(weight, &layout);
    return all_elements(&layout, parameters) ? TN_OK : too_many_parameters(weight, error);
}

static bool carries(const tn_core_axes *axes, uint32_t label) {
    for (uint32_t i = 0; i < axes->count; i++)
        if (axes->label[i] == label) return true;
    return false;
}

/* Largest rank of the bond that core `k` can fill: the product of its other axes, hyperedges apart (each term
 * of a sum over a shared index stands alone). */
static uint64_t most_rank(const tn_layout *layout, const tn_core_axes *axes, uint32_t bond) {
    uint64_t most = 1;
    for (uint32_t i = 0; i < axes->count; i++) {
        uint32_t label = axes->label[i];
        if (label == bond || layout->carriers[label] > 2) continue;
        if (!tn_mul(most, layout->size[label], &most)) return UINT64_MAX;
    }
    return most;
}

/* Lowers every bond between two cores to what both can fill, until nothing changes. */
static void make_useful(const tn_weight *weight, tn_layout *layout) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t bond = 2 * weight->d; bond < layout->labels; bond++)
            for (uint32_t k = 0; k < layout->cores && layout->carriers[bond] == 2; k++) {
                if (!carries(&layout->core[k], bond)) continue;
                uint64_t most = most_rank(layout, &layout->core[k], bond);
                if (layout->size[bond] <= most) continue;
                layout->size[bond] = most;
                changed = true;
            }
    }
}

tn_status tn_weight_useful_ranks(const tn_weight *weight, uint64_t *useful, tn_error *error) {
    tn_layout layout;
    TN_TRY(tn_weight_check(weight, error));
    tn_layout_of(weight, &layout);
    make_useful(weight, &layout);
    for (uint32_t j = 0; j < weight->rank_count; j++) useful[j] = layout.size[2 * weight->d + j];
    if (weight->format == TN_RING) useful[2 * weight->d] = useful[0];
    return TN_OK;
}

tn_status tn_weight_trim_ranks(tn_weight *weight, tn_error *error) {
    uint64_t useful[TN_RANKS_MOST];
    TN_TRY(tn_weight_useful_ranks(weight, useful, error));
    memcpy(weight->rank, useful, weight->rank_count * sizeof *useful);
    return TN_OK;
}

/* False where it overflows. */
static bool gauge_freedom(const tn_weight *weight, const tn_layout *layout, uint64_t *freedom) {
    uint32_t modes = 2 * weight->d;
    uint64_t terms = weight->format == TN_BLOCK_TERM ? weight->rank[modes] : 1, sum = 0;
    for (uint32_t bond = modes; bond < layout->labels; bond++) {
        uint64_t rank = layout->size[bond];
        if (layout->carriers[bond] == 2 && !tn_mul_add(rank, rank, &sum)) return false;
        if (weight->format == TN_CP && layout->carriers[bond] > 2 && !tn_mul_add(rank, modes - 1, &sum))
            return false;
    }
    if (weight->format == TN_RING) sum--;
    return tn_mul(sum, terms, freedom);
}

tn_status tn_weight_degrees_of_freedom(const tn_weight *weight, uint64_t *degrees, tn_error *error) {
    tn_layout layout;
    uint64_t parameters, gauge;
    TN_TRY(tn_weight_check(weight, error));
    tn_layout_of(weight, &layout);
    make_useful(weight, &layout);
    if (!all_elements(&layout, &parameters) || !gauge_freedom(weight, &layout, &gauge))
        return too_many_parameters(weight, error);
    *degrees = parameters > gauge ? parameters - gauge : 1;
    return TN_OK;
}

uint64_t tn_weight_greatest_rank(const tn_weight *weight) {
    uint64_t greatest = 1;
    for (uint32_t i = 0; i < weight->rank_count; i++)
        if (weight->rank[i] > greatest) greatest = weight->rank[i];
    return greatest;
}

bool tn_weight_equal(const tn_weight *a, const tn_weight *b) {
    return a->format == b->format && a->d == b->d && a->rank_count == b->rank_count &&
           memcmp(a->m, b->m, a->d * sizeof *a->m) == 0 && memcmp(a->n, b->n, a->d * sizeof *a->n) == 0 &&
           memcmp(a->rank, b->rank, a->rank_count * sizeof *a->rank) == 0;
}

static void add_axis(tn_layout *layout, uint32_t core, uint32_t label) {
    tn_core_axes *axes = &layout->core[core];
    axes->label[axes->count++] = (uint8_t)label;
    layout->carriers[label]++;
}

static void lay_chain(const tn_weight *weight, tn_layout *layout) {
    uint32_t modes = 2 * weight->d, bond = modes;
    layout->cores = modes;
    for (uint32_t k = 0; k < modes; k++) {
        bool closes = weight->format == TN_RING && k + 1 == modes;
        add_axis(layout, k, bond + k);
        add_axis(layout, k, k);
        add_axis(layout, k, closes ? bond : bond + k + 1);
    }
}

static void lay_matrix_chain(const tn_weight *weight, tn_layout *layout) {
    uint32_t d = weight->d, bond = 2 * d;
    layout->cores = d;
    for (uint32_t k = 0; k < d; k++) {
        add_axis(layout, k, bond + k);
        add_axis(layout, k, k);
        add_axis(layout, k, d + k);
        add_axis(layout, k, bond + k + 1);
    }
}

static void lay_tucker(const tn_weight *weight, tn_layout *layout, bool terms) {
    uint32_t modes = 2 * weight->d, bond = modes, core = modes, term = bond + modes;
    layout->cores = modes + 1;
    if (terms) add_axis(layout, core, term);
    for (uint32_t k = 0; k < modes; k++) {
        if (terms) add_axis(layout, k, term);
        add_axis(layout, k, k);
        add_axis(layout, k, bond + k);
        add_axis(layout, core, bond + k);
    }
}

/* Lays the inner nodes over modes [low, high), children first, and returns the label of its bond upwards. */
static uint32_t lay_node(const tn_weight *weight, tn_layout *layout, uint32_t low, uint32_t high) {
    uint32_t modes = 2 * weight->d, bond = modes;
    if (high - low == 1) return bond + low;
    uint32_t middle = low + (high - low + 1) / 2;
    uint32_t left = lay_node(weight, layout, low, middle), right = lay_node(weight, layout, middle, high);
    uint32_t core = layout->cores++, up = bond + core;
    add_axis(layout, core, left);
    add_axis(layout, core, right);
    if (high - low < modes) add_axis(layout, core, up);
    return up;
}

static void lay_tree(const tn_weight *weight, tn_layout *layout) {
    uint32_t modes = 2 * weight->d, bond = modes;
    layout->cores = modes;
    for (uint32_t k = 0; k < modes; k++) {
        add_axis(layout, k, k);
        add_axis(layout, k, bond + k);
    }
    lay_node(weight, layout, 0, modes);
}

static void lay_shared(const tn_weight *weight, tn_layout *layout) {
    uint32_t modes = 2 * weight->d;
    layout->cores = modes;
    for (uint32_t k = 0; k < modes; k++) {
        add_axis(layout, k, k);
        add_axis(layout, k, modes);
    }
}

static void lay_dense(const tn_weight *weight, tn_layout *layout) {
    layout->cores = 1;
    for (uint32_t k = 0; k < 2 * weight->d; k++) add_axis(layout, 0, k);
}

void tn_layout_of(const tn_weight *weight, tn_layout *layout) {
    uint32_t d = weight->d;
    memset(layout, 0, sizeof *layout);
    layout->labels = 2 * d + weight->rank_count;
    for (uint32_t k = 0; k < d; k++) {
        layout->size[k] = weight->m[k];
        layout->size[d + k] = weight->n[k];
    }
    for (uint32_t j = 0; j < weight->rank_count; j++) layout->size[2 * d + j] = weight->rank[j];
    switch (weight->format) {
    case TN_DENSE:
        lay_dense(weight, layout);
        break;
    case TN_TT:
    case TN_RING:
        lay_chain(weight, layout);
        break;
    case TN_TTM:
        lay_matrix_chain(weight, layout);
        break;
    case TN_TUCKER:
        lay_tucker(weight, layout, false);
        break;
    case TN_BLOCK_TERM:
        lay_tucker(weight, layout, true);
        break;
    case TN_HT:
        lay_tree(weight, layout);
        break;
    case TN_CP:
        lay_shared(weight, layout);
        break;
    }
}

/* The networks of a weight's products (tensor/weight.h). */

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
    TN_TRY(TN_NEW(w->arena, network->indices, &network->index_size, w->error));
    TN_TRY(TN_NEW(w->arena, network->indices, &network->index_name, w->error));
    TN_TRY(TN_NEW(w->arena, most_tensors, &network->tensor, w->error));
    TN_TRY(TN_NEW(w->arena, most_tensors, &network->tensor_name, w->error));
    network->index_size[0] = tokens;
    for (uint32_t label = 0; label < w->layout.labels; label++)
        if (w->index_of[label] != NO_INDEX) network->index_size[w->index_of[label]] = w->layout.size[label];
    return name_indices(w);
}

/* (token, n...) or (token, m...). */
static tn_status token_indices(writer *w, bool input_side, tn_indices *indices) {
    uint32_t d = w->weight->d;
    indices->count = d + 1;
    TN_TRY(TN_NEW(w->arena, d + 1, &indices->index, w->error));
    for (uint32_t k = 0; k < d; k++) indices->index[1 + k] = (input_side ? 1 : 1 + d) + k;
    return TN_OK;
}

static tn_status core_indices(writer *w, uint32_t core, tn_indices *indices) {
    const tn_core_axes *axes = &w->layout.core[core];
    indices->count = 0;
    TN_TRY(TN_NEW(w->arena, axes->count, &indices->index, w->error));
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

/* All cores but `rest`. */
static tn_status add_cores(writer *w, uint32_t rest) {
    for (uint32_t core = 0; core < w->layout.cores; core++) {
        if (core == rest) continue;
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
    TN_TRY(TN_NEW(arena, modes, &network->output.index, error));
    for (uint32_t k = 0; k < modes; k++) network->output.index[k] = w.index_of[k];
    return TN_OK;
}
