#include "finetune/transfer.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A GPU that was not measured: deviates by 15 %, which weighs as two GPUs that were held out. */
static const double new_gpu_deviation = 0.15, new_gpu_weight = 2;

/* The point as seen from the reference GPU. */
static tn_finetune_point seen(tn_finetune_point point, const tn_gpu *gpu, const tn_gpu *reference) {
    point.log_bandwidth = log(gpu->bandwidth_GBps / reference->bandwidth_GBps);
    point.log_peak = log(gpu->peak_TFLOPS / reference->peak_TFLOPS);
    return point;
}

/* The GPU of each group; the first one is the reference. */
static tn_status find_gpus(const tn_finetune_data *data, const tn_gpu_table *table, const tn_gpu **gpu,
                           tn_transfer *transfer, tn_error *error) {
    if (data->count == 0)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = data->file},
                          "no measured GPU to predict from");
    for (size_t i = 0; i < data->count; i++) {
        const tn_finetune_group *group = &data->group[i];
        if (strcmp(group->model, data->group[0].model) != 0 ||
            strcmp(group->dataset, data->group[0].dataset) != 0)
            return tn_fail_at(
                error, TN_INPUT, group->position,
                "measurements of more than one model or data set; a transfer needs one of each");
        TN_TRY(tn_gpu_find(table, group->gpu, &gpu[i], error));
        transfer->points += group->count;
    }
    transfer->gpus = data->count;
    transfer->reference = gpu[0];
    return TN_OK;
}

tn_status tn_transfer_fit(const tn_finetune_data *data, const tn_gpu_table *table, tn_arena *arena,
                          tn_transfer *transfer, tn_error *error) {
    const tn_gpu **gpu;
    tn_finetune_point *all;
    tn_transfer made = {0};
    TN_TRY(TN_NEW(arena, data->count, &gpu, error));
    TN_TRY(find_gpus(data, table, gpu, &made, error));
    TN_TRY(TN_NEW(arena, made.points, &all, error));
    size_t count = 0;
    for (size_t i = 0; i < data->count; i++)
        for (size_t j = 0; j < data->group[i].count; j++)
            all[count++] = seen(data->group[i].point[j], gpu[i], made.reference);
    tn_error cause = {0};
    tn_status status = tn_step_fit(all, count, NULL, &made.estimate, &cause);
    if (status != TN_OK) return tn_fail_at(error, status, data->group[0].position, "%s", cause.message);
    made.spread = new_gpu_deviation;
    made.spread_degrees = new_gpu_weight;
    *transfer = made;
    return TN_OK;
}

tn_finetune_interval tn_transfer_predict(const tn_transfer *transfer, const tn_gpu *gpu, double batch,
                                         double sparsity) {
    tn_finetune_point point =
        seen((tn_finetune_point){.batch = batch, .sparsity = sparsity}, gpu, transfer->reference);
    double gradient[TN_STEP_PARAMETERS];
    double value = exp(tn_step_log_throughput(transfer->estimate.parameter, &point, gradient));
    double run = tn_step_run_half_width(&transfer->estimate, value, gradient);
    double factor =
        exp(hypot(run, tn_student_half_width(transfer->spread * transfer->spread, transfer->spread_degrees)));
    return (tn_finetune_interval){value, value / factor, value * factor};
}

tn_transfer_error tn_transfer_compare(const tn_transfer *transfer, const tn_gpu *gpu,
                                      const tn_finetune_group *group) {
    double square = 0, sum = 0;
    for (size_t i = 0; i < group->count; i++) {
        const tn_finetune_point *point = &group->point[i];
        double off =
            tn_transfer_predict(transfer, gpu, point->batch, point->sparsity).value / point->queries_per_s -
            1;
        square += off * off;
        sum += off;
    }
    double count = (double)group->count;
    return (tn_transfer_error){group->gpu, group->count, sqrt(square / count), sum / count};
}

tn_status tn_transfer_hold_out(const tn_finetune_data *data, const tn_gpu_table *table, tn_arena *arena,
                               tn_transfer *transfer, tn_transfer_error **errors, size_t *count,
                               tn_error *error) {
    double square = 0;
    *count = 0;
    TN_TRY(TN_NEW(arena, data->count, errors, error));
    for (size_t i = 0; i < data->count && data->count > 1; i++) {
        const tn_finetune_group *left = &data->group[i];
        tn_finetune_data rest;
        tn_transfer source;
        const tn_gpu *gpu;
        TN_TRY(tn_finetune_without(data, left->gpu, arena, &rest, error));
        TN_TRY(tn_gpu_find(table, left->gpu, &gpu, error));
        tn_status status = tn_transfer_fit(&rest, table, arena, &source, error);
        if (status == TN_INPUT) continue; /* the others determine no law */
        TN_TRY(status);
        tn_transfer_error *made = &(*errors)[(*count)++];
        *made = tn_transfer_compare(&source, gpu, left);
        square += made->relative_rmse * made->relative_rmse;
    }
    transfer->spread_degrees = (double)*count + new_gpu_weight;
    transfer->spread =
        sqrt((square + new_gpu_weight * new_gpu_deviation * new_gpu_deviation) / transfer->spread_degrees);
    return TN_OK;
}

static double largest_measured(const tn_finetune_group *group, double sparsity) {
    double largest = 0;
    for (size_t i = 0; i < group->count; i++)
        if (group->point[i].sparsity == sparsity) largest = fmax(largest, group->point[i].batch);
    return largest;
}

tn_status tn_transfer_largest_batch(const tn_finetune_data *data, const tn_gpu_table *table,
                                    const tn_gpu *gpu, double model_GB, double sparsity, double *batch,
                                    tn_error *error) {
    double nearest = INFINITY;
    *batch = 0;
    for (size_t i = 0; i < data->count; i++) {
        const tn_gpu *source;
        double measured = largest_measured(&data->group[i], sparsity);
        if (measured == 0) continue;
        TN_TRY(tn_gpu_find(table, data->group[i].gpu, &source, error));
        double distance = fabs(log(source->memory_GB / gpu->memory_GB));
        if (source->memory_GB <= model_GB || !(distance < nearest)) continue;
        nearest = distance;
        *batch = floor(fmax(0, measured * (gpu->memory_GB - model_GB) / (source->memory_GB - model_GB)));
    }
    return TN_OK;
}
