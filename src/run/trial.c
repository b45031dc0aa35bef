#include "run/trial.h"

#include "base/checked.h"
#include "base/random.h"
#include "step/program_cache.h"

#include <math.h>
#include <string.h>

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
    TN_TRY(TN_NEW(arena, elements, &drawn, error));
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
    TN_TRY(TN_NEW(arena, cores + 2, &trial->input, error));
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

/* Trials of look-ups (run/trial.h). */

enum { TOKEN = 0 }; /* index of the token in the network of a look-up */

/* A look-up being drawn. */
typedef struct drawing {
    const tn_weight *weight;
    tn_trial *trial;
    tn_network network; /* of the cut cores */
    uint64_t rows, columns;
    uint64_t *word;      /* [tokens] */
    const double **core; /* whole */
    const double **cut;
    tn_arena *arena, *scratch;
    tn_error *error;
} drawing;

static tn_status draw_words(drawing *d) {
    double *number;
    uint64_t tokens = d->trial->tokens;
    TN_TRY(TN_NEW(d->scratch, tokens, &d->word, d->error));
    TN_TRY(tn_trial_draw_values(d->trial->seed + 1, tokens, 1e6, d->scratch, &number, d->error));
    for (uint64_t t = 0; t < tokens; t++) {
        uint64_t size = (uint64_t)(number[t] < 0 ? -number[t] : number[t]);
        d->word[t] = size % d->rows;
    }
    return TN_OK;
}

static tn_status draw_cores(drawing *d) {
    uint32_t cores = d->network.tensors;
    double scale = tn_trial_core_scale(d->weight, d->columns, cores);
    TN_TRY(TN_NEW(d->scratch, cores, &d->core, d->error));
    for (uint32_t k = 0; k < cores; k++) {
        uint64_t shape[TN_RANKS_MOST], elements;
        double *values;
        uint32_t axes = tn_weight_core_shape(d->weight, k, shape);
        if (!tn_product(shape, axes, &elements))
            return tn_fail(d->error, TN_OVERFLOW, "core %u has more than 2^64 elements; use smaller sizes",
                           k + 1);
        TN_TRY(tn_trial_draw_values(d->trial->seed + 2 + k, elements, scale, d->arena, &values, d->error));
        d->core[k] = values;
    }
    return TN_OK;
}

/* Digit k of a word: the first factor of the rows is the most significant. */
static uint64_t digit_of(const tn_weight *weight, uint64_t word, uint32_t k) {
    for (uint32_t i = weight->d; i-- > k + 1;) word /= weight->m[i];
    return word % weight->m[k];
}

/* Core k with its factor of the rows replaced by the token: a slice per token. */
static tn_status cut_core(drawing *d, uint32_t k, const double **cut) {
    tn_indices indices = d->network.tensor[k];
    uint64_t outer = 1, inner = 1, tokens = d->trial->tokens;
    double *values;
    *cut = d->core[k];
    uint32_t index = 0;
    while (index < indices.count && indices.index[index] != TOKEN)
        outer *= d->network.index_size[indices.index[index++]];
    if (index == indices.count) return TN_OK;
    for (uint32_t i = index + 1; i < indices.count; i++) inner *= d->network.index_size[indices.index[i]];
    TN_TRY(TN_NEW(d->arena, outer * tokens * inner, &values, d->error));
    for (uint64_t o = 0; o < outer; o++)
        for (uint64_t t = 0; t < tokens; t++) {
            uint64_t start = o * d->weight->m[k] + digit_of(d->weight, d->word[t], k);
            memcpy(values + (o * tokens + t) * inner, d->core[k] + start * inner, inner * sizeof *values);
        }
    *cut = values;
    return TN_OK;
}

/* The rows of W, rebuilt whole. */
static tn_status expect_rows(drawing *d) {
    tn_network matrix;
    double *w, *y;
    uint64_t tokens = d->trial->tokens, elements;
    if (!tn_mul(d->rows, d->columns, &elements))
        return tn_fail(d->error, TN_OVERFLOW, "the table has more than 2^64 elements; use smaller sizes");
    TN_TRY(tn_weight_matrix(d->weight, d->scratch, &matrix, d->error));
    TN_TRY(TN_NEW(d->scratch, elements, &w, d->error));
    TN_TRY(tn_contract_plainly(&matrix, d->core, w, d->error));
    TN_TRY(TN_NEW(d->arena, tokens * d->columns, &y, d->error));
    for (uint64_t t = 0; t < tokens; t++)
        memcpy(y + t * d->columns, w + d->word[t] * d->columns, d->columns * sizeof *y);
    d->trial->reference.y = y;
    return TN_OK;
}

/* dY in the place of cut core k. */
static tn_status expect_gradient(drawing *d, uint32_t k, double **gradient) {
    tn_network network = d->network;
    const double *values[TN_TENSORS_MOST];
    uint64_t elements;
    TN_TRY(TN_NEW(d->scratch, network.tensors, &network.tensor, d->error));
    memcpy(network.tensor, d->network.tensor, network.tensors * sizeof *network.tensor);
    memcpy(values, d->cut, network.tensors * sizeof *values);
    network.tensor[k] = d->network.output;
    network.output = d->network.tensor[k];
    values[k] = d->trial->input[d->network.tensors];
    TN_TRY(tn_network_elements(&network, network.output, &elements, d->error));
    TN_TRY(TN_NEW(d->arena, elements, gradient, d->error));
    return tn_contract_plainly(&network, values, *gradient, d->error);
}

static tn_status draw_inputs(drawing *d) {
    uint32_t cores = d->network.tensors;
    double *dy;
    uint64_t elements;
    TN_TRY(draw_words(d));
    TN_TRY(draw_cores(d));
    TN_TRY(TN_NEW(d->arena, cores + 1, &d->trial->input, d->error));
    d->cut = d->trial->input;
    for (uint32_t k = 0; k < cores; k++) TN_TRY(cut_core(d, k, &d->cut[k]));
    TN_TRY(tn_network_elements(&d->network, d->network.output, &elements, d->error));
    TN_TRY(tn_trial_draw_values(d->trial->seed, elements, 1.0, d->arena, &dy, d->error));
    d->trial->input[cores] = dy;
    return TN_OK;
}

static tn_status trial_lookup_draw(drawing *d) {
    tn_reference *reference = &d->trial->reference;
    TN_TRY(tn_weight_rows(d->weight, &d->rows, d->error));
    TN_TRY(tn_weight_columns(d->weight, &d->columns, d->error));
    TN_TRY(tn_lookup_network(d->weight, d->trial->tokens, d->scratch, &d->network, d->error));
    TN_TRY(draw_inputs(d));
    TN_TRY(expect_rows(d));
    uint32_t others = d->trial->cores = reference->cores = d->network.tensors - 1;
    TN_TRY(TN_NEW(d->arena, others, &reference->dcore, d->error));
    TN_TRY(expect_gradient(d, 0, &reference->dx));
    for (uint32_t k = 0; k < others; k++) TN_TRY(expect_gradient(d, k + 1, &reference->dcore[k]));
    return TN_OK;
}

tn_status tn_trial_draw_lookup(const tn_weight *weight, uint64_t tokens, uint64_t seed, tn_arena *arena,
                               tn_trial *trial, tn_error *error) {
    tn_arena scratch = {0};
    drawing d = {.weight = weight, .trial = trial, .arena = arena, .scratch = &scratch, .error = error};
    *trial = (tn_trial){.name = "look-up", .weight = *weight, .tokens = tokens, .seed = seed};
    tn_status status = tn_weight_check(weight, error);
    if (status == TN_OK) status = trial_lookup_draw(&d);
    tn_arena_free(&scratch);
    return status;
}
