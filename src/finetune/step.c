#include "finetune/step.h"

#include "base/checked.h"

#include <math.h>
#include <string.h>

/* ---- what a step runs ---- */

const char *const tn_stage_names[TN_STAGES] = {"forward", "forward again", "backward", "optimizer"};

/* Launches of a forward pass, as the header lists them. */
enum {
    NORM = 8,
    ATTENTION = 25,
    STATE_SPACE = 40,
    ROUTE = 8,
    GATHER = 8,
    MATRIX = 1,
    UNPACK = 1,
    ADAPTER = 5,
    CASTS = 2,
    LOSS = 10
};
enum { OPTIMIZER = 12 };
enum { ATTENTION_MATRICES = 4, BITS = 8 };

double tn_experts_touched(double experts, double active, double choices) {
    return experts * (1 - pow(1 - active / experts, choices));
}

typedef struct {
    const tn_language_model *model;
    const tn_language_training *training;
    double tokens;  /* of the batch */
    double touched; /* experts of a layer */
    tn_step_kernels *target;
} setting;

/* Of a forward pass: launches, multiply-adds, bytes of weights and of activations; trained: multiply-adds of weights that have
 * gradients. */
typedef struct {
    double launches, macs, trained, weight_bytes, activation_bytes;
} forward;

static void add(const setting *s, const char *layer, const char *name, bool again, forward f) {
    bool twice = again && s->training->checkpointing;
    if (f.launches == 0 && f.macs == 0 && f.weight_bytes == 0 && f.activation_bytes == 0) return;
    tn_step_kernel *k = &s->target->kernel[s->target->count++];
    *k = (tn_step_kernel){.layer = layer, .name = name};
    const tn_step_effort once = {.launches = f.launches,
                                 .operations = 2 * f.macs,
                                 .weight_bytes = f.weight_bytes,
                                 .activation_bytes = f.activation_bytes};
    k->stage[TN_STAGE_FORWARD] = once;
    if (twice) k->stage[TN_STAGE_AGAIN] = once;
    k->stage[TN_STAGE_BACKWARD] = (tn_step_effort){.launches = 2 * f.launches,
                                                   .operations = 2 * f.macs + 2 * f.trained,
                                                   .weight_bytes = f.weight_bytes,
                                                   .activation_bytes = 2 * f.activation_bytes};
}

/* Products of matrices, unpacking and adapters of the layers of a kind; `matrices` of a layer are launched, of which a share
 * `met` is read. */
static void add_matrices(const setting *s, const char *layer, const tn_language_part *p, double matrices,
                         double met, bool adapted) {
    double layers = (double)p->layers, tokens = s->tokens, n = layers * matrices;
    double parameters = layers * met * (double)p->matrix_parameters;
    bool full = s->training->method == TN_TUNE_FULL, packed = tn_language_is_packed(s->model);
    adapted = adapted && !full;
    if (packed)
        add(s, layer, "unpacking", true,
            (forward){.launches = n * UNPACK,
                      .weight_bytes = parameters *
                                      (s->model->matrix_bits + (double)s->training->activation_bits) / BITS});
    double read = packed ? (double)s->training->activation_bits : s->model->matrix_bits;
    add(s, layer, "products", true,
        (forward){.launches = n * MATRIX,
                  .macs = tokens * layers * (double)p->matrix_macs,
                  .trained = full ? tokens * layers * (double)p->matrix_macs : 0,
                  .weight_bytes = parameters * read / BITS});
    if (adapted)
        add(s, layer, "adapters", true,
            (forward){.launches = n * (ADAPTER + (s->training->adapters.input_bits ? CASTS : 0)),
                      .macs = tokens * layers * (double)p->adapter_macs,
                      .trained = tokens * layers * (double)p->adapter_macs,
                      .activation_bytes = tokens * layers * (double)p->adapter_bytes});
}

static void add_norm(const setting *s, const char *layer, const tn_language_part *p) {
    double layers = (double)p->layers;
    add(s, layer, "norms", true,
        (forward){.launches = layers * NORM, .activation_bytes = s->tokens * layers * (double)p->norm_bytes});
}

/* Bytes of activations that no other group of the kind has. */
static double rest_bytes(const setting *s, const tn_language_part *p) {
    return s->tokens * (double)p->layers *
           (double)(p->kept_bytes - p->norm_bytes - p->gathered_bytes - p->adapter_bytes);
}

static void add_attention(const setting *s, const tn_language_part *p) {
    double layers = (double)p->layers;
    if (p->layers == 0) return;
    add_norm(s, "attention", p);
    add_matrices(s, "attention", p, ATTENTION_MATRICES, 1, s->training->adapters.attention);
    add(s, "attention", "mixing", true,
        (forward){.launches = layers * ATTENTION,
                  .macs = s->tokens * layers * (double)p->other_macs,
                  .activation_bytes = rest_bytes(s, p)});
}

static void add_state_space(const setting *s, const tn_language_part *p) {
    double layers = (double)p->layers;
    if (p->layers == 0) return;
    add_norm(s, "state space", p);
    add_matrices(s, "state space", p, 0, 1, s->training->adapters.state_space);
    add(s, "state space", "scan", true,
        (forward){.launches = layers * STATE_SPACE,
                  .macs = s->tokens * layers * (double)p->other_macs,
                  .activation_bytes = rest_bytes(s, p)});
}

static void add_feed_forward(const setting *s, const tn_language_part *p) {
    const tn_language_feed_forward *f = &s->model->feed_forward;
    const tn_language_adapters *adapters = &s->training->adapters;
    bool routed = f->experts > 1;
    const char *layer = routed ? "experts" : "feed-forward";
    double layers = (double)p->layers;
    if (p->layers == 0) return;
    add_norm(s, layer, p);
    if (routed) {
        bool trained = s->training->method == TN_TUNE_FULL, adapter = adapters->router && !trained;
        add(s, layer, "router", true,
            (forward){.launches = layers * (ROUTE + MATRIX +
                                            (adapter ? ADAPTER + (adapters->input_bits ? CASTS : 0) : 0) +
                                            (tn_language_is_packed(s->model) ? UNPACK : 0)),
                      .macs = s->tokens * layers * (double)p->other_macs,
                      .trained = trained ? s->tokens * layers * (double)p->other_macs : 0});
        add(s, layer, "gathering", true,
            (forward){.launches = layers * s->touched * GATHER,
                      .activation_bytes = s->tokens * layers * (double)p->gathered_bytes});
    }
    add_matrices(s, layer, p, s->touched * (double)f->matrices, s->touched / (double)f->experts,
                 adapters->feed_forward);
    add(s, layer, "gates", true, (forward){.activation_bytes = rest_bytes(s, p)});
}

static void add_update(const setting *s, const tn_language_count *count) {
    const tn_language_training *t = s->training;
    tn_step_kernel *k = &s->target->kernel[s->target->count++];
    double bits =
        2.0 * (double)t->gradient_bits + 2.0 * (double)t->optimizer_bits + 2.0 * s->model->matrix_bits;
    *k = (tn_step_kernel){.layer = "all trained", .name = "update"};
    k->stage[TN_STAGE_UPDATE] = (tn_step_effort){
        .launches = OPTIMIZER, .update_bytes = (double)count->trained_parameters * bits / BITS};
}

tn_status tn_kernels_of_step(const tn_language_model *model, double batch, double tokens, uint64_t active,
                             const tn_expert_load *load, tn_step_kernels *kernels, tn_error *error) {
    const tn_language_feed_forward *f = &model->feed_forward;
    tn_language_count count;
    uint64_t whole = (uint64_t)ceil(tokens);
    TN_TRY(tn_language_count_of(model, whole, active, &count, error));
    *kernels = (tn_step_kernels){.rows = batch * tokens * (double)active / (double)f->experts,
                                 .touched = (double)f->experts,
                                 .waits = f->experts > 1};
    if (load)
        kernels->touched = tn_expert_load_touched(load, batch * tokens);
    else if (f->experts > 1)
        kernels->touched = tn_experts_touched((double)f->experts, (double)active, batch * tokens);
    setting s = {model, &model->training, batch * tokens, kernels->touched, kernels};
    add_attention(&s, &count.part[TN_PART_ATTENTION]);
    add_state_space(&s, &count.part[TN_PART_STATE_SPACE]);
    add_feed_forward(&s, &count.part[TN_PART_FEED_FORWARD]);
    double head = s.tokens * (double)count.head_macs;
    add(&s, "output", "head and loss", false,
        (forward){.launches = LOSS,
                  .macs = head,
                  .trained = model->training.method == TN_TUNE_FULL ? head : 0,
                  .activation_bytes = batch * (double)count.logit_bytes * tokens / (double)whole});
    add_update(&s, &count);
    return TN_OK;
}

/* ---- what it takes ---- */

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

double tn_device_seconds(const tn_step_effort_time *time) {
    return time->products + time->few_rows + time->weights + time->activations + time->update;
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
            tn_step_effort_time time;
            tn_effort_seconds(effort, &kernels, work->model, gpu, work->framework, &time);
            made.kernels += effort->launches;
            made.host_s += time.host;
            made.products_s += time.products + time.few_rows;
            made.weights_s += time.weights;
            made.activations_s += time.activations;
            made.optimizer_s += time.update;
            device += tn_device_seconds(&time);
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
static double rise(const tn_finetune_estimate *source, const tn_finetune_estimate *target) {
    return fmax(0, log(target->queries_per_s.value / source->queries_per_s.value));
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

/* How many standard deviations an end of the range is away, so that 9 of 10 lie within: 1.645 to both sides of a normal
 * distribution; 1.282 where lengths that nobody said slow a step by far more than its error, as whatever they are, only one
 * of the ends is near. */
static double deviations(double slowed, double error) {
    const double both = 1.645, one = 1.282;
    return one + (both - one) * exp(-slowed / fmax(error, 1e-6));
}

tn_status tn_finetune_estimate_step(const tn_finetune_work *work, const tn_gpu *gpu, uint64_t batch,
                                    tn_finetune_estimate *estimate, tn_error *error) {
    tn_finetune_estimate slow;
    double off = work->framework->time_error;
    TN_TRY(reckon_said(work, gpu, batch, estimate, error));
    TN_TRY(reckon_slow(work, gpu, batch, &slow, error));
    double slowed = rise(&slow, estimate), times = deviations(slowed, off);
    put_range(slowed + times * off, times * off, estimate);
    return TN_OK;
}

tn_status tn_finetune_estimate_largest(const tn_finetune_work *work, const tn_gpu *gpu,
                                       const tn_batch_interval *batch, tn_finetune_estimate *estimate,
                                       tn_error *error) {
    const double of_batch = 1.645; /* deviations that the batch's own interval has */
    tn_finetune_estimate slow, least, most;
    double off = work->framework->time_error;
    TN_TRY(reckon_said(work, gpu, batch->value, estimate, error));
    TN_TRY(reckon_slow(work, gpu, batch->value, &slow, error));
    TN_TRY(reckon_slow(work, gpu, batch->low ? batch->low : 1, &least, error));
    TN_TRY(reckon_said(work, gpu, batch->high, &most, error));
    double slowed = rise(&slow, estimate), times = deviations(slowed, off);
    put_range(slowed + times * hypot(off, rise(&least, &slow) / of_batch),
              times * hypot(off, rise(estimate, &most) / of_batch), estimate);
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

/* ---- where its time goes ---- */

/* Groups of a step with their seconds: the device's, and how long it waits for the host. */
typedef struct {
    const tn_finetune_work *work;
    const tn_gpu *gpu;
    tn_step_kernels kernels;
    tn_step_effort_time time[TN_KERNELS_MOST][TN_STAGES];
    double seconds;
} timed_step;

static double seconds_of(const tn_step_effort_time *time) {
    return time->host + tn_device_seconds(time);
}

/* Where the host does not wait it runs ahead: of what launches take, only what they exceed all kernels by is waited for, by
 * each group as far as its launches exceed its kernels. */
static void run_ahead(timed_step *s, double host, double device) {
    double exceeding = 0, waited = fmax(0, host - device);
    for (size_t i = 0; i < s->kernels.count; i++)
        for (int stage = 0; stage < TN_STAGES; stage++) {
            tn_step_effort_time *time = &s->time[i][stage];
            time->host = fmax(0, time->host - tn_device_seconds(time));
            exceeding += time->host;
        }
    for (size_t i = 0; i < s->kernels.count && exceeding > 0; i++)
        for (int stage = 0; stage < TN_STAGES; stage++) s->time[i][stage].host *= waited / exceeding;
}

static void put_times(timed_step *s) {
    double host = 0, device = 0;
    for (size_t i = 0; i < s->kernels.count; i++)
        for (int stage = 0; stage < TN_STAGES; stage++) {
            tn_step_effort_time *time = &s->time[i][stage];
            tn_effort_seconds(&s->kernels.kernel[i].stage[stage], &s->kernels, s->work->model, s->gpu,
                              s->work->framework, time);
            host += time->host;
            device += tn_device_seconds(time);
        }
    s->seconds = s->kernels.waits ? host + device : fmax(host, device);
    if (!s->kernels.waits) run_ahead(s, host, device);
}

static tn_status reckon_groups(const tn_finetune_work *work, const tn_gpu *gpu, uint64_t batch, double tokens,
                               uint64_t active, const tn_expert_load *load, timed_step *s, tn_error *error) {
    *s = (timed_step){.work = work, .gpu = gpu};
    TN_TRY(tn_kernels_of_step(work->model, (double)batch, tokens, active, load, &s->kernels, error));
    put_times(s);
    return TN_OK;
}

static const char *limit_of(const tn_step_effort_time *time) {
    const struct {
        double seconds;
        const char *name;
    } part[] = {
        {time->host, "launches"},
        {time->products, "products"},
        {time->few_rows, "few rows"},
        {time->weights + time->activations + time->update, "bandwidth"},
    };
    size_t most = 0;
    for (size_t i = 1; i < sizeof part / sizeof *part; i++)
        if (part[i].seconds > part[most].seconds) most = i;
    return part[most].name;
}

static void add_times(tn_step_effort_time *target, const tn_step_effort_time *time) {
    target->host += time->host;
    target->products += time->products;
    target->few_rows += time->few_rows;
    target->weights += time->weights;
    target->activations += time->activations;
    target->update += time->update;
}

/* The row of all groups and stages that belong to it. */
static void put_row(const timed_step *s, const char *layer, const char *name, int stage,
                    tn_step_profile_row *row) {
    tn_step_effort_time sum = {0};
    double operations = 0, bytes = 0;
    *row = (tn_step_profile_row){.layer = layer && name ? layer : NULL, .name = name ? name : layer};
    for (size_t i = 0; i < s->kernels.count; i++) {
        const tn_step_kernel *k = &s->kernels.kernel[i];
        if ((layer && strcmp(k->layer, layer) != 0) || (layer && name && strcmp(k->name, name) != 0))
            continue;
        for (int j = 0; j < TN_STAGES; j++) {
            const tn_step_effort *e = &k->stage[j];
            if (stage >= 0 && j != stage) continue;
            add_times(&sum, &s->time[i][j]);
            row->stage_seconds[j] += seconds_of(&s->time[i][j]);
            row->launches += e->launches;
            operations += e->operations;
            bytes += e->weight_bytes + e->activation_bytes + e->update_bytes;
        }
    }
    row->seconds = seconds_of(&sum);
    row->share = row->seconds / s->seconds;
    if (row->seconds > 0) {
        row->utilisation = operations / (1e12 * s->gpu->peak_TFLOPS * row->seconds);
        row->bandwidth = bytes / (1e9 * s->gpu->bandwidth_GBps * row->seconds);
    }
    row->limit = limit_of(&sum);
}

static void put_rows(const timed_step *s, tn_step_profile *p) {
    for (int stage = 0; stage < TN_STAGES; stage++) {
        tn_step_profile_row *row = &p->stage[p->stages];
        put_row(s, NULL, tn_stage_names[stage], stage, row);
        if (row->seconds > 0) p->stages++;
    }
    for (size_t i = 0; i < s->kernels.count; i++) {
        const tn_step_kernel *k = &s->kernels.kernel[i];
        if (i == 0 || strcmp(k->layer, s->kernels.kernel[i - 1].layer) != 0)
            put_row(s, k->layer, NULL, -1, &p->layer[p->layers++]);
        put_row(s, k->layer, k->name, -1, &p->kernel[p->kernels++]);
    }
}

/* Tokens that experts compute are `factor` of what they are sent: padded to a capacity, or the fullest's alone. */
static double seconds_scaled(timed_step s, double factor) {
    for (size_t i = 0; i < s.kernels.count; i++) {
        tn_step_kernel *k = &s.kernels.kernel[i];
        if (strcmp(k->layer, "experts") != 0 || strcmp(k->name, "router") == 0 ||
            strcmp(k->name, "norms") == 0)
            continue;
        for (int j = 0; j < TN_STAGES; j++) {
            k->stage[j].operations *= factor;
            k->stage[j].activation_bytes *= factor;
        }
    }
    put_times(&s);
    return s.seconds;
}

static tn_status put_experts(const timed_step *s, uint64_t batch, double tokens, const tn_expert_load *load,
                             tn_step_profile *p, tn_error *error) {
    static const double capacities[TN_PROFILE_CAPACITIES] = {1, 1.25, 1.5, 2};
    const tn_finetune_work *work = s->work;
    timed_step dense;
    p->routed = s->kernels.waits;
    if (!p->routed) return TN_OK;
    TN_TRY(
        reckon_groups(work, s->gpu, batch, tokens, work->model->feed_forward.experts, NULL, &dense, error));
    p->dense_seconds = dense.seconds;
    for (size_t i = 0; i < p->layers; i++)
        if (strcmp(p->layer[i].name, "experts") == 0) p->expert_share = p->layer[i].share;
    p->imbalance = load ? tn_expert_load_imbalance(load) : 1;
    p->slowest_seconds = seconds_scaled(*s, p->imbalance);
    for (int i = 0; i < TN_PROFILE_CAPACITIES; i++)
        p->capacity[i] = (tn_step_profile_capacity){capacities[i], seconds_scaled(*s, capacities[i]),
                                                    load ? tn_expert_load_dropped(load, capacities[i]) : 0};
    return TN_OK;
}

tn_status tn_profile_step(const tn_finetune_work *work, const tn_gpu *gpu, uint64_t batch,
                          const tn_expert_load *load, tn_step_profile *profile, tn_error *error) {
    timed_step s;
    double tokens = tn_query_lengths_padded(work->lengths, (double)batch);
    TN_TRY(reckon_groups(work, gpu, batch, tokens, work->active, load, &s, error));
    *profile = (tn_step_profile){.seconds = s.seconds,
                                 .queries_per_s = (double)batch / s.seconds,
                                 .tokens = tokens,
                                 .rows = s.kernels.rows,
                                 .touched = s.kernels.touched};
    put_rows(&s, profile);
    return put_experts(&s, batch, tokens, load, profile, error);
}
