#include "finetune/estimate.h"

#include "base/checked.h"

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
    ADAPTER = 5,
    CASTS = 2
};
/* Launches of an optimizer that takes many tensors at once. */
enum { OPTIMIZER = 12 };
enum { ATTENTION_MATRICES = 4, BITS = 8 };

double tn_experts_touched(double experts, double active, double choices) {
    return experts * (1 - pow(1 - active / experts, choices));
}

static double matrix_kernels(const tn_language_model *model, bool adapted) {
    bool adapter = adapted && model->training.method == TN_TUNE_LORA;
    return MATRIX + (tn_language_is_packed(model) ? UNPACK : 0) +
           (adapter ? ADAPTER + (model->training.adapters.input_bits ? CASTS : 0) : 0);
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

static double rows_of(const tn_language_model *model, double active, double tokens) {
    return tokens * active / (double)model->feed_forward.experts;
}

static double gpus_of(const tn_finetune_work *work) {
    return (double)(work->gpus ? work->gpus : 1);
}

static double nodes_of(const tn_finetune_work *work) {
    return (double)(work->nodes ? work->nodes : 1);
}

/* Seconds until every GPU has bytes of which each holds its part, as the header says. */
static double communication_seconds(const tn_finetune_work *work, const tn_gpu *gpu,
                                    const tn_language_count *count) {
    double g = gpus_of(work), m = nodes_of(work);
    double weights = (double)count->weight_bytes, gradients = (double)count->gradient_bytes;
    double bytes = work->sharded ? passes(work->model) * weights + gradients : 2 * gradients;
    double share = 1e9 * work->framework->bandwidth_share;
    return bytes * ((g - 1) / g / gpu->link_GBps + (m - 1) / m / (g * work->framework->network_GBps)) / share;
}

/* Two things that run beside each other, in part. */
static double beside(double x, double y) {
    return fmax(x, y) + fmin(x, y) / 2;
}

/* The parts of a step with queries of `tokens` tokens. */
static tn_status reckon(const tn_finetune_work *work, const tn_gpu *gpu, uint64_t batch, double tokens,
                        tn_finetune_estimate *estimate, tn_error *error) {
    const tn_language_model *model = work->model;
    const tn_framework *framework = work->framework;
    tn_language_model keeping = *model;
    tn_language_count count, kept;
    const tn_language_training *t = &model->training;
    const tn_language_feed_forward *f = &model->feed_forward;
    uint64_t whole = (uint64_t)ceil(tokens);
    keeping.training.checkpointing = false;
    TN_TRY(tn_language_count_of(model, whole, work->active, &count, error));
    TN_TRY(tn_language_count_of(&keeping, whole, work->active, &kept, error));
    double b = (double)batch, active = (double)work->active, touched = (double)f->experts;
    double part = tokens / (double)whole; /* counts are of whole tokens */
    if (f->experts > 1) touched = tn_experts_touched(touched, active, b * tokens);
    double expert_parameters =
        (double)f->layers * (double)f->matrices * (double)f->size * (double)model->hidden;
    double matrices = (double)count.matrix_parameters - expert_parameters * ((double)f->experts - touched);
    double stored = matrices * model->matrix_bits, unpacked = 2 * matrices * (double)t->activation_bits;
    double bits_read = passes(model) * (stored + (tn_language_is_packed(model) ? unpacked : 0));
    double bits_updated =
        (double)count.trained_parameters *
        (2.0 * (double)t->gradient_bits + 2.0 * (double)t->optimizer_bits + 2.0 * model->matrix_bits);
    double bits_kept = (passes(model) + 1) * BITS * (double)kept.activation_bytes * b * part;
    double bits_per_s = BITS * 1e9 * gpu->bandwidth_GBps * framework->bandwidth_share;
    double operations_per_s =
        1e12 * gpu->peak_TFLOPS * framework->compute_share * 16 / (double)t->compute_bits;
    double rows = rows_of(model, active, b * tokens);
    *estimate =
        (tn_finetune_estimate){.kernels = count_kernels(model, touched),
                               .tokens = tokens,
                               .weights_s = bits_read / bits_per_s,
                               .products_s = (double)count.training_flops * b * part / operations_per_s *
                                             (1 + framework->half_rate_rows / rows),
                               .activations_s = bits_kept / bits_per_s,
                               .optimizer_s = bits_updated / bits_per_s};
    estimate->host_s = 1e-6 * framework->host_us * estimate->kernels;
    double device =
        estimate->weights_s + estimate->products_s + estimate->activations_s + estimate->optimizer_s;
    estimate->seconds.value = f->experts > 1 ? estimate->host_s + device : fmax(estimate->host_s, device);
    estimate->communication_s = communication_seconds(work, gpu, &count);
    estimate->seconds.value = beside(estimate->seconds.value, estimate->communication_s);
    estimate->queries_per_s.value = gpus_of(work) * nodes_of(work) * b / estimate->seconds.value;
    return TN_OK;
}

/* Usual data sets are cut: no query is longer than this many medians. */
static const double usual_cut = 5;

/* The parts of a step of `batch` queries as their lengths are said, and of one as slow as lengths may make it: where only
 * their median is known, with the spread of usual data sets. */
static tn_status reckon_said(const tn_finetune_work *work, const tn_gpu *gpu, uint64_t batch,
                             tn_finetune_estimate *estimate, tn_error *error) {
    return reckon(work, gpu, batch, tn_lengths_padded(work->lengths, (double)batch), estimate, error);
}

static tn_status reckon_slow(const tn_finetune_work *work, const tn_gpu *gpu, uint64_t batch,
                             tn_finetune_estimate *estimate, tn_error *error) {
    tn_lengths lengths = *work->lengths;
    if (!work->lengths_known) {
        lengths.spread = work->framework->unknown_spread;
        lengths.longest = fmin(lengths.longest, usual_cut * lengths.median);
    }
    return reckon(work, gpu, batch, tn_lengths_padded(&lengths, (double)batch), estimate, error);
}

/* By how much, as a logarithm, throughput rises from one to the other; at least 0. */
static double rise(const tn_finetune_estimate *from, const tn_finetune_estimate *to) {
    return fmax(0, log(to->queries_per_s.value / from->queries_per_s.value));
}

/* The range from what throughput may be lower and higher by, as logarithms. Communication may be hidden, or be added. */
static void put_range(double lower, double higher, tn_finetune_estimate *estimate) {
    tn_finetune_interval *rate = &estimate->queries_per_s, *seconds = &estimate->seconds;
    double value = seconds->value, own = value - estimate->communication_s / 2;
    if (own < estimate->communication_s) own = 2 * (value - estimate->communication_s);
    double hidden = fmax(own, estimate->communication_s), added = own + estimate->communication_s;
    seconds->low = hidden * exp(-higher);
    seconds->high = added * exp(lower);
    rate->low = rate->value * value / seconds->high;
    rate->high = rate->value * value / seconds->low;
}

/* Of a normal distribution, 9 of 10 lie within. */
static const double nine_of_ten = 1.645;

tn_status tn_finetune_estimate_step(const tn_finetune_work *work, const tn_gpu *gpu, uint64_t batch,
                                    tn_finetune_estimate *estimate, tn_error *error) {
    tn_finetune_estimate slow;
    double off = nine_of_ten * work->framework->time_error;
    TN_TRY(reckon_said(work, gpu, batch, estimate, error));
    TN_TRY(reckon_slow(work, gpu, batch, &slow, error));
    put_range(rise(&slow, estimate) + off, off, estimate);
    return TN_OK;
}

tn_status tn_finetune_estimate_largest(const tn_finetune_work *work, const tn_gpu *gpu,
                                       const tn_batch_interval *batch, tn_finetune_estimate *estimate,
                                       tn_error *error) {
    tn_finetune_estimate slow, least, most;
    double off = nine_of_ten * work->framework->time_error;
    TN_TRY(reckon_said(work, gpu, batch->value, estimate, error));
    TN_TRY(reckon_slow(work, gpu, batch->value, &slow, error));
    TN_TRY(reckon_slow(work, gpu, batch->low ? batch->low : 1, &least, error));
    TN_TRY(reckon_said(work, gpu, batch->high, &most, error));
    put_range(rise(&slow, estimate) + hypot(off, rise(&least, &slow)), hypot(off, rise(estimate, &most)),
              estimate);
    return TN_OK;
}

tn_status tn_finetune_largest_batch(const tn_finetune_work *work, double memory_GB, tn_batch_interval *batch,
                                    tn_error *error) {
    tn_language_count count;
    double longest = tn_lengths_longest(work->lengths, work->queries);
    TN_TRY(tn_language_count_of(work->model, (uint64_t)ceil(longest), work->active, &count, error));
    if (work->sharded) {
        uint64_t all = (uint64_t)(gpus_of(work) * nodes_of(work));
        count.weight_bytes = tn_ceil_div(count.weight_bytes, all);
        count.gradient_bytes = tn_ceil_div(count.gradient_bytes, all);
        count.optimizer_bytes = tn_ceil_div(count.optimizer_bytes, all);
        count.workspace_bytes += 2 * count.layer_weight_bytes; /* one is at work while the next is gathered */
    }
    tn_batch_factor factor = tn_framework_factor(work->framework, work->lengths_known);
    *batch = tn_batch_by_memory(&count, memory_GB, &factor);
    return TN_OK;
}
