#include "train/initial.h"

#include "base/memory.h"
#include "base/random.h"
#include "train/trainer_state.h"

#include <math.h>
#include <string.h>

/* Terms of the sum that an element of the matrix is: the product of the sizes of all indices that are summed,
 * each once, however many cores carry it. */
static tn_status terms_of(const tn_weight *weight, tn_arena *scratch, double *terms, tn_error *error) {
    tn_network network;
    TN_TRY(tn_weight_matrix(weight, scratch, &network, error));
    *terms = 1;
    for (uint32_t index = 0; index < network.indices; index++) {
        bool used = false, outside = false;
        for (uint32_t k = 0; k < network.tensors; k++)
            for (uint32_t i = 0; i < network.tensor[k].count; i++)
                used |= network.tensor[k].index[i] == index;
        for (uint32_t i = 0; i < network.output.count; i++) outside |= network.output.index[i] == index;
        if (used && !outside) *terms *= (double)network.index_size[index];
    }
    return TN_OK;
}

/* Standard deviation of the parameter's elements; 0: they are constant. */
static tn_status deviation_of(const tn_trainer *t, const tn_train_settings *settings,
                              const tn_train_parameter *p, double *deviation, tn_error *error) {
    const tn_step_layer *layer = &t->whole->lowered.step.layer[p->layer];
    bool positions = p->is_table && !layer->weight;
    *deviation = 0;
    if (positions) *deviation = settings->positions_deviation;
    if (positions || p->axes < 2 || p->is_decay) return TN_OK;
    uint64_t columns = p->shape[1]; /* of a causal convolution: its taps */
    if (layer->weight) TN_TRY(tn_weight_columns(layer->weight, &columns, error));
    double whole = settings->matrix_deviation > 0 ? settings->matrix_deviation : 1 / sqrt((double)columns);
    if (p->is_table) whole = settings->table_deviation;
    *deviation = whole;
    if (!p->is_core) return TN_OK;
    tn_arena scratch = {0};
    double terms;
    tn_status status = terms_of(layer->weight, &scratch, &terms, error);
    tn_arena_free(&scratch);
    TN_TRY(status);
    *deviation = pow(whole * whole / terms, 0.5 / (double)tn_weight_cores(layer->weight));
    return TN_OK;
}

/* The value of a parameter that is not drawn. States of a scan decay at the rates 1, 2, 3 ... (Gu et al., On the parameterization
 * and initialization of diagonal state space models, NeurIPS 2022, S4D-Real). */
static double constant_of(const tn_train_parameter *p, uint64_t k) {
    return p->is_decay ? log((double)(k % p->shape[1] + 1)) : p->is_scale ? 1 : 0;
}

/* Hidden units begin with inputs of order one: those are sums over up to `sequence` tokens. The outputs begin with zeros, so that nothing
 * is predicted before something is learned. A seed of their own: the model's values are those without predictors. */
static tn_status initialise_predictors(tn_trainer *t, const tn_train_settings *settings, tn_error *error) {
    uint64_t state = settings->seed ^ UINT64_C(0x5bd1e995970f4c1b), most = 0;
    double *values;
    for (size_t i = 0; i < t->predictors; i++)
        if (t->predictor[i].elements > most) most = t->predictor[i].elements;
    TN_TRY(TN_ALLOC(most, &values, error));
    for (size_t i = 0; i < t->predictors; i++) {
        const tn_train_parameter *p = &t->predictor[i];
        double amplitude = p->inputs ? sqrt(3 / ((double)p->inputs * (double)tn_trainer_sequence(t))) : 0;
        for (uint64_t k = 0; k < p->elements; k++) values[k] = (2 * tn_splitmix_unit(&state) - 1) * amplitude;
        t->kernels->from_double(values, p->values, p->elements);
    }
    tn_free(values);
    return TN_OK;
}

/* The draws that each parameter takes, one behind the other. */
static tn_status plan_draws(tn_trainer *t, const tn_train_settings *settings, uint64_t *most,
                            tn_error *error) {
    uint64_t next = 0;
    *most = 0;
    t->initial_seed = settings->seed;
    for (size_t i = 0; i < t->parameters; i++) {
        const tn_train_parameter *p = &t->parameter[i];
        double deviation;
        TN_TRY(deviation_of(t, settings, p, &deviation, error));
        t->initial[i] = (tn_initial_draws){.first = next, .amplitude = sqrt(3) * deviation};
        if (deviation > 0) next += p->elements;
        if (p->elements > *most) *most = p->elements;
    }
    return TN_OK;
}

void tn_initial_values(const tn_trainer *t, size_t parameter, uint64_t start, uint64_t count,
                       double *values) {
    const tn_train_parameter *p = &t->parameter[parameter];
    const tn_initial_draws *draws = &t->initial[parameter];
    uint64_t state = tn_splitmix_after(t->initial_seed, draws->first + start);
    for (uint64_t k = 0; k < count; k++)
        values[k] = draws->amplitude > 0 ? (2 * tn_splitmix_unit(&state) - 1) * draws->amplitude
                                         : constant_of(p, start + k);
}

tn_status tn_initialise(tn_trainer *t, const tn_train_settings *settings, tn_error *error) {
    uint64_t most;
    double *values;
    TN_TRY(plan_draws(t, settings, &most, error));
    TN_TRY(TN_ALLOC(most, &values, error));
    for (size_t i = 0; i < t->parameters; i++) {
        const tn_train_parameter *p = &t->parameter[i];
        tn_initial_values(t, i, 0, p->elements, values);
        t->kernels->from_double(values, p->values, p->elements);
        if (p->state) memset(p->state, 0, p->state_elements * t->kernels->bytes);
    }
    tn_free(values);
    t->steps = 0;
    t->selected = false;
    tn_zero_counter_reset(&t->zeros);
    t->rounding.wide = t->rounding.operands = 0;
    return initialise_predictors(t, settings, error);
}
