#include "finetune/estimate.h"

#include <math.h>

/* Kernels of a forward pass, as the header lists them. */
enum {
    NORM = 8,
    ATTENTION = 25,
    STATE_SPACE = 40,
    ROUTE = 8,
    GATHER = 8,
    MATRIX = 1,
    UNPACK = 1,
    ADAPTER = 7
};
/* Launches of an optimizer that takes many tensors at once. */
enum { OPTIMIZER = 12 };
enum { ATTENTION_MATRICES = 4, BITS = 8 };

double tn_experts_touched(double experts, double active, double choices) {
    return experts * (1 - pow(1 - active / experts, choices));
}

static bool is_quantised(const tn_language_model *model) {
    return model->matrix_bits < (double)model->training.activation_bits;
}

static double matrix_kernels(const tn_language_model *model, bool adapted) {
    bool adapter = adapted && model->training.method == TN_TUNE_LORA;
    return MATRIX + (is_quantised(model) ? UNPACK : 0) + (adapter ? ADAPTER : 0);
}

/* Times that the forward pass is run, and gone through backward. */
static double passes(const tn_language_model *model) {
    return model->training.checkpointing ? 3 : 2;
}

/* Of a step. */
static double count_kernels(const tn_language_model *model, double touched) {
    const tn_language_adapters *adapters = &model->training.adapters;
    const tn_language_feed_forward *f = &model->feed_forward;
    bool routed = f->experts > 1;
    double attention = NORM + ATTENTION + ATTENTION_MATRICES * matrix_kernels(model, adapters->attention);
    double expert =
        (double)f->matrices * matrix_kernels(model, adapters->feed_forward) + (routed ? GATHER : 0);
    double router = routed ? ROUTE + matrix_kernels(model, adapters->router) : 0;
    double forward = (double)model->attention.layers * attention +
                     (double)model->state_space.layers * (NORM + STATE_SPACE) +
                     (double)f->layers * (NORM + router + touched * expert);
    return forward * (passes(model) + 1) + OPTIMIZER;
}

/* The device's parts, of which all bytes and operations go over the given shares. */
static double device_seconds(const tn_finetune_estimate *of, double bandwidth_scale, double compute_scale) {
    return (of->weights_s + of->activations_s + of->optimizer_s) / bandwidth_scale +
           of->products_s / compute_scale;
}

static void put_range(const tn_framework *f, bool routed, double batch, tn_finetune_estimate *of) {
    double device = device_seconds(of, 1, 1);
    double best = device_seconds(of, f->bandwidth_share_range[1] / f->bandwidth_share,
                                 f->compute_share_range[1] / f->compute_share);
    double worst = device_seconds(of, f->bandwidth_share_range[0] / f->bandwidth_share,
                                  f->compute_share_range[0] / f->compute_share);
    double host_best = of->host_s * f->host_us_range[0] / f->host_us,
           host_worst = of->host_s * f->host_us_range[1] / f->host_us;
    of->seconds.value = routed ? of->host_s + device : fmax(of->host_s, device);
    of->seconds.low = fmax(host_best, best);
    of->seconds.high = host_worst + worst;
    of->queries_per_s =
        (tn_finetune_interval){batch / of->seconds.value, batch / of->seconds.high, batch / of->seconds.low};
}

tn_status tn_finetune_estimate_step(const tn_language_model *model, const tn_gpu *gpu,
                                    const tn_framework *framework, uint64_t batch, uint64_t tokens,
                                    uint64_t active, tn_finetune_estimate *estimate, tn_error *error) {
    tn_language_model keeping = *model;
    tn_language_count count, kept;
    const tn_language_training *t = &model->training;
    const tn_language_feed_forward *f = &model->feed_forward;
    keeping.training.checkpointing = false;
    TN_TRY(tn_language_count_of(model, tokens, active, &count, error));
    TN_TRY(tn_language_count_of(&keeping, tokens, active, &kept, error));
    double b = (double)batch, touched = (double)f->experts;
    if (f->experts > 1) touched = tn_experts_touched(touched, (double)active, b * (double)tokens);
    double expert_parameters =
        (double)f->layers * (double)f->matrices * (double)f->size * (double)model->hidden;
    double matrices = (double)count.matrix_parameters - expert_parameters * ((double)f->experts - touched);
    double stored = matrices * model->matrix_bits, unpacked = 2 * matrices * (double)t->activation_bits;
    double bits_read = passes(model) * (stored + (is_quantised(model) ? unpacked : 0));
    double bits_updated =
        (double)count.trained_parameters *
        (2.0 * (double)t->gradient_bits + 2.0 * (double)t->optimizer_bits + 2.0 * model->matrix_bits);
    double bits_kept = 2.0 * (passes(model) + 1) * BITS * (double)kept.activation_bytes * b;
    double bits_per_s = BITS * 1e9 * gpu->bandwidth_GBps * framework->bandwidth_share;
    *estimate = (tn_finetune_estimate){.kernels = count_kernels(model, touched),
                                       .weights_s = bits_read / bits_per_s,
                                       .products_s = (double)count.training_flops * b /
                                                     (1e12 * gpu->peak_TFLOPS * framework->compute_share),
                                       .activations_s = bits_kept / bits_per_s,
                                       .optimizer_s = bits_updated / bits_per_s};
    estimate->host_s = 1e-6 * framework->host_us * estimate->kernels;
    put_range(framework, f->experts > 1, b, estimate);
    return TN_OK;
}
