#include "train/zero_shares.h"

#include "base/memory.h"
#include "model/zero_skip.h"

#include <math.h>
#include <string.h>

/* Counted in pieces, by way of float64, which every type goes over into. */
static double share_of_zeros(const tn_kernels *k, const void *values, uint64_t elements) {
    enum { PIECE = 256 };
    double piece[PIECE];
    uint64_t zeros = 0;
    for (uint64_t index = 0; index < elements; index += PIECE) {
        uint64_t count = elements - index < PIECE ? elements - index : PIECE;
        k->to_double((const char *)values + index * k->bytes, piece, count);
        for (uint64_t i = 0; i < count; i++) zeros += piece[i] == 0;
    }
    return (double)zeros / (double)elements;
}

/* Lines of an operand's terms, which run along the features, or in a weight gradient along the tokens; of as many lines as
 * a tile has rows the scheduler is played at a time. */
static tn_status play(const tn_kernels *k, const char *values, uint64_t lines, uint64_t terms, bool turned,
                      double *ratio) {
    enum { ROWS = TN_ZERO_SKIP_ROWS, LANES = TN_ZERO_SKIP_LANES, DEPTH = 3 };
    const uint64_t steps = (terms + LANES - 1) / LANES;
    uint64_t all = 0, played = 0;
    bool *busy;
    TN_TRY(TN_ALLOC(ROWS * steps * LANES, &busy, NULL));
    for (uint64_t first = 0; first < lines; first += ROWS) {
        const uint64_t rows = lines - first < ROWS ? lines - first : ROWS;
        uint64_t cycles = 0;
        memset(busy, 0, ROWS * steps * LANES * sizeof *busy);
        for (uint64_t r = 0; r < rows; r++)
            for (uint64_t t = 0; t < terms; t++) {
                const uint64_t place = turned ? t * lines + first + r : (first + r) * terms + t;
                double value;
                k->to_double(values + place * k->bytes, &value, 1);
                busy[r * steps * LANES + t] = value != 0;
            }
        if (tn_zero_skip_play(busy, rows, steps, LANES, DEPTH, &cycles, NULL) != TN_OK) cycles = steps;
        all += steps;
        played += cycles;
    }
    tn_free(busy);
    *ratio = (double)played / (double)all;
    return TN_OK;
}

void tn_count_zeros(tn_zero_counter *target, const tn_step *step, const tn_operation *product,
                    const tn_kernels *kernels, const void *left, const void *right) {
    const void *const values[] = {left, right};
    if (!target->counts || product->layer >= target->layers) return;
    tn_zero_sum *sum = &target->layer[product->layer][product->phase];
    for (int side = 0; side < 2; side++) {
        const tn_array *array = &step->array[product->reads[side]];
        sum->macs[array->value] += (double)product->macs;
        const double zeros = share_of_zeros(kernels, values[side], array->elements);
        const uint64_t tokens = step->layer[product->layer].tokens;
        const bool turned = product->phase == TN_WEIGHT_GRADIENT && array->elements % tokens == 0;
        const uint64_t terms = turned                                      ? tokens
                               : array->elements % product->reduction == 0 ? product->reduction
                                                                           : array->elements;
        double ratio = 1;
        /* Without memory to play it is taken to skip nothing. */
        if (zeros > 0 && play(kernels, values[side], array->elements / terms, terms, turned, &ratio) != TN_OK)
            ratio = 1;
        sum->zero[array->value] += (double)product->macs * zeros;
        sum->played[array->value] += (double)product->macs * ratio;
    }
}

void tn_zero_counter_reset(tn_zero_counter *counter) {
    if (counter->layers) memset(counter->layer, 0, counter->layers * sizeof *counter->layer);
}

static void add(tn_zero_sum *sum, const tn_zero_sum *more) {
    for (int v = 0; v < TN_VALUES; v++) {
        sum->macs[v] += more->macs[v];
        sum->zero[v] += more->zero[v];
        sum->played[v] += more->played[v];
    }
}

static double share(const tn_zero_sum *sum, tn_value value) {
    return sum->macs[value] > 0 ? sum->zero[value] / sum->macs[value] : NAN;
}

static double played(const tn_zero_sum *sum, tn_value value) {
    return sum->macs[value] > 0 ? sum->played[value] / sum->macs[value] : NAN;
}

static bool is_empty(const tn_zero_sum *sum) {
    return sum->macs[TN_VALUE_ACTIVATION] == 0 && sum->macs[TN_VALUE_GRADIENT] == 0;
}

tn_status tn_zero_shares(const tn_zero_counter *counter, const tn_step *step, tn_arena *arena,
                         tn_zeros *target, tn_error *error) {
    tn_zero_sum all = {.zero = {0}};
    tn_layer_zeros *row;
    *target = (tn_zeros){0};
    TN_TRY(TN_NEW(arena, (size_t)counter->layers * TN_PHASES, &row, error));
    for (uint32_t i = 0; i < counter->layers; i++)
        for (int phase = 0; phase < TN_PHASES; phase++) {
            const tn_zero_sum *one = &counter->layer[i][phase];
            if (is_empty(one)) continue;
            add(&all, one);
            row[target->layers++] = (tn_layer_zeros){.phase = tn_phase_names[phase],
                                                     .activations = share(one, TN_VALUE_ACTIVATION),
                                                     .gradients = share(one, TN_VALUE_GRADIENT),
                                                     .skip_activations = played(one, TN_VALUE_ACTIVATION),
                                                     .skip_gradients = played(one, TN_VALUE_GRADIENT)};
            TN_TRY(tn_arena_format(arena, &row[target->layers - 1].layer, error, "%s", step->layer[i].name));
        }
    target->layer = row;
    target->activations = share(&all, TN_VALUE_ACTIVATION);
    target->gradients = share(&all, TN_VALUE_GRADIENT);
    target->skip_activations = played(&all, TN_VALUE_ACTIVATION);
    target->skip_gradients = played(&all, TN_VALUE_GRADIENT);
    return TN_OK;
}
