#include "run/trial.h"

#include "base/checked.h"
#include "base/random.h"

#include <math.h>

/* Every core's standard deviation such that W, a sum of prod(ranks) products of one element per core, has
 * variance 1/N. */
double tn_trial_core_scale(const tn_weight *weight, uint64_t columns, uint32_t cores) {
    double terms = 1.0;
    for (uint32_t j = 0; j < weight->rank_count; j++) terms *= (double)weight->rank[j];
    if (weight->format == TN_RING) terms /= (double)weight->rank[0];
    return pow(terms * (double)columns, -0.5 / cores);
}

static tn_status core_elements(const tn_weight *weight, uint32_t core, uint64_t *elements, tn_error *error) {
    uint64_t shape[TN_RANKS_MOST];
    uint32_t axes = tn_weight_core_shape(weight, core, shape);
    if (tn_product(shape, axes, elements)) return TN_OK;
    return tn_fail(error, TN_OVERFLOW, "core %u has more than 2^64 elements; use smaller sizes", core + 1);
}

tn_status tn_trial_draw_values(uint64_t seed, uint64_t elements, double scale, tn_arena *arena,
                               double **values, tn_error *error) {
    double *drawn;
    TN_TRY(tn_arena_alloc(arena, elements, sizeof *drawn, &drawn, error));
    TN_TRY(tn_random_fill_normal(seed, drawn, elements, error));
    for (uint64_t i = 0; i < elements; i++) drawn[i] *= scale;
    *values = drawn;
    return TN_OK;
}

/* Input number `input`, of its own seed. */
static tn_status draw(tn_trial *trial, uint32_t input, uint64_t elements, double scale, tn_arena *arena,
                      tn_error *error) {
    double *values;
    TN_TRY(tn_trial_draw_values(trial->seed + input, elements, scale, arena, &values, error));
    trial->input[input] = values;
    return TN_OK;
}

tn_status tn_trial_draw(const tn_weight *weight, uint64_t tokens, uint64_t seed, tn_arena *arena,
                        tn_trial *trial, tn_error *error) {
    uint64_t rows, columns, elements;
    TN_TRY(tn_weight_check(weight, error));
    TN_TRY(tn_weight_rows(weight, &rows, error));
    TN_TRY(tn_weight_columns(weight, &columns, error));
    *trial = (tn_trial){
        .name = tn_format_names[weight->format], .weight = *weight, .tokens = tokens, .seed = seed};
    trial->cores = tn_weight_cores(weight);
    uint32_t cores = trial->cores;
    double scale = tn_trial_core_scale(weight, columns, cores);
    TN_TRY(tn_arena_alloc(arena, cores + 2, sizeof *trial->input, &trial->input, error));
    if (!tn_mul(tokens, columns, &elements) || !tn_mul(tokens, rows, &rows))
        return tn_fail(error, TN_OVERFLOW, "X or Y has more than 2^64 elements; use smaller sizes");
    TN_TRY(draw(trial, 0, elements, 1.0, arena, error));
    TN_TRY(draw(trial, cores + 1, rows, 1.0, arena, error));
    for (uint32_t k = 0; k < cores; k++) {
        TN_TRY(core_elements(weight, k, &elements, error));
        TN_TRY(draw(trial, k + 1, elements, scale, arena, error));
    }
    return tn_reference_make(weight, tokens, trial->input[0], trial->input[cores + 1], trial->input + 1,
                             arena, &trial->reference, error);
}
