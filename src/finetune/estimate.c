#include "finetune/estimate.h"

#include "base/checked.h"

#include <math.h>

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
    double passes = work->model->training.checkpointing ? 3 : 2; /* forward, again, backward */
    double bytes = work->sharded ? passes * weights + gradients : 2 * gradients;
    double share = 1e9 * work->framework->bandwidth_share;
    return bytes * ((g - 1) / g / gpu->link_GBps + (m - 1) / m / (g * work->framework->network_GBps)) / share;
}

/* Two things that run beside each other, in part. */
static double beside(double x, double y) {
    return fmax(x, y) + fmin(x, y) / 2;
}

void tn_effort_seconds(const tn_step_effort *effort, const tn_step_kernels *kernels,
                       const tn_language_model *model, const tn_gpu *gpu, const tn_framework *framework,
                       tn_step_effort_time *seconds) {
    double bytes_per_s = 1e9 * gpu->bandwidth_GBps * framework->bandwidth_share;
    double operations_per_s =
        1e12 * gpu->peak_TFLOPS * framework->compute_share * 16 / (double)model->training.compute_bits;
    *seconds = (tn_step_effort_time){.host = 1e-6 * framework->host_us * effort->launches,
                                     .products = effort->operations / operations_per_s,
                                     .few_rows = effort->operations / operations_per_s *
                                                 framework->half_rate_rows / kernels->rows,
                                     .weights = effort->weight_bytes / bytes_per_s,
                                     .activations = effort->activation_bytes / bytes_per_s,
                                     .update = effort->update_bytes / bytes_per_s};
}

double tn_device_seconds(const tn_step_effort_time *of) {
    return of->products + of->few_rows + of->weights + of->activations + of->update;
}

/* The parts of a step with queries of `tokens` tokens. */
static tn_status reckon(const tn_finetune_work *work, const tn_gpu *gpu, uint64_t batch, double tokens,
                        tn_finetune_estimate *estimate, tn_error *error) {
    tn_step_kernels kernels;
    tn_language_count count;
    tn_finetune_estimate made = {.tokens = tokens};
    double device = 0;
    TN_TRY(tn_kernels_of_step(work->model, (double)batch, tokens, work->active, NULL, &kernels, error));
    TN_TRY(tn_language_count_of(work->model, 1, work->active, &count, error));
    for (size_t i = 0; i < kernels.count; i++)
        for (int stage = 0; stage < TN_STAGES; stage++) {
            const tn_step_effort *effort = &kernels.kernel[i].stage[stage];
            tn_step_effort_time of;
            tn_effort_seconds(effort, &kernels, work->model, gpu, work->framework, &of);
            made.kernels += effort->launches;
            made.host_s += of.host;
            made.products_s += of.products + of.few_rows;
            made.weights_s += of.weights;
            made.activations_s += of.activations;
            made.optimizer_s += of.update;
            device += tn_device_seconds(&of);
        }
    made.communication_s = communication_seconds(work, gpu, &count);
    made.seconds.value =
        beside(kernels.waits ? made.host_s + device : fmax(made.host_s, device), made.communication_s);
    made.queries_per_s.value = gpus_of(work) * nodes_of(work) * (double)batch / made.seconds.value;
    *estimate = made;
    return TN_OK;
}

/* Usual data sets are cut: no query is longer than this many medians. */
static const double usual_cut = 5;

/* The parts of a step of `batch` queries as their lengths are said, and of one as slow as lengths may make it: where only
 * their median is known, with the spread of usual data sets. */
static tn_status reckon_said(const tn_finetune_work *work, const tn_gpu *gpu, uint64_t batch,
                             tn_finetune_estimate *estimate, tn_error *error) {
    return reckon(work, gpu, batch, tn_query_lengths_padded(work->lengths, (double)batch), estimate, error);
}

static tn_status reckon_slow(const tn_finetune_work *work, const tn_gpu *gpu, uint64_t batch,
                             tn_finetune_estimate *estimate, tn_error *error) {
    tn_query_lengths lengths = *work->lengths;
    if (!work->lengths_known) {
        lengths.spread = work->framework->unknown_spread;
        lengths.longest = fmin(lengths.longest, usual_cut * lengths.median);
    }
    return reckon(work, gpu, batch, tn_query_lengths_padded(&lengths, (double)batch), estimate, error);
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
    double longest = tn_query_lengths_longest(work->lengths, work->queries);
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
