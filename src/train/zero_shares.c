#include "train/zero_shares.h"

#include <math.h>
#include <string.h>

/* Counted in pieces, by way of float64, which every type goes over into. */
static double share_of_zeros(const tn_kernels *k, const void *values, uint64_t elements) {
    enum { PIECE = 256 };
    double piece[PIECE];
    uint64_t zeros = 0;
    for (uint64_t at = 0; at < elements; at += PIECE) {
        uint64_t count = elements - at < PIECE ? elements - at : PIECE;
        k->to_double((const char *)values + at * k->bytes, piece, count);
        for (uint64_t i = 0; i < count; i++) zeros += piece[i] == 0;
    }
    return (double)zeros / (double)elements;
}

void tn_count_zeros(tn_zero_counter *to, const tn_step *step, const tn_operation *product,
                    const tn_kernels *kernels, const void *left, const void *right) {
    const void *const values[] = {left, right};
    if (!to->counts || product->layer >= to->layers) return;
    tn_zero_sum *sum = &to->layer[product->layer][product->phase];
    for (int side = 0; side < 2; side++) {
        const tn_array *array = &step->array[product->reads[side]];
        sum->macs[array->value] += (double)product->macs;
        sum->zero[array->value] +=
            (double)product->macs * share_of_zeros(kernels, values[side], array->elements);
    }
}

void tn_zero_counter_reset(tn_zero_counter *of) {
    if (of->layers) memset(of->layer, 0, of->layers * sizeof *of->layer);
}

static void add(tn_zero_sum *to, const tn_zero_sum *more) {
    for (int v = 0; v < TN_VALUES; v++) {
        to->macs[v] += more->macs[v];
        to->zero[v] += more->zero[v];
    }
}

static double share(const tn_zero_sum *of, tn_value value) {
    return of->macs[value] > 0 ? of->zero[value] / of->macs[value] : NAN;
}

static bool is_empty(const tn_zero_sum *of) {
    return of->macs[TN_VALUE_ACTIVATION] == 0 && of->macs[TN_VALUE_GRADIENT] == 0;
}

tn_status tn_zero_shares(const tn_zero_counter *of, const tn_step *step, tn_arena *arena, tn_zeros *to,
                         tn_error *error) {
    tn_zero_sum all = {.zero = {0}};
    tn_layer_zeros *row;
    *to = (tn_zeros){0};
    TN_TRY(TN_NEW(arena, (size_t)of->layers * TN_PHASES, &row, error));
    for (uint32_t i = 0; i < of->layers; i++)
        for (int phase = 0; phase < TN_PHASES; phase++) {
            const tn_zero_sum *one = &of->layer[i][phase];
            if (is_empty(one)) continue;
            add(&all, one);
            row[to->layers++] = (tn_layer_zeros){.phase = tn_phase_names[phase],
                                                 .activations = share(one, TN_VALUE_ACTIVATION),
                                                 .gradients = share(one, TN_VALUE_GRADIENT)};
            TN_TRY(tn_arena_format(arena, &row[to->layers - 1].layer, error, "%s", step->layer[i].name));
        }
    to->layer = row;
    to->activations = share(&all, TN_VALUE_ACTIVATION);
    to->gradients = share(&all, TN_VALUE_GRADIENT);
    return TN_OK;
}
