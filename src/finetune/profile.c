#include "finetune/profile.h"

#include <math.h>
#include <string.h>

/* Groups of a step with their seconds: the device's, and how long it waits for the host. */
typedef struct {
    const tn_finetune_work *work;
    const tn_gpu *gpu;
    tn_step_kernels kernels;
    tn_step_effort_time time[TN_KERNELS_MOST][TN_STAGES];
    double seconds;
} step;

static double seconds_of(const tn_step_effort_time *of) {
    return of->host + tn_device_seconds(of);
}

/* Where the host does not wait it runs ahead: of what launches take, only what they exceed all kernels by is waited for, by
 * each group as far as its launches exceed its kernels. */
static void run_ahead(step *s, double host, double device) {
    double exceeding = 0, waited = fmax(0, host - device);
    for (size_t i = 0; i < s->kernels.count; i++)
        for (int stage = 0; stage < TN_STAGES; stage++) {
            tn_step_effort_time *of = &s->time[i][stage];
            of->host = fmax(0, of->host - tn_device_seconds(of));
            exceeding += of->host;
        }
    for (size_t i = 0; i < s->kernels.count && exceeding > 0; i++)
        for (int stage = 0; stage < TN_STAGES; stage++) s->time[i][stage].host *= waited / exceeding;
}

static void put_times(step *s) {
    double host = 0, device = 0;
    for (size_t i = 0; i < s->kernels.count; i++)
        for (int stage = 0; stage < TN_STAGES; stage++) {
            tn_step_effort_time *of = &s->time[i][stage];
            tn_effort_seconds(&s->kernels.kernel[i].stage[stage], &s->kernels, s->work->model, s->gpu,
                              s->work->framework, of);
            host += of->host;
            device += tn_device_seconds(of);
        }
    s->seconds = s->kernels.waits ? host + device : fmax(host, device);
    if (!s->kernels.waits) run_ahead(s, host, device);
}

static tn_status reckon(const tn_finetune_work *work, const tn_gpu *gpu, uint64_t batch, double tokens,
                        uint64_t active, const tn_expert_load *load, step *s, tn_error *error) {
    *s = (step){.work = work, .gpu = gpu};
    TN_TRY(tn_kernels_of_step(work->model, (double)batch, tokens, active, load, &s->kernels, error));
    put_times(s);
    return TN_OK;
}

static const char *limit_of(const tn_step_effort_time *of) {
    const struct {
        double seconds;
        const char *name;
    } part[] = {
        {of->host, "launches"},
        {of->products, "products"},
        {of->few_rows, "few rows"},
        {of->weights + of->activations + of->update, "bandwidth"},
    };
    size_t most = 0;
    for (size_t i = 1; i < sizeof part / sizeof *part; i++)
        if (part[i].seconds > part[most].seconds) most = i;
    return part[most].name;
}

static void add_times(tn_step_effort_time *to, const tn_step_effort_time *of) {
    to->host += of->host;
    to->products += of->products;
    to->few_rows += of->few_rows;
    to->weights += of->weights;
    to->activations += of->activations;
    to->update += of->update;
}

/* The row of all groups and stages that belong to it. */
static void put_row(const step *s, const char *layer, const char *name, int stage, tn_step_profile_row *row) {
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

static void put_rows(const step *s, tn_step_profile *p) {
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
static double seconds_scaled(step s, double factor) {
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

static tn_status put_experts(const step *s, uint64_t batch, double tokens, const tn_expert_load *load,
                             tn_step_profile *p, tn_error *error) {
    static const double capacities[TN_PROFILE_CAPACITIES] = {1, 1.25, 1.5, 2};
    const tn_finetune_work *work = s->work;
    step dense;
    p->routed = s->kernels.waits;
    if (!p->routed) return TN_OK;
    TN_TRY(reckon(work, s->gpu, batch, tokens, work->model->feed_forward.experts, NULL, &dense, error));
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
    step s;
    double tokens = tn_query_lengths_padded(work->lengths, (double)batch);
    TN_TRY(reckon(work, gpu, batch, tokens, work->active, load, &s, error));
    *profile = (tn_step_profile){.seconds = s.seconds,
                                 .queries_per_s = (double)batch / s.seconds,
                                 .tokens = tokens,
                                 .rows = s.kernels.rows,
                                 .touched = s.kernels.touched};
    put_rows(&s, profile);
    return put_experts(&s, batch, tokens, load, profile, error);
}
